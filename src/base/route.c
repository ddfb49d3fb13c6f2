/* rtnetlink messages; see route.h. */
#include "base/route.h"

#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

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
