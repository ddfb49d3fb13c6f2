/* A small cage for tests of the guard; see box.h. */
#include "box.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macros.h"
#include "plan/guard_filter.h"
#include "super/guard.h"
#include "super/run_priv.h"

#if defined(__x86_64__)
#define ARCH	AUDIT_ARCH_X86_64
#else
#define ARCH	AUDIT_ARCH_AARCH64
#endif

#define MAX_FILTER	512
#define MADE		(LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | \
			 LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | \
			 LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK | \
			 LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER)

static _Noreturn void fail(const char *what)
{
	perror(what);
	_exit(125);
}

static int end_of(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* --- the filter, in a line --------------------------------------------------- */

struct code {
	struct sock_filter at[MAX_FILTER];
	unsigned short n;
};

static void emit(struct code *c, struct sock_filter one)
{
	if (c->n == MAX_FILTER)
		fail("filter too long");
	c->at[c->n++] = one;
}

static void load(struct code *c, size_t offset)
{
	emit(c, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void jump(struct code *c, int op, uint32_t k, uint8_t yes, uint8_t no)
{
	emit(c, (struct sock_filter)BPF_JUMP((uint16_t)(BPF_JMP | BPF_K | op), k, yes, no));
}

static void answer(struct code *c, uint32_t action)
{
	emit(c, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

/* nr (and a bit of an argument) => action.  The accumulator holds nr. */
static void rule(struct code *c, int nr, int arg, uint32_t mask, uint32_t except, uint32_t action)
{
	if (arg < 0) {
		jump(c, BPF_JEQ, (uint32_t)nr, 0, 1);
		answer(c, action);
		return;
	}
	jump(c, BPF_JEQ, (uint32_t)nr, 0, 5);
	load(c, offsetof(struct seccomp_data, args) + 8u * (unsigned)arg);
	jump(c, BPF_JSET, except, 2, 0);
	jump(c, BPF_JSET, mask, 0, 1);
	answer(c, action);
	answer(c, SECCOMP_RET_ALLOW);
}

static void compile(struct code *c)
{
	load(c, offsetof(struct seccomp_data, arch));
	jump(c, BPF_JEQ, ARCH, 1, 0);
	answer(c, SECCOMP_RET_KILL_PROCESS);
	load(c, offsetof(struct seccomp_data, nr));
	jump(c, BPF_JGE, 0x40000000, 0, 1);
	answer(c, SECCOMP_RET_ERRNO | ENOSYS);
	for (size_t i = 0; i < n_guard_calls; i++)
		rule(c, guard_calls[i].nr, guard_calls[i].arg, guard_calls[i].mask,
		     guard_calls[i].except, SECCOMP_RET_USER_NOTIF);
	for (size_t i = 0; i < n_guard_refusals; i++)
		rule(c, guard_refusals[i].nr, guard_refusals[i].arg, guard_refusals[i].mask, 0,
		     SECCOMP_RET_ERRNO | (unsigned)guard_refusals[i].error);
	answer(c, SECCOMP_RET_ALLOW);
}

/* --- descriptors over a socket ----------------------------------------------- */

static void send_fds(int sock, const int *fds, size_t n)
{
	char byte = (char)n, control[CMSG_SPACE(2 * sizeof(int))] = { 0 };
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (n) {
		struct cmsghdr *head = (struct cmsghdr *)(void *)control;

		msg.msg_control = control;
		msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(head), fds, n * sizeof(int));
	}
	if (sendmsg(sock, &msg, 0) != 1)
		fail("sendmsg");
}

static int recv_fds(int sock, int fds[2])
{
	char byte, control[CMSG_SPACE(2 * sizeof(int))] = { 0 };
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *head = (struct cmsghdr *)(void *)control;

	if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) != 1)
		return -1;
	if (msg.msg_controllen)
		memcpy(fds, CMSG_DATA(head), head->cmsg_len - CMSG_LEN(0));
	return byte;
}

/* --- inside ------------------------------------------------------------------ */

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		fail(path);
	close(fd);
}

static void drop_rights(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	for (int cap = 0; cap <= 63; cap++)
		prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	if (syscall(SYS_capset, &head, none) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		fail("capset");
}

static void allow(int ruleset, const char *path)
{
	struct landlock_path_beneath_attr rule = { .allowed_access = MADE };

	rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
	if (rule.parent_fd < 0 ||
	    syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
		fail("landlock_add_rule");
	close(rule.parent_fd);
}

static int make_ruleset(const struct box *b)
{
	struct landlock_ruleset_attr attr = { .handled_access_fs = MADE };
	int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);

	if (ruleset < 0)
		fail("landlock_create_ruleset");
	allow(ruleset, b->dir);
	allow(ruleset, "/tmp");
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		fail("landlock_restrict_self");
	return ruleset;
}

static void install(const struct box *b, int sock)
{
	static struct code code;
	struct sock_fprog prog = { .filter = code.at };
	int fds[2] = { -1, -1 };

	if (b->landlock)
		fds[1] = make_ruleset(b);
	compile(&code);
	prog.len = code.n;
	if (!b->unguarded) {
		fds[0] = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, GUARD_FILTER_FLAGS,
				      &prog);
		if (fds[0] < 0)
			fail("seccomp");
	}
	send_fds(sock, fds, b->unguarded ? 0 : b->landlock ? 2 : 1);
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static void set_up(const struct box *b)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("proc", "/proc", "proc", 0, NULL) < 0 ||
	    mount(b->dir, b->dir, NULL, MS_BIND, NULL) < 0 ||
	    (b->alias && mount(b->dir, b->alias, NULL, MS_BIND, NULL) < 0) || chdir(b->dir) < 0)
		fail("mount");
	drop_rights();
}

/* Pid 1: one command, and whatever it leaves behind. */
static _Noreturn void inside(const struct box *b, int sock, char *const argv[],
			     void (*run)(void *), void *arg)
{
	int status, code = 0;
	pid_t command, pid;
	char go;

	if (read(sock, &go, 1) != 1)	/* the id maps */
		_exit(125);
	set_up(b);
	install(b, sock);
	if (read(sock, &go, 1) != 1)	/* the guard */
		_exit(125);
	close(sock);
	command = fork();
	if (command == 0) {
		if (run)
			run(arg);
		else
			execvp(argv[0], argv);
		_exit(127);
	}
	while ((pid = wait(&status)) > 0)
		if (pid == command) {
			code = end_of(status);
			break;
		}
	_exit(code);
}

/* --- outside ----------------------------------------------------------------- */

static int open_of(pid_t pid, const char *what)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, what);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static void write_maps(pid_t pid)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "/proc/%d/setgroups", pid);
	write_text(path, "deny");
	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	snprintf(text, sizeof(text), "%u %u 1", geteuid(), geteuid());
	write_text(path, text);
	snprintf(path, sizeof(path), "/proc/%d/gid_map", pid);
	snprintf(text, sizeof(text), "%u %u 1", getegid(), getegid());
	write_text(path, text);
}

static int start_guard(struct box *b, const int *fds, int n)
{
	static struct plan_guarded names[64];
	struct guard_options o = { .names = names, .listener = fds[0],
				   .ruleset = n > 1 ? fds[1] : -1 };
	struct cordon_err err = { 0 };
	int rc;

	for (; o.n_names < b->n_names && o.n_names < ARRAY_SIZE(names); o.n_names++)
		names[o.n_names].name = b->names[o.n_names];
	b->kept[0] = o.userns = open_of(b->pid, "ns/user");
	o.root = "/";
	b->kept[1] = o.mntns = open_of(b->pid, "ns/mnt");
	b->kept[2] = o.ruleset;
	rc = guard_start(&o, &b->guard, &err);
	if (rc < 0)
		fprintf(stderr, "guard: %s\n", err.msg);
	return rc;
}

int box_start(struct box *b, char *const argv[], void (*run)(void *), void *arg)
{
	int socks[2], fds[2] = { -1, -1 }, n;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks) < 0)
		return -1;
	fflush(NULL);
	b->guard = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(b->kept); i++)
		b->kept[i] = -1;
	b->pid = (pid_t)syscall(SYS_clone,
				CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
	if (b->pid == 0) {
		if (!b->outlive)
			prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(socks[0]);
		inside(b, socks[1], argv, run, arg);
	}
	close(socks[1]);
	if (b->pid < 0)
		return -1;
	write_maps(b->pid);
	if (write(socks[0], "m", 1) != 1)
		return -1;
	n = recv_fds(socks[0], fds);
	if (n < 0 || (n > 0 && start_guard(b, fds, n) < 0) || write(socks[0], "g", 1) != 1) {
		kill(b->pid, SIGKILL);
		waitpid(b->pid, NULL, 0);
		return -1;
	}
	close(socks[0]);
	return 0;
}

static void drain(const struct box *b, FILE *out)
{
	struct guard_denial d;

	while (guard_read_denial(b->guard, &d) > 0)
		if (out)
			fprintf(out, "%s\n", d.what);
}

/* Until pid 1 of the cage ends. */
static void watch(const struct box *b, FILE *out)
{
	int pidfd = (int)syscall(SYS_pidfd_open, b->pid, 0);

	for (;;) {
		struct pollfd fds[1 + N_GUARD_POLLS] = { { .fd = pidfd, .events = POLLIN } };
		struct timespec wait = run_wait(guard_next_us(b->guard));
		struct cordon_err err = { 0 };

		guard_poll(b->guard, fds + 1);
		if (ppoll(fds, ARRAY_SIZE(fds), &wait, NULL) < 0 && errno != EINTR)
			break;
		if (guard_work(b->guard, fds + 1, &err) < 0)
			fprintf(stderr, "guard: %s\n", err.msg);
		if (fds[1 + GUARD_DENIALS].revents)
			drain(b, out);
		if (fds[0].revents)
			break;
	}
	close(pidfd);
}

int box_wait(struct box *b)
{
	FILE *out = b->denials ? fopen(b->denials, "we") : NULL;
	int status;

	watch(b, out);
	if (waitpid(b->pid, &status, 0) != b->pid)
		status = -1;
	if (b->guard) {
		drain(b, out);
		if (out)
			fprintf(out, "lost %llu\n",
				(unsigned long long)guard_denials_lost(b->guard));
	}
	guard_stop(b->guard);
	if (out)
		fclose(out);
	for (size_t i = 0; i < ARRAY_SIZE(b->kept); i++)
		if (b->kept[i] >= 0)
			close(b->kept[i]);
	return status == -1 ? -1 : end_of(status);
}
