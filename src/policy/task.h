/* A Harbor task (task.toml) as it is written, and what stands in for what.
 *
 * A task has one environment, an agent phase, a verifier phase (in the same
 * environment or in one of its own) and perhaps steps that each bring their
 * own phases.  Nothing is judged here but the text itself: what a backend can
 * do is trial_plan.h's question, what a policy can hold dialect/harbor.c's.
 */
#ifndef POLICY_TASK_H
#define POLICY_TASK_H

#include "policy/reader.h"
#include "policy/task_host.h"

/* network_mode and allowed_hosts of one table.  The order and the duplicates
 * of the list are kept: Harbor compares lists by both. */
struct task_network {
	bool written;			/* the table has a network_mode of its own */
	enum network_mode mode;
	const struct task_host *hosts;
	size_t n_hosts;
	unsigned classes;		/* bit 1 << enum task_host_class for each in the list */
	struct place at;
};

struct task_number {
	bool set;
	int64_t value;
	struct place at;
};

struct task_variable {
	struct str name, value;		/* value: ${X} and ${X:-d} are still templates */
	struct place at;
};

struct task_env {
	bool set;
	struct task_variable *items;
	size_t n;
	struct place at;
};

/* `command`: a shell text, or the words of one command. */
struct task_command {
	bool is_shell;			/* words[0] is the text */
	struct str *words;
	size_t n_words;			/* 0: not written */
	struct place at;
};

struct task_environment {
	bool present;
	struct place at;
	struct task_network network;	/* always has a mode: public unless written */
	struct task_number build_timeout_ms, cpus, memory_mb, storage_mb, gpus;
	struct str docker_image, os;	/* empty: not written */
	struct place os_at, tpu_at;
	bool tpu;			/* it wants one */
	struct task_number allow_internet;	/* the older spelling of a mode: 0 or 1 */
	struct task_env env;
	bool ends_processes;		/* keep_processes = false: those of a phase, with it */
	struct str workdir;		/* empty: not written */
	struct place workdir_at;
};

/* Paths that are kept when the agent is done. */
struct task_artifacts {
	struct str *paths;
	size_t n;
};

/* What a step has to earn, or it is the last one. */
struct task_floor {
	struct str *names;
	double *values;
	size_t n;
};

/* How the rewards of the steps become one. */
enum task_strategy { TASK_MEAN, TASK_FINAL, N_TASK_STRATEGIES };

enum task_sharing { TASK_SHARING_UNSAID, TASK_SHARED, TASK_SEPARATE, N_TASK_SHARINGS };

struct task_phase {
	struct place at;
	struct task_network network;	/* counts only if `written` */
	struct task_number timeout_ms;
	struct task_env env;
	struct task_command command;
	struct task_command setup;	/* of the agent, before the phase begins */
	/* Verifiers only. */
	enum task_sharing sharing;
	struct task_environment environment;
};

struct task_step {
	struct str name;
	struct place at;
	struct task_phase agent, verifier;
	struct task_artifacts artifacts;
	struct task_floor floor;
};

struct task {
	struct task_environment environment;
	struct task_phase agent, verifier;
	struct task_env solution_env;
	struct task_artifacts artifacts;
	enum task_strategy strategy;
	struct task_step *steps;
	size_t n_steps;
};

/* What holds when the text says nothing. */
#define TASK_BUILD_TIMEOUT_MS		600000
#define TASK_VERIFIER_TIMEOUT_MS	600000
/* The largest count (so that megabytes are still a number of bytes) and the
 * longest time (so that seconds are exact to the millisecond) that are read. */
#define TASK_MAX_NUMBER			(INT64_MAX >> 21)
#define TASK_MAX_TIMEOUT_MS		1000000000000

/* Read a whole task.toml.  Problems go to the reader; -1 when there are any.
 *
 * Harbor ignores keys it does not know.  So do we, but for one that looks like
 * a misspelt or misplaced key that matters: it is an error, or a warning if
 * the reader ignores what is unknown. */
int task_read(struct reader *r, const struct value *root, struct task *ret) MUST_USE;

/* What holds in a step, or in the whole task (`step` NULL). */

/* The phase's own network policy; NULL: it has the one of its environment. */
const struct task_network *task_agent_network(const struct task *t, const struct task_step *step);
const struct task_network *task_verifier_network(const struct task *t,
						 const struct task_step *step);
/* Milliseconds, LIMIT_NONE for `inf`.  Not set: the agent has all the time. */
struct task_number task_agent_timeout(const struct task *t, const struct task_step *step);
struct task_number task_verifier_timeout(const struct task *t, const struct task_step *step);
/* The environment of the verifier alone, or NULL when it shares the agent's.
 * It is t->environment itself when the task has no table for it. */
const struct task_environment *task_verifier_environment(const struct task *t,
							 const struct task_step *step);

#endif
