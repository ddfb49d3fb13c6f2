/* What covers what; see covering.h. */
#include "policy/covering.h"

/* What covers an entry stands before all that it covers, and no other entry of
 * a canonical list stands between: so it is the last one not behind `item`. */
const struct item *item_find_covering(enum field_kind kind, const struct field_value *by,
				      const struct item *item)
{
	size_t low = 0, high = by->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (item_cmp(kind, &by->items[mid], item) <= 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low && item_implies(kind, &by->items[low - 1], item) ? &by->items[low - 1] : NULL;
}

/* Rules with the entry each stands for: the n'th is that of entry n, and a `*`
 * of a deny list is followed, at the end, by the ranges of all addresses. */
struct table {
	struct host_rule *rules;
	size_t *entries;
	size_t n;
};

static void table_add(struct table *t, const struct host_rule *rule, size_t entry)
{
	t->rules[t->n] = *rule;
	t->entries[t->n++] = entry;
}

static int table_init(struct table *t, const struct field_value *v, bool deny, struct arena *a)
{
	size_t room = v->n + 1;

	for (size_t i = 0; deny && i < v->n; i++)
		room += v->items[i].host->form == HOST_ANY ? 2 : 0;
	*t = (struct table){ .rules = arena_new(a, room, sizeof(*t->rules)),
			     .entries = arena_new(a, room, sizeof(*t->entries)) };
	if (!t->rules || !t->entries)
		return -1;
	for (size_t i = 0; i < v->n; i++)
		table_add(t, v->items[i].host, i);
	for (size_t i = 0; deny && i < v->n; i++) {
		struct host_rule all = *v->items[i].host;

		if (all.form != HOST_ANY)
			continue;
		all.form = HOST_NET;
		table_add(t, &all, i);
		all.addr.is_v6 = true;
		table_add(t, &all, i);
	}
	return 0;
}

static int hosts_find_covering(const struct field_value *list, const struct field_value *by,
			       bool deny, const struct item **ret, struct cordon_err *err)
{
	cleanup_arena struct arena scratch = ARENA(MAX_ARENA_BYTES);
	struct table x, y;
	size_t *found;

	if (table_init(&x, list, false, &scratch) < 0 || table_init(&y, by, deny, &scratch) < 0)
		return err_nomem(err);
	if (host_rules_find_covering((struct host_rules){ x.rules, x.n },
				     (struct host_rules){ y.rules, y.n }, &scratch, &found,
				     err) < 0)
		return -1;
	for (size_t i = 0; i < list->n; i++)
		ret[i] = found[i] == HOST_NO_RULE ? NULL : &by->items[y.entries[found[i]]];
	return 0;
}

int items_find_covering(const struct field_value *list, enum field_id by_id,
			const struct field_value *by, struct arena *a,
			const struct item *const **ret, struct cordon_err *err)
{
	enum field_kind kind = fields[by_id].kind;
	const struct item **out = arena_new(a, list->n + 1, sizeof(const struct item *));

	if (!out)
		return err_nomem(err);
	if (kind == KIND_ALLOW_HOSTS || kind == KIND_DENY_HOSTS) {
		if (hosts_find_covering(list, by, kind == KIND_DENY_HOSTS, out, err) < 0)
			return -1;
	} else {
		for (size_t i = 0; i < list->n; i++)
			out[i] = item_find_covering(kind, by, &list->items[i]);
	}
	*ret = out;
	return 0;
}
