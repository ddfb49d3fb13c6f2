/* nf_tables: tables, sets, chains and rules as netlink messages, written with
 * netlink.h for a socket of NETLINK_NETFILTER.
 *
 * What stands between nft_open_batch() and nft_close_batch() is done as a whole
 * or not at all.  Everything is of the family inet.  A rule is a list of
 * expressions; each either goes on to the next one or leaves the rule.  Matches
 * load what they compare into the first register.
 */
#ifndef BASE_NFT_H
#define BASE_NFT_H

#include "base/netlink.h"

void nft_open_batch(struct netlink *w);
/* Asks for an answer to the last message before it and returns its number. */
uint32_t nft_close_batch(struct netlink *w);

void nft_add_table(struct netlink *w, const char *table);

/* Where packets come from; `policy` is NF_ACCEPT or NF_DROP. */
struct nft_hook {
	unsigned number;	/* NF_INET_PRE_ROUTING … */
	int priority;
	unsigned policy;
};
/* hook NULL: a chain that rules go to. */
void nft_add_chain(struct netlink *w, const char *table, const char *chain,
		   const struct nft_hook *hook);

/* Ranges of addresses of 4 or 16 bytes; `id` is any number of its own. */
void nft_add_set(struct netlink *w, const char *table, const char *set, uint32_t id,
		 size_t key_bytes);
void nft_clear_set(struct netlink *w, const char *table, const char *set);
/* Between these two: ranges, which may not overlap; `last` belongs to it. */
void nft_open_ranges(struct netlink *w, const char *table, const char *set);
void nft_add_range(struct netlink *w, const void *first, const void *last, size_t key_bytes);
void nft_close_ranges(struct netlink *w);

void nft_open_rule(struct netlink *w, const char *table, const char *chain);
void nft_close_rule(struct netlink *w);

/* meta nfproto, meta l4proto */
void nft_match_family(struct netlink *w, unsigned char family);
void nft_match_protocol(struct netlink *w, unsigned char protocol);
/* Bytes of the packet under a mask (NULL: all); `op` is NFT_CMP_…, `base` is
 * NFT_PAYLOAD_….  At most 16 bytes. */
struct nft_bytes {
	unsigned base, offset;
	size_t n;
	const void *mask, *value;
	unsigned op;
};
void nft_match_bytes(struct netlink *w, const struct nft_bytes *m);
void nft_match_set(struct netlink *w, unsigned base, unsigned offset, size_t n, const char *set);
/* So many in a second, and so many at once. */
void nft_match_limit(struct netlink *w, uint64_t per_second, uint32_t burst);
/* NFPROTO_IPV4 or NFPROTO_IPV6; leaves the rule when nobody listens there. */
void nft_match_tproxy(struct netlink *w, unsigned family, uint16_t port);

/* Counts the packets that come this far; nft_ask_counter() reads it. */
void nft_do_count(struct netlink *w);
/* The packet, up to `snaplen` bytes, to who is bound to this group. */
void nft_do_log(struct netlink *w, uint16_t group, uint32_t snaplen);
/* NFT_REJECT_… */
void nft_do_reject(struct netlink *w, unsigned type, unsigned char code);
/* NF_ACCEPT or NF_DROP, or NFT_GOTO with a chain. */
void nft_do_verdict(struct netlink *w, int verdict, const char *chain);

/* Asks for the rules of a chain.  Not part of a batch.  Each message of the answer
 * is about one rule; NLMSG_DONE ends it. */
void nft_ask_rules(struct netlink *w, const char *table, const char *chain);
/* The packets that the counter of the rule in this message has seen; false: the
 * message is about no rule, or the rule has no counter. */
bool nft_read_counter(const struct netlink_message *m, uint64_t *ret);

/* NFLOG: be the one who is bound to a group, one packet a message.  Not part of
 * a batch.  Asks for an answer and returns the number of the message. */
uint32_t nft_bind_log(struct netlink *w, uint16_t group, uint32_t snaplen);

#endif
