/* Filling a struct cordon_answer. */
#ifndef LIB_ANSWER_H
#define LIB_ANSWER_H

#include "lib/compose.h"

/* The text of `out` (taken over) and the problems found so far.  `rc` is what
 * the question's work returned: -1 gives -1 with an error that says how many
 * problems there are. */
int answer_fill(struct cordon_answer *ret, bool yes, struct buf *out, struct composition *c, int rc,
		struct cordon_err *err) MUST_USE;

#endif
