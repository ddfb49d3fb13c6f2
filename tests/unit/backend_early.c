/* Who makes the network namespace early, and init. */
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/nsfs.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/native/init_priv.h"
#include "base/pidfd.h"

static volatile int noted;	/* before the clone, by the one who waits */

/* What init sees. */
struct seen {
	pid_t pid;
	int noted;
	bool usr1_blocked, usr2_blocked, usr2_ignored;
};

static bool can_make(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0);
	return waitpid(pid, &status, 0) == pid && status == 0;
}

static bool is_alone(void)
{
	return waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD;
}

static ino_t inode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? st.st_ino : 0;
}

static int open_ns(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static _Noreturn void be_init(const int tell[2], const int go[2])
{
	struct seen seen = { .pid = getpid(), .noted = noted };
	struct sigaction usr2;
	sigset_t mask;
	char byte;

	sigprocmask(SIG_BLOCK, NULL, &mask);
	sigaction(SIGUSR2, NULL, &usr2);
	seen.usr1_blocked = sigismember(&mask, SIGUSR1);
	seen.usr2_blocked = sigismember(&mask, SIGUSR2);
	seen.usr2_ignored = usr2.sa_handler == SIG_IGN;
	if (write(tell[1], &seen, sizeof(seen)) != sizeof(seen) || read(go[0], &byte, 1) != 1)
		_exit(1);
	_exit(7);
}

static struct clone_args args_for(int *pidfd)
{
	*pidfd = -1;
	return (struct clone_args){
		.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_PIDFD,
		.pidfd = (uintptr_t)pidfd, .exit_signal = SIGCHLD };
}

static void check_namespaces(pid_t pid)
{
	int net = open_ns(pid, "net"), user = open_ns(pid, "user"), own = open_ns(getpid(), "net");
	int owner = ioctl(net, NS_GET_USERNS);

	ok(net >= 0 && user >= 0 && own >= 0, "its namespaces");
	ok(inode_of(net) && inode_of(net) != inode_of(own), "a network of its own");
	ok(inode_of(owner) == inode_of(user), "which belongs to its user namespace");
	close(net);
	close(user);
	close(own);
	close(owner);
}

static void test_clone(void)
{
	int tell[2], go[2], pidfd, status;
	struct clone_args args = args_for(&pidfd);
	struct native_early e;
	struct seen seen;
	sigset_t usr1;
	pid_t pid;

	if (!can_make())
		skip("no user namespaces here");
	if (pipe(tell) < 0 || pipe(go) < 0)
		abort();
	native_early_start(&e);
	ok(e.pidfd >= 0, "somebody began");
	/* All this comes later, and init has it as if we had cloned it. */
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	signal(SIGUSR2, SIG_IGN);
	noted = 42;
	pid = native_early_clone(&e, &args);
	if (pid == 0)
		be_init(tell, go);
	ok(pid > 0 && pidfd >= 0 && e.pidfd < 0, "init, and nobody else");
	ok(read(tell[0], &seen, sizeof(seen)) == sizeof(seen), "it runs");
	is_int(seen.pid, 1, "its first process");
	is_int(seen.noted, 42, "our memory");
	ok(seen.usr1_blocked && !seen.usr2_blocked && seen.usr2_ignored, "our signals");
	check_namespaces(pid);
	ok(write(go[1], "", 1) == 1, "go");
	ok(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7, "a child of ours");
	ok(is_alone(), "nobody is left");
	sigprocmask(SIG_UNBLOCK, &usr1, NULL);
	signal(SIGUSR2, SIG_DFL);
	close(pidfd);
	for (int i = 0; i < 2; i++) {
		close(tell[i]);
		close(go[i]);
	}
}

static void test_stop(void)
{
	struct native_early e;

	native_early_start(&e);
	native_early_stop(&e);
	ok(e.pidfd < 0 && is_alone(), "nobody is left");
	native_early_stop(&e);
	e = NATIVE_NOT_EARLY;
	native_early_stop(&e);
	ok(is_alone(), "nobody there was");
}

/* What is sent to who began, before it is told to clone; 0: nothing is. */
static void check_no_init(int sent, uint64_t flags)
{
	int pidfd;
	struct clone_args args = args_for(&pidfd);
	struct native_early e;

	args.flags |= flags;
	native_early_start(&e);
	if (e.pidfd < 0)
		skip("no user namespaces here");
	if (sent)
		pidfd_signal(e.pidfd, sent);
	is_int(native_early_clone(&e, &args), -1, "no init");
	native_early_stop(&e);
	ok(e.pidfd < 0 && pidfd < 0 && is_alone(), "nobody is left");
}

/* By whom, and whether we are told, is all the same. */
static void test_killed(void)
{
	check_no_init(SIGKILL, 0);
	signal(SIGCHLD, SIG_IGN);
	check_no_init(SIGKILL, 0);
	signal(SIGCHLD, SIG_DFL);
}

/* Whoever holds it up does not hold us up, and it clones nothing later. */
static void test_stopped(void)
{
	check_no_init(SIGSTOP, 0);
}

/* The kernel refuses it: the caller hears of it when it tries the same. */
static void test_refused(void)
{
	check_no_init(0, CLONE_THREAD);	/* without memory to share */
}

int main(void)
{
	/* Nobody begins early for root in groups. */
	if (geteuid() == 0 && setgroups(0, NULL) < 0)
		abort();
	return tap_run((struct tap_case[]){ TAP(test_clone), TAP(test_stop), TAP(test_killed),
					    TAP(test_stopped), TAP(test_refused), TAP_END });
}
