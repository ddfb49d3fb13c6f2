/* Folders as wholes: copied, emptied, and files written into them.
 *
 * Everything goes by descriptors and never through a symbolic link, so that
 * somebody who changes the folder meanwhile leads nobody out of it.
 */
#ifndef BASE_FOLDER_H
#define BASE_FOLDER_H

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

/* How much may be copied; what is not there any more was. */
struct folder_room {
	int64_t bytes;
	int64_t entries;
	/* Symlinks that lead out of the directory that is copied are left out and counted:
	 * a program that follows them elsewhere would reach what their maker never saw. */
	bool tame;
	uint64_t n_wild;
};

/* A folder inside `dir`, made if need be; the descriptor, or -1. */
int folder_make(int dir, const char *name, struct cordon_err *err) MUST_USE;
/* What lies in `from` into `to`, over what is there, which makes way: files, folders and links
 * with their permissions; sockets, pipes and devices are left out.  `skip` (or
 * NULL) says which names of the top are. */
int folder_copy(int from, int to, bool (*skip)(const char *name), struct folder_room *room,
		struct cordon_err *err) MUST_USE;
/* One file, folder or link of the name; 0 also where there is none. */
int folder_copy_one(int from, const char *name, int to, struct folder_room *room,
		    struct cordon_err *err) MUST_USE;
/* Remove one entry, whatever it is; 0 also where there is none. */
int folder_remove(int dir, const char *name, struct cordon_err *err) MUST_USE;
/* Remove everything in it; not more than somebody can put there meanwhile. */
int folder_clear(int dir, struct cordon_err *err) MUST_USE;
/* A file with this text, all of it or as it was before; for its owner alone. */
int folder_write(int dir, const char *name, struct str text, struct cordon_err *err) MUST_USE;

#endif
