/* Guarded names: reading them, and judging paths; see guard_priv.h. */
#include "super/guard_priv.h"

#include "base/name.h"

#define NAME_BYTES	224	/* of memory, about: most have three parts */

/* --- reading names ---------------------------------------------------------- */

static int add_part(struct guard_names *g, struct guard_name *name, struct str part,
		    struct cordon_err *err)
{
	char *folded = arena_new(&g->arena, part.n, 1);

	if (!folded)
		return err_nomem(err);
	if (part.n > NAME_MAX || str_is(part, ".") || str_is(part, ".."))
		return err_set(err, CORDON_E_POLICY, "cannot guard '%s': '%.*s' is no name",
			       name->text, STR_FMT(part));
	if (name->n_parts == MAX_GUARD_PARTS)
		return err_set(err, CORDON_E_POLICY, "cannot guard '%s': over %d components",
			       name->text, MAX_GUARD_PARTS);
	if (name->n_literal == name->n_parts && !memchr(part.s, '*', part.n))
		name->n_literal++;
	name->raw[name->n_parts] = part;
	name->parts[name->n_parts++] = (struct str){ folded, name_fold(part, folded) };
	return 0;
}

/* As many as there can be. */
static size_t count_parts(const char *text)
{
	size_t n = 1;

	for (; *text; text++)
		n += *text == '/';
	return MIN(n, MAX_GUARD_PARTS);
}

static int check_name(const char *text, struct cordon_err *err)
{
	if (strlen(text) > MAX_GUARD_NAME)
		return err_set(err, CORDON_E_POLICY, "a guarded name is longer than %d bytes",
			       MAX_GUARD_NAME);
	if (text[0] != '/' && strncmp(text, "**/", 3) != 0)
		return err_set(err, CORDON_E_POLICY,
			       "cannot guard '%s'; write an absolute path, or **/NAME", text);
	return 0;
}

int guard_names_check(const struct plan_guarded *given, size_t n, struct cordon_err *err)
{
	if (n > MAX_GUARD_NAMES)
		return err_set(err, CORDON_E_POLICY, "over %d guarded names", MAX_GUARD_NAMES);
	for (size_t i = 0; i < n; i++)
		if (check_name(given[i].name, err) < 0)
			return -1;
	return 0;
}

int guard_names_add(struct guard_names *g, const char *text, const struct guard_name *like,
		    struct cordon_err *err)
{
	struct guard_name *items = arena_grow(&g->arena, g->items, g->n, &g->cap,
					      sizeof(*g->items));
	struct guard_name name = { .anywhere = str_starts(str_from(text), "**/"),
				   .given = like->given, .cause = like->cause };
	struct str rest = str_from(text);

	if (!items)
		return err_nomem(err);
	g->items = items;
	if (check_name(text, err) < 0)
		return -1;
	name.text = text;
	name.parts = arena_new(&g->arena, count_parts(text), sizeof(*name.parts));
	name.raw = arena_new(&g->arena, count_parts(text), sizeof(*name.raw));
	if (!name.parts || !name.raw)
		return err_nomem(err);
	rest = str_from(name.text + (name.anywhere ? 3 : 1));
	while (rest.n) {
		size_t n = str_find(rest, '/');

		if (n && add_part(g, &name, str_first(rest, n), err) < 0)
			return -1;
		rest = str_from_pos(rest, n < rest.n ? n + 1 : n);
	}
	if (name.n_parts == 0)
		return err_set(err, CORDON_E_POLICY, "cannot guard '%s': it names nothing", text);
	g->items[g->n++] = name;
	return 0;
}

int guard_names_init(struct guard_names *g, const struct plan_guarded *given, size_t n,
		     struct cordon_err *err)
{
	*g = (struct guard_names){ .arena = ARENA(64u << 20) };
	if (guard_names_check(given, n, err) < 0)
		return -1;
	arena_expect(&g->arena, n * NAME_BYTES);
	for (size_t i = 0; i < n; i++) {
		struct guard_name like = { .given = i, .cause = given[i].cause };

		if (guard_names_add(g, given[i].name, &like, err) < 0)
			return -1;
	}
	return 0;
}

void guard_names_release(struct guard_names *g)
{
	arena_release(&g->arena);
}

/* --- judging ---------------------------------------------------------------- */

/* The components of a path, folded, in place. */
struct folded {
	struct str parts[PATH_MAX / 2 + NAME_MAX];
	size_t n;
	char text[PATH_MAX + NAME_MAX + 2];
};

static bool fold_path(struct str path, struct folded *f)
{
	size_t used = 0;

	f->n = 0;
	while (path.n) {
		size_t n = str_find(path, '/');

		if (n) {
			if (used + n > sizeof(f->text) || f->n == ARRAY_SIZE(f->parts))
				return false;
			f->parts[f->n].s = f->text + used;
			f->parts[f->n].n = name_fold(str_first(path, n), f->text + used);
			used += f->parts[f->n++].n;
		}
		path = str_from_pos(path, n < path.n ? n + 1 : n);
	}
	return true;
}

/* How many parts of a name fit the path from one of its components on, up to the end of
 * either. */
static bool match_from(const struct guard_name *name, const struct folded *f, size_t from,
		       size_t *ret_n)
{
	size_t n = MIN(name->n_parts, f->n - from);

	for (size_t i = 0; i < n; i++)
		if (!str_glob(name->parts[i], f->parts[from + i]))
			return false;
	*ret_n = n;
	return true;
}

int guard_each_way(const struct guard_names *g, struct str path, guard_way_fn *act, void *data)
{
	struct folded f;
	int rc = 0;

	if (!fold_path(path, &f))
		return 1;
	for (size_t i = 0; rc == 0 && i < g->n; i++) {
		const struct guard_name *name = &g->items[i];
		size_t n, last = name->anywhere && f.n ? f.n - 1 : 0;

		for (size_t from = 0; rc == 0 && from <= last; from++)
			if (match_from(name, &f, from, &n))
				rc = act(data, name, n);
	}
	return rc;
}

/* What many names fit is no name that anybody looks for: only what leads
 * through it counts. */
static enum guard_verdict judge_way(const struct guard_name *name, size_t n)
{
	if (n == name->n_parts)
		return GUARD_HELD;
	return n && memchr(name->parts[n - 1].s, '*', name->parts[n - 1].n) ? GUARD_LOOSE :
									      GUARD_PREFIX;
}

int guard_add_way(void *data, const struct guard_name *name, size_t n)
{
	struct guard_finding *is = data, more = { judge_way(name, n), name };

	if (more.verdict > is->verdict ||
	    (more.verdict == is->verdict && is->by && name->cause > is->by->cause))
		*is = more;
	return 0;
}

struct guard_finding guard_match(const struct guard_names *g, struct str path)
{
	struct guard_finding is = { GUARD_FREE, NULL };

	if (guard_each_way(g, path, guard_add_way, &is))
		is.verdict = GUARD_HELD;
	return is;
}
