/* Rules made ready for matching: one hash table over names and prefixes.
 *
 * A name is looked up once for each of its labels, an address once for each
 * length of prefix that some rule has: neither depends on how many rules there
 * are.  Rules over the same name differ by form and ports; each such list is
 * cut into disjoint ranges of ports beforehand, so that a thousand rules for
 * one name cost a binary search.
 */
#include "policy/host_priv.h"

/* Of one list of rules: which one answers for a port. */
struct cut {
	const struct host_rule *rule;
	uint16_t first, last;
};

struct list {
	const struct host_rule *best;	/* the most specific, whatever the port */
	uint32_t n;			/* its cuts in order; none if `best` is alone */
	union {
		uint32_t start;
		struct { uint16_t first, last; } alone;	/* the ports of `best` */
	};
};

/* [S1] Nodes lie one behind the other in one block, each with its key: what a
 *      match has to fetch from memory is a slot and a node.
 * [S2] A key is a name, or a NUL with the family, the bits and the address of
 *      a prefix; no name begins with NUL. */
struct node {
	struct list at;			/* rules that match the key itself */
	struct list below;		/* rules that match names below it */
	unsigned char n_key;
	char key[];
};

#define NET_KEY		(3 + 16)
#define NODE_UNIT	8		/* a slot counts the place of a node in these */
#define MAX_NODE	((sizeof(struct node) + MAX_HOST_NAME + NODE_UNIT - 1) / NODE_UNIT)
static_assert((uint64_t)MAX_NODE * MAX_LIST_ITEMS < UINT32_MAX, "a node that no slot can name");
static_assert(_Alignof(struct node) <= NODE_UNIT, "a node that is not aligned");

struct slot {
	uint32_t tag;
	uint32_t node;			/* 0: free, else its place plus one */
};

struct host_set {
	struct slot *slots;
	size_t mask;
	uint64_t seed;
	char *nodes;
	size_t n_units;
	struct cut *cuts;
	struct list any;
	uint64_t lengths[2][3];		/* per family: lengths of prefix in use */
};

static size_t node_units(size_t n_key)
{
	return (sizeof(struct node) + n_key + NODE_UNIT - 1) / NODE_UNIT;
}

static struct node *node_at(const struct host_set *set, size_t unit)
{
	return (struct node *)(void *)(set->nodes + unit * NODE_UNIT);
}

static uint64_t mix(uint64_t h)
{
	h ^= h >> 32;
	h *= 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

/* FNV-1a from the right: on the way to a name's hash lie those of all the
 * names above it. */
static uint64_t name_step(uint64_t h, char c)
{
	return (h ^ (unsigned char)c) * 0x100000001b3u;
}

static uint64_t name_hash(const struct host_set *set, struct str name)
{
	uint64_t h = set->seed;

	for (size_t i = name.n; i-- > 0;)
		h = name_step(h, name.s[i]);
	return mix(h);
}

static struct str net_key(const struct host_addr *a, unsigned bits, char out[NET_KEY])
{
	out[0] = '\0';
	out[1] = (char)a->is_v6;
	out[2] = (char)bits;
	memcpy(out + 3, a->b, sizeof(a->b));
	return (struct str){ out, NET_KEY };
}

static uint64_t net_hash(const struct host_set *set, const struct host_addr *a, unsigned bits)
{
	uint64_t half[2];

	memcpy(half, a->b, sizeof(half));
	return mix(mix(mix(set->seed ^ (bits << 1 | a->is_v6)) ^ half[0]) ^ half[1]);
}

/* The slot of `key`, or the free one where it belongs. */
static struct slot *slot_of(const struct host_set *set, struct str key, uint64_t hash)
{
	uint32_t tag = (uint32_t)(hash >> 32);
	size_t i = hash & set->mask;

	for (;; i = (i + 1) & set->mask) {
		struct slot *s = &set->slots[i];
		const struct node *node;

		if (!s->node)
			return s;
		node = node_at(set, s->node - 1);
		if (s->tag == tag && node->n_key == key.n && memcmp(node->key, key.s, key.n) == 0)
			return s;
	}
}

static const struct node *node_find(const struct host_set *set, struct str key, uint64_t hash)
{
	uint32_t unit = slot_of(set, key, hash)->node;

	return unit ? node_at(set, unit - 1) : NULL;
}

/* What building needs and matching does not. */
struct builder {
	struct arena scratch;
	struct host_set *set;
	const struct host_rule *rules;
	size_t n_rules;
	struct node **where;		/* of each rule; NULL for HOST_ANY */
	uint32_t *members;		/* indices of rules, list by list */
	uint32_t *edges, *next;		/* see cut_list() */
	size_t n_cuts;
};

static unsigned width(const struct host_rule *r)
{
	return (unsigned)r->port_last - r->port_first;
}

/* Which of two rules over one key is the more specific: an exact name before
 * a star, then the narrower range of ports, then the earlier rule. */
static int specific_cmp(const void *va, const void *vb, void *vrules)
{
	const struct host_rule *rules = vrules;
	uint32_t ia = *(const uint32_t *)va, ib = *(const uint32_t *)vb;
	const struct host_rule *a = &rules[ia], *b = &rules[ib];

	if (a->form != b->form)
		return a->form < b->form ? -1 : 1;
	if (width(a) != width(b))
		return width(a) < width(b) ? -1 : 1;
	return (ia > ib) - (ia < ib);
}
static_assert(HOST_EXACT < HOST_AT_OR_BELOW && HOST_BELOW < HOST_AT_OR_BELOW,
	      "specific_cmp() takes the narrower form for the smaller one");

static int u32_cmp(const void *va, const void *vb)
{
	uint32_t a = *(const uint32_t *)va, b = *(const uint32_t *)vb;

	return (a > b) - (a < b);
}

static size_t edge_find(const uint32_t *edges, size_t n, uint32_t port)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (edges[mid] < port)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The ports at which some rule of the list begins or has just ended, sorted. */
static size_t list_edges(struct builder *b, const uint32_t *members, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		b->edges[2 * i] = b->rules[members[i]].port_first;
		b->edges[2 * i + 1] = (uint32_t)b->rules[members[i]].port_last + 1;
	}
	qsort(b->edges, 2 * n, sizeof(*b->edges), u32_cmp);
	for (size_t i = 0; i < 2 * n; i++)
		if (!kept || b->edges[kept - 1] != b->edges[i])
			b->edges[kept++] = b->edges[i];
	return kept;
}

/* The first piece from `i` on that no rule has taken yet; the paths walked
 * are shortened on the way. */
static size_t next_free(uint32_t *next, size_t i)
{
	while (next[i] != i) {
		next[i] = next[next[i]];
		i = next[i];
	}
	return i;
}

/* Cut the ports at all edges; the rules take what is free, most specific
 * first.  The edges of n rules make at most 2n - 1 pieces. */
static void cut_list(struct builder *b, struct list *l)
{
	uint32_t *members = b->members + l->start;
	struct cut *cuts = b->set->cuts + b->n_cuts;
	size_t n_edges, n = 0;

	if (l->n > 1)
		qsort_r(members, l->n, sizeof(*members), specific_cmp, (void *)(uintptr_t)b->rules);
	l->best = &b->rules[members[0]];
	if (l->n == 1) {
		l->n = 0;
		l->alone.first = l->best->port_first;
		l->alone.last = l->best->port_last;
		return;
	}
	n_edges = list_edges(b, members, l->n);
	for (size_t i = 0; i < n_edges; i++)
		b->next[i] = (uint32_t)i;
	memset(cuts, 0, n_edges * sizeof(*cuts));
	for (size_t m = 0; m < l->n; m++) {
		const struct host_rule *r = &b->rules[members[m]];
		size_t end = edge_find(b->edges, n_edges, (uint32_t)r->port_last + 1);
		size_t i = next_free(b->next, edge_find(b->edges, n_edges, r->port_first));

		for (; i < end; i = next_free(b->next, i)) {
			cuts[i] = (struct cut){ r, (uint16_t)b->edges[i],
						(uint16_t)(b->edges[i + 1] - 1) };
			b->next[i] = (uint32_t)i + 1;
		}
	}
	for (size_t i = 0; i + 1 < n_edges; i++)
		if (cuts[i].rule)
			cuts[n++] = cuts[i];
	l->start = (uint32_t)b->n_cuts;
	l->n = (uint32_t)n;
	b->n_cuts += n;
}

static const struct host_rule *list_find(const struct host_set *set, const struct list *l,
					 unsigned port)
{
	const struct cut *cuts;
	size_t low = 0, high = l->n;

	if (!l->best || !port)
		return l->best;
	if (!l->n)
		return port >= l->alone.first && port <= l->alone.last ? l->best : NULL;
	cuts = set->cuts + l->start;
	while (low < high) {
		size_t mid = (low + high) / 2;

		if (cuts[mid].last < port)
			low = mid + 1;
		else
			high = mid;
	}
	return low < l->n && cuts[low].first <= port ? cuts[low].rule : NULL;
}

/* The lists a rule belongs to: one or, for `**.name`, two. */
static size_t lists_of(struct builder *b, size_t i, struct list *ret[2])
{
	struct node *node = b->where[i];

	switch (b->rules[i].form) {
	case HOST_ANY:
		ret[0] = &b->set->any;
		return 1;
	case HOST_BELOW:
		ret[0] = &node->below;
		return 1;
	case HOST_AT_OR_BELOW:
		ret[0] = &node->at;
		ret[1] = &node->below;
		return 2;
	case HOST_EXACT:
	case HOST_NET:
	case N_HOST_FORMS:
		break;
	}
	ret[0] = &node->at;
	return 1;
}

/* The node of a rule, made if this is the first over its key. */
static struct node *add_node(struct host_set *set, const struct host_rule *r)
{
	char net[NET_KEY];
	bool is_net = r->form == HOST_NET;
	struct str key = is_net ? net_key(&r->addr, r->bits, net) : r->name;
	uint64_t hash = is_net ? net_hash(set, &r->addr, r->bits) : name_hash(set, r->name);
	struct slot *s = slot_of(set, key, hash);
	struct node *node;

	if (s->node)
		return node_at(set, s->node - 1);
	node = node_at(set, set->n_units);
	node->n_key = (unsigned char)key.n;
	memcpy(node->key, key.s, key.n);
	s->tag = (uint32_t)(hash >> 32);
	s->node = (uint32_t)set->n_units + 1;
	set->n_units += node_units(key.n);
	if (is_net)
		set->lengths[r->addr.is_v6][r->bits / 64] |= 1ull << r->bits % 64;
	return node;
}

/* Give every rule its node, and count the lists. */
static void add_nodes(struct builder *b)
{
	for (size_t i = 0; i < b->n_rules; i++) {
		struct list *lists[2];

		if (b->rules[i].form != HOST_ANY)
			b->where[i] = add_node(b->set, &b->rules[i]);
		for (size_t k = lists_of(b, i, lists); k-- > 0;)
			lists[k]->n++;
	}
}

static struct node *node_next(const struct host_set *set, size_t *unit)
{
	struct node *node = *unit < set->n_units ? node_at(set, *unit) : NULL;

	if (node)
		*unit += node_units(node->n_key);
	return node;
}

/* Place a list of l->n rules; what it needs is added to the two sums. */
static void place_list(struct list *l, size_t *n_members, size_t *most)
{
	l->start = (uint32_t)*n_members;
	*n_members += l->n;
	*most = MAX(*most, l->n);
	l->n = 0;
}

static int fill_lists(struct builder *b, struct arena *a)
{
	struct host_set *set = b->set;
	size_t n_members = 0, most = 0, unit = 0;

	place_list(&set->any, &n_members, &most);
	for (struct node *node; (node = node_next(set, &unit));) {
		place_list(&node->at, &n_members, &most);
		place_list(&node->below, &n_members, &most);
	}
	b->members = arena_new(&b->scratch, n_members + 1, sizeof(*b->members));
	b->edges = arena_new(&b->scratch, 2 * most + 1, sizeof(*b->edges));
	b->next = arena_new(&b->scratch, 2 * most + 1, sizeof(*b->next));
	set->cuts = arena_new(a, most > 1 ? 2 * n_members : 1, sizeof(*set->cuts));
	if (!b->members || !b->edges || !b->next || !set->cuts)
		return -1;
	for (size_t i = 0; i < b->n_rules; i++) {
		struct list *lists[2];

		for (size_t k = lists_of(b, i, lists); k-- > 0;)
			b->members[lists[k]->start + lists[k]->n++] = (uint32_t)i;
	}
	return 0;
}

static void cut_lists(struct builder *b)
{
	struct host_set *set = b->set;
	size_t unit = 0;

	if (set->any.n)
		cut_list(b, &set->any);
	for (struct node *node; (node = node_next(set, &unit));) {
		if (node->at.n)
			cut_list(b, &node->at);
		if (node->below.n)
			cut_list(b, &node->below);
	}
}

static void builder_release(struct builder *b)
{
	arena_release(&b->scratch);
}

int host_set_new(const struct host_rule *rules, size_t n, struct arena *a,
		 const struct host_set **ret, struct cordon_err *err)
{
	struct arena_room room = { 0 };
	__attribute__((cleanup(builder_release))) struct builder b = {
		.scratch = ARENA_IN(&room, MAX_ARENA_BYTES),
		.rules = rules,
		.n_rules = n,
	};
	struct host_set *set = arena_new(a, 1, sizeof(*set));
	size_t cap = 8, units = 1;

	if (n > MAX_LIST_ITEMS)
		return err_set(err, CORDON_E_POLICY, "more than %u host rules in one list",
			       MAX_LIST_ITEMS);
	while (cap < 2 * n)
		cap *= 2;
	for (size_t i = 0; i < n; i++)
		units += node_units(rules[i].form == HOST_NET ? NET_KEY : rules[i].name.n);
	if (!set)
		return err_nomem(err);
	set->mask = cap - 1;
	set->slots = arena_new(a, cap, sizeof(*set->slots));
	set->nodes = arena_new(a, units, NODE_UNIT);
	b.where = arena_new(&b.scratch, n + 1, sizeof(struct node *));
	if (!set->slots || !set->nodes || !b.where)
		return err_nomem(err);
	/* The address differs from run to run: no file can be written to collide. */
	set->seed = 0xcbf29ce484222325u ^ (uint64_t)(uintptr_t)set->slots;
	b.set = set;
	add_nodes(&b);
	if (fill_lists(&b, a) < 0)
		return err_nomem(err);
	cut_lists(&b);
	*ret = set;
	return 0;
}

static const struct host_rule *find_name(const struct host_set *set, const struct host *h,
					 unsigned port)
{
	struct { uint64_t hash; size_t start; } suffix[(MAX_HOST_NAME + 1) / 2 + 1];
	const struct host_rule *found;
	uint64_t hash = set->seed;
	size_t n = 0;

	for (size_t i = h->n; i-- > 0;) {
		hash = name_step(hash, h->name[i]);
		if (i == 0 || h->name[i - 1] == '.') {
			suffix[n].hash = mix(hash);
			suffix[n].start = i;
			__builtin_prefetch(&set->slots[suffix[n++].hash & set->mask]);
		}
	}
	while (n-- > 0) {
		size_t start = suffix[n].start;
		struct str key = { h->name + start, h->n - start };
		const struct node *node = node_find(set, key, suffix[n].hash);

		found = node ? list_find(set, start ? &node->below : &node->at, port) : NULL;
		if (found)
			return found;
	}
	return NULL;
}

static const struct host_rule *find_addr(const struct host_set *set, const struct host_addr *a,
					 unsigned port)
{
	struct host_addr net = *a;
	char key[NET_KEY];

	for (int word = a->is_v6 ? 2 : 0; word >= 0; word--) {
		uint64_t lengths = set->lengths[a->is_v6][word];

		while (lengths) {
			unsigned bit = 63 - (unsigned)__builtin_clzll(lengths);
			unsigned bits = (unsigned)word * 64 + bit;
			const struct host_rule *found;
			const struct node *node;

			lengths &= ~(1ull << bit);
			host_addr_mask(&net, bits);
			node = node_find(set, net_key(&net, bits, key), net_hash(set, &net, bits));
			found = node ? list_find(set, &node->at, port) : NULL;
			if (found)
				return found;
		}
	}
	return NULL;
}

const struct host_rule *host_set_find(const struct host_set *set, const struct host *h,
				      unsigned port, bool deny)
{
	const struct host_rule *found;
	struct host_addr carried;

	found = h->is_addr ? find_addr(set, &h->addr, port) : find_name(set, h, port);
	if (!found && h->is_addr && deny && host_addr_unwrap(&h->addr, &carried))
		found = find_addr(set, &carried, port);
	if (!found && (!h->is_addr || deny))
		found = list_find(set, &set->any, port);
	return found;
}
