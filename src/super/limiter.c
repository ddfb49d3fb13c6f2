/* The shared part of the limits: one table of mechanisms, the CPU limit, and
 * saying each limit once.  Runs in the supervisor; see limiter.h. */
#include "super/limiter.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "super/cgroup.h"
#include "super/limiter_priv.h"

#define MEMORY_RATE		(4LL << 30)	/* bytes a second and CPU; 2 to 3.7 were measured */
#define MEMORY_RATE_CPUS	8		/* more do not touch pages faster */
#define MIN_WAIT_US		200
#define SMALL_HEADROOM		(1LL << 30)	/* below it the rate is trusted for 20 ms only */
#define MAX_WAIT_SMALL_US	20000
#define MAX_WAIT_US		250000
#define MIN_CPU_WAIT_US		1000

static const struct limiter_paths host_paths = { "/sys/fs/cgroup", "/proc/self/cgroup" };

static const struct limiter_ops *const mechanisms[] = {
	[HOST_CGROUP_NONE] = &limiter_sweep,
	[HOST_CGROUP_V2] = &limiter_cgroup2,
};
static_assert(ARRAY_SIZE(mechanisms) == N_HOST_CGROUPS, "a kind of cgroup without a mechanism");

static const char *const limit_kind_str[] = {
	[LIMIT_OK] = "ok",
	[LIMIT_WALL] = "wall",
	[LIMIT_CPU] = "cpu",
	[LIMIT_MEMORY] = "memory",
	[LIMIT_PROCESSES] = "processes",
	[LIMIT_FILE_SIZE] = "file_size",
	[LIMIT_OUTPUT] = "output",
	[LIMIT_DISK] = "disk",
};
static_assert(ARRAY_SIZE(limit_kind_str) == N_LIMIT_KINDS, "a limit without a name");

struct limiter {
	const struct limiter_ops *ops;
	void *state;			/* of the mechanism */
	int64_t cpu_limit_us;		/* INT64_MAX: none */
	int64_t cpu_due_us;		/* when the CPU limit can be reached at the earliest */
	int64_t beside_us;		/* CPU time for the tree that others spent */
	long n_cpus;
	bool said_cpu, said_memory, said_tasks;
};

const char *limit_kind_name(enum limit_kind kind)
{
	if ((unsigned)kind >= N_LIMIT_KINDS)
		BUG("no such limit");
	return limit_kind_str[kind];
}

int64_t limit_kind_value(enum limit_kind kind, const struct plan_limits *limits)
{
	const int64_t values[] = {
		[LIMIT_OK] = 0,
		[LIMIT_WALL] = limits->wall_ms,
		[LIMIT_CPU] = limits->cpu_ms,
		[LIMIT_MEMORY] = limits->memory,
		[LIMIT_PROCESSES] = limits->processes,
		[LIMIT_FILE_SIZE] = limits->file_size,
		[LIMIT_OUTPUT] = limits->output,
		[LIMIT_DISK] = limits->roots,
	};

	static_assert(ARRAY_SIZE(values) == N_LIMIT_KINDS, "a limit without a value");
	return values[kind];
}

bool limit_is_file_size(int status, int64_t file_size)
{
	struct rlimit own;

	if (file_size == INT64_MAX || !WIFSIGNALED(status) || WTERMSIG(status) != SIGXFSZ)
		return false;
	return getrlimit(RLIMIT_FSIZE, &own) < 0 || own.rlim_max >= (rlim_t)file_size;
}

int64_t limiter_now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t limiter_memory_wait_us(int64_t headroom, long n_cpus)
{
	int64_t rate = MEMORY_RATE * MIN(n_cpus, MEMORY_RATE_CPUS) / 1000000;
	int64_t most = headroom < SMALL_HEADROOM ? MAX_WAIT_SMALL_US : MAX_WAIT_US;

	return MAX(MIN(headroom / rate, most), MIN_WAIT_US);
}

enum host_cgroup limiter_detect_in(const struct limiter_paths *paths)
{
	char text[CGROUP_SELF_BYTES];
	struct cordon_err err;

	if (cgroup_self_read(paths->self, text, &err) < 0 || !limiter_cgroup2.probe(paths, text))
		return HOST_CGROUP_NONE;
	return HOST_CGROUP_V2;
}

enum host_cgroup limiter_detect(void)
{
	return limiter_detect_in(&host_paths);
}

static int64_t to_us(int64_t ms)
{
	return ms > INT64_MAX / 1000 ? INT64_MAX : ms * 1000;
}

int limiter_new_in(const struct limiter_paths *paths, const struct plan_limits *limits,
		   enum host_cgroup cgroup, struct limiter **ret, struct cordon_err *err)
{
	struct limiter *l;

	if (limits->memory < 0 || limits->cpu_ms < 0 || limits->processes < 0)
		return err_set(err, CORDON_E_USAGE, "a limit of memory, CPU time or processes is "
			       "negative; give a number from 0 on");
	l = calloc(1, sizeof(*l));
	if (!l)
		return err_nomem(err);
	l->ops = mechanisms[cgroup];
	l->cpu_limit_us = to_us(limits->cpu_ms);
	l->n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	l->n_cpus = MAX(l->n_cpus, 1);
	l->state = l->ops->open(paths, limits, err);
	if (!l->state) {
		free(l);
		return -1;
	}
	*ret = l;
	return 0;
}

int limiter_new(const struct plan_limits *limits, enum host_cgroup cgroup, struct limiter **ret,
		struct cordon_err *err)
{
	return limiter_new_in(&host_paths, limits, cgroup, ret, err);
}

int limiter_cgroup_fd(const struct limiter *l)
{
	return l->ops->cgroup_fd ? l->ops->cgroup_fd(l->state) : -1;
}

bool limiter_holds_cpus(const struct limiter *l)
{
	return l && l->ops->holds_cpus && l->ops->holds_cpus(l->state);
}

int limiter_event_fd(const struct limiter *l)
{
	return l->ops->event_fd ? l->ops->event_fd(l->state) : -1;
}

int limiter_join(struct limiter *l, pid_t pid, struct cordon_err *err)
{
	return l->ops->join ? l->ops->join(l->state, pid, err) : 0;
}

int limiter_add_fs(struct limiter *l, int fd, struct cordon_err *err)
{
	return l->ops->add_fs ? l->ops->add_fs(l->state, fd, err) : 0;
}

int limiter_start(struct limiter *l, int proc_fd, struct cordon_err *err)
{
	return l->ops->start ? l->ops->start(l->state, proc_fd, err) : 0;
}

int limiter_change(struct limiter *l, const struct plan_limits *limits, struct cordon_err *err)
{
	if (!l->ops->change)
		return err_set(err, CORDON_E_BUG, "limits changed without a cgroup");
	if (l->ops->change(l->state, limits, err) < 0)
		return -1;
	l->cpu_limit_us = to_us(limits->cpu_ms);
	l->cpu_due_us = 0;
	return 0;
}

/* How long the rest of the CPU limit lasts when every CPU works on it. */
static int64_t cpu_wait_us(const struct limiter *l, int64_t used_us)
{
	int64_t rest = l->cpu_limit_us - MAX(used_us, 0);

	return MAX(rest / l->n_cpus, MIN_CPU_WAIT_US);
}

static int64_t sooner(int64_t a, int64_t b)
{
	return a < 0 || b < 0 ? MAX(a, b) : MIN(a, b);
}

void limiter_count_beside(struct limiter *l, int64_t us)
{
	l->beside_us = us;
}

enum limit_kind limiter_check(struct limiter *l, int64_t *ret_wait_us)
{
	bool watch_cpu = l->cpu_limit_us != INT64_MAX && !l->said_cpu;
	int64_t now = limiter_now_us();
	bool cpu_due = watch_cpu && now >= l->cpu_due_us;
	struct limiter_sample s = { .cpu_us = -1, .wait_us = -1 };
	enum limit_kind over = LIMIT_OK;

	l->ops->sample(l->state, cpu_due, &s);
	if (s.cpu_us >= 0)
		s.cpu_us += l->beside_us;
	if (s.memory_over && !l->said_memory) {
		l->said_memory = true;
		over = LIMIT_MEMORY;
	} else if (s.tasks_over && !l->said_tasks) {
		l->said_tasks = true;
		over = LIMIT_PROCESSES;
	} else if (watch_cpu && s.cpu_us >= l->cpu_limit_us) {
		l->said_cpu = true;
		watch_cpu = false;
		over = LIMIT_CPU;
	}
	*ret_wait_us = l->said_memory ? -1 : s.wait_us;
	if (watch_cpu) {
		if (cpu_due)
			l->cpu_due_us = now + cpu_wait_us(l, s.cpu_us);
		*ret_wait_us = sooner(*ret_wait_us, MAX(l->cpu_due_us - now, 0));
	}
	return over;
}

void limiter_usage(struct limiter *l, struct limiter_usage *ret)
{
	*ret = (struct limiter_usage){ .cpu_ms = -1, .max_rss_kb = -1, .processes_peak = -1 };
	l->ops->usage(l->state, ret);
	/* Upwards, as the other part is cut off: a limit that was reached is not to be missed. */
	if (ret->cpu_ms >= 0)
		ret->cpu_ms += (l->beside_us + 999) / 1000;
}

void limiter_free(struct limiter *l)
{
	if (!l)
		return;
	l->ops->close(l->state);
	free(l);
}
