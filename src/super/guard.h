/* Refusing the creation of guarded names, without leaving anything behind.
 *
 * The seccomp filter hands every call that could make a name (open with
 * O_CREAT, mkdir, mknod, symlink, link, rename, bind) to the guard, which does
 * the act itself on descriptors inside the caller's root and gives the result
 * back.  A call is never let go on after its memory was read.  The guard is a
 * few processes of their own; when they are gone, such calls fail.
 */
#ifndef SUPER_GUARD_H
#define SUPER_GUARD_H

#include <sys/types.h>

#include "base/err.h"

struct guard_options {
	const char *const *names;	/* see struct plan: guarded */
	size_t n_names;
	int listener;			/* seccomp notification descriptor */
	int userns;			/* user namespace of the tree */
	int ruleset;			/* its Landlock ruleset, or -1 */
	int alive;			/* reads EOF when the supervisor is gone */
};

struct guard;

/* Start the workers.  The descriptors stay the caller's. */
int guard_start(const struct guard_options *o, struct guard **ret, struct cordon_err *err) MUST_USE;
/* A descriptor that becomes readable when a refusal can be read, or -1. */
int guard_event_fd(const struct guard *g);
/* The next refusal: the path that was asked for.  0: none waiting. */
int guard_read_denial(struct guard *g, char *path, size_t n);
/* End the workers and wait for them; NULL is fine. */
void guard_stop(struct guard *g);

#endif
