/* One component of a path, as file systems take it. */
#ifndef BASE_NAME_H
#define BASE_NAME_H

#include <limits.h>

#include "base/str.h"

/* Fold a name so that spellings which some file system takes for the same are
 * equal: case, and characters that are ignored.  Returns the bytes written to
 * `out`, which has room for those of `name`. */
size_t name_fold(struct str name, char *out);
/* Does a name fit a folded pattern, in which `*` stands for any text? */
bool name_matches(struct str pattern, struct str name);

#endif
