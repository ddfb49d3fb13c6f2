/* The network of a cordon with a gate: what reaches the gate's sockets, what is
 * refused at once, and what is told of it. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "../tap.h"
#include "gate/refusals.h"
#include "gate/table.h"
#include "inside.h"

#define N_RULES(rules)	(sizeof(rules) / sizeof((rules)[0]))

static const struct host_rule some_nets[] = {
	{ .form = HOST_NET, .bits = 16, .addr = { .b = { 10, 7 } } },
	/* inside the other, two beside each other, up to the end */
	{ .form = HOST_NET, .bits = 24, .addr = { .b = { 10, 7, 3 } } },
	{ .form = HOST_NET, .bits = 32, .addr = { .b = { 192, 0, 2, 8 } } },
	{ .form = HOST_NET, .bits = 32, .addr = { .b = { 192, 0, 2, 9 } } },
	{ .form = HOST_NET, .bits = 4, .addr = { .b = { 240 } } },
	{ .form = HOST_NET, .bits = 32, .addr = { true, { 0x20, 0x01, 0x0d, 0xb8 } } },
};
static const struct net_datagrams some_datagrams[] = {
	{ .port = 5000 }, { .port = 5000 }, { .port = 6000 },
};

/* ---- the outside's part ------------------------------------------------- */

static void start(struct inside *in, struct plan *plan)
{
	const char *why = inside_start(in, plan);

	if (why) {
		ok(false, "%s", why);
		exit(1);
	}
}

/* The original destination of the next connection, as text; "" if none. */
static const char *take_connection(int listener)
{
	static char text[80], addr[INET6_ADDRSTRLEN];
	struct pollfd p = { .fd = listener, .events = POLLIN };
	struct sockaddr_in6 to = { 0 };
	socklen_t n = sizeof(to);
	int fd = poll(&p, 1, 500) > 0 ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;

	if (fd < 0)
		return "";
	getsockname(fd, (struct sockaddr *)&to, &n);
	close(fd);
	if (to.sin6_family == AF_INET) {
		const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)&to;

		snprintf(text, sizeof(text), "%s %u",
			 inet_ntop(AF_INET, &v4->sin_addr, addr, sizeof(addr)),
			 ntohs(v4->sin_port));
		return text;
	}
	inet_ntop(AF_INET6, &to.sin6_addr, addr, sizeof(addr));
	snprintf(text, sizeof(text), "%s %u", strncmp(addr, "::ffff:", 7) ? addr : addr + 7,
		 ntohs(to.sin6_port));
	return text;
}

/* "6 8.8.8.8 443" of each refusal, in one text. */
static const char *take_refusals(int fd)
{
	static char text[1024];
	struct refusal r[16];
	uint64_t messages = 0;
	size_t n = refusals_read(fd, r, 16, &messages), at = 0;

	text[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		char addr[INET6_ADDRSTRLEN];

		inet_ntop(r[i].addr.is_v6 ? AF_INET6 : AF_INET, r[i].addr.b, addr, sizeof(addr));
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%u %s %u", i ? ", " : "",
				       r[i].protocol, addr, r[i].port);
	}
	return text;
}

/* Answers one datagram from the address that it was sent to. */
static bool answer_datagram(int fd)
{
	char data[64], control[256];
	struct sockaddr_in6 from;
	struct iovec iov = { data, sizeof(data) };
	struct msghdr msg = { .msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &iov,
			      .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n;

	if (poll(&p, 1, 10000) <= 0)
		return false;
	n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	if (n < 0)
		return false;
	iov.iov_len = (size_t)n;
	return sendmsg(fd, &msg, 0) == n;
}

static void check_connect(struct inside *in, const char *addr, unsigned port)
{
	struct wish w = wish_to(ACT_CONNECT, addr, port);
	struct outcome out = inside_do(in, &w);
	char want[80];

	snprintf(want, sizeof(want), "%s %u", addr, port);
	is_int(out.error, 0, "%s connects", want);
	is_text(take_connection(in->fds.fd[NATIVE_GATE]), want, "reaches the gate");
}

static void check_refused(struct inside *in, const char *addr, unsigned port)
{
	struct wish w = wish_to(ACT_CONNECT, addr, port);
	struct outcome out = inside_do(in, &w);
	char want[80];

	snprintf(want, sizeof(want), "6 %s %u", addr, port);
	is_int(out.error, ECONNREFUSED, "%s is refused", want);
	is_text(take_refusals(in->fds.fd[NATIVE_REFUSALS]), want, "and told of");
}

static void check_error(struct inside *in, struct wish w, int error, const char *what)
{
	struct outcome out = inside_do(in, &w);

	is_int(out.error, error, "%s", what);
}

static void check_answered(struct inside *in, int fd, const char *addr, unsigned port)
{
	struct wish w = wish_to(ACT_ASK, addr, port);
	struct outcome out;

	inside_begin(in, &w);
	ok(answer_datagram(fd), "%s %u is heard", addr, port);
	out = inside_end(in);
	is_int(out.error, 0, "%s %u answers", addr, port);
	is_int(out.value, 3, "all of it");
	/* A connected socket takes answers from its peer only; this says it again. */
	ok(memcmp(&out.from, &w.to, w.n < 8 ? w.n : 8) == 0, "from where it was asked");
}

/* ---- with nf_tables ----------------------------------------------------- */

static struct plan tproxy_plan(void)
{
	return (struct plan){ .net = { .kind = NET_GATE,
				       .nets = some_nets,
				       .n_nets = N_RULES(some_nets),
				       .datagrams = some_datagrams,
				       .n_datagrams = N_RULES(some_datagrams) } };
}

static void test_tcp_reaches_the_gate(void)
{
	static const char *const reached[] = { "198.18.0.5", "198.19.255.254", "10.7.0.1",
					       "10.7.255.255", "192.0.2.8", "192.0.2.9",
					       "240.0.0.1", "254.1.2.3", "2001:db8::5",
					       "2001:db8:ffff::" };
	struct plan plan = tproxy_plan();
	struct inside in = { 0 };
	struct wish w = wish_to(ACT_CONNECT, "198.18.0.5", 443);
	struct outcome out;

	start(&in, &plan);
	for (size_t i = 0; i < N_RULES(reached); i++) {
		check_connect(&in, reached[i], 443);
		check_connect(&in, reached[i], 1);
		check_connect(&in, reached[i], 61);
	}
	out = inside_do(&in, &w);
	is_int(((struct sockaddr_in *)(void *)&out.from)->sin_addr.s_addr, inet_addr("198.18.0.1"),
	       "from our own address");
	is_text(take_refusals(in.fds.fd[NATIVE_REFUSALS]), "", "nothing was refused");
	inside_stop(&in);
}

static void test_other_addresses_are_refused_at_once(void)
{
	static const char *const refused[] = { "8.8.8.8", "10.6.255.255", "10.8.0.0",
					       "169.254.169.254", "192.0.2.7", "192.0.2.10",
					       "239.255.255.255", "198.17.255.255", "198.20.0.0",
					       "2001:db7::1", "2001:db9::", "fd53:18::2",
					       "64:ff9b::102:304" };
	struct plan plan = tproxy_plan();
	struct inside in = { 0 };

	start(&in, &plan);
	for (size_t i = 0; i < N_RULES(refused); i++)
		if (strncmp(refused[i], "239", 3) != 0)
			check_refused(&in, refused[i], 443);
	check_error(&in, wish_to(ACT_CONNECT, "239.255.255.255", 443), ENETUNREACH, "multicast");
	check_error(&in, wish_to(ACT_CONNECT, "255.255.255.255", 443), ENETUNREACH, "broadcast");
	check_error(&in, wish_to(ACT_CONNECT, "::ffff:8.8.8.8", 443), ECONNREFUSED, "v4-mapped");
	is_text(take_refusals(in.fds.fd[NATIVE_REFUSALS]), "6 8.8.8.8 443", "is v4");
	is_text(take_connection(in.fds.fd[NATIVE_GATE]), "", "none of them came through");
	inside_stop(&in);
}

static void test_dns_is_ours_at_any_address(void)
{
	static const char *const servers[] = { "127.0.0.1", "127.0.0.53", "8.8.8.8", "198.18.0.1",
					       "198.18.0.7", "::1", "fd00::99", "fd53:18::1",
					       "2001:4860:4860::8888" };
	struct plan plan = tproxy_plan();
	struct inside in = { 0 };

	start(&in, &plan);
	for (size_t i = 0; i < N_RULES(servers); i++) {
		struct wish w = wish_to(ACT_CONNECT, servers[i], 53);
		char want[80];

		check_answered(&in, in.fds.fd[NATIVE_DNS], servers[i], 53);
		snprintf(want, sizeof(want), "%s 53", servers[i]);
		is_int(inside_do(&in, &w).error, 0, "%s over TCP", want);
		is_text(take_connection(in.fds.fd[NATIVE_DNS_STREAM]), want, "reaches us");
	}
	is_text(take_refusals(in.fds.fd[NATIVE_REFUSALS]), "", "nothing was refused");
	inside_stop(&in);
}

static void test_datagrams(void)
{
	struct plan plan = tproxy_plan();
	int refusals;
	struct inside in = { 0 };

	start(&in, &plan);
	refusals = in.fds.fd[NATIVE_REFUSALS];
	check_answered(&in, in.fds.fd[NATIVE_DATAGRAMS], "198.18.0.9", 5000);
	check_answered(&in, in.fds.fd[NATIVE_DATAGRAMS + 1], "2001:db8::9", 6000);
	is_int(in.fds.fd[NATIVE_DATAGRAMS + 2], -1, "one socket a port");
	is_text(take_refusals(refusals), "", "nothing was refused");
	check_error(&in, wish_to(ACT_ASK, "198.18.0.9", 443), ECONNREFUSED, "UDP to the pool");
	is_text(take_refusals(refusals), "17 198.18.0.9 443", "told of");
	check_error(&in, wish_to(ACT_ASK, "1.1.1.1", 4433), ECONNREFUSED, "UDP elsewhere");
	is_text(take_refusals(refusals), "17 1.1.1.1 4433", "told of");
	check_error(&in, wish_to(ACT_ASK, "10.7.0.1", 4433), ECONNREFUSED, "UDP to a net");
	is_text(take_refusals(refusals), "17 10.7.0.1 4433", "told of");
	check_error(&in, wish_to(ACT_ASK, "2001:db8::1", 443), ECONNREFUSED, "UDP over IPv6");
	is_text(take_refusals(refusals), "17 2001:db8::1 443", "told of");
	check_error(&in, wish_to(ACT_ASK, "127.0.0.1", 4433), ECONNREFUSED, "UDP to ourselves");
	is_text(take_refusals(refusals), "", "is nobody's business");
	inside_do(&in, &(struct wish){ 0 });
	check_error(&in, wish_to(ACT_SEND, "224.0.0.251", 5353), 0, "multicast is sent");
	check_error(&in, wish_to(ACT_SEND, "255.255.255.255", 68), 0, "broadcast is sent");
	is_text(take_refusals(refusals), "17 224.0.0.251 5353, 17 255.255.255.255 68",
		"and goes nowhere");
	inside_stop(&in);
}

static void test_pings_and_other_protocols(void)
{
	struct plan plan = tproxy_plan();
	struct wish lite = wish_to(ACT_ASK, "8.8.8.8", 99);
	int refusals;
	struct inside in = { 0 };

	start(&in, &plan);
	refusals = in.fds.fd[NATIVE_REFUSALS];
	check_error(&in, wish_to(ACT_PING, "127.0.0.1", 0), 0, "a ping of the loopback");
	check_error(&in, wish_to(ACT_PING, "198.18.0.1", 0), 0, "a ping of ourselves");
	check_error(&in, wish_to(ACT_PING, "::1", 0), 0, "a ping of ::1");
	is_text(take_refusals(refusals), "", "nothing was refused");
	check_error(&in, wish_to(ACT_PING, "8.8.8.8", 0), EHOSTUNREACH, "a ping of others");
	is_text(take_refusals(refusals), "1 8.8.8.8 0", "told of");
	check_error(&in, wish_to(ACT_PING, "198.18.0.4", 0), EHOSTUNREACH, "a ping of the pool");
	is_text(take_refusals(refusals), "1 198.18.0.4 0", "told of");
	check_error(&in, wish_to(ACT_PING, "2001:db8::1", 0), EACCES, "a ping over IPv6");
	is_text(take_refusals(refusals), "58 2001:db8::1 0", "told of");
	lite.protocol = IPPROTO_UDPLITE;
	if (socket(AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE) >= 0) {
		check_error(&in, lite, EHOSTUNREACH, "UDP-Lite");
		is_text(take_refusals(refusals), "136 8.8.8.8 99", "told of");
	}
	inside_stop(&in);
}

static void test_its_own_loopback_works(void)
{
	static const char *const own[] = { "127.0.0.1", "127.9.9.9", "198.18.0.1", "::1",
					   "fd53:18::1" };
	struct plan plan = tproxy_plan();
	struct inside in = { 0 };

	start(&in, &plan);
	for (size_t i = 0; i < N_RULES(own); i++) {
		struct wish w = wish_to(ACT_SERVE, own[i], 8080);
		struct outcome out = inside_do(&in, &w);

		is_int(out.error, 0, "a server at %s", own[i]);
		is_int(out.value, 'y', "the byte came");
		check_connect(&in, own[i], 61);	/* by whom it is refused */
		check_error(&in, wish_to(ACT_CONNECT, own[i], 81), ECONNREFUSED, "a closed port");
		check_error(&in, wish_to(ACT_BIND, own[i], 61), EACCES, "binding the gate's port");
		check_error(&in, wish_to(ACT_BIND, own[i], 53), EACCES, "binding DNS");
	}
	is_text(take_refusals(in.fds.fd[NATIVE_REFUSALS]), "", "nothing was refused");
	is_text(take_connection(in.fds.fd[NATIVE_GATE]), "", "nothing reached the gate");
	check_error(&in, wish_to(ACT_NETLINK, "::", 0), EPERM, "no change from inside");
	inside_stop(&in);
}

static void test_the_sets_change_from_outside(void)
{
	static const struct host_rule all[] = { { .form = HOST_NET },
						{ .form = HOST_NET, .addr = { .is_v6 = true } } };
	struct plan plan = { .net = { .kind = NET_GATE } };
	struct plan_net none = { 0 }, some = tproxy_plan().net;
	struct plan_net every = { .nets = all, .n_nets = 2 };
	struct cordon_err err;
	struct inside in = { 0 };
	struct table t;

	start(&in, &plan);
	table_init(&t, in.fds.fd[NATIVE_TABLE]);
	check_refused(&in, "10.7.0.1", 80);
	for (int i = 0; i < 3; i++) {
		ok(table_write(&t, &some, &err) == 0, "%s", err.msg);
		check_connect(&in, "10.7.0.1", 80);
		check_connect(&in, "2001:db8::1", 80);
		check_refused(&in, "8.8.8.8", 80);
		ok(table_write(&t, &every, &err) == 0, "%s", err.msg);
		check_connect(&in, "8.8.8.8", 80);
		check_connect(&in, "0.1.2.3", 80);
		check_connect(&in, "fc00::1", 80);
		ok(table_write(&t, &none, &err) == 0, "%s", err.msg);
		check_refused(&in, "10.7.0.1", 80);
		check_refused(&in, "2001:db8::1", 80);
		check_connect(&in, "198.18.0.9", 80);
	}
	inside_stop(&in);
}

/* More than the table holds: everything comes to the gate, which decides. */
static void test_many_ranges(void)
{
	static struct host_rule many[2 * MAX_NET_RANGES];
	struct plan plan = { .net = { .kind = NET_GATE, .nets = many } };
	struct cordon_err err;
	struct inside in = { 0 };
	struct table t;

	for (size_t i = 0; i < N_RULES(many); i++)
		many[i] = (struct host_rule){
			.form = HOST_NET,
			.bits = 32,
			.addr.b = { 20, (unsigned char)(i >> 8), (unsigned char)i, 9 },
		};
	plan.net.n_nets = MAX_NET_RANGES - 1;	/* and the pool */
	start(&in, &plan);
	table_init(&t, in.fds.fd[NATIVE_TABLE]);
	check_connect(&in, "20.0.0.9", 80);
	check_connect(&in, "20.1.254.9", 80);
	check_refused(&in, "20.1.254.8", 80);
	check_refused(&in, "20.2.0.9", 80);
	plan.net.n_nets = N_RULES(many);
	ok(table_write(&t, &plan.net, &err) == 0, "%s", err.msg);
	check_connect(&in, "20.2.0.9", 80);
	check_connect(&in, "8.8.8.8", 80);
	plan.net.n_nets = MAX_NET_RANGES - 1;
	ok(table_write(&t, &plan.net, &err) == 0, "%s", err.msg);
	check_refused(&in, "20.2.0.9", 80);
	inside_stop(&in);
}

static void test_a_flood_of_refusals_is_bounded(void)
{
	struct plan plan = tproxy_plan();
	struct refusal r[64];
	uint64_t told = 0, counted = 0;
	struct inside in = { 0 };
	struct table t;

	start(&in, &plan);
	for (int i = 0; i < 2000; i++) {
		struct wish w = wish_to(ACT_CONNECT, "9.9.9.9", 80);

		if (inside_do(&in, &w).error != ECONNREFUSED)
			ok(false, "try %d is refused", i);
	}
	while (refusals_read(in.fds.fd[NATIVE_REFUSALS], r, 64, &told) > 0)
		;
	ok(told >= 100 && told < 2000, "%llu of 2000 were told of", (unsigned long long)told);
	table_init(&t, in.fds.fd[NATIVE_TABLE]);
	ok(table_count_refused(&t, &counted) == 0, "the kernel says how many there were");
	is_int((long long)counted, 2000, "all are counted");
	/* Another kind is not hidden by it. */
	check_error(&in, wish_to(ACT_ASK, "9.9.9.9", 443), ECONNREFUSED, "UDP meanwhile");
	is_text(take_refusals(in.fds.fd[NATIVE_REFUSALS]), "17 9.9.9.9 443", "told of");
	ok(table_count_refused(&t, &counted) == 0, "asked again");
	is_int((long long)counted, 2001, "it is counted as well");
	inside_stop(&in);
}

static void test_without_the_listener_all_is_refused(void)
{
	struct plan plan = tproxy_plan();
	struct inside in = { 0 };

	start(&in, &plan);
	close(in.fds.fd[NATIVE_GATE]);
	check_refused(&in, "198.18.0.5", 443);
	check_refused(&in, "10.7.0.1", 443);
	inside_stop(&in);
}

/* ---- without it --------------------------------------------------------- */

static void test_closed(void)
{
	struct plan plan = { .net = { .kind = NET_CLOSED } };
	struct inside in = { 0 };

	start(&in, &plan);
	for (int i = 0; i < N_NATIVE_FDS; i++)
		is_int(in.fds.fd[i], -1, "descriptor %d", i);
	check_error(&in, wish_to(ACT_CONNECT, "198.18.0.5", 443), ENETUNREACH, "no way out");
	check_error(&in, wish_to(ACT_CONNECT, "2001:db8::1", 443), ENETUNREACH, "over IPv6");
	check_error(&in, wish_to(ACT_SERVE, "127.0.0.1", 8080), 0, "a server inside");
	inside_stop(&in);
}

/* A call that is refused where an argument has this value. */
static void refuse(int call, unsigned arg, unsigned value, unsigned error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 (unsigned)offsetof(struct seccomp_data, args) + 8 * arg),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { N_RULES(code), code };

	ok(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	   prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0, "a filter");
}

/* ---- without IPv6 ------------------------------------------------------- */

static void check_v4_only(struct inside *in)
{
	check_connect(in, "198.18.0.5", 443);
	check_connect(in, "10.7.0.1", 443);
	check_refused(in, "8.8.8.8", 443);
	check_answered(in, in->fds.fd[NATIVE_DNS], "8.8.8.8", 53);
	check_answered(in, in->fds.fd[NATIVE_DNS], "127.0.0.1", 53);
	check_answered(in, in->fds.fd[NATIVE_DATAGRAMS], "198.18.0.9", 5000);
	check_error(in, wish_to(ACT_SERVE, "127.0.0.1", 8080), 0, "a server inside");
}

static void test_ipv6_is_switched_off(void)
{
	struct plan plan = tproxy_plan();
	struct inside in = { .settings = "/proc/sys/net/ipv6/conf/all/disable_ipv6" };

	start(&in, &plan);
	check_v4_only(&in);
	check_error(&in, wish_to(ACT_CONNECT, "2001:db8::1", 443), EADDRNOTAVAIL, "IPv6");
	inside_stop(&in);
}

static void test_a_kernel_without_ipv6(void)
{
	struct plan plan = tproxy_plan();
	struct cordon_err err;
	struct inside in = { 0 };
	struct table t;

	refuse(SYS_socket, 0, AF_INET6, EAFNOSUPPORT);
	start(&in, &plan);
	check_v4_only(&in);
	check_error(&in, wish_to(ACT_CONNECT, "2001:db8::1", 443), EAFNOSUPPORT, "IPv6");
	table_init(&t, in.fds.fd[NATIVE_TABLE]);
	ok(table_write(&t, &plan.net, &err) == 0, "%s", err.msg);
	check_connect(&in, "10.7.0.1", 443);
	inside_stop(&in);
}

/* ---- in a run ----------------------------------------------------------- */

/* The next message of init that is no NATIVE_READY. */
static enum native_kind recv_kind(const struct native_child *c, struct native_fds *fds, int *value)
{
	struct native_message m;

	for (int i = 0; i < 3; i++) {
		struct pollfd p = { .fd = c->control, .events = POLLIN };
		int rc = poll(&p, 1, 30000) > 0 ? native_recv(c, &m, fds) : 0;

		if (rc > 0 && m.kind == NATIVE_FAILED)
			printf("# %s\n", m.err.msg);
		if (rc > 0 && m.kind != NATIVE_READY) {
			*value = m.value;
			return m.kind;
		}
		if (rc == 0)
			break;
	}
	return N_NATIVE_KINDS;
}

#define SOME_LIMITS                                                                             \
	{ .wall_ms = INT64_MAX, .file_size = INT64_MAX, .open_files = 64,                       \
	  .processes = INT64_MAX, .cpus = INT64_MAX }

/* Starts a command in a network with a gate. */
static bool start_run(struct arena *arena, struct native_child *ret)
{
	static const char *const argv[] = { "/bin/sleep", "60", NULL }, *const envp[] = { NULL };
	struct plan plan = { .arena = arena,
			     .clone_flags = CLONE_NEWUSER | CLONE_NEWNET,
			     .uid = getuid(),
			     .gid = getgid(),
			     .argv = argv,
			     .envp = envp,
			     .cwd = "/",
			     .limits = SOME_LIMITS,
			     .most = SOME_LIMITS,
			     .net = { .kind = NET_GATE } };
	struct native_stdio io = { .fd = { 0, 1, 2 } };
	struct native_scope scope = { .cgroup = -1 };
	struct cordon_err err;

	return ok(native_clone(&plan, &io, &scope, NULL, ret, &err) == 0, "%s", err.msg) &&
	       ok(native_send(ret, NATIVE_GO, 0) == 0, "go");
}

static void test_one_more_socket_of_a_run(void)
{
	struct arena arena = ARENA(1 << 20);
	struct sockaddr_in dns = { .sin_family = AF_INET, .sin_port = htons(53),
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct native_fds fds = NATIVE_NO_FDS;
	struct native_child c;
	int value = 0;

	if (!start_run(&arena, &c))
		return;
	for (int i = 0; i < 2; i++) {
		ok(native_send(&c, NATIVE_SOCKET_WANTED, 0) == 0, "a wish");
		is_int(recv_kind(&c, &fds, &value), NATIVE_SOCKET, "is answered");
		is_int(value, 0, "with a socket");
		ok(fds.fd[NATIVE_GATE] >= 0, "beside those of the start");
		connect(fds.fd[NATIVE_MADE], (const struct sockaddr *)&dns, sizeof(dns));
		is_text(take_connection(fds.fd[NATIVE_DNS_STREAM]), "127.0.0.1 53",
			"which reaches what listens inside");
	}
	for (int i = 0; i < N_NATIVE_FDS; i++)
		close(fds.fd[i]);
	close(c.control);
	is_int(waitpid(c.pid, NULL, 0), c.pid, "init ends with the supervisor");
	arena_release(&arena);
}

static void test_a_failure_names_the_step(void)
{
	static const struct {
		int call;
		unsigned arg, value;
		const char *says;
	} rows[] = {
		{ SYS_socket, 0, AF_NETLINK, "network: cannot open a socket for routes" },
		{ SYS_bind, 2, sizeof(struct sockaddr_in6),
		  "network: cannot open the sockets for DNS" },
		{ SYS_listen, 1, 1024, "network: cannot open the sockets for DNS" },
		{ SYS_setsockopt, 2, IPV6_TRANSPARENT, "network: cannot open the gate's listener" },
		{ SYS_socket, 2, NETLINK_NETFILTER,
		  "network: cannot open a socket for the log of refusals (tproxy)" },
	};

	for (size_t i = 0; i < N_RULES(rows); i++) {
		pid_t pid = fork();
		int status = -1;

		if (pid == 0) {
			struct arena arena = ARENA(1 << 20);
			struct native_message m = { 0 };
			struct native_fds fds = NATIVE_NO_FDS;
			struct native_child c;
			struct pollfd p = { .events = POLLIN };

			refuse(rows[i].call, rows[i].arg, rows[i].value, EPERM);
			if (!start_run(&arena, &c))
				_exit(1);
			p.fd = c.control;
			poll(&p, 1, 30000);
			ok(native_recv(&c, &m, &fds) == 1 && m.kind == NATIVE_FAILED, "it fails");
			ok(strncmp(m.err.msg, rows[i].says, strlen(rows[i].says)) == 0, "%s: %s",
			   rows[i].says, m.err.msg);
			is_int(m.err.sys, EPERM, "by what the kernel said");
			fflush(stdout);
			_exit(tap_failures);
		}
		waitpid(pid, &status, 0);
		is_int(status, 0, "%s", rows[i].says);
	}
}

/* ---- its files ---------------------------------------------------------- */

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	ok(f && fputs(text, f) >= 0 && fclose(f) == 0, "%s", path);
}

/* What a script says that runs with these mounts. */
static const char *run_with_mounts(struct plan_mount *mounts, size_t n, const char *script)
{
	static char said[4096];
	const char *const argv[] = { "/bin/sh", "-c", script, NULL };
	const char *const envp[] = { "PATH=/usr/bin:/bin", NULL };
	struct arena arena = ARENA(64 << 20);
	struct plan plan = { .arena = &arena,
			     .clone_flags = CLONE_NEWUSER | CLONE_NEWNS,
			     .uid = getuid(),
			     .gid = getgid(),
			     .argv = argv,
			     .envp = envp,
			     .cwd = "/",
			     .limits = SOME_LIMITS,
			     .most = SOME_LIMITS,
			     .mounts = mounts,
			     .n_mounts = n };
	struct native_scope scope = { .cgroup = -1 };
	struct native_fds fds = NATIVE_NO_FDS;
	struct native_stdio io;
	struct native_child c;
	struct cordon_err err;
	int ends[2], value;
	ssize_t got, at = 0;

	ok(pipe2(ends, O_CLOEXEC) == 0, "a pipe");
	/* Not /dev/null, which would be opened anew where there is none. */
	io = (struct native_stdio){ .fd = { ends[0], ends[1], ends[1] } };
	if (!ok(native_clone(&plan, &io, &scope, NULL, &c, &err) == 0, "%s", err.msg))
		exit(1);
	close(ends[1]);
	native_send(&c, NATIVE_GO, 0);
	is_int(recv_kind(&c, &fds, &value), NATIVE_EXITED, "it ran");
	while ((got = read(ends[0], said + at, sizeof(said) - 1 - (size_t)at)) > 0)
		at += got;
	said[at] = '\0';
	waitpid(c.pid, NULL, 0);
	arena_release(&arena);
	return said;
}

static void test_texts_replace_files(void)
{
	static const char *const names[] = { "chain", "hosts", "loop", "next", "resolv.conf" };
	char dir[] = "/tmp/cordon-texts-XXXXXX", etc[64], path[128];
	struct stat st;
	struct plan_mount mounts[] = {
		{ MOUNT_SYSTEM, .optional = true, .source = "/usr", .target = "/usr" },
		{ MOUNT_SYSTEM, .optional = true, .source = "/bin", .target = "/bin" },
		{ MOUNT_SYSTEM, .optional = true, .source = "/lib", .target = "/lib" },
		{ MOUNT_SYSTEM, .optional = true, .source = "/lib64", .target = "/lib64" },
		{ MOUNT_RO, .source = etc, .target = "/etc" },
		{ MOUNT_TEXT, .source = "a link\n", .target = "/etc/resolv.conf" },
		{ MOUNT_TEXT, .source = "a file\n", .target = "/etc/hosts" },
		{ MOUNT_TEXT, .source = "a chain\n", .target = "/etc/chain" },
		{ MOUNT_TEXT, .source = "nothing\n", .target = "/opt/new" },
		{ MOUNT_TEXT, .optional = true, .source = "x", .target = "/etc/absent" },
		{ MOUNT_TEXT, .optional = true, .source = "x", .target = "/etc/loop" },
	};

	umask(077);
	ok(mkdtemp(dir) != NULL, "a place");
	snprintf(etc, sizeof(etc), "%s/etc", dir);
	ok(mkdir(etc, 0755) == 0, "%s", etc);
	snprintf(path, sizeof(path), "%s/hosts", etc);
	write_text(path, "the host's\n");
	snprintf(path, sizeof(path), "%s/resolv.conf", etc);
	ok(symlink("../../../run/systemd/./resolve/stub-resolv.conf", path) == 0, "a link");
	snprintf(path, sizeof(path), "%s/chain", etc);
	ok(symlink("next", path) == 0, "a link to a link");
	snprintf(path, sizeof(path), "%s/next", etc);
	ok(symlink("/run/far/away", path) == 0, "that leads away");
	snprintf(path, sizeof(path), "%s/loop", etc);
	ok(symlink("loop", path) == 0, "a link to itself");
	is_text(run_with_mounts(mounts, N_RULES(mounts),
				"cd /etc; cat resolv.conf hosts chain /opt/new\n"
				"cat /run/systemd/resolve/stub-resolv.conf /run/far/away\n"
				"ls -l /opt/new | cut -c1-10; ls /etc\n"
				"for f in resolv.conf hosts /opt/new; do\n"
				"(echo bad >$f) 2>&- && echo written $f\n"
				"chmod 600 $f 2>&- && echo changed $f\n"
				"rm -f $f 2>&- && echo removed $f\n"
				"done; cat hosts"),
		"a link\na file\na chain\nnothing\na link\na chain\n-r--r--r--\n"
		"chain\nhosts\nloop\nnext\nresolv.conf\na file\n", "what is seen inside");
	/* Nothing came to the host: these are all there is. */
	snprintf(path, sizeof(path), "%s/hosts", etc);
	ok(stat(path, &st) == 0 && st.st_size == (off_t)strlen("the host's\n"), "is untouched");
	for (size_t i = 0; i < N_RULES(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", etc, names[i]);
		ok(unlink(path) == 0, "%s is there", path);
	}
	ok(rmdir(etc) == 0 && rmdir(dir) == 0, "and nothing else");
}

/* What cannot be taken whole is not taken in part. */
static void test_no_room_for_descriptors(void)
{
	struct native_child c = { .pidfd = -1 };
	struct native_message m = { .kind = NATIVE_READY, .fds = { 7 } };
	struct native_fds fds = NATIVE_NO_FDS;
	int ends[2];

	ok(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0, "a pair");
	c.control = ends[0];
	ok(send(ends[1], &m, sizeof(m), 0) == (ssize_t)sizeof(m), "three are promised");
	is_int(native_recv(&c, &m, &fds), 1, "a message");
	is_int(m.kind, NATIVE_FAILED, "is a failure");
	ok(strstr(m.err.msg, "no room"), "%s", m.err.msg);
	is_int(fds.fd[0], -1, "nothing is left");
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_tcp_reaches_the_gate),
		TAP(test_other_addresses_are_refused_at_once),
		TAP(test_dns_is_ours_at_any_address),
		TAP(test_datagrams),
		TAP(test_pings_and_other_protocols),
		TAP(test_its_own_loopback_works),
		TAP(test_the_sets_change_from_outside),
		TAP(test_many_ranges),
		TAP(test_a_flood_of_refusals_is_bounded),
		TAP(test_without_the_listener_all_is_refused),
		TAP(test_closed),
		TAP(test_ipv6_is_switched_off),
		TAP(test_a_kernel_without_ipv6),
		TAP(test_one_more_socket_of_a_run),
		TAP(test_a_failure_names_the_step),
		TAP(test_texts_replace_files),
		TAP(test_no_room_for_descriptors),
		TAP_END,
	});
}
