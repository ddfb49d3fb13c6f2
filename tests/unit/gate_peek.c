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

static const struct stream any = { .host = "allowed.test", .port = 1234, .open = true };

/* [PK1] All of it may be sent, whatever becomes of it; stream_feed() checks the
 * same after each piece. */
static const struct row others[] = {
	ROW("SMTP", "EHLO client.test\r\n", PEEK_OTHER),
	ROW("SSH", "SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n", PEEK_OTHER),
	ROW("redis", "*1\r\n$4\r\nPING\r\n", PEEK_OTHER),
	ROW("redis inline", "PING\r\n", PEEK_OTHER),
	ROW("redis inline, with words", "SET foo bar\r\n", PEEK_OTHER),
	ROW("memcached", "get some:key\r\n", PEEK_OTHER),
	ROW("memcached set", "set key 0 0 5\r\nhello\r\n", PEEK_OTHER),
	ROW("git", "0032git-upload-pack /project.git\0host=other.test\0", PEEK_UNKNOWN),
	ROW("PostgreSQL", "\0\0\0\x1f\0\3\0\0user\0me\0database\0x\0\0", PEEK_UNKNOWN),
	ROW("MQTT", "\x10\x10\0\4MQTT\4\2\0\x3c\0\4name", PEEK_UNKNOWN),
	ROW("AMQP", "AMQP\0\0\x09\1", PEEK_UNKNOWN),
	ROW("MongoDB", "\x3a\0\0\0\1\0\0\0\0\0\0\0\xd4\7\0\0", PEEK_UNKNOWN),
	ROW("BitTorrent", "\x13" "BitTorrent protocol\0\0\0\0\0\0\0\0", PEEK_UNKNOWN),
	ROW("IMAP", "a1 LOGIN me secret\r\n", PEEK_OTHER),
	ROW("POP3", "USER me\r\n", PEEK_OTHER),
	ROW("NATS", "CONNECT {\"verbose\":false,\"name\":\"x\"}\r\nPING\r\n", PEEK_OTHER),
	ROW("STOMP", "CONNECT\naccept-version:1.2\n\n", PEEK_OTHER),
	ROW("XMPP", "<?xml version='1.0'?><stream:stream to='x.test'>", PEEK_UNKNOWN),
	ROW("IRC", "NICK me\r\nUSER me 0 * :http://me.test/\r\n", PEEK_OTHER),
	ROW("syslog", "<34>Oct 11 22:14:15 h app: see http://x.test/ HTTP\n", PEEK_OTHER),
	ROW("whois", "example.com\r\n", PEEK_OTHER),
	ROW("gopher", "/a/file\r\n", PEEK_OTHER),
	ROW("finger", "\r\n", PEEK_UNKNOWN),
	ROW("rsync", "@RSYNCD: 31.0\n", PEEK_OTHER),
	ROW("a shell", "ls /tmp\n", PEEK_OTHER),
	ROW("SIP", "REGISTER sip:x.test SIP/2.0\r\n", PEEK_OTHER),
	ROW("a word", "hello", PEEK_UNKNOWN),
	ROW("two words", "hello world", PEEK_UNKNOWN),
	ROW("half a method", "GE", PEEK_UNKNOWN),
	ROW("a method", "GET", PEEK_UNKNOWN),
	ROW("a method and LF", "GET\n", PEEK_OTHER),
	ROW("JSON", "{\"jsonrpc\":\"2.0\"}", PEEK_UNKNOWN),
	ROW("nearly an SSL 2 hello", "\x80\x2e\x01\x03\x08xyz", PEEK_UNKNOWN),
	ROW("nothing", "", PEEK_UNKNOWN),
};

static void test_others_pass_undelayed(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		const struct row *r = &others[i];

		for (size_t piece = 1; piece <= r->n + 1; piece++) {
			struct stream_end e = stream_feed(&any, r->bytes, r->n, 0, piece);

			is_int(e.kind, r->kind, "%s in pieces of %zu", r->name, piece);
			is_int((long long)e.sent, (long long)r->n, "%s: all passes", r->name);
			is_int(e.verdict, r->kind == PEEK_OTHER ? PEEK_RAW : PEEK_GO, "%s",
			       r->name);
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

static void test_limits(void)
{
	static char text[2 * MAX_PEEK_LINE];
	struct stream_end e;

	memset(text, 'a', sizeof(text));
	e = stream_feed(&any, text, MAX_PEEK_LINE, 0, 1);
	is_int(e.verdict, PEEK_GO, "the longest line without an end is watched");
	e = stream_feed(&any, text, MAX_PEEK_LINE + 1, 0, 1);
	is_int(e.verdict, PEEK_RAW, "a longer one is no request");
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
		TAP(test_requests_are_recognised), TAP(test_limits), TAP(test_postgres), TAP_END });
}
