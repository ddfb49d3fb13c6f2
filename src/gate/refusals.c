/* Reading NFLOG; see refusals.h.
 *
 * A packet was written by a program inside, but for its addresses: every length
 * in it is checked.
 */
#include "gate/refusals.h"

#include <errno.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/netlink.h"

#define MAX_HEADERS	8	/* extensions of IPv6 that are looked through */

static const unsigned char *bytes(struct str s)
{
	return (const unsigned char *)s.s;
}

/* What lies behind the address: a port, or the type of an ICMP message.  False:
 * nothing that a program tried. */
static bool read_transport(struct str rest, struct refusal *ret)
{
	const unsigned char *b = bytes(rest);

	switch (ret->protocol) {
	case IPPROTO_TCP:
	case IPPROTO_UDP:
	case IPPROTO_UDPLITE:
	case IPPROTO_SCTP:
	case IPPROTO_DCCP:
		if (rest.n >= 4)
			ret->port = (uint16_t)(b[2] << 8 | b[3]);
		return true;
	case IPPROTO_ICMP:
		return rest.n && b[0] == 8;
	case IPPROTO_ICMPV6:
		return rest.n && b[0] == 128;
	case IPPROTO_IGMP:
		return false;	/* the kernel's own, when a group is joined */
	default:
		return true;
	}
}

static bool read_v4(struct str packet, struct refusal *ret)
{
	const unsigned char *b = bytes(packet);
	size_t head;

	if (packet.n < 20)
		return false;
	head = (b[0] & 15u) * 4;
	ret->protocol = b[9];
	memcpy(ret->addr.b, b + 16, 4);
	/* What is not the first fragment has no port. */
	if (head < 20 || head > packet.n || (b[6] & 0x1f) || b[7])
		return true;
	return read_transport(str_from_pos(packet, head), ret);
}

static bool is_extension(unsigned char header)
{
	return header == IPPROTO_HOPOPTS || header == IPPROTO_ROUTING ||
	       header == IPPROTO_DSTOPTS || header == IPPROTO_FRAGMENT;
}

static bool read_v6(struct str packet, struct refusal *ret)
{
	const unsigned char *b = bytes(packet);

	if (packet.n < 40)
		return false;
	ret->addr.is_v6 = true;
	memcpy(ret->addr.b, b + 24, 16);
	ret->protocol = b[6];
	packet = str_from_pos(packet, 40);
	for (int i = 0; i < MAX_HEADERS && is_extension(ret->protocol); i++) {
		size_t n;

		b = bytes(packet);
		if (packet.n < 8)
			return true;
		n = ret->protocol == IPPROTO_FRAGMENT ? 8 : (b[1] + 1u) * 8;
		ret->protocol = b[0];
		if (n > packet.n)
			return true;
		packet = str_from_pos(packet, n);
	}
	return read_transport(packet, ret);
}

static bool read_packet(struct str packet, struct refusal *ret)
{
	*ret = (struct refusal){ .protocol = 0 };
	if (!packet.n)
		return false;
	switch (bytes(packet)[0] >> 4) {
	case 4:
		return read_v4(packet, ret);
	case 6:
		return read_v6(packet, ret);
	default:
		return false;
	}
}

bool refusal_parse(struct str message, struct refusal *ret)
{
	struct netlink_message m;
	struct netlink_attr a;
	struct str rest;

	if (!netlink_read(&message, &m) ||
	    m.type != (NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_PACKET) ||
	    m.body.n < sizeof(struct nfgenmsg))
		return false;
	rest = str_from_pos(m.body, sizeof(struct nfgenmsg));
	while (netlink_read_attr(&rest, &a))
		if (a.type == NFULA_PAYLOAD)
			return read_packet(a.value, ret);
	return false;
}

size_t refusals_read(int fd, struct refusal *ret, size_t max, uint64_t *ret_messages)
{
	char room[4096];
	size_t n = 0;

	while (n < max) {
		struct sockaddr_nl from = { .nl_pid = 1 };
		socklen_t from_n = sizeof(from);
		ssize_t got = recvfrom(fd, room, sizeof(room), MSG_DONTWAIT,
				       (struct sockaddr *)&from, &from_n);

		if (got < 0 && (errno == EINTR || errno == ENOBUFS))
			continue;
		if (got < 0)
			break;
		if (from.nl_pid != 0)
			continue;
		/* One packet a message: so init has asked for it. */
		++*ret_messages;
		if (refusal_parse((struct str){ room, (size_t)got }, &ret[n]))
			n++;
	}
	return n;
}
