/* The environment of the command: a pass list, what is set, what is left out. */
#ifndef PLAN_ENVIRONMENT_H
#define PLAN_ENVIRONMENT_H

#include "plan/compile.h"

/* NAME=VALUE strings, ends with NULL.  `environ` is the caller's; NULL: not known, and
 * what is taken from it is not missed.  Where `net` is held by a proxy, they say
 * where it is, and no other one is passed on. */
int environment_compile(const struct section *s, const char *const *environ,
			const struct plan_net *net, struct arena *a, const char *const **ret,
			struct cordon_err *err) MUST_USE;

#endif
