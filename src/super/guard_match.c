/* Guarded names: reading them, and judging paths; see guard_priv.h. */
#include "super/guard_priv.h"

#include <unistd.h>

#include "base/path.h"

/* Characters that HFS+ takes no notice of, as git knows them. */
static bool is_ignored(uint32_t c)
{
	return (c >= 0x200c && c <= 0x200f) || (c >= 0x202a && c <= 0x202e) ||
	       (c >= 0x206a && c <= 0x206f) || c == 0xfeff;
}

size_t guard_fold(struct str name, char *out)
{
	size_t n = 0;

	while (name.n) {
		uint32_t c = 0;
		size_t bytes = str_utf8(name, &c);

		if (bytes == 0)
			bytes = 1;	/* any byte can stand in a name */
		if (bytes == 1)
			out[n++] = *name.s >= 'A' && *name.s <= 'Z' ? (char)(*name.s | 32) :
								       *name.s;
		else if (c == 0x17f)	/* long s */
			out[n++] = 's';
		else if (c == 0x212a)	/* the sign of kelvin */
			out[n++] = 'k';
		else if (!is_ignored(c))
			for (size_t i = 0; i < bytes; i++)
				out[n++] = name.s[i];
		name = str_from_pos(name, bytes);
	}
	return n;
}

struct str guard_status(struct str status, const char *key)
{
	size_t n = strlen(key);

	while (status.n) {
		size_t end = str_find(status, '\n');
		struct str line = str_first(status, end);

		if (line.n > n && line.s[n] == ':' && memcmp(line.s, key, n) == 0)
			return str_trim(str_from_pos(line, n + 1));
		status = str_from_pos(status, end < status.n ? end + 1 : end);
	}
	return STR("");
}

/* --- reading names ---------------------------------------------------------- */

#define ANYWHERE	"**/"

static int add_part(struct guard_names *g, struct guard_name *name, struct str part,
		    struct cordon_err *err)
{
	char *folded = arena_new(&g->arena, part.n, 1);

	if (!folded)
		return err_nomem(err);
	if (part.n > NAME_MAX || str_is(part, ".") || str_is(part, ".."))
		return err_set(err, CORDON_E_POLICY, "cannot guard '%s': '%.*s' is no name",
			       name->text, STR_FMT(part));
	if (name->n_base + name->n_parts == MAX_GUARD_PARTS)
		return err_set(err, CORDON_E_POLICY, "cannot guard '%s': over %d components",
			       name->text, MAX_GUARD_PARTS);
	name->raw[name->n_parts] = part;
	name->parts[name->n_parts++] = (struct str){ folded, guard_fold(part, folded) };
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

static int add_parts(struct guard_names *g, struct guard_name *name, struct str rest,
		     struct cordon_err *err)
{
	while (rest.n) {
		size_t n = str_find(rest, '/');

		if (n && add_part(g, name, str_first(rest, n), err) < 0)
			return -1;
		rest = str_from_pos(rest, n < rest.n ? n + 1 : n);
	}
	return 0;
}

static int add_name(struct guard_names *g, const char *text, struct cordon_err *err)
{
	struct guard_name *items = arena_grow(&g->arena, g->items, g->n, &g->cap,
					      sizeof(*g->items));
	const char *below = strstr(text, ANYWHERE);
	struct guard_name name = { .anywhere = below && (below == text || below[-1] == '/') };
	struct str rest = str_from(text);

	if (!items)
		return err_nomem(err);
	g->items = items;
	if (rest.n > MAX_GUARD_NAME)
		return err_set(err, CORDON_E_POLICY, "a guarded name is longer than %d bytes",
			       MAX_GUARD_NAME);
	if (below != text && !str_starts(rest, "/"))
		return err_set(err, CORDON_E_POLICY,
			       "cannot guard '%s'; write an absolute path, or **/NAME", text);
	name.text = arena_strndup(&g->arena, text, rest.n);
	name.parts = arena_new(&g->arena, count_parts(text), sizeof(*name.parts));
	name.raw = arena_new(&g->arena, count_parts(text), sizeof(*name.raw));
	if (!name.text || !name.parts || !name.raw)
		return err_nomem(err);
	rest = str_from(name.text);
	if (name.anywhere) {
		size_t n_base = (size_t)(below - text);

		if (add_parts(g, &name, str_first(rest, n_base), err) < 0)
			return -1;
		name.base = name.parts;
		name.n_base = name.n_parts;
		name.parts += name.n_parts;
		name.raw += name.n_parts;
		name.n_parts = 0;
		rest = str_from_pos(rest, n_base + strlen(ANYWHERE));
	}
	if (add_parts(g, &name, rest, err) < 0)
		return -1;
	if (name.n_parts == 0)
		return err_set(err, CORDON_E_POLICY, "cannot guard '%s': it names nothing", text);
	g->items[g->n++] = name;
	return 0;
}

int guard_names_init(struct guard_names *g, const char *const *texts, size_t n,
		     struct cordon_err *err)
{
	*g = (struct guard_names){ .arena = ARENA(64u << 20) };
	if (n > MAX_GUARD_NAMES)
		return err_set(err, CORDON_E_POLICY, "over %d guarded names", MAX_GUARD_NAMES);
	for (size_t i = 0; i < n; i++)
		if (add_name(g, texts[i], err) < 0)
			return -1;
	return 0;
}

void guard_names_release(struct guard_names *g)
{
	arena_release(&g->arena);
}

/* Most names are neighbours: where one has no link on the way, the other can
 * only be one itself. */
static bool is_plain_neighbour(const char *plain, const char *text)
{
	size_t n = (size_t)(strrchr(text, '/') - text);
	char target[1];

	return plain && (size_t)(strrchr(plain, '/') - plain) == n &&
	       memcmp(plain, text, n) == 0 && readlink(text, target, sizeof(target)) < 0;
}

int guard_names_settle(struct guard_names *g, struct cordon_err *err)
{
	const char *plain = NULL;
	size_t n = g->n;

	for (size_t i = 0; i < n; i++) {
		const char *text = g->items[i].text, *real;

		if (g->items[i].anywhere || is_plain_neighbour(plain, text))
			continue;
		if (path_resolve(&g->arena, str_from(text), "/", &real, err) < 0) {
			if (err->code != CORDON_E_POLICY)
				return -1;
			continue;	/* links that lead nowhere */
		}
		if (strcmp(real, text) == 0)
			plain = text;
		if (strcmp(real, text) != 0 && strcmp(real, "/") != 0 && add_name(g, real, err) < 0)
			return -1;
	}
	return 0;
}

/* --- judging ---------------------------------------------------------------- */

bool guard_rests_add(struct guard_rests *r, const struct guard_name *name, size_t from)
{
	if (r->n == MAX_GUARD_RESTS)
		return false;
	r->items[r->n++] = (struct guard_rest){ name->parts + from, name->n_parts - from };
	return true;
}

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
			f->parts[f->n].n = guard_fold(str_first(path, n), f->text + used);
			used += f->parts[f->n++].n;
		}
		path = str_from_pos(path, n < path.n ? n + 1 : n);
	}
	return true;
}

/* Does the path lead below the directory that a name is for? */
static bool is_in_base(const struct guard_name *name, const struct folded *f)
{
	for (size_t i = 0; i < name->n_base; i++)
		if (i == f->n || !str_eq(name->base[i], f->parts[i]))
			return false;
	return f->n > name->n_base;
}

/* Compare a name with the path from one of its components on. */
static enum guard_verdict match_from(const struct guard_name *name, const struct folded *f,
				     size_t from, struct guard_rests *rests)
{
	size_t n = MIN(name->n_parts, f->n - from);

	for (size_t i = 0; i < n; i++)
		if (!str_eq(name->parts[i], f->parts[from + i]))
			return GUARD_FREE;
	if (n == name->n_parts || !guard_rests_add(rests, name, n))
		return GUARD_HELD;
	return GUARD_PREFIX;
}

enum guard_verdict guard_match(const struct guard_names *g, struct str path,
			       struct guard_rests *ret_rests)
{
	struct folded f;

	ret_rests->n = 0;
	if (!fold_path(path, &f))
		return GUARD_HELD;
	for (size_t i = 0; i < g->n; i++) {
		size_t first = g->items[i].n_base;
		size_t last = g->items[i].anywhere && f.n ? f.n - 1 : 0;

		if (g->items[i].anywhere && !is_in_base(&g->items[i], &f))
			continue;
		for (size_t from = first; from <= last; from++)
			if (match_from(&g->items[i], &f, from, ret_rests) == GUARD_HELD)
				return GUARD_HELD;
	}
	return ret_rests->n ? GUARD_PREFIX : GUARD_FREE;
}
