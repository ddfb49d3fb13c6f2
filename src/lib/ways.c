/* See ways.h. */
#include "lib/ways.h"

#include <string.h>

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
