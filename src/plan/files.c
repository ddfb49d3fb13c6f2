/* The file system that a command sees; see files.h.
 *
 * The new root is empty; what the policy names is mounted into it, wide things
 * first, then what is cut out of them.  Landlock repeats the same in rights,
 * and is what holds inside /etc, which is mounted whole.
 */
#include "plan/files.h"

#include <limits.h>
#include <sched.h>
#include <string.h>

#include "base/limits.h"
#include "base/path.h"
#include "plan/files_priv.h"
#include "plan/landlock.h"
#include "plan/net_inside.h"
#include "plan/presets.h"

/* ---- adding ------------------------------------------------------------- */

struct plan_mount *files_add_mount(struct files *f, enum plan_mount_kind kind, const char *source,
				   const char *target)
{
	static struct plan_mount spare;
	struct plan *p = f->plan;
	struct plan_mount *m =
		arena_grow(p->arena, p->mounts, p->n_mounts, &p->cap_mounts, sizeof(*m));

	if (!m) {
		f->failed = true;
		return &spare;
	}
	p->mounts = m;
	m = &p->mounts[p->n_mounts++];
	*m = (struct plan_mount){ .kind = kind, .source = source, .target = target };
	return m;
}

static void add_access(struct files *f, const char *path, uint64_t rights, bool optional)
{
	struct plan *p = f->plan;
	struct plan_access *a;

	a = arena_grow(p->arena, p->accesses, p->n_accesses, &p->cap_accesses, sizeof(*a));
	if (!a) {
		f->failed = true;
		return;
	}
	p->accesses = a;
	p->accesses[p->n_accesses++] = (struct plan_access){ path, rights, optional, false };
}

/* To all of what was mounted last. */
static void add_access_to(struct files *f, struct plan_mount *m, uint64_t rights)
{
	struct plan *p = f->plan;

	add_access(f, m->target, rights, m->optional);
	m->access = p->n_accesses;
	/* Without mounts it is the rule that a link would lead elsewhere. */
	if (m->access && f->in_place)
		p->accesses[m->access - 1].plain = m->plain || m->root;
}

/* More than the guard can hold; it begins with the command, which must not be there to see. */
static bool is_overlong(const char *name)
{
	size_t n_parts = 0, n = 0;	/* parts, and bytes of the last */
	const char *at = name;

	for (; *at; at++) {
		n = *at == '/' ? 0 : n + 1;
		n_parts += n == 1;
		if (n > NAME_MAX || n_parts > MAX_GUARD_PARTS)
			return true;
	}
	return at - name > MAX_GUARD_NAME;
}

void files_add_guarded(struct files *f, struct plan_guarded guarded)
{
	struct plan *p = f->plan;
	struct plan_guarded *g;

	if (!f->overlong && is_overlong(guarded.name))
		f->overlong = guarded.name;
	if (p->n_guarded == MAX_GUARD_NAMES) {
		f->crowded = true;
		return;
	}
	g = arena_grow(p->arena, p->guarded, p->n_guarded, &p->cap_guarded, sizeof(*g));
	if (!g) {
		f->failed = true;
		return;
	}
	p->guarded = g;
	p->guarded[p->n_guarded++] = guarded;
}

/* A name of a list: absolute as it is, else below `base`. */
const char *files_below(struct files *f, const char *base, const char *name)
{
	const char *path;

	if (name[0] == '/')
		return name;
	path = path_join(f->plan->arena, base, name);
	if (!path)
		f->failed = true;
	return path ? path : "/";
}

static void add_readable(struct files *f, const char *path, bool optional, bool plain)
{
	struct plan_mount *m = files_add_mount(f, MOUNT_RO, path, path);

	m->optional = optional;
	m->plain = plain;
	add_access_to(f, m, LL_READ);
}

const struct field_value *files_list(const struct files *f, enum field_id id)
{
	return &f->policy->base.f[id];
}

bool files_has_word(const struct files *f, enum field_id id, const char *word)
{
	const struct field_value *v = files_list(f, id);

	for (size_t i = 0; i < v->n; i++)
		if (str_is(v->items[i].text, word))
			return true;
	return false;
}

bool files_is_within(const struct files *f, enum field_id id, const char *path)
{
	const struct field_value *v = files_list(f, id);

	for (size_t i = 0; i < v->n; i++)
		if (path_within(path, v->items[i].text.s))
			return true;
	return false;
}

/* ---- what is there ------------------------------------------------------ */

static void add_etc(struct files *f, const char *path)
{
	if (f->plan->landlock || f->whole)
		add_access(f, path, LL_READ, true);
	else
		add_readable(f, path, true, false);
}

static void add_system(struct files *f)
{
	struct plan_mount *m;

	if (!files_has_word(f, F_FILES_PRESETS, "system_runtime"))
		return;
	for (size_t i = 0; preset_system[i]; i++)
		if (f->whole) {
			add_access(f, preset_system[i], LL_READ, true);
		} else {
			m = files_add_mount(f, MOUNT_SYSTEM, preset_system[i], preset_system[i]);
			m->optional = true;
			add_access_to(f, m, LL_READ);
		}
	/* All of /etc is mounted and Landlock opens the entries; without
	 * Landlock the entries are mounted one by one. */
	if (!f->whole && f->plan->landlock)
		files_add_mount(f, MOUNT_RO, "/etc", "/etc")->optional = true;
	for (size_t i = 0; preset_etc[i]; i++)
		if (!strchr(preset_etc[i], '*'))
			add_etc(f, preset_etc[i]);
	for (size_t i = 0; i < f->request->etc_entries.n; i++)
		add_etc(f, f->request->etc_entries.paths[i]);
	if (!f->whole) {
		files_add_mount(f, MOUNT_RO, "/sys/devices/system/cpu", "/sys/devices/system/cpu")
			->optional = true;
		files_add_mount(f, MOUNT_RO, "/sys/devices/system/node", "/sys/devices/system/node")
			->optional = true;
	}
	add_access(f, "/sys/devices/system", LL_READ, true);
}

/* A private, writable place that ends with the run. */
static void add_private(struct files *f, const char *path)
{
	struct plan_mount *m;

	/* The host's own place of that name is not private. */
	if (f->in_place)
		return;
	m = files_add_mount(f, MOUNT_PRIVATE, NULL, path);
	add_access_to(f, m, LL_WRITE);
}

static bool has_root_below(const struct files *f, const char *path)
{
	static const enum field_id ids[] = { F_FILES_WRITE, F_FILES_READ, F_FILES_SOCKETS };

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		const struct field_value *v = files_list(f, ids[i]);

		for (size_t k = 0; k < v->n; k++)
			if (path_within(v->items[k].text.s, path))
				return true;
	}
	return false;
}

static bool is_within_any(const char *path, const char *const *folders)
{
	for (size_t i = 0; folders[i]; i++)
		if (path_within(path, folders[i]))
			return true;
	return false;
}

static bool is_of_system(const char *path)
{
	static const char *const more[] = { "/etc", "/boot", NULL };
	static const char *const own[] = { "/usr/local", "/usr/src", NULL };

	return !is_within_any(path, own) &&
	       (is_within_any(path, more) || is_within_any(path, preset_system));
}

static void add_temp(struct files *f)
{
	const char *home = f->request->home;

	if (!files_has_word(f, F_FILES_PRESETS, "user_temp"))
		return;
	add_private(f, "/tmp");
	/* One place under two names, unless a root lies there: no link may stand
	 * on the way to a root. */
	if (has_root_below(f, "/var/tmp") || (home && path_within(home, "/var/tmp")))
		add_private(f, "/var/tmp");
	else if (!f->whole)
		files_add_mount(f, MOUNT_LINK, "../tmp", "/var/tmp");
	/* Tools keep caches and logs below HOME; theirs end with the run. */
	if (home && !f->whole && !files_is_within(f, F_FILES_WRITE, home) &&
	    !files_is_within(f, F_FILES_READ, home) && strcmp(home, "/") != 0 &&
	    strcmp(home, "/var/tmp") != 0 && !is_of_system(home))
		add_private(f, home);
}

static void add_home_list(struct files *f, const char *preset, const char *const *names)
{
	const char *home = f->request->home;

	if (!files_has_word(f, F_FILES_PRESETS, preset))
		return;
	for (size_t i = 0; names[i]; i++)
		if (names[i][0] == '/' || home)
			add_readable(f, files_below(f, home ? home : "/", names[i]), true,
				     names[i][0] != '/');
}

static void add_devices(struct files *f)
{
	static const char *const nodes[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/random",
					     "/dev/urandom" };
	static const char *const links[][2] = { { "/proc/self/fd", "/dev/fd" },
						{ "/proc/self/fd/0", "/dev/stdin" },
						{ "/proc/self/fd/1", "/dev/stdout" },
						{ "/proc/self/fd/2", "/dev/stderr" },
						{ "pts/ptmx", "/dev/ptmx" } };
	struct plan_mount *m;

	files_add_mount(f, MOUNT_DIR, NULL, "/dev");
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++)
		add_access_to(f, files_add_mount(f, MOUNT_DEV, nodes[i], nodes[i]), LL_DEVICE);
	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		files_add_mount(f, MOUNT_LINK, links[i][0], links[i][1]);
	files_add_mount(f, MOUNT_DEVPTS, NULL, "/dev/pts");
	if (!f->in_place)
		add_access(f, "/dev/pts", LL_TERMINAL, true);
	m = files_add_mount(f, MOUNT_DEV, "/dev/tty", "/dev/tty");
	m->optional = true;
	add_access_to(f, m, LL_TERMINAL);
	add_private(f, "/dev/shm");
	if (f->plan->clone_flags & CLONE_NEWPID)
		m = files_add_mount(f, MOUNT_PROC, NULL, "/proc");
	else
		m = files_add_mount(f, MOUNT_RO, "/proc", "/proc");
	add_access_to(f, m, LL_READ);
}

/* A readable root may be absent; a writable one was made. */
static void add_root(struct files *f, enum plan_mount_kind kind, const char *path)
{
	struct plan_mount *m = files_add_mount(f, kind, path, path);

	m->root = true;
	m->optional = kind == MOUNT_RO;
	add_access_to(f, m, kind == MOUNT_RO ? LL_READ : LL_WRITE);
}

/* By an option, or in a policy that is named or trusted. */
static bool is_said(const struct files *f, const struct item *item)
{
	const char *file = item->at.file, *untrusted = f->request->untrusted;

	return !file || (strcmp(file, "default") != 0 &&
			 (!untrusted || strcmp(file, untrusted) != 0));
}

static bool has_path(const struct plan_paths *list, struct str path)
{
	for (size_t i = 0; i < list->n; i++)
		if (str_is(path, list->paths[i]))
			return true;
	return false;
}

/* Said to be read, where a writable root holds it: itself, or one above it. */
static bool is_read_within(const struct files *f, const struct item *root, bool itself)
{
	const struct field_value *held = files_list(f, F_FILES_PROTECT);

	for (size_t i = 0; i < held->n; i++)
		if (str_is(held->items[i].value, READ_ROOT_NOTE) && is_said(f, &held->items[i]) &&
		    (itself ? str_eq(root->text, held->items[i].text)
			    : path_within(root->text.s, held->items[i].text.s)))
			return true;
	return false;
}

bool files_is_named(const struct files *f, const struct item *root)
{
	return is_said(f, root) || has_path(&f->request->named_roots, root->text) ||
	       is_read_within(f, root, true);
}

/* It is writable only because somebody stands there: in one of the system's folders, as root,
 * or in what a set holds for whoever stands above it, that is no word of writing. */
static void keep_root(struct files *f, const char *path)
{
	bool of_system = f->plan->uid == 0 && is_of_system(path);

	f->unnamed = path;
	f->plan->kept_by = of_system ? NULL : files_find_set(f, path);
	if (of_system || f->plan->kept_by)
		f->plan->kept_root = path;
}

/* Roots in the order of their paths, so that what lies inside another one
 * comes after it. */
static void add_roots(struct files *f)
{
	const struct field_value *read = files_list(f, F_FILES_READ);
	const struct field_value *write = files_list(f, F_FILES_WRITE);

	for (size_t i = 0; i < read->n; i++)
		if (!files_is_within(f, F_FILES_WRITE, read->items[i].text.s) &&
		    strcmp(read->items[i].text.s, "/") != 0)
			add_root(f, MOUNT_RO, read->items[i].text.s);
	if (f->whole)
		add_access(f, "/", LL_READ, false);
	for (size_t i = 0; i < write->n; i++) {
		const char *path = write->items[i].text.s;

		if (!files_is_named(f, &write->items[i]) &&
		    !is_read_within(f, &write->items[i], false))
			keep_root(f, path);
		add_root(f, f->plan->kept_root == path ? MOUNT_RO : MOUNT_RW, path);
	}
}

static int add_sockets(struct files *f)
{
	const struct field_value *v = files_list(f, F_FILES_SOCKETS);

	f->plan->sockets = arena_new(f->plan->arena, v->n + 1, sizeof(*f->plan->sockets));
	if (!f->plan->sockets)
		return err_nomem(f->err);
	for (size_t i = 0; i < v->n; i++) {
		f->plan->sockets[f->plan->n_sockets++] = v->items[i].text.s;
		add_readable(f, v->items[i].text.s, true, false);
	}
	return 0;
}

/* With a gate every name server is ours, so any will do; what the host's files
 * say of search domains, addresses and services that are asked instead does not
 * hold inside.  A file that is not there needs no other. */
static const struct {
	const char *path, *text;
	bool closed;		/* where nothing leads out, too */
} network_texts[] = {
	{ "/etc/resolv.conf", "nameserver 127.0.0.1\n", false },
	/* Programs ask for the address of their own host name, and end without one. */
	{ "/etc/hosts", "127.0.0.1 localhost cordon\n"
			"::1 localhost cordon ip6-localhost ip6-loopback\n", true },
	{ "/etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\n"
				"hosts: files dns\nnetworks: files\nprotocols: files\n"
				"services: files\nethers: files\nrpc: files\n", false },
};

/* A network and a name of its own, and the host's list of names, which has not got it. */
static bool is_closed(const struct files *f)
{
	return f->plan->net.kind == NET_CLOSED && f->plan->level == LEVEL_FULL &&
	       (f->whole || files_has_word(f, F_FILES_PRESETS, "system_runtime"));
}

/* The host's own network has the host's name servers.  GAP: where all of / can be read,
 * /run is closed, and what is behind a link into it with it. */
static void add_name_servers(struct files *f)
{
	const char *text = f->request->name_servers;

	if (text && !f->whole && !f->in_place &&
	    files_has_word(f, F_FILES_PRESETS, "system_runtime"))
		files_add_mount(f, MOUNT_TEXT, text, network_texts[0].path)->optional = true;
}

static void add_network(struct files *f)
{
	bool closed = is_closed(f);

	if (f->plan->net.kind == NET_OPEN) {
		add_name_servers(f);
		return;
	}

	if ((!net_has_gate(&f->plan->net) && !closed) || f->in_place)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(network_texts); i++) {
		if (closed && !network_texts[i].closed)
			continue;
		files_add_mount(f, MOUNT_TEXT, network_texts[i].text, network_texts[i].path)
			->optional = true;
		if (!closed && !files_has_word(f, F_FILES_PRESETS, "system_runtime"))
			add_access(f, network_texts[i].path, LL_READ, true);
	}
}

/* ---- together -------------------------------------------------------------- */

/* The kernel's own file systems: the host's processes, its devices and its
 * settings are not files that a root could mean.  No device opens by way of a root, and those
 * that every command needs would be behind it. */
static int refuse_kernel(struct files *f, enum field_id id, const char *path)
{
	const struct field_value *v = files_list(f, id);

	for (size_t n = 0; n < v->n; n++)
		if (path_within(v->items[n].text.s, path) &&
		    !path_within(v->items[n].text.s, "/dev/shm")) {
			err_set(f->err, CORDON_E_HOST,
				"'%s' is the kernel's and cannot be a root; the command has /proc "
				"and /dev of its own", v->items[n].text.s);
			return err_locate(f->err, v->items[n].at);
		}
	return 0;
}

static int check_roots(struct files *f)
{
	static const struct {
		enum field_id id;
		const char *path;
	} closed[] = { { F_FILES_WRITE, "/proc" }, { F_FILES_READ, "/proc" },
		       { F_FILES_WRITE, "/dev" }, { F_FILES_READ, "/dev" },
		       { F_FILES_WRITE, "/sys" } };
	const struct plan_paths *mounts = &f->request->kernel_mounts;

	if (files_is_within(f, F_FILES_WRITE, "/")) {
		err_set(f->err, CORDON_E_HOST, "files.write: '/' cannot be a writable root; name a "
			"folder with --write, or work in one");
		/* No other root is beside one that has them all [M1]. */
		return err_locate(f->err, files_list(f, F_FILES_WRITE)->items[0].at);
	}
	for (size_t i = 0; i < ARRAY_SIZE(closed); i++)
		if (refuse_kernel(f, closed[i].id, closed[i].path) < 0)
			return -1;
	for (size_t i = 0; i < mounts->n; i++)
		if (refuse_kernel(f, F_FILES_WRITE, mounts->paths[i]) < 0 ||
		    refuse_kernel(f, F_FILES_READ, mounts->paths[i]) < 0)
			return -1;
	return 0;
}

/* The sets are left out, which is told; what the policy names itself is refused. */
static int check_kept(struct files *f)
{
	for (size_t i = 0; i < f->plan->n_guarded; i++) {
		const struct plan_guarded *g = &f->plan->guarded[i];

		if (g->cause == CAUSE_ENTRY || g->cause == CAUSE_READ)
			return err_set(f->err, CORDON_E_HOST,
				       "%s: '%s' can be kept from being written by mount only; "
				       "cordon doctor says what to do",
				       g->cause == CAUSE_READ ? "files.read" : "files.protect",
				       g->by);
	}
	return 0;
}

static bool is_root(const struct files *f, const char *path)
{
	static const enum field_id ids[] = { F_FILES_READ, F_FILES_WRITE };

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		const struct field_value *v = files_list(f, ids[i]);

		for (size_t k = 0; k < v->n; k++)
			if (str_is(v->items[k].text, path))
				return true;
	}
	return false;
}

/* The last mask in this directory, or NULL. */
static const char *find_mask_in(const struct plan *p, const char *path)
{
	for (size_t i = p->n_mounts; i > 0; i--)
		if (p->mounts[i - 1].kind == MOUNT_MASK &&
		    path_within(p->mounts[i - 1].target, path))
			return p->mounts[i - 1].target;
	return NULL;
}

/* Rights cannot be taken back inside what they are given for.  A preset that
 * holds something to be masked is left out; a root that does is refused. */
static int leave_out(struct files *f)
{
	struct plan *p = f->plan;
	size_t kept = 0;

	p->left_out = arena_new(p->arena, p->n_accesses + 1, sizeof(*p->left_out));
	if (!p->left_out)
		return err_nomem(f->err);
	for (size_t i = 0; i < p->n_accesses; i++) {
		const char *path = p->accesses[i].path, *inside = find_mask_in(p, path);

		if (inside && is_root(f, path))
			return err_set(f->err, CORDON_E_HOST,
				       "'%s' lies inside the root '%s', where only mount can keep "
				       "it from being read; cordon doctor says what to do",
				       inside, path);
		if (!inside || strcmp(path, "/proc") == 0)
			p->accesses[kept++] = p->accesses[i];
		else
			p->left_out[p->n_left_out++] = path;
	}
	p->n_accesses = kept;
	return 0;
}

static int check_in_place(struct files *f)
{
	struct plan *p = f->plan;

	if (leave_out(f) < 0)
		return -1;
	for (size_t i = 0; i < p->n_names; i++)
		if (p->names[i].mask)
			return err_set(f->err, CORDON_E_HOST,
				       "files.deny: '%s%s' can be kept from being read by mount "
				       "only; cordon doctor says what to do",
				       p->names[i].anywhere ? "**/" : "", p->names[i].pattern);
	if (check_kept(f) < 0)
		return -1;
	p->n_mounts = p->n_names = p->n_guarded = 0;
	return 0;
}

static void guard_alias(struct files *f, struct plan_guarded g, const char *path,
			const char *target)
{
	if (!path_within(g.name, target) || strcmp(g.name, target) == 0)
		return;
	g.name = files_below(f, path, g.name + strlen(target) + 1);
	files_add_guarded(f, g);
}

/* Other names of roots: where nothing else is, and no way to anything else.  What
 * may not be made below a root may not be made by that name either; rights are
 * the root's own, since they go by what a place is. */
static int add_aliases(struct files *f)
{
	const struct plan_request *r = f->request;
	struct plan *p = f->plan;
	size_t n_guarded = p->n_guarded;

	if (r->n_aliases && f->in_place)
		return err_set(f->err, CORDON_E_HOST,
			       "'%s' can be made inside by mount only; cordon doctor says what to "
			       "do", r->aliases[0].path);
	for (size_t i = 0; i < r->n_aliases; i++) {
		const char *path = r->aliases[i].path, *target = r->aliases[i].target;

		for (size_t k = 0; k < p->n_mounts; k++)
			if (path_within(path, p->mounts[k].target) ||
			    path_within(p->mounts[k].target, path))
				return err_set(f->err, CORDON_E_HOST,
					       "'%s' cannot be made inside, where '%s' is seen",
					       path, p->mounts[k].target);
		for (size_t k = 0; k < n_guarded; k++)
			guard_alias(f, p->guarded[k], path, target);
	}
	p->aliases = r->aliases;
	p->n_aliases = r->n_aliases;
	return 0;
}

static bool is_aliased(const struct plan_request *r, const char *path)
{
	for (size_t i = 0; i < r->n_aliases; i++)
		if (path_within(path, r->aliases[i].path) || path_within(r->aliases[i].path, path))
			return true;
	return false;
}

/* What was named by way of a link has that name inside, too.  Last: whatever else stands
 * there stays.  Behind a link is nothing that is not seen without it. */
static void add_links(struct files *f)
{
	const struct plan_request *r = f->request;

	for (size_t i = 0; !f->whole && i < r->n_links; i++)
		if (!is_aliased(r, r->links[i].path))
			files_add_mount(f, MOUNT_LINK, r->links[i].target, r->links[i].path)
				->optional = true;
}

/* Of a session.  The host's /dev has no such name, and nothing is made there. */
static int add_status(struct files *f)
{
	const char *folder = f->request->status;

	if (folder && f->whole)
		return err_set(f->err, CORDON_E_HOST,
			       "files.read: a session that sees all of '/' has no place for its "
			       "status; name the folders that it needs");
	if (folder) {
		files_add_mount(f, MOUNT_RO, folder, PLAN_STATUS_FOLDER);
		add_access(f, PLAN_STATUS_FOLDER, LL_READ, false);
	}
	return 0;
}

/* What could not be said where it happened. */
static int check_room(const struct files *f)
{
	if (f->crowded)
		return err_set(f->err, CORDON_E_POLICY,
			       "files: over %d names would have to be guarded: the sets of "
			       "files.protect below each writable root, and files.deny",
			       MAX_GUARD_NAMES);
	if (f->overlong && !f->in_place)
		return err_set(f->err, CORDON_E_POLICY,
			       "'%.300s' cannot be guarded: a path of over %d bytes or %d names, "
			       "or a name of over %d bytes", f->overlong, MAX_GUARD_NAME,
			       MAX_GUARD_PARTS, NAME_MAX);
	return f->failed ? err_nomem(f->err) : 0;
}

int files_compile(const struct policy *p, const struct plan_request *r,
		  const struct host_caps *caps, struct plan *plan, struct cordon_err *err)
{
	struct files f = { .policy = p, .request = r, .plan = plan, .err = err,
			   .in_place = !(plan->clone_flags & CLONE_NEWNS) };

	plan->landlock = caps->landlock;
	for (size_t i = 0; i < p->base.f[F_FILES_READ].n; i++)
		f.whole |= strcmp(p->base.f[F_FILES_READ].items[i].text.s, "/") == 0;
	if (f.whole)
		files_add_mount(&f, MOUNT_RO, "/", "/");
	if (check_roots(&f) < 0)
		return -1;
	if (!f.in_place)
		add_access(&f, "/", LL_READ_DIR, false);
	add_system(&f);
	add_temp(&f);
	add_home_list(&f, "developer_toolchains", preset_toolchains);
	add_home_list(&f, "package_manager_config", preset_config);
	add_devices(&f);
	add_roots(&f);
	if (add_status(&f) < 0 || add_sockets(&f) < 0)
		return -1;
	add_network(&f);
	if (files_add_protected(&f) < 0 || files_add_masks(&f) < 0)
		return -1;
	if (files_hide_all(&f) < 0 || add_aliases(&f) < 0)
		return -1;
	add_links(&f);
	if (f.in_place && check_in_place(&f) < 0)
		return -1;
	if (!plan->landlock)
		plan->n_accesses = 0;
	return check_room(&f);
}
