/* Datagrams from inside; see inside.h. */
#include "gate/inside.h"

#include "gate/gate_priv.h"

ssize_t inside_recv(int fd, void *bytes, size_t max, struct inside_origin *ret)
{
	struct iovec iov = { bytes, max };
	struct msghdr m = { .msg_name = &ret->from,
			    .msg_namelen = sizeof(ret->from),
			    .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = ret->control,
			    .msg_controllen = sizeof(ret->control) };
	ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	ret->n_from = m.msg_namelen;
	ret->n_control = n < 0 ? 0 : m.msg_controllen;
	/* Longer than any that is meant: not a part of it. */
	return n >= 0 && (m.msg_flags & MSG_TRUNC) ? 0 : n;
}

bool inside_target(const struct inside_origin *o, struct host_addr *ret)
{
	const struct cmsghdr *h = (const void *)o->control;
	struct sockaddr_storage ss = { 0 };
	uint16_t port;

	if (o->n_control < CMSG_LEN(sizeof(struct in_pktinfo)))
		return false;
	if (h->cmsg_level == IPPROTO_IP && h->cmsg_type == IP_PKTINFO) {
		struct in_pktinfo info;

		memcpy(&info, CMSG_DATA(h), sizeof(info));
		ss.ss_family = AF_INET;
		((struct sockaddr_in *)(void *)&ss)->sin_addr = info.ipi_addr;
	} else if (h->cmsg_level == IPPROTO_IPV6 && h->cmsg_type == IPV6_PKTINFO &&
		   o->n_control >= CMSG_LEN(sizeof(struct in6_pktinfo))) {
		struct in6_pktinfo info;

		memcpy(&info, CMSG_DATA(h), sizeof(info));
		ss.ss_family = AF_INET6;
		((struct sockaddr_in6 *)(void *)&ss)->sin6_addr = info.ipi6_addr;
	} else {
		return false;
	}
	addr_from_socket(&ss, ret, &port);
	return true;
}

void inside_send(int fd, struct inside_origin *o, const void *bytes, size_t n)
{
	struct iovec iov = { (void *)(uintptr_t)bytes, n };
	struct msghdr m = { .msg_name = &o->from,
			    .msg_namelen = o->n_from,
			    .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = (void *)o->control,
			    .msg_controllen = (socklen_t)o->n_control };

	(void)!sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
}
