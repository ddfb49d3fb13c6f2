/* The network of a plan for people: one line a step, with what is behind it. */
#include "plan/net.h"

static const char *const kind_features[] = {
	[NET_OPEN] = "nothing: the host's network is meant",
	[NET_CLOSED] = "network namespace, empty",
	[NET_GATE] = "network namespace, AnyIP routes, nf_tables TPROXY to one listener",
};
static_assert(ARRAY_SIZE(kind_features) == N_NET_KINDS, "a kind of network without features");

const char *net_kind_about(enum net_kind kind)
{
	return kind_features[kind];
}

static void start(const char *what, struct buf *out)
{
	buf_printf(out, "network    %-12s ", what);
}

static void print_ports(const char *what, const uint16_t *ports, size_t n, const char *behind,
			struct buf *out)
{
	if (!n)
		return;
	start(what, out);
	for (size_t i = 0; i < n; i++)
		buf_printf(out, "%s%u", i ? " " : "", ports[i]);
	buf_printf(out, "%s\n", behind);
}

static void print_endpoint(const struct host *h, unsigned port, struct buf *out)
{
	bool is_v6 = h->is_addr && h->addr.is_v6;

	buf_puts(out, is_v6 ? "[" : "");
	if (h->is_addr)
		host_addr_print(&h->addr, out);
	else
		buf_puts(out, h->name);
	buf_puts(out, is_v6 ? "]" : "");
	if (port)
		buf_printf(out, ":%u", port);
}

static void print_reroute(const struct net_reroute *r, struct buf *out)
{
	struct host to;

	host_from_addr(&r->addr, &to);
	start("reroute", out);
	print_endpoint(&r->host, r->port, out);
	buf_puts(out, " to ");
	print_endpoint(&to, r->to_port, out);
	buf_puts(out, ": dialled outside\n");
}

static void print_proxy(const struct net_proxy *p, struct buf *out)
{
	start("upstream", out);
	buf_printf(out, strchr(p->host, ':') ? "[%s]:%u" : "%s:%u", p->host, p->port);
	buf_printf(out, "%s: HTTP CONNECT\n", p->authorization ? " with credentials" : "");
}

static void print_protocols(unsigned protocols, struct buf *out)
{
	const char *const *words = field_words(KIND_PROTOCOLS);

	start("protocols", out);
	for (unsigned i = 0; words[i]; i++)
		if (protocols & 1u << i)
			buf_printf(out, "%s ", words[i]);
	buf_puts(out, "only: the first bytes of each connection are read\n");
}

void net_print(const struct plan_net *net, struct buf *out)
{
	const char *mode = field_words(KIND_NETWORK_MODE)[net->match.mode];

	/* Namespace or filter have told it. */
	if (net->kind == NET_CLOSED)
		return;
	start(net->kind == NET_OPEN ? "open" : "by name", out);
	buf_printf(out, "%s: %s\n", mode, kind_features[net->kind]);
	if (net->kind == NET_OPEN)
		return;
	start("tls", out);
	buf_puts(out, net->strict ? "strict: names inside TLS and HTTP are read\n"
				  : "name-only: what is inside a connection is not read\n");
	if (matcher_judges_protocols(&net->match))
		print_protocols(net->match.protocols, out);
	for (size_t i = 0; i < net->n_reroutes; i++)
		print_reroute(&net->reroutes[i], out);
	print_ports("host ports", net->host_ports, net->n_host_ports,
		    " as " HOST_OF_MACHINE ": dialled outside", out);
	print_ports("expose", net->expose, net->n_expose,
		    " on the caller's loopback: a listener outside for each", out);
	for (size_t i = 0; i < net->n_datagrams; i++) {
		start("datagrams", out);
		print_endpoint(&net->datagrams[i].host, net->datagrams[i].port, out);
		buf_puts(out, ": UDP, sent outside\n");
	}
	if (net->proxy.host)
		print_proxy(&net->proxy, out);
	start("connections", out);
	buf_printf(out, "%u: counted where they are accepted\n", net->max_connections);
}
