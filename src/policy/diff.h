/* The difference of two policies, in words. */
#ifndef POLICY_DIFF_H
#define POLICY_DIFF_H

#include "policy/model.h"

/* A policy and what to call it. */
struct named_policy {
	const struct policy *policy;
	const char *name;
};

/* What `b` allows that `a` does not, and the reverse, one line each.  Both
 * must have their defaults filled in.  *ret_lines: how many lines. */
int policy_diff(struct named_policy a, struct named_policy b, struct buf *out, size_t *ret_lines,
		struct cordon_err *err) MUST_USE;
/* Does the network of `to` reach anything that the network of `from` does not?  Both must have
 * their defaults filled in. */
int policy_network_is_wider(const struct section *from, const struct section *to, bool *ret,
			    struct cordon_err *err) MUST_USE;

#endif
