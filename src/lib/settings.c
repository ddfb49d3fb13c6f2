/* The operator's words; see settings.h. */
#include "lib/settings.h"

#include "base/path.h"
#include "policy/covering.h"

/* N_FIELDS: its key names none.  Some operations have no key, so nothing else reads it. */
static enum field_id setting_field(const struct cordon_setting *s)
{
	if (s->op == CORDON_ADD_DOMAIN)
		return F_NETWORK_ALLOW;
	return s->key ? field_find(str_from(s->key)) : N_FIELDS;
}

static int find_field(struct composition *c, const struct cordon_setting *s, enum field_id *ret)
{
	*ret = setting_field(s);
	if (*ret == N_FIELDS)
		return diag_error(&c->diags, (struct place){ s->origin, 0, 0 },
				  "'%s' is not a field", s->key ? s->key : "");
	return 0;
}

/* Which fields say together what can be read and written [M3]. */
static const enum field_id root_fields[] = { F_FILES_WRITE, F_FILES_READ, F_FILES_PROTECT };

static bool is_root_field(enum field_id id)
{
	return id == F_FILES_WRITE || id == F_FILES_READ;
}

/* The field's default, written out, when nobody wrote the field: what is added
 * must not replace it. */
static int write_out_default(struct composition *c, enum field_id id)
{
	struct field_value *f = c->policy.base.f;
	struct policy scratch;
	struct reader r = compose_reader(c, &scratch, "default");

	if (f[id].set)
		return 0;
	policy_init(&scratch, &c->arena);
	for (size_t i = 0; is_root_field(id) && i < ARRAY_SIZE(root_fields); i++)
		scratch.base.f[root_fields[i]] = f[root_fields[i]];
	if (read_defaults(&r) < 0)
		return -1;
	/* [M4]: this list is set together with the mode. */
	if (id == F_NETWORK_ALLOW)
		read_list_start(&scratch.base, id, (struct place){ "default", 0, 0 });
	f[id] = scratch.base.f[id];
	for (size_t i = 0; is_root_field(id) && i < ARRAY_SIZE(root_fields); i++)
		f[root_fields[i]] = scratch.base.f[root_fields[i]];
	return 0;
}

/* `section` gets the entries of `more` as well.  Lists may be shared with a
 * phase or another layer: never written in place. */
static int append(struct composition *c, struct section *s, enum field_id id,
		  const struct field_value *more)
{
	const struct field_value *v = &s->f[id];
	struct field_value wider = { .set = true, .at = v->set ? v->at : more->at };
	struct cordon_err err;

	for (size_t i = 0; i < v->n + more->n; i++) {
		struct item *slot = field_value_add(&wider, &c->arena);

		if (!slot)
			return diag_error(&c->diags, more->at, "out of memory");
		*slot = i < v->n ? v->items[i] : more->items[i - v->n];
	}
	if (field_value_canonical(id, &wider, &c->arena, &err) < 0)
		return diag_error(&c->diags, more->at, "%s", err.msg);
	s->f[id] = wider;
	return 0;
}

/* A map's later value wins over what the files set. */
static int replace_names(struct composition *c, struct section *s, enum field_id id,
			 const struct field_value *more)
{
	struct field_value kept = { .set = true, .at = s->f[id].at };

	for (size_t i = 0; i < s->f[id].n; i++) {
		const struct item *item = &s->f[id].items[i];
		struct item *slot;

		if (item_find_covering(KIND_ENV_MAP, more, item))
			continue;
		slot = field_value_add(&kept, &c->arena);
		if (!slot)
			return diag_error(&c->diags, more->at, "out of memory");
		*slot = *item;
	}
	s->f[id] = kept;
	return append(c, s, id, more);
}

/* What leads out opens the network for itself [M4]. */
static void open_network(struct section *s, enum field_id id, struct place at)
{
	const struct field_value *mode = &s->f[F_NETWORK_MODE];

	if (id == F_NETWORK_ALLOW ||
	    (field_leads_out(id) && mode->set && mode->number == NETWORK_NONE))
		read_number(s, F_NETWORK_MODE, NETWORK_ALLOWLIST, at);
	read_settle_mode(s);
}

static int add_to(struct composition *c, struct section *s, enum field_id id,
		  const struct field_value *more)
{
	if (id == F_ENV_SET)
		return replace_names(c, s, id, more);
	if (append(c, s, id, more) < 0)
		return -1;
	open_network(s, id, more->at);
	return 0;
}

/* Does what is added to the base hold in a phase, too?  What takes away always
 * does; what grants does where the phase has what its base has. */
static bool reaches_phase(enum field_id id, const struct section *base, const struct section *phase)
{
	if (!field_in_phase(id))
		return false;
	if (fields[id].merge == MERGE_UNION)
		return true;
	return field_value_eq(id, &base->f[id], &phase->f[id]) &&
	       ((id != F_NETWORK_ALLOW && !field_leads_out(id)) ||
		field_value_eq(F_NETWORK_MODE, &base->f[F_NETWORK_MODE],
			       &phase->f[F_NETWORK_MODE]));
}

static int add_values(struct composition *c, enum field_id id, const struct field_value *more)
{
	struct section before = c->policy.base;

	if (write_out_default(c, id) < 0 || add_to(c, &c->policy.base, id, more) < 0)
		return -1;
	for (size_t i = 0; i < c->policy.n_phases; i++) {
		struct section *phase = &c->policy.phases[i].section;

		if (!reaches_phase(id, &before, phase))
			continue;
		/* What the base had no word about, it now has [M2]. */
		if (fields[id].merge != MERGE_UNION || !phase->f[id].set) {
			phase->f[id] = c->policy.base.f[id];
			open_network(phase, id, more->at);
		} else if (add_to(c, phase, id, more) < 0) {
			return -1;
		}
	}
	return 0;
}

/* A read root that a writable one covers. */
static int protect_root(struct composition *c, struct item root)
{
	const struct field_value one = { .set = true, .at = root.at, .items = &root, .n = 1 };

	root.value = STR(READ_ROOT_NOTE);
	return add_values(c, F_FILES_PROTECT, &one);
}

/* -r inside a writable root keeps that part from being written. */
static int add_read(struct composition *c, const struct field_value *more)
{
	const struct field_value *write = &c->policy.base.f[F_FILES_WRITE];

	if (write_out_default(c, F_FILES_WRITE) < 0)
		return -1;
	return item_find_covering(KIND_ROOTS, write, more->items)
		       ? protect_root(c, more->items[0])
		       : add_values(c, F_FILES_READ, more);
}

/* -w around a root that a file names for reading alone keeps that one from
 * being written, as if both stood in the file [M3]. */
static int add_write(struct composition *c, const struct field_value *more)
{
	struct section *base = &c->policy.base;
	const struct item *root = &more->items[0];
	struct field_value read;
	struct cordon_err err;

	compose_leave_out_top(c);
	if (write_out_default(c, F_FILES_WRITE) < 0)
		return -1;
	if (plan_paths_add(&c->arena, &c->named_roots, root->text.s, &err) < 0)
		return diag_error(&c->diags, more->at, "%s", err.msg);
	read = base->f[F_FILES_READ];
	for (size_t i = 0; i < read.n; i++)
		if (!str_eq(read.items[i].text, root->text) &&
		    path_within(read.items[i].text.s, root->text.s) &&
		    !item_find_covering(KIND_ROOTS, &base->f[F_FILES_WRITE], &read.items[i]) &&
		    protect_root(c, read.items[i]) < 0)
			return -1;
	if (base->f[F_FILES_READ].set && append(c, base, F_FILES_READ, more) < 0)
		return -1;
	return add_values(c, F_FILES_WRITE, more);
}

static int add_parsed(struct composition *c, enum field_id id, const struct field_value *more)
{
	if (id == F_FILES_READ)
		return add_read(c, more);
	if (id == F_FILES_WRITE)
		return add_write(c, more);
	return add_values(c, id, more);
}

/* A domain in ai-harness's meaning is one of its own file, or of none: another file says by
 * itself which protocols its hosts are reached by. */
static void take_protocols(struct composition *c, const struct section *from)
{
	struct field_value *v = &c->policy.base.f[F_NETWORK_PROTOCOLS];

	if (!v->set && (!c->policy.dialect || c->policy.dialect == &dialect_ai_harness))
		*v = from->f[F_NETWORK_PROTOCOLS];
}

static int add_one(struct composition *c, const struct cordon_setting *s)
{
	struct place at = { s->origin, 0, 0 };
	struct policy scratch;
	struct reader r = compose_reader(c, &scratch, s->origin);
	enum field_id id;
	int rc;

	policy_init(&scratch, &c->arena);
	if (find_field(c, s, &id) < 0)
		return -1;
	if (s->op == CORDON_ADD_DOMAIN)
		rc = dialect_add_domain(&r, str_from(s->value), at);
	else
		rc = read_field_text(&r, &scratch.base, id, str_from(s->value), at);
	if (rc == 0 && s->op == CORDON_ADD_DOMAIN)
		take_protocols(c, &scratch.base);
	return rc < 0 ? -1 : add_parsed(c, id, &scratch.base.f[id]);
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
	struct cordon_err err;
	struct field_value was;
	enum field_id id;

	if (find_field(c, s, &id) < 0)
		return -1;
	was = c->policy.base.f[id];
	c->policy.base.f[id] = (struct field_value){ 0 };
	if (read_field_text(&r, &c->policy.base, id, str_from(s->value),
			    (struct place){ s->origin, 0, 0 }) < 0)
		return -1;
	if (field_value_canonical(id, &c->policy.base.f[id], &c->arena, &err) < 0)
		return diag_error(&c->diags, (struct place){ s->origin, 0, 0 }, "%s", err.msg);
	if (id == F_BACKEND)
		settle_backend(c, &was);
	for (size_t i = 0; i < c->policy.n_phases; i++) {
		struct field_value *v = &c->policy.phases[i].section.f[id];

		/* A phase that has what its base had [M2]. */
		if (field_in_phase(id) && field_value_eq(id, v, &was))
			*v = c->policy.base.f[id];
	}
	return 0;
}

/* Writable roots come first, so that a read root is known to lie inside one
 * whatever the order of the options. */
static bool is_first(const struct cordon_setting *s)
{
	return s->op == CORDON_ADD && setting_field(s) == F_FILES_WRITE;
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
			else if (s->op != CORDON_TIGHTEN)
				bad |= diag_error(&c->diags, (struct place){ s->origin, 0, 0 },
						  "there is no such operation");
		}
	return bad;
}

/* "allowlist" alone is a word about the mode: the hosts are those that the
 * policy and other settings name. */
static void forget_lists(struct section *s)
{
	struct field_value mode = s->f[F_NETWORK_MODE];

	*s = (struct section){ 0 };
	s->f[F_NETWORK_MODE] = mode;
}

static int tighten_one(struct composition *c, const struct cordon_setting *s)
{
	struct policy layer;
	struct reader r = compose_reader(c, &layer, s->origin);
	struct cordon_err err;
	enum field_id id;

	policy_init(&layer, &c->arena);
	if (find_field(c, s, &id) < 0 ||
	    read_field_text(&r, &layer.base, id, str_from(s->value),
			    (struct place){ s->origin, 0, 0 }) < 0 ||
	    read_finish(&r) < 0)
		return -1;
	if (id == F_NETWORK_MODE && layer.base.f[id].number == NETWORK_ALLOWLIST)
		forget_lists(&layer.base);
	if (policy_intersect(&c->policy, &layer, &c->policy, &c->cuts, &err) < 0)
		return diag_error(&c->diags, (struct place){ s->origin, 0, 0 }, "%s", err.msg);
	read_settle_mode(&c->policy.base);
	for (size_t i = 0; i < c->policy.n_phases; i++)
		read_settle_mode(&c->policy.phases[i].section);
	return 0;
}

/* Each is a layer of its own, so that their order does not matter. */
int settings_tighten(struct composition *c, const struct cordon_setting *settings, size_t n)
{
	int bad = 0;

	for (size_t i = 0; i < n; i++)
		if (settings[i].op == CORDON_TIGHTEN)
			bad |= tighten_one(c, &settings[i]);
	return bad;
}
