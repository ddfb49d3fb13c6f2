/* Links in folders that are protected, those of HOME, and what variables move; see held.h.
 *
 * A hundred names are looked for, and next to none is there: each root is listed once.
 */
#include "lib/held.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/listing.h"
#include "base/path.h"
#include "plan/presets.h"

struct search {
	struct composition *c;
	struct plan_request *r;
	const char *set;		/* that is looked for */
	struct listing names;		/* in the root that is */
	struct cordon_err *err;
};

/* ---- one folder ----------------------------------------------------------------- */

/* A command could close its own folder, so that the next run sees no link in it; one of
 * somebody else it cannot open again. */
static int judge_closed(struct search *s, const char *path)
{
	struct str folder = str_from(path);
	struct stat st = { 0 };
	const char *at;

	if (err_is_absence() || errno == ELOOP)
		return 0;
	/* No descriptor left, for example: no mode would help. */
	if (errno != EACCES)
		return err_sys(s->err, CORDON_E_HOST,
			       "files.protect: it cannot be told where '%s' leads", path);
	do {
		at = arena_strndup(&s->c->arena, folder.s, folder.n);
		if (!at)
			return err_nomem(s->err);
		while (folder.n > 1 && folder.s[--folder.n] != '/')
			;
	} while (stat(at, &st) < 0 && folder.n > 1);
	if (st.st_uid != geteuid())
		return 0;
	return err_set(s->err, CORDON_E_HOST,
		       "files.protect: what '%s' leads to cannot be held, for '%s' is closed to "
		       "cordon (chmod u+rwx)", path, at);
}

static bool has_root_in(const struct search *s, const char *path)
{
	const struct field_value *write = &s->c->policy.base.f[F_FILES_WRITE];

	for (size_t i = 0; i < write->n; i++)
		if (path_within(write->items[i].text.s, path))
			return true;
	return false;
}

static int hold(struct search *s, const char *path, const char *folder)
{
	struct plan_held_link *links;

	if (s->r->n_held_links == MAX_HELD_LINKS)
		return err_set(s->err, CORDON_E_HOST,
			       "files.protect: there are over %d links in protected folders, the "
			       "last in '%s'", MAX_HELD_LINKS, folder);
	links = arena_grow(&s->c->arena, s->r->held_links, s->r->n_held_links,
			   &s->r->cap_held_links, sizeof(*links));
	if (!links)
		return err_nomem(s->err);
	s->r->held_links = links;
	links[s->r->n_held_links++] = (struct plan_held_link){ path, s->set };
	return 0;
}

/* By the link's own name: all links on the way are held with what they lead to.  Nothing is
 * to be done for what cannot be written, or is held with the folder. */
static int add_link(struct search *s, const char *folder, const char *name)
{
	const char *link = path_join(&s->c->arena, folder, name), *real;

	if (!link)
		return err_nomem(s->err);
	if (path_resolve(&s->c->arena, str_from(link), "/", &real, s->err) < 0)
		return err_wrap(s->err, "files.protect: it cannot be told where '%s' leads", link);
	if (!compose_is_writable(s->c, real) || path_within(real, folder) || has_root_in(s, real))
		return 0;
	return hold(s, link, folder);
}

static bool is_link(int dir, const struct dirent *e)
{
	struct stat st;

	if (e->d_type != DT_UNKNOWN)
		return e->d_type == DT_LNK;
	return fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISLNK(st.st_mode);
}

static int read_folder(struct search *s, const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *e;
	int rc = 0;

	if (!dir)
		return judge_closed(s, path);
	while (rc == 0 && (e = readdir(dir)))
		if (is_link(dirfd(dir), e))
			rc = add_link(s, path, e->d_name);
	closedir(dir);
	return rc;
}

/* ---- where the sets hold ---------------------------------------------------------- */

static bool lacks(const struct search *s, const char *name)
{
	char first[NAME_MAX + 1] = "";
	size_t n = strcspn(name, "/");

	memcpy(first, name, MIN(n, sizeof(first) - 1));
	return listing_lacks(&s->names, first);
}

static int read_set(struct search *s, const char *root, const struct protected_set *set)
{
	s->set = set->word;
	for (size_t i = 0; set->names[i]; i++) {
		const char *path;

		if (lacks(s, set->names[i]))
			continue;
		path = path_join(&s->c->arena, root, set->names[i]);
		if (!path)
			return err_nomem(s->err);
		/* A root that is such a name itself is meant to be written. */
		if (compose_is_writable(s->c, path) && !has_root_in(s, path) &&
		    read_folder(s, path) < 0)
			return -1;
	}
	return 0;
}

static bool is_wanted(const struct search *s, const char *word)
{
	const struct field_value *protect = &s->c->policy.base.f[F_FILES_PROTECT];

	for (size_t i = 0; i < protect->n; i++)
		if (str_is(protect->items[i].text, word))
			return true;
	return false;
}

static int read_root(struct search *s, const char *root)
{
	cleanup_fd int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return judge_closed(s, root);
	listing_read(&s->names, dir);
	for (const struct protected_set *set = protected_sets; set->word; set++)
		if (is_wanted(s, set->word) && read_set(s, root, set) < 0)
			return -1;
	return 0;
}

/* Below HOME where a writable root has it, or lies in it. */
static int read_home(struct search *s, const char *home)
{
	const struct field_value *write = &s->c->policy.base.f[F_FILES_WRITE];

	for (size_t i = 0; home && i < write->n; i++) {
		const char *root = write->items[i].text.s;

		if (strcmp(root, home) == 0)
			return 0;
		if (path_within(root, home) || path_within(home, root))
			return read_root(s, home);
	}
	return 0;
}

/* ---- links of a home --------------------------------------------------------------- */

static bool has_link(int home, const char *name)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS };
	cleanup_fd int fd = (int)syscall(SYS_openat2, home, name, &how, sizeof(how));

	/* What cannot be told is looked at as if it were one. */
	return fd < 0 && !err_is_absence();
}

struct home {
	const char *path;
	int dir;
};

/* Where it leads by a link; NULL: it is none, or leads in circles. */
static int follow(struct search *s, const void *how, const char *name, const char **ret)
{
	const struct home *home = how;
	const char *path;

	*ret = NULL;
	if (lacks(s, name) || !has_link(home->dir, name))
		return 0;
	path = path_join(&s->c->arena, home->path, name);
	if (!path)
		return err_nomem(s->err);
	if (path_resolve(&s->c->arena, str_from(path), "/", ret, s->err) < 0) {
		*ret = NULL;
		return s->err->code == CORDON_E_POLICY ? 0 : -1;
	}
	return 0;
}

/* A root need not have the link to have what it leads to: `~/.bashrc -> dotfiles/bashrc`. */
static int hold_real(struct search *s, const char *real, const char *home)
{
	if (!real || !compose_is_writable(s->c, real) || has_root_in(s, real))
		return 0;
	return hold(s, real, home) < 0 ? -1 : read_folder(s, real);
}

/* What is neither file nor folder keeps nothing: a history may lead to /dev/null. */
static int close_real(struct search *s, const char *real)
{
	struct stat st;

	if (!real || (stat(real, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return 0;
	return plan_paths_add(&s->c->arena, &s->r->credentials, real, s->err);
}

/* Where a name of HOME is: `*ret` is its real path, or NULL where nothing is to be done. */
typedef int locate_fn(struct search *s, const void *how, const char *name, const char **ret);

static int locate_all(struct search *s, locate_fn *locate, const void *how, const char *home)
{
	const char *real;

	for (const struct protected_set *set = protected_sets; set->word; set++) {
		s->set = set->word;
		for (size_t i = 0; is_wanted(s, set->word) && set->names[i]; i++)
			if (locate(s, how, set->names[i], &real) < 0 ||
			    hold_real(s, real, home) < 0)
				return -1;
	}
	for (size_t i = 0; credentials[i]; i++)
		if (locate(s, how, credentials[i], &real) < 0 || close_real(s, real) < 0)
			return -1;
	return 0;
}

static int read_links(struct search *s, const char *path)
{
	cleanup_fd int dir = path ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	const struct home home = { path, dir };

	if (!path || (dir < 0 && (err_is_absence() || errno == EACCES)))
		return 0;	/* no links, then */
	if (dir < 0)
		return err_sys(s->err, CORDON_E_HOST, "cannot look for links in '%s'", path);
	listing_read(&s->names, dir);
	return locate_all(s, follow, &home, path);
}

/* ---- what variables move ----------------------------------------------------------- */

struct move {
	const char *folder;		/* of HOME */
	const char *to;			/* real */
};

static int move(struct search *s, const void *how, const char *name, const char **ret)
{
	const struct move *m = how;
	size_t n = strlen(m->folder);

	*ret = NULL;
	if (strncmp(name, m->folder, n) != 0 || (n && name[n] && name[n] != '/'))
		return 0;
	/* HOME as a whole is moved for zsh alone. */
	if (!n && strncmp(name, ".z", 2) != 0)
		return 0;
	name += n + (name[n] == '/');
	*ret = *name ? path_join(&s->c->arena, m->to, name) : m->to;
	return *ret ? 0 : err_nomem(s->err);
}

/* Then it is not moved, and all is done. */
static int is_at_home(struct search *s, const struct move *m, bool *ret)
{
	const char *const homes[] = { s->r->home, s->r->own_home };

	*ret = false;
	for (size_t i = 0; i < ARRAY_SIZE(homes) && !*ret; i++) {
		const char *at = homes[i] && *m->folder ?
			path_join(&s->c->arena, homes[i], m->folder) : homes[i];

		if (homes[i] && !at)
			return err_nomem(s->err);
		*ret = at && strcmp(m->to, at) == 0;
	}
	return 0;
}

/* The caller's own settings and keys, where it keeps them in a root. */
static int read_moved(struct search *s)
{
	for (const struct moved_folder *f = moved_folders; f->variable; f++) {
		const char *to = getenv(f->variable);
		struct move m = { .folder = f->folder };
		bool is_done;

		if (!to || *to != '/')
			continue;
		/* What leads in circles leads nobody to a key either. */
		if (path_resolve(&s->c->arena, str_from(to), "/", &m.to, s->err) < 0) {
			if (s->err->code != CORDON_E_POLICY)
				return -1;
			continue;
		}
		if (is_at_home(s, &m, &is_done) < 0 ||
		    (!is_done && locate_all(s, move, &m, m.to) < 0))
			return -1;
	}
	return 0;
}

/* Of git: folders by another name, and those of hooks that a configuration names. */
static int read_git(struct search *s)
{
	const struct plan_request *r = s->r;

	s->set = "git";
	for (size_t i = 0; i < r->git_folders.n; i++) {
		const char *hooks = path_join(&s->c->arena, r->git_folders.paths[i], "hooks");

		if (!hooks)
			return err_nomem(s->err);
		if (read_folder(s, hooks) < 0)
			return -1;
	}
	for (size_t i = 0; i < r->git_files.n; i++)
		if (!has_root_in(s, r->git_files.paths[i]) &&
		    read_folder(s, r->git_files.paths[i]) < 0)
			return -1;
	return 0;
}

int held_find(struct composition *c, struct plan_request *r, struct cordon_err *err)
{
	const struct field_value *write = &c->policy.base.f[F_FILES_WRITE];
	struct search s = { .c = c, .r = r, .err = err };

	for (size_t i = 0; i < write->n; i++)
		if (read_root(&s, write->items[i].text.s) < 0)
			return -1;
	for (size_t i = 0; i < r->named_roots.n; i++)
		if (compose_is_writable(c, r->named_roots.paths[i]) &&
		    read_root(&s, r->named_roots.paths[i]) < 0)
			return -1;
	if (read_home(&s, r->home) < 0 || read_home(&s, r->own_home) < 0 ||
	    read_links(&s, r->home) < 0 || read_links(&s, r->own_home) < 0 || read_moved(&s) < 0)
		return -1;
	return read_git(&s);
}
