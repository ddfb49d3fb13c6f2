/* The namespaces that take the kernel long, made while the policy is still read; see native.h.
 *
 * That of the network takes as long as all others together, and until init is cloned only one
 * CPU has something to do.  They must belong to the user namespace of init: so a task that
 * shares our memory, descriptors and signal handlers makes that, too, and then clones init, as
 * our child and as we would have done.  Whatever hinders it: we do it ourselves.
 *
 * What the host mounts until then still comes along, or not, as with every run that begins at
 * that moment: no process of the tree is there yet.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/native/init_priv.h"
#include "backend/native/quiet.h"
#include "base/cpus.h"
#include "base/fd.h"
#include "base/pidfd.h"

enum { MAKING, MADE, FAILED, TO_CLONE, CLONED };

#define LOOK_NS		50000000	/* whether it is still there */
#define MAX_LOOKS	4		/* nobody is heard while we wait, not even the clock */

/* ---- its side: no errno, which is ours --------------------------------------- */

static void say(struct native_early *e, uint32_t state)
{
	atomic_store(&e->state, state);
	QUIET3(futex, &e->state, FUTEX_WAKE_PRIVATE, INT_MAX);
}

/* Init goes on in a copy of our memory, and there on our stack, at the place where we wait. */
static int early_main(void *arg)
{
	struct native_early *e = arg;

	QUIET2(prctl, PR_SET_PDEATHSIG, SIGKILL);
	if (QUIET1(getppid, 0) != e->parent)
		return 1;
	if (QUIET1(unshare, NATIVE_EARLY_NAMESPACES) < 0) {
		say(e, FAILED);
		return 1;
	}
	say(e, MADE);
	while (atomic_load(&e->state) == MADE)
		QUIET5(futex, &e->state, FUTEX_WAIT_PRIVATE, MADE, NULL, NULL);
	QUIET5(rt_sigprocmask, SIG_SETMASK, &e->mask, NULL, NSIG / 8, 0);
	e->child = (pid_t)QUIET2(clone3, &e->args, sizeof(e->args));
	if (e->child == 0)
		longjmp(e->init, 1);
	say(e, CLONED);
	return 0;
}

/* ---- ours ----------------------------------------------------------------------- */

/* Root's groups are left before init is cloned (super/caller.h), which it would not see. */
static bool has_groups_to_leave(void)
{
	return geteuid() == 0 && getgroups(0, NULL) != 0;
}

void native_early_start(struct native_early *e)
{
	static char stack[16 << 10] __attribute__((aligned(16)));
	sigset_t all, mask;
	cpu_set_t cpus;
	pid_t pid;

	*e = (struct native_early){ .parent = getpid(), .pidfd = -1 };
	if (has_groups_to_leave())
		return;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &mask);
	pid = clone(early_main, stack + sizeof(stack),
		    CLONE_VM | CLONE_FILES | CLONE_SIGHAND | CLONE_NEWUSER | CLONE_PIDFD | SIGCHLD,
		    e, &e->pidfd);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	cpus_read(&cpus);
	if (pid > 0)
		cpus_part(&cpus, pid);
}

/* By its descriptor: of a caller that ignores SIGCHLD the number could be somebody else's. */
static void collect(int *pidfd)
{
	siginfo_t info;

	while (waitid(P_PIDFD, (id_t)*pidfd, &info, WEXITED | __WALL) < 0 && errno == EINTR)
		;
	fd_close(pidfd);
}

static void end(int *pidfd)
{
	if (*pidfd < 0)
		return;
	pidfd_signal(*pidfd, SIGKILL);
	collect(pidfd);
}

void native_early_stop(struct native_early *e)
{
	end(&e->pidfd);
}

static bool is_gone(const struct native_early *e)
{
	struct pollfd p = { .fd = e->pidfd, .events = POLLIN };

	return poll(&p, 1, 0) != 0;
}

/* False: it is gone, could not, or takes too long. */
static bool wait_while(struct native_early *e, uint32_t state)
{
	const struct timespec a_while = { .tv_nsec = LOOK_NS };

	for (int i = 0; i < MAX_LOOKS && atomic_load(&e->state) == state; i++) {
		syscall(SYS_futex, &e->state, FUTEX_WAIT_PRIVATE, state, &a_while);
		if (atomic_load(&e->state) == state && is_gone(e))
			return false;
	}
	return atomic_load(&e->state) != state && atomic_load(&e->state) != FAILED;
}

/* Returns in init, too: so it holds nothing that is to be given back. */
static pid_t order(struct native_early *e)
{
	if (setjmp(e->init))
		return 0;
	atomic_store(&e->state, TO_CLONE);
	syscall(SYS_futex, &e->state, FUTEX_WAKE_PRIVATE, 1);
	return wait_while(e, TO_CLONE) && e->child > 0 ? e->child : -1;
}

pid_t native_early_clone(struct native_early *e, const struct clone_args *args)
{
	pid_t pid;

	e->args = *args;
	e->args.flags = (args->flags & ~(uint64_t)(CLONE_NEWUSER | NATIVE_EARLY_NAMESPACES)) |
			CLONE_PARENT;
	e->args.exit_signal = 0;	/* as its own */
	sigprocmask(SIG_BLOCK, NULL, &e->mask);
	/* The kernel may be busy with it for seconds: init tries, under its clock. */
	if (!wait_while(e, MAKING)) {
		pidfd_signal(e->pidfd, SIGKILL);
		return -1;
	}
	pid = order(e);
	if (pid == 0)
		return 0;
	native_early_stop(e);
	/* It may have been killed behind the clone: then init waits for a word of ours. */
	if (pid < 0)
		end((int *)(uintptr_t)args->pidfd);
	return pid;
}
