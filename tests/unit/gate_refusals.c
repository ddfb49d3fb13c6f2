/* Packets that the kernel refused, as it tells of them: whole, cut, and made up. */
#include "gate/refusals.h"

#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <netinet/in.h>

#include "base/netlink.h"
#include "tap.h"

/* A message of NFLOG with this packet. */
static struct str wrap(const void *packet, size_t n)
{
	static unsigned char room[512];
	struct nfgenmsg head = { 0 };
	struct netlink w;

	netlink_init(&w, room, sizeof(room), 0);
	netlink_open(&w, NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_PACKET, 0, &head, sizeof(head));
	netlink_add_u32(&w, NFULA_MARK, 7);
	netlink_add(&w, NFULA_PAYLOAD, packet, n);
	netlink_close(&w);
	return (struct str){ (const char *)room, w.n };
}

static const unsigned char tcp[64] = { 0x45, [9] = IPPROTO_TCP, [16] = 192, 0, 2, 1,
				       [20] = 1, 2, 1, 0xbb };
static const unsigned char options[64] = { 0x4f, [9] = IPPROTO_UDP, [16] = 192, 0, 2, 1,
					   [60] = 1, 2, 0, 99 };
static const unsigned char fragment[64] = { 0x45, [7] = 8, [9] = IPPROTO_UDP, [16] = 192, 0, 2, 1 };
static const unsigned char ping[64] = { 0x45, [9] = IPPROTO_ICMP, [16] = 192, 0, 2, 1, [20] = 8 };
static const unsigned char pong[64] = { 0x45, [9] = IPPROTO_ICMP, [16] = 192, 0, 2, 1 };
static const unsigned char short_head[64] = { 0x41, [9] = IPPROTO_TCP, [16] = 192, 0, 2, 1 };
static const unsigned char join[64] = { 0x46, [9] = IPPROTO_IGMP, [16] = 224, 0, 0, 22 };
static const unsigned char udp6[64] = { 0x60, [6] = IPPROTO_UDP, [24] = 0x20, 1, 0x0d, 0xb8,
					[40] = 0, 0, 0x20, 0xfb };
static const unsigned char behind[64] = { 0x60, [6] = IPPROTO_HOPOPTS, [24] = 0x20, 1, 0x0d, 0xb8,
					  [40] = IPPROTO_FRAGMENT, [48] = IPPROTO_TCP,
					  [58] = 0, 80 };
static const unsigned char endless[64] = { 0x60, [6] = IPPROTO_DSTOPTS, [24] = 0x20, 1, 0x0d, 0xb8,
					   [40] = IPPROTO_DSTOPTS, 255 };
static const unsigned char neighbour[64] = { 0x60, [6] = IPPROTO_ICMPV6, [40] = 135 };
static const unsigned char version[64] = { 0x50, [9] = IPPROTO_TCP };

static const struct {
	const unsigned char *packet;
	bool told;
	unsigned protocol, port;
	const char *name;
} rows[] = {
	{ tcp, true, IPPROTO_TCP, 443, "TCP" },
	{ options, true, IPPROTO_UDP, 99, "the longest head" },
	{ fragment, true, IPPROTO_UDP, 0, "a later fragment" },
	{ ping, true, IPPROTO_ICMP, 0, "a ping" },
	{ pong, false, 0, 0, "its answer" },
	{ short_head, true, IPPROTO_TCP, 0, "a head that is too short" },
	{ join, false, 0, 0, "the kernel's own" },
	{ udp6, true, IPPROTO_UDP, 8443, "UDP over IPv6" },
	{ behind, true, IPPROTO_TCP, 80, "TCP behind extensions" },
	{ endless, true, IPPROTO_DSTOPTS, 0, "an extension without an end" },
	{ neighbour, false, 0, 0, "neighbours" },
	{ version, false, 0, 0, "no IP at all" },
};

static void test_packets(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct refusal r;
		bool told = refusal_parse(wrap(rows[i].packet, 64), &r);

		is_int(told, rows[i].told, "%s", rows[i].name);
		if (!told)
			continue;
		is_int(r.protocol, rows[i].protocol, "%s: protocol", rows[i].name);
		is_int(r.port, rows[i].port, "%s: port", rows[i].name);
		ok(r.addr.b[0] == (r.addr.is_v6 ? 0x20 : 192), "%s: address", rows[i].name);
		is_int(r.addr.is_v6, rows[i].packet[0] == 0x60, "%s: kind", rows[i].name);
	}
}

static void test_cut_anywhere(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t n = 0; n <= 64; n++) {
			struct str whole = wrap(rows[i].packet, n);

			for (size_t cut = 0; cut <= whole.n; cut++) {
				char *copy = malloc(cut + 1);	/* for the sanitizer */
				struct refusal r;

				memcpy(copy, whole.s, cut);
				ok(!refusal_parse((struct str){ copy, cut }, &r) || cut == whole.n,
				   "%s: %zu of %zu", rows[i].name, cut, whole.n);
				free(copy);
			}
		}
}

int main(void)
{
	return tap_run((struct tap_case[]){ TAP(test_packets), TAP(test_cut_anywhere), TAP_END });
}
