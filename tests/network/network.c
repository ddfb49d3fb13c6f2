/* The network of a cordon with a gate: what reaches the gate's sockets, what is
 * refused at once, and what is told of it. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

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
	bool lost;
	size_t n = refusals_read(fd, r, 16, &lost), at = 0;

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

	if (poll(&p, 1, 1000) <= 0)
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
	return (struct plan){ .net = { .rung = NET_TPROXY,
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
	struct inside in;
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
	struct inside in;

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
	struct inside in;

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
	struct inside in;

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
	struct inside in;

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
	struct inside in;

	start(&in, &plan);
	for (size_t i = 0; i < N_RULES(own); i++) {
		struct wish w = wish_to(ACT_SERVE, own[i], 8080);
		struct outcome out = inside_do(&in, &w);

		is_int(out.error, 0, "a server at %s", own[i]);
		is_int(out.value, 'y', "the byte came");
		check_error(&in, wish_to(ACT_CONNECT, own[i], 61), ECONNREFUSED, "the gate's port");
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
	struct plan plan = { .net = { .rung = NET_TPROXY } };
	struct plan_net none = { 0 }, some = tproxy_plan().net;
	struct plan_net every = { .nets = all, .n_nets = 2 };
	struct cordon_err err;
	struct inside in;
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
	struct plan plan = { .net = { .rung = NET_TPROXY, .nets = many } };
	struct cordon_err err;
	struct inside in;
	struct table t;

	for (size_t i = 0; i < N_RULES(many); i++)
		many[i] = (struct host_rule){
			.form = HOST_NET,
			.bits = 32,
			.addr.b = { 20, (unsigned char)(i >> 8), (unsigned char)i, 9 },
		};
	plan.net.n_nets = MAX_NET_RANGES;
	start(&in, &plan);
	table_init(&t, in.fds.fd[NATIVE_TABLE]);
	check_connect(&in, "20.0.0.9", 80);
	check_connect(&in, "20.1.255.9", 80);
	check_refused(&in, "20.1.255.8", 80);
	check_refused(&in, "20.2.0.9", 80);
	plan.net.n_nets = N_RULES(many);
	ok(table_write(&t, &plan.net, &err) == 0, "%s", err.msg);
	check_connect(&in, "20.2.0.9", 80);
	check_connect(&in, "8.8.8.8", 80);
	plan.net.n_nets = MAX_NET_RANGES;
	ok(table_write(&t, &plan.net, &err) == 0, "%s", err.msg);
	check_refused(&in, "20.2.0.9", 80);
	inside_stop(&in);
}

static void test_a_flood_of_refusals_is_bounded(void)
{
	struct plan plan = tproxy_plan();
	struct refusal r[64];
	size_t told = 0, n;
	struct inside in;
	bool lost;

	start(&in, &plan);
	for (int i = 0; i < 2000; i++) {
		struct wish w = wish_to(ACT_CONNECT, "9.9.9.9", 80);

		if (inside_do(&in, &w).error != ECONNREFUSED)
			ok(false, "try %d is refused", i);
	}
	while ((n = refusals_read(in.fds.fd[NATIVE_REFUSALS], r, 64, &lost)) > 0)
		told += n;
	ok(told >= 100 && told < 2000, "%zu of 2000 were told of", told);
	/* Another kind is not hidden by it. */
	check_error(&in, wish_to(ACT_ASK, "9.9.9.9", 443), ECONNREFUSED, "UDP meanwhile");
	is_text(take_refusals(in.fds.fd[NATIVE_REFUSALS]), "17 9.9.9.9 443", "told of");
	inside_stop(&in);
}

static void test_without_the_listener_all_is_refused(void)
{
	struct plan plan = tproxy_plan();
	struct inside in;

	start(&in, &plan);
	close(in.fds.fd[NATIVE_GATE]);
	check_refused(&in, "198.18.0.5", 443);
	check_refused(&in, "10.7.0.1", 443);
	inside_stop(&in);
}

/* ---- without it --------------------------------------------------------- */

static void test_ports_without_nf_tables(void)
{
	static const uint16_t ports[] = { 443, 53, 8443 };
	struct plan plan = { .net = { .rung = NET_PORTS, .ports = ports, .n_ports = 3 } };
	struct inside in;
	struct wish w;

	start(&in, &plan);
	is_int(in.fds.fd[NATIVE_GATE], -1, "no transparent listener");
	is_int(in.fds.fd[NATIVE_TABLE], -1, "no table");
	is_int(in.fds.fd[NATIVE_PORTS + 1], -1, "port 53 is DNS");
	w = wish_to(ACT_CONNECT, "198.18.0.5", 443);
	is_int(inside_do(&in, &w).error, 0, "port 443");
	is_text(take_connection(in.fds.fd[NATIVE_PORTS]), "198.18.0.5 443", "reaches the gate");
	w = wish_to(ACT_CONNECT, "2001:db8::1", 8443);
	is_int(inside_do(&in, &w).error, 0, "port 8443 over IPv6");
	is_text(take_connection(in.fds.fd[NATIVE_PORTS + 2]), "2001:db8::1 8443", "reaches it");
	check_error(&in, wish_to(ACT_CONNECT, "198.18.0.5", 80), ECONNREFUSED, "another port");
	check_error(&in, wish_to(ACT_ASK, "198.18.0.5", 443), ECONNREFUSED, "UDP");
	check_error(&in, wish_to(ACT_BIND, "0.0.0.0", 8443), EADDRINUSE, "taking its port");
	check_error(&in, wish_to(ACT_BIND, "198.18.0.5", 8443), EADDRINUSE, "at one address");
	check_answered(&in, in.fds.fd[NATIVE_DNS], "8.8.8.8", 53);
	check_error(&in, wish_to(ACT_SERVE, "127.0.0.1", 8080), 0, "a server inside");
	inside_stop(&in);
}

static void test_closed(void)
{
	struct plan plan = { .net = { .rung = NET_CLOSED } };
	struct inside in;

	start(&in, &plan);
	for (int i = 0; i < N_NATIVE_FDS; i++)
		is_int(in.fds.fd[i], -1, "no descriptor %d", i);
	check_error(&in, wish_to(ACT_CONNECT, "198.18.0.5", 443), ENETUNREACH, "no way out");
	check_error(&in, wish_to(ACT_CONNECT, "2001:db8::1", 443), ENETUNREACH, "over IPv6");
	check_error(&in, wish_to(ACT_SERVE, "127.0.0.1", 8080), 0, "a server inside");
	inside_stop(&in);
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
		TAP(test_ports_without_nf_tables),
		TAP(test_closed),
		TAP_END,
	});
}
