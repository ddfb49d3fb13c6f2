/* Harbor: task.toml.
 *
 * [environment] is the base.  The agent, the verifier, the verifier's own
 * environment and the same of each step are phases; the model resolves
 * nothing later, so each phase gets what holds in it.  Host names are exact,
 * `*.x` is everything below x.  An entry that Harbor takes for a host name and
 * that counts as an address here (127.1) is refused: it could never match.
 */
#include "base/map.h"
#include "policy/dialect/dialect.h"
#include "policy/task.h"

/* ---- reading ------------------------------------------------------------ */

static struct place known_place(const struct reader *r, struct place at)
{
	return at.file ? at : (struct place){ r->file, 0, 0 };
}

/* Names that we read as an address, or cannot read at all. */
static int check_name(struct reader *r, const struct task_host *h, struct str name)
{
	char why[HOST_WHY];
	struct host host;

	if (host_parse(name, &host, why) < 0)
		return diag_error(r->diags, h->at, "allowed_hosts: '%s' %s", h->text.s, why);
	if (host.is_addr)
		return diag_error(r->diags, h->at,
				  "allowed_hosts: '%s' is a host name to Harbor, but counts as an "
				  "address and can never match as a name; write the address",
				  h->text.s);
	return 0;
}

static int put_host(struct reader *r, struct section *s, const struct task_host *h)
{
	static const enum host_form forms[N_TASK_HOST_CLASSES] = {
		[TASK_HOSTNAME] = HOST_EXACT,	  [TASK_WILDCARD_HOSTNAME] = HOST_BELOW,
		[TASK_IPV4_ADDRESS] = HOST_NET,	  [TASK_IPV6_ADDRESS] = HOST_NET,
		[TASK_IPV4_CIDR] = HOST_NET,	  [TASK_IPV6_CIDR] = HOST_NET,
	};
	enum host_form form = forms[h->class];
	struct str text = form == HOST_BELOW ? str_from_pos(h->text, 2) : h->text;
	struct host_rule rule;
	char why[HOST_WHY];

	if (form != HOST_NET && check_name(r, h, text) < 0)
		return -1;
	if (host_rule_make(form, text, r->policy->arena, &rule, why) < 0)
		return diag_error(r->diags, h->at, "allowed_hosts: '%s' %s", h->text.s, why);
	return read_host(r, s, F_NETWORK_ALLOW, &rule, h->at);
}

static void put_network(struct reader *r, struct section *s, const struct task_network *net)
{
	struct place at = known_place(r, net->at);

	read_number(s, F_NETWORK_MODE, net->mode, at);
	if (net->mode != NETWORK_ALLOWLIST)
		return;
	read_list_start(s, F_NETWORK_ALLOW, at);
	for (size_t i = 0; i < net->n_hosts; i++)
		put_host(r, s, &net->hosts[i]);
}

static const struct limit {
	enum field_id id;
	const char *key;
	size_t offset;			/* in struct task_environment */
	int64_t factor;
} limits[] = {
	{ F_LIMITS_CPUS, "cpus", offsetof(struct task_environment, cpus), 1 },
	{ F_LIMITS_MEMORY, "memory_mb", offsetof(struct task_environment, memory_mb), 1 << 20 },
	{ F_LIMITS_DISK, "storage_mb", offsetof(struct task_environment, storage_mb), 1 << 20 },
};

static const struct task_number *limit_of(const struct task_environment *e, const struct limit *l)
{
	return (const struct task_number *)(const void *)((const char *)e + l->offset);
}

/* A table of its own takes nothing over from [environment] (`base`, or NULL):
 * where it is silent and that one is not, the default holds again. */
static void put_limits(struct reader *r, struct section *s, const struct task_environment *e,
		       const struct task_environment *base)
{
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		const struct task_number *n = limit_of(e, &limits[i]);
		enum field_id id = limits[i].id;

		if (n->set)
			read_number(s, id, n->value * limits[i].factor, n->at);
		else if (base && limit_of(base, &limits[i])->set)
			read_field_text(r, s, id, str_from(fields[id].preset),
					known_place(r, e->at));
	}
}

static int put_variable(struct reader *r, struct section *s, struct map *names,
			const struct task_variable *v)
{
	struct field_value *set = &s->f[F_ENV_SET];
	struct arena *a = r->policy->arena;
	bool is_new;
	struct map_slot *slot = map_add(names, a, v->name, set->n, &is_new);
	const char *copy;

	if (slot && is_new)
		return read_map_entry(r, s, F_ENV_SET, v->name, v->value, v->at);
	copy = slot ? arena_strndup(a, v->value.s, v->value.n) : NULL;
	if (!copy)
		return diag_error(r->diags, v->at, "out of memory");
	set->items[slot->value].value = (struct str){ copy, v->value.n };
	set->items[slot->value].at = v->at;
	return 0;
}

/* One environment over another; the later ones win.  Ends with NULL. */
static void put_env(struct reader *r, struct section *s, const struct task_env *const *layers)
{
	struct map names = { 0 };

	for (; *layers; layers++) {
		if ((*layers)->set)
			read_list_start(s, F_ENV_SET, (*layers)->at);
		for (size_t i = 0; i < (*layers)->n; i++)
			if (put_variable(r, s, &names, &(*layers)->items[i]) < 0)
				return;
	}
}

static void check_environment(struct reader *r, const struct task_environment *e,
			      const char *where)
{
	if (e->gpus.set && e->gpus.value > 0)
		diag_error(r->diags, e->gpus.at,
			   "%s.gpus: a cordon has no GPUs to give; write 0 or remove it", where);
	if (e->tpu)
		diag_error(r->diags, e->tpu_at,
			   "%s.tpu: a cordon has no TPU to give; remove it", where);
	if (e->os.n && !str_is(e->os, "linux"))
		diag_error(r->diags, e->os_at,
			   "%s.os is '%.*s', and a cordon runs Linux; write \"linux\" or remove it",
			   where, STR_FMT(e->os));
}

static struct phase *add_phase(struct reader *r, const struct task_step *step, const char *what,
			       struct place at)
{
	const char *name = what;
	struct phase *phase;

	if (step)
		name = arena_printf(r->policy->arena, "steps.%.*s.%s", (int)step->name.n,
				    step->name.s, what);
	phase = name ? policy_add_phase(r->policy, str_from(name), known_place(r, at)) : NULL;
	if (!phase)
		diag_error(r->diags, at, "out of memory");
	return phase;
}

static void put_timeout(struct reader *r, struct section *s, struct task_number timeout)
{
	if (timeout.set)
		read_number(s, F_LIMITS_TIMEOUT, timeout.value, known_place(r, timeout.at));
}

static const struct task_env no_env;

static void read_agent(struct reader *r, const struct task *t, const struct task_step *step)
{
	const struct task_network *net = task_agent_network(t, step);
	const struct task_env *step_env = step ? &step->agent.env : &no_env;
	const struct task_env *const layers[] = { &t->environment.env, &t->agent.env, step_env,
						  NULL };
	struct phase *phase = add_phase(r, step, "agent", step ? step->at : t->agent.at);

	if (!phase)
		return;
	if (net)
		put_network(r, &phase->section, net);
	put_timeout(r, &phase->section, task_agent_timeout(t, step));
	if (t->agent.env.set || step_env->set)
		put_env(r, &phase->section, layers);
}

/* What a phase in the verifier's own environment has of it, the network and
 * the variables aside. */
static void put_own_environment(struct reader *r, struct section *s, const struct task *t,
				const struct task_environment *own)
{
	put_limits(r, s, own, &t->environment);
	if (t->environment.env.set)
		read_list_start(s, F_ENV_SET, known_place(r, own->at));
}

static void read_verifier_environment(struct reader *r, const struct task *t,
				      const struct task_step *step,
				      const struct task_environment *own)
{
	const struct task_env *const layers[] = { &own->env, NULL };
	struct phase *phase = add_phase(r, step, "verifier.environment", own->at);

	if (!phase)
		return;
	put_own_environment(r, &phase->section, t, own);
	put_network(r, &phase->section, &own->network);
	put_env(r, &phase->section, layers);
}

static void read_verifier(struct reader *r, const struct task *t, const struct task_step *step)
{
	const struct task_environment *own = task_verifier_environment(t, step);
	const struct task_network *net = task_verifier_network(t, step);
	const struct task_env *step_env = step ? &step->verifier.env : &no_env;
	const struct task_env *const layers[] = { own ? &own->env : &t->environment.env,
						  &t->verifier.env, step_env, NULL };
	struct phase *phase;

	if (own)
		read_verifier_environment(r, t, step, own);
	phase = add_phase(r, step, "verifier", step ? step->at : t->verifier.at);
	if (!phase)
		return;
	if (own) {
		put_own_environment(r, &phase->section, t, own);
		net = net ? net : &own->network;
	}
	if (net)
		put_network(r, &phase->section, net);
	put_timeout(r, &phase->section, task_verifier_timeout(t, step));
	if (own || t->verifier.env.set || step_env->set)
		put_env(r, &phase->section, layers);
}

void harbor_put_task(struct reader *r, const struct task *t)
{
	struct section *base = &r->policy->base;
	const struct task_env *const layers[] = { &t->environment.env, NULL };

	put_network(r, base, &t->environment.network);
	put_limits(r, base, &t->environment, NULL);
	put_env(r, base, layers);
	check_environment(r, &t->environment, "environment");
	check_environment(r, &t->verifier.environment, "verifier.environment");
	for (size_t i = 0; i < t->n_steps; i++)
		check_environment(r, &t->steps[i].verifier.environment,
				  "steps.verifier.environment");
	/* A phase repeats what it takes over, and would repeat its problems.
	 * Step 0 stands for the task itself. */
	for (size_t i = 0; i <= t->n_steps && !r->diags->n_errors; i++) {
		const struct task_step *step = i ? &t->steps[i - 1] : NULL;

		read_agent(r, t, step);
		if (!r->diags->n_errors)
			read_verifier(r, t, step);
	}
}

static void harbor_read(struct reader *r, const struct value *root)
{
	struct task t;

	if (task_read(r, root, &t) == 0)
		harbor_put_task(r, &t);
}

const struct dialect dialect_harbor = {
	.name = "harbor",
	.about = "Harbor's task.toml",
	.style = STYLE_NATIVE,
	.parse = toml_parse,
	.read = harbor_read,
};
