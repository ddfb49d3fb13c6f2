/* The life of a connection: taken, judged, resolved, dialled, relayed, ended. */
#include "gate/conn_priv.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "gate/inspect.h"
#include "gate/refuse.h"

#define ACCEPTS_AT_ONCE	64

const struct host *conn_host(const struct conn *c, struct host *room)
{
	if (c->name)
		return &c->name->host;
	host_from_addr(&c->addr, room);
	return room;
}

static void tell(struct conn *c, enum gate_report_kind kind, const char *reason, const char *hint)
{
	cleanup_buf struct buf name = BUF(512);
	cleanup_buf struct buf address = BUF(128);
	struct host room;

	host_print(conn_host(c, &room), &name);
	if (c->at_to < c->n_to && kind != GATE_DENIED)
		host_addr_print(&c->to[c->at_to], &address);
	gate_tell(c->g, &(struct gate_report){ .kind = kind,
					       .protocol = "tcp",
					       .host = buf_text(&name),
					       .port = c->port,
					       .address = buf_text(&address),
					       .reason = reason,
					       .hint = hint,
					       .id = c->id,
					       .bytes_out = c->up.n_bytes,
					       .bytes_in = c->down.n_bytes });
}

/* ---- the end ------------------------------------------------------------- */

/* Instead of an orderly end, which would look like one of the server's. */
static void close_hard(struct gate *g, struct watch *w)
{
	struct linger hard = { .l_onoff = 1 };

	if (w->fd >= 0)
		setsockopt(w->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	watch_close(g, w);
}

/* Takes a connection out of the list of those that wait with it. */
static void leave_list(struct conn **list, const struct conn *c)
{
	for (; *list; list = &(*list)->next_waiting)
		if (*list == c) {
			*list = c->next_waiting;
			return;
		}
}

static void leave_queues(struct conn *c)
{
	timer_stop(c->g, &c->timer);
	if (c->state == CONN_RESOLVE && c->name)
		leave_list(&c->name->waiting, c);
	if (c->state == CONN_PLUG)
		leave_list(&c->g->unplugged, c);
}

void conn_end(struct conn *c, bool reset, const char *reason)
{
	struct gate *g = c->g;

	if (c->state == CONN_ENDED)
		return;
	leave_queues(c);
	if (c->is_told)
		tell(c, GATE_CLOSED, reason, NULL);
	c->state = CONN_ENDED;
	if (reset) {
		close_hard(g, &c->client);
		close_hard(g, &c->server);
	}
	watch_close(g, &c->client);
	watch_close(g, &c->server);
	relay_release(c);
	c->inspect = inspect_free(c->inspect);
	if (c->name)
		c->name->users--;
	*(c->prev ? &c->prev->next : &g->conns) = c->next;
	if (c->next)
		c->next->prev = c->prev;
	g->n_conns--;
	c->next = g->ended;
	g->ended = c;
}

void conn_free_ended(struct gate *g)
{
	while (g->ended) {
		struct conn *c = g->ended;

		g->ended = c->next;
		free(c);
	}
}

void conn_cut_all(struct gate *g, const char *reason)
{
	while (g->conns)
		conn_end(g->conns, true, reason);
	conn_free_ended(g);
}

/* ---- refusing ------------------------------------------------------------ */

static void refuse_over(struct gate *g, struct timer *t)
{
	(void)g;
	conn_end(CONTAINER(t, struct conn, timer), true, NULL);
}

/* On these ports clients speak first, and in a language that can be answered. */
static bool speaks_first(unsigned port)
{
	static const uint16_t ports[] = { 80, 443, 8000, 8080, 8443 };

	for (size_t i = 0; i < ARRAY_SIZE(ports); i++)
		if (ports[i] == port)
			return true;
	return false;
}

/* The words for the client, then its bytes until it has read them: what is
 * unread when a socket is closed resets it, and the words are lost. */
static void say_why(struct conn *c)
{
	unsigned char words[REFUSE_BYTES];
	struct lane *up = &c->up;
	size_t n;

	if (c->refuse_kind == PEEK_MORE)
		c->refuse_kind = peek_classify(up->held, up->n_held);
	if (c->refuse_kind == PEEK_MORE && up->n_held < sizeof(words) && !up->eof)
		return;
	n = refuse_words((enum peek_kind)c->refuse_kind, up->held, words, sizeof(words));
	if (!n || send(c->client.fd, words, n, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)n) {
		conn_end(c, true, NULL);
		return;
	}
	shutdown(c->client.fd, SHUT_WR);
	c->down.shut = true;
}

static void refuse_ready(struct conn *c)
{
	unsigned char bytes[4096];
	struct lane *up = &c->up;
	ssize_t n;

	while (c->state == CONN_REFUSE) {
		size_t room = c->down.shut ? sizeof(bytes) : MAX_GATE_HELD;

		(void)room;
		n = recv(c->client.fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			conn_end(c, !c->down.shut, NULL);
			return;
		}
		if (c->down.shut)
			continue;
		if (lane_hold(up, bytes, (size_t)n) < 0) {
			conn_end(c, true, NULL);
			return;
		}
		say_why(c);
	}
}
