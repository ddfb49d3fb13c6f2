/* The spine of a run: compose, judge, compile, start, tell. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/path.h"
#include "host/probe.h"
#include "lib/answer.h"
#include "lib/lack.h"
#include "plan/compile.h"
#include "super/run.h"

/* The files whose policy holds, so that nothing inside can change them. */
static int list_policy_files(struct composition *c, struct plan_request *r, struct cordon_err *err)
{
	const char **files = arena_new(&c->arena, c->n_sources + 1, sizeof(*files));

	if (!files)
		return err_nomem(err);
	for (size_t i = 0; i < c->n_sources; i++)
		if (path_resolve(&c->arena, str_from(c->sources[i]), c->cwd, &files[i], err) < 0)
			return -1;
	r->policy_files = files;
	r->n_policy_files = c->n_sources;
	return 0;
}

/* Copies: the words of the command line are wiped inside. */
static const char *const *copy_argv(struct composition *c, const struct cordon_request *req)
{
	const char **argv = arena_new(&c->arena, req->n_command + 1, sizeof(*argv));

	for (size_t i = 0; argv && i < req->n_command; i++) {
		argv[i] = arena_strndup(&c->arena, req->command[i], strlen(req->command[i]));
		if (!argv[i])
			return NULL;
	}
	return (const char *const *)argv;
}

static int compile(struct composition *c, const struct cordon_request *req,
		   const struct host_caps *caps, struct plan *plan, struct cordon_err *err)
{
	struct plan_request r = {
		.argv = copy_argv(c, req),
		.environ = (const char *const *)environ,
		.cwd = c->cwd,
		.uid = geteuid(),
		.gid = getegid(),
	};

	if (!r.argv)
		return err_nomem(err);
	if (c->home && path_resolve(&c->arena, str_from(c->home), "/", &r.home, err) < 0)
		return -1;
	if (list_policy_files(c, &r, err) < 0)
		return -1;
	return plan_compile(&c->policy, caps, &r, &c->arena, plan, err);
}

/* The command itself against the blocked ones: its text where there is one, its
 * words otherwise.  What it starts in turn meets the kernel.  Sets *ret to the
 * message, or NULL. */
static int judge_command(struct composition *c, const struct cordon_request *req,
			 const struct cordon_run_options *o, const char **ret,
			 struct cordon_err *err)
{
	const struct field_value *v = &c->policy.base.f[F_COMMANDS_BLOCK];
	struct command_rule *rules = arena_new(&c->arena, v->n + 1, sizeof(*rules));
	struct str *argv = arena_new(&c->arena, req->n_command + 1, sizeof(*argv));
	struct command_verdict verdict = { 0 };

	*ret = NULL;
	if (!rules || !argv)
		return err_nomem(err);
	for (size_t i = 0; i < v->n; i++)
		rules[i] = *v->items[i].command;
	for (size_t i = 0; i < req->n_command; i++)
		argv[i] = str_from(req->command[i]);
	if (o->shell_text && v->n &&
	    command_text_check(rules, v->n, str_from(o->shell_text), &verdict, err) < 0)
		return -1;
	for (size_t i = 0; i < v->n && !verdict.blocked; i++)
		if (command_rule_matches(&rules[i], argv, req->n_command)) {
			verdict.blocked = true;
			snprintf(verdict.message, sizeof(verdict.message),
				 "Command blocked by sandbox policy: contains '%.*s'",
				 STR_FMT(rules[i].text));
		}
	if (verdict.blocked)
		*ret = arena_strndup(&c->arena, verdict.message, strlen(verdict.message));
	return verdict.blocked && !*ret ? err_nomem(err) : 0;
}

/* Tell how it went, as JSON where that is asked for. */
static int tell(struct composition *c, const struct cordon_run_options *o,
		const struct run_result *res, const struct plan *plan, struct cordon_answer *ret,
		struct cordon_err *err)
{
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES * 16);
	struct json_out j = { .out = &out };

	if (o->json) {
		run_result_print(res, plan, &j);
		buf_putc(&out, '\n');
		if (!buf_ok(&out))
			return err_nomem(err);
	}
	if (!res->started && !res->exec_errno && !res->blocked)
		diag_error(&c->diags, (struct place){ 0 }, "cordon: %s", res->err.msg);
	if (res->exec_errno && !res->blocked)
		diag_error(&c->diags, (struct place){ 0 }, "cordon: %s: %s", plan->argv[0],
			   strerrordesc_np(res->exec_errno));
	if (res->blocked)
		diag_error(&c->diags, (struct place){ 0 }, "%s", res->blocked);
	return answer_fill(ret, true, &out, c, 0, err);
}

/* Without any protection, as was asked for in so many words. */
static int run_bare(const struct plan *plan, struct cordon_err *err)
{
	execvpe(plan->argv[0], (char *const *)(uintptr_t)plan->argv,
		(char *const *)(uintptr_t)plan->envp);
	return err_sys(err, CORDON_E_SETUP, "%s", plan->argv[0]);
}

int cordon_run(const struct cordon_request *req, const struct cordon_run_options *o, int *ret_code,
	       struct cordon_answer *ret, struct cordon_err *err)
{
	cleanup_composition struct composition c;
	struct host_caps caps;
	struct run_result res = { 0 };
	struct run_options ro = { .capture = o->capture };
	struct plan plan = { .argv = req->command, .backend = "process", .profile = "worktree" };
	int rc;

	*ret_code = 125;
	if (composition_init(&c, req, err) < 0)
		return -1;
	if (o->size != sizeof(*o) || !req->n_command)
		return err_set(err, CORDON_E_USAGE, "there is no command to run");
	if (compose_all(&c, req) < 0)
		return answer_fill(ret, false, NULL, &c, -1, err);
	ro.limit_output = c.policy.base.f[F_LIMITS_OUTPUT].set;
	if (compose_defaults(&c) < 0)
		return answer_fill(ret, false, NULL, &c, -1, err);
	if (judge_command(&c, req, o, &res.blocked, err) < 0)
		return -1;
	if (res.blocked) {
		res.exec_errno = EPERM;
		*ret_code = 126;
		return tell(&c, o, &res, &plan, ret, err);
	}
	host_probe_quick(&caps);
	caps.cgroup = limiter_detect();
	if (compile(&c, req, &caps, &plan, &res.err) < 0)
		return tell(&c, o, &res, &plan, ret, err);
	if (o->dry_run) {
		cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES);

		plan_print(&plan, &out);
		*ret_code = 0;
		return answer_fill(ret, true, &out, &c, 0, err);
	}
	if (!plan.clone_flags)
		return run_bare(&plan, err);
	rc = run_plan(&plan, &caps, &ro, &res, &res.err);
	if (rc < 0)
		res.started = false;
	if (!res.started && !res.exec_errno)
		lack_name(&plan, &res.err);
	*ret_code = run_result_code(&res);
	rc = tell(&c, o, &res, &plan, ret, err);
	run_result_release(&res);
	return rc;
}
