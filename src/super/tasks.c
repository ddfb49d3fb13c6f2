/* Every task of a tree; see tasks.h.
 *
 * By the host's /proc each is found and changed: only there have they numbers that the
 * calls take.  Who is found is whoever has an ancestor in the tree, which misses one whose
 * parent ends meanwhile; so the tree's own /proc is read afterwards, and if it has one with
 * the old bounds, or one that is gone before it can be looked at and may have handed
 * itself on (its child goes on), all is done once more.  If the first rounds were in vain,
 * the tree is held, which no fork survives, until it is bound.
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
#include "base/str.h"

#define ROUNDS		4	/* looks for what was forked meanwhile … */
#define HELD_ROUNDS	3000	/* … and while all is held, until init has done so */
#define HELD_WAIT_US	1000
#define TEXT_BYTES	4096	/* more than a status or a list of limits has */

struct person {
	pid_t pid, parent;
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

/* What stands behind `key` in its line; nothing where there is none.  Every line but the
 * first of a status is the kernel's own, and that one has no line ends in it. */
static struct str find_line(const char *text, const char *key)
{
	size_t n = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, n) == 0)
			return (struct str){ line + n, strcspn(line + n, "\n") };
	}
	return (struct str){ "", 0 };
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
	if (sscanf(at, ") %*c %d", &all->list[all->n].parent) == 1)
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

static int bind_all(pid_t init, const struct task_bounds *b)
{
	struct people all = { 0 };
	cpu_set_t cpus;
	bool good = each_number(AT_FDCWD, "/proc", see_person, &all) && all.n > 0;

	if (good)
		mark(&all, init);
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
	return good ? 0 : -1;
}

/* ---- seeing that it is so --------------------------------------------------- */

struct check {
	int proc_fd;
	const char *pid;
	int64_t processes;
	bool cpus;
	struct str mask;		/* init's CPUs */
};

#define CPUS_KEY	"Cpus_allowed:"

static bool is_dead(const char *status)
{
	struct str state = find_line(status, "State:\t");

	return state.n > 0 && (state.s[0] == 'Z' || state.s[0] == 'X');
}

static bool has_cpus(const char *task, void *arg)
{
	const struct check *c = arg;
	char path[64], text[TEXT_BYTES];

	snprintf(path, sizeof(path), "%.10s/task/%.10s/status", c->pid, task);
	return read_file(c->proc_fd, path, text) &&
	       (str_eq(find_line(text, CPUS_KEY), c->mask) || is_dead(text));
}

static bool has_processes(const struct check *c)
{
	char path[32], text[TEXT_BYTES];
	unsigned long long most;

	snprintf(path, sizeof(path), "%.10s/limits", c->pid);
	if (read_file(c->proc_fd, path, text)) {
		/* "unlimited" is no number. */
		most = strtoull(find_line(text, "Max processes").s, NULL, 10);
		return most > 0 && most <= (uint64_t)c->processes;
	}
	/* A dead one has no such list. */
	snprintf(path, sizeof(path), "%.10s/status", c->pid);
	return read_file(c->proc_fd, path, text) && is_dead(text);
}

static bool is_bound(const char *pid, void *arg)
{
	struct check *c = arg;
	char path[32];

	c->pid = pid;
	snprintf(path, sizeof(path), "%.10s/task", pid);
	if (c->processes != INT64_MAX && strcmp(pid, "1") != 0 && !has_processes(c))
		return false;
	return !c->cpus || each_number(c->proc_fd, path, has_cpus, c);
}

static bool all_are_bound(int proc_fd, const struct task_bounds *b)
{
	struct check c = { .proc_fd = proc_fd, .processes = b->processes, .cpus = b->cpus };
	char text[TEXT_BYTES];

	if (!read_file(proc_fd, "1/status", text))
		return false;
	c.mask = find_line(text, CPUS_KEY);
	return c.mask.n > 0 && each_number(proc_fd, ".", is_bound, &c);
}

/* Did it become so? */
static bool bind_in(int rounds, unsigned wait_us, pid_t init, int proc_fd,
		    const struct task_bounds *b)
{
	for (int i = 0; i < rounds; i++) {
		if (bind_all(init, b) == 0 && all_are_bound(proc_fd, b))
			return true;
		usleep(wait_us);
	}
	return false;
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
	if (bind_in(ROUNDS, 0, init->pid, proc_fd, b))
		return 0;
	native_send(init, NATIVE_SIGNAL_ALL, SIGSTOP);
	done = bind_in(HELD_ROUNDS, HELD_WAIT_US, init->pid, proc_fd, b);
	native_send(init, NATIVE_SIGNAL_ALL, SIGCONT);
	return done ? 0 : err_set(err, CORDON_E_HOST, "%s: some processes could not be bound",
				  b->cpus ? "limits.cpus" : "limits.processes");
}
