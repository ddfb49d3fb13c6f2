/* Changing the kernel's table; see table.h. */
#include "gate/table.h"

#include <errno.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include "base/nft.h"
#include "plan/net_inside.h"

/* Who set the table up numbered its messages from one on. */
#define FIRST_SEQ	1000

#define MAX_MESSAGES	(1024 + 2 * 80 * MAX_NET_RANGES)
#define MAX_RULES	8192		/* bytes of the answer about a chain of one rule */
#define MAX_SCRATCH	(128u << 20)	/* as many rules as a policy can have */

void table_init(struct table *t, int fd)
{
	*t = (struct table){ .fd = fd, .seq = FIRST_SEQ };
}

static void write_set(struct netlink *w, const char *set, const struct net_range *ranges, size_t n,
		      size_t key_bytes)
{
	nft_clear_set(w, NET_TABLE, set);
	if (!n)
		return;
	nft_open_ranges(w, NET_TABLE, set);
	for (size_t i = 0; i < n; i++)
		nft_add_range(w, ranges[i].first, ranges[i].last, key_bytes);
	nft_close_ranges(w);
}

int table_write(struct table *t, const struct plan_net *net, struct cordon_err *err)
{
	cleanup_arena struct arena scratch = ARENA(MAX_SCRATCH);
	struct net_ranges r;
	struct netlink w;
	uint32_t first = t->seq + 1, last, failed;
	void *room;

	if (net_ranges_compile(net, &scratch, &r, err) < 0)
		return -1;
	room = arena_new(&scratch, 1, MAX_MESSAGES);
	if (!room)
		return err_nomem(err);
	netlink_init(&w, room, MAX_MESSAGES, t->seq);
	nft_open_batch(&w);
	write_set(&w, NET_SET_V4, r.v4, r.n_v4, 4);
	write_set(&w, NET_SET_V6, r.v6, r.n_v6, 16);
	last = nft_close_batch(&w);
	t->seq = w.seq;
	if (netlink_send(t->fd, &w) < 0 || netlink_recv_acks(t->fd, first, last, &failed) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot change the sets of nf_tables");
	return 0;
}

/* 1: the answer goes on; 0: it has ended; -1: errno. */
static int read_rules(struct str answer, uint32_t seq, uint64_t *ret, bool *ret_found)
{
	struct netlink_message m;

	while (netlink_read(&answer, &m)) {
		if (m.seq != seq)
			continue;
		if (m.type == NLMSG_DONE)
			return 0;
		if (m.type == NLMSG_ERROR) {
			int error = EPROTO;

			if (m.body.n >= sizeof(error))
				memcpy(&error, m.body.s, sizeof(error));
			errno = -error;
			return -1;
		}
		*ret_found |= nft_read_counter(&m, ret);
	}
	return 1;
}

int table_count_refused(struct table *t, uint64_t *ret)
{
	unsigned char question[128], answer[MAX_RULES];
	bool is_found = false;
	struct netlink w;
	int more = 1;

	netlink_init(&w, question, sizeof(question), t->seq);
	nft_ask_rules(&w, NET_TABLE, NET_COUNTED);
	t->seq = w.seq;
	if (netlink_send(t->fd, &w) < 0)
		return -1;
	while (more > 0) {
		ssize_t n = recv(t->fd, answer, sizeof(answer), MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		more = read_rules((struct str){ (const char *)answer, (size_t)n }, t->seq, ret,
				  &is_found);
	}
	if (more == 0 && !is_found)
		errno = ENOENT;
	return more == 0 && is_found ? 0 : -1;
}
