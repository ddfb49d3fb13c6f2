/* What the patterns of files.deny and files.protect mean on this machine, looked
 * up before the clone: each file or folder that fits gets a mount.  What fits
 * and is made later is the guard's (super/guard_match.c), which takes patterns
 * by the same rules.
 *
 * A pattern at any depth is looked for below the roots of the policy and in the
 * presets of HOME and /opt; any other one where it says.  Nothing else is walked,
 * and nothing without patterns.
 * GAP: what the preset system_runtime shows is not looked through, unless a root
 * has it: nobody but root changes it, and it is larger than all the rest. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/native/find_priv.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/mount_table.h"
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
	struct mount_table mounts;	/* read with the first hit */
	struct map apart;		/* places that are walked by themselves, or not seen */
	bool only_read;			/* nothing can be written here anyway */
	char path[PATH_MAX];		/* where we are */
	size_t n_path;
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

/* Do the last components of a path fit the first `n` parts? */
static bool matches_tail(const struct pattern *p, size_t n, const char *path)
{
	const char *end = path + strlen(path);

	for (size_t i = n; i > 0; i--) {
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

struct hit {
	struct walk *walk;
	bool mask;
};

static int add_hit_at(void *arg, const char *path UNUSED, const char *at, struct cordon_err *err)
{
	const struct hit *h = arg;
	struct plan_mount m = { .kind = h->mask ? MOUNT_MASK : MOUNT_RO,
				.optional = true,
				.keep = !h->mask,
				.source = h->mask ? NULL : at,
				.target = at };

	if (++h->walk->hits > MAX_WALK_FOUND)
		return err_set(err, CORDON_E_HOST,
			       "more than %u files have a name that is denied or protected",
			       MAX_WALK_FOUND);
	return found_add(h->walk->found, &m);
}

/* A file that fits, and every place where a mount of the host shows it. */
static int add_hit(struct walk *w, const char *at, bool mask)
{
	struct arena *a = w->found->plan->arena;
	struct cordon_err *err = w->found->err;
	const char *path = arena_strndup(a, at, strlen(at)), *real;
	struct hit h = { w, mask };

	if (!path)
		return err_nomem(err);
	if ((!w->mounts.n && mount_table_read(&w->mounts, a, err) < 0) ||
	    add_hit_at(&h, path, path, err) < 0)
		return -1;
	/* A link to nothing is shown nowhere else. */
	if (path_resolve(a, str_from(path), "/", &real, err) < 0)
		return err->code == CORDON_E_POLICY ? 0 : -1;
	return mount_table_find(&w->mounts, real, add_hit_at, &h, err);
}

static int count_entry(struct walk *w, const char *path)
{
	if (++w->entries > MAX_WALK_ENTRIES)
		return err_set(w->found->err, CORDON_E_HOST,
			       "there are more than %u files to look through for a pattern of "
			       "files.deny or files.protect ('%.300s' was reached); name smaller "
			       "roots, or a path for the pattern",
			       MAX_WALK_ENTRIES, path);
	return 0;
}

/* Or what cannot be looked at, so that it is refused where it is to be held. */
static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? !err_is_absence() : S_ISDIR(st.st_mode);
}

/* Sets *ret_whole when all of it is masked, so that nobody needs to look inside. */
static int add_hits(struct walk *w, bool *ret_whole)
{
	*ret_whole = false;
	for (size_t i = 0; i < w->n_patterns; i++) {
		const struct pattern *p = &w->patterns[i];

		if (!matches_tail(p, p->n, w->path) || (w->only_read && !p->name->mask) ||
		    (p->name->below && !is_folder(w->path)))
			continue;
		if (add_hit(w, w->path, p->name->mask) < 0)
			return -1;
		*ret_whole |= p->name->mask;
	}
	return 0;
}

/* ---- walking ------------------------------------------------------------- */

/* A folder that cannot be listed.  Where the command could do no more than we
 * it hides nothing; but it may know a name, or give itself the right to list.
 * Below a root that is only read nobody works there: it is closed as a whole. */
static int judge_unlisted(struct walk *w, const char *path)
{
	struct stat st;

	if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)
		return 0;
	if (errno == EACCES && faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0 &&
	    stat(path, &st) == 0 && st.st_uid != geteuid())
		return 0;
	if (w->only_read && w->depth)
		return add_hit(w, path, true);
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

/* What a pattern with a place of its own means, from one of its parts on. */
static int expand(struct walk *w, const struct pattern *p, size_t part, const char *path)
{
	const struct dirent *e;
	const char *full;
	int rc = 0;
	DIR *d;

	if (part == p->n)
		return p->name->below && !is_folder(path) ? 0 : add_hit(w, path, p->name->mask);
	if (!memchr(p->raw[part].s, '*', p->raw[part].n)) {
		full = arena_printf(w->found->plan->arena, "%s/%.*s",
				    strcmp(path, "/") == 0 ? "" : path, STR_FMT(p->raw[part]));
		return full ? expand(w, p, part + 1, full) : err_nomem(w->found->err);
	}
	d = open_folder(AT_FDCWD, path, 0);
	if (!d)
		return judge_unlisted(w, path);
	while (rc == 0 && (e = readdir(d))) {
		rc = count_entry(w, path);
		if (rc < 0 || is_dots(e->d_name) ||
		    !name_matches(p->parts[part], str_from(e->d_name)))
			continue;
		full = join(w, path, e->d_name);
		rc = full ? expand(w, p, part + 1, full) : -1;
	}
	closedir(d);
	return rc;
}

/* Into a link, where the next part of a pattern is looked for. */
static int follow_link(struct walk *w)
{
	for (size_t i = 0; i < w->n_patterns; i++) {
		const struct pattern *p = &w->patterns[i];

		for (size_t n = 1; n < p->n; n++)
			if (matches_tail(p, n, w->path) && is_folder(w->path) &&
			    expand(w, p, n, w->path) < 0)
				return -1;
	}
	return 0;
}

static int walk(struct walk *w, int parent, const char *name);

static int walk_here(struct walk *w, int dir, const struct dirent *e)
{
	bool whole;

	if (count_entry(w, w->path) < 0)
		return -1;
	if (map_find(&w->apart, (struct str){ w->path, w->n_path }))
		return 0;
	if (add_hits(w, &whole) < 0)
		return -1;
	if (whole)
		return 0;
	if ((e->d_type == DT_LNK || e->d_type == DT_UNKNOWN) && follow_link(w) < 0)
		return -1;
	return e->d_type == DT_DIR || e->d_type == DT_UNKNOWN ? walk(w, dir, e->d_name) : 0;
}

static int walk_entry(struct walk *w, int dir, const struct dirent *e)
{
	size_t n = w->n_path, slash = n > 1, more = strlen(e->d_name);
	int rc;

	if (n + slash + more >= sizeof(w->path))
		return err_set(w->found->err, CORDON_E_HOST,
			       "'%.300s' has paths too long to look through", w->path);
	memcpy(w->path + n, "/", slash);
	memcpy(w->path + n + slash, e->d_name, more + 1);
	w->n_path += slash + more;
	rc = walk_here(w, dir, e);
	w->n_path = n;
	w->path[n] = '\0';
	return rc;
}

static int walk(struct walk *w, int parent, const char *name)
{
	DIR *d = open_folder(parent, name, O_NOFOLLOW);
	const struct dirent *e;
	int rc = 0;

	if (!d)
		return judge_unlisted(w, w->path);
	if (++w->depth > MAX_WALK_DEPTH)
		rc = err_set(w->found->err, CORDON_E_HOST, "'%.300s' is too deep to look through",
			     w->path);
	while (rc == 0 && (e = readdir(d)))
		if (!is_dots(e->d_name))
			rc = walk_entry(w, dirfd(d), e);
	w->depth--;
	closedir(d);
	return rc;
}

/* ---- where ---------------------------------------------------------------- */

/* The kernel's: files of nobody, and not seen but by a root that has all. */
static const char *const of_kernel[] = { "/proc", "/sys", "/dev" };

static bool is_of_system(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(of_kernel); i++)
		if (path_within(path, of_kernel[i]))
			return true;
	return path_within(path, "/etc");
}

static bool is_walked(const struct plan_mount *m)
{
	return m->root ||
	       (m->kind == MOUNT_RO && m->source && !m->keep && !is_of_system(m->source));
}

/* What is over the host's own files, so that nobody sees them. */
static bool is_cover(const struct plan_mount *m)
{
	return m->kind == MOUNT_MASK || m->kind == MOUNT_PRIVATE || m->kind == MOUNT_PROC;
}

static int set_apart(struct walk *w, const char *path)
{
	bool is_new;

	return map_add(&w->apart, w->found->plan->arena, str_from(path), 0, &is_new) ?
		       0 : err_nomem(w->found->err);
}

static int list_apart(struct walk *w)
{
	const struct plan *p = w->found->plan;

	for (size_t i = 0; i < ARRAY_SIZE(of_kernel); i++)
		if (set_apart(w, of_kernel[i]) < 0)
			return -1;
	for (size_t i = 0; i < p->n_mounts; i++) {
		const struct plan_mount *m = &p->mounts[i];

		if ((is_walked(m) && set_apart(w, m->source) < 0) ||
		    (is_cover(m) && set_apart(w, m->target) < 0))
			return -1;
	}
	return 0;
}

/* Does one of the folders that a path lies in fit? */
static bool is_below_hit(const struct pattern *p, const char *path)
{
	char above[PATH_MAX];
	size_t n = strlen(path);

	memcpy(above, path, n + 1);
	while (n > 1) {
		while (n > 1 && above[n - 1] != '/')
			n--;
		above[--n] = '\0';
		if (n && matches_tail(p, p->n, above))
			return true;
	}
	return false;
}

/* A root may lie in what fits, to which no walk from the root leads: then it is all of it,
 * as it is to the guard. */
static int add_root(struct walk *w, bool *ret_whole)
{
	if (add_hits(w, ret_whole) < 0)
		return -1;
	for (size_t i = 0; i < w->n_patterns; i++) {
		const struct pattern *p = &w->patterns[i];

		if ((w->only_read && !p->name->mask) || !is_below_hit(p, w->path))
			continue;
		if (add_hit(w, w->path, p->name->mask) < 0)
			return -1;
		*ret_whole |= p->name->mask;
	}
	return 0;
}

static int walk_root(struct walk *w, const struct plan_mount *m)
{
	bool whole;

	w->n_path = strlen(m->source);
	if (w->n_path >= sizeof(w->path))
		return err_set(w->found->err, CORDON_E_HOST, "'%.300s' is too long", m->source);
	memcpy(w->path, m->source, w->n_path + 1);
	w->only_read = m->kind == MOUNT_RO;
	if (add_root(w, &whole) < 0)
		return -1;
	return whole ? 0 : walk(w, AT_FDCWD, m->source);
}

/* All roots that a link which fits leads to. */
static int add_behind(struct walk *w, const struct pattern *p, const struct plan_mount *link)
{
	const struct plan *plan = w->found->plan;

	for (size_t i = 0; i < plan->n_mounts; i++) {
		const struct plan_mount *m = &plan->mounts[i];

		if (is_walked(m) && path_within(m->source, link->source) &&
		    (p->name->mask || m->kind != MOUNT_RO) &&
		    add_hit(w, m->source, p->name->mask) < 0)
			return -1;
	}
	return 0;
}

/* Roots are known by what they are; but inside, the links to them are names of theirs. */
static int find_by_links(struct walk *w)
{
	const struct plan *plan = w->found->plan;

	for (size_t i = 0; i < plan->n_mounts; i++) {
		const struct plan_mount *m = &plan->mounts[i];

		if (m->kind != MOUNT_LINK || !m->optional || strlen(m->target) >= sizeof(w->path))
			continue;
		w->n_path = strlen(m->target);
		memcpy(w->path, m->target, w->n_path + 1);
		for (size_t k = 0; k < w->n_patterns; k++)
			if (matches_tail(&w->patterns[k], w->patterns[k].n, m->target) &&
			    add_behind(w, &w->patterns[k], m) < 0)
				return -1;
		if (follow_link(w) < 0)
			return -1;
	}
	return 0;
}

/* What is only read is not walked for what is only protected. */
static int walk_roots(struct walk *w)
{
	const struct plan *p = w->found->plan;
	bool any_mask = false;

	for (size_t i = 0; i < w->n_patterns; i++)
		any_mask |= w->patterns[i].name->mask;
	for (size_t i = 0; i < p->n_mounts; i++) {
		const struct plan_mount *m = &p->mounts[i];

		if (is_walked(m) && (any_mask || m->kind != MOUNT_RO) && walk_root(w, m) < 0)
			return -1;
	}
	return 0;
}

int find_names(struct found *f)
{
	const struct plan *p = f->plan;
	struct walk w = { .found = f };

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
	if (!w.n_patterns)
		return 0;
	return list_apart(&w) < 0 || find_by_links(&w) < 0 ? -1 : walk_roots(&w);
}
