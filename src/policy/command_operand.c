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

static struct str without_slashes(struct str path)
{
	while (path.n > 1 && str_ends(path, "/"))
		path.n--;
	return path;
}

/* As text; what ends with a slash is the folder as well. */
static bool begins_so(struct str want, struct str word)
{
	return hole_may_be(word, want, !str_is(want, ".")) ||
	       (str_ends(want, "/") && hole_may_be(word, without_slashes(want), false));
}

static bool has_slash(struct str path)
{
	return str_find(path, '/') < path.n;
}

/* Both without detours.  A pattern that begins with `*` is no more than was written: what is
 * elsewhere is not below it. */
static bool plain_matches(struct str want, struct str word)
{
	cleanup_plain struct plain wanted = PLAIN, given = PLAIN;

	if (plain_path(STR(""), want, &wanted) < 0 || plain_path(STR(""), word, &given) < 0)
		return true;
	want = wanted.is;
	word = given.is;
	if (str_starts(want, "/") != str_starts(word, "/") || is_upward(want) != is_upward(word))
		return false;
	return begins_so(want, word);
}

/* ---- from the working directory -------------------------------------------- */

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

	if (plain_path(STR(""), want, &wanted) < 0 || plain_path(STR(""), word, &given) < 0 ||
	    plain_path(cwd, word, &whole) < 0 || find_place(wanted.is, &place) < 0)
		return true;
	if (str_eq(cwd, COMMAND_CWD_LOST))
		return is_upward(given.is);
	return begins_so(wanted.is, whole.is) &&
	       !(is_below(cwd, &place) && is_below(whole.is, &place));
}

/* ---- one operand ------------------------------------------------------------ */

/* An absolute pattern, and a relative operand of a command that runs somewhere. */
static bool depends_on_folder(const struct command_place *place, struct str want, struct str word)
{
	return place->cwd.n && str_starts(want, "/") && !str_starts(word, "/");
}

static bool path_matches(const struct command_place *place, struct str want, struct str word)
{
	return ((has_slash(want) || has_slash(word)) && plain_matches(want, word)) ||
	       (depends_on_folder(place, want, word) && matches_from(place->cwd, want, word));
}

/* The home itself: what is in it is the caller's work, too. */
static bool is_home(const struct command_place *place, struct str word)
{
	cleanup_plain struct plain home = PLAIN, given = PLAIN;
	struct str base = str_starts(word, "/") ? STR("") : place->cwd;

	if (plain_path(STR(""), place->home, &home) < 0 || plain_path(base, word, &given) < 0)
		return true;
	if (str_eq(base, COMMAND_CWD_LOST))
		return is_upward(given.is);
	return str_eq(without_slashes(given.is), without_slashes(home.is));
}

static bool home_matches(const struct command_place *place, struct str want, struct str word)
{
	cleanup_plain struct plain wanted = PLAIN;

	if (str_is(want, "~") || str_is(want, "~/"))
		return is_home(place, word);
	return plain_path(place->home, str_from_pos(want, 1), &wanted) < 0 ||
	       wanted.is.n > MAX_COMMAND_WORD || path_matches(place, wanted.is, word);
}

bool command_operand_matches(const struct command_place *place, struct str want, struct str word)
{
	/* What only the environment decides is not the text's doing. */
	if (hole_is_only_env(word))
		return false;
	if (hole_may_be(word, want, true) || path_matches(place, want, word))
		return true;
	/* A shell makes of `~` the home before the program sees it. */
	return (str_is(want, "~") || str_starts(want, "~/")) && str_starts(place->home, "/") &&
	       home_matches(place, want, word);
}
