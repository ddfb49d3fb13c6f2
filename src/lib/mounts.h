/* Other names of what the policy closes: a mount of the host may show the same file or folder
 * at a second place. */
#ifndef LIB_MOUNTS_H
#define LIB_MOUNTS_H

#include "lib/compose.h"
#include "plan/compile.h"

/* Fills in r->second_names, for the entries of files.deny and files.protect. */
int mounts_find(struct composition *c, struct plan_request *r, struct cordon_err *err) MUST_USE;

#endif
