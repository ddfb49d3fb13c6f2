/* The mounts of this machine, and where else they show a file or folder. */
#ifndef BASE_MOUNT_TABLE_H
#define BASE_MOUNT_TABLE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

/* A line of /proc/self/mountinfo: what of which file system is seen where. */
struct mount_line {
	const char *device;		/* MAJOR:MINOR */
	const char *root, *place;
	struct str type;
};

struct mount_table {
	struct arena *arena;		/* all of it lives there */
	struct mount_line *items;
	size_t n, cap;
};

/* One that could not be read has no lines, and that is an error. */
int mount_table_read(struct mount_table *t, struct arena *a, struct cordon_err *err) MUST_USE;

/* Called with another name of a path; -1 with `err` filled in ends it. */
typedef int mount_other_fn(void *arg, const char *path, const char *other, struct cordon_err *err);
/* Each place at which another mount shows a path, which has no link in it, or a part of it. */
int mount_table_find(const struct mount_table *t, const char *path, mount_other_fn *fn, void *arg,
		     struct cordon_err *err) MUST_USE;

#endif
