/* The network that a cordon with a gate has: its addresses, its ports, and the
 * addresses that the kernel hands to the gate.
 *
 * A connection to an address in the ranges reaches the gate, which judges it;
 * every other address is refused by the kernel at once.  So ranges that are too
 * wide cost a connection that is cut, and never allow one.
 */
#ifndef PLAN_NET_INSIDE_H
#define PLAN_NET_INSIDE_H

#include "base/arena.h"
#include "plan/net.h"

#define NET_LISTENER_PORT	61	/* low: no program inside can have it */
#define NET_DNS_PORT		53
#define NET_LOG_GROUP		1	/* of NFLOG, for what is refused */
#define NET_LOG_BYTES		64	/* the longest IPv4 header and the ports behind it */

/* Our own address inside, and the pool that names get addresses from: 198.18/15
 * is for benchmarks (RFC 2544) and no part of the internet. */
#define NET_OWN_V4	{ 198, 18, 0, 1 }
#define NET_OWN_V6	{ 0xfd, 0x53, 0, 0x18, [15] = 1 }
#define NET_POOL_V4	{ 198, 18, 0, 0 }
#define NET_POOL_BITS	15

#define NET_TABLE	"cordon"
#define NET_SET_V4	"ok4"
#define NET_SET_V6	"ok6"
#define NET_COUNTED	"counted"	/* a chain of one rule: it counts what is refused */

struct net_range {
	unsigned char first[16], last[16];	/* IPv4: the first four bytes */
};

/* In order; none touches another. */
struct net_ranges {
	const struct net_range *v4, *v6;
	size_t n_v4, n_v6;		/* at most MAX_NET_RANGES each */
};

/* The pool, and all rules for addresses; more than can be held become all
 * addresses. */
int net_ranges_compile(const struct plan_net *net, struct arena *a, struct net_ranges *ret,
		       struct cordon_err *err) MUST_USE;

/* The ports of net->datagrams, each once, in the order of the list.  How many
 * there are; one more than fit where they do not. */
size_t net_datagram_ports(const struct plan_net *net, uint16_t ret[MAX_NET_PORTS]);

static inline bool net_has_gate(const struct plan_net *net)
{
	return net->kind == NET_GATE;
}

#endif
