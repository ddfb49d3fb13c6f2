/* Naming what a machine lacks; see lack.h.
 *
 * A run tries nothing beforehand, as that would cost each run some milliseconds:
 * the first call that fails ends it.  That call is rarely the answer (one kernel
 * lacks mount_setattr, which shows as a mount that cannot be made read-only), so
 * the machine is probed then, as the doctor does it.
 */
#include "lib/lack.h"

#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "host/probe.h"

static bool needs(const struct plan *plan, enum host_feature f)
{
	static const unsigned long namespaces[N_HOST_FEATURES] = {
		[FEATURE_USERNS] = CLONE_NEWUSER, [FEATURE_MOUNT] = CLONE_NEWNS,
		[FEATURE_PID] = CLONE_NEWPID,	  [FEATURE_NET] = CLONE_NEWNET,
		[FEATURE_IPC] = CLONE_NEWIPC,	  [FEATURE_UTS] = CLONE_NEWUTS,
	};

	if (f == FEATURE_SECCOMP)
		return plan->n_filter > 0;
	if (f == FEATURE_NOTIFY)
		return plan->n_guarded > 0;
	return (plan->clone_flags & namespaces[f]) != 0;
}

void lack_name(const struct plan *plan, struct cordon_err *err)
{
	struct cordon_err lack = { .code = CORDON_E_HOST };
	struct host_report report;
	size_t used = 0;

	/* The supervisor hid itself; without a tree there is nothing to hide from,
	 * and a child that cannot be looked at gets no user namespace. */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 || host_probe_report(&report, &lack) < 0)
		return;
	for (int f = 0; f < N_HOST_FEATURES && used < sizeof(lack.msg); f++) {
		const struct host_finding *found = &report.findings[f];

		/* Without a user namespace the others are not tried: one cause. */
		if (found->available || !needs(plan, (enum host_feature)f) ||
		    (used && !report.caps.userns && !found->sys))
			continue;
		lack.sys = lack.sys ? lack.sys : found->sys;
		used += (size_t)snprintf(lack.msg + used, sizeof(lack.msg) - used, "%s %s (%.100s)",
					 used ? "," : "the policy needs",
					 host_feature_name((enum host_feature)f), found->detail);
	}
	if (used && used < sizeof(lack.msg))
		snprintf(lack.msg + used, sizeof(lack.msg) - used,
			 ", which this machine does not offer; cordon doctor says what to do");
	if (used)
		*err = lack;
}
