/* The enclosed tree; see tree.h.
 *
 * Runs in the supervisor, which owns the loop.
 */
#include "super/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/fd.h"
#include "base/pidfd.h"
#include "base/syscalls.h"
#include "super/disk.h"
#include "super/guard.h"
#include "super/live.h"
#include "super/run_priv.h"

/* Groups hold by themselves what grows fast, and most commands end before anything has to be
 * looked at. */
#define FIRST_LOOK_MS	10

void tree_init(struct tree *t, const struct plan *plan, const struct host_caps *caps,
	       struct run_reporter *reporter)
{
	*t = (struct tree){
		.plan = plan,
		.reporter = reporter,
		.cgroup = caps->cgroup,
		.child = NATIVE_NO_CHILD,
		.fds = NATIVE_NO_FDS,
		.userns = -1,
		.mntns = -1,
		.look_at_us = INT64_MAX,
		.limits = plan->limits,
	};
	caller_init(&t->caller);
}

/* ---- starting ----------------------------------------------------------- */

/* As the limiter gets them. */
static struct plan_limits counted_limits(const struct plan_limits *l)
{
	struct plan_limits limits = *l;

	/* init is none of the command's processes. */
	if (limits.processes != INT64_MAX)
		limits.processes++;
	return limits;
}

static int open_limiter(struct tree *t, struct cordon_err *err)
{
	struct plan_limits limits = counted_limits(&t->plan->limits);

	/* A phase may set it: a group must have it from the beginning. */
	if (t->plan->few_cpus && limits.cpus == LIMIT_NONE)
		limits.cpus = CPU_SETSIZE;
	return limiter_new(&limits, t->cgroup, &t->limiter, err);
}

/* limits.cpus by binding the tree to CPUs, which lasts as long as the tree. */
static int take_cpus(struct tree *t, cpu_set_t *ret, struct cordon_err *err)
{
	const struct plan *p = t->plan;
	cpu_set_t all;

	for (size_t i = 0; i < p->n_phases; i++)
		if (p->phases[i].limits.cpus != p->limits.cpus)
			return err_set(err, CORDON_E_HOST, "phase %s: limits.cpus cannot change "
				       "while a session lives: the cgroup of cordon has no cpu "
				       "controller; write it outside the phases",
				       p->phases[i].name);
	if (p->limits.cpus == LIMIT_NONE)
		return 0;
	cpus_read(&all);
	cpu_share_take(&t->cpus, &all, p->limits.cpus, ret);
	return CPU_COUNT(ret) ? 0 : err_set(err, CORDON_E_HOST, "cannot tell the CPUs");
}

static int clone_init(struct tree *t, const struct native_stdio *io,
		      struct cordon_err *err)
{
	struct native_scope scope = { .cgroup = -1 };

	if (open_limiter(t, err) < 0)
		return -1;
	scope.cgroup = limiter_cgroup_fd(t->limiter);
	if (!limiter_holds_cpus(t->limiter) && take_cpus(t, &scope.cpus, err) < 0)
		return -1;
	if (native_clone(t->plan, io, &scope, t->early, &t->child, err) < 0)
		return -1;
	return t->child.in_cgroup ? 0 : limiter_join(t->limiter, t->child.pid, err);
}

/* What must be there before anything is cloned. */
static int prepare(struct tree *t, struct cordon_err *err)
{
	/* Root's groups are not the tree's, and the guard acts with ours. */
	if (t->plan->uid == 0 && caller_leave_groups(&t->caller, err) < 0)
		return -1;
	/* Where a root covers it, it must be there to be masked. */
	if (t->plan->mask_live_root && live_make_root(t->plan->live_root, err) < 0)
		return -1;
	return network_start(&t->network, t->plan, &t->child, t->reporter, err);
}

static int open_namespace(const struct tree *t, const char *name, int *ret_fd,
			  struct cordon_err *err)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", t->child.pid, name);
	*ret_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (*ret_fd < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot open the %s namespace of the tree",
			       name);
	return 0;
}

/* While init can still be looked at.  The mounts must outlive it: see take_down_mounts(). */
static int open_namespaces(struct tree *t, struct cordon_err *err)
{
	bool enters = t->plan->asks || t->plan->limits.roots != LIMIT_NONE;
	int rc = 0;

	if (enters && t->plan->clone_flags & CLONE_NEWUSER)
		rc = open_namespace(t, "user", &t->userns, err);
	if (rc == 0 && t->plan->clone_flags & CLONE_NEWNS)
		rc = open_namespace(t, "mnt", &t->mntns, err);
	return rc;
}

/* A caller that the kernel is to spare when memory runs out does not pass that on: nobody in
 * the tree could be killed for its limit, and others would be killed for the tree. */
static int expose_to_oom(const struct tree *t, struct cordon_err *err)
{
	char path[64], text[16] = "";
	cleanup_fd int own = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC), its = -1;

	if (own < 0 && errno == ENOENT)
		return 0;
	if (own < 0 || read(own, text, sizeof(text) - 1) <= 0)
		return err_sys(err, CORDON_E_SETUP, "cannot read /proc/self/oom_score_adj");
	if (text[0] != '-')
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", t->child.pid);
	its = open(path, O_WRONLY | O_CLOEXEC);
	if (its < 0 || write(its, "0", 1) != 1)
		return err_sys(err, CORDON_E_SETUP, "cannot give the tree an oom_score_adj of 0");
	return 0;
}

int tree_start(struct tree *t, const struct native_stdio *io, struct cordon_err *err)
{
	if (prepare(t, err) < 0 || clone_init(t, io, err) < 0 || open_namespaces(t, err) < 0 ||
	    expose_to_oom(t, err) < 0)
		return -1;
	if (t->plan->limits.roots != LIMIT_NONE &&
	    disk_start(t->plan, t->userns, &t->disk, err) < 0)
		return -1;
	/* The maps are written, which needs a dumpable child of a dumpable
	 * parent; from here on nobody looks into this process. */
	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot hide the supervisor");
	/* Not after it: init begins its own clock at this word, and ends the tree by that. */
	t->begin_us = run_now_us();
	if (native_send(&t->child, NATIVE_GO, 0) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot start init");
	return 0;
}

int tree_grant(struct tree *t, struct cordon_err *err)
{
	if (t->granted)
		return err_set(err, CORDON_E_BUG, "init asked a second time");
	t->granted = true;
	if (native_grant(t->plan, &t->child, err) < 0)
		return -1;
	return native_send_granted(&t->child, err);
}

/* Init ends the tree when its time is over, whoever else wants a CPU then.  What it starts is
 * as everybody else, which it would not be if the caller were not.  A hint: only root may, and
 * not everywhere; and not before init has joined its groups, some of which take nobody who is
 * in such a hurry. */
static void hurry_init(const struct tree *t)
{
	if (getpriority(PRIO_PROCESS, 0) == 0 && sys_sched_getscheduler(0) == SCHED_OTHER)
		(void)sys_sched_setscheduler(t->child.pid, SCHED_FIFO | SCHED_RESET_ON_FORK, 1);
}

int tree_join(struct tree *t, struct cordon_err *err)
{
	if (!t->plan->session && t->plan->limits.wall_ms != LIMIT_NONE)
		hurry_init(t);
	if (t->disk)
		disk_join(t->disk, t->fds.fd[NATIVE_PROC]);
	if (network_join(&t->network, &t->fds, err) < 0)
		return -1;
	if (t->fds.fd[NATIVE_PRIVATE] >= 0 &&
	    limiter_add_fs(t->limiter, t->fds.fd[NATIVE_PRIVATE], err) < 0)
		return -1;
	/* The plan has no such limits where nothing can count them. */
	if (t->fds.fd[NATIVE_PROC] < 0 && t->cgroup == HOST_CGROUP_NONE)
		return 0;
	if (limiter_start(t->limiter, t->fds.fd[NATIVE_PROC], err) < 0)
		return -1;
	t->look_at_us = t->cgroup == HOST_CGROUP_NONE ? run_now_us() :
			run_later_us(run_now_us(), FIRST_LOOK_MS);
	return 0;
}

int tree_refuse_killed(const struct plan *plan, bool oom_killed, struct cordon_err *err)
{
	if (oom_killed)
		return err_set(err, CORDON_E_POLICY,
			       "limits.memory = %lld is not enough to start a command; allow some "
			       "megabytes", (long long)plan->limits.memory);
	return err_set(err, CORDON_E_SETUP,
		       "the first process inside was killed before it could start anything");
}

void tree_explain(const struct plan *plan, struct cordon_err *err)
{
	if (err->sys == EMFILE && plan->most.open_files < MIN_INSIDE_FILES)
		err_set(err, CORDON_E_POLICY,
			"limits.open_files = %lld is not enough to start a command; allow %d",
			(long long)plan->most.open_files, MIN_INSIDE_FILES);
}

/* ---- while it runs ------------------------------------------------------ */

/* The listener is the guard's alone from here on: when it is gone, the calls fail. */
static int start_guard(struct tree *t, bool is_early, struct cordon_err *err)
{
	struct guard_options o = {
		.names = t->plan->guarded,
		.n_names = t->plan->n_guarded,
		.plan = t->plan->n_rules ? t->plan : NULL,
		.listener = fd_take(&t->fds.fd[NATIVE_LISTENER]),
		.userns = t->userns,
		.mntns = t->mntns,
		.root = "/" NATIVE_ROOT,
		.ruleset = t->fds.fd[NATIVE_RULESET],
		.init = t->child.pid,
		.is_early = is_early,
	};

	return guard_start(&o, &t->guard, err);
}

int tree_start_guard(struct tree *t, struct cordon_err *err)
{
	return start_guard(t, true, err);
}

int tree_guard(struct tree *t, const struct pollfd fds[N_TREE_POLLS], struct cordon_err *err)
{
	if (fds[TREE_LISTENER].revents & POLLIN)
		return start_guard(t, false, err);
	return guard_work(t->guard, fds + TREE_GUARD, err);
}

/* A search of PATH goes on after a refusal: the same words of the same thread by another
 * path are the same attempt. */
static bool is_search(struct tree *t, const struct guard_denial *d)
{
	uint64_t words = str_hash(str_from(d->what), d->rule);
	bool goes_on = d->thread && d->thread == t->refused.thread &&
		       words == t->refused.words && d->path != t->refused.path;

	if (!goes_on) {
		t->refused.thread = d->thread;
		t->refused.words = words;
		t->refused.path = d->path;
	}
	return goes_on;
}

bool tree_read_denials(struct tree *t)
{
	struct guard_denial d;

	/* Not for as long as they come: the limits are looked at in between. */
	for (int i = 0; i < MAX_DENIALS && t->guard; i++) {
		if (guard_read_denial(t->guard, &d) <= 0)
			return true;
		if (!d.rule) {
			run_report_file(t->reporter, d.what,
					d.name && d.name <= t->plan->n_guarded ?
						&t->plan->guarded[d.name - 1] : NULL,
					d.leader);
		} else if (d.rule <= t->plan->n_rules && !is_search(t, &d)) {
			t->blocked = t->plan->rules[d.rule - 1].message;
			run_report_command(t->reporter, d.what, t->blocked, d.leader);
		}
	}
	return !t->guard;
}

enum limit_kind tree_check(struct tree *t)
{
	int64_t now = run_now_us(), wait_us = -1;
	enum limit_kind over;

	if (now < t->look_at_us)
		return LIMIT_OK;
	t->guard_cpu_us = guard_cpu_us(t->guard);
	limiter_count_beside(t->limiter, t->guard_cpu_us + network_cpu_us(&t->network));
	over = limiter_check(t->limiter, &wait_us);
	t->look_at_us = wait_us < 0 ? INT64_MAX : now + wait_us;
	return over;
}

static bool counted_differ(const struct plan_limits *a, const struct plan_limits *b)
{
	return a->memory != b->memory || a->cpu_ms != b->cpu_ms || a->cpus != b->cpus ||
	       a->processes != b->processes;
}

int tree_change_limits(struct tree *t, const struct plan_limits *limits, struct cordon_err *err)
{
	const struct plan_limits new = counted_limits(limits), old = counted_limits(&t->limits);
	struct cordon_err ignored;

	if (counted_differ(&new, &old) && limiter_change(t->limiter, &new, err) < 0) {
		/* Some may have changed. */
		if (limiter_change(t->limiter, &old, &ignored) < 0)
			tree_kill(t);
		return -1;
	}
	t->limits = *limits;
	t->look_at_us = 0;
	return 0;
}

void tree_usage(const struct tree *t, struct limiter_usage *ret)
{
	limiter_count_beside(t->limiter, t->guard_cpu_us + network_cpu_us(&t->network));
	limiter_usage(t->limiter, ret);
}

void tree_poll(const struct tree *t, struct pollfd fds[N_TREE_POLLS])
{
	fds[TREE_CHILD] = (struct pollfd){ .fd = t->child.pidfd, .events = POLLIN };
	fds[TREE_CONTROL] = (struct pollfd){ .fd = t->child.control, .events = POLLIN };
	fds[TREE_LIMITER] = (struct pollfd){ .fd = t->limiter ? limiter_event_fd(t->limiter) : -1,
					     .events = POLLIN | POLLPRI };
	/* The guard's alone, once there is one. */
	fds[TREE_LISTENER] = (struct pollfd){ .fd = t->fds.fd[NATIVE_LISTENER], .events = POLLIN };
	fds[TREE_NETWORK] = (struct pollfd){ .fd = network_event_fd(&t->network),
					     .events = POLLIN };
	fds[TREE_DISK] = (struct pollfd){ .fd = t->disk ? disk_event_fd(t->disk) : -1,
					  .events = POLLIN };
	guard_poll(t->guard, fds + TREE_GUARD);
}

int64_t tree_next_us(const struct tree *t)
{
	return MIN(MIN(t->look_at_us, guard_next_us(t->guard)),
		   audit_next_us(t->reporter->audit));
}

/* ---- ending ------------------------------------------------------------- */

bool tree_shows_end(const struct pollfd fds[N_TREE_POLLS])
{
	return fds[TREE_CHILD].revents || fds[TREE_CONTROL].revents & POLLHUP;
}

bool tree_is_gone(const struct tree *t)
{
	struct pollfd fds[N_TREE_POLLS];

	tree_poll(t, fds);
	return poll(fds, TREE_CONTROL + 1, 0) > 0 && tree_shows_end(fds);
}

/* So long may init take to end the tree; who held it up would hold every clock up. */
#define INIT_END_US	5000000

/* Without a pid namespace it is init that must do it, and then ends. */
void tree_kill(struct tree *t)
{
	int64_t now = run_now_us();

	if (!t->killed_us)
		t->killed_us = now;
	if ((t->plan->clone_flags & CLONE_NEWPID) || now - t->killed_us > INIT_END_US) {
		pidfd_signal(t->child.pidfd, SIGKILL);
		return;
	}
	native_send(&t->child, NATIVE_TERMINATE, SIGKILL);
	pidfd_signal(t->child.pidfd, SIGCONT);
}

/* The root goes with all that is mounted in it, masks as well: whatever somebody else was
 * sent of it looks as it did (backend/native/mounts.c).  While init, or we, keep its mounts
 * in being; who is the last to do so takes apart what is left. */
static int take_down_mounts(struct tree *t, struct cordon_err *err)
{
	int ground = t->fds.fd[NATIVE_GROUND];
	int rc = ground < 0 ? 0 : unlinkat(ground, NATIVE_ROOT, AT_REMOVEDIR);

	if (rc < 0)
		err_sys(err, CORDON_E_HOST, "cannot take down the mounts of the tree");
	/* Whoever is the last to have them takes them apart, which need not be we. */
	fd_close(&t->fds.fd[NATIVE_GROUND]);
	fd_close(&t->fds.fd[NATIVE_PROC]);
	fd_close(&t->mntns);
	return rc;
}

int tree_wait(struct tree *t, struct cordon_err *err)
{
	struct pollfd p = { .fd = t->child.pidfd, .events = POLLIN };
	int status, rc;

	/* It ends while the mounts are taken down. */
	guard_end(t->guard);
	rc = take_down_mounts(t, err);
	while (poll(&p, 1, 5000) < 0 && errno == EINTR)
		;
	pidfd_signal(t->child.pidfd, SIGKILL);
	while (waitpid(t->child.pid, &status, __WALL) < 0 && errno == EINTR)
		;
	return rc;
}

void tree_stop(struct tree *t)
{
	network_stop(&t->network);
}

void tree_release(struct tree *t)
{
	disk_stop(t->disk);
	limiter_free(t->limiter);
	cpu_share_release(&t->cpus);
	fd_close(&t->userns);
	fd_close(&t->mntns);
	native_child_release(&t->child);
	for (int i = 0; i < N_NATIVE_FDS; i++)
		fd_close(&t->fds.fd[i]);
	/* It ended while the rest was done; see tree_wait(). */
	guard_stop(t->guard);
	t->guard = NULL;
	/* Nothing of the tree is left to look; and the next run's maps need it. */
	caller_release(&t->caller);
}
