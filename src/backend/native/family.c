/* The processes of one command; see family.h. */
#include "backend/native/family.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/macros.h"
#include "base/syscalls.h"

#define ROUNDS	64	/* looks for what was forked meanwhile */

/* One that is there, as /proc tells it. */
struct person {
	pid_t pid, parent, session;
	unsigned long long begun;
	bool is_dead;
};

/* Those that belong to somebody; a pid alone may be another's by now. */
struct member {
	pid_t pid, leader;
	unsigned long long begun;
	bool is_held;		/* stopped, to be killed */
};

static struct member members[MAX_FAMILY];
static size_t n_members;
static int proc = -1;

int family_init(void)
{
	proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return proc < 0 ? -1 : 0;
}

/* ---- looking ------------------------------------------------------------- */

/* 1: it is there; 0: it is not; -1: nobody can tell. */
static int read_person(const char *pid, struct person *ret)
{
	char path[32], text[512], *at;
	long threads;
	char state;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%.10s/stat", pid);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ESRCH ? 0 : -1;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	/* Its name, which may be anything, stands in brackets. */
	at = strrchr(text, ')');
	*ret = (struct person){ .pid = (pid_t)strtol(pid, NULL, 10) };
	if (!at || sscanf(at, ") %c %d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
			  "%*d %ld %*d %llu", &state, &ret->parent, &ret->session, &threads,
			  &ret->begun) != 5)
		return -1;
	/* The first thread may end before the others. */
	ret->is_dead = (state == 'Z' || state == 'X') && threads <= 1;
	return 1;
}

static struct member *find_member(pid_t pid)
{
	for (size_t i = 0; i < n_members; i++)
		if (members[i].pid == pid)
			return &members[i];
	return NULL;
}

static bool belongs(const struct person *p, pid_t leader)
{
	const struct member *parent = find_member(p->parent);

	return p->session == leader || (parent && parent->leader == leader);
}

struct look {
	pid_t leader;
	bool hold;		/* stop each that is found */
	unsigned n_new, n_all;	/* found by this look, by all of them */
};

/* -1: there is no room for more. */
static int see(struct look *l, const struct person *p)
{
	struct member *m = find_member(p->pid);

	/* Another one has its number. */
	if (m && m->begun != p->begun)
		*m = (struct member){ .pid = 0 };
	if (m && !m->pid)
		m = NULL;
	if (p->is_dead || p->pid <= 1)
		return 0;
	if (!m && belongs(p, l->leader)) {
		if (n_members == ARRAY_SIZE(members))
			return -1;
		m = &members[n_members++];
		*m = (struct member){ .pid = p->pid, .leader = l->leader, .begun = p->begun };
		l->n_new++;
		l->n_all++;
	}
	if (!m || m->leader != l->leader)
		return 0;
	if (l->hold && !m->is_held) {
		m->is_held = true;
		kill(p->pid, SIGSTOP);
	}
	return 0;
}

struct entry {
	uint64_t ino;
	int64_t off;
	unsigned short size;
	unsigned char type;
	char name[];
};

/* All that there are, once; -1: not all could be seen. */
static int look(struct look *l)
{
	char room[4096] __attribute__((aligned(8)));
	struct person p;
	long n;

	l->n_new = 0;
	if (lseek(proc, 0, SEEK_SET) < 0)
		return -1;
	while ((n = sys_getdents64(proc, room, sizeof(room))) > 0)
		for (char *at = room; at < room + n; at += ((struct entry *)(void *)at)->size) {
			const char *name = ((struct entry *)(void *)at)->name;
			int there;

			if (name[0] < '0' || name[0] > '9')
				continue;
			there = read_person(name, &p);
			if (there < 0 || (there && see(l, &p) < 0))
				return -1;
		}
	return n < 0 ? -1 : 0;
}

/* Until nothing new is found: a child has a higher number than its parent only
 * until the numbers begin anew.  -1: that does not come to an end. */
static int look_through(struct look *l)
{
	for (int i = 0; i < ROUNDS; i++) {
		if (look(l) < 0)
			return -1;
		if (!l->n_new)
			return 0;
	}
	return -1;
}

/* ---- acting -------------------------------------------------------------- */

void family_forget(pid_t leader)
{
	size_t kept = 0;

	for (size_t i = 0; i < n_members; i++)
		if (members[i].pid && members[i].leader != leader)
			members[kept++] = members[i];
	n_members = kept;
}

static void send(pid_t leader, int signal)
{
	for (size_t i = 0; i < n_members; i++)
		if (members[i].pid && members[i].leader == leader)
			kill(members[i].pid, signal);
}

void family_signal(pid_t leader, int signal)
{
	struct look l = { .leader = leader };

	/* Whom this does not find is not told, and killed later. */
	if (look_through(&l) < 0)
		kill(-leader, signal);
	send(leader, signal);
	kill(-leader, SIGCONT);
	send(leader, SIGCONT);
}

/* First all are stopped, so that none can have children while others are killed,
 * which would be nobody's.  Whoever lets them go on is one of another command: then
 * there are new ones, and it begins anew. */
bool family_kill(pid_t leader)
{
	struct look l = { .leader = leader, .hold = true };
	int rc = 0;

	for (int i = 0; i < ROUNDS && rc == 0; i++) {
		l.n_all = 0;
		rc = look_through(&l);
		send(leader, SIGKILL);
		if (!l.n_all)
			break;
	}
	family_forget(leader);
	return rc == 0 && !l.n_all;
}
