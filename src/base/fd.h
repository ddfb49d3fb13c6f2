/* Descriptors that a scope owns, and whole files read in one go. */
#ifndef BASE_FD_H
#define BASE_FD_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

void fd_close(int *fd);
static inline int fd_take(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

/* May this process have as many open as a cordon takes to be built?  To be asked
 * before: what fails for it later seems to be missing on this machine. */
int fd_check_limit(struct cordon_err *err) MUST_USE;

/* The whole of a regular file (or pipe), at most `max` bytes, NUL-terminated
 * in the arena. */
int fd_read_file(const char *path, size_t max, struct arena *a, struct str *ret_text,
		 struct cordon_err *err);
/* The same of an open file; `path` names it in messages. */
int fd_read_text(int fd, const char *path, size_t max, struct arena *a, struct str *ret_text,
		 struct cordon_err *err) MUST_USE;

#define cleanup_fd __attribute__((cleanup(fd_close)))

#endif
