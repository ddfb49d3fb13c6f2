/* `cordon session …`: words into requests, answers into words. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

#include "cli/result_file.h"

/* Of what cordon could not do, nothing was started. */
static int say_refused(int rc, struct cordon_answer *answer, const struct cordon_err *err)
{
	bool usage = rc == 0 || err->code == CORDON_E_USAGE || err->code == CORDON_E_POLICY;
	int code = say_answer(rc, answer, err);

	return usage ? code : 125;
}

int cmd_session_start(const struct args *args)
{
	struct cordon_session_options o = CORDON_SESSION_OPTIONS;
	struct room *room = calloc(1, sizeof(*room));
	struct cordon_answer answer = { 0 };
	struct cordon_request req;
	struct cordon_err err = { 0 };
	int rc;

	o.own_process = true;
	if (!room)
		return say_usage("out of memory");
	if (args->n_words) {
		free(room);
		return say_usage("session start takes options only; commands come by session exec");
	}
	req = args_request(args, room->settings, room->files, room->connect_to);
	req.ceilings = true;
	o.name = args_value(args, OPT_NAME);
	o.idle = args_value(args, OPT_IDLE);
	o.owner = args_value(args, OPT_OWNER);
	o.warn = say_warning;
	rc = cordon_session_start(&req, &o, &answer, &err);
	free(room);
	return say_refused(rc, &answer, &err);
}

static int exec_request(const struct args *args, struct cordon_exec_options *o)
{
	const char *file = args_value(args, OPT_RESULT);
	struct cordon_answer answer = { 0 };
	struct result_file result;
	struct cordon_err err;
	int code, rc;

	if (file && result_file_open(&result, file) < 0)
		return say_usage("--result takes a file in a folder that can be written,"
				 " or a pipe that is read, not '%s'", file);
	o->capture = args_has(args, OPT_JSON);
	o->json = o->capture || file;
	rc = cordon_session_exec(args->words[0], o, &code, &answer, &err);
	return say_result(&(struct result_place){ &result, file, o->capture }, code, rc, &answer,
			  &err);
}

int cmd_session_exec(const struct args *args)
{
	const char *text = args_value(args, OPT_SHELL), *env[MAX_ARGS + 1];
	struct cordon_exec_options o = CORDON_EXEC_OPTIONS;

	if (args->n_words != 1 || (args->n_behind > 0) == args_has(args, OPT_SHELL))
		return say_usage("session exec takes ID -- CMD [ARG…], or ID -c TEXT");
	env[args_values(args, OPT_VARIABLE, env)] = NULL;
	/* What stands behind -- ends with NULL, as all of argv does. */
	o.command = args->behind;
	o.shell_text = text;
	o.cwd = args_value(args, OPT_CWD);
	o.env = env;
	o.timeout = args_value(args, OPT_TIMEOUT);
	return exec_request(args, &o);
}

int cmd_session_phase(const struct args *args)
{
	const char *phase = args->n_words > 1 ? args->words[1] : NULL;
	struct cordon_answer answer = { 0 };
	struct cordon_err err;
	int bad = need_words(args, 1, 2), rc;

	if (bad)
		return bad;
	if (args_has(args, OPT_END_LEFTOVERS))
		rc = cordon_session_end_leftovers(args->words[0], phase, &answer, &err);
	else
		rc = cordon_session_phase(args->words[0], phase, &answer, &err);
	return say_refused(rc, &answer, &err);
}

int cmd_session_network(const struct args *args)
{
	const char *hosts[MAX_ARGS], *mode = args_value(args, OPT_NETWORK);
	size_t n = args_values(args, OPT_ALLOW_HOST, hosts);
	struct cordon_answer answer = { 0 };
	struct cordon_err err;
	int bad = need_words(args, 1, 1);

	if (bad)
		return bad;
	if (!mode && !n)
		return say_usage("session network takes --network MODE");
	return say_refused(cordon_session_network(args->words[0], mode ? mode : "allowlist", hosts,
						  n, &answer, &err), &answer, &err);
}

int cmd_session_allow(const struct args *args)
{
	struct cordon_answer answer = { 0 };
	struct cordon_err err;
	int bad = need_words(args, 2, MAX_ARGS);

	if (bad)
		return bad;
	return say_refused(cordon_session_allow(args->words[0], args->words + 1, args->n_words - 1,
						args_value(args, OPT_FOR), &answer, &err),
			   &answer, &err);
}

int cmd_session_status(const struct args *args)
{
	struct cordon_answer answer = { 0 };
	struct cordon_err err;
	int bad = need_words(args, 1, 1);

	if (bad)
		return bad;
	return say_refused(cordon_session_status(args->words[0], args_has(args, OPT_JSON), &answer,
						 &err), &answer, &err);
}
