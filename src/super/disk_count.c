/* Counting what is on the disk; see disk_count.h.
 *
 * Runs in the counter (disk.c), with CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE in
 * the tree's user namespace: so no mode that the tree gives its own folders
 * hides what is in them.
 *
 * GAP: a file without a name that is mapped, but open nowhere, or on its way
 * through a socket, is in no list that an ordinary user can read.
 * GAP: what moves from a folder not yet counted into one that was counted
 * already is missed, until the next count.
 */
#include "super/disk_count.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"

struct count {
	struct disk_counter *c;
	int64_t bytes, most;
	unsigned depth, entries;
	struct cordon_err *err;
};

/* --- each inode once --------------------------------------------------------- */

static size_t find_slot(const struct disk_inode *seen, size_t cap, uint64_t dev, uint64_t ino)
{
	size_t at = (size_t)((ino * 0x9e3779b97f4a7c15u) ^ (dev * 0xc2b2ae3d27d4eb4fu)) & (cap - 1);

	while (seen[at].ino && (seen[at].ino != ino || seen[at].dev != dev))
		at = (at + 1) & (cap - 1);
	return at;
}

static bool grow_seen(struct disk_counter *c)
{
	size_t cap = c->cap_seen ? c->cap_seen * 2 : 1024;
	struct disk_inode *bigger;

	if (cap > MAX_DISK_ENTRIES)
		return false;
	bigger = calloc(cap, sizeof(*bigger));
	if (!bigger)
		return false;
	for (size_t i = 0; i < c->cap_seen; i++)
		if (c->seen[i].ino)
			bigger[find_slot(bigger, cap, c->seen[i].dev, c->seen[i].ino)] = c->seen[i];
	free(c->seen);
	c->seen = bigger;
	c->cap_seen = cap;
	return true;
}

/* False: it was there.  What finds no room counts again, which errs towards
 * less. */
static bool add_inode(struct disk_counter *c, const struct stat *st)
{
	size_t at;

	if (c->n_seen * 2 >= c->cap_seen && !grow_seen(c))
		return true;
	at = find_slot(c->seen, c->cap_seen, st->st_dev, st->st_ino);
	if (c->seen[at].ino)
		return false;
	c->seen[at] = (struct disk_inode){ st->st_dev, st->st_ino };
	c->n_seen++;
	return true;
}

/* --- folders ------------------------------------------------------------------ */

static int refuse(struct count *k, int dir, const char *name, const char *why)
{
	char link[32], path[1024];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	n = readlink(link, path, sizeof(path) - 1);
	path[MAX(n, 0)] = '\0';
	return err_set(k->err, CORDON_E_HOST, "limits.disk: '%.300s/%.80s' %s", path, name, why);
}

static int count_folder(struct count *k, int dir, const char *name, uid_t owner);

static int count_entry(struct count *k, int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
		return errno == EACCES ? refuse(k, dir, name, "cannot be looked at") : 0;
	if (++k->entries > MAX_DISK_ENTRIES)
		return refuse(k, dir, name, "is one file too many to be counted");
	if (!S_ISDIR(st.st_mode) && st.st_nlink > 1 && !add_inode(k->c, &st))
		return 0;
	k->bytes += (int64_t)st.st_blocks * 512 + DISK_ENTRY_BYTES;
	return S_ISDIR(st.st_mode) ? count_folder(k, dir, name, st.st_uid) : 0;
}

/* A folder of somebody else that can not be listed: the tree has nothing there. */
static int count_folder(struct count *k, int dir, const char *name, uid_t owner)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), rc = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (!d) {
		bool gone = errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
		bool others = errno == EACCES && owner != geteuid();

		fd_close(&fd);
		return gone || others ? 0 : refuse(k, dir, name, "cannot be listed");
	}
	if (++k->depth > MAX_DISK_DEPTH)
		rc = refuse(k, dir, name, "lies too deep to be counted");
	while (rc == 0 && k->bytes <= k->most && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			rc = count_entry(k, fd, e->d_name);
	k->depth--;
	closedir(d);
	return rc;
}

/* --- files without a name ------------------------------------------------------ */

static bool is_of_roots(const struct disk_counter *c, dev_t dev)
{
	for (size_t i = 0; i < c->n_roots; i++)
		if (c->devices[i] == dev)
			return true;
	return false;
}

/* Calls `each` for the numbers that stand in a folder of procfs. */
static void walk_numbers(struct count *k, int proc, const char *path,
			 void (*each)(struct count *k, int dir, const char *name))
{
	int fd = proc < 0 ? -1 : openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	while (d && (e = readdir(d)))
		if (e->d_name[0] >= '0' && e->d_name[0] <= '9')
			each(k, fd, e->d_name);
	if (d)
		closedir(d);
	else
		fd_close(&fd);
}

/* Private places are in memory, and nothing else but roots is writable.  The device does
 * not tell: a file of an overlay may have another than its folder has, as what is mounted
 * below a root and what lies in a subvolume of it.
 * GAP: what lies on a tmpfs that is mounted below a root. */
static bool is_on_disk(int dir, const char *name)
{
	cleanup_fd int fd = openat(dir, name, O_PATH | O_CLOEXEC);
	struct statfs fs;

	return fd >= 0 && fstatfs(fd, &fs) == 0 && fs.f_type != TMPFS_MAGIC;
}

static void count_open_file(struct count *k, int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, 0) == 0 && S_ISREG(st.st_mode) && !st.st_nlink &&
	    (is_of_roots(k->c, st.st_dev) || is_on_disk(dir, name)) && add_inode(k->c, &st))
		k->bytes += (int64_t)st.st_blocks * 512;
}

/* A thread may have descriptors of its own, and the first one may have ended. */
static void count_thread(struct count *k, int dir, const char *tid)
{
	char path[32];

	snprintf(path, sizeof(path), "%.16s/fd", tid);
	walk_numbers(k, dir, path, count_open_file);
}

static void count_process(struct count *k, int dir, const char *pid)
{
	char path[32];

	snprintf(path, sizeof(path), "%.16s/task", pid);
	walk_numbers(k, dir, path, count_thread);
}

static void count_nameless(struct count *k)
{
	walk_numbers(k, k->c->proc, ".", count_process);
}

/* --- all ------------------------------------------------------------------------ */

int disk_count(struct disk_counter *c, int64_t most, int64_t *ret_bytes, struct cordon_err *err)
{
	struct count k = { .c = c, .most = most, .err = err };
	struct stat st;
	int rc = 0;

	if (c->cap_seen)
		memset(c->seen, 0, c->cap_seen * sizeof(*c->seen));
	c->n_seen = 0;
	count_nameless(&k);
	for (size_t i = 0; rc == 0 && i < c->n_roots; i++) {
		if (fstat(c->roots[i], &st) < 0)
			return err_sys(err, CORDON_E_SETUP, "cannot look at a writable root");
		if (S_ISDIR(st.st_mode))
			rc = count_folder(&k, c->roots[i], ".", st.st_uid);
		else
			k.bytes += (int64_t)st.st_blocks * 512;
	}
	if (rc == 0)
		*ret_bytes = k.bytes;
	return rc;
}

int64_t disk_free(const struct disk_counter *c)
{
	int64_t bytes = 0;

	for (size_t i = 0; i < c->n_roots; i++) {
		struct statfs fs;
		bool again = false;

		for (size_t k = 0; k < i; k++)
			again |= c->devices[k] == c->devices[i];
		if (!again && fstatfs(c->roots[i], &fs) == 0)
			bytes += (int64_t)fs.f_bfree * (int64_t)fs.f_bsize;
	}
	return bytes;
}
