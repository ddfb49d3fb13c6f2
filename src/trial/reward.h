/* What a verifier wrote, as Harbor reads it: reward.json, or else reward.txt. */
#ifndef TRIAL_REWARD_H
#define TRIAL_REWARD_H

#include "base/json.h"
#include "policy/task.h"

/* Names with numbers; reward.txt is about `reward`. */
struct rewards {
	struct str *names;
	double *values;
	size_t n;
};

/* From the folder that it wrote into, which is not to be trusted. */
int reward_read(int dir, struct arena *a, struct rewards *ret, struct cordon_err *err) MUST_USE;
/* The one of this name, or NULL. */
const double *reward_find(const struct rewards *r, struct str name);
/* Is it as much as the step has to earn? */
bool reward_reaches(const struct rewards *r, const struct task_floor *floor);
/* Of all steps: the mean of each name, where one that is missing counts as 0, or
 * the last step's own. */
int reward_join(const struct rewards *steps, size_t n, enum task_strategy strategy,
		struct arena *a, struct rewards *ret, struct cordon_err *err) MUST_USE;
/* An object of names and numbers. */
void reward_print(const struct rewards *r, struct json_out *j);

#endif
