/* A folder that stays open while its entries are looked at.
 *
 * The paths of a plan come as neighbours (/etc/…, ~/.…, the names that are
 * protected in a root), and walking to each from the root costs more than what is
 * done with it.  Runs between clone and exec.
 *
 * Whoever mounts something must close those folders that it may cover.
 */
#ifndef BACKEND_FOLDER_H
#define BACKEND_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct folder {
	int at;			/* what paths start from: a directory, or AT_FDCWD */
	uint64_t resolve;	/* how, as in openat2(2) */
	int fd;			/* O_PATH; -1: none is open */
	const char *path;	/* of something in it; not ours */
	size_t n;		/* bytes of `path` that name the folder */
	bool linked;		/* there is a link on the way to it */
	const char *missing;	/* of something in the last that is not there, or NULL */
	size_t n_missing;
	bool judged, ours;	/* whether it lies in what init made: for init to note */
	unsigned n_looks;	/* for names in it */
	struct listing *names;	/* room for those, or NULL */
};

#define FOLDER(at, resolve) \
	((struct folder){ (at), (resolve), -1, NULL, 0, false, NULL, 0, false, false, 0, NULL })

/* The folder that holds `path`, which is absolute and stays where it is; it
 * remains the folder's own.  -1 with errno.  Sets *ret_name to the last part. */
int folder_open(struct folder *f, const char *path, const char **ret_name);
/* The same for one that did not open and was made since: `fd`, which is given away. */
void folder_take(struct folder *f, const char *path, int fd);
/* False: there is nothing, not even a link, and errno says in which way. */
bool folder_has(struct folder *f, const char *path);
/* Is it sure that the open folder has no such name?  Asks the kernel once for all. */
bool folder_lacks(struct folder *f, const char *name);
void folder_close(struct folder *f);

#endif
