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
#include "base/syscalls.h"
#include "lib/ways.h"
#include "plan/presets.h"

struct search {
	struct composition *c;
	struct plan_request *r;
	const char *set;		/* that is looked for */
	const char *at;			/* the folder or name where links are looked for */
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

static bool has_in(const struct search *s, enum field_id id, const char *path)
{
	const struct field_value *roots = &s->c->policy.base.f[id];

	for (size_t i = 0; i < roots->n; i++)
		if (path_within(roots->items[i].text.s, path))
			return true;
	return false;
}

static bool has_root_in(const struct search *s, const char *path)
{
	return has_in(s, F_FILES_WRITE, path);
}

static int hold(struct search *s, const char *path)
{
	struct plan_held_link *links;

	for (size_t i = 0; i < s->r->n_held_links; i++)
		if (s->r->held_links[i].set == s->set &&
		    strcmp(s->r->held_links[i].path, path) == 0)
			return 0;
	if (s->r->n_held_links == MAX_HELD_LINKS)
		return err_set(s->err, CORDON_E_HOST,
			       "files.protect: there are over %d links in protected folders, the "
			       "last in '%s'", MAX_HELD_LINKS, s->at);
	links = arena_grow(&s->c->arena, s->r->held_links, s->r->n_held_links,
			   &s->r->cap_held_links, sizeof(*links));
	if (!links)
		return err_nomem(s->err);
	s->r->held_links = links;
	links[s->r->n_held_links++] = (struct plan_held_link){ path, s->set };
	return 0;
}

/* What cannot be written needs no holding; and a root is meant to be written. */
static int hold_one(void *data, const char *path, struct cordon_err *err UNUSED)
{
	struct search *s = data;

	return compose_is_replaceable(s->c, path) ? hold(s, path) : 0;
}

struct way {
	struct search *s;
	const char *folder, *real;	/* from a link in this to that */
	bool is_told;			/* by names alone */
};

/* What lies in the folder is held with it. */
static int hold_outside(void *data, const char *path, struct cordon_err *err)
{
	struct way *w = data;

	w->is_told |= strcmp(path, w->real) == 0;
	return path_within(path, w->folder) ? 0 : hold_one(w->s, path, err);
}

static int add_way(struct search *s, const char *path)
{
	return ways_add(s->c, s->r, path, s->err);
}

static int add_way_back(void *data, const char *path, struct cordon_err *err UNUSED)
{
	return add_way(data, path);
}

static int add_way_of_link(void *data, const char *path, struct cordon_err *err UNUSED)
{
	const struct way *w = data;

	return add_way(w->s, path);
}

/* By each name on the way, wherever it ends: a link in a root could be led elsewhere, though it
 * leads out of there, and inside none is seen that lies outside and leads back.  What names
 * cannot tell is found by the link's own. */
static int add_link(struct search *s, const char *folder, const char *name)
{
	const char *link = path_join(&s->c->arena, folder, name);
	struct way w = { .s = s, .folder = folder };
	const struct path_visitor v = { hold_outside, add_way_of_link, &w };

	if (!link)
		return err_nomem(s->err);
	if (path_resolve(&s->c->arena, str_from(link), "/", &w.real, s->err) < 0)
		return err_wrap(s->err, "files.protect: it cannot be told where '%s' leads", link);
	if (has_root_in(s, w.real))
		return 0;
	if (path_follow_all(&s->c->arena, str_from(link), "/", &v, s->err) < 0)
		return -1;
	return w.is_told || path_within(w.real, folder) ? 0 : hold_one(s, link, s->err);
}

static bool is_link(int dir, const struct dirent64 *e)
{
	struct stat st;

	if (e->d_type != DT_UNKNOWN)
		return e->d_type == DT_LNK;
	return fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISLNK(st.st_mode);
}

static int add_links(struct search *s, const char *path, int dir, const char *entries, ssize_t n)
{
	for (ssize_t at = 0; at < n;) {
		const struct dirent64 *e = (const void *)(entries + at);

		if (is_link(dir, e) && add_link(s, path, e->d_name) < 0)
			return -1;
		at += e->d_reclen;
	}
	return 0;
}

/* Without opendir(), which asks for memory: nearly every run reads two such folders. */
static int read_folder(struct search *s, const char *path)
{
	_Alignas(struct dirent64) char entries[4096];
	cleanup_fd int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ssize_t n;

	if (dir < 0)
		return judge_closed(s, path);
	s->at = path;
	while ((n = sys_getdents64(dir, entries, sizeof(entries))) > 0)
		if (add_links(s, path, dir, entries, n) < 0)
			return -1;
	return n < 0 ? judge_closed(s, path) : 0;
}

/* ---- links on the way to one --------------------------------------------------------- */

static bool has_link(int home, const char *name)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS };
	cleanup_fd int fd = (int)syscall(SYS_openat2, home, name, &how, sizeof(how));

	/* What cannot be told is looked at as if it were one. */
	return fd < 0 && !err_is_absence();
}

static int hold_folder(void *data, const char *path, struct cordon_err *err UNUSED)
{
	struct search *s = data;

	s->at = path;
	if (!compose_is_replaceable(s->c, path))
		return 0;
	return hold(s, path) < 0 ? -1 : read_folder(s, path);
}

/* A root need not have the link to have what it leads to, or others on the way there:
 * `~/.bashrc -> dotfiles/bashrc`. */
static int hold_way(void *data, const char *path, struct cordon_err *err)
{
	struct search *s = data;
	const struct path_visitor v = { hold_one, add_way_back, s };
	const char *real;

	if (!has_link(AT_FDCWD, path))
		return hold_folder(s, path, err);
	/* What leads in circles is no more than a name. */
	if (path_resolve(&s->c->arena, str_from(path), "/", &real, err) < 0)
		return err->code == CORDON_E_POLICY ? hold_one(s, path, err) : -1;
	if (has_root_in(s, real))
		return 0;
	s->at = path;
	if (path_follow_all(&s->c->arena, str_from(path), "/", &v, err) < 0)
		return -1;
	return hold_folder(s, real, err);
}

/* ---- where the sets hold ---------------------------------------------------------- */

static bool lacks(const struct search *s, const char *name)
{
	return listing_find(&s->names, (struct str){ name, strcspn(name, "/") }) == LISTING_NONE;
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
		if (!compose_is_replaceable(s->c, path))
			continue;
		if ((has_link(AT_FDCWD, path) ? hold_way(s, path, s->err) :
						read_folder(s, path)) < 0)
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

/* Most of the names are looked for in few folders, and each of those is listed once.  Asking
 * the kernel for this many costs less. */
#define FEW_NAMES	3

struct listed {
	const char *path;		/* below HOME */
	int n_asked;
	struct listing names;
	struct listed *next;
};

struct home {
	const char *path;
	int dir;
	struct listing names;		/* next to all end here */
	struct listed *folders;
};

static struct listed *folder_of(struct search *s, struct home *home, struct str path)
{
	struct listed *l;

	for (l = home->folders; l; l = l->next)
		if (str_is(path, l->path))
			return l;
	l = arena_new(&s->c->arena, 1, sizeof(*l));
	if (!l)
		return NULL;
	l->path = arena_strndup(&s->c->arena, path.s, path.n);
	l->next = home->folders;
	home->folders = l;
	return l->path ? l : NULL;
}

static const struct listing *list(struct search *s, struct home *home, struct str path)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS };
	struct listed *l = path.n ? folder_of(s, home, path) : NULL;

	if (!path.n)
		return &home->names;
	if (l && ++l->n_asked == FEW_NAMES) {
		cleanup_fd int dir = (int)syscall(SYS_openat2, home->dir, l->path, &how,
						  sizeof(how));

		listing_read(&l->names, dir);
	}
	return l ? &l->names : NULL;
}

/* What has the name, as far as listings tell.  A link on the way is one, too. */
static int look(struct search *s, struct home *home, const char *name, enum listing_kind *ret)
{
	size_t folder = 0, n;

	for (;;) {
		const struct listing *l =
			list(s, home, (struct str){ name, folder ? folder - 1 : 0 });

		if (!l)
			return err_nomem(s->err);
		n = strcspn(name + folder, "/");
		*ret = listing_find(l, (struct str){ name + folder, n });
		if (*ret != LISTING_OTHER || !name[folder + n])
			return 0;
		folder += n + 1;
	}
}

/* NULL: it is no link, and has none on the way. */
static int follow(struct search *s, void *how, const char *name, const char **ret)
{
	struct home *home = how;
	enum listing_kind kind;

	*ret = NULL;
	if (look(s, home, name, &kind) < 0)
		return -1;
	if (kind == LISTING_NONE || kind == LISTING_OTHER || !has_link(home->dir, name))
		return 0;
	*ret = path_join(&s->c->arena, home->path, name);
	return *ret ? 0 : err_nomem(s->err);
}

/* What is neither file nor folder keeps nothing: a history may lead to /dev/null. */
static int close_real(struct search *s, const char *real)
{
	struct stat st;

	if (stat(real, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return 0;
	return plan_paths_add(&s->c->arena, &s->r->credentials, real, s->err);
}

/* By a name that links lead from: in a root they could be taken away, and others be made.  What
 * the policy names where they lead is meant to be seen by this name, too. */
static int close_name(void *data, const char *path, struct cordon_err *err)
{
	struct search *s = data;
	const char *real;

	if (!compose_is_writable(s->c, path))
		return 0;
	if (path_resolve(&s->c->arena, str_from(path), "/", &real, err) < 0)
		return err->code == CORDON_E_POLICY ? 0 : -1;
	if (has_root_in(s, real) || has_in(s, F_FILES_READ, real))
		return 0;
	return close_real(s, path);
}

static int close_way(void *data, const char *path, struct cordon_err *err)
{
	struct search *s = data;
	const struct path_visitor v = { close_name, add_way_back, s };
	const char *real;

	if (!has_link(AT_FDCWD, path))
		return close_real(s, path);
	/* What leads in circles leads nobody to a key, but can be replaced. */
	if (path_resolve(&s->c->arena, str_from(path), "/", &real, err) < 0)
		return err->code == CORDON_E_POLICY ? close_real(s, path) : -1;
	if (path_follow_all(&s->c->arena, str_from(path), "/", &v, err) < 0)
		return -1;
	return close_real(s, real);
}

/* Where a name of HOME is; `*ret` is NULL where nothing is to be done. */
typedef int locate_fn(struct search *s, void *how, const char *name, const char **ret);

static int hold_all(struct search *s, locate_fn *locate, void *how, path_act_fn *act)
{
	const char *path;

	for (const struct protected_set *set = protected_sets; set->word; set++) {
		if (!is_wanted(s, set->word))
			continue;
		s->set = set->word;
		for (size_t i = 0; set->names[i]; i++)
			if (locate(s, how, set->names[i], &path) < 0 ||
			    (path && act(s, path, s->err) < 0))
				return -1;
	}
	return 0;
}

static int close_all(struct search *s, locate_fn *locate, void *how, path_act_fn *act)
{
	const char *path;

	for (size_t i = 0; credentials[i]; i++)
		if (locate(s, how, credentials[i], &path) < 0 ||
		    (path && act(s, path, s->err) < 0))
			return -1;
	return 0;
}

static int locate_all(struct search *s, locate_fn *locate, void *how)
{
	return hold_all(s, locate, how, hold_way) < 0 ? -1 : close_all(s, locate, how, close_way);
}

static int read_links(struct search *s, const char *path)
{
	cleanup_fd int dir = path ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	struct home home = { .path = path, .dir = dir };

	if (!path || (dir < 0 && (err_is_absence() || errno == EACCES)))
		return 0;	/* no links, then */
	if (dir < 0)
		return err_sys(s->err, CORDON_E_HOST, "cannot look for links in '%s'", path);
	listing_read(&home.names, dir);
	return locate_all(s, follow, &home);
}

/* ---- what variables move ----------------------------------------------------------- */

struct move {
	const char *folder;		/* of HOME */
	const char *only;		/* what names of it begin with that are moved */
	const char *to;
};

static int move(struct search *s, void *how, const char *name, const char **ret)
{
	const struct move *m = how;
	size_t n = strlen(m->folder);

	*ret = NULL;
	if (strncmp(name, m->folder, n) != 0 || (n && name[n] && name[n] != '/'))
		return 0;
	if (strncmp(name, m->only, strlen(m->only)) != 0)
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

struct names {
	struct search *s;
	struct move move;
	const char *real;		/* which is done */
};

static int hold_names_at(void *data, const char *path, struct cordon_err *err UNUSED)
{
	struct names *n = data;

	/* Behind a link that no root has are no names that one has. */
	if (strcmp(path, n->real) == 0 || !compose_is_writable(n->s->c, path))
		return 0;
	n->move.to = path;
	return hold_all(n->s, move, &n->move, hold_folder) < 0 ? -1 :
	       close_all(n->s, move, &n->move, close_name);
}

static int add_way_of_names(void *data, const char *path, struct cordon_err *err UNUSED)
{
	const struct names *n = data;

	return add_way(n->s, path);
}

/* By each name that links on the way to `real` give it: in a root they could be led elsewhere,
 * and what is not there anybody's to make. */
static int hold_names(struct search *s, struct move m, const char *real)
{
	struct names n = { s, m, real };
	const struct path_visitor v = { hold_names_at, add_way_of_names, &n };

	return path_follow_all(&s->c->arena, str_from(m.to), s->c->here, &v, s->err);
}

static int read_move(struct search *s, const struct moved_folder *f, const char *to)
{
	struct move m = { .folder = f->folder, .only = f->only };
	bool is_done;

	/* What leads in circles leads nobody to a key either. */
	if (path_resolve(&s->c->arena, str_from(to), s->c->here, &m.to, s->err) < 0)
		return s->err->code == CORDON_E_POLICY ? 0 : -1;
	if (is_at_home(s, &m, &is_done) < 0 || (!is_done && locate_all(s, move, &m) < 0))
		return -1;
	return hold_names(s, (struct move){ f->folder, f->only, to }, m.to);
}

/* A variable that it begins with, as bash takes it; whatever else a shell would make of a text
 * cannot be told. */
static const char *expand(struct search *s, const char *value)
{
	bool braced = value[0] == '$' && value[1] == '{';
	const char *from = value + 1 + braced, *found;
	size_t n = strspn(from, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz0123456789");
	const char *rest = from + n + (braced && from[n] == '}'), *name;

	if (value[0] != '$' || *rest != '/')
		return value;
	name = arena_strndup(&s->c->arena, from, n);
	if (!name)
		return NULL;
	found = strcmp(name, "PWD") == 0 ? s->c->here : getenv(name);
	return found ? arena_printf(&s->c->arena, "%s%s", found, rest) : value;
}

static int read_place(struct search *s, const struct moved_folder *f, struct str place)
{
	const char *to = arena_strndup(&s->c->arena, place.s, place.n);

	if (to && f->how == MOVED_BY_SHELL)
		to = expand(s, to);
	if (!to)
		return err_nomem(s->err);
	return *to ? read_move(s, f, to) : 0;
}

static int read_variable(struct search *s, const struct moved_folder *f)
{
	const char *value = getenv(f->variable);
	struct str rest = str_from(value ? value : "");

	while (rest.n) {
		size_t n = f->how == MOVED_LIST ? str_find(rest, ':') : rest.n;

		if (read_place(s, f, str_first(rest, n)) < 0)
			return -1;
		rest = str_from_pos(rest, MIN(n + 1, rest.n));
	}
	return 0;
}

/* The caller's own settings and keys, where it keeps them in a root. */
static int read_moved(struct search *s)
{
	if (s->r->home && hold_names(s, (struct move){ "", "", s->c->home }, s->r->home) < 0)
		return -1;
	for (const struct moved_folder *f = moved_folders; f->variable; f++)
		if (read_variable(s, f) < 0)
			return -1;
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
