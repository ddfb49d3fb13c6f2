/* Which protocol a stream is taken for, and that others are not delayed. */
#include "peek_hello.h"
#include "peek_stream.h"
#include "tap.h"

struct row {
	const char *name;
	const char *bytes;
	size_t n;
	enum peek_kind kind;
};
#define ROW(name, text, kind)	{ name, text, sizeof(text) - 1, kind }
#define OTHER(name, text)	ROW(name, text, PEEK_UNKNOWN)

static const struct stream any = { .host = "allowed.test", .port = 1234, .open = true };

/* [PK1] All of it may be sent, whatever becomes of it; stream_feed() checks the
 * same after each piece. */
static const struct row others[] = {
	OTHER("SMTP", "EHLO client.test\r\n"),
	OTHER("SSH", "SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n"),
	OTHER("redis", "*1\r\n$4\r\nPING\r\n"),
	OTHER("redis inline", "PING\r\n"),
	OTHER("redis inline, with words", "SET foo bar\r\n"),
	OTHER("memcached", "get some:key\r\n"),
	OTHER("memcached set", "set key 0 0 5\r\nhello\r\n"),
	OTHER("git", "0032git-upload-pack /project.git\0host=other.test\0"),
	OTHER("PostgreSQL", "\0\0\0\x1f\0\3\0\0user\0me\0database\0x\0\0"),
	OTHER("MQTT", "\x10\x10\0\4MQTT\4\2\0\x3c\0\4name"),
	OTHER("AMQP", "AMQP\0\0\x09\1"),
	OTHER("MongoDB", "\x3a\0\0\0\1\0\0\0\0\0\0\0\xd4\7\0\0"),
	OTHER("BitTorrent", "\x13" "BitTorrent protocol\0\0\0\0\0\0\0\0"),
	OTHER("IMAP", "a1 LOGIN me secret\r\n"),
	OTHER("POP3", "USER me\r\n"),
	OTHER("NATS", "CONNECT {\"verbose\":false,\"name\":\"x\"}\r\nPING\r\n"),
	OTHER("STOMP", "CONNECT\naccept-version:1.2\nhost:stomp.test\n\n"),
	OTHER("mail", "EHLO x\r\nMAIL FROM:<a@b.test>\r\nDATA\r\nTo: x\r\n\r\nHost: x\r\n"),
	OTHER("redis, two lines", "PING\r\nGET foo\r\n"),
	OTHER("logs", "a b c\n192.0.2.1 - - \"GET / HTTP/1.1\" 200\nhostname: x\n"),
	OTHER("XMPP", "<?xml version='1.0'?><stream:stream to='x.test'>"),
	OTHER("IRC", "NICK me\r\nUSER me 0 * :http://me.test/\r\n"),
	OTHER("syslog", "<34>Oct 11 22:14:15 h app: see http://x.test/ HTTP\n"),
	OTHER("whois", "example.com\r\n"),
	OTHER("gopher", "/a/file\r\n"),
	OTHER("finger", "\r\n"),
	OTHER("rsync", "@RSYNCD: 31.0\n"),
	OTHER("a shell", "ls /tmp\n"),
	OTHER("SIP", "REGISTER sip:x.test SIP/2.0\r\n"),
	OTHER("a word", "hello"),
	OTHER("two words", "hello world"),
	OTHER("half a method", "GE"),
	OTHER("a method", "GET"),
	OTHER("a method and LF", "GET\n"),
	OTHER("JSON", "{\"jsonrpc\":\"2.0\"}"),
	OTHER("nearly an SSL 2 hello", "\x80\x2e\x01\x03\x08xyz"),
	OTHER("MySQL", "\x15\1\0\1\x8d\xa6\x0f\0\0\0\0\1"),
	OTHER("nothing", ""),
};

static void test_others_pass_undelayed(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		const struct row *r = &others[i];

		for (size_t piece = 1; piece <= r->n + 1; piece++) {
			struct stream_end e = stream_feed(&any, r->bytes, r->n, 0, piece);

			ok(e.verdict != PEEK_REFUSED, "%s in pieces of %zu", r->name, piece);
			is_int((long long)e.sent, (long long)r->n, "%s: all passes", r->name);
		}
	}
}

/* A client that closes has sent its last line. */
static void test_the_end_passes(void)
{
	struct stream closing = any;

	closing.open = false;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		struct stream_end e = stream_feed(&closing, others[i].bytes, others[i].n, 0, 3);

		ok(e.verdict != PEEK_REFUSED && e.done == others[i].n, "%s", others[i].name);
	}
}

/* Every line that some server takes for a request. */
static const struct row requests[] = {
	ROW("plain", "GET / HTTP/1.1\r\n", PEEK_HTTP),
	ROW("lower case", "get / http/1.1\r\n", PEEK_HTTP),
	ROW("an unknown method", "FROBNICATE x HTTP/1.1\r\n", PEEK_HTTP),
	ROW("HTTP/0.9", "GET /\r\n", PEEK_HTTP),
	ROW("HTTP/0.9, lower case", "get /\r\n", PEEK_HTTP),
	ROW("HTTP/0.9, no path", "GET x\r\n", PEEK_HTTP),
	ROW("HTTP/0.9, a URL", "frob http://evil.test/\r\n", PEEK_HTTP),
	ROW("bare LF", "GET / HTTP/1.1\n", PEEK_HTTP),
	ROW("blank lines", "\r\n\n\r\nGET / HTTP/1.1\r\n", PEEK_HTTP),
	ROW("spaces first", " \t GET / HTTP/1.1\r\n", PEEK_HTTP),
	ROW("tabs", "GET\t/\tHTTP/1.1\r\n", PEEK_HTTP),
	ROW("separators", "GET\x1c/\x1dHTTP/1.1\r\n", PEEK_HTTP),
	ROW("a no-break space", "frob\xa0x\xa0HTTP/1.1\r\n", PEEK_HTTP),
	ROW("bare CR", "x\rGET / HTTP/1.1\r\n", PEEK_HTTP),
	ROW("many words", "a b c d e f HTTP/1.1\r\n", PEEK_HTTP),
	ROW("NUL in the target", "frob /\0 HTTP/1.1\r\n", PEEK_HTTP),
	ROW("a git line that goes on", "0032git-upload-pack /x\0host=a\0 HTTP/1.1\r\n", PEEK_HTTP),
	ROW("any words and a URL", "<1>a http://evil.test/ x\r\n", PEEK_HTTP),
	ROW("a method that is none", "{GET} / HTTP/1.1\r\n", PEEK_HTTP),
	ROW("RTSP", "DESCRIBE x RTSP/1.0\r\n", PEEK_HTTP),
	ROW("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", PEEK_HTTP),
	ROW("PROXY", "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\nGET / HTTP/1.1\r\n", PEEK_HTTP),
};

/* [PK2] However slowly it comes, its line never ends at the server. */
static void test_requests_are_recognised(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		const struct row *r = &requests[i];
		const char *end = memchr(r->bytes, '\n', r->n);
		size_t line = (size_t)(end - r->bytes);

		while (r->bytes[line] == '\n' || r->bytes[line] == '\r')
			line++;
		if (line + 2 < r->n)
			line = (size_t)((const char *)memchr(r->bytes + line, '\n', r->n - line) -
					r->bytes);
		for (size_t piece = 1; piece <= r->n; piece++) {
			struct stream_end e = stream_feed(&any, r->bytes, r->n, 0, piece);

			is_int(e.kind, r->kind, "%s in pieces of %zu", r->name, piece);
			ok(e.sent < line, "%s: %zu of %zu have gone", r->name, e.sent, line);
		}
	}
}

/* Requests behind something else; what is refused is the line that makes one. */
static const struct {
	const char *name, *bytes;
	size_t passes;
} late[] = {
	{ "a Host after any words", "foo bar\r\nHost: evil.test\r\n\r\n", 13 },
	{ "a Host further down", "a b c\nX: y\n\thost:evil.test\n", 16 },
	{ "a Host with a space", "a b c\r\nHost : evil.test\r\n", 12 },
	{ "a line that only CR LF ends", "junk\nGET /4 HTTP/1.1\r\nHost: evil.test\r\n", 20 },
	{ "the same after blank ones", "a\n\nx y z\r\nHost: evil.test\r\n\r\n", 14 },
	{ "a URL", "junk\nGET http://evil.test/ HTTP/1.1\r\n\r\n", 35 },
	{ "a URL without a version", "junk\nget http://evil.test/\n", 26 },
	{ "a Host after a lone CR", "a b c\r\nX: y\rHost: evil.test\r\n", 16 },
};

static void test_late_requests(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(late); i++)
		for (size_t piece = 1; piece <= strlen(late[i].bytes); piece++) {
			struct stream_end e = stream_feed(&any, late[i].bytes,
							  strlen(late[i].bytes), 0, piece);

			is_int(e.reason, PEEK_REQUEST_LINE, "%s", late[i].name);
			is_int((long long)e.sent, (long long)late[i].passes, "%s", late[i].name);
		}
}

static void test_limits(void)
{
	static char text[2 * MAX_PEEK_LINE];
	/* Python, Go, Node and the JDK take a request behind, or after, all but the last. */
	static const struct { const char *start; char fill; enum peek_verdict verdict; } lines[] = {
		{ "", 'a', PEEK_REFUSED },	{ "", ' ', PEEK_REFUSED },
		{ "", '\n', PEEK_REFUSED },	{ "\r\n", '\r', PEEK_REFUSED },
		{ "get", '\t', PEEK_REFUSED },	{ "foo /", 'a', PEEK_REFUSED },
		{ "a /b c", ' ', PEEK_REFUSED }, { "{", 'a', PEEK_RAW },
		{ "\x7f", 'a', PEEK_RAW },	{ "", '\0', PEEK_RAW },
	};
	struct stream plain = any;
	struct stream_end e;

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		memset(text, lines[i].fill, sizeof(text));
		memcpy(text, lines[i].start, strlen(lines[i].start));
		e = stream_feed(&any, text, MAX_PEEK_LINE, 0, 1);
		is_int(e.verdict, PEEK_GO, "the longest line without an end is watched");
		e = stream_feed(&any, text, MAX_PEEK_LINE + 1, 0, 1);
		is_int(e.verdict, lines[i].verdict, "a longer one after '%s'", lines[i].start);
		plain.port = 80;
		e = stream_feed(&plain, text, MAX_PEEK_LINE + 1, 0, 1);
		is_int(e.verdict, PEEK_REFUSED, "whatever it is on the port of HTTP");
	}
	memset(text, 'a', sizeof(text));
	memcpy(text, "GET /", 5);
	for (size_t piece = 1; piece < sizeof(text); piece *= 3) {
		e = stream_feed(&any, text, sizeof(text), 0, piece);
		is_int(e.kind, PEEK_HTTP, "one that is a request is not let go");
		ok(e.sent < 5, "and nothing of it passes");
	}
}

/* PostgreSQL asks for TLS in clear first. */
static void test_postgres(void)
{
	static const struct extension good[] = { EXT(0, "\0\x0f\0\0\x0c" "allowed.test") },
				      evil[] = { EXT(0, "\0\x0c\0\0\x09" "evil.test") };
	static const char ask[] = "\0\0\0\x08\x04\xd2\x16\x30" "\0\0\0\x08\x04\xd2\x16\x2f";
	static struct bytes out;

	for (int bad = 0; bad < 2; bad++) {
		out.n = 0;
		put(&out, ask, 16);
		put_hello(&out, bad ? evil : good, 1, 50);
		for (size_t piece = 1; piece <= out.n; piece++) {
			struct stream_end e = stream_feed(&any, out.b, out.n, 0, piece);

			is_int(e.reason, bad ? PEEK_SNI_OTHER : PEEK_NO_REASON, "pieces of %zu",
			       piece);
			is_int((long long)e.done, bad ? 16 : (long long)out.n, "what passes");
		}
	}
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_others_pass_undelayed), TAP(test_the_end_passes),
		TAP(test_requests_are_recognised), TAP(test_late_requests),
		TAP(test_limits), TAP(test_postgres), TAP_END });
}
