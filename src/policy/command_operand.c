/* Operands as paths, by their text; see command.h. */
#include "policy/command_args.h"

#include <limits.h>
#include <stdlib.h>

#include "policy/shell/hole.h"

/* A path without `.`, `//` and names that `..` takes back.  No text is too long for it: a
 * program that takes it apart by itself may know no limit. */
struct plain {
	struct str is;
	char *text, *more;		/* in `room`, or `more` of it */
	size_t n;
	bool is_absolute;
	char room[2 * PATH_MAX];
};

static void plain_release(struct plain *p)
{
	free(p->more);
}

#define cleanup_plain	__attribute__((cleanup(plain_release)))
#define PLAIN		{ .more = NULL }

/* Where the last name begins. */
static size_t last_name(const struct plain *p)
{
	size_t at = p->n;

	while (at && p->text[at - 1] != '/')
		at--;
	return at;
}

/* `..` takes back the name before it, but not what a pattern's `*` may be more of. */
static bool take_back(struct plain *p)
{
	size_t at = last_name(p);
	struct str name = { p->text + at, p->n - at };

	if (!p->n)
		return p->is_absolute;
	if (str_is(name, "..") || str_find(name, '*') < name.n)
		return false;
	p->n = at ? at - 1 : 0;
	return true;
}

static void add_name(struct plain *p, struct str name)
{
	if (!name.n || str_is(name, ".") || (str_is(name, "..") && take_back(p)))
		return;
	if (p->n || p->is_absolute)
		p->text[p->n++] = '/';
	memcpy(p->text + p->n, name.s, name.n);
	p->n += name.n;
}

static void add_names(struct plain *p, struct str path)
{
	while (path.n) {
		size_t n = str_find(path, '/');

		add_name(p, str_first(path, n));
		path = str_from_pos(path, MIN(n + 1, path.n));
	}
}

/* What a slash ends still ends so; what has holes is left as it is.  -1: no memory. */
static int plain_path(struct str base, struct str path, struct plain *out)
{
	size_t size = base.n + path.n + 3;

	out->is = path;
	if (!hole_free(path))
		return 0;
	out->n = 0;
	out->is_absolute = str_starts(base.n ? base : path, "/");
	out->text = out->room;
	if (size > sizeof(out->room)) {
		out->text = out->more = malloc(size);
		if (!out->more)
			return -1;
	}
	add_names(out, base);
	add_names(out, path);
	if (!out->n)
		out->text[out->n++] = out->is_absolute ? '/' : '.';
	else if (str_ends(path, "/"))
		out->text[out->n++] = '/';
	out->is = (struct str){ out->text, out->n };
	return 0;
}

static bool is_upward(struct str path)
{
	return str_is(path, "..") || str_starts(path, "../");
}

/* Both without detours.  A pattern that begins with `*` is no more than was written: what is
 * elsewhere is not below it. */
static bool plain_matches(struct str want, struct str word)
{
	cleanup_plain struct plain wanted = PLAIN, given = PLAIN;

	if (str_find(want, '/') == want.n && str_find(word, '/') == word.n)
		return false;
	if (plain_path(STR(""), want, &wanted) < 0 || plain_path(STR(""), word, &given) < 0)
		return true;
	want = wanted.is;
	word = given.is;
	if (str_starts(want, "/") != str_starts(word, "/") || is_upward(want) != is_upward(word))
		return false;
	return hole_may_be(word, want, !str_is(want, "."));
}

/* ---- from the working directory -------------------------------------------- */

static struct str without_slashes(struct str path)
{
	while (path.n > 1 && str_ends(path, "/"))
		path.n--;
	return path;
}

/* The place that a pattern names: of `/srv` and `/srv/` and of all in it (`/srv/` and a star)
 * it is `/srv/`. */
static int find_place(struct str want, struct plain *ret)
{
	if (str_ends(want, "/*"))
		want.n--;
	return plain_path(want, STR("/"), ret);
}

static bool is_below(struct str path, const struct plain *place)
{
	path = without_slashes(path);
	return !str_is(path, "/") && hole_may_be(path, place->is, true);
}

/* What a relative operand leads to from the folder it is used in.  Who works somewhere below
 * the named place may go on there: else `rm -rf /` would be every removal. */
static bool matches_from(struct str cwd, struct str want, struct str word)
{
	cleanup_plain struct plain wanted = PLAIN, given = PLAIN, whole = PLAIN, place = PLAIN;

	if (!str_starts(want, "/") || str_starts(word, "/") || !cwd.n)
		return false;
	if (plain_path(STR(""), want, &wanted) < 0 || plain_path(STR(""), word, &given) < 0 ||
	    plain_path(cwd, word, &whole) < 0 || find_place(wanted.is, &place) < 0)
		return true;
	if (str_eq(cwd, COMMAND_CWD_LOST))
		return is_upward(given.is);
	return hole_may_be(whole.is, wanted.is, true) &&
	       !(is_below(cwd, &place) && is_below(whole.is, &place));
}

/* ---- one operand ------------------------------------------------------------ */

/* A shell makes of `~` the home before the program sees it. */
static bool is_home(struct str want)
{
	return str_is(want, "~") || str_starts(want, "~/");
}

bool command_operand_matches(const struct command_place *place, struct str want, struct str word)
{
	cleanup_plain struct plain home = PLAIN;

	/* What only the environment decides is not the text's doing. */
	if (hole_is_only_env(word))
		return false;
	if (hole_may_be(word, want, true))
		return true;
	if (is_home(want) && str_starts(place->home, "/")) {
		if (plain_path(place->home, str_from_pos(want, 1), &home) < 0 ||
		    home.n > MAX_COMMAND_WORD)
			return true;
		want = home.is;
	}
	return plain_matches(want, word) || matches_from(place->cwd, want, word);
}
