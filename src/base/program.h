/* Where programs are, and which of them are many under one roof. */
#ifndef BASE_PROGRAM_H
#define BASE_PROGRAM_H

#include "base/str.h"

/* The folders to look for programs in: those that machines have, then those
 * of a PATH that are absolute. */
struct program_dirs {
	size_t next;
	struct str path;
};
#define PROGRAM_DIRS(path_text)	{ 0, path_text }

bool program_dirs_next(struct program_dirs *d, struct str *ret);
/* The value of PATH in an environment that ends with NULL; empty without. */
struct str program_path(const char *const *envp);

/* What follows a name where some install it beside another one, the first of them nothing;
 * ends with NULL. */
extern const char *const program_suffixes[];

/* The names of programs that become another one by their first argument or by
 * the name they are called by; ends with NULL. */
extern const char *const program_multi_calls[];
/* Is this last component of a path such a name, or one with a suffix
 * (busybox.static)? */
bool program_is_multi_call(struct str name);

/* The words of `/bin/sh -c TEXT`, behind which is NULL; returns how many. */
#define MAX_SHELL_WORDS	5
size_t program_shell(const char *text, const char *ret_words[MAX_SHELL_WORDS]);

#endif
