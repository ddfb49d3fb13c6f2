/* A look at what a client sends: is it for the host that the connection is for?
 * The state of a server is read from the server's own bytes, where it matters; what
 * is taken for granted about servers is in README.md.
 *
 * The gate keeps what the client sent and may not pass yet, and shows it with
 * every new piece (peek_feed).  TLS must name the target, every plain HTTP
 * request must be for it, and any other protocol passes by name and port alone:
 *
 * [PK1] What is no TLS and may not be HTTP is never kept back, so that a protocol
 *       in which the server speaks first, or a client sends half a line, works.
 * [PK2] From the byte on that makes a request possible nothing passes before the
 *       whole head was judged.  What went before is half a request: no server
 *       acts on it, provided that the gate *resets* the connection it refuses.
 * [PK3] Shown MAX_PEEK_HELD bytes, a step passes some, refuses, or waits for the
 *       server's answer to an upgrade: that much is what the gate keeps.
 *
 * With network.tls = "name-only" the gate does not look at all.
 * GAP: TLS that begins in the middle of another protocol (STARTTLS of mail, of
 * MySQL, of LDAP) is not looked at; PostgreSQL's is.  A git:// request names a
 * host for virtual hosting, which is not compared.
 */
#ifndef GATE_PEEK_H
#define GATE_PEEK_H

#include "gate/peek_http.h"
#include "gate/peek_tls.h"

enum peek_kind {
	PEEK_UNKNOWN,
	PEEK_TLS,
	PEEK_HTTP,
	PEEK_OTHER,
	N_PEEK_KINDS
};

/* Points into itself: not to be copied or moved after peek_init(). */
struct peek {
	struct peek_target to;
	struct peek_refusal refusal;	/* valid after PEEK_REFUSED */
	enum peek_verdict verdict;
	enum peek_kind kind;
	size_t sent;			/* of what is shown, may have been sent before */
	/* PEEK_UNKNOWN: the first line, then the lines up to an empty one */
	bool in_first;
	bool had_words;			/* a line so far has several words */
	unsigned char n_ends;		/* of CR LF CR LF just seen */
	size_t seen, watched;		/* bytes of what is shown, and in all */
	struct peek_line line;
	bool is_switched;		/* after an upgrade */
	union {
		struct peek_tls tls;
		struct peek_http http;
	};
};

void peek_init(struct peek *p, const struct host *host, uint16_t port);
/* `bytes`: everything of the client that is not done yet; `closed`: no more will
 * come, and the end is to be passed on once all of it may be. */
struct peek_step peek_feed(struct peek *p, const unsigned char *bytes, size_t n, bool closed);
/* How many bytes after those that are done may pass without being shown (spliced,
 * say); what did is told with peek_skip(). */
uint64_t peek_unseen(const struct peek *p);
void peek_skip(struct peek *p, uint64_t n);

/* While true the server's bytes must be shown, too, before they are passed on; after
 * that, what is held must be shown again. */
bool peek_wants_response(const struct peek *p);
void peek_response_feed(struct peek *p, const unsigned char *bytes, size_t n);
/* May the client be told with a 403 or an alert?  Not inside an answer. */
bool peek_may_answer(const struct peek *p);

#endif
