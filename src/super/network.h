/* The network of a run: the gate, where its plan has one, and who hears of it. */
#ifndef SUPER_NETWORK_H
#define SUPER_NETWORK_H

#include "backend/native/native.h"
#include "super/report.h"

struct gate;

struct network {
	struct gate *gate;		/* NULL: no gate is needed */
	struct run_reporter *reporter;
	const struct native_child *child;
};

/* Before anything is started; `child` is looked at later. */
int network_start(struct network *n, const struct plan *plan, const struct native_child *child,
		  struct run_reporter *reporter, struct cordon_err *err) MUST_USE;
/* What came with NATIVE_READY; the descriptors are taken. */
int network_join(struct network *n, struct native_fds *fds, struct cordon_err *err) MUST_USE;
/* What came with NATIVE_SOCKET. */
void network_add_socket(struct network *n, struct native_fds *fds);
/* To be polled, or -1; and when to work without an event. */
int network_event_fd(const struct network *n);
int64_t network_next_us(const struct network *n);
void network_work(struct network *n);
/* CPU time that was spent for it. */
int64_t network_cpu_us(const struct network *n);
/* What was refused last is still told. */
void network_stop(struct network *n);

#endif
