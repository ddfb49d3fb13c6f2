/* Netlink messages, written into and read from a buffer of the caller's.
 *
 * Nothing is allocated and nothing is kept: a list of messages can be laid out
 * long before it is sent, by whom else.  Writing past the end sets `full`, and
 * what is full is not sent; so only sending has to be checked.
 */
#ifndef BASE_NETLINK_H
#define BASE_NETLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define NETLINK_NESTS	8

struct netlink {
	unsigned char *room;	/* the caller's */
	size_t size, n;
	uint32_t seq;		/* number of the last message */
	size_t message;		/* where it begins */
	size_t nests[NETLINK_NESTS];	/* where the open attributes begin */
	unsigned depth;
	bool full;
};

void netlink_init(struct netlink *w, void *room, size_t size, uint32_t seq);

/* One message; `head` is what the family puts before the attributes. */
void netlink_open(struct netlink *w, unsigned type, unsigned flags, const void *head, size_t n);
void netlink_close(struct netlink *w);
/* Have the last message that was closed answered, also when it is done well. */
void netlink_add_ack(struct netlink *w);

void netlink_add(struct netlink *w, unsigned type, const void *value, size_t n);
void netlink_add_text(struct netlink *w, unsigned type, const char *text);
void netlink_add_u32(struct netlink *w, unsigned type, uint32_t value);
/* In the order of the network, which nf_tables wants. */
void netlink_add_be16(struct netlink *w, unsigned type, uint16_t value);
void netlink_add_be32(struct netlink *w, unsigned type, uint32_t value);
void netlink_add_be64(struct netlink *w, unsigned type, uint64_t value);
void netlink_open_nest(struct netlink *w, unsigned type);
void netlink_close_nest(struct netlink *w);

/* To the kernel, which is done with all of it when this returns.  -1: errno. */
int netlink_send(int fd, const struct netlink *w);
/* The answers up to the one to message `last`, which had asked for it; older
 * ones are passed over.  Never waits.  -1: errno is that of the first message
 * that failed and *ret_failed its number, or 0 where no message is to blame. */
int netlink_recv_acks(int fd, uint32_t first, uint32_t last, uint32_t *ret_failed);

/* ---- reading ------------------------------------------------------------ */

struct netlink_message {
	unsigned type, flags;
	uint32_t seq;
	struct str body;	/* the family's head, then attributes */
};
struct netlink_attr {
	unsigned type;		/* without the flags in it */
	struct str value;
};

/* The next one of what was received; false at the end, and at nonsense. */
bool netlink_read(struct str *rest, struct netlink_message *ret);
bool netlink_read_attr(struct str *rest, struct netlink_attr *ret);

#endif
