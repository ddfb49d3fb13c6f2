/* Limits of a tree that change with a phase; see tree.h.
 *
 * One after the other; where one is refused those before it are set back, and if that
 * cannot be done, nothing holds as it should and the tree ends.
 *
 * Runs in the supervisor; another size of the private places is set by a process beside
 * it that has the tree's user and mount namespaces, and ends.
 */
#include <errno.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/syscalls.h"
#include "super/aside.h"
#include "super/disk.h"
#include "super/run_priv.h"
#include "super/tasks.h"
#include "super/tree.h"

/* ---- what is counted ------------------------------------------------------ */

static int change_counted(struct tree *t, const struct plan_limits *l, struct cordon_err *err)
{
	struct plan_limits limits = tree_counted_limits(l);

	if (limiter_change(t->limiter, &limits, err) < 0)
		return -1;
	t->look_at_us = 0;
	return 0;
}

static int change_roots(struct tree *t, const struct plan_limits *l, struct cordon_err *err)
{
	return disk_change(t->disk, l->roots, err);
}

/* ---- what each task has ---------------------------------------------------- */

/* With a group of processes its own limit is enough, and can be raised. */
static bool needs_rlimit(const struct tree *t)
{
	return t->cgroup == HOST_CGROUP_NONE && (t->plan->clone_flags & CLONE_NEWUSER);
}

int64_t tree_process_limit(const struct tree *t, int64_t processes)
{
	return processes == INT64_MAX || !needs_rlimit(t) ? INT64_MAX : processes + 1;
}

int tree_limit_processes(struct tree *t, int64_t processes, struct cordon_err *err)
{
	if (!needs_rlimit(t))
		return 0;
	return tasks_bind_init(&t->child, tree_process_limit(t, processes), err);
}

static int change_processes(struct tree *t, const struct plan_limits *l, struct cordon_err *err)
{
	const struct task_bounds b = { .processes = tree_process_limit(t, l->processes) };

	if (tree_limit_processes(t, l->processes, err) < 0)
		return -1;
	if (b.processes == INT64_MAX || l->processes >= t->limits.processes)
		return 0;
	return tasks_bind(&t->child, t->fds.fd[NATIVE_PROC], &b, err);
}

static int change_cpus(struct tree *t, const struct plan_limits *l, struct cordon_err *err)
{
	cpu_set_t cpus;
	const struct task_bounds b = { .cpus = &cpus, .processes = INT64_MAX,
				       .is_more = l->cpus >= t->limits.cpus };

	if (limiter_holds_cpus(t->limiter))
		return change_counted(t, l, err);
	if (tree_take_cpus(t, l->cpus, &cpus, err) < 0)
		return -1;
	return tasks_bind(&t->child, t->fds.fd[NATIVE_PROC], &b, err);
}

/* ---- private places --------------------------------------------------------- */

static int resize(int place, const char *size)
{
	int fs = (int)syscall(SYS_fspick, place, "", FSPICK_EMPTY_PATH | FSPICK_CLOEXEC);
	int rc = fs < 0 || sys_fsconfig(fs, FSCONFIG_SET_STRING, "size", size) < 0 ||
		 sys_fsconfig(fs, FSCONFIG_CMD_RECONFIGURE, NULL, NULL) < 0;

	if (fs >= 0)
		close(fs);
	return rc ? -1 : 0;
}

static int become_resizer(const struct tree *t, pid_t parent, struct cordon_err *err)
{
	const int keep[] = { t->fds.fd[NATIVE_PRIVATE], t->userns, t->mntns };

	if (aside_detach("cordon-limits", keep, ARRAY_SIZE(keep), err) < 0 ||
	    aside_enter_userns(t->userns, 1ull << CAP_SYS_ADMIN | 1ull << CAP_SYS_CHROOT, err) < 0)
		return -1;
	if (t->mntns >= 0 && setns(t->mntns, CLONE_NEWNS) < 0)
		return -1;
	return aside_bind(parent, err);
}

enum resized { RESIZED, RESIZE_FAILED, RESIZE_IN_USE };

/* Exits with one of them. */
static _Noreturn void resizer_main(const struct tree *t, int64_t bytes, pid_t parent)
{
	struct cordon_err err;
	char size[32] = "50%";		/* of the memory: the kernel's own limit */

	if (bytes != INT64_MAX)
		snprintf(size, sizeof(size), "%lld", (long long)bytes);
	if (become_resizer(t, parent, &err) < 0)
		_exit(RESIZE_FAILED);
	if (resize(t->fds.fd[NATIVE_PRIVATE], size) < 0)
		_exit(errno == EINVAL ? RESIZE_IN_USE : RESIZE_FAILED);
	_exit(RESIZED);
}

static int change_disk(struct tree *t, const struct plan_limits *l, struct cordon_err *err)
{
	pid_t parent = getpid(), pid;
	int status;

	if (t->fds.fd[NATIVE_PRIVATE] < 0)
		return 0;
	pid = fork();
	if (pid == 0)
		resizer_main(t, l->disk, parent);
	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_sys(err, CORDON_E_SETUP, "cannot wait for a process");
	if (pid < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot start a process");
	if (WIFEXITED(status) && WEXITSTATUS(status) == RESIZED)
		return 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == RESIZE_IN_USE)
		return err_set(err, CORDON_E_HOST,
			       "limits.disk: more than %lld bytes are in use in private places",
			       (long long)l->disk);
	return err_set(err, CORDON_E_SETUP, "limits.disk: the private places keep their size");
}

/* ---- all of them -------------------------------------------------------------- */

static const struct {
	size_t field;			/* of struct plan_limits */
	int (*change)(struct tree *t, const struct plan_limits *l, struct cordon_err *err);
} steps[] = {
	{ offsetof(struct plan_limits, memory), change_counted },
	{ offsetof(struct plan_limits, cpu_ms), change_counted },
	{ offsetof(struct plan_limits, processes), change_counted },
	{ offsetof(struct plan_limits, processes), change_processes },
	{ offsetof(struct plan_limits, cpus), change_cpus },
	{ offsetof(struct plan_limits, disk), change_disk },
	{ offsetof(struct plan_limits, roots), change_roots },
};

static bool differs(size_t step, const struct plan_limits *a, const struct plan_limits *b)
{
	size_t at = steps[step].field;

	return memcmp((const char *)a + at, (const char *)b + at, sizeof(int64_t)) != 0;
}

int tree_change_limits(struct tree *t, const struct plan_limits *limits, struct cordon_err *err)
{
	const struct plan_limits before = t->limits;
	struct cordon_err ignored;
	int rc = 0;
	size_t i;

	for (i = 0; rc == 0 && i < ARRAY_SIZE(steps); i++)
		if (differs(i, &before, limits))
			rc = steps[i].change(t, limits, err);
	if (rc == 0) {
		t->limits = *limits;
		return 0;
	}
	/* Some may have these. */
	t->limits = *limits;
	while (i-- > 0)
		if (differs(i, &before, limits) && steps[i].change(t, &before, &ignored) < 0) {
			tree_kill(t);
			break;
		}
	t->limits = before;
	return -1;
}
