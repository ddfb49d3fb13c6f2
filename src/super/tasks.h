/* What each task of a tree has by itself, changed while it lives. */
#ifndef SUPER_TASKS_H
#define SUPER_TASKS_H

#include <sched.h>

#include "backend/native/native.h"

struct task_bounds {
	const cpu_set_t *cpus;	/* NULL: as they are */
	int64_t processes;	/* RLIMIT_NPROC, where it is more; never raised */
	bool is_more;		/* than they have: who keeps that does no harm */
};

/* What commands that init starts from now on have of processes, within what it may have
 * itself: also those that it was told of before. */
int tasks_bind_init(const struct native_child *init, int64_t processes,
		    struct cordon_err *err) MUST_USE;
/* Bind init and every task below it; `proc_fd` is the tree's own /proc.  init itself keeps
 * what it may have of processes at the most.  -1: some may have the old ones, which are
 * more. */
int tasks_bind(const struct native_child *init, int proc_fd, const struct task_bounds *b,
	       struct cordon_err *err) MUST_USE;

#endif
