/* The network inside; runs in init, but for network_new().
 *
 * What is sent to the kernel is laid out before the clone.  A cordon with a gate
 * has one interface, the loopback, and every address of the world is local on it
 * (AnyIP): whatever is sent comes back in through prerouting, where nf_tables
 * hands TCP to the gate's listener or refuses it.  Nothing leads outside, so the
 * rules decide how fast and how legibly something fails, and the gate what works.
 *
 * Where nf_tables cannot be had, AnyIP alone brings each port of the policy to a
 * listener of its own, and the kernel refuses the rest.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/native/init_priv.h"
#include "base/nft.h"
#include "base/route.h"
#include "plan/net_inside.h"

#define BACKLOG		1024
#define LOG_RATE	50	/* refusals that are told of, a second */
#define LOG_BURST	100

#define CHAIN		"gate"
#define REFUSED		"refused"

#define TCP_FLAGS	13	/* where they lie in its header */
#define TCP_SYN		0x02
#define TCP_ACK		0x10
#define DEST_PORT	2	/* the same in TCP and UDP */
#define V4_DEST		16
#define V6_DEST		24

static const unsigned char own_v4[] = NET_OWN_V4, own_v6[16] = NET_OWN_V6;

struct network {
	bool v6;			/* the kernel has IPv6 */
	size_t n_datagrams;
	uint16_t datagrams[MAX_NET_PORTS];
	struct netlink routes, table, log;
	uint32_t routes_v6;		/* the first of its messages that is about IPv6 */
	uint32_t table_last, log_last;	/* the messages that are answered */
};

/* ---- before the clone: the rules ---------------------------------------- */

static void match_port(struct netlink *w, uint16_t port)
{
	uint16_t value = htons(port);

	nft_match_bytes(w, &(struct nft_bytes){ .base = NFT_PAYLOAD_TRANSPORT_HEADER,
						.offset = DEST_PORT,
						.n = sizeof(value),
						.value = &value,
						.op = NFT_CMP_EQ });
}

static void match_v4(struct netlink *w, const void *mask, const void *value)
{
	nft_match_family(w, NFPROTO_IPV4);
	nft_match_bytes(w, &(struct nft_bytes){ .base = NFT_PAYLOAD_NETWORK_HEADER,
						.offset = V4_DEST,
						.n = 4,
						.mask = mask,
						.value = value,
						.op = NFT_CMP_EQ });
}

static void match_v6(struct netlink *w, const void *value)
{
	nft_match_family(w, NFPROTO_IPV6);
	nft_match_bytes(w, &(struct nft_bytes){ .base = NFT_PAYLOAD_NETWORK_HEADER,
						.offset = V6_DEST,
						.n = 16,
						.value = value,
						.op = NFT_CMP_EQ });
}

/* What is not the beginning of a connection belongs to one, or to nothing; most
 * packets are done with here. */
static void add_established(struct netlink *w)
{
	static const unsigned char mask = TCP_SYN | TCP_ACK, syn = TCP_SYN;

	nft_open_rule(w, NET_TABLE, CHAIN);
	nft_match_protocol(w, IPPROTO_TCP);
	nft_match_bytes(w, &(struct nft_bytes){ .base = NFT_PAYLOAD_TRANSPORT_HEADER,
						.offset = TCP_FLAGS,
						.n = 1,
						.mask = &mask,
						.value = &syn,
						.op = NFT_CMP_NEQ });
	nft_do_verdict(w, NF_ACCEPT, NULL);
	nft_close_rule(w);
}

/* Programs inside talk to each other as on any machine.  The gate's own port can
 * be reached so, too: what comes to such an address is none of its business. */
static void add_own(struct netlink *w, bool v6)
{
	static const unsigned char loopback[4] = { 127 }, mask[4] = { 255 };

	for (int i = 0; i < (v6 ? 4 : 2); i++) {
		nft_open_rule(w, NET_TABLE, CHAIN);
		if (i < 2)
			match_v4(w, i ? NULL : mask, i ? own_v4 : loopback);
		else
			match_v6(w, i == 2 ? in6addr_loopback.s6_addr : own_v6);
		nft_do_verdict(w, NF_ACCEPT, NULL);
		nft_close_rule(w);
	}
}

/* AnyIP brings it to the socket on this port, whatever the address. */
static void add_served(struct netlink *w, unsigned char protocol, uint16_t port)
{
	nft_open_rule(w, NET_TABLE, CHAIN);
	nft_match_protocol(w, protocol);
	match_port(w, port);
	nft_do_verdict(w, NF_ACCEPT, NULL);
	nft_close_rule(w);
}

/* TCP to what the policy may allow. */
static void add_gate(struct netlink *w, bool v6)
{
	const struct {
		unsigned char family;
		unsigned dest;
		size_t key_bytes;
		const char *set;
	} kinds[] = { { NFPROTO_IPV4, V4_DEST, 4, NET_SET_V4 },
		      { NFPROTO_IPV6, V6_DEST, 16, NET_SET_V6 } };

	for (size_t i = 0; i < (v6 ? 2 : 1); i++) {
		nft_open_rule(w, NET_TABLE, CHAIN);
		nft_match_protocol(w, IPPROTO_TCP);
		nft_match_family(w, kinds[i].family);
		nft_match_set(w, NFT_PAYLOAD_NETWORK_HEADER, kinds[i].dest, kinds[i].key_bytes,
			      kinds[i].set);
		nft_match_tproxy(w, kinds[i].family, NET_LISTENER_PORT);
		nft_do_verdict(w, NF_ACCEPT, NULL);
		nft_close_rule(w);
	}
}

/* Packets that the kernel sends by itself: answers and errors of ICMP, and the
 * joining of groups.  No program tried anything with them. */
static void add_ignored(struct netlink *w)
{
	static const struct {
		unsigned char protocol, request;
	} kinds[] = { { IPPROTO_ICMP, 8 }, { IPPROTO_ICMPV6, 128 } };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		nft_open_rule(w, NET_TABLE, CHAIN);
		nft_match_protocol(w, kinds[i].protocol);
		nft_match_bytes(w, &(struct nft_bytes){ .base = NFT_PAYLOAD_TRANSPORT_HEADER,
							.n = 1,
							.value = &kinds[i].request,
							.op = NFT_CMP_NEQ });
		nft_do_verdict(w, NF_DROP, NULL);
		nft_close_rule(w);
	}
	nft_open_rule(w, NET_TABLE, CHAIN);
	nft_match_protocol(w, IPPROTO_IGMP);
	nft_do_verdict(w, NF_DROP, NULL);
	nft_close_rule(w);
}

static void add_log(struct netlink *w, unsigned char protocol)
{
	nft_open_rule(w, NET_TABLE, REFUSED);
	if (protocol)
		nft_match_protocol(w, protocol);
	nft_match_limit(w, LOG_RATE, LOG_BURST);
	nft_do_log(w, NET_LOG_GROUP, NET_LOG_BYTES);
	nft_close_rule(w);
}

static void add_reject(struct netlink *w, unsigned char protocol, unsigned type, unsigned char code)
{
	nft_open_rule(w, NET_TABLE, REFUSED);
	if (protocol)
		nft_match_protocol(w, protocol);
	nft_do_reject(w, type, code);
	nft_close_rule(w);
}

/* Everything else is counted, told of up to a rate, and refused in the way that
 * lets programs fail at once.  Connections have a rate of their own, so that other
 * packets of a program do not hide them. */
static void add_refusals(struct netlink *w)
{
	nft_open_rule(w, NET_TABLE, CHAIN);
	nft_do_verdict(w, NFT_GOTO, NET_COUNTED);
	nft_close_rule(w);
	nft_open_rule(w, NET_TABLE, NET_COUNTED);
	nft_do_count(w);
	nft_do_verdict(w, NFT_GOTO, REFUSED);
	nft_close_rule(w);
	add_log(w, IPPROTO_TCP);
	add_reject(w, IPPROTO_TCP, NFT_REJECT_TCP_RST, 0);
	add_log(w, 0);
	add_reject(w, IPPROTO_UDP, NFT_REJECT_ICMPX_UNREACH, NFT_REJECT_ICMPX_PORT_UNREACH);
	add_reject(w, 0, NFT_REJECT_ICMPX_UNREACH, NFT_REJECT_ICMPX_ADMIN_PROHIBITED);
}

static void add_set(struct netlink *w, const char *name, uint32_t id, size_t key_bytes,
		    const struct net_range *ranges, size_t n)
{
	nft_add_set(w, NET_TABLE, name, id, key_bytes);
	if (!n)
		return;
	nft_open_ranges(w, NET_TABLE, name);
	for (size_t i = 0; i < n; i++)
		nft_add_range(w, ranges[i].first, ranges[i].last, key_bytes);
	nft_close_ranges(w);
}

static void write_table(struct network *n, const struct net_ranges *r)
{
	static const struct nft_hook hook = { NF_INET_PRE_ROUTING, -150, NF_DROP };
	struct netlink *w = &n->table;

	nft_open_batch(w);
	nft_add_table(w, NET_TABLE);
	add_set(w, NET_SET_V4, 1, 4, r->v4, r->n_v4);
	add_set(w, NET_SET_V6, 2, 16, r->v6, r->n_v6);
	nft_add_chain(w, NET_TABLE, CHAIN, &hook);
	nft_add_chain(w, NET_TABLE, NET_COUNTED, NULL);
	nft_add_chain(w, NET_TABLE, REFUSED, NULL);
	add_established(w);
	add_own(w, n->v6);
	add_served(w, IPPROTO_TCP, NET_DNS_PORT);
	add_served(w, IPPROTO_UDP, NET_DNS_PORT);
	for (size_t i = 0; i < n->n_datagrams; i++)
		add_served(w, IPPROTO_UDP, n->datagrams[i]);
	add_gate(w, n->v6);
	add_ignored(w);
	add_refusals(w);
	n->table_last = nft_close_batch(w);
}

static void write_routes(struct network *n)
{
	struct netlink *w = &n->routes;

	route_add_up(w, ROUTE_LOOPBACK);
	route_add_address(w, AF_INET, own_v4, ROUTE_LOOPBACK);
	route_add_any_local(w, AF_INET, own_v4, ROUTE_LOOPBACK);
	n->routes_v6 = w->seq + 1;
	if (n->v6) {
		route_add_address(w, AF_INET6, own_v6, ROUTE_LOOPBACK);
		route_add_any_local(w, AF_INET6, own_v6, ROUTE_LOOPBACK);
	}
	netlink_add_ack(w);
}

static bool has_v6(void)
{
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static int add_room(struct netlink *w, size_t size, const struct plan *plan,
		    struct cordon_err *err)
{
	void *room = arena_new(plan->arena, 1, size);

	if (!room)
		return err_nomem(err);
	netlink_init(w, room, size, 0);
	return 0;
}

static int check_ports(const struct plan *plan, const struct network *n, struct cordon_err *err)
{
	if (!(plan->clone_flags & CLONE_NEWNET))
		return err_set(err, CORDON_E_BUG, "a gate needs a network namespace");
	if (n->n_datagrams > MAX_NET_PORTS)
		return err_set(err, CORDON_E_HOST, "network.udp_allow names more than %d ports",
			       MAX_NET_PORTS);
	return 0;
}

int network_new(const struct plan *plan, const struct network **ret, struct cordon_err *err)
{
	struct network *n = arena_new(plan->arena, 1, sizeof(*n));
	struct net_ranges r;

	if (!n)
		return err_nomem(err);
	if (net_has_gate(&plan->net)) {
		n->v6 = has_v6();
		n->n_datagrams = net_datagram_ports(&plan->net, n->datagrams);
		if (check_ports(plan, n, err) < 0 ||
		    net_ranges_compile(&plan->net, plan->arena, &r, err) < 0 ||
		    add_room(&n->routes, 512, plan, err) < 0)
			return -1;
		write_routes(n);
		if (add_room(&n->table, 8192 + n->n_datagrams * 320 + (r.n_v4 + r.n_v6) * 80,
			     plan, err) < 0 ||
		    add_room(&n->log, 128, plan, err) < 0)
			return -1;
		write_table(n, &r);
		n->log_last = nft_bind_log(&n->log, NET_LOG_GROUP, NET_LOG_BYTES);
	}
	if (n->routes.full || n->table.full || n->log.full)
		return err_set(err, CORDON_E_BUG, "the network's messages do not fit");
	*ret = n;
	return 0;
}

/* ---- after the clone ---------------------------------------------------- */

/* The kernel has IPv6 and it is switched off (disable_ipv6): then there is no
 * way to any such address, which is as good. */
static bool is_v6_off(const struct network *n, uint32_t failed)
{
	return failed == n->routes_v6 && (errno == EACCES || errno == EOPNOTSUPP);
}

static int set_routes(const struct network *n, struct cordon_err *err)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), rc = 0;
	uint32_t failed = 0;

	if (fd < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot open a socket for routes");
	if (netlink_send(fd, &n->routes) < 0 ||
	    (netlink_recv_acks(fd, 1, n->routes.seq, &failed) < 0 && !is_v6_off(n, failed)))
		rc = err_sys(err, CORDON_E_SETUP, "cannot set addresses and routes (message %u)",
			     failed);
	close(fd);
	return rc;
}

static int open_netfilter(const struct netlink *w, uint32_t last, const char *what, int *ret,
			  struct cordon_err *err)
{
	uint32_t failed = 0;

	*ret = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_NETFILTER);
	if (*ret < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot open a socket for %s (tproxy)", what);
	if (netlink_send(*ret, w) < 0 || netlink_recv_acks(*ret, 1, last, &failed) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot set %s (tproxy, message %u)", what,
			       failed);
	return 0;
}

static int set_option(int fd, int level, int option)
{
	static const int one = 1;

	return setsockopt(fd, level, option, &one, sizeof(one));
}

/* For both kinds of addresses; `type` is SOCK_STREAM or SOCK_DGRAM. */
static int open_bound(const struct network *n, int type, uint16_t port)
{
	int fd = socket(n->v6 ? AF_INET6 : AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), rc;
	struct sockaddr_in6 any6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct sockaddr_in any4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	int zero = 0, error;

	if (fd < 0)
		return -1;
	rc = n->v6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero)) < 0 ? -1 : 0;
	if (rc == 0)
		rc = n->v6 ? bind(fd, (const struct sockaddr *)&any6, sizeof(any6)) :
			     bind(fd, (const struct sockaddr *)&any4, sizeof(any4));
	if (rc == 0)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

static int open_listener(const struct network *n, uint16_t port, bool transparent, int *ret)
{
	*ret = open_bound(n, SOCK_STREAM, port);
	if (*ret < 0)
		return -1;
	/* The same bit of the socket, by the name that its family has for it. */
	if (transparent && (n->v6 ? set_option(*ret, IPPROTO_IPV6, IPV6_TRANSPARENT) :
				    set_option(*ret, IPPROTO_IP, IP_TRANSPARENT)) < 0)
		return -1;
	/* Accepted sockets inherit it; see sysctls[] in proc.c. */
	(void)!setsockopt(*ret, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
	return listen(*ret, BACKLOG);
}

/* The address that was asked comes with each datagram, and the answer is to
 * come from it; IPv6 wants to be told that this is meant. */
static int open_datagrams(const struct network *n, uint16_t port, int *ret)
{
	*ret = open_bound(n, SOCK_DGRAM, port);
	if (*ret < 0)
		return -1;
	if (!n->v6)
		return set_option(*ret, IPPROTO_IP, IP_PKTINFO);
	return set_option(*ret, IPPROTO_IPV6, IPV6_RECVPKTINFO) < 0 ||
	       set_option(*ret, IPPROTO_IPV6, IPV6_FREEBIND) < 0 ? -1 : 0;
}

static int open_ports(struct init *in, struct cordon_err *err)
{
	const struct network *n = in->network;
	int *fd = in->fds.fd;

	if (open_datagrams(n, NET_DNS_PORT, &fd[NATIVE_DNS]) < 0 ||
	    open_listener(n, NET_DNS_PORT, false, &fd[NATIVE_DNS_STREAM]) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot open the sockets for DNS");
	/* Port 53 is DNS, whatever else a policy says of it. */
	for (size_t i = 0; i < n->n_datagrams; i++)
		if (n->datagrams[i] != NET_DNS_PORT &&
		    open_datagrams(n, n->datagrams[i], &fd[NATIVE_DATAGRAMS + i]) < 0)
			return err_sys(err, CORDON_E_SETUP, "cannot open UDP port %u",
				       n->datagrams[i]);
	return 0;
}

int step_network(struct init *in, struct cordon_err *err)
{
	const struct network *n = in->network;
	int *fd = in->fds.fd;

	if (!(in->plan->clone_flags & CLONE_NEWNET))
		return 0;
	/* The loopback alone was brought up with the namespace. */
	if (!net_has_gate(&in->plan->net))
		return 0;
	if (set_routes(n, err) < 0 || open_ports(in, err) < 0)
		return -1;
	if (open_listener(n, NET_LISTENER_PORT, true, &fd[NATIVE_GATE]) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot open the gate's listener");
	if (open_netfilter(&n->log, n->log_last, "the log of refusals", &fd[NATIVE_REFUSALS],
			   err) < 0)
		return -1;
	return open_netfilter(&n->table, n->table_last, "the rules of nf_tables",
			      &fd[NATIVE_TABLE], err);
}
