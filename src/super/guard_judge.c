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
	for (size_t i = n_path; tail && i < n; i++) {
		size_t len = strcspn(tail + 1, "/");

		if (!name_matches(name->parts[i], (struct str){ tail + 1, len }))
			return false;
		tail += 1 + len;
	}
	for (; tail && up && at >= 0; up--) {
		int next = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

		fd_close(&at);
		at = next;
	}
	if (!tail)
		return false;
	if (at < 0)
		return true;
	snprintf(place, sizeof(place), "%.*s", (int)(name->raw[n_path].s - name->text), name->text);
	if (stat(place, &st) < 0)
		return guard_is_closed(place);
	return fstat(at, &here) < 0 || (st.st_dev == here.st_dev && st.st_ino == here.st_ino);
}

/* The same directory can be mounted in two places: a name is also guarded when
 * its directory is the very one in which a guarded name stands. */
static enum guard_verdict match_alias(const struct guard_name *name, struct str folded,
				      struct guard_place *p, const char *dir)
{
	enum guard_verdict verdict = GUARD_FREE;

	for (size_t i = 0; i < name->n_parts && !name->anywhere; i++) {
		if (!str_glob(name->parts[i], folded) || !is_place_of(name, i, p->dir, dir))
			continue;
		if (i + 1 == name->n_parts || !guard_rests_add(&p->rests, name, i + 1))
			return GUARD_HELD;
		verdict = MAX(verdict, guard_on_the_way(name, i + 1));
	}
	return verdict;
}

static enum guard_verdict judge_alias(struct guard_actor *a, struct guard_place *p,
				      const char *dir, enum guard_verdict verdict)
{
	char text[NAME_MAX + 1];
	struct str folded = { text, name_fold((struct str){ p->last, p->n_last }, text) };

	for (size_t i = 0; i < a->w->names->n; i++) {
		const struct guard_name *name = &a->w->names->items[i];

		guard_add_verdict(&verdict, match_alias(name, folded, p, dir), name, &p->rests);
	}
	return verdict;
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

int guard_judge(struct guard_actor *a, struct guard_place *p, enum guard_verdict *ret)
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
	*ret = guard_match(a->w->names, str_from(p->path), &p->rests);
	if (*ret != GUARD_HELD)
		*ret = judge_alias(a, p, n == 1 ? "" : dir, *ret);
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

/* Does the object at `from` hold one of these rests?  1: yes, or it can not be
 * told; or -errno.  Of what is no directory the verdict says enough. */
static int check_rests(const struct guard_place *from, struct guard_rests *rests,
		       enum guard_verdict verdict)
{
	cleanup_fd int at = openat(from->dir, from->last, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	int rc = 0;

	if (at < 0)
		return guard_rc(at);
	if (fstat(at, &st) < 0)
		return 1;
	if (!S_ISDIR(st.st_mode))
		return verdict == GUARD_PREFIX || S_ISLNK(st.st_mode);
	for (size_t i = 0; rc == 0 && i < rests->n; i++) {
		rests->by = rests->items[i].name;
		rc = scan(at, rests->items[i].parts, rests->items[i].n);
	}
	/* What can not be read may hold anything. */
	return rc < 0 ? 1 : rc;
}

static bool leads_on(enum guard_verdict verdict)
{
	return verdict == GUARD_PREFIX || verdict == GUARD_LOOSE;
}

int guard_check_landing(const struct guard_place *from, struct guard_place *to,
			enum guard_verdict verdict)
{
	return leads_on(verdict) ? check_rests(from, &to->rests, verdict) : verdict == GUARD_HELD;
}

/* ---- leaving --------------------------------------------------------------- */

/* What is guarded would come to stand under a name that is not, where the next
 * run finds nothing to hold.  The same with all that is mounted in a directory, which
 * goes with it: sockets of the host, what fits a pattern, what is only to be read. */
int guard_check_leaving(const struct guard_actor *a, struct guard_place *from,
			enum guard_verdict verdict)
{
	struct stat st;
	int rc = 0;

	if (verdict == GUARD_HELD)
		return 1;
	if (fstatat(from->dir, from->last, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return guard_rc(-1);
	/* A link on the way says where that is which is held. */
	if (S_ISLNK(st.st_mode))
		return verdict == GUARD_PREFIX;
	if (!S_ISDIR(st.st_mode))
		return 0;
	if (leads_on(verdict))
		rc = check_rests(from, &from->rests, verdict);
	if (rc)
		return rc < 0 ? 1 : rc;
	from->rests.by = NULL;
	rc = guard_has_mount_below(a->w, (struct str){ from->last, from->n_last }, &st);
	/* What can not be told may be so. */
	return rc < 0 ? 1 : rc;
}
