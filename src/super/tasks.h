/* What each task of a tree has by itself, changed while it lives. */
#ifndef SUPER_TASKS_H
#define SUPER_TASKS_H

#include <sched.h>

#include "backend/native/native.h"

struct task_bounds {
	const cpu_set_t *cpus;	/* NULL: as they are */
	int64_t processes;	/* RLIMIT_NPROC, where it is more; never raised */
};

/* Bind init and every task below it; `proc_fd` is the tree's own /proc.  init itself keeps
 * what it may have of processes.  -1: some may have the old ones. */
int tasks_bind(const struct native_child *init, int proc_fd, const struct task_bounds *b,
	       struct cordon_err *err) MUST_USE;

#endif
