/* A client's stream shown to the peeker in pieces, as the gate would: keeps what
 * is not done, sends what may be sent, and checks the invariants on the way. */
#ifndef TESTS_UNIT_PEEK_STREAM_H
#define TESTS_UNIT_PEEK_STREAM_H

#include "gate/peek.h"

struct stream_end {
	enum peek_verdict verdict;
	enum peek_reason reason;
	enum peek_kind kind;
	size_t done, sent;		/* of the whole stream */
	bool may_answer;
	char why[MAX_PEEK_WHY];
};

struct stream {
	const char *host;
	uint16_t port;
	const char *response;		/* of the server, once it is asked for; or NULL */
	const struct str *flights;	/* of a TLS server, one after each ClientHello */
	size_t n_flights;
	bool open;			/* the client does not close at the end */
	bool use_unseen;		/* let bodies pass without showing them */
};

/* One stream on its way. */
struct stream_run {
	const struct stream *s;
	const unsigned char *data;
	size_t n, shown, n_flown;
	struct peek p;
	struct stream_end end;
};

/* Let pass unseen what may. */
static void stream_skip(struct stream_run *r)
{
	size_t n = 0;

	if (r->s->use_unseen && r->shown == r->end.done && r->end.sent == r->end.done)
		n = (size_t)MIN(peek_unseen(&r->p), r->n - r->shown);
	peek_skip(&r->p, n);
	r->shown += n;
	r->end.done += n;
	r->end.sent = MAX(r->end.sent, r->end.done);
}

static void stream_show(struct stream_run *r)
{
	size_t held = r->shown - r->end.done;
	struct peek_step step = peek_feed(&r->p, r->data + r->end.done, held,
					  r->shown == r->n && !r->s->open);
	bool goes_on = step.verdict == PEEK_GO;

	if (step.send < step.done || step.send > held)
		BUG("[PK2] a step that sends what was not shown");
	if (goes_on && r->p.kind == PEEK_UNKNOWN && step.send != held)
		BUG("[PK1] something is kept back that may not be HTTP");
	if (goes_on && !peek_wants_response(&r->p) && !step.done && held >= MAX_PEEK_HELD)
		BUG("[PK3] a full buffer and no verdict");
	r->end.sent = MAX(r->end.sent, r->end.done + step.send);
	r->end.done += step.done;
	r->end.verdict = step.verdict;
}

static void stream_finish(struct stream_run *r)
{
	struct stream_end *end = &r->end;

	if (end->verdict == PEEK_RAW)
		end->done = end->sent = r->n;
	end->kind = r->p.kind;
	end->may_answer = peek_may_answer(&r->p);
	if (end->verdict != PEEK_REFUSED)
		return;
	end->reason = r->p.refusal.reason;
	peek_refusal_print(&r->p.refusal, &r->p.to, end->why);
	if (end->reason == PEEK_NO_REASON)
		BUG("refused without a reason");
}

/* The end of the TLS record that byte `at` is of. */
static size_t stream_record_end(const struct stream_run *r, size_t at)
{
	size_t end = 0;

	while (end <= at && end + 5 <= r->n)
		end += 5 + ((size_t)r->data[end + 3] << 8 | r->data[end + 4]);
	return end > at ? MIN(end, r->n) : r->n;
}

/* A client that waits for its server sends no more than the record that it is at. */
static size_t stream_next(const struct stream_run *r, size_t piece)
{
	size_t next = MIN(r->n, r->shown + piece);

	return r->s->flights ? MIN(next, stream_record_end(r, r->shown)) : next;
}

/* The server answers what has passed. */
static void stream_answer(struct stream_run *r)
{
	struct str answer = str_from(r->s->response ? r->s->response : "");

	if (!peek_wants_response(&r->p))
		return;
	if (r->p.kind == PEEK_TLS) {
		bool is_whole = r->end.done == r->shown && r->end.done &&
				stream_record_end(r, r->end.done - 1) == r->end.done;

		if (!is_whole || r->n_flown == r->s->n_flights)
			return;
		answer = r->s->flights[r->n_flown++];
	}
	for (size_t i = 0; i < answer.n; i++)
		peek_response_feed(&r->p, (const unsigned char *)answer.s + i, 1);
	stream_show(r);
}

/* Pieces of `piece` bytes; the first one of `first` bytes, unless that is 0. */
UNUSED static struct stream_end stream_feed(const struct stream *s, const void *data, size_t n,
					    size_t first, size_t piece)
{
	struct stream_run r = { .s = s, .data = data, .n = n };
	char why[HOST_WHY];
	struct host host;

	if (host_parse(str_from(s->host), &host, why) < 0)
		BUG(why);
	peek_init(&r.p, &host, s->port);
	do {
		stream_skip(&r);
		r.shown = stream_next(&r, first ? first : piece);
		first = 0;
		stream_show(&r);
		stream_answer(&r);
	} while (r.end.verdict == PEEK_GO && r.shown < n);
	stream_finish(&r);
	return r.end;
}

#endif
