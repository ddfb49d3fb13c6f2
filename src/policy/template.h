/* Values of env.set: text with ${NAME} and ${NAME:-default} in it. */
#ifndef POLICY_TEMPLATE_H
#define POLICY_TEMPLATE_H

#include <stdbool.h>

#include "base/str.h"

#define TEMPLATE_WHY	256	/* bytes of a reason, with its NUL */

/* May the name of a variable have this character, at its beginning or behind? */
bool variable_has_char(char c, bool first);
bool variable_is_name(struct str name);

struct template_part {
	struct str before;		/* text as it is */
	bool is_variable;		/* which follows it; else that was all */
	struct str name;
	bool has_fallback;
	struct str fallback;
};

/* Take the next part off `text`; false where a `${` has no `}`. */
bool template_next(struct str *text, struct template_part *ret);

/* 0, or -1 and why `text` does not say what it looks like. */
int template_check(struct str text, char why[TEMPLATE_WHY]);

#endif
