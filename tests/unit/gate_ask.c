/* Asking name servers: one of ours, which does what its names say. */
#include "gate/ask.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gate/dns_answer.h"
#include "policy/host.h"
#include "tap.h"

/* ---- the server ------------------------------------------------------------ */

static int udp, tcp;
static struct sockaddr_in place;

static void listen_somewhere(void)
{
	socklen_t n = sizeof(place);

	place = (struct sockaddr_in){ .sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(tcp, (struct sockaddr *)&place, n) < 0 || listen(tcp, 8) < 0 ||
	    getsockname(tcp, (struct sockaddr *)&place, &n) < 0 ||
	    bind(udp, (struct sockaddr *)&place, n) < 0)
		BUG("no port for both");
}

/* Twenty addresses, written by hand behind the question. */
static size_t add_many(unsigned char *out, size_t n)
{
	static const unsigned char record[] = { 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4, 192, 0, 2 };

	out[7] = 20;
	for (unsigned char i = 0; i < 20; i++) {
		memcpy(out + n, record, sizeof(record));
		out[n + sizeof(record)] = (unsigned char)(i + 1);
		n += sizeof(record) + 1;
	}
	return n;
}

/* 0: no answer. */
static size_t answer(const unsigned char *msg, size_t n, bool is_stream, unsigned char *out)
{
	static const unsigned char addr[4] = { 192, 0, 2, 1 };
	struct dns_question q;
	struct str name;

	if (dns_question_parse(msg, n, &q) != DNS_OK)
		BUG("a question that we do not understand ourselves");
	name = (struct str){ q.name, q.name_n };
	if (str_starts(name, "absent"))
		return dns_answer_nxdomain(&q, STR(""), out, 1024);
	if (str_starts(name, "fails"))
		return dns_answer_error(&q, DNS_SERVFAIL, out, 1024);
	if (str_starts(name, "many")) {
		n = dns_answer_nodata(&q, out, 1024);
		if (is_stream && q.type == DNS_TYPE_A)
			return add_many(out, n);
		out[2] |= is_stream ? 0 : 2;	/* TC */
		return n;
	}
	if (q.type == DNS_TYPE_AAAA && str_starts(name, "half-fails"))
		return dns_answer_error(&q, DNS_NOTIMP, out, 1024);
	if (q.type == DNS_TYPE_AAAA && str_starts(name, "half-silent"))
		return 0;
	if (q.type == DNS_TYPE_AAAA)
		return dns_answer_nodata(&q, out, 1024);
	return dns_answer_addr(&q, addr, 9, out, 1024);
}

static void serve_datagram(void)
{
	unsigned char msg[1024], out[1024];
	struct sockaddr_in from;
	socklen_t from_n = sizeof(from);
	ssize_t n = recvfrom(udp, msg, sizeof(msg), 0, (struct sockaddr *)&from, &from_n);
	size_t n_out = n > 0 ? answer(msg, (size_t)n, false, out) : 0;

	/* Before it, what is for somebody else. */
	if (n_out) {
		out[0] ^= 1;
		(void)!sendto(udp, out, n_out, 0, (struct sockaddr *)&from, from_n);
		out[0] ^= 1;
		(void)!sendto(udp, out, n_out, 0, (struct sockaddr *)&from, from_n);
	}
}

/* In two pieces, the first of which is half a length. */
static void serve_stream(void)
{
	unsigned char msg[1024], out[1026];
	int fd = accept(tcp, NULL, NULL);
	ssize_t n = recv(fd, msg, sizeof(msg), 0);
	size_t n_out = n > 2 ? answer(msg + 2, (size_t)n - 2, true, out + 2) : 0;

	out[0] = (unsigned char)(n_out >> 8);
	out[1] = (unsigned char)n_out;
	if (n_out) {
		(void)!send(fd, out, 1, MSG_NOSIGNAL);
		(void)!send(fd, out + 1, n_out + 1, MSG_NOSIGNAL);
	}
	close(fd);
}

static _Noreturn void server_main(void)
{
	struct pollfd p[] = { { .fd = udp, .events = POLLIN }, { .fd = tcp, .events = POLLIN } };

	alarm(120);
	while (poll(p, 2, -1) > 0) {
		if (p[0].revents)
			serve_datagram();
		if (p[1].revents)
			serve_stream();
	}
	_exit(0);
}

/* ---- the tests --------------------------------------------------------------- */

static void add(struct name_servers *s, const struct sockaddr_in *at)
{
	memcpy(&s->list[s->n], at, sizeof(*at));
	s->size[s->n++] = sizeof(*at);
}

static const struct {
	const char *name;
	uint32_t n;
} rows[] = {
	{ "plain.test", 1 },
	{ "absent.test", 0 },
	{ "many.test", MAX_NAME_ANSWERS },
	/* of which the addresses that there are count, and are not waited for */
	{ "half-fails.test", 1 },
	{ "half-silent.test", 1 },
	{ "fails.test", 0 },
	{ "a..test", 0 },
};

static void test_asking(void)
{
	struct name_servers one = { .wait_ms = 60000, .rounds = 1 }, two = one, other = one;
	struct sockaddr_in closed = { .sin_family = AF_INET, .sin_port = htons(1),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct resolve_answer a;
	pid_t server;

	listen_somewhere();
	add(&one, &place);
	add(&two, &closed);
	add(&two, &place);
	server = fork();
	if (server == 0)
		server_main();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		a = (struct resolve_answer){ .n = 0 };
		ask_servers(&one, rows[i].name, &a);
		ok(a.n == rows[i].n, "%s has %u", rows[i].name, a.n);
		if (a.n)
			ok(!a.answers[0].is_v6 && memcmp(a.answers[0].b, "\300\0\2\1", 4) == 0,
			   "%s: which", rows[i].name);
	}
	a = (struct resolve_answer){ .n = 0 };
	ask_servers(&two, "plain.test", &a);
	ok(a.n == 1, "the second server, where nobody is at the first");
	add(&other, &closed);
	a = (struct resolve_answer){ .n = 0 };
	ask_servers(&other, "plain.test", &a);
	ok(a.n == 0, "nobody at all");
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
}

static void read_text(struct name_servers *s, const char *text)
{
	char line[200];

	snprintf(line, sizeof(line), "%s", text);
	name_servers_read(s, line);
}

static void test_list(void)
{
	struct name_servers s = NAME_SERVERS;
	struct sockaddr_in *v4 = (struct sockaddr_in *)&s.list[0];
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&s.list[1];

	read_text(&s, "# nameserver 192.0.2.9\n");
	read_text(&s, "; nameserver 192.0.2.9\n");
	read_text(&s, "\n");
	read_text(&s, "nameserver\n");
	read_text(&s, "nameserver resolver.test\n");
	read_text(&s, "search a.test b.test\n");
	ok(s.n == 0 && s.wait_ms == 5000 && s.rounds == 2, "what names no server");
	read_text(&s, "nameserver 192.0.2.1 # the first\n");
	read_text(&s, "nameserver\t2001:db8::1\r\n");
	read_text(&s, "nameserver fe80::1%lo\n");
	read_text(&s, "nameserver 192.0.2.4\n");
	ok(s.n == 3, "three are read");
	ok(v4->sin_port == htons(53) && v4->sin_addr.s_addr == htonl(0xc0000201), "IPv4");
	ok(v6->sin6_family == AF_INET6 && v6->sin6_port == htons(53), "IPv6");
	ok(((struct sockaddr_in6 *)&s.list[2])->sin6_scope_id == 1, "of an interface");
	read_text(&s, "options rotate timeout:2 attempts:4 edns0\n");
	ok(s.wait_ms == 2000 && s.rounds == 4, "options");
	read_text(&s, "options timeout:0 attempts:99999999999999999999\n");
	ok(s.wait_ms == 1000 && s.rounds == 4, "options that are none");
}

int main(void)
{
	return tap_run((struct tap_case[]){ TAP(test_list), TAP(test_asking), TAP_END });
}
