/* Every task of a tree; see tasks.h.
 *
 * By the host's /proc each is found and bound: only there have they numbers that the
 * calls take.  By the tree's own /proc it is seen that all are, in rounds.  A task is
 * settled once it is bound and seen asleep, stopped or dead: then it is not on its way
 * through a fork that began before, so whoever it makes later is bound.  When all that a
 * list has were settled before it was made, and are all that the list before it had, there
 * is nobody else.  One list alone does not say so: a thread that ends while it is made hides
 * the one behind it, and numbers begin anew.
 *
 * Those that never sleep would take for ever.  So after a few rounds all are held, which
 * makes even them stop.
 *
 * Runs in the supervisor, with the caller's uid, which is the tree's.
 */
#include "super/tasks.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/pidfd.h"
#include "base/str.h"
#include "super/proc_read.h"

#define ROUNDS		8
#define HOLDS		10	/* one that waits for its vfork'ed child does not stop */
#define HELD_ROUNDS	100
#define GOING_ROUNDS	1000	/* on a machine that has much else to do */
#define ROUND_US	1000
#define TEXT_BYTES	(16 << 10)	/* also of a user who is in a thousand groups */

struct person {
	pid_t pid, parent;
	char state;
	bool is_inside;
};

struct people {
	struct person *list;
	size_t n, cap;
};

/* ---- reading ------------------------------------------------------------- */

/* False: whoever it is about is gone, or nobody can tell. */
static bool read_file(int dir, const char *path, char text[TEXT_BYTES])
{
	cleanup_fd int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	size_t n = 0;
	ssize_t got = -1;

	while (fd >= 0 && n < TEXT_BYTES - 1 && (got = read(fd, text + n, TEXT_BYTES - 1 - n)) > 0)
		n += (size_t)got;
	text[n] = '\0';
	return got == 0 && n > 0;
}

/* The entries of a folder that are numbers: each is given to `see` with its name.
 * False: it said so, or the folder cannot be read. */
static bool each_number(int dir, const char *path, bool (*see)(const char *name, void *arg),
			void *arg)
{
	int fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	bool good = d;

	if (!d)
		fd_close(&fd);
	while (good && (e = readdir(d)))
		if (isdigit((unsigned char)e->d_name[0]))
			good = see(e->d_name, arg);
	if (d)
		closedir(d);
	return good;
}

/* ---- who is inside -------------------------------------------------------- */

static bool see_person(const char *name, void *arg)
{
	struct people *all = arg;
	char path[32], text[TEXT_BYTES];
	const char *at;

	snprintf(path, sizeof(path), "/proc/%.10s/stat", name);
	/* Its name, which may be anything, stands in brackets. */
	at = read_file(AT_FDCWD, path, text) ? strrchr(text, ')') : NULL;
	if (!at)
		return true;
	if (all->n == all->cap) {
		size_t cap = all->cap ? 2 * all->cap : 512;
		struct person *list = reallocarray(all->list, cap, sizeof(*list));

		if (!list)
			return false;
		all->list = list;
		all->cap = cap;
	}
	all->list[all->n] = (struct person){ .pid = (pid_t)strtol(name, NULL, 10) };
	if (sscanf(at, ") %c %d", &all->list[all->n].state, &all->list[all->n].parent) == 2)
		all->n++;
	return true;
}

static int by_pid(const void *a, const void *b)
{
	const struct person *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static bool is_inside(const struct people *all, pid_t pid)
{
	const struct person key = { .pid = pid };
	const struct person *p = bsearch(&key, all->list, all->n, sizeof(key), by_pid);

	return p && p->is_inside;
}

/* Most have a parent with a smaller number, so that one look is enough. */
static void mark(struct people *all, pid_t init)
{
	bool grows = true;

	qsort(all->list, all->n, sizeof(*all->list), by_pid);
	while (grows) {
		grows = false;
		for (size_t i = 0; i < all->n; i++) {
			struct person *p = &all->list[i];

			if (p->is_inside || (p->pid != init && !is_inside(all, p->parent)))
				continue;
			p->is_inside = grows = true;
		}
	}
}

/* ---- binding --------------------------------------------------------------- */

static bool bind_task(const char *name, void *arg)
{
	/* Whether it was done is seen afterwards. */
	(void)sched_setaffinity((pid_t)strtol(name, NULL, 10), sizeof(cpu_set_t), arg);
	return true;
}

static void lower_processes(pid_t pid, int64_t most)
{
	struct rlimit now;

	if (prlimit(pid, RLIMIT_NPROC, NULL, &now) < 0 || now.rlim_max <= (rlim_t)most)
		return;
	now.rlim_cur = now.rlim_max = (rlim_t)most;
	(void)prlimit(pid, RLIMIT_NPROC, &now, NULL);
}

/* Every process of the machine, and which are init and those below it. */
static bool see_all(pid_t init, struct people *ret)
{
	*ret = (struct people){ 0 };
	if (!each_number(AT_FDCWD, "/proc", see_person, ret) || !ret->n)
		return false;
	mark(ret, init);
	return true;
}

static bool bind_all(pid_t init, const struct task_bounds *b)
{
	struct people all;
	cpu_set_t cpus;
	bool good = see_all(init, &all);

	if (b->cpus)
		cpus = *b->cpus;
	for (size_t i = 0; good && i < all.n; i++) {
		char path[32];

		if (!all.list[i].is_inside)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task", all.list[i].pid);
		if (b->cpus)
			(void)each_number(AT_FDCWD, path, bind_task, &cpus);
		if (b->processes != INT64_MAX && all.list[i].pid != init)
			lower_processes(all.list[i].pid, b->processes);
	}
	free(all.list);
	return good;
}

/* ---- seeing that it is so --------------------------------------------------- */

/* Every task that the tree's /proc has, by its number there. */
struct tasks {
	int proc_fd;
	pid_t *list;
	size_t n, cap;
	bool lacks;			/* some that there were */
	size_t n_seen;			/* of settled ones: in the list before; 0: it lacked some */
};

static bool add_number(struct tasks *t, pid_t tid)
{
	if (t->n == t->cap) {
		size_t cap = t->cap ? 2 * t->cap : 64;
		pid_t *list = reallocarray(t->list, cap, sizeof(*list));

		if (!list)
			return false;
		t->list = list;
		t->cap = cap;
	}
	t->list[t->n++] = tid;
	return true;
}

static bool add_task(const char *name, void *arg)
{
	return add_number(arg, (pid_t)strtol(name, NULL, 10));
}

/* So many that nobody is missing: whoever is in the next list, too, lived when they were
 * counted. */
static bool has_threads(int proc_fd, const char *pid, size_t n)
{
	char path[32], text[TEXT_BYTES];

	snprintf(path, sizeof(path), "%.10s/status", pid);
	return read_file(proc_fd, path, text) &&
	       strtoull(proc_find_line(str_from(text), "Threads:").s, NULL, 10) == n;
}

static bool add_tasks(const char *pid, void *arg)
{
	struct tasks *t = arg;
	size_t before = t->n;
	char path[32];

	snprintf(path, sizeof(path), "%.10s/task", pid);
	/* Gone, or not what it was: all is read once more. */
	if (!each_number(t->proc_fd, path, add_task, t) ||
	    !has_threads(t->proc_fd, pid, t->n - before))
		t->lacks = true;
	return true;
}

static int by_number(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static bool list_tasks(struct tasks *t)
{
	if (!each_number(t->proc_fd, ".", add_tasks, t))
		return false;
	qsort(t->list, t->n, sizeof(*t->list), by_number);
	return t->n > 0;
}

#define CPUS_KEY	"Cpus_allowed:"

static bool has_processes(int proc_fd, pid_t tid, int64_t most)
{
	char path[32], text[TEXT_BYTES];
	unsigned long long has;

	snprintf(path, sizeof(path), "%d/limits", tid);
	if (!read_file(proc_fd, path, text))
		return false;
	/* "unlimited" is no number. */
	has = strtoull(proc_find_line(str_from(text), "Max processes").s, NULL, 10);
	return has > 0 && has <= (uint64_t)most;
}

/* The bounds are read before what it does. */
static bool is_settled(int proc_fd, pid_t tid, const struct task_bounds *b, struct str mask)
{
	bool bound = b->processes == INT64_MAX || tid == 1 ||
		     has_processes(proc_fd, tid, b->processes);
	char path[32], text[TEXT_BYTES];
	struct str state;

	snprintf(path, sizeof(path), "%d/status", tid);
	if (!read_file(proc_fd, path, text))
		return false;	/* gone: who comes from it is in the next list */
	state = proc_find_line(str_from(text), "State:");
	if (state.n && strchr("ZX", state.s[0]))
		return true;
	return bound && state.n && strchr("STt", state.s[0]) &&
	       (!b->cpus || str_eq(proc_find_line(str_from(text), CPUS_KEY), mask));
}

static bool has(const struct tasks *t, pid_t tid)
{
	return t->n && bsearch(&tid, t->list, t->n, sizeof(tid), by_number);
}

/* One round: were all that there are settled before, and are they all that there were?
 * Those who are now, are for the next one. */
static bool are_all_settled(struct tasks *settled, const struct task_bounds *b)
{
	struct tasks now = { .proc_fd = settled->proc_fd }, next = now;
	char text[TEXT_BYTES];
	bool all = read_file(now.proc_fd, "1/status", text) && list_tasks(&now);
	struct str mask = proc_find_line(str_from(text), CPUS_KEY);

	for (size_t i = 0; i < now.n; i++) {
		bool before = has(settled, now.list[i]);

		all = all && before;
		if ((before || is_settled(now.proc_fd, now.list[i], b, mask)) &&
		    !add_number(&next, now.list[i]))
			all = false;
	}
	all = all && !now.lacks && now.n == settled->n_seen;
	next.n_seen = now.lacks ? 0 : now.n;
	free(now.list);
	free(settled->list);
	*settled = next;
	return all;
}

/* Did it become so? */
static bool bind_in(int rounds, pid_t init, int proc_fd, const struct task_bounds *b)
{
	struct tasks settled = { .proc_fd = proc_fd };
	bool done = false;

	for (int i = 0; i < rounds && !done; i++) {
		if (i)
			usleep(ROUND_US);
		done = bind_all(init, b) && are_all_settled(&settled, b);
	}
	free(settled.list);
	return done;
}

/* ---- holding all --------------------------------------------------------------- */

/* Who is stopped already is to stay so: the first of them. */
struct stopped {
	struct {
		pid_t pid;
		int pidfd;
	} list[64];
	size_t n;
};

static bool find_stopped(pid_t init, struct stopped *ret)
{
	struct people all;

	ret->n = 0;
	if (!see_all(init, &all))
		return false;
	for (size_t i = 0; i < all.n && ret->n < ARRAY_SIZE(ret->list); i++) {
		const struct person *p = &all.list[i];
		int fd = p->is_inside && p->state == 'T' ? pidfd_of(p->pid) : -1;

		if (fd < 0)
			continue;
		ret->list[ret->n].pid = p->pid;
		ret->list[ret->n++].pidfd = fd;
	}
	free(all.list);
	return true;
}

static bool is_stopped(const char *status)
{
	struct str state = proc_find_line(str_from(status), "State:");

	return state.n && state.s[0] == 'T';
}

static void stop_again(struct stopped *s)
{
	char path[32], text[TEXT_BYTES];
	int rounds = GOING_ROUNDS;

	for (size_t i = 0; i < s->n; i++) {
		snprintf(path, sizeof(path), "/proc/%d/status", s->list[i].pid);
		/* Until init has let it go on, which is for all the same time. */
		for (; rounds > 0 && read_file(AT_FDCWD, path, text) &&
		     is_stopped(text); rounds--)
			usleep(ROUND_US);
		pidfd_signal(s->list[i].pidfd, SIGSTOP);
		close(s->list[i].pidfd);
	}
}

static bool bind_held(const struct native_child *init, int proc_fd, const struct task_bounds *b)
{
	struct stopped before;
	bool done;

	if (!find_stopped(init->pid, &before))
		return false;
	native_send(init, NATIVE_SIGNAL_ALL, SIGSTOP);
	done = bind_in(HELD_ROUNDS, init->pid, proc_fd, b);
	native_send(init, NATIVE_SIGNAL_ALL, SIGCONT);
	stop_again(&before);
	return done;
}

int tasks_bind_init(const struct native_child *init, int64_t processes, struct cordon_err *err)
{
	struct rlimit now;

	if (prlimit(init->pid, RLIMIT_NPROC, NULL, &now) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot read the limit of processes");
	now.rlim_cur = MIN((rlim_t)processes, now.rlim_max);
	if (prlimit(init->pid, RLIMIT_NPROC, &now, NULL) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot limit the processes");
	return 0;
}

int tasks_bind(const struct native_child *init, int proc_fd, const struct task_bounds *b,
	       struct cordon_err *err)
{
	bool done;

	if (b->cpus && sched_setaffinity(init->pid, sizeof(*b->cpus), b->cpus) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot limit the CPUs");
	done = bind_in(ROUNDS, init->pid, proc_fd, b) || b->is_more;
	for (int i = 0; i < HOLDS && !done; i++)
		done = bind_held(init, proc_fd, b);
	return done ? 0 : err_set(err, CORDON_E_HOST, "%s: some processes could not be bound",
				  b->cpus ? "limits.cpus" : "limits.processes");
}
