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
 * What is left out is no part of a name of at most MAX_GUARD_NAME bytes; where one
 * may be anywhere below a directory, only its last components count. */
static int deep_path(struct guard_actor *a, int dir, char path[PATH_MAX])
{
	cleanup_fd int at = openat(dir, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; at >= 0 && i < a->w->names->n; i++)
		if (a->w->names->items[i].anywhere && !a->w->names->items[i].n_base)
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

int guard_check_landing(const struct guard_place *from, const struct guard_place *to,
			enum guard_verdict verdict)
{
	cleanup_fd int at = -1;
	struct stat st;
	int rc = 0;

	if (verdict != GUARD_PREFIX)
		return verdict == GUARD_HELD;
	at = openat(from->dir, from->last, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (at < 0)
		return guard_rc(at);
	if (fstat(at, &st) < 0 || !S_ISDIR(st.st_mode))
		return 1;
	for (size_t i = 0; rc == 0 && i < to->rests.n; i++)
		rc = scan(at, to->rests.items[i].parts, to->rests.items[i].n);
	/* What can not be read may hold anything. */
	return rc < 0 ? 1 : rc;
}

/* ---- leaving --------------------------------------------------------------- */

/* The text of a mount point up to the next blank: the kernel writes blanks and
 * backslashes in octal.  Returns its bytes. */
static size_t unescape(char *text)
{
	size_t n = 0;

	for (size_t i = 0; text[i] && text[i] != ' '; n++) {
		unsigned c;

		if (text[i] == '\\' && sscanf(text + i + 1, "%3o", &c) == 1) {
			text[n] = (char)c;
			i += 4;
		} else {
			text[n] = text[i++];
		}
	}
	return n;
}

/* Does the way to this mount point lead through the directory `st` of that name?
 * It may be in sight in two places: so the name is only why to look. */
static int leads_through(char *point, struct str name, const struct stat *st)
{
	size_t n = unescape(point);
	struct stat on_way;

	for (size_t i = 1, from = 1; i < n; i++) {
		if (point[i] != '/')
			continue;
		point[i] = '\0';
		if (str_eq((struct str){ point + from, i - from }, name)) {
			if (stat(point, &on_way) < 0)
				return guard_rc(-1);
			if (on_way.st_dev == st->st_dev && on_way.st_ino == st->st_ino)
				return 1;
		}
		point[i] = '/';
		from = i + 1;
	}
	return 0;
}

/* Does a mount of the tree stand below this directory?  1: yes; or -errno. */
static int has_mount_below(const struct guard_actor *a, struct str name, const struct stat *st)
{
	int fd = openat(a->w->self, "mountinfo", O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "re");
	int rc = f ? 0 : guard_rc(-1);
	char *line = NULL;
	size_t size = 0;

	while (f && rc == 0 && getline(&line, &size, f) > 0) {
		char *point = line;

		/* number, parent, device, root, mount point */
		for (int i = 0; point && i < 4; i++) {
			point = strchr(point, ' ');
			if (point)
				point++;
		}
		rc = point ? leads_through(point, name, st) : -EIO;
	}
	if (f && rc == 0 && ferror(f))
		rc = -EIO;
	free(line);
	if (f)
		fclose(f);
	else
		fd_close(&fd);
	return rc;
}

/* A directory goes with what is mounted in it, so this run would notice nothing:
 * but the next one, which finds no denied file where its policy says one is, masks
 * none, and what was denied is there under another name.  So such a directory
 * stays, as what is masked itself does.  A link where a guarded name's path leads
 * through is what says where that is. */
int guard_check_leaving(const struct guard_actor *a, const struct guard_place *p,
			enum guard_verdict verdict)
{
	struct stat st;
	int rc;

	if (fstatat(p->dir, p->last, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return guard_rc(-1);
	if (S_ISLNK(st.st_mode))
		return verdict == GUARD_PREFIX;
	if (!S_ISDIR(st.st_mode))
		return 0;
	rc = has_mount_below(a, (struct str){ p->last, p->n_last }, &st);
	/* What can not be told may be so. */
	return rc < 0 ? 1 : rc;
}
