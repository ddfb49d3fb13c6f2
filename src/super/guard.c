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
 * with the supervisor the kernel ends all.  Who cannot begin tells why, by a struct
 * cordon_err; the pipe that it does that on stays open, so that its end says that they are
 * gone.
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
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/fd.h"
#include "base/pidfd.h"
#include "super/aside.h"
#include "super/guard_priv.h"
#include "super/run_priv.h"

/* Those behind the first start later: most commands make a few names and end. */
#define MORE_AFTER_MS	20

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS	/* Linux 6.6 */
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS	SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP	1ul
#endif

struct guard {
	struct guard_options o;
	struct guard_pair {
		struct guard_process {
			int pidfd;
			pid_t pid;
			bool has_run;
			clockid_t clock;	/* of its CPU time; 0: none yet */
			int64_t cpu_us;		/* when it was read last */
		} actor, reader;
		int trouble;		/* why they could not begin; its end: both are gone */
		bool left_out;		/* killed before it took a call; the others go on */
	} pairs[N_GUARD_PAIRS];
	size_t n_pairs;
	int64_t more_at_us;		/* when the next pair is to start */
	int denials, deny;		/* where refusals are read, and written */
	bool gone;			/* nobody answers any more */
	struct guard_shared *shared;
	struct guard_names names;
	struct guard_commands commands;
};

/* --- reader and actor ------------------------------------------------------- */

struct start {
	const struct guard_options *o;
	struct guard_worker worker;
	int trouble;
	bool is_later;			/* not the first pair */
	cpu_set_t cpus;			/* of the supervisor */
	pid_t parent;
};

/* What the actor finds when it begins is the command's doing by now: a later pair takes no
 * call before, so that the others can go on without it. */
static int tell_reader(const struct start *s, struct cordon_err *err)
{
	if (!s->is_later || send(s->worker.sock, "", 1, MSG_NOSIGNAL) == 1)
		return 0;
	return err_sys(err, CORDON_E_HOST, "cannot tell a process of the guard");
}

static int wait_for_actor(const struct start *s, struct cordon_err *err)
{
	char ready;

	if (!s->is_later || recv(s->worker.sock, &ready, 1, 0) == 1)
		return 0;
	return err_sys(err, CORDON_E_HOST, "a process of the guard has not begun");
}

/* The tree has limits of its own, which may be more than the caller's: how large a file may
 * become comes with each call, and descriptors that it has on their way count as ours. */
static int raise_limits(struct cordon_err *err)
{
	static const int which[] = { RLIMIT_FSIZE, RLIMIT_NOFILE };
	struct rlimit most;

	for (size_t i = 0; i < ARRAY_SIZE(which); i++) {
		if (getrlimit(which[i], &most) < 0)
			return err_sys(err, CORDON_E_HOST, "cannot read the limits of the guard");
		most.rlim_cur = most.rlim_max;
		if (setrlimit(which[i], &most) < 0)
			return err_sys(err, CORDON_E_HOST, "cannot raise the limits of the guard");
	}
	return 0;
}

/* Out of the caller's terminal, limits and signals, with /proc of the host. */
static int leave(struct start *s, struct cordon_err *err)
{
	const struct guard_options *o = s->o;
	struct guard_worker *w = &s->worker;
	int fds[] = { o->listener, o->userns,  o->mntns,  o->ruleset,
		      w->sock,	   w->denials, s->trouble };

	if (setsid() < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot detach the guard");
	if (aside_detach("cordon-guard", fds, ARRAY_SIZE(fds), err) < 0 || raise_limits(err) < 0)
		return -1;
	w->proc = openat(AT_FDCWD, "/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (w->proc < 0)
		return err_sys(err, CORDON_E_HOST, "cannot open /proc");
	return 0;
}

static int become_reader(struct start *s, struct cordon_err *err)
{
	struct guard_worker *w = &s->worker;
	int keep[] = { w->listener, w->sock, -1, w->denials, s->trouble };

	if (leave(s, err) < 0)
		return -1;
	keep[2] = w->proc;
	if (aside_enter_userns(s->o->userns, 1ull << CAP_SYS_PTRACE, err) < 0 ||
	    aside_bind(s->parent, err) < 0 || aside_keep_only(keep, ARRAY_SIZE(keep), err) < 0)
		return -1;
	return wait_for_actor(s, err);
}

/* In the actor, while the first reader takes down its call: the root of these mounts is
 * nearly always that of the tree.  The last act with a right to look into folders that are
 * closed: the command may have closed one on the way, and would open it again. */
static int settle_names(struct start *s, struct cordon_err *err)
{
	struct guard_names *names = s->worker.names;

	if (guard_names_init(names, s->o->names, s->o->n_names, err) < 0 ||
	    guard_names_settle(names, err) < 0 || aside_set_caps(1ull << CAP_SYS_CHROOT, err) < 0)
		return -1;
	return tell_reader(s, err);
}

/* What the kernel refuses at a mount point (renaming it, or something over it)
 * it refuses only to those who see the mount. */
static int become_actor(struct start *s, struct cordon_err *err)
{
	const uint64_t look = 1ull << CAP_SYS_CHROOT | 1ull << CAP_DAC_READ_SEARCH;
	struct guard_worker *w = &s->worker;
	int keep[] = { w->listener, w->sock, w->denials, s->trouble, -1, -1, -1 };

	if (leave(s, err) < 0)
		return -1;
	if (aside_enter_userns(s->o->userns, look | 1ull << CAP_SYS_ADMIN, err) < 0)
		return -1;
	if (s->o->mntns >= 0 &&
	    (setns(s->o->mntns, CLONE_NEWNS) < 0 || chroot(s->o->root) < 0 || chdir("/") < 0))
		return err_sys(err, CORDON_E_HOST, "cannot enter the mounts of the tree");
	/* The rules of the tree do not let us open it; it stays that of these mounts. */
	w->mounts = openat(w->proc, "self/mountinfo", O_RDONLY | O_CLOEXEC);
	if (w->mounts < 0)
		return err_sys(err, CORDON_E_HOST, "cannot open /proc/self/mountinfo");
	if (aside_set_caps(look, err) < 0)
		return -1;
	if (s->o->ruleset >= 0 && syscall(SYS_landlock_restrict_self, s->o->ruleset, 0) < 0)
		return err_sys(err, CORDON_E_HOST, "cannot enter the Landlock rules of the tree");
	if (aside_bind(s->parent, err) < 0)
		return -1;
	w->self = openat(w->proc, "self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (w->self < 0)
		return err_sys(err, CORDON_E_HOST, "cannot open /proc/self");
	keep[4] = w->proc;
	keep[5] = w->self;
	keep[6] = w->mounts;
	if (aside_keep_only(keep, ARRAY_SIZE(keep), err) < 0)
		return -1;
	return settle_names(s, err);
}

static _Noreturn void work(struct start *s, int (*become)(struct start *, struct cordon_err *),
			    void (*loop)(struct guard_worker *))
{
	struct cordon_err err = { 0 };

	if (become(s, &err) == 0) {
		(void)!cpus_use(&s->cpus);
		loop(&s->worker);
	}
	else
		(void)!write(s->trouble, &err, sizeof(err));
	_exit(1);
}

static int start_one(struct start *s, int sock, int (*become)(struct start *, struct cordon_err *),
		     void (*loop)(struct guard_worker *), struct guard_process *ret,
		     struct cordon_err *err)
{
	pid_t pid = fork();

	if (pid == 0) {
		s->worker.sock = sock;
		work(s, become, loop);
	}
	if (pid < 0)
		return err_sys(err, CORDON_E_HOST, "cannot start a process of the guard");
	ret->has_run = true;
	ret->pid = pid;
	ret->pidfd = pidfd_of(pid);
	if (ret->pidfd < 0 || clock_getcpuclockid(pid, &ret->clock) != 0) {
		fd_close(&ret->pidfd);
		err_sys(err, CORDON_E_HOST, "cannot watch the guard");
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return -1;
	}
	return 0;
}

/* --- the supervisor's side -------------------------------------------------- */

static int start_actor(struct start *s, const int socks[2], struct guard_pair *pair,
		       struct cordon_err *err)
{
	return start_one(s, socks[0], become_actor, guard_actor_loop, &pair->actor, err);
}

static int start_reader(struct start *s, const int socks[2], struct guard_pair *pair,
			struct cordon_err *err)
{
	return start_one(s, socks[1], become_reader, guard_reader_loop, &pair->reader, err);
}

/* The reader first: many calls it answers alone (/dev/null opened to write is the first that
 * git makes), and on one CPU they would wait until the actor has settled the names.  Later it
 * waits for the actor, without which it is not to be. */
static int start_pair(struct guard *g, struct cordon_err *err)
{
	struct guard_pair *pair = &g->pairs[g->n_pairs];
	struct start s = { .o = &g->o, .parent = getpid(), .is_later = g->n_pairs > 0 };
	int socks[2], pipe_fds[2], rc;

	*pair = (struct guard_pair){ .actor.pidfd = -1, .reader.pidfd = -1, .trouble = -1 };
	g->n_pairs++;
	if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_sys(err, CORDON_E_HOST, "cannot make a pipe for the guard");
	pair->trouble = pipe_fds[0];
	s.trouble = pipe_fds[1];
	s.worker = (struct guard_worker){ .listener = g->o.listener, .init = g->o.init,
					  .denials = g->deny, .proc = -1, .shared = g->shared,
					  .cpu = &g->shared->cpus[g->n_pairs - 1],
					  .names = &g->names, .commands = &g->commands };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) < 0) {
		close(s.trouble);
		return err_sys(err, CORDON_E_HOST, "cannot make a socket for the guard");
	}
	/* The command is being loaded on another; behind it they would wait for its first call.
	 * When they have begun they go wherever a call comes from. */
	cpus_read(&s.cpus);
	if (g->o.is_early && g->n_pairs == 1)
		cpus_stay_on(sched_getcpu());
	if (s.is_later)
		rc = start_actor(&s, socks, pair, err) < 0 ? -1 :
			start_reader(&s, socks, pair, err);
	else
		rc = start_reader(&s, socks, pair, err) < 0 ? -1 :
			start_actor(&s, socks, pair, err);
	(void)!cpus_use(&s.cpus);
	close(s.trouble);
	close(socks[0]);
	close(socks[1]);
	return rc;
}

static void kill_pair(const struct guard_pair *pair)
{
	pidfd_signal(pair->actor.pidfd, SIGKILL);
	pidfd_signal(pair->reader.pidfd, SIGKILL);
}

static void kill_all(const struct guard *g)
{
	for (size_t i = 0; i < g->n_pairs; i++)
		kill_pair(&g->pairs[i]);
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
	g->more_at_us = INT64_MAX;
	fd_close(&g->o.listener);
	kill_all(g);
}

/* Who waits for a FIFO ends after them; the pipe ends with the last. */
static void wait_for_end(int trouble)
{
	struct pollfd p = { .fd = trouble, .events = POLLIN };
	char rest[sizeof(struct cordon_err)];
	ssize_t n;

	while ((n = read(trouble, rest, sizeof(rest))) > 0 ||
	       (n < 0 && (errno == EAGAIN || errno == EINTR)))
		if (n < 0)
			poll(&p, 1, -1);
}

static void wait_for_pair(struct guard_pair *pair)
{
	collect(&pair->actor.pidfd);
	collect(&pair->reader.pidfd);
	if (pair->trouble >= 0)
		wait_for_end(pair->trouble);
	fd_close(&pair->trouble);
}

/* One of which not both began: no call has come there.  It is waited for at the end, as a
 * file system of the host may hold it up, and the limits cannot wait. */
static void leave_out(struct guard_pair *pair)
{
	kill_pair(pair);
	pair->left_out = true;
}

static int make_shared(struct guard *g, struct cordon_err *err)
{
	void *at = mmap(NULL, sizeof(*g->shared), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_rwlockattr_t many;
	pthread_mutexattr_t one;

	if (at == MAP_FAILED)
		return err_nomem(err);
	g->shared = at;
	if (pthread_rwlockattr_init(&many) != 0 || pthread_mutexattr_init(&one) != 0 ||
	    pthread_rwlockattr_setpshared(&many, PTHREAD_PROCESS_SHARED) != 0 ||
	    pthread_mutexattr_setpshared(&one, PTHREAD_PROCESS_SHARED) != 0 ||
	    pthread_rwlock_init(&g->shared->lock, &many) != 0 ||
	    pthread_mutex_init(&g->shared->turn, &one) != 0)
		return err_set(err, CORDON_E_HOST, "cannot make the guard's lock");
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

int guard_start(const struct guard_options *o, struct guard **ret, struct cordon_err *err)
{
	uint64_t flags = SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP;
	struct guard *g = calloc(1, sizeof(*g));

	if (!g) {
		close(o->listener);
		return err_nomem(err);
	}
	g->o = *o;
	g->denials = g->deny = -1;
	/* Faster where it is known: the answer wakes the caller on this CPU. */
	(void)ioctl(o->listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, flags);
	if (guard_names_check(o->names, o->n_names, err) < 0 ||
	    guard_commands_init(&g->commands, o->plan, err) < 0 || make_shared(g, err) < 0 ||
	    make_denials(g, err) < 0 || start_pair(g, err) < 0) {
		guard_stop(g);
		return -1;
	}
	g->more_at_us = run_later_us(run_now_us(), MORE_AFTER_MS);
	*ret = g;
	return 0;
}

void guard_poll(const struct guard *g, struct pollfd fds[N_GUARD_POLLS])
{
	for (size_t i = 0; i < N_GUARD_POLLS; i++)
		fds[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
	if (!g || g->gone)
		return;
	fds[GUARD_DENIALS].fd = g->denials;
	for (size_t i = 0; i < g->n_pairs; i++) {
		if (g->pairs[i].left_out)
			continue;
		fds[GUARD_WORKERS + 2 * i].fd = g->pairs[i].actor.pidfd;
		fds[GUARD_WORKERS + 2 * i + 1].fd = g->pairs[i].reader.pidfd;
	}
}

int64_t guard_next_us(const struct guard *g)
{
	return g ? g->more_at_us : INT64_MAX;
}

static int read_trouble_of(const struct guard_pair *pair, struct cordon_err *err)
{
	struct cordon_err one;

	if (read(pair->trouble, &one, sizeof(one)) != sizeof(one))
		return 0;
	*err = one;
	return -1;
}

/* What is not told by one that could not begin is no failure; nor is it that a later pair
 * could not. */
static int read_trouble(const struct guard *g, struct cordon_err *err)
{
	return read_trouble_of(&g->pairs[0], err);
}

bool guard_read_trouble(const struct guard *g, struct cordon_err *ret)
{
	return g && read_trouble(g, ret) < 0;
}

/* The first pair can do it alone, if not as fast: a machine that has no room for more is no
 * reason to end what runs. */
static int start_more(struct guard *g, struct cordon_err *err)
{
	struct cordon_err why;

	g->more_at_us = INT64_MAX;
	while (g->n_pairs < N_GUARD_PAIRS) {
		if (start_pair(g, &why) == 0)
			continue;
		/* It may have taken a call along. */
		if (g->pairs[g->n_pairs - 1].reader.has_run) {
			give_up(g);
			*err = why;
			return -1;
		}
		leave_out(&g->pairs[g->n_pairs - 1]);
		break;
	}
	fd_close(&g->o.listener);
	return 0;
}

/* A process of this pair has ended.  False: it has served. */
static bool can_do_without(struct guard *g, size_t i)
{
	struct guard_pair *pair = &g->pairs[i];
	struct cordon_err ignored;

	if (pair->left_out)
		return true;		/* just now */
	if (i == 0 || read_trouble_of(pair, &ignored) == 0)
		return false;
	leave_out(pair);
	return true;
}

int guard_work(struct guard *g, const struct pollfd fds[N_GUARD_POLLS], struct cordon_err *err)
{
	if (!g || g->gone)
		return 0;
	for (size_t i = GUARD_WORKERS; i < N_GUARD_POLLS; i++)
		if (fds[i].revents && !can_do_without(g, (i - GUARD_WORKERS) / 2)) {
			give_up(g);
			return read_trouble(g, err);
		}
	return run_now_us() < g->more_at_us ? 0 : start_more(g, err);
}

int guard_read_denial(struct guard *g, struct guard_denial *ret)
{
	ssize_t got;

	do
		got = recv(g->denials, ret, sizeof(*ret) - 1, MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return errno == EAGAIN && !g->gone ? 0 : -1;
	((char *)ret)[got] = '\0';
	return got >= (ssize_t)offsetof(struct guard_denial, what) ? 1 : -1;
}

uint64_t guard_denials_lost(const struct guard *g)
{
	return atomic_load(&g->shared->lost);
}

static int64_t read_clock(struct guard_process *p)
{
	struct timespec t;

	if (p->clock && clock_gettime(p->clock, &t) == 0)
		p->cpu_us = (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
	return p->cpu_us;
}

int64_t guard_cpu_us(struct guard *g)
{
	int64_t us = 0;

	for (size_t i = 0; g && i < g->n_pairs; i++)
		us += read_clock(&g->pairs[i].actor) + read_clock(&g->pairs[i].reader);
	return us;
}

/* They share a CPU with the command, and now perhaps with us: to end they need not. */
static void set_free(const struct guard_process *p, const cpu_set_t *all)
{
	if (p->pidfd >= 0 && CPU_COUNT(all))
		(void)sched_setaffinity(p->pid, sizeof(*all), all);
}

void guard_end(const struct guard *g)
{
	cpu_set_t all;

	if (!g)
		return;
	cpus_read(&all);
	for (size_t i = 0; i < g->n_pairs; i++) {
		set_free(&g->pairs[i].actor, &all);
		set_free(&g->pairs[i].reader, &all);
	}
	kill_all(g);
}

void guard_stop(struct guard *g)
{
	if (!g)
		return;
	give_up(g);
	for (size_t i = 0; i < g->n_pairs; i++)
		wait_for_pair(&g->pairs[i]);
	fd_close(&g->denials);
	fd_close(&g->deny);
	guard_commands_release(&g->commands);
	if (g->shared)
		munmap(g->shared, sizeof(*g->shared));
	free(g);
}
