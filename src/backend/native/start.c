/* The supervisor's side of a start; see native.h. */
#include "backend/native/native.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "backend/native/init_priv.h"
#include "base/cpus.h"
#include "base/fd.h"
#include "base/pidfd.h"
#include "base/syscalls.h"

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
	pidfd_signal(c->pidfd, SIGKILL);
	while (waitpid(c->pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	native_child_release(c);
}

static void close_rules(struct native_child *c)
{
	fd_close(&c->ruleset);
	if (c->turn)
		munmap(c->turn, sizeof(*c->turn));
	c->turn = NULL;
}

void native_child_release(struct native_child *c)
{
	fd_close(&c->pidfd);
	fd_close(&c->control);
	close_rules(c);
}

/* Whose turn it is to make a rule, init's or ours. */
static int open_rules(const struct plan *plan, struct init *in, struct native_child *c,
		      struct cordon_err *err)
{
	void *turn;

	if (landlock_open(plan, &c->ruleset, &in->grantors, err) < 0)
		return -1;
	in->ruleset = c->ruleset;
	c->grantors = in->grantors;
	if (c->ruleset < 0)
		return 0;
	turn = mmap(NULL, sizeof(*c->turn), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		    0);
	if (turn == MAP_FAILED)
		return err_nomem(err);
	in->turn = c->turn = turn;
	return 0;
}

/* Filters around us (another cordon's, a container's) answer clone3 as an older kernel
 * would, since they cannot look into its memory. */
static pid_t clone_by(const struct clone_args *args)
{
	pid_t pid = (pid_t)syscall(SYS_clone3, args, sizeof(*args));

	if (pid >= 0 || errno != ENOSYS || args->flags >> 32)
		return pid;
	return (pid_t)syscall(SYS_clone, args->flags | args->exit_signal, NULL,
			      (void *)(uintptr_t)args->pidfd, NULL, NULL);
}

/* Where all the namespaces are wanted that it makes. */
static pid_t clone_early(struct native_early *early, const struct clone_args *args,
			 struct init *in)
{
	const unsigned long made = CLONE_NEWUSER | NATIVE_EARLY_NAMESPACES;
	pid_t pid;

	if (!early || early->pidfd < 0 || (in->plan->clone_flags & made) != made)
		return -1;
	in->in_network = true;
	pid = native_early_clone(early, args);
	in->in_network = pid >= 0;
	return pid;
}

static int clone_init(const struct plan *plan, struct init *in, struct native_early *early,
		      struct native_child *c, struct cordon_err *err)
{
	struct clone_args args = {
		.flags = (plan->clone_flags & ~(unsigned long)CLONE_NEWNET) | CLONE_PIDFD,
		.pidfd = (uintptr_t)&c->pidfd,
		.exit_signal = SIGCHLD,
	};

	if (in->within->cgroup >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)in->within->cgroup;
	}
	c->pid = clone_early(early, &args, in);
	if (c->pid < 0)
		c->pid = clone_by(&args);
	c->in_cgroup = c->pid > 0 && in->within->cgroup >= 0;
	if (c->pid < 0 && in->within->cgroup >= 0) {
		/* It may still be moved there. */
		args.flags &= ~CLONE_INTO_CGROUP;
		c->pid = clone_by(&args);
	}
	if (c->pid == 0)
		init_main(in);
	if (c->pid > 0 && in->has_idle_cpu)
		cpus_part(&in->cpus, c->pid);
	if (c->pid < 0)
		return err_sys(
			err, CORDON_E_HOST,
			"cannot make the namespaces (userns); cordon doctor says what to do");
	return 0;
}

int native_clone(const struct plan *plan, const struct native_stdio *io,
		 const struct native_scope *within, struct native_early *early,
		 struct native_child *ret, struct cordon_err *err)
{
	struct init in = { .plan = plan,
			   .io = io,
			   .within = within,
			   .root = -1,
			   .masks = -1,
			   .scope = -1,
			   .netns = -1,
			   .proc = -1,
			   .end_ms = INT64_MAX,
			   .fds = NATIVE_NO_FDS };
	struct native_child c = NATIVE_NO_CHILD;
	int ends[2];

	if ((plan->clone_flags & CLONE_NEWNS) &&
	    find_masks(plan, &in.mounts, &in.n_mounts, err) < 0)
		return -1;
	in.trees = arena_new(plan->arena, in.n_mounts + 1, sizeof(*in.trees));
	if (!in.trees)
		return err_nomem(err);
	if (!plan->session &&
	    native_command_compile(plan->argv, plan->envp, plan->arena, &in.command, err) < 0)
		return -1;
	if (network_new(plan, &in.network, err) < 0)
		return -1;
	if (open_rules(plan, &in, &c, err) < 0) {
		close_rules(&c);
		return -1;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
		err_sys(err, CORDON_E_SETUP, "cannot make a control socket");
		close_rules(&c);
		return -1;
	}
	in.control = ends[1];
	cpus_read(&in.cpus);
	/* Who began early did so for that. */
	in.has_idle_cpu = (early && early->pidfd >= 0) || cpus_have_idle(&in.cpus);
	c.control = ends[0];
	if (clone_init(plan, &in, early, &c, err) < 0) {
		native_child_release(&c);
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
	rc = landlock_share(c->ruleset, plan, c->grantors, c->turn, err);
	close_rules(c);
	return rc;
}

int native_send_granted(const struct native_child *c, struct cordon_err *err)
{
	struct native_message m = { .kind = NATIVE_GRANTED };
	struct native_fds fds = NATIVE_NO_FDS;

	/* An init that is gone has left word why. */
	if (native_send_fds(c->control, &m, &fds, MSG_DONTWAIT) < 0 && errno != EPIPE &&
	    errno != ECONNRESET)
		return err_sys(err, CORDON_E_SETUP, "cannot talk to init");
	return 0;
}

/* ---- messages ----------------------------------------------------------- */

int native_send(const struct native_child *c, enum native_kind kind, int value)
{
	return native_send_to(c, kind, 0, value);
}

int native_send_to(const struct native_child *c, enum native_kind kind, int id, int value)
{
	struct native_message m = { .kind = kind, .id = id, .value = value };

	return send(c->control, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -1 : 0;
}

int native_recv(const struct native_child *c, struct native_message *ret, struct native_fds *fds)
{
	int rc = native_recv_fds(c->control, ret, fds);

	if (rc != NATIVE_FDS_LOST)
		return rc;
	pidfd_signal(c->pidfd, SIGKILL);
	*ret = (struct native_message){ .kind = NATIVE_FAILED, .value = 1 };
	err_set(&ret->err, CORDON_E_SETUP,
		"there is no room for init's descriptors; raise the limit of open files");
	return 1;
}
