/* The limits by our own accounting, where no cgroup is ours: a sweep over the
 * tree's /proc, as often as its memory could pass the limit.
 *
 * Memory is what is resident and anonymous or shared, what is swapped out, the
 * page tables and the pages of private tmpfs.  Summed over processes this
 * counts shared pages (after fork) more than once; so only a sum over the limit
 * is looked at again, in proportion (share.h), which costs a hundred times as much.
 * Meanwhile sweeps go on: what one process has, or all have grown by, is certain.
 *
 * GAP: a look in proportion takes 10 to 30 µs a mapped MB, in which memory goes
 * on growing: one hog passed its limit by 0 to 2 MB, several at once and copies
 * of what was shared by 20 to 110 MB, on two busy CPUs.
 * GAP: memory of the kernel that is mapped by no process (buffers of pipes and sockets, locks,
 * watches) is not counted; limits.open_files and limits.processes bound it.
 *
 * CPU time is the larger of an inherited perf counter and what the tasks say,
 * since each can be dodged alone: the counter by executing a program that may
 * not be read, the tasks by children that nobody waits for.
 *
 * Runs in the supervisor, with the caller's rights.
 */
#include "super/limiter_priv.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/proc.h"
#include "super/proc_read.h"
#include "super/share.h"

#define SHARE_DUTY	20		/* a look in proportion is at most 5 % of the time … */
#define LOOK_WAIT_US	5000		/* between sweeps while it lasts */
#define MAX_FAILED	3		/* looks in a row that had no answer */
#define MAX_SEEN	4096		/* a power of two */
#define MAX_TRIES	32		/* to find a place among them */
#define ACCOUNT_US	250000		/* without a limit: only for the peaks … */
#define EARLY_US	4000		/* … which short runs have, too; then twice that, … */
#define NO_PERF_US	20000		/* see children that nobody waits for while they live */
#define SHMEM_LOOK_US	20000		/* how often the machine's shared memory is asked for */
#define INODE_BYTES	1024		/* of a file of tmpfs with its name, about */
#define TASKS_LOOK_US	10000		/* how often tasks are counted, where we alone bound them */

/* What a walk over the tree adds up.  Set by the caller: the wants. */
struct sums {
	bool want_status, want_stat;
	int64_t anon, shmem, page_tables;	/* bytes; anon with swap */
	int64_t largest;			/* anon of the largest process */
	int64_t grown;				/* anon that is certainly nobody else's */
	int64_t tasks;
	int64_t ticks, faults;
};

/* A process in sweeps that follow each other. */
struct seen {
	pid_t pid;
	int64_t sweep;			/* the last */
	int64_t anon;			/* the least that it had */
};

/* The last look in proportion, and what may have come since. */
struct credit {
	bool valid;
	int64_t bytes;			/* measured */
	int64_t grown;			/* since then, at most */
	int64_t sum, faults;		/* of the sweep before */
	int64_t machine;		/* what all had of anonymous memory, when it began */
	int64_t end_us, cost_us;
};

/* The look that is going on. */
struct current {
	struct share_look look;
	int64_t sum, beside, machine;	/* when it began */
	int failed;			/* before it, in a row */
	bool hindered;
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
	int64_t shmem_others;		/* the machine's shared memory that is not the tree's */
	int64_t shmem_most;		/* what of it can be the tree's, when it was asked last */
	int64_t shmem_due_us;
	struct credit credit;
	struct current current;
	int64_t sweep;			/* how many there were, and a few */
	struct seen seen[MAX_SEEN];
	int64_t ticks_last, ticks_lost;	/* of the sweep before; of children nobody waited for */
	int64_t bytes_peak, tasks_peak;
	int64_t early_us;		/* how long to wait at the most, for their sake */
	int64_t tasks_limit;		/* where we alone bound them */
};

/* --- walking --------------------------------------------------------------- */

/* How much this process has grown since it had least.  A page that is new to a process
 * is nobody else's; those it began with may be its parent's. */
static int64_t growth_of(struct state *s, const char *name, int64_t anon)
{
	pid_t pid = (pid_t)strtol(name, NULL, 10);
	struct seen *free_place = NULL;

	for (unsigned i = 0; i < MAX_TRIES; i++) {
		struct seen *e = &s->seen[((unsigned)pid + i) % MAX_SEEN];

		if (e->sweep < s->sweep - 1) {
			free_place = free_place ? free_place : e;
		} else if (e->pid == pid) {
			e->sweep = s->sweep;
			e->anon = MIN(e->anon, anon);
			return anon - e->anon;
		}
	}
	if (free_place)
		*free_place = (struct seen){ pid, s->sweep, anon };
	return 0;
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
		sums->grown += growth_of(s, pid, status.anon + status.swap);
	}
}

/* Parents come before their children, who have higher numbers.
 * GAP: but not once numbers have come round; a child that ends between the
 * reading of it and of its parent is then counted twice for that sweep. */
static void walk(struct state *s, struct sums *sums)
{
	struct proc_list list = { .fd = s->proc_fd };
	const char *pid;

	if (lseek(s->proc_fd, 0, SEEK_SET) < 0)
		return;
	s->sweep += sums->want_status;
	while ((pid = proc_next(&list)))
		add_process(s, pid, sums);
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

/* --- memory ---------------------------------------------------------------- */

/* What the tree's shared memory may be: pages that nobody maps are in no process's size,
 * but in the machine's.
 * GAP: not what others have given back meanwhile. */
static int64_t shmem_at_most(struct state *s, const struct sums *sums, int64_t files)
{
	int64_t now = limiter_now_us(), all;

	if (s->limit != INT64_MAX && now >= s->shmem_due_us) {
		all = proc_read_meminfo(s->proc_fd, "Shmem:") - files;
		s->shmem_others = MIN(s->shmem_others, MAX(all - sums->shmem, 0));
		s->shmem_most = all - s->shmem_others;
		s->shmem_due_us = now + SHMEM_LOOK_US;
	}
	return MAX(sums->shmem, s->shmem_most);
}

static int64_t machine_anon(const struct state *s)
{
	return proc_read_meminfo(s->proc_fd, "AnonPages:");
}

/* Since the last look, new pages raised the sum, and copies of shared pages raised the count
 * of faults (but a huge page is one fault): take the larger.  Who copies by processes that
 * end before they are seen raises neither, but what the machine has.
 * GAP: not by what others give back meanwhile, hence the duty. */
static void note_growth(struct state *s, const struct sums *sums, int64_t sum)
{
	struct credit *c = &s->credit;
	int64_t grown = MAX(sum - c->sum, (sums->faults - c->faults) * s->page);

	if (!c->valid)
		return;
	c->grown = MAX(c->grown + MAX(grown, 0), machine_anon(s) - c->machine);
	c->sum = sum;
	c->faults = sums->faults;
}

static bool is_look_due(const struct state *s)
{
	const struct credit *c = &s->credit;
	int64_t since = limiter_now_us() - c->end_us;

	if (s->current.look.pid)
		return false;
	return !c->valid ||
	       since >= c->cost_us * (c->bytes + c->grown > s->limit ? 1 : SHARE_DUTY);
}

static void begin_look(struct state *s, const struct sums *sums, int64_t beside, int64_t sum)
{
	const struct share_job job = {
		.proc_fd = s->proc_fd, .devices = s->fs_devices, .n_devices = s->n_fs,
		.tasks = sums->tasks, .mapped = sum, .shmem = s->shmem_most,
		.limit = s->limit, .beside = beside,
	};
	struct current *k = &s->current;
	struct cordon_err ignored;

	k->sum = sum;
	k->beside = beside;
	k->machine = machine_anon(s);
	if (share_begin(&k->look, &job, &ignored) < 0)
		k->failed++;
}

/* What there was when the look began, with what came meanwhile.  It costs what it took the
 * looker: how long others made it wait must not put the next one off. */
static void end_look(struct state *s, const struct share_answer *a)
{
	struct current *k = &s->current;

	k->failed = 0;
	s->credit = (struct credit){ .valid = true, .bytes = a->bytes + k->beside, .sum = k->sum,
				     .faults = a->faults, .machine = k->machine,
				     .end_us = limiter_now_us(), .cost_us = a->cpu_us };
	s->bytes_peak = MAX(s->bytes_peak, s->credit.bytes);
}

static void ask_look(struct state *s)
{
	struct share_answer a;

	switch (share_ask(&s->current.look, &a)) {
	case SHARE_LOOKING:
		return;
	case SHARE_DONE:
		end_look(s, &a);
		return;
	case SHARE_FAILED:
		s->current.failed++;
		return;
	case SHARE_HINDERED:
		s->current.hindered = true;
	}
}

/* The sum is over the limit: how much is it in truth?  Who makes that impossible to tell
 * has what the sum says. */
static void judge_share(struct state *s, const struct sums *sums, int64_t beside, int64_t sum,
			struct limiter_sample *ret)
{
	int64_t certain = sums->grown + beside;
	struct current *k = &s->current;
	struct credit *c = &s->credit;

	note_growth(s, sums, sum);
	if (is_look_due(s))
		begin_look(s, sums, beside, sum);
	ret->memory_over = (c->valid && c->bytes > s->limit) || k->hindered ||
			   k->failed > MAX_FAILED;
	if (k->look.pid)
		ret->wait_us = MIN(limiter_memory_wait_us(s->limit - certain, s->n_cpus),
				   LOOK_WAIT_US);
	else
		ret->wait_us = limiter_memory_wait_us(s->limit - c->bytes - c->grown, s->n_cpus);
}

static void judge_memory(struct state *s, const struct sums *sums, struct limiter_sample *ret)
{
	int64_t mapped = sums->anon + sums->shmem + sums->page_tables, files = fs_used(s);
	int64_t most = mapped - sums->shmem + files + shmem_at_most(s, sums, files);
	int64_t certain;

	/* Within one process no page is anonymous twice: this much is certain. */
	certain = MAX(sums->largest, sums->grown) + sums->page_tables + files;
	if (s->current.look.pid)
		ask_look(s);
	if (mapped + files <= s->limit)
		s->bytes_peak = MAX(s->bytes_peak, mapped + files);
	if (most <= s->limit) {
		s->credit.valid = s->current.hindered = false;
		s->current.failed = 0;
		ret->wait_us = s->limit == INT64_MAX
				       ? ACCOUNT_US
				       : limiter_memory_wait_us(s->limit - most, s->n_cpus);
	} else if (certain > s->limit) {
		s->bytes_peak = MAX(s->bytes_peak, certain);
		ret->memory_over = true;
	} else {
		judge_share(s, sums, sums->page_tables + files, most, ret);
	}
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
	s->proc_fd = s->perf_fd = -1;
	s->current.look = SHARE_LOOK;
	s->shmem_others = INT64_MAX;
	s->early_us = EARLY_US;
	s->sweep = 2;			/* nobody was seen in the one before */
	s->limit = limits->memory;
	s->cpu_limited = limits->cpu_ms != INT64_MAX;
	s->tasks_limit = counted_tasks(limits);
	s->n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	s->n_cpus = MAX(s->n_cpus, 1);
	s->tick_us = 1000000 / MAX(sysconf(_SC_CLK_TCK), 1);
	s->page = sysconf(_SC_PAGESIZE);
	return s;
}

static void sweep_close(void *state)
{
	struct state *s = state;

	fd_close(&s->proc_fd);
	fd_close(&s->perf_fd);
	share_end(&s->current.look);
	free(s);
}

static int sweep_event_fd(const void *state)
{
	const struct state *s = state;

	return s->current.look.fd;
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

/* While init can still be looked at: later nobody may measure it. */
static int sweep_join(void *state, pid_t init, struct cordon_err *err UNUSED)
{
	struct state *s = state;

	s->perf_fd = proc_open_clock(init);
	return 0;
}

/* A wrong or blind /proc would count nothing and let everything pass. */
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
	ret->wait_us = MIN(ret->wait_us, s->early_us);
	s->early_us = MIN(s->early_us * 2, ACCOUNT_US);
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
	.close = sweep_close,
	.event_fd = sweep_event_fd,
	.add_fs = sweep_add_fs,
	.join = sweep_join,
	.start = sweep_start,
	.sample = sweep_sample,
	.usage = sweep_usage,
};
