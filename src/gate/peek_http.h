/* A plain HTTP/1 client's stream, request after request: who is it for?
 *
 * Everything that passes was read by this parser first, and only what every
 * parser reads alike passes; so the server sees the same requests, and each is
 * for the target.
 *
 * [PH1] No byte of a request's head passes before the whole head was judged.
 * [PH2] A body passes by count; where it ends the next request is judged.
 * [PH3] After an upgrade nothing passes before the server has said whether it
 *       switches, and then the stream is looked at from its beginning.
 *
 * Not refused: X-Forwarded-Host and its kin.  They are data for an allowed host,
 * as any path or body is.  `Upgrade: h2c` passes, since some clients offer it
 * with every request; what a client would send after the switch does not.
 * GAP: a server that stops reading a body half-way and takes the rest for a
 * request is not protected from that, but for a body's first line.
 */
#ifndef GATE_PEEK_HTTP_H
#define GATE_PEEK_HTTP_H

#include "gate/peek_http_head.h"
#include "gate/peek_line.h"
#include "gate/peek_step.h"

enum peek_http_state {
	HTTP_HEAD,
	HTTP_BODY,
	HTTP_CHUNK_LINE,
	HTTP_CHUNK_DATA,
	HTTP_CHUNK_END,
	HTTP_TRAILERS,
	HTTP_AWAIT,		/* held until the answer to an upgrade is known */
	HTTP_SWITCHED,		/* the rest is no HTTP/1 stream of ours any more */
	N_HTTP_STATES
};

enum peek_switch {
	SWITCH_NONE,		/* no upgrade was asked for */
	SWITCH_ASKED,
	SWITCH_DONE,		/* the server said 101 */
	SWITCH_REFUSED,
	N_SWITCHES
};

struct peek_http {
	const struct peek_target *to;	/* the caller's; outlives this */
	struct peek_refusal *refusal;
	enum peek_http_state state;
	struct peek_head head;		/* of the present request */
	unsigned n_requests;		/* heads that have passed; stays at its maximum */
	size_t line, seen;		/* in what is held: where its last line begins, and
					 * how far it was read */
	uint64_t left;			/* of a body, a chunk or the CR LF after it */
	unsigned n_trailers;
	struct peek_line first;		/* line of the body */
	bool in_first;
	/* the server's side, while an upgrade is asked for: a status line's start, then
	 * the rest of the head of a 1xx answer */
	enum peek_switch change;
	unsigned char n_status, n_blank;
	char status[12];
};

void peek_http_init(struct peek_http *p, const struct peek_target *to,
		    struct peek_refusal *refusal);
/* `bytes`: everything of the stream that has not passed yet.  Stops, with
 * PEEK_GO and state HTTP_SWITCHED, where the server has switched protocols. */
struct peek_step peek_http_feed(struct peek_http *p, const unsigned char *bytes, size_t n);
/* How many bytes after those that passed may pass without being shown. */
uint64_t peek_http_unseen(const struct peek_http *p);
void peek_http_skip(struct peek_http *p, uint64_t n);

/* May the client's stream end here?  Not in a body that is a request so far: its
 * end would be the end of that line. */
bool peek_http_may_end(const struct peek_http *p);

/* While true, the server's bytes must be shown before the client's next ones. */
bool peek_http_wants_response(const struct peek_http *p);
void peek_http_response_feed(struct peek_http *p, const unsigned char *bytes, size_t n);

#endif
