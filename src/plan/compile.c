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

/* What a ceiling asks of backend none, which does not keep it.  Who wants no sandbox gives up
 * the project's own, but not that. */
enum asked {
	ASKED_BY_WORD,		/* every value, as of a list that closes the rest */
	ASKED_BY_ENTRY,
	ASKED_UNLESS,		/* every value but one */
	ASKED_IF_SHORT,		/* a list that has not so many entries */
};

static const struct {
	enum field_id id;
	enum asked when;
	int64_t value;
} enclosed[] = {
	{ F_FILES_WRITE, ASKED_BY_WORD, 0 },
	{ F_FILES_READ, ASKED_BY_WORD, 0 },
	{ F_FILES_DENY, ASKED_BY_ENTRY, 0 },
	{ F_FILES_PROTECT, ASKED_BY_ENTRY, 0 },
	{ F_FILES_PRESETS, ASKED_IF_SHORT, N_FILE_PRESETS },
	{ F_FILES_SOCKETS, ASKED_BY_WORD, 0 },
	{ F_PROCESSES_DEBUG, ASKED_UNLESS, SWITCH_TRUE },
	{ F_NETWORK_ALLOW, ASKED_BY_WORD, 0 },
	{ F_NETWORK_DENY, ASKED_BY_ENTRY, 0 },
	{ F_NETWORK_MODE, ASKED_UNLESS, NETWORK_PUBLIC },
	{ F_NETWORK_LISTEN, ASKED_BY_WORD, 0 },
	{ F_NETWORK_EXPOSE, ASKED_BY_WORD, 0 },
	{ F_NETWORK_HOST_PORTS, ASKED_BY_WORD, 0 },
	{ F_NETWORK_UDP_ALLOW, ASKED_BY_WORD, 0 },
	{ F_NETWORK_TLS, ASKED_UNLESS, TLS_NAME_ONLY },
	{ F_NETWORK_PROTOCOLS, ASKED_BY_WORD, 0 },
	{ F_NETWORK_CONNECTIONS, ASKED_BY_WORD, 0 },
	{ F_LIMITS_MEMORY, ASKED_UNLESS, LIMIT_NONE },
	{ F_LIMITS_CPU_SECONDS, ASKED_UNLESS, LIMIT_NONE },
	{ F_LIMITS_CPUS, ASKED_UNLESS, LIMIT_NONE },
	{ F_LIMITS_PROCESSES, ASKED_UNLESS, LIMIT_NONE },
	{ F_LIMITS_DISK, ASKED_UNLESS, LIMIT_NONE },
	{ F_COMMANDS_BLOCK, ASKED_BY_ENTRY, 0 },
};

static bool asks(size_t i, const struct field_value *v)
{
	switch (enclosed[i].when) {
	case ASKED_BY_ENTRY:
		return v->n > 0;
	case ASKED_UNLESS:
		return v->number != enclosed[i].value;
	case ASKED_IF_SHORT:
		return v->n < (size_t)enclosed[i].value;
	default:
		return true;
	}
}

static int check_ceiling(const struct policy *ceiling, struct cordon_err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(enclosed); i++) {
		const struct field_value *v = &ceiling->base.f[enclosed[i].id];
		cleanup_buf struct buf where = BUF(MAX_DIAG_BYTES);

		if (!v->set || !asks(i, v))
			continue;
		place_print(v->at, &where);
		return err_set(err, CORDON_E_HOST,
			       "backend none does not keep %s, which a ceiling asks for (%s); use "
			       "--sandbox process", fields[enclosed[i].id].key, buf_text(&where));
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

/* What is required is refused by name where the policy itself leaves it out: no machine
 * would do. */
static int check_required(const struct policy *p, const struct plan_request *r,
			  struct cordon_err *err)
{
	const struct field_value *v = &p->base.f[F_REQUIRE];
	bool none = number(p, F_BACKEND) == BACKEND_NONE;

	for (size_t i = 0; i < v->n; i++) {
		struct item *item = &v->items[i];

		if (!none && !(phases_are_open(p, r) &&
			       str_is(item->text, protection_name(PROTECTION_NET))))
			continue;
		err_set(err, CORDON_E_HOST, "the policy requires %.*s, but %s", STR_FMT(item->text),
			none ? "backend none enforces nothing; use --sandbox process"
			     : "network.mode public is the host's own network; use --network "
			       "no-network or allowlist");
		return err_locate(err, item->at);
	}
	return 0;
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
	return check_required(p, r, err);
}

#define BIT(name)	(1u << PROTECTION_##name)
#define NAMESPACES	(BIT(USERNS) | BIT(MOUNT) | BIT(PID) | BIT(IPC) | BIT(UTS) | BIT(NET))

static const struct {
	enum host_feature feature;
	unsigned long flag;		/* of clone, or 0 */
	/* What must be there where this one is not: the next rung of the ladder. */
	unsigned instead;
} protections[] = {
	[PROTECTION_USERNS] = { FEATURE_USERNS, CLONE_NEWUSER, 0 },
	/* Rights hold the files, and no socket of the host can be connected to. */
	[PROTECTION_MOUNT] = { FEATURE_MOUNT, CLONE_NEWNS, BIT(LANDLOCK) | BIT(SECCOMP) },
	/* Nothing looks into processes outside; a tree without a /proc of its
	 * own can only be counted by the kernel. */
	[PROTECTION_PID] = { FEATURE_PID, CLONE_NEWPID, BIT(LANDLOCK) | BIT(CGROUP) },
	[PROTECTION_IPC] = { FEATURE_IPC, CLONE_NEWIPC, 0 },
	[PROTECTION_UTS] = { FEATURE_UTS, CLONE_NEWUTS, 0 },
	/* No socket can be made. */
	[PROTECTION_NET] = { FEATURE_NET, CLONE_NEWNET, BIT(SECCOMP) },
	[PROTECTION_LANDLOCK] = { FEATURE_LANDLOCK, 0, 0 },
	[PROTECTION_SECCOMP] = { FEATURE_SECCOMP, 0, 0 },
	[PROTECTION_CGROUP] = { FEATURE_CGROUP, 0, 0 },
};
static_assert(ARRAY_SIZE(protections) == N_PROTECTIONS, "a protection without a feature");

unsigned plan_find_part(enum host_feature f)
{
	static const struct {
		enum host_feature feature;
		unsigned bit;
	} parts[] = {
		{ FEATURE_NOTIFY, BIT(SECCOMP) },
		{ FEATURE_TPROXY, BIT(NET) },
		{ FEATURE_ANYIP, BIT(NET) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (parts[i].feature == f)
			return parts[i].bit;
	for (int i = 0; i < N_PROTECTIONS; i++)
		if (protections[i].feature == f)
			return 1u << i;
	return 0;
}

unsigned plan_find_offered(const struct policy *p, const struct host_caps *caps,
			   const struct plan_request *r)
{
	unsigned bits = 0;

	for (int i = 0; i < N_PROTECTIONS; i++)
		if (host_caps_has(caps, protections[i].feature))
			bits |= 1u << i;
	if (!caps->userns && !caps->is_root)
		bits &= ~NAMESPACES;
	/* Its processes are shown by a /proc that has to be mounted. */
	if (!(bits & BIT(MOUNT)))
		bits &= ~BIT(PID);
	return phases_are_open(p, r) ? bits & ~BIT(NET) : bits;
}

static unsigned named(const struct field_value *v)
{
	unsigned bits = 0;

	for (size_t i = 0; i < v->n; i++)
		for (int p = 0; p < N_PROTECTIONS; p++)
			if (str_is(v->items[i].text, protection_name((enum protection)p)))
				bits |= 1u << p;
	return bits;
}

/* What a run cannot do without: every namespace and the filter.  Landlock is a
 * second layer under the mounts, and limits hold without a cgroup as well;
 * os_hardened wants the second layer, too.  For what is not offered, what
 * stands in for it. */
static unsigned needed(const struct policy *p, const struct plan_request *r, unsigned have)
{
	unsigned bits = NAMESPACES | BIT(SECCOMP);

	if (phases_are_open(p, r))
		bits &= ~BIT(NET);
	if (number(p, F_PROFILE) == PROFILE_OS_HARDENED)
		bits |= BIT(LANDLOCK);
	for (int i = 0; i < N_PROTECTIONS; i++)
		if (bits & ~have & 1u << i)
			bits |= protections[i].instead;
	bits |= named(&p->base.f[F_REQUIRE]);
	/* check_required() tells who wants it and leaves it out. */
	return phases_are_open(p, r) ? bits & ~BIT(NET) : bits;
}

/* What this run may do without.  What judges hosts is never one of several
 * walls: a run goes without it only when it goes without everything, and without
 * a network namespace only where a proxy judges them as well. */
static unsigned dispensable(const struct policy *p, const struct host_caps *caps,
			    const struct plan_request *r)
{
	unsigned required = named(&p->base.f[F_REQUIRE]);

	if (r->consent != CONSENT_BARE &&
	    ((net_needs_gate(&p->base) && net_find_rung(&p->base, caps) != NET_PROXY) ||
	     (r->session && !phases_are_open(p, r))))
		required |= BIT(NET);

	if (number(p, F_PROFILE) == PROFILE_OS_HARDENED || r->consent == CONSENT_NONE)
		return 0;
	/* Who goes without one there goes without all, and so without what is required. */
	if (r->consent == CONSENT_BARE && required)
		return 0;
	if (r->consent == CONSENT_POLICY)
		return named(&p->base.f[F_MAY_LACK]) & ~required;
	return ((1u << N_PROTECTIONS) - 1) & ~required;
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

/* Are there names that may not be made?  The guard hears of them from the
 * filter. */
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

/* Must every execution be looked at?  A program that is many cannot be masked for one
 * of them. */
static bool needs_execs(const struct policy *p, const struct plan_request *r)
{
	const struct field_value *v = &p->base.f[F_COMMANDS_BLOCK];

	for (size_t i = 0; i < v->n; i++)
		if (r->multi_call || !command_rule_is_plain(v->items[i].command))
			return true;
	return false;
}

/* Is it?  A mask holds a program, but tells nobody. */
static bool judges_execs(const struct policy *p, const struct host_caps *caps,
			 const struct plan_request *r)
{
	return needs_execs(p, r) || (p->base.f[F_COMMANDS_BLOCK].n && caps->notify &&
				     caps->seccomp && !r->embedded);
}

static bool lacks_guard(const struct policy *p, const struct host_caps *caps,
			const struct plan_request *r)
{
	return !caps->notify && (plan_find_offered(p, caps, r) & BIT(MOUNT)) &&
	       (has_guarded(p, r) || needs_execs(p, r));
}

enum host_feature plan_find_missing(const struct policy *p, const struct host_caps *caps,
				    const struct plan_request *r)
{
	unsigned have = plan_find_offered(p, caps, r), may_lack = dispensable(p, caps, r);
	unsigned missing = needed(p, r, have) & ~have & ~may_lack;

	for (int i = 0; i < N_PROTECTIONS; i++)
		if (missing & 1u << i)
			return protections[i].feature;
	if (!(may_lack & BIT(NET)) && net_find_missing(&p->base, caps) != N_HOST_FEATURES)
		return net_find_missing(&p->base, caps);
	/* A filter that cannot ask is half a filter. */
	if (lacks_guard(p, caps, r) && !(may_lack & BIT(SECCOMP)))
		return FEATURE_NOTIFY;
	return N_HOST_FEATURES;
}

static int refuse_for(enum host_feature missing, struct cordon_err *err)
{
	return err_set(err, CORDON_E_HOST,
		       "the policy needs %s (%s), which this machine does not offer; "
		       "cordon doctor says what to do",
		       host_feature_name(missing), host_feature_about(missing));
}

/* Where the policy asks for it, as far as one place of it does. */
static struct place find_asker(const struct policy *p, enum host_feature missing)
{
	const struct field_value *require = &p->base.f[F_REQUIRE];

	for (size_t i = 0; i < require->n; i++)
		for (int k = 0; k < N_PROTECTIONS; k++)
			if (protections[k].feature == missing &&
			    str_is(require->items[i].text, protection_name((enum protection)k)))
				return require->items[i].at;
	return missing == FEATURE_LANDLOCK ? p->base.f[F_PROFILE].at : (struct place){ 0 };
}

/* Those say more when what asks for them is named. */
static bool is_of_gate(enum host_feature f)
{
	return f == FEATURE_NET || f == FEATURE_TPROXY || f == FEATURE_ANYIP;
}

/* Which protections the plan has, lacks, and lacks by consent. */
static int check_protections(const struct policy *p, const struct host_caps *caps,
			     const struct plan_request *r, struct plan *plan,
			     struct cordon_err *err)
{
	enum host_feature missing = plan_find_missing(p, caps, r);
	unsigned have = plan_find_offered(p, caps, r), all = (1u << N_PROTECTIONS) - 1;

	if (is_of_gate(missing) && net_check(&p->base, caps, err) < 0)
		return refuse_field(p, F_NETWORK_MODE, err);
	if (missing != N_HOST_FEATURES) {
		refuse_for(missing, err);
		return err_locate(err, find_asker(p, missing));
	}
	if (lacks_guard(p, caps, r))
		have &= ~BIT(SECCOMP);
	if (net_find_missing(&p->base, caps) != N_HOST_FEATURES)
		have &= ~BIT(NET);
	plan->enforced = have;
	plan->lacking = all & ~have & ~(phases_are_open(p, r) ? BIT(NET) : 0);
	plan->waived = needed(p, r, have) & plan->lacking;
	if (plan->waived && r->consent == CONSENT_BARE) {
		if (check_ceilings(r, err) < 0)
			return -1;
		plan->bare = true;
		plan->backend = field_words(KIND_BACKEND)[BACKEND_NONE];
		plan->enforced = 0;
		plan->lacking = all;
	}
	return 0;
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
	bool mounts = plan->clone_flags & CLONE_NEWNS, net = plan->clone_flags & CLONE_NEWNET;
	struct seccomp_options o = {
		.inet = net || phases_are_open(p, r),
		/* A name in the file system is reached from every network; one
		 * without (abstract) is held by the network or by Landlock. */
		.no_unix = !mounts || (!net && caps->landlock < 6),
		.ptrace = number(p, F_PROCESSES_DEBUG) == SWITCH_TRUE,
		.memfd = counted,
		.buffers = counted,
		.guard = plan->n_guarded > 0,
		.enters = !(plan->clone_flags & CLONE_NEWPID),
		.execs = plan->n_rules > 0,
		.few_cpus = plan->few_cpus,
		.disk = plan->counts_roots,
	};

	if (!caps->seccomp)
		return 0;
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
static int compile_blocked(const struct policy *p, const struct host_caps *caps,
			   const struct plan_request *r, struct plan *plan, struct cordon_err *err)
{
	const struct field_value *v = &p->base.f[F_COMMANDS_BLOCK];
	bool judged = judges_execs(p, caps, r);

	if (v->n && !(plan->clone_flags & CLONE_NEWNS))
		return err_set(err, CORDON_E_HOST,
			       "commands.block needs mount, which this machine does not offer; "
			       "cordon doctor says what to do");
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
	for (int i = 0; i < N_PROTECTIONS; i++)
		if (plan->enforced & 1u << i)
			plan->clone_flags |= protections[i].flag;
	if (plan->clone_flags & CLONE_NEWNS)
		plan->clone_flags |= CLONE_NEWCGROUP;
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
	unsigned holding = plan->enforced & ~(plan->uid == 0 ? BIT(USERNS) : 0);

	for (int i = 0; i < N_PLAN_LIMITS; i++)
		plan->limited_by[i] = enforcer_find(ids[i], p, holding, caps->cgroup,
						    plan->net.rung);
}

/* What the tree adds to its writable roots is counted where that is asked for.
 * A folder of mode 0 hides nothing from who counts: that takes root, or a right
 * over the tree's user namespace. */
static int check_counted(const struct plan *plan, struct cordon_err *err)
{
	if (plan->counts_roots && plan->uid != 0 && !(plan->clone_flags & CLONE_NEWUSER))
		return err_set(err, CORDON_E_HOST,
			       "limits.disk: without userns nobody can count what is added to "
			       "writable roots; cordon doctor says what to do");
	return 0;
}

/* Names and executions that nobody can guard are a part of the filter that is
 * missing. */
static int settle_guard(const struct policy *p, const struct host_caps *caps,
			const struct plan_request *r, struct plan *plan, struct cordon_err *err)
{
	if ((!plan->n_guarded && !plan->n_rules) || (caps->notify && caps->seccomp))
		return 0;
	if (!(dispensable(p, caps, r) & BIT(SECCOMP)))
		return refuse_for(FEATURE_NOTIFY, err);
	plan->n_guarded = plan->n_rules = 0;
	plan->enforced &= ~BIT(SECCOMP);
	plan->lacking |= BIT(SECCOMP);
	plan->waived |= BIT(SECCOMP);
	return 0;
}

/* Without pids of its own, only rules of ABI 6 keep the tree from signalling what is outside,
 * and what is to end it. */
static int check_signals(const struct policy *p, const struct host_caps *caps,
			 const struct plan_request *r, const struct plan *plan,
			 struct cordon_err *err)
{
	if ((plan->clone_flags & CLONE_NEWPID) || caps->landlock >= 6 ||
	    (dispensable(p, caps, r) & BIT(LANDLOCK)))
		return 0;
	return err_set(err, CORDON_E_HOST,
		       "the policy needs pid, or Landlock of ABI 6 in its place: with ABI %d the "
		       "command could signal every process of the caller; cordon doctor says what "
		       "to do", caps->landlock);
}

/* All that a plan has which encloses the command. */
static int compile_enclosed(const struct policy *p, const struct host_caps *caps,
			    const struct plan_request *r, struct plan *plan, struct cordon_err *err)
{
	if (compile_net(p, caps, r, plan, err) < 0)
		return -1;
	compile_namespaces(plan);
	/* What is to end one command and not the others must be found. */
	if (r->session && !(plan->clone_flags & CLONE_NEWPID))
		return refuse_for(FEATURE_PID, err);
	if (check_signals(p, caps, r, plan, err) < 0)
		return -1;
	/* Without a /proc of its own nobody but the kernel can count a tree. */
	plan->uncounted = !(plan->clone_flags & CLONE_NEWPID) && caps->cgroup == HOST_CGROUP_NONE;
	phases_fit(plan);
	name_enforcers(p, caps, plan);
	if (check_counted(plan, err) < 0 || files_compile(p, r, caps, plan, err) < 0 ||
	    compile_blocked(p, caps, r, plan, err) < 0 ||
	    settle_guard(p, caps, r, plan, err) < 0)
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
	if (number(p, F_BACKEND) != BACKEND_NONE) {
		if (check_protections(p, caps, r, &plan, err) < 0)
			return -1;
	} else {
		plan.bare = true;
		plan.lacking = (1u << N_PROTECTIONS) - 1;
	}
	if (plan.bare && r->session)
		return refuse_for(FEATURE_USERNS, err);
	if (plan.bare)
		limits_fit_bare(p, &plan.limits);
	else if (compile_enclosed(p, caps, r, &plan, err) < 0)
		return -1;
	environment = (struct environment_request){ &p->base, r->environ, &plan, &plan.net };
	if (environment_compile(&environment, a, &plan.envp, err) < 0 ||
	    phases_check_environment(p, r, &plan, err) < 0)
		return -1;
	*ret = plan;
	return 0;
}
