/* Words and answers for refused connections (see peek_reason.h).
 *
 * Pure; part of the gate.  Nothing here quotes a path, a query or user info:
 * the only text of the client that is shown is a host that could be read as one.
 */
#include "gate/peek_reason.h"

/* In a sentence `@` stands for the host that was named, `$` for the one that the
 * connection is for. */
static const struct {
	const char *word;
	const char *sentence;
} reason_words[] = {
	[PEEK_NO_REASON] = { "none", "not refused" },
	[PEEK_SNI_NONE] = { "sni-none",
			    "no server name in the TLS handshake on a connection to $" },
	[PEEK_SNI_OTHER] = { "sni-other", "the TLS handshake names @, not $" },
	[PEEK_SNI_BAD] = { "sni-bad", "the server name in the TLS handshake to $ is malformed" },
	[PEEK_ECH] = { "ech", "the TLS handshake to $ hides its server name "
			      "(encrypted client hello); switch that off in the client" },
	[PEEK_TLS_BAD] = { "tls-bad", "the TLS handshake to $ is malformed" },
	[PEEK_TLS_OLD] = { "tls-old", "the TLS handshake to $ is of SSL 2 and has no server name" },
	[PEEK_TLS_LONG] = { "tls-long", "the TLS handshake to $ is too long" },
	[PEEK_HOST_NONE] = { "host-none", "HTTP request without a Host on a connection to $" },
	[PEEK_HOST_OTHER] = { "host-other", "HTTP request for @ on a connection to $" },
	[PEEK_HOST_BAD] = { "host-bad",
			    "HTTP request for a malformed host on a connection to $" },
	[PEEK_HOST_SEVERAL] = { "host-several",
				"HTTP request with several Host lines on a connection to $" },
	[PEEK_PORT_OTHER] = { "port-other",
			      "HTTP request for another port of @ on a connection to $" },
	[PEEK_USER_INFO] = { "user-info",
			     "HTTP request with user info in its host on a connection to $" },
	[PEEK_CONNECT] = { "connect", "HTTP CONNECT on a connection to $" },
	[PEEK_HTTP2] = { "http2", "HTTP/2 without TLS to $: whom it is for cannot be checked" },
	[PEEK_REQUEST_LINE] = { "request-line", "HTTP request to $ with a malformed first line" },
	[PEEK_REQUEST_TARGET] = { "request-target",
				  "HTTP request to $ for what is neither a path nor a URL" },
	[PEEK_HTTP_VERSION] = { "http-version",
				"HTTP request to $ of another version than 1.0 or 1.1" },
	[PEEK_LINE_END] = { "line-end",
			    "HTTP request to $ with a line that does not end in CR LF" },
	[PEEK_CONTROL] = { "control", "HTTP request to $ with a control character" },
	[PEEK_FIELD] = { "field", "HTTP request to $ with a malformed header line" },
	[PEEK_LENGTH] = { "length", "HTTP request to $ whose length is malformed or given twice" },
	[PEEK_CODING] = { "coding",
			  "HTTP request to $ with another Transfer-Encoding than chunked" },
	[PEEK_CHUNK] = { "chunk", "HTTP request to $ with a malformed chunk" },
	[PEEK_TRAILER] = { "trailer", "HTTP request to $ with a trailer that may not be one" },
	[PEEK_CONNECTION] = { "connection",
			      "HTTP request to $ whose Connection line takes back its Host" },
	[PEEK_BODY_REQUEST] = { "body-request",
				"HTTP request to $ whose body begins like another request" },
	[PEEK_UPGRADE_LATE] = { "upgrade-late",
				"HTTP upgrade to $ that is not the first request" },
	[PEEK_HEAD_LONG] = { "head-long", "HTTP request to $ with a head that is too long" },
	[PEEK_CUT_SHORT] = { "cut-short",
			     "the connection to $ ended inside a handshake or request" },
};
static_assert(ARRAY_SIZE(reason_words) == N_PEEK_REASONS, "a reason without words");

const char *peek_reason_word(enum peek_reason r)
{
	return reason_words[r].word;
}

static size_t put(char *out, size_t cap, size_t n, const char *text)
{
	while (*text && n + 1 < cap)
		out[n++] = *text++;
	out[n] = '\0';
	return n;
}

/* Without an allocation: a refusal must not fail. */
static void print_host(const struct host *h, char out[MAX_HOST_NAME + 1])
{
	char group[8];
	size_t n = 0;

	*out = '\0';
	if (!h->is_addr) {
		put(out, MAX_HOST_NAME + 1, 0, h->name);
		return;
	}
	for (unsigned i = 0; i < (h->addr.is_v6 ? 8 : 4); i++) {
		if (h->addr.is_v6)
			snprintf(group, sizeof(group), "%s%x", i ? ":" : "",
				 (unsigned)h->addr.b[2 * i] << 8 | h->addr.b[2 * i + 1]);
		else
			snprintf(group, sizeof(group), "%s%u", i ? "." : "", h->addr.b[i]);
		n = put(out, MAX_HOST_NAME + 1, n, group);
	}
}

void peek_refusal_print(const struct peek_refusal *r, const struct peek_target *to,
			char out[MAX_PEEK_WHY])
{
	char expected[MAX_HOST_NAME + 1], one[2] = "";
	size_t n = 0;

	print_host(&to->host, expected);
	*out = '\0';
	for (const char *s = reason_words[r->reason].sentence; *s; s++) {
		one[0] = *s;
		n = put(out, MAX_PEEK_WHY, n, *s == '@' ? r->named : *s == '$' ? expected : one);
	}
}

bool peek_is_host(const struct host *a, const struct host *b)
{
	if (a->is_addr != b->is_addr)
		return false;
	if (a->is_addr)
		return a->addr.is_v6 == b->addr.is_v6 &&
		       memcmp(a->addr.b, b->addr.b, sizeof(a->addr.b)) == 0;
	return a->n == b->n && memcmp(a->name, b->name, a->n) == 0;
}

bool peek_host_parse(struct str text, struct host *ret)
{
	struct host_addr strict;
	char why[HOST_WHY];
	struct host h;

	for (size_t i = 0; i < text.n; i++)
		if ((unsigned char)text.s[i] >= 0x7f || text.s[i] <= ' ')
			return false;
	if (host_parse(text, &h, why) < 0)
		return false;
	/* 127.1 and 0x7f.1 are addresses to us, and names to some servers. */
	if (h.is_addr && !h.addr.is_v6 && text.s[0] != '[' && !host_addr_parse(text, &strict))
		return false;
	*ret = h;
	return true;
}

enum peek_reason peek_refusal_name(struct peek_refusal *r, struct str named, enum peek_reason why)
{
	size_t n = MIN(named.n, sizeof(r->named) - 1);

	memcpy(r->named, named.s, n);
	r->named[n] = '\0';
	return why;
}

size_t peek_answer_http(const char *why, char out[PEEK_ANSWER_BYTES])
{
	char line[MAX_PEEK_WHY];
	size_t n = 0;
	int len;

	for (; why[n] && n + 1 < sizeof(line); n++)
		line[n] = why[n] < ' ' || why[n] > '~' ? '?' : why[n];
	line[n] = '\0';
	len = snprintf(out, PEEK_ANSWER_BYTES,
		       "HTTP/1.1 403 Forbidden\r\n"
		       "Content-Type: text/plain; charset=us-ascii\r\n"
		       "Content-Length: %zu\r\n"
		       "Connection: close\r\n"
		       "X-Cordon-Deny: %s\r\n"
		       "\r\n"
		       "cordon: %s\n",
		       n + strlen("cordon: \n"), line, line);
	return (size_t)len;
}

size_t peek_answer_tls(unsigned char out[PEEK_ALERT_BYTES])
{
	/* type alert, TLS 1.2 as every record of 1.3 says, 2 bytes: fatal, 49 */
	static const unsigned char alert[] = { 21, 3, 3, 0, 2, 2, 49 };

	static_assert(sizeof(alert) == PEEK_ALERT_BYTES, "the size that callers keep ready");
	memcpy(out, alert, sizeof(alert));
	return sizeof(alert);
}
