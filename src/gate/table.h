/* The kernel's own table inside: which addresses reach the gate at all, and how
 * many packets to others were refused.
 *
 * It only makes refusals fast: an address that is in it is judged by the gate,
 * one that is not is refused by the kernel and told of (refusals.h).
 */
#ifndef GATE_TABLE_H
#define GATE_TABLE_H

#include "base/err.h"
#include "plan/net.h"

struct table {
	int fd;			/* NETLINK_NETFILTER, made inside; not owned */
	uint32_t seq;		/* of the last message that was sent */
};

void table_init(struct table *t, int fd);
/* The addresses of net->nets instead of those that were there, all at once; the
 * kernel is done when this returns, and nothing waits.  On failure nothing has
 * changed. */
int table_write(struct table *t, const struct plan_net *net, struct cordon_err *err) MUST_USE;

/* How many packets the kernel has refused so far.  -1: it did not say (errno). */
int table_count_refused(struct table *t, uint64_t *ret) MUST_USE;

#endif
