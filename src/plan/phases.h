/* The phases of a session: what can change while it lives, and what cannot. */
#ifndef PLAN_PHASES_H
#define PLAN_PHASES_H

#include "plan/compile.h"

/* Is the host's own network used all the time? */
bool phases_are_open(const struct policy *p, const struct plan_request *r);
/* Is the network held by a gate whatever a phase says, so that it can become
 * another one?  Where the machine has a gate for every port, and anything is to
 * be held at all. */
bool phases_have_gate(const struct policy *p, const struct host_caps *caps,
		      const struct plan_request *r);
/* Can a cordon whose base is `base` become what this phase is? */
int phases_check(const struct policy *p, const struct phase *phase, const struct plan_net *base,
		 const struct plan_net *net, struct cordon_err *err) MUST_USE;
/* Every phase, into plan->phases.  Refuses what would have to change and cannot. */
int phases_compile(const struct policy *p, const struct net_options *o, struct plan *plan,
		   struct cordon_err *err) MUST_USE;
/* Can the environment of every phase be made?  It is made anew for each command. */
int phases_check_environment(const struct policy *p, const struct plan_request *r,
			     const struct plan *plan, struct cordon_err *err) MUST_USE;
/* The limits of the base and of every phase to what can be counted, and what is needed
 * so that each of them can hold. */
void phases_fit(struct plan *plan);

#endif
