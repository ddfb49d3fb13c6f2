/* From the network part of a policy to a plan; see net.h.
 *
 * The rung is the best one that keeps the policy's meaning.  An allowlist is
 * never held by less: what this machine cannot judge is refused by name.
 */
#include "plan/net.h"

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

/* ---- the rung ----------------------------------------------------------- */

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

/* An allowlist of nothing needs no judge where there is none. */
static bool grants_nothing(const struct section *s)
{
	return mode_of(s) == NETWORK_ALLOWLIST && !has(s, F_NETWORK_ALLOW) &&
	       !has(s, F_NETWORK_EXPOSE) && !has(s, F_NETWORK_HOST_PORTS) &&
	       !has(s, F_NETWORK_UDP_ALLOW);
}

/* A listener each, so there are few and all are known. */
struct ports {
	uint16_t list[MAX_NET_PORTS];
	size_t n;
};

static bool ports_add(struct ports *ports, unsigned port)
{
	size_t at = 0;

	while (at < ports->n && ports->list[at] < port)
		at++;
	if (at < ports->n && ports->list[at] == port)
		return true;
	if (ports->n == MAX_NET_PORTS)
		return false;
	memmove(&ports->list[at + 1], &ports->list[at], (ports->n - at) * sizeof(ports->list[0]));
	ports->list[at] = (uint16_t)port;
	ports->n++;
	return true;
}

/* Port 53 is that of the gate's own DNS. */
static bool ports_add_rule(struct ports *ports, const struct host_rule *rule)
{
	if (rule->port_last - rule->port_first >= MAX_NET_PORTS ||
	    (rule->port_first <= 53 && rule->port_last >= 53))
		return false;
	for (unsigned port = rule->port_first; port <= rule->port_last; port++)
		if (!ports_add(ports, port))
			return false;
	return true;
}

/* All ports that the section names.  False: they cannot be listed, and
 * *ret_item is the first that does not go in, or NULL. */
static bool ports_collect(const struct section *s, struct ports *ports,
			  const struct item **ret_item, enum field_id *ret_id)
{
	const struct field_value *allow = &s->f[F_NETWORK_ALLOW];
	const struct field_value *own = &s->f[F_NETWORK_HOST_PORTS];

	*ports = (struct ports){ .n = 0 };
	*ret_item = NULL;
	*ret_id = F_NETWORK_MODE;
	if (mode_of(s) == NETWORK_PUBLIC)
		return false;
	*ret_id = F_NETWORK_HOST_PORTS;
	for (size_t i = 0; i < own->n; i++) {
		*ret_item = &own->items[i];
		if (own->items[i].port == 53 || !ports_add(ports, own->items[i].port))
			return false;
	}
	*ret_id = F_NETWORK_ALLOW;
	for (size_t i = 0; i < allow->n; i++) {
		*ret_item = &allow->items[i];
		if (!ports_add_rule(ports, allow->items[i].host))
			return false;
	}
	return true;
}

static bool can_list_ports(const struct section *s)
{
	const struct item *item;
	struct ports ports;
	enum field_id id;

	return ports_collect(s, &ports, &item, &id);
}

/* Without a network namespace: nothing but unix sockets can be made, the host's
 * are out of sight, and those that have no place in the file system are kept away
 * by Landlock (ABI 6).  Then the one socket that is in sight is the gate's. */
#define PROXY_LANDLOCK	6

static bool has_proxy_parts(const struct host_caps *caps, int landlock)
{
	return !caps->net && (caps->userns || caps->is_root) && caps->mount && caps->seccomp &&
	       landlock >= PROXY_LANDLOCK;
}

/* What nobody can have through a proxy: a port inside, and datagrams. */
static enum field_id find_unproxied(const struct section *s)
{
	static const enum field_id ids[] = { F_NETWORK_EXPOSE, F_NETWORK_UDP_ALLOW };

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		if (has(s, ids[i]))
			return ids[i];
	return N_FIELDS;
}

enum net_rung net_find_rung(const struct section *s, const struct host_caps *caps)
{
	if (net_is_open(s))
		return NET_OPEN;
	if (!net_needs_gate(s))
		return NET_CLOSED;
	if (caps->net && caps->tproxy)
		return NET_TPROXY;
	if (caps->net && caps->anyip && can_list_ports(s))
		return NET_PORTS;
	if (grants_nothing(s))
		return NET_CLOSED;
	return has_proxy_parts(caps, caps->landlock) && find_unproxied(s) == N_FIELDS
		       ? NET_PROXY : N_NET_RUNGS;
}

enum host_feature net_find_missing(const struct section *s, const struct host_caps *caps)
{
	if (net_find_rung(s, caps) != N_NET_RUNGS)
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

static int refuse_ports(const struct section *s, struct cordon_err *err)
{
	cleanup_buf struct buf what = BUF(512);
	const struct item *item;
	struct ports ports;
	enum field_id id;

	if (ports_collect(s, &ports, &item, &id))
		BUG("ports that can be listed are refused");
	if (!item)
		buf_puts(&what, "any port");
	else if (id == F_NETWORK_HOST_PORTS)
		buf_printf(&what, "%u", item->port);
	else
		host_rule_print(item->host, &what);
	return err_set(err, CORDON_E_HOST,
		       "%s: '%s' needs %s (%s), which this machine does not offer; without it at "
		       "most %d ports can be allowed, each by its number and none of them 53: "
		       "write HOST:PORT, or see cordon doctor",
		       fields[id].key, buf_text(&what), host_feature_name(FEATURE_TPROXY),
		       host_feature_about(FEATURE_TPROXY), MAX_NET_PORTS);
}

/* The machine has no network namespaces, but all that a proxy needs. */
static int refuse_proxy(const struct section *s, struct cordon_err *err)
{
	enum field_id id = find_unproxied(s);

	return err_set(err, CORDON_E_HOST,
		       "%s needs %s (%s), which this machine does not offer, and a proxy cannot "
		       "stand in for it; remove it, or see cordon doctor",
		       id == N_FIELDS ? "the network" : fields[id].key,
		       host_feature_name(FEATURE_NET), host_feature_about(FEATURE_NET));
}

int net_check(const struct section *s, const struct host_caps *caps, struct cordon_err *err)
{
	cleanup_buf struct buf asker = BUF(256);
	enum host_feature missing = net_find_missing(s, caps);

	if (missing == N_HOST_FEATURES)
		return 0;
	if (caps->net && caps->anyip && mode_of(s) != NETWORK_PUBLIC)
		return refuse_ports(s, err);
	if (has_proxy_parts(caps, caps->landlock))
		return refuse_proxy(s, err);
	print_asker(s, &asker);
	return err_set(err, CORDON_E_HOST,
		       "%s needs %s (%s), which this machine does not offer%s; "
		       "cordon doctor says what to do",
		       buf_text(&asker), host_feature_name(missing), host_feature_about(missing),
		       /* What a better Landlock would change. */
		       has_proxy_parts(caps, PROXY_LANDLOCK) && find_unproxied(s) == N_FIELDS
			       ? ", nor Landlock of ABI 6, with which a proxy could stand in" : "");
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

static int copy_listeners(const struct compiler *c)
{
	const struct item *item;
	struct ports ports;
	enum field_id id;
	uint16_t *list;

	if (c->net->rung != NET_PORTS)
		return 0;
	if (!ports_collect(c->s, &ports, &item, &id))
		BUG("a rung whose ports cannot be listed");
	list = arena_new(c->arena, ports.n + 1, sizeof(*list));
	if (!list)
		return err_nomem(c->err);
	memcpy(list, ports.list, ports.n * sizeof(*list));
	c->net->ports = list;
	c->net->n_ports = ports.n;
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
	struct ports ports = { .n = 0 };

	if (!list)
		return err_nomem(c->err);
	for (size_t i = 0; i < v->n; i++) {
		const struct host_rule *rule = v->items[i].host;

		if (!ports_add(&ports, rule->port_first))
			return err_set(c->err, CORDON_E_HOST,
				       "network.udp_allow has more than %d ports; remove some",
				       MAX_NET_PORTS);
		host_of_rule(rule, &list[i].host);
		list[i].port = rule->port_first;
	}
	c->net->datagrams = list;
	c->net->n_datagrams = v->n;
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
	if (copy_listeners(c) < 0 || copy_datagrams(c) < 0)
		return -1;
	return copy_nets(c);
}

int net_compile(const struct policy *p, const struct section *s, const struct net_options *o,
		struct arena *a, struct plan_net *ret, struct cordon_err *err)
{
	struct plan_net net = {
		.rung = o->gate ? NET_TPROXY : net_find_rung(s, o->caps),
		.strict = s->f[F_NETWORK_TLS].number == TLS_STRICT,
		.reroutes = o->reroutes,
		.n_reroutes = o->n_reroutes,
		.max_connections = (unsigned)s->f[F_NETWORK_CONNECTIONS].number,
	};
	const struct compiler c = { s, a, &net, err };

	if ((!o->gate && net_check(s, o->caps, err) < 0) || matcher_init(&net.match, p, s, err) < 0)
		return -1;
	if (net.rung == NET_OPEN || net.rung == NET_CLOSED) {
		*ret = net;
		return 0;
	}
	if (copy_lists(&c) < 0 || net_proxy_compile(s, o->environ, a, &net.proxy, err) < 0)
		return -1;
	*ret = net;
	return 0;
}
