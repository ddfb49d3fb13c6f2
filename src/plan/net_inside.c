/* Address rules as ranges, datagrams as ports; see net_inside.h. */
#include "plan/net_inside.h"

#include <stdlib.h>

static int compare_ranges(const void *a, const void *b)
{
	const struct net_range *x = a, *y = b;

	return memcmp(x->first, y->first, sizeof(x->first));
}

static struct net_range range_of(const struct host_rule *r)
{
	struct net_range range = { .first = { 0 } };
	size_t n = r->addr.is_v6 ? 16 : 4;

	for (size_t i = 0; i < n; i++) {
		unsigned whole = (unsigned)i * 8;
		unsigned kept = r->bits > whole ? MIN(r->bits - whole, 8) : 0;
		unsigned char free_bits = (unsigned char)(0xff >> kept);

		range.first[i] = (unsigned char)(r->addr.b[i] & ~free_bits);
		range.last[i] = range.first[i] | free_bits;
	}
	return range;
}

/* Does `next` begin inside `range`, or right behind it? */
static bool is_joined(const struct net_range *range, const struct net_range *next, size_t n)
{
	unsigned char behind[16];
	size_t i = n;

	memcpy(behind, range->last, sizeof(behind));
	while (i && ++behind[i - 1] == 0)
		i--;
	/* Nothing lies behind the last address. */
	return !i || memcmp(next->first, behind, n) <= 0;
}

/* How many are left. */
static size_t merge(struct net_range *ranges, size_t n, size_t key_bytes)
{
	size_t kept = 0;

	if (!n)
		return 0;
	qsort(ranges, n, sizeof(*ranges), compare_ranges);
	for (size_t i = 1; i < n; i++)
		if (!is_joined(&ranges[kept], &ranges[i], key_bytes))
			ranges[++kept] = ranges[i];
		else if (memcmp(ranges[i].last, ranges[kept].last, key_bytes) > 0)
			memcpy(ranges[kept].last, ranges[i].last, key_bytes);
	kept++;
	if (kept > MAX_NET_RANGES) {
		ranges[0] = (struct net_range){ .first = { 0 } };
		memset(ranges[0].last, 0xff, key_bytes);
		kept = 1;
	}
	return kept;
}

int net_ranges_compile(const struct plan_net *net, struct arena *a, struct net_ranges *ret,
		       struct cordon_err *err)
{
	struct net_range *v4, *v6;
	static const struct host_rule pool = { .form = HOST_NET,
					       .bits = NET_POOL_BITS,
					       .addr.b = NET_POOL_V4 };
	size_t n_v4 = 1, n_v6 = 0;

	for (size_t i = 0; i < net->n_nets; i++)
		if (net->nets[i].form == HOST_NET)
			*(net->nets[i].addr.is_v6 ? &n_v6 : &n_v4) += 1;
	v4 = arena_new(a, n_v4, sizeof(*v4));
	v6 = arena_new(a, n_v6 + 1, sizeof(*v6));
	if (!v4 || !v6)
		return err_nomem(err);
	v4[0] = range_of(&pool);
	n_v4 = 1;
	n_v6 = 0;
	for (size_t i = 0; i < net->n_nets; i++)
		if (net->nets[i].form == HOST_NET && net->nets[i].addr.is_v6)
			v6[n_v6++] = range_of(&net->nets[i]);
		else if (net->nets[i].form == HOST_NET)
			v4[n_v4++] = range_of(&net->nets[i]);
	*ret = (struct net_ranges){ .v4 = v4, .v6 = v6, .n_v4 = merge(v4, n_v4, 4),
				    .n_v6 = merge(v6, n_v6, 16) };
	return 0;
}

size_t net_datagram_ports(const struct plan_net *net, uint16_t ret[MAX_NET_PORTS])
{
	size_t n = 0;

	for (size_t i = 0; i < net->n_datagrams; i++) {
		size_t k = 0;

		while (k < n && ret[k] != net->datagrams[i].port)
			k++;
		if (k == MAX_NET_PORTS)
			return MAX_NET_PORTS + 1;
		ret[k] = net->datagrams[i].port;
		n = MAX(n, k + 1);
	}
	return n;
}
