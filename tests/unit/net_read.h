/* The network part of a plan from the text of a policy, for tests. */
#ifndef TESTS_NET_READ_H
#define TESTS_NET_READ_H

#include "plan/net.h"
#include "policy_read.h"
#include "tap.h"

/* On a machine that has everything; whatever it points to lives in the arena. */
__attribute__((unused))
static struct plan_net *read_net(struct arena *a, const char *text,
				 const struct net_reroute *reroutes, size_t n_reroutes)
{
	static const struct host_caps caps = { .net = true, .tproxy = true };
	static const char *const variables[] = { NULL };
	const struct net_options o = { .caps = &caps, .environ = variables, .reroutes = reroutes,
				       .n_reroutes = n_reroutes };
	cleanup_diags struct diags diags = DIAGS;
	struct policy *p = arena_new(a, 1, sizeof(*p));
	struct plan_net *net = arena_new(a, 1, sizeof(*net));
	struct reader r = { .policy = p, .diags = &diags, .file = "default",
			    .base_dir = TEST_BASE, .cwd = TEST_BASE, .home = TEST_HOME };
	struct cordon_err err;

	*p = read_native(a, text);
	ok(read_defaults(&r) == 0, "defaults of %s", text);
	if (!ok(net_compile(p, &p->base, &o, a, net, &err) == 0, "%s: %s", text, err.msg))
		abort();
	return net;
}

#endif
