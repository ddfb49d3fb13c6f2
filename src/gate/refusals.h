/* What the kernel refused inside, read from NFLOG: tries to reach an address
 * that no rule of the policy is about. */
#ifndef GATE_REFUSALS_H
#define GATE_REFUSALS_H

#include "policy/host.h"

struct refusal {
	unsigned char protocol;		/* IPPROTO_… */
	uint16_t port;			/* 0: the protocol has none */
	struct host_addr addr;
};

/* What one message of NFLOG tells; false: nothing that a program tried. */
bool refusal_parse(struct str message, struct refusal *ret);
/* Up to `max` of them; never waits.  How many there are in `ret`; fewer than
 * `max`: there are no more for now.  *ret_messages grows by the packets that were
 * read.  The kernel sends no packet above a rate, or while the socket's buffer is
 * full; table_count_refused() knows of those. */
size_t refusals_read(int fd, struct refusal *ret, size_t max, uint64_t *ret_messages);

#endif
