/* What a supervisor asks of whoever knows the policy, while the cordon lives. */
#ifndef SUPER_SESSION_OPS_H
#define SUPER_SESSION_OPS_H

#include "base/json.h"
#include "plan/plan.h"
#include "super/control.h"

/* What a request for a command comes to. */
struct session_command {
	const char *const *argv, *const *envp;
	const char *cwd;
	struct plan_limits limits;
	const char *blocked;	/* why it is not run, or NULL */
	const char *what;	/* then: what was looked at */
};

struct session_change {
	const struct plan_net *net;
	struct plan_limits limits;
};

struct session_ops {
	/* What the network and the limits of a session are after PHASE, NETWORK or ALLOW
	 * (`m`), or, with NULL, when what was allowed for a time is over.  What is
	 * returned lives until the next change but one is kept; nothing has changed
	 * yet. */
	int (*change)(void *arg, const struct control_message *m, struct session_change *ret,
		      struct cordon_err *err);
	/* Does the last change give a wider network than holds so far? */
	int (*is_wider)(void *arg, bool *ret, struct cordon_err *err);
	/* The last change holds from now on, or is forgotten. */
	void (*settle)(void *arg, bool holds);
	/* When something that was allowed for a time is over; INT64_MAX: never. */
	int64_t (*next_us)(void *arg);
	/* EXEC: the environment, limits and directory of the phase that holds.  What
	 * *ret points to is in the arena or the message. */
	int (*plan_command)(void *arg, const struct control_message *m, struct arena *a,
			    struct session_command *ret, struct cordon_err *err);
	/* Keys about the policy that holds: phase, network, limits; no secrets. */
	void (*print)(void *arg, struct json_out *j);
	void *arg;
};

#endif
