/* What the mechanisms of limiter.h share; private to this folder and its tests. */
#ifndef SUPER_LIMITER_PRIV_H
#define SUPER_LIMITER_PRIV_H

#include "super/limiter.h"

/* Where to look for cgroups; tests give a folder of their own. */
struct limiter_paths {
	const char *base;		/* "/sys/fs/cgroup" */
	const char *self;		/* "/proc/self/cgroup" */
};

/* One look at the tree. */
struct limiter_sample {
	int64_t cpu_us;			/* used so far; -1: not known */
	bool memory_over;
	bool tasks_over;		/* more tasks than the limit, which nothing else bounds */
	int64_t wait_us;		/* for memory's sake; -1: none */
};

/* One mechanism.  `state` is what open() returned; the other functions are
 * called with it and only after open() succeeded. */
struct limiter_ops {
	/* Can it be used?  `text` is what paths->self says.  Changes nothing;
	 * NULL: always. */
	bool (*probe)(const struct limiter_paths *paths, const char *text);
	/* Make what is needed before the tree exists; on failure nothing is left. */
	void *(*open)(const struct limiter_paths *paths, const struct plan_limits *limits,
		      struct cordon_err *err);
	/* Other limits of memory, processes and CPUs, while the tree lives; on failure some of
	 * them hold.  NULL: they cannot change. */
	int (*change)(void *state, const struct plan_limits *limits, struct cordon_err *err);
	/* Undo open(); the tree is gone. */
	void (*close)(void *state);
	/* As in limiter.h; each may be NULL: nothing to do, or no descriptor. */
	int (*cgroup_fd)(const void *state);
	bool (*holds_cpus)(const void *state);
	int (*event_fd)(const void *state);
	int (*join)(void *state, pid_t pid, struct cordon_err *err);
	int (*add_fs)(void *state, int fd, struct cordon_err *err);
	int (*start)(void *state, int proc_fd, struct cordon_err *err);
	/* `cpu_due`: the CPU limit may be reached by now, so be exact about it. */
	void (*sample)(void *state, bool cpu_due, struct limiter_sample *ret);
	/* All fields are preset to unknown. */
	void (*usage)(void *state, struct limiter_usage *ret);
};

extern const struct limiter_ops limiter_cgroup2, limiter_sweep;

/* limiter_detect() and limiter_new() with the cgroups at another place. */
enum host_cgroup limiter_detect_in(const struct limiter_paths *paths);
int limiter_new_in(const struct limiter_paths *paths, const struct plan_limits *limits,
		   enum host_cgroup cgroup, struct limiter **ret, struct cordon_err *err) MUST_USE;

/* Microseconds of a clock that only goes forward. */
int64_t limiter_now_us(void);
/* How long `headroom` bytes last at the least: memory is not touched faster
 * than 4 GB/s per CPU.  `n_cpus` > 0. */
int64_t limiter_memory_wait_us(int64_t headroom, long n_cpus);

#endif
