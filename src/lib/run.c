/* The spine of a run: compose, judge, compile, start, tell. */
#include "lib/run.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "backend/native/programs.h"
#include "base/fd.h"
#include "base/path.h"
#include "host/probe.h"
#include "lib/answer.h"
#include "super/live.h"
#include "super/report.h"
#include "super/run.h"
#include "super/scope.h"

static int add_policy_file(struct composition *c, struct plan_request *r, const char *path,
			   struct cordon_err *err)
{
	const char **files = arena_grow(&c->arena, r->policy_files, r->n_policy_files,
					&r->cap_policy_files, sizeof(*files));

	if (!files || !path)
		return err_nomem(err);
	files[r->n_policy_files++] = path;
	r->policy_files = files;
	return 0;
}

/* The files whose policy holds, so that nothing inside can change them: what
 * they are, first, then the names they were found by.  And those that would
 * hold for the next run from here, if they were made or changed. */
static int list_policy_files(struct composition *c, struct plan_request *r, struct cordon_err *err)
{
	for (size_t i = 0; i < c->n_sources; i++) {
		const char *real;

		if (path_resolve(&c->arena, str_from(c->sources[i]), c->cwd, &real, err) < 0 ||
		    add_policy_file(c, r, real, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < c->n_sources; i++)
		if (add_policy_file(c, r,
				    path_normal(&c->arena, str_from(c->sources[i]), c->cwd),
				    err) < 0)
			return -1;
	for (struct str dir = str_from(c->cwd); dir.n;) {
		for (size_t i = 0; project_policies[i]; i++)
			if (add_policy_file(c, r,
					    arena_printf(&c->arena, "%.*s/%s",
							 dir.n > 1 ? (int)dir.n : 0, dir.s,
							 project_policies[i]),
					    err) < 0)
				return -1;
		while (dir.n && dir.s[dir.n - 1] != '/')
			dir.n--;
		dir.n -= dir.n > 0;
	}
	return 0;
}

/* The caller's home as the machine knows it: HOME may be unset, or another's. */
static int find_own_home(struct composition *c, const char **ret, struct cordon_err *err)
{
	struct cordon_err ignored;
	struct str rest;

	if (fd_read_file("/etc/passwd", MAX_SOURCE_BYTES, &c->arena, &rest, &ignored) < 0)
		return 0;
	while (rest.n) {
		size_t n = str_find(rest, '\n');
		struct str line = str_first(rest, n), parts[6] = { 0 };
		uint64_t uid;

		rest = str_from_pos(rest, n < rest.n ? n + 1 : n);
		for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
			size_t end = str_find(line, ':');

			parts[i] = str_first(line, end);
			line = str_from_pos(line, end < line.n ? end + 1 : end);
		}
		if (str_parse_u64(parts[2], &uid) && uid == geteuid() && str_starts(parts[5], "/"))
			return path_resolve(&c->arena, parts[5], "/", ret, err);
	}
	return 0;
}

/* CORDON_SANDBOX: what happens where the machine cannot do what is asked. */
static int read_consent(enum plan_consent *ret, struct cordon_err *err)
{
	static const struct {
		const char *word;
		enum plan_consent consent;
	} words[] = {
		{ "", CONSENT_POLICY },
		{ "off", CONSENT_BARE },
		{ "warn", CONSENT_ANY },
		{ "enforce", CONSENT_NONE },
	};
	const char *word = getenv("CORDON_SANDBOX");

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(word ? word : "", words[i].word) == 0) {
			*ret = words[i].consent;
			return 0;
		}
	return err_set(err, CORDON_E_USAGE,
		       "CORDON_SANDBOX is '%s'; write off, warn or enforce, or unset it", word);
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

static bool is_same_host(const struct host *a, const struct host *b)
{
	return a->is_addr == b->is_addr &&
	       (a->is_addr ? a->addr.is_v6 == b->addr.is_v6 &&
				     memcmp(a->addr.b, b->addr.b, sizeof(a->addr.b)) == 0
			   : strcmp(a->name, b->name) == 0);
}

/* --connect-to: one answer for each host and port. */
static int read_reroutes(struct composition *c, const struct cordon_request *req,
			 struct plan_request *r, struct cordon_err *err)
{
	struct net_reroute *list = arena_new(&c->arena, req->n_connect_to + 1, sizeof(*list));
	char why[HOST_WHY];

	if (!list)
		return err_nomem(err);
	if (req->n_connect_to > MAX_REROUTES)
		return err_set(err, CORDON_E_USAGE, "--connect-to is there more than %d times",
			       MAX_REROUTES);
	for (size_t i = 0; i < req->n_connect_to; i++) {
		if (net_reroute_parse(str_from(req->connect_to[i]), &list[i], why) < 0)
			return err_set(err, CORDON_E_USAGE, "--connect-to: '%s' %s",
				       req->connect_to[i], why);
		for (size_t k = 0; k < i; k++)
			if (list[k].port == list[i].port &&
			    is_same_host(&list[k].host, &list[i].host))
				return err_set(err, CORDON_E_USAGE,
					       "--connect-to: '%s' says again where a host is",
					       req->connect_to[i]);
	}
	r->reroutes = list;
	r->n_reroutes = req->n_connect_to;
	c->policy.base.rerouted = r->n_reroutes;
	for (size_t i = 0; i < c->policy.n_phases; i++)
		c->policy.phases[i].section.rerouted = r->n_reroutes;
	return 0;
}

int run_request(struct composition *c, const struct cordon_request *req, struct plan_request *ret,
		struct record *ret_record, struct cordon_err *err)
{
	struct plan_request r = {
		.argv = copy_argv(c, req),
		.environ = (const char *const *)environ,
		.cwd = c->cwd,
		.uid = geteuid(),
		.gid = getegid(),
	};
	char live[MAX_LIVE_ROOT];

	if (!r.argv)
		return err_nomem(err);
	live_root(live);
	if (path_resolve(&c->arena, str_from(live), "/", &r.live_root, err) < 0)
		return -1;
	if (c->home && path_resolve(&c->arena, str_from(c->home), "/", &r.home, err) < 0)
		return -1;
	/* Not looked for where nothing is blocked. */
	r.multi_call = c->policy.base.f[F_COMMANDS_BLOCK].n && programs_find_multi_call(r.environ);
	if (find_own_home(c, &r.own_home, err) < 0 || list_policy_files(c, &r, err) < 0 ||
	    read_consent(&r.consent, err) < 0 || read_reroutes(c, req, &r, err) < 0 ||
	    record_find(c, req, r.own_home, ret_record, err) < 0)
		return -1;
	r.audit = ret_record->hidden;
	*ret = r;
	return 0;
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
			command_rule_message(&rules[i], verdict.message);
		}
	if (verdict.blocked)
		*ret = arena_strndup(&c->arena, verdict.message, strlen(verdict.message));
	return verdict.blocked && !*ret ? err_nomem(err) : 0;
}

/* Why nothing was run, and what to do: one line of the hint a line. */
static void say_refusal(struct composition *c, const struct run_result *res)
{
	struct str hint = str_from(res->hint ? res->hint : "");

	diag_error(&c->diags, (struct place){ 0 }, "cordon: %s", res->err.msg);
	while (hint.n) {
		size_t end = str_find(hint, '\n');

		diag_error(&c->diags, (struct place){ 0 }, "cordon: %.*s", (int)end, hint.s);
		hint = str_from_pos(hint, end < hint.n ? end + 1 : end);
	}
}

/* One refusal in a line.  A command that was refused inside is told in the words
 * that the message of the whole run would have, each pattern once; that message
 * stands there already when it was the command itself. */
static bool say_denial(struct composition *c, const struct run_result *res, size_t i)
{
	const struct denial *d = &res->denials.items[i];
	cleanup_buf struct buf line = BUF(MAX_DIAG_BYTES);

	if (d->kind != DENIAL_COMMAND) {
		denial_print(d, &line);
		diag_error(&c->diags, (struct place){ 0 }, "%s", buf_text(&line));
		return true;
	}
	for (size_t k = 0; k < i; k++)
		if (res->denials.items[k].kind == DENIAL_COMMAND &&
		    strcmp(res->denials.items[k].reason, d->reason) == 0)
			return false;
	if (!res->blocked)
		diag_error(&c->diags, (struct place){ 0 }, "%s", d->reason);
	return !res->blocked;
}

/* What was refused, as lines. */
static void say_denials(struct composition *c, const struct run_result *res)
{
	const struct denials *d = &res->denials;
	uint64_t more = d->left_out;
	size_t shown = 0;

	for (size_t i = 0; i < d->n; i++) {
		if (shown == MAX_DENIAL_LINES)
			more++;
		else if (say_denial(c, res, i))
			shown++;
	}
	if (more)
		diag_error(&c->diags, (struct place){ 0 }, "denied: … and %llu more%s",
			   (unsigned long long)more,
			   res->audit.problem ? "" : " (see the audit log)");
}

static void say_lost(struct composition *c, const struct run_audit *a)
{
	if (a->lost)
		diag_error(&c->diags, (struct place){ 0 },
			   "cordon: warning: %llu events of this run are not in the audit log '%s'",
			   (unsigned long long)a->lost, a->path);
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
		say_refusal(c, res);
	if (res->exec_errno && !res->blocked)
		diag_error(&c->diags, (struct place){ 0 }, "cordon: %s: %s", plan->argv[0],
			   run_exec_problem(res->exec_errno));
	if (res->blocked)
		diag_error(&c->diags, (struct place){ 0 }, "%s", res->blocked);
	if (!o->capture)
		say_denials(c, res);
	say_lost(c, &res->audit);
	return answer_fill(ret, true, &out, c, 0, err);
}

/* ---- with what this machine has ------------------------------------------ */

/* One line about what the run does without. */
static void warn_waived(const struct plan *plan, const struct cordon_run_options *o)
{
	cleanup_buf struct buf line = BUF(1024);

	if (!plan->waived || !o->warn)
		return;
	buf_puts(&line, "warning: this machine does not offer");
	for (int i = 0; i < N_PROTECTIONS; i++)
		if (plan->waived & 1u << i)
			buf_printf(&line, " %s", protection_name((enum protection)i));
	buf_puts(&line, plan->bare ? "; CORDON_SANDBOX=off runs the command without any protection"
				   : "; the command runs without");
	if (!plan->bare && plan->waived & 1u << PROTECTION_MOUNT)
		buf_puts(&line, "; protected names inside writable roots, and modes and owners of "
				"files anywhere, are not held");
	if (!plan->bare && plan->net.rung == NET_PROXY)
		buf_puts(&line, "; allowed hosts are reached through the proxy that CORDON_PROXY "
				"names");
	o->warn(o->warn_arg, buf_text(&line));
}

struct attempt {
	struct composition *c;
	const struct cordon_run_options *o;
	struct run_options ro;
	struct plan_request request;
	struct record record;
	struct run_reporter reporter;
	struct host_report report;	/* of this machine, once it was asked */
	struct plan plan;
	struct run_result res;
};

/* What stands in the way, and what the doctor says about it. */
static void add_hint(struct attempt *a, enum host_feature missing)
{
	static const char proxy_hint[] =
		"or say may_lack = [\"net\"] in the policy: allowed hosts are then reached through "
		"a proxy on a unix socket (CORDON_PROXY), by programs that speak to one";
	const struct host_finding *f = &a->report.findings[missing];

	/* What a gate is missing for was named. */
	if (!net_needs_gate(&a->c->policy.base) || net_find_missing(&a->c->policy.base,
								     &a->report.caps) != missing)
		err_set(&a->res.err, CORDON_E_HOST,
			"the policy needs %s (%s), which this machine does not offer: %s",
			host_feature_name(missing), host_feature_about(missing), f->detail);
	if (missing == FEATURE_NET &&
	    net_find_rung(&a->c->policy.base, &a->report.caps) == NET_PROXY)
		a->res.hint = arena_printf(&a->c->arena, "%s%s%s", f->hint,
					   f->hint[0] ? "\n" : "", proxy_hint);
	else if (f->hint[0])
		a->res.hint = arena_strndup(&a->c->arena, f->hint, strlen(f->hint));
}

/* The machine is asked feature by feature: a run that assumed too much failed,
 * or a plan is to be shown.  True when the plan is now one for this machine;
 * false: res.err says why there is none. */
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
		add_hint(a, missing);
	return false;
}

static bool nothing_ran(const struct run_result *res)
{
	return !res->started && !res->exec_errno;
}

static void run_once(struct attempt *a)
{
	struct run_audit audit = a->res.audit;
	char id[sizeof(a->res.run_id)];
	int rc;

	/* A second attempt is the same run. */
	memcpy(id, a->res.run_id, sizeof(id));
	run_result_release(&a->res);
	run_result_init(&a->res);
	memcpy(a->res.run_id, id, sizeof(id));
	a->res.audit = audit;
	rc = a->plan.bare ? run_plan_bare(&a->plan, &a->ro, &a->res, &a->res.err)
			  : run_plan(&a->plan, &a->report.caps, &a->ro, &a->res, &a->res.err);
	if (rc < 0)
		a->res.started = false;
}

/* First as if everything were there, which a run finds out by itself; then with
 * what is there, if that is less. */
static void run_as_planned(struct attempt *a)
{
	enum net_rung rung = a->plan.net.rung;
	struct cordon_err first;

	if (!a->plan.bare) {
		warn_waived(&a->plan, a->o);
		run_once(a);
		if (!nothing_ran(&a->res))
			return;
		first = a->res.err;
		if (!plan_with_probe(a))
			return;
		/* A lower rung of the network means the same, by other means. */
		if (!a->plan.waived && a->plan.net.rung == rung) {
			a->res.err = first;
			return;
		}
	}
	warn_waived(&a->plan, a->o);
	run_once(a);
}

static int show_plan(struct attempt *a, struct cordon_answer *ret, struct cordon_err *err)
{
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES);

	plan_print(&a->plan, &out);
	return answer_fill(ret, true, &out, a->c, 0, err);
}

static bool requires_cgroup(const struct policy *p)
{
	const struct field_value *v = &p->base.f[F_REQUIRE];

	for (size_t i = 0; i < v->n; i++)
		if (str_is(v->items[i].text, protection_name(PROTECTION_CGROUP)))
			return true;
	return false;
}

/* The group that limits are for: one that is there or, where the policy cannot
 * do without, one that systemd gives.  *ret_why: why it does not. */
static enum host_cgroup find_cgroup(const struct attempt *a, struct cordon_err *ret_why)
{
	enum host_cgroup found = limiter_detect();

	if (found != HOST_CGROUP_NONE || a->o->dry_run || !requires_cgroup(&a->c->policy) ||
	    scope_start(ret_why) < 0)
		return found;
	return limiter_detect();
}

/* The first line of the log, before anything can be refused. */
static int start_record(struct attempt *a, struct cordon_err *err)
{
	const struct field_value *f = a->c->policy.base.f;
	struct run_about about = {
		.argv = a->request.argv,
		.cwd = a->request.cwd,
		.policies = a->request.policy_files,
		.n_policies = a->c->n_sources,
		.profile = field_words(KIND_PROFILE)[f[F_PROFILE].number],
		.backend = field_words(KIND_BACKEND)[f[F_BACKEND].number],
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
	int rc;

	run_report_end(&a->reporter, &a->plan);
	*ret_code = run_result_code(&a->res);
	rc = tell(a->c, a->o, &a->res, &a->plan, ret, err);
	run_result_release(&a->res);
	return rc;
}

static int run_judged(struct attempt *a, int *ret_code, struct cordon_answer *ret,
		      struct cordon_err *err)
{
	struct cordon_err why = { 0 };
	bool planned;

	host_probe_quick(&a->report.caps);
	a->report.caps.cgroup = find_cgroup(a, &why);
	planned = a->o->dry_run ? plan_with_probe(a)
				: plan_compile(&a->c->policy, &a->report.caps, &a->request,
					       &a->c->arena, &a->plan, &a->res.err) == 0;
	/* What the doctor would say. */
	if (!planned && !a->o->dry_run &&
	    plan_find_missing(&a->c->policy, &a->report.caps, &a->request) != N_HOST_FEATURES)
		planned = plan_with_probe(a);
	if (planned && a->o->dry_run) {
		*ret_code = 0;
		return show_plan(a, ret, err);
	}
	if (!planned && why.code != CORDON_E_NONE)
		a->res.hint = arena_strndup(&a->c->arena, why.msg, strlen(why.msg));
	if (planned)
		run_as_planned(a);
	return end_run(a, ret_code, ret, err);
}

int cordon_run(const struct cordon_request *req, const struct cordon_run_options *o, int *ret_code,
	       struct cordon_answer *ret, struct cordon_err *err)
{
	cleanup_composition struct composition c;
	struct attempt a = {
		.c = &c,
		.o = o,
		.ro = { .capture = o->capture, .reporter = &a.reporter },
		.reporter = { .res = &a.res },
		.plan = { .argv = req->command, .backend = "process", .profile = "worktree" },
	};

	*ret_code = 125;
	run_result_init(&a.res);
	if (composition_init(&c, req, err) < 0)
		return -1;
	if (o->size != sizeof(*o) || !req->n_command)
		return err_set(err, CORDON_E_USAGE, "there is no command to run");
	if (compose_all(&c, req) < 0)
		return answer_fill(ret, false, NULL, &c, -1, err);
	a.ro.limit_output = policy_is_written(&c.policy, F_LIMITS_OUTPUT);
	if (compose_defaults(&c) < 0)
		return answer_fill(ret, false, NULL, &c, -1, err);
	if (judge_command(&c, req, o, &a.res.blocked, err) < 0 ||
	    run_request(&c, req, &a.request, &a.record, err) < 0)
		return -1;
	if (!o->dry_run && start_record(&a, err) < 0)
		return -1;
	if (a.res.blocked) {
		a.res.exec_errno = EPERM;
		run_report_command(&a.reporter, o->shell_text ? o->shell_text : req->command[0],
				   a.res.blocked, "commands.block without the pattern");
		return end_run(&a, ret_code, ret, err);
	}
	return run_judged(&a, ret_code, ret, err);
}
