/* Composing two policies: the strictest of both. */
#ifndef POLICY_INTERSECT_H
#define POLICY_INTERSECT_H

#include "policy/model.h"

/* One thing that a composition took away, for `cordon explain`. */
struct cut {
	enum field_id id;
	struct str phase;	/* empty: the base */
	struct str what;	/* the entry or value that was cut */
	struct place at;	/* where it was written */
	struct place by;	/* what cut it */
};

struct cuts {
	struct cut *items;
	size_t n, cap;
};

/* What both allow, into `ret` (in its arena, which must be the one of `a` and
 * `b`).  `a` is the ceiling: its env.set and its proxy win.  `cuts` may be NULL. */
int policy_intersect(const struct policy *a, const struct policy *b, struct policy *ret,
		     struct cuts *cuts, struct cordon_err *err) MUST_USE;
/* `p` becomes what the ceiling allows of it; where both say the same, the place
 * is that of `p`. */
int policy_tighten(struct policy *p, const struct policy *ceiling, struct cuts *cuts,
		   struct cordon_err *err) MUST_USE;

#endif
