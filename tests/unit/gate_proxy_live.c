/* The gate as a proxy on a unix socket: its clients say whom they want, and what
 * follows is judged as ever. */
#include <sys/un.h>

#include "gate_box.h"
#include "gate/proxy.h"

/* `at` is the listener's address, which has no place in the file system here. */
struct proxy_box {
	struct box b;
	struct sockaddr_un at;
	socklen_t n_at;
};

#define NAMED	"[network]\nallow = [\"a.test:80\", \"127.0.0.1:80\", \"192.0.2.1:80\"]\n"

static struct plan_net *proxied(struct box *b, const char *policy)
{
	struct plan_net *net = net_of(b, policy);

	net->rung = NET_PROXY;
	return net;
}

/* Like open_box(); a.test is where the test's server is. */
static void open_proxy_box(struct proxy_box *p, const char *policy)
{
	struct gate_options o = { .report = heard, .arg = &p->b };
	char why[HOST_WHY];
	struct cordon_err err;
	struct gate_fds fds;

	*p = (struct proxy_box){ .b = { .arena = ARENA(64 << 20) }, .n_at = sizeof(p->at) };
	memset(&fds, 0xff, sizeof(fds));
	fds.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	p->at.sun_family = AF_UNIX;
	if (bind(fds.listener, (struct sockaddr *)&p->at, sizeof(sa_family_t)) < 0 ||
	    listen(fds.listener, 128) < 0 ||
	    getsockname(fds.listener, (struct sockaddr *)&p->at, &p->n_at) < 0 ||
	    host_parse(STR("a.test"), &p->b.reroute.host, why) < 0)
		abort();
	p->b.reroute.addr = (struct host_addr){ .b = { 127, 0, 0, 1 } };
	p->b.server = listener(&p->b.reroute.to_port, INADDR_LOOPBACK);
	o.net = proxied(&p->b, policy);
	ok(gate_start(&o, &p->b.gate, &err) == 0, "%s", err.msg);
	ok(gate_join(p->b.gate, &fds, &err) == 0, "%s", err.msg);
}

static int dial_proxy(const struct proxy_box *p)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (const struct sockaddr *)&p->at, p->n_at) < 0 ||
	    fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		abort();
	return fd;
}

static void put(int fd, const char *bytes, size_t n)
{
	is_int(send(fd, bytes, n, MSG_NOSIGNAL), (long long)n, "%zu bytes are sent", n);
}

/* Asks by SOCKS5; the code of the answer, or -1. */
static int ask(struct proxy_box *p, int fd, const char *name, unsigned port)
{
	char text[4096], request[300];
	size_t n = strlen(name);

	put(fd, "\5\1\0", 3);
	if (!ready(&p->b, fd) || recv(fd, text, sizeof(text), 0) != 2 || text[0] != 5 ||
	    text[1] != 0)
		return -1;
	n = (size_t)snprintf(request, sizeof(request), "\5\1%c\3%c%s%c%c", 0, (int)n, name,
			     (int)(port >> 8), (int)(port & 255));
	put(fd, request, n);
	if (!ready(&p->b, fd) || recv(fd, text, sizeof(text), 0) != 10)
		return -1;
	return (unsigned char)text[1];
}

static int tunnel(struct proxy_box *p, const char *target, const char *behind, char text[4096])
{
	char request[1024];
	int fd = dial_proxy(p), n;

	n = snprintf(request, sizeof(request), "CONNECT %s HTTP/1.1\r\n\r\n%s", target, behind);
	put(fd, request, (size_t)n);
	hears(&p->b, fd, text);
	return fd;
}

static void test_socks(void)
{
	char text[4096];
	struct proxy_box p;
	int client, server;

	open_proxy_box(&p, NAMED);
	client = dial_proxy(&p);
	is_int(ask(&p, client, "A.test.", 80), 0, "connected");
	server = taken(&p.b);
	put(server, "220 hello\r\n", 11);
	is_text(hears(&p.b, client, text), "220 hello\r\n", "the server speaks first");
	put(client, "EHLO x\r\n", 8);
	ok(shutdown(client, SHUT_WR) == 0, "half of it ends");
	is_text(hears(&p.b, server, text), "EHLO x\r\n", "the client answers");
	is_text(hears(&p.b, server, text), ".", "and ends");
	put(server, "221 bye\r\n", 9);
	close(server);
	is_text(hears(&p.b, client, text), "221 bye\r\n", "the other half lives");
	is_text(hears(&p.b, client, text), ".", "to its end");
	close(client);
	work_until(&p.b, &p.b.n_closed, 1);
	is_int(p.b.n_allowed, 1, "one decision");
	is_int(p.b.n_closed, 1, "one end");
	is_int((long long)p.b.bytes_out, 8, "bytes out");
	is_int((long long)p.b.bytes_in, 20, "bytes in");
	close_box(&p.b);
}

static void test_refused(void)
{
	static const struct {
		const char *name;
		unsigned port, answer, n_denied;
	} rows[] = {
		{ "b.test", 80, 2, 1 },
		{ "a.test", 81, 2, 2 },
		{ "b.a.test", 80, 2, 3 },
		/* By a rule, but the loopback of the host is none of the cordon's. */
		{ "127.0.0.1", 80, 2, 4 },
		{ "localhost", 80, 2, 5 },
		/* Stands for no name. */
		{ "198.18.0.5", 80, 2, 6 },
		{ "host.cordon.internal", 80, 2, 7 },
		{ "no host", 80, 1, 7 },
		{ "a.test", 0, 1, 7 },
	};
	char text[4096];
	struct proxy_box p;

	open_proxy_box(&p, NAMED);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int client = dial_proxy(&p);

		is_int(ask(&p, client, rows[i].name, rows[i].port), rows[i].answer, "%s:%u",
		       rows[i].name, rows[i].port);
		is_int(p.b.n_denied, rows[i].n_denied, "%s: %s", rows[i].name, p.b.last);
		is_text(hears(&p.b, client, text), ".", "over");
		close(client);
	}
	is_int(taken_by_now(&p.b), -1, "nobody was dialled");
	is_int(p.b.n_allowed, 0, "nor allowed");
	close_box(&p.b);
}

static void test_connect(void)
{
	char text[4096];
	struct proxy_box p;
	int client, server;

	open_proxy_box(&p, NAMED);
	client = tunnel(&p, "a.test:80", "", text);
	is_text(text, "HTTP/1.1 200 Connection established\r\n\r\n", "connected");
	server = taken(&p.b);
	put(client, "x\n", 2);
	is_text(hears(&p.b, server, text), "x\n", "and heard");
	close(client);
	close(server);
	client = tunnel(&p, "b.test:80", "", text);
	ok(strstr(text, " 403 ") && strstr(text, "host b.test is not in the allowlist"),
	   "told why: %s", text);
	close(client);
	client = tunnel(&p, "a.test", "", text);
	ok(strstr(text, " 400 "), "no port: %s", text);
	close(client);
	close_box(&p.b);
}

/* [G2], whenever the bytes come. */
static void test_another_host_in_a_request(void)
{
	static const char good[] = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
	static const char bad[] = "GET / HTTP/1.1\r\nHost: b.test\r\n\r\n";
	char text[4096];
	struct proxy_box p;
	int client, server;

	open_proxy_box(&p, NAMED);
	client = tunnel(&p, "a.test:80", "", text);
	server = taken(&p.b);
	put(client, good, sizeof(good) - 1);
	is_text(hears(&p.b, server, text), good, "the first one passes");
	close(client);
	close(server);
	client = tunnel(&p, "a.test:80", "", text);
	server = taken(&p.b);
	put(client, bad, sizeof(bad) - 1);
	work(&p.b, 20);
	heard_by(server, text);
	ok(text[0] == '!' || text[0] == '.', "not one byte: %s", text);
	ok(strstr(hears(&p.b, client, text), " 403 "), "told why: %s", text);
	close(client);
	close(server);
	is_int(p.b.n_denied, 1, "told: %s", p.b.last);
	/* Together with the request for a tunnel. */
	client = tunnel(&p, "a.test:80", good, text);
	server = taken(&p.b);
	is_text(hears(&p.b, server, text), good, "passes as well");
	close(client);
	close(server);
	client = tunnel(&p, "a.test:80", bad, text);
	ok(strstr(text, " 403 ") || strstr(text, " 200 "), "%s", text);
	server = taken(&p.b);
	heard_by(server, text);
	ok(text[0] == '!' || text[0] == '.', "not one byte: %s", text);
	close(client);
	close(server);
	is_int(p.b.n_denied, 2, "told: %s", p.b.last);
	close_box(&p.b);
}

static void test_nobody_there(void)
{
	char text[4096];
	struct proxy_box p;
	int client;

	open_proxy_box(&p, NAMED);
	fd_close(&p.b.server);
	client = dial_proxy(&p);
	is_int(ask(&p, client, "a.test", 80), 4, "unreachable");
	close(client);
	client = tunnel(&p, "a.test:80", "", text);
	ok(strstr(text, " 502 "), "unreachable: %s", text);
	close(client);
	close_box(&p.b);
}

/* How often the gate wakes in a tenth of a second in which nothing happens. */
static unsigned wakes(struct box *b)
{
	struct pollfd f = { .fd = gate_event_fd(b->gate), .events = POLLIN };
	unsigned n = 0;

	while (n < 1000 && poll(&f, 1, 100) > 0) {
		gate_work(b->gate);
		n++;
	}
	return n;
}

/* A closed unix socket is ready for ever. */
static void test_a_client_that_goes(void)
{
	static char piece[1 << 16];
	char text[4096];
	struct proxy_box p;
	size_t sent = 0, got = 0;
	int client, server;

	open_proxy_box(&p, NAMED "tls = \"name-only\"\n");
	client = tunnel(&p, "a.test:80", "", text);
	server = taken(&p.b);
	put(client, "last words\n", 11);
	close(client);
	ok(wakes(&p.b) < 1000, "the gate sleeps");
	is_text(hears(&p.b, server, text), "last words\n", "what it sent arrives");
	is_text(hears(&p.b, server, text), ".", "and its end, in order");
	close(server);

	client = tunnel(&p, "a.test:80", "", text);
	server = taken(&p.b);
	for (int idle = 0; idle < 3; work(&p.b, 1)) {
		ssize_t n = send(client, piece, sizeof(piece), MSG_NOSIGNAL);

		sent += n > 0 ? (size_t)n : 0;
		idle = n > 0 ? 0 : idle + 1;
	}
	close(client);
	ok(wakes(&p.b) < 3, "it sleeps while the server does not read");
	for (int idle = 0; got < sent && idle < MAX_WAITS; work(&p.b, 3)) {
		ssize_t n = recv(server, piece, sizeof(piece), 0);

		got += n > 0 ? (size_t)n : 0;
		idle = n > 0 ? 0 : idle + 1;
	}
	is_int((long long)got, (long long)sent, "nothing is lost");
	close(server);
	client = dial_proxy(&p);
	put(client, "\5\1", 2);
	ok(wakes(&p.b) < 1000, "it sleeps while half is asked");
	close(client);
	ok(wakes(&p.b) < 1000, "and when that goes");
	close_box(&p.b);
}

static void test_no_more_than_allowed(void)
{
	struct gate_status s;
	int client[80];
	struct proxy_box p;

	open_proxy_box(&p, NAMED "connections = 2\n");
	for (int i = 0; i < 3; i++)
		client[i] = dial_proxy(&p);
	is_int(ask(&p, client[0], "a.test", 80), 2, "three are there already");
	ok(strstr(p.b.last, "too many"), "%s", p.b.last);
	is_int(ask(&p, client[1], "a.test", 80), 0, "now it is two");
	for (int i = 0; i < 3; i++)
		close(client[i]);
	work(&p.b, 20);
	for (size_t i = 0; i < ARRAY_SIZE(client); i++)
		client[i] = dial_proxy(&p);
	(void)wakes(&p.b);
	gate_get_status(p.b.gate, &s);
	is_int(s.connections, 2 + MAX_PROXY_ASKS, "who has not asked is counted as well");
	for (size_t i = 0; i < ARRAY_SIZE(client); i++)
		close(client[i]);
	close_box(&p.b);
}

/* [G3] */
static void test_a_new_generation(void)
{
	char text[4096];
	struct cordon_err err;
	struct proxy_box p;
	int client, server, asking;

	open_proxy_box(&p, NAMED);
	asking = dial_proxy(&p);
	client = tunnel(&p, "a.test:80", "", text);
	server = taken(&p.b);
	put(client, "late\n", 5);
	ok(gate_set_policy(p.b.gate, proxied(&p.b, CLOSED), &err) == 0, "%s", err.msg);
	heard_by(server, text);
	ok(text[0] == '!' || text[0] == '.', "not one byte: %s", text);
	is_int(ask(&p, asking, "a.test", 80), 2, "who asks now is judged by the new one");
	close(asking);
	close(client);
	close(server);
	close_box(&p.b);
}

/* A descriptor that comes with the bytes goes with them. */
static void test_descriptors_are_not_taken(void)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} room = { .bytes = { 0 } };
	char text[4096];
	struct iovec iov = { text, 3 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &room,
			      .msg_controllen = sizeof(room) };
	struct proxy_box p;
	int client, ends[2];
	struct pollfd f;

	open_proxy_box(&p, NAMED);
	client = dial_proxy(&p);
	ok(pipe2(ends, O_CLOEXEC) == 0, "a pipe");
	memcpy(text, "\5\1", 3);
	room.head.cmsg_level = SOL_SOCKET;
	room.head.cmsg_type = SCM_RIGHTS;
	room.head.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&room.head), &ends[1], sizeof(int));
	is_int(sendmsg(client, &msg, 0), 3, "sent");
	close(ends[1]);
	ok(ready(&p.b, client), "answered");
	is_int(recv(client, text, sizeof(text), 0), 2, "greeted");
	f = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	ok(poll(&f, 1, 10000) == 1 && (f.revents & POLLHUP), "nobody holds it");
	close(ends[0]);
	close(client);
	close_box(&p.b);
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_socks), TAP(test_refused), TAP(test_connect),
		TAP(test_another_host_in_a_request), TAP(test_nobody_there),
		TAP(test_a_client_that_goes), TAP(test_no_more_than_allowed),
		TAP(test_a_new_generation), TAP(test_descriptors_are_not_taken), TAP_END });
}
