/* The process inside; see inside.h. */
#include "inside.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/netfilter.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/native/init_priv.h"
#include "base/nft.h"
#include "base/route.h"
#include "plan/net_inside.h"

#define WAIT_MS	3000

struct wish wish_to(enum act act, const char *addr, unsigned port)
{
	struct wish w = { .act = act, .n = sizeof(w.to) };
	struct sockaddr_in *v4 = (struct sockaddr_in *)(void *)&w.to;

	if (inet_pton(AF_INET, addr, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)port);
		w.n = sizeof(*v4);
		return w;
	}
	w.to = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
	if (inet_pton(AF_INET6, addr, &w.to.sin6_addr) != 1)
		abort();
	return w;
}

/* ---- acts --------------------------------------------------------------- */

static int open_to(const struct wish *w, int type, int protocol)
{
	return socket(w->to.sin6_family, type | SOCK_CLOEXEC, protocol);
}

static int connect_to(int fd, const struct wish *w)
{
	return connect(fd, (const struct sockaddr *)&w->to, w->n);
}

static void do_connect(const struct wish *w, struct outcome *out)
{
	static int last = -1;
	socklen_t n = sizeof(out->from);

	if (last >= 0)
		close(last);
	last = open_to(w, SOCK_STREAM, 0);
	if (last < 0 || connect_to(last, w) < 0)
		out->error = errno;
	else
		getsockname(last, (struct sockaddr *)&out->from, &n);
}

static void recv_answer(int fd, struct outcome *out)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	socklen_t n = sizeof(out->from);
	char byte[64];
	ssize_t got;

	if (poll(&p, 1, WAIT_MS) <= 0) {
		out->error = ETIMEDOUT;
		return;
	}
	got = recvfrom(fd, byte, sizeof(byte), MSG_DONTWAIT, (struct sockaddr *)&out->from, &n);
	out->error = got < 0 ? errno : 0;
	out->value = (int)got;
}

static void do_ask(const struct wish *w, struct outcome *out)
{
	int fd = open_to(w, w->type ? w->type : SOCK_DGRAM, w->protocol);

	if (fd < 0 || connect_to(fd, w) < 0 || send(fd, "ask", 3, 0) < 0)
		out->error = errno;
	else
		recv_answer(fd, out);
	close(fd);
}

static void do_send(const struct wish *w, struct outcome *out)
{
	int fd = open_to(w, SOCK_DGRAM, 0), one = 1;

	setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &one, sizeof(one));
	if (sendto(fd, "x", 1, 0, (const struct sockaddr *)&w->to, w->n) < 0)
		out->error = errno;
	close(fd);
}

static void do_serve(const struct wish *w, struct outcome *out)
{
	int server = open_to(w, SOCK_STREAM, 0), client = open_to(w, SOCK_STREAM, 0), conn = -1;
	char byte = 0;

	if (bind(server, (const struct sockaddr *)&w->to, w->n) < 0 || listen(server, 1) < 0 ||
	    connect_to(client, w) < 0 || (conn = accept4(server, NULL, NULL, SOCK_CLOEXEC)) < 0 ||
	    write(client, "y", 1) != 1 || read(conn, &byte, 1) != 1)
		out->error = errno;
	out->value = byte;
	close(server);
	close(client);
	close(conn);
}

static void do_ping(const struct wish *w, struct outcome *out)
{
	bool v6 = w->to.sin6_family == AF_INET6;
	unsigned char echo[8] = { v6 ? 128 : 8 };
	int fd = open_to(w, SOCK_DGRAM, v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP);

	if (fd < 0 || connect_to(fd, w) < 0 || send(fd, echo, sizeof(echo), 0) < 0)
		out->error = errno;
	else
		recv_answer(fd, out);
	close(fd);
}

static void do_bind(const struct wish *w, struct outcome *out)
{
	int fd = open_to(w, SOCK_STREAM, 0);

	if (bind(fd, (const struct sockaddr *)&w->to, w->n) < 0)
		out->error = errno;
	close(fd);
}

/* Any of them that works is a hole: 0 says that one did. */
static void do_netlink(const struct wish *w, struct outcome *out)
{
	char room[512];
	struct netlink n;
	uint32_t failed;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);

	(void)w;
	netlink_init(&n, room, sizeof(room), 0);
	nft_open_batch(&n);
	nft_clear_set(&n, NET_TABLE, NET_SET_V4);
	nft_close_batch(&n);
	if (netlink_send(fd, &n) == 0 && netlink_recv_acks(fd, 1, 2, &failed) == 0)
		return;
	close(fd);
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	netlink_init(&n, room, sizeof(room), 0);
	route_add_up(&n, ROUTE_LOOPBACK);
	netlink_add_ack(&n);
	if (netlink_send(fd, &n) < 0 || netlink_recv_acks(fd, 1, 1, &failed) < 0)
		out->error = errno;
	close(fd);
}

static void (*const acts[])(const struct wish *w, struct outcome *out) = {
	[ACT_CONNECT] = do_connect, [ACT_ASK] = do_ask,		[ACT_SEND] = do_send,
	[ACT_SERVE] = do_serve,	    [ACT_PING] = do_ping,	[ACT_BIND] = do_bind,
	[ACT_SOCKET_SEND] = do_ask, [ACT_NETLINK] = do_netlink,
};
static_assert(ARRAY_SIZE(acts) == N_ACTS, "an act without a function");

/* ---- its life ----------------------------------------------------------- */

static _Noreturn void fail(const char *what)
{
	perror(what);
	_exit(1);
}

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fail(path);
	close(fd);
}

static void enter(struct init *init)
{
	unsigned uid = getuid(), gid = getgid();
	struct cordon_err err = { 0 };
	char map[64], groups[64];

	if (unshare(CLONE_NEWUSER) < 0)
		fail("unshare");
	write_text("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "%u %u 1\n", uid, uid);
	write_text("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "%u %u 1\n", gid, gid);
	write_text("/proc/self/gid_map", map);
	if (step_begin_network(init, &err) < 0 || step_enter_network(init, &err) < 0)
		fail(err.msg);
	/* Else nobody may ping, and the rules are not what refuses it. */
	snprintf(groups, sizeof(groups), "%u %u", gid, gid);
	write_text("/proc/sys/net/ipv4/ping_group_range", groups);
}

static void drop_rights(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_capset, &head, none) < 0)
		fail("capset");
}

static void send_fds(int sock, const struct native_fds *fds)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(*fds))];
	} control = { .room = { 0 } };
	struct native_fds which = *fds;
	struct iovec iov = { &which, sizeof(which) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control };
	int list[N_NATIVE_FDS];
	size_t n = 0;

	for (int i = 0; i < N_NATIVE_FDS; i++)
		if (fds->fd[i] >= 0)
			list[n++] = fds->fd[i];
	msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(&control.head), list, n * sizeof(int));
	if (sendmsg(sock, &msg, 0) < 0)
		fail("sendmsg");
	while (n)
		close(list[--n]);
}

static bool recv_fds(int sock, struct native_fds *fds)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(*fds))];
	} control;
	struct iovec iov = { fds, sizeof(*fds) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	const int *got;

	if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(*fds))
		return false;
	got = (const int *)(const void *)CMSG_DATA(&control.head);
	for (int i = 0; i < N_NATIVE_FDS; i++)
		if (fds->fd[i] >= 0)
			fds->fd[i] = *got++;
	return true;
}

static _Noreturn void inside_main(const struct inside *in, int sock, struct init *init)
{
	struct cordon_err err = { 0 };
	struct wish w;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	enter(init);
	if (in->settings)
		write_text(in->settings, "1");
	if (step_network(init, &err) < 0) {
		fprintf(stderr, "# inside: %s\n", err.msg);
		_exit(1);
	}
	send_fds(sock, &init->fds);
	drop_rights();
	while (recv(sock, &w, sizeof(w), 0) == (ssize_t)sizeof(w)) {
		struct outcome out = { .error = 0 };

		acts[w.act](&w, &out);
		if (send(sock, &out, sizeof(out), 0) < 0)
			break;
	}
	_exit(0);
}

const char *inside_start(struct inside *in, struct plan *plan)
{
	static struct arena arena = ARENA(64 << 20);
	static const struct native_scope scope = { .cgroup = -1 };
	struct init init = { .plan = plan, .within = &scope, .ruleset = -1, .netns = -1,
			     .proc = -1, .fds = NATIVE_NO_FDS };
	static struct cordon_err err;
	int ends[2];

	plan->arena = &arena;
	plan->clone_flags = CLONE_NEWUSER | CLONE_NEWNET;
	if (network_new(plan, &init.network, &err) < 0)
		return err.msg;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return "socketpair";
	in->pid = fork();
	if (in->pid == 0) {
		close(ends[0]);
		inside_main(in, ends[1], &init);
	}
	close(ends[1]);
	in->sock = ends[0];
	return recv_fds(in->sock, &in->fds) ? NULL : "the process inside ended";
}

void inside_begin(struct inside *in, const struct wish *w)
{
	if (send(in->sock, w, sizeof(*w), MSG_NOSIGNAL) < 0)
		perror("# inside_begin");
}

struct outcome inside_end(struct inside *in)
{
	struct outcome out = { .error = ENOTCONN };

	if (recv(in->sock, &out, sizeof(out), 0) != (ssize_t)sizeof(out))
		printf("# the process inside ended\n");
	return out;
}

struct outcome inside_do(struct inside *in, const struct wish *w)
{
	inside_begin(in, w);
	return inside_end(in);
}

void inside_stop(struct inside *in)
{
	close(in->sock);
	waitpid(in->pid, NULL, 0);
}
