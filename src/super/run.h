/* The life of one run: start, watch, end, result. */
#ifndef SUPER_RUN_H
#define SUPER_RUN_H

#include "base/buf.h"
#include "base/json.h"
#include "gate/gate.h"
#include "host/caps.h"
#include "plan/plan.h"
#include "super/denials.h"
#include "super/limiter.h"

/* What the audit log says about the run, where it does not say everything. */
struct run_audit {
	const char *path;		/* of the log; NULL: there is none */
	const char *problem;		/* why it was not opened, or NULL */
	uint64_t lost;			/* events that are not in it */
};

/* How it went.  [R1] `started` is false when the command was never executed;
 * then `err` says why.  [R2] Nothing of the tree is alive any more. */
struct run_result {
	char run_id[40];
	bool started;
	struct cordon_err err;		/* when it did not start, or could not go on */
	const char *hint;		/* what to do about it; NULL: what its code says */
	int exec_errno;			/* exec failed with this; 0 otherwise */
	int status;			/* of wait(2) */
	const char *blocked;		/* the message of a refused command, or NULL */
	enum limit_kind limit;
	int64_t limit_value;		/* bytes, ms or a number, where a limit ended it */
	char limit_why[512];		/* why nobody could tell, so that it counts as over */
	bool oom_killed;
	struct buf out[2];		/* captured stdout and stderr */
	bool truncated[2];
	int unwritten;			/* why the caller's file did not take all of it, or 0 */
	int64_t duration_ms;
	struct limiter_usage usage;
	struct denials denials;
	struct gate_status gate;	/* when it was stopped */
	struct run_audit audit;
};

/* What would allow a blocked command. */
#define RUN_BLOCKED_HINT	"commands.block without the pattern"

struct native_early;
struct run_reporter;
struct session_ops;

struct run_options {
	bool capture;			/* keep stdout and stderr instead of passing them on */
	bool limit_output;		/* count output even if it is passed on */
	struct run_reporter *reporter;	/* its result is the one that is filled */
	const struct session_ops *ops;	/* for what is asked while it runs, or NULL */
	bool own_process;		/* which ends with the run, and may be confined for good */
	struct native_early *early;	/* who may have begun, or NULL; stopped by the caller */
};

/* Run the plan to its end; `ret` is initialised.  -1 only when the machinery itself failed; `ret`
 * is then filled as far as it is known, and nothing is left running. */
int run_plan(const struct plan *plan, const struct host_caps *caps, const struct run_options *o,
	     struct run_result *ret, struct cordon_err *err) MUST_USE;
/* The same without any protection, as was asked for in so many words: only the
 * wall clock and the output are watched, each process has the limits that the kernel keeps of
 * one, and what the command leaves running goes on. */
int run_plan_bare(const struct plan *plan, const struct run_options *o, struct run_result *ret,
		  struct cordon_err *err) MUST_USE;
/* Is its output counted?  On a terminal it has the caller's own. */
bool run_bare_counts_output(const struct run_options *o);
/* An empty result with an id of its own. */
void run_result_init(struct run_result *r);
void run_result_release(struct run_result *r);
/* As CONTRACT says; keys of our own come last, and only where there is something
 * to say: denials_left_out, audit. */
void run_result_print(const struct run_result *r, const struct plan *plan, struct json_out *out);
/* The same as keys of an object that is open. */
void run_result_print_keys(const struct run_result *r, const struct plan *plan,
			   struct json_out *out);
/* Why exec failed, in words. */
const char *run_exec_problem(int error);
/* The exit code of `cordon run`. */
int run_result_code(const struct run_result *r);

#endif
