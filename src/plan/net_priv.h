/* Between the files of the network part. */
#ifndef PLAN_NET_PRIV_H
#define PLAN_NET_PRIV_H

#include "plan/net.h"

/* network.upstream_proxy with the caller's values. */
int net_proxy_compile(const struct section *s, const char *const *environ, struct arena *a,
		      struct net_proxy *ret, struct cordon_err *err) MUST_USE;

#endif
