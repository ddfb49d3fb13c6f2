/* Operands as paths, by their text; see command.h. */
#include "policy/command_priv.h"

#include <stdlib.h>

/* A path without `.`, `//` and names that `..` takes back. */
struct path {
	struct str is;
	char *text;
};

static void path_clear(struct path *p)
{
	free(p->text);
}

#define cleanup_path	__attribute__((cleanup(path_clear)))

/* `..` takes back the name before it, but not a `*` of a rule, which may be several. */
static bool take_back(struct path *p, bool is_absolute)
{
	size_t at = p->is.n;
	struct str name;

	while (at && p->text[at - 1] != '/')
		at--;
	name = str_from_pos(p->is, at);
	if (!p->is.n)
		return is_absolute;
	if (str_is(name, "..") || str_find(name, '*') < name.n)
		return false;
	p->is.n = at ? at - 1 : 0;
	return true;
}

static void add_names(struct path *p, struct str path, bool is_absolute)
{
	while (path.n) {
		struct str name = str_first(path, str_find(path, '/'));

		path = str_from_pos(path, MIN(name.n + 1, path.n));
		if (!name.n || str_is(name, ".") ||
		    (str_is(name, "..") && take_back(p, is_absolute)))
			continue;
		if (p->is.n || is_absolute)
			p->text[p->is.n++] = '/';
		memcpy(p->text + p->is.n, name.s, name.n);
		p->is.n += name.n;
	}
}

/* A slash at the end stays.  What is not known ends the path.  False: no memory. */
static bool normalise(struct str base, struct str path, struct path *out)
{
	bool is_absolute = str_starts(base.n ? base : path, "/");

	path.n = str_find(path, '\0');
	out->text = malloc(base.n + path.n + 3);
	if (!out->text)
		return false;
	out->is = (struct str){ out->text, 0 };
	add_names(out, base, is_absolute);
	add_names(out, path, is_absolute);
	if (!out->is.n)
		out->text[out->is.n++] = is_absolute ? '/' : '.';
	else if (str_ends(path, "/"))
		out->text[out->is.n++] = '/';
	return true;
}

static bool is_upward(struct str path)
{
	return str_is(path, "..") || str_starts(path, "../");
}

static struct str without_slash(struct str path)
{
	while (path.n > 1 && str_ends(path, "/"))
		path.n--;
	return path;
}

/* "/srv/" is the directory as well, and "." nothing in it. */
static bool begins(struct str want, struct str word)
{
	return command_glob(want, word, !str_is(want, ".")) ||
	       (str_ends(want, "/") && command_glob(without_slash(want), word, false));
}

/* Is the path an entry of PLACE, which ends with a slash, or below one? */
static bool is_below(struct str path, struct str place)
{
	path = without_slash(path);
	return path.n > 1 && command_glob(place, path, true);
}

/* A command that already runs below the directory that the rule names (as /srv, /srv/ or all
 * entries of it) may go on there: else `rm -rf /` would be every removal. */
static bool goes_on_below(struct str cwd, struct path *wanted, struct str word)
{
	struct str place = wanted->is;

	if (str_ends(place, "/*"))
		place.n--;
	else if (!str_ends(place, "/"))
		wanted->text[place.n++] = '/';
	return is_below(cwd, place) && is_below(word, place);
}

/* Without detours.  A relative operand is found below an absolute word of the rule from the
 * working directory; a rule that begins with `*` is not above that. */
static bool matches_path(const struct command_place *place, struct str want, struct str word)
{
	bool is_from_cwd = str_starts(want, "/") && !str_starts(word, "/");
	struct str base = is_from_cwd ? place->cwd : STR("");
	cleanup_path struct path wanted = { 0 }, given = { 0 };

	if (is_from_cwd ? !base.n :
			  str_find(want, '/') == want.n && str_find(word, '/') == word.n)
		return false;
	if (str_eq(base, COMMAND_CWD_LOST))
		base = STR("");
	if (!normalise(STR(""), want, &wanted) || !normalise(base, word, &given))
		return true;
	if (is_from_cwd && !base.n)
		return is_upward(given.is);
	return str_starts(wanted.is, "/") == str_starts(given.is, "/") &&
	       is_upward(wanted.is) == is_upward(given.is) && begins(wanted.is, given.is) &&
	       !(is_from_cwd && goes_on_below(base, &wanted, given.is));
}

/* The home directory itself, not what is in it. */
static bool is_home(const struct command_place *place, struct str word)
{
	cleanup_path struct path home = { 0 }, given = { 0 };
	bool is_lost = str_eq(place->cwd, COMMAND_CWD_LOST) && !str_starts(word, "/");

	if (str_is(without_slash(word), "~"))
		return true;
	if (!place->home.n)
		return false;
	if (!normalise(STR(""), place->home, &home) ||
	    !normalise(str_starts(word, "/") || is_lost ? STR("") : place->cwd, word, &given))
		return true;
	return is_lost ? is_upward(given.is) :
			 str_eq(without_slash(given.is), without_slash(home.is));
}

bool command_operand_matches(const struct command_place *place, struct str want, struct str word)
{
	cleanup_path struct path wanted = { 0 };

	if (str_is(want, "~") || str_is(want, "~/"))
		return is_home(place, word);
	if (command_glob(want, word, true) || matches_path(place, want, word))
		return true;
	/* A shell makes the home of `~` before the program sees it. */
	return str_starts(want, "~/") && str_starts(place->home, "/") &&
	       (!normalise(place->home, str_from_pos(want, 1), &wanted) ||
		matches_path(place, wanted.is, word));
}
