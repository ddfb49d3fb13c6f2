/* One TCP connection through the gate: what conn.c (its life), dial.c (the
 * way to the server) and relay.c (the bytes) share. */
#ifndef GATE_CONN_PRIV_H
#define GATE_CONN_PRIV_H

#include "gate/gate_priv.h"
#include "gate/peek.h"

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

/* One direction.  Bytes are in the pipe (spliced, unseen), or in `held` (read: to
 * be judged, or what the other side did not take at once); what is held goes
 * first.
 *
 * [L1] n_written <= n_send, n_done <= n_send, n_send <= n_held: of what is held the
 *      first n_send bytes may be written and the first n_written were; the peek
 *      wants to see all but the first n_done again. */
struct lane {
	struct gate *g;
	struct pipe_ends pipe;
	size_t n_piped;
	unsigned char *held;
	size_t n_held, cap_held, n_done, n_send, n_written;
	uint64_t n_bytes;		/* written in all */
	bool is_bulk;			/* the last reading was a large one: splice */
	bool eof;			/* nothing more comes */
	bool shut;			/* and the other side was told */
};

#define READ_BYTES	(16u << 10)
#define LITTLE_BYTES	(4u << 10)	/* moved at once where a share has no pipe */
#define MAX_LANE_BYTES	(MAX_PEEK_HELD + READ_BYTES)	/* held in one direction */

/* What a connection may hold (buffers.h). */
struct share {
	bool is_tuned;		/* the kernel tunes its sockets itself */
	unsigned outside, inside;	/* of one buffer of a socket */
	unsigned pipe;		/* bytes in one; 0: bytes are copied */
	size_t given;		/* beyond the least */
};

struct conn {
	struct conn *prev, *next;	/* of all */
	struct conn *next_waiting;	/* for the same name, or for a socket inside */
	struct gate *g;
	uint64_t id;
	int64_t begin_us;
	enum conn_state state;
	bool is_exposed;		/* from the caller's loopback to a port inside */
	bool awaits_first;		/* nothing passes before its first bytes are known */
	enum first_bytes first;		/* as they were judged */
	bool is_strict;			/* its bytes were judged from the first on */
	bool is_refused;
	bool is_told;			/* that it was allowed: its end is told, too */
	bool is_proxied;		/* by the proxy in front; `to` is the proxy then */
	bool is_asked;			/* of the proxy */
	bool client_gone, server_gone;	/* an error was told, or its end: it takes nothing
					 * more */
	struct watch client, server;
	struct timer timer;
	struct name *name;		/* NULL: `addr` was dialled */
	struct name *awaited;		/* CONN_RESOLVE: whose answers it waits for */
	struct host_addr addr;
	uint16_t port;
	/* Where to: what may be dialled, in this order. */
	struct host_addr *to;
	unsigned char n_to, at_to;
	uint16_t to_port;
	struct share share;
	struct lane up, down;		/* from the client, from the server */
	struct peek *peek;		/* NULL: bytes from the client pass unseen */
};

/* conn.c */
const struct host *conn_host(const struct conn *c, struct host *room);
/* Gives it up.  `reset`: both sides see that it was not an orderly end.
 * `reason` is for the log, or NULL when it was one of the two sides. */
void conn_end(struct conn *c, bool reset, const char *reason);
/* The policy says no: the client is told in its own language if it can be. */
void conn_refuse(struct conn *c, const char *reason, const char *hint);
/* The peek said no. */
void conn_refuse_bytes(struct conn *c);
/* NULL: without memory; `fd` is closed then. */
struct conn *conn_new(struct gate *g, int fd, uint16_t port) MUST_USE;
/* On to the first verdict, which dial_start() asks for. */
void conn_resolve(struct conn *c);
void conn_server_ready(struct gate *g, struct watch *w, uint32_t events);
/* The policy allowed it, whatever becomes of it; said once. */
void conn_tell_allowed(struct conn *c);
/* Its first bytes are known; false: they are refused, and the connection is no more what it
 * was. */
bool conn_take_first(struct conn *c, enum first_bytes first) MUST_USE;
/* The server is there. */
void conn_connected(struct conn *c);

/* dial.c */
/* The verdict about where it is, and the first attempt. */
void dial_start(struct conn *c);
/* An exposed port, by a socket that was made inside. */
void dial_inside(struct conn *c, int fd);
void dial_ready(struct conn *c);
void tunnel_ready(struct conn *c);

/* relay.c */
/* Moves what can be moved from the client (`up`) and from the server (`down`), and
 * sets what to wait for; before there is a server it reads and judges. */
void relay_move(struct conn *c, bool up, bool down);
void lane_init(struct gate *g, struct lane *l);
void lane_release(struct gate *g, struct lane *l);
/* Room for `n` more bytes behind those that are held, or NULL. */
unsigned char *lane_get_room(struct lane *l, size_t n) MUST_USE;

#endif
