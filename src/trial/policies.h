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

struct policies_options {
	const char *file;		/* the task's, for messages */
	const struct cordon_request *request;	/* its --env counts in every phase */
	bool solution;			/* the task's own solution is the agent of a step */
};
/* Problems go to the composition; -1 when there are any.  The networks of the task have
 * been judged by then. */
int policies_make(struct composition *c, const struct policies_options *o, const struct task *t,
		  const struct trial_verdict *v, struct policies *ret) MUST_USE;
/* The task's environment, or (`phase_of`) the one that the verifier of a step has
 * for itself, as a text for a session over this place, and as its policy.toml, which holds
 * no variable. */
int policies_write(struct composition *c, const struct policies *p, const char *own,
		   struct workplace *place, struct cordon_err *err) MUST_USE;
/* The name of a phase in them. */
const char *policies_phase(const struct task_step *step, const char *what, struct arena *a);

#endif
