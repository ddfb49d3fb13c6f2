/* From a request to one policy; see compose.h.
 *
 *   machine ceiling ∩ user ceiling ∩ project (with additions) ∩ settings
 *
 * A project's policy that was found and is not trusted is intersected with what the
 * settings give without it (narrow.h).
 *
 * Additions are the operator's word about the project's layer; the ceilings
 * still cut them.  Defaults are filled in before the ceilings come: what a
 * ceiling permits is permitted, not granted.
 */
#include "lib/compose.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "lib/accounts.h"
#include "lib/narrow.h"
#include "lib/settings.h"
#include "lib/trust.h"
#include "lib/warn.h"
#include "policy/covering.h"
#include "policy/template.h"

#define MACHINE_CEILING	"/etc/cordon/cordon.toml"

#define USUAL_BYTES	(144u << 10)	/* of the defaults and their plan */

const char *const project_policies[] = { "cordon.toml", "harness.md", ".harness/config.toml",
					 "task.toml", NULL };

static const char *read_env(const char *name)
{
	return getenv(name);
}

static int check_dialect(const char *name, struct cordon_err *err)
{
	cleanup_buf struct buf names = BUF(256);

	if (dialect_find(name))
		return 0;
	for (size_t i = 0; dialects[i]; i++)
		buf_printf(&names, "%s%s", !i ? "" : dialects[i + 1] ? ", " : " or ",
			   dialects[i]->name);
	return err_set(err, CORDON_E_USAGE, "--dialect: '%s' is not a dialect; write %s", name,
		       buf_text(&names));
}

int composition_init(struct composition *c, const struct cordon_request *req,
		     struct cordon_err *err)
{
	char here[PATH_MAX];
	bool known = getcwd(here, sizeof(here)) != NULL;

	*c = (struct composition){ .arena = ARENA(MAX_ARENA_BYTES), .diags = DIAGS };
	if (req->size != sizeof(*req))
		return err_set(err, CORDON_E_USAGE,
			       "the request is of another version of cordon.h");
	/* Also where no file is read: a misspelt option is never silent. */
	if (req->dialect && check_dialect(req->dialect, err) < 0)
		return -1;
	if (!known && (!req->cwd || req->cwd[0] != '/'))
		return err_sys(err, CORDON_E_SETUP, "cannot tell the current directory");
	arena_expect(&c->arena, USUAL_BYTES);
	/* In one that is gone no name finds anything. */
	c->here = arena_strndup(&c->arena, known ? here : "/", known ? strlen(here) : 1);
	if (!c->here)
		return err_nomem(err);
	if (path_resolve(&c->arena, str_from(req->cwd ? req->cwd : c->here), c->here, &c->cwd,
			 err) < 0)
		return -1;
	c->home = getenv("HOME");
	policy_init(&c->policy, &c->arena);
	return 0;
}

void composition_release(struct composition *c)
{
	diags_release(&c->diags);
	arena_release(&c->arena);
}

struct reader compose_reader(struct composition *c, struct policy *p, const char *file)
{
	return (struct reader){ .policy = p, .diags = &c->diags, .file = file, .base_dir = c->here,
				.cwd = c->here, .home = c->home, .written = &c->written,
				.env = read_env };
}

/* /dev/stdin, or what a shell makes of <(…). */
static bool holds_descriptors(struct composition *c, const char *folder)
{
	struct cordon_err ignored;
	const char *real;

	if (strcmp(folder, "/dev") == 0)
		return true;
	return (path_within(folder, "/dev") || path_within(folder, "/proc")) &&
	       path_resolve(&c->arena, str_from(folder), "/", &real, &ignored) == 0 &&
	       path_within(real, "/proc");
}

/* The directory of a file: what its relative paths start from.  A text that came in by a
 * descriptor lies nowhere, so there it is where we are. */
static const char *directory_of(struct composition *c, const char *file)
{
	const char *full = path_normal(&c->arena, str_from(file), c->here), *folder;
	const char *slash = full ? strrchr(full, '/') : NULL;

	if (!slash)
		return NULL;
	if (slash == full)
		return "/";
	folder = arena_strndup(&c->arena, full, (size_t)(slash - full));
	return folder && holds_descriptors(c, folder) ? c->here : folder;
}

int compose_text(struct composition *c, const struct source *src, const struct dialect *dialect,
		 struct policy *ret)
{
	struct reader r;
	struct cordon_err err;
	struct value root;
	size_t before = c->diags.n_errors;

	policy_init(ret, &c->arena);
	ret->dialect = dialect;
	r = compose_reader(c, ret, src->name);
	r.base_dir = directory_of(c, src->name);
	if (!r.base_dir)
		return diag_error(&c->diags, (struct place){ src->name, 0, 0 }, "out of memory");
	if (dialect->parse(src, &c->arena, &root, &err) < 0)
		return diag_err(&c->diags, src->name, &err);
	dialect->read(&r, &root);
	if (c->diags.n_errors == before)
		read_finish(&r);
	return c->diags.n_errors == before ? 0 : -1;
}

int compose_read_source(struct composition *c, const char *path, struct source *ret)
{
	struct cordon_err err;
	const char *name = arena_strndup(&c->arena, path, strlen(path));
	const char *full = path[0] == '/' ? name : path_join(&c->arena, c->here, path);
	const char **sources = arena_grow(&c->arena, c->sources, c->n_sources, &c->cap_sources,
					  sizeof(*sources));

	if (!name || !full || !sources)
		return diag_error(&c->diags, (struct place){ path, 0, 0 }, "out of memory");
	/* Its room is counted already: a file that cannot be read must not leave the old one. */
	c->sources = sources;
	if (fd_read_file(path, MAX_SOURCE_BYTES, &c->arena, &ret->text, &err) < 0)
		return diag_error(&c->diags, (struct place){ c->option, 0, 0 },
				  "%s; %s", err.msg,
				  c->unread ? c->unread : "name a policy that can be read");
	ret->name = name;
	c->sources[c->n_sources++] = full;
	return 0;
}

int compose_file(struct composition *c, const char *path, const char *dialect, struct policy *ret)
{
	struct source src;

	if (compose_read_source(c, path, &src) < 0)
		return -1;
	return compose_text(c, &src, dialect ? dialect_find(dialect) : dialect_detect(&src), ret);
}

bool compose_is_writable(const struct composition *c, const char *path)
{
	const struct field_value *write = &c->policy.base.f[F_FILES_WRITE];

	for (size_t i = 0; i < write->n; i++)
		if (path_within(path, write->items[i].text.s))
			return true;
	return false;
}

bool compose_is_replaceable(const struct composition *c, const char *path)
{
	const struct field_value *write = &c->policy.base.f[F_FILES_WRITE];

	for (size_t i = 0; i < write->n; i++)
		if (path_within(write->items[i].text.s, path))
			return false;
	return compose_is_writable(c, path);
}

/* c->policy becomes what it and `layer` both allow. */
static int cut_with(struct composition *c, const struct policy *layer)
{
	struct cordon_err err;

	if (policy_intersect(&c->policy, layer, &c->policy, &c->cuts, &err) < 0)
		return diag_error(&c->diags, (struct place){ 0 }, "%s", err.msg);
	return 0;
}

int compose_files(struct composition *c, const struct cordon_request *req, const char *option)
{
	int bad = 0;

	c->option = option;
	if (req->n_files > MAX_POLICY_LAYERS)
		return diag_error(&c->diags, (struct place){ 0 }, "more than %d policy files",
				  MAX_POLICY_LAYERS);
	for (size_t i = 0; i < req->n_files; i++) {
		struct policy one;

		if (compose_file(c, req->files[i], req->dialect, &one) < 0)
			bad = -1;
		else if (i == 0)
			c->policy = one;
		else if (!bad)
			bad = cut_with(c, &one);
	}
	c->option = NULL;
	return bad;
}

/* ---- where policies lie ------------------------------------------------- */

/* A policy that merely lies in a parent directory is followed only if nobody
 * else could have put it there or can change it. */
static bool is_foreign(const struct stat *st)
{
	return st->st_uid != 0 && st->st_uid != geteuid();
}

/* A link of somebody else could lead to a file of ours that was never meant. */
static bool has_foreign_link(struct composition *c, const char *path)
{
	const char *folder = path_normal(&c->arena, STR(".."), path);
	struct stat at, above;

	return !folder || lstat(path, &at) < 0 || lstat(folder, &above) < 0 || is_foreign(&at) ||
	       (S_ISLNK(above.st_mode) && is_foreign(&above));
}

static int check_owner(struct composition *c, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return diag_error(&c->diags, (struct place){ path, 0, 0 }, "cannot be looked at");
	if (is_foreign(&st) || (st.st_mode & S_IWOTH) || has_foreign_link(c, path))
		return diag_error(
			&c->diags, (struct place){ path, 0, 0 },
			"lies in a parent directory and belongs to, or can be written by, "
			"somebody else; name it with --policy, or use --no-policy");
	return 0;
}

/* A folder that is closed may hold one: a command could close its own, and the next run would
 * be without what held there. */
static int refuse_closed(struct composition *c, const char *path)
{
	struct cordon_err err;

	err_sys(&err, CORDON_E_SETUP,
		"there may be a policy in a folder that is closed to cordon (chmod u+rwx, name one "
		"with --policy, or use --no-policy)");
	return diag_error(&c->diags, (struct place){ path, 0, 0 }, "%s", err.msg);
}

/* The nearest file of this name in `dir` or above it; NULL if there is none. */
static int find_above(struct composition *c, const char *dir, const char *name, const char **ret)
{
	struct str up = str_from(dir);

	for (;;) {
		const char *path = arena_printf(&c->arena, "%.*s/%s", up.n > 1 ? (int)up.n : 0,
						up.s, name);

		if (!path)
			return diag_error(&c->diags, (struct place){ 0 }, "out of memory");
		if (access(path, F_OK) == 0) {
			*ret = path;
			return 0;
		}
		if (!err_is_absence())
			return refuse_closed(c, path);
		if (up.n <= 1)
			return 0;
		while (up.n > 1 && up.s[up.n - 1] != '/')
			up.n--;
		up.n = up.n > 1 ? up.n - 1 : 1;
	}
}

int compose_find(struct composition *c, struct source *ret)
{
	for (size_t i = 0; i < N_FOUND_POLICIES && !c->found; i++)
		if (find_above(c, c->here, project_policies[i], &c->found) < 0)
			return -1;
	if (!c->found)
		return 0;
	if (check_owner(c, c->found) < 0 || compose_read_source(c, c->found, ret) < 0)
		return -1;
	c->untrusted = !trust_has(c, c->found, ret->text);
	return 0;
}

static int compose_project(struct composition *c, const struct cordon_request *req)
{
	struct source src;

	if (req->n_files || !req->discover)
		return compose_files(c, req, "--policy");
	if (compose_find(c, &src) < 0)
		return -1;
	if (!c->found)
		return 0;
	return compose_text(c, &src, req->dialect ? dialect_find(req->dialect) :
						    dialect_detect(&src), &c->policy);
}

/* A value may be made of what the ceiling lets in, and of nothing else of the caller's. */
static int check_templates(struct composition *c, const struct section *s,
			   const struct field_value *pass)
{
	const struct field_value *set = &s->f[F_ENV_SET];

	for (size_t i = 0; pass->set && i < set->n; i++) {
		struct str rest = set->items[i].value;
		struct template_part part;

		/* What has no end is refused when it is used. */
		while (rest.n && template_next(&rest, &part)) {
			struct item wanted = { .text = part.name };

			if (part.is_variable && part.name.n &&
			    !item_find_covering(KIND_ENV_NAMES, pass, &wanted))
				return diag_error(&c->diags, set->items[i].at,
						  "env.set: %.*s takes ${%.*s}, which env.pass of "
						  "a ceiling does not let in",
						  STR_FMT(set->items[i].text), STR_FMT(part.name));
		}
	}
	return 0;
}

#define CEILING_UNREAD	"it is a ceiling, without which nothing runs: make it, and the folders " \
			"above it, readable, or remove it"
#define MACHINE_UNREAD	"it is the ceiling of this machine, or may be one, without which nothing " \
			"runs: root has to make its folder, and it, readable to all"

/* A ceiling that is there and cannot be read stops everything; so does a link to one that is
 * not, and a folder that may hold one. */
static int compose_ceiling(struct composition *c, const char *path, const char *unread)
{
	struct cordon_err err;
	struct policy ceiling;
	struct stat st;
	int rc;

	if (!path)
		return diag_error(&c->diags, (struct place){ 0 }, "out of memory");
	if (lstat(path, &st) < 0 && err_is_absence())
		return 0;
	c->unread = unread;
	rc = compose_file(c, path, "cordon", &ceiling);
	c->unread = NULL;
	if (rc < 0)
		return -1;
	if (check_templates(c, &c->policy.base, &ceiling.base.f[F_ENV_PASS]) < 0)
		return -1;
	for (size_t i = 0; i < c->policy.n_phases; i++)
		if (check_templates(c, &c->policy.phases[i].section,
				    &ceiling.base.f[F_ENV_PASS]) < 0)
			return -1;
	c->ceilings[c->n_ceilings++] = ceiling;
	if (policy_tighten(&c->policy, &ceiling, &c->cuts, &err) < 0)
		return diag_error(&c->diags, (struct place){ 0 }, "%s", err.msg);
	return 0;
}

/* Below HOME, or below what the machine says where there is none, as in cron and units: there
 * is no run without it.  `~` is then what it is found by. */
static int compose_user_ceiling(struct composition *c)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = c->home, *path;
	int rc;

	if (config && config[0] == '/') {
		path = arena_printf(&c->arena, "%s/cordon/cordon.toml", config);
		return compose_ceiling(c, path, CEILING_UNREAD);
	}
	if (!c->home || c->home[0] != '/')
		c->home = account_find_home(&c->arena);
	path = c->home ? arena_printf(&c->arena, "%s/" USER_CEILING, c->home) : NULL;
	rc = c->home ? compose_ceiling(c, path, CEILING_UNREAD) : 0;
	c->home = home;
	return rc;
}

void compose_leave_out_top(struct composition *c)
{
	if (!c->policy.base.f[F_FILES_WRITE].set && strcmp(c->here, "/") == 0)
		read_list_start(&c->policy.base, F_FILES_WRITE, (struct place){ "default", 0, 0 });
}

int compose_defaults(struct composition *c)
{
	struct reader r = compose_reader(c, &c->policy, "default");

	return read_defaults(&r);
}

int compose_copy(struct arena *a, const struct policy *from, struct policy *ret,
		 struct cordon_err *err)
{
	struct phase *phases = arena_new(a, from->n_phases + 1, sizeof(*phases));

	if (!phases)
		return err_nomem(err);
	if (from->n_phases)
		memcpy(phases, from->phases, from->n_phases * sizeof(*phases));
	*ret = *from;
	ret->arena = a;
	ret->phases = phases;
	ret->cap_phases = from->n_phases;
	return 0;
}

int compose_again(struct composition *c, const struct composition *from, struct str phase,
		  struct cordon_err *err)
{
	const struct phase *found = NULL;

	*c = (struct composition){ .arena = ARENA(MAX_ARENA_BYTES), .diags = DIAGS,
				   .cwd = from->cwd, .here = from->here,
				   .home = from->home, .n_ceilings = from->n_ceilings };
	memcpy(c->ceilings, from->ceilings, sizeof(c->ceilings));
	if (compose_copy(&c->arena, &from->project, &c->policy, err) < 0)
		return -1;
	if (phase.n)
		found = policy_find_phase(&c->policy, phase);
	/* What is added to the base reaches the phases that have what it has. */
	for (int id = 0; found && id < N_FIELDS; id++)
		if (field_in_phase((enum field_id)id))
			c->policy.base.f[id] = found->section.f[id];
	return 0;
}

int compose_finish(struct composition *c)
{
	struct cordon_err err;

	if (compose_defaults(c) < 0)
		return -1;
	for (size_t i = 0; i < c->n_ceilings; i++)
		if (policy_tighten(&c->policy, &c->ceilings[i], &c->cuts, &err) < 0)
			return diag_error(&c->diags, (struct place){ 0 }, "%s", err.msg);
	return compose_defaults(c);
}

/* A request whose words cannot be meant: before anything is read or recorded. */
static int check_request(struct composition *c, const struct cordon_request *req)
{
	struct place cwd = { "--cwd", 0, 0 };
	struct stat st;

	if (req->n_command && !req->command[0][0])
		return diag_error(&c->diags, (struct place){ 0 },
				  "cordon: the command is empty; name a program");
	if (!req->cwd)
		return 0;
	if (stat(req->cwd[0] ? c->cwd : "", &st) < 0)
		return diag_error(&c->diags, cwd, "'%s': %s; name a folder that is there",
				  req->cwd, err_text(errno));
	if (!S_ISDIR(st.st_mode))
		return diag_error(&c->diags, cwd, "'%s' is not a folder; name one", req->cwd);
	return 0;
}

int compose_all(struct composition *c, const struct cordon_request *req)
{
	struct cordon_err err;

	if (check_request(c, req) < 0)
		return -1;
	if (compose_project(c, req) < 0 || settings_add(c, req->settings, req->n_settings) < 0 ||
	    settings_tighten(c, req->settings, req->n_settings) < 0 ||
	    (c->untrusted && narrow_policy(c, req) < 0))
		return -1;
	warn_of_variables(&c->policy, &c->diags);
	if (compose_copy(&c->arena, &c->policy, &c->project, &err) < 0)
		return diag_error(&c->diags, (struct place){ 0 }, "%s", err.msg);
	if (compose_defaults(c) < 0)
		return -1;
	if (!req->ceilings)
		return 0;
	if (compose_user_ceiling(c) < 0)
		return -1;
	return compose_ceiling(c, MACHINE_CEILING, MACHINE_UNREAD);
}
