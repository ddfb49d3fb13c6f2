/* Which files programs are, on the host. */
#ifndef BACKEND_PROGRAMS_H
#define BACKEND_PROGRAMS_H

#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct program_file {
	dev_t dev;
	ino_t ino;
	const char *name;	/* borrowed */
};

struct program_files {
	struct program_file *items;
	size_t n, cap;
};

/* Add the files of a program of this name, with each suffix that some give it, in the folders
 * of programs and of the PATH in `envp`. */
int programs_add(struct program_files *f, const char *name, const char *const *envp,
		 struct arena *a, struct cordon_err *err) MUST_USE;
/* Those that are many; the same, for all of their names. */
int programs_add_multi_calls(struct program_files *f, const char *const *envp, struct arena *a,
			     struct cordon_err *err) MUST_USE;
/* The next entry of this file, the first for NULL; or NULL. */
const struct program_file *programs_find(const struct program_files *f, dev_t dev, ino_t ino,
					 const struct program_file *after);
/* Is a program that is many to be found? */
bool programs_find_multi_call(const char *const *envp);

#endif
