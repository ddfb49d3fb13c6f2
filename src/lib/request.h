/* What is asked of this machine: a command, by whom, and what lies around it. */
#ifndef LIB_REQUEST_H
#define LIB_REQUEST_H

#include "lib/compose.h"
#include "lib/record.h"
#include "plan/compile.h"

/* What is to be run, by whom, what it may do without (CORDON_SANDBOX), and
 * where that is recorded. */
int request_read(struct composition *c, const struct cordon_request *req, struct plan_request *ret,
		 struct record *ret_record, struct cordon_err *err) MUST_USE;

/* --connect-to, checked against the ceilings; a section that is rerouted is not the host's own
 * network.  *ret has req->n_connect_to entries. */
int request_reroutes(struct composition *c, const struct cordon_request *req,
		     const struct net_reroute **ret, struct cordon_err *err) MUST_USE;

/* A writable root that is not there yet is made: what the command writes is to stay. */
int request_make_roots(const struct composition *c, struct cordon_err *err) MUST_USE;

/* The request, with a command that does nothing where it has none: for whoever only
 * asks. */
struct cordon_request request_any_command(const struct cordon_request *req);
bool request_requires_cgroup(const struct policy *p);

#endif
