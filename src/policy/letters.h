/* Letters of a path which other programs take for a pattern, as we do `*`. */
#ifndef POLICY_LETTERS_H
#define POLICY_LETTERS_H

#include "base/str.h"

/* The first of them that is not in a name which is there: the writer means a pattern by it;
 * or 0.  `path` is the text made absolute, or NULL where it has no place of its own. */
char letters_find(struct str text, const char *path);

#endif
