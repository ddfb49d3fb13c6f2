/* Hosts and host patterns: the one pattern language inside.
 *
 * Everything is compared in one canonical form: lower case, A-labels, no
 * trailing dot; addresses as bytes (127.1, 2130706433 and 0x7f.1 are the
 * address 127.0.0.1, ::ffff:a.b.c.d is the address a.b.c.d).  A text that has
 * no canonical form is no host.  Matching is by whole labels, and costs the
 * same for ten rules and for a hundred thousand (struct host_set).
 */
#ifndef POLICY_HOST_H
#define POLICY_HOST_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/str.h"

struct host_addr {
	bool is_v6;
	unsigned char b[16];	/* an IPv4 address uses the first four; the rest is 0 */
};

/* A canonical host: a name or an address. */
struct host {
	bool is_addr;
	struct host_addr addr;
	unsigned char n;			/* length of name; 0 for an address */
	char name[MAX_HOST_NAME + 1];		/* NUL-terminated */
};

enum host_form {
	HOST_EXACT,		/* api.example.com */
	HOST_BELOW,		/* *.example.com: any depth, not the name itself */
	HOST_AT_OR_BELOW,	/* **.example.com */
	HOST_ANY,		/* *: every name; in a deny rule every address, too */
	HOST_NET,		/* 192.0.2.7, 10.0.0.0/8, 2001:db8::/32 */
	N_HOST_FORMS
};

struct host_rule {
	enum host_form form;
	uint16_t port_first, port_last;	/* 0 and 65535: any port; else both from 1 on */
	unsigned char bits;		/* HOST_NET: length of the prefix */
	struct host_addr addr;		/* HOST_NET: bits beyond the prefix are 0 */
	struct str name;		/* the name forms: canonical, in an arena */
};

/* The longest reason these functions give. */
#define HOST_WHY	160

/* The machine itself as the inside calls it: its ports are listed, no rule allows them. */
#define HOST_OF_MACHINE	"host.cordon.internal"

/* The canonical host of a name, an address in any spelling, or [v6].  On
 * failure `why` says what is wrong with it. */
int host_parse(struct str text, struct host *ret, char why[HOST_WHY]) MUST_USE;
void host_print(const struct host *h, struct buf *out);
/* The address alone: dotted quad (strict) or IPv6 without brackets or zone. */
bool host_addr_parse(struct str text, struct host_addr *ret);
/* The host at an address that came as bytes, from DNS or a socket. */
void host_from_addr(const struct host_addr *a, struct host *ret);
void host_addr_print(const struct host_addr *a, struct buf *out);

/* "loopback", "private", "metadata", …, or NULL for an ordinary address.
 * NAT64 and 6to4 forms are judged by the IPv4 address they carry; Teredo,
 * v4-compatible and local NAT64 ones are never ordinary. */
const char *host_addr_special(const struct host_addr *a);
/* The same, with the length of the prefix that a rule needs to name the address: that of its
 * block; of the loopback and of 0.0.0.0/8, which lead to this machine, the whole address. */
const char *host_addr_block(const struct host_addr *a, unsigned *ret_bits);
/* Does a cloud serve credentials there? */
bool host_addr_is_metadata(const struct host_addr *a);
/* 127.0.0.0/8 and ::1, which a network namespace keeps to itself. */
bool host_addr_is_loopback(const struct host_addr *a);
/* The IPv4 address inside a NAT64, 6to4, Teredo, v4-compatible or v4-mapped one. */
bool host_addr_unwrap(const struct host_addr *a, struct host_addr *ret);

/* A native pattern (see CONTRACT of the policy language: cordon-policy(5)).
 * A rule that could never match is refused. */
int host_rule_parse(struct str text, struct arena *a, struct host_rule *ret,
		    char why[HOST_WHY]) MUST_USE;
/* A pattern built by a dialect: `form` over the host in `text`, every port.
 * HOST_EXACT over an address gives HOST_NET; HOST_ANY does not read `text`. */
int host_rule_make(enum host_form form, struct str text, struct arena *a,
		   struct host_rule *ret, char why[HOST_WHY]) MUST_USE;
/* Printing and reading again gives the same rule. */
void host_rule_print(const struct host_rule *r, struct buf *out);
/* Is it one address, not a range? */
bool host_rule_is_address(const struct host_rule *r);
/* Total order: names by their labels from the right, then addresses. */
int host_rule_cmp(const struct host_rule *a, const struct host_rule *b);
/* Does `a` match everything that `b` matches (both as allow rules)? */
bool host_rule_covers(const struct host_rule *a, const struct host_rule *b);
/* What both match; false when there is no such host and port. */
bool host_rule_meet(const struct host_rule *a, const struct host_rule *b, struct host_rule *ret);
/* `port` 0 asks about the host alone: any rule for the host matches.
 * `deny`: HOST_ANY matches addresses as well, and a net matches an address
 * that carries one of its addresses inside. */
bool host_rule_matches(const struct host_rule *r, const struct host *h, unsigned port, bool deny);

/* A list of rules; not owned. */
struct host_rules {
	const struct host_rule *rules;
	size_t n;
};

/* What two allow lists have in common, in time near n + m.  Each result names
 * the two rules it came from; none is covered by another result. */
struct host_meet {
	struct host_rule rule;
	size_t a, b;		/* indices of the two rules */
};
struct host_meets {
	struct host_meet *items;
	size_t n;
};
int host_rules_meet(struct host_rules a, struct host_rules b, struct arena *arena,
		    struct host_meets *ret, struct cordon_err *err) MUST_USE;
/* The rules that no other one covers, in order; `a` and `b` of a result are the
 * rule's index. */
int host_rules_reduce(struct host_rules list, struct arena *arena, struct host_meets *ret,
		      struct cordon_err *err) MUST_USE;
/* For each rule of `list` the index of one in `by` that covers it, or
 * HOST_NO_RULE; in time near n + m. */
#define HOST_NO_RULE	SIZE_MAX
int host_rules_find_covering(struct host_rules list, struct host_rules by, struct arena *arena,
			     size_t **ret, struct cordon_err *err) MUST_USE;

/* Rules made ready for matching.  The rules are borrowed. */
struct host_set;
int host_set_new(const struct host_rule *rules, size_t n, struct arena *a,
		 const struct host_set **ret, struct cordon_err *err) MUST_USE;
/* The most specific rule that matches, or NULL: an exact name, then the longest
 * name above it, then `*`; the longest prefix; of rules over the same host the
 * one with the fewest ports, then the first. */
const struct host_rule *host_set_find(const struct host_set *set, const struct host *h,
				      unsigned port, bool deny);

#endif
