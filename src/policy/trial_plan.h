/* Which network each phase of a task gets, and whether a backend can do it.
 *
 * Everything is judged before anything starts, by Harbor's rules and in its
 * words: parse, then the environment of the agent, then what would have to
 * change while it lives, then the environment of the verifier.  Pure: task,
 * options and capabilities in, verdict out.
 */
#ifndef POLICY_TRIAL_PLAN_H
#define POLICY_TRIAL_PLAN_H

#include "base/json.h"
#include "policy/task.h"

/* What a backend says it can enforce; none implies another. */
enum trial_capability {
	TRIAL_DISABLE_INTERNET,
	TRIAL_ALLOWLIST,
	/* one for each enum task_host_class, in its order */
	TRIAL_ALLOWLIST_HOSTNAMES,
	TRIAL_ALLOWLIST_WILDCARD_HOSTNAMES,
	TRIAL_ALLOWLIST_IPV4_ADDRESSES,
	TRIAL_ALLOWLIST_IPV6_ADDRESSES,
	TRIAL_ALLOWLIST_IPV4_CIDRS,
	TRIAL_ALLOWLIST_IPV6_CIDRS,
	TRIAL_DYNAMIC_POLICY,
	N_TRIAL_CAPABILITIES
};

/* Bit 1 << enum trial_capability for each. */
struct trial_capabilities {
	unsigned bits;
};

#define TRIAL_ALL_CAPABILITIES	((struct trial_capabilities){ (1u << N_TRIAL_CAPABILITIES) - 1 })

const char *trial_capability_name(enum trial_capability c);
/* A comma list of names, possibly empty. */
int trial_capabilities_parse(struct str list, struct trial_capabilities *ret,
			     struct cordon_err *err) MUST_USE;

enum trial_stage {
	TRIAL_STAGE_NONE,	/* nothing is refused */
	TRIAL_STAGE_PARSE,
	TRIAL_STAGE_POLICY,		/* no policy can hold it */
	TRIAL_STAGE_ENVIRONMENT,
	TRIAL_STAGE_PHASE,
	TRIAL_STAGE_VERIFIER_ENVIRONMENT,
	N_TRIAL_STAGES
};

/* NULL when nothing is refused. */
const char *trial_stage_name(enum trial_stage s);

/* The network of one step, or of a task without steps. */
struct trial_step {
	struct str name;			/* empty: no steps */
	struct task_network agent_env, agent;
	bool separate;				/* the verifier has an environment of its own */
	struct task_network verifier_env;	/* if separate */
	struct task_network verifier;
};

struct trial_verdict {
	bool accepted;
	enum trial_stage stage;
	const char *reason;			/* NULL when accepted */
	struct trial_step *steps;		/* none at stage parse */
	size_t n_steps;
	const char **warnings;
	size_t n_warnings, cap_warnings;
};

/* What a run adds to a task, and what it runs on. */
struct trial_options {
	struct trial_capabilities capabilities;
	const char *backend;			/* its name in messages */
	const struct task_host *agent_hosts, *environment_hosts;
	size_t n_agent_hosts, n_environment_hosts;
};

/* Everything lives in the arena or belongs to the task.  Fails only for want
 * of memory: a refusal is a verdict. */
int trial_plan(const struct task *t, const struct trial_options *o, struct arena *a,
	       struct trial_verdict *ret, struct cordon_err *err) MUST_USE;
/* {"verdict", "stage", "reason", "plan", "warnings"} */
void trial_verdict_print(const struct trial_verdict *v, struct json_out *out);

/* `text` belongs to the arena; NULL is want of memory, too. */
int trial_verdict_warn(struct trial_verdict *v, struct arena *a, const char *text) MUST_USE;

struct trial_check_options {
	const struct trial_capabilities *capabilities;	/* NULL: all of them */
	const char *backend;				/* NULL: "process" */
	const char *const *agent_hosts, *const *environment_hosts;
	size_t n_agent_hosts, n_environment_hosts;
};

/* From the text to the verdict.  The reader's policy lends its arena and is not
 * filled.  At stage parse `ret_task` is empty. */
int trial_read(struct reader *r, const struct source *src, const struct trial_check_options *o,
	       struct task *ret_task, struct trial_verdict *ret, struct cordon_err *err) MUST_USE;

#endif
