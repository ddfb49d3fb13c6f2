/* Masks that nothing can lie beneath; runs in init.
 *
 * Most masks are for files of the home, where a private tmpfs stands instead: all
 * that is in it was mounted there, or leads to what was.  So whether anything is
 * at such a path is known without asking the kernel. */
#include <string.h>

#include "backend/native/init_priv.h"
#include "base/path.h"

/* All that was put into a tmpfs; false where it cannot be told. */
static bool list_tmpfs(struct init *in, size_t tmpfs)
{
	const char *place = in->mounts[tmpfs].target;
	struct hollow *h = &in->hollow;

	h->n = 0;
	for (size_t i = 0; i < in->n_mounts; i++) {
		const char *target = in->mounts[i].target;

		if (in->trees[i] != TREE_PLACED || i == tmpfs)
			continue;
		/* It covers the tmpfs. */
		if (i > tmpfs && path_within(place, target))
			return false;
		if (!path_within(target, place))
			continue;
		if (h->n == ARRAY_SIZE(h->below))
			return false;
		h->below[h->n++] = target;
	}
	h->tmpfs = place;
	return true;
}

static bool find_tmpfs(struct init *in, const char *path)
{
	in->hollow.tmpfs = NULL;
	for (size_t i = in->n_mounts; i > 0; i--) {
		const struct plan_mount *m = &in->mounts[i - 1];

		if (m->kind == MOUNT_PRIVATE && in->trees[i - 1] == TREE_PLACED &&
		    path_within(path, m->target))
			return list_tmpfs(in, i - 1);
	}
	return false;
}

bool is_hollow(struct init *in, const char *path)
{
	struct hollow *h = &in->hollow;

	if (!(h->tmpfs && path_within(path, h->tmpfs)) && !find_tmpfs(in, path))
		return false;
	for (size_t i = 0; i < h->n; i++)
		if (path_within(path, h->below[i]) || path_within(h->below[i], path))
			return false;
	return strcmp(path, h->tmpfs) != 0;
}
