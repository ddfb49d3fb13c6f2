/* The audit log of a run: where it is, and who opens it. */
#ifndef LIB_RECORD_H
#define LIB_RECORD_H

#include "audit/log.h"
#include "lib/compose.h"

struct record {
	const char *path;	/* of the log, as it is told; NULL: no place was found */
	const char *folder;	/* of the default log; NULL: the request names the file */
	const char *hidden;	/* what nobody inside may reach: absolute, links followed */
};

/* Where the log of this request is; changes nothing. */
int record_find(struct composition *c, const struct cordon_request *req, const char *own_home,
		struct record *ret, struct cordon_err *err) MUST_USE;
/* Open it.  A file that was asked for must open (CORDON_E_USAGE).  Where the
 * default one does not, *ret is NULL and *ret_problem says why. */
int record_open(struct composition *c, const struct record *r, const char *run_id,
		struct audit **ret, const char **ret_problem, struct cordon_err *err) MUST_USE;

#endif
