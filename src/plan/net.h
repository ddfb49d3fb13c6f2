/* The network part of a plan: which hosts a cordon may reach, and how.
 *
 * Pure data.  One of these is one generation: a policy switch compiles the next
 * one and hands it to the gate, which drops the last one when nothing that was
 * judged by it is left.  Everything it points to lives in the arena it was
 * compiled into.
 */
#ifndef PLAN_NET_H
#define PLAN_NET_H

#include "host/caps.h"
#include "policy/match.h"

enum net_kind {
	NET_OPEN,		/* the host's own network: mode public without a rule */
	NET_CLOSED,		/* an empty network namespace */
	NET_GATE,		/* a network namespace whose connections end at the gate */
	N_NET_KINDS
};

/* --connect-to: the operator's word about where a host is. */
struct net_reroute {
	struct host host;
	uint16_t port;		/* 0: any */
	struct host_addr addr;	/* may be special */
	uint16_t to_port;	/* 0: the same */
};

/* network.udp_allow: datagrams to one port of one host. */
struct net_datagrams {
	struct host host;
	uint16_t port;
};

/* network.upstream_proxy: every connection is asked of it by CONNECT. */
struct net_proxy {
	const char *host;		/* NULL: there is none */
	uint16_t port;
	const char *authorization;	/* the value of Proxy-Authorization, or NULL */
};

struct plan_net {
	enum net_kind kind;
	struct matcher match;		/* the hosts */
	bool strict;			/* network.tls: names inside TLS and HTTP count, too */
	const struct net_reroute *reroutes;
	size_t n_reroutes;
	const uint16_t *host_ports;	/* of the host's loopback, as host.cordon.internal */
	size_t n_host_ports;
	const uint16_t *expose;		/* inside ports that the caller's loopback reaches */
	size_t n_expose;
	const struct net_datagrams *datagrams;
	size_t n_datagrams;
	const struct host_rule *nets;	/* address rules of network.allow: the fast path's sets */
	size_t n_nets;
	struct net_proxy proxy;
	unsigned max_connections;
};

/* What is not in the policy. */
struct net_options {
	const struct host_caps *caps;
	const char *const *environ;	/* the caller's; ends with NULL; or NULL: not known */
	const struct net_reroute *reroutes;
	size_t n_reroutes;
	bool gate;			/* hold by the gate what would need none, too */
};

/* Is the host's own network meant? */
bool net_is_open(const struct section *s);
/* Does a host have to be judged?  This takes the network namespace and nf_tables. */
bool net_needs_gate(const struct section *s);
enum net_kind net_find_kind(const struct section *s);
/* The feature that this machine lacks for a section that needs a gate, or N_HOST_FEATURES. */
enum host_feature net_find_missing(const struct section *s, const struct host_caps *caps);
/* The error, if a feature is missing: names what in the section needs it. */
int net_check(const struct section *s, enum host_feature missing, struct cordon_err *err);
/* The base of `p`, or one of its phases, with defaults filled in.  Refuses as
 * net_check(). */
int net_compile(const struct policy *p, const struct section *s, const struct net_options *o,
		struct arena *a, struct plan_net *ret, struct cordon_err *err) MUST_USE;
/* HOST:PORT:ADDR:PORT, where either port may be empty and IPv6 stands in
 * brackets. */
int net_reroute_parse(struct str text, struct net_reroute *ret, char why[HOST_WHY]) MUST_USE;
/* For people; of a proxy never more than its address. */
void net_print(const struct plan_net *net, struct buf *out);
/* The kernel features behind each kind, in a few words. */
const char *net_kind_about(enum net_kind kind);

#endif
