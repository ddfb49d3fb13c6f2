/* The supervisor's side of a start; see native.h. */
#include "backend/native/native.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "backend/native/init_priv.h"
#include "backend/native/syscalls.h"
#include "base/fd.h"

/* ---- what to execute ---------------------------------------------------- */

static const char *path_of(const struct plan *p)
{
	for (size_t i = 0; p->envp[i]; i++)
		if (strncmp(p->envp[i], "PATH=", 5) == 0)
			return p->envp[i] + 5;
	return "/usr/local/bin:/usr/bin:/bin";
}

/* The files that argv[0] may mean, in the order of PATH. */
static int list_programs(const struct plan *p, const char *const **ret, struct cordon_err *err)
{
	struct str rest = str_from(path_of(p)), name = str_from(p->argv[0]);
	const char **list;
	size_t n = 0, most = 2;

	if (!name.n)
		return err_set(err, CORDON_E_USAGE, "the command is empty");
	for (size_t i = 0; i < rest.n; i++)
		most += rest.s[i] == ':';
	list = arena_new(p->arena, most, sizeof(*list));
	if (!list)
		return err_nomem(err);
	for (;;) {
		size_t len = str_find(rest, ':');

		if (str_find(name, '/') < name.n) {
			list[n++] = p->argv[0];
			break;
		}
		list[n] = arena_printf(p->arena, "%.*s/%s", len ? (int)len : 1, len ? rest.s : ".",
				       p->argv[0]);
		if (!list[n++])
			return err_nomem(err);
		if (len == rest.n)
			break;
		rest = str_from_pos(rest, len + 1);
	}
	*ret = (const char *const *)list;
	return 0;
}

/* sh FILE ARG…, for a script without #!, as execvp does. */
static int list_shell_argv(const struct plan *p, const char ***ret, struct cordon_err *err)
{
	size_t n = 0;

	while (p->argv[n])
		n++;
	*ret = arena_new(p->arena, n + 2, sizeof(**ret));
	if (!*ret)
		return err_nomem(err);
	(*ret)[0] = "sh";
	for (size_t i = 1; i < n; i++)
		(*ret)[i + 1] = p->argv[i];
	return 0;
}

/* ---- clone -------------------------------------------------------------- */

static int write_file(const char *path, const char *text, struct cordon_err *err)
{
	cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot write '%s'", path);
	return 0;
}

/* The caller's own ids, alone, mapped to themselves. */
static int write_maps(const struct plan *p, pid_t pid, struct cordon_err *err)
{
	char path[64], map[64];

	snprintf(path, sizeof(path), "/proc/%d/setgroups", pid);
	if (p->uid != 0 && write_file(path, "deny", err) < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	snprintf(map, sizeof(map), "%u %u 1\n", p->uid, p->uid);
	if (write_file(path, map, err) < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/gid_map", pid);
	snprintf(map, sizeof(map), "%u %u 1\n", p->gid, p->gid);
	return write_file(path, map, err);
}

static void kill_child(struct native_child *c)
{
	sys_pidfd_send_signal(c->pidfd, SIGKILL);
	while (waitpid(c->pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	fd_close(&c->pidfd);
	fd_close(&c->control);
	fd_close(&c->ruleset);
}

static int clone_init(const struct plan *plan, struct init *in, struct native_child *c,
		      struct cordon_err *err)
{
	struct clone_args args = {
		.flags = (plan->clone_flags & ~(unsigned long)CLONE_NEWNET) | CLONE_PIDFD,
		.pidfd = (uintptr_t)&c->pidfd,
		.exit_signal = SIGCHLD,
	};

	if (in->groups->cgroup >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)in->groups->cgroup;
	}
	c->pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	c->in_cgroup = c->pid > 0 && in->groups->cgroup >= 0;
	if (c->pid < 0 && in->groups->cgroup >= 0) {
		/* It may still be moved there. */
		args.flags &= ~CLONE_INTO_CGROUP;
		c->pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	}
	if (c->pid == 0)
		init_main(in);
	if (c->pid < 0)
		return err_sys(
			err, CORDON_E_HOST,
			"cannot make the namespaces (userns); cordon doctor says what to do");
	return 0;
}

int native_clone(const struct plan *plan, const struct native_stdio *io,
		 const struct native_groups *groups, struct native_child *ret,
		 struct cordon_err *err)
{
	struct init in = { .plan = plan,
			   .io = io,
			   .groups = groups,
			   .root = -1,
			   .masks = -1,
			   .netns = -1,
			   .fds = NATIVE_NO_FDS };
	struct native_child c = { .pidfd = -1, .control = -1, .ruleset = -1 };
	int ends[2];

	if ((plan->clone_flags & CLONE_NEWNS) &&
	    find_masks(plan, &in.mounts, &in.n_mounts, err) < 0)
		return -1;
	in.trees = arena_new(plan->arena, in.n_mounts + 1, sizeof(*in.trees));
	if (!in.trees)
		return err_nomem(err);
	if (list_programs(plan, &in.programs, err) < 0 ||
	    list_shell_argv(plan, &in.shell_argv, err) < 0 ||
	    network_new(plan, &in.network, err) < 0)
		return -1;
	if (landlock_open(plan, &c.ruleset, &c.outside, err) < 0)
		return -1;
	in.ruleset = c.ruleset;
	in.outside = c.outside;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
		fd_close(&c.ruleset);
		return err_sys(err, CORDON_E_SETUP, "cannot make a control socket");
	}
	in.control = ends[1];
	c.control = ends[0];
	if (clone_init(plan, &in, &c, err) < 0) {
		fd_close(&c.ruleset);
		close(ends[0]);
		close(ends[1]);
		return -1;
	}
	close(ends[1]);
	if ((plan->clone_flags & CLONE_NEWUSER) && write_maps(plan, c.pid, err) < 0) {
		kill_child(&c);
		return -1;
	}
	*ret = c;
	return 0;
}

int native_grant(const struct plan *plan, struct native_child *c, struct cordon_err *err)
{
	int rc;

	if (c->ruleset < 0)
		return 0;
	rc = landlock_add(c->ruleset, plan, c->outside, true, err);
	fd_close(&c->ruleset);
	/* An init that is gone has left word why. */
	if (rc == 0 && native_send(c, NATIVE_GRANTED, 0) < 0 && errno != EPIPE &&
	    errno != ECONNRESET)
		rc = err_sys(err, CORDON_E_SETUP, "cannot talk to init");
	return rc;
}

/* ---- messages ----------------------------------------------------------- */

int native_send(const struct native_child *c, enum native_kind kind, int value)
{
	struct native_message m = { .kind = kind, .value = value };

	return send(c->control, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -1 : 0;
}

static bool has_bit(const struct native_message *m, int i)
{
	return m->fds[i / 64] >> i % 64 & 1;
}

static size_t count_bits(const struct native_message *m)
{
	size_t n = 0;

	for (int i = 0; i < N_NATIVE_FDS; i++)
		n += has_bit(m, i);
	return n;
}

static void take_fds(const struct native_message *m, const int *got, struct native_fds *fds)
{
	for (int i = 0; i < N_NATIVE_FDS; i++)
		if (has_bit(m, i)) {
			fd_close(&fds->fd[i]);
			fds->fd[i] = *got++;
		}
}

int native_recv(const struct native_child *c, struct native_message *ret, struct native_fds *fds)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(N_NATIVE_FDS * sizeof(int))];
	} control;
	struct iovec iov = { ret, sizeof(*ret) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(c->control, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int got[N_NATIVE_FDS];
	size_t n_got = 0;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? -1 : 0;
	if (CMSG_FIRSTHDR(&msg)) {
		n_got = (CMSG_FIRSTHDR(&msg)->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(got, CMSG_DATA(CMSG_FIRSTHDR(&msg)), n_got * sizeof(int));
	}
	if (n == (ssize_t)sizeof(*ret) && !(msg.msg_flags & MSG_CTRUNC) &&
	    n_got == count_bits(ret)) {
		take_fds(ret, got, fds);
		return 1;
	}
	while (n_got)
		close(got[--n_got]);
	if (n != (ssize_t)sizeof(*ret))
		return 0;
	/* The kernel gives what there is room for and leaves out the rest. */
	sys_pidfd_send_signal(c->pidfd, SIGKILL);
	*ret = (struct native_message){ .kind = NATIVE_FAILED };
	err_set(&ret->err, CORDON_E_SETUP,
		"there is no room for init's descriptors; raise the limit of open files");
	return 1;
}
