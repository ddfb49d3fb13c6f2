/* Starting and stopping the guard.
 *
 * Who runs
 *
 *   reader   in the tree's user namespace, CAP_SYS_PTRACE; receives calls
 *   actor    in the tree's user namespace, Landlock domain and root; no
 *            capability (CAP_SYS_CHROOT until the first call tells the root)
 *
 * All are out of the tree's pid namespace, not dumpable, and hold only the
 * descriptors they need.  When one of them ends, the supervisor ends the rest, and
 * with the supervisor the kernel ends all.  Each reports once, by a struct
 * cordon_err, that it is ready or why not; the pipe it does that on stays open, so
 * that its end says they are gone.
 */
#include "super/guard.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
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
	struct guard_options o;
	struct guard_pair {
		int actor, reader;	/* pidfds */
		int ready;		/* its end: both are gone */
	} pairs[N_PAIRS];
	size_t n_pairs;
	int more;			/* readable when it is time for the next pair */
	int denials, deny;		/* where refusals are read, and written */
	int events;			/* all of that */
	bool gone;			/* nobody answers any more */
	struct guard_shared *shared;
	struct guard_names names;
	struct guard_commands commands;
};

/* --- reader and actor ------------------------------------------------------- */

struct start {
	const struct guard_options *o;
	struct guard_worker worker;
	int ready;
	pid_t parent;
};

static int report(int ready, const struct cordon_err *err)
{
	return write(ready, err, sizeof(*err)) == sizeof(*err) ? 0 : -1;
}

/* Out of the caller's terminal and signals, with /proc of the host. */
static int leave(struct start *s, struct cordon_err *err)
{
	const struct guard_options *o = s->o;
	struct guard_worker *w = &s->worker;
	int fds[] = { o->listener, o->userns, o->mntns, o->ruleset, w->sock, w->denials, s->ready };

	if (setsid() < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot detach the guard");
	if (aside_detach("cordon-guard", fds, ARRAY_SIZE(fds), err) < 0)
		return -1;
	w->proc = openat(AT_FDCWD, "/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (w->proc < 0)
		return err_sys(err, CORDON_E_HOST, "cannot open /proc");
	return 0;
}

static int become_reader(struct start *s, struct cordon_err *err)
{
	struct guard_worker *w = &s->worker;
	int keep[] = { w->listener, w->sock, -1, w->denials, s->ready };

	if (leave(s, err) < 0)
		return -1;
	keep[2] = w->proc;
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
	int keep[] = { w->listener, w->sock, w->denials, s->ready, -1, -1, -1 };

	if (leave(s, err) < 0)
		return -1;
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
	keep[4] = w->proc;
	keep[5] = w->self;
	keep[6] = w->mounts;
	return aside_keep_only(keep, ARRAY_SIZE(keep), err);
}

static _Noreturn void work(struct start *s, int (*become)(struct start *, struct cordon_err *),
			    void (*loop)(struct guard_worker *))
{
	struct cordon_err err = { 0 };

	if (become(s, &err) == 0 && report(s->ready, &err) == 0)
		loop(&s->worker);
	else
		report(s->ready, &err);
	_exit(1);
}

static int start_one(struct start *s, int sock, int (*become)(struct start *, struct cordon_err *),
		     void (*loop)(struct guard_worker *), int *ret_pidfd, struct cordon_err *err)
{
	pid_t pid = fork();

	if (pid == 0) {
		s->worker.sock = sock;
		work(s, become, loop);
	}
	if (pid < 0)
		return err_sys(err, CORDON_E_HOST, "cannot start a process of the guard");
	*ret_pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (*ret_pidfd < 0) {
		err_sys(err, CORDON_E_HOST, "cannot watch the guard");
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return -1;
	}
	return 0;
}

/* --- the supervisor's side -------------------------------------------------- */

static int watch(const struct guard *g, int fd, struct cordon_err *err)
{
	struct epoll_event e = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(g->events, EPOLL_CTL_ADD, fd, &e) == 0 ? 0 :
	       err_sys(err, CORDON_E_SETUP, "cannot watch the guard");
}

static int watch_pair(const struct guard *g, const struct guard_pair *pair, struct cordon_err *err)
{
	return watch(g, pair->actor, err) < 0 ? -1 : watch(g, pair->reader, err);
}

/* The actor first: it has more to do until it can begin. */
static int start_pair(struct guard *g, struct cordon_err *err)
{
	struct guard_pair *pair = &g->pairs[g->n_pairs];
	struct start s = { .o = &g->o, .parent = getpid() };
	int socks[2], pipe_fds[2], rc;

	*pair = (struct guard_pair){ -1, -1, -1 };
	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return err_sys(err, CORDON_E_HOST, "cannot make a pipe for the guard");
	pair->ready = pipe_fds[0];
	s.ready = pipe_fds[1];
	g->n_pairs++;
	s.worker = (struct guard_worker){ .listener = g->o.listener, .init = g->o.init,
					  .denials = g->deny, .proc = -1, .shared = g->shared,
					  .names = &g->names, .commands = &g->commands };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) < 0) {
		close(s.ready);
		return err_sys(err, CORDON_E_HOST, "cannot make a socket for the guard");
	}
	rc = start_one(&s, socks[0], become_actor, guard_actor_loop, &pair->actor, err);
	if (rc == 0)
		rc = start_one(&s, socks[1], become_reader, guard_reader_loop, &pair->reader, err);
	close(s.ready);
	close(socks[0]);
	close(socks[1]);
	return rc;
}

static void kill_all(const struct guard *g)
{
	for (size_t i = 0; i < g->n_pairs; i++) {
		syscall(SYS_pidfd_send_signal, g->pairs[i].actor, SIGKILL, NULL, 0);
		syscall(SYS_pidfd_send_signal, g->pairs[i].reader, SIGKILL, NULL, 0);
	}
}

static void collect(int *pidfd)
{
	siginfo_t info;

	while (*pidfd >= 0 && waitid(P_PIDFD, (id_t)*pidfd, &info, WEXITED) < 0 && errno == EINTR)
		;
	fd_close(pidfd);
}

/* One that is gone could have a call that nobody answers; when nobody is left who
 * has the listener, all calls fail.  Nobody is waited for, who could wait himself. */
static void give_up(struct guard *g)
{
	g->gone = true;
	fd_close(&g->o.listener);
	fd_close(&g->more);
	kill_all(g);
	for (size_t i = 0; i < g->n_pairs; i++) {
		epoll_ctl(g->events, EPOLL_CTL_DEL, g->pairs[i].actor, NULL);
		epoll_ctl(g->events, EPOLL_CTL_DEL, g->pairs[i].reader, NULL);
	}
}

static void wait_for_all(struct guard *g)
{
	char rest[sizeof(struct cordon_err)];

	for (size_t i = 0; i < g->n_pairs; i++) {
		struct guard_pair *pair = &g->pairs[i];

		collect(&pair->actor);
		collect(&pair->reader);
		/* Who waits for a FIFO ends after them; the pipe ends with the last. */
		while (read(pair->ready, rest, sizeof(rest)) > 0 || errno == EINTR)
			errno = 0;
		fd_close(&pair->ready);
	}
}

static int start_more(struct guard *g, struct cordon_err *err)
{
	/* Closed is not enough: the new ones have it, too, until they have looked
	 * through what they hold. */
	epoll_ctl(g->events, EPOLL_CTL_DEL, g->more, NULL);
	fd_close(&g->more);
	while (g->n_pairs < N_PAIRS)
		if (start_pair(g, err) < 0 || watch_pair(g, &g->pairs[g->n_pairs - 1], err) < 0)
			return -1;
	fd_close(&g->o.listener);
	return 0;
}

/* What happened but for refusals.  False: the workers are gone. */
static bool look(struct guard *g)
{
	struct epoll_event events[2 * N_PAIRS + 2];
	struct cordon_err ignored;
	int n;

	if (g->gone)
		return false;
	n = epoll_wait(g->events, events, ARRAY_SIZE(events), 0);
	for (int i = 0; i < n; i++) {
		int fd = events[i].data.fd;

		if (fd == g->denials || (fd == g->more && start_more(g, &ignored) == 0))
			continue;
		give_up(g);
		return false;
	}
	return true;
}

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

/* What becomes of a later pair is not waited for: if it does not start, all end. */
int guard_recv_ready(const struct guard *g, struct cordon_err *err)
{
	const struct guard_pair *pair = &g->pairs[0];
	struct pollfd fds[] = { { .fd = pair->ready, .events = POLLIN },
				{ .fd = pair->actor, .events = POLLIN },
				{ .fd = pair->reader, .events = POLLIN } };
	struct cordon_err one;

	for (int i = 0; i < 2; i++) {
		while (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno == EINTR)
			;
		if (!(fds[0].revents & POLLIN) ||
		    read(pair->ready, &one, sizeof(one)) != sizeof(one))
			return err_set(err, CORDON_E_HOST, "the guard ended while it started");
		if (one.code != CORDON_E_NONE) {
			*err = one;
			return -1;
		}
	}
	return 0;
}

static int make_denials(struct guard *g, struct cordon_err *err)
{
	int socks[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, socks) < 0)
		return err_sys(err, CORDON_E_HOST, "cannot make a socket for the guard");
	g->denials = socks[0];
	g->deny = socks[1];
	return 0;
}

static int make_events(struct guard *g, struct cordon_err *err)
{
	struct itimerspec when = { .it_value.tv_nsec = MORE_AFTER_MS * 1000000 };

	g->events = epoll_create1(EPOLL_CLOEXEC);
	g->more = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (g->events < 0 || g->more < 0 || timerfd_settime(g->more, 0, &when, NULL) < 0)
		return err_sys(err, CORDON_E_HOST, "cannot watch the guard");
	return watch(g, g->denials, err) < 0 || watch(g, g->more, err) < 0 ? -1 :
	       watch_pair(g, &g->pairs[0], err);
}

int guard_start(const struct guard_options *o, struct guard **ret, struct cordon_err *err)
{
	uint64_t flags = SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP;
	struct guard *g = calloc(1, sizeof(*g));

	if (!g) {
		close(o->listener);
		return err_nomem(err);
	}
	g->o = *o;
	g->more = g->denials = g->deny = g->events = -1;
	/* Faster where it is known: the answer wakes the caller on this CPU. */
	(void)ioctl(o->listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, flags);
	if (guard_names_check(o->names, o->n_names, err) < 0 ||
	    guard_commands_init(&g->commands, o->plan, err) < 0 || make_shared(g, err) < 0 ||
	    make_denials(g, err) < 0 || start_pair(g, err) < 0 || make_events(g, err) < 0) {
		guard_stop(g);
		return -1;
	}
	*ret = g;
	return 0;
}

int guard_event_fd(const struct guard *g)
{
	return g->events;
}

int guard_read_denial(struct guard *g, struct guard_denial *ret)
{
	bool there = look(g);
	ssize_t got;

	do
		got = recv(g->denials, ret, sizeof(*ret) - 1, MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return there && errno == EAGAIN ? 0 : -1;
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
		kill_all(g);
}

void guard_stop(struct guard *g)
{
	if (!g)
		return;
	give_up(g);
	wait_for_all(g);
	fd_close(&g->denials);
	fd_close(&g->deny);
	fd_close(&g->events);
	guard_commands_release(&g->commands);
	if (g->shared)
		munmap(g->shared, sizeof(*g->shared));
	free(g);
}
