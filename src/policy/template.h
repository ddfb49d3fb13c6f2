/* Values of env.set: text with ${NAME} and ${NAME:-default} in it. */
#ifndef POLICY_TEMPLATE_H
#define POLICY_TEMPLATE_H

#include <stdbool.h>

#include "base/str.h"

struct template_part {
	struct str before;		/* text as it is */
	bool is_variable;		/* which follows it; else that was all */
	struct str name;
	bool has_fallback;
	struct str fallback;
};

/* Take the next part off `text`; false where a `${` has no `}`. */
bool template_next(struct str *text, struct template_part *ret);

#endif
