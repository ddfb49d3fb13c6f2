/* What each backend can do for a task's network. */
#ifndef LIB_BACKEND_H
#define LIB_BACKEND_H

#include "host/caps.h"
#include "policy/trial_plan.h"

/* By the backend's name (NULL: the default one) on such a machine; false when
 * there is no such backend. */
bool backend_find_capabilities(const char *name, const struct host_caps *caps,
			       struct trial_capabilities *ret);
/* The same on this machine. */
int backend_probe_capabilities(const char *name, struct trial_capabilities *ret,
			       struct cordon_err *err) MUST_USE;

#endif
