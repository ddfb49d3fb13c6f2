/* DNS answers, written into a caller's buffer.
 *
 * Each function writes one message of at most `max` bytes to `out` and returns
 * its length; 0 when not even a header fits.  An answer that does not fit is
 * cut down to its question with TC set, as the protocol wants; with `max` from
 * dns_question_udp_max() or MAX_DNS_ANSWER that happens to none but a PTR
 * answer over UDP with a question that is no reverse name.
 *
 * To the client this is a resolver: RA is set, AA and AD are not, RD and CD
 * are repeated, the question byte for byte.  A client that spoke EDNS gets EDNS.
 *
 * A negative answer has no SOA record (RFC 2308, type 3 in 2.1 and 2.2), so
 * nobody may keep it: what is refused now can be allowed a moment later, and a
 * name below one that is refused can be allowed all along.
 */
#ifndef GATE_DNS_ANSWER_H
#define GATE_DNS_ANSWER_H

#include "gate/dns.h"

/* One A record, whatever the type of the question. */
size_t dns_answer_addr(const struct dns_question *q, const unsigned char addr[4], uint32_t ttl_s,
		       void *out, size_t max) MUST_USE;
/* One PTR record.  `name` is a host name; SERVFAIL goes out if it is not. */
size_t dns_answer_ptr(const struct dns_question *q, struct str name, uint32_t ttl_s, void *out,
		      size_t max) MUST_USE;
/* The name exists, and has nothing of this type. */
size_t dns_answer_nodata(const struct dns_question *q, void *out, size_t max) MUST_USE;
/* There is no such name.  With EDNS it says "Blocked" (RFC 8914, code 15) and
 * `why`, UTF-8 of at most MAX_DNS_REASON bytes; a longer one is left out. */
size_t dns_answer_nxdomain(const struct dns_question *q, struct str why, void *out,
			   size_t max) MUST_USE;
/* What dns_question_parse() found, or DNS_SERVFAIL; DNS_OK and DNS_IGNORE are
 * no errors to answer with. */
size_t dns_answer_error(const struct dns_question *q, enum dns_fault fault, void *out,
			size_t max) MUST_USE;

#endif
