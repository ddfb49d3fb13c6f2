/* What must be looked up on the host before the clone: the files that blocked
 * commands are, by every name of theirs, the sockets of host programs that lie
 * in what the command will see, and what patterns mean (find_names.c). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/native/find_priv.h"
#include "backend/native/init_priv.h"
#include "backend/native/programs.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/program.h"
#include "base/syscalls.h"

#define MAX_SOCKET_TABLE	(16u << 20)
#define ROOM_FOUND		16	/* for what is found; it grows beyond */

int found_add(struct found *f, const struct plan_mount *mount)
{
	struct plan_mount *m = arena_grow(f->plan->arena, f->mounts, f->n, &f->cap, sizeof(*m));

	if (!m)
		return err_nomem(f->err);
	f->mounts = m;
	f->mounts[f->n++] = *mount;
	return 0;
}

static int add_mask(struct found *f, const char *path)
{
	return found_add(f, &(struct plan_mount){
				    .kind = MOUNT_MASK, .optional = true, .target = path });
}

/* ---- blocked commands --------------------------------------------------- */

/* Once: folders of programs lead to each other. */
static int mask_program(struct found *f, const char *path)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->mounts[i].kind == MOUNT_MASK && f->mounts[i].exec &&
		    strcmp(f->mounts[i].target, path) == 0)
			return 0;
	return found_add(f, &(struct plan_mount){ .kind = MOUNT_MASK, .optional = true,
						  .exec = true, .target = path });
}

/* Every entry of `dir` that is the same file. */
static int add_links(struct found *f, struct str folder, const struct stat *same)
{
	const char *dir = arena_strndup(f->plan->arena, folder.s, folder.n);
	DIR *d = dir ? opendir(dir) : NULL;
	struct dirent *e;
	int rc = dir ? 0 : err_nomem(f->err);

	while (d && rc == 0 && (e = readdir(d))) {
		struct stat st;
		const char *path;

		if (e->d_ino != same->st_ino || fstatat(dirfd(d), e->d_name, &st, 0) < 0 ||
		    st.st_dev != same->st_dev)
			continue;
		path = arena_printf(f->plan->arena, "%s/%s", dir, e->d_name);
		rc = path ? mask_program(f, path) : err_nomem(f->err);
	}
	if (d)
		closedir(d);
	return rc;
}

static int add_program(struct found *f, struct str dir, const char *name)
{
	const char *path = arena_printf(f->plan->arena, "%.*s/%s", (int)dir.n, dir.s, name), *real;
	struct program_dirs dirs = PROGRAM_DIRS(STR(""));
	struct stat st;

	if (!path)
		return err_nomem(f->err);
	/* One part of a program that is many is judged when it is executed. */
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (programs_find(&f->multi_calls, st.st_dev, st.st_ino, NULL) &&
	     !program_is_multi_call(str_from(name))))
		return 0;
	if (path_resolve(f->plan->arena, str_from(path), "/", &real, f->err) < 0)
		return -1;
	if (mask_program(f, real) < 0)
		return -1;
	while (st.st_nlink > 1 && program_dirs_next(&dirs, &dir))
		if (add_links(f, dir, &st) < 0)
			return -1;
	return 0;
}

/* By its name, and by those under which some install it beside another one. */
static int add_blocked(struct found *f, const char *name)
{
	for (size_t i = 0; program_suffixes[i]; i++) {
		struct program_dirs dirs = PROGRAM_DIRS(program_path(f->plan->envp));
		const char *full = arena_printf(f->plan->arena, "%s%s", name, program_suffixes[i]);
		struct str dir;

		if (!full)
			return err_nomem(f->err);
		while (program_dirs_next(&dirs, &dir))
			if (add_program(f, dir, full) < 0)
				return -1;
	}
	return 0;
}

/* A shell that is many programs may become them without executing anything. */
static int check_shell(struct found *f)
{
	const struct program_file *many;
	struct stat st;

	if (programs_add_multi_calls(&f->multi_calls, f->plan->envp, f->plan->arena, f->err) < 0)
		return -1;
	many = stat("/bin/sh", &st) < 0 ? NULL :
	       programs_find(&f->multi_calls, st.st_dev, st.st_ino, NULL);
	if (many)
		return err_set(f->err, CORDON_E_HOST,
			       "commands.block: '%s' holds many programs and is the shell, so none "
			       "of them can be blocked",
			       many->name);
	return 0;
}

/* ---- sockets ------------------------------------------------------------ */

/* Does this path come into sight without being meant to? */
static bool is_shown(const struct plan *p, const char *path)
{
	for (size_t i = 0; i < p->n_sockets; i++)
		if (path_within(path, p->sockets[i]))
			return false;
	for (size_t i = 0; i < p->n_mounts; i++) {
		const struct plan_mount *m = &p->mounts[i];

		if (m->source && path_within(path, m->source) &&
		    (m->kind == MOUNT_RO || m->kind == MOUNT_RW || m->kind == MOUNT_SYSTEM))
			return true;
	}
	return false;
}

/* Mask it if it is a socket that comes into sight. */
static int add_socket(struct found *f, const char *dir, const char *name)
{
	struct cordon_err ignored;
	const char *real;
	struct stat st;

	if (path_resolve(f->plan->arena, str_from(name), dir, &real, &ignored) < 0 ||
	    !is_shown(f->plan, real))
		return 0;
	/* In a folder that is closed to us there may be one: the command can open
	 * the folder if it is its own. */
	if (stat(real, &st) < 0 ? errno != EACCES : !S_ISSOCK(st.st_mode))
		return 0;
	return add_mask(f, real);
}

static int add_folder(struct found *f, const char *path)
{
	struct folders *l = &f->folders;

	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->paths[i], path) == 0)
			return 0;
	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : ROOM_FOUND;
		const char **paths = arena_new(f->plan->arena, cap, sizeof(*paths));

		if (!paths)
			return err_nomem(f->err);
		if (l->n)
			memcpy(paths, l->paths, l->n * sizeof(*paths));
		l->paths = paths;
		l->cap = cap;
	}
	l->paths[l->n] = arena_strndup(f->plan->arena, path, strlen(path));
	return l->paths[l->n++] ? 0 : err_nomem(f->err);
}

/* Where a relative path may begin: at a root, or where some process is now. */
static int list_folders(struct found *f)
{
	DIR *d = opendir("/proc");
	const struct dirent *e;
	int rc = 0;

	for (size_t i = 0; i < f->plan->n_mounts && rc == 0; i++) {
		const struct plan_mount *m = &f->plan->mounts[i];

		if ((m->kind == MOUNT_RW || m->kind == MOUNT_RO) && m->source)
			rc = add_folder(f, m->source);
	}
	while (d && rc == 0 && (e = readdir(d))) {
		char link[32 + sizeof(e->d_name)], cwd[4096];
		ssize_t n;

		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		snprintf(link, sizeof(link), "/proc/%s/cwd", e->d_name);
		n = readlink(link, cwd, sizeof(cwd) - 1);
		if (n <= 0)
			continue;
		cwd[n] = '\0';
		rc = add_folder(f, cwd);
	}
	if (d)
		closedir(d);
	return rc;
}

/* A socket that was bound to a relative path.
 * GAP: one whose process has gone elsewhere since is not found, nor are those
 * that are made later, or in another network namespace. */
static int add_relative_socket(struct found *f, const char *name)
{
	int rc = f->folders.n ? 0 : list_folders(f);

	for (size_t i = 0; i < f->folders.n && rc == 0; i++)
		rc = add_socket(f, f->folders.paths[i], name);
	return rc;
}

/* One that begins as those without a path are shown: nearly always it is one, so it is not
 * looked for where processes are.
 * GAP: one of such a name in a folder below a root is not found. */
static int add_bare_socket(struct found *f, const char *name)
{
	const struct plan *p = f->plan;

	for (size_t i = 0; i < p->n_mounts; i++)
		if (p->mounts[i].root && add_socket(f, p->mounts[i].source, name) < 0)
			return -1;
	return 0;
}

/* The name that ends a line of the table, after seven fields and a blank; or empty.  It
 * may begin with a blank itself. */
static struct str socket_name(struct str line)
{
	for (int i = 0; i < 7; i++) {
		while (line.n && *line.s == ' ')
			line = str_from_pos(line, 1);
		while (line.n && *line.s != ' ')
			line = str_from_pos(line, 1);
	}
	return line.n ? str_from_pos(line, 1) : line;
}

static int add_named_socket(struct found *f, const char *path)
{
	switch (path[0]) {
	case '/':
		return add_socket(f, "/", path);
	case '@':
		return add_bare_socket(f, path);
	default:
		return add_relative_socket(f, path);
	}
}

/* Where an entry of the table ends: a name may hold line ends.  Each begins with digits and
 * a colon. */
static size_t end_of_entry(struct str table)
{
	size_t n = str_find(table, '\n');

	while (n < table.n) {
		struct str next = str_from_pos(table, n + 1);
		size_t digits = 0;

		while (digits < next.n && strchr("0123456789abcdef", next.s[digits]) &&
		       next.s[digits])
			digits++;
		if (!next.n || (digits >= 8 && digits < next.n && next.s[digits] == ':'))
			break;
		n += 1 + str_find(next, '\n');
	}
	return n;
}

/* A socket with a name can be reached from every network namespace; no mount
 * flag hinders it, only that it is not there. */
static int add_sockets(struct found *f)
{
	struct cordon_err ignored;
	struct str table;

	if (fd_read_file("/proc/net/unix", MAX_SOCKET_TABLE, f->plan->arena, &table, &ignored) < 0)
		return err_set(f->err, CORDON_E_SETUP, "cannot list the sockets of this machine");
	/* The first line names the fields: "Path" is no socket. */
	table = str_from_pos(table, MIN(str_find(table, '\n') + 1, table.n));
	while (table.n) {
		size_t n = end_of_entry(table);
		struct str name = socket_name(str_first(table, n));
		const char *path = name.n ? arena_strndup(f->plan->arena, name.s, name.n) : NULL;

		table = str_from_pos(table, n < table.n ? n + 1 : n);
		if (name.n && !path)
			return err_nomem(f->err);
		if (path && add_named_socket(f, path) < 0)
			return -1;
	}
	return 0;
}

int find_masks(const struct plan *plan, const struct plan_mount **ret, size_t *ret_n,
	       struct cordon_err *err)
{
	struct found f = { .plan = plan, .err = err };

	f.cap = plan->n_mounts + ROOM_FOUND;
	f.mounts = arena_new(plan->arena, f.cap, sizeof(*f.mounts));
	if (!f.mounts)
		return err_nomem(err);
	if (plan->n_mounts)
		memcpy(f.mounts, plan->mounts, plan->n_mounts * sizeof(*f.mounts));
	f.n = plan->n_mounts;
	if ((plan->n_blocked || plan->n_rules) && check_shell(&f) < 0)
		return -1;
	for (size_t i = 0; i < plan->n_blocked; i++)
		if (add_blocked(&f, plan->blocked[i]) < 0)
			return -1;
	/* Where nobody judges executions, `busybox wget` is held with all the rest. */
	for (size_t i = 0; plan->n_blocked && !plan->n_rules && program_multi_calls[i]; i++)
		if (add_blocked(&f, program_multi_calls[i]) < 0)
			return -1;
	if (find_names(&f) < 0 || add_sockets(&f) < 0)
		return -1;
	*ret = f.mounts;
	*ret_n = f.n;
	return 0;
}
