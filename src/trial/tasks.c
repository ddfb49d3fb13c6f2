/* Which trials are to be run; see tasks.h. */
#include "trial/tasks.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static bool is_kind(const char *path, mode_t kind)
{
	struct stat st;

	return path && stat(path, &st) == 0 && (st.st_mode & S_IFMT) == kind;
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

static int add(struct listing *l, const char *file)
{
	for (unsigned i = 1; i <= l->attempts; i++) {
		const char *name = name_of(l->arena, file);

		if (name && l->attempts > 1)
			name = arena_printf(l->arena, "%s.%u", name, i);
		if (add_one(l, file, name) < 0)
			return -1;
	}
	return 0;
}

static int is_shown(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

/* Every folder in it that is a task's, in order. */
static int add_folder(struct listing *l, const char *path, size_t *ret_found)
{
	struct dirent **entries;
	int n = scandir(path, &entries, is_shown, alphasort), rc = 0;

	for (int i = 0; i < n; i++) {
		const char *file = arena_printf(l->arena, "%s/%s/" TASK_FILE, path,
						entries[i]->d_name);

		if (rc == 0 && is_kind(file, S_IFREG)) {
			rc = add(l, file);
			(*ret_found)++;
		}
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	return rc;
}

static int add_word(struct listing *l, const char *word, struct cordon_err *err)
{
	const char *path = path_normal(l->arena, str_from(word), l->here);
	const char *file = path ? arena_printf(l->arena, "%s/" TASK_FILE, path) : NULL;
	size_t found = 0;
	int rc;

	if (!file)
		return err_nomem(err);
	if (!is_kind(path, S_IFDIR))
		rc = add(l, path);
	else if (is_kind(file, S_IFREG))
		rc = add(l, file);
	else
		rc = add_folder(l, path, &found);
	if (rc < 0)
		return err_set(err, CORDON_E_NOMEM, "more than %u trials, or no memory for them",
			       MAX_TRIALS);
	if (is_kind(path, S_IFDIR) && !is_kind(file, S_IFREG) && !found)
		return err_set(err, CORDON_E_USAGE, "'%s' holds no " TASK_FILE
			       ", nor does a folder in it", word);
	return 0;
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
	if (n == 1 && ret->n == 1 && !is_kind(ret->items[0].file, S_IFREG))
		return err_set(err, CORDON_E_USAGE, "there is no task '%s'; name a "
			       "task.toml, or a folder that has one", words[0]);
	return 0;
}
