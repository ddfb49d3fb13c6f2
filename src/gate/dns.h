/* DNS questions: what a program inside asks, read strictly.
 *
 * Pure functions on bytes.  The bytes come from the program inside; a message
 * is either understood whole or answered with an error, and nothing that two
 * readers could take for two names has a text here.
 */
#ifndef GATE_DNS_H
#define GATE_DNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"

#define DNS_HEADER	12			/* bytes before the question */
#define DNS_MAX_NAME	(MAX_HOST_NAME + 2)	/* as length-prefixed labels with the root */
#define DNS_MAX_QUESTION (DNS_MAX_NAME + 4)
#define DNS_CLASS_IN	1
#define DNS_MIN_UDP	512			/* what a client without EDNS takes */

/* The types that have a name here; a question may have any other. */
#define DNS_TYPES(X)                                                                               \
	X(A, 1)                                                                                    \
	X(NS, 2)                                                                                   \
	X(CNAME, 5)                                                                                \
	X(SOA, 6)                                                                                  \
	X(PTR, 12)                                                                                 \
	X(MX, 15)                                                                                  \
	X(TXT, 16)                                                                                 \
	X(AAAA, 28)                                                                                \
	X(SRV, 33)                                                                                 \
	X(OPT, 41)                                                                                 \
	X(SVCB, 64)                                                                                \
	X(HTTPS, 65)                                                                               \
	X(ANY, 255)

#define X(name, value) DNS_TYPE_##name = (value),
enum dns_type { DNS_TYPES(X) };
#undef X

enum dns_fault {
	DNS_OK,
	DNS_IGNORE,	/* no question at all, and no answer: two servers could answer each other */
	DNS_FORMERR,
	DNS_NOTIMP,	/* another act than asking */
	DNS_BADVERS,	/* an EDNS newer than we know */
	DNS_REFUSED,	/* another class than IN */
	DNS_SERVFAIL,	/* never found by parsing: for an answer that cannot be given */
	N_DNS_FAULTS
};

enum dns_name_form {
	DNS_NAME_OTHER,		/* bytes that no host name has: it exists nowhere */
	DNS_NAME_ROOT,
	DNS_NAME_HOST,		/* letters, digits, '-' and '_' in labels */
	N_DNS_NAME_FORMS
};

/* [DQ1] `name` is empty unless `form` is DNS_NAME_HOST; two questions have the
 * same `name` only if their labels are the same but for the case of letters.
 * [DQ2] `raw` is a whole, uncompressed question, or `raw_n` is 0. */
struct dns_question {
	uint16_t id, type, klass;
	unsigned char opcode;
	bool rd, cd;			/* recursion desired, checking disabled */
	bool has_edns, dnssec_ok;
	uint16_t udp_size;		/* with EDNS: the largest answer it takes */
	enum dns_name_form form;
	unsigned char name_n;
	char name[MAX_HOST_NAME + 1];	/* lower case, no trailing dot; NUL-terminated */
	uint16_t raw_n;
	unsigned char raw[DNS_MAX_QUESTION];	/* to be repeated byte for byte */
};

/* An address as bytes; an IPv4 address uses the first four, the rest is 0. */
struct dns_addr {
	bool is_v6;
	unsigned char b[16];
};

/* Read one message.  `ret` is untouched on DNS_IGNORE; on another fault it
 * holds what an error answer repeats, and no more may be read out of it.
 *
 * A `name` is not yet a host: "127.1" and "-a" are names to DNS.  It may be
 * looked up in a policy only if host_parse() takes it and says it is no
 * address; it is the canonical form then. */
enum dns_fault dns_question_parse(const void *msg, size_t n, struct dns_question *ret) MUST_USE;
/* The largest answer that this client takes over UDP. */
size_t dns_question_udp_max(const struct dns_question *q);
/* For the log: the name as it was asked, other bytes as \DDD, the root as '.'. */
void dns_question_print_name(const struct dns_question *q, struct buf *out);

/* "AAAA", or NULL for a type without a name here. */
const char *dns_type_find_name(uint16_t type);

/* The address that a canonical name below in-addr.arpa or ip6.arpa stands for;
 * false when it is not the name of one whole address. */
bool dns_reverse_parse(struct str name, struct dns_addr *ret);

#endif
