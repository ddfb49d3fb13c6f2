/* The environment of the command: a pass list, what is set, what is left out. */
#ifndef PLAN_ENVIRONMENT_H
#define PLAN_ENVIRONMENT_H

#include "plan/compile.h"

/* NAME=VALUE strings, ends with NULL. */
int environment_compile(const struct section *s, const char *const *environ, struct arena *a,
			const char *const **ret, struct cordon_err *err) MUST_USE;

#endif
