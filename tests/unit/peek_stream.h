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
	bool open;			/* the client does not close at the end */
	bool use_unseen;		/* let bodies pass without showing them */
};

/* Pieces of `piece` bytes; the first one of `first` bytes, unless that is 0. */
UNUSED static struct stream_end stream_feed(const struct stream *s, const void *data, size_t n,
					    size_t first, size_t piece)
{
	struct stream_end end = { 0 };
	struct peek_step step = { 0 };
	char why[HOST_WHY];
	struct host host;
	struct peek p;
	size_t shown = 0;

	if (host_parse(str_from(s->host), &host, why) < 0)
		BUG(why);
	peek_init(&p, &host, s->port);
	do {
		bool closed;
		size_t skip = 0;

		if (s->use_unseen && shown == end.done && end.sent == end.done)
			skip = (size_t)MIN(peek_unseen(&p), n - shown);
		peek_skip(&p, skip);
		shown += skip;
		end.done += skip;
		end.sent = MAX(end.sent, end.done);
		shown = MIN(n, shown + (first ? first : piece));
		first = 0;
		closed = shown == n && !s->open;
		step = peek_feed(&p, (const unsigned char *)data + end.done, shown - end.done,
				 closed);
		if (peek_wants_response(&p) && s->response) {
			for (const char *c = s->response; *c; c++)
				peek_response_feed(&p, (const unsigned char *)c, 1);
			end.done += step.done;
			end.sent = MAX(end.sent, end.done);
			step = peek_feed(&p, (const unsigned char *)data + end.done,
					 shown - end.done, closed);
		}
		if (step.send < step.done || end.done + step.send > shown)
			BUG("[PK2] a step that sends what was not shown");
		if (step.verdict == PEEK_GO && p.kind == PEEK_UNKNOWN &&
		    end.done + step.send != shown)
			BUG("[PK1] something is kept back that may not be HTTP");
		if (step.verdict == PEEK_GO && !peek_wants_response(&p) && !step.done &&
		    shown - end.done >= MAX_PEEK_HELD)
			BUG("[PK3] a full buffer and no verdict");
		end.sent = MAX(end.sent, end.done + step.send);
		end.done += step.done;
	} while (step.verdict == PEEK_GO && shown < n);
	if (step.verdict == PEEK_RAW)
		end.done = end.sent = n;
	end.verdict = step.verdict;
	end.kind = p.kind;
	end.may_answer = peek_may_answer(&p);
	if (step.verdict == PEEK_REFUSED) {
		end.reason = p.refusal.reason;
		peek_refusal_print(&p.refusal, &p.to, end.why);
		if (end.reason == PEEK_NO_REASON)
			BUG("refused without a reason");
	}
	return end;
}

#endif
