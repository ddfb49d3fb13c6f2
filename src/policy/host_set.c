/* Rules made ready for matching: a hash table over host parts.
 *
 * A name is looked up once for each of its labels, an address once for each
 * length of prefix that some rule has: neither depends on how many rules there
 * are.  The rules over one name or prefix form a chain; it is short, since
 * host_set_new() refuses more than MAX_HOST_RULES of them.
 */
#include "policy/host_priv.h"

struct slot {
	uint32_t tag;
	uint32_t first;			/* rule of the chain, counted from 1; 0: free */
};

struct host_set {
	const struct host_rule *rules;
	uint32_t *next;			/* of each rule in its chain, as in `first` */
	struct slot *slots;
	size_t mask;
	uint64_t seed;
	uint32_t any;			/* the chain of `*` */
	uint64_t lengths[2][3];		/* per family: lengths of prefix in use */
};

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

static uint64_t part_hash(const struct host_set *set, const struct host_rule *r)
{
	uint64_t h = set->seed, half[2];

	if (r->form == HOST_NET) {
		memcpy(half, r->addr.b, sizeof(half));
		return mix(mix(mix(h ^ ((unsigned)r->bits << 1 | r->addr.is_v6)) ^ half[0]) ^
			   half[1]);
	}
	for (size_t i = r->name.n; i-- > 0;)
		h = name_step(h, r->name.s[i]);
	return mix(h);
}

/* Rules of one chain differ in form (of a name) and in ports. */
static bool same_chain(const struct host_rule *a, const struct host_rule *b)
{
	if (a->form != HOST_NET || b->form != HOST_NET)
		return a->form != HOST_NET && b->form != HOST_NET && str_eq(a->name, b->name);
	return a->bits == b->bits && a->addr.is_v6 == b->addr.is_v6 &&
	       memcmp(a->addr.b, b->addr.b, sizeof(a->addr.b)) == 0;
}

/* The slot of the chain that `r` belongs to, or the free one where it would be. */
static struct slot *slot_of(const struct host_set *set, const struct host_rule *r, uint64_t hash)
{
	uint32_t tag = (uint32_t)(hash >> 32);

	for (size_t i = hash & set->mask;; i = (i + 1) & set->mask) {
		struct slot *s = &set->slots[i];

		if (!s->first || (s->tag == tag && same_chain(&set->rules[s->first - 1], r)))
			return s;
	}
}

static uint32_t *chain_of(struct host_set *set, const struct host_rule *r)
{
	uint64_t hash;
	struct slot *s;

	if (r->form == HOST_ANY)
		return &set->any;
	hash = part_hash(set, r);
	s = slot_of(set, r, hash);
	s->tag = (uint32_t)(hash >> 32);
	if (r->form == HOST_NET)
		set->lengths[r->addr.is_v6][r->bits / 64] |= 1ull << r->bits % 64;
	return &s->first;
}

/* `length` is that of the chain from each rule on, counted as in `first`. */
static int add_rules(struct host_set *set, size_t n, uint16_t *length, struct cordon_err *err)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t *chain = chain_of(set, &set->rules[i]);

		set->next[i] = *chain;
		length[i + 1] = (uint16_t)(length[*chain] + 1);
		*chain = i + 1;
		if (length[i + 1] > MAX_HOST_RULES)
			return err_set(err, CORDON_E_POLICY, "more than %d rules name the same "
				       "host; write ranges of ports", MAX_HOST_RULES);
	}
	return 0;
}

int host_set_new(const struct host_rule *rules, size_t n, struct arena *a,
		 const struct host_set **ret, struct cordon_err *err)
{
	struct host_set *set = arena_new(a, 1, sizeof(*set));
	uint16_t *length;
	size_t cap = 8;

	if (n > MAX_LIST_ITEMS)
		return err_set(err, CORDON_E_POLICY, "more than %u host rules in one list",
			       MAX_LIST_ITEMS);
	while (cap < 2 * n)
		cap *= 2;
	if (!set)
		return err_nomem(err);
	set->rules = rules;
	set->mask = cap - 1;
	set->slots = arena_new(a, cap, sizeof(*set->slots));
	set->next = arena_new(a, n + 1, sizeof(*set->next));
	length = arena_new(a, n + 1, sizeof(*length));
	if (!set->slots || !set->next || !length)
		return err_nomem(err);
	/* The address differs from run to run: no file can be written to collide. */
	set->seed = 0xcbf29ce484222325u ^ (uint64_t)(uintptr_t)set->slots;
	if (add_rules(set, n, length, err) < 0)
		return -1;
	*ret = set;
	return 0;
}

/* ---- looking up --------------------------------------------------------- */

static size_t names_above(const struct host_set *set, struct str name, uint32_t *ret)
{
	struct { uint64_t hash; size_t start; } suffix[(MAX_HOST_NAME + 1) / 2 + 1];
	uint64_t hash = set->seed;
	size_t n = 0, found = 0;

	for (size_t i = name.n; i-- > 0;) {
		hash = name_step(hash, name.s[i]);
		if (i == 0 || name.s[i - 1] == '.') {
			suffix[n].hash = mix(hash);
			suffix[n].start = i;
			__builtin_prefetch(&set->slots[suffix[n++].hash & set->mask]);
		}
	}
	while (n-- > 0) {
		struct host_rule key = { .name = str_from_pos(name, suffix[n].start) };
		uint32_t first = slot_of(set, &key, suffix[n].hash)->first;

		if (first)
			ret[found++] = first;
	}
	return found;
}

static size_t nets_above(const struct host_set *set, struct host_rule net, uint32_t *ret)
{
	unsigned most = net.bits;
	size_t found = 0;

	for (int word = net.addr.is_v6 ? 2 : 0; word >= 0; word--) {
		uint64_t lengths = set->lengths[net.addr.is_v6][word];

		while (lengths) {
			unsigned bit = 63 - (unsigned)__builtin_clzll(lengths);
			uint32_t first;

			lengths &= ~(1ull << bit);
			net.bits = (unsigned char)((unsigned)word * 64 + bit);
			if (net.bits > most)
				continue;
			host_addr_mask(&net.addr, net.bits);
			first = slot_of(set, &net, part_hash(set, &net))->first;
			if (first)
				ret[found++] = first;
		}
	}
	return found;
}

size_t host_set_above(const struct host_set *set, const struct host_rule *r,
		      uint32_t ret[MAX_HOST_CHAINS])
{
	size_t n = 0;

	if (r->form == HOST_NET)
		return nets_above(set, *r, ret);
	if (r->form != HOST_ANY)
		n = names_above(set, r->name, ret);
	if (set->any)
		ret[n++] = set->any;
	return n;
}

const struct host_rule *host_chain_next(const struct host_set *set, uint32_t *at)
{
	const struct host_rule *r = *at ? &set->rules[*at - 1] : NULL;

	if (r)
		*at = set->next[*at - 1];
	return r;
}

static unsigned width(const struct host_rule *r)
{
	return (unsigned)r->port_last - r->port_first;
}

/* Of two rules of one chain: an exact name before a star, then the narrower
 * range of ports, then the earlier rule. */
static bool is_more_specific(const struct host_rule *a, const struct host_rule *b)
{
	if (a->form != b->form)
		return a->form < b->form;
	return width(a) != width(b) ? width(a) < width(b) : a < b;
}
static_assert(HOST_EXACT < HOST_AT_OR_BELOW && HOST_BELOW < HOST_AT_OR_BELOW,
	      "is_more_specific() takes the narrower form for the smaller one");

static const struct host_rule *find_in(const struct host_set *set, uint32_t chain,
				       const struct host *h, unsigned port, bool deny)
{
	const struct host_rule *best = NULL;

	for (const struct host_rule *r; (r = host_chain_next(set, &chain));)
		if (host_rule_matches(r, h, port, deny) && (!best || is_more_specific(r, best)))
			best = r;
	return best;
}

const struct host_rule *host_set_find(const struct host_set *set, const struct host *h,
				      unsigned port, bool deny)
{
	struct host_rule at = { .form = h->is_addr ? HOST_NET : HOST_EXACT,
				.bits = (unsigned char)host_addr_bits(&h->addr),
				.addr = h->addr,
				.name = { h->name, h->n } };
	const struct host_rule *found = NULL;
	uint32_t chains[2 * MAX_HOST_CHAINS];
	size_t n = host_set_above(set, &at, chains);

	if (h->is_addr && deny && host_addr_unwrap(&h->addr, &at.addr)) {
		at.bits = (unsigned char)host_addr_bits(&at.addr);
		n += host_set_above(set, &at, chains + n);
	}
	for (size_t i = 0; !found && i < n; i++)
		found = find_in(set, chains[i], h, port, deny);
	return found || !h->is_addr ? found : find_in(set, set->any, h, port, deny);
}
