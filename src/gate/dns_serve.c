/* Questions from inside, answered: an allowed name gets an address that only the
 * gate knows, every other name does not exist.  Nothing is asked outside ([G1]). */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "gate/dns_answer.h"
#include "gate/dns_stream.h"
#include "gate/gate_priv.h"
#include "gate/inside.h"

#define TTL_S			5
#define QUESTIONS_AT_ONCE	32
#define MAX_CLIENTS		64
#define QUESTION_US		200			/* for each one on average */
#define CREDIT_US		INT64_C(2000000)	/* what a pause before is worth */
#define SAME_US			INT64_C(100000)	/* A and AAAA of one look-up */

/* ---- the verdict --------------------------------------------------------- */

/* A resolver asks for both families: one refusal, not two. */
static bool was_just_told(struct gate *g, const struct host *h, uint16_t type)
{
	int64_t now = gate_now_us();
	bool same = memcmp(&g->last_refused.host, h, sizeof(*h)) == 0 &&
		    type != g->last_refused.type && now - g->last_refused.at_us < SAME_US;

	g->last_refused.host = *h;
	g->last_refused.type = same ? 0 : type;
	g->last_refused.at_us = now;
	return same;
}

static void tell_refused(struct gate *g, const struct host *h, const struct match_verdict *why)
{
	gate_tell(g, &(struct gate_report){ .kind = GATE_DENIED,
					    .protocol = "dns",
					    .host = h->name,
					    .reason = why->reason,
					    .hint = why->hint });
}

/* ---- answers ------------------------------------------------------------- */

struct reply {
	unsigned char *out;
	size_t max;
};

static size_t answer_reverse(struct gate *g, const struct dns_question *q, struct reply r)
{
	struct host_addr a = { .is_v6 = false };
	struct dns_addr addr;
	struct name *n;

	if (!dns_reverse_parse((struct str){ q->name, q->name_n }, &addr) || addr.is_v6)
		return dns_answer_nxdomain(q, STR(""), r.out, r.max);
	memcpy(a.b, addr.b, 4);
	n = names_find_addr(g->names, &a);
	if (!n)
		return dns_answer_nxdomain(q, STR(""), r.out, r.max);
	return dns_answer_ptr(q, (struct str){ n->host.name, n->host.n }, TTL_S, r.out, r.max);
}

static size_t answer_allowed(struct gate *g, const struct dns_question *q, const struct host *h,
			     struct reply r)
{
	struct host_addr a;
	struct name *n;

	g->n_questions++;
	if (q->type != DNS_TYPE_A && q->type != DNS_TYPE_ANY)
		return dns_answer_nodata(q, r.out, r.max);
	n = names_add(g->names, h);
	if (!n)
		return dns_answer_error(q, DNS_SERVFAIL, r.out, r.max);
	a = name_addr(n);
	return dns_answer_addr(q, a.b, TTL_S, r.out, r.max);
}

static bool is_local(struct str name)
{
	return str_is(name, "localhost") || str_ends(name, ".localhost");
}

/* What the question is about.  A record of a service (_http._tcp.NAME) is one of the
 * host below: there is none, and apt, which asks for it before it fetches, wants
 * only that host. */
static struct str subject_of(const struct dns_question *q)
{
	struct str name = { q->name, q->name_n };
	const char *dot;

	if (q->type == DNS_TYPE_A || q->type == DNS_TYPE_AAAA || q->type == DNS_TYPE_ANY)
		return name;
	while (name.n && name.s[0] == '_' && (dot = memchr(name.s, '.', name.n)))
		name = (struct str){ dot + 1, name.n - (size_t)(dot + 1 - name.s) };
	return name;
}

static size_t answer_name(struct gate *g, const struct dns_question *q, struct reply r)
{
	static const unsigned char loopback[4] = { 127, 0, 0, 1 };
	struct str name = subject_of(q);
	struct decide_verdict v;
	char why[HOST_WHY];
	struct host h;

	if (q->type == DNS_TYPE_PTR)
		return answer_reverse(g, q, r);
	if (is_local(name))
		return q->type == DNS_TYPE_A ? dns_answer_addr(q, loopback, TTL_S, r.out, r.max)
					     : dns_answer_nodata(q, r.out, r.max);
	if (host_parse(name, &h, why) < 0 || h.is_addr)
		return dns_answer_nxdomain(q, STR(""), r.out, r.max);
	if (decide_any(g->net, &h, &v))
		return answer_allowed(g, q, &h, r);
	if (!was_just_told(g, &h, q->type))
		tell_refused(g, &h, &v.why);
	return dns_answer_nxdomain(q, str_from(v.why.reason), r.out, r.max);
}

/* 0: no answer. */
static size_t answer(struct gate *g, const unsigned char *msg, size_t n, struct reply r,
		     bool is_stream)
{
	struct dns_question q;
	enum dns_fault fault = dns_question_parse(msg, n, &q);

	g->question_credit_us -= QUESTION_US;
	if (fault == DNS_IGNORE)
		return 0;
	if (!is_stream)
		r.max = MIN(r.max, dns_question_udp_max(&q));
	if (fault != DNS_OK)
		return dns_answer_error(&q, fault, r.out, r.max);
	if (q.form == DNS_NAME_HOST)
		return answer_name(g, &q, r);
	return q.form == DNS_NAME_ROOT ? dns_answer_nodata(&q, r.out, r.max)
				       : dns_answer_nxdomain(&q, STR(""), r.out, r.max);
}

/* ---- how many ------------------------------------------------------------ */

static void set_asking(struct gate *g, bool on);

static void ask_again(struct gate *g, struct timer *t)
{
	(void)t;
	set_asking(g, true);
}

/* Questions beyond QUESTION_US wait in their sockets, or are dropped there by the
 * kernel: a flood of them costs the supervisor no more CPU time than that.  False:
 * not now. */
static bool may_answer(struct gate *g)
{
	int64_t now = gate_now_us();

	g->question_credit_us = MIN(g->question_credit_us + now - g->question_at_us, CREDIT_US);
	g->question_at_us = now;
	if (g->question_credit_us >= QUESTION_US)
		return true;
	set_asking(g, false);
	timer_start(g, &g->ask_again, TIMER_QUESTIONS, ask_again);
	return false;
}

void dns_serve(struct gate *g, struct watch *w, uint32_t events)
{
	unsigned char msg[MAX_DNS_QUERY], out[MAX_DNS_ANSWER];

	(void)events;
	for (int i = 0; i < QUESTIONS_AT_ONCE && may_answer(g); i++) {
		struct inside_origin from;
		ssize_t n = inside_recv(w->fd, msg, sizeof(msg), &from);

		if (n < 0)
			return;
		n = (ssize_t)answer(g, msg, (size_t)n, (struct reply){ out, sizeof(out) }, false);
		if (n > 0)
			inside_send(w->fd, &from, out, (size_t)n);
	}
}

/* ---- over TCP ------------------------------------------------------------ */

struct dns_client {
	struct dns_client *next;
	struct watch watch;
	struct dns_stream stream;
};

static void set_asking(struct gate *g, bool on)
{
	uint32_t events = on ? EPOLLIN : 0;

	/* What is in the set can be changed. */
	(void)!watch_set(g, &g->dns, events);
	for (struct dns_client *c = g->dns_clients; c; c = c->next)
		(void)!watch_set(g, &c->watch, events);
}

static void end_client(struct gate *g, struct dns_client *c)
{
	struct dns_client **at = &g->dns_clients;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	watch_close(g, &c->watch);
	g->n_dns_clients--;
	/* An event that was read before may still be about it. */
	c->next = g->dns_ended;
	g->dns_ended = c;
}

void dns_free_ended(struct gate *g)
{
	while (g->dns_ended) {
		struct dns_client *c = g->dns_ended;

		g->dns_ended = c->next;
		free(c);
	}
}

/* False: the client is of no more use. */
static bool answer_stream(struct gate *g, struct dns_client *c)
{
	unsigned char out[DNS_FRAME + MAX_DNS_ANSWER];
	enum dns_stream_state s;
	const unsigned char *msg;
	size_t n;

	while ((s = dns_stream_take(&c->stream, &msg, &n)) == DNS_STREAM_MESSAGE) {
		n = answer(g, msg, n, (struct reply){ out + DNS_FRAME, MAX_DNS_ANSWER }, true);
		dns_frame_write(out, n);
		if (n && send(c->watch.fd, out, n + DNS_FRAME, MSG_NOSIGNAL | MSG_DONTWAIT) !=
				 (ssize_t)(n + DNS_FRAME))
			return false;
	}
	return s == DNS_STREAM_MORE;
}

static void client_ready(struct gate *g, struct watch *w, uint32_t events)
{
	struct dns_client *c = CONTAINER(w, struct dns_client, watch);
	unsigned char *at;
	size_t room;
	ssize_t n;

	if (!(events & (EPOLLERR | EPOLLHUP)) && !may_answer(g))
		return;
	at = dns_stream_get_room(&c->stream, &room);
	n = recv(w->fd, at, room, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		dns_stream_add(&c->stream, (size_t)n);
	if (n <= 0 || !answer_stream(g, c))
		end_client(g, c);
}

void dns_accept(struct gate *g, struct watch *w, uint32_t events)
{
	struct dns_client *c;
	int fd = -1;

	(void)events;
	if (gate_has_room(g, 1))
		fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			gate_pause(g);
		return;
	}
	/* The one that waits longest is at the end of the list. */
	for (c = g->dns_clients; g->n_dns_clients >= MAX_CLIENTS && c; c = c->next)
		if (!c->next) {
			end_client(g, c);
			break;
		}
	c = calloc(1, sizeof(*c));
	if (!c) {
		close(fd);
		return;
	}
	dns_stream_init(&c->stream);
	c->watch = (struct watch){ .fd = fd, .ready = client_ready };
	c->next = g->dns_clients;
	g->dns_clients = c;
	g->n_dns_clients++;
	if (watch_set(g, &c->watch, EPOLLIN) < 0)
		end_client(g, c);
}

void dns_cut_all(struct gate *g)
{
	while (g->dns_clients)
		end_client(g, g->dns_clients);
	dns_free_ended(g);
}
