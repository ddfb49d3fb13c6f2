/* The phases of a session; see phases.h.
 *
 * The namespaces, the files and the sockets inside are made once.  What a phase
 * changes is which hosts are allowed, the limits, and the environment of new commands.
 */
#include "plan/phases.h"

#include "plan/environment.h"
#include "plan/limits.h"
#include "plan/net_inside.h"

bool phases_are_open(const struct policy *p, const struct plan_request *r)
{
	if (!net_is_open(&p->base))
		return false;
	for (size_t i = 0; r->session && i < p->n_phases; i++)
		if (!net_is_open(&p->phases[i].section))
			return false;
	return true;
}

bool phases_have_gate(const struct policy *p, const struct host_caps *caps,
		      const struct plan_request *r)
{
	return r->session && caps->net && caps->tproxy && !phases_are_open(p, r);
}

/* Of the whole tree, and made with it. */
static const enum field_id tree_fields[] = { F_NETWORK_EXPOSE, F_NETWORK_UPSTREAM_PROXY,
					     F_LIMITS_OUTPUT, F_LIMITS_DISK };
/* The kernel changes these for a living tree in its cgroup. */
static const enum field_id cgroup_fields[] = { F_LIMITS_MEMORY, F_LIMITS_CPU_SECONDS,
					       F_LIMITS_CPUS, F_LIMITS_PROCESSES };

/* The first of these fields whose value differs from the base's; N_FIELDS: none. */
static enum field_id find_changed(const struct policy *p, const struct phase *phase,
				  const enum field_id *ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!field_value_eq(ids[i], &p->base.f[ids[i]], &phase->section.f[ids[i]]))
			return ids[i];
	return N_FIELDS;
}

static int check_fixed(const struct policy *p, const struct phase *phase, struct cordon_err *err)
{
	enum field_id id = find_changed(p, phase, tree_fields, ARRAY_SIZE(tree_fields));

	if (id == N_FIELDS)
		return 0;
	return err_set(err, CORDON_E_HOST, "phase %.*s: %s cannot change while a session lives; "
		       "write it outside the phases", STR_FMT(phase->name), fields[id].key);
}

static int check_cgroup(const struct policy *p, const struct phase *phase,
			const struct host_caps *caps, struct cordon_err *err)
{
	enum field_id id = find_changed(p, phase, cgroup_fields, ARRAY_SIZE(cgroup_fields));

	if (id == N_FIELDS || caps->cgroup == HOST_CGROUP_V2)
		return 0;
	return err_set(err, CORDON_E_HOST, "phase %.*s: %s cannot change while a session lives: "
		       "cordon has no cgroup v2 here; write it outside the phases, or start "
		       "cordon by systemd-run %s--scope -p Delegate=yes", STR_FMT(phase->name),
		       fields[id].key, caps->is_root ? "" : "--user ");
}

/* A socket each, made inside at the start. */
static int check_datagrams(const struct plan_net *base, const struct phase *phase,
			   const struct plan_net *net, struct cordon_err *err)
{
	uint16_t have[MAX_NET_PORTS], want[MAX_NET_PORTS];
	size_t n_have = net_datagram_ports(base, have), n_want;

	n_want = MIN(net_datagram_ports(net, want), (size_t)MAX_NET_PORTS);
	for (size_t i = 0; i < n_want; i++) {
		size_t k = 0;

		while (k < MIN(n_have, (size_t)MAX_NET_PORTS) && have[k] != want[i])
			k++;
		if (k == MIN(n_have, (size_t)MAX_NET_PORTS))
			return err_set(err, CORDON_E_HOST,
				       "phase %.*s: network.udp_allow names port %u, which the "
				       "base does not; it cannot be added while a session lives",
				       STR_FMT(phase->name), want[i]);
	}
	return 0;
}

/* Without a gate for every port there is only what there was at the start. */
static int check_network(const struct policy *p, const struct phase *phase, struct cordon_err *err)
{
	static const enum field_id ids[] = { F_NETWORK_MODE, F_NETWORK_ALLOW, F_NETWORK_DENY,
					     F_NETWORK_HOST_PORTS, F_NETWORK_UDP_ALLOW };

	enum field_id id = find_changed(p, phase, ids, ARRAY_SIZE(ids));

	if (id == N_FIELDS)
		return 0;
	return err_set(err, CORDON_E_HOST, "phase %.*s: %s differs from the base's, which needs "
		       "%s (%s); this machine does not offer it: see cordon doctor",
		       STR_FMT(phase->name), fields[id].key, host_feature_name(FEATURE_TPROXY),
		       host_feature_about(FEATURE_TPROXY));
}

int phases_check(const struct policy *p, const struct phase *phase, const struct plan_net *base,
		 const struct plan_net *net, struct cordon_err *err)
{
	if (check_fixed(p, phase, err) < 0)
		return -1;
	return check_datagrams(base, phase, net, err);
}

int phases_compile(const struct policy *p, const struct net_options *o, struct plan *plan,
		   struct cordon_err *err)
{
	struct plan_phase *phases = arena_new(plan->arena, p->n_phases + 1, sizeof(*phases));

	if (!phases)
		return err_nomem(err);
	for (size_t i = 0; i < p->n_phases; i++) {
		const struct phase *phase = &p->phases[i];

		phases[i].name = arena_strndup(plan->arena, phase->name.s, phase->name.n);
		if (!phases[i].name)
			return err_nomem(err);
		if (net_compile(p, &phase->section, o, plan->arena, &phases[i].net, err) < 0)
			return err_wrap(err, "phase %.*s", STR_FMT(phase->name));
		limits_compile(p, &phase->section, &phases[i].limits);
	}
	for (size_t i = 0; i < p->n_phases; i++) {
		if (phases_check(p, &p->phases[i], &plan->net, &phases[i].net, err) < 0 ||
		    check_cgroup(p, &p->phases[i], o->caps, err) < 0 ||
		    (!o->gate && check_network(p, &p->phases[i], err) < 0))
			return -1;
	}
	plan->phases = phases;
	plan->n_phases = p->n_phases;
	return 0;
}

int phases_check_environment(const struct policy *p, const struct plan_request *r,
			     const struct plan *plan, struct cordon_err *err)
{
	cleanup_arena struct arena scratch = ARENA(MAX_ARENA_BYTES);

	for (size_t i = 0; i < plan->n_phases; i++) {
		const struct phase *phase = &p->phases[i];
		const struct environment_request wish = { &phase->section, r->environ, plan };
		const char *const *unused;

		if (environment_compile(&wish, &scratch, &unused, err) < 0)
			return err_wrap(err, "phase %.*s", STR_FMT(phase->name));
	}
	return 0;
}

static void take_most(struct plan *plan, const struct plan_limits *l)
{
	plan->most.file_size = MAX(plan->most.file_size, l->file_size);
	plan->most.open_files = MAX(plan->most.open_files, l->open_files);
	plan->most.processes = MAX(plan->most.processes, l->processes);
	plan->few_cpus |= l->cpus != LIMIT_NONE;
}

void phases_fit(struct plan *plan)
{
	limits_fit(plan, &plan->limits);
	plan->most = plan->limits;
	take_most(plan, &plan->limits);
	for (size_t i = 0; i < plan->n_phases; i++) {
		limits_fit(plan, &plan->phases[i].limits);
		take_most(plan, &plan->phases[i].limits);
	}
}
