/* Paths of a tree that another party wrote; see beneath.h. */
#include "base/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "base/syscalls.h"

/* A FIFO would block, and a terminal would become this process's own. */
static int whole_flags(int flags)
{
	return flags | O_CLOEXEC | (flags & O_PATH ? 0 : O_NONBLOCK | O_NOCTTY);
}

int open_beneath(int root, const char *path, int flags)
{
	struct open_how how = {
		.flags = (unsigned)whole_flags(flags),
		.mode = flags & O_CREAT ? 0600 : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS |
			   (flags & O_NOFOLLOW ? RESOLVE_NO_SYMLINKS : 0),
	};

	return sys_openat2(root, path, &how);
}

/* EXDEV: `..` or an absolute symlink; ELOOP: a link of /proc, or too many. */
bool is_outside(void)
{
	return errno == EXDEV || errno == ELOOP;
}

static bool is_entry(const char *name)
{
	if (*name && !strchr(name, '/') && strcmp(name, "..") != 0)
		return true;
	errno = EINVAL;
	return false;
}

int entry_stat(int dir, const char *name, struct stat *ret)
{
	return is_entry(name) ? fstatat(dir, name, ret, AT_SYMLINK_NOFOLLOW) : -1;
}

int entry_make_dir(int dir, const char *name, mode_t mode)
{
	return is_entry(name) ? mkdirat(dir, name, mode) : -1;
}

int entry_make_link(const char *target, int dir, const char *name)
{
	return is_entry(name) ? symlinkat(target, dir, name) : -1;
}

int entry_chmod(int dir, const char *name, mode_t mode)
{
	return is_entry(name) ? fchmodat(dir, name, mode, AT_SYMLINK_NOFOLLOW) : -1;
}

int entry_remove(int dir, const char *name, int flags)
{
	return is_entry(name) ? unlinkat(dir, name, flags) : -1;
}

int entry_move(int from, const char *name, int to, const char *new_name, unsigned flags)
{
	if (!is_entry(name) || !is_entry(new_name))
		return -1;
	return (int)syscall(SYS_renameat2, from, name, to, new_name, flags);
}

ssize_t entry_read_link(int dir, const char *name, char *ret, size_t size)
{
	return is_entry(name) ? readlinkat(dir, name, ret, size) : -1;
}

DIR *entry_list(int dir)
{
	int fd = open_beneath(dir, ".", O_RDONLY | O_DIRECTORY);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !d)
		close(fd);
	return d;
}

/* ---- paths that the operator named ----------------------------------------- */

int open_named(const char *path, int flags)
{
	return open(path, whole_flags(flags) | O_CLOEXEC, 0600);
}

int make_named(const char *path, struct cordon_err *err)
{
	char part[PATH_MAX];
	size_t n = strlen(path);

	if (n >= sizeof(part))
		return err_set(err, CORDON_E_USAGE, "cannot make the directory: the path is too "
			       "long");
	for (size_t i = 1; i <= n; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (mkdir(part, 0700) < 0 && errno != EEXIST)
			return err_sys(err, CORDON_E_USAGE, "cannot make the directory '%s'",
				       part);
	}
	return 0;
}
