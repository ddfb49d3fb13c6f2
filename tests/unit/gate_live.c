/* The gate at work: what passes, what is refused, and what a new generation cuts.
 *
 * weight: 0.1/3
 */
#include "gate_box.h"
#include "peek_hello.h"

static void test_bytes_go_both_ways(void)
{
	char text[4096];
	struct box b;
	int client, server;

	open_box(&b, ALLOWED);
	client = dial(&b);
	server = taken(&b);
	ok(server >= 0, "dialled");
	work(&b, 20);
	ok(send(server, "220 hello\r\n", 11, 0) == 11, "the server speaks first");
	is_text(hears(&b, client, text), "220 hello\r\n", "and is heard");
	ok(send(client, "EHLO x\r\n", 8, 0) == 8, "the client answers");
	is_text(hears(&b, server, text), "EHLO x\r\n", "and is heard");
	ok(shutdown(client, SHUT_WR) == 0, "half of it ends");
	is_text(hears(&b, server, text), ".", "and only that");
	ok(send(server, "221 bye\r\n", 9, 0) == 9, "the other half lives");
	close(server);
	is_text(hears(&b, client, text), "221 bye\r\n", "to its end");
	is_text(hears(&b, client, text), ".", "which is orderly");
	close(client);
	work_until(&b, &b.n_closed, 1);
	is_int(b.n_allowed, 1, "one decision");
	is_int(b.n_closed, 1, "one end");
	is_int((long long)b.bytes_out, 8, "bytes out");
	is_int((long long)b.bytes_in, 20, "bytes in");
	ok(b.duration_ms >= 20, "as long as we have waited at least");
	close_box(&b);
}

static void test_a_reset_is_a_reset(void)
{
	struct linger hard = { .l_onoff = 1 };
	char text[4096];
	struct box b;
	int client, server;

	open_box(&b, ALLOWED);
	client = dial(&b);
	server = taken(&b);
	ok(setsockopt(server, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)) == 0, "hard");
	close(server);
	is_text(hears(&b, client, text), "!ECONNRESET", "not an orderly end");
	close(client);
	close_box(&b);
}

/* As much as fits, from `from`, until the other side is full. */
static size_t fill(struct box *b, int from, const char *piece, size_t n)
{
	size_t sent = 0;

	for (int idle = 0; idle < 3;) {
		ssize_t k = send(from, piece, n, MSG_NOSIGNAL);

		if (k > 0)
			sent += (size_t)k;
		idle = k > 0 ? 0 : idle + 1;
		work(b, 10);
	}
	return sent;
}

/* All that was sent. */
static size_t drain(struct box *b, int fd, size_t sent, unsigned char want, bool *ret_same)
{
	char piece[65536];
	size_t got = 0;

	for (int idle = 0; got < sent && idle < MAX_WAITS;) {
		ssize_t n = recv(fd, piece, sizeof(piece), 0);

		for (ssize_t i = 0; i < n; i++)
			*ret_same &= (unsigned char)piece[i] == want;
		if (n > 0)
			got += (size_t)n;
		idle = n > 0 ? 0 : idle + 1;
		work(b, n > 0 ? 0 : 3);
	}
	return got;
}

static void test_a_slow_reader_slows_the_writer(void)
{
	static char piece[1 << 16];
	struct box b;
	bool same = true;
	size_t sent, got;
	int client, server;

	memset(piece, 7, sizeof(piece));
	open_box(&b, ALLOWED);
	client = dial(&b);
	server = taken(&b);
	sent = fill(&b, server, piece, sizeof(piece));
	ok(sent > 100000 && sent < 64u << 20, "%zu bytes are under way, and no more", sent);
	got = drain(&b, client, sent, 7, &same);
	is_int((long long)got, (long long)sent, "all of them arrive");
	ok(same, "as they were");
	same = true;
	sent = fill(&b, client, piece, sizeof(piece));
	got = drain(&b, server, sent, 7, &same);
	is_int((long long)got, (long long)sent, "the other way, too");
	ok(same, "as they were");
	close(client);
	close(server);
	close_box(&b);
}

/* A request of many chunks, larger than all that is on the way. */
static void print_chunked(const struct box *b, struct buf *out)
{
	static char chunk[50000];

	buf_printf(out, "POST / HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
			"Transfer-Encoding: chunked\r\n\r\n", b->port);
	for (int i = 0; i < 300; i++) {
		memset(chunk, 'a' + i % 26, sizeof(chunk));
		buf_printf(out, "%zx\r\n", sizeof(chunk));
		buf_add(out, chunk, sizeof(chunk));
		buf_puts(out, "\r\n");
	}
	buf_puts(out, "0\r\n\r\n");
}

/* A server that is full in the middle of a body: what comes next is judged again,
 * and nothing is taken for its end. */
static void test_a_body_in_pieces_to_a_slow_server(void)
{
	static char piece[30000];
	cleanup_buf struct buf text = BUF(32 << 20);
	struct box b;
	size_t sent = 0, got = 0;
	bool same = true;
	int client, server;

	open_box(&b, ALLOWED);
	print_chunked(&b, &text);
	ok(buf_ok(&text), "a request of %zu bytes", text.n);
	client = dial(&b);
	server = taken(&b);
	for (int idle = 0; got < text.n && idle < MAX_WAITS; idle++) {
		size_t left = text.n - sent;
		ssize_t k = left ? send(client, text.data + sent, left, MSG_NOSIGNAL) : 0;

		sent += k > 0 ? (size_t)k : 0;
		work(&b, k > 0 ? 0 : 1);
		if (k > 0 && sent < text.n)
			continue;
		k = recv(server, piece, sizeof(piece), 0);
		if (k > 0) {
			same &= got + (size_t)k <= text.n &&
				memcmp(text.data + got, piece, (size_t)k) == 0;
			got += (size_t)k;
			idle = 0;
		}
	}
	is_int((long long)got, (long long)text.n, "all of it arrives");
	ok(same, "as it was");
	close(client);
	close(server);
	close_box(&b);
}

/* [G1], [N3]: a DNS question is answered from the policy and the table alone, as
 * this process has no resolver yet; and an answer is not a permission. */
static void test_names(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	static const struct {
		const char *name;
		unsigned char type, rcode, n_answers;
	} rows[] = {
		{ "\1a\4test", 1, 0, 1 },
		{ "\1b\4test", 1, 3, 0 },
		{ "\1c\1a\4test", 1, 3, 0 },
		/* Services of a host: SRV, TXT; none is there, and none is a host. */
		{ "\5_http\4_tcp\1a\4test", 33, 0, 0 },
		{ "\6_dmarc\1a\4test", 16, 0, 0 },
		{ "\5_http\4_tcp\1b\4test", 33, 3, 0 },
		{ "\5_http\4_tcp\1a\4test", 1, 3, 0 },
		{ "\5_http", 33, 3, 0 },
	};
	struct gate_fds fds;
	struct cordon_err err;
	struct box b;
	socklen_t n = sizeof(in);
	int client = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	open_box(&b, "[network]\nallow = [\"a.test\"]\n");
	memset(&fds, 0xff, sizeof(fds));
	fds.dns = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	ok(bind(fds.dns, (struct sockaddr *)&in, n) == 0 &&
		   getsockname(fds.dns, (struct sockaddr *)&in, &n) == 0 &&
		   connect(client, (struct sockaddr *)&in, n) == 0, "sockets");
	ok(gate_join(b.gate, &fds, &err) == 0, "%s", err.msg);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		unsigned char q[64] = { 0, 7, 1, 0, 0, 1 }, a[512];
		size_t n_name = strlen(rows[i].name) + 1;

		memcpy(q + 12, rows[i].name, n_name);
		memcpy(q + 12 + n_name, "\0\1\0\1", 4);
		q[13 + n_name] = rows[i].type;
		ok(send(client, q, 16 + n_name, 0) > 0, "asked");
		ok(ready(&b, client) && recv(client, a, sizeof(a), 0) > 12, "answered");
		is_int(a[3] & 15, rows[i].rcode, "question %zu", i);
		is_int(a[7], rows[i].n_answers, "question %zu", i);
	}
	is_int(b.n_denied, 5, "refused names are told: %s", b.last);
	close(client);
	close_box(&b);
}

static void test_what_is_refused_is_reset(void)
{
	char text[4096];
	struct box b;
	int client;

	open_box(&b, CLOSED);
	client = dial(&b);
	is_int(taken_by_now(&b), -1, "nobody is dialled");
	is_text(hears(&b, client, text), "!ECONNRESET", "at once");
	is_int(b.n_denied, 1, "and told: %s", b.last);
	close(client);
	close_box(&b);
}

/* [G2] */
static void test_another_host_in_a_request(void)
{
	static const char good[] = "GET / HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n";
	static const char bad[] = "GET / HTTP/1.1\r\nHost: other.test\r\n\r\n";
	char text[4096], request[128];
	struct box b;
	int client, server, n;

	open_box(&b, ALLOWED);
	client = dial(&b);
	server = taken(&b);
	ok(send(client, bad, sizeof(bad) - 1, 0) > 0, "sent");
	work(&b, 20);
	heard_by(server, text);
	ok(text[0] == '!' || text[0] == '.', "not one byte: %s", text);
	ok(strstr(hears(&b, client, text), " 403 "), "told why: %s", text);
	ok(strstr(text, "other.test"), "by name: %s", text);
	close(client);
	close(server);

	/* The second request of a connection is looked at as the first was. */
	client = dial(&b);
	server = taken(&b);
	n = snprintf(request, sizeof(request), good, b.port);
	ok(send(client, request, (size_t)n, 0) > 0, "sent");
	is_text(hears(&b, server, text), request, "the first one passes");
	ok(send(server, "HTTP/1.1 204 No Content\r\n\r\n", 27, 0) > 0, "answered");
	hears(&b, client, text);
	ok(send(client, bad, sizeof(bad) - 1, 0) > 0, "sent");
	work(&b, 20);
	heard_by(server, text);
	ok(text[0] == '!' || text[0] == '.', "not one byte: %s", text);
	is_text(hears(&b, client, text), "!ECONNRESET", "cut");
	is_int(b.n_denied, 2, "both are told");
	close(client);
	close(server);
	close_box(&b);
}

/* A server's answer to a ClientHello; `retry`: it asks for another one. */
static void put_server_hello(struct bytes *o, bool retry)
{
	static struct bytes message;

	message.n = o->n = 0;
	put(&message, "\2\0\0\x28\3\3", 6);
	put(&message, RETRY_RANDOM, 32);
	message.b[6] ^= !retry;
	put(&message, "\0\x13\1\0\0\0", 6);
	put_records(o, 22, message.b, message.n, 16384);
}

/* What a client may send behind its ClientHello is for the server's answer to say. */
static void test_the_answer_to_a_hello(void)
{
	static const char finished[] = "\x14\3\3\0\1\1" "\x16\3\3\0\x08\1\2\0\x40" "Finished";
	static struct bytes hello, answer;
	char text[4096];

	put_hello(&hello, NULL, 0, 16384);
	for (int retry = 0; retry < 2; retry++) {
		struct box b;
		int client, server;

		open_box(&b, ALLOWED);
		client = dial(&b);
		server = taken(&b);
		ok(send(client, hello.b, hello.n, 0) > 0, "a hello");
		ok(hears(&b, server, text)[0] == 0x16, "passes");
		put_server_hello(&answer, retry);
		ok(send(server, answer.b, answer.n, 0) > 0, "the answer");
		ok(hears(&b, client, text)[0] == 0x16, "passes, too");
		ok(send(client, finished, sizeof(finished) - 1, 0) > 0, "the client goes on");
		hears(&b, server, text);
		if (retry) {
			ok(text[0] == '!' || text[0] == '.', "cut: %s", text);
			is_text(hears(&b, client, text), "!ECONNRESET", "for both");
		} else {
			ok(memcmp(text, finished, sizeof(finished) - 1) == 0, "passes");
		}
		is_int(b.n_denied, retry, "%s", b.last);
		close(client);
		close(server);
		close_box(&b);
	}
}

/* The bytes behind a request to switch protocols wait for its answer, and no longer
 * than there is a server. */
static void test_a_server_that_ends_without_an_answer(void)
{
	static const char request[] = "GET / HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nUpgrade: x\r\n\r\n";
	char text[4096], upgrade[128];
	struct box b;
	int client, server, n;

	open_box(&b, ALLOWED);
	client = dial(&b);
	server = taken(&b);
	n = snprintf(upgrade, sizeof(upgrade), request, b.port);
	ok(send(client, upgrade, (size_t)n, 0) == n && send(client, "frame", 5, 0) == 5, "sent");
	is_text(hears(&b, server, text), upgrade, "the request passes");
	ok(shutdown(server, SHUT_WR) == 0, "the server has nothing to say");
	is_text(hears(&b, client, text), ".", "which the client hears");
	close(client);
	work_until(&b, &b.n_closed, 1);
	is_int(b.n_closed, 1, "the connection ends");
	is_text(hears(&b, server, text), ".", "and nothing else has passed");
	close(server);
	close_box(&b);
}

/* What has been done for it already, while the gate does nothing more. */
static const char *heard_unaided(int fd, char text[4096])
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	(void)poll(&p, 1, 10000);
	return heard_by(fd, text);
}

/* [G3] */
static void test_a_new_generation(void)
{
	char text[4096];
	struct cordon_err err;
	struct gate_status s;
	struct box b;
	int client, server, other;

	open_box(&b, ALLOWED);
	client = dial(&b);
	server = taken(&b);
	/* Bytes that the gate has not seen when the policy changes. */
	ok(send(client, "late\n", 5, 0) == 5, "sent");
	ok(gate_set_policy(b.gate, net_of(&b, CLOSED), &err) == 0, "%s", err.msg);
	heard_by(server, text);
	ok(text[0] == '!' || text[0] == '.', "not one byte: %s", text);
	is_text(heard_unaided(client, text), "!ECONNRESET", "cut");
	other = dial(&b);
	is_int(taken_by_now(&b), -1, "nor a new one");
	gate_get_status(b.gate, &s);
	is_int((long long)s.generation, 2, "generation");
	ok(gate_set_policy(b.gate, net_of(&b, ALLOWED), &err) == 0, "%s", err.msg);
	close(other);
	close(client);
	close(server);
	client = dial(&b);
	server = taken(&b);
	ok(server >= 0, "allowed again");
	ok(gate_set_policy(b.gate, net_of(&b, ALLOWED), &err) == 0, "%s", err.msg);
	ok(send(client, "x\n", 2, 0) == 2, "what stays allowed lives on");
	is_text(hears(&b, server, text), "x\n", "as before");
	close(client);
	close(server);
	close_box(&b);
}

static void test_what_was_not_looked_at_is_cut(void)
{
	char text[4096];
	struct cordon_err err;
	struct box b;
	int client, server;

	open_box(&b, ALLOWED "tls = \"name-only\"\n");
	client = dial(&b);
	server = taken(&b);
	ok(send(client, "GET / HTTP/1.1\r\nHost: other.test\r\n\r\n", 37, 0) == 37, "sent");
	ok(strstr(hears(&b, server, text), "other.test"), "names inside do not count: %s", text);
	ok(gate_set_policy(b.gate, net_of(&b, ALLOWED), &err) == 0, "%s", err.msg);
	is_text(heard_unaided(client, text), "!ECONNRESET", "now they do");
	close(client);
	close(server);
	close_box(&b);
}

static void test_no_more_connections_than_allowed(void)
{
	struct linger hard = { .l_onoff = 1 };
	char text[4096];
	int client[6];
	struct box b;
	unsigned cut = 0;

	open_box(&b, ALLOWED "connections = 4\n");
	for (size_t i = 0; i < ARRAY_SIZE(client); i++)
		client[i] = dial(&b);
	work_until(&b, &b.n_denied, 2);
	work(&b, 50);
	for (size_t i = 0; i < ARRAY_SIZE(client); i++)
		cut += strcmp(heard_by(client[i], text), "!ECONNRESET") == 0;
	is_int(cut, 2, "the others are cut");
	is_int(b.n_denied, 2, "and told: %s", b.last);
	/* An orderly end would leave the server's half. */
	setsockopt(client[0], SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	close(client[0]);
	work(&b, 50);
	client[0] = dial(&b);
	work(&b, 50);
	is_text(heard_by(client[0], text), "!EAGAIN", "there is room again");
	for (size_t i = 0; i < ARRAY_SIZE(client); i++)
		close(client[i]);
	close_box(&b);
}

static void test_an_exposed_port_that_is_taken(void)
{
	cleanup_arena struct arena a = ARENA(8 << 20);
	struct gate_options o = { .report = heard };
	struct gate *g = NULL;
	struct cordon_err err = { 0 };
	char text[128];
	uint16_t port;
	int fd = listener(&port, INADDR_LOOPBACK);

	snprintf(text, sizeof(text), "[network]\nexpose = [%u]\n", port);
	o.net = read_net(&a, text, NULL, 0);
	is_int(gate_start(&o, &g, &err), -1, "refused before anything starts");
	ok(strstr(err.msg, "network.expose"), "%s", err.msg);
	ok(!g, "nothing is left");
	close(fd);
}

#define LISTED(words)	"[network]\nallow = [\"127.0.0.1:%u\"]\nprotocols = [" words "]\n"

/* Listed protocols pass whole, from their first byte on; nothing else does. */
static void test_protocols(void)
{
	static const struct {
		const char *policy, *said, *why;	/* no reason: it passes */
	} rows[] = {
		{ LISTED("\"http\", \"tls\"") "tls = \"name-only\"\n",
		  "GET / HTTP/1.1\r\nHost: x\r\n\r\n", NULL },
		{ LISTED("\"http\", \"tls\"") "tls = \"name-only\"\n",
		  "\x16\x03\x01\x02\x20\x01\x01\x01", NULL },
		{ LISTED("\"http\", \"tls\"") "tls = \"name-only\"\n", "EHLO x y\r\n",
		  "begins with neither HTTP nor TLS" },
		{ LISTED("\"http\", \"tls\""), "EHLO x y\r\n", "begins with neither HTTP nor TLS" },
		{ LISTED("\"tls\""), "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "begins with HTTP" },
		{ LISTED("\"http\""), "\x16\x03\x01\x02\x20\x01\x01\x01", "begins with TLS" },
		{ LISTED(""), "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "begins with HTTP" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t n = strlen(rows[i].said);
		char text[4096];
		struct box b;
		int client, server;

		open_box(&b, rows[i].policy);
		client = dial(&b);
		server = taken(&b);
		ok(send(client, rows[i].said, 2, 0) == 2, "the beginning");
		work(&b, 20);
		is_text(heard_by(server, text), "!EAGAIN", "row %zu: is kept back", i);
		ok(send(client, rows[i].said + 2, n - 2, 0) == (ssize_t)n - 2, "the rest");
		if (!rows[i].why) {
			is_text(hears(&b, server, text), rows[i].said, "row %zu: passes", i);
			is_int(b.n_denied, 0, "not refused");
		} else {
			work_until(&b, &b.n_denied, 1);
			ok(strstr(b.last, rows[i].why), "row %zu: %s", i, b.last);
			is_text(hears(&b, server, text), "!ECONNRESET", "row %zu: nothing", i);
		}
		close(client);
		close(server);
		close_box(&b);
	}
}

static void test_a_server_that_speaks_first(void)
{
	char text[4096];
	struct box b;
	int client, server;

	open_box(&b, LISTED("\"http\", \"tls\""));
	client = dial(&b);
	server = taken(&b);
	ok(send(server, "220 hello\r\n", 11, 0) == 11, "a banner");
	work_until(&b, &b.n_denied, 1);
	ok(strstr(b.last, "begins with the server's bytes"), "%s", b.last);
	is_text(hears(&b, client, text), "!ECONNRESET", "which the client does not hear");
	close(client);
	close(server);
	close_box(&b);
}

/* It has asked for nothing, as a look whether a port is open. */
static void test_a_client_that_says_nothing_and_ends(void)
{
	struct box b;
	int client, server;

	open_box(&b, LISTED("\"http\", \"tls\""));
	client = dial(&b);
	server = taken(&b);
	close(client);
	work_until(&b, &b.n_closed, 1);
	is_int(b.n_denied, 0, "is not refused");
	close(server);
	close_box(&b);
}

/* A connection of which nothing was read is cut where first bytes count from now on. */
static void test_protocols_of_a_new_generation(void)
{
	struct cordon_err err;
	char text[4096];
	struct box b;
	int client, server;

	open_box(&b, ALLOWED);
	client = dial(&b);
	server = taken(&b);
	ok(send(server, "220 hello\r\n", 11, 0) == 11, "a banner");
	is_text(hears(&b, client, text), "220 hello\r\n", "is heard");
	ok(gate_set_policy(b.gate, net_of(&b, LISTED("\"http\", \"tls\"")), &err) == 0, "%s",
	   err.msg);
	is_text(hears(&b, client, text), "!ECONNRESET", "is cut");
	close(client);
	close(server);
	close_box(&b);
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_bytes_go_both_ways), TAP(test_a_reset_is_a_reset),
		TAP(test_a_slow_reader_slows_the_writer),
		TAP(test_a_body_in_pieces_to_a_slow_server), TAP(test_names),
		TAP(test_what_is_refused_is_reset),
		TAP(test_another_host_in_a_request), TAP(test_the_answer_to_a_hello),
		TAP(test_a_server_that_ends_without_an_answer), TAP(test_a_new_generation),
		TAP(test_what_was_not_looked_at_is_cut), TAP(test_no_more_connections_than_allowed),
		TAP(test_an_exposed_port_that_is_taken), TAP(test_protocols),
		TAP(test_a_server_that_speaks_first),
		TAP(test_a_client_that_says_nothing_and_ends),
		TAP(test_protocols_of_a_new_generation), TAP_END });
}
