/* What each backend can do for a task's network. */
#ifndef LIB_BACKEND_H
#define LIB_BACKEND_H

#include "policy/trial_plan.h"

/* By the backend's name (NULL: the default one); NULL when there is none. */
const struct trial_capabilities *backend_find_capabilities(const char *name);

#endif
