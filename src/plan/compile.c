/* From a policy and a machine's table to a plan; see compile.h. */
#include "plan/compile.h"

#include <sched.h>

#include "base/path.h"
#include "plan/environment.h"
#include "plan/files.h"
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

/* What the policy asks for and this program does not do yet. */
static int check_built(const struct policy *p, struct cordon_err *err)
{
	const struct field_value *mode = &p->base.f[F_NETWORK_MODE];

	if (number(p, F_PROFILE) == PROFILE_WASI)
		return err_set(err, CORDON_E_HOST,
			       "profile wasi is not built; use worktree or os_hardened");
	if (number(p, F_BACKEND) == BACKEND_DOCKER)
		return err_set(err, CORDON_E_HOST,
			       "backend docker is not built; use --sandbox process");
	if (mode->number == NETWORK_ALLOWLIST)
		return err_set(
			err, CORDON_E_HOST,
			"network.mode allowlist is not supported by the process backend yet; "
			"use --network no-network");
	if (mode->number == NETWORK_PUBLIC && p->base.f[F_NETWORK_DENY].n)
		return err_set(
			err, CORDON_E_HOST,
			"network.deny under network.mode public is not supported by the process "
			"backend yet; use --network no-network");
	if (p->base.f[F_NETWORK_EXPOSE].n)
		return err_set(
			err, CORDON_E_HOST,
			"network.expose is not supported by the process backend yet; remove it");
	if (number(p, F_BACKEND) == BACKEND_NONE && number(p, F_PROFILE) != PROFILE_UNRESTRICTED)
		return err_set(err, CORDON_E_HOST,
			       "backend none enforces nothing, but the profile is %s; "
			       "use --no-sandbox to run without any protection",
			       field_words(KIND_PROFILE)[number(p, F_PROFILE)]);
	return 0;
}

static unsigned available(const struct host_caps *caps)
{
	return (unsigned)caps->userns << PROTECTION_USERNS |
	       (unsigned)caps->mount << PROTECTION_MOUNT | (unsigned)caps->pid << PROTECTION_PID |
	       (unsigned)caps->ipc << PROTECTION_IPC | (unsigned)caps->uts << PROTECTION_UTS |
	       (unsigned)caps->net << PROTECTION_NET |
	       (unsigned)(caps->landlock > 0) << PROTECTION_LANDLOCK |
	       (unsigned)caps->seccomp << PROTECTION_SECCOMP |
	       (unsigned)(caps->cgroup != HOST_CGROUP_NONE) << PROTECTION_CGROUP;
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
 * os_hardened wants the second layer, too. */
static unsigned needed(const struct policy *p)
{
	unsigned bits = 1u << PROTECTION_USERNS | 1u << PROTECTION_MOUNT | 1u << PROTECTION_PID |
			1u << PROTECTION_IPC | 1u << PROTECTION_UTS | 1u << PROTECTION_SECCOMP;

	if (number(p, F_NETWORK_MODE) != NETWORK_PUBLIC)
		bits |= 1u << PROTECTION_NET;
	if (number(p, F_PROFILE) == PROFILE_OS_HARDENED)
		bits |= 1u << PROTECTION_LANDLOCK;
	return bits | named(&p->base.f[F_REQUIRE]);
}

static int check_protections(const struct policy *p, const struct host_caps *caps,
			     struct plan *plan, struct cordon_err *err)
{
	unsigned have = available(caps), want = needed(p);

	if (number(p, F_NETWORK_MODE) == NETWORK_PUBLIC)
		have &= ~(1u << PROTECTION_NET);
	for (int i = 0; i < N_PROTECTIONS; i++)
		if (want & ~have & 1u << i)
			return err_set(err, CORDON_E_HOST,
				       "the policy needs %s, which this machine does not offer; "
				       "cordon doctor says what to do",
				       protection_name((enum protection)i));
	plan->enforced = have;
	plan->lacking = ((1u << N_PROTECTIONS) - 1) & ~have;
	if (number(p, F_NETWORK_MODE) == NETWORK_PUBLIC)
		plan->lacking &= ~(1u << PROTECTION_NET);
	return 0;
}

/* ---- parts -------------------------------------------------------------- */

static void compile_limits(const struct policy *p, struct plan_limits *l)
{
	int64_t cpu = number(p, F_LIMITS_CPU_SECONDS);

	*l = (struct plan_limits){
		.memory = number(p, F_LIMITS_MEMORY),
		.cpu_ms = cpu > INT64_MAX / 1000 ? LIMIT_NONE : cpu * 1000,
		.cpus = number(p, F_LIMITS_CPUS),
		.processes = number(p, F_LIMITS_PROCESSES),
		.file_size = number(p, F_LIMITS_FILE_SIZE),
		.wall_ms = number(p, F_LIMITS_TIMEOUT),
		.output = number(p, F_LIMITS_OUTPUT),
		.disk = number(p, F_LIMITS_DISK),
		.open_files = number(p, F_LIMITS_OPEN_FILES),
		.grace_ms = 80,
	};
}

static int compile_filter(const struct policy *p, const struct host_caps *caps, struct plan *plan,
			  struct cordon_err *err)
{
	bool counted = caps->cgroup != HOST_CGROUP_NONE;
	struct seccomp_options o = {
		.inet = true,
		.ptrace = number(p, F_PROCESSES_DEBUG) == SWITCH_TRUE,
		.memfd = counted,
		.buffers = counted,
		.guard = plan->n_guarded > 0,
	};

	return seccomp_compile(&o, plan->arena, &plan->filter, &plan->n_filter, err);
}

/* A program by its name is masked, wherever it is; a pattern with arguments
 * would need the vector of every execution. */
static int compile_blocked(const struct policy *p, struct plan *plan, struct cordon_err *err)
{
	const struct field_value *v = &p->base.f[F_COMMANDS_BLOCK];

	plan->blocked = arena_new(plan->arena, v->n + 1, sizeof(*plan->blocked));
	if (!plan->blocked)
		return err_nomem(err);
	for (size_t i = 0; i < v->n; i++) {
		const struct command_rule *rule = v->items[i].command;

		if (rule->n_words != 1 || rule->has_operators ||
		    memchr(rule->text.s, '*', rule->text.n))
			return err_set(err, CORDON_E_HOST,
				       "commands.block: '%.*s' is not supported by the process "
				       "backend yet; "
				       "write programs by their names",
				       STR_FMT(rule->text));
		plan->blocked[plan->n_blocked] =
			arena_strndup(plan->arena, rule->words[0].s, rule->words[0].n);
		if (!plan->blocked[plan->n_blocked++])
			return err_nomem(err);
	}
	return 0;
}

static void compile_namespaces(const struct policy *p, struct plan *plan)
{
	plan->clone_flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC |
			    CLONE_NEWUTS | CLONE_NEWCGROUP;
	if (number(p, F_NETWORK_MODE) != NETWORK_PUBLIC)
		plan->clone_flags |= CLONE_NEWNET;
	plan->hostname = "cordon";
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
	};

	if (check_built(p, err) < 0)
		return -1;
	compile_limits(p, &plan.limits);
	if (environment_compile(&p->base, r->environ, a, &plan.envp, err) < 0)
		return -1;
	if (number(p, F_BACKEND) != BACKEND_NONE) {
		compile_namespaces(p, &plan);
		if (check_protections(p, caps, &plan, err) < 0 ||
		    files_compile(p, r, caps, &plan, err) < 0 ||
		    compile_blocked(p, &plan, err) < 0 || compile_filter(p, caps, &plan, err) < 0)
			return -1;
	} else {
		plan.lacking = (1u << N_PROTECTIONS) - 1;
	}
	*ret = plan;
	return 0;
}
