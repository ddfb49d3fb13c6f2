/* Judging places: where a name would stand, and what would come with it.
 *
 * Run by the actor under the lock, so that what is judged is what is done.
 */
#include "super/guard_priv.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"

/* The same directory can be mounted in two places: a name is also guarded when
 * its directory is the very one in which a guarded name stands. */
static enum guard_verdict match_alias(const struct guard_name *name, struct str folded, int dir,
				      struct guard_rests *rests)
{
	char path[MAX_GUARD_NAME + 1];
	enum guard_verdict verdict = GUARD_FREE;
	struct stat st, here;

	for (size_t i = 0; i < name->n_parts && !name->anywhere; i++) {
		if (!str_eq(name->parts[i], folded))
			continue;
		snprintf(path, sizeof(path), "%.*s", (int)(name->raw[i].s - name->text),
			 name->text);
		if (fstat(dir, &here) < 0)
			return GUARD_HELD;
		if (stat(path, &st) < 0 || st.st_dev != here.st_dev || st.st_ino != here.st_ino)
			continue;
		if (i + 1 == name->n_parts || !guard_rests_add(rests, name, i + 1))
			return GUARD_HELD;
		verdict = GUARD_PREFIX;
	}
	return verdict;
}

static enum guard_verdict judge_alias(struct guard_actor *a, struct guard_place *p)
{
	enum guard_verdict verdict = p->rests.n ? GUARD_PREFIX : GUARD_FREE;
	char text[NAME_MAX + 1];
	struct str folded = { text, guard_fold((struct str){ p->last, p->n_last }, text) };

	for (size_t i = 0; i < a->w->names->n; i++) {
		enum guard_verdict v = match_alias(&a->w->names->items[i], folded, p->dir,
						   &p->rests);

		if (v > verdict)
			verdict = v;
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

int guard_judge(struct guard_actor *a, struct guard_place *p, enum guard_verdict *ret)
{
	char dir[PATH_MAX];
	int n = guard_fd_path(a->w, p->dir, dir, sizeof(dir));

	if (n == -ENAMETOOLONG)
		n = deep_path(a, p->dir, dir);
	if (n < 0)
		return n;
	snprintf(p->path, sizeof(p->path), "%s/%.*s", n == 1 ? "" : dir, (int)p->n_last, p->last);
	*ret = guard_match(a->w->names, str_from(p->path), &p->rests);
	if (*ret != GUARD_HELD)
		*ret = judge_alias(a, p);
	return 0;
}

/* Is the rest of a guarded name's path in this directory, or a link where the
 * path leads through?  1: yes; or -errno. */
static int scan(int dir, const struct str *rest, size_t n)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	const struct dirent *entry;
	char folded[NAME_MAX + 1];
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d) {
		rc = guard_rc(-1);
		fd_close(&fd);
		return rc;
	}
	for (errno = 0; rc == 0 && (entry = readdir(d)); errno = 0) {
		struct str name = { folded, guard_fold(str_from(entry->d_name), folded) };
		cleanup_fd int at = -1;
		struct stat st;

		if (!str_eq(name, rest[0]))
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
 * told; or -errno.  `other`: what is said of an object that is no directory. */
static int check_rests(const struct guard_place *from, const struct guard_rests *rests, int other)
{
	cleanup_fd int at = openat(from->dir, from->last, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	int rc = 0;

	if (at < 0)
		return guard_rc(at);
	if (fstat(at, &st) < 0 || !S_ISDIR(st.st_mode))
		return other;
	for (size_t i = 0; rc == 0 && i < rests->n; i++)
		rc = scan(at, rests->items[i].parts, rests->items[i].n);
	/* What can not be read may hold anything. */
	return rc < 0 ? 1 : rc;
}

int guard_check_landing(const struct guard_place *from, const struct guard_place *to,
			enum guard_verdict verdict)
{
	return verdict == GUARD_PREFIX ? check_rests(from, &to->rests, 1) : verdict == GUARD_HELD;
}

/* What is guarded would come to stand under a name that is not, where the next
 * run finds nothing to hold. */
int guard_check_leaving(const struct guard_place *from, enum guard_verdict verdict)
{
	return verdict == GUARD_PREFIX ? check_rests(from, &from->rests, 0) : verdict == GUARD_HELD;
}
