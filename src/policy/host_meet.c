/* What two allow lists have in common.
 *
 * Host parts are nested or apart, and in the order of host_part_cmp() a part
 * comes right before all that it covers.  So one walk over a sorted list sees,
 * on a stack as deep as names are, everything that covers the current rule: no
 * pair of rules is looked at that has no host in common.
 */
#include "policy/host_priv.h"

/* [HM1] Neighbours in one list of items with the same host part form a group.
 * [HM2] After drop_covered() the ports of a group ascend in both ends, so a
 *      binary search finds those that overlap a range.
 * [HM3] The groups of a chain cover each other: at most two for each label of a
 *      name and one for every name, or one for each length of a prefix. */
struct group {
	const struct host_meet *items;
	size_t n;
};

#define MAX_CHAIN	(MAX_HOST_NAME + 3)

struct chain {
	size_t n;
	struct group groups[MAX_CHAIN];
};

struct sweep {
	struct arena scratch;
	struct host_meet *found;
	size_t n, cap;
	struct chain a, b;		/* groups of either list that cover the current part */
};

static int meet_cmp(const void *va, const void *vb)
{
	const struct host_meet *a = va, *b = vb;
	int c = host_rule_cmp(&a->rule, &b->rule);

	if (!c)
		c = (a->a > b->a) - (a->a < b->a);
	return c ? c : (a->b > b->b) - (a->b < b->b);
}

static void sort_items(struct host_meet *items, size_t n)
{
	size_t i = 1;

	/* Policies that were printed before come sorted. */
	while (i < n && meet_cmp(&items[i - 1], &items[i]) <= 0)
		i++;
	if (i < n)
		qsort(items, n, sizeof(*items), meet_cmp);
}

/* The first item of the group whose ports reach up to `port`. */
static size_t first_reaching(const struct group *g, unsigned port)
{
	size_t low = 0, high = g->n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (g->items[mid].rule.port_last < port)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Leave the groups that do not cover `r`. */
static void chain_leave(struct chain *c, const struct host_rule *r)
{
	while (c->n && !host_part_covers(&c->groups[c->n - 1].items->rule, r))
		c->n--;
}

static void chain_add(struct chain *c, struct group g)
{
	if (!g.n)
		return;
	if (c->n == MAX_CHAIN)
		BUG("host parts nested deeper than names can be");	/* [HM3] */
	c->groups[c->n++] = g;
}

/* The item of the chain that covers `r`, or NULL. */
static const struct host_meet *chain_find(const struct chain *c, const struct host_rule *r)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct group *g = &c->groups[i];
		size_t at = first_reaching(g, r->port_last);

		/* [HM2] The first that reaches far enough begins first of those. */
		if (at < g->n && g->items[at].rule.port_first <= r->port_first)
			return &g->items[at];
	}
	return NULL;
}

/* Drop what another item covers; the rest stays in order, in front. */
static size_t drop_covered(struct host_meet *items, size_t n)
{
	struct chain open = { .n = 0 };
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		struct host_meet item = items[i];
		struct group *top;

		chain_leave(&open, &item.rule);
		if (chain_find(&open, &item.rule))
			continue;
		items[kept] = item;
		top = open.n ? &open.groups[open.n - 1] : NULL;
		if (top && host_part_cmp(&top->items->rule, &item.rule) == 0)
			top->n++;
		else
			chain_add(&open, (struct group){ &items[kept], 1 });
		kept++;
	}
	return kept;
}

static int sweep_add(struct sweep *s, const struct host_meet *a, const struct host_meet *b,
		     struct cordon_err *err)
{
	struct host_meet both = { .a = a->a, .b = b->a };

	if (!host_rule_meet(&a->rule, &b->rule, &both.rule))
		return 0;
	if (s->n == MAX_LIST_ITEMS)
		return err_set(err, CORDON_E_POLICY, "two lists of hosts have more than %u rules "
			       "in common; write ranges of ports", MAX_LIST_ITEMS);
	s->found = arena_grow(&s->scratch, s->found, s->n, &s->cap, sizeof(*s->found));
	if (!s->found)
		return err_nomem(err);
	s->found[s->n++] = both;
	return 0;
}

/* All that two groups share; the cost follows the smaller one. */
static int sweep_pair(struct sweep *s, const struct group *a, const struct group *b,
		      struct cordon_err *err)
{
	bool swap = a->n > b->n;
	const struct group *few = swap ? b : a, *many = swap ? a : b;

	for (size_t i = 0; i < few->n; i++) {
		const struct host_meet *x = &few->items[i];

		for (size_t k = first_reaching(many, x->rule.port_first);
		     k < many->n && many->items[k].rule.port_first <= x->rule.port_last; k++)
			if (sweep_add(s, swap ? &many->items[k] : x, swap ? x : &many->items[k],
				      err) < 0)
				return -1;
	}
	return 0;
}

static int sweep_part(struct sweep *s, struct group a, struct group b, struct cordon_err *err)
{
	const struct host_rule *part = a.n ? &a.items->rule : &b.items->rule;

	chain_leave(&s->a, part);
	chain_leave(&s->b, part);
	for (size_t i = 0; a.n && i < s->b.n; i++)
		if (sweep_pair(s, &a, &s->b.groups[i], err) < 0)
			return -1;
	for (size_t i = 0; b.n && i < s->a.n; i++)
		if (sweep_pair(s, &s->a.groups[i], &b, err) < 0)
			return -1;
	if (a.n && b.n && sweep_pair(s, &a, &b, err) < 0)
		return -1;
	chain_add(&s->a, a);
	chain_add(&s->b, b);
	return 0;
}

static struct group group_at(const struct host_meet *items, size_t n)
{
	struct group g = { items, n ? 1 : 0 };

	while (g.n && g.n < n && host_part_cmp(&items->rule, &items[g.n].rule) == 0)
		g.n++;
	return g;
}

/* Walk both lists at once, one host part at a time. */
static int sweep_lists(struct sweep *s, struct group a, struct group b, struct cordon_err *err)
{
	while (a.n || b.n) {
		struct group ga = group_at(a.items, a.n), gb = group_at(b.items, b.n);
		int c = !a.n ? 1 : !b.n ? -1 : host_part_cmp(&a.items->rule, &b.items->rule);

		if (c < 0)
			gb.n = 0;
		else if (c > 0)
			ga.n = 0;
		if (sweep_part(s, ga, gb, err) < 0)
			return -1;
		a = (struct group){ a.items + ga.n, a.n - ga.n };
		b = (struct group){ b.items + gb.n, b.n - gb.n };
	}
	return 0;
}

/* The rules of one list in order. */
static struct host_meet *sorted(struct host_rules list, struct arena *arena)
{
	struct host_meet *items = arena_new(arena, MAX(list.n, 1), sizeof(*items));

	for (size_t i = 0; items && i < list.n; i++)
		items[i] = (struct host_meet){ .rule = list.rules[i], .a = i, .b = i };
	if (items)
		sort_items(items, list.n);
	return items;
}

int host_rules_reduce(struct host_rules list, struct arena *arena, struct host_meets *ret,
		      struct cordon_err *err)
{
	struct host_meet *items = sorted(list, arena);

	if (!items)
		return err_nomem(err);
	*ret = (struct host_meets){ items, drop_covered(items, list.n) };
	return 0;
}

static int sweep_group(struct sweep *s, struct host_rules list, struct group *ret,
		       struct cordon_err *err)
{
	struct host_meets reduced;

	if (host_rules_reduce(list, &s->scratch, &reduced, err) < 0)
		return -1;
	*ret = (struct group){ reduced.items, reduced.n };
	return 0;
}

static void sweep_release(struct sweep *s)
{
	arena_release(&s->scratch);
}

int host_rules_meet(struct host_rules a, struct host_rules b, struct arena *arena,
		    struct host_meets *ret, struct cordon_err *err)
{
	__attribute__((cleanup(sweep_release))) struct sweep s = {
		.scratch = ARENA(MAX_ARENA_BYTES),
	};
	struct group left, right;
	struct host_meet *out;

	if (sweep_group(&s, a, &left, err) < 0 || sweep_group(&s, b, &right, err) < 0 ||
	    sweep_lists(&s, left, right, err) < 0)
		return -1;
	sort_items(s.found, s.n);
	s.n = drop_covered(s.found, s.n);
	out = arena_new(arena, MAX(s.n, 1), sizeof(*out));
	if (!out)
		return err_nomem(err);
	if (s.n)
		memcpy(out, s.found, s.n * sizeof(*out));
	*ret = (struct host_meets){ out, s.n };
	return 0;
}

/* Take over into `open` the groups that stand before `r` or at it. */
static void open_up_to(struct chain *open, struct group *rest, const struct host_rule *r)
{
	while (rest->n && host_part_cmp(&rest->items->rule, r) <= 0) {
		struct group g = group_at(rest->items, rest->n);

		chain_leave(open, &g.items->rule);
		chain_add(open, g);
		*rest = (struct group){ rest->items + g.n, rest->n - g.n };
	}
	chain_leave(open, r);
}

int host_rules_find_covering(struct host_rules list, struct host_rules by, struct arena *arena,
			     size_t **ret, struct cordon_err *err)
{
	__attribute__((cleanup(sweep_release))) struct sweep s = {
		.scratch = ARENA(MAX_ARENA_BYTES),
	};
	struct host_meet *items = sorted(list, &s.scratch);
	size_t *out = arena_new(arena, MAX(list.n, 1), sizeof(*out));
	struct group rest;

	if (!items || !out)
		return err_nomem(err);
	if (sweep_group(&s, by, &rest, err) < 0)
		return -1;
	for (size_t i = 0; i < list.n; i++) {
		const struct host_meet *found;

		open_up_to(&s.a, &rest, &items[i].rule);
		found = chain_find(&s.a, &items[i].rule);
		out[items[i].a] = found ? found->a : HOST_NO_RULE;
	}
	*ret = out;
	return 0;
}
