/* The gate at work in this process, between sockets on the loopback: its listener
 * is an ordinary one here, so that clients dial its own address. */
#ifndef TEST_GATE_BOX_H
#define TEST_GATE_BOX_H

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "gate/gate.h"
#include "net_read.h"

struct box {
	struct arena arena;
	struct gate *gate;
	struct net_reroute reroute;
	uint16_t port;			/* clients dial it */
	int server;			/* what the gate dials is taken here */
	unsigned n_allowed, n_denied, n_closed;
	char last[256];			/* the last reason */
	uint64_t bytes_out, bytes_in, duration_ms;
};

__attribute__((unused))
static void heard(void *arg, const struct gate_report *r)
{
	struct box *b = arg;

	b->n_allowed += r->kind == GATE_ALLOWED;
	b->n_denied += r->kind == GATE_DENIED;
	b->n_closed += r->kind == GATE_CLOSED;
	if (r->kind == GATE_DENIED)
		snprintf(b->last, sizeof(b->last), "%s", r->reason);
	if (r->kind == GATE_CLOSED) {
		b->bytes_out += r->bytes_out;
		b->bytes_in += r->bytes_in;
		b->duration_ms += r->duration_ms;
	}
}

__attribute__((unused))
static int listener(uint16_t *ret_port, uint32_t address)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr = { htonl(address) } };
	socklen_t n = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (bind(fd, (struct sockaddr *)&in, sizeof(in)) < 0 || listen(fd, 512) < 0 ||
	    getsockname(fd, (struct sockaddr *)&in, &n) < 0)
		abort();
	*ret_port = ntohs(in.sin_port);
	return fd;
}

/* `format` is a policy with the port as its argument, or with none. */
__attribute__((unused))
static struct plan_net *net_of(struct box *b, const char *format)
{
	char text[512];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(text, sizeof(text), format, b->port);
#pragma GCC diagnostic pop
	return read_net(&b->arena, text, &b->reroute, 1);
}

/* What connections of the next box may hold. */
static size_t box_memory = MAX_GATE_MEMORY;

#define ALLOWED	"[network]\nallow = [\"127.0.0.1:%u\"]\n"
#define CLOSED	"[network]\nallow = [\"192.0.2.1\"]\n"

__attribute__((unused))
static void open_box(struct box *b, const char *policy)
{
	struct gate_fds fds;
	struct gate_options o = { .report = heard, .arg = b, .memory = box_memory };
	struct cordon_err err;
	uint16_t to;

	*b = (struct box){ .arena = ARENA(64 << 20) };
	memset(&fds, 0xff, sizeof(fds));
	fds.listener = listener(&b->port, INADDR_ANY);
	b->server = listener(&to, INADDR_LOOPBACK);
	host_from_addr(&(struct host_addr){ .b = { 127, 0, 0, 1 } }, &b->reroute.host);
	b->reroute.port = b->port;
	b->reroute.addr = b->reroute.host.addr;
	b->reroute.to_port = to;
	o.net = net_of(b, policy);
	ok(gate_start(&o, &b->gate, &err) == 0, "%s", err.msg);
	ok(gate_join(b->gate, &fds, &err) == 0, "%s", err.msg);
}

__attribute__((unused))
static void close_box(struct box *b)
{
	gate_stop(b->gate);
	fd_close(&b->server);
	arena_release(&b->arena);
}

/* Lets the gate work until nothing happens for a while. */
__attribute__((unused))
static void work(struct box *b, int ms)
{
	struct pollfd p = { .fd = gate_event_fd(b->gate), .events = POLLIN };

	while (poll(&p, 1, ms) > 0)
		gate_work(b->gate);
	gate_work(b->gate);
}

__attribute__((unused))
static int dial_at(const struct box *b, uint32_t address)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr = { htonl(address) },
				  .sin_port = htons(b->port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (struct sockaddr *)&in, sizeof(in)) < 0)
		abort();
	if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		abort();
	return fd;
}

__attribute__((unused))
static int dial(const struct box *b)
{
	return dial_at(b, INADDR_LOOPBACK);
}

#define MAX_WAITS	3000	/* of 3 ms for what is still on its way */

/* Lets the gate work until there is something to read. */
__attribute__((unused))
static bool ready(struct box *b, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	for (int i = 0; i < MAX_WAITS; i++) {
		work(b, 3);
		if (poll(&p, 1, 0) > 0)
			return true;
	}
	return false;
}

/* Lets the gate work until it has counted so many. */
__attribute__((unused))
static void work_until(struct box *b, const unsigned *count, unsigned want)
{
	for (int i = 0; *count != want && i < MAX_WAITS; i++)
		work(b, 3);
}

/* What the gate dialled, or -1. */
__attribute__((unused))
static int taken(struct box *b)
{
	(void)ready(b, b->server);
	return accept4(b->server, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

/* The same where nothing should come. */
__attribute__((unused))
static int taken_by_now(struct box *b)
{
	work(b, 50);
	return accept4(b->server, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

/* Reads what there is; "!" and the error's name when it failed, "." at the end. */
__attribute__((unused))
static const char *heard_by(int fd, char text[4096])
{
	ssize_t n = recv(fd, text, 4095, 0);

	if (n < 0)
		snprintf(text, 64, "!%s", strerrorname_np(errno));
	else if (n == 0)
		snprintf(text, 64, ".");
	else
		text[n] = '\0';
	return text;
}

/* The same, when there is something. */
__attribute__((unused))
static const char *hears(struct box *b, int fd, char text[4096])
{
	(void)ready(b, fd);
	return heard_by(fd, text);
}

#endif
