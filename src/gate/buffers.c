/* What connections may hold; see buffers.h. */
#include "gate/buffers.h"

#include <stdio.h>

/* SO_RCVBUF and SO_SNDBUF: the kernel allows twice as much.  Outside are the sockets
 * to hosts, whose windows decide how fast a far host sends. */
#define LEAST_OUTSIDE	(8u << 10)
#define LEAST_INSIDE	(5u << 10)
#define MOST_OUTSIDE	(2u << 20)
#define MOST_INSIDE	(256u << 10)
#define LEAST_PART	(1u << 20)	/* of less, bytes are copied and not spliced */
#define MOST_PIPE	(256u << 10)
/* Two sockets, each both ways, with what is sent at once. */
#define LEAST_BYTES	(4 * LEAST_OUTSIDE + 4 * LEAST_INSIDE + 2 * LITTLE_BYTES)
#define PACKET_BYTES	(64u << 10)	/* a socket may hold one beyond SO_SNDBUF */
#define PARTS		8		/* of what is left, a connection gets one */
/* Of the budget, one part is for bytes that were read, and at most two are for the
 * least of all connections: so some is left for the first ones. */
#define HELD_PARTS	4
#define LEAST_PARTS	2

/* The last number of a file of sysctl; `otherwise` where it cannot be read. */
static size_t read_most(const char *path, size_t otherwise)
{
	FILE *f = fopen(path, "re");
	unsigned long long least, usual, most;
	bool ok = f && fscanf(f, "%llu %llu %llu", &least, &usual, &most) == 3;

	if (f)
		fclose(f);
	return ok ? (size_t)most : otherwise;
}

/* What the kernel gives the two sockets of a connection and its pipes at the most. */
static size_t tuned_bytes(struct gate *g)
{
	if (!g->tuned_bytes)
		g->tuned_bytes = read_most("/proc/sys/net/ipv4/tcp_rmem", SIZE_MAX / 8) +
				 read_most("/proc/sys/net/ipv4/tcp_wmem", SIZE_MAX / 8) +
				 4 * MOST_INSIDE + 2 * MOST_PIPE;
	return g->tuned_bytes;
}

/* A later policy may allow more connections than those for which the least was kept
 * when shares were given. */
unsigned buffers_most_conns(const struct gate *g)
{
	size_t most = MIN(g->o.memory / LEAST_PARTS, g->o.memory - g->o.memory / HELD_PARTS -
							     g->given);

	return (unsigned)MIN(g->net->max_connections, most / LEAST_BYTES);
}

size_t buffers_given(const struct gate *g)
{
	return (size_t)g->n_conns * LEAST_BYTES + g->given + g->held;
}

bool buffers_hold(struct gate *g, size_t n)
{
	if (g->held + n > g->o.memory / HELD_PARTS)
		return false;
	g->held += n;
	g->given_most = MAX(g->given_most, buffers_given(g));
	return true;
}

/* What is left when each connection that may still come has the least. */
static size_t find_rest(const struct gate *g)
{
	size_t conns = MAX(g->n_conns, buffers_most_conns(g));
	size_t taken = conns * LEAST_BYTES + g->given + g->o.memory / HELD_PARTS;

	return taken < g->o.memory ? g->o.memory - taken : 0;
}

static void limit(int fd, unsigned bytes)
{
	int value = (int)bytes;

	/* More than the machine allows becomes what it allows. */
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &value, sizeof(value));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &value, sizeof(value));
}

void buffers_take(struct conn *c)
{
	struct gate *g = c->g;
	struct share *s = &c->share;
	size_t part = find_rest(g) / PARTS;

	if (part >= tuned_bytes(g)) {
		*s = (struct share){ .is_tuned = true, .pipe = MOST_PIPE, .given = g->tuned_bytes };
	} else {
		s->outside = (unsigned)MIN(LEAST_OUTSIDE + part / 8, MOST_OUTSIDE);
		s->inside = (unsigned)MIN(LEAST_INSIDE + part / 16, MOST_INSIDE);
		s->pipe = (unsigned)MIN(part / 8, MOST_PIPE);
		if (part < LEAST_PART)
			s->pipe = 0;
		s->given = 4 * (size_t)(s->outside - LEAST_OUTSIDE) +
			   4 * (size_t)(s->inside - LEAST_INSIDE) +
			   2 * (size_t)(s->pipe ? s->pipe + PACKET_BYTES : 0);
		limit(c->client.fd, c->is_exposed ? s->outside : s->inside);
	}
	g->given += s->given;
	g->given_most = MAX(g->given_most, buffers_given(g));
}

void buffers_give(struct conn *c)
{
	c->g->given -= c->share.given;
	c->share.given = 0;
}

void buffers_limit_server(const struct conn *c, int fd)
{
	if (!c->share.is_tuned)
		limit(fd, c->is_exposed ? c->share.inside : c->share.outside);
}
