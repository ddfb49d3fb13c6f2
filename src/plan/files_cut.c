/* What is cut out of the file system that a command sees: protected names, masks, and
 * places of our own; see files_priv.h.
 *
 * What exists is mounted over, read-only or empty; what does not is guarded.
 */
#include "base/path.h"
#include "plan/files_priv.h"
#include "plan/landlock.h"
#include "plan/presets.h"

/* It is guarded for another cause as well. */
static void add_cause(struct files *f, const struct plan_guarded *g)
{
	for (size_t i = 0; i < f->plan->n_guarded; i++) {
		struct plan_guarded *old = &f->plan->guarded[i];

		if (strcmp(old->name, g->name) == 0 && g->cause > old->cause)
			*old = *g;
	}
}

/* What exists is mounted read-only over itself, what does not is guarded. */
static void protect(struct files *f, const char *path, enum guard_cause cause, const char *by)
{
	struct plan_guarded g = { path, cause, by };
	struct plan_mount *m;
	bool is_new = true;

	if (!files_is_within(f, F_FILES_WRITE, path))
		return;
	if (!map_add(&f->protected, f->plan->arena, str_from(path), 0, &is_new))
		f->failed = true;
	if (!is_new) {
		add_cause(f, &g);
		return;
	}
	m = files_add_mount(f, MOUNT_RO, path, path);
	m->optional = true;
	m->keep = true;
	files_add_guarded(f, g);
}

/* In a linked worktree `.git` is a file which says where the rest is. */
static void protect_git_file(struct files *f, const char *root)
{
	const char *path = files_below(f, root, ".git");
	struct plan_mount *m;

	if (!files_is_within(f, F_FILES_WRITE, path))
		return;
	m = files_add_mount(f, MOUNT_RO, NULL, path);
	m->optional = m->keep = m->file = true;
}

/* Is a root of the list this, or lies in it? */
static bool has_root_in(const struct files *f, enum field_id id, const char *path)
{
	const struct field_value *roots = files_list(f, id);

	for (size_t i = 0; i < roots->n; i++)
		if (path_within(roots->items[i].text.s, path))
			return true;
	return false;
}

static void protect_below(struct files *f, const char *root, const char *const *names,
			  const char *set)
{
	for (size_t i = 0; names[i]; i++) {
		const char *path = files_below(f, root, names[i]);

		if (!has_root_in(f, F_FILES_WRITE, path))
			protect(f, path, CAUSE_SET, set);
	}
}

/* A root may be such a folder itself: of a worktree elsewhere, which lives with its own part
 * of it, or a repository without one. */
static void protect_git_folder(struct files *f, const char *root)
{
	protect_below(f, root, protect_git_folder_names, "git");
	for (size_t i = 0; guard_worktrees[i]; i++)
		files_add_guarded(f, (struct plan_guarded){
				files_below(f, root, guard_worktrees[i]), CAUSE_SET, "git" });
}

/* Nothing is below a file; and where a name below it is guarded, no file may be made. */
static bool is_file(const struct files *f, const char *root)
{
	for (size_t i = 0; i < f->request->file_roots.n; i++)
		if (strcmp(f->request->file_roots.paths[i], root) == 0)
			return true;
	return false;
}

static void add_protected_sets(struct files *f, const char *root)
{
	if (is_file(f, root))
		return;
	for (const struct protected_set *s = protected_sets; s->word; s++)
		if (files_has_word(f, F_FILES_PROTECT, s->word))
			protect_below(f, root, s->names, s->word);
	if (files_has_word(f, F_FILES_PROTECT, "git")) {
		protect_git_file(f, root);
		if (str_ends(str_from(root), ".git"))
			protect_git_folder(f, root);
	}
}

/* A name, or what is in it.  Worktrees that programs keep in their own folder are projects. */
static bool is_in_name(const char *path, const char *name)
{
	static const char projects[] = "/worktrees/";

	return path_within(path, name) &&
	       strncmp(path + strlen(name), projects, sizeof(projects) - 1) != 0;
}

static const char *find_set_of_home(const struct files *f, const char *home, const char *path)
{
	size_t n = home ? strlen(home) : 0;

	if (!n || !path_within(path, home) || path[n] != '/')
		return NULL;
	for (const struct protected_set *s = protected_sets; s->word; s++) {
		if (s->names == protect_git || !files_has_word(f, F_FILES_PROTECT, s->word))
			continue;
		for (size_t i = 0; s->names[i]; i++)
			if (is_in_name(path + n + 1, s->names[i]))
				return s->word;
	}
	return NULL;
}

/* In what is held of a repository, or a folder of it that has something to hold. */
static bool is_in_git(struct files *f, const char *path)
{
	static const char name[] = "/.git/";

	for (const char *at = strstr(path, name); at; at = strstr(at + 1, name)) {
		const char *git = arena_strndup(f->plan->arena, path,
						(size_t)(at - path) + sizeof(name) - 2);

		for (size_t i = 0; git && protect_git_folder_names[i]; i++) {
			const char *held = files_below(f, git, protect_git_folder_names[i]);

			if (path_within(path, held) || path_within(held, path))
				return true;
		}
		if (!git || path_within(path, files_below(f, git, "worktrees")))
			return true;
	}
	return false;
}

/* In what a configuration of git names: hooks. */
static bool is_named_by_git(const struct plan_request *r, const char *path)
{
	for (size_t i = 0; i < r->git_files.n; i++)
		if (path_within(path, r->git_files.paths[i]))
			return true;
	return false;
}

const char *files_find_set(struct files *f, const char *path)
{
	const struct plan_request *r = f->request;
	const char *set = find_set_of_home(f, r->home, path);

	if (!set)
		set = find_set_of_home(f, r->own_home, path);
	for (size_t i = 0; !set && i < r->n_held_links; i++)
		if (path_within(path, r->held_links[i].path))
			set = r->held_links[i].set;
	if (!set && files_has_word(f, F_FILES_PROTECT, "git") &&
	    (is_in_git(f, path) || is_named_by_git(r, path)))
		set = "git";
	return set;
}

static bool is_pattern(const char *path)
{
	return strchr(path, '*') != NULL;
}

static int refuse_pattern(struct files *f, enum field_id id, const char *pattern, const char *why)
{
	return err_set(f->err, CORDON_E_HOST,
		       "%s: the pattern '%s' %s; write a path, **/NAME or DIR/**, with * for any "
		       "text in a name",
		       fields[id].key, pattern, why);
}

/* What is left of a pattern without the stars at its ends. */
static struct str read_depth(struct str rest, struct plan_name *ret)
{
	ret->anywhere = str_starts(rest, "**/");
	/* At any depth there is always some folder above. */
	while (ret->anywhere && (str_starts(rest, "**/") || str_starts(rest, "*/")))
		rest = str_from_pos(rest, str_find(rest, '/') + 1);
	ret->below = str_ends(rest, "/**");
	while (str_ends(rest, "/**"))
		rest.n -= 3;
	return rest;
}

/* A pattern: what is there is looked for at the start, what comes later is
 * guarded.  Everything in a folder is the folder for what is there, and any
 * name in it for what comes. */
static int add_pattern(struct files *f, enum field_id id, const char *pattern, bool mask)
{
	struct plan *p = f->plan;
	struct plan_name name = { .mask = mask }, *names;
	struct str rest = read_depth(str_from(pattern), &name);
	const char *guarded;

	if (!rest.n || str_is(rest, "*") || str_is(rest, "**"))
		return refuse_pattern(f, id, pattern, "means everything");
	for (size_t i = 1; i < rest.n; i++)
		if (rest.s[i - 1] == '*' && rest.s[i] == '*')
			return refuse_pattern(f, id, pattern, "has ** inside, which is not built");
	name.pattern = arena_strndup(p->arena, rest.s, rest.n);
	guarded = arena_printf(p->arena, "%s%.*s%s", name.anywhere ? "**/" : "", STR_FMT(rest),
			       name.below ? "/*" : "");
	names = arena_grow(p->arena, p->names, p->n_names, &p->cap_names, sizeof(*names));
	if (!names || !name.pattern || !guarded)
		return err_nomem(f->err);
	p->names = names;
	p->names[p->n_names++] = name;
	files_add_guarded(f, (struct plan_guarded){ guarded, mask ? CAUSE_DENY : CAUSE_ENTRY,
						    pattern });
	return 0;
}

/* Where a writable root has it, or lies in it. */
static void protect_home(struct files *f, const char *home)
{
	const struct field_value *write = files_list(f, F_FILES_WRITE);
	bool in_home = false;

	for (size_t i = 0; home && i < write->n; i++) {
		const char *root = write->items[i].text.s;

		in_home |= strcmp(home, root) != 0 &&
			   (path_within(home, root) || path_within(root, home));
	}
	if (in_home)
		add_protected_sets(f, home);
}

/* Below each writable root, and below HOME and the caller's own. */
static void protect_roots(struct files *f)
{
	const struct field_value *write = files_list(f, F_FILES_WRITE);

	for (size_t i = 0; i < write->n && !f->crowded; i++)
		add_protected_sets(f, write->items[i].text.s);
	protect_home(f, f->request->home);
	protect_home(f, f->request->own_home);
	for (size_t i = 0; i < f->request->named_roots.n; i++)
		if (files_is_within(f, F_FILES_WRITE, f->request->named_roots.paths[i]))
			add_protected_sets(f, f->request->named_roots.paths[i]);
	for (size_t i = 0; i < f->request->git_folders.n; i++)
		protect_git_folder(f, f->request->git_folders.paths[i]);
	for (size_t i = 0; i < f->request->git_files.n; i++)
		if (!has_root_in(f, F_FILES_WRITE, f->request->git_files.paths[i]))
			protect(f, f->request->git_files.paths[i], CAUSE_SET, "git");
	for (size_t i = 0; i < f->request->n_held_links; i++)
		protect(f, f->request->held_links[i].path, CAUSE_SET,
			f->request->held_links[i].set);
}

/* An entry of the policy: as it is written, what it leads to, and where else that is. */
static int for_each_path(struct files *f, enum field_id id,
			 int (*act)(struct files *f, const struct item *item,
				    const char *path))
{
	const struct plan_second_name *names = f->request->second_names;
	const struct field_value *v = files_list(f, id);

	for (size_t i = 0; i < v->n; i++) {
		const struct item *item = &v->items[i];

		if (act(f, item, item->text.s) < 0 ||
		    (item->real && act(f, item, item->real) < 0))
			return err_locate(f->err, item->at);
		for (size_t k = 0; k < f->request->n_second_names; k++)
			if ((str_is(item->text, names[k].path) ||
			     (item->real && strcmp(item->real, names[k].path) == 0)) &&
			    act(f, item, names[k].other) < 0)
				return err_locate(f->err, item->at);
	}
	return 0;
}

/* Words are sets.  A folder above roots means all of them. */
static int protect_entry(struct files *f, const struct item *item, const char *path)
{
	const struct field_value *write = files_list(f, F_FILES_WRITE);
	enum guard_cause cause = str_is(item->value, READ_ROOT_NOTE) ? CAUSE_READ : CAUSE_ENTRY;

	if (is_pattern(path))
		return add_pattern(f, F_FILES_PROTECT, path, false);
	if (path[0] != '/')
		return 0;
	protect(f, path, cause, item->text.s);
	for (size_t i = 0; i < write->n; i++)
		if (path_within(write->items[i].text.s, path))
			protect(f, write->items[i].text.s, cause, item->text.s);
	return 0;
}

int files_add_protected(struct files *f)
{
	bool any = files_list(f, F_FILES_WRITE)->n > 0;

	protect_roots(f);
	if (for_each_path(f, F_FILES_PROTECT, protect_entry) < 0)
		return -1;
	/* A policy of a folder below holds for who works there.
	 * GAP: one that is there already can be removed; nothing is walked. */
	for (size_t i = 0; any && files_has_word(f, F_FILES_PROTECT, "agent-config") &&
			   protect_anywhere[i]; i++)
		files_add_guarded(f, (struct plan_guarded){ protect_anywhere[i], CAUSE_SET,
							    "agent-config" });
	for (size_t i = 0; i < f->request->ways.n; i++)
		protect(f, files_below(f, f->request->ways.paths[i], PLAN_WAY_NAME), CAUSE_WAY, "");
	for (size_t i = 0; i < f->request->policy_files.n; i++)
		protect(f, f->request->policy_files.paths[i], CAUSE_POLICY, "");
	return 0;
}

static void mask(struct files *f, const char *path)
{
	files_add_mount(f, MOUNT_MASK, NULL, path)->optional = true;
}

/* Without mounts a mask costs the directory that it lies in; one of nothing is not worth that. */
static bool is_absent(const struct files *f, const char *path)
{
	const struct plan_paths *absent = &f->request->absent;

	for (size_t i = 0; f->in_place && i < absent->n; i++)
		if (strcmp(absent->paths[i], path) == 0)
			return true;
	return false;
}

/* The first root that the operator named and that is this place or lies in it; or NULL.  One
 * of an untrusted policy is no word about a credential. */
static const char *find_root_in(const struct files *f, const char *path)
{
	static const enum field_id ids[] = { F_FILES_READ, F_FILES_WRITE };

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		const struct field_value *roots = files_list(f, ids[i]);

		for (size_t k = 0; k < roots->n; k++)
			if (files_is_named(f, &roots->items[k]) &&
			    path_within(roots->items[k].text.s, path))
				return roots->items[k].text.s;
	}
	return NULL;
}

/* What is there is masked; what is not can not be made either: a key in ~/.ssh
 * that was not there lets somebody in.  A credential that the policy names is meant to be
 * read; what lies beside it is not. */
static int mask_credential(struct files *f, const char *path)
{
	const char *root = find_root_in(f, path);
	bool is_shown = files_is_within(f, F_FILES_WRITE, path) ||
			files_is_within(f, F_FILES_READ, path);

	if (f->unnamed && path_within(f->unnamed, path))
		return err_set(f->err, CORDON_E_HOST,
			       "the working directory '%s' lies in '%s', where credentials are: "
			       "nobody has named it; work elsewhere, or name it by --read, "
			       "by --write or in a policy", f->unnamed, path);
	if (root && is_shown && strcmp(root, path) != 0)
		return err_set(f->err, CORDON_E_HOST,
			       "'%s' is a root inside '%s', which is closed in the root "
			       "that holds it; do without that root", root, path);
	if (root || is_absent(f, path))
		return 0;
	mask(f, path);
	if (files_is_within(f, F_FILES_WRITE, path))
		files_add_guarded(f, (struct plan_guarded){ path, CAUSE_CREDENTIAL, path });
	return 0;
}

static int mask_credentials(struct files *f, const char *home)
{
	for (size_t i = 0; home && credentials[i]; i++)
		if (mask_credential(f, files_below(f, home, credentials[i])) < 0)
			return -1;
	return 0;
}

static bool is_device(const struct plan *p, const char *path)
{
	for (size_t i = 0; i < p->n_mounts; i++)
		if (p->mounts[i].kind == MOUNT_DEV && strcmp(p->mounts[i].target, path) == 0)
			return true;
	return false;
}

static int deny_entry(struct files *f, const struct item *item, const char *path)
{
	/* Where a link leads to /dev/null, nothing is kept that could be read. */
	if (path != item->text.s && is_device(f->plan, path))
		return 0;
	if (strcmp(path, "/") == 0)
		return err_set(f->err, CORDON_E_HOST,
			       "files.deny: '/' would leave nothing; name what is to be closed");
	if (is_pattern(path))
		return add_pattern(f, F_FILES_DENY, path, true);
	mask(f, path);
	files_add_guarded(f, (struct plan_guarded){ path, CAUSE_DENY, item->text.s });
	return 0;
}

/* Does Landlock let anybody read this file? */
static bool is_opened(const struct plan *p, const char *path)
{
	for (size_t i = 0; i < p->n_accesses; i++)
		if (p->accesses[i].rights & LL_READ_FILE && path_within(path, p->accesses[i].path))
			return true;
	return !p->landlock;
}

/* A file that no rule opens needs no mask.  Folders can be listed without one. */
static void mask_for_root(struct files *f)
{
	for (size_t i = 0; root_files[i]; i++)
		if (is_opened(f->plan, root_files[i]) && !is_absent(f, root_files[i]))
			mask(f, root_files[i]);
	for (size_t i = 0; root_folders[i]; i++)
		if (!is_absent(f, root_folders[i]))
			mask(f, root_folders[i]);
}

int files_add_masks(struct files *f)
{
	if (mask_credentials(f, f->request->home) < 0 ||
	    mask_credentials(f, f->request->own_home) < 0)
		return -1;
	for (size_t i = 0; i < f->request->credentials.n; i++)
		if (mask_credential(f, f->request->credentials.paths[i]) < 0)
			return -1;
	if (f->plan->uid == 0)
		mask_for_root(f);
	/* It lists what is in the caller's keyrings, by uid. */
	mask(f, "/proc/keys");
	if (f->whole)
		mask(f, "/run");
	return for_each_path(f, F_FILES_DENY, deny_entry);
}

static bool is_covered(const struct plan *p, const char *path)
{
	for (size_t i = 0; i < p->n_mounts; i++) {
		const struct plan_mount *m = &p->mounts[i];

		if (!m->keep && m->source && m->kind != MOUNT_LINK && m->kind != MOUNT_TEXT &&
		    path_within(path, m->source))
			return true;
	}
	return false;
}

/* A place of our own is not seen inside, whatever root covers it; nor is there
 * another one made in its stead, after a folder above it was moved away.  A device
 * keeps nothing: /dev/null is everybody's. */
static bool hide(struct files *f, const char *path)
{
	if (!is_covered(f->plan, path) || is_device(f->plan, path))
		return false;
	mask(f, path);
	if (files_is_within(f, F_FILES_WRITE, path))
		files_add_guarded(f, (struct plan_guarded){ path, CAUSE_OWN, "" });
	return true;
}

/* The host's processes, settings and devices in a folder that somebody can chroot to: they
 * are no files of a root, whatever is mounted there. */
static void mask_kernel(struct files *f)
{
	const struct plan_paths *mounts = &f->request->kernel_mounts;

	for (size_t i = 0; i < mounts->n; i++)
		if (is_covered(f->plan, mounts->paths[i]))
			mask(f, mounts->paths[i]);
}

/* Whoever sees the folder of live runs could end them; whoever can write the log
 * could change what it says. */
int files_hide_all(struct files *f)
{
	const struct plan_request *r = f->request;

	mask_kernel(f);
	f->plan->mask_live_root = !r->live_is_link && hide(f, f->plan->live_root);
	for (size_t i = 0; i < r->own.n; i++)
		hide(f, r->own.paths[i]);
	for (size_t i = 0; i < r->n_hidden; i++)
		hide(f, r->hidden[i]);
	if (!r->unshared || !is_covered(f->plan, r->unshared))
		return 0;
	return err_set(f->err, CORDON_E_HOST,
		       "'%s' lies in a place that can be read inside; choose another",
		       r->unshared);
}
