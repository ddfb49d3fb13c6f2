/* What lies beside a task.toml, and which commands its phases run. */
#ifndef TRIAL_TASK_FOLDER_H
#define TRIAL_TASK_FOLDER_H

#include "base/arena.h"
#include "policy/task.h"

/* Where a trial's commands see the parts of its task. */
#define TRIAL_APP		"/app"
#define TRIAL_LOGS		"/logs"
#define TRIAL_TESTS		"/tests"
#define TRIAL_SOLUTION		"/solution"
#define TRIAL_INSTRUCTION	"/instruction.md"

struct task_folder {
	const char *file;	/* task.toml; absolute */
	const char *path;	/* the folder it lies in */
	int dir;
};
#define TASK_FOLDER	((struct task_folder){ .dir = -1 })

/* `file` is absolute. */
int task_folder_open(const char *file, struct arena *a, struct task_folder *ret,
		     struct cordon_err *err) MUST_USE;
void task_folder_close(struct task_folder *f);
/* The text of task.toml. */
int task_folder_read(const struct task_folder *f, struct arena *a, struct str *ret,
		     struct cordon_err *err) MUST_USE;
/* Is each part that a trial of this task uses what it must be, and inside the folder? */
int task_folder_check(const struct task_folder *f, const struct task *t, struct arena *a,
		      struct cordon_err *err) MUST_USE;
/* A folder or file in it, as open_beneath(). */
int task_folder_part(const struct task_folder *f, const char *name, int flags);
/* What says that the task wants an image, or NULL. */
const char *task_folder_image(const struct task_folder *f, const struct task *t);

/* What a phase runs. */
struct trial_command {
	const char *const *argv;	/* ends with NULL; NULL: nothing */
	const char *shell_text;		/* or NULL */
	bool is_solution;		/* the task's own */
};

/* The commands of one step, or of the task (`step` NULL).  Texts of the operator
 * (or NULL) win. */
struct trial_commands {
	struct trial_command setup, step_setup, agent, verifier;
};
struct trial_texts {
	const char *setup, *agent, *verifier;
};
struct trial_asked {
	const struct task *task;
	const struct task_step *step;
	const struct trial_texts *texts;
};
/* -1: there is none for the agent or the verifier. */
int task_folder_commands(const struct task_folder *f, const struct trial_asked *asked,
			 struct arena *a, struct trial_commands *ret,
			 struct cordon_err *err) MUST_USE;
/* The name of something of a step in the folder. */
const char *task_folder_step_part(const struct task_step *step, const char *part, struct arena *a);

#endif
