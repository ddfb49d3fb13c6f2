/* Mounts of this machine; see mount_table.h. */
#include "base/mount_table.h"

#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"

#define MAX_MOUNTINFO	(16u << 20)

/* Blanks, line ends and backslashes of a path are written as \ooo. */
static const char *read_path(struct arena *a, struct str raw)
{
	char *out = arena_new(a, raw.n + 1, 1);
	size_t n = 0;

	for (size_t i = 0; out && i < raw.n; i++)
		if (raw.s[i] == '\\' && i + 3 < raw.n) {
			out[n++] = (char)((raw.s[i + 1] - '0') << 6 | (raw.s[i + 2] - '0') << 3 |
					  (raw.s[i + 3] - '0'));
			i += 3;
		} else {
			out[n++] = raw.s[i];
		}
	return out;
}

static struct str take_field(struct str *line)
{
	size_t n = str_find(*line, ' ');
	struct str field = str_first(*line, n);

	*line = str_from_pos(*line, n < line->n ? n + 1 : n);
	return field;
}

/* ID PARENT MAJOR:MINOR ROOT PLACE OPTIONS [MORE …] - TYPE … */
static int read_line(struct mount_table *t, struct str line)
{
	struct mount_line *items = arena_grow(t->arena, t->items, t->n, &t->cap, sizeof(*items));
	struct mount_line one = { 0 };
	struct str field;

	take_field(&line);
	take_field(&line);
	one.device = read_path(t->arena, take_field(&line));
	one.root = read_path(t->arena, take_field(&line));
	one.place = read_path(t->arena, take_field(&line));
	do
		field = take_field(&line);
	while (field.n && !str_is(field, "-"));
	one.type = take_field(&line);
	if (!items || !one.device || !one.root || !one.place)
		return -1;
	t->items = items;
	t->items[t->n++] = one;
	return 0;
}

int mount_table_read(struct mount_table *ret, struct arena *a, struct cordon_err *err)
{
	struct mount_table t = { .arena = a };
	struct str text;

	if (fd_read_file("/proc/self/mountinfo", MAX_MOUNTINFO, a, &text, err) < 0)
		return -1;
	while (text.n) {
		size_t end = str_find(text, '\n');

		if (read_line(&t, str_first(text, end)) < 0)
			return err_nomem(err);
		text = str_from_pos(text, end < text.n ? end + 1 : end);
	}
	if (!t.n)
		return err_set(err, CORDON_E_HOST,
			       "cannot read /proc/self/mountinfo, and so not tell what the mounts "
			       "of this machine show");
	*ret = t;
	return 0;
}

/* What follows `outer` in `inner`, which lies in it: empty, or with a slash. */
static const char *rest_of(const char *inner, const char *outer)
{
	return strcmp(outer, "/") == 0 ? (strcmp(inner, "/") == 0 ? "" : inner)
				       : inner + strlen(outer);
}

static const char *put_before(struct arena *a, const char *place, const char *rest)
{
	return *rest ? arena_printf(a, "%s%s", strcmp(place, "/") == 0 ? "" : place, rest)
		     : place;
}

/* Not where something else is mounted over it, or over the first one.  What cannot be told
 * may be so: a command can close its own folders, and open them again. */
static bool is_same(const char *a, const char *b)
{
	struct stat first = { 0 }, second = { 0 };

	if ((lstat(a, &first) < 0 && !err_is_absence()) ||
	    (lstat(b, &second) < 0 && !err_is_absence()))
		return true;
	return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

/* A search for other names of a path, which is `inside` its file system. */
struct search {
	const struct mount_table *table;
	const char *path, *inside;
	mount_other_fn *fn;
	void *arg;
	struct cordon_err *err;
};

/* By a mount that shows it, or the folder that it is in; or something in it. */
static int find_by(const struct search *s, const struct mount_line *by)
{
	const char *other = by->place;
	bool is_other;

	if (path_within(s->inside, by->root)) {
		other = put_before(s->table->arena, by->place, rest_of(s->inside, by->root));
		if (!other)
			return err_nomem(s->err);
		is_other = strcmp(other, s->path) != 0 && is_same(s->path, other);
	} else {
		is_other = path_within(by->root, s->inside) && !path_within(by->place, s->path);
	}
	return is_other ? s->fn(s->arg, s->path, other, s->err) : 0;
}

/* The mount that a path is seen by.  Of two at one place it is the later one. */
static const struct mount_line *find_home(const struct mount_table *t, const char *path)
{
	const struct mount_line *home = NULL;

	for (size_t i = 0; i < t->n; i++)
		if (path_within(path, t->items[i].place) &&
		    (!home || strlen(t->items[i].place) >= strlen(home->place)))
			home = &t->items[i];
	return home;
}

int mount_table_find(const struct mount_table *t, const char *path, mount_other_fn *fn, void *arg,
		     struct cordon_err *err)
{
	const struct mount_line *home = find_home(t, path);
	struct search s = { .table = t, .path = path, .fn = fn, .arg = arg, .err = err };

	if (!home)
		return 0;
	s.inside = put_before(t->arena, home->root, rest_of(path, home->place));
	if (!s.inside)
		return err_nomem(err);
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->items[i].device, home->device) == 0 &&
		    find_by(&s, &t->items[i]) < 0)
			return -1;
	return 0;
}
