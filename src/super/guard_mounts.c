/* Which mounts are the tree's; run by the actor. */
#include "super/guard_priv.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"

#define ROOM	64

static int add(struct guard_worker *w, uint64_t id, size_t *cap)
{
	if (w->n_mount_ids == *cap) {
		size_t room = *cap ? 2 * *cap : ROOM;
		uint64_t *ids = reallocarray(w->mount_ids, room, sizeof(*ids));

		if (!ids)
			return -1;
		w->mount_ids = ids;
		*cap = room;
	}
	w->mount_ids[w->n_mount_ids++] = id;
	return 0;
}

int guard_mounts_read(struct guard_worker *w, struct cordon_err *err)
{
	int fd = fcntl(w->mounts, F_DUPFD_CLOEXEC, 0);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "re");
	int rc = f && fseek(f, 0, SEEK_SET) == 0 ? 0 : -1;
	char *line = NULL;
	size_t size = 0, cap = 0;

	while (rc == 0 && getline(&line, &size, f) > 0)
		rc = add(w, strtoull(line, NULL, 10), &cap);
	if (rc == 0 && ferror(f))
		rc = -1;
	if (rc < 0)
		err_sys(err, CORDON_E_HOST, "cannot read the mounts of the tree");
	free(line);
	if (f)
		fclose(f);
	else
		fd_close(&fd);
	return rc;
}

bool guard_is_mounted(const struct guard_worker *w, int fd)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_MNT_ID, &st) < 0 ||
	    !(st.stx_mask & STATX_MNT_ID))
		return false;
	if (!S_ISDIR(st.stx_mode))
		return true;
	for (size_t i = 0; i < w->n_mount_ids; i++)
		if (w->mount_ids[i] == st.stx_mnt_id)
			return true;
	return false;
}
