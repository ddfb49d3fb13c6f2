/* Counting the buffers of sockets; see sock_count.h.
 *
 * Bytes that a unix socket has sent are its own until they are read.  A sender that
 * was closed is in no list any more, while its bytes lie with the receiver, of whom
 * the list says too little: how many bytes of a stream, or of the first datagram
 * alone, which may have none, but not what they take.  So these are assumed to be as
 * large as they can be, for no more receivers than there are such senders.  The list
 * leaves out who was not accepted yet, but says of a socket that listens how many those are.
 *
 * A socket of UDP that was disconnected is in no list either, with all that it holds: as is
 * one of TCP that was never connected.  These strays are assumed to be full.  Where the kernel
 * has no list of a kind (tcp_diag and udp_diag are modules), all of that kind are.
 * GAP: those of TCP, and strays, can be four times as large.
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
#define CHARGED_PART	4		/* of what may be charged for is taken as not charged */
#define N_DATAGRAMS	11		/* that wait for one receiver: net.unix.max_dgram_qlen */
#define STATE_ESTABLISHED	1
#define STATE_CLOSE_WAIT	8
#define STATE_LISTEN	10

struct sums {
	bool only_uncharged;	/* what no group of processes pays for; else all */
	int64_t n, bytes;	/* that are listed */
	int64_t n_waiting;	/* to be accepted: those of unix */
	int64_t unlisted;	/* with receivers and in strays, at most */
};

/* The begin of a file of the tree's network, "" where there is none. */
static void read_net(int proc_fd, const char *name, char *text, size_t size)
{
	cleanup_fd int fd = openat(proc_fd, name, O_RDONLY | O_CLOEXEC);
	size_t at = 0;
	ssize_t n;

	/* The kernel gives a page at a time. */
	while (fd >= 0 && at < size - 1 && (n = read(fd, text + at, size - 1 - at)) > 0)
		at += (size_t)n;
	text[at] = '\0';
}

int64_t sock_count(int proc_fd)
{
	static const char key[] = "sockets: used ";
	char text[64];

	read_net(proc_fd, "1/net/sockstat", text, sizeof(text));
	return strncmp(text, key, sizeof(key) - 1) == 0 ? atoll(text + sizeof(key) - 1) : 0;
}

/* Of one protocol, or of all where that is NULL. */
static int64_t count_of(int proc_fd, const char *protocol)
{
	char text[8192], name[32], *line = text;
	int64_t n = 0;
	int of_one;

	read_net(proc_fd, "1/net/protocols", text, sizeof(text));
	/* A protocol has a line: its name, the size of a socket, how many there are. */
	for (; (line = strchr(line, '\n')); line++)
		if (sscanf(line, "%31s %*d %d", name, &of_one) == 2 &&
		    (!protocol || strcmp(name, protocol) == 0))
			n += of_one;
	return n;
}

int64_t sock_count_strays(int proc_fd, int64_t n)
{
	return MAX(n - count_of(proc_fd, NULL), 0);
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
	int64_t waiting = 0, most;

	if (body.n < sizeof(head))
		return;
	memcpy(&head, body.s, sizeof(head));
	body = str_from_pos(body, sizeof(head));
	sums->n++;
	sums->bytes += SOCK_BYTES;
	while (netlink_read_attr(&body, &a)) {
		if (a.type == UNIX_DIAG_MEMINFO)
			sums->bytes += number_at(a.value, SK_MEMINFO_WMEM_ALLOC);
		else if (a.type == UNIX_DIAG_RQLEN)
			waiting = number_at(a.value, 0);
	}
	if (head.udiag_state == STATE_LISTEN) {
		sums->n_waiting += waiting;
		most = waiting * SENDER_BYTES;
	} else if (head.udiag_type == SOCK_STREAM) {
		most = MIN(waiting * BYTE_BYTES, SENDER_BYTES);
	} else {
		most = (head.udiag_type == SOCK_DGRAM ? N_DATAGRAMS : 1) * SENDER_BYTES;
	}
	sums->unlisted += most;
}

/* A socket that somebody had and closed is in other states. */
static bool is_waiting(const struct inet_diag_msg *head)
{
	return !head->idiag_inode && (head->idiag_state == STATE_ESTABLISHED ||
				      head->idiag_state == STATE_CLOSE_WAIT);
}

/* What waits to be read, errors with what was sent among it, and what is to be sent. */
struct inet_bytes {
	int64_t received, queued, kept;
};

static bool read_inet(struct str body, struct inet_diag_msg *head, struct inet_bytes *ret)
{
	struct netlink_attr a;

	if (body.n < sizeof(*head))
		return false;
	memcpy(head, body.s, sizeof(*head));
	body = str_from_pos(body, sizeof(*head));
	*ret = (struct inet_bytes){ 0 };
	while (netlink_read_attr(&body, &a))
		if (a.type == INET_DIAG_SKMEMINFO)
			*ret = (struct inet_bytes){
				.received = number_at(a.value, SK_MEMINFO_RMEM_ALLOC),
				.queued = number_at(a.value, SK_MEMINFO_WMEM_QUEUED),
				.kept = number_at(a.value, SK_MEMINFO_WMEM_ALLOC),
			};
	return true;
}

static void add_tcp(struct str body, struct sums *sums)
{
	struct inet_diag_msg head;
	struct inet_bytes b;

	if (!read_inet(body, &head, &b))
		return;
	sums->n++;
	if (!sums->only_uncharged || is_waiting(&head))
		sums->bytes += SOCK_BYTES + b.received + b.queued;
	else
		sums->bytes += b.received / CHARGED_PART;
}

/* What it holds until all of a datagram is there is in no queue. */
static void add_udp(struct str body, struct sums *sums)
{
	struct inet_diag_msg head;
	struct inet_bytes b;

	if (!read_inet(body, &head, &b))
		return;
	sums->n++;
	sums->bytes += (sums->only_uncharged ? 0 : SOCK_BYTES) + b.received + b.kept;
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

static const struct inet_kind {
	unsigned char family, protocol;
	void (*add)(struct str body, struct sums *sums);
	const char *name;	/* in /proc/net/protocols */
	int64_t uncharged;	/* bytes that one may hold and nobody is charged for */
} inet_kinds[] = {
	{ AF_INET, IPPROTO_TCP, add_tcp, "TCP", SENDER_BYTES / CHARGED_PART },
	{ AF_INET6, IPPROTO_TCP, add_tcp, "TCPv6", SENDER_BYTES / CHARGED_PART },
	{ AF_INET, IPPROTO_UDP, add_udp, "UDP", SENDER_BYTES },
	{ AF_INET6, IPPROTO_UDP, add_udp, "UDPv6", SENDER_BYTES },
};

/* False: the kernel does not list this kind. */
static bool list_inet(int diag_fd, const struct inet_kind *kind, void *room, size_t size,
		      struct sums *sums)
{
	const struct inet_diag_req_v2 all = { .sdiag_family = kind->family,
					      .sdiag_protocol = kind->protocol,
					      .idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1),
					      .idiag_states = UINT32_MAX };

	return ask(diag_fd, &all, sizeof(all)) &&
	       read_list(diag_fd, room, size, kind->add, sums);
}

int64_t sock_measure(int diag_fd, int64_t n, int64_t strays, void *room, size_t size)
{
	const struct unix_diag_req all = { .sdiag_family = AF_UNIX, .udiag_states = UINT32_MAX,
					   .udiag_show = UDIAG_SHOW_RQLEN | UDIAG_SHOW_MEMINFO };
	struct sums sums = { .unlisted = strays * SENDER_BYTES };
	int64_t hidden, closed;
	bool whole;

	whole = ask(diag_fd, &all, sizeof(all)) &&
		read_list(diag_fd, room, size, add_unix, &sums);
	for (size_t i = 0; i < ARRAY_SIZE(inet_kinds); i++)
		whole &= list_inet(diag_fd, &inet_kinds[i], room, size, &sums);
	hidden = MAX(n - sums.n, 0);
	/* Who waits to be accepted has sent nothing. */
	closed = MAX(hidden - sums.n_waiting, 0);
	/* Those that no list has may all be full. */
	if (!whole)
		sums.unlisted = INT64_MAX;
	return sums.bytes + MIN(closed * SENDER_BYTES, sums.unlisted) + hidden * SOCK_BYTES;
}

int64_t sock_measure_uncharged(int diag_fd, int proc_fd, int64_t n, void *room, size_t size)
{
	struct sums sums = { .only_uncharged = true };

	for (size_t i = 0; i < ARRAY_SIZE(inet_kinds); i++)
		if (!list_inet(diag_fd, &inet_kinds[i], room, size, &sums))
			sums.bytes += count_of(proc_fd, inet_kinds[i].name) *
				      inet_kinds[i].uncharged;
	return sums.bytes + sock_count_strays(proc_fd, n) * SENDER_BYTES;
}
