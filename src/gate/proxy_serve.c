/* Connections whose clients say whom they are for; see proxy.h.
 *
 * What follows the request is judged and relayed like any other connection.  Unlike
 * one that was caught, its client hears whether the host was reached.
 *
 * GAP: a host that resets a connection has ended it for such a client, as a unix
 * socket knows no other end.
 */
#include "gate/proxy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "gate/conn_priv.h"

#define ACCEPTS_AT_ONCE	64
#define READS_AT_ONCE	8

/* False: the client does not listen. */
static bool say(struct conn *c, enum proxy_answer answer, const char *why)
{
	char out[PROXY_ANSWER_BYTES];
	size_t n = proxy_answer_print(c->ask, answer, why, out);

	return send(c->client.fd, out, n, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)n;
}

void proxy_drop(struct conn *c)
{
	free(c->ask);
	c->ask = NULL;
}

void proxy_refuse(struct conn *c, const char *reason, const char *hint)
{
	char why[MAX_PEEK_WHY];

	snprintf(why, sizeof(why), hint[0] ? "%s; allow with %s" : "%s", reason, hint);
	(void)say(c, PROXY_DENIED, why);
	proxy_drop(c);
	conn_end(c, false, reason);
}

void proxy_end(struct conn *c)
{
	if (c->state != CONN_ASK)
		(void)say(c, PROXY_UNREACHABLE, "");
	proxy_drop(c);
}

bool proxy_connected(struct conn *c)
{
	bool heard = say(c, PROXY_CONNECTED, "");

	proxy_drop(c);
	return heard;
}

/* ---- what is asked ------------------------------------------------------- */

/* [N3]: a name is in the table only after a verdict. */
static bool find_name(struct conn *c)
{
	struct decide_question q = { .host = &c->ask->host, .port = c->port };
	struct decide_verdict v;

	decide(c->g->net, &q, &v);
	if (!v.allowed) {
		conn_refuse(c, v.why.reason, v.why.hint);
		return false;
	}
	c->name = names_add(c->g->names, &c->ask->host);
	if (!c->name) {
		conn_refuse(c, "too many names are in use at once", "");
		return false;
	}
	c->name->users++;
	names_touch(c->g->names, c->name);
	return true;
}

static void take_ask(struct conn *c)
{
	c->port = c->ask->port;
	c->addr = c->ask->host.addr;
	c->state = CONN_RESOLVE;
	if (c->g->n_conns > c->g->net->max_connections)
		conn_refuse(c, "too many connections at once", "network.connections");
	else if (c->ask->host.is_addr || find_name(c))
		conn_resolve(c);
}

/* Takes off the socket what was looked at.  False: it is not there. */
static bool skip(int fd, unsigned char *room, size_t n)
{
	while (n) {
		ssize_t got = recv(fd, room, n, MSG_DONTWAIT);

		if (got <= 0)
			return false;
		n -= (size_t)got;
	}
	return true;
}

void proxy_ready(struct conn *c)
{
	unsigned char bytes[MAX_PROXY_ASK];

	for (int i = 0; i < READS_AT_ONCE; i++) {
		ssize_t n = recv(c->client.fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
		enum proxy_verdict v;
		size_t taken;

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		v = n > 0 ? proxy_feed(c->ask, bytes, (size_t)n, &taken) : PROXY_MORE;
		if (n <= 0 || !skip(c->client.fd, bytes, taken) ||
		    (v == PROXY_GREETED && !say(c, PROXY_HELLO, ""))) {
			conn_end(c, true, NULL);
			return;
		}
		if (v == PROXY_ASKED) {
			take_ask(c);
			return;
		}
		if (v == PROXY_BAD) {
			(void)say(c, c->ask->answer, "");
			conn_end(c, false, NULL);
			return;
		}
	}
}

static void take(struct gate *g, int fd)
{
	struct conn *c = conn_new(g, fd, 0);

	if (!c)
		return;
	c->state = CONN_ASK;
	c->is_unix = true;
	c->ask = calloc(1, sizeof(*c->ask));
	if (!c->ask || watch_set(g, &c->client, EPOLLIN) < 0)
		conn_end(c, true, NULL);
}

void proxy_accept(struct gate *g, struct watch *listener, uint32_t events)
{
	(void)events;
	for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
		int fd = -1;

		/* Who is one too many can be told so once it has asked. */
		if (g->n_conns < g->net->max_connections + MAX_PROXY_ASKS && gate_has_room(g, 2))
			fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		else
			errno = EMFILE;
		if (fd >= 0)
			take(g, fd);
		else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			gate_pause(g);
		if (fd < 0 && errno != ECONNABORTED && errno != EINTR)
			return;
	}
}
