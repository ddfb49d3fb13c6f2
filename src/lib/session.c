/* Asking something of a live cordon: commands, phases, its network, its status. */
#include "super/session.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/program.h"
#include "lib/answer.h"
#include "lib/status.h"
#include "lib/tell.h"
#include "plan/environment.h"
#include "policy/quantity.h"
#include "policy/template.h"
#include "super/live.h"

/* ---- one request -------------------------------------------------------- */

/* A phase with a wider network than those before it: processes that they left have it, too. */
static char *warn_of_leftovers(int64_t n)
{
	cleanup_buf struct buf out = BUF(MAX_DIAG_BYTES);

	buf_printf(&out, "cordon: the network of this phase is wider, and %lld process%s that "
		   "began before it %s; --end-leftovers ends what ended commands left\n",
		   (long long)n, n == 1 ? "" : "es", n == 1 ? "has it" : "have it");
	return buf_ok(&out) ? buf_take(&out) : NULL;
}

static int ask(const char *id, struct control_out *request, struct cordon_answer *ret,
	       struct cordon_err *err)
{
	cleanup_buf struct buf out = BUF(MAX_CONTROL_BYTES);
	struct cordon_answer answer = { .yes = true };
	int64_t leftovers;
	cleanup_fd int fd = live_connect(id, err);

	if (fd < 0 || session_ask(fd, request, &out, &leftovers, err) < 0)
		return -1;
	answer.text = buf_ok(&out) ? buf_take(&out) : NULL;
	if (!answer.text)
		return err_nomem(err);
	if (leftovers)
		answer.problems = warn_of_leftovers(leftovers);
	*ret = answer;
	return 0;
}

static int ask_phase(const char *id, const char *phase, bool end_leftovers,
		     struct cordon_answer *ret, struct cordon_err *err)
{
	cleanup_control_out struct control_out o;

	control_out_init(&o, CONTROL_PHASE);
	o.head.numbers[0] = end_leftovers;
	if (phase)
		control_put(&o, 0, phase);
	return ask(id, &o, ret, err);
}

int cordon_session_phase(const char *id, const char *phase, struct cordon_answer *ret,
			 struct cordon_err *err)
{
	return ask_phase(id, phase, false, ret, err);
}

int cordon_session_end_leftovers(const char *id, const char *phase, struct cordon_answer *ret,
				 struct cordon_err *err)
{
	return ask_phase(id, phase, true, ret, err);
}

int cordon_session_network(const char *id, const char *mode, const char *const *hosts, size_t n,
			   struct cordon_answer *ret, struct cordon_err *err)
{
	cleanup_control_out struct control_out o;

	control_out_init(&o, CONTROL_NETWORK);
	control_put(&o, 0, mode);
	for (size_t i = 0; i < n; i++)
		control_put(&o, 1, hosts[i]);
	return ask(id, &o, ret, err);
}

int cordon_session_allow(const char *id, const char *const *hosts, size_t n, const char *duration,
			 struct cordon_answer *ret, struct cordon_err *err)
{
	cleanup_control_out struct control_out o;

	control_out_init(&o, CONTROL_ALLOW);
	if (duration && !quantity_parse_duration(str_from(duration), &o.head.numbers[0]))
		return err_set(err, CORDON_E_USAGE, "--for takes a duration, not '%s'", duration);
	for (size_t i = 0; i < n; i++)
		control_put(&o, 0, hosts[i]);
	return ask(id, &o, ret, err);
}

static int say_status(struct cordon_answer *answer, struct cordon_err *err)
{
	cleanup_buf struct buf out = BUF(MAX_CONTROL_BYTES);
	int rc = status_print(str_from(answer->text), &out, err);

	free(answer->text);
	answer->text = rc == 0 ? buf_take(&out) : NULL;
	return rc == 0 && !answer->text ? err_nomem(err) : rc;
}

int cordon_session_status(const char *id, bool json, struct cordon_answer *ret,
			  struct cordon_err *err)
{
	cleanup_control_out struct control_out o;

	control_out_init(&o, CONTROL_STATUS);
	if (ask(id, &o, ret, err) < 0)
		return -1;
	return json ? 0 : say_status(ret, err);
}

/* ---- a command ---------------------------------------------------------- */

static int read_options(const struct cordon_exec_options *o, const char *const *command,
			struct composition *c, struct session_exec *ret, struct cordon_err *err)
{
	struct session_exec e = {
		.argv = command,
		.environ = (const char *const *)environ,
		.cwd = c->cwd,
		.cwd_asked = o->cwd != NULL,
		.shell_text = o->shell_text,
		.settings = o->env,
		.timeout_ms = INT64_MAX,
		.capture = o->capture,
	};

	if (o->size != sizeof(*o))
		return err_set(err, CORDON_E_USAGE,
			       "the options are of another version of cordon.h");
	for (size_t i = 0; o->env && o->env[i]; i++) {
		struct str name = str_first(str_from(o->env[i]), strcspn(o->env[i], "="));

		if (!variable_is_name(name))
			return err_set(err, CORDON_E_USAGE,
				       "--env: '%.*s' is no variable's name; write letters, digits "
				       "and _", STR_FMT(name));
		if (environment_is_credential(name))
			diag_warn(&c->diags, (struct place){ .file = "--env" },
				  "'%.*s' is a credential by its name, and is left out whoever "
				  "names it", STR_FMT(name));
	}
	if (!command || !command[0])
		return err_set(err, CORDON_E_USAGE, "there is no command to run");
	if (!command[0][0])
		return err_set(err, CORDON_E_USAGE, "the command is empty; name a program");
	if (o->timeout && !quantity_parse_duration(str_from(o->timeout), &e.timeout_ms))
		return err_set(err, CORDON_E_USAGE, "--timeout takes a duration, not '%s'",
			       o->timeout);
	*ret = e;
	return 0;
}

int cordon_session_exec(const char *id, const struct cordon_exec_options *options, int *ret_code,
			struct cordon_answer *ret, struct cordon_err *err)
{
	struct cordon_request req = CORDON_REQUEST;
	cleanup_composition struct composition c;
	const char *shell[MAX_SHELL_WORDS];
	struct plan plan = { .argv = options->shell_text ? shell : options->command };
	struct tell_how how = { .json = options->json, .capture = options->capture,
				.session = true };
	cleanup_fd int fd = -1;
	struct session_exec e;
	struct run_result res;
	int rc;

	*ret_code = 125;
	req.cwd = options->cwd;
	if (options->shell_text)
		program_shell(options->shell_text, shell);
	if (composition_init(&c, &req, err) < 0 ||
	    read_options(options, plan.argv, &c, &e, err) < 0)
		return -1;
	run_result_init(&res);
	fd = live_connect(id, &res.err);
	/* Why there is no result stands in it. */
	if (fd >= 0)
		(void)!session_exec(fd, &e, &c.arena, &res, &plan, &res.err);
	*ret_code = run_result_code(&res);
	how.timeout_ms = e.timeout_ms;
	rc = tell_result(&c, &how, &res, &plan, ret, err);
	run_result_release(&res);
	return rc;
}
