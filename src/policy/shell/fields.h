/* One way of a word, split where unquoted text has blanks, braces spread out. */
#ifndef POLICY_FIELDS_H
#define POLICY_FIELDS_H

#include "policy/shell/expand.h"

#define FIELD_COST	48	/* of one field, in bytes of work */

struct fields {
	struct str items[MAX_WAYS];
	size_t n;
	bool too_many;
};

/* Too many fields become one that is any. */
void fields_split(struct expander *e, struct str text, struct fields *f);
void fields_add(struct expander *e, struct fields *f, struct str text);

#endif
