/* The gate's loop, timers and generations; see gate.h. */
#include "gate/gate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/route.h"
#include "gate/buffers.h"
#include "gate/refusals.h"

#define EVENTS_AT_ONCE	64
#define TURN_US		1000	/* before the supervisor has its turn */
#define LINGER_US	50	/* about what a sleep and the wake-up from it cost */
#define MAX_LINGER_SKIPS	1023
#define PIPE_BYTES	(256 << 10)
#define SPARED_FDS	160	/* for the rest of the supervisor, and our listeners */

int64_t gate_now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

/* ---- descriptors --------------------------------------------------------- */

int watch_set(struct gate *g, struct watch *w, uint32_t events)
{
	/* Errors and the end of both directions are told whether we want them or
	 * not, and again and again: where nothing else is waited for, once. */
	struct epoll_event e = { .events = events ? events : EPOLLET, .data.ptr = w };

	if (w->fd < 0 || (w->is_in && w->events == events))
		return 0;
	if (epoll_ctl(g->epoll, w->is_in ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, w->fd, &e) < 0)
		return -1;
	w->is_in = true;
	w->events = events;
	return 0;
}

void watch_leave(struct gate *g, struct watch *w)
{
	if (w->is_in)
		epoll_ctl(g->epoll, EPOLL_CTL_DEL, w->fd, NULL);
	w->is_in = false;
}

void watch_close(struct gate *g, struct watch *w)
{
	watch_leave(g, w);
	fd_close(&w->fd);
}

bool gate_has_room(const struct gate *g, size_t n)
{
	/* A connection that has no server yet will have one. */
	size_t taken = 2 * ((size_t)g->n_conns + g->n_pipes) + g->n_flows + g->n_dns_clients;

	if (taken + n <= g->max_fds)
		return true;
	errno = EMFILE;
	return false;
}

int pipe_take(struct gate *g, struct pipe_ends *ret)
{
	if (g->n_spare) {
		*ret = g->spare[--g->n_spare];
		return 0;
	}
	if (!gate_has_room(g, 2) || pipe2(ret->fd, O_CLOEXEC | O_NONBLOCK) < 0)
		return -1;
	g->n_pipes++;
	/* More than the caller may have is not needed, only faster. */
	(void)fcntl(ret->fd[0], F_SETPIPE_SZ, PIPE_BYTES);
	return 0;
}

void pipe_give(struct gate *g, struct pipe_ends *p, bool is_empty)
{
	if (p->fd[0] >= 0 && is_empty && g->n_spare < MAX_SPARE_PIPES) {
		g->spare[g->n_spare++] = *p;
		p->fd[0] = p->fd[1] = -1;
	}
	g->n_pipes -= p->fd[0] >= 0;
	fd_close(&p->fd[0]);
	fd_close(&p->fd[1]);
}

/* ---- timers -------------------------------------------------------------- */

static const int64_t timer_us[N_TIMER_CLASSES] = {
	[TIMER_RESOLVE] = 20000000,
	[TIMER_DIAL] = 10000000,
	[TIMER_FIRST] = 60000000,
	[TIMER_REFUSE] = 1000000,
	[TIMER_ACCEPT] = 50000,
	[TIMER_FLOW] = 60000000,
	[TIMER_QUESTIONS] = 20000,
	[TIMER_COUNT] = 100000,
};

void timer_start(struct gate *g, struct timer *t, enum timer_class class,
		 void (*over)(struct gate *g, struct timer *t))
{
	timer_stop(g, t);
	*t = (struct timer){ .prev = g->last[class],
			     .at_us = gate_now_us() + timer_us[class],
			     .class = class,
			     .over = over };
	*(g->last[class] ? &g->last[class]->next : &g->first[class]) = t;
	g->last[class] = t;
}

void timer_stop(struct gate *g, struct timer *t)
{
	if (!t->at_us)
		return;
	*(t->prev ? &t->prev->next : &g->first[t->class]) = t->next;
	*(t->next ? &t->next->prev : &g->last[t->class]) = t->prev;
	t->at_us = 0;
}

int64_t gate_next_us(const struct gate *g)
{
	int64_t next = INT64_MAX;

	for (int i = 0; i < N_TIMER_CLASSES; i++)
		if (g->first[i])
			next = MIN(next, g->first[i]->at_us);
	return next;
}

static void run_timers(struct gate *g, int64_t now)
{
	for (int i = 0; i < N_TIMER_CLASSES; i++)
		while (g->first[i] && g->first[i]->at_us <= now) {
			struct timer *t = g->first[i];

			timer_stop(g, t);
			t->over(g, t);
		}
}

/* ---- addresses ----------------------------------------------------------- */

void addr_from_socket(const struct sockaddr_storage *ss, struct host_addr *ret, uint16_t *ret_port)
{
	const struct sockaddr_in *in = (const void *)ss;
	const struct sockaddr_in6 *in6 = (const void *)ss;

	*ret = (struct host_addr){ .is_v6 = false };
	if (ss->ss_family == AF_INET) {
		memcpy(ret->b, &in->sin_addr, 4);
		*ret_port = ntohs(in->sin_port);
		return;
	}
	*ret_port = ntohs(in6->sin6_port);
	if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
		memcpy(ret->b, in6->sin6_addr.s6_addr + 12, 4);
		return;
	}
	ret->is_v6 = true;
	memcpy(ret->b, &in6->sin6_addr, 16);
}

socklen_t addr_to_socket(const struct host_addr *a, uint16_t port, struct sockaddr_storage *ret)
{
	struct sockaddr_in *in = (void *)ret;
	struct sockaddr_in6 *in6 = (void *)ret;

	*ret = (struct sockaddr_storage){ .ss_family = a->is_v6 ? AF_INET6 : AF_INET };
	if (a->is_v6) {
		in6->sin6_port = htons(port);
		memcpy(&in6->sin6_addr, a->b, 16);
		return sizeof(*in6);
	}
	in->sin_port = htons(port);
	memcpy(&in->sin_addr, a->b, 4);
	return sizeof(*in);
}

/* Not by the source that would be used: a second address of an interface is talked
 * to from its first one.  What cannot be asked may be our own. */
bool addr_is_own(const struct host_addr *a)
{
	enum route_kind kind;

	return route_find(a->is_v6 ? AF_INET6 : AF_INET, a->b, &kind) < 0 || kind == ROUTE_OWN;
}

/* ---- telling ------------------------------------------------------------- */

void gate_tell(struct gate *g, struct gate_report *r)
{
	r->generation = g->generation;
	r->address = r->address ? r->address : "";
	r->reason = r->reason ? r->reason : "";
	r->hint = r->hint ? r->hint : "";
	g->n_allowed += r->kind == GATE_ALLOWED;
	g->n_denied += r->kind == GATE_DENIED;
	g->o.report(g->o.arg, r);
}

/* A connection to an address that is in no set of nf_tables. */
static void tell_refusal(struct gate *g, const struct refusal *r)
{
	const struct name *known = names_find_addr(g->names, &r->addr);
	struct decide_question q = { .port = r->port, .datagrams = r->protocol != IPPROTO_TCP };
	cleanup_buf struct buf name = BUF(512);
	struct decide_verdict v;
	struct host h;

	if (known)
		h = known->host;
	else
		host_from_addr(&r->addr, &h);
	q.host = &h;
	decide(g->net, &q, &v);
	host_print(&h, &name);
	/* A set that is behind the policy, or a datagram to a port that is closed
	 * now: nothing was refused by the policy. */
	if (v.allowed)
		return;
	gate_tell(g, &(struct gate_report){ .kind = GATE_DENIED,
					    .protocol = q.datagrams ? "udp" : "tcp",
					    .host = buf_text(&name),
					    .port = r->port,
					    .reason = v.why.reason,
					    .hint = v.why.hint });
}

/* All that the kernel has sent so far. */
static void read_refusals(struct gate *g)
{
	struct refusal list[32];
	size_t n;

	do {
		n = refusals_read(g->refusals.fd, list, ARRAY_SIZE(list), &g->refused_read);
		for (size_t i = 0; i < n; i++)
			tell_refusal(g, &list[i]);
	} while (n == ARRAY_SIZE(list));
}

/* The counter is read before the packets: so each packet that it counts and that was
 * sent has been read, and the others are known by their number alone. */
static void count_refusals(struct gate *g)
{
	uint64_t all;

	if (g->table.fd < 0 || g->refusals.fd < 0 || table_count_refused(&g->table, &all) < 0)
		return;
	read_refusals(g);
	if (all <= g->refused_read + g->refused_lost)
		return;
	all -= g->refused_read + g->refused_lost;
	g->refused_lost += all;
	g->n_denied += all;
	g->o.report_lost(g->o.arg, all);
}

static void count_over(struct gate *g, struct timer *t)
{
	(void)t;
	count_refusals(g);
}

static void refusals_ready(struct gate *g, struct watch *w, uint32_t events)
{
	(void)w;
	(void)events;
	read_refusals(g);
	if (!g->count_refused.at_us)
		timer_start(g, &g->count_refused, TIMER_COUNT, count_over);
}

/* ---- taking connections -------------------------------------------------- */

static void set_accepting(struct gate *g, bool on)
{
	uint32_t events = on ? EPOLLIN : 0;

	/* What cannot be set now is tried again, as we come back here. */
	if (watch_set(g, &g->listener, events) < 0)
		return;
	for (size_t i = 0; i < g->n_exposed; i++)
		if (watch_set(g, &g->exposed[i], events) < 0)
			return;
	(void)!watch_set(g, &g->dns_stream, events);
}

static void accept_again(struct gate *g, struct timer *t)
{
	(void)t;
	set_accepting(g, true);
}

void gate_pause(struct gate *g)
{
	set_accepting(g, false);
	timer_start(g, &g->accept_again, TIMER_ACCEPT, accept_again);
}

/* ---- start and end ------------------------------------------------------- */

static int listen_on(const struct host_addr *a, uint16_t port)
{
	struct sockaddr_storage ss;
	socklen_t n = addr_to_socket(a, port, &ss);
	cleanup_fd int fd = socket(ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int one = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 ||
	    bind(fd, (struct sockaddr *)&ss, n) < 0 || listen(fd, 128) < 0)
		return -1;
	return fd_take(&fd);
}

static int open_exposed(struct gate *g, struct cordon_err *err)
{
	static const struct host_addr loopback = { .b = { 127, 0, 0, 1 } };

	for (size_t i = 0; i < g->net->n_expose && i < MAX_NET_PORTS; i++) {
		struct watch *w = &g->exposed[g->n_exposed];

		w->fd = listen_on(&loopback, g->net->expose[i]);
		w->ready = conn_expose;
		if (w->fd < 0)
			return err_sys(err, CORDON_E_SETUP,
				       "cannot listen on port %u of the loopback for "
				       "network.expose",
				       g->net->expose[i]);
		g->n_exposed++;
	}
	return 0;
}

int gate_start(const struct gate_options *o, struct gate **ret, struct cordon_err *err)
{
	struct gate *g = calloc(1, sizeof(*g));

	if (!g)
		return err_nomem(err);
	g->o = *o;
	g->net = o->net;
	g->generation = 1;
	g->table.fd = -1;
	g->listener.fd = g->dns.fd = g->dns_stream.fd = g->refusals.fd = -1;
	g->epoll = epoll_create1(EPOLL_CLOEXEC);
	g->names = names_new();
	if (g->epoll < 0 || !g->names) {
		err_sys(err, CORDON_E_SETUP, "cannot make the gate");
		gate_stop(g);
		return -1;
	}
	if (open_exposed(g, err) < 0) {
		gate_stop(g);
		return -1;
	}
	*ret = g;
	return 0;
}

/* A connection takes two descriptors, and two pipes while nobody reads it. */
static void raise_open_files(struct gate *g)
{
	struct rlimit now;
	rlim_t want = 6 * (rlim_t)g->net->max_connections + 2 * SPARED_FDS;

	if (getrlimit(RLIMIT_NOFILE, &now) < 0)
		return;
	if (now.rlim_cur < want) {
		rlim_t before = now.rlim_cur;

		now.rlim_cur = MIN(want, now.rlim_max);
		/* With less we take connections as descriptors get free. */
		if (setrlimit(RLIMIT_NOFILE, &now) < 0)
			now.rlim_cur = before;
	}
	g->max_fds = (size_t)(now.rlim_cur > 2 * SPARED_FDS ? now.rlim_cur - SPARED_FDS :
							      now.rlim_cur / 4);
}

static int join(struct gate *g, struct watch *w, int *fd,
		void (*ready)(struct gate *g, struct watch *w, uint32_t events),
		struct cordon_err *err)
{
	if (*fd < 0)
		return 0;
	w->fd = fd_take(fd);
	w->ready = ready;
	if (watch_set(g, w, EPOLLIN) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot watch the cordon's network");
	return 1;
}

/* A client of DNS over TCP that does not read its answers holds little: what is
 * accepted has the buffers of the listener. */
static void limit_dns_stream(int fd)
{
	int bytes = MAX_DNS_BUFFER;

	if (fd < 0)
		return;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

static int join_all(struct gate *g, struct gate_fds *fds, struct cordon_err *err)
{
	limit_dns_stream(fds->dns_stream);
	if (join(g, &g->listener, &fds->listener, conn_accept, err) < 0 ||
	    join(g, &g->dns, &fds->dns, dns_serve, err) < 0 ||
	    join(g, &g->dns_stream, &fds->dns_stream, dns_accept, err) < 0 ||
	    join(g, &g->refusals, &fds->refusals, refusals_ready, err) < 0)
		return -1;
	table_init(&g->table, fd_take(&fds->table));
	for (size_t i = 0; i < MAX_NET_PORTS; i++) {
		int rc = join(g, &g->datagrams[g->n_datagrams], &fds->datagrams[i], flow_receive,
			      err);

		if (rc < 0)
			return -1;
		g->n_datagrams += (size_t)rc;
	}
	for (size_t i = 0; i < g->n_exposed; i++)
		if (watch_set(g, &g->exposed[i], EPOLLIN) < 0)
			return err_sys(err, CORDON_E_SETUP, "cannot watch an exposed port");
	return 0;
}

int gate_join(struct gate *g, struct gate_fds *fds, struct cordon_err *err)
{
	int rc;

	raise_open_files(g);
	rc = join_all(g, fds, err);
	fd_close(&fds->listener);
	fd_close(&fds->dns);
	fd_close(&fds->dns_stream);
	fd_close(&fds->refusals);
	fd_close(&fds->table);
	for (size_t i = 0; i < MAX_NET_PORTS; i++)
		fd_close(&fds->datagrams[i]);
	g->joined = rc == 0;
	return rc;
}

/* No event that was read is about them any more. */
static void free_ended(struct gate *g)
{
	conn_free_ended(g);
	flow_free_ended(g);
	dns_free_ended(g);
}

int gate_event_fd(const struct gate *g)
{
	return g->epoll;
}

/* Handles what has happened; how much it was. */
static int handle_events(struct gate *g)
{
	struct epoll_event events[EVENTS_AT_ONCE];
	int n = epoll_wait(g->epoll, events, EVENTS_AT_ONCE, 0);

	for (int i = 0; i < n; i++) {
		struct watch *w = events[i].data.ptr;

		if (w->fd >= 0 && w->is_in)
			w->ready(g, w, events[i].events);
	}
	free_ended(g);
	return n;
}

/* A peer that is near answers sooner than we would be asleep and awake again, so
 * that waiting for it awake costs less of everything.  One that is not, or that
 * wants the very processor we wait on, does not: then we do so ever more rarely.
 * False: nothing came. */
static bool linger(struct gate *g)
{
	int64_t until_us = gate_now_us() + LINGER_US;

	if (g->linger_skips) {
		g->linger_skips--;
		return false;
	}
	while (gate_now_us() < until_us)
		if (handle_events(g) > 0) {
			g->linger_misses /= 2;
			return true;
		}
	g->linger_misses = MIN(2 * g->linger_misses + 2, MAX_LINGER_SKIPS);
	g->linger_skips = g->linger_misses;
	return false;
}

static int64_t cpu_now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

void gate_work(struct gate *g)
{
	int64_t now_us = gate_now_us(), turn_us = now_us + TURN_US, begin_us = cpu_now_us();
	bool more;

	run_timers(g, now_us);
	more = handle_events(g) > 0;
	while (more && now_us < turn_us) {
		more = handle_events(g) > 0 || linger(g);
		now_us = gate_now_us();
	}
	g->cpu_us += cpu_now_us() - begin_us;
}

int64_t gate_cpu_us(const struct gate *g)
{
	return g->cpu_us;
}

void gate_add_socket(struct gate *g, int fd)
{
	conn_plug(g, fd);
	free_ended(g);
}

int gate_set_policy(struct gate *g, const struct plan_net *net, struct cordon_err *err)
{
	/* The sets only spare the gate what it would refuse: while they change,
	 * and if they were wrong, nothing is allowed that decide() refuses.  So
	 * they go first, and their failure changes nothing. */
	if (g->table.fd >= 0 && table_write(&g->table, net, err) < 0)
		return -1;
	g->net = net;
	g->generation++;
	conn_judge_all(g);
	flow_judge_all(g);
	/* Nobody waits for what it drops: those were cut. */
	resolver_judge_all(g);
	free_ended(g);
	return 0;
}

void gate_leave_phase(struct gate *g)
{
	conn_cut_closed(g, "its client closed it before the phase ended");
	resolver_judge_all(g);
	free_ended(g);
}

void gate_get_status(const struct gate *g, struct gate_status *ret)
{
	*ret = (struct gate_status){ .generation = g->generation,
				     .connections = g->n_conns,
				     .allowed = g->n_allowed,
				     .denied = g->n_denied,
				     .memory = buffers_given(g),
				     .memory_most = g->given_most,
				     .memory_limit = g->o.memory,
				     .cpu_us = g->cpu_us,
				     .questions = g->n_questions };
}

void gate_stop(struct gate *g)
{
	if (!g)
		return;
	count_refusals(g);
	conn_cut_all(g, "the cordon ended");
	flow_cut_all(g);
	dns_cut_all(g);
	resolver_stop(g);
	watch_close(g, &g->listener);
	for (size_t i = 0; i < g->n_exposed; i++)
		watch_close(g, &g->exposed[i]);
	for (size_t i = 0; i < g->n_datagrams; i++)
		watch_close(g, &g->datagrams[i]);
	watch_close(g, &g->dns);
	watch_close(g, &g->dns_stream);
	watch_close(g, &g->refusals);
	fd_close(&g->table.fd);
	for (size_t i = 0; i < g->n_spare; i++) {
		fd_close(&g->spare[i].fd[0]);
		fd_close(&g->spare[i].fd[1]);
	}
	names_free(g->names);
	free(g->proxy);
	fd_close(&g->epoll);
	free(g);
}
