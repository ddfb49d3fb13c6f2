/* Netlink messages; see netlink.h. */
#include "base/netlink.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include "base/macros.h"

static size_t padded(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

/* Room for n bytes, padded with zeros; NULL when there is none. */
static unsigned char *take_room(struct netlink *w, size_t n)
{
	unsigned char *at = w->room + w->n;

	if (w->full || padded(n) < n || padded(n) > w->size - w->n) {
		w->full = true;
		return NULL;
	}
	memset(at, 0, padded(n));
	w->n += padded(n);
	return at;
}

void netlink_init(struct netlink *w, void *room, size_t size, uint32_t seq)
{
	*w = (struct netlink){ .room = room, .size = size, .seq = seq };
}

void netlink_open(struct netlink *w, unsigned type, unsigned flags, const void *head, size_t n)
{
	struct nlmsghdr h = { .nlmsg_type = (uint16_t)type,
			      .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags),
			      .nlmsg_seq = ++w->seq };
	unsigned char *at = take_room(w, sizeof(h) + n);

	if (!at)
		return;
	w->message = (size_t)(at - w->room);
	memcpy(at, &h, sizeof(h));
	if (n)
		memcpy(at + sizeof(h), head, n);
}

void netlink_close(struct netlink *w)
{
	uint32_t len = (uint32_t)(w->n - w->message);

	if (w->depth)
		BUG("a message is closed before its attributes");
	if (!w->full)
		memcpy(w->room + w->message + offsetof(struct nlmsghdr, nlmsg_len), &len,
		       sizeof(len));
}

void netlink_add_ack(struct netlink *w)
{
	struct nlmsghdr h;

	if (w->full || !w->n)
		return;
	memcpy(&h, w->room + w->message, sizeof(h));
	h.nlmsg_flags |= NLM_F_ACK;
	memcpy(w->room + w->message, &h, sizeof(h));
}

void netlink_add(struct netlink *w, unsigned type, const void *value, size_t n)
{
	struct nlattr a = { .nla_len = (uint16_t)(sizeof(a) + n), .nla_type = (uint16_t)type };
	unsigned char *at;

	if (n > UINT16_MAX - sizeof(a)) {
		w->full = true;
		return;
	}
	at = take_room(w, sizeof(a) + n);
	if (!at)
		return;
	memcpy(at, &a, sizeof(a));
	if (n)
		memcpy(at + sizeof(a), value, n);
}

void netlink_add_text(struct netlink *w, unsigned type, const char *text)
{
	netlink_add(w, type, text, strlen(text) + 1);
}

void netlink_add_u32(struct netlink *w, unsigned type, uint32_t value)
{
	netlink_add(w, type, &value, sizeof(value));
}

void netlink_add_be16(struct netlink *w, unsigned type, uint16_t value)
{
	value = htons(value);
	netlink_add(w, type, &value, sizeof(value));
}

void netlink_add_be32(struct netlink *w, unsigned type, uint32_t value)
{
	value = htonl(value);
	netlink_add(w, type, &value, sizeof(value));
}

void netlink_add_be64(struct netlink *w, unsigned type, uint64_t value)
{
	value = htobe64(value);
	netlink_add(w, type, &value, sizeof(value));
}

void netlink_open_nest(struct netlink *w, unsigned type)
{
	struct nlattr a = { .nla_type = (uint16_t)(type | NLA_F_NESTED) };
	unsigned char *at = take_room(w, sizeof(a));

	if (w->depth == NETLINK_NESTS)
		BUG("attributes are nested too deep");
	w->nests[w->depth++] = at ? (size_t)(at - w->room) : 0;
	if (at)
		memcpy(at, &a, sizeof(a));
}

void netlink_close_nest(struct netlink *w)
{
	size_t begin, len;
	uint16_t value;

	if (!w->depth)
		BUG("no attribute is open");
	begin = w->nests[--w->depth];
	len = w->n - begin;
	if (len > UINT16_MAX)
		w->full = true;
	value = (uint16_t)len;
	if (!w->full)
		memcpy(w->room + begin + offsetof(struct nlattr, nla_len), &value, sizeof(value));
}

int netlink_send(int fd, const struct netlink *w)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	ssize_t n;

	if (w->full) {
		errno = EMSGSIZE;
		return -1;
	}
	n = sendto(fd, w->room, w->n, MSG_DONTWAIT, (const struct sockaddr *)&kernel,
		   sizeof(kernel));
	if (n >= 0 && (size_t)n != w->n) {
		errno = EMSGSIZE;
		return -1;
	}
	return n < 0 ? -1 : 0;
}

/* The beginning of each answer is all that counts: the kernel puts the message
 * that failed behind it, and one answer into one datagram. */
int netlink_recv_acks(int fd, uint32_t first, uint32_t last, uint32_t *ret_failed)
{
	struct {
		struct nlmsghdr head;
		struct nlmsgerr err;
	} answer;
	int error = 0;

	*ret_failed = 0;
	for (;;) {
		ssize_t n = recv(fd, &answer, sizeof(answer), MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			errno = error ? error : errno;
			return -1;
		}
		if (n != (ssize_t)sizeof(answer) || answer.head.nlmsg_type != NLMSG_ERROR ||
		    answer.head.nlmsg_seq - first > last - first)
			continue;
		if (answer.err.error && !error) {
			error = -answer.err.error;
			*ret_failed = answer.head.nlmsg_seq;
		}
		if (answer.head.nlmsg_seq == last) {
			errno = error;
			return error ? -1 : 0;
		}
	}
}

/* ---- reading ------------------------------------------------------------ */

bool netlink_read(struct str *rest, struct netlink_message *ret)
{
	struct nlmsghdr h;

	if (rest->n < sizeof(h))
		return false;
	memcpy(&h, rest->s, sizeof(h));
	if (h.nlmsg_len < sizeof(h) || h.nlmsg_len > rest->n)
		return false;
	*ret = (struct netlink_message){
		.type = h.nlmsg_type,
		.flags = h.nlmsg_flags,
		.seq = h.nlmsg_seq,
		.body = { rest->s + sizeof(h), h.nlmsg_len - sizeof(h) },
	};
	*rest = str_from_pos(*rest, MIN(padded(h.nlmsg_len), rest->n));
	return true;
}

bool netlink_read_attr(struct str *rest, struct netlink_attr *ret)
{
	struct nlattr a;

	if (rest->n < sizeof(a))
		return false;
	memcpy(&a, rest->s, sizeof(a));
	if (a.nla_len < sizeof(a) || a.nla_len > rest->n)
		return false;
	*ret = (struct netlink_attr){
		.type = a.nla_type & NLA_TYPE_MASK,
		.value = { rest->s + sizeof(a), a.nla_len - sizeof(a) },
	};
	*rest = str_from_pos(*rest, MIN(padded(a.nla_len), rest->n));
	return true;
}
