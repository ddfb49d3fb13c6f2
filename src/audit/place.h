/* Where the log is, and opening it. */
#ifndef AUDIT_PLACE_H
#define AUDIT_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/limits.h"

#define AUDIT_FILE_NAME	"audit.jsonl"

/* Where this user keeps things, best first; each may be NULL. */
struct audit_homes {
	const char *state;	/* XDG_STATE_HOME */
	const char *home;	/* HOME */
	const char *own_home;	/* what the machine says */
};

/* One of the folders that may be the default one, whoever it belongs to.  False: it is
 * none on this machine. */
#define N_AUDIT_FOLDERS	3
bool audit_folder_at(const struct audit_homes *homes, size_t i, char ret[MAX_AUDIT_PATH]);
/* The default folder of the log, which need not be there.  A place below a
 * folder of another user, as after su, is not taken.  False: there is none. */
bool audit_find_folder(const struct audit_homes *homes, char ret[MAX_AUDIT_PATH]);

/* The folder as a descriptor for its path only: this user's alone, and no link. */
int audit_folder_get(const char *folder, bool make, struct cordon_err *err) MUST_USE;

/* A log that can be added to. */
struct audit_file {
	int fd;
	bool is_regular;
};

/* The log in the default folder, both made as needed and this user's alone. */
int audit_folder_open(const char *folder, struct audit_file *ret, struct cordon_err *err) MUST_USE;
/* A file, pipe or terminal that somebody named; a file is made as needed.  No
 * link is followed at its last part but those of /dev and /proc; a file of
 * another user, or with two names, is refused. */
int audit_file_open(const char *path, struct audit_file *ret, struct cordon_err *err) MUST_USE;
/* Could it be opened?  Makes nothing, and a pipe's reader sees nothing of it. */
int audit_file_check(const char *path, struct cordon_err *err) MUST_USE;

#endif
