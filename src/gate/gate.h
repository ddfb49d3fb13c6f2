/* The gate: the only way from a cordon to the network.
 *
 * The network namespace of a cordon has a loopback and nothing else.  All its
 * TCP connections end at one listener, all its DNS questions at one socket;
 * both are ours.  A name that is allowed gets an address that only the gate
 * knows; a connection to it is judged by the generation of the policy that
 * holds then, the name is resolved outside, and the very address that was
 * checked is dialled.
 *
 * Runs in the supervisor, without blocking: the loop polls gate_event_fd() and
 * calls gate_work().  SIGPIPE is ignored by then.
 *
 * [G1] No question of a program is sent outside; a name is resolved only after
 *      decide() said yes to it.
 * [G2] No byte is written to a server before decide() said yes to the address
 *      and, where the policy is strict, the peek to that byte.
 * [G3] After gate_set_policy() returned no byte flows on a connection that the
 *      new generation refuses.
 */
#ifndef GATE_GATE_H
#define GATE_GATE_H

#include "base/err.h"
#include "plan/net.h"

/* Sockets that were made inside.  -1: there is none. */
struct gate_fds {
	int listener;			/* transparent: all TCP connections */
	int dns, dns_stream;		/* [::]:53, UDP and TCP */
	int datagrams[MAX_NET_PORTS];	/* one for each port of plan_net.datagrams */
	int refusals;			/* NFLOG: what nf_tables refused */
	int table;			/* NETLINK_NETFILTER: to change the sets */
};

/* One thing that the gate decided, or the end of what it allowed.  A question for
 * an allowed name is only counted: a connection to it is reported with the name. */
enum gate_report_kind { GATE_ALLOWED, GATE_DENIED, GATE_CLOSED, N_GATE_REPORT_KINDS };

struct gate_report {
	enum gate_report_kind kind;
	const char *protocol;	/* "tcp", "udp", "dns" */
	const char *host;	/* canonical */
	unsigned port;		/* 0: a DNS question */
	const char *address;	/* that was dialled, or "" */
	const char *reason;	/* in the words of the policy's dialect; "" when allowed;
				 * GATE_CLOSED: why, when it was not one of the two sides */
	const char *hint;	/* what would allow it, or "" */
	uint64_t generation;
	uint64_t id;		/* of the connection; 0: none */
	uint64_t bytes_out, bytes_in, duration_ms;	/* GATE_CLOSED */
};

struct gate_options {
	const struct plan_net *net;	/* generation 1; lives until the next one holds */
	/* Called from gate_work() and gate_set_policy(); must not block. */
	void (*report)(void *arg, const struct gate_report *r);
	/* So many connections were refused of which no more is known. */
	void (*report_lost)(void *arg, uint64_t n);
	/* One more TCP socket made inside is needed (network.expose); it comes
	 * by gate_add_socket(). */
	void (*want_socket)(void *arg);
	void *arg;
	size_t memory;			/* bytes that its connections may hold */
};

struct gate;

/* Before the command starts: takes the caller's ports of network.expose, so
 * that what cannot be had is refused in time. */
int gate_start(const struct gate_options *o, struct gate **ret, struct cordon_err *err) MUST_USE;
/* The sockets are taken, also on failure.  Connections that were made before
 * wait in them. */
int gate_join(struct gate *g, struct gate_fds *fds, struct cordon_err *err) MUST_USE;
/* Readable when there is work. */
int gate_event_fd(const struct gate *g);
/* When gate_work() is to be called even without an event, in microseconds of
 * CLOCK_MONOTONIC; INT64_MAX: not at all. */
int64_t gate_next_us(const struct gate *g);
void gate_work(struct gate *g);
/* What was asked for by want_socket, or -1 if it cannot be had; the gate takes it. */
void gate_add_socket(struct gate *g, int fd);
/* The next generation, atomically; `net` lives until the next one holds, or the
 * gate is gone.  Connections that it refuses are cut before this returns.  On
 * failure nothing has changed. */
int gate_set_policy(struct gate *g, const struct plan_net *net, struct cordon_err *err) MUST_USE;
/* After the policy of another phase was set: connections that ended processes left, whose
 * servers may keep them open for ever, and names that nothing waits for are given up, so that
 * they take no room from the new phase. */
void gate_leave_phase(struct gate *g);

struct gate_status {
	uint64_t generation;
	unsigned connections;
	uint64_t allowed, denied;
	size_t memory, memory_most, memory_limit;	/* what connections may hold: now, at the
							 * most, and the limit of that */
	int64_t cpu_us;			/* that the gate has used */
	uint64_t questions;	/* for allowed names, that were answered */
};
/* CPU time that the gate has used for the tree, its helper processes aside. */
int64_t gate_cpu_us(const struct gate *g);
void gate_get_status(const struct gate *g, struct gate_status *ret);
/* Cuts everything; NULL is fine. */
void gate_stop(struct gate *g);

#endif
