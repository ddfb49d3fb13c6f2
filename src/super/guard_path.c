/* Paths of the tree, followed by the actor.
 *
 * The actor's root is that of the tree (chroot), so the kernel itself follows
 * links and clamps `..`, with the rights of the tree.  What it can not follow
 * for us are the links of procfs that depend on who asks: /proc/self is
 * nobody to a process of another pid namespace, and /proc/PID/cwd and fd/N
 * would be followed with our rights instead of the caller's.  Where the way
 * may lead through those, each component is taken by hand.
 */
#include "super/guard_priv.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"

#define MAX_LINKS	40	/* as the kernel */

void guard_place_clear(struct guard_place *p)
{
	fd_close(&p->owned);
	p->dir = -1;
	p->n_last = 0;
	p->magic = p->from_root = false;
}

int guard_fd_path(const struct guard_worker *w, int fd, char *ret, size_t n)
{
	char name[32];
	ssize_t got;

	snprintf(name, sizeof(name), "fd/%d", fd);
	got = readlinkat(w->self, name, ret, n);
	if (got < 0)
		return guard_rc(got);
	if ((size_t)got == n)
		return -ENAMETOOLONG;
	ret[got] = '\0';
	return (int)got;
}

/* --- links ------------------------------------------------------------------ */

bool guard_is_procfs(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

/* Settings of the kernel are those of the namespaces (network, IPC) of whoever looks, also
 * whether there are any: ours are not the caller's.  The folder that a procfs is mounted at
 * may have such a part as well: then nothing of it is opened. */
static bool is_setting(const struct guard_worker *w, int fd)
{
	char path[PATH_MAX];

	if (!guard_is_procfs(fd))
		return false;
	if (guard_fd_path(w, fd, path, sizeof(path)) < 0)
		return true;
	for (const char *at = strstr(path, "/sys"); at; at = strstr(at + 1, "/sys"))
		if (!at[4] || at[4] == '/')
			return true;
	return false;
}

/* Take the last component off; empty when there is none. */
static struct str take_last(struct str *path)
{
	size_t n = path->n;
	struct str part;

	while (n && path->s[n - 1] != '/')
		n--;
	part = str_from_pos(*path, n);
	path->n = n ? n - 1 : 0;
	return part;
}

static bool is_number(struct str s, int number)
{
	uint64_t v;

	return str_parse_u64(s, &v) && v == (uint64_t)number;
}

/* Is this folder of procfs the caller's own: …/TGID or …/TGID/task/TID?  Where
 * it is not known which procfs it is, the numbers may be another's: then the
 * caller gets its own instead, which is harmless. */
static bool is_own(const struct guard_actor *a, struct str folder)
{
	struct str id = take_last(&folder);

	if (is_number(id, a->req.tgid))
		return true;
	return is_number(id, a->req.tid) && str_is(take_last(&folder), "task") &&
	       is_number(take_last(&folder), a->req.tgid);
}

/* Is it a link to a descriptor of the caller's, in its own folder of those? */
static bool is_own_fd(const struct guard_actor *a, struct str folder, const char *name,
		      uint64_t *ret_fd)
{
	return str_is(take_last(&folder), "fd") && is_own(a, folder) &&
	       str_parse_u64(str_from(name), ret_fd) && *ret_fd <= INT_MAX;
}

/* A link of procfs that is a jump: the caller's own are opened by the reader,
 * others with the rights of the tree. */
static int follow_jump(struct guard_actor *a, int dir, const char *name, int *ret_fd)
{
	char text[PATH_MAX];
	int n = guard_fd_path(a->w, dir, text, sizeof(text));
	struct str folder = { text, n < 0 ? 0 : (size_t)n };
	uint64_t fd;
	int rc;

	if (strcmp(name, "cwd") == 0 && is_own(a, folder))
		return guard_ask(a, GUARD_ASK_CWD, -1, ret_fd);
	if (strcmp(name, "root") == 0 && is_own(a, folder)) {
		rc = guard_rc(openat(AT_FDCWD, "/", O_PATH | O_DIRECTORY | O_CLOEXEC));
	} else if (is_own_fd(a, folder, name, &fd)) {
		a->own_fd = (int)fd;
		return guard_ask(a, GUARD_ASK_FD, (int)fd, ret_fd);
	} else {
		rc = guard_rc(openat(dir, name, O_PATH | O_CLOEXEC));
	}
	if (rc < 0)
		return rc;
	*ret_fd = rc;
	return 0;
}

bool guard_is_own_fd(const struct guard_actor *a, const struct guard_place *p)
{
	char text[PATH_MAX];
	int n = guard_fd_path(a->w, p->dir, text, sizeof(text));
	uint64_t fd;

	return n >= 0 && guard_is_procfs(p->dir) &&
	       is_own_fd(a, (struct str){ text, (size_t)n }, p->last, &fd);
}

/* fs.protected_symlinks: in a folder for all, only links of one's own or of
 * the folder's owner.  Held always, whatever the setting. */
static bool may_follow(int dir, const struct stat *link)
{
	struct stat st;

	if (link->st_uid == geteuid() || fstat(dir, &st) < 0)
		return true;
	return (st.st_mode & (S_ISVTX | S_IWOTH)) != (S_ISVTX | S_IWOTH) ||
	       st.st_uid == link->st_uid;
}

/* Follow the link `name` of `dir`, of which `link` is a descriptor. */
static int follow_link(struct guard_actor *a, int dir, const char *name, int link,
		       char target[PATH_MAX], int *ret_fd)
{
	bool procfs = guard_is_procfs(dir);
	struct stat st;
	ssize_t n;

	*ret_fd = -1;
	if (++a->links > MAX_LINKS)
		return -ELOOP;
	if (fstat(dir, &st) < 0)
		return -EACCES;
	if (procfs && st.st_ino != 1)	/* 1: the root of procfs, whose links are text */
		return follow_jump(a, dir, name, ret_fd);
	if (procfs && strcmp(name, "self") == 0) {
		snprintf(target, PATH_MAX, "%d", a->req.tgid);
		return 0;
	}
	if (procfs && strcmp(name, "thread-self") == 0) {
		snprintf(target, PATH_MAX, "%d/task/%d", a->req.tgid, a->req.tid);
		return 0;
	}
	if (fstat(link, &st) < 0 || !may_follow(dir, &st))
		return -EACCES;
	n = readlinkat(link, "", target, PATH_MAX);
	if (n < 0)
		return guard_rc(n);
	if (n == 0 || n == PATH_MAX)
		return n ? -ENAMETOOLONG : -ENOENT;
	target[n] = '\0';
	return 0;
}

int guard_follow(struct guard_actor *a, const struct guard_place *p, char target[PATH_MAX],
		 int *ret_fd)
{
	cleanup_fd int link = openat(p->dir, p->last, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int rc = guard_rc(link);

	if (rc == -EACCES && guard_is_own_fd(a, p))
		return follow_jump(a, p->dir, p->last, ret_fd);
	if (rc < 0)
		return rc;
	return follow_link(a, p->dir, p->last, link, target, ret_fd);
}

/* --- walking ---------------------------------------------------------------- */

/* A way by hand: where it has come to, and the text that is left. */
struct way {
	int at;				/* owned */
	bool magic;
	const char *rest;
	char texts[2][2 * PATH_MAX];	/* `rest` points into one */
};

/* Put the text of a link before what is left. */
static int way_splice(struct way *w, const char *target)
{
	char *into = w->rest >= w->texts[0] && w->rest < w->texts[0] + sizeof(w->texts[0]) ?
			     w->texts[1] : w->texts[0];
	int n = snprintf(into, sizeof(w->texts[0]), "%s/%s", target, w->rest);

	if (n < 0 || (size_t)n >= sizeof(w->texts[0]))
		return -ENAMETOOLONG;
	w->rest = into;
	return 0;
}

static int way_open(struct way *w, int from, const char *name)
{
	int fd = openat(from, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return guard_rc(fd);
	fd_close(&w->at);
	w->at = fd;
	return 0;
}

/* The descriptors of a caller that is not dumpable are closed to all but itself
 * (and the reader). */
static int way_enter_closed(struct guard_actor *a, struct way *w, const char *name, int rc)
{
	int to = -1;

	if (rc != -EACCES || !guard_is_procfs(w->at))
		return rc;
	rc = follow_jump(a, w->at, name, &to);
	if (rc < 0)
		return rc;
	fd_close(&w->at);
	w->at = to;
	w->magic = true;
	return 0;
}

/* Go into `name`, over the link that it may be. */
static int way_enter(struct guard_actor *a, struct way *w, const char *name, bool follow)
{
	cleanup_fd int fd = openat(w->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char target[PATH_MAX];
	struct stat st;
	int to = -1, rc;

	if (is_setting(a->w, w->at))
		return -EROFS;
	if (fd < 0)
		return way_enter_closed(a, w, name, guard_rc(fd));
	if (fstat(fd, &st) < 0)
		return -EACCES;
	if (!S_ISLNK(st.st_mode) || !follow) {
		fd_close(&w->at);
		w->at = fd_take(&fd);
		return 0;
	}
	rc = follow_link(a, w->at, name, fd, target, &to);
	if (rc < 0)
		return rc;
	if (to < 0)
		return way_splice(w, target);
	fd_close(&w->at);
	w->at = to;
	w->magic = true;
	return 0;
}

static int way_walk(struct guard_actor *a, struct way *w, bool follow)
{
	int rc = 0;

	while (rc == 0 && *w->rest) {
		size_t n = strcspn(w->rest, "/");
		char name[NAME_MAX + 1];
		bool more;

		if (n == 0) {
			/* Only the text of a link can begin with a slash here. */
			rc = way_open(w, AT_FDCWD, "/");
			w->rest += strspn(w->rest, "/");
			continue;
		}
		if (n > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, w->rest, n);
		name[n] = '\0';
		more = w->rest[n] == '/';
		w->rest += n + strspn(w->rest + n, "/");
		rc = way_enter(a, w, name, follow || more);
	}
	return rc;
}

/* Does opening fail for what only the caller could follow? */
static bool needs_walk(int rc)
{
	return rc == -ELOOP || rc == -ENOENT || rc == -EACCES;
}

static int open_in_tree(const struct guard_worker *w, int base, const char *path, unsigned flags)
{
	struct open_how how = { .flags = flags | O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_NO_MAGICLINKS };
	cleanup_fd int fd = (int)syscall(SYS_openat2, base, path, &how, sizeof(how));

	if (fd < 0)
		return guard_rc(fd);
	return is_setting(w, fd) ? -EROFS : fd_take(&fd);
}

static int walk(struct guard_actor *a, int base, const char *path, bool follow, struct way *w)
{
	int rc;

	w->at = -1;
	w->magic = false;
	w->rest = path + strspn(path, "/");
	rc = path[0] == '/' ? way_open(w, AT_FDCWD, "/") : way_open(w, base, ".");
	if (rc == 0)
		rc = way_walk(a, w, follow);
	if (rc < 0)
		fd_close(&w->at);
	return rc;
}

int guard_find(struct guard_actor *a, int base, const char *path, bool follow, int *ret_fd)
{
	int rc = open_in_tree(a->w, base, path, follow ? 0 : O_NOFOLLOW);
	struct way w;

	if (rc < 0 && needs_walk(rc)) {
		rc = walk(a, base, path, follow, &w);
		if (rc == 0)
			rc = w.at;
	}
	if (rc < 0)
		return rc;
	*ret_fd = rc;
	return 0;
}

/* Open the directory part of a path. */
static int open_parent(struct guard_actor *a, int base, const char *dir, struct guard_place *ret)
{
	int rc = open_in_tree(a->w, base, dir, O_DIRECTORY);
	struct stat st;
	struct way w;

	if (rc >= 0) {
		ret->owned = ret->dir = rc;
		ret->from_root = dir[0] == '/';
		return 0;
	}
	if (!needs_walk(rc))
		return rc;
	rc = walk(a, base, dir, true, &w);
	if (rc < 0)
		return rc;
	ret->owned = ret->dir = w.at;
	ret->magic = w.magic;
	return fstat(w.at, &st) == 0 && S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

int guard_resolve(struct guard_actor *a, int base, const char *path, struct guard_place *ret)
{
	size_t n = strlen(path), last;
	char dir[PATH_MAX];
	bool slash;

	guard_place_clear(ret);
	if (n == 0)
		return -ENOENT;
	if (n >= PATH_MAX)
		return -ENAMETOOLONG;
	slash = path[n - 1] == '/';
	while (n && path[n - 1] == '/')
		n--;
	for (last = n; last && path[last - 1] != '/'; last--)
		;
	if (n - last > NAME_MAX)
		return -ENAMETOOLONG;
	if (n == 0) {		/* the root: as good as "." in it */
		memcpy(ret->last, ".", 2);
		ret->n_last = 1;
		return open_parent(a, base, "/", ret);
	}
	ret->n_last = n - last;
	memcpy(ret->last, path + last, ret->n_last);
	memcpy(ret->last + ret->n_last, slash ? "/" : "", 2 - !slash);
	if (last == 0) {
		ret->dir = base;
		return 0;
	}
	memcpy(dir, path, last);
	dir[last] = '\0';
	return open_parent(a, base, dir, ret);
}
