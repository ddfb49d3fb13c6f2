/* The file system that a command sees: mounts, and Landlock beneath them. */
#ifndef PLAN_FILES_H
#define PLAN_FILES_H

#include "plan/compile.h"

int files_compile(const struct policy *p, const struct plan_request *r,
		  const struct host_caps *caps, struct plan *plan, struct cordon_err *err) MUST_USE;

#endif
