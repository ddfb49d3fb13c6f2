/* What a run and its explanation share. */
#ifndef LIB_RUN_H
#define LIB_RUN_H

#include "lib/compose.h"
#include "lib/record.h"
#include "plan/compile.h"

/* What is to be run, by whom, what it may do without (CORDON_SANDBOX), and
 * where that is recorded. */
int run_request(struct composition *c, const struct cordon_request *req, struct plan_request *ret,
		struct record *ret_record, struct cordon_err *err) MUST_USE;

/* A writable root that is not there yet is made: what the command writes is to stay. */
int run_make_roots(const struct composition *c, struct cordon_err *err) MUST_USE;

/* The request, with a command that does nothing where it has none: for whoever only
 * asks. */
struct cordon_request run_any_command(const struct cordon_request *req);
bool run_requires_cgroup(const struct policy *p);

/* One line about what a policy that nobody named opens beyond its own folder. */
void run_warn_found(const struct composition *c, const struct plan_request *r,
		    void (*warn)(void *arg, const char *line), void *arg);
/* One line about what a cordon does without, if anything. */
void run_warn_waived(const struct plan *plan, void (*warn)(void *arg, const char *line), void *arg);

#endif
