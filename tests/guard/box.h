/* A small cage for tests of the guard: a user, mount and pid namespace, the
 * filter, and the guard outside.
 */
#ifndef TESTS_GUARD_BOX_H
#define TESTS_GUARD_BOX_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct box {
	const char *const *names;
	size_t n_names;
	const char *dir;	/* becomes a mount of its own, and the working directory */
	const char *alias;	/* a second mount of it, or NULL */
	bool unguarded;		/* the namespaces alone */
	bool landlock;		/* no device nodes, nothing made outside dir and /tmp */
	bool outlive;		/* the inside stays when we die */
	const char *denials;	/* file for the refusals, or NULL */
	/* Filled in by box_start(). */
	pid_t pid;		/* pid 1 of the cage */
	int kept[3];		/* the guard's, until it ends: namespaces, ruleset */
	struct guard *guard;
};

/* Run argv, or `run` with what is given (which ends the process), inside. */
int box_start(struct box *b, char *const argv[], void (*run)(void *), void *arg);
/* Wait for its end and for the guard's; the exit status, or -1. */
int box_wait(struct box *b);

#endif
