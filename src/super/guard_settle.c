/* Where the guarded names really are, once the root of the tree is the actor's.
 *
 * A hundred names lie in a handful of folders, and next to none is a link or has one
 * on the way.  So what was found to be none is remembered, and a folder in which many
 * names are looked for is read at once.
 */
#include "super/guard_priv.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/listing.h"
#include "base/name.h"
#include "base/path.h"

#define N_PLAIN		16
#define MANY_LOOKS	12	/* reading all the names of a small folder takes as long */

/* What is known of the root so far. */
struct ground {
	struct str plain[N_PLAIN];	/* paths without a link; by turns */
	size_t n_plain;
	struct str looked;		/* the folder of the last names, and how many */
	unsigned n_looks;
	struct listing names;		/* in that, once there were many */
};

static bool is_plain(const struct ground *g, struct str path)
{
	for (size_t i = 0; i < MIN(g->n_plain, N_PLAIN); i++)
		if (str_eq(g->plain[i], path))
			return true;
	return false;
}

static void read_folder(struct ground *g)
{
	char path[PATH_MAX];
	cleanup_fd int fd = -1;

	g->names.whole = false;
	if (g->looked.n >= sizeof(path))
		return;
	memcpy(path, g->looked.s, g->looked.n);
	path[g->looked.n] = '\0';
	fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		listing_read(&g->names, fd);
}

/* Is it sure that `folder`, which is plain, has no such name? */
static bool lacks(struct ground *g, struct str folder, const char *name)
{
	if (!str_eq(folder, g->looked)) {
		g->looked = folder;
		g->n_looks = 0;
	}
	if (++g->n_looks < MANY_LOOKS)
		return false;
	if (g->n_looks == MANY_LOOKS)
		read_folder(g);
	return listing_lacks(&g->names, name);
}

/* A mask, for example: nobody inside can change its mode. */
static bool is_read_only(const char *path)
{
	struct statvfs fs;

	return statvfs(path, &fs) == 0 && fs.f_flag & ST_RDONLY;
}

bool guard_is_closed(const char *path)
{
	char folder[PATH_MAX];
	struct stat st;

	if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)
		return false;
	if (errno != EACCES || strlen(path) >= sizeof(folder))
		return true;
	memcpy(folder, path, strlen(path) + 1);
	while (stat(folder, &st) < 0) {
		char *slash = strrchr(folder, '/');

		if (!slash || !folder[1] || errno != EACCES)
			return true;
		slash[slash == folder] = '\0';
	}
	return st.st_uid == geteuid() && !is_read_only(folder);
}

enum step {
	STEP_PLAIN,
	STEP_MISSING,
	STEP_UNKNOWN,
	STEP_CLOSED
};

/* One part further: `path` ends behind it, `part` is where it begins. */
static enum step look(struct ground *g, struct str path, size_t part)
{
	char text[PATH_MAX], target[1];

	if (is_plain(g, path))
		return STEP_PLAIN;
	if (path.n >= sizeof(text))
		return STEP_UNKNOWN;
	memcpy(text, path.s, path.n);
	text[path.n] = '\0';
	if (part > 1 && lacks(g, str_first(path, part - 1), text + part))
		return STEP_MISSING;
	if (readlink(text, target, sizeof(target)) >= 0)
		return STEP_UNKNOWN;
	if (errno == ENOENT || errno == ENOTDIR)
		return STEP_MISSING;
	if (errno != EINVAL)
		return guard_is_closed(text) ? STEP_CLOSED : STEP_UNKNOWN;
	g->plain[g->n_plain++ % N_PLAIN] = path;
	return STEP_PLAIN;
}

/* Is there no link on the way, as far as there is anything? */
static enum step look_along(struct ground *g, struct str path)
{
	for (size_t at = 1; at <= path.n;) {
		size_t n = str_find(str_from_pos(path, at), '/');
		struct str part = str_first(str_from_pos(path, at), n);
		enum step s;

		if (!part.n || str_is(part, ".") || str_is(part, ".."))
			return STEP_UNKNOWN;
		s = look(g, str_first(path, at + n), at);
		if (s != STEP_PLAIN)
			return s;
		at += n + 1;
	}
	return STEP_PLAIN;
}

static int say_closed(const char *path, struct cordon_err *err)
{
	return err_set(err, CORDON_E_POLICY, "'%s' is closed to the guard", path);
}

/* --- patterns ---------------------------------------------------------------- */

/* A name with `*` in it leads over every link that fits one of its parts. */
struct fork {
	struct guard_names *names;
	struct guard_name like;
	unsigned n_seen;
	struct cordon_err *err;
};

static int settle_below(struct fork *f, const char *folder, struct str rest);

/* What is left of the name is guarded behind a link as well. */
static int settle_link(struct fork *f, const char *path, struct str rest)
{
	const char *real, *text;

	if (path_resolve(&f->names->arena, str_from(path), "/", &real, f->err) < 0)
		return f->err->code == CORDON_E_POLICY ? 0 : -1;
	text = arena_printf(&f->names->arena, "%s%s%.*s", real[1] || !rest.n ? real : "",
			    rest.n ? "/" : "", STR_FMT(rest));
	if (!text)
		return err_nomem(f->err);
	if (strcmp(text, "/") != 0 && guard_names_add(f->names, text, &f->like, f->err) < 0)
		return -1;
	return settle_below(f, real, rest);
}

/* `name` is in `folder`, to which no link leads; the rest of the parts comes behind it. */
static int settle_entry(struct fork *f, const char *folder, struct str name, struct str rest)
{
	const char *path = arena_printf(&f->names->arena, "%s/%.*s", folder[1] ? folder : "",
					STR_FMT(name));
	struct stat st;

	if (!path)
		return err_nomem(f->err);
	if (++f->n_seen > MAX_WALK_ENTRIES)
		return err_set(f->err, CORDON_E_POLICY, "too many files fit '%s'", f->like.text);
	if (lstat(path, &st) < 0)
		return guard_is_closed(path) ? say_closed(path, f->err) : 0;
	if (S_ISLNK(st.st_mode))
		return settle_link(f, path, rest);
	return S_ISDIR(st.st_mode) ? settle_below(f, path, rest) : 0;
}

static int settle_entries(struct fork *f, const char *folder, struct str part, struct str rest)
{
	char text[NAME_MAX + 1];
	struct str folded = { text, name_fold(part, text) };
	DIR *d = opendir(folder);
	const struct dirent *e;
	int rc = 0;

	if (!d)
		return guard_is_closed(folder) ? say_closed(folder, f->err) : 0;
	while (rc == 0 && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
		    name_matches(folded, str_from(e->d_name)))
			rc = settle_entry(f, folder, str_from(e->d_name), rest);
	closedir(d);
	return rc;
}

static int settle_below(struct fork *f, const char *folder, struct str rest)
{
	size_t n = str_find(rest, '/');
	struct str part = str_first(rest, n);

	if (!rest.n)
		return 0;
	rest = str_from_pos(rest, n < rest.n ? n + 1 : n);
	return memchr(part.s, '*', part.n) ? settle_entries(f, folder, part, rest)
					   : settle_entry(f, folder, part, rest);
}

/* --- all of them --------------------------------------------------------------- */

static int settle_path(struct guard_names *g, struct ground *ground, const struct guard_name *one,
		       struct cordon_err *err)
{
	const char *text = one->text, *real;
	enum step way = look_along(ground, str_from(text));
	struct stat st;

	if (way == STEP_CLOSED)
		return say_closed(text, err);
	if (way != STEP_UNKNOWN)
		return 0;
	/* Links may lead nowhere. */
	if (path_resolve(&g->arena, str_from(text), "/", &real, err) < 0)
		return err->code == CORDON_E_POLICY ? 0 : -1;
	if (lstat(real, &st) < 0 && guard_is_closed(real))
		return say_closed(real, err);
	return strcmp(real, text) != 0 && strcmp(real, "/") != 0 ?
		       guard_names_add(g, real, one, err) : 0;
}

int guard_names_settle(struct guard_names *g, struct cordon_err *err)
{
	struct ground ground = { 0 };
	size_t n = g->n;

	for (size_t i = 0; i < n; i++) {
		const struct guard_name one = g->items[i];
		struct fork f = { .names = g, .like = one, .err = err };
		int rc = 0;

		if (!one.anywhere)
			rc = one.n_literal == one.n_parts ?
				     settle_path(g, &ground, &one, err) :
				     settle_below(&f, "/", str_from(one.text + 1));
		if (rc < 0)
			return -1;
	}
	return 0;
}
