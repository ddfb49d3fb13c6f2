/* The mounts of the tree; run by the actor. */
#include "super/guard_priv.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/syscalls.h"

#define ROOM	64

/* Call fn for each line until it does not return 0; returns what it did, or -errno. */
static int each_mount(const struct guard_worker *w, int (*fn)(char *line, void *arg), void *arg)
{
	int fd = fcntl(w->mounts, F_DUPFD_CLOEXEC, 0);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "re");
	int rc = f && fseek(f, 0, SEEK_SET) == 0 ? 0 : guard_rc(-1);
	char *line = NULL;
	size_t size = 0;

	while (rc == 0 && getline(&line, &size, f) > 0)
		rc = fn(line, arg);
	if (rc == 0 && ferror(f))
		rc = -EIO;
	free(line);
	if (f)
		fclose(f);
	else
		fd_close(&fd);
	return rc;
}

/* --- their numbers ------------------------------------------------------------ */

static int add_id(char *line, void *arg)
{
	struct guard_worker *w = arg;

	if (w->n_mount_ids % ROOM == 0) {
		uint64_t *ids = reallocarray(w->mount_ids, w->n_mount_ids + ROOM, sizeof(*ids));

		if (!ids)
			return -ENOMEM;
		w->mount_ids = ids;
	}
	w->mount_ids[w->n_mount_ids++] = strtoull(line, NULL, 10);
	return 0;
}

/* Not before they are asked for: most calls come from the root, and reading them takes
 * longer than the rest of the guard's start. */
static int read_ids(struct guard_worker *w)
{
	int rc = w->n_mount_ids ? 0 : each_mount(w, add_id, w);

	if (rc < 0)
		w->n_mount_ids = 0;
	return rc;
}

bool guard_is_mounted(struct guard_worker *w, int fd)
{
	struct statx st;

	if (read_ids(w) < 0)
		return false;
	if (sys_statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) < 0 ||
	    !(st.stx_mask & STATX_MNT_ID))
		return false;
	for (size_t i = 0; i < w->n_mount_ids; i++)
		if (w->mount_ids[i] == st.stx_mnt_id)
			return true;
	return false;
}

bool guard_is_read_only(int fd)
{
	struct statvfs fs;

	return fstatvfs(fd, &fs) < 0 || fs.f_flag & ST_RDONLY;
}

/* --- where they stand --------------------------------------------------------- */

/* The text of a mount point up to the next blank: the kernel writes blanks and
 * backslashes in octal.  Returns its bytes. */
static size_t unescape(char *text)
{
	size_t n = 0;

	for (size_t i = 0; text[i] && text[i] != ' '; n++) {
		unsigned c;

		if (text[i] == '\\' && sscanf(text + i + 1, "%3o", &c) == 1) {
			text[n] = (char)c;
			i += 4;
		} else {
			text[n] = text[i++];
		}
	}
	return n;
}

/* Does the way to this mount point lead through the directory `st` of that name?
 * It may be in sight in two places: so the name is only why to look. */
static int leads_through(char *point, struct str name, const struct stat *st)
{
	size_t n = unescape(point);
	struct stat on_way;

	for (size_t i = 1, from = 1; i < n; i++) {
		if (point[i] != '/')
			continue;
		point[i] = '\0';
		if (str_eq((struct str){ point + from, i - from }, name)) {
			if (stat(point, &on_way) < 0)
				return guard_rc(-1);
			if (on_way.st_dev == st->st_dev && on_way.st_ino == st->st_ino)
				return 1;
		}
		point[i] = '/';
		from = i + 1;
	}
	return 0;
}

struct search {
	struct str name;
	const struct stat *st;
};

static int stands_below(char *line, void *arg)
{
	const struct search *s = arg;
	char *point = line;

	/* number, parent, device, root, mount point */
	for (int i = 0; point && i < 4; i++) {
		point = strchr(point, ' ');
		if (point)
			point++;
	}
	return point ? leads_through(point, s->name, s->st) : -EIO;
}

int guard_has_mount_below(const struct guard_worker *w, struct str name, const struct stat *st)
{
	struct search s = { name, st };

	return each_mount(w, stands_below, &s);
}
