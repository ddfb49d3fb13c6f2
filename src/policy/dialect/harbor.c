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
#include "policy/print.h"
#include "policy/quantity.h"
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

static void check_environment(struct reader *r, const struct task *t,
			      const struct task_environment *e, const char *where)
{
	if (e->gpus.set && e->gpus.value > 0)
		diag_error(r->diags, e->gpus.at,
			   "%s.gpus: a cordon has no GPUs to give; write 0 or remove it", where);
	if (e->docker_image.n && !str_eq(e->docker_image, t->environment.docker_image))
		diag_error(
			r->diags, e->docker_image_at,
			"%s.docker_image: a policy has one image; write the one of [environment]",
			where);
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
	if (t->environment.docker_image.n)
		read_field_text(r, base, F_DOCKER_IMAGE, t->environment.docker_image,
				t->environment.docker_image_at);
	check_environment(r, t, &t->environment, "environment");
	check_environment(r, t, &t->verifier.environment, "verifier.environment");
	for (size_t i = 0; i < t->n_steps; i++)
		check_environment(r, t, &t->steps[i].verifier.environment,
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

/* ---- writing ------------------------------------------------------------ */

static int refuse(enum field_id id, struct place at, const char *what, struct diags *diags)
{
	return dialect_refuse(&dialect_harbor, id, at, what, diags);
}

/* Harbor writes the patterns it has as we do; what it would read as something
 * else, or not at all, it cannot say. */
static bool is_sayable(const struct host_rule *rule, struct str text, struct arena *a)
{
	struct task_host host;
	const char *why;

	if (task_host_parse(text, a, &host, &why) < 0)
		return false;
	switch (host.class) {
	case TASK_HOSTNAME:
		return rule->form == HOST_EXACT;
	case TASK_WILDCARD_HOSTNAME:
		return rule->form == HOST_BELOW;
	default:
		return rule->form == HOST_NET;
	}
}

static int write_hosts(const struct policy *p, const struct field_value *allow, struct buf *out,
		       struct diags *diags)
{
	int bad = 0;

	buf_puts(out, "allowed_hosts = [");
	for (size_t i = 0; i < allow->n; i++) {
		cleanup_buf struct buf text = BUF(512);
		struct str pattern;

		host_rule_print(allow->items[i].host, &text);
		pattern = (struct str){ buf_text(&text), text.n };
		if (!is_sayable(allow->items[i].host, pattern, p->arena))
			bad = refuse(F_NETWORK_ALLOW, allow->items[i].at, buf_text(&text), diags);
		buf_puts(out, i ? ",\n  " : "\n  ");
		print_toml_string(pattern, out);
	}
	buf_puts(out, allow->n ? ",\n]\n" : "]\n");
	return bad;
}

static int write_network(const struct policy *p, const struct section *s, struct buf *out,
			 struct diags *diags)
{
	const struct field_value *mode = &s->f[F_NETWORK_MODE];

	if (!mode->set)
		return refuse(F_NETWORK_MODE, mode->at,
			      "nothing about the network: no mode means public", diags);
	buf_printf(out, "network_mode = \"%s\"\n", field_words(KIND_NETWORK_MODE)[mode->number]);
	if (mode->number != NETWORK_ALLOWLIST)
		return 0;
	return write_hosts(p, &s->f[F_NETWORK_ALLOW], out, diags);
}

static int64_t default_of(enum field_id id)
{
	int64_t size;

	return quantity_parse_size(str_from(fields[id].preset), &size) ? size : LIMIT_NONE;
}

static int write_limits(const struct section *s, const struct section *base, struct buf *out,
			struct diags *diags)
{
	int bad = 0;

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		enum field_id id = limits[i].id;
		const struct field_value *v = &s->f[id];
		int64_t n = v->number / limits[i].factor;

		/* put_limits() says what silence means. */
		if (!v->set || (base && base->f[id].set && v->number == default_of(id)))
			continue;
		if (v->number == LIMIT_NONE || v->number % limits[i].factor || n > TASK_MAX_NUMBER)
			bad = refuse(id, v->at,
				     v->number == LIMIT_NONE ? "\"none\"" : "a part of a megabyte",
				     diags);
		else
			buf_printf(out, "%s = %lld\n", limits[i].key, (long long)n);
	}
	return bad;
}

static int write_env(const struct policy *p, const struct field_value *v, struct buf *out)
{
	struct str text;

	if (value_text(F_ENV_SET, v, p->arena, &text) < 0) {
		out->failed = true;
		return -1;
	}
	buf_puts(out, "env = ");
	buf_str(out, text);
	buf_putc(out, '\n');
	return 0;
}

/* The variables of a phase beside those of its environment, which it keeps. */
static int write_more_env(const struct policy *p, const struct field_value *v,
			  const struct field_value *base, struct buf *out, struct diags *diags)
{
	struct field_value more = { .set = true };
	size_t kept = 0;

	more.items = arena_new(p->arena, v->n + 1, sizeof(*more.items));
	if (!more.items) {
		out->failed = true;
		return -1;
	}
	/* Both are sorted by name [M1]. */
	for (size_t i = 0; i < v->n; i++) {
		const struct item *b;

		if (kept < base->n && str_cmp(base->items[kept].text, v->items[i].text) < 0)
			return refuse(F_ENV_SET, v->at, "that a phase has fewer variables", diags);
		b = kept < base->n ? &base->items[kept] : NULL;
		if (b && str_eq(b->text, v->items[i].text)) {
			kept++;
			if (str_eq(b->value, v->items[i].value))
				continue;
		}
		more.items[more.n++] = v->items[i];
	}
	if (kept < base->n)
		return refuse(F_ENV_SET, v->at, "that a phase has fewer variables", diags);
	return write_env(p, &more, out);
}

/* Everything in which a phase differs from its environment must be sayable. */
static int refuse_phase(const struct phase *phase, const struct section *base,
			const enum field_id *sayable, struct diags *diags)
{
	int bad = 0;

	for (int id = 0; id < N_FIELDS; id++) {
		const struct field_value *v = &phase->section.f[id];
		size_t i = 0;

		while (sayable[i] != N_FIELDS && sayable[i] != (enum field_id)id)
			i++;
		if (sayable[i] == N_FIELDS && field_in_phase((enum field_id)id) &&
		    !field_value_eq((enum field_id)id, v, &base->f[id]))
			bad = diag_error(diags, v->at,
					 "phase.%.*s: the harbor dialect cannot say %s in a phase",
					 STR_FMT(phase->name), fields[id].key);
	}
	return bad;
}

static bool has_same_network(const struct section *a, const struct section *b)
{
	return field_value_eq(F_NETWORK_MODE, &a->f[F_NETWORK_MODE], &b->f[F_NETWORK_MODE]) &&
	       field_value_eq(F_NETWORK_ALLOW, &a->f[F_NETWORK_ALLOW], &b->f[F_NETWORK_ALLOW]);
}

static int write_timeout(const struct field_value *v, struct buf *out, struct diags *diags)
{
	if (v->number == LIMIT_NONE)
		buf_puts(out, "timeout_sec = inf\n");
	else if (v->number > TASK_MAX_TIMEOUT_MS)
		return refuse(F_LIMITS_TIMEOUT, v->at, "so long a time", diags);
	else
		buf_printf(out,
			   v->number % 1000 ? "timeout_sec = %lld.%03d\n"
					    : "timeout_sec = %lld.%d\n",
			   (long long)(v->number / 1000), (int)(v->number % 1000));
	return 0;
}

/* [agent] or [verifier]: what differs from `base`. */
static int write_phase(const struct policy *p, const struct phase *phase,
		       const struct section *base, struct buf *out, struct diags *diags)
{
	static const enum field_id agent[] = { F_NETWORK_MODE, F_NETWORK_ALLOW, F_LIMITS_TIMEOUT,
					       N_FIELDS };
	static const enum field_id verifier[] = { F_NETWORK_MODE, F_NETWORK_ALLOW,
						  F_LIMITS_TIMEOUT, F_ENV_SET, N_FIELDS };
	bool is_agent = str_is(phase->name, "agent");
	const struct section *s = &phase->section;
	const struct field_value *timeout = &s->f[F_LIMITS_TIMEOUT];
	int bad = refuse_phase(phase, base, is_agent ? agent : verifier, diags);

	buf_printf(out, "\n[%.*s]\n", STR_FMT(phase->name));
	if (!has_same_network(s, base))
		bad |= write_network(p, s, out, diags);
	if (timeout->set)
		bad |= write_timeout(timeout, out, diags);
	else if (!is_agent)
		bad = refuse(F_LIMITS_TIMEOUT, phase->at, "a verifier without a timeout", diags);
	if (!is_agent && !field_value_eq(F_ENV_SET, &s->f[F_ENV_SET], &base->f[F_ENV_SET]))
		bad |= write_more_env(p, &s->f[F_ENV_SET], &base->f[F_ENV_SET], out, diags);
	return bad;
}

/* [environment] (`base` NULL) or [verifier.environment]. */
static int write_environment(const struct policy *p, const struct section *s,
			     const struct section *base, struct buf *out, struct diags *diags)
{
	int bad;

	buf_puts(out, base ? "\n[verifier.environment]\n" : "[environment]\n");
	bad = write_network(p, s, out, diags) | write_limits(s, base, out, diags);
	if (!base && s->f[F_DOCKER_IMAGE].set) {
		buf_puts(out, "docker_image = ");
		print_toml_string(s->f[F_DOCKER_IMAGE].text, out);
		buf_putc(out, '\n');
	}
	if (s->f[F_ENV_SET].set)
		bad |= write_env(p, &s->f[F_ENV_SET], out);
	return bad;
}

static int refuse_other_phases(const struct policy *p, struct diags *diags)
{
	int bad = 0;

	for (size_t i = 0; i < p->n_phases; i++) {
		struct str name = p->phases[i].name;

		if (!str_is(name, "agent") && !str_is(name, "verifier") &&
		    !str_is(name, "verifier.environment"))
			bad = diag_error(
				diags, p->phases[i].at,
				"phase.%.*s: the harbor dialect writes agent, verifier and "
				"verifier.environment; a policy has no order of steps",
				STR_FMT(name));
	}
	return bad;
}

/* A policy without these phases is written without them; reading it again
 * finds an agent and a verifier (of 600 s) all the same, as every task has. */
static int harbor_write(const struct policy *p, struct buf *out, struct diags *diags)
{
	static const enum field_id sayable[] = {
		F_NETWORK_MODE, F_NETWORK_ALLOW, F_LIMITS_CPUS, F_LIMITS_MEMORY,
		F_LIMITS_DISK,	F_ENV_SET,	 F_DOCKER_IMAGE, N_FIELDS };
	static const enum field_id own_sayable[] = {
		F_NETWORK_MODE, F_NETWORK_ALLOW, F_LIMITS_CPUS, F_LIMITS_MEMORY,
		F_LIMITS_DISK,	F_ENV_SET,	 N_FIELDS };
	const struct phase *agent = policy_find_phase(p, STR("agent"));
	const struct phase *verifier = policy_find_phase(p, STR("verifier"));
	const struct phase *own = policy_find_phase(p, STR("verifier.environment"));
	int bad = dialect_refuse_others(p, sayable, true, &dialect_harbor, diags);

	bad |= refuse_other_phases(p, diags);
	bad |= write_environment(p, &p->base, NULL, out, diags);
	if (agent)
		bad |= write_phase(p, agent, &p->base, out, diags);
	if (verifier)
		bad |= write_phase(p, verifier, own ? &own->section : &p->base, out, diags);
	if (own) {
		bad |= refuse_phase(own, &p->base, own_sayable, diags);
		bad |= write_environment(p, &own->section, &p->base, out, diags);
	}
	return bad;
}

const struct dialect dialect_harbor = {
	.name = "harbor",
	.about = "Harbor's task.toml",
	.style = STYLE_NATIVE,
	.parse = toml_parse,
	.read = harbor_read,
	.write = harbor_write,
};
