/* From a command to its process; runs in init, when everything is taken away.
 *
 * Whatever is started here has all of init's confinement by being its child.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/native/init_priv.h"
#include "base/syscalls.h"

#define LOOK_MS		10
#define MAX_LOOKS	6000	/* a minute, for a program on a slow disk */

int terminal_open(const struct native_stdio *io, int *ret_slave)
{
	int unlock = 0, slave, error, master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (master < 0)
		return -1;
	slave = ioctl(master, TIOCSPTLCK, &unlock) < 0
			? -1 : ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave >= 0 && tcsetattr(slave, TCSANOW, &io->settings) == 0 &&
	    ioctl(slave, TIOCSWINSZ, &io->size) == 0) {
		*ret_slave = slave;
		return master;
	}
	error = errno;
	if (slave >= 0)
		close(slave);
	close(master);
	errno = error;
	return -1;
}

/* By their minor numbers. */
static const char *const memory[] = { [3] = "/dev/null", [5] = "/dev/zero", [7] = "/dev/full",
				      [8] = "/dev/random", [9] = "/dev/urandom" };
static int kept[ARRAY_SIZE(memory)];	/* 0: not open */

const char *native_find_device(const struct stat *st)
{
	if (!S_ISCHR(st->st_mode) || major(st->st_rdev) != 1 ||
	    minor(st->st_rdev) >= ARRAY_SIZE(memory))
		return NULL;
	return memory[minor(st->st_rdev)];
}

/* A device of the caller's lies on the host's mount, where its mode and times can
 * be changed for the whole machine.  Those that there are inside stand on a mount
 * that is only to be read, and do the same. */
int devices_open(void)
{
	for (int i = 0; i < 3; i++) {
		const char *path;
		struct stat st;
		int fd;

		path = fstat(i, &st) < 0 ? NULL : native_find_device(&st);
		if (!path)
			continue;
		fd = kept[minor(st.st_rdev)];
		if (!fd)
			fd = open(path, (fcntl(i, F_GETFL) & O_ACCMODE) | O_CLOEXEC);
		if (fd < 0 || dup2(fd, i) < 0)
			return -1;
		if (!kept[minor(st.st_rdev)])
			close(fd);
	}
	return 0;
}

int devices_keep(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(memory); i++) {
		if (memory[i])
			kept[i] = open(memory[i], O_RDWR | O_CLOEXEC);
		if (kept[i] < 0)
			return -1;
	}
	return 0;
}

/* For good; to no more than init has now, which may be less than it could have. */
static bool lower(int which, int64_t value)
{
	struct rlimit now;

	if (getrlimit(which, &now) < 0)
		return false;
	if (value != INT64_MAX)
		now.rlim_cur = MIN(now.rlim_cur, (rlim_t)value);
	now.rlim_max = now.rlim_cur;
	return setrlimit(which, &now) == 0;
}

/* A command of a session.  False: errno says why not. */
static bool settle(const struct launch *l)
{
	const struct native_command *c = l->command;

	setsid();
	for (int i = 0; i < 3; i++)
		if (dup2(l->streams[i], i) < 0)
			return false;
	if (devices_open() < 0)
		return false;
	if (c->io.controlling && ioctl(0, TIOCSCTTY, 0) < 0)
		return false;
	if (!lower(RLIMIT_FSIZE, c->file_size) || !lower(RLIMIT_NOFILE, c->open_files))
		return false;
	return chdir(c->cwd) == 0;
}

/* Returns why none of them could be executed. */
static int execute(const struct native_command *c)
{
	char *const *argv = (char *const *)(uintptr_t)c->argv;
	char *const *envp = (char *const *)(uintptr_t)c->envp;
	int best = ENOENT;

	for (size_t i = 0; c->programs[i]; i++) {
		execve(c->programs[i], argv, envp);
		if (errno == ENOEXEC) {
			c->shell_argv[1] = c->programs[i];
			execve("/bin/sh", (char *const *)(uintptr_t)c->shell_argv, envp);
			errno = ENOEXEC;
		}
		/* A folder of PATH that may not be searched is no answer. */
		if (errno == EACCES && c->programs[1] && access(c->programs[i], F_OK) < 0)
			continue;
		if (errno != ENOENT && errno != ENOTDIR)
			best = errno;
		else if (best == ENOENT && access(c->programs[i], F_OK) == 0)
			best = ELIBACC;		/* it is there; what runs it is not */
	}
	return best;
}

/* A copy of init shows nothing but what the command is given. */
static bool show(const struct launch *l)
{
	unsigned told = (unsigned)l->told;

	if (told > 3 && sys_close_range(3, told - 1) < 0)
		return false;
	return sys_close_range(told + 1, ~0u) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
}

/* What a copy of init tells. */
struct told {
	bool is_group;		/* else an error */
	int value;
};

static void tell_init(const struct launch *l, bool is_group, int value)
{
	const struct told told = { is_group, value };

	(void)!send(l->told, &told, sizeof(told), MSG_NOSIGNAL);
}

/* ---- leading a terminal's session ------------------------------------------ */

/* The end of the one that is led, as our own. */
static _Noreturn void end_as(int status)
{
	sigset_t mask;

	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		kill(getpid(), WTERMSIG(status));
		sigemptyset(&mask);
		sigprocmask(SIG_SETMASK, &mask, NULL);
	}
	_exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

/* The kernel lets ^Z stop only a group that somebody else of its session waits for: a
 * command with a terminal gets one, which stops and ends as it does.  No signal reaches
 * that one but those that nobody can hold off.
 * Returns in the command; where there is no room for two, that is the only one. */
static void lead(struct launch *l)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	int status;

	if (pid < 0)
		return;
	setpgid(pid, pid);
	tcsetpgrp(0, pid ? pid : getpid());
	if (pid == 0)
		return;
	tell_init(l, true, pid);
	/* Nothing of init's may stay open here. */
	if (sys_close_range(0, ~0u) < 0)
		_exit(127);
	for (;;) {
		if (waitpid(pid, &status, WUNTRACED) != pid)
			continue;
		if (!WIFSTOPPED(status))
			end_as(status);
		kill(getpid(), SIGSTOP);
		kill(-pid, SIGCONT);
	}
}

static bool is_led(const struct launch *l)
{
	return l->streams && l->command->io.controlling;
}

static bool is_copied(const struct launch *l)
{
	return l->judged || is_led(l);
}

/* ---- the new process --------------------------------------------------------- */

/* Of the one that is on its way. */
static char stack[64 << 10] __attribute__((aligned(16)));

static int launch_main(void *arg)
{
	struct launch *l = arg;
	bool settled = true;
	sigset_t mask;
	int error = 0;

	/* What the caller ignores stays ignored, as with every program. */
	sigfillset(&mask);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	if (l->scope >= 0 && syscall(SYS_landlock_restrict_self, l->scope, 0) < 0) {
		settled = false;
		error = errno;
	} else if (l->streams) {
		settled = settle(l);
		error = settled ? 0 : errno;
	} else if (l->command->io.controlling) {
		setpgid(0, 0);
		tcsetpgrp(0, getpid());
	} else {
		setsid();
	}
	if (settled && is_led(l))
		lead(l);
	sigemptyset(&mask);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	if (settled && l->judged && !show(l))
		_exit(127);
	error = settled ? execute(l->command) : -error;
	l->error = error;
	if (is_copied(l))
		tell_init(l, false, error);
	_exit(127);
}

/* ---- the way there ------------------------------------------------------- */

/* Where nothing else runs yet.  Sharing memory costs nothing and brings exec's errno
 * back; init sleeps until the exec. */
static pid_t launch_alone(struct launch *l)
{
	return clone(launch_main, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, l);
}

static bool is_stopped(pid_t pid)
{
	siginfo_t si = { .si_pid = 0 };

	return waitid(P_PID, (id_t)pid, &si, WSTOPPED | WNOHANG | WNOWAIT) == 0 && si.si_pid == pid;
}

/* For its exec, or its end: the other end is closed then.  What runs beside it has
 * its uid, so it can stop it, and change it where it can be looked into; neither may
 * hold init up. */
static void wait_for_exec(pid_t pid, int end)
{
	struct pollfd p = { .fd = end, .events = 0 };	/* its end, and not what is told */
	int ready, looks = 0;

	while ((ready = poll(&p, 1, LOOK_MS)) == 0 && ++looks < MAX_LOOKS && !is_stopped(pid))
		;
	if (ready > 0)
		return;
	kill(pid, SIGKILL);
	waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT);
}

/* What the copy told.  Whoever said so, from here on it is true. */
static void hear(struct launch *l, int end, pid_t pid)
{
	struct told told;

	while (recv(end, &told, sizeof(told), MSG_DONTWAIT) == (ssize_t)sizeof(told)) {
		if (told.is_group && told.value > 1) {
			l->group = told.value;
		} else if (!told.is_group) {
			l->error = told.value;
			kill(pid, SIGKILL);
		}
	}
}

/* Beside others.  A copy of init that anybody may look into, where executions are
 * judged: whoever judges looks into the one who calls; or one that stays, to lead.
 * Elsewhere it shares our memory, and nobody can look into it before the exec.
 * A socket, and no pipe: it cannot be opened by /proc. */
static pid_t launch_beside(struct launch *l)
{
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	l->told = ends[1];
	if (is_copied(l)) {
		pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		if (pid == 0)
			_exit(launch_main(l));
	} else {
		pid = clone(launch_main, stack + sizeof(stack), CLONE_VM | SIGCHLD, l);
	}
	close(ends[1]);
	if (pid > 0)
		wait_for_exec(pid, ends[0]);
	if (pid > 0 && is_copied(l))
		hear(l, ends[0], pid);
	close(ends[0]);
	return pid;
}

pid_t launch(struct launch *l)
{
	return l->streams || l->judged ? launch_beside(l) : launch_alone(l);
}
