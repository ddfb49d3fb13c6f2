/* Which kernel feature enforces a field of the policy here. */
#ifndef PLAN_ENFORCE_H
#define PLAN_ENFORCE_H

#include "host/caps.h"
#include "plan/net.h"
#include "policy/model.h"

/* A few words, such as "mount namespace + Landlock"; `enforced` are the bits of
 * enum protection that a plan has (for uid 0 without userns, whose number of processes binds
 * everybody else), `rung` holds the section's network
 * (N_NET_RUNGS: nothing can). */
const char *enforcer_find(enum field_id id, const struct policy *p, unsigned enforced,
			  enum host_cgroup cgroup, enum net_rung rung);
/* The same for a command that nothing encloses; NULL: nothing does. */
const char *enforcer_find_bare(enum field_id id, const struct policy *p);

#endif
