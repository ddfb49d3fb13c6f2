/* From the network part of a policy to a plan; see net.h. */
#include "plan/net.h"

#include "plan/net_inside.h"
#include "plan/net_priv.h"
#include "policy/model.h"
#include "policy/proxy.h"

static enum network_mode mode_of(const struct section *s)
{
	return (enum network_mode)s->f[F_NETWORK_MODE].number;
}

static bool has(const struct section *s, enum field_id id)
{
	return s->f[id].n > 0;
}

static bool has_proxy(const struct section *s)
{
	const struct field_value *v = &s->f[F_NETWORK_UPSTREAM_PROXY];

	return v->set && !str_is(v->text, PROXY_NONE);
}

static bool judges_protocols(const struct section *s)
{
	const struct field_value *v = &s->f[F_NETWORK_PROTOCOLS];
	const char *any = field_words(KIND_PROTOCOLS)[PROTOCOL_ANY];

	return v->set && !(v->n && str_is(v->items[0].text, any));
}

bool net_is_open(const struct section *s)
{
	return mode_of(s) == NETWORK_PUBLIC && !has(s, F_NETWORK_DENY) &&
	       !has(s, F_NETWORK_EXPOSE) && !has(s, F_NETWORK_HOST_PORTS) &&
	       !has_proxy(s) && !judges_protocols(s) && !s->rerouted;
}

bool net_needs_gate(const struct section *s)
{
	return !net_is_open(s) && (mode_of(s) != NETWORK_NONE || has(s, F_NETWORK_EXPOSE));
}

enum net_kind net_find_kind(const struct section *s)
{
	if (net_is_open(s))
		return NET_OPEN;
	return net_needs_gate(s) ? NET_GATE : NET_CLOSED;
}

enum host_feature net_find_missing(const struct section *s, const struct host_caps *caps)
{
	if (!net_needs_gate(s) || (caps->net && caps->tproxy))
		return N_HOST_FEATURES;
	return caps->net ? FEATURE_TPROXY : FEATURE_NET;
}

/* What in the section asks for a gate. */
static void print_asker(const struct section *s, struct buf *out)
{
	static const enum field_id others[] = { F_NETWORK_DENY, F_NETWORK_EXPOSE,
						F_NETWORK_HOST_PORTS, F_NETWORK_PROTOCOLS,
						F_NETWORK_UPSTREAM_PROXY };
	const char *mode = field_words(KIND_NETWORK_MODE)[mode_of(s)];

	for (size_t i = 0; mode_of(s) != NETWORK_ALLOWLIST && i < ARRAY_SIZE(others); i++)
		if (others[i] == F_NETWORK_PROTOCOLS ? judges_protocols(s) :
		    has(s, others[i]) || (others[i] == F_NETWORK_UPSTREAM_PROXY && has_proxy(s))) {
			buf_printf(out, "%s under ", fields[others[i]].key);
			break;
		}
	buf_printf(out, "network.mode %s", mode);
}

int net_check(const struct section *s, enum host_feature missing, struct cordon_err *err)
{
	cleanup_buf struct buf asker = BUF(256);

	if (missing == N_HOST_FEATURES)
		return 0;
	print_asker(s, &asker);
	return err_set(err, CORDON_E_HOST,
		       "%s needs %s (%s), which this machine does not offer; cordon doctor says "
		       "what to do",
		       buf_text(&asker), host_feature_name(missing), host_feature_about(missing));
}

/* ---- parts -------------------------------------------------------------- */

struct compiler {
	const struct section *s;
	struct arena *arena;
	struct plan_net *net;
	struct cordon_err *err;
};

static int copy_ports(const struct compiler *c, enum field_id id, const uint16_t **ret,
		      size_t *ret_n)
{
	const struct field_value *v = &c->s->f[id];
	uint16_t *ports = arena_new(c->arena, v->n + 1, sizeof(*ports));

	if (!ports)
		return err_nomem(c->err);
	for (size_t i = 0; i < v->n; i++)
		ports[i] = v->items[i].port;
	*ret = ports;
	*ret_n = v->n;
	return 0;
}

/* A name, or an address alone. */
static void host_of_rule(const struct host_rule *rule, struct host *ret)
{
	*ret = (struct host){ .is_addr = rule->form == HOST_NET, .addr = rule->addr };
	if (ret->is_addr)
		return;
	ret->n = (unsigned char)rule->name.n;
	memcpy(ret->name, rule->name.s, rule->name.n);
}

static int copy_datagrams(const struct compiler *c)
{
	const struct field_value *v = &c->s->f[F_NETWORK_UDP_ALLOW];
	struct net_datagrams *list = arena_new(c->arena, v->n + 1, sizeof(*list));
	uint16_t ports[MAX_NET_PORTS];

	if (!list)
		return err_nomem(c->err);
	for (size_t i = 0; i < v->n; i++) {
		host_of_rule(v->items[i].host, &list[i].host);
		list[i].port = v->items[i].host->port_first;
	}
	c->net->datagrams = list;
	c->net->n_datagrams = v->n;
	if (net_datagram_ports(c->net, ports) > MAX_NET_PORTS)
		return err_set(c->err, CORDON_E_HOST,
			       "network.udp_allow has more than %d ports; remove some",
			       MAX_NET_PORTS);
	return 0;
}

static int copy_nets(const struct compiler *c)
{
	static const struct host_rule all[] = {
		{ .form = HOST_NET, .port_last = UINT16_MAX },
		{ .form = HOST_NET, .port_last = UINT16_MAX, .addr = { .is_v6 = true } },
	};
	const struct field_value *allow = &c->s->f[F_NETWORK_ALLOW];
	struct host_rule *nets;
	size_t n = 0;

	if (mode_of(c->s) == NETWORK_PUBLIC) {
		c->net->nets = all;
		c->net->n_nets = ARRAY_SIZE(all);
		return 0;
	}
	for (size_t i = 0; i < allow->n; i++)
		n += allow->items[i].host->form == HOST_NET;
	nets = arena_new(c->arena, n + 1, sizeof(*nets));
	if (!nets)
		return err_nomem(c->err);
	c->net->nets = nets;
	for (size_t i = 0; i < allow->n; i++)
		if (allow->items[i].host->form == HOST_NET)
			nets[c->net->n_nets++] = *allow->items[i].host;
	return 0;
}

static int copy_lists(const struct compiler *c)
{
	struct plan_net *net = c->net;

	if (copy_ports(c, F_NETWORK_HOST_PORTS, &net->host_ports, &net->n_host_ports) < 0 ||
	    copy_ports(c, F_NETWORK_EXPOSE, &net->expose, &net->n_expose) < 0)
		return -1;
	if (net->n_expose > MAX_NET_PORTS)
		return err_set(c->err, CORDON_E_HOST,
			       "network.expose has more than %d ports; remove some",
			       MAX_NET_PORTS);
	return copy_datagrams(c) < 0 ? -1 : copy_nets(c);
}

int net_compile(const struct policy *p, const struct section *s, const struct net_options *o,
		struct arena *a, struct plan_net *ret, struct cordon_err *err)
{
	struct plan_net net = {
		.kind = o->gate ? NET_GATE : net_find_kind(s),
		.strict = s->f[F_NETWORK_TLS].number == TLS_STRICT,
		.reroutes = o->reroutes,
		.n_reroutes = o->n_reroutes,
		.max_connections = (unsigned)s->f[F_NETWORK_CONNECTIONS].number,
	};
	const struct compiler c = { s, a, &net, err };

	if ((!o->gate && net_check(s, net_find_missing(s, o->caps), err) < 0) ||
	    matcher_init(&net.match, p, s, err) < 0)
		return -1;
	if (net.kind != NET_GATE) {
		*ret = net;
		return 0;
	}
	if (copy_lists(&c) < 0 || net_proxy_compile(s, o->environ, a, &net.proxy, err) < 0)
		return -1;
	*ret = net;
	return 0;
}
