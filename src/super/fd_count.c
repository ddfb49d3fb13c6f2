/* Counting what descriptors hold; see fd_count.h.
 *
 * Who may look at a pipe may not ask how much is in it without becoming one of its readers,
 * so each is assumed to be full.  A user has 64 MB of full ones (fs.pipe-user-pages-soft);
 * those that are made later have two pages.
 * A file of /proc keeps the longest part of its text that was read at once.  With fdinfo of
 * an epoll or inotify descriptor that is all of it: 4 MB for 50,000 watches, again for each
 * time that it is open.
 * GAP: not what is on its way in a socket, nor of a program that may not be looked into.
 *
 * Runs in the supervisor, so it only looks at names: nothing here waits for the tree.
 */
#include "super/fd_count.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "super/proc_read.h"

#define MAX_FDS		16384		/* of one look: 50 ms */
#define MAX_PIPES	2048		/* that are told apart; a power of two */
#define MAX_TRIES	16
#define FULL_PIPES	1024
#define PIPE_BYTES	(64 << 10)
#define LATER_BYTES	(8 << 10)
#define INFO_BYTES	(16 << 20)	/* of fdinfo, at a guess: nobody keeps that open */
#define MAPS_BYTES	(256 << 10)
#define FEW_TEXTS	4		/* are being read */

struct counted {
	dev_t proc_dev;
	int64_t n_fds;
	int64_t n_pipes, n_infos, n_maps;
	ino_t pipes[MAX_PIPES];
};

/* Both ends of a pipe, and those that were inherited, are one. */
static bool is_new(struct counted *c, ino_t inode)
{
	for (unsigned i = 0; i < MAX_TRIES; i++) {
		ino_t *at = &c->pipes[(inode + i) % MAX_PIPES];

		if (*at == inode)
			return false;
		if (!*at) {
			*at = inode;
			return true;
		}
	}
	return true;
}

static void add_text(struct counted *c, int dir, const char *name)
{
	char path[256];
	ssize_t n = readlinkat(dir, name, path, sizeof(path) - 1);

	path[MAX(n, 0)] = '\0';
	c->n_infos += strstr(path, "/fdinfo/") != NULL;
	c->n_maps += n >= 4 && strcmp(path + n - 4, "maps") == 0;
}

static void add_thread(struct counted *c, int tasks, const char *tid)
{
	char path[32];
	struct proc_list list;
	cleanup_fd int dir = -1;
	const char *name;
	struct stat st;

	snprintf(path, sizeof(path), "%.16s/fd", tid);
	dir = openat(tasks, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	list.fd = dir;
	list.pos = list.n = 0;
	while (dir >= 0 && (name = proc_next(&list))) {
		c->n_fds++;
		if (fstatat(dir, name, &st, 0) < 0)
			continue;
		if (S_ISFIFO(st.st_mode))
			c->n_pipes += is_new(c, st.st_ino);
		else if (S_ISREG(st.st_mode) && st.st_dev == c->proc_dev)
			add_text(c, dir, name);
	}
}

/* A thread may have descriptors of its own, and the first one may have ended. */
static void add_process(struct counted *c, struct fd_look *l, const char *pid)
{
	char path[32];
	struct proc_list list;
	cleanup_fd int tasks = -1;
	const char *name;

	snprintf(path, sizeof(path), "%.16s/task", pid);
	tasks = openat(l->proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	list.fd = tasks;
	list.pos = list.n = 0;
	while (tasks >= 0 && c->n_fds < MAX_FDS && (name = proc_next(&list))) {
		pid_t tid = (pid_t)strtol(name, NULL, 10);

		if (tid < l->tid)
			continue;
		add_thread(c, tasks, name);
		l->tid = tid + 1;
	}
}

static int64_t sum_up(const struct counted *c)
{
	int64_t full = MIN(c->n_pipes, FULL_PIPES), texts = 0;

	if (c->n_infos + c->n_maps > FEW_TEXTS)
		texts = c->n_infos * INFO_BYTES + c->n_maps * MAPS_BYTES;
	return full * PIPE_BYTES + (c->n_pipes - full) * LATER_BYTES + texts;
}

int64_t fd_measure(struct fd_look *l)
{
	cleanup_fd int all = openat(l->proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct proc_list list;
	struct counted c = { 0 };
	const char *name;
	struct stat st;

	if (all < 0 || fstat(all, &st) < 0)
		return 0;
	c.proc_dev = st.st_dev;
	list.fd = all;
	list.pos = list.n = 0;
	while (c.n_fds < MAX_FDS && (name = proc_next(&list))) {
		pid_t pid = (pid_t)strtol(name, NULL, 10);

		if (pid < l->pid)
			continue;
		if (pid > l->pid)
			l->tid = 0;
		l->pid = pid;
		add_process(&c, l, name);
	}
	if (c.n_fds < MAX_FDS)
		l->pid = l->tid = 0;	/* all were seen */
	return sum_up(&c);
}
