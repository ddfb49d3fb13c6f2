/* Which kernel feature enforces a field of the policy here. */
#ifndef PLAN_ENFORCE_H
#define PLAN_ENFORCE_H

#include "host/caps.h"
#include "plan/net.h"
#include "plan/plan.h"
#include "policy/model.h"

/* How a command is enclosed, as far as it decides which feature enforces a field. */
struct enforcement {
	enum plan_level level;
	bool landlock;
	bool is_root;			/* uid 0: RLIMIT_NPROC does not bind it */
	enum host_cgroup cgroup;
};

/* A few words, such as "mount namespace + Landlock". */
const char *enforcer_find(enum field_id id, const struct policy *p, const struct section *s,
			  const struct enforcement *e);
/* The same for a command without a sandbox; NULL: nothing does. */
const char *enforcer_find_bare(enum field_id id, const struct policy *p);

#endif
