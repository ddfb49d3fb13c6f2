/* The limits by cgroup version 1: a child of our own group in the hierarchies
 * of memory, pids and cpuacct.
 *
 * Below our own group and never beside it, so that limits on us hold for the
 * tree, too.  Runs in the supervisor, as root or where the groups were given
 * to the caller.
 */
#include "super/limiter_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "super/cgroup.h"

/* The kernel sends the event before it kills and counts: so long may it take. */
#define COUNT_WAIT_US		100000
#define COUNT_LOOK_US		1000
#define NO_EVENT_LOOK_US	50000	/* where the kernel gives no event */
#define BUFFERS_RATE		2048	/* bytes a µs, at most, that programs send themselves */
#define MIN_BUFFERS_US		20000
#define MAX_BUFFERS_US		250000

enum controller { MEMORY, PIDS, CPUACCT, N_CONTROLLERS };

static const char *const controller_str[] = {
	[MEMORY] = "memory",
	[PIDS] = "pids",
	[CPUACCT] = "cpuacct",
};
static_assert(ARRAY_SIZE(controller_str) == N_CONTROLLERS, "a controller without a name");

struct state {
	struct cgroup groups[N_CONTROLLERS];	/* the first n_groups are there */
	size_t n_groups;
	size_t of[N_CONTROLLERS];	/* which group: some are mounted together */
	int oom_fd;			/* memory.oom_control */
	int event_fd;			/* -1: the kernel gives none */
	int64_t event_us;		/* when an event came that is not counted yet; 0: none */
	int64_t tasks_peak;
	int64_t buffers;		/* bytes that those of sockets may be; INT64_MAX: any */
};

/* Our own group of one controller; the texts point into what was read. */
struct place {
	struct str id;			/* of the hierarchy */
	char path[CGROUP_PATH_BYTES];
	int fd;
};

/* Find it, without making anything. */
static int open_own(const struct limiter_paths *paths, const char *text, enum controller c,
		    struct place *ret, struct cordon_err *err)
{
	const char *name = controller_str[c];
	char mount[CGROUP_PATH_BYTES];
	struct cgroup_own own;

	if (!cgroup_self_find(text, name, &own))
		return err_set(err, CORDON_E_HOST, "'%s' names no group of '%s'", paths->self,
			       name);
	ret->id = own.id;
	if (snprintf(mount, sizeof(mount), "%s/%s", paths->base, name) >= (int)sizeof(mount))
		return err_set(err, CORDON_E_HOST, "the path of '%s' is too long", name);
	if (cgroup_own_open(mount, own.path, ret->path, &ret->fd, err) == 0)
		return 0;
	if (str_is(own.controllers, name))
		return -1;
	/* Mounted together and without links, the folder is the list. */
	snprintf(mount, sizeof(mount), "%s/%.*s", paths->base, STR_FMT(own.controllers));
	return cgroup_own_open(mount, own.path, ret->path, &ret->fd, err);
}

static const struct cgroup *group(const struct state *s, enum controller c)
{
	return &s->groups[s->of[c]];
}

static int make_groups(struct state *s, const struct limiter_paths *paths, struct cordon_err *err)
{
	char text[CGROUP_SELF_BYTES];
	struct str ids[N_CONTROLLERS];
	struct place own;

	if (cgroup_self_read(paths->self, text, err) < 0)
		return -1;
	for (size_t c = 0; c < N_CONTROLLERS; c++) {
		size_t i = 0;

		if (open_own(paths, text, (enum controller)c, &own, err) < 0)
			return -1;
		while (i < s->n_groups && !str_eq(ids[i], own.id))
			i++;
		s->of[c] = i;
		if (i < s->n_groups) {
			close(own.fd);
			continue;
		}
		if (cgroup_new(own.path, own.fd, &s->groups[i], err) < 0)
			return -1;
		s->groups[i].is_tree = true;
		ids[i] = own.id;
		s->n_groups++;
	}
	return 0;
}

#define MEMORY_FILE	"memory.limit_in_bytes"
#define SWAP_FILE	"memory.memsw.limit_in_bytes"

/* INT64_MAX: none.  The kernel refuses a limit with swap below the one without, so
 * the order depends on the way. */
static int set_memory(const struct cgroup *memory, int64_t bytes, bool grows,
		      struct cordon_err *err)
{
	static const char *const files[] = { MEMORY_FILE, SWAP_FILE };
	int64_t n = bytes == INT64_MAX ? -1 : bytes;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		const char *file = files[grows ? ARRAY_SIZE(files) - 1 - i : i];

		if (file == files[1] && faccessat(memory->fd, file, F_OK, 0) < 0)
			cgroup_try_write(memory->fd, "memory.swappiness", "0");
		else if (cgroup_write_number(memory, file, n, err) < 0)
			return -1;
	}
	return 0;
}

/* Buffers of TCP and UDP have a counter of their own here, which does nothing without a
 * limit.  Beyond it a sender waits; but the kernel lets each socket have a little more, so
 * that many together have much: sample_buffers().  Sockets that were made before it was
 * set are in no count, so it is set before the command begins. */
static void bound_buffers(struct state *s, int64_t memory)
{
	char text[32];

	s->buffers = memory == INT64_MAX ? INT64_MAX : memory / 4;
	snprintf(text, sizeof(text), "%lld", (long long)s->buffers);
	if (s->buffers != INT64_MAX)
		cgroup_try_write(group(s, MEMORY)->fd, "memory.kmem.tcp.limit_in_bytes", text);
}

static int change_memory(struct state *s, int64_t bytes, struct cordon_err *err)
{
	const struct cgroup *memory = group(s, MEMORY);
	int64_t before = cgroup_read_number(memory->fd, MEMORY_FILE);
	struct cordon_err ignored;

	/* What cannot be read could not be given back. */
	if (before < 0)
		return err_set(err, CORDON_E_SETUP, "cannot read '%s/" MEMORY_FILE "'",
			       memory->path);
	if (set_memory(memory, bytes, bytes > before, err) == 0) {
		bound_buffers(s, bytes);
		return 0;
	}
	/* What could be made smaller may stay so. */
	(void)!set_memory(memory, before, true, &ignored);
	return err_wrap(err, "limits.memory");
}

static int cgroup1_change(void *state, const struct plan_limits *limits, struct cordon_err *err)
{
	return change_memory(state, limits->memory, err) < 0
		       ? -1 : cgroup_change_tasks(group(state, PIDS), limits->processes, err);
}

static int set_limits(struct state *s, const struct plan_limits *limits, struct cordon_err *err)
{
	/* With swap it may not be more either; without that counter, no swap. */
	if (limits->memory != INT64_MAX &&
	    set_memory(group(s, MEMORY), limits->memory, false, err) < 0)
		return -1;
	bound_buffers(s, limits->memory);
	if (limits->processes == INT64_MAX)
		return 0;
	return cgroup_limit_tasks(group(s, PIDS), limits->processes, err);
}

/* Kernels for real time have no events: then the counter is looked at often. */
static int open_oom(struct state *s, struct cordon_err *err)
{
	const struct cgroup *memory = group(s, MEMORY);
	cleanup_fd int event_fd = -1;
	char text[32];

	s->oom_fd = openat(memory->fd, "memory.oom_control", O_RDONLY | O_CLOEXEC);
	if (s->oom_fd < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot open '%s/memory.oom_control'",
			       memory->path);
	event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (event_fd < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot make an event descriptor");
	snprintf(text, sizeof(text), "%d %d", event_fd, s->oom_fd);
	if (cgroup_try_write(memory->fd, "cgroup.event_control", text))
		s->event_fd = fd_take(&event_fd);
	return 0;
}

static void cgroup1_close(void *state)
{
	struct state *s = state;

	fd_close(&s->event_fd);
	fd_close(&s->oom_fd);
	for (size_t i = 0; i < s->n_groups; i++)
		cgroup_release(&s->groups[i]);
	free(s);
}

static void *cgroup1_open(const struct limiter_paths *paths, const struct plan_limits *limits,
			  struct cordon_err *err)
{
	struct state *s = calloc(1, sizeof(*s));

	if (!s) {
		err_nomem(err);
		return NULL;
	}
	s->oom_fd = s->event_fd = -1;
	if (make_groups(s, paths, err) < 0 || set_limits(s, limits, err) < 0 ||
	    open_oom(s, err) < 0) {
		cgroup1_close(s);
		return NULL;
	}
	return s;
}

/* Is it where the kernel says, and ours?  False: not as simply as that. */
static bool is_writable(const struct limiter_paths *paths, const char *text, const char *name)
{
	char path[CGROUP_PATH_BYTES];
	struct cgroup_own own;

	return cgroup_self_find(text, name, &own) && !cgroup_goes_up(own.path) &&
	       snprintf(path, sizeof(path), "%s/%s%.*s/.", paths->base, name,
			STR_FMT(own.path)) < (int)sizeof(path) &&
	       faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0;
}

static bool cgroup1_probe(const struct limiter_paths *paths, const char *text)
{
	struct cordon_err err;
	struct place own;

	for (size_t c = 0; c < N_CONTROLLERS; c++) {
		bool can;

		/* A run asks for all of them before it begins. */
		if (is_writable(paths, text, controller_str[c]))
			continue;
		if (open_own(paths, text, (enum controller)c, &own, &err) < 0)
			return false;
		can = cgroup_can_write(own.fd, ".");
		close(own.fd);
		if (!can)
			return false;
	}
	return true;
}

static int cgroup1_join(void *state, pid_t pid, struct cordon_err *err)
{
	struct state *s = state;

	for (size_t i = 0; i < s->n_groups; i++) {
		if (cgroup_write_number(&s->groups[i], "cgroup.procs", pid, err) < 0)
			return -1;
	}
	return 0;
}

static int cgroup1_open_entries(const void *state, int *ret, size_t *ret_n, struct cordon_err *err)
{
	const struct state *s = state;
	size_t n = 0;

	static_assert(ARRAY_SIZE(s->groups) <= MAX_LIMITER_ENTRIES, "more groups than entries");
	for (; n < s->n_groups; n++) {
		ret[n] = openat(s->groups[n].fd, "tasks", O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
		if (ret[n] < 0)
			break;
	}
	if (n == s->n_groups) {
		*ret_n = n;
		return 0;
	}
	err_sys(err, CORDON_E_SETUP, "cannot open 'tasks' of a group of processes");
	while (n > 0)
		fd_close(&ret[--n]);
	return -1;
}

/* What is swapped out is in the counter of both. */
static int64_t cgroup1_files(const void *state)
{
	const struct cgroup *memory = group(state, MEMORY);
	int64_t here = cgroup_read_key(memory->fd, "memory.stat", "shmem");
	int64_t swapped = cgroup_read_key(memory->fd, "memory.stat", "swap");

	return here < 0 ? -1 : here + MAX(swapped, 0);
}

static int cgroup1_event_fd(const void *state)
{
	return ((const struct state *)state)->event_fd;
}

/* Has the kernel killed for memory?  -1 for kernels before 4.13, which have no
 * counter of it. */
static int64_t oom_kills(const struct state *s)
{
	return cgroup_fd_read_key(s->oom_fd, "oom_kill");
}

/* The event alone is no proof: it also comes when a task was about to end and
 * gave its memory back.  So the counter decides, soon. */
static void sample_memory(struct state *s, struct limiter_sample *ret)
{
	int64_t now = limiter_now_us();
	uint64_t events = 0;
	int64_t kills;

	if (s->event_fd >= 0 && read(s->event_fd, &events, sizeof(events)) == sizeof(events))
		s->event_us = now;
	kills = oom_kills(s);
	if (kills > 0 || (kills < 0 && events > 0)) {
		ret->memory_over = true;
		return;
	}
	if (s->event_us && now - s->event_us < COUNT_WAIT_US) {
		ret->wait_us = COUNT_LOOK_US;
		return;
	}
	s->event_us = 0;
	if (s->event_fd < 0)
		ret->wait_us = NO_EVENT_LOOK_US;
}

/* Twice what they may be is too much: some pass it by what each may have. */
static void sample_buffers(const struct state *s, struct limiter_sample *ret)
{
	int64_t rest, wait, now = s->buffers == INT64_MAX ? -1 :
		cgroup_read_number(group(s, MEMORY)->fd, "memory.kmem.tcp.usage_in_bytes");

	if (now < 0)
		return;
	rest = 2 * s->buffers - now;
	ret->memory_over |= rest < 0;
	wait = MIN(MAX(rest / BUFFERS_RATE, MIN_BUFFERS_US), MAX_BUFFERS_US);
	ret->wait_us = ret->wait_us < 0 ? wait : MIN(ret->wait_us, wait);
}

static int64_t cpu_ns(const struct state *s)
{
	return cgroup_read_number(group(s, CPUACCT)->fd, "cpuacct.usage");
}

static void sample_tasks(struct state *s)
{
	int64_t now = cgroup_read_number(group(s, PIDS)->fd, "pids.current");

	s->tasks_peak = MAX(s->tasks_peak, now);
}

static void cgroup1_sample(void *state, bool cpu_due, struct limiter_sample *ret)
{
	struct state *s = state;

	sample_memory(s, ret);
	sample_buffers(s, ret);
	sample_tasks(s);
	if (cpu_due) {
		int64_t ns = cpu_ns(s);

		ret->cpu_us = ns < 0 ? -1 : ns / 1000;
	}
}

static void cgroup1_usage(void *state, struct limiter_usage *ret)
{
	struct state *s = state;
	const struct cgroup *memory = group(s, MEMORY), *pids = group(s, PIDS);
	int64_t ns = cpu_ns(s);
	int64_t bytes = cgroup_read_number(memory->fd, "memory.max_usage_in_bytes");
	int64_t peak = cgroup_read_number(pids->fd, "pids.peak");

	ret->cpu_ms = ns < 0 ? -1 : ns / 1000000;
	ret->max_rss_kb = bytes < 0 ? -1 : bytes / 1024;
	peak = MAX(peak, s->tasks_peak);
	ret->processes_peak = peak > 0 ? peak : -1;
	ret->processes_refused = cgroup_read_key(pids->fd, "pids.events", "max") > 0;
	ret->oom_killed = oom_kills(s) > 0;
}

const struct limiter_ops limiter_cgroup1 = {
	.probe = cgroup1_probe,
	.open = cgroup1_open,
	.change = cgroup1_change,
	.close = cgroup1_close,
	.event_fd = cgroup1_event_fd,
	.join = cgroup1_join,
	.open_entries = cgroup1_open_entries,
	.files = cgroup1_files,
	.sample = cgroup1_sample,
	.usage = cgroup1_usage,
};
