/* What the patterns of files.deny and files.protect mean on this machine, looked
 * up before the clone: each file or folder that fits gets a mount.  What fits
 * and is made later is the guard's (super/guard_match.c), which takes patterns
 * by the same rules.
 *
 * A pattern at any depth is looked for below the roots of the policy; any other
 * one where it says.  Nothing else is walked, and nothing without patterns. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/native/find_priv.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/name.h"
#include "base/path.h"

struct pattern {
	const struct plan_name *name;
	struct str raw[MAX_GUARD_PARTS];
	struct str parts[MAX_GUARD_PARTS];	/* folded */
	size_t n;
};

struct walk {
	struct found *found;
	struct pattern *patterns;	/* those at any depth */
	size_t n_patterns;
	unsigned depth, entries, hits;
};

/* ---- patterns ----------------------------------------------------------- */

static int parse_pattern(struct found *f, const struct plan_name *name, struct pattern *ret)
{
	struct str rest = str_from(name->pattern);

	*ret = (struct pattern){ .name = name };
	while (rest.n) {
		size_t n = str_find(rest, '/');
		char *folded = arena_new(f->plan->arena, n + 1, 1);

		if (!folded)
			return err_nomem(f->err);
		if (ret->n == MAX_GUARD_PARTS)
			return err_set(f->err, CORDON_E_POLICY, "'%.300s' has over %d components",
				       name->pattern, MAX_GUARD_PARTS);
		if (n) {
			ret->raw[ret->n] = str_first(rest, n);
			ret->parts[ret->n++] =
				(struct str){ folded, name_fold(str_first(rest, n), folded) };
		}
		rest = str_from_pos(rest, n < rest.n ? n + 1 : n);
	}
	return 0;
}

/* Do the last components of a path fit? */
static bool matches_tail(const struct pattern *p, const char *path)
{
	const char *end = path + strlen(path);

	for (size_t i = p->n; i > 0; i--) {
		const char *from = end;

		while (from > path && from[-1] != '/')
			from--;
		if (from == end ||
		    !name_matches(p->parts[i - 1], (struct str){ from, (size_t)(end - from) }))
			return false;
		end = from > path ? from - 1 : from;
	}
	return true;
}

/* ---- hits ---------------------------------------------------------------- */

static int add_hit(struct walk *w, const char *path, const struct plan_name *name)
{
	struct plan_mount m = { .kind = name->mask ? MOUNT_MASK : MOUNT_RO,
				.optional = true,
				.keep = !name->mask,
				.source = name->mask ? NULL : path,
				.target = path };

	if (++w->hits > MAX_WALK_FOUND)
		return err_set(w->found->err, CORDON_E_HOST,
			       "more than %u files have a name that is denied or protected",
			       MAX_WALK_FOUND);
	return found_add(w->found, &m);
}

static int count_entry(struct walk *w)
{
	if (++w->entries > MAX_WALK_ENTRIES)
		return err_set(w->found->err, CORDON_E_HOST,
			       "there are more than %u files to look through for a pattern",
			       MAX_WALK_ENTRIES);
	return 0;
}

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Sets *ret_whole when all of it is masked, so that nobody needs to look inside. */
static int add_hits(struct walk *w, const char *path, bool *ret_whole)
{
	*ret_whole = false;
	for (size_t i = 0; i < w->n_patterns; i++) {
		const struct plan_name *name = w->patterns[i].name;

		if (!matches_tail(&w->patterns[i], path) || (name->below && !is_folder(path)))
			continue;
		if (add_hit(w, path, name) < 0)
			return -1;
		*ret_whole |= name->mask;
	}
	return 0;
}

/* ---- walking ------------------------------------------------------------- */

/* A folder that cannot be listed.  Where the command could do no more than we
 * it hides nothing; but it may know a name, or give itself the right to list. */
static int judge_unlisted(struct walk *w, const char *path)
{
	struct stat st;

	if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)
		return 0;
	if (errno == EACCES && faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0 &&
	    stat(path, &st) == 0 && st.st_uid != geteuid())
		return 0;
	return err_set(w->found->err, CORDON_E_HOST,
		       "'%.300s' cannot be looked through for names that are denied or protected",
		       path);
}

static DIR *open_folder(int parent, const char *name, int flags)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d && fd >= 0)
		close(fd);
	return d;
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static const char *join(struct walk *w, const char *path, const char *name)
{
	const char *full = path_join(w->found->plan->arena, path, name);

	if (!full)
		err_nomem(w->found->err);
	return full;
}

static int walk(struct walk *w, int parent, const char *name, const char *path);

static int walk_entry(struct walk *w, int dir, const char *path, const struct dirent *e)
{
	const char *full = join(w, path, e->d_name);
	bool whole;

	if (!full || count_entry(w) < 0 || add_hits(w, full, &whole) < 0)
		return -1;
	return !whole && (e->d_type == DT_DIR || e->d_type == DT_UNKNOWN) ?
		       walk(w, dir, e->d_name, full) :
		       0;
}

static int walk(struct walk *w, int parent, const char *name, const char *path)
{
	DIR *d = open_folder(parent, name, O_NOFOLLOW);
	const struct dirent *e;
	int rc = 0;

	if (!d)
		return judge_unlisted(w, path);
	if (++w->depth > MAX_WALK_DEPTH)
		rc = err_set(w->found->err, CORDON_E_HOST, "'%.300s' is too deep to look through",
			     path);
	while (rc == 0 && (e = readdir(d)))
		if (!is_dots(e->d_name))
			rc = walk_entry(w, dirfd(d), path, e);
	w->depth--;
	closedir(d);
	return rc;
}

/* What a pattern with a place of its own means, from one of its parts on. */
static int expand(struct walk *w, const struct pattern *p, size_t part, const char *path)
{
	const struct dirent *e;
	const char *full;
	int rc = 0;
	DIR *d;

	if (part == p->n)
		return p->name->below && !is_folder(path) ? 0 : add_hit(w, path, p->name);
	if (!memchr(p->raw[part].s, '*', p->raw[part].n)) {
		full = arena_printf(w->found->plan->arena, "%s/%.*s",
				    strcmp(path, "/") == 0 ? "" : path, STR_FMT(p->raw[part]));
		return full ? expand(w, p, part + 1, full) : err_nomem(w->found->err);
	}
	d = open_folder(AT_FDCWD, path, 0);
	if (!d)
		return judge_unlisted(w, path);
	while (rc == 0 && (e = readdir(d))) {
		rc = count_entry(w);
		if (rc < 0 || is_dots(e->d_name) ||
		    !name_matches(p->parts[part], str_from(e->d_name)))
			continue;
		full = join(w, path, e->d_name);
		rc = full ? expand(w, p, part + 1, full) : -1;
	}
	closedir(d);
	return rc;
}

int find_names(struct found *f)
{
	const struct plan *p = f->plan;
	struct walk w = { .found = f };
	bool whole;

	w.patterns = arena_new(p->arena, p->n_names + 1, sizeof(*w.patterns));
	if (!w.patterns)
		return err_nomem(f->err);
	for (size_t i = 0; i < p->n_names; i++) {
		struct pattern *last = &w.patterns[w.n_patterns];

		if (parse_pattern(f, &p->names[i], last) < 0)
			return -1;
		if (p->names[i].anywhere)
			w.n_patterns++;
		else if (expand(&w, last, 0, "/") < 0)
			return -1;
	}
	for (size_t i = 0; w.n_patterns && i < p->n_mounts; i++) {
		const char *root = p->mounts[i].source;

		if (p->mounts[i].root && (add_hits(&w, root, &whole) < 0 ||
					  (!whole && walk(&w, AT_FDCWD, root, root) < 0)))
			return -1;
	}
	return 0;
}
