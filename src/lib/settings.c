/* The operator's words; see settings.h. */
#include "lib/settings.h"

#include "base/path.h"

static int find_field(struct composition *c, const struct cordon_setting *s, enum field_id *ret)
{
	*ret = field_find(str_from(s->key));
	if (*ret == N_FIELDS)
		return diag_error(&c->diags, (struct place){ s->origin, 0, 0 }, "'%s' is not a field",
				  s->key);
	return 0;
}

/* The field's default, written out, when nobody wrote the field: what is added
 * must not replace it. */
static int write_out_default(struct composition *c, enum field_id id)
{
	struct policy scratch;
	struct reader r = compose_reader(c, &scratch, "default");

	if (c->policy.base.f[id].set)
		return 0;
	policy_init(&scratch, &c->arena);
	if (read_defaults(&r) < 0)
		return -1;
	/* [M4]: this list is set together with the mode. */
	if (id == F_NETWORK_ALLOW)
		read_list_start(&scratch.base, id, (struct place){ "default", 0, 0 });
	c->policy.base.f[id] = scratch.base.f[id];
	return 0;
}

static int append(struct composition *c, enum field_id id, const struct field_value *more)
{
	struct field_value *v = &c->policy.base.f[id];
	struct field_value wider = { .set = true, .at = v->at };
	struct cordon_err err;

	/* Lists may be shared with another layer: never written in place. */
	for (size_t i = 0; i < v->n + more->n; i++) {
		struct item *slot = field_value_add(&wider, &c->arena);

		if (!slot)
			return diag_error(&c->diags, more->at, "out of memory");
		*slot = i < v->n ? v->items[i] : more->items[i - v->n];
	}
	if (field_value_canonical(id, &wider, &c->arena, &err) < 0)
		return diag_error(&c->diags, more->at, "%s", err.msg);
	*v = wider;
	return 0;
}

static int add_values(struct composition *c, enum field_id id, const struct field_value *more)
{
	if (write_out_default(c, id) < 0)
		return -1;
	return append(c, id, more);
}

/* A map's later value wins over what the files set. */
static void drop_names(struct field_value *v, const struct field_value *more)
{
	size_t kept = 0;

	for (size_t i = 0; i < v->n; i++) {
		bool again = false;

		for (size_t k = 0; k < more->n; k++)
			again |= str_eq(v->items[i].text, more->items[k].text);
		if (!again)
			v->items[kept++] = v->items[i];
	}
	v->n = kept;
}

/* -r inside a writable root keeps that part from being written. */
static bool is_inside_write(const struct composition *c, const struct field_value *root)
{
	const struct field_value *write = &c->policy.base.f[F_FILES_WRITE];

	for (size_t i = 0; i < write->n; i++)
		if (path_within(root->items[0].text.s, write->items[i].text.s))
			return true;
	return false;
}

static int add_parsed(struct composition *c, enum field_id id, const struct field_value *more)
{
	struct section *base = &c->policy.base;

	switch (id) {
	case F_FILES_READ:
		if (write_out_default(c, F_FILES_WRITE) < 0)
			return -1;
		return add_values(c, is_inside_write(c, more) ? F_FILES_PROTECT : F_FILES_READ, more);
	case F_FILES_WRITE:
		if (base->f[F_FILES_READ].set && append(c, F_FILES_READ, more) < 0)
			return -1;
		return add_values(c, id, more);
	case F_NETWORK_ALLOW:
		if (add_values(c, id, more) < 0)
			return -1;
		read_number(base, F_NETWORK_MODE, NETWORK_ALLOWLIST, more->at);
		return 0;
	case F_ENV_SET:
		drop_names(&base->f[id], more);
		return add_values(c, id, more);
	default:
		return add_values(c, id, more);
	}
}

static int add_one(struct composition *c, const struct cordon_setting *s)
{
	struct place at = { s->origin, 0, 0 };
	enum field_id id = F_NETWORK_ALLOW;
	struct policy scratch;
	struct reader r = compose_reader(c, &scratch, s->origin);

	policy_init(&scratch, &c->arena);
	if (s->op == CORDON_ADD_DOMAIN) {
		if (dialect_add_domain(&r, str_from(s->value), at) < 0)
			return -1;
	} else if (find_field(c, s, &id) < 0 ||
		   read_field_text(&r, &scratch.base, id, str_from(s->value), at) < 0) {
		return -1;
	}
	return add_parsed(c, id, &scratch.base.f[id]);
}

/* A backend asked for by name undoes "no sandbox at all" of the file, which
 * stands in its profile as well. */
static void settle_backend(struct composition *c, const struct field_value *was)
{
	struct field_value *profile = &c->policy.base.f[F_PROFILE];

	if (was->set && was->number == BACKEND_NONE &&
	    c->policy.base.f[F_BACKEND].number != BACKEND_NONE && profile->set &&
	    profile->at.line == was->at.line && profile->at.col == was->at.col)
		*profile = (struct field_value){ 0 };
}

static int replace_one(struct composition *c, const struct cordon_setting *s)
{
	struct reader r = compose_reader(c, &c->policy, s->origin);
	struct field_value was;
	enum field_id id;

	if (find_field(c, s, &id) < 0)
		return -1;
	was = c->policy.base.f[id];
	c->policy.base.f[id] = (struct field_value){ 0 };
	if (read_field_text(&r, &c->policy.base, id, str_from(s->value),
			    (struct place){ s->origin, 0, 0 }) < 0)
		return -1;
	if (id == F_BACKEND)
		settle_backend(c, &was);
	return 0;
}

/* Writable roots come first, so that a read root is known to lie inside one
 * whatever the order of the options. */
static bool is_first(const struct cordon_setting *s)
{
	return s->op == CORDON_ADD && strcmp(s->key, fields[F_FILES_WRITE].key) == 0;
}

int settings_add(struct composition *c, const struct cordon_setting *settings, size_t n)
{
	int bad = 0;

	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < n; i++) {
			const struct cordon_setting *s = &settings[i];

			if (is_first(s) != (round == 0))
				continue;
			if (s->op == CORDON_ADD || s->op == CORDON_ADD_DOMAIN)
				bad |= add_one(c, s);
			else if (s->op == CORDON_REPLACE)
				bad |= replace_one(c, s);
		}
	return bad;
}

int settings_tighten(struct composition *c, const struct cordon_setting *settings, size_t n)
{
	struct policy layer;
	struct reader r = compose_reader(c, &layer, "");
	struct cordon_err err;
	bool any = false;

	policy_init(&layer, &c->arena);
	for (size_t i = 0; i < n; i++) {
		struct place at = { settings[i].origin, 0, 0 };
		enum field_id id;

		if (settings[i].op != CORDON_TIGHTEN)
			continue;
		any = true;
		if (find_field(c, &settings[i], &id) < 0 ||
		    read_field_text(&r, &layer.base, id, str_from(settings[i].value), at) < 0)
			return -1;
	}
	if (!any)
		return 0;
	if (read_finish(&r) < 0)
		return -1;
	if (policy_intersect(&c->policy, &layer, &c->policy, &c->cuts, &err) < 0)
		return diag_error(&c->diags, (struct place){ 0 }, "%s", err.msg);
	return 0;
}
