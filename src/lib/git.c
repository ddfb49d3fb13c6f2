/* What git takes from a workspace; see git.h.
 *
 * The configurations are as they were before the run: inside, they cannot be written.
 */
#include "lib/git.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"
#include "lib/accounts.h"
#include "lib/ways.h"

#define MAX_GIT_FILES	256		/* and folders; more are refused */

struct search {
	struct composition *c;
	struct plan_request *r;
	const char *worktree;		/* or above: what core.hooksPath is relative to */
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

/* A command could close what is its own, so that the next run would not know what git takes
 * from there. */
static int refuse_closed(struct search *s, const char *path)
{
	return err_sys(s->err, CORDON_E_HOST,
		       "files.protect: what git would run cannot be held, for '%s' is closed to "
		       "cordon (chmod u+rwx, or do without \"git\")", path);
}

/* The mode is 0 where there is nothing. */
static int look_at(struct search *s, const char *path, int flags, mode_t *ret_mode)
{
	struct stat st;

	if (!path)
		return err_nomem(s->err);
	*ret_mode = 0;
	if (fstatat(AT_FDCWD, path, &st, flags) == 0)
		*ret_mode = st.st_mode;
	else if (!err_is_absence())
		return refuse_closed(s, path);
	return 0;
}

/* An empty text where there is no file; nobody is waited for. */
static int read_text(struct search *s, const char *path, struct str *ret)
{
	mode_t mode;

	*ret = STR("");
	if (look_at(s, path, 0, &mode) < 0)
		return -1;
	return S_ISREG(mode) ? fd_read_file(path, MAX_SOURCE_BYTES, &s->c->arena, ret, s->err) : 0;
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

struct names {
	struct search *s;
	struct plan_paths *list;
};

static int add_name(void *data, const char *path, struct cordon_err *err UNUSED)
{
	const struct names *n = data;

	if (strcmp(path, n->s->dot) == 0 || !compose_is_writable(n->s->c, path))
		return 0;
	return add(n->s, n->list, path);
}

static int add_back(void *data, const char *path, struct cordon_err *err)
{
	const struct names *n = data;

	return ways_add(n->s->c, n->s->r, path, err);
}

/* What it leads to, and each name on the way: a link can be taken away, and its name be given
 * to something else. */
static int add_names(struct search *s, struct plan_paths *list, struct str path, const char *base)
{
	const char *real = resolve(s, path, base), *name;
	struct names n = { s, list };
	const struct path_visitor v = { add_name, add_back, &n };

	if (real && add_name(&n, real, s->err) < 0)
		return -1;
	path = expand(s, path, &base);
	if (!path.n)
		return 0;
	if (real)
		return path_follow_all(&s->c->arena, path, base, &v, s->err);
	name = path_normal(&s->c->arena, path, base);
	return name ? add_name(&n, name, s->err) : err_nomem(s->err);
}

/* ---- a configuration -------------------------------------------------------------- */

/* How many bytes end a line here: 0 to 2. */
static size_t ends_line(struct str text, size_t at)
{
	struct str rest = str_from_pos(text, at);

	return str_starts(rest, "\r\n") ? 2 : str_starts(rest, "\n");
}

/* Where a line ends: not behind a backslash, unless that is in a comment. */
static size_t find_end(struct str text)
{
	bool quoted = false, comment = false;
	size_t at = 0;

	for (; at < text.n && text.s[at] != '\n'; at++) {
		char byte = text.s[at];

		if (byte == '\\' && !comment)
			at += MAX(ends_line(text, at + 1), 1u);
		quoted ^= byte == '"';
		comment |= !quoted && (byte == '#' || byte == ';');
	}
	return MIN(at, text.n);
}

static char unescape(char byte)
{
	static const char letters[] = "tnb", meant[] = "\t\n\b";
	const char *at = byte ? strchr(letters, byte) : NULL;

	return at ? meant[at - letters] : byte;
}

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t' || byte == '\r';
}

/* The value of a line, without its quotes, the comment behind it and the ends of lines that
 * it goes over. */
static struct str read_value(struct arena *a, struct str raw)
{
	char *out = arena_new(a, raw.n + 1, 1);
	size_t n = 0, n_kept = 0;
	bool quoted = false;

	for (size_t i = 0; out && i < raw.n; i++) {
		char byte = raw.s[i];

		if (!quoted && (byte == '#' || byte == ';'))
			break;
		if (byte == '"') {
			quoted = !quoted;
			continue;
		}
		if (!quoted && is_blank(byte)) {
			out[n] = byte;
			n += n > 0;
			continue;
		}
		if (byte == '\\' && ends_line(raw, i + 1)) {
			i += ends_line(raw, i + 1);
			continue;
		}
		if (byte == '\\' && i + 1 < raw.n)
			byte = unescape(raw.s[++i]);
		out[n++] = byte;
		n_kept = n;
	}
	return (struct str){ out ? out : "", n_kept };
}

static bool is_word(struct str text, const char *word)
{
	return text.n == strlen(word) && strncasecmp(text.s, word, text.n) == 0;
}

static const char *folder_of(struct arena *a, const char *file)
{
	return arena_strndup(a, file, (size_t)(strrchr(file, '/') - file) + 1);
}

static bool has_name(const struct account *a, const void *name)
{
	return str_eq(a->name, *(const struct str *)name);
}

/* ~NAME/… is below that one's home, which git may learn from elsewhere as well. */
static int expand_user(struct search *s, const char *file, struct str *path)
{
	struct str name = str_first(*path, str_find(*path, '/')), rest;
	struct account user;
	const char *text;

	if (!str_starts(name, "~") || name.n == 1)
		return 0;
	rest = str_from_pos(*path, name.n);
	name = str_from_pos(name, 1);
	if (!account_find(&s->c->arena, has_name, &name, &user))
		return err_set(s->err, CORDON_E_HOST,
			       "files.protect: '%s' leads git to '%.*s', and /etc/passwd does not "
			       "say where that is; write the whole path there, or do without "
			       "\"git\"", file, STR_FMT(*path));
	text = arena_printf(&s->c->arena, "%.*s%.*s", STR_FMT(user.home), STR_FMT(rest));
	if (!text)
		return err_nomem(s->err);
	*path = str_from(text);
	return 0;
}

static int take_entry(struct search *s, const char *file, struct str section, struct str key,
		      struct str value)
{
	bool is_hooks = is_word(section, "core") && is_word(key, "hookspath");
	bool is_include = (is_word(section, "include") || is_word(section, "includeif")) &&
			  is_word(key, "path");
	const char *base;

	if (!is_hooks && !is_include)
		return 0;
	if (expand_user(s, file, &value) < 0)
		return -1;
	base = is_hooks ? s->worktree : folder_of(&s->c->arena, file);
	if (!base)
		return err_nomem(s->err);
	if (add_names(s, &s->r->git_files, value, base) < 0)
		return -1;
	/* husky: the hooks in `_` run those beside it. */
	if (!is_hooks || !str_ends(value, "/_"))
		return 0;
	value.n -= 2;
	return add_names(s, &s->r->git_files, value, base);
}

/* One `key = value` of a section. */
static int read_entry(struct search *s, const char *file, struct str section, struct str line)
{
	size_t equals = str_find(line, '=');
	struct str key = str_trim(str_first(line, equals));

	if (equals == line.n)
		return 0;
	return take_entry(s, file, section, key,
			  read_value(&s->c->arena, str_from_pos(line, equals + 1)));
}

/* `[section "sub"]`, with an entry behind it perhaps: what is left of the line. */
static struct str read_section(struct str line, struct str *ret_section)
{
	size_t n = 1, end;
	bool quoted = false;

	while (n < line.n && !strchr("\" \t]", line.s[n]))
		n++;
	*ret_section = str_from_pos(str_first(line, n), 1);
	for (end = n; end < line.n && (quoted || line.s[end] != ']'); end++) {
		quoted ^= line.s[end] == '"';
		end += line.s[end] == '\\';
	}
	return str_trim(str_from_pos(line, MIN(end + 1, line.n)));
}

static int read_config(struct search *s, const char *file)
{
	struct str rest, section = STR("");

	if (read_text(s, file, &rest) < 0)
		return -1;
	if (str_starts(rest, "\xef\xbb\xbf"))
		rest = str_from_pos(rest, 3);
	while (rest.n) {
		size_t end = find_end(rest);
		struct str line = str_trim(str_first(rest, end));

		rest = str_from_pos(rest, end < rest.n ? end + 1 : end);
		while (str_starts(line, "["))
			line = read_section(line, &section);
		if (line.n && read_entry(s, file, section, line) < 0)
			return -1;
	}
	return 0;
}

/* ---- a folder ------------------------------------------------------------------------ */

static int read_folder(struct search *s, const char *folder)
{
	static const char *const configs[] = { "config", "config.worktree" };

	if (strcmp(folder, s->dot) != 0 && compose_is_writable(s->c, folder) &&
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
	struct dirent *e;
	DIR *dir;
	int rc = 0;

	if (!all)
		return err_nomem(s->err);
	if (strcmp(folder, s->dot) == 0 || !compose_is_writable(s->c, folder))
		return 0;
	dir = opendir(all);
	if (!dir)
		return err_is_absence() ? 0 : refuse_closed(s, all);
	while (rc == 0 && (e = readdir(dir)))
		if (e->d_name[0] != '.') {
			one = path_join(&s->c->arena, all, e->d_name);
			rc = one ? add(s, &s->r->git_folders, one) : err_nomem(s->err);
		}
	closedir(dir);
	return rc;
}

/* And the one that it is a part of: of a worktree, the repository. */
static int read_folders(struct search *s, const char *folder)
{
	const char *file = path_join(&s->c->arena, folder, "commondir"), *common;
	struct str text;

	if (read_text(s, file, &text) < 0)
		return -1;
	common = resolve(s, str_trim(text), folder);
	if (common && (add_names(s, &s->r->git_folders, str_trim(text), folder) < 0 ||
		       read_folder(s, common) < 0 || add_worktrees(s, common) < 0))
		return -1;
	return read_folder(s, folder) < 0 ? -1 : add_worktrees(s, folder);
}

/* The folder of git that `dot` is, or says: NULL where there is none. */
static int find_folder(struct search *s, const char *root, const char **ret)
{
	struct str text = STR(""), path = STR("");
	mode_t mode;

	*ret = NULL;
	if (look_at(s, s->dot, 0, &mode) < 0 ||
	    (S_ISREG(mode) && read_text(s, s->dot, &text) < 0))
		return -1;
	if (S_ISDIR(mode))
		path = str_from(s->dot);
	else if (str_starts(text, "gitdir:"))
		path = str_trim(str_from_pos(text, strlen("gitdir:")));
	*ret = resolve(s, path, root);
	if (!*ret || strcmp(*ret, s->dot) == 0)
		return 0;
	return add_names(s, &s->r->git_folders, path, root);
}

/* Files that files name, of which the list grows; for each worktree anew, as the hooks that one
 * of them names may be relative to it. */
static int read_files(struct search *s)
{
	for (size_t i = 0; i < s->r->git_files.n; i++)
		if (read_config(s, s->r->git_files.paths[i]) < 0)
			return -1;
	return 0;
}

static int read_worktree(struct search *s, const char *top)
{
	const char *folder;

	s->worktree = top;
	s->dot = path_join(&s->c->arena, top, ".git");
	if (find_folder(s, top, &folder) < 0 || (folder && read_folders(s, folder) < 0))
		return -1;
	return folder ? read_files(s) : 0;
}

/* To git neither is there a repository in what another user closed to who runs it: there it
 * takes nothing from.  What a command closed is the caller's own. */
static bool is_closed_by_another(const struct search *s, const char *dot)
{
	const char *config = path_join(&s->c->arena, dot, "config");
	struct stat st;

	return config && stat(dot, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid != s->r->uid &&
	       faccessat(AT_FDCWD, config, R_OK, AT_EACCESS) < 0 && errno == EACCES;
}

/* The repositories that a root is a part of: their configuration may name hooks in it. */
static int read_above(struct search *s, const char *root)
{
	char *top = arena_strndup(&s->c->arena, root, strlen(root));

	while (top && top[1]) {
		char *slash = strrchr(top, '/');
		const char *dot;

		slash[slash == top] = '\0';
		dot = path_join(&s->c->arena, top, ".git");
		if (!dot)
			return err_nomem(s->err);
		if (!is_closed_by_another(s, dot) && read_worktree(s, top) < 0)
			return -1;
	}
	return top ? 0 : err_nomem(s->err);
}

static int read_root(struct search *s, const char *root)
{
	mode_t head;

	if (read_worktree(s, root) < 0 ||
	    look_at(s, path_join(&s->c->arena, root, "HEAD"), AT_SYMLINK_NOFOLLOW, &head) < 0)
		return -1;
	/* Without a worktree.  HEAD is held; whatever else makes a repository could be moved
	 * away by one run, and back by the next. */
	if (head && (read_folders(s, root) < 0 || read_files(s) < 0))
		return -1;
	return read_above(s, root);
}

/* ---- what variables say ------------------------------------------------------------- */

/* Closed to us and nothing that the command could open: git finds nothing there either. */
static bool is_out_of_reach(const struct search *s, const char *folder)
{
	return !compose_is_writable(s->c, folder) &&
	       faccessat(AT_FDCWD, folder, R_OK | X_OK, AT_EACCESS) < 0 && errno == EACCES;
}

/* Repositories, and parts of them. */
static int read_variable_folders(struct search *s)
{
	static const char *const names[] = { "GIT_DIR", "GIT_COMMON_DIR" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *value = getenv(names[i]), *folder;

		if (!value)
			continue;
		folder = resolve(s, str_from(value), s->c->here);
		if (folder && is_out_of_reach(s, folder))
			continue;
		if (folder && strcmp(folder, s->dot) != 0 &&
		    add_names(s, &s->r->git_folders, str_from(value), s->c->here) < 0)
			return -1;
		if (folder && read_folders(s, folder) < 0)
			return -1;
	}
	return 0;
}

/* Configurations, and what is run or copied from. */
static int add_variable_files(struct search *s)
{
	static const char *const names[] = { "GIT_CONFIG", "GIT_CONFIG_GLOBAL",
					     "GIT_CONFIG_SYSTEM", "GIT_TEMPLATE_DIR",
					     "GIT_EXEC_PATH" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *value = getenv(names[i]);

		if (value && add_names(s, &s->r->git_files, str_from(value), s->c->here) < 0)
			return -1;
	}
	return 0;
}

/* section.key, or section.sub.key */
static int take_key(struct search *s, const char *file, struct str key, struct str value)
{
	size_t last = key.n;

	while (last && key.s[last - 1] != '.')
		last--;
	if (!last)
		return 0;
	return take_entry(s, file, str_first(key, str_find(key, '.')), str_from_pos(key, last),
			  value);
}

/* GIT_CONFIG_KEY_0=core.hooksPath */
static int read_variable_entries(struct search *s, const char *file)
{
	const char *count = getenv("GIT_CONFIG_COUNT");
	uint64_t n = 0;

	if (!count || !str_parse_u64(str_trim(str_from(count)), &n))
		return 0;
	for (uint64_t i = 0; i < n; i++) {
		char name[64];
		const char *key, *value;

		snprintf(name, sizeof(name), "GIT_CONFIG_KEY_%llu", (unsigned long long)i);
		key = getenv(name);
		snprintf(name, sizeof(name), "GIT_CONFIG_VALUE_%llu", (unsigned long long)i);
		value = getenv(name);
		/* Git does nothing where one is missing. */
		if (!key || !value)
			return 0;
		if (take_key(s, file, str_from(key), str_from(value)) < 0)
			return -1;
	}
	return 0;
}

/* The next text in quotes, as git writes it for its own children: 'it'\''s'.  False: none. */
static bool read_quoted(struct search *s, struct str *rest, struct str *ret)
{
	char *out = arena_new(&s->c->arena, rest->n + 1, 1);
	size_t n = 0;

	if (!out || !str_starts(*rest, "'"))
		return false;
	for (*rest = str_from_pos(*rest, 1); rest->n; *rest = str_from_pos(*rest, 1)) {
		if (rest->s[0] != '\'') {
			out[n++] = rest->s[0];
		} else if (rest->n > 3 && rest->s[1] == '\\' && rest->s[3] == '\'') {
			out[n++] = rest->s[2];	/* a quote, or an exclamation mark */
			*rest = str_from_pos(*rest, 3);
		} else {
			*rest = str_from_pos(*rest, 1);
			*ret = (struct str){ out, n };
			return true;
		}
	}
	return false;
}

/* Of `git -c`: 'key'='value', or in one as older ones have it.  Git does nothing where it
 * cannot read them. */
static int read_parameters(struct search *s, const char *file)
{
	const char *text = getenv("GIT_CONFIG_PARAMETERS");
	struct str rest = str_trim(str_from(text ? text : "")), key, value;

	while (read_quoted(s, &rest, &key)) {
		size_t equals = str_find(key, '=');

		value = STR("");
		if (str_starts(rest, "=")) {
			rest = str_from_pos(rest, 1);
			(void)!read_quoted(s, &rest, &value);
		} else if (equals < key.n) {
			value = str_from_pos(key, equals + 1);
			key = str_first(key, equals);
		}
		if (take_key(s, file, key, value) < 0)
			return -1;
		rest = str_trim(rest);
	}
	return 0;
}

/* As who calls has them: the next git that he runs takes them, too. */
static int read_variables(struct search *s)
{
	const char *worktree = getenv("GIT_WORK_TREE"), *file;

	s->worktree = worktree ? resolve(s, str_from(worktree), s->c->here) : s->c->here;
	if (!s->worktree)
		s->worktree = s->c->here;
	s->dot = path_join(&s->c->arena, s->worktree, ".git");
	if (!s->dot)
		return err_nomem(s->err);
	/* What is said without a file is as of one that lies here. */
	file = path_join(&s->c->arena, s->c->here, "the environment");
	if (!file)
		return err_nomem(s->err);
	if (read_variable_folders(s) < 0 || add_variable_files(s) < 0 ||
	    read_variable_entries(s, file) < 0 || read_parameters(s, file) < 0)
		return -1;
	return read_files(s);
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
		if (compose_is_writable(c, r->named_roots.paths[i]) &&
		    read_root(&s, r->named_roots.paths[i]) < 0)
			return -1;
	return wanted ? read_variables(&s) : 0;
}
