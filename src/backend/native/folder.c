/* Neighbours in one folder; see folder.h. */
#include "backend/native/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>

#include "base/listing.h"
#include "base/syscalls.h"

#define MANY_LOOKS	12	/* reading all the names of a small folder takes as long */

void folder_close(struct folder *f)
{
	struct listing *names = f->names;

	if (f->fd >= 0)
		close(f->fd);
	*f = FOLDER(f->at, f->resolve);
	f->names = names;
}

/* Does `path` start with these bytes, and end there or go on below? */
static bool is_at(const char *known, size_t n_known, const char *path, size_t n, bool below)
{
	if (!known || n < n_known || memcmp(known, path, n_known) != 0)
		return false;
	return n == n_known || (below && path[n_known] == '/');
}

int folder_open(struct folder *f, const char *path, const char **ret_name)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				.resolve = f->resolve | RESOLVE_NO_SYMLINKS };
	const char *slash = strrchr(path, '/');
	size_t n = (size_t)(slash - path);
	char name[PATH_MAX];
	bool linked;
	int fd;

	*ret_name = slash + 1;
	if (is_at(f->path, f->n, path, n, false))
		return f->fd;
	errno = n + 1 >= sizeof(name) ? ENAMETOOLONG : ENOENT;
	if (errno == ENAMETOOLONG || is_at(f->missing, f->n_missing, path, n, true))
		return -1;
	memcpy(name, path, n);
	memcpy(name + n, "/", 2);
	fd = sys_openat2(f->at, name, &how);
	linked = fd < 0 && errno == ELOOP && !(f->resolve & RESOLVE_NO_SYMLINKS);
	if (linked) {
		how.resolve = f->resolve;
		fd = sys_openat2(f->at, name, &how);
	}
	if (fd >= 0) {
		if (f->fd >= 0)
			close(f->fd);
		f->fd = fd;
		f->path = path;
		f->n = n;
		f->linked = linked;
		f->judged = false;
		f->n_looks = 0;
	} else if (errno == ENOENT && !linked) {
		f->missing = path;
		f->n_missing = n;
	} else if (errno == ENOENT) {
		errno = ELOOP;
	}
	return fd;
}

void folder_take(struct folder *f, const char *path, int fd)
{
	folder_close(f);
	f->path = path;
	f->n = (size_t)(strrchr(path, '/') - path);
	f->fd = fd;
}

bool folder_has(struct folder *f, const char *path)
{
	const char *name;
	struct stat st;

	/* Not faccessat, which copies the credentials for each question. */
	return folder_open(f, path, &name) >= 0 &&
	       (!*name || fstatat(f->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0);
}

bool folder_lacks(struct folder *f, const char *name)
{
	if (!f->names || ++f->n_looks < MANY_LOOKS)
		return false;
	if (f->n_looks == MANY_LOOKS)
		listing_read(f->names, f->fd);
	return listing_lacks(f->names, name);
}
