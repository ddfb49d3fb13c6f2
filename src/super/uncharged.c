/* What nobody is charged for; see uncharged.h.
 *
 * Three things have no bound of their own: locks of parts of files, messages that
 * wait in netlink sockets, and what sockets hold for nobody or for themselves: connections
 * that nobody has accepted, datagrams that are not sent yet, and those that come back as
 * errors.  One process held 320 MB of either, under a limit of 100.
 *
 * Listing the locks makes all locking on the machine wait for some ms, so it is done
 * only after the kernel's memory has grown.
 *
 * What would not be in our list, or in everybody's, cannot be had inside: locks of open
 * files, and those of a process that shared its descriptors and has ended (seccomp_args.c).
 *
 * Runs in the supervisor.
 */
#include "super/uncharged.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "super/limiter_priv.h"
#include "super/proc_read.h"
#include "super/sock_count.h"

#define LOOK_US		250000
#define LOCKS_DUTY	40		/* a list of locks is at most a fortieth of the time */
#define SOCKETS_DUTY	8		/* a list of sockets at most an eighth */
#define LOCK_BYTES	192
#define LOCK_TEXT	64		/* of one in the list, about */
#define PART		4		/* of the limit each may be */
#define GROWTH_PART	16		/* of the limit, until they are listed again */
#define SOCKET_BYTES	4096		/* of one; that nobody has accepted is nobody's */
#define NETLINK_BYTES	(416 << 10)	/* with a socket: twice net.core.rmem_max */
#define MAX_NETLINK_LINES	20000

/* Where the kernel does not say, they have grown. */
static bool has_grown(struct uncharged *u, int64_t limit)
{
	int64_t slab = proc_read_meminfo(u->proc_fd, "SUnreclaim:");

	if (slab < 0)
		return true;
	if (!u->slab || slab < u->slab)
		u->slab = slab;
	if (slab - u->slab < limit / GROWTH_PART)
		return false;
	u->slab = slab;
	return true;
}

/* One look far into the list: the kernel goes through it once, and tells nothing. */
static bool has_locks(const struct uncharged *u, int64_t bytes)
{
	cleanup_fd int fd = openat(u->proc_fd, "locks", O_RDONLY | O_CLOEXEC);
	char c;

	return fd >= 0 && pread(fd, &c, 1, bytes / LOCK_BYTES * LOCK_TEXT) == 1;
}

/* Of a line of the list, after its socket, protocol, number and groups. */
static int64_t waiting_bytes(const char *line)
{
	int64_t bytes = 0;

	return sscanf(line, "%*s %*s %*s %*s %" SCNd64, &bytes) == 1 ? bytes : 0;
}

/* A list that does not end is too much as well: the kernel begins anew for each page. */
static bool adds_up(FILE *f, int64_t bytes)
{
	char line[256];
	int64_t sum = 0;

	for (int i = 0; fgets(line, sizeof(line), f); i++) {
		sum += waiting_bytes(line);
		if (sum > bytes || i > MAX_NETLINK_LINES)
			return true;
	}
	return false;
}

static bool has_messages(const struct uncharged *u, int64_t bytes)
{
	int fd = openat(u->proc_fd, "1/net/netlink", O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "re");
	bool over = f && adds_up(f, bytes);

	if (f)
		fclose(f);
	else
		fd_close(&fd);
	return over;
}

/* What a connection holds is charged to who accepts it; UDP's is to nobody. */
static bool has_buffers(struct uncharged *u, int64_t sockets, int64_t bytes)
{
	int64_t begin = limiter_now_us();
	_Alignas(8) char room[16384];
	bool over;

	if (u->diag_fd < 0 || sockets <= bytes / SOCK_MOST_BYTES || begin < u->sockets_due_us)
		return false;
	over = sock_measure_uncharged(u->diag_fd, u->proc_fd, sockets, room, sizeof(room)) > bytes;
	u->sockets_due_us = limiter_now_us() + (limiter_now_us() - begin) * SOCKETS_DUTY;
	return over;
}

static bool is_over(struct uncharged *u, int64_t limit, int64_t now_us)
{
	int64_t sockets = u->own_network ? sock_count(u->proc_fd) : 0;
	bool over;

	if (sockets > limit / SOCKET_BYTES)
		return true;
	if (u->own_network && sockets > limit / PART / NETLINK_BYTES &&
	    has_messages(u, limit / PART))
		return true;
	if (u->own_network && has_buffers(u, sockets, limit / PART))
		return true;
	if (now_us < u->locks_due_us || !has_grown(u, limit))
		return false;
	over = has_locks(u, limit / PART);
	u->locks_due_us = now_us + (limiter_now_us() - now_us) * LOCKS_DUTY;
	return over;
}

int uncharged_start(struct uncharged *u, int proc_fd, bool own_network, struct cordon_err *err)
{
	u->own_network = own_network;
	if (proc_fd < 0)
		return 0;
	u->proc_fd = fcntl(proc_fd, F_DUPFD_CLOEXEC, 0);
	return u->proc_fd < 0 ? err_sys(err, CORDON_E_SETUP, "cannot keep the tree's /proc") : 0;
}

bool uncharged_is_over(struct uncharged *u, int64_t limit, int64_t now_us, int64_t *ret_wait_us)
{
	*ret_wait_us = -1;
	if (u->proc_fd < 0 || limit == INT64_MAX)
		return false;
	if (now_us >= u->due_us) {
		if (is_over(u, limit, now_us))
			return true;
		u->due_us = limiter_now_us() + LOOK_US;
	}
	*ret_wait_us = MAX(u->due_us - now_us, 0);
	return false;
}

int uncharged_add_fs(struct uncharged *u, int fd, struct cordon_err *err)
{
	if (u->n_fs == MAX_LIMITER_FS)
		return err_set(err, CORDON_E_HOST, "more than %d private file systems to count",
			       MAX_LIMITER_FS);
	u->fs_fds[u->n_fs++] = fd;
	return 0;
}

int64_t uncharged_measure_fs(const struct uncharged *u)
{
	int64_t bytes = 0;

	for (size_t i = 0; i < u->n_fs; i++) {
		struct statfs st;

		if (fstatfs(u->fs_fds[i], &st) == 0)
			bytes += (int64_t)(st.f_blocks - st.f_bfree) * st.f_bsize;
	}
	return bytes;
}

void uncharged_add_sockets(struct uncharged *u, int diag_fd)
{
	fd_close(&u->diag_fd);
	u->diag_fd = diag_fd;
}

void uncharged_stop(struct uncharged *u)
{
	fd_close(&u->proc_fd);
	fd_close(&u->diag_fd);
}
