/* The limits of a section as numbers. */
#ifndef PLAN_LIMITS_H
#define PLAN_LIMITS_H

#include "plan/plan.h"
#include "policy/model.h"

/* `count_roots`: limits.disk is for the writable roots, too. */
void limits_compile(const struct section *s, bool count_roots, struct plan_limits *ret);

#endif
