/* The spine of a run: compose, judge, compile, start, tell. */
#include "cordon.h"

#include <errno.h>

#include "backend/native/native.h"
#include "base/cpus.h"
#include "base/fd.h"
#include "base/program.h"
#include "host/probe.h"
#include "lib/answer.h"
#include "lib/judge.h"
#include "lib/live_policy.h"
#include "lib/request.h"
#include "lib/tell.h"
#include "lib/warn.h"
#include "super/report.h"
#include "super/run.h"
#include "super/scope.h"

struct attempt {
	struct composition *c;
	const struct cordon_run_options *o;
	struct run_options ro;
	struct plan_request request;
	struct record record;
	struct run_reporter reporter;
	struct host_report report;	/* of this machine, once it was asked */
	struct plan plan;
	enum host_cgroup cgroup;	/* that there is without systemd */
	struct native_early early;	/* makes namespaces meanwhile */
	struct run_result res;
	bool failed;			/* res.err says what went wrong, before it began or after */
};

/* The refusal in the doctor's words, with its hint. */
static void name_missing(struct attempt *a, enum host_feature missing)
{
	const struct host_finding *f = &a->report.findings[missing];

	a->plan.lacking = 1u << plan_find_protection(missing);
	/* A message about the gate names the field that needs it. */
	if (net_find_missing(&a->c->policy.base, &a->report.caps) != missing)
		err_set(&a->res.err, CORDON_E_HOST,
			"the policy needs %s (%s), which this machine does not offer: %s",
			host_feature_name(missing), host_feature_about(missing), f->detail);
	if (f->hint[0])
		a->res.hint = arena_strndup(&a->c->arena, f->hint, strlen(f->hint));
}

/* Tries each feature of the machine, and plans with what there is. */
static bool plan_with_probe(struct attempt *a)
{
	enum host_cgroup cgroup = a->report.caps.cgroup;
	enum host_feature missing;

	if (host_probe_report(&a->report, &a->res.err) < 0)
		return false;
	a->report.caps.cgroup = cgroup;
	missing = plan_find_missing(&a->c->policy, &a->report.caps, &a->request);
	if (plan_compile(&a->c->policy, &a->report.caps, &a->request, &a->c->arena, &a->plan,
			 &a->res.err) == 0)
		return true;
	if (missing != N_HOST_FEATURES && a->res.err.code == CORDON_E_HOST)
		name_missing(a, missing);
	else if (a->res.err.code == CORDON_E_HOST)
		/* No other machine would do: the policy asks for too much. */
		a->res.err.code = CORDON_E_POLICY;
	return false;
}

/* The machine is taken to offer all that level full needs: to try it would cost as much as the
 * run, which finds out by itself.  Where the policy accepts less, it is tried first. */
static bool plan_run(struct attempt *a)
{
	if (a->o->dry_run || plan_may_be_less(&a->c->policy, &a->request))
		return plan_with_probe(a);
	host_probe_quick(&a->report.caps);
	a->report.caps.cgroup = a->cgroup;
	return plan_compile(&a->c->policy, &a->report.caps, &a->request, &a->c->arena, &a->plan,
			    &a->res.err) == 0 || plan_with_probe(a);
}

/* The sandbox could not be built.  If a feature of the machine is missing, that is why. */
static void explain_failure(struct attempt *a)
{
	enum host_cgroup cgroup = a->report.caps.cgroup;
	struct cordon_err ignored;
	enum host_feature missing;

	if (host_probe_report(&a->report, &ignored) < 0)
		return;
	a->report.caps.cgroup = cgroup;
	missing = plan_find_missing(&a->c->policy, &a->report.caps, &a->request);
	if (missing == N_HOST_FEATURES)
		return;
	(void)!plan_compile(&a->c->policy, &a->report.caps, &a->request, &a->c->arena, &a->plan,
			    &a->res.err);
	name_missing(a, missing);
}

static bool nothing_ran(const struct run_result *res)
{
	return !res->started && !res->exec_errno;
}

/* With somebody who knows the policy, for what is asked meanwhile. */
static int run_live(struct attempt *a)
{
	struct live_policy_about about = { a->c, &a->plan, &a->report.caps, &a->request };
	struct live_policy *policy = live_policy_new(&about, &a->res.err);
	struct session_ops ops;
	int rc;

	if (!policy)
		return -1;
	ops = live_policy_ops(policy);
	a->ro.ops = &ops;
	rc = request_make_roots(a->c, &a->res.err);
	if (rc == 0)
		rc = run_plan(&a->plan, &a->report.caps, &a->ro, &a->res, &a->res.err);
	live_policy_free(policy);
	return rc;
}

static void run_planned(struct attempt *a)
{
	const struct warner warner = { a->o->warn, a->o->warn_arg };
	bool none = a->plan.level == LEVEL_NONE;
	int rc;

	warn_of_found(&warner, a->c);
	warn_of_cuts(&warner, a->c);
	warn_of_plan(&warner, &a->plan);
	if (none && !a->plan.is_lowered)
		warn_of_none(&warner, &a->c->policy);
	if (none)
		warn_of_unheld(&warner, &a->c->policy, run_bare_counts_output(&a->ro));
	rc = none ? run_plan_bare(&a->plan, &a->ro, &a->res, &a->res.err) : run_live(a);
	a->failed = rc < 0;
	if (!none && a->res.limit == LIMIT_OK && a->res.err.code != CORDON_E_NONE &&
	    nothing_ran(&a->res))
		explain_failure(a);
}

static int show_plan(struct attempt *a, struct cordon_answer *ret, struct cordon_err *err)
{
	cleanup_buf struct buf text = BUF(MAX_OUTPUT_BYTES), out = BUF(MAX_OUTPUT_BYTES);
	struct json_out j = { .out = &out };

	plan_print(&a->plan, &text);
	if (!a->o->json)
		return answer_fill(ret, true, &text, a->c, 0, err);
	json_open(&j, '{');
	json_key(&j, "plan");
	json_open(&j, '[');
	for (struct str rest = { buf_text(&text), text.n }; rest.n;) {
		size_t n = str_find(rest, '\n');

		json_put_str(&j, str_first(rest, n));
		rest = str_from_pos(rest, n < rest.n ? n + 1 : n);
	}
	json_close(&j, ']');
	json_close(&j, '}');
	buf_putc(&out, '\n');
	return answer_fill(ret, true, &out, a->c, 0, err);
}

/* The group that limits are for: one that is there or, where the policy cannot
 * do without, one that systemd gives.  *ret_why: why it does not. */
static enum host_cgroup find_cgroup(struct attempt *a, struct cordon_err *ret_why)
{
	if (a->cgroup != HOST_CGROUP_NONE || a->o->dry_run ||
	    !request_requires_cgroup(&a->c->policy))
		return a->cgroup;
	/* It would stay where we are now. */
	native_early_stop(&a->early);
	return scope_start(ret_why) < 0 ? a->cgroup : limiter_detect();
}

/* As far as the policy tells yet; the plan has the last word. */
static bool wants_network(const struct policy *policy)
{
	const struct field_value *f = policy->base.f;

	return f[F_BACKEND].number == BACKEND_PROCESS &&
	       f[F_PROFILE].number != PROFILE_UNRESTRICTED &&
	       f[F_NETWORK_MODE].number != NETWORK_PUBLIC;
}

static void begin_early(struct attempt *a)
{
	cpu_set_t cpus;

	/* A group of version 2 is given limits when nobody but us is in it. */
	if (!a->o->own_process || a->o->dry_run || !wants_network(&a->c->policy) ||
	    a->cgroup == HOST_CGROUP_V2)
		return;
	cpus_read(&cpus);
	if (cpus_have_idle(&cpus))
		native_early_start(&a->early);
}

/* The first line of the log, before anything can be refused. */
static int start_record(struct attempt *a, struct cordon_err *err)
{
	struct run_about about = {
		.argv = a->request.argv,
		.cwd = a->request.cwd,
		.policies = a->request.policy_files.paths,
		.n_policies = a->c->n_sources,
		.profile = a->plan.profile,
		.backend = a->plan.backend,
	};
	struct run_audit *told = &a->res.audit;
	cleanup_buf struct buf line = BUF(MAX_DIAG_BYTES);

	told->path = a->record.path;
	if (record_open(a->c, &a->record, a->res.run_id, &a->reporter.audit, &told->problem,
			err) < 0)
		return -1;
	if (told->problem && a->o->warn) {
		buf_printf(&line, "warning: this run is not recorded: %s; --audit FILE names "
				  "another place", told->problem);
		a->o->warn(a->o->warn_arg, buf_text(&line));
	}
	run_report_start(&a->reporter, &about);
	return 0;
}

/* The last line, and the answer. */
static int end_run(struct attempt *a, int *ret_code, struct cordon_answer *ret,
		   struct cordon_err *err)
{
	struct tell_how how = { .json = a->o->json, .capture = a->o->capture };
	int rc;

	run_report_end(&a->reporter, &a->plan);
	a->res.limit_value = limit_kind_value(a->res.limit, &a->plan.limits);
	/* Where it had begun the result says so, and how it was ended. */
	*ret_code = a->failed && a->res.started ? 125 : run_result_code(&a->res);
	rc = tell_result(a->c, &how, &a->res, &a->plan, ret, err);
	run_result_release(&a->res);
	return rc;
}

static int run_judged(struct attempt *a, int *ret_code, struct cordon_answer *ret,
		      struct cordon_err *err)
{
	struct cordon_err why = { 0 };
	bool planned;

	if (a->c->policy.base.f[F_BACKEND].number != BACKEND_NONE &&
	    fd_check_limit(&a->res.err) < 0)
		return end_run(a, ret_code, ret, err);
	a->cgroup = a->report.caps.cgroup = find_cgroup(a, &why);
	planned = plan_run(a);
	if (planned && a->o->dry_run) {
		*ret_code = 0;
		return show_plan(a, ret, err);
	}
	/* Below what to do, why systemd did not do it. */
	if (!planned && why.code != CORDON_E_NONE)
		a->res.hint = arena_printf(&a->c->arena, "%s%s%s", a->res.hint ? a->res.hint : "",
					   a->res.hint ? "\n" : "", why.msg);
	if (planned)
		run_planned(a);
	return end_run(a, ret_code, ret, err);
}

/* From a composed policy on. */
static int run_composed(struct attempt *a, const struct cordon_request *req, int *ret_code,
			struct cordon_answer *ret, struct cordon_err *err)
{
	struct composition *c = a->c;

	/* For a run that is refused before there is a plan. */
	a->plan.profile = field_words(KIND_PROFILE)[c->policy.base.f[F_PROFILE].number];
	a->plan.backend = field_words(KIND_BACKEND)[c->policy.base.f[F_BACKEND].number];
	if (judge_command(&c->policy,
			  &(struct judged){ req->command, req->n_command, a->o->shell_text },
			  &c->arena, &a->res.blocked, err) < 0 ||
	    request_read(c, req, &a->request, &a->record, err) < 0)
		return -1;
	if ((a->o->dry_run ? record_check(&a->record, err) : start_record(a, err)) < 0)
		return -1;
	if (a->res.blocked) {
		a->res.exec_errno = EPERM;
		run_report_command(&a->reporter,
				   a->o->shell_text ? a->o->shell_text : req->command[0],
				   a->res.blocked, 0);
		return end_run(a, ret_code, ret, err);
	}
	return run_judged(a, ret_code, ret, err);
}

int cordon_run(const struct cordon_request *asked, const struct cordon_run_options *o,
	       int *ret_code, struct cordon_answer *ret, struct cordon_err *err)
{
	cleanup_composition struct composition c;
	const char *shell[MAX_SHELL_WORDS];
	struct cordon_request req = *asked;
	struct attempt a = {
		.c = &c,
		.o = o,
		.ro = { .capture = o->capture, .reporter = &a.reporter, .early = &a.early },
		.reporter = { .res = &a.res },
		.early = NATIVE_NOT_EARLY,
	};
	int rc;

	*ret_code = 125;
	run_result_init(&a.res);
	if (composition_init(&c, &req, err) < 0)
		return -1;
	if (o->size != sizeof(*o))
		return err_set(err, CORDON_E_USAGE,
			       "the options are of another version of cordon.h");
	if (o->shell_text) {
		req.n_command = program_shell(o->shell_text, shell);
		req.command = shell;
	}
	a.plan.argv = req.command;
	if (!req.n_command)
		return err_set(err, CORDON_E_USAGE, "there is no command to run");
	if (compose_all(&c, &req) < 0)
		return answer_fill(ret, false, NULL, &c, -1, err);
	a.ro.limit_output = policy_is_written(&c.policy, F_LIMITS_OUTPUT);
	a.ro.own_process = o->own_process;
	if (compose_defaults(&c) < 0)
		return answer_fill(ret, false, NULL, &c, -1, err);
	a.cgroup = limiter_detect();
	begin_early(&a);
	rc = run_composed(&a, &req, ret_code, ret, err);
	native_early_stop(&a.early);
	return rc;
}
