/* What the mounts of a new root share; see mounts.c. */
#ifndef BACKEND_MOUNTS_PRIV_H
#define BACKEND_MOUNTS_PRIV_H

#include "backend/native/init_priv.h"

#define CLONE_OF_FD	(OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE)

struct target {
	int dir;		/* O_PATH of the parent: that of in->place */
	const char *name;	/* in it */
};

/* Is it something of the host's that was cloned before? */
bool has_source(const struct plan_mount *m);
/* A new file system of this type with these options; a detached mount. */
int new_fs(const char *type, const char *const options[][2], size_t n, unsigned attrs,
	   struct cordon_err *err);
/* Give it a place in the old root, where no path leads: only what is mounted somewhere can be
 * cloned in parts.  -1 with errno. */
int hang_up(int mnt);
/* What is made for a mount is named by its place in the list. */
void name_after(const struct init *in, const struct plan_mount *m, char ret[24]);
/* The parent of an absolute path below the new root.  Links are not followed:
 * paths were resolved when the policy was read.  -1 with errno. */
int find_target(struct init *in, const char *path, struct target *ret);
/* The place to mount on: a directory or a file, made if the parent is ours.  -1 with
 * errno. */
int make_place(struct init *in, const struct target *t, bool is_dir);
bool tree_is_dir(int tree);
/* A directory was mounted where a link led to, and may cover them. */
void forget_folders(struct init *in);

typedef int hold_fn(struct init *in, const struct plan_mount *m, struct cordon_err *err);

/* A file that the host replaces between looking and mounting is gone, and there
 * is another one: look again.  Who does it all the time stops the run. */
int hold_mount(struct init *in, const struct plan_mount *m, hold_fn *once,
	       struct cordon_err *err);

typedef int mount_fn(struct init *in, const struct plan_mount *m, int tree, const struct target *t,
		     struct cordon_err *err);

/* Files of ours instead of what is there: mounts_ours.c. */
mount_fn mount_mask, mount_text;

#endif
