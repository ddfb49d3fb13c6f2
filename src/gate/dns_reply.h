/* DNS as a client: a question for the addresses of a name, and what a server says to it.
 *
 * Pure functions on bytes.  Those of a reply come from the network; a reply that is not whole,
 * or answers something else, gives no address.
 */
#ifndef GATE_DNS_REPLY_H
#define GATE_DNS_REPLY_H

#include "gate/dns.h"
#include "policy/host.h"

/* A question as it is sent. */
struct dns_asked {
	size_t n;
	unsigned char b[DNS_HEADER + DNS_MAX_QUESTION];
};

enum dns_reply {
	DNS_REPLY_OTHER,	/* to something else: the right one may still come */
	DNS_REPLY_ADDRS,	/* these there are; or none, also where there is no such name */
	DNS_REPLY_CUT,		/* more than fits into a datagram: ask again over TCP */
	DNS_REPLY_FAILED,	/* this server cannot tell */
	N_DNS_REPLIES
};

/* For the addresses of this type (A or AAAA).  `name` is canonical; false: there can be no
 * such name. */
bool dns_ask(uint16_t id, struct str name, enum dns_type type, struct dns_asked *ret) MUST_USE;
/* Up to `max` addresses go to `addrs`; *ret_n is set with DNS_REPLY_ADDRS alone. */
enum dns_reply dns_reply_parse(const void *msg, size_t n, const struct dns_asked *asked,
			       struct host_addr *addrs, size_t max, size_t *ret_n) MUST_USE;

#endif
