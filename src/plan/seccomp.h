/* The seccomp filter: emitted by us, so that it is small and its cost known.
 *
 * Checks the architecture, refuses foreign ABIs and x32, and then decides by
 * system call number in a balanced tree.
 */
#ifndef PLAN_SECCOMP_H
#define PLAN_SECCOMP_H

#include <linux/filter.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"

struct seccomp_options {
	bool network;		/* inet sockets may be made (they meet the gate, or the host) */
	bool ptrace;		/* debuggers inside */
	bool namespaces;	/* new user namespaces inside */
	bool memfd;		/* memfd_create works (a memory cgroup counts it) */
	bool buffers;		/* SO_SNDBUF and SO_RCVBUF can be raised (as above) */
	bool guard;		/* calls that make names are handed to the guard */
};

int seccomp_compile(const struct seccomp_options *o, struct arena *a, struct sock_filter **ret,
		    size_t *ret_n, struct cordon_err *err) MUST_USE;

/* The simulator: what the filter answers to a call (SECCOMP_RET_…). */
struct seccomp_data;
unsigned seccomp_simulate(const struct sock_filter *filter, size_t n,
			  const struct seccomp_data *data);

#endif
