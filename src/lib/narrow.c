/* A policy that was found and is not trusted only narrows; see narrow.h.
 *
 * The rule: such a policy, with the options of the call, never gives more than the same
 * options give without it.  Both are composed, and intersected.
 */
#include "lib/narrow.h"

#include "base/path.h"
#include "lib/settings.h"
#include "policy/print.h"

/* What the options give without a policy, into `ret`; c->policy stays. */
static int compose_without(struct composition *c, const struct cordon_request *req,
			   struct policy *ret)
{
	const struct policy policy = c->policy;
	const struct cuts cuts = c->cuts;
	const struct plan_paths roots = c->named_roots;
	int rc = 0;

	policy_init(&c->policy, &c->arena);
	c->cuts = (struct cuts){ 0 };
	c->named_roots = (struct plan_paths){ 0 };
	if (settings_add(c, req->settings, req->n_settings) < 0 ||
	    settings_tighten(c, req->settings, req->n_settings) < 0 || compose_defaults(c) < 0)
		rc = -1;
	*ret = c->policy;
	c->policy = policy;
	c->cuts = cuts;
	c->named_roots = roots;
	return rc;
}

/* A variable to set and a proxy are no grants that an intersection could cut: the default
 * has none, so none of a found policy holds. */
static void take_words(struct section *s, const struct section *from)
{
	for (int id = 0; id < N_FIELDS; id++)
		if (fields[id].merge == MERGE_JOIN || fields[id].merge == MERGE_FIRST)
			s->f[id] = from->f[id];
}

/* A root that both name is the operator's: what is masked or kept from being written by
 * default depends on it. */
static int take_roots(struct composition *c, struct section *s, const struct section *from)
{
	static const enum field_id ids[] = { F_FILES_WRITE, F_FILES_READ, F_FILES_PROTECT };

	for (size_t n = 0; n < ARRAY_SIZE(ids); n++) {
		const struct field_value *own = &from->f[ids[n]];
		struct field_value *v = &s->f[ids[n]];
		struct item *items = arena_new(&c->arena, v->n + 1, sizeof(*items));

		if (!items)
			return -1;
		for (size_t i = 0, k = 0; i < v->n; i++) {
			while (k < own->n && str_cmp(own->items[k].text, v->items[i].text) < 0)
				k++;
			items[i] = k < own->n && str_eq(own->items[k].text, v->items[i].text) ?
				   own->items[k] : v->items[i];
		}
		v->items = items;
		v->cap = v->n;
	}
	return 0;
}

/* A default that won over a wider value is no value of the policy: a later setting
 * replaces it as if the policy had not named the field. */
static void unset_defaults(struct section *s)
{
	for (int id = 0; id < N_FIELDS; id++) {
		enum field_shape shape = field_shape(fields[id].kind);
		struct field_value *v = &s->f[id];

		if (v->set && shape != SHAPE_LIST && shape != SHAPE_MAP && v->at.file &&
		    strcmp(v->at.file, "default") == 0)
			*v = (struct field_value){ 0 };
	}
}

/* ---- what is lost -------------------------------------------------------- */

/* One section before and after. */
struct loss {
	struct composition *c;
	const struct section *before, *after;
	struct str phase;
};

static int add_cut(const struct loss *l, enum field_id id, struct str what, struct place at)
{
	struct composition *c = l->c;
	struct cut *items = arena_grow(&c->arena, c->cuts.items, c->cuts.n, &c->cuts.cap,
				       sizeof(*items));

	if (!items)
		return -1;
	c->cuts.items = items;
	items[c->cuts.n++] = (struct cut){ id, l->phase, what, at,
					   { "default, until cordon trust", 0, 0 } };
	return 0;
}

/* The entries of `from` that `in` does not have.  Both are canonical. */
static int add_lost_items(const struct loss *l, enum field_id id, const struct field_value *from,
			  const struct field_value *in, const char *prefix)
{
	enum field_kind kind = fields[id].kind;
	struct place list = l->before->f[id].at;

	for (size_t i = 0, k = 0; i < from->n; i++) {
		const struct item *item = &from->items[i];
		struct str text;

		while (k < in->n && item_cmp(kind, &in->items[k], item) < 0)
			k++;
		if ((k < in->n && item_cmp(kind, &in->items[k], item) == 0) ||
		    print_skips(l->before, id, item) ||
		    (id == F_FILES_PROTECT && str_is(item->value, READ_ROOT_NOTE)))
			continue;
		if (item_text(kind, item, &l->c->arena, &text) < 0)
			return -1;
		if (prefix[0])
			text = str_from(arena_printf(&l->c->arena, "%s%.*s", prefix,
						     STR_FMT(text)));
		if (!text.s || add_cut(l, id, text, prefix[0] ? list : item->at) < 0)
			return -1;
	}
	return 0;
}

static int add_lost_value(const struct loss *l, enum field_id id)
{
	const struct field_value *v = &l->before->f[id];
	struct str text;

	/* The hosts tell it. */
	if (!v->set || field_value_eq(id, v, &l->after->f[id]) ||
	    (id == F_NETWORK_MODE && v->number == NETWORK_ALLOWLIST))
		return 0;
	return value_text(id, v, &l->c->arena, &text) < 0 ? -1 : add_cut(l, id, text, v->at);
}

static int add_lost(const struct loss *l, enum field_id id)
{
	const struct field_value *before = &l->before->f[id], *after = &l->after->f[id];
	enum field_shape shape = field_shape(fields[id].kind);

	if (shape != SHAPE_LIST && shape != SHAPE_MAP)
		return add_lost_value(l, id);
	return fields[id].merge == MERGE_UNION ? add_lost_items(l, id, after, before, "without ")
					       : add_lost_items(l, id, before, after, "");
}

/* A phase repeats what its base has. */
static int add_lost_section(const struct loss *l, const struct section *base)
{
	for (int id = 0; id < N_FIELDS; id++)
		if ((!base || (field_in_phase((enum field_id)id) &&
			       !field_value_eq((enum field_id)id, &l->before->f[id],
					       &base->f[id]))) &&
		    add_lost(l, (enum field_id)id) < 0)
			return -1;
	return 0;
}

static int add_all_lost(struct composition *c, const struct policy *before)
{
	struct loss base = { c, &before->base, &c->policy.base, STR("") };

	if (add_lost_section(&base, NULL) < 0)
		return -1;
	for (size_t i = 0; i < before->n_phases; i++) {
		const struct phase *phase = &before->phases[i];
		struct loss l = { c, &phase->section,
				  &policy_find_phase(&c->policy, phase->name)->section,
				  phase->name };

		if (add_lost_section(&l, &before->base) < 0)
			return -1;
	}
	return 0;
}

int narrow_policy(struct composition *c, const struct cordon_request *req)
{
	struct policy without, before;
	struct cordon_err err;

	if (compose_without(c, req, &without) < 0 || compose_defaults(c) < 0)
		return -1;
	if (compose_copy(&c->arena, &c->policy, &before, &err) < 0)
		return diag_error(&c->diags, (struct place){ 0 }, "%s", err.msg);
	take_words(&c->policy.base, &without.base);
	for (size_t i = 0; i < c->policy.n_phases; i++)
		take_words(&c->policy.phases[i].section, &without.base);
	if (policy_tighten(&c->policy, &without, NULL, &err) < 0)
		return diag_error(&c->diags, (struct place){ 0 }, "%s", err.msg);
	c->first_ask = c->cuts.n;
	if (take_roots(c, &c->policy.base, &without.base) < 0 || add_all_lost(c, &before) < 0)
		return diag_error(&c->diags, (struct place){ 0 }, "out of memory");
	c->n_asks = c->cuts.n - c->first_ask;
	unset_defaults(&c->policy.base);
	for (size_t i = 0; i < c->policy.n_phases; i++)
		unset_defaults(&c->policy.phases[i].section);
	return 0;
}

/* ---- in words ------------------------------------------------------------ */

static bool is_path_list(enum field_kind kind)
{
	return kind == KIND_ROOTS || kind == KIND_PATHS;
}

static void print_one(const struct composition *c, const struct cut *cut, struct buf *out)
{
	size_t n = c->home && c->home[0] == '/' ? strlen(c->home) : 0;
	struct str text = str_first(cut->what, MIN(cut->what.n, 256u));

	if (!is_path_list(fields[cut->id].kind)) {
		buf_printf(out, "%s = ", fields[cut->id].key);
	} else if (n > 1 && text.n > n && strncmp(text.s, c->home, n) == 0 && text.s[n] == '/') {
		buf_putc(out, '~');
		text = str_from_pos(text, n);
	}
	buf_put_plain(out, text);
}

void narrow_print(const struct composition *c, struct buf *out)
{
	const struct cut *cuts = c->cuts.items;
	size_t end = c->first_ask + c->n_asks;

	for (size_t i = c->first_ask, next; i < end; i = next) {
		const struct cut *cut = &cuts[i];

		for (next = i + 1; next < end && cuts[next].id == cut->id &&
				   str_eq(cuts[next].phase, cut->phase); next++)
			;
		if (i > c->first_ask)
			buf_puts(out, ", ");
		if (cut->phase.n) {
			buf_puts(out, "phase ");
			buf_put_plain(out, cut->phase);
			buf_puts(out, ": ");
		}
		if (cut->id == F_NETWORK_ALLOW)
			buf_printf(out, "%zu host%s", next - i, next - i == 1 ? "" : "s");
		else if (next - i == 1)
			print_one(c, cut, out);
		else
			buf_printf(out, "%zu entries of %s", next - i, fields[cut->id].key);
	}
}
