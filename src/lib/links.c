/* Links by which somebody names what a cordon shows; see links.h.
 *
 * A link is only a name: what is granted was found out by following it, and is granted
 * whether or not the name is there.  So a link that a command has left in a writable root
 * opens nothing here.
 */
#include "lib/links.h"

#include <stdlib.h>

#include "base/path.h"

struct search {
	struct composition *c;
	struct plan_request *r;
	struct cordon_err *err;
};

static bool is_on_one_way(const char *a, const char *b)
{
	return path_within(a, b) || path_within(b, a);
}

/* Is something shown there, above it or below? */
static bool is_shown(const struct search *s, const char *path)
{
	static const enum field_id ids[] = { F_FILES_READ, F_FILES_WRITE, F_FILES_SOCKETS };

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		const struct field_value *roots = &s->c->policy.base.f[ids[i]];

		for (size_t k = 0; k < roots->n; k++)
			if (is_on_one_way(roots->items[k].text.s, path))
				return true;
	}
	return s->r->home && is_on_one_way(s->r->home, path);
}

static int add_link(struct search *s, const char *path, const char *target)
{
	struct plan_request *r = s->r;
	struct plan_link *links;

	for (size_t i = 0; i < r->n_links; i++)
		if (strcmp(r->links[i].path, path) == 0)
			return 0;
	if (!is_shown(s, target))
		return 0;
	links = arena_grow(&s->c->arena, r->links, r->n_links, &r->cap_links, sizeof(*links));
	if (!links)
		return err_nomem(s->err);
	r->links = links;
	r->links[r->n_links++] = (struct plan_link){ path, target };
	return 0;
}

/* One part further from a real path; *at is where that leads. */
static int step(struct search *s, struct str part, const char **at)
{
	struct arena *a = &s->c->arena;
	const char *path = arena_printf(a, "%s/%.*s", (*at)[1] ? *at : "", STR_FMT(part)), *real;

	if (!path)
		return err_nomem(s->err);
	if (path_resolve(a, str_from(path), "/", &real, s->err) < 0)
		return -1;
	*at = real;
	if (strcmp(real, path) == 0 || str_is(part, ".") || str_is(part, ".."))
		return 0;
	return add_link(s, path, real);
}

static int walk(struct search *s, const char *path)
{
	const char *at = "/";

	for (struct str rest = str_from(path); rest.n;) {
		size_t n = str_find(rest, '/');

		if (n && step(s, str_first(rest, n), &at) < 0)
			return -1;
		rest = str_from_pos(rest, n < rest.n ? n + 1 : n);
	}
	return 0;
}

/* By another name of this place; what leads elsewhere is another one. */
static int walk_to(struct search *s, const char *path, const char *place)
{
	struct cordon_err ignored;
	const char *real;

	if (!path || path[0] != '/' || strcmp(path, place) == 0 ||
	    path_resolve(&s->c->arena, str_from(path), "/", &real, &ignored) < 0 ||
	    strcmp(real, place) != 0)
		return 0;
	return walk(s, path);
}

int links_find(struct composition *c, const struct cordon_request *req, struct plan_request *r,
	       struct cordon_err *err)
{
	struct search s = { c, r, err };

	if (r->home && strcmp(c->home, r->home) != 0 && walk(&s, c->home) < 0)
		return -1;
	for (size_t i = 0; i < c->written.n; i++)
		if (walk(&s, c->written.items[i]) < 0)
			return -1;
	/* As the caller's shell calls it. */
	if (walk_to(&s, getenv("PWD"), c->here) < 0)
		return -1;
	return walk_to(&s, req->cwd, c->cwd);
}
