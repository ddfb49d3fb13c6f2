/* The one judgement of a task, for `cordon trial --check` and for a run. */
#ifndef TRIAL_JUDGE_H
#define TRIAL_JUDGE_H

#include "lib/compose.h"
#include "trial/policies.h"
#include "trial/trial.h"

struct judgement {
	struct task_folder folder;	/* open; the caller closes it */
	struct str text;		/* of task.toml */
	struct task task;
	struct trial_verdict verdict;
	/* If accepted. */
	struct trial_commands *commands;	/* one a step, or the task's */
	const char *no_command;		/* why a run cannot start, or NULL */
	struct policies policies;
};
#define JUDGEMENT	((struct judgement){ .folder = TASK_FOLDER })

/* Everything that the files and the options say, before anything starts.  A refusal is a
 * verdict; -1 is want of memory.  What is returned lives in the composition's arena, whose
 * policy is used up. */
int judge_task(struct composition *c, const char *file, const struct trial_wishes *w,
	       struct judgement *ret, struct cordon_err *err) MUST_USE;

#endif
