/* The limits of a section as numbers. */
#ifndef PLAN_LIMITS_H
#define PLAN_LIMITS_H

#include "plan/plan.h"
#include "policy/model.h"

/* `s` is the base of the policy or one of its phases. */
void limits_compile(const struct policy *p, const struct section *s, struct plan_limits *ret);
/* What this plan has nobody to count is none. */
void limits_fit(const struct plan *plan, struct plan_limits *l);
/* Where nothing encloses the command: what nobody asked for, or nobody can hold, is none. */
void limits_fit_bare(const struct policy *p, struct plan_limits *l);

#endif
