/* One act by its name, for tests/suite/attack: exits 0 if it could be done, 1 if
 * it was refused, 2 for a name that is not known. */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macros.h"

static const char *arg;

static long make_socket(int domain, int type, int protocol)
{
	return socket(domain, type, protocol);
}

static long vsock(void) { return make_socket(AF_VSOCK, SOCK_STREAM, 0); }
static long raw(void) { return make_socket(AF_INET, SOCK_RAW, IPPROTO_TCP); }
static long packet(void) { return make_socket(AF_PACKET, SOCK_RAW, 0); }
static long audit(void) { return make_socket(AF_NETLINK, SOCK_RAW, 9); }
static long generic(void) { return make_socket(AF_NETLINK, SOCK_RAW, 16); }
static long uevent(void) { return make_socket(AF_NETLINK, SOCK_RAW, 15); }
static long diag(void) { return make_socket(AF_NETLINK, SOCK_RAW, 4); }

static long uring(void)
{
	char params[120] = { 0 };

	return syscall(SYS_io_uring_setup, 1, params);
}

static long key(void)
{
	return syscall(SYS_add_key, "user", "cordon-attack", "x", 1, -2 /* of the process */);
}

static long keyring(void)
{
	return syscall(SYS_keyctl, 0 /* get the id */, -3 /* of the session */, 0);
}

static long bpf(void)
{
	uint32_t attr[32] = { 2 /* array */, 4, 4, 1 };

	return syscall(SYS_bpf, 0 /* make a map */, attr, sizeof(attr));
}

static long perf(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(attr),
					.exclude_kernel = 1, .exclude_hv = 1 };

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static long fault(void) { return syscall(SYS_userfaultfd, 1 /* user mode only */); }
static long secret(void) { return syscall(SYS_memfd_secret, 0); }
static long notify(void) { return syscall(SYS_fanotify_init, 0x200 /* names */, O_RDONLY); }
static long kernel_log(void) { return syscall(SYS_syslog, 10 /* size */, NULL, 0); }
static long new_user(void) { return unshare(CLONE_NEWUSER); }
static long new_net(void) { return unshare(CLONE_NEWUSER | CLONE_NEWNET); }
static long new_mount(void) { return unshare(CLONE_NEWNS); }
static long new_ipc(void) { return unshare(CLONE_NEWIPC); }

/* Of a child, so that nothing of this process is shared. */
static long own_namespace(void)
{
	int fd = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -1 : setns(fd, CLONE_NEWUTS);
}

static long clone_user(void)
{
	struct clone_args args = { .flags = CLONE_NEWUSER, .exit_signal = SIGCHLD };
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		_exit(0);
	return pid < 0 ? -1 : waitpid((pid_t)pid, NULL, 0);
}

static long old_clone_user(void)
{
	long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	return pid < 0 ? -1 : waitpid((pid_t)pid, NULL, 0);
}

static long change_root(void) { return chroot("."); }
static long fs_open(void) { return syscall(SYS_fsopen, "tmpfs", 0); }
static long tree_clone(void) { return syscall(SYS_open_tree, AT_FDCWD, ".", 1 /* clone */); }

static long mount_here(void)
{
	if (mount("none", ".", "tmpfs", 0, "size=4k") < 0)
		return -1;
	return umount2(".", MNT_DETACH);
}

static long handle(void)
{
	struct {
		struct file_handle head;
		char room[128];
	} h = { .head.handle_bytes = 128 };
	int id;

	return name_to_handle_at(AT_FDCWD, ".", &h.head, &id, 0);
}

static long open_handle(void)
{
	struct {
		struct file_handle head;
		char room[128];
	} h = { .head.handle_bytes = 128 };
	int id, dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	/* Where the first call is refused too, the second is tried all the same. */
	(void)!name_to_handle_at(AT_FDCWD, ".", &h.head, &id, 0);
	return open_by_handle_at(dir, &h.head, O_RDONLY);
}

static pid_t waiting_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

static long trace(void)
{
	pid_t pid = waiting_child();
	long rc = ptrace(PTRACE_SEIZE, pid, 0, 0);

	kill(pid, SIGKILL);
	return rc;
}

static long read_other(void)
{
	pid_t pid = waiting_child();
	static char theirs[8] = "secret";
	char mine[8];
	struct iovec local = { mine, 8 }, remote = { theirs, 8 };
	long rc = process_vm_readv(pid, &local, 1, &remote, 1, 0);

	kill(pid, SIGKILL);
	return rc;
}

static long take_fd(void)
{
	pid_t pid = waiting_child();
	long fd = syscall(SYS_pidfd_open, pid, 0), rc = syscall(SYS_pidfd_getfd, fd, 0, 0);

	kill(pid, SIGKILL);
	return rc;
}

static long i386(void)
{
#ifdef __x86_64__
	long rc;

	__asm__ volatile("int $0x80" : "=a"(rc) : "a"(20L /* getpid of i386 */) : "memory");
	return rc == getpid() ? 0 : -1;
#else
	return -1;
#endif
}

static long listener(void)
{
	struct { unsigned short n; void *code; } prog;
	uint64_t allow = (uint64_t)0x7fff0000 << 32 | 0x06;

	prog.n = 1;
	prog.code = &allow;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
		       &prog);
}

static long discipline(void)
{
	int line = 0, fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);

	return ioctl(fd, TIOCSETD, &line);
}

/* The high half of the number is not looked at by the kernel. */
static long type_into(void)
{
	int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);

	return syscall(SYS_ioctl, fd, (uint64_t)1 << 32 | TIOCSTI, "x");
}

static long set_id(void)
{
	close(open("x", O_CREAT | O_WRONLY | O_CLOEXEC, 0755));
	return chmod("x", 04755);
}

static long set_id_at_birth(void) { return open("y", O_CREAT | O_WRONLY | O_CLOEXEC, 04755); }
static long node(void) { return mknod("node", S_IFCHR | 0600, 0x103); }
static long read_file(void) { return open(arg, O_RDONLY | O_CLOEXEC); }
static long write_file(void) { return open(arg, O_WRONLY | O_CLOEXEC); }
static long path_only(void)
{
	char here[64], byte;
	int fd = open(arg, O_PATH | O_CLOEXEC);

	snprintf(here, sizeof(here), "/proc/self/fd/%d", fd);
	fd = open(here, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -1 : read(fd, &byte, 1);
}

/* A file without a name that gets one later. */
static long nameless(void)
{
	char here[64];
	int fd = open(".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

	snprintf(here, sizeof(here), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, here, AT_FDCWD, arg, AT_SYMLINK_FOLLOW);
}

static long exchange(void)
{
	close(open("z", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
	return renameat2(AT_FDCWD, "z", AT_FDCWD, arg, RENAME_EXCHANGE);
}

static long big_segment(void)
{
	int id = shmget(IPC_PRIVATE, 64 << 20, 0600);
	char *at = id < 0 ? (char *)-1 : shmat(id, NULL, 0);

	if (at == (char *)-1)
		return -1;
	shmctl(id, IPC_RMID, NULL);
	memset(at, 1, 64 << 20);
	return 0;
}

/* Executing what is judged as one thing and is another when the kernel looks:
 * `touch mark` is the one that must not be.  The words lie in memory that
 * somebody else writes to all the time. */
struct race {
	char path[32], word[8];
	char *argv[3];
};

static struct race *race_new(void)
{
	struct race *r = mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			      -1, 0);
	static char name[] = "x";

	if (r == MAP_FAILED)
		_exit(1);
	*r = (struct race){ "/usr/bin/touch", "harm", { name, r->word, NULL } };
	return r;
}

static void flip_word(struct race *r) { memcpy(r->word, r->word[0] == 'h' ? "mark" : "harm", 4); }

static void flip_path(struct race *r)
{
	memcpy(r->word, "mark", 4);
	memcpy(r->path + 9, r->path[9] == 't' ? "false" : "touch", 5);
}

static void flip_link(struct race *r)
{
	const char *to = r->path[9] == 't' ? "/usr/bin/false" : "/usr/bin/touch";

	if (symlink(to, "new") == 0 && rename("new", "link") == 0)
		memcpy(r->path + 9, to + 9, 5);
	memcpy(r->word, "mark", 4);
}

static long race(void (*flip)(struct race *), const char *path)
{
	struct race *r = race_new();
	pid_t flipper = fork(), pid;

	if (flipper == 0)
		for (;;)
			flip(r);
	for (int i = 0; i < 600 && access("mark", F_OK) < 0; i++) {
		pid = fork();
		if (pid == 0) {
			execve(path ? path : r->path, r->argv, (char *[]){ NULL });
			_exit(1);
		}
		waitpid(pid, NULL, 0);
	}
	kill(flipper, SIGKILL);
	waitpid(flipper, NULL, 0);
	return access("mark", F_OK);
}

static long race_word(void) { return race(flip_word, "/usr/bin/touch"); }
static long race_path(void) { return race(flip_path, NULL); }
static long race_link(void) { return race(flip_link, "link"); }

static void *exec_in_thread(void *of)
{
	struct race *r = of;

	execve(r->path, r->argv, (char *[]){ NULL });
	_exit(1);
}

/* The thread that is not the first one executes, the first one writes. */
static long race_thread(void)
{
	struct race *r = race_new();

	for (int i = 0; i < 600 && access("mark", F_OK) < 0; i++) {
		pid_t pid = fork();
		pthread_t thread;

		if (pid == 0) {
			if (pthread_create(&thread, NULL, exec_in_thread, r) != 0)
				_exit(1);
			for (;;)
				flip_word(r);
		}
		waitpid(pid, NULL, 0);
	}
	return access("mark", F_OK);
}

/* A program without a file: it is whatever its first name says. */
static long nameless_program(void)
{
	int from = open("/usr/bin/touch", O_RDONLY | O_CLOEXEC);
	char name[] = "touch", word[] = "mark";
	int fd = open(".", O_TMPFILE | O_RDWR, 0700), again;
	char here[64], bytes[4096];
	ssize_t n;

	while ((n = read(from, bytes, sizeof(bytes))) > 0)
		if (write(fd, bytes, (size_t)n) != n)
			return -1;
	snprintf(here, sizeof(here), "/proc/self/fd/%d", fd);
	again = open(here, O_RDONLY | O_CLOEXEC);
	close(fd);
	return syscall(SYS_execveat, again, "", (char *[]){ name, word, NULL },
		       (char *[]){ NULL }, AT_EMPTY_PATH);
}

/* --- what a list of processes does not show at first sight --- */

#define HELD_MB	300

static void *touch_in_thread(void *of UNUSED)
{
	usleep(100000);
	for (int i = 0; i < HELD_MB; i++) {
		char *at = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (at == MAP_FAILED)
			_exit(1);
		memset(at, 1, 1 << 20);
		usleep(3000);
	}
	_exit(0);
}

static void *write_in_thread(void *of UNUSED)
{
	static char bytes[1 << 20];
	int fd;

	if (unshare(CLONE_FILES) < 0)
		_exit(1);
	fd = open(".", O_TMPFILE | O_RDWR, 0600);
	for (int i = 0; i < 60; i++)
		if (write(fd, bytes, sizeof(bytes)) != sizeof(bytes))
			_exit(1);
	sleep(3);
	_exit(0);
}

/* The other thread goes on when the first has ended; the process ends with it. */
static long end_first(void *(*other)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, other, NULL) != 0)
		return -1;
	return syscall(SYS_exit, 0);
}

static long thread_memory(void) { return end_first(touch_in_thread); }
static long thread_files(void) { return end_first(write_in_thread); }

static long free_mb(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	char line[128];
	long kb = 0;

	while (f && fgets(line, sizeof(line), f) && sscanf(line, "MemAvailable: %ld", &kb) != 1)
		;
	if (f)
		fclose(f);
	return kb / 1024;
}

/* One byte of each huge page goes into a pipe, and the page with it. */
static bool hold_huge_pages(void)
{
	int fds[2];

	for (int i = 0; i < HELD_MB / 2; i++) {
		char *at = mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		char *page = (char *)(((uintptr_t)at + (2 << 20) - 1) & ~((2ul << 20) - 1));
		struct iovec one = { .iov_base = page, .iov_len = 1 };

		if (at == MAP_FAILED || (i % 16 == 0 && pipe(fds) < 0))
			return false;
		madvise(page, 2 << 20, MADV_HUGEPAGE);
		memset(page, 1, 2 << 20);
		if (vmsplice(fds[1], &one, 1, 0) != 1)
			return false;
		munmap(at, 4 << 20);
	}
	return true;
}

/* Others may free as much at the same time: then it is tried again. */
static long huge_pages(void)
{
	for (int i = 0; i < 4; i++) {
		long before = free_mb();

		if (!hold_huge_pages())
			return -1;
		usleep(100000);
		if (before - free_mb() > HELD_MB / 2)
			return 0;
	}
	return -1;
}

static long requests(void)
{
	unsigned long context = 0;

	return syscall(SYS_io_setup, 9000, &context);
}

#define N_LOCK_FILES	600
#define N_LOCKS		1000	/* of each; more take longer each time */

/* Every second byte of many files: 110 MB of the kernel's. */
static long locks(void)
{
	for (int i = 0; i < N_LOCK_FILES; i++) {
		int fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

		for (int k = 0; k < N_LOCKS; k++) {
			struct flock one = { .l_type = F_WRLCK, .l_start = 2 * k, .l_len = 1 };

			if (fd < 0 || fcntl(fd, F_SETLK, &one) < 0)
				return -1;
		}
	}
	return strcmp(arg, "hold") == 0 ? sleep(15) : 0;
}

/* What no list of ours would have. */
static long open_locks(void)
{
	struct flock one = { .l_type = F_WRLCK, .l_len = 1 };
	int fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd < 0 ? -1 : fcntl(fd, F_OFD_SETLK, &one);
}

static long shared_files(void)
{
	long pid = syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	return pid < 0 || waitpid((pid_t)pid, NULL, 0) < 0 ? -1 : 0;
}

static const struct {
	const char *name;
	long (*act)(void);
} acts[] = {
	{ "vsock", vsock }, { "raw", raw }, { "packet", packet }, { "audit", audit },
	{ "generic", generic }, { "uevent", uevent }, { "diag", diag }, { "uring", uring },
	{ "key", key }, { "keyring", keyring }, { "bpf", bpf }, { "perf", perf },
	{ "fault", fault }, { "secret", secret }, { "notify", notify },
	{ "kernel-log", kernel_log },
	{ "new-user", new_user }, { "new-net", new_net }, { "new-mount", new_mount },
	{ "new-ipc", new_ipc }, { "own-namespace", own_namespace }, { "clone-user", clone_user },
	{ "old-clone-user", old_clone_user }, { "chroot", change_root }, { "fs-open", fs_open },
	{ "tree-clone", tree_clone }, { "mount", mount_here }, { "handle", handle },
	{ "open-handle", open_handle }, { "trace", trace }, { "read-other", read_other },
	{ "take-fd", take_fd }, { "i386", i386 }, { "listener", listener },
	{ "discipline", discipline }, { "type-into", type_into }, { "set-id", set_id },
	{ "set-id-at-birth", set_id_at_birth }, { "node", node }, { "read", read_file },
	{ "write", write_file }, { "path-only", path_only }, { "nameless", nameless },
	{ "exchange", exchange }, { "big-segment", big_segment },
	{ "race-word", race_word }, { "race-path", race_path }, { "race-link", race_link },
	{ "race-thread", race_thread }, { "nameless-program", nameless_program },
	{ "thread-memory", thread_memory }, { "thread-files", thread_files },
	{ "huge-pages", huge_pages }, { "locks", locks }, { "requests", requests },
	{ "open-locks", open_locks }, { "shared-files", shared_files },
};

int main(int argc, char **argv)
{
	arg = argc > 2 ? argv[2] : ".";
	for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(acts); i++)
		if (strcmp(argv[1], acts[i].name) == 0) {
			if (acts[i].act() >= 0)
				return 0;
			fprintf(stderr, "%s: %s\n", argv[1], strerrordesc_np(errno));
			return 1;
		}
	fprintf(stderr, "there is no act of that name\n");
	return 2;
}
