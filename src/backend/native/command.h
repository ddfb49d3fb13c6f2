/* One command: what is executed, and with what. */
#ifndef BACKEND_NATIVE_COMMAND_H
#define BACKEND_NATIVE_COMMAND_H

#include "backend/native/native.h"

/* Lists end with NULL. */
struct native_command {
	const char *const *argv, *const *envp;
	const char *const *programs;	/* what to try to execute, in this order */
	const char **shell_argv;	/* /bin/sh, FILE, arguments: for a script without #! */
	/* The rest counts in a session only. */
	const char *cwd;
	int64_t file_size, open_files;	/* INT64_MAX: as init's own; never more */
	struct native_stdio io;
};

/* The files that argv[0] may mean, by the PATH of envp. */
int native_command_compile(const char *const *argv, const char *const *envp, struct arena *a,
			   struct native_command *ret, struct cordon_err *err) MUST_USE;
/* Have init start it, in a session of its own; `id` comes back with what is told
 * about it.  The descriptors stay the caller's. */
int native_command_send(const struct native_child *c, int id, const struct native_command *cmd,
			struct cordon_err *err) MUST_USE;
/* The command in a piece of memory of `n` bytes as native_command_send() lays it
 * out, or NULL. */
const struct native_command *native_command_place(void *memory, size_t n);

#endif
