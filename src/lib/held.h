/* Links in folders that are protected, and those of HOME: what a hook or a setting leads to is
 * run and read in its place, wherever it lies.  And what variables of the caller's move from
 * HOME to another place. */
#ifndef LIB_HELD_H
#define LIB_HELD_H

#include "lib/compose.h"
#include "plan/compile.h"

/* Fills in r->held_links, for the sets of files.protect, and r->credentials; behind
 * git_find(), whose folders are looked into as well.
 * GAP: links in folders of such a folder are not looked for; nothing is walked. */
int held_find(struct composition *c, struct plan_request *r, struct cordon_err *err) MUST_USE;

#endif
