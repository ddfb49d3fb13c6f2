/* A trial's own folder, and the parts of it that its commands see.
 *
 *   app/ logs/          seen as the working directory and /logs, writable
 *   tests/ solution/    seen as /tests and /solution, read-only; empty until needed
 *   instruction.md      seen read-only
 *   everything else     the result, the policies, the output: never seen
 *
 * Whoever was inside may have made anything of what it can write: nothing
 * there is opened through a link, and what is not a plain file is not read.
 */
#ifndef TRIAL_WORKPLACE_H
#define TRIAL_WORKPLACE_H

#include "base/folder.h"
#include "plan/compile.h"
#include "policy/reader.h"
#include "trial/task_folder.h"

#define PLACE_PARTS	5

struct workplace {
	const char *path;		/* absolute */
	const char *workdir;		/* of its commands, as they see it */
	struct source policy;		/* of its session */
	int dir, app, tests, solution, logs;
	/* What is written is read by the policy; what is linked is a name inside. */
	const char *roots[PLACE_PARTS];
	struct plan_alias aliases[PLACE_PARTS];
};
/* The roots in their order: those before PLACE_READ_ONLY are writable. */
enum { PLACE_APP, PLACE_LOGS, PLACE_READ_ONLY, PLACE_TESTS = PLACE_READ_ONLY, PLACE_SOLUTION,
       PLACE_INSTRUCTION };

#define WORKPLACE	((struct workplace){ .dir = -1, .app = -1, .tests = -1, .solution = -1, \
					     .logs = -1 })

/* An empty one in the folder `dir`, whose path is `path`. */
int workplace_make(int dir, const char *path, struct str workdir, struct arena *a,
		   struct workplace *ret, struct cordon_err *err) MUST_USE;
void workplace_close(struct workplace *p);

/* A part of the task's folder into one of the place's; 0 also where the task has
 * none.  `skip` as for folder_copy(). */
int workplace_fill(int to, const struct task_folder *f, const char *name,
	       bool (*skip)(const char *name), struct cordon_err *err) MUST_USE;
/* A script in it may be executed, whatever the task's copy says; 0 also where
 * there is none. */
int workplace_allow_exec(int dir, const char *name, struct cordon_err *err) MUST_USE;
/* The owner has all rights again to the tops of app/ and logs/. */
void workplace_reopen(const struct workplace *p);
/* /logs/verifier becomes a new directory, whatever the agent left of it or in its place. */
int workplace_renew_verifier(const struct workplace *p, struct cordon_err *err) MUST_USE;
/* The same folder, to be read; or -1. */
int workplace_open_verifier(const struct workplace *p, struct cordon_err *err) MUST_USE;
/* Another instruction; the file stays the same one. */
int workplace_instruct(const struct workplace *p, const struct task_folder *f,
		   const struct task_step *step, struct arena *a, struct cordon_err *err) MUST_USE;

/* What the agent left at a path (as its commands see it) into the folder `to`,
 * under the same path from the place's own top, as much as there is room for, without
 * symlinks that lead out of it.  1: that path is not kept. */
int workplace_keep(const struct workplace *p, struct str path, int to, struct folder_room *room,
		   struct arena *a, struct cordon_err *err) MUST_USE;
/* All that may be copied. */
struct folder_room workplace_room(void);

#endif
