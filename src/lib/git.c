/* What git takes from a workspace; see git.h.
 *
 * The configurations are as they were before the run: inside, they cannot be written.
 */
#include "lib/git.h"

#include <dirent.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"

#define MAX_GIT_FILES	256		/* and folders; more are refused */

struct search {
	struct composition *c;
	struct plan_request *r;
	const char *worktree;		/* what core.hooksPath is relative to */
	const char *dot;		/* its `.git`, which needs no finding */
	struct cordon_err *err;
};

/* ---- collecting ------------------------------------------------------------- */

static int add(struct search *s, struct plan_paths *list, const char *path)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->paths[i], path) == 0)
			return 0;
	if (list->n == MAX_GIT_FILES)
		return err_set(s->err, CORDON_E_HOST,
			       "files.protect: git names more than %d files and folders below the "
			       "writable roots", MAX_GIT_FILES);
	return plan_paths_add(&s->c->arena, list, path, s->err);
}

static bool is_writable(const struct search *s, const char *path)
{
	const struct field_value *write = &s->c->policy.base.f[F_FILES_WRITE];

	for (size_t i = 0; i < write->n; i++)
		if (path_within(path, write->items[i].text.s))
			return true;
	return false;
}

/* An empty text where there is none to be read; nobody is waited for. */
static struct str read_text(struct search *s, const char *path)
{
	struct cordon_err ignored;
	struct stat st;
	struct str text;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) ||
	    fd_read_file(path, MAX_SOURCE_BYTES, &s->c->arena, &text, &ignored) < 0)
		return STR("");
	return text;
}

/* What git takes a path for: below HOME, or from a base. */
static struct str expand(const struct search *s, struct str path, const char **base)
{
	if (!str_starts(path, "~/") || !s->c->home)
		return path;
	*base = s->c->home;
	return str_from_pos(path, 2);
}

/* NULL: there is no such path, or no memory (which the next one says). */
static const char *resolve(struct search *s, struct str path, const char *base)
{
	struct cordon_err ignored;
	const char *real;

	path = expand(s, path, &base);
	if (!path.n || path_resolve(&s->c->arena, path, base, &real, &ignored) < 0)
		return NULL;
	return real;
}

/* The name and what it leads to: a link can be taken away, and its name be given to
 * something else. */
static int add_file(struct search *s, struct str path, const char *base)
{
	const char *real = resolve(s, path, base), *name;

	if (real && is_writable(s, real) && add(s, &s->r->git_files, real) < 0)
		return -1;
	path = expand(s, path, &base);
	name = path.n ? path_normal(&s->c->arena, path, base) : NULL;
	return name && is_writable(s, name) ? add(s, &s->r->git_files, name) : 0;
}

/* ---- a configuration -------------------------------------------------------------- */

/* The value of a line, without its quotes and the comment behind it. */
static struct str read_value(struct arena *a, struct str raw)
{
	char *out = arena_new(a, raw.n + 1, 1);
	bool quoted = false;
	size_t n = 0;

	for (size_t i = 0; out && i < raw.n; i++) {
		char byte = raw.s[i];

		if (byte == '"') {
			quoted = !quoted;
			continue;
		}
		if (!quoted && (byte == '#' || byte == ';'))
			break;
		if (byte == '\\' && i + 1 < raw.n)
			byte = raw.s[++i];
		out[n++] = byte;
	}
	return str_trim((struct str){ out ? out : "", n });
}

static bool is_word(struct str text, const char *word)
{
	return text.n == strlen(word) && strncasecmp(text.s, word, text.n) == 0;
}

static const char *folder_of(struct arena *a, const char *file)
{
	return arena_strndup(a, file, (size_t)(strrchr(file, '/') - file) + 1);
}

/* One `key = value` of a section. */
static int read_entry(struct search *s, const char *file, struct str section, struct str line)
{
	size_t equals = str_find(line, '=');
	struct str key = str_trim(str_first(line, equals)), value;
	bool is_hooks = is_word(section, "core") && is_word(key, "hookspath");
	bool is_include = (is_word(section, "include") || is_word(section, "includeif")) &&
			  is_word(key, "path");
	const char *base;

	if (equals == line.n || (!is_hooks && !is_include))
		return 0;
	value = read_value(&s->c->arena, str_from_pos(line, equals + 1));
	/* husky: the hooks in `_` run those beside it. */
	if (is_hooks && str_ends(value, "/_"))
		value.n -= 2;
	base = is_hooks ? s->worktree : folder_of(&s->c->arena, file);
	return base ? add_file(s, value, base) : err_nomem(s->err);
}

/* `[section "sub"]`, with an entry behind it perhaps: what is left of the line. */
static struct str read_section(struct str line, struct str *ret_section)
{
	size_t end = str_find(line, ']');
	struct str inside = str_from_pos(str_first(line, end), 1);
	size_t n = 0;

	while (n < inside.n && inside.s[n] != '"' && inside.s[n] != ' ' && inside.s[n] != '\t')
		n++;
	*ret_section = str_first(inside, n);
	return str_trim(str_from_pos(line, end < line.n ? end + 1 : end));
}

static int read_config(struct search *s, const char *file)
{
	struct str rest = read_text(s, file), section = STR("");

	while (rest.n) {
		size_t end = str_find(rest, '\n');
		struct str line = str_trim(str_first(rest, end));

		rest = str_from_pos(rest, end < rest.n ? end + 1 : end);
		if (str_starts(line, "["))
			line = read_section(line, &section);
		if (line.n && read_entry(s, file, section, line) < 0)
			return -1;
	}
	return 0;
}

/* ---- a folder ------------------------------------------------------------------------ */

static bool has(struct search *s, const char *folder, const char *name)
{
	const char *path = path_join(&s->c->arena, folder, name);

	return path && access(path, F_OK) == 0;
}

static int read_folder(struct search *s, const char *folder)
{
	static const char *const configs[] = { "config", "config.worktree" };

	if (strcmp(folder, s->dot) != 0 && is_writable(s, folder) &&
	    add(s, &s->r->git_folders, folder) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(configs); i++) {
		const char *file = path_join(&s->c->arena, folder, configs[i]);

		if (!file)
			return err_nomem(s->err);
		if (read_config(s, file) < 0)
			return -1;
	}
	return 0;
}

/* What is there of other worktrees: without its commondir, each would be a repository of
 * its own.  Below `.git` of a root all of it is protected. */
static int add_worktrees(struct search *s, const char *folder)
{
	const char *all = path_join(&s->c->arena, folder, "worktrees"), *one;
	DIR *dir = all && strcmp(folder, s->dot) != 0 && is_writable(s, folder) ? opendir(all)
										 : NULL;
	struct dirent *e;
	int rc = all ? 0 : err_nomem(s->err);

	while (rc == 0 && dir && (e = readdir(dir)))
		if (e->d_name[0] != '.') {
			one = path_join(&s->c->arena, all, e->d_name);
			rc = one ? add(s, &s->r->git_folders, one) : err_nomem(s->err);
		}
	if (dir)
		closedir(dir);
	return rc;
}

/* And the one that it is a part of: of a worktree, the repository. */
static int read_folders(struct search *s, const char *folder)
{
	const char *file = path_join(&s->c->arena, folder, "commondir"), *common;

	if (!file)
		return err_nomem(s->err);
	common = resolve(s, str_trim(read_text(s, file)), folder);
	if (common && (read_folder(s, common) < 0 || add_worktrees(s, common) < 0))
		return -1;
	return read_folder(s, folder) < 0 ? -1 : add_worktrees(s, folder);
}

static int read_root(struct search *s, const char *root)
{
	const char *dot = path_join(&s->c->arena, root, ".git"), *folder;
	struct str text;

	if (!dot)
		return err_nomem(s->err);
	s->worktree = root;
	s->dot = dot;
	if (has(s, root, "HEAD") && has(s, root, "objects") && has(s, root, "refs") &&
	    read_folders(s, root) < 0)
		return -1;
	/* A folder or a link to one; else a file that says where it is. */
	if (has(s, dot, "."))
		folder = resolve(s, str_from(dot), "/");
	else if (text = read_text(s, dot), str_starts(text, "gitdir:"))
		folder = resolve(s, str_trim(str_from_pos(text, strlen("gitdir:"))), root);
	else
		return 0;
	return folder ? read_folders(s, folder) : 0;
}

int git_find(struct composition *c, struct plan_request *r, struct cordon_err *err)
{
	const struct field_value *write = &c->policy.base.f[F_FILES_WRITE];
	const struct field_value *protect = &c->policy.base.f[F_FILES_PROTECT];
	struct search s = { .c = c, .r = r, .err = err };
	bool wanted = false;

	for (size_t i = 0; i < protect->n; i++)
		wanted |= str_is(protect->items[i].text, "git");
	for (size_t i = 0; wanted && i < write->n; i++)
		if (read_root(&s, write->items[i].text.s) < 0)
			return -1;
	for (size_t i = 0; wanted && i < r->named_roots.n; i++)
		if (is_writable(&s, r->named_roots.paths[i]) &&
		    read_root(&s, r->named_roots.paths[i]) < 0)
			return -1;
	/* Files that files name; the list grows. */
	for (size_t i = 0; i < r->git_files.n; i++)
		if (read_config(&s, r->git_files.paths[i]) < 0)
			return -1;
	return 0;
}
