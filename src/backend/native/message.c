/* Messages between supervisor and init, with descriptors; see native.h.  Both
 * sides use this, and it allocates nothing. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/native/native.h"
#include "base/fd.h"

union control_room {
	struct cmsghdr head;
	char room[CMSG_SPACE(N_NATIVE_FDS * sizeof(int))];
};

int native_send_fds(int control, struct native_message *m, const struct native_fds *fds, int flags)
{
	union control_room room = { .room = { 0 } };
	struct iovec iov = { m, sizeof(*m) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	int list[N_NATIVE_FDS];
	size_t n = 0;
	ssize_t sent;

	for (int i = 0; i < N_NATIVE_FDS; i++)
		if (fds->fd[i] >= 0) {
			m->fds[i / 64] |= 1ull << i % 64;
			list[n++] = fds->fd[i];
		}
	if (n) {
		msg.msg_control = &room;
		msg.msg_controllen = (socklen_t)CMSG_SPACE(n * sizeof(int));
		room.head.cmsg_level = SOL_SOCKET;
		room.head.cmsg_type = SCM_RIGHTS;
		room.head.cmsg_len = (socklen_t)CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(&room.head), list, n * sizeof(int));
	}
	do
		sent = sendmsg(control, &msg, MSG_NOSIGNAL | flags);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -1 : 0;
}

static bool has_bit(const struct native_message *m, int i)
{
	return m->fds[i / 64] >> i % 64 & 1;
}

static size_t count_bits(const struct native_message *m)
{
	size_t n = 0;

	for (int i = 0; i < N_NATIVE_FDS; i++)
		n += has_bit(m, i);
	return n;
}

static void take_fds(const struct native_message *m, const int *got, struct native_fds *fds)
{
	for (int i = 0; i < N_NATIVE_FDS; i++)
		if (has_bit(m, i)) {
			fd_close(&fds->fd[i]);
			fds->fd[i] = *got++;
		}
}

int native_recv_fds(int control, struct native_message *ret, struct native_fds *fds)
{
	union control_room room;
	struct iovec iov = { ret, sizeof(*ret) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &room,
			      .msg_controllen = sizeof(room) };
	ssize_t n = recvmsg(control, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int got[N_NATIVE_FDS];
	size_t n_got = 0;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? -1 : 0;
	if (CMSG_FIRSTHDR(&msg)) {
		n_got = (CMSG_FIRSTHDR(&msg)->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(got, CMSG_DATA(CMSG_FIRSTHDR(&msg)), n_got * sizeof(int));
	}
	if (n == (ssize_t)sizeof(*ret) && !(msg.msg_flags & MSG_CTRUNC) &&
	    n_got == count_bits(ret)) {
		take_fds(ret, got, fds);
		return 1;
	}
	while (n_got)
		close(got[--n_got]);
	/* The kernel gives what there is room for and leaves out the rest. */
	return n == (ssize_t)sizeof(*ret) ? NATIVE_FDS_LOST : 0;
}
