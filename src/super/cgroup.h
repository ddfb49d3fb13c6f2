/* Control groups as files: where ours are, child groups, and their contents.
 *
 * Version 1 and 2 differ in the names of files, not in how they are read.
 */
#ifndef SUPER_CGROUP_H
#define SUPER_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

#define CGROUP_SELF_BYTES	8192		/* of /proc/self/cgroup */
#define CGROUP_PATH_BYTES	4096

/* A line of /proc/self/cgroup; the texts point into what was read. */
struct cgroup_own {
	struct str id;			/* of the hierarchy: equal where two are one */
	struct str controllers;		/* comma list; empty for version 2 */
	struct str path;		/* below the mount */
};

/* The text of `self`, NUL-terminated in `text`. */
int cgroup_self_read(const char *self, char text[CGROUP_SELF_BYTES], struct cordon_err *err)
	MUST_USE;
/* The line of a controller of version 1, or of version 2 for "". */
bool cgroup_self_find(const char *text, const char *controller, struct cgroup_own *ret);
/* Does it lie outside of our view?  The kernel writes "/.." then. */
bool cgroup_goes_up(struct str path);
/* Open our own group below the mount `mount` as *ret_fd, its path in `path`.
 * Where the mount does not show that path (a container's view), its root is
 * taken if, and only if, we are in it. */
int cgroup_own_open(const char *mount, struct str own, char path[CGROUP_PATH_BYTES], int *ret_fd,
		    struct cordon_err *err) MUST_USE;

/* A group that we made. */
struct cgroup {
	int parent_fd, fd;		/* -1: there is none */
	bool is_tree;			/* what is in it ends when it is released */
	char name[48];
	char path[CGROUP_PATH_BYTES];	/* of the group, for messages */
};
#define CGROUP_NONE	((struct cgroup){ .parent_fd = -1, .fd = -1 })

/* A new, empty group in the one at `parent`; takes `parent_fd` in any case. */
int cgroup_new(const char *parent, int parent_fd, struct cgroup *ret, struct cordon_err *err)
	MUST_USE;
/* Remove it, for up to a second: ended processes that were not waited for keep
 * it busy.  False when it is still there.  Also removes groups beside it whose
 * makers were killed. */
bool cgroup_release(struct cgroup *g);

/* Contents of a file of a group, at `dir_fd`.  Reading neither allocates nor
 * fails loudly: it answers -1 for what is not there. */
int cgroup_write(const struct cgroup *g, const char *file, const char *text,
		 struct cordon_err *err) MUST_USE;
int cgroup_write_number(const struct cgroup *g, const char *file, int64_t n,
			struct cordon_err *err) MUST_USE;
/* Put `text` if the file is there: false when it is not, or refuses. */
bool cgroup_try_write(int dir_fd, const char *file, const char *text);
/* The number that is the file, or that follows `key` at the start of a line. */
int64_t cgroup_read_number(int dir_fd, const char *file);
int64_t cgroup_read_key(int dir_fd, const char *file, const char *key);
/* The same from a descriptor, from its beginning. */
int64_t cgroup_fd_read_key(int fd, const char *key);
/* Is `word` among the words of the file? */
bool cgroup_has_word(int dir_fd, const char *file, const char *word);
/* Is the file there and may we write it? */
bool cgroup_can_write(int dir_fd, const char *file);

/* pids.max; INT64_MAX: none. */
int cgroup_limit_tasks(const struct cgroup *g, int64_t most, struct cordon_err *err) MUST_USE;
/* The same of a group that is in use, where no more than that are alive. */
int cgroup_change_tasks(const struct cgroup *g, int64_t most, struct cordon_err *err) MUST_USE;

#endif
