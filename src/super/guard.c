/* Starting and stopping the guard.
 *
 * Who runs
 *
 *   keeper   the caller's uid and namespaces; starts the others, and ends when
 *            one of them or the supervisor does: then the kernel ends the rest
 *   reader   in the tree's user namespace, CAP_SYS_PTRACE; receives calls
 *   actor    in the tree's user namespace, Landlock domain and root; no
 *            capability (CAP_SYS_CHROOT until the first call tells the root)
 *
 * All are out of the tree's pid namespace, not dumpable, and hold only the
 * descriptors they need.  Each reports once, by a struct cordon_err, that it
 * is ready or why not; the pipe it does that on stays open, so that its end
 * says they are all gone.
 */
#include "super/guard.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "super/aside.h"
#include "super/guard_priv.h"

#define N_PAIRS		2	/* one alone was slower, more gained nothing on few CPUs */
/* Those behind the first start later: most commands make a few names and end. */
#define MORE_AFTER_MS	5

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS	/* Linux 6.6 */
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS	SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP	1ul
#endif

struct guard {
	int keeper;			/* pidfd */
	int ready;			/* its end: all are gone */
	int denials;
	struct guard_shared *shared;
	struct guard_names names;
	struct guard_commands commands;
};

/* --- becoming one of them --------------------------------------------------- */

static int report(int ready, const struct cordon_err *err)
{
	return write(ready, err, sizeof(*err)) == sizeof(*err) ? 0 : -1;
}

/* --- reader and actor ------------------------------------------------------- */

struct start {
	const struct guard_options *o;
	struct guard_worker worker;
	int ready;
	pid_t parent;
};

static int become_reader(struct start *s, struct cordon_err *err)
{
	struct guard_worker *w = &s->worker;
	int keep[] = { w->listener, w->sock, w->proc, w->denials, s->ready };

	if (aside_enter_userns(s->o->userns, 1ull << CAP_SYS_PTRACE, err) < 0 ||
	    aside_bind(s->parent, err) < 0)
		return -1;
	return aside_keep_only(keep, ARRAY_SIZE(keep), err);
}

/* What the kernel refuses at a mount point (renaming it, or something over it)
 * it refuses only to those who see the mount. */
static int become_actor(struct start *s, struct cordon_err *err)
{
	struct guard_worker *w = &s->worker;
	int keep[] = { w->listener, w->sock, w->denials, w->proc, -1, -1, s->ready };

	if (aside_enter_userns(s->o->userns, 1ull << CAP_SYS_CHROOT | 1ull << CAP_SYS_ADMIN,
			       err) < 0)
		return -1;
	if (s->o->mntns >= 0 && setns(s->o->mntns, CLONE_NEWNS) < 0)
		return err_sys(err, CORDON_E_HOST, "cannot enter the mount namespace of the tree");
	/* The rules of the tree do not let us open it; it stays that of these mounts. */
	w->mounts = openat(w->proc, "self/mountinfo", O_RDONLY | O_CLOEXEC);
	if (w->mounts < 0)
		return err_sys(err, CORDON_E_HOST, "cannot open /proc/self/mountinfo");
	if (aside_set_caps(1ull << CAP_SYS_CHROOT, err) < 0)
		return -1;
	if (s->o->ruleset >= 0 && syscall(SYS_landlock_restrict_self, s->o->ruleset, 0) < 0)
		return err_sys(err, CORDON_E_HOST, "cannot enter the Landlock rules of the tree");
	if (aside_bind(s->parent, err) < 0)
		return -1;
	w->self = openat(w->proc, "self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (w->self < 0)
		return err_sys(err, CORDON_E_HOST, "cannot open /proc/self");
	/* Here, while the reader takes down the first call. */
	if (guard_names_init(w->names, s->o->names, s->o->n_names, err) < 0)
		return -1;
	keep[4] = w->self;
	keep[5] = w->mounts;
	return aside_keep_only(keep, ARRAY_SIZE(keep), err);
}

static _Noreturn void reader_main(struct start *s)
{
	struct cordon_err err = { 0 };

	if (become_reader(s, &err) == 0 && report(s->ready, &err) == 0)
		guard_reader_loop(&s->worker);
	else
		report(s->ready, &err);
	_exit(1);
}

static _Noreturn void actor_main(struct start *s)
{
	struct cordon_err err = { 0 };

	if (become_actor(s, &err) == 0 && report(s->ready, &err) == 0)
		guard_actor_loop(&s->worker);
	else
		report(s->ready, &err);
	_exit(1);
}

/* --- the keeper ------------------------------------------------------------- */

static int start_one(struct start *s, void (*run)(struct start *), int sock,
		     struct pollfd *ret, struct cordon_err *err)
{
	pid_t pid = fork();

	if (pid == 0) {
		s->worker.sock = sock;
		run(s);
	}
	if (pid > 0)
		ret->fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pid < 0 || ret->fd < 0)
		return err_sys(err, CORDON_E_HOST, "cannot start a process of the guard");
	return 0;
}

static int start_pair(struct start *s, struct pollfd *ret, struct cordon_err *err)
{
	int socks[2], rc;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) < 0)
		return err_sys(err, CORDON_E_HOST, "cannot make a socket for the guard");
	rc = start_one(s, reader_main, socks[0], &ret[0], err);
	if (rc == 0)
		rc = start_one(s, actor_main, socks[1], &ret[1], err);
	close(socks[0]);
	close(socks[1]);
	return rc;
}

/* They would end with us; but collected by us they are nobody's business. */
static void end_all(const struct pollfd *pidfds, size_t n)
{
	siginfo_t info;

	for (size_t i = 0; i < n; i++)
		syscall(SYS_pidfd_send_signal, pidfds[i].fd, SIGKILL, NULL, 0);
	for (size_t i = 0; i < n; i++)
		while (waitid(P_PIDFD, (id_t)pidfds[i].fd, &info, WEXITED) < 0 && errno == EINTR)
			;
}

/* Until one of them or the supervisor ends, or the time is over: 0. */
static int watch(const struct start *s, struct pollfd *pairs, size_t n, int ms)
{
	struct pollfd *all = pairs + n;
	int rc;

	all[0] = (struct pollfd){ .fd = s->o->alive };
	all[1] = (struct pollfd){ .fd = s->worker.denials };	/* its end: guard_end() */
	for (size_t i = 0; i < n + 2; i++)
		pairs[i].events = POLLIN;
	while ((rc = poll(pairs, n + 2, ms)) < 0 && errno == EINTR)
		;
	return rc;
}

static int keep(struct start *s, struct cordon_err *err)
{
	const struct guard_options *o = s->o;
	int fds[] = { o->listener, o->userns, o->mntns, o->ruleset,
		      o->alive,	   s->worker.denials, s->ready };
	struct pollfd watched[2 * N_PAIRS + 2] = { 0 };
	size_t n = 0;

	if (setsid() < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot detach the guard");
	if (aside_detach("cordon-guard", fds, ARRAY_SIZE(fds), err) < 0 ||
	    aside_bind(s->parent, err) < 0)
		return -1;
	s->parent = getpid();
	s->worker.proc = openat(AT_FDCWD, "/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (s->worker.proc < 0)
		return err_sys(err, CORDON_E_HOST, "cannot open /proc");
	do {
		if (start_pair(s, &watched[n], err) < 0)
			return -1;
		n += 2;
	} while (n < 2 * N_PAIRS && watch(s, watched, n, MORE_AFTER_MS) == 0);
	close(o->listener);
	watch(s, watched, n, -1);
	end_all(watched, n);
	return 0;
}

static _Noreturn void keeper_main(struct start *s)
{
	struct cordon_err err = { 0 };

	if (keep(s, &err) < 0)
		report(s->ready, &err);
	_exit(0);
}

/* --- the caller's side ------------------------------------------------------ */

static int make_shared(struct guard *g, struct cordon_err *err)
{
	void *at = mmap(NULL, sizeof(*g->shared), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_rwlockattr_t attr;
	int rc;

	if (at == MAP_FAILED)
		return err_nomem(err);
	g->shared = at;
	rc = pthread_rwlockattr_init(&attr);
	if (rc == 0)
		rc = pthread_rwlockattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	/* Without this, a stream of creations could keep a rename out for ever. */
	if (rc == 0)
		rc = pthread_rwlockattr_setkind_np(&attr,
						   PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	if (rc == 0)
		rc = pthread_rwlock_init(&g->shared->lock, &attr);
	return rc == 0 ? 0 : err_set(err, CORDON_E_HOST, "cannot make the guard's lock");
}

/* The first pair; what becomes of a later one is not waited for: if it does not
 * start, all end. */
int guard_recv_ready(const struct guard *g, struct cordon_err *err)
{
	for (size_t i = 0; i < 2; i++) {
		struct cordon_err one;
		ssize_t n = read(g->ready, &one, sizeof(one));

		if (n < 0 && errno == EINTR) {
			i--;
			continue;
		}
		if (n != sizeof(one))
			return err_set(err, CORDON_E_HOST, "the guard ended while it started");
		if (one.code != CORDON_E_NONE) {
			*err = one;
			return -1;
		}
	}
	return 0;
}

static int start_keeper(struct guard *g, const struct guard_options *o, struct cordon_err *err)
{
	cleanup_fd int ready = -1, denials = -1;
	struct start s = { .o = o, .parent = getpid() };
	int pipe_fds[2], socks[2];
	pid_t pid;

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return err_sys(err, CORDON_E_HOST, "cannot make a pipe for the guard");
	g->ready = pipe_fds[0];
	s.ready = ready = pipe_fds[1];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, socks) < 0)
		return err_sys(err, CORDON_E_HOST, "cannot make a socket for the guard");
	g->denials = socks[0];
	denials = socks[1];
	s.worker = (struct guard_worker){ .listener = o->listener, .init = o->init,
					  .denials = denials,
					  .shared = g->shared, .names = &g->names,
					  .commands = &g->commands };
	pid = fork();
	if (pid == 0)
		keeper_main(&s);
	if (pid < 0)
		return err_sys(err, CORDON_E_HOST, "cannot start the guard");
	g->keeper = (int)syscall(SYS_pidfd_open, pid, 0);
	if (g->keeper < 0) {
		err_sys(err, CORDON_E_HOST, "cannot watch the guard");
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return -1;
	}
	return 0;
}

int guard_start(const struct guard_options *o, struct guard **ret, struct cordon_err *err)
{
	uint64_t flags = SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP;
	struct guard *g = calloc(1, sizeof(*g));

	if (!g)
		return err_nomem(err);
	g->keeper = g->ready = g->denials = -1;
	/* Faster where it is known: the answer wakes the caller on this CPU. */
	(void)ioctl(o->listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, flags);
	if (guard_names_check(o->names, o->n_names, err) < 0 ||
	    guard_commands_init(&g->commands, o->plan, err) < 0 || make_shared(g, err) < 0 ||
	    start_keeper(g, o, err) < 0) {
		guard_stop(g);
		return -1;
	}
	*ret = g;
	return 0;
}

int guard_event_fd(const struct guard *g)
{
	return g->denials;
}

int guard_read_denial(struct guard *g, struct guard_denial *ret)
{
	ssize_t got;

	do
		got = recv(g->denials, ret, sizeof(*ret) - 1, MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got == 0)
		return -1;
	if (got < 0)
		return errno == EAGAIN ? 0 : -1;
	((char *)ret)[got] = '\0';
	return got >= (ssize_t)offsetof(struct guard_denial, what) ? 1 : -1;
}

uint64_t guard_denials_lost(const struct guard *g)
{
	return atomic_load(&g->shared->lost);
}

void guard_end(const struct guard *g)
{
	if (g)
		shutdown(g->denials, SHUT_WR);
}

void guard_stop(struct guard *g)
{
	char rest[sizeof(struct cordon_err)];
	siginfo_t info;

	if (!g)
		return;
	fd_close(&g->denials);
	if (g->keeper >= 0) {
		while (waitid(P_PIDFD, (id_t)g->keeper, &info, WEXITED) < 0 && errno == EINTR)
			;
		/* Who waits for a FIFO ends after it; the pipe ends with the last. */
		while (read(g->ready, rest, sizeof(rest)) > 0 || errno == EINTR)
			errno = 0;
	}
	fd_close(&g->keeper);
	fd_close(&g->ready);
	guard_commands_release(&g->commands);
	if (g->shared)
		munmap(g->shared, sizeof(*g->shared));
	free(g);
}
