/* Composing two policies; see intersect.h.
 *
 * One function for each way to merge (enum field_merge).  All but JOIN, SAME
 * and FIRST are meets of a lattice: commutative, associative, idempotent, and the
 * result never grants what one side does not.  A value that is not set is the
 * top of its lattice.
 */
#include "policy/intersect.h"

#include "policy/covering.h"
#include "policy/print.h"
#include "policy/proxy.h"
#include "policy/reader.h"

struct merge {
	struct arena *arena;
	struct cuts *cuts;	/* or NULL */
	struct str phase;
	enum field_id id;
	bool ceiling_last;	/* of the two the second is it */
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
	/* Of two that say the same, who wrote it counts and not a default: no option lifts it. */
	if (kept->number == cut->number && !kept->at.line && cut->at.line)
		ret->at = cut->at;
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

/* [M1], and never more than a text may hold. */
static int finish_list(struct merge *m, struct field_value *v)
{
	size_t most = field_most(fields[m->id].kind);

	if (field_value_canonical(m->id, v, m->arena, m->err) < 0)
		return -1;
	if (v->n > most)
		return err_set(m->err, CORDON_E_POLICY,
			       "%s has more than %zu entries when the policies are composed",
			       fields[m->id].key, most);
	return 0;
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
	return finish_list(m, ret);
}

/* Keep the entries of `from` that an entry of `other` grants. */
static int keep_granted(struct merge *m, const struct field_value *from,
			const struct field_value *other, struct field_value *ret)
{
	for (size_t i = 0; i < from->n; i++) {
		bool granted = item_find_covering(fields[m->id].kind, other, &from->items[i]);

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
	return finish_list(m, ret);
}

/* What lies inside both, of two lists of roots; only the first one's losses are
 * cuts. */
static int keep_within(struct merge *m, const struct field_value *of, const struct field_value *in,
		       struct field_value *ret)
{
	struct cuts *cuts = m->cuts;

	if (keep_granted(m, of, in, ret) < 0)
		return -1;
	m->cuts = NULL;
	if (keep_granted(m, in, of, ret) < 0)
		return -1;
	m->cuts = cuts;
	return finish_list(m, ret);
}

static int copy_rules(struct merge *m, const struct field_value *v, struct arena *a,
		      struct host_rules *ret)
{
	struct host_rule *rules = arena_new(a, v->n + 1, sizeof(*rules));

	if (!rules)
		return err_nomem(m->err);
	for (size_t i = 0; i < v->n; i++)
		rules[i] = *v->items[i].host;
	*ret = (struct host_rules){ rules, v->n };
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
	cleanup_arena struct arena scratch = ARENA(MAX_ARENA_BYTES);
	bool *kept_a = arena_new(&scratch, a->n + 1, 1), *kept_b = arena_new(&scratch, b->n + 1, 1);
	struct host_rules rules_a, rules_b;
	struct host_meets meets;

	*ret = (struct field_value){ .set = true, .at = a->at };
	/* All pairs of ports and names could be too many to look at. */
	if (field_value_eq(m->id, a, b)) {
		*ret = *a;
		return 0;
	}
	if (!kept_a || !kept_b)
		return err_nomem(m->err);
	if (copy_rules(m, a, &scratch, &rules_a) < 0 || copy_rules(m, b, &scratch, &rules_b) < 0 ||
	    host_rules_meet(rules_a, rules_b, m->arena, &meets, m->err) < 0)
		return -1;
	for (size_t i = 0; i < meets.n; i++) {
		const struct host_meet *meet = &meets.items[i];
		bool is_a = host_rule_cmp(&meet->rule, a->items[meet->a].host) == 0;
		struct item item = is_a ? a->items[meet->a] : b->items[meet->b];

		kept_a[meet->a] |= is_a;
		kept_b[meet->b] |= host_rule_cmp(&meet->rule, b->items[meet->b].host) == 0;
		item.host = &meet->rule;
		if (keep_item(m, ret, &item) < 0)
			return -1;
	}
	if (note_cut_hosts(m, a, kept_a, b->at) < 0 || note_cut_hosts(m, b, kept_b, a->at) < 0)
		return -1;
	return 0;	/* meets are canonical */
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
	return finish_list(m, ret);
}

static int merge_first(struct merge *m, const struct field_value *a, const struct field_value *b,
		       struct field_value *ret)
{
	*ret = *a;
	return str_eq(a->text, b->text) ? 0 : note_cut(m, b->text, b->at, a->at);
}

static merge_fn *const merges[] = {
	[MERGE_STRICTEST] = merge_strictest,
	[MERGE_LEAST] = merge_least,
	[MERGE_UNION] = merge_union,
	[MERGE_COMMON] = merge_common,
	[MERGE_ROOTS] = merge_common,
	[MERGE_HOSTS] = merge_hosts,
	[MERGE_JOIN] = merge_join,
	[MERGE_FIRST] = merge_first,
};
static_assert(ARRAY_SIZE(merges) == N_FIELD_MERGES, "a merge without a function");

/* ---- what the fields of the result say together -------------------------- */

/* Leave out the entries of `id` that `drop` tells, and note them. */
static int drop_items(struct merge *m, struct section *s, enum field_id id,
		      const struct item *const *by)
{
	struct field_value *v = &s->f[id];
	struct field_value kept = { .set = v->set, .at = v->at };

	m->id = id;
	for (size_t i = 0; i < v->n; i++) {
		if (by[i] ? note_cut_item(m, &v->items[i], by[i]->at) < 0
			  : keep_item(m, &kept, &v->items[i]) < 0)
			return -1;
	}
	*v = kept;
	return 0;
}

/* What is required cannot be lacking, whoever said so: [M5]. */
static int settle_protections(struct merge *m, struct section *s)
{
	const struct item *const *by;

	if (items_find_covering(&s->f[F_MAY_LACK], F_REQUIRE, &s->f[F_REQUIRE], m->arena, &by,
				m->err) < 0)
		return -1;
	return drop_items(m, s, F_MAY_LACK, by);
}

static int drop_denied_hosts(struct merge *m, struct section *s, enum field_id id)
{
	const struct field_value *allow = &s->f[id], *deny = &s->f[F_NETWORK_DENY];
	cleanup_arena struct arena scratch = ARENA(MAX_ARENA_BYTES);
	const struct item *const *by;

	if (!allow->n || !deny->n)
		return 0;
	if (items_find_covering(allow, F_NETWORK_DENY, deny, &scratch, &by, m->err) < 0)
		return -1;
	return drop_items(m, s, id, by);
}

/* A side that is closed altogether leaves no list [M4]; a rule that the other
 * side denies is gone [M5]. */
static int settle_network(struct merge *m, struct section *s)
{
	if (s->f[F_NETWORK_MODE].set && s->f[F_NETWORK_MODE].number != NETWORK_ALLOWLIST)
		s->f[F_NETWORK_ALLOW] = (struct field_value){ 0 };
	if (drop_denied_hosts(m, s, F_NETWORK_ALLOW) < 0)
		return -1;
	return drop_denied_hosts(m, s, F_NETWORK_UDP_ALLOW);
}

/* A proxy hears what is sent to any host: a ceiling that names hosts and no
 * proxy does not name the proxy of a project. */
static int settle_proxy(struct merge *m, const struct section *a, struct section *s)
{
	const struct field_value *mode = &a->f[F_NETWORK_MODE], *deny = &a->f[F_NETWORK_DENY];
	struct field_value *v = &s->f[F_NETWORK_UPSTREAM_PROXY];
	bool restricts = (mode->set && mode->number != NETWORK_PUBLIC) || deny->n;
	struct place by = mode->set ? mode->at : deny->at;

	if (a->f[F_NETWORK_UPSTREAM_PROXY].set || !v->set || !restricts)
		return 0;
	m->id = F_NETWORK_UPSTREAM_PROXY;
	if (!str_is(v->text, PROXY_NONE) && note_cut(m, v->text, v->at, by) < 0)
		return -1;
	*v = (struct field_value){ .set = true, .at = by, .text = STR(PROXY_NONE) };
	return 0;
}

/* A closed network leads nowhere [M4]. */
static int settle_closed(struct merge *m, struct section *s)
{
	const struct field_value *mode = &s->f[F_NETWORK_MODE];

	if (!mode->set || mode->number != NETWORK_NONE)
		return 0;
	for (int i = 0; i < N_FIELDS; i++) {
		struct field_value *v = &s->f[i];

		m->id = (enum field_id)i;
		for (size_t k = 0; field_leads_out(m->id) && k < v->n; k++)
			if (note_cut_item(m, &v->items[k], mode->at) < 0)
				return -1;
		if (field_leads_out(m->id))
			*v = (struct field_value){ .set = v->set, .at = v->at };
	}
	return 0;
}

static int drop_denied_roots(struct merge *m, struct section *s, enum field_id id)
{
	const struct field_value *v = &s->f[id];
	const struct item **by = arena_new(m->arena, v->n + 1, sizeof(const struct item *));

	if (!by)
		return err_nomem(m->err);
	for (size_t i = 0; i < v->n; i++)
		by[i] = read_find_denied(&s->f[F_FILES_DENY], &v->items[i]);
	return drop_items(m, s, id, by);
}

/* [M3] [M5] */
static int settle_roots(struct merge *m, struct section *s)
{
	struct field_value both;

	if (s->f[F_FILES_WRITE].set && s->f[F_FILES_READ].set) {
		m->id = F_FILES_WRITE;
		both = (struct field_value){ .set = true, .at = s->f[F_FILES_WRITE].at };
		if (keep_within(m, &s->f[F_FILES_WRITE], &s->f[F_FILES_READ], &both) < 0)
			return -1;
		s->f[F_FILES_WRITE] = both;
	}
	if (drop_denied_roots(m, s, F_FILES_WRITE) < 0)
		return -1;
	return drop_denied_roots(m, s, F_FILES_READ);
}

/* ---- sections and phases -------------------------------------------------- */

static bool is_network(int id)
{
	return id == F_NETWORK_MODE || id == F_NETWORK_ALLOW || id == F_NETWORK_DENY ||
	       id == F_NETWORK_UDP_ALLOW;
}

static int merge_values(struct merge *m, const struct field_value *a, const struct field_value *b,
			struct field_value *ret)
{
	enum field_merge how = fields[m->id].merge;
	bool swap = m->ceiling_last && (how == MERGE_JOIN || how == MERGE_FIRST);

	return swap ? merges[how](m, b, a, ret) : merges[how](m, a, b, ret);
}

/* Without `skip_network`, which is then in `ret` already. */
static int merge_fields(struct merge *m, const struct section *a, const struct section *b,
			bool skip_network, struct section *ret)
{
	for (int id = 0; id < N_FIELDS; id++) {
		const struct field_value *x = &a->f[id], *y = &b->f[id];

		if ((m->phase.n && !field_in_phase((enum field_id)id)) ||
		    (skip_network && is_network(id)))
			continue;
		m->id = (enum field_id)id;
		if (!x->set || !y->set)
			ret->f[id] = x->set ? *x : *y;
		else if (merge_values(m, x, y, &ret->f[id]) < 0)
			return -1;
	}
	if ((!skip_network && settle_network(m, ret) < 0) ||
	    settle_proxy(m, m->ceiling_last ? b : a, ret) < 0)
		return -1;
	return settle_closed(m, ret);
}

static int merge_base(struct merge *m, const struct section *a, const struct section *b,
		      struct section *ret)
{
	if (merge_fields(m, a, b, false, ret) < 0 || settle_roots(m, ret) < 0)
		return -1;
	return settle_protections(m, ret);
}

/* The section that holds in a phase: its own, or the base. */
static const struct section *in_phase(const struct policy *p, struct str name)
{
	const struct phase *phase = policy_find_phase(p, name);

	return phase ? &phase->section : &p->base;
}

/* Does a phase have the very hosts of its base?  They are merged once: lists
 * can be long and phases many. */
static bool has_hosts_of(const struct section *s, const struct section *base)
{
	for (int id = 0; id < N_FIELDS; id++) {
		const struct field_value *x = &s->f[id], *y = &base->f[id];

		if (is_network(id) && !field_value_is_shared(x, y) &&
		    (x->n || y->n || !field_value_eq((enum field_id)id, x, y)))
			return false;
	}
	return true;
}

static int merge_phase(struct merge *m, const struct policy *a, const struct policy *b,
		       const struct section *base, struct phase *ret)
{
	const struct section *x = in_phase(a, ret->name), *y = in_phase(b, ret->name);
	bool same = has_hosts_of(x, &a->base) && has_hosts_of(y, &b->base);

	m->phase = ret->name;
	for (int id = 0; same && id < N_FIELDS; id++)
		if (is_network(id))
			ret->section.f[id] = base->f[id];
	return merge_fields(m, x, y, same, &ret->section);
}

static int merge_phases(struct merge *m, const struct policy *a, const struct policy *b,
			const struct policy *named, struct policy *ret)
{
	for (size_t i = 0; i < named->n_phases; i++) {
		struct str name = named->phases[i].name;
		struct phase *phase;

		if (policy_find_phase(ret, name))
			continue;
		if (ret->n_phases == MAX_PHASES)
			return err_set(m->err, CORDON_E_POLICY,
				       "the policies have more than %d phases together",
				       MAX_PHASES);
		phase = policy_add_phase(ret, name, named->phases[i].at);
		if (!phase)
			return err_nomem(m->err);
		if (merge_phase(m, a, b, &ret->base, phase) < 0)
			return -1;
	}
	return 0;
}

static int merge_policies(struct merge *m, const struct policy *a, const struct policy *b,
			  struct policy *ret)
{
	struct policy both;

	policy_init(&both, a->arena);
	both.dialect = a->dialect == b->dialect ? a->dialect : NULL;
	if (merge_base(m, &a->base, &b->base, &both.base) < 0 ||
	    merge_phases(m, a, b, a, &both) < 0 || merge_phases(m, a, b, b, &both) < 0)
		return -1;
	*ret = both;
	return 0;
}

int policy_intersect(const struct policy *a, const struct policy *b, struct policy *ret,
		     struct cuts *cuts, struct cordon_err *err)
{
	struct merge m = { .arena = a->arena, .cuts = cuts, .phase = STR(""), .err = err };

	return merge_policies(&m, a, b, ret);
}

int policy_tighten(struct policy *p, const struct policy *ceiling, struct cuts *cuts,
		   struct cordon_err *err)
{
	struct merge m = { .arena = p->arena, .cuts = cuts, .phase = STR(""),
			   .ceiling_last = true, .err = err };

	return merge_policies(&m, p, ceiling, p);
}
