/* The life of a connection: taken, judged, resolved, dialled, relayed, ended. */

#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "gate/buffers.h"
#include "plan/net_inside.h"

#define ACCEPTS_AT_ONCE	64
#define READS_AT_ONCE	8	/* of a refused client, who may never stop sending */

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
	uint64_t duration_ms = (uint64_t)(gate_now_us() - c->begin_us) / 1000;

	c->is_refused |= kind == GATE_DENIED;
	host_print(conn_host(c, &room), &name);
	if (kind != GATE_DENIED && c->at_to < c->n_to)
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
					       .bytes_in = c->down.n_bytes,
					       .duration_ms = duration_ms });
}

/* ---- the end ------------------------------------------------------------- */

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

/* Whatever its state made it wait for. */
static void leave_state(struct conn *c)
{
	timer_stop(c->g, &c->timer);
	if (c->awaited)
		leave_list(&c->awaited->waiting, c);
	c->awaited = NULL;
	if (c->state == CONN_PLUG)
		leave_list(&c->g->unplugged, c);
}

void conn_end(struct conn *c, bool reset, const char *reason)
{
	struct gate *g = c->g;

	if (c->state == CONN_ENDED)
		return;
	/* It was allowed, and the client did not wait for what came of it. */
	if (!c->is_refused && (c->awaited || c->state == CONN_DIAL || c->state == CONN_TUNNEL))
		conn_tell_allowed(c);
	leave_state(c);
	if (c->is_told)
		tell(c, GATE_CLOSED, reason, NULL);
	c->state = CONN_ENDED;
	if (reset) {
		close_hard(g, &c->client);
		close_hard(g, &c->server);
	}
	watch_close(g, &c->client);
	watch_close(g, &c->server);
	lane_release(g, &c->up);
	lane_release(g, &c->down);
	free(c->peek);
	c->peek = NULL;
	free(c->to);
	c->to = NULL;
	if (c->name)
		c->name->users--;
	buffers_give(c);
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

/* The words, and then the client's bytes until it has read them: a socket that
 * is closed with bytes unread is reset, and takes the words along. */
static void say_why(struct conn *c, const char *why)
{
	char words[PEEK_ANSWER_BYTES];
	size_t n = 0;

	if (c->peek->kind == PEEK_TLS)
		n = peek_answer_tls((unsigned char *)words);
	else if (c->peek->kind == PEEK_HTTP)
		n = peek_answer_http(why, words);
	if (!n || send(c->client.fd, words, n, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)n) {
		conn_end(c, true, NULL);
		return;
	}
	shutdown(c->client.fd, SHUT_WR);
	c->down.shut = true;
}

/* "WHY; allow with HINT", kept in the lane that nothing is written from now. */
static void keep_words(struct conn *c, const char *reason, const char *hint)
{
	size_t n = strlen(reason) + strlen(hint) + 16;
	struct lane *l = &c->down;
	char *room;

	lane_release(c->g, l);
	room = (char *)lane_get_room(l, n);
	if (room)
		l->n_held = (size_t)snprintf(room, n, hint[0] ? "%s; allow with %s" : "%s", reason,
					     hint);
}

static const char *words_of(const struct conn *c)
{
	return c->down.held ? (const char *)c->down.held : "refused by policy";
}

/* What was read of the client so far decides the language. */
static void refuse_with(struct conn *c)
{
	struct lane *up = &c->up;

	if (c->down.shut)
		return;
	(void)peek_feed(c->peek, up->held + up->n_done, up->n_held - up->n_done, up->eof);
	if (c->peek->kind == PEEK_TLS || c->peek->kind == PEEK_HTTP)
		say_why(c, words_of(c));
	else if (c->peek->kind == PEEK_OTHER || up->n_held >= MAX_PEEK_HELD || up->eof)
		conn_end(c, true, NULL);
}

static void refuse_ready(struct conn *c)
{
	unsigned char trash[16384], *room = trash;
	ssize_t n = 1;

	for (int i = 0; i < READS_AT_ONCE && c->state == CONN_REFUSE && n > 0; i++) {
		size_t want = sizeof(trash);

		if (!c->down.shut) {
			want = 2048;
			room = lane_get_room(&c->up, want);
			if (!room) {
				conn_end(c, true, NULL);
				return;
			}
		}
		n = recv(c->client.fd, room, want, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
			conn_end(c, !c->down.shut, NULL);
			return;
		}
		if (n > 0 && !c->down.shut) {
			c->up.n_held += (size_t)n;
			refuse_with(c);
			room = trash;
		}
	}
}

/* From any state to CONN_REFUSE: no server any more. */
static void enter_refuse(struct conn *c)
{
	leave_state(c);
	close_hard(c->g, &c->server);
	c->state = CONN_REFUSE;
	timer_start(c->g, &c->timer, TIMER_REFUSE, refuse_over);
	if (watch_set(c->g, &c->client, EPOLLIN) < 0)
		conn_end(c, true, NULL);
}

void conn_refuse(struct conn *c, const char *reason, const char *hint)
{
	struct host room;

	tell(c, GATE_DENIED, reason, hint);
	/* Bytes of the server may have gone to the client, or none will come. */
	if (c->down.n_bytes || c->state == CONN_RELAY || !speaks_first(c->port)) {
		conn_end(c, true, reason);
		return;
	}
	if (!c->peek)
		c->peek = calloc(1, sizeof(*c->peek));
	if (!c->peek) {
		conn_end(c, true, reason);
		return;
	}
	enter_refuse(c);
	if (c->state != CONN_REFUSE)
		return;
	keep_words(c, reason, hint);
	peek_init(c->peek, conn_host(c, &room), c->port);
	c->up.n_done = c->up.n_send = c->up.n_written = 0;
	if (c->up.n_held)
		refuse_with(c);
}

void conn_refuse_bytes(struct conn *c)
{
	static const char hint[] = "--tls name-only";
	bool may_answer = peek_may_answer(c->peek) && !c->down.n_bytes;
	char why[MAX_PEEK_WHY];

	peek_refusal_print(&c->peek->refusal, &c->peek->to, why);
	tell(c, GATE_DENIED, why, hint);
	if (!may_answer) {
		conn_end(c, true, why);
		return;
	}
	enter_refuse(c);
	if (c->state == CONN_REFUSE)
		say_why(c, why);
}

/* ---- taken --------------------------------------------------------------- */

static void client_ready(struct gate *g, struct watch *w, uint32_t events)
{
	struct conn *c = CONTAINER(w, struct conn, client);

	(void)g;
	if (c->state == CONN_REFUSE)
		refuse_ready(c);
	else if ((events & EPOLLERR) && c->state != CONN_RELAY)
		conn_end(c, true, NULL);
	else {
		c->client_gone |= (events & EPOLLERR) != 0;
		relay_move(c, events & ~(uint32_t)EPOLLOUT, events & ~(uint32_t)EPOLLIN);
	}
}

void conn_server_ready(struct gate *g, struct watch *w, uint32_t events)
{
	struct conn *c = CONTAINER(w, struct conn, server);

	(void)g;
	if (c->state == CONN_DIAL)
		dial_ready(c);
	else if (c->state == CONN_TUNNEL)
		tunnel_ready(c);
	else {
		c->server_gone |= (events & EPOLLERR) != 0;
		relay_move(c, events & ~(uint32_t)EPOLLIN, events & ~(uint32_t)EPOLLOUT);
	}
}

struct conn *conn_new(struct gate *g, int fd, uint16_t port)
{
	struct conn *c = calloc(1, sizeof(*c));
	int one = 1;

	if (!c) {
		close(fd);
		return NULL;
	}
	*c = (struct conn){
		.g = g,
		.id = ++g->next_id,
		.begin_us = gate_now_us(),
		.client = { .fd = fd, .ready = client_ready },
		.server = { .fd = -1, .ready = conn_server_ready },
		.port = port,
		.next = g->conns,
	};
	lane_init(g, &c->up);
	lane_init(g, &c->down);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (g->conns)
		g->conns->prev = c;
	g->conns = c;
	g->n_conns++;
	return c;
}

void conn_resolve(struct conn *c)
{
	struct host room;

	/* An address of ours that stands for no name: nobody asked for it. */
	if (!c->name && names_covers(&c->addr)) {
		conn_refuse(c, "the address stands for no name that was asked for", "");
		return;
	}
	/* The kernel leaves what is for the inside's own loopback alone: who comes so
	 * has dialled our listener, and would be led to the loopback outside. */
	if (!c->name && c->port == NET_LISTENER_PORT && host_addr_is_loopback(&c->addr)) {
		conn_refuse(c, "the port is the gate's own", "");
		return;
	}
	c->awaits_first = matcher_judges_protocols(&c->g->net->match);
	c->is_strict = c->g->net->strict;
	if (c->is_strict) {
		c->peek = calloc(1, sizeof(*c->peek));
		if (!c->peek) {
			conn_end(c, true, NULL);
			return;
		}
		peek_init(c->peek, conn_host(c, &room), c->port);
	}
	c->state = CONN_RESOLVE;
	dial_start(c);
}

/* False: there is none now. */
static bool accept_one(struct gate *g, int listener, int *ret_fd, struct sockaddr_storage *ss)
{
	socklen_t n = sizeof(*ss);

	*ret_fd = gate_has_room(g, 2) ?
			  accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;
	if (*ret_fd < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			gate_pause(g);
		return errno == ECONNABORTED || errno == EINTR;
	}
	if (getsockname(*ret_fd, (struct sockaddr *)ss, &n) < 0)
		fd_close(ret_fd);
	return true;
}

static bool is_full(struct gate *g)
{
	return g->n_conns >= buffers_most_conns(g);
}

static void take(struct gate *g, int fd, const struct sockaddr_storage *ss)
{
	struct host_addr addr;
	struct conn *c;
	uint16_t port;

	addr_from_socket(ss, &addr, &port);
	c = conn_new(g, fd, port);
	if (!c)
		return;
	c->addr = addr;
	c->name = names_find_addr(g->names, &addr);
	if (c->name) {
		c->name->users++;
		names_touch(g->names, c->name);
	}
	/* It counts itself. */
	if (g->n_conns > buffers_most_conns(g)) {
		tell(c, GATE_DENIED, "too many connections at once",
		     g->n_conns > g->net->max_connections ? "network.connections"
							  : "limits.memory");
		conn_end(c, true, NULL);
		return;
	}
	buffers_take(c);
	conn_resolve(c);
}

void conn_accept(struct gate *g, struct watch *listener, uint32_t events)
{
	struct sockaddr_storage ss;
	int fd;

	(void)events;
	for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
		if (!accept_one(g, listener->fd, &fd, &ss))
			return;
		if (fd >= 0)
			take(g, fd, &ss);
	}
}

/* ---- exposed ports ------------------------------------------------------- */

void conn_expose(struct gate *g, struct watch *listener, uint32_t events)
{
	struct sockaddr_storage ss;
	struct host_addr addr;
	struct conn *c;
	uint16_t port;
	int fd;

	(void)events;
	if (is_full(g)) {
		gate_pause(g);
		return;
	}
	if (!accept_one(g, listener->fd, &fd, &ss) || fd < 0)
		return;
	addr_from_socket(&ss, &addr, &port);
	c = conn_new(g, fd, port);
	if (!c)
		return;
	c->addr = addr;
	c->is_exposed = true;
	buffers_take(c);
	c->state = CONN_PLUG;
	c->next_waiting = g->unplugged;
	g->unplugged = c;
	/* Errors alone; the caller's bytes wait in its socket. */
	if (watch_set(g, &c->client, 0) < 0)
		conn_end(c, true, NULL);
	else
		g->o.want_socket(g->o.arg);
}

void conn_plug(struct gate *g, int fd)
{
	struct conn *c = g->unplugged;

	if (!c || fd < 0) {
		fd_close(&fd);
		if (c)
			conn_end(c, true, NULL);
		return;
	}
	g->unplugged = c->next_waiting;
	c->state = CONN_DIAL;
	dial_inside(c, fd);
}

/* ---- resolved, connected ------------------------------------------------- */

void conn_resolved(struct gate *g, struct name *n)
{
	(void)g;
	/* Each is taken off the list before it may come back to it. */
	while (n->waiting) {
		struct conn *c = n->waiting;

		n->waiting = c->next_waiting;
		c->next_waiting = NULL;
		c->awaited = NULL;
		dial_start(c);
	}
}

void conn_tell_allowed(struct conn *c)
{
	if (c->is_told || c->is_exposed)
		return;
	c->is_told = true;
	tell(c, GATE_ALLOWED, NULL, NULL);
}

bool conn_take_first(struct conn *c, enum first_bytes first)
{
	struct host room;
	struct decide_question q = { .host = conn_host(c, &room), .port = c->port, .first = first,
				     .is_own = !c->name && addr_is_own(&c->addr) };
	struct decide_verdict v;

	c->awaits_first = false;
	c->first = first;
	if (c->state == CONN_RELAY)
		timer_stop(c->g, &c->timer);
	decide(c->g->net, &q, &v);
	if (!v.allowed)
		conn_refuse(c, v.why.reason, v.why.hint);
	return v.allowed;
}

static void first_over(struct gate *g, struct timer *t)
{
	struct conn *c = CONTAINER(t, struct conn, timer);

	(void)g;
	if (conn_take_first(c, FIRST_NONE))
		relay_move(c, true, true);
}

void conn_connected(struct conn *c)
{
	timer_stop(c->g, &c->timer);
	c->state = CONN_RELAY;
	if (c->awaits_first)
		timer_start(c->g, &c->timer, TIMER_FIRST, first_over);
	conn_tell_allowed(c);
	relay_move(c, true, true);
}

/* ---- a new generation ---------------------------------------------------- */

/* Is it where the new generation would go?  The rest of the verdict is about that. */
static bool is_on_its_way(const struct conn *c, const struct decide_verdict *v)
{
	bool proxied = c->g->net->proxy.host && !v->has_instead;

	if (proxied != c->is_proxied)
		return false;
	return !v->has_instead ||
	       (memcmp(&v->instead, &c->to[c->at_to], sizeof(v->instead)) == 0 &&
		c->to_port == (v->instead_port ? v->instead_port : c->port));
}

static const char *find_objection(struct conn *c, struct decide_verdict *v)
{
	struct gate *g = c->g;
	struct host room;
	bool own = false, has_server = c->state != CONN_RESOLVE && c->at_to < c->n_to;
	struct decide_question q = { .host = conn_host(c, &room), .port = c->port,
				     .first = c->first,
				     .is_own = !c->name && addr_is_own(&c->addr) };

	if (has_server && c->name && !c->is_proxied) {
		q.answers = (struct match_answers){ &c->to[c->at_to], &own, 1 };
		own = addr_is_own(&c->to[c->at_to]);
	}
	decide(g->net, &q, v);
	if (!v->allowed)
		return v->why.reason;
	if ((g->net->strict && !c->is_strict) ||
	    (matcher_judges_protocols(&g->net->match) && !c->awaits_first && !c->first))
		return "the connection began before its bytes were judged";
	return has_server && !is_on_its_way(c, v) ? "the way to the host is another now" : NULL;
}

void conn_judge_all(struct gate *g)
{
	for (struct conn *c = g->conns, *next; c; c = next) {
		struct decide_verdict v;
		const char *why;

		next = c->next;
		if (c->is_exposed || c->state == CONN_REFUSE)
			continue;
		why = find_objection(c, &v);
		if (!why) {
			/* [C1] The addresses behind it were judged by the last one. */
			c->n_to = MIN(c->n_to, (unsigned char)(c->at_to + 1));
			continue;
		}
		tell(c, GATE_DENIED, why, v.allowed ? "" : v.why.hint);
		conn_end(c, true, why);
	}
}

/* The kernel closes the sending side of a process that ended.  A process that still reads
 * may have closed its own, too: the kernel does not tell which.  Our own side may be closed
 * for a server that has ended its own. */
static bool is_closed_by_client(const struct conn *c)
{
	struct tcp_info info = { .tcpi_state = TCP_ESTABLISHED };
	socklen_t n = sizeof(info);

	return getsockopt(c->client.fd, IPPROTO_TCP, TCP_INFO, &info, &n) == 0 &&
	       info.tcpi_state != TCP_ESTABLISHED && info.tcpi_state != TCP_FIN_WAIT1 &&
	       info.tcpi_state != TCP_FIN_WAIT2;
}

void conn_cut_closed(struct gate *g, const char *reason)
{
	for (struct conn *c = g->conns, *next; c; c = next) {
		next = c->next;
		if (!c->is_exposed && is_closed_by_client(c))
			conn_end(c, true, reason);
	}
}
