/* A tree for the tests of limits: it has a pid namespace with a /proc of its own, its first
 * process waits for a byte before it begins, and it is watched by a limiter until it ends.
 * Linked with a syscall() that can refuse perf counters.
 */
#ifndef TESTS_LIMITER_TREE_H
#define TESTS_LIMITER_TREE_H

#include "super/limiter_priv.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "tap.h"
#include "tree_acts.h"

#define MB		(1LL << 20)
#define GIVE_UP_US	30000000	/* no tree runs so long: then the test fails */

static bool refuse_perf;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
/* Reads six arguments whatever there are, as the real one does. */
__attribute__((no_sanitize("address")))
long __wrap_syscall(long number, ...)
{
	long a[6];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_perf_event_open && refuse_perf) {
		errno = EACCES;
		return -1;
	}
	return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Seen by the test and its tree. */
static struct shared {
	int64_t touched;	/* bytes a hog has taken */
	int64_t forks;		/* that succeeded */
	bool done;		/* the tree's program came to its end */
} *shared;

struct tree {
	void (*run)(void);		/* in its first process */
	enum host_cgroup cgroup;
	struct plan_limits limits;
	bool counts_tmpfs;		/* a tmpfs at /tmp of the tree */
	bool no_wait;			/* check all the time */
	/* what came of it */
	enum limit_kind over;
	int status;
	int64_t n_checks;
	struct limiter_usage usage;
};

static struct plan_limits no_limits(void)
{
	return (struct plan_limits){ INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX,
				     INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX,
				     INT64_MAX };
}

static struct plan_limits memory_limit(int64_t bytes)
{
	struct plan_limits limits = no_limits();

	limits.memory = bytes;
	return limits;
}

static struct plan_limits cpu_limit(int64_t ms)
{
	struct plan_limits limits = no_limits();

	limits.cpu_ms = ms;
	return limits;
}

/* --- inside the tree -------------------------------------------------------- */

_Noreturn static void tree_main(const struct tree *t, int ready_fd, int go_fd, uid_t uid,
				gid_t gid)
{
	char byte = 1;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (uid != 0)
		map_ids(uid, gid);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("proc", "/proc", "proc", 0, NULL) < 0 ||
	    mount("tmpfs", "/tmp", "tmpfs", 0, "size=512m") < 0)
		_exit(91);
	if (write(ready_fd, &byte, 1) != 1 || read(go_fd, &byte, 1) != 1)
		_exit(92);
	t->run();
	shared->done = true;
	_exit(0);
}

static void touch(char *p, int64_t bytes)
{
	for (int64_t at = 0; at < bytes; at += 4096) {
		p[at] = 1;
		shared->touched += 4096;
	}
}

/* --- outside ----------------------------------------------------------------- */

static int open_in_tree(pid_t init, const char *what)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/root/%s", init, what);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static void wait_events(struct limiter *l, int pidfd, int64_t wait_us)
{
	struct pollfd fds[] = {
		{ .fd = pidfd, .events = POLLIN },
		{ .fd = limiter_event_fd(l), .events = POLLIN },
	};
	struct timespec ts;

	if (wait_us < 0 || wait_us > 1000000)
		wait_us = 1000000;
	ts = (struct timespec){ wait_us / 1000000, wait_us % 1000000 * 1000 };
	ppoll(fds, ARRAY_SIZE(fds), &ts, NULL);
}

/* Until the tree is gone; kills it for the first limit that is over. */
static void watch(struct tree *t, struct limiter *l, pid_t init)
{
	int64_t end = limiter_now_us() + GIVE_UP_US, wait_us;
	cleanup_fd int pidfd = (int)__real_syscall(SYS_pidfd_open, init, 0L);
	enum limit_kind over;

	while (waitpid(init, &t->status, WNOHANG) == 0) {
		over = limiter_check(l, &wait_us);
		t->n_checks++;
		if (over != LIMIT_OK)
			ok(t->over == LIMIT_OK || t->over != over, "said twice");
		if (limiter_now_us() > end)
			ok(false, "the tree did not end by itself");
		if (over != LIMIT_OK || limiter_now_us() > end) {
			t->over = t->over == LIMIT_OK ? over : t->over;
			kill(init, SIGKILL);
		}
		wait_events(l, pidfd, t->no_wait ? 0 : wait_us);
	}
	over = limiter_check(l, &wait_us);
	t->over = t->over == LIMIT_OK ? over : t->over;
}

static bool begin(struct tree *t, struct limiter *l, pid_t init, int *ret_fs_fd)
{
	cleanup_fd int proc_fd = open_in_tree(init, "proc");
	struct cordon_err err = { 0 };

	if (!ok(proc_fd >= 0, "the tree's /proc") ||
	    !ok(limiter_join(l, init, &err) == 0, "%s", err.msg))
		return false;
	if (t->counts_tmpfs) {
		*ret_fs_fd = open_in_tree(init, "tmp");
		if (!ok(limiter_add_fs(l, *ret_fs_fd, &err) == 0, "%s", err.msg))
			return false;
	}
	return ok(limiter_join(l, init, &err) == 0 && limiter_start(l, proc_fd, &err) == 0, "%s",
		  err.msg);
}

static void run_tree(struct tree *t)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	long flags = CLONE_NEWPID | CLONE_NEWNS | SIGCHLD | (uid != 0 ? CLONE_NEWUSER : 0);
	struct cordon_err err = { 0 };
	struct limiter *l = NULL;
	cleanup_fd int fs_fd = -1;
	int ready[2], go[2];
	char byte;
	pid_t init;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (!ok(shared != MAP_FAILED && pipe2(ready, O_CLOEXEC) == 0 && pipe2(go, O_CLOEXEC) == 0,
		"pipes") ||
	    !ok(limiter_new(&t->limits, t->cgroup, &l, &err) == 0, "%s", err.msg))
		return;
	fflush(stdout);
	init = (pid_t)__real_syscall(SYS_clone, flags, 0L, 0L, 0L, 0L);
	if (init == 0)
		tree_main(t, ready[1], go[0], uid, gid);
	close(ready[1]);
	if (ok(init > 0, "a tree") && ok(read(ready[0], &byte, 1) == 1, "it comes up") &&
	    begin(t, l, init, &fs_fd) && ok(write(go[1], "", 1) == 1, "it may begin")) {
		watch(t, l, init);
		limiter_usage(l, &t->usage);
	} else if (init > 0) {
		kill(init, SIGKILL);
		waitpid(init, &t->status, 0);
	}
	limiter_free(l);
	close(ready[0]);
	close(go[0]);
	close(go[1]);
}

static void is_innocent(const struct tree *t)
{
	is_text(limit_kind_name(t->over), "ok", "no limit is over, %lld kB seen",
		(long long)t->usage.max_rss_kb);
	is_int(t->status, 0, "it ended by itself");
	ok(shared->done, "it came to its end");
}

static void is_caught(const struct tree *t, enum limit_kind kind)
{
	is_text(limit_kind_name(t->over), limit_kind_name(kind), "the limit is named");
	ok(!shared->done, "it did not come to its end");
	ok(WIFSIGNALED(t->status) && WTERMSIG(t->status) == SIGKILL, "it was killed");
}

#define SMALL_OVERSHOOT	(64 * MB)
#define ATTEMPTS	4

/* Runs one that counts its memory; who was kept from looking by a busy machine looks
 * again. */
static void run_hog(struct tree *t)
{
	const struct tree fresh = *t;

	for (int i = 0; i < ATTEMPTS; i++) {
		*t = fresh;
		run_tree(t);
		if (shared->touched < t->limits.memory + SMALL_OVERSHOOT)
			break;
	}
}

static void overshoot_is_small(const struct tree *t)
{
	int64_t over = shared->touched - t->limits.memory;

	ok(over < SMALL_OVERSHOOT, "%lld MB over the limit", (long long)(over / MB));
}

#endif
