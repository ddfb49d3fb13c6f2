/* The filter in the kernel: it loads, what it refuses is refused, and programs
 * run under it.
 *
 * Each refusal is tried outside first, with arguments that the kernel answers
 * in another way than the filter does: so it is the filter that refuses inside.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "plan/seccomp.h"
#include "tap.h"

static const struct seccomp_options strict = { .inet = true };

/* Compiled before the fork, as a supervisor does. */
static struct sock_fprog compile(const struct seccomp_options *o, struct arena *a)
{
	struct sock_filter *code;
	struct cordon_err err;
	size_t n;

	if (seccomp_compile(o, a, &code, &n, &err) < 0) {
		printf("# %s\n", err.msg);
		exit(1);
	}
	return (struct sock_fprog){ (unsigned short)n, code };
}

/* Run a part in a child, under the filter if there is one: its result, 0 to
 * 255, or -1.  The child leaves by _exit, since a leak checker would ptrace. */
static int run_part(int (*part)(void), const struct sock_fprog *filter)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (filter && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
			       syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, filter)))
			_exit(254);
		_exit(part());
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static int run_confined(int (*part)(void), const struct seccomp_options *o)
{
	struct arena a = ARENA(1u << 20);
	struct sock_fprog filter = compile(o, &a);
	int result = run_part(part, &filter);

	arena_release(&a);
	return result;
}

/* The errno of one call, 0 if it worked. */
#define ERRNO_OF(call)	(errno = 0, (long)(call) < 0 ? errno : 0)

static int try_tiocsti(void)
{
	return ERRNO_OF(ioctl(-1, TIOCSTI, "x"));
}

static int try_tioclinux_wide(void)
{
	return ERRNO_OF(syscall(SYS_ioctl, -1, TIOCLINUX | 0xdead00000000, NULL));
}

static int try_unshare(void)
{
	return ERRNO_OF(syscall(SYS_unshare, CLONE_NEWUSER | CLONE_PARENT_SETTID));
}

static int try_clone(void)
{
	return ERRNO_OF(syscall(SYS_clone, CLONE_NEWUSER | CLONE_FS, 0, 0, 0, 0));
}

static int try_clone3(void)
{
	return ERRNO_OF(syscall(SYS_clone3, NULL, 0));
}

static int try_setns(void)
{
	return ERRNO_OF(setns(-1, 0));
}

static int try_mount(void)
{
	return ERRNO_OF(syscall(SYS_mount, 1, 1, 1, 0, 0));
}

static int try_io_uring(void)
{
	return ERRNO_OF(syscall(SYS_io_uring_setup, 1, NULL));
}

static int try_keyctl(void)
{
	return ERRNO_OF(syscall(SYS_keyctl, 0, -3, 0));
}

static int try_ptrace(void)
{
	return ERRNO_OF(syscall(SYS_ptrace, 16, 0, 0, 0));
}

static int try_vsock(void)
{
	return ERRNO_OF(socket(AF_VSOCK, 77, 0));
}

static int try_alg(void)
{
	return ERRNO_OF(socket(AF_ALG, 77, 0));
}

static int try_raw(void)
{
	return ERRNO_OF(socket(AF_INET, SOCK_RAW | 0x100, 6));
}

static int try_openat2(void)
{
	return ERRNO_OF(syscall(SYS_openat2, -1, "x", NULL, 0));
}

static int try_setuid_file(void)
{
	return ERRNO_OF(fchmod(-1, 04755));
}

static int try_device(void)
{
	return ERRNO_OF(mknodat(-1, "x", S_IFCHR | 0600, 0));
}

static int try_listener(void)
{
	return ERRNO_OF(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
				SECCOMP_FILTER_FLAG_NEW_LISTENER, NULL));
}

static int try_memfd(void)
{
	return ERRNO_OF(syscall(SYS_memfd_create, NULL, 0));
}

static int try_unknown(void)
{
	return ERRNO_OF(syscall(1000));
}

static int try_x32(void)
{
	return ERRNO_OF(syscall(0x40000000 | SYS_getppid));
}

static void test_refused_calls_are_refused(void)
{
	static const struct {
		const char *name;
		int (*part)(void);
		int inside, outside;	/* outside -1: the same without a filter */
	} acts[] = {
		{ "TIOCSTI", try_tiocsti, EPERM, EBADF },
		{ "TIOCLINUX with a full upper half", try_tioclinux_wide, EPERM, EBADF },
		{ "unshare", try_unshare, EPERM, EINVAL },
		{ "clone", try_clone, EPERM, EINVAL },
		{ "clone3", try_clone3, ENOSYS, EINVAL },
		{ "setns", try_setns, EPERM, EBADF },
		{ "mount", try_mount, EPERM, EFAULT },
		{ "io_uring", try_io_uring, ENOSYS, EFAULT },
		{ "keyctl", try_keyctl, ENOSYS, 0 },
		{ "ptrace", try_ptrace, EPERM, ESRCH },
		{ "AF_VSOCK", try_vsock, EAFNOSUPPORT, EINVAL },
		{ "AF_ALG", try_alg, EAFNOSUPPORT, EINVAL },
		{ "raw sockets", try_raw, EPERM, EINVAL },
		{ "openat2", try_openat2, ENOSYS, EINVAL },
		{ "set-user-id files", try_setuid_file, EPERM, EBADF },
		{ "devices", try_device, EPERM, EBADF },
		{ "a second listener", try_listener, EBUSY, EFAULT },
		{ "memfd_create", try_memfd, ENOSYS, EFAULT },
		{ "an unknown number", try_unknown, ENOSYS, -1 },
		{ "an x32 number", try_x32, ENOSYS, -1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(acts); i++) {
		int outside = run_part(acts[i].part, NULL);

		is_int(run_confined(acts[i].part, &strict), acts[i].inside, "%s", acts[i].name);
		if (acts[i].outside >= 0)
			is_int(outside, acts[i].outside, "%s outside", acts[i].name);
	}
}

static void *in_thread(void *arg)
{
	*(int *)arg = 7;
	return NULL;
}

/* Needs glibc's way back from clone3 to clone. */
static int use_threads(void)
{
	pthread_t thread;
	int seen = 0;

	if (pthread_create(&thread, NULL, in_thread, &seen) || pthread_join(thread, NULL))
		return 1;
	return seen == 7 ? 0 : 2;
}

static int use_children(void)
{
	char *const argv[] = { (char[]){ "true" }, NULL };
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(3);
	if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 3)
		return 1;
	if (posix_spawnp(&pid, "true", NULL, NULL, argv, environ) ||
	    waitpid(pid, &status, 0) != pid)
		return 2;
	return status != 0;
}

static int use_sockets(void)
{
	static const int kinds[][3] = {
		{ AF_UNIX, SOCK_STREAM, 0 }, { AF_UNIX, SOCK_SEQPACKET, 0 },
		{ AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0 }, { AF_INET, SOCK_DGRAM, 17 },
		{ AF_NETLINK, SOCK_RAW, 0 },
	};
	int pair[2];

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (socket(kinds[i][0], kinds[i][1], kinds[i][2]) < 0)
			return 1 + (int)i;
	return socketpair(AF_UNIX, SOCK_STREAM, 0, pair) ? 10 : 0;
}

/* Told that it worked, and nothing changed. */
static int use_buffers(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), before, after, wanted = 1 << 20;
	socklen_t n = sizeof(before);

	if (getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &before, &n) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &wanted, sizeof(wanted)) ||
	    getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &after, &n))
		return 1;
	return before == after ? 0 : 2;
}

static int use_memory(void)
{
	void *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mprotect(p, 4096, PROT_READ) || munmap(p, 1 << 20))
		return 1;
	return 0;
}

static int use_files(void)
{
	char name[] = "/tmp/cordon-seccomp-XXXXXX";
	int fd = mkstemp(name);

	if (fd < 0)
		return 1;
	if (fchmod(fd, 0755) || unlink(name) || mkdir(name, 0700) || rmdir(name))
		return 2;
	return 0;
}

static void test_ordinary_calls_work(void)
{
	is_int(run_confined(use_threads, &strict), 0, "threads");
	is_int(run_confined(use_children, &strict), 0, "children");
	is_int(run_confined(use_sockets, &strict), 0, "sockets");
	is_int(run_confined(use_buffers, &strict), 0, "buffers are left alone");
	is_int(run_part(use_buffers, NULL), 2, "and grow without a filter");
	is_int(run_confined(use_memory, &strict), 0, "memory");
	is_int(run_confined(use_files, &strict), 0, "files");
}

static int no_inet(void)
{
	return ERRNO_OF(socket(AF_INET, SOCK_DGRAM, 0));
}

static void test_options_reach_the_kernel(void)
{
	is_int(run_confined(no_inet, &(struct seccomp_options){ .inet = false }), EACCES,
	       "no inet");
	is_int(run_confined(try_memfd, &(struct seccomp_options){ .memfd = true }), EFAULT,
	       "memfd");
	is_int(run_confined(try_ptrace, &(struct seccomp_options){ .ptrace = true }), ESRCH,
	       "ptrace");
	is_int(run_confined(try_unshare, &(struct seccomp_options){ .namespaces = true }), EINVAL,
	       "namespaces");
}

/* A foreign call does not come back. */
static int call_i386(void)
{
#ifdef __x86_64__
	long result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(20L)
			 : "memory", "r8", "r9", "r10", "r11");
	return result > 0 ? 0 : 1;
#else
	return 0;
#endif
}

static void test_foreign_calls_kill(void)
{
#ifdef __x86_64__
	if (run_part(call_i386, NULL) != 0)
		skip("this kernel has no i386 calls");
	is_int(run_confined(call_i386, &strict), -1, "int 0x80 kills");
#else
	is_int(call_i386(), 0, "there is only one table here");
#endif
}

#define N_ARGS	4
static const char *const *program;

static int start_program(void)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	char *argv[N_ARGS];

	dup2(fd, 1);
	memcpy(argv, program, sizeof(argv));
	execvp(argv[0], argv);
	return 253;
}

/* Those that are there run as they do without a filter. */
static void test_programs_run(void)
{
	static const char *const programs[][N_ARGS] = {
		{ "ls", "-lR", "/proc/self/task", NULL },
		{ "sh", "-c", "echo $(id -u) | cat", NULL },
		{ "/usr/bin/python3", "-c",
		  "import threading, subprocess, socket, tempfile, multiprocessing as m\n"
		  "t = threading.Thread(target=print); t.start(); t.join()\n"
		  "subprocess.run(['true'], check=True)\n"
		  "a = socket.socketpair(); a[0].sendall(b'x'); assert a[1].recv(1) == b'x'\n"
		  "with m.Pool(2) as p: assert p.map(abs, [-1, -2]) == [1, 2]\n"
		  "tempfile.TemporaryFile().write(b'x')\n", NULL },
		{ "sh", "-c", "echo 'int main(void){return 0;}' | gcc -xc -o /dev/null -", NULL },
		{ "node", "-e", "require('fs').promises.readdir('/').then(() => process.exit(0))",
		  NULL },
		{ "git", "--version", NULL },
		{ "java", "--version", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		int outside;

		program = programs[i];
		outside = run_part(start_program, NULL);
		if (outside != 0)
			printf("# %s (%zu) is not here; not tried\n", program[0], i);
		else
			is_int(run_confined(start_program, &strict), 0, "%s (%zu)", program[0], i);
	}
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_refused_calls_are_refused), TAP(test_ordinary_calls_work),
		TAP(test_options_reach_the_kernel), TAP(test_foreign_calls_kill),
		TAP(test_programs_run), TAP_END });
}
