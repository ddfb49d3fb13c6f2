/* --connect-to: where the operator says that a host is. */
#include <stdio.h>

#include "plan/net.h"

static int refuse(char why[HOST_WHY], const char *what)
{
	snprintf(why, HOST_WHY, "%s", what);
	return -1;
}

/* Up to the next colon that is not in brackets; takes the colon as well. */
static bool take_part(struct str *rest, struct str *ret)
{
	size_t close = str_starts(*rest, "[") ? str_find(*rest, ']') : 0;
	size_t colon = rest->n;

	if (close < rest->n)
		colon = close + str_find(str_from_pos(*rest, close), ':');
	if (colon == rest->n)
		return false;
	*ret = str_first(*rest, colon);
	*rest = str_from_pos(*rest, colon + 1);
	return true;
}

static bool parse_port(struct str text, uint16_t *ret)
{
	uint64_t port = 0;

	if (text.n && (!str_parse_u64(text, &port) || port < 1 || port > UINT16_MAX))
		return false;
	*ret = (uint16_t)port;
	return true;
}

int net_reroute_parse(struct str text, struct net_reroute *ret, char why[HOST_WHY])
{
	struct str host, port, addr;
	struct net_reroute r;

	if (!take_part(&text, &host) || !take_part(&text, &port) || !take_part(&text, &addr))
		return refuse(why, "is not HOST:PORT:ADDR:PORT, IPv6 in brackets");
	if (!host.n)
		return refuse(why, "names no host: write HOST:PORT:ADDR:PORT");
	if (host_parse(host, &r.host, why) < 0)
		return -1;
	if (!r.host.is_addr && strcmp(r.host.name, HOST_OF_MACHINE) == 0)
		return refuse(why, "names this machine as the inside calls it, which leads to the "
				   "ports of --host-port and nowhere else");
	if (!parse_port(port, &r.port) || !parse_port(text, &r.to_port))
		return refuse(why, "has a port that is no number from 1 to 65535");
	if (str_starts(addr, "[") && str_ends(addr, "]"))
		addr = (struct str){ addr.s + 1, addr.n - 2 };
	if (!host_addr_parse(addr, &r.addr))
		return refuse(why, "leads to what is no address");
	*ret = r;
	return 0;
}
