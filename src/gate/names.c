/* Names and the addresses that stand for them; see names.h. */
#include "gate/names.h"

#include <stdlib.h>

#include "plan/net_inside.h"

#define N_BUCKETS	1024
#define N_ADDRESSES	(1u << (32 - NET_POOL_BITS))
#define N_RESERVED	256u			/* the cordon's own is among the first */

/* One turn less than there is room for, as the range begins with reserved ones. */
#define N_TURNS		(N_ADDRESSES / MAX_GATE_NAMES - 1)

static_assert(N_RESERVED < MAX_GATE_NAMES, "they take no more than a turn");
static_assert(N_TURNS < 256, "turns are counted in a byte");

struct names {
	struct name *slots[MAX_GATE_NAMES];	/* by index modulo the size */
	unsigned char turns[MAX_GATE_NAMES];	/* how often each was given away */
	struct name *buckets[N_BUCKETS];
	struct name *oldest, *newest;
	size_t n;				/* slots that were ever used */
};

struct names *names_new(void)
{
	return calloc(1, sizeof(struct names));
}

struct names *names_free(struct names *t)
{
	for (size_t i = 0; t && i < t->n; i++)
		free(t->slots[i]);
	free(t);
	return NULL;
}

static struct name **bucket(struct names *t, const struct host *h)
{
	return &t->buckets[str_hash((struct str){ h->name, h->n }, 0) % N_BUCKETS];
}

struct name *names_find(const struct names *t, const struct host *h)
{
	size_t i = str_hash((struct str){ h->name, h->n }, 0) % N_BUCKETS;

	for (struct name *n = t->buckets[i]; n; n = n->next)
		if (n->host.n == h->n && memcmp(n->host.name, h->name, h->n) == 0)
			return n;
	return NULL;
}

/* ---- the order of use ---------------------------------------------------- */

static void unlink_name(struct names *t, struct name *n)
{
	*(n->older ? &n->older->newer : &t->oldest) = n->newer;
	*(n->newer ? &n->newer->older : &t->newest) = n->older;
}

static void append_name(struct names *t, struct name *n)
{
	n->older = t->newest;
	n->newer = NULL;
	*(t->newest ? &t->newest->newer : &t->oldest) = n;
	t->newest = n;
}

void names_touch(struct names *t, struct name *n)
{
	if (n == t->newest)
		return;
	unlink_name(t, n);
	append_name(t, n);
}

/* The name that was used least recently and is not in use ([N1]).  One that is in use becomes
 * the newest, so that the next search does not pass it again; NULL: all are in use. */
static struct name *find_idle(struct names *t)
{
	for (size_t i = 0; i < t->n; i++) {
		struct name *n = t->oldest;

		if (!n->users && !n->waiting && !n->is_asked)
			return n;
		unlink_name(t, n);
		append_name(t, n);
	}
	return NULL;
}

/* Takes it out of its bucket and out of the order; its slot takes a turn. */
static void give_up(struct names *t, struct name *n)
{
	struct name **at = bucket(t, &n->host);

	while (*at != n)
		at = &(*at)->next;
	*at = n->next;
	unlink_name(t, n);
}

static struct name *new_name(struct names *t)
{
	uint32_t slot = (uint32_t)t->n;
	struct name *n;

	if (t->n == MAX_GATE_NAMES)
		return NULL;
	n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	t->slots[slot] = n;
	t->n++;
	n->index = slot;
	return n;
}

struct name *names_add(struct names *t, const struct host *h)
{
	struct name *n = names_find(t, h), **at = bucket(t, h);

	if (n) {
		names_touch(t, n);
		return n;
	}
	n = new_name(t);
	if (!n) {
		size_t slot;

		n = find_idle(t);
		if (!n)
			return NULL;
		give_up(t, n);
		slot = n->index % MAX_GATE_NAMES;
		t->turns[slot] = (unsigned char)((t->turns[slot] + 1u) % N_TURNS);
		*n = (struct name){ .index = (uint32_t)slot };
	}
	n->index += t->turns[n->index] * MAX_GATE_NAMES;
	n->host = *h;
	n->next = *at;
	*at = n;
	append_name(t, n);
	return n;
}

/* ---- addresses ----------------------------------------------------------- */

static uint32_t number(const unsigned char b[4])
{
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static uint32_t first_address(void)
{
	return number((const unsigned char[])NET_POOL_V4) + N_RESERVED;
}

struct host_addr name_addr(const struct name *n)
{
	uint32_t v = first_address() + n->index;

	return (struct host_addr){ .b = { (unsigned char)(v >> 24), (unsigned char)(v >> 16),
					  (unsigned char)(v >> 8), (unsigned char)v } };
}

bool names_covers(const struct host_addr *a)
{
	return !a->is_v6 && number(a->b) >> (32 - NET_POOL_BITS) ==
				    first_address() >> (32 - NET_POOL_BITS);
}

struct name *names_find_addr(const struct names *t, const struct host_addr *a)
{
	uint32_t index = number(a->b) - first_address();
	struct name *n;

	if (!names_covers(a) || number(a->b) < first_address())
		return NULL;
	n = t->slots[index % MAX_GATE_NAMES];
	return n && n->index == index ? n : NULL;
}
