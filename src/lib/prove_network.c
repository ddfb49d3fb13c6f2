/* Acts on the network: P2.  Nothing leaves the machine: loopback, sockets with
 * names, and families that are only opened. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <linux/vm_sockets.h>
#include <net/if.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "lib/prove.h"

#define ANSWER_MS	1000

static int connect_unix(const struct sockaddr_un *to, socklen_t n, struct cordon_err *say)
{
	cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return err_sys(say, CORDON_E_SETUP, "socket");
	return connect(fd, (const struct sockaddr *)to, n) == 0
		       ? 0
		       : err_sys(say, CORDON_E_SETUP, "connect");
}

static int connect_path(const char *path, struct cordon_err *say)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	return connect_unix(&to, sizeof(to), say);
}

static int unix_outside(const struct prove_place *p, struct cordon_err *say)
{
	return connect_path(prove_path(p, "outside/socket"), say);
}

static int unix_workspace(const struct prove_place *p, struct cordon_err *say)
{
	return connect_path(prove_path(p, "work/socket"), say);
}

static int unix_abstract(const struct prove_place *p, struct cordon_err *say)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int n = snprintf(to.sun_path + 1, sizeof(to.sun_path) - 1, "%s", p->base);

	return connect_unix(&to, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n), say);
}

static struct sockaddr_in loopback(int port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static int tcp_host(const struct prove_place *p, struct cordon_err *say)
{
	cleanup_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in to = loopback(p->tcp);

	if (fd < 0)
		return err_sys(say, CORDON_E_SETUP, "socket");
	return connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0
		       ? 0
		       : err_sys(say, CORDON_E_SETUP, "connect");
}

static int udp_host(const struct prove_place *p, struct cordon_err *say)
{
	cleanup_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in to = loopback(p->udp);
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	char byte = 'x';

	if (fd < 0)
		return err_sys(say, CORDON_E_SETUP, "socket");
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 || send(fd, &byte, 1, 0) < 0)
		return err_sys(say, CORDON_E_SETUP, "send");
	if (poll(&wait, 1, ANSWER_MS) != 1)
		return err_set(say, CORDON_E_SETUP, "no answer");
	return recv(fd, &byte, 1, 0) == 1 ? 0 : err_sys(say, CORDON_E_SETUP, "recv");
}

static int open_socket(int family, int type, int protocol, struct cordon_err *say)
{
	cleanup_fd int fd = socket(family, type | SOCK_CLOEXEC, protocol);

	return fd < 0 ? err_sys(say, CORDON_E_SETUP, "socket") : 0;
}

static int raw_socket(const struct prove_place *p, struct cordon_err *say)
{
	(void)p;
	return open_socket(AF_INET, SOCK_RAW, IPPROTO_ICMP, say);
}

static int packet_socket(const struct prove_place *p, struct cordon_err *say)
{
	(void)p;
	return open_socket(AF_PACKET, SOCK_RAW, 0, say);
}

static int vsock_socket(const struct prove_place *p, struct cordon_err *say)
{
	(void)p;
	return open_socket(AF_VSOCK, SOCK_STREAM, 0, say);
}

static int mptcp_socket(const struct prove_place *p, struct cordon_err *say)
{
	(void)p;
	return open_socket(AF_INET, SOCK_STREAM, 262 /* IPPROTO_MPTCP */, say);
}

static int diag_socket(const struct prove_place *p, struct cordon_err *say)
{
	(void)p;
	return open_socket(AF_NETLINK, SOCK_RAW, 4 /* NETLINK_SOCK_DIAG */, say);
}

/* One more address of lo, or one less; the kernel's own answer. */
static int change_address(int fd, int type, struct cordon_err *say)
{
	struct {
		struct nlmsghdr head;
		struct ifaddrmsg addr;
		struct rtattr attr;
		uint32_t local;
	} ask = {
		.head = { .nlmsg_len = sizeof(ask), .nlmsg_type = (uint16_t)type,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK |
					 (type == RTM_NEWADDR ? NLM_F_CREATE | NLM_F_EXCL : 0) },
		.addr = { .ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_index = 1 },
		.attr = { .rta_len = RTA_LENGTH(4), .rta_type = IFA_LOCAL },
		.local = htonl(0x7f636363),	/* 127.99.99.99 */
	};
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char room[512];
	} answer = { 0 };

	if (send(fd, &ask, sizeof(ask), 0) < 0 || recv(fd, &answer, sizeof(answer), 0) < 0)
		return err_sys(say, CORDON_E_SETUP, "netlink");
	errno = -answer.error.error;
	return answer.error.error ? err_sys(say, CORDON_E_SETUP, "netlink") : 0;
}

static int netlink_change(const struct prove_place *p, struct cordon_err *say)
{
	cleanup_fd int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	(void)p;
	if (fd < 0)
		return err_sys(say, CORDON_E_SETUP, "socket");
	if (change_address(fd, RTM_NEWADDR, say) < 0)
		return -1;
	return change_address(fd, RTM_DELADDR, say);
}

/* ---- what must work ----------------------------------------------------- */

static int own_loopback(const struct prove_place *p, struct cordon_err *say)
{
	cleanup_fd int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct prove_place own = *p;
	struct sockaddr_in at = loopback(0);
	socklen_t n = sizeof(at);

	if (server < 0 || bind(server, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    listen(server, 1) < 0 || getsockname(server, (struct sockaddr *)&at, &n) < 0)
		return err_sys(say, CORDON_E_SETUP, "listen");
	own.tcp = ntohs(at.sin_port);
	return tcp_host(&own, say);
}

static int own_socket(const struct prove_place *p, struct cordon_err *say)
{
	cleanup_fd int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int rc;

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", prove_path(p, "work/own"));
	if (server < 0 || bind(server, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    listen(server, 1) < 0)
		return err_sys(say, CORDON_E_SETUP, "listen");
	rc = connect_path(at.sun_path, say);
	unlink(at.sun_path);
	return rc;
}

const struct probe probes_network[] = {
	{ "P2", PROBE_REFUSED, "tcp-host", "connect to a TCP server of the host's loopback",
	  tcp_host, { 0 } },
	{ "P2", PROBE_REFUSED, "udp-host", "ask a UDP server of the host's loopback", udp_host,
	  { 0 } },
	{ "P2", PROBE_REFUSED, "unix-outside", "connect to a unix socket outside", unix_outside,
	  { 0 } },
	{ "P2", PROBE_REFUSED, "unix-workspace", "connect to a host's socket in the workspace",
	  unix_workspace, { 0 } },
	{ "P2", PROBE_REFUSED, "unix-abstract", "connect to an abstract unix socket",
	  unix_abstract, { 0 } },
	{ "P2", PROBE_REFUSED, "raw-socket", "open a raw socket", raw_socket, { 0 } },
	{ "P2", PROBE_REFUSED, "packet-socket", "open a packet socket", packet_socket, { 0 } },
	{ "P2", PROBE_REFUSED, "vsock", "open a vsock socket", vsock_socket, { 0 } },
	{ "P2", PROBE_REFUSED, "mptcp", "open an MPTCP socket", mptcp_socket, { 0 } },
	{ "P2", PROBE_REFUSED, "sock-diag", "ask for the sockets of others (netlink)", diag_socket,
	  { 0 } },
	{ "P2", PROBE_REFUSED, "netlink", "give lo an address (netlink)", netlink_change, { 0 } },
	{ "P2", PROBE_ADMITTED, "own-loopback", "a TCP server and its client on the own loopback",
	  own_loopback, { 0 } },
	{ "P2", PROBE_ADMITTED, "own-socket", "a unix socket of its own in the workspace",
	  own_socket, { 0 } },
	{ 0 },
};
