/* The audit log of a run: where it is, and who opens it. */
#ifndef LIB_RECORD_H
#define LIB_RECORD_H

#include "audit/log.h"
#include "lib/compose.h"
#include "plan/compile.h"

struct record {
	const char *path;	/* of the log, as it is told; NULL: no place was found */
	const char *folder;	/* of the default log; NULL: the request names the file */
};

/* Where the log of this request is; changes nothing.  What nobody inside may reach, this one
 * or another run's, is added to the request's own places. */
int record_find(struct composition *c, const struct cordon_request *req, struct plan_request *r,
		struct record *ret, struct cordon_err *err) MUST_USE;
/* Could the file that was asked for be opened (else CORDON_E_USAGE)?  Changes nothing. */
int record_check(const struct record *r, struct cordon_err *err) MUST_USE;
/* Open it.  A file that was asked for must open (CORDON_E_USAGE).  Where the
 * default one does not, *ret is NULL and *ret_problem says why. */
int record_open(struct composition *c, const struct record *r, const char *run_id,
		struct audit **ret, const char **ret_problem, struct cordon_err *err) MUST_USE;

#endif
