/* What the parts of looking things up before the clone share. */
#ifndef BACKEND_FIND_PRIV_H
#define BACKEND_FIND_PRIV_H

#include "backend/native/programs.h"
#include "plan/plan.h"

/* Where relative paths may begin. */
struct folders {
	const char **paths;
	size_t n, cap;
};

/* The mounts of a plan, and what is found for it. */
struct found {
	const struct plan *plan;
	struct plan_mount *mounts;
	size_t n, cap;
	struct program_files multi_calls;
	struct folders folders;		/* listed when the first is asked for */
	struct cordon_err *err;
};
int found_add(struct found *f, const struct plan_mount *mount) MUST_USE;
/* Add what fits the patterns of the plan. */
int find_names(struct found *f) MUST_USE;

#endif
