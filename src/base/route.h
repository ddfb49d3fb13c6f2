/* rtnetlink messages that give an interface an address and the world; written
 * with netlink.h, for a socket of NETLINK_ROUTE. */
#ifndef BASE_ROUTE_H
#define BASE_ROUTE_H

#include "base/netlink.h"

/* The kernel gives it to the loopback of every network namespace. */
#define ROUTE_LOOPBACK	1

void route_add_up(struct netlink *w, unsigned interface);
/* `family` is AF_INET or AF_INET6; the address is there at once. */
void route_add_address(struct netlink *w, int family, const void *addr, unsigned interface);
/* Every address is the machine's own, by this interface (AnyIP); `source` is
 * where connections to them come from, else they would come from themselves. */
void route_add_any_local(struct netlink *w, int family, const void *source, unsigned interface);

enum route_kind {
	ROUTE_NONE,		/* nothing leads there */
	ROUTE_AWAY,		/* to another machine */
	ROUTE_OWN,		/* to this one, or to everybody near it */
	N_ROUTE_KINDS
};
/* Where the kernel would send what is for this address; never waits.  -1: it cannot
 * be asked. */
int route_find(int family, const void *addr, enum route_kind *ret);

#endif
