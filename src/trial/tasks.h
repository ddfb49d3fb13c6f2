/* Which trials are to be run: words of the operator as a list of tasks. */
#ifndef TRIAL_TASKS_H
#define TRIAL_TASKS_H

#include "base/arena.h"
#include "base/err.h"

/* One attempt at one task. */
struct trial_item {
	const char *file;	/* its task.toml; absolute */
	const char *name;	/* no other one has it */
};

struct trial_list {
	struct trial_item *items;
	size_t n, cap;
};

/* A file, a folder with a task.toml, or a folder of such folders, each `attempts`
 * times.  What is not there stays in the list: it is a trial that fails. */
int trial_list_make(const char *const *words, size_t n, unsigned attempts, struct arena *a,
		    struct trial_list *ret, struct cordon_err *err) MUST_USE;

#endif
