/* The environment of the command: a pass list, what is set, what is left out. */
#ifndef PLAN_ENVIRONMENT_H
#define PLAN_ENVIRONMENT_H

#include "plan/compile.h"

struct environment_request {
	const struct section *section;
	const char *const *environ;	/* the caller's; NULL: not known, and not missed */
	const struct plan *plan;	/* what is there inside */
	const struct plan_net *net;
};

/* NAME=VALUE strings, ends with NULL.  Where `net` is held by a proxy, they say where it is,
 * and no other one is passed on.  A temporary folder of the caller's that is in no writable
 * root is not named. */
int environment_compile(const struct environment_request *r, struct arena *a,
			const char *const **ret, struct cordon_err *err) MUST_USE;
/* Is a variable of this name left out whatever brings it in? */
bool environment_is_credential(struct str name);

#endif
