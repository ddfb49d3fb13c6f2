/* Folders and links in a writable root by which something outside is found: they are not moved
 * away and no link comes in their place, though what is in them can be written. */
#ifndef LIB_WAYS_H
#define LIB_WAYS_H

#include "lib/compose.h"
#include "plan/compile.h"

/* Where nothing else could be put in its place, nothing is to be done. */
int ways_add(struct composition *c, struct plan_request *r, const char *path,
	     struct cordon_err *err) MUST_USE;
/* By each name that leads where a path does: into the list.  What a `..` takes back on the way
 * stays where it is. */
int ways_follow(struct composition *c, struct plan_request *r, struct plan_paths *list,
		struct str path, const char *base, struct cordon_err *err) MUST_USE;

#endif
