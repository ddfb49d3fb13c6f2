/* What the parts of the gate share. */
#ifndef GATE_GATE_PRIV_H
#define GATE_GATE_PRIV_H

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "gate/decide.h"
#include "gate/gate.h"
#include "gate/names.h"
#include "gate/table.h"

struct resolver;

/* A descriptor in the epoll set, part of the thing it belongs to.  Closed:
 * `fd` is -1, and an event that was read before is dropped. */
struct watch {
	int fd;
	bool is_in;		/* the set */
	uint32_t events;
	void (*ready)(struct gate *g, struct watch *w, uint32_t events);
};

/* Things to look at after a while.  All timers of one class wait equally long,
 * so that each class is a queue. */
enum timer_class {
	TIMER_RESOLVE,		/* a name that nobody knows */
	TIMER_DIAL,		/* a server that does not answer */
	TIMER_FIRST,		/* a client that has yet to say what it speaks */
	TIMER_REFUSE,		/* a refused client that does not read why */
	TIMER_ACCEPT,		/* no descriptors were left: try again */
	TIMER_FLOW,		/* datagrams that nobody sent for a while */
	TIMER_QUESTIONS,	/* too many questions: answer again */
	TIMER_COUNT,		/* refusals of the kernel: ask how many there were */
	N_TIMER_CLASSES
};

struct timer {
	struct timer *prev, *next;
	int64_t at_us;		/* 0: not waiting */
	enum timer_class class;
	void (*over)(struct gate *g, struct timer *t);
};

/* A pair of pipe ends for splice(2); held only while data is in it. */
struct pipe_ends {
	int fd[2];
};

#define MAX_SPARE_PIPES	16

struct gate {
	struct gate_options o;
	const struct plan_net *net;
	uint64_t generation;
	int epoll;
	bool joined;
	struct names *names;
	struct resolver *resolver;	/* NULL until a name has to be resolved */
	struct name *proxy;		/* the proxy in front, or NULL; not in the table */
	struct watch listener, dns, dns_stream, refusals;
	struct table table;
	struct watch datagrams[MAX_NET_PORTS];
	size_t n_datagrams;
	struct watch exposed[MAX_NET_PORTS];
	size_t n_exposed;
	/* Memory of connections (buffers.h): given beyond the least of each, bytes in
	 * lanes, the most of both, and what the kernel's tuning takes for one. */
	size_t given, held, given_most, tuned_bytes;
	struct conn *conns;		/* all, also those that end */
	unsigned n_conns;
	struct conn *ended;		/* to be freed when no event can be about them */
	struct conn *unplugged;		/* exposed connections that wait for a socket inside */
	struct flow *flows, *flows_ended;
	unsigned n_flows;
	struct dns_client *dns_clients, *dns_ended;
	unsigned n_dns_clients;
	int64_t question_credit_us, question_at_us;	/* see dns_serve.c */
	struct timer ask_again;
	struct timer *first[N_TIMER_CLASSES], *last[N_TIMER_CLASSES];
	struct timer accept_again;
	struct pipe_ends spare[MAX_SPARE_PIPES];
	size_t n_spare;
	size_t n_pipes;			/* spare or not */
	size_t max_fds;			/* of connections, flows and pipes */
	int64_t cpu_us;			/* spent in gate_work() */
	unsigned linger_skips, linger_misses;	/* how often not to wait awake, and why */
	uint64_t next_id;
	uint64_t n_allowed, n_denied, n_questions;
	/* Packets that the kernel refused: those that it sent us, and others that were
	 * reported by their number. */
	uint64_t refused_read, refused_lost;
	struct timer count_refused;
	struct {			/* the last name that was refused by DNS */
		struct host host;
		int64_t at_us;
		uint16_t type;
	} last_refused;
};

#define CONTAINER(ptr, type, member)	((type *)(void *)((char *)(ptr) - offsetof(type, member)))

/* gate.c */
int64_t gate_now_us(void);
/* Adds it, or changes what it waits for; `events` 0: errors alone, each told once.
 * -1: the set is full (ENOSPC, ENOMEM). */
int watch_set(struct gate *g, struct watch *w, uint32_t events) MUST_USE;
/* Out of the set, but open: what has ended on both sides would wake us for ever. */
void watch_leave(struct gate *g, struct watch *w);
void watch_close(struct gate *g, struct watch *w);
void timer_start(struct gate *g, struct timer *t, enum timer_class class,
		 void (*over)(struct gate *g, struct timer *t));
void timer_stop(struct gate *g, struct timer *t);
int pipe_take(struct gate *g, struct pipe_ends *ret);
/* Empty ones are kept for the next. */
void pipe_give(struct gate *g, struct pipe_ends *p, bool is_empty);
void gate_tell(struct gate *g, struct gate_report *r);
/* May `n` more descriptors be taken?  Some are left to the rest of the supervisor,
 * which guards files with them.  False: errno is EMFILE. */
bool gate_has_room(const struct gate *g, size_t n);
/* No descriptors are left: stop taking connections for a while. */
void gate_pause(struct gate *g);
/* From a socket's address; v4-mapped ones as the IPv4 address they are. */
void addr_from_socket(const struct sockaddr_storage *ss, struct host_addr *ret, uint16_t *ret_port);
socklen_t addr_to_socket(const struct host_addr *a, uint16_t port, struct sockaddr_storage *ret);
bool addr_is_own(const struct host_addr *a);

/* conn.c */
void conn_accept(struct gate *g, struct watch *listener, uint32_t events);
void conn_expose(struct gate *g, struct watch *listener, uint32_t events);
void conn_plug(struct gate *g, int fd);
/* Judges all by the present generation, and cuts those that it refuses. */
void conn_judge_all(struct gate *g);
/* Ends those whose client has closed its sending side. */
void conn_cut_closed(struct gate *g, const char *reason);
void conn_resolved(struct gate *g, struct name *n);
void conn_free_ended(struct gate *g);
void conn_cut_all(struct gate *g, const char *reason);

/* resolve.c: the answers, or none, are put into the name's entry, and then
 * conn_resolved() and flow_resolved() called: later, or before this returns when
 * it cannot be asked. */
void resolve_name(struct gate *g, struct name *n);
/* Names that the present generation refuses, and those that no connection or flow waits
 * for, are not asked for any more. */
void resolver_judge_all(struct gate *g);
void resolver_stop(struct gate *g);

/* dns_serve.c */
void dns_serve(struct gate *g, struct watch *w, uint32_t events);
void dns_accept(struct gate *g, struct watch *w, uint32_t events);
void dns_free_ended(struct gate *g);
void dns_cut_all(struct gate *g);

/* flow.c */
void flow_resolved(struct gate *g, struct name *n);
void flow_receive(struct gate *g, struct watch *w, uint32_t events);
void flow_judge_all(struct gate *g);
void flow_free_ended(struct gate *g);
void flow_cut_all(struct gate *g);

#endif
