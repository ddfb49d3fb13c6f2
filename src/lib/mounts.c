/* Other names of what the policy closes; see mounts.h. */
#include "lib/mounts.h"

#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "host/lines.h"

#define MAX_MOUNTINFO	(16u << 20)

/* A line of /proc/self/mountinfo: what of which file system is seen where. */
struct mount {
	const char *device;		/* MAJOR:MINOR */
	const char *root, *place;
};

struct mounts {
	struct arena *arena;
	struct plan_request *r;
	struct mount *items;
	size_t n, cap;
	struct cordon_err *err;
};

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

/* ID PARENT MAJOR:MINOR ROOT PLACE … */
static int read_line(struct mounts *m, struct str line)
{
	struct mount *items = arena_grow(m->arena, m->items, m->n, &m->cap, sizeof(*items));
	struct mount one = { read_path(m->arena, field_of(line, ' ', 2)),
			     read_path(m->arena, field_of(line, ' ', 3)),
			     read_path(m->arena, field_of(line, ' ', 4)) };

	if (!items || !one.device || !one.root || !one.place)
		return err_nomem(m->err);
	m->items = items;
	m->items[m->n++] = one;
	return 0;
}

static int read_mounts(struct mounts *m)
{
	struct str text;

	if (fd_read_file("/proc/self/mountinfo", MAX_MOUNTINFO, m->arena, &text, m->err) < 0)
		return -1;
	while (text.n) {
		size_t end = str_find(text, '\n');

		if (read_line(m, str_first(text, end)) < 0)
			return -1;
		text = str_from_pos(text, end < text.n ? end + 1 : end);
	}
	return m->n ? 0 : err_set(m->err, CORDON_E_HOST,
				  "cannot read /proc/self/mountinfo, and so not tell where else "
				  "a mount shows what the policy closes");
}

/* What follows `outer` in `inner`, which lies in it: empty, or with a slash. */
static const char *rest_of(const char *inner, const char *outer)
{
	return strcmp(outer, "/") == 0 ? (strcmp(inner, "/") == 0 ? "" : inner)
				       : inner + strlen(outer);
}

static const char *put_before(struct mounts *m, const char *place, const char *rest)
{
	return *rest ? arena_printf(m->arena, "%s%s", strcmp(place, "/") == 0 ? "" : place, rest)
		     : place;
}

/* Not where something else is mounted over it, or over the first one. */
static bool is_same(const char *a, const char *b)
{
	struct stat first, second;
	bool has_first = lstat(a, &first) == 0, has_second = lstat(b, &second) == 0;

	if (!has_first || !has_second)
		return has_first == has_second;
	return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

static int add_name(struct mounts *m, const char *path, const char *other)
{
	struct plan_second_name *names;

	if (!other)
		return err_nomem(m->err);
	names = arena_grow(m->arena, m->r->second_names, m->r->n_second_names,
			   &m->r->cap_second_names, sizeof(*names));
	if (!names)
		return err_nomem(m->err);
	m->r->second_names = names;
	names[m->r->n_second_names++] = (struct plan_second_name){ path, other };
	return 0;
}

/* By a mount that shows it, or the folder that it is in; or something in it. */
static int find_other(struct mounts *m, const char *path, const char *inside,
		      const struct mount *by)
{
	const char *other;

	if (!path_within(inside, by->root))
		return path_within(by->root, inside) && !path_within(by->place, path)
			       ? add_name(m, path, by->place) : 0;
	other = put_before(m, by->place, rest_of(inside, by->root));
	if (!other)
		return err_nomem(m->err);
	return strcmp(other, path) != 0 && is_same(path, other) ? add_name(m, path, other) : 0;
}

static int find_all(struct mounts *m, const char *path)
{
	const struct mount *home = NULL;
	const char *inside;

	/* Of two at one place the later one is seen. */
	for (size_t i = 0; i < m->n; i++)
		if (path_within(path, m->items[i].place) &&
		    (!home || strlen(m->items[i].place) >= strlen(home->place)))
			home = &m->items[i];
	if (!home)
		return 0;
	inside = put_before(m, home->root, rest_of(path, home->place));
	if (!inside)
		return err_nomem(m->err);
	for (size_t i = 0; i < m->n; i++)
		if (strcmp(m->items[i].device, home->device) == 0 &&
		    find_other(m, path, inside, &m->items[i]) < 0)
			return -1;
	return 0;
}

int mounts_find(struct composition *c, struct plan_request *r, struct cordon_err *err)
{
	static const enum field_id ids[] = { F_FILES_DENY, F_FILES_PROTECT };
	struct mounts m = { .arena = &c->arena, .r = r, .err = err };

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		const struct field_value *v = &c->policy.base.f[ids[i]];

		for (size_t k = 0; k < v->n; k++) {
			const struct item *item = &v->items[k];

			/* Words are sets of names. */
			if (item->text.s[0] != '/')
				continue;
			if ((!m.n && read_mounts(&m) < 0) || find_all(&m, item->text.s) < 0 ||
			    (item->real && find_all(&m, item->real) < 0))
				return -1;
		}
	}
	return 0;
}
