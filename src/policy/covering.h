/* Which entry of one list says all that an entry of another one says. */
#ifndef POLICY_COVERING_H
#define POLICY_COVERING_H

#include "policy/model.h"

/* The entry of canonical list `by` [M1] that says all that `item` says, or
 * NULL.  Not for hosts. */
const struct item *item_find_covering(enum field_kind kind, const struct field_value *by,
				      const struct item *item);
/* The same for each entry of a list, in time near n + m; `by` is the value of
 * field `by_id`, of the same shape: in a deny list `*` is every address, too. */
int items_find_covering(const struct field_value *list, enum field_id by_id,
			const struct field_value *by, struct arena *a,
			const struct item *const **ret, struct cordon_err *err) MUST_USE;

#endif
