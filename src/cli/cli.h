/* The command line: tables of commands and options, and what is parsed. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdio.h>

#include "cordon.h"

/* Exit codes of commands that answer a question. */
enum { EXIT_GOOD = 0, EXIT_NO = 1, EXIT_USAGE = 2 };

/* Which commands take an option. */
enum {
	IN_EXPLAIN = 1 << 0,
	IN_CHECK = 1 << 1,
	IN_SHOW = 1 << 2,
	IN_CONVERT = 1 << 3,
	IN_INTERSECT = 1 << 4,
	IN_DIFF = 1 << 5,
	IN_MATCH = 1 << 6,
	IN_TRIAL = 1 << 7,
	IN_RUN = 1 << 8,
	IN_DOCTOR = 1 << 9,
	IN_PS = 1 << 10,
	IN_KILL = 1 << 11,
	IN_START = 1 << 12,
	IN_EXEC = 1 << 13,
	IN_PHASE = 1 << 14,
	IN_NETWORK = 1 << 15,
	IN_ALLOW = 1 << 16,
	IN_STATUS = 1 << 17,
	IN_STOP = 1 << 18,
	IN_TRUST = 1 << 19,
	IN_RUNS = IN_RUN | IN_EXPLAIN | IN_START,
	IN_POLICIES = (IN_TRIAL - 1) | IN_RUN | IN_START,	/* those that read policy files */
	IN_COMMANDS = IN_EXPLAIN | IN_RUN | IN_EXEC,	/* a command stands behind -- */
};

/* What an option is for, where it is not a setting of a field. */
enum option_id {
	OPT_SETTING,		/* `op` and `key` say what it sets */
	OPT_ENV,		/* NAME or NAME=VALUE */
	OPT_NO_SANDBOX,
	OPT_POLICY,
	OPT_DIALECT,
	OPT_NO_POLICY,
	OPT_CWD,
	OPT_CONNECT_TO,
	OPT_JSON,
	OPT_JSON_SCHEMA,
	OPT_TO,
	OPT_RESOLVES_TO,
	OPT_COMMAND,
	OPT_PHASE,
	OPT_CHECK,
	OPT_CAPABILITIES,
	OPT_BACKEND,
	OPT_AGENT_HOST,
	OPT_END_LEFTOVERS,
	OPT_ENVIRONMENT_HOST,
	OPT_AGENT,
	OPT_VERIFIER,
	OPT_SETUP,
	OPT_OUTPUT_DIR,
	OPT_JOBS,
	OPT_ATTEMPTS,
	OPT_NO_IMAGE,
	OPT_SHELL,
	OPT_RESULT,
	OPT_AUDIT,
	OPT_REQUEST,
	OPT_DRY_RUN,
	OPT_PROVE,
	OPT_NAME,
	OPT_IDLE,
	OPT_OWNER,
	OPT_TIMEOUT,
	OPT_VARIABLE,		/* --env of a command in a session */
	OPT_NETWORK,
	OPT_ALLOW_HOST,
	OPT_FOR,
	OPT_LIST,
	OPT_REMOVE,
	OPT_HELP,
	N_OPTION_IDS
};

struct option {
	const char *name;	/* with its dashes */
	char letter;		/* or 0 */
	const char *arg;	/* what it takes, or NULL */
	unsigned where;
	enum option_id id;
	enum cordon_setting_op op;
	const char *key;
	const char *help;
};

/* Is the letter all of its name? */
static inline bool option_is_letter(const struct option *o)
{
	return o->name[1] != '-';
}

/* Ends with a NULL name.  A name may be there twice, for different commands. */
extern const struct option options[];

struct args;

struct command {
	const char *name;	/* "policy show" has a word after it */
	const char *word;	/* or NULL */
	unsigned where;		/* its bit */
	const char *usage;	/* behind the name */
	const char *help;
	int (*run)(const struct args *args);
};

extern const struct command commands[];

/* Most words one command line may hold. */
#define MAX_ARGS	4096

struct args {
	const struct command *command;
	struct {
		const struct option *option;
		const char *value;	/* NULL for a flag */
	} given[MAX_ARGS];
	size_t n_given;
	const char *words[MAX_ARGS];	/* what is no option */
	size_t n_words;
	const char *const *behind;	/* behind `--` */
	size_t n_behind;
};

/* Parse what follows the command's name.  -1: said why on stderr. */
int args_parse(struct args *args, int argc, char *const *argv);
/* The last value given for an option, or NULL. */
const char *args_value(const struct args *args, enum option_id id);
bool args_has(const struct args *args, enum option_id id);
/* All values, in order; returns how many. */
size_t args_values(const struct args *args, enum option_id id, const char **ret);
/* The request that the options make; `settings`, `files` and `connect_to` are the
 * room for what it points to. */
struct cordon_request args_request(const struct args *args, struct cordon_setting *settings,
				   const char **files, const char **connect_to);

/* Room for what a request points to. */
struct room {
	struct cordon_setting settings[2 * MAX_ARGS];
	const char *files[2 * MAX_ARGS];
	const char *connect_to[MAX_ARGS];
};

/* 0, or EXIT_USAGE when there are fewer or more words. */
int need_words(const struct args *args, size_t least, size_t most);
/* A line of warning on stderr. */
void say_warning(void *arg, const char *line);
/* Where a result goes. */
struct result_file;
struct result_place {
	struct result_file *file;
	const char *name;	/* of the file; NULL: there is none */
	bool shown;		/* on stdout as well */
};
/* The answer of a command that ran.  Returns the exit code. */
int say_result(const struct result_place *to, int code, int rc, struct cordon_answer *answer,
	       const struct cordon_err *err);
/* Print an answer and turn it into an exit code. */
int say_answer(int rc, struct cordon_answer *answer, const struct cordon_err *err);
/* Before anything is printed on stdout. */
void say_start(void);
/* The last word: `code`, unless what was printed did not get out. */
int say_done(int code);
/* One line on stderr; returns EXIT_USAGE. */
int say_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* What a terminal would obey is written out. */
void put_shown(const char *text, FILE *out);

void help_print(FILE *out);
void help_print_command(const struct command *command, FILE *out);
/* 0, or EXIT_USAGE when there is no such shell. */
int completion_print(const char *shell, FILE *out);

int cmd_run(const struct args *args);
int cmd_check(const struct args *args);
int cmd_explain(const struct args *args);
int cmd_trust(const struct args *args);
int cmd_show(const struct args *args);
int cmd_convert(const struct args *args);
int cmd_intersect(const struct args *args);
int cmd_diff(const struct args *args);
int cmd_match(const struct args *args);
int cmd_trial(const struct args *args);
int cmd_doctor(const struct args *args);
/* One act of doctor --prove; no command of the table. */
int prove_act_main(int argc, char *const *argv);
int cmd_ps(const struct args *args);
int cmd_kill(const struct args *args);
int cmd_session_start(const struct args *args);
int cmd_session_exec(const struct args *args);
int cmd_session_phase(const struct args *args);
int cmd_session_network(const struct args *args);
int cmd_session_allow(const struct args *args);
int cmd_session_status(const struct args *args);
int cmd_completion(const struct args *args);
int cmd_version(const struct args *args);
int cmd_help(const struct args *args);

#endif
