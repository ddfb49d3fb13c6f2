/* Descriptors; see fd.h. */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/limits.h"

void fd_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int read_all(int fd, const char *path, size_t max, struct buf *text,
		    struct cordon_err *err)
{
	char chunk[16384];

	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, CORDON_E_SETUP, "cannot read '%s'", path);
		if (n == 0)
			return 0;
		buf_add(text, chunk, (size_t)n);
		if (!buf_ok(text))
			return err_set(err, CORDON_E_POLICY, "'%s' is larger than %zu bytes",
				       path, max);
	}
}

int fd_check_limit(struct cordon_err *err)
{
	struct rlimit now;

	if (getrlimit(RLIMIT_NOFILE, &now) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot read the limit of open files");
	if (now.rlim_cur >= MIN_OPEN_FILES)
		return 0;
	return err_set(err, CORDON_E_HOST,
		       "the limit of open files (ulimit -n) is %llu, and a cordon needs %d; raise "
		       "it and try again", (unsigned long long)now.rlim_cur, MIN_OPEN_FILES);
}

int fd_read_file(const char *path, size_t max, struct arena *a, struct str *ret_text,
		 struct cordon_err *err)
{
	/* O_NONBLOCK: opening a FIFO that nobody writes must not hang. */
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot open '%s'", path);
	return fd_read_text(fd, path, max, a, ret_text, err);
}

int fd_read_text(int fd, const char *path, size_t max, struct arena *a, struct str *ret_text,
		 struct cordon_err *err)
{
	char room[4096];
	cleanup_buf struct buf text = BUF_IN(room, max);
	struct stat st;
	const char *copy;

	if (fstat(fd, &st) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot look at '%s'", path);
	if (S_ISDIR(st.st_mode))
		return err_set(err, CORDON_E_POLICY, "'%s' is a directory; name a file", path);
	if (!S_ISREG(st.st_mode) && fcntl(fd, F_SETFL, 0) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot read '%s'", path);
	if (read_all(fd, path, max, &text, err) < 0)
		return -1;
	/* Nobody has opened it to write: that is no empty text. */
	if (S_ISFIFO(st.st_mode) && !text.n)
		return err_set(err, CORDON_E_POLICY, "'%s' is a pipe that nobody writes to", path);
	copy = arena_strndup(a, buf_text(&text), text.n);
	if (!copy)
		return err_nomem(err);
	*ret_text = (struct str){ copy, text.n };
	return 0;
}
