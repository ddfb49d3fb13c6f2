/* What the files of one trial share. */
#ifndef TRIAL_TRIAL_PRIV_H
#define TRIAL_TRIAL_PRIV_H

#include "super/limiter.h"
#include "trial/policies.h"
#include "trial/reward.h"
#include "trial/trial.h"

struct trial {
	const struct trial_about *about;
	struct composition c;
	struct task_folder folder;
	struct task task;
	struct trial_verdict verdict;
	struct policies policies;
	struct trial_commands *commands;	/* one a step, or the task's */
	struct workplace place;
	int output, artifacts;
	struct rewards *rewards;
	size_t n_rewards;
	enum limit_kind limit;			/* that ended the last command */
	/* The result. */
	enum trial_status status;
	const char *stage;			/* where it was refused, or NULL */
	const char *reason;			/* the same in full, or NULL */
	struct cordon_err err;			/* why it is not completed */
	struct buf text;
	struct json_out phases;
	const char **warnings;
	size_t n_warnings, cap_warnings;
	int64_t begin_ms;
};

int64_t trial_now_ms(void);
/* Each once; NULL (no memory) is left out. */
void trial_warn(struct trial *t, const char *text);
/* Ends the list of phases. */
int trial_write_result(struct trial *t, struct cordon_err *err) MUST_USE;

#endif
