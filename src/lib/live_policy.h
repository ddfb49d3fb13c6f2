/* The policy of a live cordon, which can change: phases, and the operator's words
 * about its network, within the ceilings that held at its start. */
#ifndef LIB_LIVE_POLICY_H
#define LIB_LIVE_POLICY_H

#include "lib/compose.h"
#include "plan/compile.h"
#include "super/session_ops.h"

struct live_policy;

/* What it is about outlives it. */
struct live_policy_about {
	const struct composition *start;
	const struct plan *plan;
	const struct host_caps *caps;
	const struct plan_request *request;
};

struct live_policy *live_policy_new(const struct live_policy_about *about, struct cordon_err *err);
/* NULL is fine. */
void live_policy_free(struct live_policy *p);
/* For the supervisor. */
struct session_ops live_policy_ops(struct live_policy *p);

#endif
