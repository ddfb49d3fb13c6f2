/* NFLOG: the bytes as a message of the kernel's, and as the packet in one, which a
 * program inside wrote. */
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/netlink.h"
#include "gate/refusals.h"
#include "target.h"

#define PACKET_BYTES	512

/* Never behind its end, where a sanitizer sees it. */
static bool parse(struct str message, struct refusal *ret)
{
	char *copy = malloc(message.n ? message.n : 1);
	bool told;

	if (!copy)
		return false;
	memcpy(copy, message.s, message.n);
	told = refusal_parse((struct str){ copy, message.n }, ret);
	free(copy);
	return told;
}

static void check_refusal(const struct refusal *r)
{
	static const struct host_addr nothing;
	bool has_port = r->protocol == IPPROTO_TCP || r->protocol == IPPROTO_UDP ||
			r->protocol == IPPROTO_UDPLITE || r->protocol == IPPROTO_SCTP ||
			r->protocol == IPPROTO_DCCP;

	if (r->port && !has_port)
		BUG("a port of a protocol that has none");
	if (!r->addr.is_v6 && memcmp(r->addr.b + 4, nothing.b + 4, sizeof(nothing.b) - 4) != 0)
		BUG("an IPv4 address that is longer than one");
}

static void fuzz_packet(const uint8_t *packet, size_t n)
{
	unsigned char room[PACKET_BYTES + 64];
	struct nfgenmsg head = { 0 };
	struct refusal r, again;
	struct netlink w;
	struct str message;

	n = MIN(n, PACKET_BYTES);
	netlink_init(&w, room, sizeof(room), 0);
	netlink_open(&w, NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_PACKET, 0, &head, sizeof(head));
	netlink_add(&w, NFULA_PAYLOAD, packet, n);
	netlink_close(&w);
	message = (struct str){ (const char *)room, w.n };
	if (!parse(message, &r))
		return;
	check_refusal(&r);
	if (r.addr.is_v6 != (packet[0] >> 4 == 6) ||
	    memcmp(r.addr.b, packet + (r.addr.is_v6 ? 24 : 16), r.addr.is_v6 ? 16 : 4) != 0)
		BUG("an address that is not the packet's");
	if (!parse(message, &again) || again.port != r.port || again.protocol != r.protocol)
		BUG("a packet that is read in two ways");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct refusal r;

	if (parse((struct str){ (const char *)data, n }, &r))
		check_refusal(&r);
	fuzz_packet(data, n);
	return 0;
}
