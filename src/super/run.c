/* The life of one run; see run.h.
 *
 * One process, one poll loop, no thread.  It holds init's pidfd and control
 * socket; killing init ends the whole tree, and so does our own end.
 */
#include "super/run.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/signals.h"
#include "super/aside.h"
#include "super/confine.h"
#include "super/disk.h"
#include "super/guard.h"
#include "super/live.h"
#include "super/report.h"
#include "super/run_priv.h"
#include "super/server.h"
#include "super/stdio.h"
#include "super/tree.h"

/* Nobody can see a run so soon and ask about it, and most commands end sooner than
 * they would be listed.  Some file systems wait for their disk when the entry goes. */
#define LIST_AFTER_MS	100

struct run {
	const struct plan *plan;
	struct run_result *res;
	struct run_reporter *reporter;
	bool own_process;
	struct tree tree;
	struct stdio stdio;
	struct live live;
	struct server server;
	int signals;
	int64_t deadline_us, kill_at_us;
	int64_t list_at_us;	/* when it gets into the list of live runs */
	bool exited;		/* the command's status is known */
	bool gone;		/* init is not there any more */
	bool paused;		/* everything inside was stopped together with us */
	bool told_to_end;	/* by a signal, which was passed on */
	uint64_t held;		/* signals that came before there was a command, as bits */
	int end_signal;		/* by which it was told to end then */
	struct cordon_err guard_err;	/* why the guard could not begin, told with the end */
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

	/* Not in one: MAX() reads the clock twice, and the second time it may be
	 * later than `next_us`. */
	if (next_us != INT64_MAX)
		us = next_us - run_now_us();
	us = MAX(us, 0);
	return (struct timespec){ us / 1000000, us % 1000000 * 1000 };
}

/* ---- ending ------------------------------------------------------------- */

bool run_ended_well(const struct run_result *res)
{
	return res->limit == LIMIT_OK && !WIFSIGNALED(res->status);
}

bool run_is_end(int signal)
{
	return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

void run_drain_output(struct run_result *res, struct stdio *s, int signals, bool ended_well)
{
	if (!stdio_drain(s, signals, ended_well) && res->limit == LIMIT_OK)
		res->limit = LIMIT_OUTPUT;
	if (res->limit == LIMIT_OUTPUT)
		res->status = SIGTERM;
	res->unwritten = s->unwritten;
}

/* The first reason counts. */
static void stop_for(struct run *r, enum limit_kind why, int signal)
{
	if (r->res->limit != LIMIT_OK || r->exited)
		return;
	r->res->limit = why;
	run_report_limit(r->reporter);
	if (!signal) {
		tree_kill(&r->tree);
		return;
	}
	native_send(&r->tree.child, NATIVE_TERMINATE, signal);
	r->kill_at_us = run_later_us(run_now_us(), r->plan->limits.grace_ms);
}

/* ---- events ------------------------------------------------------------- */

static int on_ready(struct run *r, struct cordon_err *err)
{
	int *terminal = &r->tree.fds.fd[NATIVE_TERMINAL];

	r->res->started = true;
	if (*terminal >= 0 && stdio_join(&r->stdio, fd_take(terminal), err) < 0)
		return -1;
	if (tree_join(&r->tree, err) < 0)
		return -1;
	/* Nothing else is tried from here on.  Before the guard starts, so that it has it, too. */
	if (r->own_process && confine_self(err) < 0)
		return -1;
	return r->plan->asks_at_once ? tree_start_guard(&r->tree, err) : 0;
}

/* While the supervisor stands still: what is inside has been stopped, but a timer can
 * continue it.  The kind of the limit that was over is the status of the end. */
static _Noreturn void watch_alone(struct run *r, pid_t parent)
{
	const struct timespec tick = { 0, 20000000 };
	enum limit_kind over = LIMIT_OK;
	struct cordon_err ignored;

	/* In a group of its own: not stopped with the others. */
	if (setpgid(0, 0) < 0 || aside_bind(parent, &ignored) < 0)
		over = LIMIT_WALL;
	while (over == LIMIT_OK && !tree_is_gone(&r->tree)) {
		nanosleep(&tick, NULL);
		r->tree.look_at_us = 0;
		over = run_now_us() >= MIN(r->deadline_us, r->kill_at_us) ? LIMIT_WALL :
									    tree_check(&r->tree);
		if (over == LIMIT_OK && r->tree.disk && disk_is_over(r->tree.disk))
			over = LIMIT_DISK;
	}
	if (over != LIMIT_OK)
		tree_kill(&r->tree);
	_exit((int)over);
}

/* As the caller's job control wants it; returns when it lets us go on. */
static void stop_with_caller(struct run *r)
{
	pid_t parent = getpid(), watcher = fork();
	int status;

	if (watcher == 0)
		watch_alone(r, parent);
	if (watcher < 0)
		return;
	stdio_pause(&r->stdio);
	raise(SIGSTOP);
	stdio_resume(&r->stdio);
	kill(watcher, SIGKILL);
	while (waitpid(watcher, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) != LIMIT_OK)
		stop_for(r, (enum limit_kind)WEXITSTATUS(status), 0);
}

static int on_message(struct run *r, const struct native_message *m, struct cordon_err *err)
{
	switch (m->kind) {
	case NATIVE_ASKED:
		return tree_grant(&r->tree, err);
	case NATIVE_READY:
		return on_ready(r, err);
	case NATIVE_FAILED:
		/* Behind NATIVE_READY as well, where there is no room for one more process. */
		r->res->started = r->res->started && m->value;
		r->res->err = m->err;
		tree_explain(r->plan, &r->res->err);
		return 0;
	case NATIVE_EXEC_FAILED:
		r->res->started = false;
		r->res->exec_errno = m->value;
		return 0;
	case NATIVE_SOCKET:
		network_add_socket(&r->tree.network, &r->tree.fds);
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
			native_send(&r->tree.child, NATIVE_SIGNAL_ALL, SIGSTOP);
			stop_with_caller(r);
		}
		if (r->stdio.raw)
			native_send(&r->tree.child, NATIVE_SIGNAL_ALL, SIGCONT);
		return 0;
	default:
		return err_set(err, CORDON_E_BUG, "init sent a message of kind %d", m->kind);
	}
}

static int read_messages(struct run *r, struct cordon_err *err)
{
	struct native_message m = { 0 };

	while (native_recv(&r->tree.child, &m, &r->tree.fds) > 0)
		if (on_message(r, &m, err) < 0)
			return -1;
	return 0;
}

/* The tree gets the time that every other end gives it. */
static void end_run(struct run *r, int signal)
{
	native_send(&r->tree.child, NATIVE_TERMINATE, signal);
	r->kill_at_us = MIN(r->kill_at_us, run_later_us(run_now_us(), r->plan->limits.grace_ms));
}

/* While the tree is built there is nobody to pass it on to: init waits for other words. */
static void hold_signal(struct run *r, int signal)
{
	if (!run_is_end(signal)) {
		r->held |= UINT64_C(1) << (signal - 1);
		return;
	}
	r->end_signal = signal;
	end_run(r, signal);
}

static void on_signal(struct run *r, int signal)
{
	if (signal == SIGWINCH)
		stdio_resize(&r->stdio);
	/* A terminal of its own tells the command itself. */
	if (signal == SIGWINCH && r->stdio.child.controlling)
		return;
	if (!r->res->started) {
		hold_signal(r, signal);
		return;
	}
	switch (signal) {
	case SIGTSTP:		/* from the caller's terminal, or its shell */
		r->paused = true;
		native_send(&r->tree.child, NATIVE_SIGNAL_ALL, SIGSTOP);
		stop_with_caller(r);
		break;
	case SIGCONT:
		native_send(&r->tree.child, r->paused ? NATIVE_SIGNAL_ALL : NATIVE_SIGNAL, SIGCONT);
		r->paused = false;
		break;
	default:
		r->told_to_end |= run_is_end(signal);
		native_send(&r->tree.child, NATIVE_SIGNAL, signal);
	}
}

static void read_signals(struct run *r)
{
	struct signalfd_siginfo si;

	while (read(r->signals, &si, sizeof(si)) == (ssize_t)sizeof(si))
		if (si.ssi_signo == SIGTERM && si.ssi_code == SI_QUEUE && si.ssi_int == LIVE_END)
			end_run(r, SIGTERM);
		else
			on_signal(r, (int)si.ssi_signo);
}

static void pass_held(struct run *r)
{
	for (int signal = 1; r->held; signal++, r->held >>= 1)
		if (r->held & 1)
			on_signal(r, signal);
}

/* The tree has ended. */
static void end_denials(struct run *r)
{
	while (!tree_read_denials(&r->tree))
		;
	/* Nothing ran: then it was the command itself that was refused. */
	if (r->res->exec_errno)
		r->res->blocked = r->tree.blocked;
	if (r->tree.guard)
		run_report_lost(r->reporter, guard_denials_lost(r->tree.guard));
}

static int guard(struct run *r, const struct pollfd *fds, struct cordon_err *err)
{
	bool begins = fds[TREE_LISTENER].revents & POLLIN;
	struct cordon_err why, ignored;

	if (tree_guard(&r->tree, fds, &why) == 0)
		return 0;
	/* A tree that ended meanwhile takes its guard along: its filter goes
	 * before its end shows, but init has told the end before. */
	(void)!read_messages(r, &ignored);
	if ((!r->exited && !r->res->exec_errno && !tree_is_gone(&r->tree)) ||
	    /* Or it ended since nobody answered it. */
	    (begins && why.code == CORDON_E_HOST && r->exited && r->res->status)) {
		*err = why;
		return -1;
	}
	r->guard_err = why;
	return 0;
}

/* A guard that refused to begin, for what it found, made calls of the command fail: that is
 * why it failed, also where its end was seen first.  Other troubles come with every end. */
static int check_guard(struct run *r, struct cordon_err *err)
{
	struct cordon_err *why = &r->guard_err;

	if (!r->res->status ||
	    (why->code == CORDON_E_NONE && !guard_read_trouble(r->tree.guard, why)))
		return 0;
	if (why->code != CORDON_E_POLICY)
		return 0;
	*err = *why;
	return -1;
}

static void check_limits(struct run *r)
{
	int64_t now = run_now_us();
	enum limit_kind over;

	/* Hundreds of processes that never rest can keep us from our CPU for seconds: then the
	 * time between the two signals is over as well, and init has ended all (init.c). */
	if (now >= r->deadline_us) {
		bool late = now >= run_later_us(r->deadline_us, r->plan->limits.grace_ms);

		stop_for(r, LIMIT_WALL, late ? 0 : SIGTERM);
		r->deadline_us = INT64_MAX;	/* there is nothing to wait for any more */
	}
	if (r->kill_at_us != INT64_MAX && now >= r->kill_at_us) {
		tree_kill(&r->tree);
		r->kill_at_us = run_later_us(now, r->plan->limits.grace_ms);
	}
	if (!r->res->started || r->exited)
		return;
	over = tree_check(&r->tree);
	if (over == LIMIT_MEMORY || over == LIMIT_PROCESSES)
		stop_for(r, over, 0);
	else if (over == LIMIT_CPU)
		stop_for(r, over, SIGXCPU);
}

/* ---- the loop ----------------------------------------------------------- */

enum { POLL_SIGNALS = N_TREE_POLLS, POLL_SERVER, N_POLLS };

static int64_t next_us(const struct run *r)
{
	return MIN(MIN(MIN(r->deadline_us, r->kill_at_us), r->list_at_us),
		   MIN(MIN(tree_next_us(&r->tree), server_next_us(&r->server)),
		       stdio_next_us(&r->stdio)));
}

static size_t list_polls(struct run *r, struct pollfd *fds)
{
	tree_poll(&r->tree, fds);
	fds[POLL_SIGNALS] = (struct pollfd){ .fd = r->signals, .events = POLLIN };
	fds[POLL_SERVER] = (struct pollfd){
		.fd = r->res->started ? server_event_fd(&r->server) : -1, .events = POLLIN };
	return N_POLLS + stdio_poll(&r->stdio, fds + N_POLLS);
}

static void list_when_due(struct run *r)
{
	if (run_now_us() < r->list_at_us)
		return;
	r->list_at_us = INT64_MAX;
	live_try_add(&r->live, r->plan->live_root, r->res->run_id, r->plan);
}

/* Everything but the network. */
static int act(struct run *r, const struct pollfd *fds, struct cordon_err *err)
{
	if (read_messages(r, err) < 0)
		return -1;
	if (tree_shows_end(fds))
		r->gone = true;
	if (fds[POLL_SIGNALS].revents)
		read_signals(r);
	if (r->res->started)
		pass_held(r);
	if (fds[TREE_LIMITER].revents)
		r->tree.look_at_us = 0;
	if (guard(r, fds, err) < 0)
		return -1;
	if (fds[TREE_DISK].revents && disk_is_over(r->tree.disk))
		stop_for(r, LIMIT_DISK, 0);
	tree_read_denials(&r->tree);
	if ((fds[POLL_SERVER].revents || run_now_us() >= server_next_us(&r->server)) &&
	    server_work(&r->server, err) < 0)
		return -1;
	check_limits(r);
	list_when_due(r);
	run_report_write(r->reporter);
	if (!stdio_move(&r->stdio))
		stop_for(r, LIMIT_OUTPUT, SIGTERM);
	return 0;
}

static int loop(struct run *r, struct cordon_err *err)
{
	struct pollfd fds[N_POLLS + 8];

	while (!r->exited && !r->gone) {
		struct timespec wait = run_wait(MIN(next_us(r), network_next_us(&r->tree.network)));
		int ready = ppoll(fds, list_polls(r, fds), &wait, NULL);

		if (ready < 0 && errno != EINTR)
			return err_sys(err, CORDON_E_SETUP, "cannot wait for the command");
		network_work(&r->tree.network);
		/* Nothing else happened, and nothing else is due. */
		if (ready == 1 && fds[TREE_NETWORK].revents && run_now_us() < next_us(r))
			continue;
		if (act(r, fds, err) < 0)
			return -1;
	}
	return 0;
}

/* [R2]: init's end is the end of everything inside. */
static int wait_for_end(struct run *r, struct cordon_err *err)
{
	struct cordon_err ignored;
	int rc;

	tree_kill(&r->tree);
	live_remove(&r->live);		/* while the kernel takes it apart */
	rc = tree_wait(&r->tree, err);
	/* The kernel may have killed all at once: its counters still tell. */
	if (r->res->started && !r->exited) {
		int64_t ignored_us;

		if (limiter_check(r->tree.limiter, &ignored_us) == LIMIT_MEMORY &&
		    r->res->limit == LIMIT_OK)
			r->res->limit = LIMIT_MEMORY;
	}
	/* What init still had to say. */
	(void)!read_messages(r, &ignored);
	/* Ended by its clock, a signal or cordon kill while it was still being built:
	 * that is how the run ended, and nothing to be tried another way. */
	if (r->kill_at_us != INT64_MAX && r->res->err.code == CORDON_E_NONE &&
	    !r->res->exec_errno)
		r->res->started = true;
	if (!r->exited)
		r->res->status = r->end_signal ? r->end_signal : SIGKILL;
	return rc;
}

/* ---- start and finish --------------------------------------------------- */

/* All of them, but the two that every C library keeps for itself: musl keeps a third, which is
 * SIGRTMIN to others, and does not let it be added. */
static void add_real_time(sigset_t *set)
{
	uint64_t word;

	memcpy(&word, set, sizeof(word));	/* as the kernel has it */
	word |= ~UINT64_C(0) << 33;
	memcpy(set, &word, sizeof(word));
}

int run_watch_signals(int *ret_fd, struct cordon_err *err)
{
	static const int forwarded[] = { SIGINT,  SIGTERM,  SIGHUP,  SIGQUIT,  SIGUSR1,
					 SIGUSR2, SIGALRM,  SIGPROF, SIGVTALRM, SIGIO,
					 SIGCONT, SIGWINCH, SIGTSTP, SIGPWR, SIGSTKFLT };
	struct sigaction now;
	sigset_t set;

	sigemptyset(&set);
	/* What the caller ignores (nohup, a shell's background job) is ignored
	 * by the command, too. */
	for (size_t i = 0; i < ARRAY_SIZE(forwarded); i++)
		if (sigaction(forwarded[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			sigaddset(&set, forwarded[i]);
	add_real_time(&set);
	signal(SIGCHLD, SIG_DFL);	/* ignored, there would be no status */
	sigprocmask(SIG_BLOCK, &set, NULL);
	*ret_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	/* The terminal does not stop us in the background: nobody would watch the limits. */
	sigemptyset(&set);
	sigaddset(&set, SIGTTIN);
	sigaddset(&set, SIGTTOU);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (*ret_fd < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot watch signals");
	return 0;
}

static int start(struct run *r, struct cordon_err *err)
{
	if (tree_start(&r->tree, &r->stdio.child, err) < 0)
		return -1;
	stdio_started(&r->stdio);
	/* A reader that went away is told to the writer inside, which has the
	 * caller's own idea of these signals: so not before the clone. */
	signals_ignore_writes();
	r->deadline_us = run_later_us(r->tree.begin_us, r->plan->limits.wall_ms);
	r->list_at_us = run_later_us(r->tree.begin_us, LIST_AFTER_MS);
	return 0;
}

static void settle(struct run *r)
{
	struct limiter_usage usage;
	struct run_result *res = r->res;

	tree_usage(&r->tree, &usage);
	res->usage.cpu_ms = MAX(res->usage.cpu_ms, usage.cpu_ms);
	res->usage.max_rss_kb = MAX(res->usage.max_rss_kb, usage.max_rss_kb);
	res->usage.processes_peak = MAX(usage.processes_peak - 1, 1);
	res->usage.processes_refused = usage.processes_refused;
	/* The kernel's counter tells, even when the command lived on. */
	if (usage.oom_killed && res->limit == LIMIT_OK)
		res->limit = LIMIT_MEMORY;
	res->oom_killed = res->limit == LIMIT_MEMORY;
	/* So does the last count. */
	if (r->tree.disk && res->started && disk_settle(r->tree.disk) && res->limit == LIMIT_OK)
		res->limit = LIMIT_DISK;
	if (res->limit == LIMIT_DISK && r->tree.disk && disk_trouble(r->tree.disk))
		snprintf(res->limit_why, sizeof(res->limit_why), "%s", disk_trouble(r->tree.disk));
	if (res->limit == LIMIT_MEMORY || res->limit == LIMIT_DISK)
		res->status = SIGKILL;
	if (res->limit == LIMIT_OK && limit_is_file_size(res->status, r->plan->limits.file_size))
		res->limit = LIMIT_FILE_SIZE;
	res->duration_ms = r->tree.begin_us ? (run_now_us() - r->tree.begin_us) / 1000 : 0;
}

/* Did init go without a word? */
static int check_start(const struct run *r, struct cordon_err *err)
{
	const struct run_result *res = r->res;

	if (res->started || res->exec_errno || res->err.code != CORDON_E_NONE)
		return 0;
	return tree_refuse_killed(r->plan, res->limit == LIMIT_MEMORY, err);
}

int run_plan(const struct plan *plan, const struct host_caps *caps, const struct run_options *o,
	     struct run_result *ret, struct cordon_err *err)
{
	struct run r = {
		.plan = plan,
		.res = ret,
		.reporter = o->reporter,
		.own_process = o->own_process,
		.live = LIVE_NONE,
		.signals = -1,
		.deadline_us = INT64_MAX,
		.list_at_us = INT64_MAX,
		.kill_at_us = INT64_MAX,
	};
	struct cordon_err end_err;
	int rc;

	tree_init(&r.tree, plan, caps, o->reporter);
	r.tree.early = o->early;
	server_init(&r.server, &r.tree, o->ops, &r.live);
	rc = stdio_open(&r.stdio, o->capture ? ret->out : NULL, ret->truncated, plan->limits.output,
			o->limit_output, err);
	if (rc == 0)
		rc = run_watch_signals(&r.signals, err);
	if (rc == 0)
		rc = start(&r, err);
	if (rc == 0)
		rc = loop(&r, err);
	if (r.tree.child.pidfd >= 0) {
		if (wait_for_end(&r, &end_err) < 0 && rc == 0) {
			*err = end_err;
			rc = -1;
		}
		if (rc == 0)
			rc = check_guard(&r, err);
		end_denials(&r);
	}
	server_release(&r.server);
	tree_stop(&r.tree);
	run_drain_output(ret, &r.stdio, r.signals, run_ended_well(ret) && !r.told_to_end);
	stdio_close(&r.stdio);
	if (r.tree.limiter)
		settle(&r);
	live_remove(&r.live);
	fd_close(&r.signals);
	tree_release(&r.tree);
	return rc < 0 ? -1 : check_start(&r, err);
}
