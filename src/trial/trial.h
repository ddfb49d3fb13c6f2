/* One trial: environment, setup, agent, verifier, step by step, and its result.
 *
 * It runs in a process of its own, which owns its sessions: whatever ends that
 * process ends them.  What happened is in result.json of its folder.
 */
#ifndef TRIAL_TRIAL_H
#define TRIAL_TRIAL_H

#include "base/sha256.h"
#include "host/probe.h"
#include "policy/trial_plan.h"
#include "trial/task_folder.h"

#define TRIAL_RESULT	"result.json"
#define TRIAL_QUESTION	"question"	/* a digest of the task's text and the options */

/* The same for all trials of one call. */
struct trial_wishes {
	const struct cordon_request *request;	/* its settings, --connect-to and log */
	const struct host_report *machine;
	struct trial_capabilities capabilities;
	struct trial_texts texts;
	const char *const *agent_hosts, *const *environment_hosts;
	size_t n_agent_hosts, n_environment_hosts;
	bool no_image;
	bool end_leftovers;		/* of each phase, whatever the task says */
	bool own_process;		/* as for a session */
	struct str asked;		/* all options that a result depends on */
	/* What no command may see: the answers of all tasks, and the results. */
	const char *const *hidden;
	size_t n_hidden;
	const char *output;
};

/* One of them. */
struct trial_about {
	const struct trial_wishes *wishes;
	const char *name;
	const char *file;		/* its task.toml; absolute */
	const char *path;		/* its own folder; absolute */
	const char *session;		/* a name for its session that nobody else has */
	int dir;
	/* Told before each phase; `step` may be empty. */
	void (*tell)(const struct trial_about *t, const char *phase, struct str step);
	/* Told when that phase has ended: its network was wider than those before it, and so many
	 * processes of theirs had it, too. */
	void (*tell_leftovers)(const struct trial_about *t, int64_t n);
	void *arg;
};

enum trial_status {
	TRIAL_COMPLETED,	/* the verifier gave a reward, whatever it is */
	TRIAL_REJECTED,		/* nothing was started */
	TRIAL_ERROR,		/* something went wrong on the way */
	N_TRIAL_STATUSES
};
const char *trial_status_word(enum trial_status s);

/* Run it to its end and write its result.  -1: that could not be written. */
int trial_run(const struct trial_about *about, struct cordon_err *err) MUST_USE;
/* One trial's task and options, so that another result is not taken for its own.  A digest:
 * options hold values of variables, which are not to be kept. */
void trial_digest(const struct trial_wishes *w, struct str task, char ret[SHA256_HEX]);
/* The name of the session that the verifier has for itself. */
int trial_own_session(const char *session, char *ret, size_t size);
/* A result that says only why there is none, for a trial that was killed. */
void trial_print_lost(const struct trial_about *about, const char *why, struct json_out *j);

#endif
