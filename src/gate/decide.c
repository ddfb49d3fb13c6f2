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
		v->allowed = matcher_check_rules(&net->match, q->host, q->port, &v->why);
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

/* An entry of network.udp_allow is that very address; no other rule has to name it. */
static bool check_dialled(const struct plan_net *net, const struct decide_question *q,
			  struct match_verdict *v)
{
	const struct host_addr *addr = &q->host->addr;

	if (!matcher_check_loopback(&net->match, addr, q->port, v))
		return false;
	return q->datagrams || matcher_check_dialled(&net->match, addr, q->port, q->is_own, v);
}

static void judge(const struct plan_net *net, const struct decide_question *q,
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
		ret->allowed = matcher_check_rules(&net->match, q->host, q->port, &ret->why);
	}
	if (!ret->allowed)
		return;
	if (reroute) {
		ret->has_instead = true;
		ret->instead = reroute->addr;
		ret->instead_port = reroute->to_port;
	} else if (q->host->is_addr) {
		ret->allowed = check_dialled(net, q, &ret->why);
	} else {
		ret->allowed = matcher_check_answers(&net->match, q->host, q->port, &q->answers,
						     &ret->good, &ret->why);
	}
}

/* No hint opens a place from which a cloud gives out credentials. */
static bool leads_to_metadata(const struct decide_question *q)
{
	bool found = q->host->is_addr && host_addr_is_metadata(&q->host->addr);

	for (size_t i = 0; i < q->answers.n; i++)
		found |= host_addr_is_metadata(&q->answers.addrs[i]);
	return found;
}

void decide(const struct plan_net *net, const struct decide_question *q,
	    struct decide_verdict *ret)
{
	judge(net, q, ret);
	/* Datagrams have a list of their own. */
	if (ret->allowed && !q->datagrams)
		ret->allowed = matcher_check_first(&net->match, q->host, q->first, &ret->why);
	if (!ret->allowed && leads_to_metadata(q))
		ret->why.hint[0] = '\0';
}

void decide_target(const struct plan_net *net, struct str target,
		   const struct match_answers *answers, struct match_verdict *ret)
{
	struct match_target t;
	struct decide_question q = { .host = &t.host };
	struct decide_verdict v;

	ret->allowed = matcher_parse(&net->match, target, &t, ret);
	/* Nobody judges the host's own network.  The loopback inside never leads out, so that
	 * only the rules have a word about it. */
	if (!ret->allowed || net->kind == NET_OPEN)
		return;
	if (t.host.is_addr && host_addr_is_loopback(&t.host.addr)) {
		ret->allowed = matcher_check_rules(&net->match, &t.host, t.port, ret);
		return;
	}
	q.port = t.port;
	q.first = t.first;
	if (!t.host.is_addr)
		q.answers = *answers;
	decide(net, &q, &v);
	*ret = v.why;
	ret->allowed = v.allowed;
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
