/* The environment of the command: a pass list, what is set, what is left out. */
#ifndef PLAN_ENVIRONMENT_H
#define PLAN_ENVIRONMENT_H

#include "plan/compile.h"

struct environment_request {
	const struct section *section;
	const char *const *environ;	/* the caller's; NULL: not known, and not missed */
	const struct plan *plan;	/* what is there inside */
};

/* NAME=VALUE strings, ends with NULL.  A TMPDIR of the caller's that is in no writable root is
 * left out. */
int environment_compile(const struct environment_request *r, struct arena *a,
			const char *const **ret, struct cordon_err *err) MUST_USE;
/* Would every variable that the section names be passed, and does every template find its
 * value in `environ`?  A pattern names none. */
int environment_check(const struct section *s, const char *const *environ, struct arena *a,
		      struct cordon_err *err) MUST_USE;
/* Is a variable of this name left out whatever brings it in? */
bool environment_is_credential(struct str name);

#endif
