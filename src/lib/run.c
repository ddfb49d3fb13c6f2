/* The spine of a run: compose, judge, compile, start, tell. */
#include "lib/run.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/native/programs.h"
#include "base/fd.h"
#include "base/path.h"
#include "host/probe.h"
#include "lib/answer.h"
#include "lib/git.h"
#include "lib/judge.h"
#include "lib/live_policy.h"
#include "lib/mounts.h"
#include "lib/tell.h"
#include "plan/presets.h"
#include "super/live.h"
#include "super/report.h"
#include "super/run.h"
#include "super/scope.h"

/* The user's ceiling where it is without XDG_CONFIG_HOME, and for who has another HOME: it
 * holds for the next run, whatever this one has read. */
static int list_ceilings(struct composition *c, struct plan_request *r, struct cordon_err *err)
{
	const char *const homes[] = { r->home, r->own_home };

	for (size_t i = 0; i < ARRAY_SIZE(homes); i++)
		if (homes[i] && plan_paths_add(&c->arena, &r->policy_files,
					       arena_printf(&c->arena, "%s/" USER_CEILING,
							    homes[i]),
					       err) < 0)
			return -1;
	return 0;
}

/* The files whose policy holds, so that nothing inside can change them: what
 * they are, first, then the names they were found by.  And those that would
 * hold for the next run from here, if they were made or changed. */
static int list_policy_files(struct composition *c, struct plan_request *r, struct cordon_err *err)
{
	if (list_ceilings(c, r, err) < 0)
		return -1;
	for (size_t i = 0; i < c->n_sources; i++) {
		const char *real;

		if (path_resolve(&c->arena, str_from(c->sources[i]), c->cwd, &real, err) < 0 ||
		    plan_paths_add(&c->arena, &r->policy_files, real, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < c->n_sources; i++)
		if (plan_paths_add(&c->arena, &r->policy_files,
				   path_normal(&c->arena, str_from(c->sources[i]), c->cwd),
				   err) < 0)
			return -1;
	for (struct str dir = str_from(c->like_container ? "" : c->cwd); dir.n;) {
		for (size_t i = 0; project_policies[i]; i++)
			if (plan_paths_add(&c->arena, &r->policy_files,
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
	c->policy.base.rerouted = r->n_reroutes || c->like_container;
	for (size_t i = 0; i < c->policy.n_phases; i++)
		c->policy.phases[i].section.rerouted = c->policy.base.rerouted;
	return 0;
}

struct cordon_request run_any_command(const struct cordon_request *req)
{
	static const char *const nothing[] = { "/bin/true" };
	struct cordon_request any = *req;

	if (!any.n_command) {
		any.command = nothing;
		any.n_command = 1;
	}
	return any;
}

/* One that is a link is used by nobody, and may be another user's: neither it nor where it
 * leads is ours. */
static bool is_link(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

static int find_live_root(struct composition *c, const char *live, const char **ret,
			  struct cordon_err *err)
{
	const char *name = strrchr(live, '/') + 1, *folder;

	if (path_resolve(&c->arena, (struct str){ live, (size_t)(name - live) }, "/", &folder,
			 err) < 0)
		return -1;
	*ret = arena_printf(&c->arena, "%s/%s", folder[1] ? folder : "", name);
	return *ret ? 0 : err_nomem(err);
}

/* The folder of live runs; and where it is for who has another environment, so that nobody
 * inside speaks to the supervisor of another cordon. */
static int find_live_roots(struct composition *c, struct plan_request *r, struct cordon_err *err)
{
	char live[MAX_LIVE_ROOT];

	live_root(live);
	r->live_is_link = is_link(live);
	if (find_live_root(c, live, &r->live_root, err) < 0)
		return -1;
	for (size_t i = 0; i < N_LIVE_ROOTS; i++) {
		const char *other;

		live_root_at(i, live);
		if (find_live_root(c, live, &other, err) < 0 ||
		    (strcmp(other, r->live_root) != 0 && !is_link(live) &&
		     plan_paths_add(&c->arena, &r->own, other, err) < 0))
			return -1;
	}
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
		.named_roots = c->named_roots,
	};

	if (!r.argv)
		return err_nomem(err);
	if (c->home && path_resolve(&c->arena, str_from(c->home), "/", &r.home, err) < 0)
		return -1;
	/* Not looked for where nothing is blocked. */
	r.multi_call = c->policy.base.f[F_COMMANDS_BLOCK].n && programs_find_multi_call(r.environ);
	if (find_own_home(c, &r.own_home, err) < 0 || list_policy_files(c, &r, err) < 0 ||
	    git_find(c, &r, err) < 0 || mounts_find(c, &r, err) < 0 ||
	    read_consent(&r.consent, err) < 0 || read_reroutes(c, req, &r, err) < 0 ||
	    record_find(c, req, &r, ret_record, err) < 0 || find_live_roots(c, &r, err) < 0)
		return -1;
	*ret = r;
	return 0;
}

static int make_folders(struct str path, struct cordon_err *err)
{
	char part[PATH_MAX] = "";

	for (size_t n = 1; n <= path.n && path.n < sizeof(part); n++) {
		if (n < path.n && path.s[n] != '/')
			continue;
		memcpy(part, path.s, n);
		if (mkdir(part, 0777) < 0 && errno != EEXIST)
			return err_sys(err, CORDON_E_SETUP, "files.write: cannot make '%.*s'",
				       STR_FMT(path));
	}
	return 0;
}

/* What is not there cannot be masked, and somebody may start a cordon there meanwhile.  If it
 * is not ours to make, no cordon of ours is there. */
static void try_make_live_root(const struct composition *c)
{
	static const enum field_id ids[] = { F_FILES_WRITE, F_FILES_READ };
	char live[MAX_LIVE_ROOT];
	struct cordon_err ignored;
	bool covered = false;

	live_root_at(0, live);
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		for (size_t k = 0; k < c->policy.base.f[ids[i]].n; k++)
			covered |= path_within(live, c->policy.base.f[ids[i]].items[k].text.s);
	if (covered)
		(void)!live_make_root(live, &ignored);
}

int run_make_roots(const struct composition *c, struct cordon_err *err)
{
	const struct field_value *write = &c->policy.base.f[F_FILES_WRITE];

	try_make_live_root(c);
	for (size_t i = 0; i < write->n; i++) {
		struct str path = write->items[i].text;

		if (!str_is(path, c->cwd) && access(path.s, F_OK) < 0 && errno == ENOENT &&
		    make_folders(path, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- with what this machine has ------------------------------------------ */

/* What the plan cannot hold without them. */
static void say_not_held(const struct plan *plan, struct buf *line)
{
	unsigned without = plan->waived;

	if (without & 1u << PROTECTION_MOUNT)
		buf_puts(line, "; protected names inside writable roots, and modes and owners of "
			       "files anywhere, are not held");
	if (without & 1u << PROTECTION_PID)
		buf_puts(line, "; processes outside can be seen");
	if (without & 1u << PROTECTION_PID && plan->landlock < 6)
		buf_puts(line, " and signalled, and what is started may outlive the run");
	if (without & 1u << PROTECTION_SECCOMP)
		buf_puts(line, "; protected names that are not there yet, and blocked commands "
			       "with arguments, are not held");
	if (plan->uncounted)
		buf_printf(line, "; nothing counts memory%s here: these limits are not held",
			   plan->limits.processes == LIMIT_NONE ? ", CPU time and processes"
								: " and CPU time");
	if (plan->net.rung == NET_PROXY)
		buf_puts(line, "; allowed hosts are reached through the proxy that CORDON_PROXY "
			       "names");
}

void run_warn_waived(const struct plan *plan, void (*warn)(void *arg, const char *line), void *arg)
{
	cleanup_buf struct buf line = BUF(1024), kept = BUF(PATH_MAX + 256);

	if (plan->kept_root && warn) {
		buf_printf(&kept, "warning: the working directory '%s' belongs to the system: it "
				  "can be read; --write %s lets root's command write it",
			   plan->kept_root, plan->kept_root);
		warn(arg, buf_text(&kept));
	}
	if (!plan->waived || !warn)
		return;
	buf_puts(&line, "warning: this machine does not offer");
	for (int i = 0; i < N_PROTECTIONS; i++)
		if (plan->waived & 1u << i)
			buf_printf(&line, " %s", protection_name((enum protection)i));
	buf_puts(&line, plan->bare ? "; CORDON_SANDBOX=off runs the command without any protection"
				   : "; the command runs without");
	if (!plan->bare)
		say_not_held(plan, &line);
	warn(arg, buf_text(&line));
}

/* Is it in the folder that the file is in? */
static bool is_beside(const char *path, const char *file)
{
	size_t n = (size_t)(strrchr(file, '/') - file);

	return strncmp(path, file, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* Is it one of those that only a policy that names them opens, or in one? */
static bool is_credential(const struct plan_request *r, const char *path)
{
	const char *const homes[] = { r->home, r->own_home };

	for (size_t i = 0; i < ARRAY_SIZE(homes); i++) {
		size_t n = homes[i] ? strlen(homes[i]) : 0;

		if (!n || !path_within(path, homes[i]) || path[n] != '/')
			continue;
		for (size_t k = 0; credentials[k]; k++)
			if (path_within(path + n + 1, credentials[k]))
				return true;
	}
	return false;
}

/* Whoever gets a project gets its policy with it: what that opens of the caller's own is not
 * to go unseen.  A folder that can be read here and there is what policies are for; a socket
 * leads to a program that is in no cordon. */
static bool opens_much(const struct composition *c, const struct plan_request *r,
		       enum field_id id, const struct item *item)
{
	const char *path = item->text.s;

	if (id == F_NETWORK_HOST_PORTS)
		return true;
	if (id == F_ENV_PASS)
		return strcmp(path, "*") == 0;
	if (is_credential(r, path))
		return true;
	if (id == F_FILES_READ)
		return r->home && path_within(r->home, path);
	return !is_beside(path, c->found) && !path_within(path, c->cwd);
}

void run_warn_found(const struct composition *c, const struct plan_request *r,
		    void (*warn)(void *arg, const char *line), void *arg)
{
	static const enum field_id ids[] = { F_FILES_WRITE, F_FILES_READ, F_FILES_SOCKETS,
					     F_ENV_PASS, F_NETWORK_HOST_PORTS };
	cleanup_buf struct buf line = BUF(MAX_DIAG_BYTES);
	bool any = false;

	if (!c->found || !warn)
		return;
	buf_puts(&line, "warning: ");
	buf_put_plain(&line, str_from(c->found));
	buf_puts(&line, ", which was found and not named, opens");
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		const struct field_value *v = &c->policy.base.f[ids[i]];

		for (size_t k = 0; k < v->n; k++)
			if (v->items[k].at.file && strcmp(v->items[k].at.file, c->found) == 0 &&
			    opens_much(c, r, ids[i], &v->items[k])) {
				/* Or it would wipe out what is told about it. */
				buf_puts(&line, any ? ", " : " ");
				if (ids[i] == F_NETWORK_HOST_PORTS)
					buf_printf(&line, "%u", v->items[k].port);
				else
					buf_put_plain(&line, v->items[k].text);
				buf_printf(&line, " (%s)", fields[ids[i]].key);
				any = true;
			}
	}
	buf_puts(&line, "; --policy says that this is meant, --no-policy leaves it out");
	if (any && buf_ok(&line))
		warn(arg, buf_text(&line));
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
	bool ran;			/* the command was started: never again */
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

/* A plan was refused as if everything were there that is not known to be missing.
 * What is missing is named as the doctor does; where nothing is, no other machine
 * would do: it is the policy that asks for too much. */
static bool plan_refused(struct attempt *a)
{
	if (plan_find_missing(&a->c->policy, &a->report.caps, &a->request) != N_HOST_FEATURES)
		return plan_with_probe(a);
	if (a->res.err.code == CORDON_E_HOST)
		a->res.err.code = CORDON_E_POLICY;
	return false;
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
	rc = run_make_roots(a->c, &a->res.err);
	if (rc == 0)
		rc = run_plan(&a->plan, &a->report.caps, &a->ro, &a->res, &a->res.err);
	live_policy_free(policy);
	return rc;
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
	rc = a->plan.bare ? run_plan_bare(&a->plan, &a->ro, &a->res, &a->res.err) : run_live(a);
	a->ran |= a->res.started || a->res.exec_errno;
	if (rc < 0)
		a->res.started = false;
}

/* First as if everything were there, which a run finds out by itself; then with
 * what is there, if that is less. */
static void run_as_planned(struct attempt *a)
{
	enum net_rung rung = a->plan.net.rung;
	struct cordon_err first;

	run_warn_found(a->c, &a->request, a->o->warn, a->o->warn_arg);
	if (!a->plan.bare) {
		run_warn_waived(&a->plan, a->o->warn, a->o->warn_arg);
		run_once(a);
		if (!nothing_ran(&a->res) || a->ran)
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
	run_warn_waived(&a->plan, a->o->warn, a->o->warn_arg);
	run_once(a);
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

bool run_requires_cgroup(const struct policy *p)
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

	if (found != HOST_CGROUP_NONE || a->o->dry_run || !run_requires_cgroup(&a->c->policy) ||
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
		.policies = a->request.policy_files.paths,
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
	struct tell_how how = { .json = a->o->json, .capture = a->o->capture };
	int rc;

	run_report_end(&a->reporter, &a->plan);
	a->res.limit_value = limit_kind_value(a->res.limit, &a->plan.limits);
	*ret_code = run_result_code(&a->res);
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
	host_probe_quick(&a->report.caps);
	a->report.caps.cgroup = find_cgroup(a, &why);
	planned = a->o->dry_run ? plan_with_probe(a)
				: plan_compile(&a->c->policy, &a->report.caps, &a->request,
					       &a->c->arena, &a->plan, &a->res.err) == 0;
	if (!planned && !a->o->dry_run)
		planned = plan_refused(a);
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
	a.ro.own_process = o->own_process;
	if (compose_defaults(&c) < 0)
		return answer_fill(ret, false, NULL, &c, -1, err);
	if (judge_command(&c.policy,
			  &(struct judged){ req->command, req->n_command, o->shell_text }, &c.arena,
			  &a.res.blocked, err) < 0 ||
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
