/* What a run changes of the process that called it, and gives back: that its
 * memory can be looked at, root's groups, what SIGCHLD, SIGPIPE and SIGXFSZ do, the
 * mask of signals. */
#ifndef SUPER_CALLER_H
#define SUPER_CALLER_H

#include <signal.h>
#include <sys/types.h>

#include "base/err.h"

struct caller {
	bool dumpable;
	struct sigaction on_child, on_pipe, on_file_size;
	sigset_t mask;
	gid_t *groups;		/* NULL: not left */
	int n_groups;
};

/* Take note of everything. */
void caller_init(struct caller *c);
/* Leave the groups, if that is possible at all. */
int caller_leave_groups(struct caller *c, struct cordon_err *err) MUST_USE;
/* Give everything back. */
void caller_release(struct caller *c);

#endif
