/* What init's steps share.  Everything here runs between clone and exec: no
 * allocation, no locks, no logging. */
#ifndef BACKEND_INIT_PRIV_H
#define BACKEND_INIT_PRIV_H

#include "backend/native/native.h"

struct init {
	const struct plan *plan;
	const struct native_stdio *io;
	const struct native_groups *groups;
	int control;
	const struct plan_mount *mounts;	/* the plan's, and what was found for it */
	size_t n_mounts;
	int *trees;		/* one descriptor a mount, laid out before the clone */
	const char *const *programs;	/* what to try to execute, in this order; ends with NULL */
	const char **shell_argv;	/* /bin/sh, FILE, arguments: for a script without #! */
	int root;		/* the new root */
	int masks;		/* where masks are cloned from, or -1 */
	dev_t ours[8];		/* file systems that we made */
	size_t n_ours;
	struct native_fds fds;
};

_Noreturn void init_main(struct init *in);

/* Before the clone: the files that blocked commands and host sockets are, as
 * masks behind the plan's own mounts. */
int find_masks(const struct plan *plan, const struct plan_mount **ret, size_t *ret_n,
	       struct cordon_err *err) MUST_USE;

/* The mounts of a plan, and what is found for it. */
struct found {
	const struct plan *plan;
	struct plan_mount *mounts;
	size_t n, cap;
	struct cordon_err *err;
};
int found_add(struct found *f, const struct plan_mount *mount) MUST_USE;
/* Add what fits the patterns of the plan. */
int find_names(struct found *f) MUST_USE;

/* What a path leads to, inside, as a descriptor; -1 where it leads nowhere. */
int open_place(const struct init *in, const char *target, int *ret_fd,
	       struct cordon_err *err) MUST_USE;
/* What is not there, or not ours to look at, is left out if it may be. */
bool is_absence(void);

/* Steps: 0, or -1 with the error filled. */
int step_open_sources(struct init *in, struct cordon_err *err);
int step_new_root(struct init *in, struct cordon_err *err);
int step_mounts(struct init *in, struct cordon_err *err);
int step_enter_root(struct init *in, struct cordon_err *err);
int step_landlock(struct init *in, struct cordon_err *err);

#endif
