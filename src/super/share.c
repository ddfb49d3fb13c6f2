/* Memory in proportion; see share.h.
 *
 * Who runs
 *
 *   looker  with the supervisor's own rights; holds the tree's /proc and a pipe.
 *
 * One read of smaps_rollup goes over all mappings of a process, and waits at each of
 * them for whoever changes the mappings: a process with 60,000 of them made it last for
 * 26 s.  Only SIGKILL ends it.  Time in which the looker merely waits for a CPU is not
 * held against the tree.
 */
#include "super/share.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "super/aside.h"
#include "super/limiter_priv.h"
#include "super/proc_read.h"

#define MAX_KIN		4096		/* processes of the tree that we know our numbers of */
#define MAX_LISTS	16		/* of them, in one look: each goes through all of /proc */
#define SAME_PAGES	256		/* a size that was read twice, a moment apart */
/* What is in nobody's way takes 10 to 30 µs a MB.  But on a busy machine, whoever is to
 * free what the looker waits for may wait for a CPU itself. */
#define MOST_HELD_US	2000000
#define MOST_HELD_TASK	50000
#define MOST_CPU_US	1000000
#define MOST_CPU_MB	300

#define MAX_OBJECTS	512		/* that are told apart */

/* --- the looker -------------------------------------------------------------- */

/* Shared memory without a name, with how much of it is mapped somewhere. */
struct objects {
	size_t n;
	struct proc_mapping items[MAX_OBJECTS];
	int64_t bytes;
};

struct looking {
	const struct share_job *job;
	int proc_fd;
	bool without_files;		/* leave files of the private file systems out */
	int64_t anon, shmem, faults;
	int n_lists;
};

/* What of this shared memory is no file of the private file systems.  The process may
 * end while we read: what it maps then seems to be less than it was, so believe
 * no more than what it has afterwards. */
static int64_t shmem_beside_files(const struct looking *k, const char *pid, int64_t shmem)
{
	struct proc_status after;
	int64_t mapped;

	if (!proc_read_mapped(k->proc_fd, pid, k->job->devices, k->job->n_devices, &mapped) ||
	    !proc_read_status(k->proc_fd, pid, &after))
		return 0;
	shmem = MIN(shmem, after.shmem);
	return MAX(shmem - mapped, 0);
}

/* A process of the tree, by its number there and by our own, which kcmp() takes. */
struct kin {
	pid_t inside, pid, parent;
};

static struct {
	size_t n;
	struct kin list[MAX_KIN];
} kin;

static ino_t read_pidns(int proc_fd, const char *pid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "%.16s/ns/pid", pid);
	return fstatat(proc_fd, path, &st, 0) < 0 ? 0 : st.st_ino;
}

/* Everybody who has numbers from the same place as `pid` of the tree. */
static void list_kin(int tree_fd, const char *pid)
{
	cleanup_fd int own_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct proc_list list = { .fd = own_fd };
	ino_t pidns = read_pidns(tree_fd, pid);
	struct proc_numbers numbers;
	const char *name;

	kin.n = 0;
	while (pidns && kin.n < MAX_KIN && (name = proc_next(&list)))
		if (read_pidns(own_fd, name) == pidns && proc_read_numbers(own_fd, name, &numbers))
			kin.list[kin.n++] = (struct kin){ numbers.inside,
							  (pid_t)strtol(name, NULL, 10),
							  numbers.parent };
}

static const struct kin *find_kin(pid_t inside)
{
	for (size_t i = 0; i < kin.n; i++)
		if (kin.list[i].inside == inside)
			return &kin.list[i];
	return NULL;
}

/* Who came after the list was made is not in it. */
static bool has_memory_of_parent(struct looking *k, const char *pid)
{
	pid_t inside = (pid_t)strtol(pid, NULL, 10);
	const struct kin *who = find_kin(inside);

	if (!who && k->n_lists < MAX_LISTS) {
		k->n_lists++;
		list_kin(k->proc_fd, pid);
		who = find_kin(inside);
	}
	return who && syscall(SYS_kcmp, who->pid, who->parent, KCMP_VM, 0, 0) == 0;
}

/* Until it executes something, a child of vfork() has the very memory of its parent, who
 * waits meanwhile; in proportion it would count twice.  That it looks so is no proof: a
 * parent may wait for something else, and a copy of all its memory is as large.
 * GAP: where kcmp() is refused, as in some containers, it does count twice. */
static bool is_of_vfork(struct looking *k, const char *pid, const struct proc_stat *child)
{
	struct proc_stat parent;
	char name[16];

	if (child->parent <= 1)
		return false;
	snprintf(name, sizeof(name), "%d", child->parent);
	return proc_read_stat(k->proc_fd, name, &parent) && parent.state == 'D' &&
	       parent.size == child->size &&
	       llabs(parent.resident - child->resident) <= SAME_PAGES &&
	       has_memory_of_parent(k, pid);
}

static void add_process(struct looking *k, const char *pid)
{
	struct proc_status status = { 0 };
	char task[PROC_TASK_NAME];
	struct proc_share share;
	struct proc_stat stat;

	if (!proc_read_stat(k->proc_fd, pid, &stat))
		return;
	k->faults += stat.faults;
	if (is_of_vfork(k, pid, &stat))
		return;
	if (!proc_read_share(k->proc_fd, pid, &share)) {
		if (!proc_find_memory(k->proc_fd, pid, task, &status) ||
		    !proc_read_share(k->proc_fd, task, &share))
			return;
		pid = task;
	}
	if (!share.refused) {
		if (k->without_files && share.shmem > 0)
			share.shmem = shmem_beside_files(k, pid, share.shmem);
		k->anon += share.anon;
		k->shmem += share.shmem;
	} else if (proc_read_status(k->proc_fd, pid, &status)) {
		/* A process that may not be looked into gets nothing off. */
		k->anon += status.anon + status.swap + status.shmem;
	}
}

static void add_object(void *arg, const struct proc_mapping *m)
{
	struct objects *o = arg;
	size_t i = 0;

	while (i < o->n && o->items[i].inode != m->inode)
		i++;
	if (i == o->n && i < MAX_OBJECTS)
		o->items[o->n++] = (struct proc_mapping){ .inode = m->inode };
	if (i == MAX_OBJECTS) {
		o->bytes += m->end;
	} else if (m->end > o->items[i].end) {
		o->bytes += m->end - o->items[i].end;
		o->items[i].end = m->end;
	}
}

/* How large the shared memory is that the tree maps.  Its pages stay when who touched
 * them has unmapped them or ended, in the size of nobody. */
static int64_t measure_objects(int proc_fd)
{
	static struct objects objects;
	struct proc_list list = { .fd = proc_fd };
	int any = memfd_create("cordon", MFD_CLOEXEC);
	const char *pid;
	struct stat st;

	/* All of it is on one device, whatever its kind. */
	if (any < 0 || fstat(any, &st) < 0 || lseek(proc_fd, 0, SEEK_SET) < 0)
		return INT64_MAX;
	while ((pid = proc_next(&list)))
		proc_list_shared(proc_fd, pid, st.st_dev, add_object, &objects);
	return objects.bytes;
}

static struct looking look(const struct share_job *job, int proc_fd, bool without_files)
{
	struct looking k = { .job = job, .proc_fd = proc_fd, .without_files = without_files };
	struct proc_list list = { .fd = proc_fd };
	const char *pid;

	if (lseek(proc_fd, 0, SEEK_SET) < 0)
		_exit(1);
	/* What is found is never taken off again: whoever holds us up behind that comes late. */
	while ((pid = proc_next(&list)) && k.anon + job->beside <= job->limit)
		add_process(&k, pid);
	return k;
}

static int64_t cpu_us(void)
{
	struct timespec t;

	return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) < 0 ? 0 :
	       t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

/* Files of the private file systems that are mapped are in both sums; finding them takes
 * the long list of mappings, so only when it decides. */
static struct share_answer answer(const struct share_job *job, int proc_fd)
{
	struct looking k = look(job, proc_fd, false);
	int64_t faults = k.faults, unmapped = 0;

	if (k.anon + k.shmem + job->beside > job->limit && job->n_devices && k.shmem > 0)
		k = look(job, proc_fd, true);
	if (job->shmem > k.shmem)
		unmapped = MIN(measure_objects(proc_fd), job->shmem) - k.shmem;
	return (struct share_answer){ .bytes = k.anon + k.shmem + MAX(unmapped, 0),
				      .faults = faults, .cpu_us = cpu_us() };
}

/* Whatever fails here shows as a look without an answer. */
static _Noreturn void looker_main(const struct share_job *job, int out, pid_t parent)
{
	int keep[] = { job->proc_fd, out };
	struct cordon_err ignored;
	struct share_answer a;
	int proc_fd;

	if (aside_detach("cordon-look", keep, ARRAY_SIZE(keep), &ignored) < 0 ||
	    aside_bind(parent, &ignored) < 0)
		_exit(1);
	/* The supervisor goes on reading the folder, from a place of its own. */
	proc_fd = openat(job->proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (proc_fd < 0)
		_exit(1);
	a = answer(job, proc_fd);
	_exit(write(out, &a, sizeof(a)) != (ssize_t)sizeof(a));
}

/* --- the supervisor's side ----------------------------------------------------- */

int share_begin(struct share_look *l, const struct share_job *job, struct cordon_err *err)
{
	pid_t parent = getpid();
	int ends[2];

	*l = SHARE_LOOK;
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_sys(err, CORDON_E_HOST, "cannot make a pipe");
	l->pid = fork();
	if (l->pid == 0)
		looker_main(job, ends[1], parent);
	close(ends[1]);
	if (l->pid < 0) {
		close(ends[0]);
		*l = SHARE_LOOK;
		return err_sys(err, CORDON_E_HOST, "cannot start a process");
	}
	l->fd = ends[0];
	l->own_proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	l->last_us = limiter_now_us();
	l->most_held_us = MOST_HELD_US + job->tasks * MOST_HELD_TASK;
	l->most_cpu_us = MOST_CPU_US + (job->mapped >> 20) * MOST_CPU_MB;
	return 0;
}

/* Where nothing can be known of it, it does not run. */
static bool is_hindered(struct share_look *l)
{
	int64_t now = limiter_now_us(), tick_us = 1000000 / MAX(sysconf(_SC_CLK_TCK), 1);
	struct proc_stat stat = { 0 };
	char name[16];

	snprintf(name, sizeof(name), "%d", l->pid);
	if (!proc_read_stat(l->own_proc_fd, name, &stat) || stat.state != 'R')
		l->held_us += now - l->last_us;
	l->last_us = now;
	return l->held_us > l->most_held_us || stat.ticks * tick_us > l->most_cpu_us;
}

enum share_state share_ask(struct share_look *l, struct share_answer *ret)
{
	enum share_state state;
	ssize_t n = read(l->fd, ret, sizeof(*ret));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		state = is_hindered(l) ? SHARE_HINDERED : SHARE_LOOKING;
	else
		state = n == (ssize_t)sizeof(*ret) ? SHARE_DONE : SHARE_FAILED;
	if (state == SHARE_HINDERED)
		kill(l->pid, SIGKILL);
	else if (state != SHARE_LOOKING)
		share_end(l);
	return state;
}

void share_end(struct share_look *l)
{
	if (l->pid > 0) {
		kill(l->pid, SIGKILL);
		while (waitpid(l->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	fd_close(&l->fd);
	fd_close(&l->own_proc_fd);
	*l = SHARE_LOOK;
}
