/* Descriptors; see fd.h. */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"

void fd_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

#define MAX_LATER	16
#define N_AT_ONCE	4	/* that the kernel has not come to yet, of one user */

/* A name that goes with the socket says that it is still there.  False: there are
 * enough of them, and the kernel's workers are behind (those of a real-time process
 * may never come): no more is left to them. */
static bool take_turn(int sock)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	for (unsigned i = 0; i < N_AT_ONCE; i++) {
		int n = snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1, "closed-later-%u-%u",
				 geteuid(), i);

		if (bind(sock, (const struct sockaddr *)&at,
			 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) == 0)
			return true;
	}
	return false;
}

static void send_away(int sock, const int *fds, size_t n)
{
	union {
		char room[CMSG_SPACE((MAX_LATER + 1) * sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec byte = { .iov_base = (char[1]){ 0 }, .iov_len = 1 };
	struct msghdr m = { .msg_iov = &byte, .msg_iovlen = 1, .msg_control = control.room,
			    .msg_controllen = CMSG_SPACE(n * sizeof(int)) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(c), fds, n * sizeof(int));
	/* If it cannot be sent, closing just takes its time. */
	(void)!sendmsg(sock, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Taking a mount namespace apart waits for every CPU, and all in it is released
 * before close() returns.  What lies in a message of a socket that nobody can reach
 * any more, since it lies in that message itself, is found and closed by a worker of
 * the kernel (since 6.10; before, close() does it as well, only not faster). */
void fd_close_later(int *fds, size_t n)
{
	int open[MAX_LATER + 1], ends[2];
	size_t n_open = 0;

	for (size_t i = 0; i < n && n_open < MAX_LATER; i++)
		if (fds[i] >= 0)
			open[n_open++] = fds[i];
	if (n_open && socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) == 0) {
		open[n_open++] = ends[1];
		if (take_turn(ends[1]))
			send_away(ends[0], open, n_open);
		close(ends[1]);
		close(ends[0]);
	}
	for (size_t i = 0; i < n; i++)
		fd_close(&fds[i]);
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

int fd_read_file(const char *path, size_t max, struct arena *a, struct str *ret_text,
		 struct cordon_err *err)
{
	/* O_NONBLOCK: opening a FIFO that nobody writes must not hang. */
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	cleanup_buf struct buf text = BUF(max);
	struct stat st;
	const char *copy;

	if (fd < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot open '%s'", path);
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
