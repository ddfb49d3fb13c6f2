/* The file of --result; see result_file.h. */
#include "cli/result_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/write.h"

#define READER_S	10	/* for whoever reads a FIFO */

/* Folder and name of a path. */
static int open_folder(struct result_file *f, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	if (!name[0] || strlen(name) >= sizeof(f->name) ||
	    (slash && (size_t)(slash - path) + 1 >= sizeof(f->folder))) {
		errno = name[0] ? ENAMETOOLONG : EISDIR;
		return -1;
	}
	snprintf(f->folder, sizeof(f->folder), "%.*s", slash ? (int)(slash - path) + 1 : 1,
		 slash ? path : ".");
	snprintf(f->name, sizeof(f->name), "%s", name);
	f->dir = open(f->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return f->dir < 0 ? -1 : 0;
}

/* A FIFO that an earlier command left there must not hold up this one, neither here nor
 * when it is written: nobody may read it.  What the caller has open itself is waited for. */
static int open_as_is(struct result_file *f, const char *path, bool is_open)
{
	struct stat st;
	int flags;

	f->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	flags = f->fd < 0 || fstat(f->fd, &st) < 0 ? -1 : fcntl(f->fd, F_GETFL);
	if (flags < 0 || (S_ISFIFO(st.st_mode) && !is_open))
		return flags < 0 ? -1 : 0;
	return fcntl(f->fd, F_SETFL, flags & ~O_NONBLOCK);
}

int result_file_open(struct result_file *f, const char *path)
{
	bool is_open = strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0;
	struct stat st;

	*f = (struct result_file){ .dir = -1, .fd = -1 };
	/* A pipe, a terminal, /dev/stdout: nothing to replace. */
	if (is_open || (lstat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode)))
		return open_as_is(f, path, is_open);
	if (open_folder(f, path) < 0)
		return -1;
	return faccessat(f->dir, ".", W_OK | X_OK, AT_EACCESS);
}

#define FRESH_TRIES	8

/* A file under a name that the command could not have taken before. */
static int open_fresh(int dir, char name[64])
{
	int fd = -1;

	for (int i = 0; fd < 0 && i < FRESH_TRIES; i++) {
		uint64_t number;

		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			return -1;
		snprintf(name, 64, ".cordon-result-%016" PRIx64, number);
		fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	}
	return fd;
}

/* The folder could be written at the start: if it cannot now, the command closed it. */
static void reopen_folder(int dir)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", dir);
	if (fstat(dir, &st) == 0 && (st.st_mode & 0300) != 0300)
		(void)!chmod(path, (st.st_mode & 07777) | 0300);
}

/* Does the path still lead there?  Else who reads it finds what the command left instead. */
static bool is_in_place(const struct result_file *f)
{
	struct stat there, st;

	if (stat(f->folder, &there) == 0 && fstat(f->dir, &st) == 0 && there.st_dev == st.st_dev &&
	    there.st_ino == st.st_ino)
		return true;
	errno = ESTALE;
	return false;
}

/* Whole, then in one step under its own name. */
static int replace_file(const struct result_file *f, const char *text)
{
	char fresh[64];
	int fd, rc;

	reopen_folder(f->dir);
	fd = open_fresh(f->dir, fresh);
	if (fd < 0)
		return -1;
	rc = write_text(fd, text, READER_S);
	if (close(fd) < 0 || rc < 0 || renameat(f->dir, fresh, f->dir, f->name) < 0) {
		rc = errno;
		unlinkat(f->dir, fresh, 0);
		errno = rc;
		return -1;
	}
	return 0;
}

/* What stands there then is another run's, or of the command's making: no result is
 * better than that. */
static void remove_file(const struct result_file *f)
{
	int error = errno;

	unlinkat(f->dir, f->name, 0);
	errno = error;
}

int result_file_close(struct result_file *f, const char *text)
{
	int rc = 0;

	if (text)
		rc = f->dir >= 0 ? replace_file(f, text) : write_text(f->fd, text, READER_S);
	if (text && rc == 0 && f->dir >= 0 && !is_in_place(f))
		rc = -1;
	if ((rc < 0 || !text) && f->dir >= 0)
		remove_file(f);
	result_file_release(f);
	return rc;
}

void result_file_release(struct result_file *f)
{
	if (f->dir >= 0)
		close(f->dir);
	if (f->fd >= 0)
		close(f->fd);
}
