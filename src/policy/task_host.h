/* Entries of Harbor's allowed_hosts: what that program takes, in its own words.
 *
 * The rules are Harbor's, not ours: it takes `127.1` as a host name.  What an
 * entry means for us is decided where a policy is made of it.
 */
#ifndef POLICY_TASK_HOST_H
#define POLICY_TASK_HOST_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/str.h"

enum task_host_class {
	TASK_HOSTNAME,
	TASK_WILDCARD_HOSTNAME,
	TASK_IPV4_ADDRESS,
	TASK_IPV6_ADDRESS,
	TASK_IPV4_CIDR,
	TASK_IPV6_CIDR,
	N_TASK_HOST_CLASSES
};

struct task_host {
	struct str text;	/* normalised as Harbor does; NUL-terminated, in an arena */
	enum task_host_class class;
	struct place at;
};

/* Fills all but the place.  On failure `ret_why` is Harbor's own sentence. */
int task_host_parse(struct str text, struct arena *a, struct task_host *ret,
		    const char **ret_why) MUST_USE;

#endif
