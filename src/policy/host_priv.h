/* What the host_*.c files share among themselves; nobody else includes it. */
#ifndef POLICY_HOST_PRIV_H
#define POLICY_HOST_PRIV_H

#include "policy/host.h"

/* Fill `why` and return -1. */
int host_refuse(char why[HOST_WHY], const char *fmt, ...) PRINTF_LIKE(2, 3);

/* An IPv4 address as inet_aton(3) reads it: one to four parts, each decimal,
 * octal or hexadecimal. */
bool host_addr_parse_loose(struct str text, struct host_addr *ret);
/* ::ffff:a.b.c.d becomes a.b.c.d; anything else stays. */
void host_addr_unmap(struct host_addr *a);
/* Are the first `bits` bits of the two the same (and the family)? */
bool host_addr_in(const struct host_addr *a, const struct host_addr *net, unsigned bits);
/* Clear what lies beyond the first `bits` bits. */
void host_addr_mask(struct host_addr *a, unsigned bits);
static inline unsigned host_addr_bits(const struct host_addr *a)
{
	return a->is_v6 ? 128 : 32;
}

/* One label with characters beyond ASCII, as its A-label. */
int host_idna_print(struct str label, char out[MAX_HOST_LABEL], size_t *ret_n,
		    char why[HOST_WHY]) MUST_USE;
/* Is a label that begins with xn-- proper Punycode? */
bool host_idna_check(struct str label);

/* The host parts of two rules, without their ports.  The order puts a part
 * right before all that it covers; parts are nested or have nothing in common. */
int host_part_cmp(const struct host_rule *a, const struct host_rule *b);
bool host_part_covers(const struct host_rule *a, const struct host_rule *b);

/* Host parts that cover one: of a name those of its labels, of an address those of its
 * prefixes. */
#define MAX_HOST_CHAINS	130

/* The chains of rules whose host parts may cover that of `r`, the nearest first.  Rules of a
 * chain differ in form and ports, so each must be asked. */
size_t host_set_above(const struct host_set *set, const struct host_rule *r,
		      uint32_t ret[MAX_HOST_CHAINS]);
/* The rule at `*at` of a chain, which goes on to the next; NULL at its end. */
const struct host_rule *host_chain_next(const struct host_set *set, uint32_t *at);

#endif
