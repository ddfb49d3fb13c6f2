/* The limits by cgroup version 2: a child of our own group with memory and pids, and cpu
 * where limits.cpus is set and the controller can be had.
 *
 * A group whose children have controllers may not hold processes (but for the
 * root of the machine).  So either our group already gives its children memory
 * and pids, or we are alone in it and go into a leaf ourselves, until the end;
 * in any other case this mechanism cannot be used.  Runs in the supervisor
 * where the group was delegated to the caller.
 */
#include "super/limiter_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/fd.h"
#include "super/cgroup.h"

#define NO_EVENT_LOOK_US	50000	/* where the kernel gives no event */

static const char *const needed[] = { "memory", "pids" };

struct state {
	struct cgroup tree;
	struct cgroup leaf;		/* of ourselves; none where we need not move */
	bool holds_cpus;		/* cpu.max is there */
	int events_fd;			/* memory.events */
	int event_fd;			/* epoll on it, so that it is readable; or -1 */
	int64_t tasks_peak, memory_peak;
};

/* Our own group: at the mount of a machine with version 2 alone, or of one
 * with both. */
static int open_own(const struct limiter_paths *paths, const char *text,
		    char path[CGROUP_PATH_BYTES], int *ret_fd, struct cordon_err *err)
{
	static const char *const mounts[] = { "", "/unified" };
	char mount[CGROUP_PATH_BYTES];
	struct cgroup_own own;

	if (!cgroup_self_find(text, "", &own))
		return err_set(err, CORDON_E_HOST, "'%s' names no group of version 2", paths->self);
	for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
		snprintf(path, CGROUP_PATH_BYTES, "%s%s/cgroup.controllers", paths->base,
			 mounts[i]);
		if (access(path, F_OK) < 0)
			continue;
		snprintf(mount, sizeof(mount), "%s%s", paths->base, mounts[i]);
		return cgroup_own_open(mount, own.path, path, ret_fd, err);
	}
	return err_set(err, CORDON_E_HOST, "no cgroup of version 2 is mounted at '%s'",
		       paths->base);
}

static bool has_needed(int dir_fd, const char *file)
{
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		if (!cgroup_has_word(dir_fd, file, needed[i]))
			return false;
	}
	return true;
}

/* The root of the machine has no type. */
static bool is_machine_root(int dir_fd)
{
	return faccessat(dir_fd, "cgroup.type", F_OK, 0) < 0 && errno == ENOENT;
}

static bool is_alone(int dir_fd)
{
	return cgroup_read_number(dir_fd, "cgroup.procs") == getpid();
}

/* Can our group give its children what is needed?  Changes nothing. */
static int check_own(int fd, const char *path, struct cordon_err *err)
{
	if (!has_needed(fd, "cgroup.controllers"))
		return err_set(err, CORDON_E_HOST, "'%s/cgroup.controllers' lacks memory or pids",
			       path);
	if (!cgroup_can_write(fd, ".") || !cgroup_can_write(fd, "cgroup.procs"))
		return err_sys(err, CORDON_E_HOST, "cannot write to the group '%s'", path);
	if (has_needed(fd, "cgroup.subtree_control"))
		return 0;
	if (!cgroup_can_write(fd, "cgroup.subtree_control"))
		return err_sys(err, CORDON_E_HOST, "cannot write to '%s/cgroup.subtree_control'",
			       path);
	if (!is_machine_root(fd) && !is_alone(fd))
		return err_set(err, CORDON_E_HOST, "'%s/cgroup.procs' holds other processes; start "
			       "cordon in a group of its own (systemd-run --user --scope "
			       "-p Delegate=yes)", path);
	return 0;
}

/* Give the children of our group memory and pids. */
static int enable_needed(struct state *s, int fd, const char *path, struct cordon_err *err)
{
	struct cgroup own = { .parent_fd = -1, .fd = fd };

	if (has_needed(fd, "cgroup.subtree_control"))
		return 0;
	snprintf(own.path, sizeof(own.path), "%s", path);
	if (!is_machine_root(fd)) {
		int leaf_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);

		if (leaf_fd < 0)
			return err_sys(err, CORDON_E_SETUP, "cannot keep '%s' open", path);
		if (cgroup_new(path, leaf_fd, &s->leaf, err) < 0 ||
		    cgroup_write(&s->leaf, "cgroup.procs", "0", err) < 0)
			return -1;
	}
	return cgroup_write(&own, "cgroup.subtree_control", "+memory +pids", err);
}

/* Give them cpu as well.  Without that controller the tree is bound to CPUs. */
static void enable_cpu(int fd)
{
	if (cgroup_has_word(fd, "cgroup.controllers", "cpu") &&
	    !cgroup_has_word(fd, "cgroup.subtree_control", "cpu"))
		(void)cgroup_try_write(fd, "cgroup.subtree_control", "+cpu");
}

/* Back from the leaf into our own group.  Only there: at the machine's root
 * others may count on the controllers by now. */
static void leave_leaf(struct state *s)
{
	if (s->leaf.fd < 0)
		return;
	cgroup_try_write(s->leaf.parent_fd, "cgroup.subtree_control", "-cpu");
	cgroup_try_write(s->leaf.parent_fd, "cgroup.subtree_control", "-memory -pids");
	cgroup_try_write(s->leaf.parent_fd, "cgroup.procs", "0");
	cgroup_release(&s->leaf);
}

static int write_optional(const struct cgroup *g, const char *file, const char *text,
			  struct cordon_err *err)
{
	if (faccessat(g->fd, file, F_OK, 0) < 0 && errno == ENOENT)
		return 0;
	return cgroup_write(g, file, text, err);
}

static int set_memory(const struct cgroup *g, int64_t bytes, struct cordon_err *err)
{
	/* Not there: swap is not compiled in; kernels before 4.19. */
	if (cgroup_write_number(g, "memory.max", bytes, err) < 0 ||
	    write_optional(g, "memory.swap.max", "0", err) < 0)
		return -1;
	return write_optional(g, "memory.oom.group", "1", err);
}

/* So much time of each period of 100 ms, on whichever CPUs. */
static int set_cpus(const struct cgroup *g, int64_t n, struct cordon_err *err)
{
	char text[64];

	if (n >= CPU_SETSIZE)
		return cgroup_write(g, "cpu.max", "max 100000", err);
	snprintf(text, sizeof(text), "%lld 100000", (long long)n * 100000);
	return cgroup_write(g, "cpu.max", text, err);
}

static int set_limits(struct state *s, const struct plan_limits *limits, struct cordon_err *err)
{
	const struct cgroup *g = &s->tree;

	s->holds_cpus = limits->cpus != INT64_MAX && faccessat(g->fd, "cpu.max", W_OK, 0) == 0;
	if (s->holds_cpus && set_cpus(g, limits->cpus, err) < 0)
		return -1;
	if (limits->memory != INT64_MAX && set_memory(g, limits->memory, err) < 0)
		return -1;
	if (limits->processes == INT64_MAX)
		return 0;
	return cgroup_limit_tasks(g, limits->processes, err);
}

static int change_memory(const struct cgroup *g, int64_t bytes, struct cordon_err *err)
{
	/* The kernel would take it, and kill. */
	if (cgroup_read_number(g->fd, "memory.current") > bytes)
		return err_set(err, CORDON_E_HOST, "limits.memory: more than %lld bytes are in use",
			       (long long)bytes);
	if (bytes == INT64_MAX)
		return cgroup_write(g, "memory.max", "max", err);
	return set_memory(g, bytes, err);
}

static int cgroup2_change(void *state, const struct plan_limits *limits, struct cordon_err *err)
{
	const struct state *s = state;
	const struct cgroup *g = &s->tree;

	if (change_memory(g, limits->memory, err) < 0 ||
	    cgroup_change_tasks(g, limits->processes, err) < 0)
		return -1;
	return s->holds_cpus ? set_cpus(g, limits->cpus, err) : 0;
}

/* A file of a cgroup always polls as readable and says POLLPRI for news; in an
 * epoll set that looks for the latter, the set is readable for news. */
static int open_events(struct state *s, struct cordon_err *err)
{
	struct epoll_event want = { .events = EPOLLPRI };
	cleanup_fd int epoll_fd = -1;

	s->events_fd = openat(s->tree.fd, "memory.events", O_RDONLY | O_CLOEXEC);
	if (s->events_fd < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot open '%s/memory.events'", s->tree.path);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (epoll_fd < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot make an epoll descriptor");
	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, s->events_fd, &want) == 0)
		s->event_fd = fd_take(&epoll_fd);
	return 0;
}

/* What is read later must be there now. */
static int check_counters(const struct cgroup *g, struct cordon_err *err)
{
	static const char *const files[] = { "cpu.stat", "pids.events", "cgroup.procs" };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		if (faccessat(g->fd, files[i], R_OK, AT_EACCESS) < 0)
			return err_sys(err, CORDON_E_SETUP, "cannot read '%s/%s'", g->path,
				       files[i]);
	}
	return 0;
}

static void cgroup2_close(void *state)
{
	struct state *s = state;

	fd_close(&s->event_fd);
	fd_close(&s->events_fd);
	if (s->tree.fd >= 0) {
		cgroup_try_write(s->tree.fd, "cgroup.kill", "1");
		cgroup_release(&s->tree);
	}
	leave_leaf(s);
	free(s);
}

static void *cgroup2_open(const struct limiter_paths *paths, const struct plan_limits *limits,
			  struct cordon_err *err)
{
	struct state *s = calloc(1, sizeof(*s));
	char text[CGROUP_SELF_BYTES], path[CGROUP_PATH_BYTES];
	cleanup_fd int fd = -1;

	if (!s) {
		err_nomem(err);
		return NULL;
	}
	s->tree = s->leaf = CGROUP_NONE;
	s->events_fd = s->event_fd = -1;
	if (cgroup_self_read(paths->self, text, err) < 0 ||
	    open_own(paths, text, path, &fd, err) < 0 || check_own(fd, path, err) < 0 ||
	    enable_needed(s, fd, path, err) < 0) {
		cgroup2_close(s);
		return NULL;
	}
	if (limits->cpus != INT64_MAX)
		enable_cpu(fd);
	if (cgroup_new(path, fd_take(&fd), &s->tree, err) < 0 ||
	    set_limits(s, limits, err) < 0 || check_counters(&s->tree, err) < 0 ||
	    open_events(s, err) < 0) {
		cgroup2_close(s);
		return NULL;
	}
	return s;
}

static bool cgroup2_probe(const struct limiter_paths *paths, const char *text)
{
	char path[CGROUP_PATH_BYTES];
	cleanup_fd int fd = -1;
	struct cgroup_own bound;
	struct cordon_err err;

	/* A controller is bound to one hierarchy: then it is not in this one. */
	if (cgroup_self_find(text, "memory", &bound))
		return false;
	return open_own(paths, text, path, &fd, &err) == 0 && check_own(fd, path, &err) == 0;
}

static int cgroup2_cgroup_fd(const void *state)
{
	return ((const struct state *)state)->tree.fd;
}

static bool cgroup2_holds_cpus(const void *state)
{
	return ((const struct state *)state)->holds_cpus;
}

static int cgroup2_event_fd(const void *state)
{
	return ((const struct state *)state)->event_fd;
}

static int cgroup2_join(void *state, pid_t pid, struct cordon_err *err)
{
	struct state *s = state;

	return cgroup_write_number(&s->tree, "cgroup.procs", pid, err);
}

/* Reading from the start also tells epoll that the news was taken. */
static bool has_oom_kill(const struct state *s)
{
	return cgroup_fd_read_key(s->events_fd, "oom_kill") > 0;
}

static int64_t cpu_us(const struct state *s)
{
	return cgroup_read_key(s->tree.fd, "cpu.stat", "usage_usec");
}

static void cgroup2_sample(void *state, bool cpu_due, struct limiter_sample *ret)
{
	struct state *s = state;
	int64_t tasks = cgroup_read_number(s->tree.fd, "pids.current");
	int64_t bytes = cgroup_read_number(s->tree.fd, "memory.current");

	s->tasks_peak = MAX(s->tasks_peak, tasks);
	s->memory_peak = MAX(s->memory_peak, bytes);
	ret->memory_over = has_oom_kill(s);
	if (s->event_fd < 0)
		ret->wait_us = NO_EVENT_LOOK_US;
	if (cpu_due)
		ret->cpu_us = cpu_us(s);
}

static void cgroup2_usage(void *state, struct limiter_usage *ret)
{
	struct state *s = state;
	int64_t us = cpu_us(s);
	int64_t tasks = cgroup_read_number(s->tree.fd, "pids.peak");
	int64_t bytes = cgroup_read_number(s->tree.fd, "memory.peak");

	/* Where the kernel keeps no peak, what was seen has to do. */
	tasks = MAX(tasks, s->tasks_peak);
	bytes = MAX(bytes, s->memory_peak);
	ret->cpu_ms = us < 0 ? -1 : us / 1000;
	ret->max_rss_kb = bytes > 0 ? bytes / 1024 : -1;
	ret->processes_peak = tasks > 0 ? tasks : -1;
	ret->processes_refused = cgroup_read_key(s->tree.fd, "pids.events", "max") > 0;
	ret->oom_killed = has_oom_kill(s);
}

const struct limiter_ops limiter_cgroup2 = {
	.probe = cgroup2_probe,
	.open = cgroup2_open,
	.change = cgroup2_change,
	.close = cgroup2_close,
	.cgroup_fd = cgroup2_cgroup_fd,
	.holds_cpus = cgroup2_holds_cpus,
	.event_fd = cgroup2_event_fd,
	.join = cgroup2_join,
	.sample = cgroup2_sample,
	.usage = cgroup2_usage,
};
