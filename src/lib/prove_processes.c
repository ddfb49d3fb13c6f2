/* Acts on processes and the kernel: P3. */
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "lib/prove.h"

#define NOBODY		65534
#define DAEMON_MS	5000	/* the longest that a survivor lives */

static int see_process(const struct prove_place *p, struct cordon_err *say)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d", p->pid);
	return access(path, F_OK) == 0 ? 0 : err_sys(say, CORDON_E_SETUP, "access");
}

static int signal_process(const struct prove_place *p, struct cordon_err *say)
{
	return kill(p->pid, 0) == 0 ? 0 : err_sys(say, CORDON_E_SETUP, "kill");
}

static int trace_process(const struct prove_place *p, struct cordon_err *say)
{
	return ptrace(PTRACE_SEIZE, p->pid, NULL, NULL) == 0
		       ? 0
		       : err_sys(say, CORDON_E_SETUP, "ptrace");
}

/* A place that is not there in it is an answer as well. */
static int read_memory(const struct prove_place *p, struct cordon_err *say)
{
	char byte;
	struct iovec mine = { &byte, 1 }, other = { environ[0], 1 };

	return process_vm_readv(p->pid, &mine, 1, &other, 1, 0) == 1 || errno == EFAULT
		       ? 0
		       : err_sys(say, CORDON_E_SETUP, "process_vm_readv");
}

static int open_init_memory(const struct prove_place *p, struct cordon_err *say)
{
	cleanup_fd int fd = open("/proc/1/mem", O_RDONLY | O_CLOEXEC);

	(void)p;
	return fd < 0 ? err_sys(say, CORDON_E_SETUP, "open") : 0;
}

static int new_userns(const struct prove_place *p, struct cordon_err *say)
{
	(void)p;
	return unshare(CLONE_NEWUSER) == 0 ? 0 : err_sys(say, CORDON_E_SETUP, "unshare");
}

/* Nothing of it shows on the host: with whatever namespace can be had. */
static int mount_tmpfs(const struct prove_place *p, struct cordon_err *say)
{
	if (unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return err_sys(say, CORDON_E_SETUP, "unshare");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", prove_path(p, "work"), "tmpfs", 0, "size=4k") < 0)
		return err_sys(say, CORDON_E_SETUP, "mount");
	return 0;
}

static int io_uring(const struct prove_place *p, struct cordon_err *say)
{
	char params[256] = { 0 };
	cleanup_fd int fd = (int)syscall(SYS_io_uring_setup, 1, params);

	(void)p;
	return fd < 0 ? err_sys(say, CORDON_E_SETUP, "io_uring_setup") : 0;
}

static int add_key(const struct prove_place *p, struct cordon_err *say)
{
	(void)p;
	return syscall(SYS_add_key, "user", "cordon-prove", "x", 1, KEY_SPEC_PROCESS_KEYRING) < 0
		       ? err_sys(say, CORDON_E_SETUP, "add_key")
		       : 0;
}

static int perf_counter(const struct prove_place *p, struct cordon_err *say)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(attr),
					.config = PERF_COUNT_SW_TASK_CLOCK, .exclude_kernel = 1,
					.exclude_hv = 1 };
	cleanup_fd int fd =
		(int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	(void)p;
	return fd < 0 ? err_sys(say, CORDON_E_SETUP, "perf_event_open") : 0;
}

static int open_terminal(void)
{
	cleanup_fd int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	char name[64];

	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0 ||
	    ptsname_r(master, name, sizeof(name)) != 0)
		return -1;
	/* Kept until the act ends. */
	if (fcntl(master, F_DUPFD_CLOEXEC, 0) < 0)
		return -1;
	return open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
}

/* A byte typed into a terminal of one's own: the controlling one. */
static int type_terminal(const struct prove_place *p, struct cordon_err *say)
{
	int fd = open_terminal();

	(void)p;
	if (fd < 0)
		return err_sys(say, CORDON_E_SETUP, "a terminal");
	setsid();
	if (ioctl(fd, TIOCSCTTY, 0) < 0 || ioctl(fd, TIOCSTI, "x") < 0)
		return err_sys(say, CORDON_E_SETUP, "TIOCSTI");
	return 0;
}

static int wait_for(pid_t pid, struct cordon_err *say)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return err_sys(say, CORDON_E_SETUP, "fork");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return err_set(say, CORDON_E_SETUP, "%s",
		       WIFEXITED(status) && WEXITSTATUS(status) < 100
			       ? err_text(WEXITSTATUS(status))
			       : "the child failed");
}

/* Its exit code is errno, which fits. */
static pid_t start_program(const char *path, const char *act, unsigned uid)
{
	char *const argv[] = { (char *)(uintptr_t)path, (char *)(uintptr_t)"prove-act",
			       (char *)(uintptr_t)act, NULL };
	struct cordon_err err;
	pid_t pid = fork();

	if (pid == 0) {
		if (uid == geteuid() || setresuid(uid, uid, uid) == 0)
			execvp(path, argv);
		err_sys(&err, CORDON_E_SETUP, "exec");
		_exit(err.sys);
	}
	return pid;
}

static int blocked_program(const struct prove_place *p, struct cordon_err *say)
{
	(void)p;
	return wait_for(start_program("prove-tool", "nothing", geteuid()), say);
}

/* A program of root's that runs as its owner, started by somebody else. */
static int setuid_program(const struct prove_place *p, struct cordon_err *say)
{
	return wait_for(start_program(prove_path(p, "work/raised"), "is-root", NOBODY), say);
}

static int is_root(const struct prove_place *p, struct cordon_err *say)
{
	(void)p;
	return geteuid() == 0 ? 0 : err_set(say, CORDON_E_SETUP, "not root");
}

/* Holds a lock until the file is gone: whoever finds it locked finds it alive. */
static _Noreturn void daemon_main(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	setsid();
	signal(SIGHUP, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || write(fd, "x", 1) != 1)
		_exit(1);
	for (int i = 0; i < DAEMON_MS / 10 && access(path, F_OK) == 0; i++)
		usleep(10000);
	_exit(0);
}

static int leave_daemon(const struct prove_place *p, struct cordon_err *say)
{
	const char *path = prove_path(p, "work/daemon");
	pid_t pid = fork();

	if (pid == 0) {
		if (fork() == 0) {
			for (int fd = 0; fd < 3; fd++)
				close(fd);
			daemon_main(path);
		}
		_exit(0);
	}
	if (wait_for(pid, say) < 0)
		return -1;
	for (int i = 0; i < 500; i++) {
		cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
		char byte;

		if (fd >= 0 && read(fd, &byte, 1) == 1)
			return 0;
		usleep(2000);
	}
	return err_set(say, CORDON_E_SETUP, "it did not start");
}

/* ---- what must work ----------------------------------------------------- */

static int own_child(const struct prove_place *p, struct cordon_err *say)
{
	pid_t pid = fork();
	int status;

	(void)p;
	if (pid == 0) {
		pause();
		_exit(0);
	}
	if (pid < 0 || kill(pid, SIGTERM) < 0 || waitpid(pid, &status, 0) != pid)
		return err_sys(say, CORDON_E_SETUP, "fork, kill, wait");
	return 0;
}

static int own_program(const struct prove_place *p, struct cordon_err *say)
{
	(void)p;
	return wait_for(start_program("prove-tool", "nothing", geteuid()), say);
}

static int own_terminal(const struct prove_place *p, struct cordon_err *say)
{
	cleanup_fd int fd = open_terminal();

	(void)p;
	return fd < 0 ? err_sys(say, CORDON_E_SETUP, "posix_openpt") : 0;
}

static int nothing(const struct prove_place *p, struct cordon_err *say)
{
	(void)p;
	(void)say;
	return 0;
}

/* The witness. */
static int wait_for_signal(const struct prove_place *p, struct cordon_err *say)
{
	(void)p;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Any process of the same user may trace it, as without Yama. */
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	if (write(1, "x", 1) != 1)
		return err_sys(say, CORDON_E_SETUP, "write");
	close(1);
	return pause();
}

const struct probe probes_processes[] = {
	{ "P3", PROBE_ADMITTED, "nothing", "run a program", nothing, { 0 } },
	{ "P3", PROBE_REFUSED, "see-process", "see a process of the host", see_process, { 0 } },
	{ "P3", PROBE_REFUSED, "signal-process", "signal a process of the host", signal_process,
	  { 0 } },
	{ "P3", PROBE_REFUSED, "trace-process", "trace a process of the host", trace_process,
	  { 0 } },
	{ "P3", PROBE_REFUSED, "read-memory", "read the memory of a process of the host",
	  read_memory, { 0 } },
	{ "P3", PROBE_REFUSED, "init-memory", "open the memory of pid 1", open_init_memory,
	  { 0 } },
	{ "P3", PROBE_REFUSED, "userns", "make a user namespace", new_userns, { 0 } },
	{ "P3", PROBE_REFUSED, "mount", "mount a file system", mount_tmpfs, { 0 } },
	{ "P3", PROBE_REFUSED, "io-uring", "make an io_uring", io_uring, { 0 } },
	{ "P3", PROBE_REFUSED, "keyring", "put a key into a keyring of the kernel", add_key,
	  { 0 } },
	{ "P3", PROBE_REFUSED, "perf", "open a performance counter", perf_counter, { 0 } },
	{ "P3", PROBE_REFUSED, "tiocsti", "type into the terminal", type_terminal, { 0 } },
	{ "P3", PROBE_REFUSED, "setuid", "become root by a set-user-id program", setuid_program,
	  { 0 } },
	{ "P3", PROBE_REFUSED, "blocked-command", "execute a blocked command", blocked_program,
	  { "--block-command", "prove-tool" } },
	{ "P3", PROBE_LEFT, "daemon", "leave a process behind", leave_daemon, { 0 } },
	{ "P3", PROBE_ADMITTED, "own-child", "fork, signal and wait for a child", own_child,
	  { 0 } },
	{ "P3", PROBE_ADMITTED, "own-program", "execute a program of the workspace", own_program,
	  { 0 } },
	{ "P3", PROBE_ADMITTED, "own-terminal", "open a terminal", own_terminal, { 0 } },
	/* Started by others, and no rows of the report. */
	{ NULL, PROBE_REFUSED, "wait", NULL, wait_for_signal, { 0 } },
	{ NULL, PROBE_REFUSED, "is-root", NULL, is_root, { 0 } },
	{ 0 },
};
