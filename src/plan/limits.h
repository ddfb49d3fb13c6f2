/* The limits of a section as numbers. */
#ifndef PLAN_LIMITS_H
#define PLAN_LIMITS_H

#include "plan/plan.h"
#include "policy/model.h"

void limits_compile(const struct section *s, struct plan_limits *ret);

#endif
