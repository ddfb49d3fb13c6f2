/* The life of a session: a tree without a command of its own, and the commands
 * that are started in it. */
#ifndef SUPER_SESSION_H
#define SUPER_SESSION_H

#include "super/live.h"
#include "super/run.h"
#include "super/session_ops.h"

struct session_options {
	const char *name;		/* or NULL */
	int64_t idle_ms;		/* ends it when nobody asks anything so long */
	pid_t owner;			/* whose end ends it; 0: none */
	bool limit_output;		/* count output even if it is passed on */
	const struct session_ops *ops;
	struct run_reporter *reporter;	/* its result is that of the whole */
	/* Called once, when the first command can come.  False: nobody is there any
	 * more who knows of it, so it ends. */
	bool (*ready)(void *arg);
	void *ready_arg;
};

/* Hold it until it ends, in a process that does nothing else.  `live` was added
 * for it and is removed.  -1: it could not be started, or the machinery failed;
 * nothing is left running. */
int session_hold(const struct plan *plan, const struct host_caps *caps, struct live *live,
		 const struct session_options *o, struct cordon_err *err) MUST_USE;

/* ---- the other side ------------------------------------------------------ */

/* One command in a live session. */
struct session_exec {
	const char *const *argv;	/* ends with NULL */
	const char *const *environ;	/* the caller's; ends with NULL */
	const char *cwd;		/* the caller's */
	bool cwd_asked;			/* it must be this one */
	const char *shell_text;		/* or NULL */
	const char *const *settings;	/* NAME or NAME=VALUE, ends with NULL */
	int64_t timeout_ms;		/* INT64_MAX: as the session says */
	bool capture;
};

/* Over a connection of live_connect(), to its end; with the process's standard
 * streams and signals.  `ret` is initialised; `ret_plan` gets what the result is
 * printed with, in the arena.  -1: no result came; ret->started says whether the command had
 * begun, and `ret` is then filled as far as it is known. */
int session_exec(int fd, const struct session_exec *e, struct arena *a, struct run_result *ret,
		 struct plan *ret_plan, struct cordon_err *err) MUST_USE;
/* One request; the answer's text is added to `out`, and its number (see control.h) is
 * *ret_number.  -1: refused, or no answer. */
int session_ask(int fd, struct control_out *request, struct buf *out, int64_t *ret_number,
		struct cordon_err *err) MUST_USE;

#endif
