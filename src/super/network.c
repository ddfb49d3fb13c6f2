/* The network of a run; see network.h. */
#include "super/network.h"

#include "base/fd.h"
#include "gate/gate.h"
#include "plan/net_inside.h"

#define GATE_PART	4

static void report(void *arg, const struct gate_report *r)
{
	const struct network *n = arg;

	run_report_network(n->reporter, r);
}

static void report_lost(void *arg, uint64_t lost)
{
	const struct network *n = arg;

	run_report_lost(n->reporter, lost);
}

static void want_socket(void *arg)
{
	const struct network *n = arg;

	/* Without init there is nobody inside to connect to. */
	(void)!native_send(n->child, NATIVE_SOCKET_WANTED, 0);
}

/* The part of limits.memory that the kernel may hold for connections of the tree: no
 * cgroup of it is charged for that. */
static size_t memory_of(const struct plan *plan)
{
	return (size_t)MIN(plan->limits.memory, MAX_GATE_MEMORY * GATE_PART) / GATE_PART;
}

int network_start(struct network *n, const struct plan *plan, const struct native_child *child,
		  struct run_reporter *reporter, struct cordon_err *err)
{
	struct gate_options o = { .net = &plan->net, .report = report,
				  .report_lost = report_lost,
				  .want_socket = want_socket, .arg = n,
				  .memory = memory_of(plan) };

	n->child = child;
	n->reporter = reporter;
	return net_has_gate(&plan->net) ? gate_start(&o, &n->gate, err) : 0;
}

int network_join(struct network *n, struct native_fds *fds, struct cordon_err *err)
{
	struct gate_fds g = {
		.listener = fd_take(&fds->fd[NATIVE_GATE]),
		.dns = fd_take(&fds->fd[NATIVE_DNS]),
		.dns_stream = fd_take(&fds->fd[NATIVE_DNS_STREAM]),
		.refusals = fd_take(&fds->fd[NATIVE_REFUSALS]),
		.table = fd_take(&fds->fd[NATIVE_TABLE]),
	};

	for (int i = 0; i < MAX_NET_PORTS; i++)
		g.datagrams[i] = fd_take(&fds->fd[NATIVE_DATAGRAMS + i]);
	return n->gate ? gate_join(n->gate, &g, err) : 0;
}

void network_add_socket(struct network *n, struct native_fds *fds)
{
	if (n->gate)
		gate_add_socket(n->gate, fd_take(&fds->fd[NATIVE_MADE]));
}

int network_event_fd(const struct network *n)
{
	return n->gate ? gate_event_fd(n->gate) : -1;
}

int64_t network_next_us(const struct network *n)
{
	return n->gate ? gate_next_us(n->gate) : INT64_MAX;
}

void network_work(struct network *n)
{
	if (n->gate)
		gate_work(n->gate);
}

int64_t network_cpu_us(const struct network *n)
{
	return n->gate ? gate_cpu_us(n->gate) : n->reporter ? n->reporter->res->gate.cpu_us : 0;
}

void network_stop(struct network *n)
{
	network_work(n);
	if (n->gate)
		gate_get_status(n->gate, &n->reporter->res->gate);
	gate_stop(n->gate);
	n->gate = NULL;
}
