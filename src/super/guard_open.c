/* Opening to make or to change a file, as the actor does it for the caller.
 *
 * A name is made with O_EXCL, under the lock; only if it exists, what exists is
 * opened.  Symbolic links are followed one at a time, so that each place on the
 * way is judged.  Nothing here may wait for the tree: a FIFO, which is opened
 * when its other end comes, gets a process of its own.
 */
#include "super/guard_priv.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

#define OPEN_FLAGS	(O_ACCMODE | O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_APPEND | \
			 O_NONBLOCK | O_SYNC | O_DSYNC | O_ASYNC | O_DIRECT | GUARD_LARGE_FILE | \
			 O_DIRECTORY | O_NOFOLLOW | O_NOATIME | O_CLOEXEC | O_PATH | O_TMPFILE)
/* Of an object that exists. */
#define REOPEN_FLAGS	(OPEN_FLAGS & ~(O_CREAT | O_EXCL | O_NOFOLLOW))
#define FIFO_LOOK_US	100000		/* how often to see whether anyone still waits */

/* What to do next; a number of 0 or more is a descriptor. */
enum next {
	NEXT_FOLLOW = -5000,	/* a symbolic link stands there */
	NEXT_FIFO = -5001,
	NEXT_TTY = -5002,
	NEXT_AGAIN = -5003	/* it changed meanwhile */
};

static bool may_make(const struct guard_actor *a)
{
	return a->req.flags & O_CREAT;
}

static bool may_change(const struct guard_actor *a)
{
	return a->req.flags & (O_WRONLY | O_RDWR | O_TRUNC);
}

/* Opened without waiting; make it as the caller wanted. */
static int without_nonblock(const struct guard_actor *a, int fd)
{
	int flags;

	if (fd < 0 || a->req.flags & O_NONBLOCK)
		return fd;
	flags = fcntl(fd, F_GETFL);
	if (flags >= 0)
		fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
	return fd;
}

/* --- what exists ------------------------------------------------------------ */

/* Open anew what `fd` (O_PATH) stands for. */
static int reopen(const struct guard_worker *w, int fd, unsigned flags)
{
	char name[32];

	snprintf(name, sizeof(name), "fd/%d", fd);
	return guard_rc(openat(w->self, name,
			       (int)((flags & REOPEN_FLAGS) | O_CLOEXEC | O_NOCTTY)));
}

static void interrupt(int signal)
{
	(void)signal;
}

/* Wait in open() for the other end, for as long as the caller does. */
static _Noreturn void wait_for_fifo(struct guard_actor *a, int fd)
{
	struct itimerval often = { { 0, FIFO_LOOK_US }, { 0, FIFO_LOOK_US } }, never = { 0 };
	struct sigaction act = { .sa_handler = interrupt };
	int rc = -EINTR;
	sigset_t look;

	/* The parent's folder in /proc is closed to us. */
	a->w->self = openat(a->w->proc, "self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	sigaction(SIGALRM, &act, NULL);
	sigemptyset(&look);
	sigaddset(&look, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &look, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (rc == -EINTR && guard_is_valid(a->w->listener, a->req.id))
		rc = reopen(a->w, fd, a->req.flags);
	setitimer(ITIMER_REAL, &never, NULL);
	if (rc >= 0)
		guard_give(a->w->listener, &a->req, rc);
	else
		guard_answer(a->w->listener, a->req.id, rc);
	_exit(0);
}

static int open_fifo(struct guard_actor *a, int fd)
{
	pid_t parent = getpid(), pid;

	/* The kernel lets FIFOs of a read-only mount be written, and a root's rights
	 * (Landlock) hold for what is only to be read in it, too: whoever reads there would
	 * be told. */
	if (may_change(a) && guard_is_read_only(fd))
		return -EROFS;
	if (a->req.flags & O_NONBLOCK || (a->req.flags & O_ACCMODE) == O_RDWR)
		return reopen(a->w, fd, a->req.flags);
	if ((a->req.flags & O_ACCMODE) == O_WRONLY) {
		int rc = reopen(a->w, fd, a->req.flags | O_NONBLOCK);

		if (rc != -ENXIO)
			return without_nonblock(a, rc);
	}
	while (a->n_fifos && waitpid(-1, NULL, WNOHANG) > 0)
		a->n_fifos--;
	if (a->n_fifos == MAX_GUARD_FIFOS)
		return -EAGAIN;
	pid = fork();
	if (pid == 0) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
			_exit(1);
		wait_for_fifo(a, fd);
	}
	if (pid < 0)
		return guard_rc(pid);
	a->n_fifos++;
	return GUARD_ANSWERED;
}

/* /dev/tty is the terminal of whoever opens it: find the caller's by number. */
static int open_tty(struct guard_actor *a)
{
	int tty = guard_ask(a, GUARD_ASK_TTY, -1, NULL);
	/* The number is packed: minor 19-8, major, minor 7-0. */
	unsigned major = (unsigned)tty >> 8 & 0xfff;
	unsigned minor = ((unsigned)tty >> 12 & 0xfff00) | ((unsigned)tty & 0xff);
	cleanup_fd int fd = -1;
	char path[64];
	struct stat st;

	if (tty < 0)
		return tty;
	snprintf(path, sizeof(path), "/dev/pts/%u", minor);
	fd = openat(AT_FDCWD, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISCHR(st.st_mode) ||
	    st.st_rdev != makedev(major, minor))
		return -ENXIO;
	return without_nonblock(a, reopen(a->w, fd, a->req.flags | O_NONBLOCK));
}

static bool is_dev_tty(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(5, 0);
}

/* Does the path that a descriptor seems to have lead to it here?  The caller's own streams
 * are in mounts of the host's, but their paths are the same. */
static bool is_at(const char *path, int fd)
{
	struct stat there, st;

	return stat(path, &there) == 0 && fstat(fd, &st) == 0 && there.st_dev == st.st_dev &&
	       there.st_ino == st.st_ino;
}

/* Is a file held that is reached by its descriptor, whatever name led there? */
static bool is_held(const struct guard_actor *a, int fd)
{
	char path[PATH_MAX];
	int n = guard_fd_path(a->w, fd, path, sizeof(path));

	return n < 0 || guard_match(a->w->names, str_from(path)).verdict == GUARD_HELD ||
	       (!guard_is_mounted(a->w, fd) && !is_at(path, fd));
}

/* The caller's own descriptor once more, of a file that it cannot open here: a log that its
 * stderr leads to.  It gains nothing by that. */
static int copy_own(struct guard_actor *a, const struct stat *found)
{
	unsigned want = a->req.flags & O_ACCMODE, has;
	cleanup_fd int fd = -1;
	struct stat st;

	if (a->own_fd < 0 || guard_ask(a, GUARD_ASK_COPY, a->own_fd, &fd) < 0 || fstat(fd, &st) < 0)
		return -EACCES;
	has = (unsigned)fcntl(fd, F_GETFL);
	if (st.st_dev != found->st_dev || st.st_ino != found->st_ino || has & O_PATH ||
	    ((has & O_ACCMODE) != O_RDWR && (has & O_ACCMODE) != want))
		return -EACCES;
	return fd_take(&fd);
}

/* Open what a descriptor (O_PATH) stands for, without ever waiting. */
static int open_found(struct guard_actor *a, int fd)
{
	struct stat st;
	int rc;

	if (fstat(fd, &st) < 0)
		return guard_rc(-1);
	if (S_ISREG(st.st_mode) && st.st_nlink && may_change(a) && is_held(a, fd))
		return copy_own(a, &st);
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (S_ISFIFO(st.st_mode))
		return open_fifo(a, fd);
	if (is_dev_tty(&st))
		return open_tty(a);
	rc = reopen(a->w, fd, a->req.flags | O_NONBLOCK);
	if (rc == -EACCES && S_ISREG(st.st_mode))
		return copy_own(a, &st);
	return without_nonblock(a, rc);
}

/* --- under the lock --------------------------------------------------------- */

/* What is to be done with what exists at a place; 0: it is opened. */
static int look_at(struct guard_actor *a, const struct guard_place *p)
{
	bool held = p->is.verdict == GUARD_HELD;
	struct stat st;

	if (fstatat(p->dir, p->last, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return guard_rc(-1);
	if (S_ISLNK(st.st_mode) && a->req.flags & O_NOFOLLOW)
		return -ELOOP;
	/* What a held link leads to is taken for what is held. */
	if (S_ISLNK(st.st_mode))
		return held && (may_make(a) || may_change(a)) ?
			       guard_refuse(a, p->path, p->is.by) :
			       NEXT_FOLLOW;
	if (S_ISFIFO(st.st_mode) || is_dev_tty(&st))
		return S_ISFIFO(st.st_mode) ? NEXT_FIFO : NEXT_TTY;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	/* What was there at the start has a mount over it; a name that is held in any
	 * folder has none. */
	if (!held || !S_ISREG(st.st_mode) || !may_change(a))
		return 0;
	return guard_refuse(a, p->path, p->is.by);
}

/* Open what exists at a place.  O_CREAT stays, for what the kernel checks of
 * files in directories for all (fs.protected_regular); the lock is held, so it
 * can not make anything that was not judged. */
static int open_existing(struct guard_actor *a, const struct guard_place *p)
{
	bool makes = may_make(a) && p->is.verdict < GUARD_PREFIX;
	struct open_how how = {
		.flags = (a->req.flags & OPEN_FLAGS & ~(O_CREAT | O_EXCL)) | O_NONBLOCK |
			 O_NOCTTY | O_CLOEXEC | GUARD_LARGE_FILE | (makes ? O_CREAT : 0),
		.mode = makes ? a->req.mode & 0777 : 0,
		.resolve = RESOLVE_NO_SYMLINKS,
	};
	struct stat st;
	int fd = look_at(a, p);

	if (fd < 0)
		return fd;
	fd = guard_rc(syscall(SYS_openat2, p->dir, p->last, &how, sizeof(how)));
	if (fd == -ELOOP)
		return NEXT_AGAIN;
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode)) {
		fd_close(&fd);
		return NEXT_AGAIN;
	}
	return without_nonblock(a, fd);
}

/* Make the name, or say -EEXIST. */
static int open_new(const struct guard_actor *a, const struct guard_place *p)
{
	struct stat st;

	if (a->req.mode & (S_ISUID | S_ISGID))
		return fstatat(p->dir, p->last, &st, AT_SYMLINK_NOFOLLOW) < 0 ? -EPERM : -EEXIST;
	return guard_rc(openat(p->dir, p->last,
			       (int)(a->req.flags & OPEN_FLAGS) | O_CREAT | O_EXCL | O_CLOEXEC,
			       a->req.mode & 0777));
}

static int open_at(struct guard_actor *a, struct guard_place *p)
{
	int rc = guard_judge(a, p);
	struct stat st;

	if (rc < 0)
		return rc;
	if (!may_make(a))
		return open_existing(a, p);
	/* A file where a guarded name's path leads through can stand for it all:
	 * git takes a file `.git` for the word where its directory is. */
	if (p->is.verdict < GUARD_PREFIX)
		rc = open_new(a, p);
	else if (fstatat(p->dir, p->last, &st, AT_SYMLINK_NOFOLLOW) == 0)
		rc = -EEXIST;
	else
		rc = errno == ENOENT ? guard_refuse(a, p->path, p->is.by) : guard_rc(-1);
	if (rc != -EEXIST || a->req.flags & O_EXCL)
		return rc;
	rc = open_existing(a, p);
	return rc == -ENOENT ? NEXT_AGAIN : rc;
}

/* --- the whole call --------------------------------------------------------- */

/* What is to be done with a descriptor of the caller's that cannot be seen from here. */
static int look_at_closed(struct guard_actor *a, const struct guard_place *p)
{
	char target[PATH_MAX];
	cleanup_fd int fd = -1;
	int rc = guard_follow(a, p, target, &fd);

	if (rc < 0)
		return rc;
	if (a->req.flags & (O_EXCL | O_NOFOLLOW))
		return a->req.flags & O_EXCL ? -EEXIST : -ELOOP;
	return NEXT_FOLLOW;
}

static int open_place(struct guard_actor *a, struct guard_place *p)
{
	int rc;

	guard_lock(a->w, false);
	rc = open_at(a, p);
	guard_unlock(a->w);
	return rc == -EACCES && guard_is_own_fd(a, p) ? look_at_closed(a, p) : rc;
}

/* "/", "." and "..": directories, which can not be opened so. */
static bool is_dots(const struct guard_place *p)
{
	struct str last = { p->last, p->n_last };

	return str_is(last, ".") || str_is(last, "..");
}

/* A path that ends in a slash names a folder, which can not be written. */
static int why_no_folder(struct guard_actor *a, int base, const char *path)
{
	cleanup_fd int fd = -1;
	int rc = guard_find(a, base, path, true, &fd);

	return rc < 0 ? rc : -EISDIR;
}

/* Take one step; NEXT_AGAIN with the way that is left in `path` and `base`. */
static int step(struct guard_actor *a, int *base, char path[PATH_MAX])
{
	cleanup_place struct guard_place p = GUARD_PLACE;
	cleanup_fd int fd = -1;
	int rc = guard_resolve(a, *base, path, &p);

	if (rc < 0)
		return rc;
	if (is_dots(&p))
		return a->req.flags & O_EXCL ? -EEXIST : -EISDIR;
	if (p.last[p.n_last] == '/')
		return may_make(a) ? -EISDIR : why_no_folder(a, *base, path);
	rc = open_place(a, &p);
	if (rc == NEXT_TTY)
		return open_tty(a);
	if (rc == NEXT_FIFO) {
		fd = openat(p.dir, p.last, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		return fd < 0 ? NEXT_AGAIN : open_found(a, fd);
	}
	if (rc != NEXT_FOLLOW)
		return rc;
	rc = guard_follow(a, &p, path, &fd);
	if (rc < 0)
		return rc == -ENOENT ? NEXT_AGAIN : rc;
	if (fd >= 0)
		return open_found(a, fd);
	/* The rest begins in the directory of the link. */
	if (p.dir != *base) {
		fd_close(&a->fds[GUARD_SLOT_OLD]);
		*base = a->fds[GUARD_SLOT_OLD] = fd_take(&p.owned);
	}
	return NEXT_AGAIN;
}

/* A descriptor of ours, GUARD_ANSWERED or -errno. */
static int open_path(struct guard_actor *a)
{
	int base = a->fds[GUARD_SLOT_NEW], rc = NEXT_AGAIN;
	char path[PATH_MAX];

	memcpy(path, a->req.texts + a->req.n_old, a->req.n_new);
	for (int tries = 0; rc == NEXT_AGAIN && tries < 64; tries++)
		rc = step(a, &base, path);
	return rc <= NEXT_FOLLOW ? -ELOOP : rc;
}

int guard_open_file(struct guard_actor *a)
{
	int rc;

	/* Neither of these makes or changes what has a name, and none is in use. */
	if (a->req.flags & (O_PATH | (O_TMPFILE & ~O_DIRECTORY)) ||
	    (may_make(a) && a->req.flags & O_DIRECTORY))
		return -EINVAL;
	if (!may_make(a))
		a->req.flags &= ~(unsigned)O_EXCL;
	rc = open_path(a);
	if (rc < 0)
		return rc;
	a->opened = rc;
	return 0;
}

int guard_truncate_file(struct guard_actor *a)
{
	cleanup_fd int fd = -1;
	struct stat st;
	int rc;

	if (a->req.size < 0)
		return -EINVAL;
	rc = open_path(a);
	if (rc < 0)
		return rc == -ENXIO ? -EINVAL : rc;	/* a FIFO */
	fd = rc;
	if (fstat(fd, &st) < 0)
		return guard_rc(-1);
	if (a->req.size > st.st_size && (uint64_t)a->req.size > a->req.size_max)
		return -EFBIG;
	return guard_rc(ftruncate(fd, a->req.size));
}
