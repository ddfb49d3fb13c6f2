/* The policy of each environment of a trial: what the task says, with the network
 * of the plan, over the trial's own places. */
#ifndef TRIAL_POLICIES_H
#define TRIAL_POLICIES_H

#include "lib/compose.h"
#include "policy/trial_plan.h"
#include "trial/workplace.h"

struct policies {
	struct task task;		/* with the networks of the verdict */
	struct policy policy;		/* of the task's environment */
};

/* Problems go to the composition; -1 when there are any.  The task has been
 * judged by then. */
int policies_make(struct composition *c, const struct task_folder *f, const struct task *t,
		  const struct trial_verdict *v, bool solution, struct policies *ret) MUST_USE;
/* The task's environment, or (`phase_of`) the one that the verifier of a step has
 * for itself, as a text for a session over this place. */
int policies_write(struct composition *c, const struct policies *p, const char *own,
		   const struct workplace *place, const char *name,
		   struct cordon_err *err) MUST_USE;
/* The name of a phase in them. */
const char *policies_phase(const struct task_step *step, const char *what, struct arena *a);

#endif
