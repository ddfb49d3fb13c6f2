/* What reader and actor both do: talk to each other and to the listener. */
#include "super/guard_priv.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cpus.h"

/* --- the socket of a pair --------------------------------------------------- */

/* Room for the descriptors of one message. */
union control {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int) * N_GUARD_SLOTS)];
};

int guard_send(int sock, const void *data, size_t n, const int *fds, size_t n_fds)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)data, .iov_len = n };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	union control control = { 0 };

	if (n_fds) {
		msg.msg_control = &control;
		msg.msg_controllen = (socklen_t)CMSG_SPACE(sizeof(int) * n_fds);
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = (socklen_t)CMSG_LEN(sizeof(int) * n_fds);
		memcpy(CMSG_DATA(&control.head), fds, sizeof(int) * n_fds);
	}
	return guard_rc(sendmsg(sock, &msg, MSG_NOSIGNAL));
}

int guard_recv(int sock, void *data, size_t n, int *fds, size_t *n_fds)
{
	struct iovec iov = { .iov_base = data, .iov_len = n };
	union control control = { 0 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	const struct cmsghdr *c;
	int rc;

	do
		rc = guard_rc(recvmsg(sock, &msg, MSG_CMSG_CLOEXEC));
	while (rc == -EINTR);
	*n_fds = 0;
	if (rc < 0)
		return rc;
	for (c = CMSG_FIRSTHDR(&msg); c && c->cmsg_type == SCM_RIGHTS; c = NULL) {
		*n_fds = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(c), *n_fds * sizeof(int));
	}
	return rc;
}

/* --- one CPU ------------------------------------------------------------------ */

#define CALLS_APART	8	/* until then they do at the same time what is to be done once */

/* This one, or another that no pair has; -1: that cannot be told. */
static int pick_cpu(struct guard_shared *s)
{
	int cpu = sched_getcpu();
	cpu_set_t free;

	cpus_read(&free);
	for (size_t i = 0; i < N_GUARD_PAIRS; i++) {
		int taken = atomic_load(&s->cpus[i]);

		if (taken)
			CPU_CLR(taken - 1, &free);
	}
	if (cpu < 0 || cpu >= CPU_SETSIZE || CPU_ISSET(cpu, &free) || !CPU_COUNT(&free))
		return cpu < CPU_SETSIZE ? cpu : -1;
	for (cpu = 0; !CPU_ISSET(cpu, &free); cpu++)
		;
	return cpu;
}

/* The caller, reader and actor take turns: to wake the next one on a CPU that sleeps takes
 * longer than what it has to do.  The caller follows by itself (guard_start()). */
void guard_share_cpu(struct guard_worker *w)
{
	int none = 0, cpu;

	if (w->n_calls == CALLS_APART || ++w->n_calls != CALLS_APART)
		return;
	cpu = pick_cpu(w->shared);
	if (cpu >= 0)
		atomic_compare_exchange_strong(w->cpu, &none, cpu + 1);
	cpus_stay_on(atomic_load(w->cpu) - 1);
}

/* --- refusals --------------------------------------------------------------- */

void guard_report(const struct guard_worker *w, const struct guard_denial *about,
		  const char *what)
{
	struct guard_denial d = { about->rule,   about->name, about->thread,
				  about->leader, about->path, "" };
	size_t n = strnlen(what, sizeof(d.what) - 1);

	memcpy(d.what, what, n);
	if (send(w->denials, &d, offsetof(struct guard_denial, what) + n,
		 MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		atomic_fetch_add(&w->shared->lost, 1);
}

/* --- the listener ----------------------------------------------------------- */

bool guard_is_valid(int listener, uint64_t id)
{
	return ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

/* It fails when the caller is gone, and then nobody waits.  Else it would wait for ever:
 * when we end, it does not. */
static void respond(int listener, struct seccomp_notif_resp resp)
{
	while (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp) < 0 && errno != ENOENT)
		if (errno != EINTR)
			_exit(1);
}

void guard_answer(int listener, uint64_t id, int rc)
{
	respond(listener, (struct seccomp_notif_resp){ .id = id, .error = MIN(rc, 0),
						       .val = MAX(rc, 0) });
}

/* Its number there, or -errno. */
static int install(int listener, const struct guard_request *req, int fd, unsigned flags)
{
	struct seccomp_notif_addfd add = {
		.id = req->id,
		.flags = flags,
		.srcfd = (unsigned)fd,
		.newfd_flags = req->flags & O_CLOEXEC,
	};
	int rc;

	do
		rc = guard_rc(ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add));
	while (rc == -EINTR);
	return rc;
}

/* Install the descriptor in the caller and answer with its number.  Ours is
 * closed before the caller goes on (so not SECCOMP_ADDFD_FLAG_SEND): else what
 * it has written and closed could be found busy by execve, a FIFO's end open. */
void guard_give(int listener, const struct guard_request *req, int fd)
{
	int rc = install(listener, req, fd, 0);

	close(fd);
	guard_answer(listener, req->id, rc);
}

void guard_give_device(int listener, const struct guard_request *req, int fd)
{
	/* What fails has not answered. */
	if (install(listener, req, fd, SECCOMP_ADDFD_FLAG_SEND) < 0)
		guard_give(listener, req, fd);
	else
		close(fd);
}

void guard_go_on(int listener, uint64_t id)
{
	respond(listener, (struct seccomp_notif_resp){
			.id = id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE });
}
