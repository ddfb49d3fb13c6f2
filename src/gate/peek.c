/* Which protocol a client speaks, and which reader judges it (see peek.h).
 *
 * Pure; part of the gate.
 */
#include "gate/peek.h"

static void start(struct peek *p)
{
	p->kind = PEEK_UNKNOWN;
	p->in_first = true;
	p->had_words = false;
	p->n_ends = 0;
	p->seen = p->watched = 0;
	peek_line_init(&p->line);
}

void peek_init(struct peek *p, const struct host *host, uint16_t port)
{
	*p = (struct peek){ .to = { *host, port } };
	start(p);
}

/* Beginnings that are known whole. */
enum opening { OPEN_SSL2, OPEN_SSL3, OPEN_RECORD, OPEN_ALERT, OPEN_PROXY2, OPEN_PG_TLS, OPEN_PG_GSS,
	       N_OPENINGS };
#define MAX_OPENING	8	/* bytes of the longest */

static const struct {
	size_t n;
	const char *bytes, *mask;	/* no mask: exactly these bytes */
} openings[] = {
	/* length, client hello, version 0.2 or 3.x: some servers still read both */
	[OPEN_SSL2] = { 5, "\x80\0\x01\0\x02", "\x80\0\xff\xff\xff" },
	[OPEN_SSL3] = { 5, "\x80\0\x01\x03\0", "\x80\0\xff\xff\xf8" },
	/* A record before the hello: Go and the JDK skip an alert that is a warning, Go
	 * with a version of up to 15.255. */
	[OPEN_RECORD] = { 2, "\x14\x03", "\xfc\xff" },
	[OPEN_ALERT] = { 6, "\x15\0\0\0\x02\x01", "\xff\xf0\0\xff\xff\xff" },
	/* A binary PROXY header, which some servers take before the request. */
	[OPEN_PROXY2] = { 5, "\r\n\r\n\0", NULL },
	/* "May we talk TLS?": the hello comes after the server's yes. */
	[OPEN_PG_TLS] = { 8, "\0\0\0\x08\x04\xd2\x16\x2f", NULL },
	[OPEN_PG_GSS] = { 8, "\0\0\0\x08\x04\xd2\x16\x30", NULL },
};
static_assert(ARRAY_SIZE(openings) == N_OPENINGS, "an opening without a row");

/* The one of which exactly these are all the bytes. */
static enum opening find_opening(const unsigned char *b, size_t n)
{
	for (size_t i = 0; i < N_OPENINGS; i++) {
		bool same = openings[i].n == n;

		for (size_t k = 0; same && k < n; k++) {
			unsigned char mask = openings[i].mask ?
						     (unsigned char)openings[i].mask[k] : 0xff;

			same = (b[k] & mask) == (unsigned char)openings[i].bytes[k];
		}
		if (same)
			return (enum opening)i;
	}
	return N_OPENINGS;
}

static struct peek_step refuse(struct peek *p, enum peek_reason why)
{
	p->refusal.reason = why;
	return (struct peek_step){ PEEK_REFUSED, 0, 0 };
}

static struct peek_step be_http(struct peek *p, const unsigned char *b, size_t n)
{
	p->kind = PEEK_HTTP;
	peek_http_init(&p->http, &p->to, &p->refusal);
	/* What the server answers is no longer its first answer. */
	p->http.n_requests = p->is_switched;
	return peek_http_feed(&p->http, b, n);
}

static struct peek_step be_other(struct peek *p, size_t n)
{
	p->kind = PEEK_OTHER;
	return (struct peek_step){ PEEK_RAW, n, n };
}

static struct peek_step watch(struct peek *p, const unsigned char *b, size_t n);

static struct peek_step be_opening(struct peek *p, enum opening o, const unsigned char *b, size_t n)
{
	struct peek_step step;
	size_t past = openings[o].n;

	if (o == OPEN_SSL2 || o == OPEN_SSL3)
		return refuse(p, PEEK_TLS_OLD);
	if (o == OPEN_RECORD || o == OPEN_ALERT)
		return refuse(p, PEEK_TLS_BAD);
	if (o == OPEN_PROXY2)
		return be_http(p, b, n);
	start(p);
	step = watch(p, b + past, n - past);
	step.done += past;
	step.send += past;
	return step;
}

/* What a byte leads to, and a line. */
enum next { NEXT_GO, NEXT_HTTP, NEXT_OTHER, NEXT_LONG, NEXT_REFUSE };

static void end_line(struct peek *p)
{
	p->had_words |= p->line.words > 1;
	p->in_first &= peek_line_is_blank(&p->line);
	peek_line_init(&p->line);
}

static bool is_late_request(const struct peek_line *l)
{
	return peek_line_is_request(l) && (l->last_is_version || l->n_scheme == 3);
}

/* That many bytes, and no verdict: may a request still come of them?  Servers skip
 * blanks without end, and take words of any length for a method or a target.  On a
 * port where nothing else is expected, no beginning at all is too strange. */
static bool may_be_late(const struct peek *p)
{
	static const uint16_t ports[] = { 80, 8000, 8080 };

	for (size_t i = 0; i < ARRAY_SIZE(ports) && !p->is_switched; i++)
		if (p->to.port == ports[i])
			return true;
	return p->in_first && p->line.first_is_token;
}

/* Servers differ in what ends a line (for JDK's own only CR LF does), and some do
 * not look for a version; but no request goes elsewhere without a version at the
 * end of its line or a Host in its head.  So after a first line that is none the
 * lines are watched for these until an empty one. */
static enum next watch_byte(struct peek *p, unsigned char c)
{
	bool is_due = c == (p->n_ends % 2 ? '\n' : '\r');

	if (p->watched++ >= MAX_PEEK_LINE)
		return may_be_late(p) ? NEXT_LONG : NEXT_OTHER;
	p->n_ends = is_due ? p->n_ends + 1 : c == '\r';
	if (c != '\n' && (c != '\r' || p->in_first)) {
		peek_line_add(&p->line, c);
	} else {
		if (!p->in_first && is_late_request(&p->line))
			return NEXT_REFUSE;
		end_line(p);
	}
	if (p->in_first)
		return peek_line_is_http(&p->line) ? NEXT_HTTP : NEXT_GO;
	if (p->had_words && peek_line_is_host(&p->line))
		return NEXT_REFUSE;
	return p->n_ends >= 4 ? NEXT_OTHER : NEXT_GO;
}

static struct peek_step end_watch(struct peek *p, enum next next, const unsigned char *b, size_t n)
{
	if (next == NEXT_HTTP)
		return be_http(p, b, n);
	if (next == NEXT_OTHER)
		return be_other(p, n);
	p->refusal.reason = next == NEXT_LONG ? PEEK_HEAD_LONG : PEEK_REQUEST_LINE;
	return (struct peek_step){ PEEK_REFUSED, p->seen, p->seen };
}

/* Bytes that may not be HTTP and are not TLS pass, and are watched. */
static struct peek_step watch(struct peek *p, const unsigned char *b, size_t n)
{
	enum next next = NEXT_GO;

	if (!p->watched && n && b[0] == 0x16) {
		p->kind = PEEK_TLS;
		peek_tls_init(&p->tls, &p->to, &p->refusal);
		return peek_tls_feed(&p->tls, b, n);
	}
	while (p->seen < n && next == NEXT_GO) {
		enum opening o = p->is_switched || p->seen != p->watched ?
					 N_OPENINGS : find_opening(b, p->seen + 1);

		if (o != N_OPENINGS)
			return be_opening(p, o, b, n);
		next = watch_byte(p, b[p->seen]);
		p->seen += next == NEXT_GO;
	}
	if (next != NEXT_GO)
		return end_watch(p, next, b, n);
	/* Only a first line may have to be read again, as a request, or an opening. */
	if (p->in_first || p->watched < MAX_OPENING)
		return (struct peek_step){ PEEK_GO, n, 0 };
	p->seen = 0;
	return (struct peek_step){ PEEK_GO, n, n };
}

static struct peek_step feed(struct peek *p, const unsigned char *b, size_t n)
{
	struct peek_step step, rest;

	if (p->kind == PEEK_TLS)
		return peek_tls_feed(&p->tls, b, n);
	if (p->kind == PEEK_UNKNOWN)
		return watch(p, b, n);
	step = peek_http_feed(&p->http, b, n);
	if (step.verdict != PEEK_GO || p->http.state != HTTP_SWITCHED)
		return step;
	p->is_switched = true;
	start(p);
	rest = watch(p, b + step.done, n - step.done);
	return (struct peek_step){ rest.verdict, step.done + rest.send, step.done + rest.done };
}

/* The client has closed: may its end be passed on, after `held` bytes are not? */
static enum peek_reason check_end(const struct peek *p, size_t held)
{
	if (p->kind == PEEK_TLS)
		return held ? PEEK_CUT_SHORT : PEEK_NO_REASON;
	if (p->kind != PEEK_HTTP)
		return PEEK_NO_REASON;
	if (!peek_http_may_end(&p->http))
		return PEEK_BODY_REQUEST;
	return held && p->http.state != HTTP_AWAIT ? PEEK_CUT_SHORT : PEEK_NO_REASON;
}

static struct peek_step end_feed(struct peek *p, struct peek_step step, size_t n)
{
	enum peek_reason why = check_end(p, n - step.done);

	if (p->kind == PEEK_UNKNOWN)
		return (struct peek_step){ PEEK_GO, n, n };
	if (!why)
		return step;
	p->refusal.reason = why;
	return (struct peek_step){ PEEK_REFUSED, step.send, step.done };
}

struct peek_step peek_feed(struct peek *p, const unsigned char *bytes, size_t n, bool closed)
{
	struct peek_step step;

	if (p->verdict == PEEK_RAW)
		return (struct peek_step){ PEEK_RAW, n, n };
	if (p->verdict == PEEK_REFUSED)
		return (struct peek_step){ PEEK_REFUSED, 0, 0 };
	step = feed(p, bytes, n);
	if (closed && step.verdict == PEEK_GO)
		step = end_feed(p, step, n);
	p->verdict = step.verdict;
	step.send = MAX(step.send, MAX(step.done, MIN(p->sent, n)));
	p->sent = step.send - step.done;
	return step;
}

uint64_t peek_unseen(const struct peek *p)
{
	if (p->verdict == PEEK_RAW)
		return UINT64_MAX;
	if (p->verdict == PEEK_REFUSED || p->sent)
		return 0;
	return p->kind == PEEK_HTTP ? peek_http_unseen(&p->http) : 0;
}

void peek_skip(struct peek *p, uint64_t n)
{
	assert(n <= peek_unseen(p));
	if (p->verdict == PEEK_RAW)
		return;
	if (p->kind == PEEK_HTTP)
		peek_http_skip(&p->http, n);
}

bool peek_wants_response(const struct peek *p)
{
	if (p->verdict != PEEK_GO)
		return false;
	return p->kind == PEEK_TLS ? peek_tls_wants_response(&p->tls) :
	       p->kind == PEEK_HTTP ? peek_http_wants_response(&p->http) : false;
}

void peek_response_feed(struct peek *p, const unsigned char *bytes, size_t n)
{
	if (!peek_wants_response(p))
		return;
	if (p->kind == PEEK_TLS)
		peek_tls_server_feed(&p->tls.server, bytes, n);
	else
		peek_http_response_feed(&p->http, bytes, n);
}

bool peek_may_answer(const struct peek *p)
{
	if (p->is_switched)
		return false;
	return p->kind == PEEK_TLS ? !p->tls.has_hello :
	       p->kind == PEEK_HTTP ? p->http.n_requests == 0 : false;
}
