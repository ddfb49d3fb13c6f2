/* Plain HTTP through the peeker: real clients pass, everything that could be
 * read in two ways or is for somebody else does not, however it is split. */
#include "peek_corpus.h"
#include "peek_stream.h"
#include "tap.h"

#define A	"Host: allowed.test\r\n"
#define GET	"GET / HTTP/1.1\r\n"
#define POST	"POST / HTTP/1.1\r\n" A
#define EVIL	"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n"
#define OK	PEEK_NO_REASON

static const struct stream plain = { .host = "allowed.test", .port = 80 };

struct row {
	const char *name;
	const char *bytes;
	size_t n;
	enum peek_reason want;
	size_t passed;		/* SIZE_MAX: all; else what may go before the refusal */
};
#define ROW(name, text, want)	{ name, text, sizeof(text) - 1, want, (want) ? 0 : SIZE_MAX }
#define LATE(name, before, text, want) \
	{ name, before text, sizeof(before text) - 1, want, sizeof(before) - 1 }

/* One verdict for every way of cutting in two, and for single bytes. */
static void check_row(const struct stream *s, const struct row *r)
{
	struct stream_end whole = stream_feed(s, r->bytes, r->n, 0, r->n);
	size_t want = r->passed == SIZE_MAX ? r->n : r->passed;

	is_text(peek_reason_word(whole.reason), peek_reason_word(r->want), "%s", r->name);
	is_int(whole.verdict, r->want ? PEEK_REFUSED : PEEK_GO, "%s", r->name);
	is_int((long long)whole.done, (long long)want, "%s: what passes", r->name);
	for (size_t i = 1; i <= r->n; i++) {
		struct stream_end e = stream_feed(s, r->bytes, r->n, i < r->n ? i : 0,
						  i < r->n ? r->n : 1);

		if (e.verdict != whole.verdict || e.done != whole.done)
			ok(false, "%s: another verdict (%s) when cut after %zu", r->name,
			   peek_reason_word(e.reason), i);
	}
}

static const struct row good[] = {
	ROW("the least", GET A "\r\n", OK),
	ROW("with its port", GET "Host: allowed.test:80\r\n\r\n", OK),
	ROW("case and dot", GET "hOsT:\tALLOWED.Test. \r\n\r\n", OK),
	ROW("no space after the colon", GET "Host:allowed.test\r\n\r\n", OK),
	ROW("absolute form", "GET http://allowed.test/x HTTP/1.1\r\n" A "\r\n", OK),
	ROW("absolute form without a path", "GET HTTP://Allowed.test?q HTTP/1.1\r\n" A "\r\n", OK),
	ROW("options of the server", "OPTIONS * HTTP/1.1\r\n" A "\r\n", OK),
	ROW("HTTP/1.0 with a host", "GET / HTTP/1.0\r\n" A "\r\n", OK),
	ROW("an unknown method", "FROB /x HTTP/1.1\r\n" A "\r\n", OK),
	ROW("a lower-case method", "get /x HTTP/1.1\r\n" A "\r\n", OK),
	ROW("a URL in the path", "GET /http://evil.test/ HTTP/1.1\r\n" A "\r\n", OK),
	ROW("two slashes", "GET //evil.test/ HTTP/1.1\r\n" A "\r\n", OK),
	ROW("an empty value, UTF-8, a tab", GET A "X:\r\nY: \xc3\xbc\ta\r\n\r\n", OK),
	ROW("forwarded hosts are data", GET A "X-Forwarded-Host: evil.test\r\n\r\n", OK),
	ROW("a length of 0", POST "Content-Length: 0\r\n\r\n" GET A "\r\n", OK),
	ROW("a body, then another", POST "Content-Length: 5\r\n\r\nhello" POST
	    "Content-Length: 2\r\n\r\nhi", OK),
	ROW("a body that ends in requests", POST "Content-Length: 40\r\n\r\nx\r\n\r\n" EVIL, OK),
	ROW("a body with lines", POST "Content-Length: 12\r\n\r\n\r\n\r\na b c\r\n" "x"
	    GET A "\r\n", OK),
	ROW("a body about HTTP", POST "Content-Length: 17\r\n\r\nof HTTP/1.1 and 2", OK),
	ROW("a log as body", POST "Content-Length: 45\r\n\r\n"
	    "1.2.3.4 - - [] \"GET / HTTP/1.1\" 200 123 x y\r\n", OK),
	ROW("GET with a body", GET A "Content-Length: 7\r\n\r\n{\"a\":1}", OK),
	ROW("chunks", POST "Transfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\nA\r\n0123456789\r\n"
	    "0\r\n\r\n" GET A "\r\n", OK),
	ROW("a chunk with CR LF and a request", POST "Transfer-Encoding: chunked\r\n\r\n23\r\n" EVIL
	    "\r\n0\r\n\r\n", OK),
	ROW("chunk extensions", POST "Transfer-Encoding: chunked\r\n\r\n"
	    "1;a=b;c\r\nx\r\n0\r\n\r\n", OK),
	ROW("trailers", POST "Transfer-Encoding: chunked\r\n\r\n0\r\nX-Sum: 1\r\nY: 2\r\n\r\n", OK),
	ROW("h2c offered, not taken", GET A "Connection: Upgrade, HTTP2-Settings\r\n"
	    "Upgrade: h2c\r\nHTTP2-Settings: AAEA\r\n\r\n" GET A "Upgrade: h2c\r\n\r\n", OK),
	ROW("expects 100", POST "Expect: 100-continue\r\nContent-Length: 3\r\n\r\nabc", OK),
};

static const struct row bad_host[] = {
	ROW("another host", EVIL, PEEK_HOST_OTHER),
	ROW("a sub-domain", GET "Host: a.allowed.test\r\n\r\n", PEEK_HOST_OTHER),
	ROW("a prefix", GET "Host: allowed.test.evil.test\r\n\r\n", PEEK_HOST_OTHER),
	ROW("an address", GET "Host: 192.0.2.1\r\n\r\n", PEEK_HOST_OTHER),
	ROW("an odd address", GET "Host: 127.1\r\n\r\n", PEEK_HOST_BAD),
	ROW("no host", GET "\r\n", PEEK_HOST_NONE),
	ROW("an empty host", GET "Host:\r\n\r\n", PEEK_HOST_NONE),
	ROW("HTTP/1.0 without a host", "GET / HTTP/1.0\r\n\r\n", PEEK_HOST_NONE),
	ROW("two hosts", GET A "Host: evil.test\r\n\r\n", PEEK_HOST_SEVERAL),
	ROW("the same twice", GET A A "\r\n", PEEK_HOST_SEVERAL),
	ROW("a list", GET "Host: allowed.test, evil.test\r\n\r\n", PEEK_HOST_BAD),
	ROW("a list without a space", GET "Host: allowed.test,evil.test\r\n\r\n", PEEK_HOST_BAD),
	ROW("a path", GET "Host: allowed.test/evil.test\r\n\r\n", PEEK_HOST_BAD),
	ROW("another port", GET "Host: allowed.test:8080\r\n\r\n", PEEK_PORT_OTHER),
	ROW("an empty port", GET "Host: allowed.test:\r\n\r\n", PEEK_HOST_BAD),
	ROW("a port that is none", GET "Host: allowed.test:80a\r\n\r\n", PEEK_HOST_BAD),
	ROW("a sign in the port", GET "Host: allowed.test:+80\r\n\r\n", PEEK_HOST_BAD),
	ROW("a port and a host", GET "Host: allowed.test:80@evil.test\r\n\r\n", PEEK_USER_INFO),
	ROW("user info", GET "Host: allowed.test@evil.test\r\n\r\n", PEEK_USER_INFO),
	ROW("non-ASCII", GET "Host: allowed.test\xc2\xa0\r\n\r\n", PEEK_HOST_BAD),
	ROW("brackets", GET "Host: [allowed.test]\r\n\r\n", PEEK_HOST_BAD),
	ROW("a bracket left open", GET "Host: [::1\r\n\r\n", PEEK_HOST_BAD),
	ROW("a v6 address without brackets", GET "Host: ::1\r\n\r\n", PEEK_HOST_BAD),
	ROW("a URL for another", "GET http://evil.test/ HTTP/1.1\r\n" A "\r\n", PEEK_HOST_OTHER),
	ROW("a URL with another port", "GET http://allowed.test:81/ HTTP/1.1\r\n" A "\r\n",
	    PEEK_PORT_OTHER),
	ROW("a URL with user info", "GET http://allowed.test@evil.test/ HTTP/1.1\r\n" A "\r\n",
	    PEEK_USER_INFO),
	ROW("a URL with a fragment", "GET http://allowed.test#@evil.test/ HTTP/1.1\r\n" A "\r\n",
	    PEEK_USER_INFO),
	ROW("a URL with a backslash", "GET http://evil.test\\@allowed.test/ HTTP/1.1\r\n" A "\r\n",
	    PEEK_USER_INFO),
	ROW("a URL without a host", "GET http:///x HTTP/1.1\r\n" A "\r\n", PEEK_HOST_BAD),
	ROW("another scheme", "GET https://allowed.test/ HTTP/1.1\r\n" A "\r\n",
	    PEEK_REQUEST_TARGET),
	ROW("one slash", "GET http:/evil.test/ HTTP/1.1\r\n" A "\r\n", PEEK_REQUEST_TARGET),
	ROW("a bare name", "GET evil.test HTTP/1.1\r\n" A "\r\n", PEEK_REQUEST_TARGET),
	ROW("a star", "GET * HTTP/1.1\r\n" A "\r\n", PEEK_REQUEST_TARGET),
	ROW("CONNECT", "CONNECT evil.test:443 HTTP/1.1\r\n" A "\r\n", PEEK_CONNECT),
	ROW("CONNECT to itself", "CONNECT allowed.test:80 HTTP/1.1\r\n" A "\r\n", PEEK_CONNECT),
	ROW("connect", "connect allowed.test:80 HTTP/1.1\r\n" A "\r\n", PEEK_CONNECT),
	LATE("the second request", GET A "\r\n", EVIL, PEEK_HOST_OTHER),
	LATE("after a body", POST "Content-Length: 3\r\n\r\nabc", EVIL, PEEK_HOST_OTHER),
	LATE("after chunks", POST "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", EVIL,
	     PEEK_HOST_OTHER),
	LATE("after an h2c offer", GET A "Upgrade: h2c\r\n\r\n",
	     "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", PEEK_HTTP2),
	ROW("HTTP/2 at once", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", PEEK_HTTP2),
	ROW("Connection drops the host", GET A "Connection: close, Host\r\n\r\n", PEEK_CONNECTION),
	ROW("Connection drops the length", POST "Connection: content-length\r\n"
	    "Content-Length: 1\r\n\r\na", PEEK_CONNECTION),
};

static const struct row bad_shape[] = {
	ROW("two spaces", "GET  / HTTP/1.1\r\n" A "\r\n", PEEK_REQUEST_LINE),
	ROW("two spaces before the version", "GET /  HTTP/1.1\r\n" A "\r\n", PEEK_REQUEST_LINE),
	ROW("a tab", "GET\t/ HTTP/1.1\r\n" A "\r\n", PEEK_REQUEST_LINE),
	ROW("a tab in the target", "GET /\tx HTTP/1.1\r\n" A "\r\n", PEEK_REQUEST_LINE),
	ROW("a space in the target", "GET /a b HTTP/1.1\r\n" A "\r\n", PEEK_REQUEST_LINE),
	ROW("a space at the end", "GET / HTTP/1.1 \r\n" A "\r\n", PEEK_HTTP_VERSION),
	ROW("a space at the start", " GET / HTTP/1.1\r\n" A "\r\n", PEEK_REQUEST_LINE),
	ROW("a form feed", "GET\f/\fHTTP/1.1\r\n" A "\r\n", PEEK_CONTROL),
	ROW("a unit separator", "GET\x1f/\x1fHTTP/1.1\r\nHost: evil.test\r\n\r\n", PEEK_CONTROL),
	ROW("a no-break space", "GET\xa0/\xa0HTTP/1.1\r\nHost: evil.test\r\n\r\n",
	    PEEK_REQUEST_LINE),
	ROW("a next-line", "GET\x85/\x85HTTP/1.1\r\nHost: evil.test\r\n\r\n", PEEK_REQUEST_LINE),
	ROW("a byte before the method", "\x01GET / HTTP/1.1\r\n" A "\r\n", PEEK_CONTROL),
	ROW("NUL before the method", "\0GET / HTTP/1.1\r\n" A "\r\n", PEEK_CONTROL),
	ROW("a blank line first", "\r\n" GET A "\r\n", PEEK_REQUEST_LINE),
	ROW("LF first", "\n" GET A "\r\n", PEEK_LINE_END),
	ROW("a line of spaces first", "  \r\n" EVIL, PEEK_REQUEST_LINE),
	ROW("HTTP/0.9", "GET /\r\n", PEEK_REQUEST_LINE),
	ROW("HTTP/0.9 without a path", "GET x\r\n", PEEK_REQUEST_LINE),
	ROW("HTTP/0.9 and a host", "GET http://evil.test/\r\n", PEEK_REQUEST_LINE),
	ROW("no version, but a host", "FOO /\r\nHost: evil.test\r\n\r\n", PEEK_REQUEST_LINE),
	ROW("no version, a URL", "foo http://evil.test/\r\n\r\n", PEEK_REQUEST_LINE),
	ROW("no line end at all", "GET http://evil.test/", PEEK_CUT_SHORT),
	ROW("HTTP/1.2", "GET / HTTP/1.2\r\n" A "\r\n", PEEK_HTTP_VERSION),
	ROW("HTTP/2.0", "GET / HTTP/2.0\r\n" A "\r\n", PEEK_HTTP_VERSION),
	ROW("HTTP/1.10", "GET / HTTP/1.10\r\n" A "\r\n", PEEK_HTTP_VERSION),
	ROW("http/1.1", "GET / http/1.1\r\n" A "\r\n", PEEK_REQUEST_LINE),
	ROW("RTSP as a version", "GET / RTSP/1.0\r\nHost: evil.test\r\n\r\n", PEEK_REQUEST_LINE),
	ROW("a PROXY line", "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n" EVIL, PEEK_REQUEST_LINE),
	ROW("a PROXY header", "\r\n\r\n\0\r\nQUIT\n\x20\0\0\0" EVIL, PEEK_REQUEST_LINE),
	ROW("a method with a colon", "GE:T / HTTP/1.1\r\n" A "\r\n", PEEK_REQUEST_LINE),
	ROW("bare LF", "GET / HTTP/1.1\n" A "\r\n", PEEK_LINE_END),
	ROW("bare LF after a header", GET "Host: allowed.test\n\r\n", PEEK_LINE_END),
	ROW("bare LF at the end", GET A "\n", PEEK_LINE_END),
	ROW("bare CR in a value", GET A "X: a\rHost: evil.test\r\n\r\n", PEEK_LINE_END),
	ROW("bare CR as line end", "GET / HTTP/1.1\rHost: evil.test\r\r", PEEK_LINE_END),
	ROW("CR CR LF", GET A "X: a\r\r\n\r\n", PEEK_LINE_END),
	ROW("NUL in a value", GET "Host: allowed.test\0.evil.test\r\n\r\n", PEEK_CONTROL),
	ROW("NUL in a name", GET "Ho\0st: evil.test\r\n" A "\r\n", PEEK_CONTROL),
	ROW("a vertical tab", GET A "X: a\vb\r\n\r\n", PEEK_CONTROL),
	ROW("DEL", GET A "X: a\x7f\r\n\r\n", PEEK_CONTROL),
	ROW("a folded line", GET A "X: a\r\n b\r\n\r\n", PEEK_FIELD),
	ROW("a folded host", GET "Host: allowed.test\r\n evil.test\r\n\r\n", PEEK_FIELD),
	ROW("folded at once", GET " X: a\r\n" A "\r\n", PEEK_FIELD),
	ROW("a space before the colon", GET "Host : allowed.test\r\n\r\n", PEEK_FIELD),
	ROW("a tab before the colon", GET A "Content-Length\t: 5\r\n\r\n", PEEK_FIELD),
	ROW("a space in a name", GET A "X Y: a\r\n\r\n", PEEK_FIELD),
	ROW("no colon", GET A "nonsense\r\n\r\n", PEEK_FIELD),
	ROW("no name", GET A ": x\r\n\r\n", PEEK_FIELD),
	ROW("a line of spaces", GET A "  \r\n\r\n", PEEK_FIELD),
	ROW("quotes in a name", GET A "\"Host\": evil.test\r\n\r\n", PEEK_FIELD),
	ROW("a name beyond ASCII", GET A "H\xc3\xb6st: evil.test\r\n\r\n", PEEK_FIELD),
	ROW("an underscore for the dash", POST "Content_Length: 5\r\n\r\n", PEEK_FIELD),
	ROW("Transfer_Encoding", POST "Transfer_Encoding: chunked\r\n\r\n", PEEK_FIELD),
	ROW("a body that is a request", POST "Content-Length: 35\r\n\r\n" EVIL, PEEK_BODY_REQUEST),
	ROW("GET with a request", GET A "Content-Length: 35\r\n\r\n" EVIL, PEEK_BODY_REQUEST),
};

static const struct row bad_length[] = {
	ROW("two lengths", POST "Content-Length: 1\r\nContent-Length: 1\r\n\r\na", PEEK_LENGTH),
	ROW("two other lengths", POST "Content-Length: 1\r\nContent-Length: 2\r\n\r\na",
	    PEEK_LENGTH),
	ROW("a list of lengths", POST "Content-Length: 1, 1\r\n\r\na", PEEK_LENGTH),
	ROW("a sign", POST "Content-Length: +1\r\n\r\na", PEEK_LENGTH),
	ROW("negative", POST "Content-Length: -1\r\n\r\na", PEEK_LENGTH),
	ROW("hexadecimal", POST "Content-Length: 0x1\r\n\r\na", PEEK_LENGTH),
	ROW("a leading zero", POST "Content-Length: 010\r\n\r\na", PEEK_LENGTH),
	ROW("a space inside", POST "Content-Length: 1 0\r\n\r\na", PEEK_LENGTH),
	ROW("a fraction", POST "Content-Length: 1.0\r\n\r\na", PEEK_LENGTH),
	ROW("nothing", POST "Content-Length:\r\n\r\na", PEEK_LENGTH),
	ROW("too much", POST "Content-Length: 18446744073709551616\r\n\r\na", PEEK_LENGTH),
	ROW("nearly too much", POST "Content-Length: 9999999999999999999\r\n\r\na", PEEK_LENGTH),
	ROW("length and chunks", POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
	    "0\r\n\r\n", PEEK_LENGTH),
	ROW("chunks and length", POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"
	    "0\r\n\r\n", PEEK_LENGTH),
	ROW("chunked twice", POST "Transfer-Encoding: chunked\r\n"
	    "Transfer-Encoding: chunked\r\n\r\n", PEEK_CODING),
	ROW("chunked, then identity", POST "Transfer-Encoding: chunked\r\n"
	    "Transfer-Encoding: identity\r\n\r\n", PEEK_CODING),
	ROW("gzip, chunked", POST "Transfer-Encoding: gzip, chunked\r\n\r\n", PEEK_CODING),
	ROW("identity", POST "Transfer-Encoding: identity\r\n\r\n", PEEK_CODING),
	ROW("xchunked", POST "Transfer-Encoding: xchunked\r\n\r\n", PEEK_CODING),
	ROW("chunked;x", POST "Transfer-Encoding: chunked;x=y\r\n\r\n", PEEK_CODING),
	ROW("a quoted one", POST "Transfer-Encoding: \"chunked\"\r\n\r\n", PEEK_CODING),
	ROW("an empty one", POST "Transfer-Encoding:\r\n\r\n", PEEK_CODING),
	ROW("chunked,", POST "Transfer-Encoding: chunked,\r\n\r\n", PEEK_CODING),
	ROW("chunks in HTTP/1.0", "POST / HTTP/1.0\r\n" A "Transfer-Encoding: chunked\r\n\r\n",
	    PEEK_CODING),
};

#define CHUNKED	POST "Transfer-Encoding: chunked\r\n\r\n"
static const struct row bad_chunk[] = {
	LATE("0x", CHUNKED, "0x5\r\nhello\r\n", PEEK_CHUNK),
	LATE("a sign", CHUNKED, "+5\r\nhello\r\n", PEEK_CHUNK),
	LATE("negative", CHUNKED, "-5\r\nhello\r\n", PEEK_CHUNK),
	LATE("a space", CHUNKED, "5 \r\nhello\r\n", PEEK_CHUNK),
	LATE("a space first", CHUNKED, " 5\r\nhello\r\n", PEEK_CHUNK),
	LATE("nothing", CHUNKED, "\r\nhello\r\n", PEEK_CHUNK),
	LATE("only an extension", CHUNKED, ";a=b\r\nhello\r\n", PEEK_CHUNK),
	LATE("too long a size", CHUNKED, "0000000000000005\r\nhello\r\n", PEEK_CHUNK),
	LATE("an overflow", CHUNKED, "10000000000000005\r\nhello\r\n", PEEK_CHUNK),
	LATE("zeros", CHUNKED, "00\r\n\r\n", PEEK_CHUNK),
	LATE("bare LF", CHUNKED, "5\nhello\r\n", PEEK_LINE_END),
	LATE("bare CR", CHUNKED, "5\rhello\r\n", PEEK_LINE_END),
	LATE("LF in an extension", CHUNKED, "5;a\nhello\r\n", PEEK_LINE_END),
	LATE("a quoted extension", CHUNKED, "5;a=\"b\"\r\nhello\r\n", PEEK_CHUNK),
	LATE("a space in an extension", CHUNKED, "5;a b\r\nhello\r\n", PEEK_CHUNK),
	LATE("an empty extension", CHUNKED, "5;\r\nhello\r\n", PEEK_CHUNK),
	LATE("no CR LF after the data", CHUNKED "1\r\na", "GET / ", PEEK_CHUNK),
	LATE("LF after the data", CHUNKED "1\r\na", "\n0\r\n\r\n", PEEK_CHUNK),
	LATE("one byte too many", CHUNKED "1\r\na", "b\r\n", PEEK_CHUNK),
	LATE("Host as a trailer", CHUNKED "0\r\n", "Host: evil.test\r\n\r\n", PEEK_TRAILER),
	LATE("length as a trailer", CHUNKED "0\r\n", "Content-Length: 5\r\n\r\n", PEEK_TRAILER),
	LATE("coding as a trailer", CHUNKED "0\r\n", "Transfer-Encoding: x\r\n\r\n", PEEK_TRAILER),
	LATE("a folded trailer", CHUNKED "0\r\nX: a\r\n", " b\r\n\r\n", PEEK_FIELD),
	LATE("LF for the last line", CHUNKED "0\r\n", "\n" EVIL, PEEK_LINE_END),
	LATE("a request instead of trailers", CHUNKED "0\r\n", EVIL, PEEK_FIELD),
};

static void check_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		check_row(&plain, &rows[i]);
}

static void test_good_requests_pass(void)
{
	check_rows(good, ARRAY_SIZE(good));
}

/* [PH1] [PH2]: what passes is told for each row, and for every cut. */
static void test_other_hosts_are_refused(void)
{
	check_rows(bad_host, ARRAY_SIZE(bad_host));
}

/* The body's bytes before the LF of its line may have gone: half a line. */
static void test_odd_shapes_are_refused(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad_shape); i++) {
		struct row r = bad_shape[i];

		if (r.want == PEEK_BODY_REQUEST)
			r.passed = (size_t)(strstr(r.bytes, "\r\n\r\n") - r.bytes) + 4 +
				   strlen("GET / HTTP/1.1\r");
		check_row(&plain, &r);
	}
}

static void test_odd_lengths_are_refused(void)
{
	check_rows(bad_length, ARRAY_SIZE(bad_length));
}

static void test_odd_chunks_are_refused(void)
{
	check_rows(bad_chunk, ARRAY_SIZE(bad_chunk));
}

static void test_body_requests_across_the_end(void)
{
	static const struct row rows[] = {
		LATE("a URL that the next request continues",
		     POST "Content-Length: 11\r\n\r\n" "GET http://", "evil.test / HTTP/1.1\r\n",
		     PEEK_BODY_REQUEST),
		LATE("blank lines first", POST "Content-Length: 39\r\n\r\n" "\r\n\r\n"
		     "GET / HTTP/1.1\r", "\nHost: evil.test\r\n\r\n", PEEK_BODY_REQUEST),
		LATE("a lower-case URL", POST "Content-Length: 23\r\n\r\n" "get http://evil.test/x",
		     "\n", PEEK_BODY_REQUEST),
		LATE("the client's end ends the line", POST "Content-Length: 99\r\n\r\n"
		     "GET http://evil.test/ HTTP/1.1\r", "", PEEK_BODY_REQUEST),
		ROW("JSON, then a request", POST "Content-Length: 7\r\n\r\n" "{\"a\":1}"
		    GET A "\r\n", OK),
	};

	check_rows(rows, ARRAY_SIZE(rows));
}

/* Servers take request lines of up to a megabyte, and blank lines before them. */
static void test_body_requests_with_long_lines(void)
{
	static char text[1 << 18];
	static const struct {
		const char *begin, *end;
		char fill;
		enum peek_reason want;
	} rows[] = {
		{ "GET /", " HTTP/1.1\r\nHost: evil.test\r\n\r\n", 'a', PEEK_BODY_REQUEST },
		{ "", "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", '\n', PEEK_BODY_REQUEST },
		{ "", " / HTTP/1.1\r\nHost: evil.test\r\n\r\n", 'A', PEEK_BODY_REQUEST },
		{ "{\"text\": \"", " HTTP/1.1\r\n\"}", 'a', OK },
		{ "GET /", "a\r\n\r\n", ' ', OK },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int n = snprintf(text, sizeof(text), POST "Content-Length: %zu\r\n\r\n%s",
				 strlen(rows[i].begin) + 200000 + strlen(rows[i].end),
				 rows[i].begin);
		struct stream_end e;

		memset(text + n, rows[i].fill, 200000);
		n += 200000;
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%s", rows[i].end);
		e = stream_feed(&plain, text, (size_t)n, 0, 1000);
		is_int(e.reason, rows[i].want, "'%s' … '%s'", rows[i].begin, rows[i].end);
	}
}

static void test_addresses(void)
{
	static const struct row v4[] = {
		ROW("the address", GET "Host: 192.0.2.7\r\n\r\n", OK),
		ROW("with the port", GET "Host: 192.0.2.7:80\r\n\r\n", OK),
		ROW("a name", GET A "\r\n", PEEK_HOST_OTHER),
		ROW("another spelling", GET "Host: 192.0.519\r\n\r\n", PEEK_HOST_BAD),
		ROW("octal", GET "Host: 192.0.2.07\r\n\r\n", PEEK_HOST_BAD),
	};
	static const struct row v6[] = {
		ROW("the address", GET "Host: [2001:db8::1]\r\n\r\n", OK),
		ROW("with the port", GET "Host: [2001:db8:0::1]:80\r\n\r\n", OK),
		ROW("no brackets", GET "Host: 2001:db8::1\r\n\r\n", PEEK_HOST_BAD),
		ROW("a zone", GET "Host: [2001:db8::1%25x]\r\n\r\n", PEEK_HOST_BAD),
		ROW("another", GET "Host: [2001:db8::2]\r\n\r\n", PEEK_HOST_OTHER),
		ROW("text after it", GET "Host: [2001:db8::1]x\r\n\r\n", PEEK_HOST_BAD),
	};
	const struct stream to_v4 = { .host = "192.0.2.7", .port = 80 };
	const struct stream to_v6 = { .host = "2001:db8::1", .port = 80 };

	for (size_t i = 0; i < ARRAY_SIZE(v4); i++)
		check_row(&to_v4, &v4[i]);
	for (size_t i = 0; i < ARRAY_SIZE(v6); i++)
		check_row(&to_v6, &v6[i]);
}

#define WS	GET A "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"

static void check_upgrade(const char *name, const char *response, struct str bytes,
			  enum peek_verdict verdict, enum peek_reason reason)
{
	const struct stream s = { .host = "allowed.test", .port = 80, .response = response,
				  .open = true };

	for (size_t i = 1; i <= bytes.n; i++) {
		struct stream_end e = stream_feed(&s, bytes.s, bytes.n, i, bytes.n);

		if (!is_int(e.verdict, verdict, "%s, cut after %zu", name, i))
			break;
		is_text(peek_reason_word(e.reason), peek_reason_word(reason), "%s", name);
		if (verdict == PEEK_GO)
			is_int((long long)e.sent, (long long)bytes.n, "%s: all passes", name);
	}
}

/* [PH3] */
static void test_upgrades(void)
{
	const char *yes = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";
	const char *late_yes = "HTTP/1.1 100 Continue\r\nX: HTTP/1.1 200\r\n\r\n"
			       "HTTP/1.1 103 Early Hints\n\nHTTP/1.1 101 x\r\n\r\n";
	const char *no = "HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 101 x\r\n\r\n";

	check_upgrade("frames after a yes", yes, STR(WS "\x81\x85 abcdHello\nxx\n"), PEEK_GO, OK);
	check_upgrade("frames after an interim answer", late_yes,
		      STR(WS "\x81\x85 abcdHello\nxx\n"), PEEK_GO, OK);
	check_upgrade("frames after a no", no, STR(WS "\x81\x85 abcdHello\nxx\n"), PEEK_REFUSED,
		      PEEK_LINE_END);
	check_upgrade("a request after a no", no, STR(WS GET A "\r\n"), PEEK_GO, OK);
	check_upgrade("another host after a no", no, STR(WS EVIL), PEEK_REFUSED, PEEK_HOST_OTHER);
	check_upgrade("another host after a yes", yes, STR(WS EVIL), PEEK_REFUSED, PEEK_HOST_OTHER);
	check_upgrade("HTTP/2 after a yes", yes, STR(WS "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
		      PEEK_REFUSED, PEEK_HTTP2);
	check_upgrade("a second upgrade", yes, STR(WS WS), PEEK_REFUSED, PEEK_UPGRADE_LATE);
	check_upgrade("nonsense from the server", "SSH-2.0-x\r\nHTTP/1.1 101 x\r\n", STR(WS EVIL),
		      PEEK_REFUSED, PEEK_HOST_OTHER);
	check_upgrade("an upgrade that is not the first", yes, STR(GET A "\r\n" WS), PEEK_REFUSED,
		      PEEK_UPGRADE_LATE);
	check_upgrade("with a body", yes, STR("POST / HTTP/1.1\r\n" A
		      "Upgrade: tcp\r\nContent-Length: 2\r\n\r\n{}" "\1\2\3\n"), PEEK_GO, OK);
}

static void test_bytes_wait_for_the_answer(void)
{
	static const char text[] = WS "\x81\x85 abcdHello";
	static const char *const answers[] = {
		NULL, "HTTP/1.1 10", "HTTP/1.1 101", "HTTP/1.1 101 x\r\nUpgrade: websocket\r\n",
		"HTTP/1.1 100 Continue\r\n\r\n",
		"HTTP/1.1 103 HTTP/1.1 101 x\r\nX: 101\r\n\r\nHTTP/",
	};

	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		const struct stream s = { .host = "allowed.test", .port = 80, .open = true,
					  .response = answers[i] };
		struct stream_end e = stream_feed(&s, text, sizeof(text) - 1, 0, sizeof(text) - 1);

		is_int(e.verdict, PEEK_GO, "nothing is refused before the answer");
		is_int((long long)e.sent, sizeof(WS) - 1, "[PH3] only the head has passed");
	}
}

static void test_limits(void)
{
	static char text[MAX_PEEK_HELD + 64];
	struct stream_end e;
	int n = snprintf(text, sizeof(text), GET A "X: ");

	memset(text + n, 'a', sizeof(text) - (size_t)n);
	memcpy(text + MAX_PEEK_HELD - 4, "\r\n\r\n", 4);
	e = stream_feed(&plain, text, MAX_PEEK_HELD, 0, 1000);
	is_int(e.verdict, PEEK_GO, "the longest head");
	memset(text + n, 'a', sizeof(text) - (size_t)n);
	memcpy(text + MAX_PEEK_HELD - 3, "\r\n\r\n", 4);
	e = stream_feed(&plain, text, MAX_PEEK_HELD + 1, 0, 1000);
	is_int(e.reason, PEEK_HEAD_LONG, "one byte more");
	e = stream_feed(&plain, text, MAX_PEEK_HELD + 1, 0, sizeof(text));
	is_int(e.reason, PEEK_HEAD_LONG, "one byte more, at once");

	for (unsigned lines = MAX_PEEK_FIELDS; lines <= MAX_PEEK_FIELDS + 1; lines++) {
		size_t at = (size_t)snprintf(text, sizeof(text), GET A);

		for (unsigned i = 1; i < lines; i++)
			at += (size_t)snprintf(text + at, sizeof(text) - at, "X: 1\r\n");
		at += (size_t)snprintf(text + at, sizeof(text) - at, "\r\n");
		e = stream_feed(&plain, text, at, 0, at);
		is_int(e.reason, lines > MAX_PEEK_FIELDS ? PEEK_HEAD_LONG : OK, "%u lines", lines);
	}
	n = snprintf(text, sizeof(text), CHUNKED "1;a=%0300d\r\n", 1);
	e = stream_feed(&plain, text, (size_t)n, 0, (size_t)n);
	is_int(e.reason, PEEK_HEAD_LONG, "a long chunk line");
	n = snprintf(text, sizeof(text), CHUNKED "0\r\n");
	for (unsigned i = 0; i <= MAX_PEEK_FIELDS; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "X: 1\r\n");
	e = stream_feed(&plain, text, (size_t)n, 0, (size_t)n);
	is_int(e.reason, PEEK_HEAD_LONG, "too many trailers");
}

/* Bodies may pass unseen: the verdict stays, and so does what passes. */
static void test_unseen_bodies(void)
{
	static const char text[] = POST "Content-Length: 40\r\n\r\n"
				   "first line\n0123456789012345678901234567\n"
				   CHUNKED "1e\r\n012345678901234567890123456789\r\n0\r\n\r\n" EVIL;
	struct stream s = plain;
	struct stream_end seen = stream_feed(&s, text, sizeof(text) - 1, 0, 1), e;

	is_int(seen.reason, PEEK_HOST_OTHER, "the last request is for another");
	s.use_unseen = true;
	for (size_t piece = 1; piece < 50; piece++) {
		e = stream_feed(&s, text, sizeof(text) - 1, 0, piece);
		is_int(e.reason, PEEK_HOST_OTHER, "in pieces of %zu", piece);
		is_int((long long)e.done, (long long)seen.done, "in pieces of %zu", piece);
	}
}

static void test_words(void)
{
	struct stream_end e = stream_feed(&plain, EVIL, strlen(EVIL), 0, 100);
	const char *secret = "GET http://me:secret@evil.test/path HTTP/1.1\r\n" A "\r\n";
	char answer[PEEK_ANSWER_BYTES], long_why[2000];
	size_t n;

	is_text(e.why, "HTTP request for evil.test on a connection to allowed.test", "the reason");
	ok(e.may_answer, "the first request may be answered");
	e = stream_feed(&plain, secret, strlen(secret), 0, 100);
	ok(!strstr(e.why, "secret") && !strstr(e.why, "path"), "nothing private: %s", e.why);
	e = stream_feed(&plain, GET A "\r\n" EVIL, strlen(GET A "\r\n" EVIL), 0, 100);
	ok(!e.may_answer, "not in the middle of another answer");

	n = peek_answer_http("host evil.test is not in the allowlist; allow with "
			     "--allow-host evil.test", answer);
	is_text(answer,
		"HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=us-ascii\r\n"
		"Content-Length: 82\r\nConnection: close\r\n"
		"X-Cordon-Deny: host evil.test is not in the allowlist; allow with "
		"--allow-host evil.test\r\n\r\n"
		"cordon: host evil.test is not in the allowlist; allow with "
		"--allow-host evil.test\n", "a legible refusal");
	is_int((long long)n, (long long)strlen(answer), "its length");
	is_int((long long)strlen(strstr(answer, "\r\n\r\n") + 4), 82, "its body's length");
	n = peek_answer_http("a\r\nSet-Cookie: x\xff", answer);
	ok(strstr(answer, "X-Cordon-Deny: a??Set-Cookie: x?\r\n"), "nothing breaks out");
	memset(long_why, 'x', sizeof(long_why) - 1);
	long_why[sizeof(long_why) - 1] = '\0';
	n = peek_answer_http(long_why, answer);
	ok(n < PEEK_ANSWER_BYTES && n == strlen(answer), "a long reason is cut");
	for (enum peek_reason r = 0; r < N_PEEK_REASONS; r++) {
		struct peek_refusal refusal = { r, "evil.test" };
		struct peek_target to = { { .n = 1, .name = "a" }, 80 };

		peek_refusal_print(&refusal, &to, long_why);
		ok(peek_reason_word(r) && *long_why, "reason %d has words", (int)r);
	}
}

/* What real clients sent, at every cut. */
static void check_real(const char *name, const unsigned char *bytes, size_t n)
{
	const struct stream s = { .host = "allowed.test", .port = 80,
				  .response = "HTTP/1.1 101 Switching Protocols\r\n\r\n" };
	const struct stream other = { .host = "other.test", .port = 80 };
	struct stream_end e;

	for (size_t i = 1; i <= n; i++) {
		e = stream_feed(&s, bytes, n, i < n ? i : 0, i < n ? n : 1);
		if (e.verdict == PEEK_REFUSED || e.done != n)
			ok(false, "%s, cut after %zu: %s, %zu of %zu", name, i, e.why, e.done, n);
	}
	e = stream_feed(&other, bytes, n, 0, n);
	is_int(e.reason, PEEK_HOST_OTHER, "%s, to another host", name);
	is_int((long long)e.sent, 0, "%s, to another host: nothing passes", name);
}

static void test_real_clients_pass(void)
{
	is_int(corpus_each("http", "real-", check_real) >= 20, 1, "there are recordings");
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_good_requests_pass), TAP(test_other_hosts_are_refused),
		TAP(test_odd_shapes_are_refused), TAP(test_odd_lengths_are_refused),
		TAP(test_odd_chunks_are_refused), TAP(test_body_requests_across_the_end),
		TAP(test_body_requests_with_long_lines),
		TAP(test_addresses), TAP(test_upgrades), TAP(test_bytes_wait_for_the_answer),
		TAP(test_limits), TAP(test_unseen_bodies), TAP(test_words),
		TAP(test_real_clients_pass), TAP_END });
}
