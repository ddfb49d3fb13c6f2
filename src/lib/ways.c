/* See ways.h. */
#include "lib/ways.h"

#include <string.h>

#include "base/path.h"

int ways_add(struct composition *c, struct plan_request *r, const char *path,
	     struct cordon_err *err)
{
	if (!compose_is_replaceable(c, path))
		return 0;
	for (size_t i = 0; i < r->ways.n; i++)
		if (strcmp(r->ways.paths[i], path) == 0)
			return 0;
	return plan_paths_add(&c->arena, &r->ways, path, err);
}

struct names {
	struct composition *c;
	struct plan_request *r;
	struct plan_paths *list;
};

static int add_name(void *data, const char *path, struct cordon_err *err)
{
	const struct names *n = data;

	return plan_paths_add(&n->c->arena, n->list, path, err);
}

static int add_back(void *data, const char *path, struct cordon_err *err)
{
	const struct names *n = data;

	return ways_add(n->c, n->r, path, err);
}

int ways_follow(struct composition *c, struct plan_request *r, struct plan_paths *list,
		struct str path, const char *base, struct cordon_err *err)
{
	struct names n = { c, r, list };
	const struct path_visitor v = { add_name, add_back, &n };

	return path_follow_all(&c->arena, path, base, &v, err);
}
