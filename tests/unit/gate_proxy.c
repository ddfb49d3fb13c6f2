/* What is asked of the proxy: read alike however it is cut, and strictly. */
#include "gate/proxy.h"

#include "tap.h"

struct row {
	const char *name;
	struct str bytes;
	enum proxy_verdict want;	/* at the end */
	const char *host;		/* PROXY_ASKED */
	unsigned port;
	enum proxy_answer answer;	/* PROXY_BAD */
	size_t rest;			/* bytes that are not the proxy's */
};

#define S(text)		{ text, sizeof(text) - 1 }
#define HELLO		"\5\1\0"
#define CONNECT(a)	"CONNECT " a " HTTP/1.1\r\n\r\n"
#define ASKED(h, p, r)	PROXY_ASKED, h, p, N_PROXY_ANSWERS, r
#define BAD(a, r)	PROXY_BAD, "", 0, PROXY_##a, r
#define MORE		PROXY_MORE, "", 0, N_PROXY_ANSWERS, 0

static const struct row rows[] = {
	{ "nothing", S(""), MORE },
	/* SOCKS5 */
	{ "half a hello", S("\5\2\0"), MORE },
	{ "a name", S(HELLO "\5\1\0\3\6a.test\1\xbb"), ASKED("a.test", 443, 0) },
	{ "a name in capitals", S(HELLO "\5\1\0\3\7A.TEST.\0\x50"), ASKED("a.test", 80, 0) },
	{ "what follows", S(HELLO "\5\1\0\3\6a.test\1\xbbGET"), ASKED("a.test", 443, 3) },
	{ "IPv4", S(HELLO "\5\1\0\1\xc0\0\2\7\0\x50"), ASKED("192.0.2.7", 80, 0) },
	{ "IPv6", S(HELLO "\5\1\0\4\x20\1\xd\xb8\0\0\0\0\0\0\0\0\0\0\0\1\0\x50"),
	  ASKED("2001:db8::1", 80, 0) },
	{ "IPv4 in IPv6", S(HELLO "\5\1\0\4\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\1\0\x50"),
	  ASKED("127.0.0.1", 80, 0) },
	{ "an address as a name", S(HELLO "\5\1\0\3\x9" "192.0.2.7\0\x50"),
	  ASKED("192.0.2.7", 80, 0) },
	{ "several methods", S("\5\3\1\2\0\5\1\0\3\1a\0\1"), ASKED("a", 1, 0) },
	{ "the longest hello", S("\5\1\0\5\1\0\3\1a"), MORE },
	{ "only with a login", S("\5\1\2xx"), BAD(NO_LOGIN, 2) },
	{ "no method", S("\5\0"), BAD(NO_LOGIN, 0) },
	{ "to listen", S(HELLO "\5\2\0\1"), BAD(NO_COMMAND, 0) },
	{ "datagrams", S(HELLO "\5\3\0\1\0\0\0\0\0\0"), BAD(NO_COMMAND, 6) },
	{ "another version", S(HELLO "\4\1\0\1"), BAD(MALFORMED, 0) },
	{ "what is reserved", S(HELLO "\5\1\1\1"), BAD(MALFORMED, 0) },
	{ "another kind of address", S(HELLO "\5\1\0\2"), BAD(NO_ADDRESS, 0) },
	{ "port 0", S(HELLO "\5\1\0\3\6a.test\0\0"), BAD(MALFORMED, 0) },
	{ "no name", S(HELLO "\5\1\0\3\0\0\x50"), BAD(MALFORMED, 0) },
	{ "NUL in a name", S(HELLO "\5\1\0\3\7a\0.test\0\x50"), BAD(MALFORMED, 0) },
	{ "space in a name", S(HELLO "\5\1\0\3\7a .test\0\x50"), BAD(MALFORMED, 0) },
	{ "a name of bytes", S(HELLO "\5\1\0\3\3\xc3\xa4x\0\x50"), BAD(MALFORMED, 0) },
	{ "an address that is spelt oddly", S(HELLO "\5\1\0\3\5" "127.1\0\x50"),
	  BAD(MALFORMED, 0) },
	{ "SOCKS4", S("\4\1\0\x50\x7f\0\0\1\0"), BAD(MALFORMED, 8) },
	{ "TLS", S("\x16\3\1"), BAD(MALFORMED, 2) },
	/* HTTP */
	{ "CONNECT", S(CONNECT("a.test:443")), ASKED("a.test", 443, 0) },
	{ "HTTP/1.0", S("CONNECT a.test:443 HTTP/1.0\r\n\r\n"), ASKED("a.test", 443, 0) },
	{ "with fields", S("CONNECT A.test:443 HTTP/1.1\r\nHost: b.test\r\nX: y\r\n\r\nhi"),
	  ASKED("a.test", 443, 2) },
	{ "to an address", S(CONNECT("192.0.2.7:80")), ASKED("192.0.2.7", 80, 0) },
	{ "to an IPv6 address", S(CONNECT("[2001:db8::1]:80")), ASKED("2001:db8::1", 80, 0) },
	{ "half a head", S("CONNECT a.test:443 HTTP/1.1\r\n"), MORE },
	{ "GET", S("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n"), BAD(NO_COMMAND, 0) },
	{ "no port", S(CONNECT("a.test")), BAD(MALFORMED, 0) },
	{ "an empty port", S(CONNECT("a.test:")), BAD(MALFORMED, 0) },
	{ "port 0", S(CONNECT("a.test:0")), BAD(MALFORMED, 0) },
	{ "a port too high", S(CONNECT("a.test:65536")), BAD(MALFORMED, 0) },
	{ "a port with a sign", S(CONNECT("a.test:+80")), BAD(MALFORMED, 0) },
	{ "no host", S(CONNECT(":80")), BAD(MALFORMED, 0) },
	{ "user info", S(CONNECT("x@a.test:80")), BAD(MALFORMED, 0) },
	{ "a path", S(CONNECT("a.test/x:80")), BAD(MALFORMED, 0) },
	{ "IPv6 without brackets", S(CONNECT("2001:db8::1:80")), BAD(MALFORMED, 0) },
	{ "an address that is spelt oddly", S(CONNECT("0x7f.1:80")), BAD(MALFORMED, 0) },
	{ "two spaces", S("CONNECT  a.test:80 HTTP/1.1\r\n\r\n"), BAD(MALFORMED, 0) },
	{ "another version", S("CONNECT a.test:80 HTTP/2\r\n\r\n"), BAD(MALFORMED, 0) },
	{ "no version", S("CONNECT a.test:80\r\n\r\n"), BAD(MALFORMED, 0) },
	{ "small letters", S("connect"), BAD(MALFORMED, 6) },
	{ "a bare LF", S("CONNECT a.test:80 HTTP/1.1\n\n"), BAD(MALFORMED, 1) },
	{ "a bare CR", S("CONNECT a.test:80 HTTP/1.1\rX"), BAD(MALFORMED, 0) },
	{ "NUL", S("CONNECT a.test\0"), BAD(MALFORMED, 0) },
	{ "a byte above ASCII", S("CONNECT \xc3"), BAD(MALFORMED, 0) },
};

struct end {
	enum proxy_verdict verdict;
	size_t taken;
};

/* In pieces of `step` bytes. */
static struct end feed(struct proxy_ask *a, struct str bytes, size_t step)
{
	struct end e = { PROXY_MORE, 0 };

	*a = (struct proxy_ask){ .n = 0 };
	while (e.taken < bytes.n && (e.verdict == PROXY_MORE || e.verdict == PROXY_GREETED)) {
		size_t n = MIN(step, bytes.n - e.taken), taken;

		e.verdict = proxy_feed(a, (const unsigned char *)bytes.s + e.taken, n, &taken);
		e.taken += taken;
	}
	return e;
}

static void check(const struct row *r, size_t step)
{
	cleanup_buf struct buf host = BUF(512);
	struct proxy_ask a;
	struct end e = feed(&a, r->bytes, step);

	is_int(e.verdict == PROXY_GREETED ? PROXY_MORE : e.verdict, r->want, "%s by %zu", r->name,
	       step);
	is_int((long long)(r->bytes.n - e.taken), (long long)r->rest, "%s: the rest", r->name);
	if (e.verdict == PROXY_BAD)
		is_int(a.answer, r->answer, "%s: the answer", r->name);
	if (e.verdict != PROXY_ASKED)
		return;
	host_print(&a.host, &host);
	is_text(buf_text(&host), r->host, "%s: the host", r->name);
	is_int(a.port, r->port, "%s: the port", r->name);
}

static void test_rows(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (size_t step = 1; step <= MAX(rows[i].bytes.n, 1); step++)
			check(&rows[i], step);
}

static void test_a_head_has_an_end(void)
{
	static unsigned char line[MAX_PROXY_ASK + 1];
	struct proxy_ask a = { .n = 0 };
	size_t taken;

	memset(line, 'A', sizeof(line));
	is_int(proxy_feed(&a, line, sizeof(line), &taken), PROXY_BAD, "too long");
	is_int((long long)taken, MAX_PROXY_ASK, "and no further");
	is_int(a.answer, PROXY_MALFORMED, "answer");
}

static const char *print(bool is_socks, enum proxy_answer answer, const char *why,
			 char out[PROXY_ANSWER_BYTES])
{
	const struct proxy_ask a = { .is_socks = is_socks };
	size_t n = proxy_answer_print(&a, answer, why, out);

	ok(n < PROXY_ANSWER_BYTES, "%zu bytes", n);
	out[n] = '\0';
	return out;
}

static void test_answers(void)
{
	static const struct {
		enum proxy_answer answer;
		unsigned char socks;
		const char *http;
	} said[] = {
		{ PROXY_CONNECTED, 0, "HTTP/1.1 200 " },
		{ PROXY_DENIED, 2, "HTTP/1.1 403 " },
		{ PROXY_UNREACHABLE, 4, "HTTP/1.1 502 " },
		{ PROXY_NO_COMMAND, 7, "HTTP/1.1 405 " },
		{ PROXY_MALFORMED, 1, "HTTP/1.1 400 " },
	};
	char out[PROXY_ANSWER_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(said); i++) {
		const char *text = print(false, said[i].answer, "why\r\nX: y", out);

		ok(strncmp(text, said[i].http, strlen(said[i].http)) == 0, "%s", text);
		ok(!strstr(text, "\nX:"), "nothing of it becomes a line: %s", text);
		ok(strstr(text, "\r\n\r\n"), "a whole head: %s", text);
		print(true, said[i].answer, "why", out);
		is_int((unsigned char)out[1], said[i].socks, "answer %zu", i);
		ok(out[0] == 5 && out[3] == 1 && !out[4] && !out[9], "and nothing else");
	}
	is_int((unsigned char)print(true, PROXY_NO_LOGIN, "", out)[1], 0xff, "no login");
	is_int((unsigned char)print(true, PROXY_HELLO, "", out)[1], 0, "hello");
	is_int((unsigned char)print(true, PROXY_NO_ADDRESS, "", out)[1], 8, "address");
	ok(strstr(print(false, PROXY_DENIED, "host b is not in the allowlist", out),
		  "cordon: host b is not in the allowlist\n"), "%s", out);
}

int main(void)
{
	return tap_run((struct tap_case[]){ TAP(test_rows), TAP(test_a_head_has_an_end),
					    TAP(test_answers), TAP_END });
}
