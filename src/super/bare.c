/* A run without any protection; see run.h.  Streams, signals, the wall clock
 * and the result are as with every other run. */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/pidfd.h"
#include "base/signals.h"
#include "super/caller.h"
#include "super/report.h"
#include "super/run_priv.h"
#include "super/stdio.h"

struct bare {
	const struct plan *plan;
	struct run_result *res;
	struct run_reporter *reporter;
	struct stdio stdio;
	const sigset_t *mask;	/* the caller's */
	bool own_group;		/* the command leads a process group */
	int error;		/* of its limits, chdir or exec */
	pid_t pid;
	int pidfd, signals;
	int64_t deadline_us, kill_at_us;
	bool exited;
};

/* Is there such a file at all?  A folder of PATH that may not be searched says
 * EACCES, which is not the answer. */
static bool is_there(const char *name)
{
	const char *path = getenv("PATH");
	char file[4096];

	if (strchr(name, '/') || !path)
		return true;
	for (size_t n; *path; path += n + (path[n] == ':')) {
		n = strcspn(path, ":");
		if ((size_t)snprintf(file, sizeof(file), "%.*s/%s", n ? (int)n : 1, n ? path : ".",
				     name) < sizeof(file) && access(file, F_OK) == 0)
			return true;
	}
	return false;
}

/* For each process by itself; the caller's own may be lower. */
static bool lower(int which, int64_t value)
{
	struct rlimit now;

	if (value == INT64_MAX)
		return true;
	if (getrlimit(which, &now) < 0)
		return false;
	now.rlim_max = MIN(now.rlim_max, (rlim_t)value);
	now.rlim_cur = MIN(now.rlim_cur, now.rlim_max);
	return setrlimit(which, &now) == 0;
}

static int bare_main(void *arg)
{
	struct bare *b = arg;
	const struct plan *p = b->plan;

	/* On a terminal it stays in the caller's group, whose keys it gets. */
	if (b->own_group)
		setpgid(0, 0);
	for (int i = 0; i < 3; i++)
		if (b->stdio.child.fd[i] != i)
			dup2(b->stdio.child.fd[i], i);
	if (lower(RLIMIT_FSIZE, p->limits.file_size) &&
	    lower(RLIMIT_NOFILE, p->limits.open_files) && chdir(p->cwd) == 0) {
		sigprocmask(SIG_SETMASK, b->mask, NULL);
		execvpe(p->argv[0], (char *const *)(uintptr_t)p->argv,
			(char *const *)(uintptr_t)p->envp);
	}
	b->error = errno;
	if (b->error == EACCES && !is_there(p->argv[0]))
		b->error = ENOENT;
	_exit(127);
}

static int start(struct bare *b, struct cordon_err *err)
{
	static char stack[64 << 10] __attribute__((aligned(16)));

	/* Memory is shared until the exec, which brings its errno back. */
	b->pid = clone(bare_main, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, b);
	if (b->pid < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot start the command");
	b->pidfd = pidfd_of(b->pid);
	if (b->pidfd < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot watch the command");
	stdio_started(&b->stdio);
	signals_ignore_writes();
	b->deadline_us = run_later_us(run_now_us(), b->plan->limits.wall_ms);
	b->res->started = b->error == 0;
	b->res->exec_errno = b->error;
	return 0;
}

static void send_signal(const struct bare *b, int signal)
{
	if (b->own_group)
		signal_command(b->pid, signal);
	else
		kill(b->pid, signal);
}

static void stop_for(struct bare *b, enum limit_kind why)
{
	if (b->res->limit != LIMIT_OK)
		return;
	b->res->limit = why;
	run_report_limit(b->reporter);
	send_signal(b, SIGTERM);
	b->kill_at_us = run_later_us(run_now_us(), b->plan->limits.grace_ms);
}

static void read_signals(struct bare *b)
{
	struct signalfd_siginfo si;

	while (read(b->signals, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		/* The terminal sent these to all of its group already. */
		bool from_terminal = !b->own_group && si.ssi_code == SI_KERNEL;

		if (!from_terminal)
			send_signal(b, (int)si.ssi_signo);
		if (si.ssi_signo == SIGTSTP)
			raise(SIGSTOP);
	}
}

static void take_status(struct bare *b)
{
	struct rusage usage;

	while (wait4(b->pid, &b->res->status, 0, &usage) < 0)
		if (errno != EINTR)
			return;
	b->exited = true;
	b->res->usage.cpu_ms = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
			       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
	b->res->usage.max_rss_kb = usage.ru_maxrss;
}

static int loop(struct bare *b, struct cordon_err *err)
{
	struct pollfd fds[8];

	while (!b->exited) {
		struct timespec wait = run_wait(MIN(MIN(b->deadline_us, b->kill_at_us),
						    MIN(audit_next_us(b->reporter->audit),
							stdio_next_us(&b->stdio))));
		size_t n = 2;

		fds[0] = (struct pollfd){ .fd = b->pidfd, .events = POLLIN };
		fds[1] = (struct pollfd){ .fd = b->signals, .events = POLLIN };
		n += stdio_poll(&b->stdio, fds + n);
		if (ppoll(fds, n, &wait, NULL) < 0 && errno != EINTR)
			return err_sys(err, CORDON_E_SETUP, "cannot wait for the command");
		if (fds[0].revents) {
			take_status(b);
			return 0;
		}
		if (fds[1].revents)
			read_signals(b);
		run_report_write(b->reporter);
		if (!stdio_move(&b->stdio))
			stop_for(b, LIMIT_OUTPUT);
		if (run_now_us() >= b->deadline_us) {
			stop_for(b, LIMIT_WALL);
			b->deadline_us = INT64_MAX;
		}
		if (run_now_us() >= b->kill_at_us) {
			send_signal(b, SIGKILL);
			b->kill_at_us = INT64_MAX;
		}
	}
	return 0;
}

bool run_bare_counts_output(const struct run_options *o)
{
	return o->capture || (o->limit_output && !isatty(0) && !isatty(1) && !isatty(2));
}

int run_plan_bare(const struct plan *plan, const struct run_options *o, struct run_result *ret,
		  struct cordon_err *err)
{
	struct bare b = {
		.plan = plan,
		.res = ret,
		.reporter = o->reporter,
		.stdio = { .child.fd = { 0, 1, 2 }, .show = -1, .master = -1 },
		.own_group = !isatty(0),
		.pidfd = -1,
		.signals = -1,
		.deadline_us = INT64_MAX,
		.kill_at_us = INT64_MAX,
	};
	int64_t begin_us = run_now_us();
	struct caller caller;
	int rc = 0;

	caller_init(&caller);
	if (run_bare_counts_output(o))
		rc = stdio_open(&b.stdio, o->capture ? ret->out : NULL, ret->truncated,
				plan->limits.output, o->limit_output, err);
	if (rc == 0)
		rc = run_watch_signals(&b.signals, err);
	b.mask = &caller.mask;
	if (rc == 0)
		rc = start(&b, err);
	if (rc == 0)
		rc = loop(&b, err);
	if (rc < 0 && b.pid > 0 && !b.exited) {
		send_signal(&b, SIGKILL);
		take_status(&b);
	}
	run_drain_output(ret, &b.stdio, b.signals, run_ended_well(ret));
	stdio_close(&b.stdio);
	if (ret->limit == LIMIT_OK && limit_is_file_size(ret->status, plan->limits.file_size))
		ret->limit = LIMIT_FILE_SIZE;
	fd_close(&b.signals);
	fd_close(&b.pidfd);
	ret->duration_ms = (run_now_us() - begin_us) / 1000;
	caller_release(&caller);
	return rc;
}
