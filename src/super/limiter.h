/* Limits of the whole tree: memory, CPU time and number of tasks.
 *
 * One meaning on three mechanisms: cgroup v2, cgroup v1, or our own accounting
 * over the tree's /proc.  The caller owns the loop: it calls limiter_check()
 * when the time that the last check named has passed, and kills the tree when
 * a limit is over.  File size, open files, wall time and output are not here.
 */
#ifndef SUPER_LIMITER_H
#define SUPER_LIMITER_H

#include "base/err.h"
#include "host/caps.h"
#include "plan/plan.h"

enum limit_kind {
	LIMIT_OK,		/* nothing is over */
	LIMIT_WALL,
	LIMIT_CPU,
	LIMIT_MEMORY,
	LIMIT_PROCESSES,
	LIMIT_FILE_SIZE,
	LIMIT_OUTPUT,
	LIMIT_DISK,
	N_LIMIT_KINDS
};
/* "wall", "cpu", …: as in the result. */
const char *limit_kind_name(enum limit_kind kind);

struct limiter;

/* What was used; -1 where it is not known. */
struct limiter_usage {
	int64_t cpu_ms, max_rss_kb, processes_peak;
	bool processes_refused;		/* a fork was refused for the limit (known, not guessed) */
	bool oom_killed;		/* by the kernel's counters */
};

/* Before the tree exists: make groups.  On failure nothing is left. */
int limiter_new(const struct plan_limits *limits, enum host_cgroup cgroup, struct limiter **ret,
		struct cordon_err *err) MUST_USE;
/* Descriptor of the cgroup directory for clone3(CLONE_INTO_CGROUP), or -1. */
int limiter_cgroup_fd(const struct limiter *l);
/* Put the tree's first process in, before it may do anything. */
int limiter_join(struct limiter *l, pid_t pid, struct cordon_err *err) MUST_USE;
/* The tree runs now.  `proc_fd` is its own /proc (a descriptor of the root of
 * its procfs) or -1, `init` its first process as seen from here; both are
 * borrowed. */
int limiter_start(struct limiter *l, int proc_fd, pid_t init, struct cordon_err *err) MUST_USE;
/* Look.  *ret_wait_ms: when to look again at the latest (-1: never). */
enum limit_kind limiter_check(struct limiter *l, int *ret_wait_ms);
/* A descriptor that becomes readable when a check is due at once, or -1. */
int limiter_event_fd(const struct limiter *l);
/* After the tree is gone: what it used. */
void limiter_usage(struct limiter *l, struct limiter_usage *ret);
/* Remove the groups (with retries: zombies); NULL is fine. */
void limiter_free(struct limiter *l);

#endif
