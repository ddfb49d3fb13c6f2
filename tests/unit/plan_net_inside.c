/* Address rules as ranges: in order, none touching another, none lost. */
#include "plan/net_inside.h"

#include <arpa/inet.h>

#include "tap.h"

static struct host_rule net(const char *addr, unsigned bits)
{
	struct host_rule r = { .form = HOST_NET, .bits = (unsigned char)bits };

	r.addr.is_v6 = strchr(addr, ':') != NULL;
	if (inet_pton(r.addr.is_v6 ? AF_INET6 : AF_INET, addr, r.addr.b) != 1)
		abort();
	return r;
}

/* "first-last first-last", IPv4 and then IPv6. */
static const char *ranges_text(const struct host_rule *rules, size_t n)
{
	static char text[2048];
	struct plan_net plan = { .nets = rules, .n_nets = n };
	struct arena a = ARENA(64 << 20);
	struct net_ranges r;
	struct cordon_err err;
	size_t at = 0;

	text[0] = '\0';
	if (!ok(net_ranges_compile(&plan, &a, &r, &err) == 0, "%s", err.msg))
		return text;
	for (size_t i = 0; i < r.n_v4 + r.n_v6; i++) {
		const struct net_range *one = i < r.n_v4 ? &r.v4[i] : &r.v6[i - r.n_v4];
		int family = i < r.n_v4 ? AF_INET : AF_INET6;
		char first[INET6_ADDRSTRLEN], last[INET6_ADDRSTRLEN];

		inet_ntop(family, one->first, first, sizeof(first));
		inet_ntop(family, one->last, last, sizeof(last));
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s-%s", at ? " " : "",
				       first, last);
	}
	arena_release(&a);
	return text;
}

#define POOL	"198.18.0.0-198.19.255.255"

static void test_ranges(void)
{
	struct host_rule none[1] = { { .form = HOST_ANY } };
	struct host_rule inside[] = { net("10.1.2.0", 24), net("10.0.0.0", 8),
				      net("10.9.0.0", 16) };
	struct host_rule beside[] = { net("192.0.2.9", 32), net("192.0.2.8", 32),
				      net("192.0.2.10", 31), net("192.0.2.13", 32) };
	struct host_rule ends[] = { net("0.0.0.0", 1), net("255.255.255.255", 32), net("::", 0),
				    net("ffff::", 16), net("240.0.0.0", 4) };
	struct host_rule odd[] = { net("172.16.0.0", 12), net("2001:db8::", 33),
				   net("2001:db8::1", 128) };
	struct host_rule whole[] = { net("128.0.0.0", 1), net("0.0.0.0", 1) };

	is_text(ranges_text(none, 1), POOL, "only the pool");
	is_text(ranges_text(inside, 3), "10.0.0.0-10.255.255.255 " POOL, "one inside another");
	is_text(ranges_text(beside, 4), "192.0.2.8-192.0.2.11 192.0.2.13-192.0.2.13 " POOL,
		"one beside another");
	is_text(ranges_text(ends, 5), "0.0.0.0-127.255.255.255 " POOL " 240.0.0.0-255.255.255.255 "
		"::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "up to the ends");
	is_text(ranges_text(odd, 3), "172.16.0.0-172.31.255.255 " POOL
		" 2001:db8::-2001:db8:7fff:ffff:ffff:ffff:ffff:ffff", "bits within a byte");
	is_text(ranges_text(whole, 2), "0.0.0.0-255.255.255.255", "all of them, with the pool");
}

static void test_too_many_become_all(void)
{
	static struct host_rule many[MAX_NET_RANGES + 1];

	for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
		many[i] = net("2001:db8::", 128);
		many[i].addr.b[13] = (unsigned char)(i >> 8);
		many[i].addr.b[14] = (unsigned char)i;
	}
	is_text(ranges_text(many, ARRAY_SIZE(many)),
		POOL " ::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "one too many");
}

static void test_datagram_ports(void)
{
	struct net_datagrams list[MAX_NET_PORTS + 2];
	struct plan_net plan = { .datagrams = list };
	uint16_t ports[MAX_NET_PORTS];

	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		list[i] = (struct net_datagrams){ .port = (uint16_t)(9 + i / 2) };
	plan.n_datagrams = 5;
	is_int(net_datagram_ports(&plan, ports), 3, "each once");
	ok(ports[0] == 9 && ports[1] == 10 && ports[2] == 11, "in order");
	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		list[i].port = (uint16_t)(9 + i);
	plan.n_datagrams = MAX_NET_PORTS;
	is_int(net_datagram_ports(&plan, ports), MAX_NET_PORTS, "as many as fit");
	plan.n_datagrams = MAX_NET_PORTS + 1;
	is_int(net_datagram_ports(&plan, ports), MAX_NET_PORTS + 1, "one too many");
}

int main(void)
{
	return tap_run((struct tap_case[]){ TAP(test_ranges), TAP(test_too_many_become_all),
					    TAP(test_datagram_ports), TAP_END });
}
