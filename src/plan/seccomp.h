/* The seccomp filter: emitted by us, so that it is small and its cost known.
 *
 * Checks the architecture, refuses foreign ABIs and x32, and then decides by
 * system call number in a balanced tree.  syscalls.def has the decisions.
 */
#ifndef PLAN_SECCOMP_H
#define PLAN_SECCOMP_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

/* What the filter leaves open (and `guard`, what it hands over). */
struct seccomp_options {
	uint32_t arch;		/* AUDIT_ARCH_…; 0: the one this was built for */
	bool inet;		/* inet sockets can be made: an own network namespace holds them,
				 * or the host's network is meant */
	bool no_unix;		/* no unix sockets but pairs: neither a view of files nor a network
				 * of its own keeps those of the host out of reach */
	bool ptrace;		/* debuggers inside */
	bool namespaces;	/* new namespaces inside, and mounts in them */
	bool memfd;		/* memfd_create and large System V segments (a memory cgroup counts
				 * them) */
	bool buffers;		/* socket and pipe buffers can be raised (as above) */
	bool setid;		/* files can become set-user-id and set-group-id */
	bool guard;		/* calls that make names are handed to the guard; programs cannot
				 * restrict themselves by Landlock, as it could not follow */
	bool enters;		/* no namespaces: the command enters Landlock rules that were made
				 * for it, other processes are named by the host's pids, and IPC
				 * objects are the host's */
	bool execs;		/* executions are handed to the guard */
	bool few_cpus;		/* programs stay on the CPUs that they were given */
	bool disk;		/* what files take is counted afterwards: none takes more at once
				 * than is written */
	bool supervisor;	/* not for the command at all: for us, once it runs */
};

/* The filter for these options, in the arena; the same options give the same
 * bytes.  Fails for an architecture without a table, and without memory. */
int seccomp_compile(const struct seccomp_options *o, struct arena *a, struct sock_filter **ret,
		    size_t *ret_n, struct cordon_err *err) MUST_USE;

#endif
