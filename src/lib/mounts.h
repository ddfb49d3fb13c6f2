/* What mounts of the host mean for a policy: one may show the same file or folder at a second
 * place, or be the kernel's and nothing to work on.  Links do the former, too. */
#ifndef LIB_MOUNTS_H
#define LIB_MOUNTS_H

#include "lib/compose.h"
#include "plan/compile.h"

/* Fills in r->second_names, for the entries of files.deny and files.protect, and
 * r->kernel_mounts. */
int mounts_find(struct composition *c, struct plan_request *r, struct cordon_err *err) MUST_USE;

#endif
