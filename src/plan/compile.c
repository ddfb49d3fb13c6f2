/* From a policy and a machine's table to a plan; see compile.h. */
#include "plan/compile.h"

#include <sched.h>

#include "base/path.h"
#include "plan/enforce.h"
#include "plan/environment.h"
#include "plan/files.h"
#include "plan/limits.h"
#include "plan/phases.h"
#include "plan/seccomp.h"

const char *protection_name(enum protection p)
{
	return field_words(KIND_PROTECTIONS)[p];
}

static const char *const part_names[] = {
	[PART_USERNS] = "userns",   [PART_MOUNT] = "mount",	  [PART_PID] = "pid",
	[PART_IPC] = "ipc",	    [PART_UTS] = "uts",		  [PART_NET] = "net",
	[PART_LANDLOCK] = "landlock", [PART_SECCOMP] = "seccomp", [PART_CGROUP] = "cgroup",
};
static_assert(ARRAY_SIZE(part_names) == N_PARTS, "a part without a name");

const char *plan_part_name(enum plan_part part)
{
	return part_names[part];
}

static int64_t number(const struct policy *p, enum field_id id)
{
	return p->base.f[id].number;
}

/* ---- what is refused ---------------------------------------------------- */

static int refuse_field(const struct policy *p, enum field_id id, struct cordon_err *err)
{
	return err_locate(err, p->base.f[id].at);
}

/* A profile that a file asks for may be a ceiling's, which no option lifts. */
static int refuse_profile(const struct policy *p, struct cordon_err *err)
{
	cleanup_buf struct buf asker = BUF(MAX_DIAG_BYTES);
	struct place at = p->base.f[F_PROFILE].at;

	if (at.line) {
		buf_puts(&asker, " (");
		place_print(at, &asker);
		buf_putc(&asker, ')');
	}
	return err_set(err, CORDON_E_HOST,
		       "backend none enforces nothing, but the profile is %s%s; %s",
		       field_words(KIND_PROFILE)[number(p, F_PROFILE)], buf_text(&asker),
		       at.line ? "use --sandbox process; --no-sandbox is for where no ceiling asks "
				 "for one"
			       : "use --no-sandbox to run without any protection");
}

/* The project may give up its own sandbox, but not one that a ceiling relies on. */
static int check_ceiling(const struct policy *ceiling, struct cordon_err *err)
{
	for (enum field_id id = F_MAY_LACK + 1; id < N_FIELDS; id++) {
		const struct field_value *v = &ceiling->base.f[id];
		cleanup_buf struct buf where = BUF(MAX_DIAG_BYTES);

		/* The text test of blocked commands is no wall. */
		if (!v->set || (id != F_COMMANDS_BLOCK && enforcer_find_bare(id, ceiling)))
			continue;
		place_print(v->at, &where);
		return err_set(err, CORDON_E_HOST,
			       "backend none does not enforce %s, which a ceiling sets (%s); use "
			       "--sandbox process", fields[id].key, buf_text(&where));
	}
	return 0;
}

static int check_ceilings(const struct plan_request *r, struct cordon_err *err)
{
	for (size_t i = 0; i < r->n_ceilings; i++)
		if (check_ceiling(&r->ceilings[i], err) < 0)
			return -1;
	return 0;
}

/* A backend that encloses nothing does for who asks for nothing. */
static int check_none(const struct policy *p, const struct plan_request *r, struct cordon_err *err)
{
	if (number(p, F_BACKEND) != BACKEND_NONE)
		return 0;
	if (r->session)
		return err_set(err, CORDON_E_HOST,
			       "a session needs something that encloses it, and backend none does "
			       "not; use --sandbox process");
	if (number(p, F_PROFILE) != PROFILE_UNRESTRICTED)
		return refuse_profile(p, err);
	if (number(p, F_NETWORK_MODE) == NETWORK_ALLOWLIST)
		return err_set(err, CORDON_E_HOST,
			       "network.mode allowlist is not supported by the backend none; "
			       "use --sandbox process, or leave the policy out with --no-policy");
	return check_ceilings(r, err);
}

/* Backend none gives no protection that `require` could name. */
static int check_required(const struct policy *p, struct cordon_err *err)
{
	const struct field_value *v = &p->base.f[F_REQUIRE];

	if (!v->n || number(p, F_BACKEND) != BACKEND_NONE)
		return 0;
	err_set(err, CORDON_E_HOST,
		"the policy requires %.*s, but backend none enforces nothing; use --sandbox "
		"process", STR_FMT(v->items[0].text));
	return err_locate(err, v->items[0].at);
}

/* What the policy asks for and this program does not do yet. */
static int check_built(const struct policy *p, const struct plan_request *r,
		       struct cordon_err *err)
{
	static const struct {
		enum field_id id;
		int64_t word;
		const char *why;
	} unbuilt[] = {
		{ F_PROFILE, PROFILE_WASI,
		  "profile wasi is not built; use worktree or os_hardened" },
		{ F_BACKEND, BACKEND_DOCKER, "backend docker is not built; use --sandbox process" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(unbuilt); i++)
		if (number(p, unbuilt[i].id) == unbuilt[i].word) {
			err_set(err, CORDON_E_HOST, "%s", unbuilt[i].why);
			return refuse_field(p, unbuilt[i].id, err);
		}
	if (check_none(p, r, err) < 0)
		return refuse_field(p, F_BACKEND, err);
	return check_required(p, err);
}

/* ---- the level ---------------------------------------------------------- */

#define BIT(name)	(1u << PROTECTION_##name)
#define ALL_PROTECTIONS	((1u << N_PROTECTIONS) - 1)

/* Rules of this ABI keep signals and abstract sockets inside (Landlock's scopes): without
 * namespaces nothing else does. */
#define LEVEL_LANDLOCK_ABI	6

static unsigned named(const struct field_value *v)
{
	unsigned bits = 0;

	for (size_t i = 0; i < v->n; i++)
		for (int p = 0; p < N_PROTECTIONS; p++)
			if (str_is(v->items[i].text, protection_name((enum protection)p)))
				bits |= 1u << p;
	return bits;
}

/* The protections that this run may go without. */
static unsigned dispensable(const struct policy *p, const struct plan_request *r)
{
	unsigned required = named(&p->base.f[F_REQUIRE]);

	if (number(p, F_PROFILE) == PROFILE_OS_HARDENED || r->consent == CONSENT_NONE)
		return 0;
	if (r->consent == CONSENT_POLICY)
		return named(&p->base.f[F_MAY_LACK]) & ~required;
	/* CORDON_SANDBOX=off has one answer, and that gives up all of them. */
	if (r->consent == CONSENT_BARE && required)
		return 0;
	return ALL_PROTECTIONS & ~required;
}

bool plan_may_be_less(const struct policy *p, const struct plan_request *r)
{
	return number(p, F_BACKEND) != BACKEND_NONE && (dispensable(p, r) & BIT(NAMESPACES));
}

int plan_paths_add(struct arena *a, struct plan_paths *list, const char *path,
		   struct cordon_err *err)
{
	const char **paths = arena_grow(a, list->paths, list->n, &list->cap, sizeof(*paths));

	if (!paths || !path)
		return err_nomem(err);
	paths[list->n++] = path;
	list->paths = paths;
	return 0;
}

/* Are there names whose creation is refused?  The guard learns of it by seccomp notification. */
static bool has_guarded(const struct policy *p, const struct plan_request *r)
{
	const struct field_value *write = &p->base.f[F_FILES_WRITE];

	if (p->base.f[F_FILES_DENY].n || (write->n && p->base.f[F_FILES_PROTECT].n))
		return true;
	for (size_t i = 0; i < write->n; i++)
		for (size_t k = 0; k < r->policy_files.n; k++)
			if (path_within(r->policy_files.paths[k], write->items[i].text.s))
				return true;
	return false;
}

/* Does the guard look at each execve()?  It must where a rule has arguments, or where one
 * file is many programs: a mask would hide all of them.  Elsewhere it does so that the refusal
 * is reported.  A session of a host program cannot (see plan_request.embedded). */
static bool judges_execs(const struct policy *p, const struct plan_request *r)
{
	const struct field_value *v = &p->base.f[F_COMMANDS_BLOCK];

	for (size_t i = 0; i < v->n; i++)
		if (!r->embedded || r->multi_call || !command_rule_is_plain(v->items[i].command))
			return true;
	return false;
}

/* The first feature that level full lacks here, or N_HOST_FEATURES. */
static enum host_feature find_missing_of_full(const struct policy *p, const struct host_caps *caps,
					      const struct plan_request *r)
{
	static const enum host_feature features[] = { FEATURE_USERNS, FEATURE_MOUNT, FEATURE_PID,
						      FEATURE_IPC, FEATURE_UTS, FEATURE_SECCOMP };

	for (size_t i = 0; i < ARRAY_SIZE(features); i++)
		if (!host_caps_has(caps, features[i]))
			return features[i];
	if (!caps->net && !phases_are_open(p, r))
		return FEATURE_NET;
	if (net_find_missing(&p->base, caps) != N_HOST_FEATURES)
		return net_find_missing(&p->base, caps);
	if (!caps->notify && (has_guarded(p, r) || judges_execs(p, r)))
		return FEATURE_NOTIFY;
	return N_HOST_FEATURES;
}

/* The same of level landlock, which has no view of files, processes or network of its own. */
static enum host_feature find_missing_of_landlock(const struct policy *p,
						  const struct host_caps *caps,
						  const struct plan_request *r)
{
	if (caps->landlock < LEVEL_LANDLOCK_ABI)
		return FEATURE_LANDLOCK;
	if (!caps->seccomp)
		return FEATURE_SECCOMP;
	if (p->base.f[F_COMMANDS_BLOCK].n)
		return FEATURE_MOUNT;
	/* Only a cgroup, or a /proc of its own, tells which processes are the command's. */
	if (caps->cgroup == HOST_CGROUP_NONE && !(dispensable(p, r) & BIT(CGROUP)))
		return FEATURE_CGROUP;
	return N_HOST_FEATURES;
}

struct choice {
	enum plan_level level;
	enum host_feature missing;	/* the run is refused for it; or N_HOST_FEATURES */
};

static struct choice choose_level(const struct policy *p, const struct host_caps *caps,
				  const struct plan_request *r)
{
	unsigned may_lack = dispensable(p, r);
	struct choice c = { LEVEL_FULL, find_missing_of_full(p, caps, r) };

	if (c.missing == N_HOST_FEATURES || !(may_lack & BIT(NAMESPACES)) || r->session)
		return c;
	if (r->consent != CONSENT_BARE) {
		/* Only the gate judges hosts: no lower level opens the network instead. */
		if (net_needs_gate(&p->base))
			return c;
		c = (struct choice){ LEVEL_LANDLOCK, find_missing_of_landlock(p, caps, r) };
		if (c.missing == N_HOST_FEATURES || !(may_lack & BIT(LANDLOCK)) ||
		    named(&p->base.f[F_REQUIRE]))
			return c;
	}
	return (struct choice){ LEVEL_NONE, N_HOST_FEATURES };
}

enum host_feature plan_find_missing(const struct policy *p, const struct host_caps *caps,
				    const struct plan_request *r)
{
	struct choice c = choose_level(p, caps, r);
	unsigned wanted = named(&p->base.f[F_REQUIRE]);

	if (number(p, F_PROFILE) == PROFILE_OS_HARDENED)
		wanted |= BIT(LANDLOCK);
	if (c.missing != N_HOST_FEATURES)
		return c.missing;
	if ((wanted & BIT(LANDLOCK)) && !caps->landlock)
		return FEATURE_LANDLOCK;
	if ((wanted & BIT(CGROUP)) && caps->cgroup == HOST_CGROUP_NONE)
		return FEATURE_CGROUP;
	return N_HOST_FEATURES;
}

static int refuse_for(enum host_feature missing, struct cordon_err *err)
{
	return err_set(err, CORDON_E_HOST,
		       "the policy needs %s (%s), which this machine does not offer; "
		       "cordon doctor says what to do",
		       host_feature_name(missing), host_feature_about(missing));
}

enum protection plan_find_protection(enum host_feature f)
{
	return f == FEATURE_LANDLOCK ? PROTECTION_LANDLOCK
	       : f == FEATURE_CGROUP ? PROTECTION_CGROUP
				     : PROTECTION_NAMESPACES;
}

/* The place in the policy that asks for it, if there is one. */
static struct place find_asker(const struct policy *p, enum host_feature missing)
{
	const struct field_value *require = &p->base.f[F_REQUIRE];
	enum protection wanted = plan_find_protection(missing);

	for (size_t i = 0; i < require->n; i++)
		if (str_is(require->items[i].text, protection_name(wanted)))
			return require->items[i].at;
	return missing == FEATURE_LANDLOCK ? p->base.f[F_PROFILE].at : (struct place){ 0 };
}

static unsigned find_lacking(const struct plan *plan, const struct host_caps *caps)
{
	if (plan->level == LEVEL_NONE)
		return ALL_PROTECTIONS;
	return (plan->level == LEVEL_LANDLOCK ? BIT(NAMESPACES) : 0) |
	       (caps->landlock ? 0 : BIT(LANDLOCK)) |
	       (caps->cgroup == HOST_CGROUP_NONE ? BIT(CGROUP) : 0);
}

static unsigned find_enforced(const struct plan *plan)
{
	unsigned namespaces = 1u << PART_USERNS | 1u << PART_MOUNT | 1u << PART_PID |
			      1u << PART_IPC | 1u << PART_UTS |
			      (plan->clone_flags & CLONE_NEWNET ? 1u << PART_NET : 0);

	if (plan->level == LEVEL_NONE)
		return 0;
	return (plan->level == LEVEL_FULL ? namespaces : 0) | 1u << PART_SECCOMP |
	       (plan->lacking & BIT(LANDLOCK) ? 0 : 1u << PART_LANDLOCK) |
	       (plan->lacking & BIT(CGROUP) ? 0 : 1u << PART_CGROUP);
}

/* The level, or why the run is refused. */
static int compile_level(const struct policy *p, const struct host_caps *caps,
			 const struct plan_request *r, struct plan *plan, struct cordon_err *err)
{
	enum host_feature missing = plan_find_missing(p, caps, r);

	if ((missing == FEATURE_NET || missing == FEATURE_TPROXY) && net_needs_gate(&p->base)) {
		net_check(&p->base, missing, err);
		return refuse_field(p, F_NETWORK_MODE, err);
	}
	if (missing != N_HOST_FEATURES) {
		refuse_for(missing, err);
		return err_locate(err, find_asker(p, missing));
	}
	plan->level = choose_level(p, caps, r).level;
	plan->is_lowered = plan->level != LEVEL_FULL;
	if (plan->level != LEVEL_NONE)
		return 0;
	plan->backend = field_words(KIND_BACKEND)[BACKEND_NONE];
	return check_ceilings(r, err);
}

/* ---- parts -------------------------------------------------------------- */

/* Programs whose first acts open something to write: bash the terminal, git /dev/null, java
 * its /proc, others what they are called for. */
static bool is_maker(const char *program)
{
	static const char *const makers[] = { "bash", "c++", "cc", "cp", "g++", "gcc", "git",
					      "java", "javac", "ln", "mkdir", "mv", "tar", "tee",
					      "touch" };
	const char *slash = program ? strrchr(program, '/') : NULL;
	const char *name = slash ? slash + 1 : program;

	for (size_t i = 0; name && i < ARRAY_SIZE(makers); i++)
		if (strcmp(makers[i], name) == 0)
			return true;
	return false;
}

static int compile_filter(const struct policy *p, const struct host_caps *caps,
			  const struct plan_request *r, struct plan *plan, struct cordon_err *err)
{
	bool counted = caps->cgroup != HOST_CGROUP_NONE;
	struct seccomp_options o = {
		.inet = plan->level == LEVEL_FULL || phases_are_open(p, r),
		/* Sockets with a name in the file system are kept away by mounts, abstract ones by
		 * the network namespace or by Landlock. */
		.no_unix = plan->level != LEVEL_FULL ||
			   (!(plan->clone_flags & CLONE_NEWNET) && caps->landlock < 6),
		.ptrace = number(p, F_PROCESSES_DEBUG) == SWITCH_TRUE,
		.memfd = counted,
		.buffers = counted,
		.guard = plan->n_guarded > 0,
		.enters = plan->level != LEVEL_FULL,
		.execs = plan->n_rules > 0,
		.few_cpus = plan->few_cpus,
		.disk = plan->limits.roots != LIMIT_NONE,
	};

	plan->asks = o.guard || o.execs;
	plan->asks_at_once = o.execs || (o.guard && r->argv && is_maker(r->argv[0]));
	plan->no_inet = !o.inet;
	plan->no_unix = o.no_unix;
	return seccomp_compile(&o, plan->arena, &plan->filter, &plan->n_filter, err);
}

/* A program by its name is masked, wherever it is. */
static int compile_masked(const struct command_rule *rule, struct plan *plan)
{
	struct str name = command_rule_program(rule);

	plan->blocked[plan->n_blocked] = arena_strndup(plan->arena, name.s, name.n);
	return plan->blocked[plan->n_blocked++] ? 0 : -1;
}

static int compile_rule(const struct command_rule *rule, struct plan *plan)
{
	struct str name = command_rule_program(rule);
	struct plan_rule *r = &plan->rules[plan->n_rules++];
	char message[COMMAND_WHY];

	command_rule_message(rule, message);
	*r = (struct plan_rule){
		.rule = rule,
		.text = arena_strndup(plan->arena, rule->text.s, rule->text.n),
		.program = name.n ? arena_strndup(plan->arena, name.s, name.n) : NULL,
		.message = arena_strndup(plan->arena, message, strlen(message)),
	};
	return r->text && r->message && (r->program || !name.n) ? 0 : -1;
}

/* What is more than a program, or a part of one, needs the vector of every
 * execution; then the others are judged by it, too. */
static int compile_blocked(const struct policy *p, const struct plan_request *r,
			   struct plan *plan, struct cordon_err *err)
{
	const struct field_value *v = &p->base.f[F_COMMANDS_BLOCK];
	bool judged = judges_execs(p, r);

	plan->blocked = arena_new(plan->arena, v->n + 1, sizeof(*plan->blocked));
	plan->rules = arena_new(plan->arena, v->n + 1, sizeof(*plan->rules));
	if (!plan->blocked || !plan->rules)
		return err_nomem(err);
	for (size_t i = 0; i < v->n; i++) {
		const struct command_rule *rule = v->items[i].command;

		if ((command_rule_is_plain(rule) && compile_masked(rule, plan) < 0) ||
		    (judged && compile_rule(rule, plan) < 0))
			return err_nomem(err);
	}
	return 0;
}

static int compile_net(const struct policy *p, const struct host_caps *caps,
		       const struct plan_request *r, struct plan *plan, struct cordon_err *err)
{
	const struct net_options o = { .caps = caps, .environ = r->environ, .reroutes = r->reroutes,
				       .n_reroutes = r->n_reroutes,
				       .gate = phases_have_gate(p, caps, r) };

	if (net_compile(p, &p->base, &o, plan->arena, &plan->net, err) < 0)
		return -1;
	return r->session ? phases_compile(p, &o, plan, err) : 0;
}

static void compile_namespaces(struct plan *plan)
{
	if (plan->level == LEVEL_FULL)
		plan->clone_flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC |
				    CLONE_NEWUTS | CLONE_NEWCGROUP |
				    (plan->net.kind == NET_OPEN ? 0 : CLONE_NEWNET);
	plan->hostname = "cordon";
}

static void name_enforcers(const struct policy *p, const struct host_caps *caps, struct plan *plan)
{
	static const enum field_id ids[] = {
		[PLAN_MEMORY] = F_LIMITS_MEMORY,       [PLAN_CPU] = F_LIMITS_CPU_SECONDS,
		[PLAN_CPUS] = F_LIMITS_CPUS,	       [PLAN_PROCESSES] = F_LIMITS_PROCESSES,
		[PLAN_FILE_SIZE] = F_LIMITS_FILE_SIZE, [PLAN_WALL] = F_LIMITS_TIMEOUT,
		[PLAN_OUTPUT] = F_LIMITS_OUTPUT,       [PLAN_DISK] = F_LIMITS_DISK,
		[PLAN_ROOTS] = F_LIMITS_DISK,	       [PLAN_OPEN_FILES] = F_LIMITS_OPEN_FILES,
	};
	static_assert(ARRAY_SIZE(ids) == N_PLAN_LIMITS, "a limit without a field");
	const struct enforcement e = { plan->level, caps->landlock > 0, plan->uid == 0,
				       caps->cgroup };

	for (int i = 0; i < N_PLAN_LIMITS; i++)
		plan->limited_by[i] = enforcer_find(ids[i], p, &p->base, &e);
}

/* Only a right over the tree's user namespace reads directories of mode 0. */
static int check_counted(const struct plan *plan, struct cordon_err *err)
{
	if (plan->limits.roots != LIMIT_NONE && plan->uid != 0 && plan->level != LEVEL_FULL)
		return err_set(err, CORDON_E_HOST,
			       "limits.disk needs userns to count what is added to writable roots, "
			       "which this machine does not offer; cordon doctor says what to do");
	return 0;
}

/* The plan has names or executions that only seccomp notification can refuse. */
static int check_guard(const struct host_caps *caps, const struct plan *plan,
		       struct cordon_err *err)
{
	if ((plan->n_guarded || plan->n_rules) && !caps->notify)
		return refuse_for(FEATURE_NOTIFY, err);
	return 0;
}

/* All that a plan has which encloses the command. */
static int compile_enclosed(const struct policy *p, const struct host_caps *caps,
			    const struct plan_request *r, struct plan *plan, struct cordon_err *err)
{
	if (compile_net(p, caps, r, plan, err) < 0)
		return -1;
	compile_namespaces(plan);
	plan->uncounted = plan->level != LEVEL_FULL && caps->cgroup == HOST_CGROUP_NONE;
	phases_fit(plan);
	name_enforcers(p, caps, plan);
	if (check_counted(plan, err) < 0 || files_compile(p, r, caps, plan, err) < 0 ||
	    compile_blocked(p, r, plan, err) < 0 || check_guard(caps, plan, err) < 0)
		return -1;
	return compile_filter(p, caps, r, plan, err);
}

int plan_compile(const struct policy *p, const struct host_caps *caps,
		 const struct plan_request *r, struct arena *a, struct plan *ret,
		 struct cordon_err *err)
{
	struct plan plan = {
		.arena = a,
		.backend = field_words(KIND_BACKEND)[number(p, F_BACKEND)],
		.profile = field_words(KIND_PROFILE)[number(p, F_PROFILE)],
		.uid = r->uid,
		.gid = r->gid,
		.cwd = r->cwd,
		.argv = r->argv,
		.landlock = caps->landlock,
		.live_root = r->live_root,
		.session = r->session,
	};
	struct environment_request environment;

	if (check_built(p, r, err) < 0)
		return -1;
	limits_compile(p, &p->base, &plan.limits);
	plan.level = LEVEL_NONE;
	if (number(p, F_BACKEND) != BACKEND_NONE && compile_level(p, caps, r, &plan, err) < 0)
		return -1;
	if (plan.level == LEVEL_NONE)
		limits_fit_bare(p, &plan.limits);
	else if (compile_enclosed(p, caps, r, &plan, err) < 0)
		return -1;
	plan.lacking = find_lacking(&plan, caps);
	plan.enforced = find_enforced(&plan);
	environment = (struct environment_request){ &p->base, r->environ, &plan };
	if (environment_compile(&environment, a, &plan.envp, err) < 0 ||
	    phases_check_environment(p, r, &plan, err) < 0)
		return -1;
	*ret = plan;
	return 0;
}
