/* Which trials are to be run; see tasks.h. */
#include "trial/tasks.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/path.h"

#define TASK_FILE	"task.toml"

struct listing {
	struct arena *arena;
	struct trial_list *list;
	struct map names;
	unsigned attempts;
	const char *here;
};

/* Is the path a regular file, or leads it out of the folder?  A trial of that task is
 * refused and says so. */
static bool has_task(int dir, const char *path)
{
	cleanup_fd int fd = open_beneath(dir, path, O_PATH);
	struct stat st;

	if (fd < 0)
		return is_outside();
	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

/* Of the folder of a task.toml; of a file with another name, without its end. */
static const char *name_of(struct arena *a, const char *file)
{
	const char *slash = strrchr(file, '/'), *end = slash;

	if (strcmp(slash + 1, TASK_FILE) != 0) {
		struct str name = str_from(slash + 1);

		if (str_ends(name, ".toml") && name.n > 5)
			name.n -= 5;
		/* Those are other folders. */
		if (str_is(name, ".") || str_is(name, ".."))
			return "task";
		return arena_strndup(a, name.s, name.n);
	}
	while (slash > file && slash[-1] != '/')
		slash--;
	return slash == end ? "task" : arena_strndup(a, slash, (size_t)(end - slash));
}

/* The same again is another attempt: NAME.2. */
static const char *unused_name(struct listing *l, const char *name)
{
	const char *found = name;

	for (;;) {
		bool is_new;
		struct map_slot *slot;

		if (!found || !map_add(&l->names, l->arena, str_from(found), 1, &is_new))
			return NULL;
		if (is_new)
			return found;
		slot = map_find(&l->names, str_from(name));
		found = arena_printf(l->arena, "%s.%zu", name, ++slot->value);
	}
}

static int add_one(struct listing *l, const char *file, const char *name)
{
	struct trial_list *list = l->list;
	struct trial_item *items;

	name = name ? unused_name(l, name) : NULL;
	items = arena_grow(l->arena, list->items, list->n, &list->cap, sizeof(*items));
	if (!items || !name || list->n == MAX_TRIALS)
		return -1;
	list->items = items;
	list->items[list->n++] = (struct trial_item){ file, name };
	return 0;
}

static int add(struct listing *l, const char *file, struct cordon_err *err)
{
	for (unsigned i = 1; i <= l->attempts; i++) {
		const char *name = name_of(l->arena, file);

		if (name && l->attempts > 1)
			name = arena_printf(l->arena, "%s.%u", name, i);
		if (add_one(l, file, name) < 0)
			return err_set(err, CORDON_E_NOMEM,
				       "more than %u trials, or no memory for them", MAX_TRIALS);
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names in a directory, in order; those that begin with '.' are left out. */
static const char **list_names(struct arena *a, int dir, size_t *ret_n)
{
	DIR *d = entry_list(dir);
	const char **names = arena_new(a, 1, sizeof(*names));
	size_t cap = 1;

	for (struct dirent *e; d && names && (e = readdir(d));) {
		if (e->d_name[0] == '.')
			continue;
		names = arena_grow(a, names, *ret_n, &cap, sizeof(*names));
		if (names)
			names[(*ret_n)++] = arena_strndup(a, e->d_name, strlen(e->d_name));
	}
	if (d)
		closedir(d);
	if (names)
		qsort(names, *ret_n, sizeof(*names), compare);
	return names;
}

/* A symlink in a folder of tasks that leads to a task elsewhere: the operator has not named
 * that one. */
static int check_name(int dir, const char *path, const char *name, const char *file,
		      struct cordon_err *err)
{
	cleanup_fd int inside = open_beneath(dir, name, O_PATH), outside = -1;

	if (inside >= 0 || !is_outside())
		return 0;
	outside = open_named(file, O_PATH);
	if (outside < 0)
		return 0;
	return err_set(err, CORDON_E_USAGE,
		       "'%s/%s' is a symlink that leads out of '%s'; name that task itself", path,
		       name, path);
}

/* Every folder in it that is a task's, in order. */
static int add_folder(struct listing *l, int dir, const char *path, size_t *ret_found,
		      struct cordon_err *err)
{
	size_t n = 0;
	const char **names = list_names(l->arena, dir, &n);

	for (size_t i = 0; names && i < n; i++) {
		const char *own = arena_printf(l->arena, "%s/" TASK_FILE, names[i]);
		const char *file = own ? arena_printf(l->arena, "%s/%s", path, own) : NULL;

		if (!file)
			return err_nomem(err);
		if (check_name(dir, path, names[i], file, err) < 0)
			return -1;
		if (!has_task(dir, own))
			continue;
		(*ret_found)++;
		if (add(l, file, err) < 0)
			return -1;
	}
	return names ? 0 : err_nomem(err);
}

static int add_word(struct listing *l, const char *word, struct cordon_err *err)
{
	const char *path = path_normal(l->arena, str_from(word), l->here);
	const char *file = path ? arena_printf(l->arena, "%s/" TASK_FILE, path) : NULL;
	cleanup_fd int dir = path ? open_named(path, O_RDONLY | O_DIRECTORY) : -1;
	size_t found = 0;

	if (!file)
		return err_nomem(err);
	if (dir < 0 || has_task(dir, TASK_FILE))
		return add(l, dir < 0 ? path : file, err);
	if (add_folder(l, dir, path, &found, err) < 0)
		return -1;
	if (!found)
		return err_set(err, CORDON_E_USAGE, "'%s' holds no " TASK_FILE
			       ", nor does a folder in it", word);
	return 0;
}

static bool is_there(const char *file)
{
	cleanup_fd int fd = open_named(file, O_PATH);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

int trial_list_make(const char *const *words, size_t n, unsigned attempts, struct arena *a,
		    struct trial_list *ret, struct cordon_err *err)
{
	char here[PATH_MAX];
	struct listing l = { .arena = a, .list = ret, .attempts = attempts ? attempts : 1,
			     .here = here };

	*ret = (struct trial_list){ 0 };
	if (!getcwd(here, sizeof(here)))
		return err_sys(err, CORDON_E_SETUP, "cannot tell the current directory");
	for (size_t i = 0; i < n; i++)
		if (add_word(&l, words[i], err) < 0)
			return -1;
	if (n == 1 && ret->n == 1 && !is_there(ret->items[0].file))
		return err_set(err, CORDON_E_USAGE, "there is no task '%s'; name a "
			       "task.toml, or a folder that has one", words[0]);
	return 0;
}
