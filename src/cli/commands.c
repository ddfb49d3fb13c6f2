/* What each command does: turn words into a request, ask, print. */
#include "cli/cli.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A reader that went away is an error like a full disk, and so is a file that the caller lets
 * grow no larger.  Not for commands that start others, which would inherit it. */
void say_start(void)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

#include "cli/result_file.h"
#include "cli/write.h"

int say_done(int code)
{
	if (fflush(stdout) != 0 || ferror(stdout))
		return say_usage("cannot write the answer");
	return code;
}

int say_answer(int rc, struct cordon_answer *answer, const struct cordon_err *err)
{
	int code = rc < 0 ? EXIT_USAGE : answer->yes ? EXIT_GOOD : EXIT_NO;
	bool written;

	say_start();
	written = !answer->text || write_text(STDOUT_FILENO, answer->text, WRITE_PATIENT) == 0;
	if (answer->problems)
		(void)!write_text(STDERR_FILENO, answer->problems, WRITE_PATIENT);
	if (rc < 0 && !answer->problems)
		say_usage("%s", err->msg);
	cordon_answer_release(answer);
	return written ? say_done(code) : say_usage("cannot write the answer");
}

typedef int answer_fn(const struct cordon_request *req, struct cordon_answer *ret,
		      struct cordon_err *err);

static int ask(const struct args *args, answer_fn *fn)
{
	struct room *room = calloc(1, sizeof(*room));
	struct cordon_answer answer = { 0 };
	struct cordon_request req;
	struct cordon_err err;
	int rc;

	if (!room)
		return say_usage("out of memory");
	req = args_request(args, room->settings, room->files, room->connect_to);
	req.ceilings = args->command->where == IN_EXPLAIN;
	req.command = args->behind;
	req.n_command = args->n_behind;
	rc = fn(&req, &answer, &err);
	free(room);
	return say_answer(rc, &answer, &err);
}

void say_warning(void *arg, const char *line)
{
	(void)arg;
	fputs("cordon: ", stderr);
	put_shown(line, stderr);
	fputc('\n', stderr);
}

int say_result(const struct result_place *to, int code, int rc, struct cordon_answer *answer,
	       const struct cordon_err *err)
{
	say_start();
	/* As with the command's own output: a terminal does not stop a run in the background,
	 * whose limit would be told to nobody who waits for its end. */
	signal(SIGTTOU, SIG_IGN);
	if (to->name && result_file_close(to->file, answer->text) < 0) {
		say_usage("--result: cannot write '%s'", to->name);
		code = 125;
	}
	if (to->name && !to->shown) {
		free(answer->text);
		answer->text = NULL;
	}
	if (rc < 0)
		return say_answer(rc, answer, err);
	/* As with the file: 2 would say that nothing has run. */
	return say_answer(rc, answer, err) == EXIT_USAGE ? 125 : code;
}

static int run_request(const struct args *args, struct cordon_request *req)
{
	const char *text = args_value(args, OPT_SHELL), *file = args_value(args, OPT_RESULT);
	struct cordon_run_options o = CORDON_RUN_OPTIONS;
	struct cordon_answer answer = { 0 };
	struct result_file result;
	struct cordon_err err;
	int code, rc;

	if (file && result_file_open(&result, file) < 0)
		return say_usage("--result takes a file in a folder that can be written,"
				 " or a pipe that is read, not '%s'", file);
	o.shell_text = text;
	o.capture = args_has(args, OPT_JSON);
	o.json = o.capture || file;
	o.dry_run = args_has(args, OPT_DRY_RUN);
	o.warn = say_warning;
	o.own_process = true;
	rc = cordon_run(req, &o, &code, &answer, &err);
	if (o.dry_run && file) {
		result_file_release(&result);
		file = NULL;
	}
	return say_result(&(struct result_place){ &result, file, o.capture }, code, rc, &answer,
			  &err);
}

/* What a program asks for that uses the library; it says everything itself. */
static int serve_request(const struct args *args)
{
	const char *text = args_value(args, OPT_REQUEST);
	char *end;
	long fd = strtol(text, &end, 10);

	if (*end || fd < 3 || fd > 1000 || args->n_given > 1 || args->n_words || args->n_behind)
		return say_usage("--request takes FD, a descriptor from 3 on, and nothing beside "
				 "it");
	return cordon_serve((int)fd);
}

int cmd_run(const struct args *args)
{
	struct cordon_request req;
	struct room *room;
	int code;

	if (args_has(args, OPT_REQUEST))
		return serve_request(args);
	if (args->n_words || (args->n_behind > 0) == args_has(args, OPT_SHELL))
		return say_usage("run takes -- CMD [ARG…], or -c TEXT");
	room = calloc(1, sizeof(*room));
	if (!room)
		return say_usage("out of memory");
	req = args_request(args, room->settings, room->files, room->connect_to);
	req.ceilings = true;
	req.command = args->behind;
	req.n_command = args->n_behind;
	code = run_request(args, &req);
	free(room);
	return code;
}

int need_words(const struct args *args, size_t least, size_t most)
{
	const struct command *c = args->command;

	if (args->n_words >= least && args->n_words <= most)
		return 0;
	return say_usage("%s%s%s takes %s", c->name, c->word ? " " : "", c->word ? c->word : "",
			 c->usage[0] ? c->usage : "options only");
}

int cmd_check(const struct args *args)
{
	int bad = need_words(args, 1, MAX_ARGS);

	return bad ? bad : ask(args, cordon_check);
}

int cmd_explain(const struct args *args)
{
	int bad = need_words(args, 0, 0);

	return bad ? bad : ask(args, cordon_explain);
}

int cmd_trust(const struct args *args)
{
	bool list = args_has(args, OPT_LIST), remove = args_has(args, OPT_REMOVE);
	struct cordon_request req = CORDON_REQUEST;
	struct cordon_answer answer = { 0 };
	struct cordon_err err;
	enum cordon_trust_act act = list ? CORDON_TRUST_LIST :
				    remove ? CORDON_TRUST_REMOVE : CORDON_TRUST_ADD;
	int bad = need_words(args, 0, list ? 0 : 1);

	if (bad)
		return bad;
	if (list && remove)
		return say_usage("trust takes --list or --remove");
	req.files = args->words;
	req.n_files = args->n_words;
	return say_answer(cordon_trust(&req, act, &answer, &err), &answer, &err);
}

int cmd_show(const struct args *args)
{
	struct cordon_answer answer = { 0 };
	struct cordon_err err;
	int bad;

	if (args_has(args, OPT_JSON_SCHEMA))
		return say_answer(cordon_policy_schema(&answer, &err), &answer, &err);
	bad = need_words(args, 1, MAX_ARGS);
	return bad ? bad : ask(args, cordon_policy_show);
}

int cmd_intersect(const struct args *args)
{
	int bad = need_words(args, 2, 2);

	return bad ? bad : ask(args, cordon_policy_intersect);
}

int cmd_diff(const struct args *args)
{
	int bad = need_words(args, 2, 2);

	return bad ? bad : ask(args, cordon_policy_diff);
}

int cmd_convert(const struct args *args)
{
	const char *to = args_has(args, OPT_TO) ? args_value(args, OPT_TO) : "cordon";
	int bad = need_words(args, 1, 1);

	if (!bad && strcmp(to, "cordon") != 0)
		return say_usage("--to %s: policy convert writes cordon.toml only; leave --to out",
				 to);
	return bad ? bad : ask(args, cordon_policy_convert);
}

int cmd_match(const struct args *args)
{
	const char *files[MAX_ARGS], *answers[MAX_ARGS], *connect_to[MAX_ARGS];
	struct cordon_request req = CORDON_REQUEST;
	struct cordon_question q = CORDON_QUESTION;
	struct cordon_answer answer = { 0 };
	struct cordon_err err;

	if (!args_has(args, OPT_POLICY))
		return say_usage("policy match takes --policy FILE");
	if (args_has(args, OPT_COMMAND) == (args->n_words > 0))
		return say_usage("policy match takes hosts, or --command TEXT");
	req.files = files;
	req.n_files = args_values(args, OPT_POLICY, files);
	req.dialect = args_value(args, OPT_DIALECT);
	req.connect_to = connect_to;
	req.n_connect_to = args_values(args, OPT_CONNECT_TO, connect_to);
	q.targets = args->words;
	q.n_targets = args->n_words;
	q.resolves_to = answers;
	q.n_resolves_to = args_values(args, OPT_RESOLVES_TO, answers);
	q.command = args_value(args, OPT_COMMAND);
	q.phase = args_value(args, OPT_PHASE);
	return say_answer(cordon_policy_match(&req, &q, &answer, &err), &answer, &err);
}

int cmd_doctor(const struct args *args)
{
	struct cordon_doctor_options o = CORDON_DOCTOR_OPTIONS;
	struct cordon_answer answer = { 0 };
	struct cordon_err err;
	int bad = need_words(args, 0, 0);

	if (bad)
		return bad;
	o.json = args_has(args, OPT_JSON);
	o.capabilities = args_has(args, OPT_CAPABILITIES);
	o.backend = args_value(args, OPT_BACKEND);
	o.prove = args_has(args, OPT_PROVE);
	if (o.prove && o.capabilities)
		return say_usage("doctor takes --prove or --capabilities");
	if (o.backend && !o.capabilities)
		return say_usage("doctor takes --sandbox together with --capabilities");
	return say_answer(cordon_doctor(&o, &answer, &err), &answer, &err);
}

int prove_act_main(int argc, char *const *argv)
{
	struct cordon_err err = { 0 };

	if (cordon_prove_act((const char *const *)argv, (size_t)argc, &err) == 0)
		return EXIT_GOOD;
	if (err.code == CORDON_E_USAGE)
		return say_usage("%s", err.msg);
	puts(err.msg);
	return say_done(10);	/* no exit code of a run that failed by itself */
}

int cmd_ps(const struct args *args)
{
	struct cordon_answer answer = { 0 };
	struct cordon_err err;
	int bad = need_words(args, 0, 0);

	if (bad)
		return bad;
	return say_answer(cordon_ps(args_has(args, OPT_JSON), &answer, &err), &answer, &err);
}

int cmd_kill(const struct args *args)
{
	struct cordon_answer answer = { 0 };
	struct cordon_err err;
	int bad = need_words(args, 1, 1);

	return bad ? bad : say_answer(cordon_kill(args->words[0], &answer, &err), &answer, &err);
}

int cmd_completion(const struct args *args)
{
	int bad = need_words(args, 1, 1);

	if (bad)
		return bad;
	say_start();
	if (completion_print(args->words[0], stdout) < 0)
		return say_usage("'%s' is not a shell; write bash, zsh or fish", args->words[0]);
	return say_done(EXIT_GOOD);
}

int cmd_version(const struct args *args)
{
	int bad = need_words(args, 0, 0);

	if (bad)
		return bad;
	say_start();
	printf("cordon %s\n", cordon_version());
	return say_done(EXIT_GOOD);
}

int cmd_help(const struct args *args)
{
	bool found = false;

	if (args->n_words > 2)
		return say_usage("help takes [COMMAND]");
	say_start();
	if (!args->n_words)
		help_print(stdout);
	for (const struct command *c = commands; c->name && args->n_words; c++) {
		if (strcmp(c->name, args->words[0]) != 0 ||
		    (args->n_words > 1 && (!c->word || strcmp(c->word, args->words[1]) != 0)))
			continue;
		found = true;
		help_print_command(c, stdout);
	}
	if (!found && args->n_words)
		return say_usage("there is no command '%s%s%s'", args->words[0],
				 args->n_words > 1 ? " " : "",
				 args->n_words > 1 ? args->words[1] : "");
	return say_done(EXIT_GOOD);
}
