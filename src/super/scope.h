/* A group of our own, asked of systemd.
 *
 * An ordinary user has no cgroup that could be given limits, unless somebody
 * gives one away.  systemd does, to who asks: a transient scope, delegated, with
 * this process in it.  It takes a while, and moves the process out of
 * the group of its session for good: so only for a policy that requires a cgroup.
 */
#ifndef SUPER_SCOPE_H
#define SUPER_SCOPE_H

#include "base/err.h"

/* Where systemd listens. */
struct scope_paths {
	const char *private;		/* its own socket; NULL: there is none */
	const char *bus;		/* that of the bus it is on; the same */
	const char *self;		/* /proc/self/cgroup */
};

/* Move this process into a scope of its own. */
int scope_start(struct cordon_err *err) MUST_USE;
int scope_start_at(const struct scope_paths *paths, struct cordon_err *err) MUST_USE;

#endif
