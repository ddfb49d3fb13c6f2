/* cordon: the public interface.
 *
 * Everything a program may use of libcordon is declared here.  Each call takes
 * one request struct, which is cleared and given its size before use:
 *
 *     struct cordon_request req = CORDON_REQUEST;
 *     req.files = (const char *const[]){ "cordon.toml" };
 *     req.n_files = 1;
 *
 * Every function that can fail returns -1 with a filled struct cordon_err.  The
 * library neither prints nor exits, keeps no global state and starts no thread.
 */
#ifndef CORDON_H
#define CORDON_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What kind of thing went wrong. */
enum cordon_errc {
	CORDON_E_NONE,
	CORDON_E_USAGE,		/* the caller asked for something that is not offered */
	CORDON_E_POLICY,	/* the policy text: line and col say where */
	CORDON_E_HOST,		/* this machine cannot do it */
	CORDON_E_SETUP,		/* a system call failed: sys holds its errno */
	CORDON_E_PEER,		/* another program misbehaved */
	CORDON_E_NOMEM,
	CORDON_E_BUG,
	CORDON_N_ERRCS
};

/* One failure.  Of fixed size, so that it can cross a pipe in one write. */
struct cordon_err {
	enum cordon_errc code;
	int sys;		/* errno of the one call that failed, or 0 */
	unsigned line, col;	/* place in the policy text, or 0 */
	char msg[488];
};

/* What a setting does to the policy that the files give. */
enum cordon_setting_op {
	CORDON_ADD,		/* one more entry of a list; the ceilings still cut it */
	CORDON_TIGHTEN,		/* a layer of its own: the strictest of both holds */
	CORDON_REPLACE,		/* instead of what the files say; the ceilings still cut it */
	CORDON_ADD_DOMAIN,	/* an allowed host with ai-harness's meaning; key is not used */
	CORDON_N_SETTING_OPS
};

/* One word of the operator, such as an option on the command line. */
struct cordon_setting {
	enum cordon_setting_op op;
	const char *key;	/* a field, such as "limits.memory" */
	const char *value;	/* as it would be written */
	const char *origin;	/* what explanations name, such as "--memory" */
};

/* Which policy is asked about.  Pointers are borrowed for the call. */
struct cordon_request {
	size_t size;				/* sizeof(struct cordon_request) */
	/* Policy files, composed by intersect. */
	const char *const *files;
	size_t n_files;
	const char *dialect;			/* of all of them; NULL: found out for each */
	/* Where the command works; NULL: in the current directory of the process, which is what
	 * is writable by default, and where a policy is looked for, whatever this says: it
	 * opens nothing, so it must be shown inside. */
	const char *cwd;
	bool discover;				/* without files, look for the project's policy */
	bool ceilings;				/* compose the user's and the machine's in */
	const struct cordon_setting *settings;
	size_t n_settings;
	const char *const *command;		/* what would be run; may be empty */
	size_t n_command;
	bool json;				/* answer in JSON */
	const char *audit;			/* the file of the log; NULL: the default */
	/* Where hosts are, HOST:PORT:ADDR:PORT each; allows none of them.  A port
	 * may be empty: any, and the same. */
	const char *const *connect_to;
	size_t n_connect_to;
};
#define CORDON_REQUEST	{ sizeof(struct cordon_request), NULL, 0, NULL, NULL, false, false, \
			  NULL, 0, NULL, 0, false, NULL, NULL, 0 }

/* An answer in text.  Cleared before the call, released after it whether the
 * call failed or not. */
struct cordon_answer {
	bool yes;		/* the answer to the question: good, allowed, equal */
	char *text;		/* what was asked for, or NULL */
	char *problems;		/* FILE:LINE:COL: what is wrong, one a line, or NULL */
};
void cordon_answer_release(struct cordon_answer *answer);

/* Are these policies valid, and would a run by each of them start on this machine?
 * yes: each of the files is and would.  The caller's variables are not asked. */
int cordon_check(const struct cordon_request *req, struct cordon_answer *ret,
		 struct cordon_err *err);
/* The effective policy with the place each value came from and what cut it. */
int cordon_explain(const struct cordon_request *req, struct cordon_answer *ret,
		   struct cordon_err *err);
/* A policy that is found, and not named, narrows the default policy and opens nothing, until
 * the user trusts its text.  The request names one file, or none: the one that a run would
 * find here.  To trust it again after a change is another call.  The answer says what it
 * opens.  yes: it is trusted, was until now, or (list) always. */
enum cordon_trust_act { CORDON_TRUST_ADD, CORDON_TRUST_REMOVE, CORDON_TRUST_LIST };
int cordon_trust(const struct cordon_request *req, enum cordon_trust_act act,
		 struct cordon_answer *ret, struct cordon_err *err);
/* The composed policy in the native dialect (or as JSON). */
int cordon_policy_show(const struct cordon_request *req, struct cordon_answer *ret,
		       struct cordon_err *err);
/* The JSON Schema of the native dialect. */
int cordon_policy_schema(struct cordon_answer *ret, struct cordon_err *err);
/* The one file of the request, of any dialect, as a cordon.toml. */
int cordon_policy_convert(const struct cordon_request *req, struct cordon_answer *ret,
			  struct cordon_err *err);
/* The strictest of two files: the first is the ceiling.  yes: it exists. */
int cordon_policy_intersect(const struct cordon_request *req, struct cordon_answer *ret,
			    struct cordon_err *err);
/* What the second of two files allows that the first does not, and the
 * reverse, in words.  yes: there is no difference. */
int cordon_policy_diff(const struct cordon_request *req, struct cordon_answer *ret,
		       struct cordon_err *err);

/* What to ask a policy. */
struct cordon_question {
	size_t size;				/* sizeof(struct cordon_question) */
	const char *const *targets;		/* URLs, HOST or HOST:PORT */
	size_t n_targets;
	const char *const *resolves_to;		/* judge names as if DNS gave these */
	size_t n_resolves_to;
	const char *command;			/* or: one line of shell text */
	const char *phase;			/* NULL: the base */
};
#define CORDON_QUESTION	{ sizeof(struct cordon_question), NULL, 0, NULL, 0, NULL, NULL }

/* `allowed`, `denied: REASON` or `blocked: MESSAGE`, a line for each.  A policy
 * that is not valid allows nothing: the lines say so, and the call fails. */
int cordon_policy_match(const struct cordon_request *req, const struct cordon_question *question,
			struct cordon_answer *ret, struct cordon_err *err);

/* How to run. */
struct cordon_run_options {
	size_t size;			/* sizeof(struct cordon_run_options) */
	const char *shell_text;		/* run by /bin/sh -c instead of a command; or NULL */
	bool capture;			/* keep stdout and stderr for the result */
	bool json;			/* answer with the result in JSON */
	bool dry_run;			/* answer with the plan and stop */
	/* Called before the command starts, with a line about what the run does
	 * without; or NULL. */
	void (*warn)(void *arg, const char *line);
	void *warn_arg;
	/* The process ends with the run: once the command runs, it can execute no program any
	 * more, and has no use for much of the kernel. */
	bool own_process;
};
#define CORDON_RUN_OPTIONS	{ sizeof(struct cordon_run_options), NULL, false, false, false, \
				  NULL, NULL, false }

/* Run the request's command inside a cordon, to its end.  Uses the process's
 * standard streams and signals: for a program that does nothing else.  A policy
 * that requires a cgroup moves the process into a scope of its own, by systemd,
 * where it has none.  -1: the request was wrong and nothing was run.  *ret_code: the exit code of
 * `cordon run`; the answer's problems say what cordon itself has to say. */
int cordon_run(const struct cordon_request *req, const struct cordon_run_options *options,
	       int *ret_code, struct cordon_answer *ret, struct cordon_err *err);

/* How to start a run in a process of its own. */
struct cordon_start_options {
	size_t size;			/* sizeof(struct cordon_start_options) */
	const char *program;		/* the program cordon; NULL: where it was installed */
	const char *shell_text;		/* as for a run */
	bool capture;
	int streams[3];			/* stdin, stdout and stderr of the command; -1: ours */
};
#define CORDON_START_OPTIONS	{ sizeof(struct cordon_start_options), NULL, NULL, false, \
				  { -1, -1, -1 } }

/* A run that goes on beside the caller, whatever threads that has: its supervisor is a
 * process of its own.  The end of the caller does not end it. */
struct cordon_child;
/* Borrows the request for the call.  -1: nothing was started. */
int cordon_start(const struct cordon_request *req, const struct cordon_start_options *options,
		 struct cordon_child **ret, struct cordon_err *err);
/* To be polled for reading: whenever it is readable, ask cordon_child_is_over(). */
int cordon_child_fd(const struct cordon_child *child);
/* Takes what has come, and does not wait. */
bool cordon_child_is_over(struct cordon_child *child);
/* To the command, as it would be by the supervisor of cordon_run(): SIGTERM asks it to
 * end, SIGKILL ends it and everything that it started, without a result. */
int cordon_child_signal(const struct cordon_child *child, int signal, struct cordon_err *err);
/* Waits for the end, tells it as cordon_run() does, the result in JSON, and frees the
 * child.  -1: it ended without a result, and the child is freed all the same. */
int cordon_child_end(struct cordon_child *child, int *ret_code, struct cordon_answer *ret,
		     struct cordon_err *err);
/* The other side, for the program cordon alone: the request is read from this descriptor,
 * and the end written to the next one.  Returns the exit code. */
int cordon_serve(int fd);

/* How to hold a session. */
struct cordon_session_options {
	size_t size;			/* sizeof(struct cordon_session_options) */
	const char *name;		/* or NULL */
	const char *idle;		/* a duration, or "none"; NULL: a day */
	const char *owner;		/* the process whose end ends it, as text; NULL: none */
	void (*warn)(void *arg, const char *line);	/* as for a run */
	void *warn_arg;
	/* The process has nothing in its memory that no command may see, as the program cordon.
	 * Where commands are blocked by their arguments, each command begins as a copy of it
	 * that others inside can look into: without this, such a session is refused. */
	bool own_process;
};
#define CORDON_SESSION_OPTIONS	{ sizeof(struct cordon_session_options), NULL, NULL, NULL, \
				  NULL, NULL, false }

/* A cordon that stays, in a process of its own, until it is stopped, nobody has
 * used it for its idle time, or its owner is gone.  Returns when commands can be
 * started in it; the answer is its id. */
int cordon_session_start(const struct cordon_request *req,
			 const struct cordon_session_options *options, struct cordon_answer *ret,
			 struct cordon_err *err);

/* One command in a live session. */
struct cordon_exec_options {
	size_t size;			/* sizeof(struct cordon_exec_options) */
	const char *const *command;	/* ends with NULL */
	const char *shell_text;		/* as for a run */
	const char *cwd;		/* NULL: here, if that is inside the session's directory */
	const char *const *env;		/* NAME or NAME=VALUE, ends with NULL; or NULL */
	const char *timeout;		/* or NULL */
	bool capture;			/* keep stdout and stderr for the result */
	bool json;			/* answer with the result in JSON */
};
#define CORDON_EXEC_OPTIONS	{ sizeof(struct cordon_exec_options), NULL, NULL, NULL, NULL, \
				  NULL, false, false }

/* As cordon_run(), in the session that `id` names: its id, its name or its
 * supervisor's pid. */
int cordon_session_exec(const char *id, const struct cordon_exec_options *options, int *ret_code,
			struct cordon_answer *ret, struct cordon_err *err);
/* From here on another phase of its policy holds; NULL: none.  Connections that
 * it refuses are cut before this returns.  The answer's problems say how many processes
 * that are there already get a wider network by it.  Works on a run, too, as do network,
 * allow and status below. */
int cordon_session_phase(const char *id, const char *phase, struct cordon_answer *ret,
			 struct cordon_err *err);
/* The same for a session in which no command runs, after every process that its commands left
 * was killed: those would have the network of the new phase. */
int cordon_session_end_leftovers(const char *id, const char *phase, struct cordon_answer *ret,
				 struct cordon_err *err);
/* Another network, within the ceilings; hosts only with the mode "allowlist". */
int cordon_session_network(const char *id, const char *mode, const char *const *hosts, size_t n,
			   struct cordon_answer *ret, struct cordon_err *err);
/* More hosts, within the ceilings, for a time or (NULL) until the phase ends. */
int cordon_session_allow(const char *id, const char *const *hosts, size_t n, const char *duration,
			 struct cordon_answer *ret, struct cordon_err *err);
/* What it does at the moment: a line for each thing, or JSON. */
int cordon_session_status(const char *id, bool json, struct cordon_answer *ret,
			  struct cordon_err *err);

/* What is told while trials run: a phase of one begins, or (status is not NULL) it
 * has ended.  Texts are fit for a terminal. */
struct cordon_trial_event {
	const char *trial;
	const char *phase, *step;	/* that begins; step may be empty */
	/* Not 0: the phase has ended, its network was wider than those before it, and so many
	 * processes of theirs had it, too. */
	long long leftovers;
	const char *status;		/* completed, rejected or error */
	const char *why;		/* it is not completed */
	const char *warnings;		/* a line each, when it has ended; or NULL */
	bool reused;			/* it was complete already, and was not run */
	bool has_reward;
	double reward;
	long long duration_ms;
	size_t n_done, n_running, n_failed, n_all;
};

/* Which trials, and how. */
struct cordon_trials {
	size_t size;				/* sizeof(struct cordon_trials) */
	const char *const *tasks;		/* task.toml files, or folders with them */
	size_t n_tasks;
	const char *setup, *agent, *verifier;	/* shell texts instead of the task's, or NULL */
	const char *const *agent_hosts;		/* --allow-agent-host */
	size_t n_agent_hosts;
	const char *const *environment_hosts;	/* --allow-environment-host */
	size_t n_environment_hosts;
	/* Where everything is kept, a folder for each; what is complete there is not
	 * run again.  NULL: a new folder in ./trials. */
	const char *output;
	unsigned jobs;				/* at one time; 0: one */
	unsigned attempts;			/* at each task; 0: one */
	bool no_image;				/* the host's own files do for a task's image */
	bool json;				/* answer with the results, a line each */
	void (*tell)(void *arg, const struct cordon_trial_event *event);	/* or NULL */
	void *tell_arg;
	bool own_process;			/* as for a session */
	/* Processes that the command of a phase leaves are killed when the command ends,
	 * also where the task says keep_processes = true. */
	bool end_leftovers;
};
#define CORDON_TRIALS	{ sizeof(struct cordon_trials), NULL, 0, NULL, NULL, NULL, NULL, 0, NULL, \
			  0, NULL, 0, 0, false, false, NULL, NULL, false, false }

/* Run tasks on this machine, each phase under its own network.  The request's
 * settings hold for all of them.  For a program that does nothing else meanwhile.
 * The answer is a table; yes: every trial was completed, whatever its reward. */
int cordon_trial_run(const struct cordon_request *req, const struct cordon_trials *trials,
		     struct cordon_answer *ret, struct cordon_err *err);

/* Could this one task run with these options?  `capabilities`: a comma list of exactly those
 * to assume; NULL: what this machine has.  The answer is JSON, and problems tell what is
 * refused or ignored; yes: accepted.  A task without an agent or verifier is accepted, with
 * a warning. */
int cordon_trial_check(const struct cordon_request *req, const struct cordon_trials *trials,
		       const char *capabilities, struct cordon_answer *ret,
		       struct cordon_err *err);

/* The live cordons of this user: a line each, or a JSON list. */
int cordon_ps(bool json, struct cordon_answer *ret, struct cordon_err *err);
/* End one by its run id, its session's name or its supervisor's pid, and wait for
 * its end.  yes: there was one. */
int cordon_kill(const char *id, struct cordon_answer *ret, struct cordon_err *err);

/* What is asked about this machine. */
struct cordon_doctor_options {
	size_t size;			/* sizeof(struct cordon_doctor_options) */
	bool json;			/* answer in JSON */
	bool capabilities;		/* only what a backend can do for a task's network */
	const char *backend;		/* whose capabilities; NULL: "process" */
	bool prove;			/* instead: try the canaries, outside and inside */
	const char *program;		/* to prove with: the cordon program; NULL: this one */
};
#define CORDON_DOCTOR_OPTIONS	{ sizeof(struct cordon_doctor_options), false, false, NULL, \
				  false, NULL }

/* What can be enforced here, and what to do about the rest: each feature is
 * tried in a child that is gone afterwards.  yes: the default policy holds.  To
 * prove it takes some seconds, starts the program for each canary over a private
 * directory in /tmp and sends nothing off the machine; yes: nothing was breached. */
int cordon_doctor(const struct cordon_doctor_options *options, struct cordon_answer *ret,
		  struct cordon_err *err);

/* The act of one canary, in this process: for the program that is started to
 * try it.  0: it was done; -1: it was refused, or (CORDON_E_USAGE)
 * there is no such act. */
int cordon_prove_act(const char *const *words, size_t n, struct cordon_err *err);

/* The names of the dialects, and of the fields with what they take, for help,
 * completion and manual pages.  NULL past the last one. */
const char *cordon_dialect_name(size_t i);
const char *cordon_dialect_about(size_t i);
struct cordon_field_info {
	const char *key, *takes, *merge, *preset, *promise, *help;
	const char *const *words;	/* the words it knows, or NULL */
};
bool cordon_field_info(size_t i, struct cordon_field_info *ret);
/* The kinds of events of the audit log, each with its fields. */
struct cordon_event_info {
	const char *name, *help;
};
struct cordon_event_field_info {
	const char *key, *type, *help;
};
bool cordon_event_info(size_t i, struct cordon_event_info *ret);
bool cordon_event_field_info(size_t i, size_t field, struct cordon_event_field_info *ret);
const char *cordon_version(void);

#ifdef __cplusplus
}
#endif

#endif
