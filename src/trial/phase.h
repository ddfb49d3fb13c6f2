/* One command in a session, under one phase of its policy. */
#ifndef TRIAL_PHASE_H
#define TRIAL_PHASE_H

#include "policy/task.h"
#include "super/run.h"
#include "trial/task_folder.h"

struct phase_wish {
	const char *session;			/* its name */
	const char *phase;			/* of its policy; NULL: its base */
	const struct trial_command *command;
	const char *workdir;			/* as it sees it */
	const char *const *settings;		/* NAME=VALUE, ends with NULL; or NULL */
	int input;				/* its standard input, or -1 */
	int output;				/* the folder for what it prints */
	const char *name;			/* the beginning of the files' names there */
	bool end_leftovers;			/* nothing that it started outlives it */
};

/* How it went, in one word. */
enum phase_verdict {
	PHASE_OK,
	PHASE_FAILED,		/* an exit code or a signal of its own */
	PHASE_TIMED_OUT,
	PHASE_OOM_KILLED,
	PHASE_LIMIT,		/* another one */
	PHASE_BLOCKED,		/* it may not be executed, or cannot be */
	PHASE_ERROR,		/* the cordon is not there any more, or never was */
	N_PHASE_VERDICTS
};
const char *phase_verdict_word(enum phase_verdict v);

struct phase_result {
	enum phase_verdict verdict;
	struct run_result run;
	struct plan plan;		/* what that is printed with */
	int64_t leftovers;		/* processes of earlier phases, if its network is wider */
};

/* To its end; uses this process's standard streams.  Whatever happens is in the
 * result, which is released by the caller. */
void phase_run(const struct phase_wish *w, struct arena *a, struct phase_result *ret);
void phase_result_release(struct phase_result *r);

#endif
