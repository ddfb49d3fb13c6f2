/* Acts in a network namespace that is to have a gate: every address of the world
 * is local (AnyIP), and nf_tables brings connections to one listener.
 *
 * Each runs in a child whose namespace is proved to be its own (child.c).  The
 * addresses are those for examples (RFC 5737).
 */
#include "host/probe_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/nft.h"
#include "base/route.h"

#define TABLE	"probe"
#define SET	"some"
#define CHAIN	"c"
#define PORT	61
#define V4_DEST	16

static const unsigned char own[4] = { 192, 0, 2, 1 };
static const unsigned char listed[4] = { 192, 0, 2, 2 };
static const unsigned char other[4] = { 192, 0, 2, 3 };

static int make_all_local(struct cordon_err *say)
{
	cleanup_fd int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	char room[512];
	struct netlink w;
	uint32_t failed;

	if (fd < 0)
		return err_sys(say, CORDON_E_HOST, "a socket for routes");
	netlink_init(&w, room, sizeof(room), 0);
	route_add_up(&w, ROUTE_LOOPBACK);
	route_add_address(&w, AF_INET, own, ROUTE_LOOPBACK);
	route_add_any_local(&w, AF_INET, own, ROUTE_LOOPBACK);
	netlink_add_ack(&w);
	if (netlink_send(fd, &w) < 0 || netlink_recv_acks(fd, 1, w.seq, &failed) < 0)
		return err_sys(say, CORDON_E_HOST, "a local route to every address");
	return 0;
}

static struct sockaddr_in address(const unsigned char *addr, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };

	if (addr)
		memcpy(&in.sin_addr, addr, 4);
	return in;
}

static int listen_everywhere(bool transparent, int *ret, struct cordon_err *say)
{
	cleanup_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_in any = address(NULL, PORT);
	int one = 1;

	if (fd < 0 || bind(fd, (const struct sockaddr *)&any, sizeof(any)) < 0 || listen(fd, 1) < 0)
		return err_sys(say, CORDON_E_HOST, "listening in a network namespace");
	if (transparent && setsockopt(fd, IPPROTO_IP, IP_TRANSPARENT, &one, sizeof(one)) < 0)
		return err_sys(say, CORDON_E_HOST, "IP_TRANSPARENT");
	*ret = fd_take(&fd);
	return 0;
}

/* A connection to this address must come out at the listener, with the address
 * as its own. */
static int prove_reached(int listener, const unsigned char *addr, uint16_t port,
			 struct cordon_err *say)
{
	cleanup_fd int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cleanup_fd int server = -1;
	struct sockaddr_in to = address(addr, port), at = { 0 };
	socklen_t n = sizeof(at);

	if (client < 0 || connect(client, (const struct sockaddr *)&to, sizeof(to)) < 0)
		return err_sys(say, CORDON_E_HOST, "connecting to an address that is all ours");
	server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (server < 0 || getsockname(server, (struct sockaddr *)&at, &n) < 0)
		return err_sys(say, CORDON_E_HOST, "a connection does not reach the listener");
	if (at.sin_addr.s_addr != to.sin_addr.s_addr || at.sin_port != to.sin_port)
		return err_set(say, CORDON_E_HOST, "a connection forgets where it was going");
	return 0;
}

/* The expressions that a run's table is made of, once each. */
static uint32_t write_table(struct netlink *w)
{
	static const struct nft_hook hook = { NF_INET_PRE_ROUTING, -150, NF_ACCEPT };
	static const unsigned char mask[4] = { 255, 255, 255, 255 };

	nft_open_batch(w);
	nft_add_table(w, TABLE);
	nft_add_set(w, TABLE, SET, 1, 4);
	nft_open_ranges(w, TABLE, SET);
	nft_add_range(w, listed, listed, 4);
	nft_close_ranges(w);
	nft_add_chain(w, TABLE, CHAIN, &hook);
	nft_open_rule(w, TABLE, CHAIN);
	nft_match_protocol(w, IPPROTO_TCP);
	nft_match_family(w, NFPROTO_IPV4);
	nft_match_set(w, NFT_PAYLOAD_NETWORK_HEADER, V4_DEST, 4, SET);
	nft_match_tproxy(w, NFPROTO_IPV4, PORT);
	nft_do_verdict(w, NF_ACCEPT, NULL);
	nft_close_rule(w);
	nft_open_rule(w, TABLE, CHAIN);
	nft_match_protocol(w, IPPROTO_TCP);
	nft_match_bytes(w, &(struct nft_bytes){ .base = NFT_PAYLOAD_NETWORK_HEADER,
						.offset = V4_DEST,
						.n = 4,
						.mask = mask,
						.value = other,
						.op = NFT_CMP_EQ });
	nft_do_count(w);
	nft_match_limit(w, 1, 1);
	nft_do_log(w, 1, 64);
	nft_do_reject(w, NFT_REJECT_TCP_RST, 0);
	nft_close_rule(w);
	return nft_close_batch(w);
}

static int set_table(struct cordon_err *say)
{
	cleanup_fd int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
	char room[2048];
	struct netlink w;
	uint32_t first, last, failed;

	if (fd < 0)
		return err_sys(say, CORDON_E_HOST, "a socket for nf_tables");
	netlink_init(&w, room, sizeof(room), 0);
	last = nft_bind_log(&w, 1, 64);
	if (netlink_send(fd, &w) < 0 || netlink_recv_acks(fd, 1, last, &failed) < 0)
		return err_sys(say, CORDON_E_HOST, "nfnetlink_log");
	first = last + 1;
	netlink_init(&w, room, sizeof(room), last);
	last = write_table(&w);
	if (netlink_send(fd, &w) < 0 || netlink_recv_acks(fd, first, last, &failed) < 0)
		return err_sys(say, CORDON_E_HOST, "nf_tables with tproxy");
	return 0;
}

static int prove_refused(struct cordon_err *say)
{
	cleanup_fd int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in to = address(other, 443);

	if (client < 0)
		return err_sys(say, CORDON_E_HOST, "a socket in a network namespace");
	if (connect(client, (const struct sockaddr *)&to, sizeof(to)) == 0)
		return err_set(say, CORDON_E_HOST, "a connection that nf_tables refuses is made");
	if (errno != ECONNREFUSED)
		return err_sys(say, CORDON_E_HOST, "a connection is not refused as it should");
	return 0;
}

int try_tproxy(struct cordon_err *say)
{
	cleanup_fd int listener = -1;

	if (make_all_local(say) < 0 || listen_everywhere(true, &listener, say) < 0 ||
	    set_table(say) < 0 || prove_reached(listener, listed, 443, say) < 0 ||
	    prove_refused(say) < 0)
		return -1;
	say_found(say, "nf_tables brings every port to one listener");
	return 0;
}
