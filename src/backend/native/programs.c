/* See programs.h. */
#include "backend/native/programs.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/program.h"

/* The next folder that has a program of this name; false: no more. */
static bool next_file(struct program_dirs *dirs, const char *name, const char *suffix,
		      struct stat *ret)
{
	char path[PATH_MAX];
	struct str dir;

	while (program_dirs_next(dirs, &dir)) {
		int n = snprintf(path, sizeof(path), "%.*s/%s%s", (int)dir.n, dir.s, name, suffix);

		if (n > 0 && (size_t)n < sizeof(path) && stat(path, ret) == 0 &&
		    S_ISREG(ret->st_mode))
			return true;
	}
	return false;
}

static bool is_known(const struct program_files *f, const struct stat *st, const char *name)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->items[i].dev == st->st_dev && f->items[i].ino == st->st_ino &&
		    strcmp(f->items[i].name, name) == 0)
			return true;
	return false;
}

static int add_files(struct program_files *f, const char *name, const char *suffix,
		     struct str path, struct arena *a)
{
	struct program_dirs dirs = PROGRAM_DIRS(path);
	struct stat st;

	while (next_file(&dirs, name, suffix, &st)) {
		struct program_file *items;

		if (is_known(f, &st, name))
			continue;
		items = arena_grow(a, f->items, f->n, &f->cap, sizeof(*items));
		if (!items)
			return -1;
		f->items = items;
		f->items[f->n++] = (struct program_file){ st.st_dev, st.st_ino, name };
	}
	return 0;
}

int programs_add(struct program_files *f, const char *name, const char *const *envp,
		 struct arena *a, struct cordon_err *err)
{
	for (size_t i = 0; program_suffixes[i]; i++)
		if (add_files(f, name, program_suffixes[i], program_path(envp), a) < 0)
			return err_nomem(err);
	return 0;
}

int programs_add_multi_calls(struct program_files *f, const char *const *envp, struct arena *a,
			     struct cordon_err *err)
{
	for (size_t i = 0; program_multi_calls[i]; i++)
		if (programs_add(f, program_multi_calls[i], envp, a, err) < 0)
			return -1;
	return 0;
}

const struct program_file *programs_find(const struct program_files *f, dev_t dev, ino_t ino,
					 const struct program_file *after)
{
	for (size_t i = after ? (size_t)(after - f->items) + 1 : 0; i < f->n; i++)
		if (f->items[i].dev == dev && f->items[i].ino == ino)
			return &f->items[i];
	return NULL;
}

bool programs_find_multi_call(const char *const *envp)
{
	struct stat st;

	for (size_t i = 0; program_multi_calls[i]; i++) {
		struct program_dirs dirs = PROGRAM_DIRS(program_path(envp));

		if (next_file(&dirs, program_multi_calls[i], "", &st))
			return true;
	}
	return false;
}
