/* The difference of two policies, in words. */
#ifndef POLICY_DIFF_H
#define POLICY_DIFF_H

#include "policy/model.h"

/* What `b` allows that `a` does not, and the reverse, one line each.  Both
 * must have their defaults filled in.  Returns how many lines. */
size_t policy_diff(const struct policy *a, const char *name_a, const struct policy *b,
		   const char *name_b, struct buf *out);

#endif
