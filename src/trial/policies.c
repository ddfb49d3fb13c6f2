/* The policy of each environment of a trial; see policies.h. */
#include "trial/policies.h"

#include "policy/print.h"

#define POLICY_FILE	"policy.toml"
#define TRIAL_OUTPUT	"64M"	/* of one phase, unless somebody says less */

const char *policies_phase(const struct task_step *step, const char *what, struct arena *a)
{
	return step ? arena_printf(a, "steps.%.*s.%s", (int)step->name.n, step->name.s, what)
		    : what;
}

static void set_network(struct task_network *to, const struct task_network *from)
{
	*to = *from;
	to->written = true;
}

/* What was judged is what holds: the hosts of the run are in it. */
static void take_networks(struct task *t, const struct trial_verdict *v)
{
	set_network(&t->environment.network, &v->steps[0].agent_env);
	if (!t->n_steps) {
		set_network(&t->agent.network, &v->steps[0].agent);
		set_network(&t->verifier.network, &v->steps[0].verifier);
	}
	for (size_t i = 0; i < t->n_steps; i++) {
		set_network(&t->steps[i].agent.network, &v->steps[i].agent);
		set_network(&t->steps[i].verifier.network, &v->steps[i].verifier);
	}
}

/* The host's own files do. */
static void leave_images(struct task *t)
{
	t->environment.docker_image = t->verifier.environment.docker_image = STR("");
	for (size_t i = 0; i < t->n_steps; i++)
		t->steps[i].verifier.environment.docker_image = STR("");
}

/* [solution] env is for the task's own solution, over what the agent has. */
static int join_env(struct task_env *to, const struct task_env *more, struct arena *a)
{
	struct task_variable *items;

	if (!more->n)
		return 0;
	items = arena_new(a, to->n + more->n, sizeof(*items));
	if (!items)
		return -1;
	if (to->n)
		memcpy(items, to->items, to->n * sizeof(*items));
	memcpy(items + to->n, more->items, more->n * sizeof(*items));
	to->items = items;
	to->n += more->n;
	to->at = to->set ? to->at : more->at;
	to->set = true;
	return 0;
}

/* NAME=VALUE of --env. */
static int read_asked(const struct cordon_request *req, struct arena *a, struct task_env *ret)
{
	ret->items = arena_new(a, req->n_settings + 1, sizeof(*ret->items));
	for (size_t i = 0; ret->items && i < req->n_settings; i++) {
		const struct cordon_setting *s = &req->settings[i];
		struct str text = str_from(s->value), name = str_first(text, str_find(text, '='));

		if (s->op == CORDON_ADD && strcmp(s->key, fields[F_ENV_SET].key) == 0 &&
		    name.n < text.n)
			ret->items[ret->n++] = (struct task_variable){
				name, str_from_pos(text, name.n + 1), { s->origin, 0, 0 } };
	}
	return ret->items ? 0 : -1;
}

static int join_phase(struct task_phase *p, const struct task_env *asked, struct arena *a)
{
	if ((p->env.set && join_env(&p->env, asked, a) < 0) ||
	    (p->environment.present && join_env(&p->environment.env, asked, a) < 0))
		return -1;
	return 0;
}

/* A phase with variables of its own would be without those of --env. */
static int join_asked(struct task *t, const struct cordon_request *req, struct arena *a)
{
	struct task_env asked = { 0 };

	if (read_asked(req, a, &asked) < 0 || join_env(&t->environment.env, &asked, a) < 0 ||
	    join_phase(&t->agent, &asked, a) < 0 || join_phase(&t->verifier, &asked, a) < 0)
		return -1;
	for (size_t i = 0; i < t->n_steps; i++)
		if (join_phase(&t->steps[i].agent, &asked, a) < 0 ||
		    join_phase(&t->steps[i].verifier, &asked, a) < 0)
			return -1;
	return 0;
}

int policies_make(struct composition *c, const struct policies_options *o, const struct task *t,
		  const struct trial_verdict *v, struct policies *ret)
{
	size_t before = c->diags.n_errors;
	struct reader r;

	ret->task = *t;
	/* Steps are changed below; nothing else reads them any more. */
	take_networks(&ret->task, v);
	leave_images(&ret->task);
	if ((o->solution && join_env(&ret->task.agent.env, &t->solution_env, &c->arena) < 0) ||
	    join_asked(&ret->task, o->request, &c->arena) < 0)
		return diag_error(&c->diags, (struct place){ 0 }, "out of memory");
	policy_init(&ret->policy, &c->arena);
	r = compose_reader(c, &ret->policy, o->file);
	r.ignores_unknown = true;
	harbor_put_task(&r, &ret->task);
	return c->diags.n_errors == before ? 0 : -1;
}

/* A base with the fields of a phase, and the phase that runs in it. */
static int make_own(struct composition *c, const struct policy *from, const char *own,
		    struct policy *ret)
{
	struct str base = str_from(own);
	struct str name = str_first(base, base.n - strlen(".environment"));
	const struct phase *environment = policy_find_phase(from, base);
	const struct phase *verifier = policy_find_phase(from, name);
	struct phase *copy;

	policy_init(ret, &c->arena);
	if (!environment || !verifier)
		return diag_error(&c->diags, (struct place){ 0 }, "no phase '%s'", own);
	ret->base = environment->section;
	copy = policy_add_phase(ret, name, verifier->at);
	if (!copy)
		return diag_error(&c->diags, (struct place){ 0 }, "out of memory");
	copy->section = verifier->section;
	return 0;
}

/* The places of this one, and a bound to what is kept of the output. */
static int put_place(struct composition *c, struct policy *p, const struct workplace *place)
{
	struct reader r = compose_reader(c, p, "trial");
	const struct { enum field_id id; const char *text; } puts[] = {
		{ F_FILES_WRITE, place->roots[PLACE_APP] },
		{ F_FILES_WRITE, place->roots[PLACE_LOGS] },
		{ F_FILES_READ, place->roots[PLACE_TESTS] },
		{ F_FILES_READ, place->roots[PLACE_SOLUTION] },
		{ F_FILES_READ, place->roots[PLACE_INSTRUCTION] },
		{ F_LIMITS_OUTPUT, TRIAL_OUTPUT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(puts); i++)
		if (read_field_text(&r, &p->base, puts[i].id, str_from(puts[i].text),
				    (struct place){ 0 }) < 0)
			return -1;
	/* It is nobody's project: a task may make any name, as in a container. */
	read_list_start(&p->base, F_FILES_PROTECT, (struct place){ 0 });
	return read_finish(&r);
}

/* The file is for people, and values of variables are not to be kept. */
static int write_file(struct composition *c, struct policy p, const struct workplace *place,
		      struct cordon_err *err)
{
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES);
	struct phase *phases = arena_new(&c->arena, p.n_phases + 1, sizeof(*phases));

	if (!phases)
		return err_nomem(err);
	p.base.f[F_ENV_SET] = (struct field_value){ 0 };
	for (size_t i = 0; i < p.n_phases; i++) {
		phases[i] = p.phases[i];
		phases[i].section.f[F_ENV_SET] = (struct field_value){ 0 };
	}
	p.phases = phases;
	buf_puts(&out, "# The policy that held, without env.set: no file keeps a value.\n");
	policy_print(&p, false, &out);
	if (!buf_ok(&out))
		return err_nomem(err);
	return folder_write(place->dir, POLICY_FILE, (struct str){ buf_text(&out), out.n }, err);
}

int policies_write(struct composition *c, const struct policies *p, const char *own,
		   struct workplace *place, struct cordon_err *err)
{
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES);
	struct policy policy = p->policy;
	const char *text;

	if ((own && make_own(c, &p->policy, own, &policy) < 0) || put_place(c, &policy, place) < 0)
		return err_set(err, CORDON_E_POLICY, "the task's policy cannot be held");
	policy_print(&policy, false, &out);
	text = buf_ok(&out) ? arena_strndup(&c->arena, buf_text(&out), out.n) : NULL;
	place->policy.name = arena_printf(&c->arena, "%s/" POLICY_FILE, place->path);
	if (!text || !place->policy.name)
		return err_nomem(err);
	place->policy.text = (struct str){ text, out.n };
	return write_file(c, policy, place, err);
}
