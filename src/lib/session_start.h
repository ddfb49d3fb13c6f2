/* Starting a session, with what only we may ask for. */
#ifndef LIB_SESSION_START_H
#define LIB_SESSION_START_H

#include "host/probe.h"
#include "plan/compile.h"
#include "policy/reader.h"

struct session_wish {
	const struct cordon_request *request;
	const struct cordon_session_options *options;
	struct source policy;			/* instead of files of the request; or none */
	const struct plan_alias *aliases;	/* more names inside */
	size_t n_aliases;
	const char *const *hidden;		/* not seen inside; real paths */
	size_t n_hidden;
	const char *unshared;			/* not to be started where this is seen, or NULL */
	const struct host_report *machine;	/* what is known of it, or NULL to find out */
	bool like_container;		/* see compose.h */
	bool only_plan;			/* say whether it could be held, and start nothing */
};

/* As cordon_session_start(). */
int session_start(const struct session_wish *w, struct cordon_answer *ret,
		  struct cordon_err *err) MUST_USE;

#endif
