/* The life of one run; see run.h.
 *
 * One process, one poll loop, no thread.  It holds init's pidfd and control
 * socket; killing init ends the whole tree, and so does our own end.
 */
#include "super/run.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend/native/native.h"
#include "backend/native/syscalls.h"
#include "base/fd.h"
#include "base/limits.h"
#include "super/caller.h"
#include "super/disk.h"
#include "super/guard.h"
#include "super/live.h"
#include "super/network.h"
#include "super/report.h"
#include "super/run_priv.h"
#include "super/stdio.h"

struct run {
	const struct plan *plan;
	struct run_result *res;
	struct run_reporter *reporter;
	struct native_child child;
	struct native_fds fds;
	struct limiter *limiter;
	enum host_cgroup cgroup;
	struct guard *guard;
	struct disk *disk;	/* NULL: not counted */
	struct network network;
	struct stdio stdio;
	struct live live;
	int signals;
	struct caller caller;
	int alive[2];		/* the guard reads the end of us from it */
	int userns, mntns;	/* of the tree, for the guard; or -1 */
	int64_t begin_us, deadline_us, kill_at_us, look_at_us;
	const char *blocked;	/* the message of the last command that was refused */
	bool exited;		/* the command's status is known */
	bool gone;		/* init is not there any more */
	bool paused;		/* everything inside was stopped together with us */
};

int64_t run_now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

int64_t run_later_us(int64_t us, int64_t ms)
{
	return ms > (INT64_MAX - us) / 1000 ? INT64_MAX : us + ms * 1000;
}

struct timespec run_wait(int64_t next_us)
{
	int64_t us = 3600 * INT64_C(1000000);

	if (next_us != INT64_MAX)
		us = MAX(next_us - run_now_us(), 0);
	return (struct timespec){ us / 1000000, us % 1000000 * 1000 };
}

/* ---- ending ------------------------------------------------------------- */

/* Without a pid namespace it is init that must do it, and then ends. */
static void kill_tree(struct run *r)
{
	if (r->plan->clone_flags & CLONE_NEWPID)
		sys_pidfd_send_signal(r->child.pidfd, SIGKILL);
	else
		native_send(&r->child, NATIVE_TERMINATE, SIGKILL);
}

/* The first reason counts. */
static void stop_for(struct run *r, enum limit_kind why, int signal)
{
	if (r->res->limit != LIMIT_OK || r->exited)
		return;
	r->res->limit = why;
	run_report_limit(r->reporter);
	if (!signal) {
		kill_tree(r);
		return;
	}
	native_send(&r->child, NATIVE_TERMINATE, signal);
	r->kill_at_us = run_later_us(run_now_us(), r->plan->limits.grace_ms);
}

/* ---- events ------------------------------------------------------------- */

static int on_ready(struct run *r, struct cordon_err *err)
{
	int *terminal = &r->fds.fd[NATIVE_TERMINAL];

	r->res->started = true;
	if (*terminal >= 0 && stdio_join(&r->stdio, fd_take(terminal), err) < 0)
		return -1;
	if (r->disk)
		disk_join(r->disk, r->fds.fd[NATIVE_PROC]);
	if (network_join(&r->network, &r->fds, err) < 0)
		return -1;
	for (int i = NATIVE_PLACE; i < NATIVE_PLACE + N_NATIVE_PLACES; i++)
		if (r->fds.fd[i] >= 0 && limiter_add_fs(r->limiter, r->fds.fd[i], err) < 0)
			return -1;
	/* The plan has no such limits where nothing can count them. */
	if (r->fds.fd[NATIVE_PROC] < 0 && r->cgroup == HOST_CGROUP_NONE)
		return 0;
	if (limiter_start(r->limiter, r->fds.fd[NATIVE_PROC], r->child.pid, err) < 0)
		return -1;
	r->look_at_us = run_now_us();
	return 0;
}

/* As the caller's job control wants it; returns when it lets us go on. */
static void stop_with_caller(struct run *r)
{
	stdio_pause(&r->stdio);
	raise(SIGSTOP);
	stdio_resume(&r->stdio);
}

static int on_message(struct run *r, const struct native_message *m, struct cordon_err *err)
{
	switch (m->kind) {
	case NATIVE_READY:
		return on_ready(r, err);
	case NATIVE_FAILED:
		r->res->err = m->err;
		return 0;
	case NATIVE_EXEC_FAILED:
		r->res->started = false;
		r->res->exec_errno = m->value;
		return 0;
	case NATIVE_SOCKET:
		network_add_socket(&r->network, &r->fds);
		return 0;
	case NATIVE_EXITED:
		r->exited = true;
		r->res->status = m->value;
		r->res->usage.cpu_ms = m->cpu_ms;
		r->res->usage.max_rss_kb = m->max_rss_kb;
		return 0;
	case NATIVE_STOPPED:
		/* ^Z in the terminal: the caller's shell sees us stop, and continues
		 * us.  While we stand still nobody watches the limits: so does
		 * all inside.  Without such a shell nobody would continue us. */
		if (r->stdio.raw && getpgrp() != getsid(0)) {
			native_send(&r->child, NATIVE_SIGNAL_ALL, SIGSTOP);
			stop_with_caller(r);
		}
		if (r->stdio.raw)
			native_send(&r->child, NATIVE_SIGNAL_ALL, SIGCONT);
		return 0;
	default:
		return err_set(err, CORDON_E_BUG, "init sent a message of kind %d", m->kind);
	}
}

static int read_messages(struct run *r, struct cordon_err *err)
{
	struct native_message m = { 0 };

	while (native_recv(&r->child, &m, &r->fds) > 0)
		if (on_message(r, &m, err) < 0)
			return -1;
	return 0;
}

/* `cordon kill`: the tree gets the time that every other end gives it. */
static void end_run(struct run *r)
{
	native_send(&r->child, NATIVE_TERMINATE, SIGTERM);
	r->kill_at_us = MIN(r->kill_at_us, run_later_us(run_now_us(), r->plan->limits.grace_ms));
}

static void on_signal(struct run *r, int signal)
{
	switch (signal) {
	case SIGWINCH:
		stdio_resize(&r->stdio);
		break;
	case SIGTSTP:		/* from the caller's terminal, or its shell */
		r->paused = true;
		native_send(&r->child, NATIVE_SIGNAL_ALL, SIGSTOP);
		stop_with_caller(r);
		break;
	case SIGCONT:
		native_send(&r->child, r->paused ? NATIVE_SIGNAL_ALL : NATIVE_SIGNAL, SIGCONT);
		r->paused = false;
		break;
	default:
		native_send(&r->child, NATIVE_SIGNAL, signal);
	}
}

static void read_signals(struct run *r)
{
	struct signalfd_siginfo si;

	while (read(r->signals, &si, sizeof(si)) == (ssize_t)sizeof(si))
		if (si.ssi_signo == SIGTERM && si.ssi_code == SI_QUEUE && si.ssi_int == LIVE_END)
			end_run(r);
		else
			on_signal(r, (int)si.ssi_signo);
}

/* False: there may be more. */
static bool read_denials(struct run *r)
{
	struct guard_denial d;

	/* Not for as long as they come: the limits are looked at in between. */
	for (int i = 0; i < MAX_DENIALS && r->guard; i++) {
		if (guard_read_denial(r->guard, &d) <= 0)
			return true;
		if (!d.rule) {
			run_report_file(r->reporter, d.what);
		} else if (d.rule <= r->plan->n_rules) {
			r->blocked = r->plan->rules[d.rule - 1].message;
			run_report_command(r->reporter, d.what, r->blocked,
					   "commands.block without the pattern");
		}
	}
	return !r->guard;
}

/* The tree has ended. */
static void end_denials(struct run *r)
{
	while (!read_denials(r))
		;
	/* Nothing ran: then it was the command itself that was refused. */
	if (r->res->exec_errno)
		r->res->blocked = r->blocked;
	if (r->guard)
		run_report_lost(r->reporter, guard_denials_lost(r->guard));
}

static bool is_gone(const struct run *r)
{
	struct pollfd p = { .fd = r->child.pidfd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

/* The first call that makes a name, or executes something where commands are
 * blocked: now there is something to guard.  Runs that do neither pay nothing.
 * The listener is the guard's alone from here on: when it is gone, the calls
 * fail. */
static int start_guard(struct run *r, struct cordon_err *err)
{
	struct guard_options o = {
		.names = (const char *const *)r->plan->guarded,
		.n_names = r->plan->n_guarded,
		.plan = r->plan->n_rules ? r->plan : NULL,
		.listener = r->fds.fd[NATIVE_LISTENER],
		.userns = r->userns,
		.mntns = r->mntns,
		.ruleset = r->fds.fd[NATIVE_RULESET],
		.alive = r->alive[0],
	};

	struct cordon_err ignored;
	int rc = guard_start(&o, &r->guard, err);

	fd_close(&r->fds.fd[NATIVE_LISTENER]);
	if (rc == 0 && guard_recv_ready(r->guard, err) == 0)
		return 0;
	/* A tree that ended meanwhile takes its guard along: its filter goes
	 * before its end shows, but init has told the end before. */
	(void)!read_messages(r, &ignored);
	return r->exited || r->res->exec_errno || is_gone(r) ? 0 : -1;
}

/* While init can still be looked at. */
static int open_namespaces(struct run *r, struct cordon_err *err)
{
	char path[64];

	if (!(r->plan->asks || r->plan->limits.roots != INT64_MAX) ||
	    !(r->plan->clone_flags & CLONE_NEWUSER))
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/ns/user", r->child.pid);
	r->userns = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", r->child.pid);
	r->mntns = open(path, O_RDONLY | O_CLOEXEC);
	if (r->userns < 0 || r->mntns < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot open the namespaces of the tree");
	return 0;
}

static void check_limits(struct run *r)
{
	int64_t now = run_now_us(), wait_us = -1;
	enum limit_kind over;

	if (now >= r->deadline_us)
		stop_for(r, LIMIT_WALL, SIGTERM);
	if (r->kill_at_us != INT64_MAX && now >= r->kill_at_us)
		kill_tree(r);
	if (!r->res->started || r->exited || now < r->look_at_us)
		return;
	over = limiter_check(r->limiter, &wait_us);
	r->look_at_us = wait_us < 0 ? INT64_MAX : now + wait_us;
	if (over == LIMIT_MEMORY || over == LIMIT_PROCESSES)
		stop_for(r, over, 0);
	else if (over == LIMIT_CPU)
		stop_for(r, over, SIGXCPU);
}

/* ---- the loop ----------------------------------------------------------- */

enum { POLL_CHILD, POLL_CONTROL, POLL_SIGNALS, POLL_LIMITER, POLL_GUARD, POLL_LISTENER,
       POLL_NETWORK, POLL_DISK, N_POLLS };

static int64_t next_us(const struct run *r)
{
	return MIN(MIN(r->deadline_us, r->kill_at_us),
		   MIN(r->look_at_us,
		       MIN(audit_next_us(r->reporter->audit), stdio_next_us(&r->stdio))));
}

static size_t list_polls(struct run *r, struct pollfd *fds)
{
	bool guarding = r->guard != NULL;

	fds[POLL_CHILD] = (struct pollfd){ .fd = r->child.pidfd, .events = POLLIN };
	fds[POLL_CONTROL] = (struct pollfd){ .fd = r->child.control, .events = POLLIN };
	fds[POLL_SIGNALS] = (struct pollfd){ .fd = r->signals, .events = POLLIN };
	fds[POLL_LIMITER] = (struct pollfd){ .fd = limiter_event_fd(r->limiter),
					     .events = POLLIN | POLLPRI };
	fds[POLL_GUARD] = (struct pollfd){ .fd = guarding ? guard_event_fd(r->guard) : -1,
					   .events = POLLIN };
	fds[POLL_LISTENER] = (struct pollfd){ .fd = guarding ? -1 : r->fds.fd[NATIVE_LISTENER],
					      .events = POLLIN };
	fds[POLL_NETWORK] = (struct pollfd){ .fd = network_event_fd(&r->network),
					     .events = POLLIN };
	fds[POLL_DISK] = (struct pollfd){ .fd = r->disk ? disk_event_fd(r->disk) : -1,
					  .events = POLLIN };
	return N_POLLS + stdio_poll(&r->stdio, fds + N_POLLS);
}

/* Everything but the network. */
static int act(struct run *r, const struct pollfd *fds, struct cordon_err *err)
{
	if (read_messages(r, err) < 0)
		return -1;
	if (fds[POLL_CHILD].revents)
		r->gone = true;
	if (fds[POLL_SIGNALS].revents)
		read_signals(r);
	if (fds[POLL_LIMITER].revents)
		r->look_at_us = 0;
	if ((fds[POLL_LISTENER].revents & POLLIN) && start_guard(r, err) < 0)
		return -1;
	if (fds[POLL_DISK].revents && disk_is_over(r->disk))
		stop_for(r, LIMIT_DISK, 0);
	read_denials(r);
	check_limits(r);
	run_report_write(r->reporter);
	if (!stdio_move(&r->stdio))
		stop_for(r, LIMIT_OUTPUT, SIGTERM);
	return 0;
}

static int loop(struct run *r, struct cordon_err *err)
{
	struct pollfd fds[N_POLLS + 8];

	while (!r->exited && !r->gone) {
		struct timespec wait = run_wait(MIN(next_us(r), network_next_us(&r->network)));
		int ready = ppoll(fds, list_polls(r, fds), &wait, NULL);

		if (ready < 0 && errno != EINTR)
			return err_sys(err, CORDON_E_SETUP, "cannot wait for the command");
		network_work(&r->network);
		/* Nothing else happened, and nothing else is due. */
		if (ready == 1 && fds[POLL_NETWORK].revents && run_now_us() < next_us(r))
			continue;
		if (act(r, fds, err) < 0)
			return -1;
	}
	return 0;
}

/* [R2]: init's end is the end of everything inside. */
static void wait_for_end(struct run *r)
{
	struct pollfd p = { .fd = r->child.pidfd, .events = POLLIN };
	struct cordon_err ignored;
	int status;

	kill_tree(r);
	live_remove(&r->live);		/* while the kernel takes it apart */
	while (poll(&p, 1, 5000) < 0 && errno == EINTR)
		;
	sys_pidfd_send_signal(r->child.pidfd, SIGKILL);
	while (waitpid(r->child.pid, &status, __WALL) < 0 && errno == EINTR)
		;
	/* The kernel may have killed all at once: its counters still tell. */
	if (r->res->started) {
		int64_t ignored_us;

		if (limiter_check(r->limiter, &ignored_us) == LIMIT_MEMORY &&
		    r->res->limit == LIMIT_OK)
			r->res->limit = LIMIT_MEMORY;
	}
	/* What init still had to say. */
	(void)!read_messages(r, &ignored);
	/* Ended by its clock, or by cordon kill, while it was still being built:
	 * that is how the run ended, and nothing to be tried another way. */
	if (r->kill_at_us != INT64_MAX && r->res->err.code == CORDON_E_NONE &&
	    !r->res->exec_errno)
		r->res->started = true;
	if (!r->exited)
		r->res->status = r->res->limit == LIMIT_CPU ? SIGXCPU : SIGKILL;
}

/* ---- start and finish --------------------------------------------------- */

int run_watch_signals(int *ret_fd, struct cordon_err *err)
{
	static const int forwarded[] = { SIGINT,  SIGTERM,  SIGHUP,  SIGQUIT, SIGUSR1,
					 SIGUSR2, SIGWINCH, SIGCONT, SIGTSTP };
	struct sigaction now;
	sigset_t set;

	sigemptyset(&set);
	/* What the caller ignores (nohup, a shell's background job) is ignored
	 * by the command, too. */
	for (size_t i = 0; i < ARRAY_SIZE(forwarded); i++)
		if (sigaction(forwarded[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			sigaddset(&set, forwarded[i]);
	signal(SIGCHLD, SIG_DFL);	/* ignored, there would be no status */
	sigprocmask(SIG_BLOCK, &set, NULL);
	*ret_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (*ret_fd < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot watch signals");
	return 0;
}

static int clone_init(struct run *r, struct cordon_err *err)
{
	struct native_groups groups = { .cgroup = limiter_cgroup_fd(r->limiter) };
	int rc;

	static_assert(ARRAY_SIZE(groups.entries) == MAX_LIMITER_ENTRIES, "all of them fit");
	if (groups.cgroup < 0 &&
	    limiter_open_entries(r->limiter, groups.entries, &groups.n_entries, err) < 0)
		return -1;
	rc = native_clone(r->plan, &r->stdio.child, &groups, &r->child, err);
	for (size_t i = 0; i < groups.n_entries; i++)
		fd_close(&groups.entries[i]);
	if (rc < 0 || r->child.in_cgroup || groups.n_entries)
		return rc;
	return limiter_join(r->limiter, r->child.pid, err);
}

/* What must be there before anything is cloned. */
static int prepare(struct run *r, const struct host_caps *caps, struct cordon_err *err)
{
	struct plan_limits limits = r->plan->limits;

	/* Root's groups are not the tree's, and the guard acts with ours. */
	if (r->plan->uid == 0 && caller_leave_groups(&r->caller, err) < 0)
		return -1;
	/* Where a root covers it, it must be there to be masked. */
	if (r->plan->mask_live_root && live_make_root(r->plan->live_root, err) < 0)
		return -1;
	/* init is none of the command's processes. */
	if (limits.processes != INT64_MAX)
		limits.processes++;
	if (limiter_new(&limits, caps->cgroup, &r->limiter, err) < 0)
		return -1;
	if (network_start(&r->network, r->plan, &r->child, r->reporter, err) < 0)
		return -1;
	if (pipe2(r->alive, O_CLOEXEC) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot make a pipe");
	return 0;
}

static int start(struct run *r, const struct host_caps *caps, struct cordon_err *err)
{
	if (prepare(r, caps, err) < 0 || clone_init(r, err) < 0 || open_namespaces(r, err) < 0)
		return -1;
	if (r->plan->limits.roots != INT64_MAX &&
	    disk_start(r->plan, r->userns, &r->disk, err) < 0)
		return -1;
	/* The maps are written, which needs a dumpable child of a dumpable
	 * parent; from here on nobody looks into this process. */
	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot hide the supervisor");
	if (native_send(&r->child, NATIVE_GO, 0) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot start init");
	stdio_started(&r->stdio);
	/* A reader that went away is told to the writer inside, which has the
	 * caller's own idea of this signal: so not before the clone. */
	signal(SIGPIPE, SIG_IGN);
	r->begin_us = run_now_us();
	r->deadline_us = run_later_us(r->begin_us, r->plan->limits.wall_ms);
	/* While init works. */
	if (native_grant(r->plan, &r->child, err) < 0)
		return -1;
	live_try_add(&r->live, r->plan->live_root, r->res->run_id, r->plan);
	return 0;
}

static void settle(struct run *r)
{
	struct limiter_usage usage;
	struct run_result *res = r->res;

	limiter_usage(r->limiter, &usage);
	res->usage.cpu_ms = MAX(res->usage.cpu_ms, usage.cpu_ms);
	res->usage.max_rss_kb = MAX(res->usage.max_rss_kb, usage.max_rss_kb);
	res->usage.processes_peak = MAX(usage.processes_peak - 1, 1);
	res->usage.processes_refused = usage.processes_refused;
	/* The kernel's counter tells, even when the command lived on. */
	if (usage.oom_killed && res->limit == LIMIT_OK)
		res->limit = LIMIT_MEMORY;
	res->oom_killed = res->limit == LIMIT_MEMORY;
	/* So does the last count. */
	if (r->disk && res->started && disk_settle(r->disk) && res->limit == LIMIT_OK)
		res->limit = LIMIT_DISK;
	if (res->limit == LIMIT_MEMORY || res->limit == LIMIT_DISK)
		res->status = SIGKILL;
	if (res->limit == LIMIT_CPU)
		res->status = SIGXCPU;
	if (res->limit == LIMIT_OK && WIFSIGNALED(res->status) && WTERMSIG(res->status) == SIGXFSZ)
		res->limit = LIMIT_FILE_SIZE;
	res->duration_ms = r->begin_us ? (run_now_us() - r->begin_us) / 1000 : 0;
}

int run_plan(const struct plan *plan, const struct host_caps *caps, const struct run_options *o,
	     struct run_result *ret, struct cordon_err *err)
{
	struct run r = {
		.plan = plan,
		.res = ret,
		.reporter = o->reporter,
		.cgroup = caps->cgroup,
		.child = { .pidfd = -1, .control = -1, .ruleset = -1 },
		.fds = NATIVE_NO_FDS,
		.signals = -1,
		.alive = { -1, -1 },
		.userns = -1,
		.mntns = -1,
		.deadline_us = INT64_MAX,
		.kill_at_us = INT64_MAX,
		.look_at_us = INT64_MAX,
	};
	int rc;

	caller_init(&r.caller);
	rc = stdio_open(&r.stdio, o->capture ? ret->out : NULL, ret->truncated, plan->limits.output,
			o->limit_output, err);
	if (rc == 0)
		rc = run_watch_signals(&r.signals, err);
	if (rc == 0)
		rc = start(&r, caps, err);
	if (rc == 0)
		rc = loop(&r, err);
	if (r.child.pidfd >= 0) {
		wait_for_end(&r);
		end_denials(&r);
	}
	guard_stop(r.guard);
	network_stop(&r.network);
	if (!stdio_drain(&r.stdio) && ret->limit == LIMIT_OK)
		ret->limit = LIMIT_OUTPUT;
	stdio_close(&r.stdio);
	if (r.limiter)
		settle(&r);
	disk_stop(r.disk);
	limiter_free(r.limiter);
	live_remove(&r.live);
	for (size_t i = 0; i < 2; i++)
		fd_close(&r.alive[i]);
	fd_close(&r.userns);
	fd_close(&r.mntns);
	fd_close(&r.child.pidfd);
	fd_close(&r.child.control);
	fd_close(&r.child.ruleset);
	for (int i = 0; i < N_NATIVE_FDS; i++)
		fd_close(&r.fds.fd[i]);
	fd_close(&r.signals);
	caller_release(&r.caller);
	return rc;
}
