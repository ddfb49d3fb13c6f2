/* The only way to paths of a tree that another party wrote.
 *
 * The author of a task wrote its folder, and an agent wrote app/ and logs/ of its
 * trial: either may have left a symlink anywhere in it.  The kernel resolves a path
 * of open_beneath() from an opened root and refuses one that leaves the root.  Each
 * entry_ call acts on one entry of an opened directory and does not follow it.
 * tools/check/beneath refuses every other call that takes a path in the files that
 * handle such trees.
 */
#ifndef BASE_BENEATH_H
#define BASE_BENEATH_H

#include <dirent.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/err.h"

/* A descriptor, or -1 and errno.  Symlinks are followed as long as they stay below
 * the root; with O_NOFOLLOW there may be none anywhere in the path.  Never through
 * /proc/PID/fd, root and the like.  Does not wait for a FIFO.  With O_CREAT the file
 * gets mode 0600. */
int open_beneath(int root, const char *path, int flags);
/* Is errno that of a path that leaves its root? */
bool is_outside(void);

/* One entry of the directory `dir`: 0, or -1 and errno.  EINVAL: the name has a '/'. */
int entry_stat(int dir, const char *name, struct stat *ret);
int entry_make_dir(int dir, const char *name, mode_t mode);
int entry_make_link(const char *target, int dir, const char *name);
int entry_chmod(int dir, const char *name, mode_t mode);
int entry_remove(int dir, const char *name, int flags);
int entry_move(int from, const char *name, int to, const char *new_name, unsigned flags);
/* Returns the length of the target. */
ssize_t entry_read_link(int dir, const char *name, char *ret, size_t size);
/* All entries; the descriptor stays the caller's. */
DIR *entry_list(int dir);

/* A path that the operator named: symlinks lead wherever they lead. */
int open_named(const char *path, int flags);
/* That directory, and those above it, with mode 0700 where they are missing. */
int make_named(const char *path, struct cordon_err *err) MUST_USE;

#endif
