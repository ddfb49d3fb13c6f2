/* A cgroup of our own, from systemd.
 *
 * An ordinary user has no cgroup that could be given limits, unless it was
 * delegated to that user.  systemd delegates one on request: a transient scope
 * with this process in it.  The request takes a while, and moves the process out
 * of the cgroup of its login for good: so only for a policy that requires a cgroup.
 */
#ifndef SUPER_SCOPE_H
#define SUPER_SCOPE_H

#include "base/err.h"

/* Move this process into a scope of its own. */
int scope_start(struct cordon_err *err) MUST_USE;
/* By this program; `self` is /proc/self/cgroup. */
int scope_start_by(const char *busctl, const char *self, struct cordon_err *err) MUST_USE;

#endif
