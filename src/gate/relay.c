/* The bytes of a connection: spliced where they pass unseen, read and judged
 * where they do not.  Nothing here waits: what cannot go on is left where it is,
 * and its source is not read further, so that a slow reader slows the writer. */
#include "gate/buffers.h"
#include "gate/first.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#define ROOM_BYTES	128u	/* what is held grows by no less */
#define SMALL_BYTES	(8 << 10)	/* less than this is better copied than spliced */
#define ROUNDS		8	/* before others have their turn */

/* ---- lanes --------------------------------------------------------------- */

void lane_init(struct gate *g, struct lane *l)
{
	*l = (struct lane){ .g = g, .pipe = { { -1, -1 } } };
}

void lane_release(struct gate *g, struct lane *l)
{
	if (l->pipe.fd[0] >= 0)
		pipe_give(g, &l->pipe, l->n_piped == 0);
	free(l->held);
	l->held = NULL;
	g->held -= l->cap_held;
	l->n_held = l->cap_held = l->n_done = l->n_send = l->n_written = l->n_piped = 0;
}

/* No room for a whole reading: the server has to take something first. */
static bool lane_is_full(const struct lane *l)
{
	return l->n_held + READ_BYTES / 4 > MAX_LANE_BYTES;
}

unsigned char *lane_get_room(struct lane *l, size_t n)
{
	size_t want = (l->n_held + n + ROOM_BYTES - 1) / ROOM_BYTES * ROOM_BYTES;
	unsigned char *more;

	if (l->n_held + n > MAX_LANE_BYTES)
		return NULL;
	if (l->n_held + n <= l->cap_held)
		return l->held + l->n_held;
	if (!buffers_hold(l->g, want - l->cap_held))
		return NULL;
	more = realloc(l->held, want);
	if (!more) {
		l->g->held -= want - l->cap_held;
		return NULL;
	}
	l->held = more;
	l->cap_held = want;
	return l->held + l->n_held;
}

static bool is_pending(const struct lane *l)
{
	return l->n_piped || l->n_written < l->n_send;
}

/* What was written and need not be shown again goes. */
static void lane_forget(struct lane *l)
{
	size_t n = MIN(l->n_done, l->n_written);

	if (!n)
		return;
	l->n_held -= n;
	memmove(l->held, l->held + n, l->n_held);
	l->n_done -= n;
	l->n_send -= n;
	l->n_written -= n;
	/* Most connections are idle most of the time. */
	if (!l->n_held) {
		free(l->held);
		l->held = NULL;
		l->g->held -= l->cap_held;
		l->cap_held = 0;
	}
}

/* ---- unseen bytes -------------------------------------------------------- */

struct ends {
	int from, to;
};

enum moved {
	MOVED_ALL,		/* the source is empty for now */
	MOVED_SOME,		/* there may be more */
	MOVED_BLOCKED,		/* the other side takes no more for now */
	MOVED_BROKEN,
	N_MOVED
};

/* As send(2).  The kernel appends to the last packet that waits in the socket, up to
 * 64 KB of it, whatever SO_SNDBUF is: with a small share the socket is asked first,
 * and gets little at a time. */
static ssize_t send_some(const struct conn *c, int to, const unsigned char *bytes, size_t n)
{
	struct pollfd p = { .fd = to, .events = POLLOUT };

	if (!c->share.pipe) {
		n = MIN(n, LITTLE_BYTES);
		if (poll(&p, 1, 0) == 0) {
			errno = EAGAIN;
			return -1;
		}
	}
	return send(to, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* What may be written of what is held. */
static enum moved write_held(const struct conn *c, struct lane *l, int to)
{
	while (l->n_written < l->n_send) {
		ssize_t n = send_some(c, to, l->held + l->n_written, l->n_send - l->n_written);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? MOVED_BLOCKED : MOVED_BROKEN;
		l->n_written += (size_t)n;
		l->n_bytes += (uint64_t)n;
	}
	lane_forget(l);
	return MOVED_ALL;
}

static enum moved splice_out(struct conn *c, struct lane *l, int to)
{
	if (l->pipe.fd[0] < 0)
		return MOVED_ALL;
	while (l->n_piped) {
		ssize_t n = splice(l->pipe.fd[0], NULL, to, NULL, l->n_piped,
				   SPLICE_F_NONBLOCK | SPLICE_F_MOVE);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? MOVED_BLOCKED : MOVED_BROKEN;
		if (n == 0)
			return MOVED_BROKEN;
		l->n_piped -= (size_t)n;
		l->n_bytes += (uint64_t)n;
	}
	pipe_give(c->g, &l->pipe, true);
	return MOVED_ALL;
}

/* What the other side did not take. */
static enum moved hold_rest(struct lane *l, const unsigned char *bytes, size_t n)
{
	unsigned char *room = lane_get_room(l, n);

	if (!room)
		return MOVED_BROKEN;
	memcpy(room, bytes, n);
	l->n_held += n;
	l->n_done = l->n_send = l->n_held;
	return MOVED_BLOCKED;
}

/* At most `max` bytes from one socket to the other, by a copy: for the few of a
 * request or an answer it costs less than a pipe.  What the other side does not
 * take at once is held. */
static enum moved copy_some(struct conn *c, struct lane *l, struct ends e, uint64_t max)
{
	unsigned char bytes[READ_BYTES];
	size_t most = c->share.pipe ? sizeof(bytes) : LITTLE_BYTES;
	ssize_t n = recv(e.from, bytes, (size_t)MIN(max, most), MSG_DONTWAIT), done;

	if (n <= 0) {
		l->eof = n == 0;
		return n == 0 || errno == EAGAIN || errno == EINTR ? MOVED_ALL : MOVED_BROKEN;
	}
	if (c->peek && l == &c->up)
		peek_skip(c->peek, (uint64_t)n);
	else if (c->peek && peek_wants_response(c->peek))
		peek_response_feed(c->peek, bytes, (size_t)n);
	l->is_bulk = n == (ssize_t)most;
	done = send_some(c, e.to, bytes, (size_t)n);
	if (done < 0 && errno != EAGAIN && errno != EINTR)
		return MOVED_BROKEN;
	done = MAX(done, 0);
	l->n_bytes += (uint64_t)done;
	if (done == n)
		return l->is_bulk ? MOVED_SOME : MOVED_ALL;
	return hold_rest(l, bytes + done, (size_t)(n - done));
}

/* The same by a pipe. */
static enum moved splice_some(struct conn *c, struct lane *l, struct ends e, uint64_t max)
{
	size_t want = (size_t)MIN(max, c->share.pipe);
	enum moved out;
	ssize_t n;

	/* Readers that do not read may have all of them. */
	if (!want || pipe_take(c->g, &l->pipe) < 0)
		return copy_some(c, l, e, max);
	do
		n = splice(e.from, NULL, l->pipe.fd[1], NULL, want,
			   SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
	while (n < 0 && errno == EINTR);
	if (n <= 0) {
		int error = errno;

		pipe_give(c->g, &l->pipe, true);
		l->eof = n == 0;
		return n == 0 || error == EAGAIN ? MOVED_ALL : MOVED_BROKEN;
	}
	l->n_piped = (size_t)n;
	l->is_bulk = n >= SMALL_BYTES;
	if (l == &c->up && c->peek)
		peek_skip(c->peek, (uint64_t)n);
	out = splice_out(c, l, e.to);
	return out == MOVED_ALL ? MOVED_SOME : out;
}

/* What is still under way. */
static enum moved flush(struct conn *c, struct lane *l, int to)
{
	enum moved m = write_held(c, l, to);

	return m == MOVED_ALL ? splice_out(c, l, to) : m;
}

/* At most `max` bytes, unseen, after what is still under way. */
static enum moved move_unseen(struct conn *c, struct lane *l, struct ends e, uint64_t max)
{
	enum moved m = flush(c, l, e.to);

	if (m != MOVED_ALL || l->eof)
		return m;
	/* Not one: to read nothing is to see an end that is not there. */
	if (!max)
		return MOVED_SOME;
	return l->is_bulk ? splice_some(c, l, e, max) : copy_some(c, l, e, max);
}

/* ---- judged bytes -------------------------------------------------------- */

/* Are the client's bytes read and held until it is known what may pass? */
static bool is_judged(const struct conn *c)
{
	return c->peek || c->awaits_first;
}

/* network.protocols.  False: refused, or ended. */
static bool judge_first(struct conn *c)
{
	struct lane *l = &c->up;
	enum first_bytes first = first_read(l->held, l->n_held);

	/* A client that ends without a byte has asked for nothing. */
	if (l->eof && !l->n_held) {
		conn_end(c, false, NULL);
		return false;
	}
	if (first == FIRST_UNSEEN && l->eof)
		first = FIRST_OTHER;
	return first == FIRST_UNSEEN || conn_take_first(c, first);
}

/* Bytes of a server that speaks first are not passed on. */
static void judge_server(struct conn *c)
{
	unsigned char byte;
	ssize_t n = c->down.n_held ? 1 : recv(c->server.fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);

	if (n > 0)
		(void)!conn_take_first(c, FIRST_OF_SERVER);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		conn_end(c, n != 0, NULL);
}

/* False: refused, and the connection is no more what it was. */
static bool judge(struct conn *c)
{
	struct lane *l = &c->up;
	struct peek_step step;

	if (c->awaits_first && !judge_first(c))
		return false;
	if (c->awaits_first)
		return true;
	if (!c->peek) {
		l->n_done = l->n_send = l->n_held;
		return true;
	}
	step = peek_feed(c->peek, l->held ? l->held + l->n_done : NULL, l->n_held - l->n_done,
			 l->eof);
	if (step.verdict == PEEK_REFUSED) {
		conn_refuse_bytes(c);
		return false;
	}
	l->n_send = MAX(l->n_send, l->n_done + step.send);
	l->n_done += step.done;
	if (step.verdict == PEEK_RAW) {
		l->n_done = l->n_send = l->n_held;
		free(c->peek);
		c->peek = NULL;
	}
	return true;
}

/* Reads what there is room for, and judges it.  Read apart first, so that a
 * connection that waits after a few bytes holds no more than these. */
static enum moved read_held(struct conn *c)
{
	struct lane *l = &c->up;
	unsigned char bytes[READ_BYTES], *room;
	size_t max = MIN(sizeof(bytes), MAX_LANE_BYTES - l->n_held);
	ssize_t n;

	if (l->eof)
		return MOVED_ALL;
	if (lane_is_full(l))
		return MOVED_BLOCKED;	/* it waits for the server (peek.h, [PK3]) */
	n = recv(c->client.fd, bytes, max, MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? MOVED_ALL : MOVED_BROKEN;
	l->eof = n == 0;
	if (n > 0) {
		room = lane_get_room(l, (size_t)n);
		if (!room)
			return MOVED_BROKEN;
		memcpy(room, bytes, (size_t)n);
		l->n_held += (size_t)n;
	}
	if (!judge(c))
		return MOVED_BLOCKED;
	return (size_t)n < max ? MOVED_ALL : MOVED_SOME;
}

/* From the client while its bytes are judged. */
static enum moved move_judged(struct conn *c)
{
	struct lane *l = &c->up;
	struct ends e = { c->client.fd, c->server.fd };
	bool has_server = c->state == CONN_RELAY;
	enum moved m = has_server ? write_held(c, l, e.to) : MOVED_ALL;
	uint64_t unseen;

	if (m != MOVED_ALL)
		return m;
	if (!has_server && l->n_send)
		return MOVED_BLOCKED;
	unseen = c->peek && !c->awaits_first && !l->n_held ? peek_unseen(c->peek) : 0;
	if (has_server && (l->n_piped || unseen))
		return move_unseen(c, l, e, unseen);
	m = read_held(c);
	if (c->state == CONN_RELAY && (m == MOVED_SOME || m == MOVED_ALL)) {
		enum moved out = write_held(c, l, e.to);

		m = out == MOVED_ALL ? m : out;
	}
	return m;
}

/* The server's answer to a ClientHello or an upgrade is read as it passes; what the
 * client may send next, and what of it is held, is judged by that answer. */
static enum moved move_shown(struct conn *c)
{
	enum moved m = flush(c, &c->down, c->client.fd);

	if (m != MOVED_ALL || c->down.eof)
		return m;
	m = copy_some(c, &c->down, (struct ends){ c->server.fd, c->client.fd }, UINT64_MAX);
	return peek_wants_response(c->peek) || judge(c) ? m : MOVED_BLOCKED;
}

/* ---- both directions ----------------------------------------------------- */

static enum moved move_up(struct conn *c)
{
	struct lane *l = &c->up;
	enum moved m = MOVED_ALL;

	for (int i = 0; i < ROUNDS; i++) {
		if (is_judged(c) || (l->n_held && c->state != CONN_RELAY))
			m = move_judged(c);
		else if (c->state == CONN_RELAY)
			m = move_unseen(c, l, (struct ends){ c->client.fd, c->server.fd },
					UINT64_MAX);
		else
			return MOVED_BLOCKED;	/* there is no server yet */
		if (m != MOVED_SOME)
			break;
	}
	return m;
}

static enum moved move_down(struct conn *c)
{
	enum moved m = MOVED_ALL;

	for (int i = 0; i < ROUNDS; i++) {
		if (c->peek && peek_wants_response(c->peek))
			m = move_shown(c);
		else
			m = move_unseen(c, &c->down,
					(struct ends){ c->server.fd, c->client.fd }, UINT64_MAX);
		if (m != MOVED_SOME || c->state != CONN_RELAY)
			break;
	}
	return m;
}

/* A direction that has ended is told to the other side, once all of it went. */
static void pass_end(struct lane *l, int to)
{
	if (l->eof && !l->shut && !l->n_piped && l->n_written == l->n_held) {
		shutdown(to, SHUT_WR);
		l->shut = true;
	}
}

/* Nothing more comes of a side that has ended and gone, once what it had to say
 * was passed on; it would keep its place for as long as the other side likes. */
static bool is_over(const struct conn *c)
{
	return (c->client_gone && c->up.eof && !is_pending(&c->up)) ||
	       (c->server_gone && c->down.eof && !is_pending(&c->down));
}

/* What either side is waited for; both ended: it is out of the set, since an
 * end is told for ever. */
static int wait_for(struct conn *c, struct watch *w, struct lane *from, struct lane *to)
{
	uint32_t events = 0;

	if (from->eof && to->shut) {
		watch_leave(c->g, w);
		return 0;
	}
	if (!from->eof && !is_pending(from) && !lane_is_full(from))
		events |= EPOLLIN;
	if (is_pending(to))
		events |= EPOLLOUT;
	return watch_set(c->g, w, events);
}

/* While there is no server: what the client sends is judged, and held. */
static void move_early(struct conn *c)
{
	uint32_t events = 0;
	enum moved m = MOVED_ALL;

	if (is_judged(c) || c->up.n_held)
		m = move_up(c);
	if (c->state == CONN_ENDED || c->state == CONN_REFUSE)
		return;
	if (m == MOVED_BROKEN) {
		conn_end(c, true, NULL);
		return;
	}
	if (is_judged(c) && !c->up.eof && !is_pending(&c->up) && c->up.n_held < READ_BYTES)
		events = EPOLLIN;
	if (watch_set(c->g, &c->client, events) < 0)
		conn_end(c, true, "no more descriptors can be watched");
}

/* What follows from what was moved. */
static void settle(struct conn *c, enum moved up, enum moved down)
{
	if (up == MOVED_BROKEN || down == MOVED_BROKEN || is_over(c)) {
		conn_end(c, true, NULL);
		return;
	}
	pass_end(&c->up, c->server.fd);
	pass_end(&c->down, c->client.fd);
	/* Bytes that are held for an answer of a server that has ended are never passed. */
	if (c->down.shut && (c->up.shut || (c->up.eof && !is_pending(&c->up))))
		conn_end(c, false, NULL);
	else if (wait_for(c, &c->client, &c->up, &c->down) < 0 ||
		 wait_for(c, &c->server, &c->down, &c->up) < 0)
		conn_end(c, true, "no more descriptors can be watched");
}

void relay_move(struct conn *c, bool up, bool down)
{
	enum moved moved_up = MOVED_ALL, moved_down = MOVED_ALL;
	bool asked = c->peek && peek_wants_response(c->peek);

	/* Who asked for this may have found it ended. */
	if (c->state == CONN_ENDED || c->state == CONN_REFUSE)
		return;
	if (c->state != CONN_RELAY) {
		move_early(c);
		return;
	}
	/* Who has spoken first is asked of the client's side. */
	if (c->awaits_first) {
		moved_up = move_up(c);
		if (c->state == CONN_RELAY && c->awaits_first)
			judge_server(c);
		up = false;
		down &= !c->awaits_first;
	}
	if (c->state == CONN_RELAY && down)
		moved_down = move_down(c);
	/* The answer may have freed what was held. */
	if (c->state == CONN_RELAY && (up || asked))
		moved_up = move_up(c);
	if (c->state != CONN_RELAY)
		return;
	settle(c, moved_up, moved_down);
}
