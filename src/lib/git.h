/* What git of the host would run, or be told by, from inside the writable roots, where the
 * names of plan/presets.h do not say it: folders that a file `.git` leads to or that have
 * another name, hooks and files that a configuration names. */
#ifndef LIB_GIT_H
#define LIB_GIT_H

#include "lib/compose.h"
#include "plan/compile.h"

/* Fills in r->git_folders and r->git_files, where the policy protects "git".  What is there
 * and cannot be read is an error. */
int git_find(struct composition *c, struct plan_request *r, struct cordon_err *err) MUST_USE;

#endif
