/* One TCP connection through the gate: what conn.c (its life), dial.c (the
 * way to the server) and relay.c (the bytes) share. */
#ifndef GATE_CONN_PRIV_H
#define GATE_CONN_PRIV_H

#include "gate/gate_priv.h"

struct inspect;

/* [C1] CONN_RELAY is entered only from CONN_DIAL or CONN_TUNNEL, and these only
 *      with a verdict of the present generation about the very address.
 * [C2] A server socket exists only in CONN_DIAL, CONN_TUNNEL and CONN_RELAY. */
enum conn_state {
	CONN_RESOLVE,		/* allowed; where is it? */
	CONN_PLUG,		/* exposed: waits for a socket made inside */
	CONN_DIAL,		/* connecting */
	CONN_TUNNEL,		/* a proxy in front is asked for it */
	CONN_RELAY,
	CONN_REFUSE,		/* the client is told why, and its bytes are thrown away */
	CONN_ENDED,		/* closed; to be freed */
	N_CONN_STATES
};

/* One direction.  Bytes are in the pipe (spliced, unseen), or in `held` (read,
 * to be judged; only from the client), never in both. */
struct lane {
	struct pipe_ends pipe;
	size_t n_piped;
	unsigned char *held;
	size_t n_held, cap_held;
	size_t n_passed;		/* of these, judged and not written yet */
	uint64_t n_bytes;		/* written in all */
	bool eof;			/* nothing more comes */
	bool shut;			/* and the other side was told */
};

struct conn {
	struct conn *prev, *next;	/* of all */
	struct conn *next_waiting;	/* for the same name, or for a socket inside */
	struct gate *g;
	uint64_t id;
	enum conn_state state;
	bool is_exposed;		/* from the caller's loopback to a port inside */
	bool is_seen;			/* its bytes were judged from the first on */
	bool is_told;			/* that it was allowed: its end is told, too */
	struct watch client, server;
	struct timer timer;
	struct name *name;		/* NULL: `addr` was dialled */
	struct host_addr addr;
	uint16_t port;
	/* Where to: what may be dialled, in this order. */
	struct host_addr to[MAX_NAME_ANSWERS];
	unsigned char n_to, at_to;
	uint16_t to_port;
	struct lane up, down;		/* from the client, from the server */
	struct inspect *inspect;	/* NULL: bytes from the client pass unseen */
	unsigned refuse_kind;		/* enum peek_kind: how to tell the client */
};

/* conn.c */
const struct host *conn_host(const struct conn *c, struct host *room);
/* Gives it up: both sides are reset.  `reason` is for the log, or NULL when it
 * was one of the two sides. */
void conn_end(struct conn *c, bool reset, const char *reason);
/* The policy says no: the client is told in its own language if it can be. */
void conn_refuse(struct conn *c, const char *reason, const char *hint);

/* dial.c */
/* The verdict about the present answers, and the first attempt. */
void dial_start(struct conn *c);
void dial_ready(struct conn *c, uint32_t events);
void tunnel_ready(struct conn *c, uint32_t events);

/* relay.c */
/* Moves what can be moved and sets what to wait for. */
void relay_move(struct conn *c);
/* Bytes from the client while there is no server yet: judged, and held. */
void relay_read_early(struct conn *c);
void relay_release(struct conn *c);

#endif
