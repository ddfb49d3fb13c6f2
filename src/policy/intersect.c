/* Composing two policies; see intersect.h.
 *
 * One function for each way to merge (enum field_merge).  All but JOIN and
 * SAME are meets of a lattice: commutative, associative, idempotent, and the
 * result never grants what one side does not.  A value that is not set is the
 * top of its lattice.
 */
#include "policy/intersect.h"

#include "base/path.h"
#include "policy/print.h"

struct merge {
	struct arena *arena;
	struct cuts *cuts;	/* or NULL */
	struct str phase;
	enum field_id id;
	struct cordon_err *err;
};

typedef int merge_fn(struct merge *m, const struct field_value *a, const struct field_value *b,
		     struct field_value *ret);

static int note_cut(struct merge *m, struct str what, struct place at, struct place by)
{
	struct cut *items;

	if (!m->cuts)
		return 0;
	items = arena_grow(m->arena, m->cuts->items, m->cuts->n, &m->cuts->cap, sizeof(*items));
	if (!items)
		return err_nomem(m->err);
	m->cuts->items = items;
	m->cuts->items[m->cuts->n++] = (struct cut){ m->id, m->phase, what, at, by };
	return 0;
}

static int note_cut_item(struct merge *m, const struct item *item, struct place by)
{
	struct str text;

	if (!m->cuts)
		return 0;
	if (item_text(fields[m->id].kind, item, m->arena, &text) < 0)
		return err_nomem(m->err);
	return note_cut(m, text, item->at, by);
}

static int keep_item(struct merge *m, struct field_value *ret, const struct item *item)
{
	struct item *slot = field_value_add(ret, m->arena);

	if (!slot)
		return err_nomem(m->err);
	*slot = *item;
	return 0;
}

static int pick(struct merge *m, const struct field_value *kept, const struct field_value *cut,
		struct field_value *ret)
{
	struct str text;

	*ret = *kept;
	if (!m->cuts || kept->number == cut->number)
		return 0;
	if (value_text(m->id, cut, m->arena, &text) < 0)
		return err_nomem(m->err);
	return note_cut(m, text, cut->at, kept->at);
}

/* Words stand weakest first in their list. */
static int merge_strictest(struct merge *m, const struct field_value *a,
			   const struct field_value *b, struct field_value *ret)
{
	return a->number >= b->number ? pick(m, a, b, ret) : pick(m, b, a, ret);
}

static int merge_least(struct merge *m, const struct field_value *a, const struct field_value *b,
		       struct field_value *ret)
{
	return a->number <= b->number ? pick(m, a, b, ret) : pick(m, b, a, ret);
}

static int merge_union(struct merge *m, const struct field_value *a, const struct field_value *b,
		       struct field_value *ret)
{
	*ret = (struct field_value){ .set = true, .at = a->at };
	for (size_t i = 0; i < a->n; i++)
		if (keep_item(m, ret, &a->items[i]) < 0)
			return -1;
	for (size_t i = 0; i < b->n; i++)
		if (keep_item(m, ret, &b->items[i]) < 0)
			return -1;
	return field_value_canonical(m->id, ret, m->arena, m->err);
}

/* Does `outer` grant what `inner` asks? */
static bool grants(enum field_kind kind, const struct item *outer, const struct item *inner)
{
	switch (kind) {
	case KIND_ROOTS:
		return path_within(inner->text.s, outer->text.s);
	case KIND_ENV_NAMES:
		return str_glob(outer->text, inner->text);
	default:
		return item_cmp(kind, outer, inner) == 0;
	}
}

/* Keep the entries of `from` that an entry of `other` grants.  These lists are
 * short: MAX_SHORT_LIST. */
static int keep_granted(struct merge *m, const struct field_value *from,
			const struct field_value *other, struct field_value *ret)
{
	enum field_kind kind = fields[m->id].kind;

	for (size_t i = 0; i < from->n; i++) {
		bool granted = false;

		for (size_t k = 0; k < other->n && !granted; k++)
			granted = grants(kind, &other->items[k], &from->items[i]);
		if (granted && keep_item(m, ret, &from->items[i]) < 0)
			return -1;
		/* A wider entry of which a part stays is cut, too. */
		if (!granted && note_cut_item(m, &from->items[i], other->at) < 0)
			return -1;
	}
	return 0;
}

static int merge_common(struct merge *m, const struct field_value *a, const struct field_value *b,
			struct field_value *ret)
{
	*ret = (struct field_value){ .set = true, .at = a->at };
	if (keep_granted(m, a, b, ret) < 0 || keep_granted(m, b, a, ret) < 0)
		return -1;
	return field_value_canonical(m->id, ret, m->arena, m->err);
}

static int copy_rules(struct merge *m, const struct field_value *v, struct host_rule **ret)
{
	*ret = arena_new(m->arena, v->n + 1, sizeof(**ret));
	if (!*ret)
		return err_nomem(m->err);
	for (size_t i = 0; i < v->n; i++)
		(*ret)[i] = *v->items[i].host;
	return 0;
}

static int note_cut_hosts(struct merge *m, const struct field_value *v, const bool *kept,
			  struct place by)
{
	for (size_t i = 0; i < v->n; i++)
		if (!kept[i] && note_cut_item(m, &v->items[i], by) < 0)
			return -1;
	return 0;
}

static int merge_hosts(struct merge *m, const struct field_value *a, const struct field_value *b,
		       struct field_value *ret)
{
	bool *kept_a = arena_new(m->arena, a->n + 1, 1), *kept_b = arena_new(m->arena, b->n + 1, 1);
	struct host_rule *rules_a, *rules_b;
	struct host_meet *meets;
	size_t n;

	*ret = (struct field_value){ .set = true, .at = a->at };
	if (!kept_a || !kept_b)
		return err_nomem(m->err);
	if (copy_rules(m, a, &rules_a) < 0 || copy_rules(m, b, &rules_b) < 0 ||
	    host_rules_meet(rules_a, a->n, rules_b, b->n, m->arena, &meets, &n, m->err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		bool is_a = host_rule_cmp(&meets[i].rule, a->items[meets[i].a].host) == 0;
		struct item item = is_a ? a->items[meets[i].a] : b->items[meets[i].b];

		kept_a[meets[i].a] |= is_a;
		kept_b[meets[i].b] |= host_rule_cmp(&meets[i].rule, b->items[meets[i].b].host) == 0;
		item.host = &meets[i].rule;
		if (keep_item(m, ret, &item) < 0)
			return -1;
	}
	if (note_cut_hosts(m, a, kept_a, b->at) < 0 || note_cut_hosts(m, b, kept_b, a->at) < 0)
		return -1;
	return field_value_canonical(m->id, ret, m->arena, m->err);
}

static int merge_join(struct merge *m, const struct field_value *a, const struct field_value *b,
		      struct field_value *ret)
{
	*ret = (struct field_value){ .set = true, .at = a->at };
	for (size_t i = 0; i < a->n; i++)
		if (keep_item(m, ret, &a->items[i]) < 0)
			return -1;
	for (size_t i = 0, k = 0; i < b->n; i++) {
		while (k < a->n && str_cmp(a->items[k].text, b->items[i].text) < 0)
			k++;
		if (k == a->n || !str_eq(a->items[k].text, b->items[i].text)) {
			if (keep_item(m, ret, &b->items[i]) < 0)
				return -1;
		} else if (!str_eq(a->items[k].value, b->items[i].value) &&
			   note_cut_item(m, &b->items[i], a->items[k].at) < 0) {
			return -1;
		}
	}
	return field_value_canonical(m->id, ret, m->arena, m->err);
}

static int merge_same(struct merge *m, const struct field_value *a, const struct field_value *b,
		      struct field_value *ret)
{
	if (!str_eq(a->text, b->text))
		return err_set(m->err, CORDON_E_POLICY,
			       "%s is '%.*s' in one policy and '%.*s' in the other; they cannot be composed",
			       fields[m->id].key, STR_FMT(a->text), STR_FMT(b->text));
	*ret = *a;
	return 0;
}

static merge_fn *const merges[] = {
	[MERGE_STRICTEST] = merge_strictest,
	[MERGE_LEAST] = merge_least,
	[MERGE_UNION] = merge_union,
	[MERGE_COMMON] = merge_common,
	[MERGE_ROOTS] = merge_common,
	[MERGE_HOSTS] = merge_hosts,
	[MERGE_JOIN] = merge_join,
	[MERGE_SAME] = merge_same,
};
static_assert(ARRAY_SIZE(merges) == N_FIELD_MERGES, "a merge without a function");

/* What is required cannot be lacking, whoever said so. */
static int settle_protections(struct merge *m, struct section *s)
{
	const struct field_value *must = &s->f[F_REQUIRE];
	struct field_value may = { .set = s->f[F_MAY_LACK].set, .at = s->f[F_MAY_LACK].at };

	for (size_t i = 0; i < s->f[F_MAY_LACK].n; i++) {
		const struct item *item = &s->f[F_MAY_LACK].items[i];
		bool required = false;

		for (size_t k = 0; k < must->n; k++)
			required |= str_eq(item->text, must->items[k].text);
		if (!required && keep_item(m, &may, item) < 0)
			return -1;
	}
	s->f[F_MAY_LACK] = may;
	return 0;
}

static int merge_section(struct merge *m, const struct section *a, const struct section *b,
			 bool phase, struct section *ret)
{
	for (int id = 0; id < N_FIELDS; id++) {
		const struct field_value *x = &a->f[id], *y = &b->f[id];

		if (phase && !field_in_phase((enum field_id)id))
			continue;
		m->id = (enum field_id)id;
		if (!x->set || !y->set)
			ret->f[id] = x->set ? *x : *y;
		else if (merges[fields[id].merge](m, x, y, &ret->f[id]) < 0)
			return -1;
	}
	/* [M4]: a side that is closed altogether leaves no list. */
	if (ret->f[F_NETWORK_MODE].set && ret->f[F_NETWORK_MODE].number != NETWORK_ALLOWLIST)
		ret->f[F_NETWORK_ALLOW] = (struct field_value){ 0 };
	return phase ? 0 : settle_protections(m, ret);
}

/* The section that holds in a phase: its own, or the base. */
static const struct section *in_phase(const struct policy *p, struct str name)
{
	const struct phase *phase = policy_find_phase(p, name);

	return phase ? &phase->section : &p->base;
}

static int merge_phases(struct merge *m, const struct policy *a, const struct policy *b,
			const struct policy *named, struct policy *ret)
{
	for (size_t i = 0; i < named->n_phases; i++) {
		struct str name = named->phases[i].name;
		struct phase *phase;

		if (policy_find_phase(ret, name))
			continue;
		phase = policy_add_phase(ret, name, named->phases[i].at);
		if (!phase)
			return err_nomem(m->err);
		m->phase = name;
		if (merge_section(m, in_phase(a, name), in_phase(b, name), true, &phase->section) < 0)
			return -1;
	}
	return 0;
}

int policy_intersect(const struct policy *a, const struct policy *b, struct policy *ret,
		     struct cuts *cuts, struct cordon_err *err)
{
	struct merge m = { .arena = a->arena, .cuts = cuts, .phase = STR(""), .err = err };
	struct policy both;

	policy_init(&both, a->arena);
	both.dialect = a->dialect == b->dialect ? a->dialect : NULL;
	if (merge_section(&m, &a->base, &b->base, false, &both.base) < 0 ||
	    merge_phases(&m, a, b, a, &both) < 0 || merge_phases(&m, a, b, b, &both) < 0)
		return -1;
	*ret = both;
	return 0;
}
