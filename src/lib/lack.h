/* Why a run could not start: what this machine lacks, in the doctor's words. */
#ifndef LIB_LACK_H
#define LIB_LACK_H

#include "base/err.h"
#include "plan/plan.h"

/* Call it when nothing of the run is left.  Where a feature that the plan cannot
 * do without is missing, `err` names it instead of the call that failed; else
 * `err` stays as it is. */
void lack_name(const struct plan *plan, struct cordon_err *err);

#endif
