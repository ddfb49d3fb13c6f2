/* What this machine can enforce, found by trying: never by version. */
#ifndef HOST_PROBE_H
#define HOST_PROBE_H

#include "base/limits.h"
#include "host/caps.h"

/* One row for people and programs. */
struct host_finding {
	bool available;
	int sys;			/* errno of the act that failed, or 0 */
	char detail[160];		/* what was found, or which act was refused and why */
	char hint[MAX_HINT_BYTES];	/* what to do; may have lines; empty: nothing */
};

struct host_report {
	struct host_caps caps;
	struct host_finding findings[N_HOST_FEATURES];
	const char *container;		/* what we are in, such as "docker", or NULL */
};

/* Each feature in a throw-away child of its own; nothing is left behind.  Takes
 * some milliseconds.  Fails only when no child can be made: that a feature is
 * missing is an answer.  The caller must be dumpable (PR_SET_DUMPABLE), as it
 * is from its start, or no user namespace is found. */
int host_probe(struct host_caps *ret, struct cordon_err *err) MUST_USE;
/* The same with reasons and what to do. */
int host_probe_report(struct host_report *ret, struct cordon_err *err) MUST_USE;
/* What can be learnt in microseconds, without a child: the uid and Landlock's
 * ABI.  Namespaces and seccomp are taken to be there, as a run that needs them
 * finds out by itself; everything else is taken not to be. */
void host_probe_quick(struct host_caps *ret);

#endif
