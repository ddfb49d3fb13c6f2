/* Control groups as files; see cgroup.h.  Runs in the supervisor with the
 * caller's rights. */
#include "super/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"

#define NAME_START		"cordon-"
#define FILE_BYTES		4096	/* of the small files; no line we look for is later */
#define MAX_NAMES		64	/* groups of one process id, live or left behind */
#define MAX_TASKS		(4 << 20)	/* of any kernel: PID_MAX_LIMIT */
#define REMOVE_TRIES		60
#define STALE_TRIES		12	/* a tenth of a second: the next one tries again */
#define REMOVE_WAIT_NS		200000	/* doubles up to 20 ms: about a second in all */
#define REMOVE_WAIT_MAX_NS	20000000

static ssize_t read_fd(int fd, char *text, size_t size)
{
	size_t n = 0;

	while (n < size - 1) {
		ssize_t got = pread(fd, text + n, size - 1 - n, (off_t)n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		n += (size_t)got;
	}
	text[n] = '\0';
	return (ssize_t)n;
}

static ssize_t read_file(int dir_fd, const char *file, char *text, size_t size)
{
	cleanup_fd int fd = openat(dir_fd, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -1 : read_fd(fd, text, size);
}

/* Take the text up to `byte` off `rest`, and the byte. */
static struct str next_part(struct str *rest, char byte)
{
	size_t end = str_find(*rest, byte);
	struct str part = str_first(*rest, end);

	*rest = str_from_pos(*rest, end < rest->n ? end + 1 : end);
	return part;
}

int cgroup_self_read(const char *self, char text[CGROUP_SELF_BYTES], struct cordon_err *err)
{
	ssize_t n = read_file(AT_FDCWD, self, text, CGROUP_SELF_BYTES);

	if (n < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot read '%s'", self);
	if (n == CGROUP_SELF_BYTES - 1)
		return err_set(err, CORDON_E_HOST, "'%s' is longer than %d bytes", self,
			       CGROUP_SELF_BYTES - 1);
	return 0;
}

static bool has_item(struct str list, const char *item)
{
	while (list.n > 0) {
		if (str_is(next_part(&list, ','), item))
			return true;
	}
	return false;
}

bool cgroup_self_find(const char *text, const char *controller, struct cgroup_own *ret)
{
	struct str rest = str_from(text);

	while (rest.n > 0) {
		struct str line = next_part(&rest, '\n');
		struct str id = next_part(&line, ':');
		struct str controllers = next_part(&line, ':');

		/* Named hierarchies (name=systemd) match nothing that we ask for. */
		if (*controller ? has_item(controllers, controller)
				: controllers.n == 0 && str_is(id, "0")) {
			*ret = (struct cgroup_own){ id, controllers, line };
			return true;
		}
	}
	return false;
}

bool cgroup_goes_up(struct str path)
{
	while (path.n > 0) {
		if (str_is(next_part(&path, '/'), ".."))
			return true;
	}
	return false;
}

int cgroup_own_open(const char *mount, struct str own, char path[CGROUP_PATH_BYTES], int *ret_fd,
		    struct cordon_err *err)
{
	cleanup_fd int fd = -1;
	char pid[16];
	int n;

	if (str_is(own, "/"))
		own.n = 0;
	n = snprintf(path, CGROUP_PATH_BYTES, "%s%.*s", mount, (int)own.n, own.s);
	if (n >= CGROUP_PATH_BYTES)
		return err_set(err, CORDON_E_HOST, "the path of our cgroup below '%s' is too long",
			       mount);
	if (!cgroup_goes_up(own))
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	else
		errno = ENOENT;
	if (fd < 0 && errno == ENOENT && own.n > 0) {
		snprintf(path, CGROUP_PATH_BYTES, "%s", mount);
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		snprintf(pid, sizeof(pid), "%d", getpid());
		if (fd < 0 || !cgroup_has_word(fd, "cgroup.procs", pid))
			return err_set(err, CORDON_E_HOST, "our own cgroup is not below '%s'",
				       mount);
	}
	if (fd < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot open '%s'", path);
	*ret_fd = fd_take(&fd);
	return 0;
}

static int open_group(int parent_fd, const char *name)
{
	return openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

/* Open a group that was just made and lock it: the lock says that its maker
 * lives.  -1 when that fails; *ret_lost where another's clean-up was faster. */
static int open_locked(int parent_fd, const char *name, bool *ret_lost)
{
	cleanup_fd int fd = open_group(parent_fd, name);
	struct stat ours, there;

	*ret_lost = false;
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0) {
		*ret_lost = errno == ENOENT || errno == EWOULDBLOCK;
		return -1;
	}
	if (fstat(fd, &ours) < 0 || fstatat(parent_fd, name, &there, AT_SYMLINK_NOFOLLOW) < 0 ||
	    ours.st_ino != there.st_ino) {
		*ret_lost = true;
		return -1;
	}
	return fd_take(&fd);
}

int cgroup_new(const char *parent, int parent_fd, struct cgroup *ret, struct cordon_err *err)
{
	cleanup_fd int parent_owned = parent_fd;
	struct cgroup g = CGROUP_NONE;
	bool lost;

	/* Process ids come back, and a killed supervisor leaves its group: take
	 * the next name then, never that group. */
	for (int seq = 0; g.fd < 0 && seq < MAX_NAMES; seq++) {
		snprintf(g.name, sizeof(g.name), NAME_START "%d-%d", getpid(), seq);
		if (mkdirat(parent_fd, g.name, 0755) < 0) {
			if (errno == EEXIST)
				continue;
			break;
		}
		g.fd = open_locked(parent_fd, g.name, &lost);
		if (g.fd < 0 && !lost) {
			err_sys(err, CORDON_E_SETUP, "cannot open the group '%s/%s'", parent,
				g.name);
			unlinkat(parent_fd, g.name, AT_REMOVEDIR);
			return -1;
		}
	}
	if (g.fd < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot make the group '%s/%s'", parent,
			       g.name);
	if (snprintf(g.path, sizeof(g.path), "%s/%s", parent, g.name) >= (int)sizeof(g.path))
		g.path[sizeof(g.path) - 1] = '\0';
	g.parent_fd = fd_take(&parent_owned);
	*ret = g;
	return 0;
}

/* Remove a group whose maker was killed: nobody holds its lock.  What was in it is
 * about to end; if it does not, the kernel refuses, and the group stays. */
static void remove_stale(int parent_fd, const char *name)
{
	struct timespec wait = { .tv_nsec = REMOVE_WAIT_NS };
	cleanup_fd int fd = open_group(parent_fd, name);

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return;
	for (int i = 0; i < STALE_TRIES; i++) {
		if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 || errno != EBUSY)
			return;
		nanosleep(&wait, NULL);
		wait.tv_nsec = MIN(wait.tv_nsec * 2, REMOVE_WAIT_MAX_NS);
	}
}

static void remove_all_stale(int parent_fd)
{
	const struct dirent *e;
	struct stat st;
	DIR *dir;
	int fd;

	/* A group has one link for each below it, and two of its own. */
	if (fstat(parent_fd, &st) == 0 && st.st_nlink == 2)
		return;
	fd = openat(parent_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		fd_close(&fd);
		return;
	}
	while ((e = readdir(dir))) {
		if (str_starts(str_from(e->d_name), NAME_START))
			remove_stale(parent_fd, e->d_name);
	}
	closedir(dir);
}

/* -1 for what is no number; what is too large for us is the largest. */
static int64_t number_of(struct str text)
{
	uint64_t n;

	if (!str_parse_u64(str_trim(text), &n))
		return -1;
	return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

/* What has outlived its init: without pids of its own, somebody may have ended that one.
 * A few at a time; who has forked meanwhile is there the next time. */
static void kill_left(const struct cgroup *g)
{
	char text[4096];
	ssize_t n = read_file(g->fd, "cgroup.procs", text, sizeof(text));
	struct str rest = { text, n < 0 ? 0 : (size_t)n };

	while (str_find(rest, '\n') < rest.n) {
		int64_t pid = number_of(next_part(&rest, '\n'));

		if (pid > 1 && pid <= INT_MAX && pid != getpid())
			kill((pid_t)pid, SIGKILL);
	}
}

bool cgroup_release(struct cgroup *g)
{
	struct timespec wait = { .tv_nsec = REMOVE_WAIT_NS };
	bool gone = g->fd < 0;

	for (int i = 0; !gone && i < REMOVE_TRIES; i++) {
		gone = unlinkat(g->parent_fd, g->name, AT_REMOVEDIR) == 0 || errno == ENOENT;
		if (gone || (errno != EBUSY && errno != EAGAIN))
			break;
		if (g->is_tree)
			kill_left(g);
		nanosleep(&wait, NULL);
		wait.tv_nsec = MIN(wait.tv_nsec * 2, REMOVE_WAIT_MAX_NS);
	}
	/* At the end of a run and not at its start, where someone waits. */
	if (g->fd >= 0)
		remove_all_stale(g->parent_fd);
	fd_close(&g->fd);
	fd_close(&g->parent_fd);
	return gone;
}

/* 0, or -1 with errno set. */
static int write_file(int dir_fd, const char *file, const char *text)
{
	cleanup_fd int fd = openat(dir_fd, file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	size_t n = strlen(text);
	ssize_t put;

	if (fd < 0)
		return -1;
	do {
		put = write(fd, text, n);
	} while (put < 0 && errno == EINTR);
	if (put >= 0 && (size_t)put < n)
		errno = EIO;
	return put == (ssize_t)n ? 0 : -1;
}

int cgroup_write(const struct cgroup *g, const char *file, const char *text,
		 struct cordon_err *err)
{
	if (write_file(g->fd, file, text) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot write '%s' to '%s/%s'", text, g->path,
			       file);
	return 0;
}

int cgroup_write_number(const struct cgroup *g, const char *file, int64_t n,
			struct cordon_err *err)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, n);
	return cgroup_write(g, file, text, err);
}

bool cgroup_try_write(int dir_fd, const char *file, const char *text)
{
	return write_file(dir_fd, file, text) == 0;
}

int64_t cgroup_read_number(int dir_fd, const char *file)
{
	char text[64];
	ssize_t n = read_file(dir_fd, file, text, sizeof(text));

	return n < 0 ? -1 : number_of((struct str){ text, (size_t)n });
}

static int64_t find_key(struct str rest, const char *key)
{
	while (rest.n > 0) {
		struct str line = next_part(&rest, '\n');

		if (str_is(next_part(&line, ' '), key))
			return number_of(line);
	}
	return -1;
}

int64_t cgroup_fd_read_key(int fd, const char *key)
{
	char text[FILE_BYTES];
	ssize_t n = read_fd(fd, text, sizeof(text));

	return n < 0 ? -1 : find_key((struct str){ text, (size_t)n }, key);
}

int64_t cgroup_read_key(int dir_fd, const char *file, const char *key)
{
	cleanup_fd int fd = openat(dir_fd, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -1 : cgroup_fd_read_key(fd, key);
}

bool cgroup_has_word(int dir_fd, const char *file, const char *word)
{
	char text[FILE_BYTES];
	ssize_t n = read_file(dir_fd, file, text, sizeof(text));
	struct str rest;

	if (n < 0)
		return false;
	for (rest = (struct str){ text, (size_t)n }; rest.n > 0;) {
		struct str line = next_part(&rest, '\n');

		while (line.n > 0) {
			if (str_is(next_part(&line, ' '), word))
				return true;
		}
	}
	return false;
}

bool cgroup_can_write(int dir_fd, const char *file)
{
	return faccessat(dir_fd, file, W_OK, AT_EACCESS) == 0;
}

int cgroup_limit_tasks(const struct cgroup *g, int64_t most, struct cordon_err *err)
{
	/* The kernel takes no number above the ids it has. */
	if (most > MAX_TASKS)
		return cgroup_write(g, "pids.max", "max", err);
	return cgroup_write_number(g, "pids.max", most, err);
}

int cgroup_change_tasks(const struct cgroup *g, int64_t most, struct cordon_err *err)
{
	int64_t now = cgroup_read_number(g->fd, "pids.current");

	/* The kernel would take it, and let nothing new be made. */
	if (most != INT64_MAX && (now < 0 || now > most))
		return err_set(err, CORDON_E_HOST, "limits.processes: more are alive than %lld",
			       (long long)most - 1);
	return cgroup_limit_tasks(g, most, err);
}
