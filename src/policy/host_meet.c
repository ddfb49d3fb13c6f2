/* How lists of rules relate: what covers what, and what two have in common.
 *
 * Host parts are nested or apart, so of two rules that have a host in common
 * one is found from the other by looking at what stands above it in a set.
 */
#include "policy/host_priv.h"

struct meets {
	struct arena scratch;
	struct host_meet *items;
	size_t n, cap;
};

static int meet_cmp(const void *va, const void *vb)
{
	const struct host_meet *a = va, *b = vb;
	int c = host_rule_cmp(&a->rule, &b->rule);

	if (!c)
		c = (a->a > b->a) - (a->a < b->a);
	return c ? c : (a->b > b->b) - (a->b < b->b);
}

static void sort_meets(struct host_meet *items, size_t n)
{
	size_t i = 1;

	/* Policies that were printed before come sorted. */
	while (i < n && meet_cmp(&items[i - 1], &items[i]) <= 0)
		i++;
	if (i < n)
		qsort(items, n, sizeof(*items), meet_cmp);
}

static void meets_release(struct meets *m)
{
	arena_release(&m->scratch);
}

/* A rule of the set that covers `r`, or NULL.  Where `r` is one of the set it does not count
 * itself, and of equal rules the first covers the others. */
static const struct host_rule *find_covering(const struct host_set *set,
					     const struct host_rule *r, bool is_in_set)
{
	uint32_t chains[MAX_HOST_CHAINS];
	size_t n = host_set_above(set, r, chains);

	for (size_t i = 0; i < n; i++)
		for (const struct host_rule *other; (other = host_chain_next(set, &chains[i]));)
			if (host_rule_covers(other, r) &&
			    (!is_in_set || other < r || !host_rule_covers(r, other)))
				return other;
	return NULL;
}

int host_rules_find_covering(struct host_rules list, struct host_rules by, struct arena *arena,
			     size_t **ret, struct cordon_err *err)
{
	struct arena_room room = { 0 };
	cleanup_arena struct arena scratch = ARENA_IN(&room, MAX_ARENA_BYTES);
	size_t *out = arena_new(arena, MAX(list.n, 1), sizeof(*out));
	const struct host_set *set;

	if (!out)
		return err_nomem(err);
	if (host_set_new(by.rules, by.n, &scratch, &set, err) < 0)
		return -1;
	for (size_t i = 0; i < list.n; i++) {
		const struct host_rule *r = find_covering(set, &list.rules[i], false);

		out[i] = r ? (size_t)(r - by.rules) : HOST_NO_RULE;
	}
	*ret = out;
	return 0;
}

int host_rules_reduce(struct host_rules list, struct arena *arena, struct host_meets *ret,
		      struct cordon_err *err)
{
	struct arena_room room = { 0 };
	cleanup_arena struct arena scratch = ARENA_IN(&room, MAX_ARENA_BYTES);
	struct host_meet *items = arena_new(arena, MAX(list.n, 1), sizeof(*items));
	const struct host_set *set;
	size_t n = 0;

	if (!items)
		return err_nomem(err);
	if (host_set_new(list.rules, list.n, &scratch, &set, err) < 0)
		return -1;
	for (size_t i = 0; i < list.n; i++)
		if (!find_covering(set, &list.rules[i], true))
			items[n++] = (struct host_meet){ list.rules[i], i, i };
	sort_meets(items, n);
	*ret = (struct host_meets){ items, n };
	return 0;
}

static int add_meet(struct meets *m, struct host_meet meet, struct cordon_err *err)
{
	if (m->n == MAX_LIST_ITEMS)
		return err_set(err, CORDON_E_POLICY, "two lists of hosts have more than %u rules "
			       "in common; write ranges of ports", MAX_LIST_ITEMS);
	m->items = arena_grow(&m->scratch, m->items, m->n, &m->cap, sizeof(*m->items));
	if (!m->items)
		return err_nomem(err);
	m->items[m->n++] = meet;
	return 0;
}

/* What each rule of `list` has in common with the rules of `other` whose host
 * part covers its own.  `swap`: `list` is the second of the two lists, and
 * equal parts, which were found from the first, do not count. */
static int add_below(struct meets *m, struct host_rules list, struct host_rules other, bool swap,
		     struct cordon_err *err)
{
	const struct host_set *set;

	if (host_set_new(other.rules, other.n, &m->scratch, &set, err) < 0)
		return -1;
	for (size_t i = 0; i < list.n; i++) {
		const struct host_rule *x = &list.rules[i];
		uint32_t chains[MAX_HOST_CHAINS];
		size_t n = host_set_above(set, x, chains);

		for (size_t k = 0; k < n; k++)
			for (const struct host_rule *y; (y = host_chain_next(set, &chains[k]));) {
				size_t at = (size_t)(y - other.rules);
				struct host_meet meet = { .a = swap ? at : i,
							  .b = swap ? i : at };

				if (!host_part_covers(y, x) || (swap && host_part_covers(x, y)) ||
				    !host_rule_meet(x, y, &meet.rule))
					continue;
				if (add_meet(m, meet, err) < 0)
					return -1;
			}
	}
	return 0;
}

/* The rules of `items`, without those that another one covers. */
static int reduce(const struct host_meet *items, size_t n, struct arena *a,
		  struct host_meets *ret, struct cordon_err *err)
{
	struct host_rule *rules = arena_new(a, n + 1, sizeof(*rules));

	if (!rules)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++)
		rules[i] = items[i].rule;
	if (host_rules_reduce((struct host_rules){ rules, n }, a, ret, err) < 0)
		return -1;
	for (size_t i = 0; i < ret->n; i++) {
		size_t from = ret->items[i].a;

		ret->items[i].a = items[from].a;
		ret->items[i].b = items[from].b;
	}
	return 0;
}

int host_rules_meet(struct host_rules a, struct host_rules b, struct arena *arena,
		    struct host_meets *ret, struct cordon_err *err)
{
	struct arena_room room = { 0 };
	__attribute__((cleanup(meets_release))) struct meets m = {
		.scratch = ARENA_IN(&room, MAX_ARENA_BYTES),
	};
	struct host_meets found;
	struct host_meet *out;

	if (add_below(&m, a, b, false, err) < 0 || add_below(&m, b, a, true, err) < 0 ||
	    reduce(m.items, m.n, &m.scratch, &found, err) < 0)
		return -1;
	out = arena_new(arena, MAX(found.n, 1), sizeof(*out));
	if (!out)
		return err_nomem(err);
	if (found.n)
		memcpy(out, found.items, found.n * sizeof(*out));
	*ret = (struct host_meets){ out, found.n };
	return 0;
}
