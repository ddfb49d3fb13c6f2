/* One act in a throw-away child, in namespaces of its own.
 *
 * Whatever the act does ends with the child: it is the only process, mounts are
 * in its own mount namespace, and it is killed when it takes too long.  Every
 * signal but SIGKILL is blocked in it, and the caller gets no SIGCHLD.
 */
#ifndef HOST_CHILD_H
#define HOST_CHILD_H

#include <stdbool.h>

#include "base/err.h"

/* Runs in the child: no allocation, no locks.  -1 with `say` filled, or 0; the
 * message of `say` is then what was found, or empty. */
typedef int child_fn(struct cordon_err *say);

struct child_answer {
	bool worked;
	bool refused;		/* it did not work because the namespaces were not given */
	struct cordon_err say;
};

/* `namespaces` are CLONE_NEW… flags; with CLONE_NEWUSER the caller's own ids are
 * mapped to themselves before `act` is called.  Fails only when there can be no
 * child at all: that the act failed is an answer. */
int child_run(unsigned long namespaces, child_fn *act, struct child_answer *ret,
	      struct cordon_err *err) MUST_USE;

#endif
