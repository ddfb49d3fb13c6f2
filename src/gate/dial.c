/* The way to the server: the verdict about where it is, the attempts, and the
 * proxy in front if there is one.
 *
 * [C1] holds here: an address is dialled only in the call in which decide() said
 * yes to it.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "gate/buffers.h"

#define TUNNEL_BYTES	8192		/* the longest answer of a proxy */
static_assert(MAX_NAME_ANSWERS <= MAX_MATCH_ANSWERS, "answers that no verdict has room for");

/* ---- attempts ------------------------------------------------------------ */

static void try_next(struct conn *c);

static void dial_over(struct gate *g, struct timer *t)
{
	struct conn *c = CONTAINER(t, struct conn, timer);

	watch_close(g, &c->server);
	c->at_to++;
	try_next(c);
}

static int open_socket(const struct conn *c, const struct sockaddr_storage *ss)
{
	int fd = socket(ss->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int one = 1;

	if (fd < 0)
		return -1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	buffers_limit_server(c, fd);
	return fd;
}

static void connected(struct conn *c)
{
	if (c->is_proxied) {
		c->state = CONN_TUNNEL;
		timer_start(c->g, &c->timer, TIMER_DIAL, dial_over);
		tunnel_ready(c);
	} else {
		conn_connected(c);
	}
}

/* The address at `at_to`, or the next one that can be tried. */
static void try_next(struct conn *c)
{
	for (; c->at_to < c->n_to; c->at_to++) {
		struct sockaddr_storage ss;
		socklen_t n = addr_to_socket(&c->to[c->at_to], c->to_port, &ss);

		assert(c->server.fd < 0);	/* [C2] */
		c->is_asked = false;
		lane_release(c->g, &c->down);
		c->server.fd = open_socket(c, &ss);
		if (c->server.fd < 0)
			continue;
		c->state = CONN_DIAL;
		if (connect(c->server.fd, (struct sockaddr *)&ss, n) == 0) {
			connected(c);
			return;
		}
		if (errno == EINPROGRESS && watch_set(c->g, &c->server, EPOLLOUT) == 0) {
			timer_start(c->g, &c->timer, TIMER_DIAL, dial_over);
			relay_move(c, true, false);
			return;
		}
		watch_close(c->g, &c->server);
	}
	c->at_to = c->n_to ? (unsigned char)(c->n_to - 1) : 0;
	/* To the client the server is gone, as it is. */
	conn_tell_allowed(c);
	conn_end(c, true, "no connection could be made to any address of the host");
}

void dial_ready(struct conn *c)
{
	int error = 0;
	socklen_t n = sizeof(error);

	if (getsockopt(c->server.fd, SOL_SOCKET, SO_ERROR, &error, &n) < 0 || error) {
		watch_close(c->g, &c->server);
		c->at_to++;
		try_next(c);
		return;
	}
	connected(c);
}

void dial_inside(struct conn *c, int fd)
{
	static const struct host_addr loopback = { .b = { 127, 0, 0, 1 } };
	struct sockaddr_storage ss;
	socklen_t n = addr_to_socket(&loopback, c->port, &ss);

	c->server.fd = fd;
	buffers_limit_server(c, fd);
	if (connect(fd, (struct sockaddr *)&ss, n) == 0)
		conn_connected(c);
	else if (errno != EINPROGRESS || watch_set(c->g, &c->server, EPOLLOUT) < 0)
		conn_end(c, true, NULL);
}

/* ---- where to ------------------------------------------------------------ */

/* Sets the list of addresses; false: without memory. */
static bool set_targets(struct conn *c, const struct host_addr *to, size_t n, unsigned good)
{
	free(c->to);
	c->to = calloc(n, sizeof(*c->to));
	c->n_to = c->at_to = 0;
	for (size_t i = 0; c->to && i < n; i++)
		if (good & 1u << i)
			c->to[c->n_to++] = to[i];
	return c->to;
}

/* Waits with the others that want the same name; false: it is known already. */
static bool wait_for_answers(struct conn *c, struct name *n)
{
	if (!n->is_asked && n->fresh_until_us > gate_now_us())
		return false;
	c->state = CONN_RESOLVE;
	c->awaited = n;
	c->next_waiting = n->waiting;
	n->waiting = c;
	if (!n->is_asked)
		resolve_name(c->g, n);
	/* If not, it went on already, or has ended. */
	if (c->awaited == n)
		relay_move(c, true, false);
	return true;
}

/* The entry of the proxy in front, made when it is first needed or when it is
 * another one now; NULL without memory. */
static struct name *get_proxy(struct gate *g)
{
	struct host host;
	char why[HOST_WHY];

	if (host_parse(str_from(g->net->proxy.host), &host, why) < 0)
		return NULL;
	if (g->proxy && memcmp(&g->proxy->host, &host, sizeof(host)) == 0)
		return g->proxy;
	/* Somebody may still wait for the last one. */
	if (g->proxy && (g->proxy->is_asked || g->proxy->waiting))
		return NULL;
	free(g->proxy);
	g->proxy = calloc(1, sizeof(*g->proxy));
	if (!g->proxy)
		return NULL;
	g->proxy->host = host;
	if (host.is_addr) {
		g->proxy->answers[0] = host.addr;
		g->proxy->n_answers = 1;
		g->proxy->fresh_until_us = INT64_MAX;
	}
	return g->proxy;
}

/* The proxy resolves the name; where the proxy is, is the operator's word. */
static void dial_proxy(struct conn *c)
{
	struct name *n = get_proxy(c->g);

	if (n && wait_for_answers(c, n))
		return;
	c->is_proxied = true;
	if (!n || !n->n_answers || !set_targets(c, n->answers, n->n_answers, ~0u)) {
		conn_tell_allowed(c);
		conn_end(c, true, "the proxy in front cannot be found");
		return;
	}
	c->to_port = c->g->net->proxy.port;
	try_next(c);
}

static void dial_answers(struct conn *c)
{
	struct name *n = c->name;
	bool own[MAX_NAME_ANSWERS];
	struct decide_question q = { .host = &n->host, .port = c->port,
				     .answers = { n->answers, own, n->n_answers } };
	struct decide_verdict v;

	if (!n->n_answers) {
		conn_tell_allowed(c);
		conn_end(c, true, "the name cannot be resolved");
		return;
	}
	for (size_t i = 0; i < n->n_answers; i++)
		own[i] = addr_is_own(&n->answers[i]);
	decide(c->g->net, &q, &v);
	if (!v.allowed) {
		conn_refuse(c, v.why.reason, v.why.hint);
		return;
	}
	if (!set_targets(c, n->answers, n->n_answers, v.good)) {
		conn_end(c, true, NULL);
		return;
	}
	c->to_port = c->port;
	try_next(c);
}

void dial_start(struct conn *c)
{
	struct host room;
	struct decide_question q = { .host = conn_host(c, &room), .port = c->port,
				     .is_own = !c->name && addr_is_own(&c->addr) };
	struct decide_verdict v;

	/* Time may have passed since the connection was taken. */
	decide(c->g->net, &q, &v);
	if (!v.allowed) {
		conn_refuse(c, v.why.reason, v.why.hint);
	} else if (c->g->net->proxy.host && !v.has_instead) {
		dial_proxy(c);
	} else if (v.has_instead || !c->name) {
		if (!set_targets(c, v.has_instead ? &v.instead : &c->addr, 1, 1)) {
			conn_end(c, true, NULL);
			return;
		}
		c->to_port = v.has_instead && v.instead_port ? v.instead_port : c->port;
		try_next(c);
	} else if (!wait_for_answers(c, c->name)) {
		dial_answers(c);
	}
}

/* ---- a proxy in front ---------------------------------------------------- */

/* -1: it did not go as a whole. */
static int write_request(struct conn *c)
{
	const struct net_proxy *proxy = &c->g->net->proxy;
	cleanup_buf struct buf name = BUF(512);
	cleanup_buf struct buf text = BUF(TUNNEL_BYTES);
	struct host room;

	host_print(conn_host(c, &room), &name);
	buf_printf(&text, c->addr.is_v6 && !c->name ? "CONNECT [%s]:%u HTTP/1.1\r\n"
						    : "CONNECT %s:%u HTTP/1.1\r\n",
		   buf_text(&name), c->port);
	buf_printf(&text, c->addr.is_v6 && !c->name ? "Host: [%s]:%u\r\n" : "Host: %s:%u\r\n",
		   buf_text(&name), c->port);
	if (proxy->authorization)
		buf_printf(&text, "Proxy-Authorization: %s\r\n", proxy->authorization);
	buf_puts(&text, "\r\n");
	return buf_ok(&text) && send(c->server.fd, text.data, text.n,
				     MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)text.n ? 0 : -1;
}

/* How long the head of an answer is, or 0 as long as it is not whole. */
static size_t head_length(const char *bytes, size_t n)
{
	const char *end = memmem(bytes, n, "\r\n\r\n", 4);

	return end ? (size_t)(end - bytes) + 4 : 0;
}

/* 1: the tunnel stands; 0: wait; -1: it does not.  What came so far is taken out of
 * the socket: it would wake us for ever. */
static int read_answer(struct conn *c)
{
	struct lane *l = &c->down;
	unsigned char *room = lane_get_room(l, TUNNEL_BYTES - l->n_held);
	ssize_t n = room ? recv(c->server.fd, room, TUNNEL_BYTES - l->n_held, MSG_DONTWAIT) : 0;
	const char *bytes = (const char *)l->held;
	size_t head;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	l->n_held += (size_t)n;
	head = n ? head_length(bytes, l->n_held) : 0;
	if (!head)
		return n == 0 || l->n_held == TUNNEL_BYTES ? -1 : 0;
	if (head <= 12 || memcmp(bytes, "HTTP/1.", 7) != 0 || memcmp(bytes + 8, " 200", 4) != 0)
		return -1;
	/* What follows the head is the server's. */
	l->n_held -= head;
	memmove(l->held, l->held + head, l->n_held);
	l->n_done = l->n_send = l->n_held;
	if (!l->n_held)
		lane_release(c->g, l);
	return 1;
}

void tunnel_ready(struct conn *c)
{
	int rc = 0;

	/* The first time there is nothing to read yet. */
	if (!c->is_asked) {
		c->is_asked = true;
		rc = write_request(c);
	}
	if (rc == 0)
		rc = read_answer(c);
	if (rc > 0) {
		conn_connected(c);
		return;
	}
	if (rc < 0 || watch_set(c->g, &c->server, EPOLLIN) < 0) {
		conn_tell_allowed(c);
		conn_end(c, true, "the proxy in front did not make the connection");
		return;
	}
	relay_move(c, true, false);
}
