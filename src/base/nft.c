/* nf_tables messages; see nft.h. */
#include "base/nft.h"

#include <arpa/inet.h>
#include <endian.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/netlink.h>

#include "base/macros.h"

/* What `nft list` calls a key; the kernel only keeps it. */
#define TYPE_IPV4	7
#define TYPE_IPV6	8

static void open_message(struct netlink *w, unsigned type, unsigned flags)
{
	struct nfgenmsg head = { .nfgen_family = NFPROTO_INET, .version = NFNETLINK_V0 };

	netlink_open(w, NFNL_SUBSYS_NFTABLES << 8 | type, flags, &head, sizeof(head));
}

static void add_batch_mark(struct netlink *w, unsigned type)
{
	struct nfgenmsg head = { .version = NFNETLINK_V0,
				 .res_id = htons(NFNL_SUBSYS_NFTABLES) };

	netlink_open(w, type, 0, &head, sizeof(head));
	netlink_close(w);
}

void nft_open_batch(struct netlink *w)
{
	add_batch_mark(w, NFNL_MSG_BATCH_BEGIN);
}

uint32_t nft_close_batch(struct netlink *w)
{
	uint32_t last = w->seq;

	netlink_add_ack(w);
	add_batch_mark(w, NFNL_MSG_BATCH_END);
	return last;
}

void nft_add_table(struct netlink *w, const char *table)
{
	open_message(w, NFT_MSG_NEWTABLE, NLM_F_CREATE);
	netlink_add_text(w, NFTA_TABLE_NAME, table);
	netlink_close(w);
}

void nft_add_chain(struct netlink *w, const char *table, const char *chain,
		   const struct nft_hook *hook)
{
	open_message(w, NFT_MSG_NEWCHAIN, NLM_F_CREATE);
	netlink_add_text(w, NFTA_CHAIN_TABLE, table);
	netlink_add_text(w, NFTA_CHAIN_NAME, chain);
	if (hook) {
		netlink_open_nest(w, NFTA_CHAIN_HOOK);
		netlink_add_be32(w, NFTA_HOOK_HOOKNUM, hook->number);
		netlink_add_be32(w, NFTA_HOOK_PRIORITY, (uint32_t)hook->priority);
		netlink_close_nest(w);
		netlink_add_be32(w, NFTA_CHAIN_POLICY, hook->policy);
		netlink_add_text(w, NFTA_CHAIN_TYPE, "filter");
	}
	netlink_close(w);
}

/* ---- sets --------------------------------------------------------------- */

void nft_add_set(struct netlink *w, const char *table, const char *set, uint32_t id,
		 size_t key_bytes)
{
	open_message(w, NFT_MSG_NEWSET, NLM_F_CREATE);
	netlink_add_text(w, NFTA_SET_TABLE, table);
	netlink_add_text(w, NFTA_SET_NAME, set);
	netlink_add_be32(w, NFTA_SET_FLAGS, NFT_SET_INTERVAL);
	netlink_add_be32(w, NFTA_SET_KEY_TYPE, key_bytes == 4 ? TYPE_IPV4 : TYPE_IPV6);
	netlink_add_be32(w, NFTA_SET_KEY_LEN, (uint32_t)key_bytes);
	netlink_add_be32(w, NFTA_SET_ID, id);
	netlink_close(w);
}

void nft_clear_set(struct netlink *w, const char *table, const char *set)
{
	open_message(w, NFT_MSG_DELSETELEM, 0);
	netlink_add_text(w, NFTA_SET_ELEM_LIST_TABLE, table);
	netlink_add_text(w, NFTA_SET_ELEM_LIST_SET, set);
	netlink_close(w);
}

void nft_open_ranges(struct netlink *w, const char *table, const char *set)
{
	open_message(w, NFT_MSG_NEWSETELEM, NLM_F_CREATE);
	netlink_add_text(w, NFTA_SET_ELEM_LIST_TABLE, table);
	netlink_add_text(w, NFTA_SET_ELEM_LIST_SET, set);
	netlink_open_nest(w, NFTA_SET_ELEM_LIST_ELEMENTS);
}

void nft_close_ranges(struct netlink *w)
{
	netlink_close_nest(w);
	netlink_close(w);
}

static void add_element(struct netlink *w, const void *key, size_t n, uint32_t flags)
{
	netlink_open_nest(w, NFTA_LIST_ELEM);
	if (flags)
		netlink_add_be32(w, NFTA_SET_ELEM_FLAGS, flags);
	netlink_open_nest(w, NFTA_SET_ELEM_KEY);
	netlink_add(w, NFTA_DATA_VALUE, key, n);
	netlink_close_nest(w);
	netlink_close_nest(w);
}

/* The address behind this one; false when there is none. */
static bool next_address(const unsigned char *addr, size_t n, unsigned char *ret)
{
	memcpy(ret, addr, n);
	while (n--)
		if (++ret[n])
			return true;
	return false;
}

void nft_add_range(struct netlink *w, const void *first, const void *last, size_t key_bytes)
{
	unsigned char end[16];

	if (key_bytes > sizeof(end))
		BUG("a key of a set is too long");
	add_element(w, first, key_bytes, 0);
	/* One that has no end element reaches to the last address. */
	if (next_address(last, key_bytes, end))
		add_element(w, end, key_bytes, NFT_SET_ELEM_INTERVAL_END);
}

/* ---- rules -------------------------------------------------------------- */

void nft_open_rule(struct netlink *w, const char *table, const char *chain)
{
	open_message(w, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND);
	netlink_add_text(w, NFTA_RULE_TABLE, table);
	netlink_add_text(w, NFTA_RULE_CHAIN, chain);
	netlink_open_nest(w, NFTA_RULE_EXPRESSIONS);
}

void nft_close_rule(struct netlink *w)
{
	netlink_close_nest(w);
	netlink_close(w);
}

static void open_expression(struct netlink *w, const char *name)
{
	netlink_open_nest(w, NFTA_LIST_ELEM);
	netlink_add_text(w, NFTA_EXPR_NAME, name);
	netlink_open_nest(w, NFTA_EXPR_DATA);
}

static void close_expression(struct netlink *w)
{
	netlink_close_nest(w);
	netlink_close_nest(w);
}

static void add_data(struct netlink *w, unsigned type, const void *value, size_t n)
{
	netlink_open_nest(w, type);
	netlink_add(w, NFTA_DATA_VALUE, value, n);
	netlink_close_nest(w);
}

static void compare(struct netlink *w, unsigned op, const void *value, size_t n)
{
	open_expression(w, "cmp");
	netlink_add_be32(w, NFTA_CMP_SREG, NFT_REG_1);
	netlink_add_be32(w, NFTA_CMP_OP, op);
	add_data(w, NFTA_CMP_DATA, value, n);
	close_expression(w);
}

static void match_meta(struct netlink *w, unsigned key, unsigned char value)
{
	open_expression(w, "meta");
	netlink_add_be32(w, NFTA_META_KEY, key);
	netlink_add_be32(w, NFTA_META_DREG, NFT_REG_1);
	close_expression(w);
	compare(w, NFT_CMP_EQ, &value, sizeof(value));
}

void nft_match_family(struct netlink *w, unsigned char family)
{
	match_meta(w, NFT_META_NFPROTO, family);
}

void nft_match_protocol(struct netlink *w, unsigned char protocol)
{
	match_meta(w, NFT_META_L4PROTO, protocol);
}

static void load_payload(struct netlink *w, unsigned base, unsigned offset, size_t n)
{
	open_expression(w, "payload");
	netlink_add_be32(w, NFTA_PAYLOAD_DREG, NFT_REG_1);
	netlink_add_be32(w, NFTA_PAYLOAD_BASE, base);
	netlink_add_be32(w, NFTA_PAYLOAD_OFFSET, offset);
	netlink_add_be32(w, NFTA_PAYLOAD_LEN, (uint32_t)n);
	close_expression(w);
}

void nft_match_bytes(struct netlink *w, const struct nft_bytes *m)
{
	static const unsigned char zeros[16];

	if (m->n > sizeof(zeros))
		BUG("more bytes than a register holds");
	load_payload(w, m->base, m->offset, m->n);
	if (m->mask) {
		open_expression(w, "bitwise");
		netlink_add_be32(w, NFTA_BITWISE_SREG, NFT_REG_1);
		netlink_add_be32(w, NFTA_BITWISE_DREG, NFT_REG_1);
		netlink_add_be32(w, NFTA_BITWISE_LEN, (uint32_t)m->n);
		add_data(w, NFTA_BITWISE_MASK, m->mask, m->n);
		add_data(w, NFTA_BITWISE_XOR, zeros, m->n);
		close_expression(w);
	}
	compare(w, m->op, m->value, m->n);
}

void nft_match_set(struct netlink *w, unsigned base, unsigned offset, size_t n, const char *set)
{
	load_payload(w, base, offset, n);
	open_expression(w, "lookup");
	netlink_add_text(w, NFTA_LOOKUP_SET, set);
	netlink_add_be32(w, NFTA_LOOKUP_SREG, NFT_REG_1);
	close_expression(w);
}

void nft_match_limit(struct netlink *w, uint64_t per_second, uint32_t burst)
{
	open_expression(w, "limit");
	netlink_add_be64(w, NFTA_LIMIT_RATE, per_second);
	netlink_add_be64(w, NFTA_LIMIT_UNIT, 1);
	netlink_add_be32(w, NFTA_LIMIT_BURST, burst);
	netlink_add_be32(w, NFTA_LIMIT_TYPE, NFT_LIMIT_PKTS);
	close_expression(w);
}

void nft_match_tproxy(struct netlink *w, unsigned family, uint16_t port)
{
	uint16_t value = htons(port);

	open_expression(w, "immediate");
	netlink_add_be32(w, NFTA_IMMEDIATE_DREG, NFT_REG_1);
	add_data(w, NFTA_IMMEDIATE_DATA, &value, sizeof(value));
	close_expression(w);
	open_expression(w, "tproxy");
	netlink_add_be32(w, NFTA_TPROXY_FAMILY, family);
	netlink_add_be32(w, NFTA_TPROXY_REG_PORT, NFT_REG_1);
	close_expression(w);
}

void nft_do_count(struct netlink *w)
{
	open_expression(w, "counter");
	close_expression(w);
}

void nft_do_log(struct netlink *w, uint16_t group, uint32_t snaplen)
{
	open_expression(w, "log");
	netlink_add_be16(w, NFTA_LOG_GROUP, group);
	netlink_add_be32(w, NFTA_LOG_SNAPLEN, snaplen);
	/* At once: the kernel would gather a hundred, or wait a second. */
	netlink_add_be16(w, NFTA_LOG_QTHRESHOLD, 1);
	close_expression(w);
}

void nft_do_reject(struct netlink *w, unsigned type, unsigned char code)
{
	open_expression(w, "reject");
	netlink_add_be32(w, NFTA_REJECT_TYPE, type);
	netlink_add(w, NFTA_REJECT_ICMP_CODE, &code, sizeof(code));
	close_expression(w);
}

void nft_do_verdict(struct netlink *w, int verdict, const char *chain)
{
	open_expression(w, "immediate");
	netlink_add_be32(w, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
	netlink_open_nest(w, NFTA_IMMEDIATE_DATA);
	netlink_open_nest(w, NFTA_DATA_VERDICT);
	netlink_add_be32(w, NFTA_VERDICT_CODE, (uint32_t)verdict);
	if (chain)
		netlink_add_text(w, NFTA_VERDICT_CHAIN, chain);
	netlink_close_nest(w);
	netlink_close_nest(w);
	close_expression(w);
}

/* ---- counters ----------------------------------------------------------- */

void nft_ask_rules(struct netlink *w, const char *table, const char *chain)
{
	open_message(w, NFT_MSG_GETRULE, NLM_F_DUMP);
	netlink_add_text(w, NFTA_RULE_TABLE, table);
	netlink_add_text(w, NFTA_RULE_CHAIN, chain);
	netlink_close(w);
}

static bool find_attr(struct str rest, unsigned type, struct str *ret)
{
	struct netlink_attr a;

	while (netlink_read_attr(&rest, &a))
		if (a.type == type) {
			*ret = a.value;
			return true;
		}
	return false;
}

static bool read_be64(struct str value, uint64_t *ret)
{
	if (value.n != sizeof(*ret))
		return false;
	memcpy(ret, value.s, sizeof(*ret));
	*ret = be64toh(*ret);
	return true;
}

bool nft_read_counter(const struct netlink_message *m, uint64_t *ret)
{
	struct netlink_attr e;
	struct str list, name, data, value;

	if (m->type != (NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWRULE) ||
	    m->body.n < sizeof(struct nfgenmsg) ||
	    !find_attr(str_from_pos(m->body, sizeof(struct nfgenmsg)), NFTA_RULE_EXPRESSIONS,
		       &list))
		return false;
	while (netlink_read_attr(&list, &e))
		if (find_attr(e.value, NFTA_EXPR_NAME, &name) &&
		    str_is(str_first(name, strnlen(name.s, name.n)), "counter") &&
		    find_attr(e.value, NFTA_EXPR_DATA, &data) &&
		    find_attr(data, NFTA_COUNTER_PACKETS, &value))
			return read_be64(value, ret);
	return false;
}

/* ---- NFLOG -------------------------------------------------------------- */

static void open_log_message(struct netlink *w, uint16_t group)
{
	struct nfgenmsg head = { .version = NFNETLINK_V0, .res_id = htons(group) };

	netlink_open(w, NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_CONFIG, 0, &head, sizeof(head));
}

uint32_t nft_bind_log(struct netlink *w, uint16_t group, uint32_t snaplen)
{
	struct nfulnl_msg_config_cmd bind = { .command = NFULNL_CFG_CMD_BIND };
	struct nfulnl_msg_config_mode mode = { .copy_range = htonl(snaplen),
					       .copy_mode = NFULNL_COPY_PACKET };

	open_log_message(w, group);
	netlink_add(w, NFULA_CFG_CMD, &bind, sizeof(bind));
	netlink_close(w);
	open_log_message(w, group);
	netlink_add(w, NFULA_CFG_MODE, &mode, sizeof(mode));
	netlink_close(w);
	netlink_add_ack(w);
	return w->seq;
}
