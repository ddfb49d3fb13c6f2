/* Neighbours in one folder; see folder.h. */
#include "backend/native/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/native/syscalls.h"

void folder_close(struct folder *f)
{
	if (f->fd >= 0)
		close(f->fd);
	*f = FOLDER(f->at, f->resolve);
}

/* Is it the one that is open, or below one that is not there? */
static bool is_same(const struct folder *f, const char *path, size_t n)
{
	if (!f->path || n < f->n || memcmp(f->path, path, f->n) != 0)
		return false;
	return n == f->n || (f->error == ENOENT && path[f->n] == '/');
}

int folder_open(struct folder *f, const char *path, const char **ret_name)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = f->resolve };
	const char *slash = strrchr(path, '/');
	size_t n = (size_t)(slash - path);
	char name[PATH_MAX];

	*ret_name = slash + 1;
	if (!is_same(f, path, n)) {
		folder_close(f);
		if (n + 1 >= sizeof(name)) {
			errno = ENAMETOOLONG;
			return -1;
		}
		memcpy(name, path, n);
		memcpy(name + n, "/", 2);
		f->fd = (int)syscall(SYS_openat2, f->at, name, &how, sizeof(how));
		f->error = f->fd < 0 ? errno : 0;
		f->path = path;
		f->n = n;
	}
	errno = f->error;
	return f->fd;
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
