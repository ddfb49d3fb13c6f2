/* Counting the buffers of sockets; see sock_count.h.
 *
 * Bytes that a unix socket has sent are its own until they are read.  A sender that
 * was closed is in no list any more, while its bytes lie with the receiver, of whom
 * the list says too little: how many bytes of a stream, or of the first datagram
 * alone, but not what they take.  So these are assumed to be as large as they can be,
 * for no more receivers than there are such senders.  Where the kernel has no list of a
 * kind (tcp_diag and udp_diag are modules), all of that kind are.
 * GAP: those of TCP can be four times as large.
 *
 * Runs in the supervisor.
 */
#include "super/sock_count.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "base/netlink.h"

#define SOCK_BYTES	2048		/* of a socket itself, its inode and its file, about */
#define SENDER_BYTES	(256 << 10)	/* net.core.wmem_default and what goes over it */
#define BYTE_BYTES	768		/* that a byte takes when it is sent alone */
#define N_DATAGRAMS	11		/* that wait for one receiver: net.unix.max_dgram_qlen */
#define STATE_ESTABLISHED	1
#define STATE_CLOSE_WAIT	8
#define STATE_LISTEN	10

struct sums {
	bool only_waiting;	/* to be accepted; else all */
	int64_t n, bytes;	/* that are listed */
	int64_t unlisted;	/* with receivers, at most */
};

int64_t sock_count(int proc_fd)
{
	static const char key[] = "sockets: used ";
	cleanup_fd int fd = openat(proc_fd, "1/net/sockstat", O_RDONLY | O_CLOEXEC);
	char text[64];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n <= 0)
		return 0;
	text[n] = '\0';
	return strncmp(text, key, sizeof(key) - 1) == 0 ? atoll(text + sizeof(key) - 1) : 0;
}

/* A number of a list that an attribute is. */
static int64_t number_at(struct str value, size_t i)
{
	uint32_t v = 0;

	if (value.n >= (i + 1) * sizeof(v))
		memcpy(&v, value.s + i * sizeof(v), sizeof(v));
	return v;
}

static void add_unix(struct str body, struct sums *sums)
{
	struct unix_diag_msg head;
	struct netlink_attr a;
	int64_t waiting = 0;

	if (body.n < sizeof(head))
		return;
	memcpy(&head, body.s, sizeof(head));
	body = str_from_pos(body, sizeof(head));
	sums->n++;
	sums->bytes += SOCK_BYTES;
	while (netlink_read_attr(&body, &a)) {
		if (a.type == UNIX_DIAG_MEMINFO)
			sums->bytes += number_at(a.value, SK_MEMINFO_WMEM_ALLOC);
		else if (a.type == UNIX_DIAG_RQLEN && head.udiag_state != STATE_LISTEN)
			waiting = number_at(a.value, 0);
	}
	if (waiting && head.udiag_type == SOCK_DGRAM)
		sums->unlisted += N_DATAGRAMS * SENDER_BYTES;
	else
		sums->unlisted += MIN(waiting * BYTE_BYTES, SENDER_BYTES);
}

/* A socket that somebody had and closed is in other states. */
static bool is_waiting(const struct inet_diag_msg *head)
{
	return !head->idiag_inode && (head->idiag_state == STATE_ESTABLISHED ||
				      head->idiag_state == STATE_CLOSE_WAIT);
}

static void add_inet(struct str body, struct sums *sums)
{
	struct inet_diag_msg head;
	struct netlink_attr a;

	if (body.n < sizeof(head))
		return;
	memcpy(&head, body.s, sizeof(head));
	body = str_from_pos(body, sizeof(head));
	if (sums->only_waiting && !is_waiting(&head))
		return;
	sums->n++;
	sums->bytes += SOCK_BYTES;
	while (netlink_read_attr(&body, &a))
		if (a.type == INET_DIAG_SKMEMINFO)
			sums->bytes += number_at(a.value, SK_MEMINFO_RMEM_ALLOC) +
				       number_at(a.value, SK_MEMINFO_WMEM_QUEUED);
}

/* All messages up to the last.  False: the kernel does not list this kind. */
static bool read_list(int fd, void *room, size_t size,
		      void (*add)(struct str body, struct sums *sums), struct sums *sums)
{
	struct netlink_message m;

	for (;;) {
		ssize_t n = recv(fd, room, size, MSG_DONTWAIT);
		struct str rest = { room, n < 0 ? 0 : (size_t)n };

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		while (netlink_read(&rest, &m)) {
			if (m.type == NLMSG_DONE || m.type == NLMSG_ERROR)
				return m.type == NLMSG_DONE;
			if (m.type == SOCK_DIAG_BY_FAMILY)
				add(m.body, sums);
		}
	}
}

static bool ask(int fd, const void *what, size_t n)
{
	char room[128];
	struct netlink w;

	netlink_init(&w, room, sizeof(room), 0);
	netlink_open(&w, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP, what, n);
	netlink_close(&w);
	return netlink_send(fd, &w) >= 0;
}

static bool list_inet(int diag_fd, unsigned char family, unsigned char protocol, void *room,
		      size_t size, struct sums *sums)
{
	const struct inet_diag_req_v2 some = { .sdiag_family = family, .sdiag_protocol = protocol,
					       .idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1),
					       .idiag_states = UINT32_MAX };

	return ask(diag_fd, &some, sizeof(some)) &&
	       read_list(diag_fd, room, size, add_inet, sums);
}

int64_t sock_measure(int diag_fd, int64_t n, void *room, size_t size)
{
	static const struct {
		unsigned char family, protocol;
	} kinds[] = { { AF_INET, IPPROTO_TCP }, { AF_INET6, IPPROTO_TCP },
		      { AF_INET, IPPROTO_UDP }, { AF_INET6, IPPROTO_UDP } };
	const struct unix_diag_req all = { .sdiag_family = AF_UNIX, .udiag_states = UINT32_MAX,
					   .udiag_show = UDIAG_SHOW_RQLEN | UDIAG_SHOW_MEMINFO };
	struct sums sums = { 0 };
	int64_t closed;
	bool whole;

	whole = ask(diag_fd, &all, sizeof(all)) &&
		read_list(diag_fd, room, size, add_unix, &sums);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		whole &= list_inet(diag_fd, kinds[i].family, kinds[i].protocol, room, size, &sums);
	closed = MAX(n - sums.n, 0);
	/* Those that no list has may all be full. */
	if (!whole)
		sums.unlisted = INT64_MAX;
	return sums.bytes + MIN(closed * SENDER_BYTES, sums.unlisted) + closed * SOCK_BYTES;
}

int64_t sock_measure_waiting(int diag_fd, void *room, size_t size)
{
	struct sums sums = { .only_waiting = true };

	(void)(list_inet(diag_fd, AF_INET, IPPROTO_TCP, room, size, &sums) &&
	       list_inet(diag_fd, AF_INET6, IPPROTO_TCP, room, size, &sums));
	return sums.bytes;
}
