/* The verdict; see decide.h.
 *
 * What a policy says about hosts is the matcher's word, the same that `cordon
 * policy match` gives.  Here are the things that only a live network has: where
 * the operator says a host is, ports of this machine, datagrams, and addresses
 * that were dialled without a name.
 */
#include "gate/decide.h"

#include <stdio.h>

static void refuse(struct decide_verdict *v, const char *reason, const char *hint)
{
	v->allowed = false;
	snprintf(v->why.reason, sizeof(v->why.reason), "%s", reason);
	snprintf(v->why.hint, sizeof(v->why.hint), "%s", hint);
}

static bool has_port(const uint16_t *ports, size_t n, unsigned port)
{
	for (size_t i = 0; i < n; i++)
		if (!port || ports[i] == port)
			return true;
	return false;
}

static bool is_same(const struct host *a, const struct host *b)
{
	if (a->is_addr || b->is_addr)
		return a->is_addr && b->is_addr && memcmp(&a->addr, &b->addr, sizeof(a->addr)) == 0;
	return a->n == b->n && memcmp(a->name, b->name, a->n) == 0;
}

/* The host's own loopback, by name: only what the policy lists. */
static void decide_host_port(const struct plan_net *net, const struct decide_question *q,
			     struct decide_verdict *v)
{
	char reason[128], hint[64];

	/* A rule of network.deny wins, as everywhere. */
	if (matcher_denies(&net->match, q->host, q->port)) {
		matcher_check_host(&net->match, q->host, q->port, NULL, 0, &v->why);
		return;
	}
	if (!q->datagrams && has_port(net->host_ports, net->n_host_ports, q->port)) {
		v->allowed = v->has_instead = true;
		v->instead = (struct host_addr){ .b = { 127, 0, 0, 1 } };
		return;
	}
	/* Who asks for the name has not said which port is meant. */
	if (!q->port) {
		refuse(v, "no port of " HOST_OF_MACHINE " is in network.host_ports",
		       "--host-port PORT");
		return;
	}
	snprintf(reason, sizeof(reason), "port %u of %s is not in network.host_ports", q->port,
		 HOST_OF_MACHINE);
	snprintf(hint, sizeof(hint), "--host-port %u", q->port);
	refuse(v, reason, hint);
}

/* One for the very port before one for any. */
static const struct net_reroute *find_reroute(const struct plan_net *net, const struct host *h,
					      unsigned port)
{
	const struct net_reroute *any = NULL;

	for (size_t i = 0; i < net->n_reroutes; i++) {
		const struct net_reroute *r = &net->reroutes[i];

		if (!is_same(&r->host, h))
			continue;
		if (r->port == port || !port)
			return r;
		if (!r->port)
			any = r;
	}
	return any;
}

/* Where everything is allowed and judged all the same, that is what anybody reaches: not
 * this machine, nor what is private to it or its neighbours.  The matcher leaves that to us,
 * since a public network that nobody judges is the host's own. */
static bool is_for_all(const struct plan_net *net, const struct host_addr *a, bool own)
{
	return net->match.mode != NETWORK_PUBLIC || (!own && !host_addr_special(a));
}

static void refuse_own(struct decide_verdict *v, const char *reason, unsigned port)
{
	char hint[64];

	snprintf(hint, sizeof(hint), "--host-port %u, and the name " HOST_OF_MACHINE, port);
	refuse(v, reason, hint);
}

/* An address that was dialled as such: the rule that allows it must be about
 * it, and not about everything. */
static void check_dialled(const struct plan_net *net, const struct decide_question *q,
			  struct decide_verdict *v)
{
	const char *special = host_addr_special(&q->host->addr);
	cleanup_buf struct buf name = BUF(128);
	char reason[256], hint[128];

	/* Inside, that is another machine's loopback than the one we would dial; where the
	 * kernel has not said so before, as behind a proxy, `::` is the loopback as well. */
	if (special && (strcmp(special, "loopback") == 0 || strcmp(special, "unspecified") == 0)) {
		refuse_own(v, "the loopback inside is the cordon's own", q->port);
		return;
	}
	/* Datagrams are allowed by the very address. */
	if (matcher_accepts_answer(&net->match, &q->host->addr, q->port, q->is_own) &&
	    (is_for_all(net, &q->host->addr, q->is_own) || (q->datagrams && !q->is_own)))
		return;
	host_print(q->host, &name);
	if (q->is_own) {
		snprintf(reason, sizeof(reason), "host %s is an address of this machine",
			 buf_text(&name));
		refuse_own(v, reason, q->port);
		return;
	}
	snprintf(reason, sizeof(reason), "host %s is a special address (%s) that no rule names",
		 buf_text(&name), special ? special : "denied");
	/* In a public network a rule that allows something would forbid the rest. */
	if (net->match.mode == NETWORK_PUBLIC)
		snprintf(hint, sizeof(hint), q->host->addr.is_v6 ?
			 "--connect-to [%s]:%u:[%s]:%u" : "--connect-to %s:%u:%s:%u",
			 buf_text(&name), q->port, buf_text(&name), q->port);
	else
		snprintf(hint, sizeof(hint), "--allow-host %s", buf_text(&name));
	refuse(v, reason, hint);
}

/* Of mixed answers only the good ones are used. */
static void check_answers(const struct plan_net *net, const struct decide_question *q,
			  struct decide_verdict *v)
{
	const char *special = host_addr_special(&q->answers[0]);
	char reason[MAX_HOST_NAME + 64], hint[MAX_HOST_NAME + 64];

	for (size_t i = 0; i < q->n_answers; i++)
		if (is_for_all(net, &q->answers[i], q->own[i]) &&
		    matcher_accepts_answer(&net->match, &q->answers[i], q->port, q->own[i]))
			v->good |= 1u << i;
	if (v->good)
		return;
	if (special)
		snprintf(reason, sizeof(reason), "host %s resolves to a special address (%s)",
			 q->host->name, special);
	else
		snprintf(reason, sizeof(reason), "host %s resolves to an address of this machine",
			 q->host->name);
	snprintf(hint, sizeof(hint), "--host-port %u, or --connect-to %s:%u:ADDRESS:%u", q->port,
		 q->host->name, q->port, q->port);
	refuse(v, reason, hint);
}

static void decide_datagrams(const struct plan_net *net, const struct decide_question *q,
			     struct decide_verdict *v)
{
	cleanup_buf struct buf name = BUF(512);
	char reason[MATCH_REASON], hint[MATCH_REASON];

	for (size_t i = 0; i < net->n_datagrams; i++)
		if (is_same(&net->datagrams[i].host, q->host) &&
		    (!q->port || net->datagrams[i].port == q->port))
			v->allowed = !matcher_denies(&net->match, q->host, q->port);
	if (v->allowed)
		return;
	host_print(q->host, &name);
	snprintf(reason, sizeof(reason), "UDP port %u of host %s is not in network.udp_allow",
		 q->port, buf_text(&name));
	snprintf(hint, sizeof(hint), q->host->is_addr && q->host->addr.is_v6 ?
		 "network.udp_allow = [\"[%s]:%u\"]" : "network.udp_allow = [\"%s:%u\"]",
		 buf_text(&name), q->port);
	refuse(v, reason, hint);
}

void decide(const struct plan_net *net, const struct decide_question *q,
	    struct decide_verdict *ret)
{
	const struct net_reroute *reroute = find_reroute(net, q->host, q->port);

	*ret = (struct decide_verdict){ .allowed = false };
	if (str_is((struct str){ q->host->name, q->host->n }, HOST_OF_MACHINE)) {
		decide_host_port(net, q, ret);
		return;
	}
	if (q->datagrams) {
		decide_datagrams(net, q, ret);
	} else {
		/* A denied answer refuses the name, unless nobody dials it. */
		matcher_check_host(&net->match, q->host, q->port, reroute ? NULL : q->answers,
				   reroute ? 0 : q->n_answers, &ret->why);
		ret->allowed = ret->why.allowed;
	}
	if (!ret->allowed)
		return;
	if (reroute) {
		ret->has_instead = true;
		ret->instead = reroute->addr;
		ret->instead_port = reroute->to_port;
	} else if (q->host->is_addr) {
		check_dialled(net, q, ret);
	} else if (q->n_answers) {
		check_answers(net, q, ret);
	}
}

bool decide_any(const struct plan_net *net, const struct host *h, struct decide_verdict *ret)
{
	struct decide_question q = { .host = h };
	struct decide_verdict datagrams;

	decide(net, &q, ret);
	if (ret->allowed)
		return true;
	q.datagrams = true;
	decide(net, &q, &datagrams);
	return datagrams.allowed;
}
