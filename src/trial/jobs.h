/* Many trials: so many at a time, each in a process of its own.
 *
 * What one of them does to itself, or what is done to its process, is its own
 * result and stops nothing else.
 */
#ifndef TRIAL_JOBS_H
#define TRIAL_JOBS_H

#include <sys/types.h>

#include "trial/tasks.h"
#include "trial/trial.h"

enum job_state { JOB_WAITING, JOB_RUNNING, JOB_DONE, N_JOB_STATES };

struct job {
	struct trial_about about;
	struct jobs *jobs;
	enum job_state state;
	pid_t pid;
	int pidfd;
	char phase[32], step[64];	/* what it said last */
	char problem[256];		/* why it could not write its result */
	int64_t begin_ms, duration_ms;
	/* When it is done. */
	enum trial_status status;
	bool reused, has_reward;
	double reward;
	const char *why;		/* it is not completed */
	const char *warnings;		/* of its result, a line each, or NULL */
	char *text;			/* its result as one line, or NULL */
};

struct jobs {
	const struct cordon_trials *o;
	struct trial_wishes wishes;
	struct arena *arena;
	struct job *items;
	size_t n, n_running, n_done, n_failed;
	const char *path;		/* where everything is kept; absolute */
	int dir, results, lock, marks;
	int news[2];
	int interrupted;		/* the signal, or 0 */
	bool unwritten;			/* a result is not on disk */
};

/* Run all of the list.  -1: they could not be started at all. */
int jobs_run(struct jobs *j, const struct trial_list *list, struct cordon_err *err) MUST_USE;
void jobs_release(struct jobs *j);

#endif
