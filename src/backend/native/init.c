/* pid 1 inside: the steps from clone to exec, then reaping.
 *
 * Runs with the caller's memory in a copy, so it is made undumpable and its
 * environment is wiped before anything else exists inside.  No allocation.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "backend/native/init_priv.h"
#include "backend/native/quiet.h"
#include "base/cpus.h"
#include "base/limits.h"
#include "base/signals.h"
#include "base/syscalls.h"

#define CONTROL_FD	3
#define RULESET_FD	4

/* ---- the clock ---------------------------------------------------------- */

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* For as long as poll() waits at most. */
static int until_end(const struct init *in)
{
	return in->end_ms == INT64_MAX ? -1 : (int)MIN(MAX(in->end_ms - now_ms(), 0), INT_MAX);
}

#define PAUSE_MS	2

static void pause_for(const struct init *in, int64_t ms)
{
	struct timespec t;

	ms = MIN(ms, MAX(in->end_ms - now_ms(), 0));
	t = (struct timespec){ ms / 1000, ms % 1000 * 1000000 };
	nanosleep(&t, NULL);
}

/* ---- talking to the supervisor ------------------------------------------ */

/* A supervisor that is stopped does not read, but the time goes on. */
static int send_in_time(const struct init *in, struct native_message *m,
			const struct native_fds *fds)
{
	struct pollfd p = { .fd = in->control, .events = POLLOUT };

	while (native_send_fds(in->control, m, fds, MSG_DONTWAIT) < 0) {
		if (errno != EAGAIN || now_ms() >= in->end_ms)
			return -1;
		if (poll(&p, 1, until_end(in)) < 0)
			pause_for(in, PAUSE_MS);
	}
	return 0;
}

void tell(const struct init *in, const struct native_message *m)
{
	struct native_message copy = *m;
	const struct native_fds none = NATIVE_NO_FDS;

	(void)send_in_time(in, &copy, &none);
}

int tell_fds(const struct init *in, struct native_message *m, struct native_fds *fds)
{
	int rc = send_in_time(in, m, fds), error = errno;

	for (int i = 0; i < N_NATIVE_FDS; i++)
		if (fds->fd[i] >= 0)
			close(fds->fd[i]);
	*fds = NATIVE_NO_FDS;
	errno = error;
	return rc;
}

static _Noreturn void fail(const struct init *in, const struct cordon_err *err)
{
	struct native_message m = { .kind = NATIVE_FAILED, .err = *err };

	tell(in, &m);
	_exit(125);
}

/* ---- steps -------------------------------------------------------------- */

/* Are the processes inside a world of their own? */
static bool has_pids(const struct init *in)
{
	return in->plan->clone_flags & CLONE_NEWPID;
}

/* What the supervisor does at that time is done by then. */
#define WALL_SLACK_MS	5

static int64_t find_end_ms(const struct plan *plan)
{
	const struct plan_limits *l = &plan->limits;
	int64_t now = now_ms(), late = l->grace_ms + WALL_SLACK_MS;

	/* The time of a command in a session is not ours. */
	if (plan->session)
		return INT64_MAX;
	return l->wall_ms > INT64_MAX - now - late ? INT64_MAX : now + l->wall_ms + late;
}

static int step_wait_for_go(struct init *in, struct cordon_err *err)
{
	struct native_message m;
	ssize_t n;

	do
		n = recv(in->control, &m, sizeof(m), 0);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(m) || m.kind != NATIVE_GO)
		return err_set(err, CORDON_E_SETUP, "the supervisor went away");
	in->end_ms = find_end_ms(in->plan);
	return 0;
}

#define MAX_WORDS	(8u << 20)	/* more than the kernel takes: 6 MB */

/* /proc/1/cmdline and environ show the caller's words, and both lie in one piece: the
 * arguments, the environment, and behind them the path of the program.  What the caller has
 * unset is still there, and the environment may be empty, or elsewhere in part.  The plan
 * holds copies. */
static int wipe_arguments(struct cordon_err *err)
{
	char *begin = program_invocation_name, *end = (char *)getauxval(AT_EXECFN);

	if (!end)
		return err_set(err, CORDON_E_HOST, "cannot tell where the arguments are");
	for (char **e = environ; e && *e; e++) {
		/* A host may have named itself anew. */
		if (*e < end && (begin > end || end - begin > MAX_WORDS) && end - *e <= MAX_WORDS)
			begin = *e;
		memset(*e, 0, strlen(*e));
	}
	if (begin < end && end - begin <= MAX_WORDS)
		memset(begin, 0, (size_t)(end - begin));
	return 0;
}

/* The kernel kills us with the supervisor, and the tree with us; without pids of its own we
 * must live to do that, and see the supervisor's end by its socket.  What the caller's memory
 * holds is out of reach from inside. */
static int step_hide(struct init *in, struct cordon_err *err)
{
	if ((has_pids(in) && prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) ||
	    prctl(PR_SET_DUMPABLE, 0) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot tie init to the supervisor");
	if (!has_pids(in) && prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot adopt orphans");
	return wipe_arguments(err);
}

static bool needs_grants(const struct init *in)
{
	return in->ruleset >= 0;
}

void ask_for_grants(struct init *in)
{
	struct native_message m = { .kind = NATIVE_ASKED };

	if (needs_grants(in) && !__atomic_exchange_n(&in->asked, true, __ATOMIC_SEQ_CST) &&
	    QUIET3(write, in->control, &m, sizeof(m)) != (long)sizeof(m))
		__atomic_store_n(&in->asked, false, __ATOMIC_SEQ_CST);
}

/* What the supervisor made while we mounted, before any limit of ours can keep us
 * from taking it. */
static int step_grants(struct init *in, struct cordon_err *err)
{
	struct pollfd p = { .fd = in->control, .events = POLLIN };
	struct native_fds fds = NATIVE_NO_FDS;
	struct native_message m = { 0 };
	int rc;

	if (!needs_grants(in))
		return 0;
	ask_for_grants(in);
	if (!in->asked)
		return err_set(err, CORDON_E_SETUP, "the supervisor cannot be asked");
	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		;
	rc = native_recv_fds(in->control, &m, &fds);
	/* Its time was over before it began, and the supervisor knows why. */
	if (rc == 1 && m.kind == NATIVE_TERMINATE)
		_exit(125);
	if (rc != 1 || m.kind != NATIVE_GRANTED)
		return err_set(err, CORDON_E_SETUP, "the supervisor went away");
	return 0;
}

static int step_identity(struct init *in, struct cordon_err *err)
{
	if (getuid() != in->plan->uid || getgid() != in->plan->gid)
		return err_set(err, CORDON_E_SETUP, "the id maps were not written");
	return 0;
}

static int step_hostname(struct init *in, struct cordon_err *err)
{
	if (!(in->plan->clone_flags & CLONE_NEWUTS))
		return 0;
	if (sethostname(in->plan->hostname, strlen(in->plan->hostname)) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot set the host name");
	return 0;
}

static int limit(int which, int64_t value, const char *name, struct cordon_err *err)
{
	struct rlimit now, want;

	if (value == INT64_MAX)
		return 0;
	if (getrlimit(which, &now) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot read the limit of %s", name);
	want.rlim_cur = want.rlim_max = MIN((rlim_t)value, now.rlim_max);
	if (setrlimit(which, &want) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot limit %s", name);
	return 0;
}

/* Those inside count for the user outside as well, whose programs could have none
 * any more, nor a timer. */
#define WAITING_SIGNALS	4096

static int step_limits(struct init *in, struct cordon_err *err)
{
	const struct plan_limits *l = &in->plan->most;

	/* 1 and not 0: a program that takes core dumps from a pipe is started
	 * outside, as root, whatever the limit; but for 1. */
	if (limit(RLIMIT_CORE, 1, "core files", err) < 0 ||
	    limit(RLIMIT_FSIZE, l->file_size, "file size", err) < 0 ||
	    limit(RLIMIT_NOFILE, l->open_files, "open files", err) < 0 ||
	    limit(RLIMIT_MEMLOCK, 64 << 10, "locked memory", err) < 0 ||
	    limit(RLIMIT_MSGQUEUE, 0, "message queues", err) < 0 ||
	    limit(RLIMIT_RTPRIO, 0, "priority", err) < 0 ||
	    limit(RLIMIT_NICE, 0, "priority", err) < 0 ||
	    limit(RLIMIT_SIGPENDING, WAITING_SIGNALS, "signals that wait", err) < 0)
		return -1;
	/* Counted per user namespace and uid; init itself is one of them.  It
	 * does not bind uid 0, for whom there is the group of processes.  GAP:
	 * without a user namespace it would count what runs outside as well. */
	if (!(in->plan->clone_flags & CLONE_NEWUSER))
		return 0;
	return limit(RLIMIT_NPROC, l->processes == INT64_MAX ? l->processes : l->processes + 1,
		     "processes", err);
}

/* A command that goes before everybody else would go before whoever ends it: what we start
 * is as others are, also where the caller, and so we, are in a hurry.  And where we are not
 * yet: the supervisor hurries us (tree.c) at any time from now on, and a child that is made
 * at that very moment would otherwise have the policy from before and the priority from
 * after it. */
static int step_priority(struct init *in UNUSED, struct cordon_err *err)
{
	int policy = sys_sched_getscheduler(0), priority;

	if (policy != SCHED_FIFO && policy != SCHED_RR && policy != SCHED_OTHER)
		return 0;
	/* Neither hurried, nor to lose what its caller gave it. */
	if (policy == SCHED_OTHER && getpriority(PRIO_PROCESS, 0) < 0)
		return 0;
	if (sys_sched_getparam(0, &priority) < 0 ||
	    sys_sched_setscheduler(0, policy | SCHED_RESET_ON_FORK, priority) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot keep the priority from the command");
	return 0;
}

/* The caller's CPUs again, or those of them that the limit leaves. */
static int step_cpus(struct init *in, struct cordon_err *err)
{
	const cpu_set_t *limited = &in->within->cpus;

	if (cpus_use(CPU_COUNT(limited) ? limited : &in->cpus) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot set the CPUs");
	return 0;
}

/* Give a descriptor the number that it keeps; -1 stays -1.  All were moved out of
 * the way before, and only the standard streams are the command's. */
static int place_fd(int fd, int number)
{
	if (fd < 0)
		return 0;
	return number < CONTROL_FD ? dup2(fd, number) : dup3(fd, number, O_CLOEXEC);
}

/* Where they are while the places are filled: behind all that is kept. */
#define PARKED_FD	64

static int step_stdio(struct init *in, struct cordon_err *err)
{
	int fds[] = { in->io->fd[0], in->io->fd[1], in->io->fd[2], in->control, in->ruleset };

	static_assert(ARRAY_SIZE(fds) == RULESET_FD + 1, "they stand at their numbers");
	static_assert(PARKED_FD + ARRAY_SIZE(fds) <= MIN_OPEN_FILES, "there is room for them");
	for (int i = 0; i < (int)ARRAY_SIZE(fds); i++) {
		int high = fds[i] < 0 ? -1 : fcntl(fds[i], F_DUPFD_CLOEXEC, PARKED_FD);

		if (fds[i] >= 0 && high < 0)
			return err_sys(err, CORDON_E_SETUP, "cannot keep descriptor %d", fds[i]);
		fds[i] = high;
	}
	for (int i = 0; i < (int)ARRAY_SIZE(fds); i++)
		if (place_fd(fds[i], i) < 0)
			return err_sys(err, CORDON_E_SETUP, "cannot set descriptor %d", i);
	in->control = CONTROL_FD;
	in->ruleset = in->ruleset < 0 ? -1 : RULESET_FD;
	if (sys_close_range(in->ruleset < 0 ? RULESET_FD : RULESET_FD + 1, ~0u) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot close the caller's descriptors");
	return 0;
}

/* Over the streams that are to be it. */
static int open_terminal(struct init *in)
{
	const struct native_stdio *io = in->io;
	int slave, master = terminal_open(io, &slave);

	if (master < 0)
		return -1;
	for (int i = 0; i < 3; i++)
		if (io->fd[i] < 0 && dup2(slave, i) < 0)
			return -1;
	in->fds.fd[NATIVE_TERMINAL] = master;
	close(slave);
	/* A command whose parent leads its session can be stopped by ^Z; one
	 * that leads it itself cannot. */
	return io->controlling && (setsid() < 0 || ioctl(0, TIOCSCTTY, 0) < 0) ? -1 : 0;
}

static int step_terminal(struct init *in, struct cordon_err *err)
{
	if (in->io->terminal && open_terminal(in) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot make a terminal");
	return 0;
}

static int step_devices(struct init *in, struct cordon_err *err)
{
	if (devices_open() < 0 || (in->plan->session && devices_keep() < 0))
		return err_sys(err, CORDON_E_SETUP, "cannot open a device for a standard stream");
	return 0;
}

/* What an execution could give back. */
static int drop_bounds(struct cordon_err *err)
{
	int cap = 0;

	while (prctl(PR_CAPBSET_DROP, cap) == 0)
		cap++;
	/* The first that the kernel does not know. */
	if (errno != EINVAL || prctl(PR_CAPBSET_READ, cap) >= 0)
		return err_sys(err, CORDON_E_SETUP, "cannot drop capability %d", cap);
	if (prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
		  SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
		  SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot lock the secure bits");
	return 0;
}

static bool has_cap(unsigned cap)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct now[2] = { { 0 } };

	/* What cannot be told is tried, and fails. */
	return syscall(SYS_capget, &head, now) < 0 ||
	       (now[CAP_TO_INDEX(cap)].permitted & CAP_TO_MASK(cap));
}

static int step_drop_caps(struct init *in UNUSED, struct cordon_err *err)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };

	/* Who may not, an ordinary user or root in another cordon, has nothing to lose:
	 * that there are no new privileges is enough. */
	if (has_cap(CAP_SETPCAP) && drop_bounds(err) < 0)
		return -1;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
	    syscall(SYS_capset, &head, none) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot drop the capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot forbid new privileges");
	return 0;
}

/* What was taken away must be gone: try to use it. */
static int step_prove(struct init *in, struct cordon_err *err)
{
	if (chroot("/") == 0)
		return err_set(err, CORDON_E_SETUP, "a capability is left after all were dropped");
	/* Where their number was set to none; elsewhere the filter refuses. */
	if ((in->plan->clone_flags & CLONE_NEWUSER) && has_pids(in) && unshare(CLONE_NEWUSER) == 0)
		return err_set(err, CORDON_E_SETUP, "a user namespace can still be made");
	return 0;
}

static int step_seccomp(struct init *in, struct cordon_err *err)
{
	struct sock_fprog prog = { (unsigned short)in->plan->n_filter, in->plan->filter };
	unsigned flags = in->plan->asks ?
		SECCOMP_FILTER_FLAG_NEW_LISTENER | 1u << 5 /* WAIT_KILLABLE_RECV */ : 0;
	long rc;

	if (!in->plan->filter)
		return 0;
	rc = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
	if (rc < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot install the system call filter");
	if (in->plan->asks)
		in->fds.fd[NATIVE_LISTENER] = (int)rc;
	return 0;
}

/* The order matters: nothing that needs a right may stand behind the step that
 * gives it up, and the filter, which forbids the rest, is last. */
static const struct {
	const char *name;
	int (*run)(struct init *in, struct cordon_err *err);
} steps[] = {
	{ "standard streams", step_stdio },
	{ "wait for the id maps", step_wait_for_go },
	/* Not before: its maker would take the supervisor's CPU, for whom we wait. */
	{ "network namespace", step_begin_network },
	{ "hide", step_hide },
	{ "identity", step_identity },
	{ "sources", step_open_sources },
	{ "new root", step_new_root },
	{ "mounts", step_mounts },
	{ "enter the root", step_enter_root },
	{ "terminal", step_terminal },
	{ "devices", step_devices },
	{ "enter the network", step_enter_network },
	{ "network", step_network },
	{ "host name", step_hostname },
	/* While the supervisor makes its own. */
	{ "rules", step_rules },
	{ "grants", step_grants },
	{ "priority", step_priority },
	{ "limits", step_limits },
	{ "CPUs", step_cpus },
	{ "capabilities", step_drop_caps },
	{ "Landlock", step_landlock },
	{ "proof", step_prove },
	{ "system call filter", step_seccomp },
};

/* ---- reaping ------------------------------------------------------------ */

static void tell_exit(const struct init *in, int status)
{
	struct native_message m = { .kind = NATIVE_EXITED, .value = status };
	struct rusage r;

	if (getrusage(RUSAGE_CHILDREN, &r) == 0) {
		m.cpu_ms = (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000 +
			   (r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1000;
		m.max_rss_kb = r.ru_maxrss;
	}
	tell(in, &m);
}

/* Not waited for: where there is no room, the supervisor has others to read, and takes the
 * last of them for this one. */
static void tell_stop(const struct init *in, int signal)
{
	struct native_message m = { .kind = NATIVE_STOPPED, .value = signal };
	const struct native_fds none = NATIVE_NO_FDS;

	(void)native_send_fds(in->control, &m, &none, MSG_DONTWAIT);
}

/* Of the command; true when it has ended. */
static bool tell_status(const struct init *in, int status)
{
	if (WIFSTOPPED(status))
		tell_stop(in, WSTOPSIG(status));
	else
		tell_exit(in, status);
	return !WIFSTOPPED(status);
}

#define MAX_REAPED	256	/* at a time: who forks faster than that has a clock, too */

/* What can be waited for; true when the command itself ended.  Others may stop as they like. */
static bool reap(const struct init *in, pid_t command, int *ret_n)
{
	int status;
	pid_t pid = waitpid(command, &status, WNOHANG | WUNTRACED);

	*ret_n = 0;
	if (pid == command && tell_status(in, status))
		return true;
	for (; *ret_n < MAX_REAPED && (pid = waitpid(-1, &status, WNOHANG)) > 0; ++*ret_n)
		if (pid == command && tell_status(in, status))
			return true;
	return false;
}

/* Without a pid namespace and rules for signals: what was started is in the list of our own
 * children, orphans too, which come to us.  GAP: it ends with us; who kills us frees it. */
static void signal_children(int signal)
{
	char path[64], text[4096];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && (n = read(fd, text, sizeof(text) - 1)) > 0) {
		char *at = text;

		text[n] = '\0';
		for (long pid; (pid = strtol(at, &at, 10)) > 1;)
			kill((pid_t)pid, signal);
	}
	if (fd >= 0)
		close(fd);
}

void signal_all(const struct init *in, int signal)
{
	/* All that there are, or all that the rules let us reach: nobody is forked meanwhile. */
	if (has_pids(in) || landlock_keeps_signals(in))
		kill(-1, signal);
	else
		signal_children(signal);
}

/* Before init ends: the pid namespace takes everything along, or we do. */
static void end_all(const struct init *in)
{
	struct timespec pause = { 0, 1000000 };

	for (int i = 0; !has_pids(in) && i < 1000; i++) {
		signal_all(in, SIGKILL);
		while (waitpid(-1, NULL, WNOHANG | __WALL) > 0)
			;
		if (waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD)
			return;
		nanosleep(&pause, NULL);
	}
}

/* For what the supervisor connects to inside: a socket belongs to the network in
 * which it was made. */
static void make_socket(const struct init *in)
{
	struct native_message made = { .kind = NATIVE_SOCKET }, none = made;
	struct native_fds fds = NATIVE_NO_FDS;

	fds.fd[NATIVE_MADE] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fds.fd[NATIVE_MADE] >= 0 && tell_fds(in, &made, &fds) == 0)
		return;
	none.value = errno;
	tell(in, &none);
}

bool obey_common(const struct init *in, const struct native_message *m)
{
	switch (m->kind) {
	case NATIVE_SIGNAL_ALL:
		signal_all(in, m->value);
		return true;
	case NATIVE_TERMINATE:
		signal_all(in, m->value);
		signal_all(in, SIGCONT);
		return true;
	case NATIVE_SOCKET_WANTED:
		make_socket(in);
		return true;
	default:
		return false;
	}
}

/* False: the supervisor is gone. */
static bool obey(const struct init *in, pid_t command)
{
	struct native_message m;
	ssize_t n = recv(in->control, &m, sizeof(m), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n != (ssize_t)sizeof(m))
		return false;
	if (!obey_common(in, &m) && m.kind == NATIVE_SIGNAL)
		signal_command(command, m.value);
	return true;
}

/* Anybody inside can wake us, and we get any CPU that we want (tree.c): so most of the time
 * others have it.  Each that we wait for costs a look at all our children. */
#define REST_PART	4	/* of the time for that */

static _Noreturn void watch(const struct init *in, pid_t command, int signals)
{
	struct pollfd fds[] = { { .fd = in->control, .events = POLLIN },
				{ .fd = signals, .events = POLLIN } };
	struct signalfd_siginfo si;
	bool woken = false;	/* from inside */

	for (;;) {
		int64_t begin = now_ms();
		int n;

		if (reap(in, command, &n)) {
			end_all(in);
			_exit(0);
		}
		if (woken)
			pause_for(in, MAX(PAUSE_MS, (now_ms() - begin) * REST_PART));
		woken = n == MAX_REAPED;
		/* The command has our uid and could leave us no descriptors to
		 * wait for (prlimit): then look at all of them. */
		if (poll(fds, 2, woken ? 0 : until_end(in)) < 0) {
			fds[0].revents = fds[1].revents = POLLIN;
			woken = true;
		}
		if (fds[1].revents && read(signals, &si, sizeof(si)) > 0)
			woken = true;
		/* The supervisor, which does this, has more to do than we, and for that waits
		 * longer for a CPU that hundreds want. */
		if (now_ms() >= in->end_ms || (fds[0].revents && !obey(in, command))) {
			end_all(in);
			_exit(1);
		}
	}
}

_Noreturn void init_main(struct init *in)
{
	struct native_message ready = { .kind = NATIVE_READY };
	struct cordon_err err = { 0 };
	struct launch l = { .command = &in->command, .judged = in->plan->n_rules > 0, .told = -1,
			    .scope = -1 };
	sigset_t chld, held;
	pid_t command;
	int signals;
	/* The caller's could close the folders that we make to everybody, us as well. */
	mode_t mask = umask(022);

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		if (steps[i].run(in, &err) < 0) {
			err_wrap(&err, "%s", steps[i].name);
			fail(in, &err);
		}
	umask(mask);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	held = chld;
	/* No terminal's either, where we are no pid 1, which they pass by. */
	if (!has_pids(in))
		sigfillset(&held);
	sigprocmask(SIG_SETMASK, &held, NULL);
	signals = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0) {
		err_sys(&err, CORDON_E_SETUP, "cannot watch the command");
		fail(in, &err);
	}
	if (in->plan->session && in->plan->n_rules && wipe_memory(in, &err) < 0)
		fail(in, &err);
	/* Without them nothing would be watched: then nothing is run. */
	if (tell_fds(in, &ready, &in->fds) < 0) {
		err_sys(&err, CORDON_E_SETUP, "cannot hand over the descriptors");
		fail(in, &err);
	}
	if (in->plan->session)
		session_main(in, signals);
	in->command.io = *in->io;
	l.scope = in->scope;
	command = launch(&l);
	if (command < 0) {
		err_sys(&err, CORDON_E_SETUP, "cannot start the command");
		fail(in, &err);
	}
	if (l.error) {
		struct native_message m = { .kind = NATIVE_EXEC_FAILED, .value = l.error };

		tell(in, &m);
		_exit(125);
	}
	watch(in, command, signals);
}
