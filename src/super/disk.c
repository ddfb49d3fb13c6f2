/* The counter of what a run adds to its writable roots; see disk.h.
 *
 * Who runs
 *
 *   counter  in the tree's user namespace with CAP_DAC_READ_SEARCH and
 *            CAP_SYS_PTRACE, in the host's mount and pid namespaces; holds the
 *            roots, the tree's /proc and one socket.  It never writes.
 *
 * super -> counter: the tree's /proc, or "count now".  counter -> super: a
 * struct disk_report after the first count, when there is too much, and when
 * it was asked.
 */
#include "super/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "super/aside.h"
#include "super/disk_count.h"
#include "super/guard_priv.h"
#include "super/run_priv.h"

#define LOOK_MS		20		/* how often free space is looked at */
#define COUNT_US	1000000		/* how often all is counted, whatever it says … */
#define COUNT_DUTY	20		/* … but for at most 5 % of the time */

enum disk_word { DISK_JOIN, DISK_SETTLE };

struct disk_report {
	bool over;
	struct cordon_err err;
};

struct disk {
	pid_t pid;
	int sock;
	bool over;
	struct cordon_err why;		/* why nobody knows whether it is */
};

struct counting {
	struct disk_counter c;
	int sock;
	int64_t limit, base;		/* base + limit is the most that may be there */
	int64_t used, free;		/* at the last count */
	int64_t end_us, cost_us;	/* of the last count */
};

/* --- the counter ---------------------------------------------------------------- */

static int64_t most_of(const struct counting *k)
{
	return k->base > INT64_MAX - k->limit ? INT64_MAX : k->base + k->limit;
}

/* What can not be counted counts as too much. */
static bool count(struct counting *k, struct disk_report *ret)
{
	int64_t begin = run_now_us(), most = most_of(k);

	*ret = (struct disk_report){ 0 };
	k->free = disk_free(&k->c);
	ret->over = disk_count(&k->c, most, &k->used, &ret->err) < 0 || k->used > most;
	k->end_us = run_now_us();
	k->cost_us = k->end_us - begin;
	return ret->over;
}

/* Nothing but a loss of free space can be our growth; but somebody else may have
 * freed as much, so now and then all is counted all the same. */
static bool is_due(const struct counting *k)
{
	int64_t since = run_now_us() - k->end_us;
	int64_t lost = k->free - disk_free(&k->c), headroom = most_of(k) - k->used;

	if (lost >= headroom / 2 && lost > 0)
		return since >= k->cost_us;
	return since >= MAX(COUNT_US, k->cost_us * COUNT_DUTY);
}

/* False: the supervisor is gone. */
static bool obey(struct counting *k)
{
	struct disk_report report;
	enum disk_word word;
	int fds[N_GUARD_SLOTS];
	size_t n_fds = 0;

	if (guard_recv(k->sock, &word, sizeof(word), fds, &n_fds) != (int)sizeof(word))
		return false;
	if (word == DISK_JOIN && n_fds == 1 && k->c.proc < 0)
		k->c.proc = fds[0];
	if (word != DISK_SETTLE)
		return true;
	fd_close(&k->c.proc);
	count(k, &report);
	return guard_send(k->sock, &report, sizeof(report), NULL, 0) >= 0;
}

static void count_on(struct counting *k)
{
	struct pollfd p = { .fd = k->sock, .events = POLLIN };
	struct disk_report report;
	bool told = false;

	for (;;) {
		int n = poll(&p, 1, told ? -1 : LOOK_MS);

		if (n > 0 && !obey(k))
			return;
		if (n == 0 && is_due(k) && count(k, &report)) {
			told = true;
			if (guard_send(k->sock, &report, sizeof(report), NULL, 0) < 0)
				return;
		}
	}
}

static int become_counter(struct counting *k, int userns, pid_t parent, struct cordon_err *err)
{
	int keep[MAX_DISK_ROOTS + 2];
	size_t n = k->c.n_roots;
	struct rlimit files;

	memcpy(keep, k->c.roots, n * sizeof(*keep));
	keep[n++] = k->sock;
	keep[n++] = userns;
	/* A descriptor for each folder on the way down. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	if (setsid() < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot detach the counter");
	if (aside_detach("cordon-disk", keep, n, err) < 0 ||
	    aside_enter_userns(userns, 1ull << CAP_DAC_READ_SEARCH | 1ull << CAP_SYS_PTRACE,
			       err) < 0)
		return -1;
	return aside_bind(parent, err);
}

static _Noreturn void counter_main(struct counting *k, int userns, pid_t parent)
{
	struct disk_report first = { 0 };
	int64_t limit = k->limit;

	if (become_counter(k, userns, parent, &first.err) == 0) {
		k->limit = INT64_MAX;
		count(k, &first);
		k->limit = limit;
		k->base = k->used;
	}
	if (guard_send(k->sock, &first, sizeof(first), NULL, 0) >= 0 &&
	    first.err.code == CORDON_E_NONE)
		count_on(k);
	_exit(0);
}

/* --- the supervisor's side -------------------------------------------------------- */

static bool is_inside_another(const struct plan *p, size_t which)
{
	for (size_t i = 0; i < p->n_mounts; i++)
		if (i != which && p->mounts[i].root && p->mounts[i].kind == MOUNT_RW &&
		    path_within(p->mounts[which].source, p->mounts[i].source) &&
		    (i < which || !path_within(p->mounts[i].source, p->mounts[which].source)))
			return true;
	return false;
}

static int open_roots(const struct plan *p, struct disk_counter *c, struct cordon_err *err)
{
	struct stat st;

	for (size_t i = 0; i < p->n_mounts; i++) {
		const struct plan_mount *m = &p->mounts[i];
		int fd;

		if (!m->root || m->kind != MOUNT_RW || is_inside_another(p, i))
			continue;
		if (c->n_roots == MAX_DISK_ROOTS)
			return err_set(err, CORDON_E_HOST,
				       "limits.disk: more than %d writable roots to count",
				       MAX_DISK_ROOTS);
		/* A file is only looked at; a folder is read by whoever counts. */
		fd = open(m->source, O_PATH | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &st) < 0) {
			fd_close(&fd);
			return err_sys(err, CORDON_E_SETUP, "cannot reach '%s'", m->source);
		}
		c->devices[c->n_roots] = st.st_dev;
		c->roots[c->n_roots++] = fd;
	}
	return 0;
}

/* Wait for a report: the supervisor has nothing else to do then. */
static void read_report(struct disk *d, struct disk_report *ret)
{
	int n;

	do
		n = (int)recv(d->sock, ret, sizeof(*ret), 0);
	while (n < 0 && errno == EINTR);
	if (n != (int)sizeof(*ret)) {
		*ret = (struct disk_report){ .over = true };
		err_set(&ret->err, CORDON_E_SETUP, "the counter of the disk ended");
	}
}

static int start_counter(struct disk *d, struct counting *k, int userns, struct cordon_err *err)
{
	struct disk_report first;
	pid_t parent = getpid();
	int socks[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot make a socket");
	d->sock = socks[0];
	k->sock = socks[1];
	d->pid = fork();
	if (d->pid == 0)
		counter_main(k, userns, parent);
	close(socks[1]);
	if (d->pid < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot start the counter of the disk");
	read_report(d, &first);
	if (first.err.code == CORDON_E_NONE)
		return 0;
	*err = first.err;
	return -1;
}

int disk_start(const struct plan *plan, int userns, struct disk **ret, struct cordon_err *err)
{
	struct counting k = { .c.proc = -1, .sock = -1, .limit = plan->limits.roots };
	struct disk *d = calloc(1, sizeof(*d));
	int rc;

	if (!d)
		return err_nomem(err);
	d->sock = -1;
	rc = open_roots(plan, &k.c, err);
	if (rc == 0)
		rc = start_counter(d, &k, userns, err);
	for (size_t i = 0; i < k.c.n_roots; i++)
		close(k.c.roots[i]);
	if (rc < 0) {
		disk_stop(d);
		return -1;
	}
	*ret = d;
	return 0;
}

void disk_join(struct disk *d, int proc_fd)
{
	enum disk_word word = DISK_JOIN;

	/* A counter that does not get it has ended, which is found out. */
	if (proc_fd >= 0)
		(void)!guard_send(d->sock, &word, sizeof(word), &proc_fd, 1);
}

/* What can not be counted is over as well. */
static bool take_report(struct disk *d)
{
	struct disk_report report;

	read_report(d, &report);
	d->over = report.over;
	d->why = report.err;
	return d->over;
}

int disk_event_fd(const struct disk *d)
{
	return d->over ? -1 : d->sock;
}

bool disk_is_over(struct disk *d)
{
	struct pollfd p = { .fd = d->sock, .events = POLLIN };

	return d->over || (poll(&p, 1, 0) > 0 && take_report(d));
}

const char *disk_trouble(const struct disk *d)
{
	return d->why.code == CORDON_E_NONE ? NULL : d->why.msg;
}

bool disk_settle(struct disk *d)
{
	enum disk_word word = DISK_SETTLE;

	return disk_is_over(d) || guard_send(d->sock, &word, sizeof(word), NULL, 0) < 0 ||
	       take_report(d);
}

void disk_stop(struct disk *d)
{
	if (!d)
		return;
	fd_close(&d->sock);
	if (d->pid > 0) {
		kill(d->pid, SIGKILL);
		while (waitpid(d->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	free(d);
}
