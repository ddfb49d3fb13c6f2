/* From a command to its process; runs in init, when everything is taken away.
 *
 * Whatever is started here has all of init's confinement by being its child.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "backend/native/init_priv.h"
#include "backend/native/syscalls.h"

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

/* Within what init itself may have. */
static void lower(int which, int64_t value)
{
	struct rlimit now;

	if (value == INT64_MAX || getrlimit((__rlimit_resource_t)which, &now) < 0 ||
	    (rlim_t)value >= now.rlim_max)
		return;
	now.rlim_cur = now.rlim_max = (rlim_t)value;
	setrlimit((__rlimit_resource_t)which, &now);
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
	lower(RLIMIT_FSIZE, c->file_size);
	lower(RLIMIT_NOFILE, c->open_files);
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

	if (told > 3 && syscall(SYS_close_range, 3, told - 1, 0) < 0)
		return false;
	return syscall(SYS_close_range, told + 1, ~0u, 0) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
}

static int launch_main(void *arg)
{
	struct launch *l = arg;
	bool settled = true;
	sigset_t mask;
	int error = 0;

	/* What the caller ignores stays ignored, as with every program. */
	sigfillset(&mask);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	if (l->streams) {
		settled = settle(l);
		error = settled ? 0 : errno;
	} else if (l->command->io.controlling) {
		setpgid(0, 0);
		tcsetpgrp(0, getpid());
	} else {
		setsid();
	}
	sigemptyset(&mask);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	if (settled && l->told >= 0 && !show(l))
		_exit(127);
	error = settled ? execute(l->command) : -error;
	l->error = error;
	if (l->told >= 0)
		(void)!write(l->told, &error, sizeof(error));
	_exit(127);
}

/* Whoever judges executions looks into the one who calls: not into our memory,
 * but into a copy that anybody may look into, and that is gone with the exec. */
static pid_t launch_apart(struct launch *l)
{
	int ends[2], error = 0;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0) {
		l->told = ends[1];
		_exit(launch_main(l));
	}
	close(ends[1]);
	while (read(ends[0], &error, sizeof(error)) < 0 && errno == EINTR)
		;
	close(ends[0]);
	l->error = error;
	return pid;
}

pid_t launch(struct launch *l)
{
	static char stack[64 << 10] __attribute__((aligned(16)));

	if (l->judged)
		return launch_apart(l);

	/* Sharing memory costs nothing and brings exec's errno back; init sleeps
	 * until the exec. */
	return clone(launch_main, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, l);
}
