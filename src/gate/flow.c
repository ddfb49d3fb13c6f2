/* Datagrams to the hosts of network.udp_allow, and their answers.
 *
 * A flow is one port inside that talks to one port of one host.  It has a socket
 * of its own outside, connected to the address that was judged, so that only
 * that host's datagrams come back. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "gate/gate_priv.h"
#include "gate/inside.h"

#define DATAGRAM_BYTES		(64u << 10)
#define FIRST_BYTES		2048	/* of one that waits until the name is resolved */
#define DATAGRAMS_AT_ONCE	16

struct flow {
	struct flow *next;
	struct watch outside;
	struct timer timer;
	int inside;			/* the gate's socket that it came by */
	struct inside_origin from;
	struct name *name;		/* NULL: `addr` was sent to */
	struct host_addr addr, to;
	uint16_t port;
	uint64_t id, bytes_out, bytes_in;
	int64_t begin_us;
	size_t n_first;
	unsigned char first[FIRST_BYTES];
};

static const struct host *flow_host(const struct flow *f, struct host *room)
{
	if (f->name)
		return &f->name->host;
	host_from_addr(&f->addr, room);
	return room;
}

static void tell(struct gate *g, const struct flow *f, enum gate_report_kind kind,
		 const struct match_verdict *why)
{
	cleanup_buf struct buf name = BUF(512);
	cleanup_buf struct buf address = BUF(128);
	struct host room;
	uint64_t duration_ms = (uint64_t)(gate_now_us() - f->begin_us) / 1000;

	host_print(flow_host(f, &room), &name);
	if (kind != GATE_DENIED)
		host_addr_print(&f->to, &address);
	gate_tell(g, &(struct gate_report){ .kind = kind,
					    .protocol = "udp",
					    .host = buf_text(&name),
					    .port = f->port,
					    .address = buf_text(&address),
					    .reason = why ? why->reason : NULL,
					    .hint = why ? why->hint : NULL,
					    .id = f->id,
					    .bytes_out = f->bytes_out,
					    .bytes_in = f->bytes_in,
					    .duration_ms = duration_ms });
}

static void end_flow(struct gate *g, struct flow *f)
{
	struct flow **at = &g->flows;

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	if (f->outside.fd >= 0)
		tell(g, f, GATE_CLOSED, NULL);
	timer_stop(g, &f->timer);
	watch_close(g, &f->outside);
	if (f->name)
		f->name->users--;
	g->n_flows--;
	f->next = g->flows_ended;
	g->flows_ended = f;
}

void flow_free_ended(struct gate *g)
{
	while (g->flows_ended) {
		struct flow *f = g->flows_ended;

		g->flows_ended = f->next;
		free(f);
	}
}

static void flow_over(struct gate *g, struct timer *t)
{
	end_flow(g, CONTAINER(t, struct flow, timer));
}

static void outside_ready(struct gate *g, struct watch *w, uint32_t events)
{
	struct flow *f = CONTAINER(w, struct flow, outside);
	unsigned char bytes[DATAGRAM_BYTES];

	(void)events;
	for (int i = 0; i < DATAGRAMS_AT_ONCE; i++) {
		ssize_t n = recv(w->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

		if (n < 0) {
			if (errno != EAGAIN && errno != EINTR && errno != ECONNREFUSED)
				end_flow(g, f);
			return;
		}
		f->bytes_in += (uint64_t)n;
		inside_send(f->inside, &f->from, bytes, (size_t)n);
	}
	timer_start(g, &f->timer, TIMER_FLOW, flow_over);
}

/* The verdict about what it resolves to, and a socket to there; NULL or why not. */
static const char *open_outside(struct gate *g, struct flow *f, struct decide_verdict *v)
{
	struct host room;
	bool own[MAX_NAME_ANSWERS];
	struct decide_question q = { .host = flow_host(f, &room), .port = f->port,
				     .datagrams = true };
	struct sockaddr_storage ss;
	socklen_t n;

	if (f->name) {
		q.answers = (struct match_answers){ f->name->answers, own, f->name->n_answers };
		for (size_t i = 0; i < q.answers.n; i++)
			own[i] = addr_is_own(&q.answers.addrs[i]);
	}
	decide(g->net, &q, v);
	if (!v->allowed)
		return v->why.reason;
	if (v->has_instead)
		f->to = v->instead;
	else if (!f->name)
		f->to = f->addr;
	else if (v->good)
		f->to = q.answers.addrs[__builtin_ctz(v->good)];
	else
		return "the name cannot be resolved";
	n = addr_to_socket(&f->to, v->instead_port ? v->instead_port : f->port, &ss);
	/* It was counted when it was made. */
	if (gate_has_room(g, 0))
		f->outside.fd = socket(ss.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	f->outside.ready = outside_ready;
	if (f->outside.fd < 0 || connect(f->outside.fd, (struct sockaddr *)&ss, n) < 0 ||
	    watch_set(g, &f->outside, EPOLLIN) < 0) {
		watch_close(g, &f->outside);
		return "no socket can be made";
	}
	return NULL;
}

static void send_out(struct flow *f, const unsigned char *bytes, size_t n)
{
	if (send(f->outside.fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)n)
		f->bytes_out += n;
}

static void start_flow(struct gate *g, struct flow *f)
{
	struct decide_verdict v;
	const char *why = open_outside(g, f, &v);

	if (why) {
		if (!v.allowed)
			tell(g, f, GATE_DENIED, &v.why);
		end_flow(g, f);
		return;
	}
	tell(g, f, GATE_ALLOWED, NULL);
	if (f->n_first)
		send_out(f, f->first, f->n_first);
}

void flow_resolved(struct gate *g, struct name *n)
{
	for (struct flow *f = g->flows, *next; f; f = next) {
		next = f->next;
		if (f->name == n && f->outside.fd < 0)
			start_flow(g, f);
	}
}

/* ---- from inside --------------------------------------------------------- */

static struct flow *find_flow(const struct gate *g, int inside, const struct inside_origin *from,
			      const struct host_addr *addr)
{
	for (struct flow *f = g->flows; f; f = f->next)
		if (f->inside == inside && f->from.n_from == from->n_from &&
		    memcmp(&f->from.from, &from->from, from->n_from) == 0 &&
		    memcmp(&f->addr, addr, sizeof(*addr)) == 0)
			return f;
	return NULL;
}

/* The first datagram waits in the flow until it is known where to. */
static void new_flow(struct gate *g, struct flow *f, const unsigned char *bytes, size_t n)
{
	struct host room;
	struct decide_question q = { .datagrams = true };
	struct decide_verdict v;

	f->name = names_find_addr(g->names, &f->addr);
	q.host = flow_host(f, &room);
	q.port = f->port;
	decide(g->net, &q, &v);
	if (!v.allowed || (!f->name && names_covers(&f->addr))) {
		tell(g, f, GATE_DENIED, &v.why);
		f->name = NULL;
		end_flow(g, f);
		return;
	}
	if (f->name) {
		f->name->users++;
		names_touch(g->names, f->name);
	}
	f->n_first = n <= sizeof(f->first) ? n : 0;
	memcpy(f->first, bytes, f->n_first);
	timer_start(g, &f->timer, TIMER_FLOW, flow_over);
	if (!f->name || v.has_instead || f->name->fresh_until_us > gate_now_us())
		start_flow(g, f);
	else if (!f->name->is_asked)
		resolve_name(g, f->name);
}

static uint16_t port_of(int fd)
{
	struct sockaddr_storage ss;
	struct host_addr ignored;
	socklen_t n = sizeof(ss);
	uint16_t port = 0;

	if (getsockname(fd, (struct sockaddr *)&ss, &n) == 0)
		addr_from_socket(&ss, &ignored, &port);
	return port;
}

static struct flow *add_flow(struct gate *g, int inside, const struct inside_origin *from,
			     const struct host_addr *addr)
{
	struct flow *f;

	/* The longest unused one is the first of its timers. */
	if (g->n_flows >= MAX_GATE_FLOWS && g->first[TIMER_FLOW])
		end_flow(g, CONTAINER(g->first[TIMER_FLOW], struct flow, timer));
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	*f = (struct flow){ .next = g->flows, .inside = inside, .from = *from, .addr = *addr,
			    .port = port_of(inside), .id = ++g->next_id,
			    .begin_us = gate_now_us() };
	f->outside.fd = -1;
	g->flows = f;
	g->n_flows++;
	return f;
}

void flow_receive(struct gate *g, struct watch *w, uint32_t events)
{
	unsigned char bytes[DATAGRAM_BYTES];

	(void)events;
	for (int i = 0; i < DATAGRAMS_AT_ONCE; i++) {
		struct inside_origin from = { .n_from = 0 };
		ssize_t n = inside_recv(w->fd, bytes, sizeof(bytes), &from);
		struct host_addr addr;
		struct flow *f;

		if (n < 0)
			return;
		if (!inside_target(&from, &addr))
			continue;
		f = find_flow(g, w->fd, &from, &addr);
		if (f && f->outside.fd >= 0) {
			send_out(f, bytes, (size_t)n);
			timer_start(g, &f->timer, TIMER_FLOW, flow_over);
		} else if (!f) {
			f = add_flow(g, w->fd, &from, &addr);
			if (f)
				new_flow(g, f, bytes, (size_t)n);
		}
	}
}

/* ---- a new generation, the end -------------------------------------------- */

void flow_judge_all(struct gate *g)
{
	for (struct flow *f = g->flows, *next; f; f = next) {
		struct host room;
		bool own = f->outside.fd >= 0 && addr_is_own(&f->to);
		struct decide_question q = { .host = flow_host(f, &room), .port = f->port,
					     .datagrams = true };
		struct decide_verdict v;

		next = f->next;
		if (f->name && f->outside.fd >= 0) {
			q.answers = (struct match_answers){ &f->to, &own, 1 };
		}
		decide(g->net, &q, &v);
		if (v.allowed && (!v.has_instead || f->outside.fd < 0 ||
				  memcmp(&v.instead, &f->to, sizeof(f->to)) == 0))
			continue;
		tell(g, f, GATE_DENIED, &v.why);
		end_flow(g, f);
	}
}

void flow_cut_all(struct gate *g)
{
	while (g->flows)
		end_flow(g, g->flows);
	flow_free_ended(g);
}
