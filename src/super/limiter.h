/* Limits of the whole tree: memory, CPU time, number of tasks and, by cgroup v2, of CPUs.
 *
 * One meaning on two mechanisms: cgroup v2, or our own accounting over the tree's
 * /proc.  The caller owns the loop: it calls limiter_check() when the time that the
 * last check named has passed or the event descriptor is readable, and kills the tree when
 * a limit is over.  File size, open files, wall time and output are not here.
 *
 *   new ─▶ [clone into limiter_cgroup_fd()] ─▶ join ─▶ add_fs… ─▶ start ─▶
 *   check… ─▶ (the tree is gone) ─▶ check ─▶ usage ─▶ free
 */
#ifndef SUPER_LIMITER_H
#define SUPER_LIMITER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

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
/* "wall", "cpu", …: as in the result; "ok" for none. */
const char *limit_kind_name(enum limit_kind kind);
/* What it is set to; LIMIT_DISK is about roots.  0 for none. */
int64_t limit_kind_value(enum limit_kind kind, const struct plan_limits *limits);
/* Does this end tell of a file that may not grow larger?  Not where there is no such limit,
 * or where the caller's own (ulimit -f) is smaller and has come first. */
bool limit_is_file_size(int status, int64_t file_size);

struct limiter;

/* What was used; -1 where it is not known. */
struct limiter_usage {
	int64_t cpu_ms;
	int64_t max_rss_kb;		/* of the tree; with a cgroup, its file cache too */
	int64_t processes_peak;		/* tasks: threads count */
	bool processes_refused;		/* a fork was refused for the limit (known, not guessed) */
	bool oom_killed;		/* by the kernel's counters */
};

/* What limiter_new() can use here: only asks, in some ten microseconds. */
enum host_cgroup limiter_detect(void);

/* Make groups.  On failure nothing is left, and the message names the file; the
 * caller may then try HOST_CGROUP_NONE. */
int limiter_new(const struct plan_limits *limits, enum host_cgroup cgroup, struct limiter **ret,
		struct cordon_err *err) MUST_USE;
/* Descriptor of the cgroup directory for clone3(CLONE_INTO_CGROUP), or -1. */
int limiter_cgroup_fd(const struct limiter *l);
/* Does it hold limits.cpus?  If not, the tree is to be bound to so many CPUs.  NULL: no. */
bool limiter_holds_cpus(const struct limiter *l);
/* Put the tree's first process in, or begin to measure it, before it may do anything.
 * Harmless where it was cloned into the group. */
int limiter_join(struct limiter *l, pid_t pid, struct cordon_err *err) MUST_USE;
/* A private tmpfs of the tree, whose pages count as memory.  `fd` (O_PATH will
 * do) is on it and borrowed until limiter_free(). */
int limiter_add_fs(struct limiter *l, int fd, struct cordon_err *err) MUST_USE;
/* The tree runs now: call this when `init` exists and before it runs anything
 * that is to be counted.  `proc_fd` is the tree's own /proc (a descriptor of
 * the root of its procfs), or -1 where a cgroup counts; it is not kept. */
int limiter_start(struct limiter *l, int proc_fd, struct cordon_err *err) MUST_USE;
/* CPU time that was spent for the tree by others, so far: it counts as the tree's. */
void limiter_count_beside(struct limiter *l, int64_t us);
/* Look.  Each limit is said once: on LIMIT_CPU the caller
 * sends SIGXCPU, then SIGKILL after a grace; on LIMIT_MEMORY SIGKILL.  So also
 * on LIMIT_PROCESSES, which is said only where the kernel does not refuse what
 * is over that limit: to root without a cgroup.  A check
 * once more when the tree is gone tells whether the kernel ended it for memory:
 * with version 2 it kills all of the tree before anyone can look.
 * *ret_wait_us: when to look again at the latest (-1: never).  Does not block
 * and does not allocate. */
enum limit_kind limiter_check(struct limiter *l, int64_t *ret_wait_us);
/* Other limits of memory, CPU time, processes and, where it holds that, CPUs, while the
 * tree lives; the rest of `limits` does not count.  With a cgroup only.  Refused where more is
 * in use; then some of the old ones hold, and some of these. */
int limiter_change(struct limiter *l, const struct plan_limits *limits,
		   struct cordon_err *err) MUST_USE;
/* A descriptor that is readable (POLLIN) while a check is due at once, or -1. */
int limiter_event_fd(const struct limiter *l);
/* After the tree is gone: what it used.  Own accounting only saw samples: the
 * larger of this and init's rusage is nearer to the truth. */
void limiter_usage(struct limiter *l, struct limiter_usage *ret);
/* Remove the groups (with retries: zombies); NULL is fine. */
void limiter_free(struct limiter *l);

#endif
