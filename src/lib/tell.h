/* Telling how a command went. */
#ifndef LIB_TELL_H
#define LIB_TELL_H

#include "lib/compose.h"
#include "super/run.h"

struct tell_how {
	bool json;		/* the answer is the result */
	bool capture;		/* nobody reads lines of ours */
	bool session;		/* its limits were set where the session started */
	int64_t timeout_ms;	/* but for this one, of the command alone */
};

/* What cordon itself has to say goes to the answer's problems. */
int tell_result(struct composition *c, const struct tell_how *o, const struct run_result *res,
		const struct plan *plan, struct cordon_answer *ret,
		struct cordon_err *err) MUST_USE;

#endif
