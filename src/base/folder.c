/* Folders as wholes; see folder.h. */
#include "base/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/limits.h"

#define COPY_BYTES	(64u << 10)
#define FRESH_SUFFIX	".new"

static void close_listing(DIR **d)
{
	if (*d)
		closedir(*d);
}
#define cleanup_listing __attribute__((cleanup(close_listing)))

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int open_folder(int dir, const char *name)
{
	return open_beneath(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

int folder_make(int dir, const char *name, struct cordon_err *err)
{
	int fd;

	if (entry_make_dir(dir, name, 0755) < 0 && errno != EEXIST)
		return err_sys(err, CORDON_E_SETUP, "cannot make the folder '%s'", name);
	fd = open_folder(dir, name);
	if (fd < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot open the folder '%s'", name);
	return fd;
}

/* A directory whose owner took all rights away is still the owner's to change. */
static int open_closed(int dir, const char *name)
{
	int fd = open_folder(dir, name);

	if (fd >= 0 || errno != EACCES)
		return fd;
	(void)!entry_chmod(dir, name, 0700);
	return open_folder(dir, name);
}

/* ---- copying ------------------------------------------------------------ */

static int spend(int64_t *left, int64_t n, const char *name, struct cordon_err *err)
{
	if (n > *left)
		return err_set(err, CORDON_E_SETUP, "'%s': more is there than may be copied",
			       name);
	*left -= n;
	return 0;
}

/* What was there a moment ago is gone, or another thing by now: both as if it had
 * never been there, since programs may still run in it. */
static bool is_gone(void)
{
	return errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EINVAL;
}

static bool is_empty(const char *bytes, ssize_t n)
{
	return bytes[0] == '\0' && memcmp(bytes, bytes + 1, (size_t)n - 1) == 0;
}

/* Holes stay holes: they cost nobody anything to make. */
static int copy_bytes(int from, int to, const char *name, struct folder_room *room,
		      struct cordon_err *err)
{
	char bytes[COPY_BYTES];
	off_t size = 0;
	ssize_t n;

	while ((n = read(from, bytes, sizeof(bytes))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, CORDON_E_SETUP, "cannot read '%s'", name);
		if (spend(&room->bytes, n, name, err) < 0)
			return -1;
		for (ssize_t done = is_empty(bytes, n) ? n : 0, w; done < n; done += w) {
			w = pwrite(to, bytes + done, (size_t)(n - done), size + done);
			if (w < 0)
				return err_sys(err, CORDON_E_SETUP, "cannot write '%s'", name);
		}
		size += n;
	}
	if (ftruncate(to, size) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot write '%s'", name);
	return 0;
}

static int copy_file(int from, const char *name, int to, struct folder_room *room,
		     struct cordon_err *err)
{
	cleanup_fd int in = open_beneath(from, name, O_RDONLY | O_NOFOLLOW);
	cleanup_fd int out = -1;
	struct stat st;

	if (in < 0 || fstat(in, &st) < 0)
		return is_gone() ? 0 : err_sys(err, CORDON_E_SETUP, "cannot open '%s'", name);
	if (!S_ISREG(st.st_mode))
		return 0;
	/* Before any of it is written: a size costs nobody anything to claim. */
	if (st.st_size > room->bytes)
		return spend(&room->bytes, st.st_size, name, err);
	if (folder_remove(to, name, err) < 0)
		return -1;
	out = open_beneath(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
	if (out < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot make '%s'", name);
	if (copy_bytes(in, out, name, room, err) < 0)
		return -1;
	if (fchmod(out, st.st_mode & 0777) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot set the mode of '%s'", name);
	return 0;
}

struct copying {
	struct folder_room *room;
	unsigned depth;
};

/* Does a symlink lead above the directory that is `up` levels above its own?  `..` may
 * only come first: behind a name that is a symlink it leads elsewhere. */
static bool leads_out(const char *target, int up)
{
	bool had_name = false;

	if (target[0] == '/')
		return true;
	for (size_t n; *target; target += n + strspn(target + n, "/")) {
		n = strcspn(target, "/");
		if (n == 2 && memcmp(target, "..", 2) == 0) {
			if (had_name || --up < 0)
				return true;
		} else if (n > 1 || target[0] != '.') {
			had_name = true;
		}
	}
	return false;
}

static int copy_link(struct copying *c, int from, const char *name, int to,
		     struct cordon_err *err)
{
	char target[PATH_MAX];
	ssize_t n = entry_read_link(from, name, target, sizeof(target) - 1);

	if (n < 0)
		return is_gone() ? 0 : err_sys(err, CORDON_E_SETUP, "cannot read the link '%s'",
					       name);
	target[n] = '\0';
	/* A symlink that is copied by itself leads to what is not. */
	if (c->room->tame && (!c->depth || leads_out(target, (int)c->depth - 1))) {
		c->room->n_wild++;
		return 0;
	}
	if (folder_remove(to, name, err) < 0)
		return -1;
	if (entry_make_link(target, to, name) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot make the link '%s'", name);
	return 0;
}

static int copy_entries(struct copying *c, int from, int to, bool (*skip)(const char *name),
			struct cordon_err *err);

/* The directory that another one is copied over, with all rights of its owner; what is no
 * directory makes way. */
static int make_over(int to, const char *name, struct cordon_err *err)
{
	int fd;

	if (entry_make_dir(to, name, 0700) < 0 && errno != EEXIST)
		return err_sys(err, CORDON_E_SETUP, "cannot make the folder '%s'", name);
	fd = open_closed(to, name);
	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP)) {
		if (folder_remove(to, name, err) < 0)
			return -1;
		return folder_make(to, name, err);
	}
	if (fd < 0 || fchmod(fd, 0700) < 0) {
		err_sys(err, CORDON_E_SETUP, "cannot open the folder '%s'", name);
		fd_close(&fd);
	}
	return fd;
}

static int copy_folder(struct copying *c, int from, const char *name, int to,
		       struct cordon_err *err)
{
	cleanup_fd int in = open_folder(from, name), out = -1;
	struct stat st;
	int rc;

	if (in < 0)
		return is_gone() ? 0 : err_sys(err, CORDON_E_SETUP, "cannot open '%s'", name);
	if (c->depth == MAX_COPY_DEPTH)
		return err_set(err, CORDON_E_SETUP, "'%s': folders too deep to be copied", name);
	out = make_over(to, name, err);
	if (out < 0)
		return -1;
	c->depth++;
	rc = copy_entries(c, in, out, NULL, err);
	c->depth--;
	/* It stays ours to remove. */
	if (rc == 0 && (fstat(in, &st) < 0 || fchmod(out, (st.st_mode & 0777) | 0700) < 0))
		return err_sys(err, CORDON_E_SETUP, "cannot set the mode of '%s'", name);
	return rc;
}

static int copy_entry(struct copying *c, int from, const char *name, int to,
		      struct cordon_err *err)
{
	struct stat st;

	if (entry_stat(from, name, &st) < 0)
		return is_gone() ? 0 : err_sys(err, CORDON_E_SETUP, "cannot look at '%s'", name);
	if (spend(&c->room->entries, 1, name, err) < 0)
		return -1;
	switch (st.st_mode & S_IFMT) {
	case S_IFDIR:
		return copy_folder(c, from, name, to, err);
	case S_IFREG:
		return copy_file(from, name, to, c->room, err);
	case S_IFLNK:
		return copy_link(c, from, name, to, err);
	default:
		return 0;
	}
}

static int copy_entries(struct copying *c, int from, int to, bool (*skip)(const char *name),
			struct cordon_err *err)
{
	cleanup_listing DIR *d = entry_list(from);
	struct dirent *e;

	if (!d)
		return err_sys(err, CORDON_E_SETUP, "cannot list a folder");
	while ((e = readdir(d)))
		if (!is_dots(e->d_name) && !(skip && skip(e->d_name)) &&
		    copy_entry(c, from, e->d_name, to, err) < 0)
			return -1;
	return 0;
}

int folder_copy(int from, int to, bool (*skip)(const char *name), struct folder_room *room,
		struct cordon_err *err)
{
	return copy_entries(&(struct copying){ .room = room }, from, to, skip, err);
}

int folder_copy_one(int from, const char *name, int to, struct folder_room *room,
		    struct cordon_err *err)
{
	return copy_entry(&(struct copying){ .room = room }, from, name, to, err);
}

/* ---- removing ----------------------------------------------------------- */

/* Of one folder in `root`: its files go, its folders move up beside it, so that
 * no depth costs more than this. */
static int flatten(int root, int dir, uint64_t *n_moved, uint64_t *n_seen, struct cordon_err *err)
{
	cleanup_listing DIR *d = NULL;
	struct dirent *e;

	(void)!fchmod(dir, 0700);
	d = entry_list(dir);
	if (!d)
		return err_sys(err, CORDON_E_SETUP, "cannot list a folder");
	while ((e = readdir(d))) {
		struct stat st;
		char name[64];

		if (++*n_seen > MAX_WALK_ENTRIES)
			return err_set(err, CORDON_E_SETUP, "too many files to remove");
		if (is_dots(e->d_name) || entry_remove(dir, e->d_name, 0) == 0 || errno == ENOENT)
			continue;
		if (errno != EISDIR && errno != EPERM)
			return err_sys(err, CORDON_E_SETUP, "cannot remove '%s'", e->d_name);
		/* A folder that is to be moved has to be writable as well. */
		(void)!entry_chmod(dir, e->d_name, 0700);
		do {
			snprintf(name, sizeof(name), ".moved-%llu",
				 (unsigned long long)(*n_moved)++);
		} while (entry_stat(root, name, &st) == 0);
		if (*n_moved > MAX_WALK_ENTRIES || entry_move(dir, e->d_name, root, name, 0) < 0)
			return err_sys(err, CORDON_E_SETUP, "cannot remove '%s'", e->d_name);
	}
	return 0;
}

static int clear_folder(int root, const char *name, uint64_t *n_moved, uint64_t *n_seen,
			struct cordon_err *err)
{
	cleanup_fd int dir = open_closed(root, name);

	if (dir < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot open '%s'", name);
	if (flatten(root, dir, n_moved, n_seen, err) < 0)
		return -1;
	if (entry_remove(root, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return err_sys(err, CORDON_E_SETUP, "cannot remove '%s'", name);
	return 0;
}

int folder_clear(int dir, struct cordon_err *err)
{
	uint64_t n_moved = 0, n_seen = 0, before;
	struct stat st;

	do {
		cleanup_listing DIR *d = NULL;
		struct dirent *e;

		before = n_moved;
		if (fstat(dir, &st) == 0)
			(void)!fchmod(dir, (st.st_mode & 0777) | 0700);
		d = entry_list(dir);
		if (!d)
			return err_sys(err, CORDON_E_SETUP, "cannot list a folder");
		while ((e = readdir(d))) {
			if (++n_seen > MAX_WALK_ENTRIES)
				return err_set(err, CORDON_E_SETUP, "too many files to remove");
			if (is_dots(e->d_name) || entry_remove(dir, e->d_name, 0) == 0 ||
			    errno == ENOENT)
				continue;
			if (errno != EISDIR && errno != EPERM)
				return err_sys(err, CORDON_E_SETUP, "cannot remove '%s'",
					       e->d_name);
			if (clear_folder(dir, e->d_name, &n_moved, &n_seen, err) < 0)
				return -1;
		}
	} while (n_moved != before);
	return 0;
}

int folder_remove(int dir, const char *name, struct cordon_err *err)
{
	cleanup_fd int fd = -1;

	if (entry_remove(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return err_sys(err, CORDON_E_SETUP, "cannot remove '%s'", name);
	fd = open_closed(dir, name);
	if (fd < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot open '%s'", name);
	if (folder_clear(fd, err) < 0)
		return -1;
	if (entry_remove(dir, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return err_sys(err, CORDON_E_SETUP, "cannot remove '%s'", name);
	return 0;
}

/* ---- writing ------------------------------------------------------------ */

int folder_write(int dir, const char *name, struct str text, struct cordon_err *err)
{
	char fresh[NAME_MAX + 1];
	cleanup_fd int fd = -1;

	if (snprintf(fresh, sizeof(fresh), "%s" FRESH_SUFFIX, name) >= (int)sizeof(fresh))
		return err_set(err, CORDON_E_SETUP, "'%s' is too long a name", name);
	fd = open_beneath(dir, fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW);
	if (fd < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot make '%s'", name);
	while (text.n) {
		ssize_t n = write(fd, text.s, text.n);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			err_sys(err, CORDON_E_SETUP, "cannot write '%s'", name);
			entry_remove(dir, fresh, 0);
			return -1;
		}
		text = str_from_pos(text, (size_t)n);
	}
	if (entry_move(dir, fresh, dir, name, 0) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot write '%s'", name);
	return 0;
}
