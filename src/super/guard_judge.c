/* Judging places: where a name would stand, and what would come with it.
 *
 * Run by the actor under the lock, so that what is judged is what is done.
 */
#include "super/guard_priv.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/name.h"

/* The part of a path before its last `n` components; NULL if there are fewer. */
static const char *find_tail(const char *path, size_t n)
{
	const char *at = path + strlen(path);

	for (; n && at > path; n--) {
		at--;
		while (at > path && *at != '/')
			at--;
	}
	return n ? NULL : at;
}

/* Are these the names in a path, and all of them?  Each has a slash before it. */
static bool fits(const struct str *parts, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = *path ? strcspn(path + 1, "/") : 0;

		if (!len || !name_matches(parts[i], (struct str){ path + 1, len }))
			return false;
		path += 1 + len;
	}
	return !*path;
}

/* Is `dir`, which has this path, the very directory that the first `n` parts of
 * a name lead to, wherever it is mounted?  Up to the first `*` the parts are a
 * path; those behind it must be the names of what lies between. */
static bool is_place_of(const struct guard_name *name, size_t n, int dir, const char *path)
{
	size_t n_path = MIN(n, name->n_literal), up = n - n_path;
	const char *tail = find_tail(path, up);
	cleanup_fd int at = openat(dir, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char place[MAX_GUARD_NAME + 1];
	struct stat st, here;

	/* What cannot be told may be so; what is no directory is none. */
	if (at < 0)
		return errno != ENOTDIR;
	if (!tail || !fits(name->parts + n_path, up, tail))
		return false;
	for (; up && at >= 0; up--) {
		int next = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

		fd_close(&at);
		at = next;
	}
	if (at < 0)
		return true;
	snprintf(place, sizeof(place), "%.*s", (int)(name->raw[n_path].s - name->text), name->text);
	if (stat(place, &st) < 0)
		return guard_is_closed(place);
	return fstat(at, &here) < 0 || (st.st_dev == here.st_dev && st.st_ino == here.st_ino);
}

/* The same directory can be mounted in two places: a name is also guarded when its
 * directory is the very one in which a guarded name stands.  The ways that the path
 * itself is are not told again. */
static int each_alias(const struct guard_actor *a, const struct guard_place *p, guard_way_fn *act,
		      void *data)
{
	char text[NAME_MAX + 1], dir[sizeof(p->path)];
	struct str folded = { text, name_fold((struct str){ p->last, p->n_last }, text) };
	int rc = 0;

	snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(p->path, '/') - p->path), p->path);
	for (size_t k = 0; rc == 0 && k < a->w->names->n; k++) {
		const struct guard_name *name = &a->w->names->items[k];

		for (size_t i = 0; rc == 0 && i < name->n_parts && !name->anywhere; i++)
			if (str_glob(name->parts[i], folded) && !fits(name->parts, i, dir) &&
			    is_place_of(name, i, p->dir, dir))
				rc = act(data, name, i + 1);
	}
	return rc;
}

/* The path of a directory that is too deep to be told: go up until it can be.
 * What is left out is no part of a name of at most MAX_GUARD_NAME bytes. */
static int deep_path(struct guard_actor *a, int dir, char path[PATH_MAX])
{
	cleanup_fd int at = openat(dir, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; at >= 0 && i < a->w->names->n; i++)
		if (a->w->names->items[i].anywhere)
			return -ENAMETOOLONG;
	for (size_t up = 0; at >= 0 && up < (1u << 16); up++) {
		int next, n = guard_fd_path(a->w, at, path, PATH_MAX);

		if (n != -ENAMETOOLONG)
			return n;
		next = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		fd_close(&at);
		at = next;
	}
	return -ENAMETOOLONG;
}

static bool is_folder(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 || S_ISDIR(st.st_mode);
}

/* The procfs of a tree is only to be read, and what it tells is in part what holds for whoever
 * opens it.  So nothing is opened there for the caller but what its links lead to. */
static bool is_of_kernel(const struct guard_place *p)
{
	struct stat st;

	return guard_is_procfs(p->dir) && guard_is_read_only(p->dir) &&
	       fstatat(p->dir, p->last, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISLNK(st.st_mode);
}

int guard_judge(struct guard_actor *a, struct guard_place *p)
{
	char dir[PATH_MAX];
	int n;

	if (is_of_kernel(p))
		return -EROFS;
	if (!p->from_root && p->dir >= 0 && is_folder(p->dir) && !guard_is_mounted(a->w, p->dir))
		return -EACCES;
	n = guard_fd_path(a->w, p->dir, dir, sizeof(dir));
	if (n == -ENAMETOOLONG)
		n = deep_path(a, p->dir, dir);
	if (n < 0)
		return n;
	snprintf(p->path, sizeof(p->path), "%s/%.*s", n == 1 ? "" : dir, (int)p->n_last, p->last);
	p->is = guard_match(a->w->names, str_from(p->path));
	if (p->is.verdict != GUARD_HELD)
		(void)!each_alias(a, p, guard_add_way, &p->is);
	return 0;
}

/* Is the rest of a guarded name's path in this directory, or a link where the
 * path leads through?  1: yes; or -errno. */
static int scan(int dir, const struct str *rest, size_t n)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	const struct dirent *entry;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d) {
		rc = guard_rc(-1);
		fd_close(&fd);
		return rc;
	}
	for (errno = 0; rc == 0 && (entry = readdir(d)); errno = 0) {
		cleanup_fd int at = -1;
		struct stat st;

		if (!name_matches(rest[0], str_from(entry->d_name)) ||
		    strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		at = openat(dir, entry->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (n == 1 || at < 0 || fstat(at, &st) < 0 || S_ISLNK(st.st_mode))
			rc = 1;
		else if (S_ISDIR(st.st_mode))
			rc = scan(at, rest + 1, n - 1);
	}
	if (rc == 0)
		rc = guard_rc(-1);	/* 0 at the end of the directory */
	closedir(d);
	return rc;
}

struct search {
	int dir;
	const struct guard_name *name;	/* that was looked for last */
};

static int scan_rest(void *data, const struct guard_name *name, size_t n)
{
	struct search *s = data;

	s->name = name;
	return n == name->n_parts ? 1 : scan(s->dir, name->parts + n, name->n_parts - n);
}

/* Does the object at `from` hold what would be guarded at `to`?  1: yes, or it can not be
 * told; or -errno.  Of what is no directory the verdict says enough. */
static int check_rests(const struct guard_actor *a, const struct guard_place *from,
		       const struct guard_place *to, const struct guard_name **ret_by)
{
	cleanup_fd int at = openat(from->dir, from->last, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct search search = { at, to->is.by };
	struct stat st;
	int rc;

	if (at < 0)
		return guard_rc(at);
	*ret_by = to->is.by;
	if (fstat(at, &st) < 0)
		return 1;
	if (!S_ISDIR(st.st_mode))
		return to->is.verdict == GUARD_PREFIX || S_ISLNK(st.st_mode);
	rc = guard_each_way(a->w->names, str_from(to->path), scan_rest, &search);
	if (rc == 0)
		rc = each_alias(a, to, scan_rest, &search);
	*ret_by = search.name;
	/* What can not be read may hold anything. */
	return rc < 0 ? 1 : rc;
}

static bool leads_on(const struct guard_place *p)
{
	return p->is.verdict == GUARD_PREFIX || p->is.verdict == GUARD_LOOSE;
}

int guard_check_landing(const struct guard_actor *a, const struct guard_place *from,
			const struct guard_place *to, const struct guard_name **ret_by)
{
	*ret_by = to->is.by;
	return leads_on(to) ? check_rests(a, from, to, ret_by) : to->is.verdict == GUARD_HELD;
}

/* ---- leaving --------------------------------------------------------------- */

static int is_way(void *data, const struct guard_name *name, size_t n)
{
	const struct guard_name **by = data;

	*by = name;
	return n < name->n_parts && name->cause == CAUSE_WAY;
}

/* What is guarded would come to stand under a name that is not, where the next
 * run finds nothing to hold.  The same with all that is mounted in a directory, which
 * goes with it: sockets of the host, what fits a pattern, what is only to be read. */
int guard_check_leaving(const struct guard_actor *a, const struct guard_place *from,
			const struct guard_name **ret_by)
{
	struct stat st;
	int rc = 0;

	*ret_by = from->is.by;
	if (from->is.verdict == GUARD_HELD)
		return 1;
	if (fstatat(from->dir, from->last, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return guard_rc(-1);
	/* A link on the way says where that is which is held. */
	if (S_ISLNK(st.st_mode))
		return from->is.verdict == GUARD_PREFIX;
	if (!S_ISDIR(st.st_mode))
		return 0;
	if (leads_on(from))
		rc = guard_each_way(a->w->names, str_from(from->path), is_way, ret_by);
	if (rc == 0 && leads_on(from))
		rc = check_rests(a, from, from, ret_by);
	if (rc)
		return rc < 0 ? 1 : rc;
	*ret_by = NULL;
	rc = guard_has_mount_below(a->w, (struct str){ from->last, from->n_last }, &st);
	/* What can not be told may be so. */
	return rc < 0 ? 1 : rc;
}
