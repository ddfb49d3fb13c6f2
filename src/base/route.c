/* rtnetlink messages; see route.h. */
#include "base/route.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"

static size_t address_bytes(int family)
{
	return family == AF_INET ? 4 : 16;
}

void route_add_up(struct netlink *w, unsigned interface)
{
	struct ifinfomsg head = { .ifi_family = AF_UNSPEC,
				  .ifi_index = (int)interface,
				  .ifi_flags = IFF_UP,
				  .ifi_change = IFF_UP };

	netlink_open(w, RTM_NEWLINK, 0, &head, sizeof(head));
	netlink_close(w);
}

void route_add_address(struct netlink *w, int family, const void *addr, unsigned interface)
{
	size_t n = address_bytes(family);
	struct ifaddrmsg head = { .ifa_family = (unsigned char)family,
				  .ifa_prefixlen = (unsigned char)(n * 8),
				  /* Nobody else can have it, and waiting for an answer
				   * would leave it unusable for a second. */
				  .ifa_flags = IFA_F_NODAD,
				  .ifa_index = interface };

	netlink_open(w, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &head, sizeof(head));
	netlink_add(w, IFA_LOCAL, addr, n);
	netlink_add(w, IFA_ADDRESS, addr, n);
	netlink_close(w);
}

void route_add_any_local(struct netlink *w, int family, const void *source, unsigned interface)
{
	struct rtmsg head = { .rtm_family = (unsigned char)family,
			      .rtm_table = RT_TABLE_LOCAL,
			      .rtm_protocol = RTPROT_STATIC,
			      .rtm_scope = RT_SCOPE_HOST,
			      .rtm_type = RTN_LOCAL };

	netlink_open(w, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &head, sizeof(head));
	netlink_add_u32(w, RTA_OIF, interface);
	netlink_add(w, RTA_PREFSRC, source, address_bytes(family));
	netlink_close(w);
}

static void ask_route(struct netlink *w, int family, const void *addr)
{
	size_t n = address_bytes(family);
	struct rtmsg head = { .rtm_family = (unsigned char)family,
			      .rtm_dst_len = (unsigned char)(n * 8) };

	netlink_open(w, RTM_GETROUTE, 0, &head, sizeof(head));
	netlink_add(w, RTA_DST, addr, n);
	netlink_close(w);
}

/* False: this is no answer. */
static bool read_kind(const struct netlink_message *m, enum route_kind *ret)
{
	struct rtmsg head;

	if (m->type == NLMSG_ERROR) {
		*ret = ROUTE_NONE;
		return true;
	}
	if (m->type != RTM_NEWROUTE || m->body.n < sizeof(head))
		return false;
	memcpy(&head, m->body.s, sizeof(head));
	*ret = head.rtm_type == RTN_UNICAST ? ROUTE_AWAY : ROUTE_OWN;
	return true;
}

int route_find(int family, const void *addr, enum route_kind *ret)
{
	cleanup_fd int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	unsigned char room[64];
	char answer[4096];
	struct netlink_message m;
	struct netlink w;
	struct str rest;
	ssize_t n;

	netlink_init(&w, room, sizeof(room), 0);
	ask_route(&w, family, addr);
	if (fd < 0 || netlink_send(fd, &w) < 0)
		return -1;
	do
		n = recv(fd, answer, sizeof(answer), MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	rest = (struct str){ answer, n > 0 ? (size_t)n : 0 };
	return netlink_read(&rest, &m) && m.seq == w.seq && read_kind(&m, ret) ? 0 : -1;
}
