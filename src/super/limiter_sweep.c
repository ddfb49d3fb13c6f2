/* The limits by our own accounting, where no cgroup is ours: a sweep over the
 * tree's /proc, as often as its memory could pass the limit.
 *
 * Memory is what is resident and anonymous or shared, what is swapped out, the
 * page tables, the pages of private tmpfs, and buffers of sockets.  Summed over processes this
 * counts shared pages (after fork) more than once; so only a sum over the limit
 * is looked at again, in proportion (PSS), which costs a hundred times as much.
 *
 * GAP: a look in proportion takes 10 to 30 µs a mapped MB, in which memory goes
 * on growing: one hog passed its limit by 0 to 2 MB, several at once and copies
 * of what was shared by 20 to 110 MB, on two busy CPUs.
 * GAP: what else is not mapped (buffers of pipes, what the kernel keeps of mappings, locks
 * and watches) is not seen here; other walls bound it.
 * GAP: without a network namespace of its own, nor are the tree's sockets.
 *
 * CPU time is the larger of an inherited perf counter and what the tasks say,
 * since each can be dodged alone: the counter by executing a program that may
 * not be read, the tasks by children that nobody waits for.
 *
 * Runs in the supervisor, with the caller's rights.
 */
#include "super/limiter_priv.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/proc.h"
#include "super/proc_read.h"
#include "super/sock_count.h"

#define SHARE_DUTY	20		/* a look in proportion is at most 5 % of the time … */
#define ACCOUNT_US	250000		/* without a limit: only for the peaks */
#define NO_PERF_US	20000		/* see children that nobody waits for while they live */
#define DENTS_BYTES	16384
#define INODE_BYTES	1024		/* of a file of tmpfs with its name, about */
#define MAX_WAITING	64
#define SAME_PAGES	256		/* a size that was read twice, a moment apart */
#define SOCKETS_DUTY	8		/* a list of sockets is at most an eighth of the time */
#define SOCKETS_ROOM	32768
#define TASKS_LOOK_US	10000		/* how often tasks are counted, where we alone bound them */

/* What a walk over the tree adds up.  Set by the caller: the wants. */
struct sums {
	bool want_status, want_stat, want_share;
	bool want_mapped;		/* leave files of the private tmpfs out of the share */
	int64_t anon, shmem, page_tables;	/* bytes; anon with swap */
	int64_t largest;			/* anon of the largest process */
	int64_t tasks;
	int64_t ticks, faults;
	int64_t shared_anon, shared_shmem;	/* in proportion */
	pid_t waiting[MAX_WAITING];	/* whose child of vfork() was left out */
	size_t n_waiting;
};

/* The last look in proportion, and what may have come since. */
struct credit {
	bool valid;
	int64_t bytes;			/* measured */
	int64_t grown;			/* since then, at most */
	int64_t sum, faults;		/* of the sweep before */
	int64_t end_us, cost_us;
};

struct state {
	int proc_fd, perf_fd;
	int64_t limit;			/* bytes; INT64_MAX: none */
	bool cpu_limited;
	long n_cpus;
	int64_t tick_us, page;
	int fs_fds[MAX_LIMITER_FS];	/* borrowed */
	dev_t fs_devices[MAX_LIMITER_FS];
	size_t n_fs;
	int diag_fd;			/* lists sockets; -1: none */
	int64_t sockets;		/* bytes, when they were listed last */
	int64_t sockets_due_us;
	struct credit credit;
	int64_t ticks_last, ticks_lost;	/* of the sweep before; of children nobody waited for */
	int64_t bytes_peak, tasks_peak;
	int64_t tasks_limit;		/* where we alone bound them */
	/* For getdents64(): aligned as its records are. */
	_Alignas(struct dirent64) char dents[DENTS_BYTES];
	_Alignas(8) char said[SOCKETS_ROOM];	/* by the kernel of sockets */
};

/* --- walking --------------------------------------------------------------- */

/* What of this shared memory is no file of the private tmpfs.  The process may
 * end while we read: what it maps then seems to be less than it was, so believe
 * no more than what it has afterwards. */
static int64_t shmem_beside_files(struct state *s, const char *pid, int64_t shmem)
{
	struct proc_status after;
	int64_t mapped;

	if (!proc_read_mapped(s->proc_fd, pid, s->fs_devices, s->n_fs, &mapped) ||
	    !proc_read_status(s->proc_fd, pid, &after))
		return 0;
	shmem = MIN(shmem, after.shmem);
	return MAX(shmem - mapped, 0);
}

/* Until it executes something, a child of vfork() has the very memory of its parent, who
 * waits meanwhile and so can have but one; in proportion it would count twice. */
static bool is_of_vfork(const struct state *s, const char *pid, struct sums *sums)
{
	struct proc_stat child, parent;
	char name[16];

	if (!proc_read_stat(s->proc_fd, pid, &child) || child.parent <= 1 ||
	    sums->n_waiting == MAX_WAITING)
		return false;
	snprintf(name, sizeof(name), "%d", child.parent);
	if (!proc_read_stat(s->proc_fd, name, &parent) || parent.state != 'D' ||
	    parent.size != child.size || llabs(parent.resident - child.resident) > SAME_PAGES)
		return false;
	for (size_t i = 0; i < sums->n_waiting; i++)
		if (sums->waiting[i] == child.parent)
			return false;
	sums->waiting[sums->n_waiting++] = child.parent;
	return true;
}

static void add_share(struct state *s, const char *pid, struct sums *sums)
{
	struct proc_share share;
	struct proc_status status = { 0 };
	char task[PROC_TASK_NAME];

	if (is_of_vfork(s, pid, sums))
		return;
	if (!proc_read_share(s->proc_fd, pid, &share)) {
		if (!proc_find_memory(s->proc_fd, pid, task, &status) ||
		    !proc_read_share(s->proc_fd, task, &share))
			return;
		pid = task;
	}
	if (!share.refused) {
		if (sums->want_mapped && share.shmem > 0)
			share.shmem = shmem_beside_files(s, pid, share.shmem);
		sums->shared_anon += share.anon;
		sums->shared_shmem += share.shmem;
	} else if (proc_read_status(s->proc_fd, pid, &status)) {
		/* A process that may not be looked into gets nothing off. */
		sums->shared_anon += status.anon + status.swap + status.shmem;
	}
}

static void add_process(struct state *s, const char *pid, struct sums *sums)
{
	struct proc_status status;
	struct proc_stat stat;

	if (sums->want_stat && proc_read_stat(s->proc_fd, pid, &stat)) {
		sums->ticks += stat.ticks;
		sums->faults += stat.faults;
	}
	if (sums->want_status && proc_read_status(s->proc_fd, pid, &status)) {
		char task[PROC_TASK_NAME];

		if (!status.has_memory && status.threads > 1)
			(void)proc_find_memory(s->proc_fd, pid, task, &status);
		sums->anon += status.anon + status.swap;
		sums->shmem += status.shmem;
		sums->page_tables += status.page_tables;
		sums->largest = MAX(sums->largest, status.anon + status.swap);
		sums->tasks += status.threads;
	}
	if (sums->want_share)
		add_share(s, pid, sums);
}

/* Parents come before their children, who have higher numbers.
 * GAP: but not once numbers have come round; a child that ends between the
 * reading of it and of its parent is then counted twice for that sweep. */
static void walk(struct state *s, struct sums *sums)
{
	if (lseek(s->proc_fd, 0, SEEK_SET) < 0)
		return;
	for (;;) {
		ssize_t n = getdents64(s->proc_fd, s->dents, sizeof(s->dents));

		if (n <= 0)
			return;
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *d = (const void *)(s->dents + at);

			if (d->d_name[0] >= '0' && d->d_name[0] <= '9')
				add_process(s, d->d_name, sums);
			at += d->d_reclen;
		}
	}
}

/* Bytes in the private file systems; an empty file takes memory, too. */
static int64_t fs_used(const struct state *s)
{
	int64_t bytes = 0;

	for (size_t i = 0; i < s->n_fs; i++) {
		struct statfs st;

		if (fstatfs(s->fs_fds[i], &st) == 0)
			bytes += (int64_t)(st.f_blocks - st.f_bfree) * st.f_bsize +
				 (int64_t)(st.f_files - st.f_ffree) * INODE_BYTES;
	}
	return bytes;
}

/* Bytes in sockets, listed only where they could decide. */
static int64_t sockets_used(struct state *s, int64_t headroom)
{
	int64_t n = s->diag_fd < 0 ? 0 : sock_count(s->proc_fd), begin;

	if (n * SOCK_MOST_BYTES <= headroom)
		return 0;
	begin = limiter_now_us();
	if (begin < s->sockets_due_us)
		return s->sockets;
	s->sockets = sock_measure(s->diag_fd, n, s->said, sizeof(s->said));
	s->sockets_due_us = limiter_now_us() + (limiter_now_us() - begin) * SOCKETS_DUTY;
	return s->sockets;
}

/* --- memory ---------------------------------------------------------------- */

/* Measure in proportion.  Files of the private tmpfs that are mapped are in
 * both sums; finding them takes the long list of mappings, so only when it
 * decides. */
static int64_t measure_share(struct state *s, const struct sums *cheap, int64_t files,
			     int64_t *ret_faults)
{
	struct sums fine = { .want_stat = true, .want_share = true };
	int64_t bytes;

	walk(s, &fine);
	bytes = fine.shared_anon + fine.shared_shmem + cheap->page_tables + files;
	if (bytes > s->limit && files > 0 && fine.shared_shmem > 0) {
		struct sums finer = { .want_share = true, .want_mapped = true };

		walk(s, &finer);
		bytes = finer.shared_anon + finer.shared_shmem + cheap->page_tables + files;
	}
	*ret_faults = fine.faults;
	return bytes;
}

/* The sum is over the limit: how much is it in truth?  The answer is measured,
 * or an upper bound which is not over the limit or soon measured.
 *
 * Since the last measurement, new pages raised the sum, and copies of shared
 * pages raised the count of faults (but a huge page is one fault): take the
 * larger.  A process that ended hides the growth of others, hence the duty. */
static int64_t judge_share(struct state *s, const struct sums *sums, int64_t files, bool *ret_over)
{
	struct credit *c = &s->credit;
	int64_t now = limiter_now_us();
	int64_t sum = sums->anon + sums->shmem + sums->page_tables + files;
	int64_t bound;

	if (c->valid) {
		int64_t grown = MAX(sum - c->sum, (sums->faults - c->faults) * s->page);

		c->grown += MAX(grown, 0);
		c->sum = sum;
		c->faults = sums->faults;
	}
	bound = c->bytes + c->grown;
	if (c->valid && now - c->end_us < c->cost_us * (bound > s->limit ? 1 : SHARE_DUTY))
		return bound;
	c->bytes = measure_share(s, sums, files, &c->faults);
	c->sum = sum;
	c->grown = 0;
	c->end_us = limiter_now_us();
	c->cost_us = c->end_us - now;
	c->valid = true;
	s->bytes_peak = MAX(s->bytes_peak, c->bytes);
	*ret_over = c->bytes > s->limit;
	return c->bytes;
}

static void judge_memory(struct state *s, const struct sums *sums, struct limiter_sample *ret)
{
	int64_t mapped = sums->anon + sums->shmem + sums->page_tables, files = fs_used(s);
	int64_t sum, certain, used;

	files += sockets_used(s, s->limit - mapped - files);
	used = sum = mapped + files;
	/* Within one process no page is anonymous twice: this much is certain. */
	certain = sums->largest + sums->page_tables + files;
	if (sum <= s->limit) {
		s->credit.valid = false;
		s->bytes_peak = MAX(s->bytes_peak, sum);
	} else if (certain > s->limit) {
		s->bytes_peak = MAX(s->bytes_peak, certain);
		ret->memory_over = true;
	} else {
		used = judge_share(s, sums, files, &ret->memory_over);
	}
	ret->wait_us = s->limit == INT64_MAX ? ACCOUNT_US
					     : limiter_memory_wait_us(s->limit - used, s->n_cpus);
}

/* --- CPU time --------------------------------------------------------------- */

/* The sum only falls when time is lost with a child that nobody waited for.  A
 * child that was waited for while we read its parent only seems lost: read
 * again before believing it. */
static void count_ticks(struct state *s, int64_t ticks)
{
	if (ticks < s->ticks_last) {
		struct sums again = { .want_stat = true };

		walk(s, &again);
		ticks = MAX(ticks, again.ticks);
	}
	s->ticks_lost += MAX(s->ticks_last - ticks, 0);
	s->ticks_last = ticks;
}

static int64_t cpu_us(const struct state *s)
{
	int64_t us = (s->ticks_last + s->ticks_lost) * s->tick_us;
	uint64_t ns;

	if (s->perf_fd >= 0 && read(s->perf_fd, &ns, sizeof(ns)) == sizeof(ns))
		us = MAX(us, (int64_t)(ns / 1000));
	return us;
}

/* --- the mechanism ----------------------------------------------------------- */

/* RLIMIT_NPROC does not bind uid 0. */
static int64_t counted_tasks(const struct plan_limits *limits)
{
	return geteuid() == 0 ? limits->processes : INT64_MAX;
}

static void *sweep_open(const struct limiter_paths *paths UNUSED,
			const struct plan_limits *limits, struct cordon_err *err)
{
	struct state *s = calloc(1, sizeof(*s));

	if (!s) {
		err_nomem(err);
		return NULL;
	}
	s->proc_fd = s->perf_fd = s->diag_fd = -1;
	s->limit = limits->memory;
	s->cpu_limited = limits->cpu_ms != INT64_MAX;
	s->tasks_limit = counted_tasks(limits);
	s->n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	s->n_cpus = MAX(s->n_cpus, 1);
	s->tick_us = 1000000 / MAX(sysconf(_SC_CLK_TCK), 1);
	s->page = sysconf(_SC_PAGESIZE);
	return s;
}

static int sweep_change(void *state, const struct plan_limits *limits, struct cordon_err *err)
{
	struct sums sums = { .want_status = true };
	struct limiter_sample sample = { 0 };
	struct state *s = state;
	int64_t before = s->limit;

	walk(s, &sums);
	if (sums.tasks > limits->processes)
		return err_set(err, CORDON_E_HOST, "limits.processes: more are alive than %lld",
			       (long long)limits->processes - 1);
	s->limit = limits->memory;
	s->credit.valid = false;
	judge_memory(s, &sums, &sample);
	if (sample.memory_over) {
		s->limit = before;
		s->credit.valid = false;
		return err_set(err, CORDON_E_HOST, "limits.memory: more than %lld bytes are in use",
			       (long long)limits->memory);
	}
	s->tasks_limit = counted_tasks(limits);
	s->cpu_limited = true;	/* it may be by now; looking more often harms nobody */
	return 0;
}

static void sweep_close(void *state)
{
	struct state *s = state;

	fd_close(&s->proc_fd);
	fd_close(&s->perf_fd);
	fd_close(&s->diag_fd);
	free(s);
}

static int sweep_add_fs(void *state, int fd, struct cordon_err *err)
{
	struct state *s = state;
	struct stat st;

	if (s->n_fs == MAX_LIMITER_FS)
		return err_set(err, CORDON_E_HOST, "more than %d private file systems to count",
			       MAX_LIMITER_FS);
	if (fstat(fd, &st) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot look at a private file system");
	s->fs_fds[s->n_fs] = fd;
	s->fs_devices[s->n_fs] = st.st_dev;
	s->n_fs++;
	return 0;
}

static void sweep_add_sockets(void *state, int fd)
{
	struct state *s = state;

	fd_close(&s->diag_fd);
	s->diag_fd = fd;
}

/* A wrong or blind /proc would count nothing and let everything pass. */
/* While init can still be looked at: later nobody may measure it. */
static int sweep_join(void *state, pid_t init, struct cordon_err *err UNUSED)
{
	struct state *s = state;

	s->perf_fd = proc_open_clock(init);
	return 0;
}

static int sweep_start(void *state, int proc_fd, struct cordon_err *err)
{
	struct state *s = state;
	struct sums sums = { .want_status = true };
	struct statfs st;

	if (proc_fd < 0)
		return err_set(err, CORDON_E_HOST, "without a cgroup, the tree's own /proc is "
			       "needed to count its memory");
	s->proc_fd = openat(proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->proc_fd < 0 || fstatfs(s->proc_fd, &st) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot open the tree's /proc");
	if (st.f_type != PROC_SUPER_MAGIC)
		return err_set(err, CORDON_E_SETUP, "the tree's /proc is not a procfs");
	walk(s, &sums);
	if (sums.tasks == 0)
		return err_set(err, CORDON_E_SETUP, "no process is to be seen in the tree's /proc");
	s->tasks_peak = sums.tasks;
	return 0;
}

static void sweep_sample(void *state, bool cpu_due, struct limiter_sample *ret)
{
	struct state *s = state;
	int64_t begin = limiter_now_us();
	struct sums sums = {
		.want_status = true,
		.want_stat = cpu_due || s->perf_fd < 0 || s->credit.valid,
	};

	walk(s, &sums);
	s->tasks_peak = MAX(s->tasks_peak, sums.tasks);
	if (sums.want_stat)
		count_ticks(s, sums.ticks);
	ret->cpu_us = cpu_us(s);
	judge_memory(s, &sums, ret);
	if (s->cpu_limited && s->perf_fd < 0)
		ret->wait_us = MIN(ret->wait_us, NO_PERF_US);
	ret->tasks_over = sums.tasks > s->tasks_limit;
	if (s->tasks_limit != INT64_MAX)
		ret->wait_us = MIN(ret->wait_us, TASKS_LOOK_US);
	/* … and the sweeps at most half of it. */
	ret->wait_us = MAX(ret->wait_us, limiter_now_us() - begin);
}

static void sweep_usage(void *state, struct limiter_usage *ret)
{
	const struct state *s = state;

	ret->cpu_ms = cpu_us(s) / 1000;
	ret->max_rss_kb = s->bytes_peak > 0 ? s->bytes_peak / 1024 : -1;
	ret->processes_peak = s->tasks_peak > 0 ? s->tasks_peak : -1;
}

const struct limiter_ops limiter_sweep = {
	.open = sweep_open,
	.change = sweep_change,
	.close = sweep_close,
	.add_fs = sweep_add_fs,
	.add_sockets = sweep_add_sockets,
	.join = sweep_join,
	.start = sweep_start,
	.sample = sweep_sample,
	.usage = sweep_usage,
};
