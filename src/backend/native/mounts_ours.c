/* Masks, and texts of ours instead of files of the host's; runs in init. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/native/mounts_priv.h"
#include "base/syscalls.h"

/* An open writer would keep the mount from becoming read-only. */
static int write_ours(int mnt, const char *name, const char *text, mode_t mode)
{
	int fd = openat(mnt, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	ssize_t n = (ssize_t)strlen(text);

	if (fd < 0 || write(fd, text, (size_t)n) != n || fchmod(fd, mode) < 0)
		return -1;
	return close(fd);
}

/* Everything of ours that may stand somewhere: a folder beside the new root, in a mount of
 * its own to be cloned from.  Masks, which nobody can read either, are an empty place of
 * mode 0; that of a program seems to be one until it is executed, so that a shell tries to,
 * and it is told who refuses. */
static int make_ours(struct init *in, struct cordon_err *err)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC };
	int ground = in->fds.fd[NATIVE_GROUND], mnt;
	char text[24];

	mnt = mkdirat(ground, "ours", 0755) < 0 ? -1 :
	      sys_open_tree(ground, "ours", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (mnt < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot make a place for masks");
	for (size_t i = 0; i < in->n_mounts; i++) {
		if (in->mounts[i].kind != MOUNT_TEXT)
			continue;
		name_after(in, &in->mounts[i], text);
		if (write_ours(mnt, text, in->mounts[i].source, 0444) < 0)
			return err_sys(err, CORDON_E_SETUP, "cannot write a text for '%s'",
				       in->mounts[i].target);
	}
	if (write_ours(mnt, "file", "", 0) < 0 || mkdirat(mnt, "dir", 0) < 0 ||
	    write_ours(mnt, "program", "", NATIVE_MASK_MODE) < 0 ||
	    sys_mount_setattr(mnt, "", AT_EMPTY_PATH, &attr) < 0 || hang_up(mnt) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot make a mask");
	in->masks = mnt;
	return 0;
}

/* A file or directory that nobody inside can change. */
static int open_ours(struct init *in, const char *name, struct cordon_err *err)
{
	int fd;

	if (in->masks < 0 && make_ours(in, err) < 0)
		return -1;
	fd = sys_open_tree(in->masks, name, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	return fd < 0 ? err_sys(err, CORDON_E_SETUP, "cannot make a mask") : fd;
}

/* What the path leads to is masked, through links as well: a denied link must
 * not be a way to its target. */
static int mask_once(struct init *in, const struct plan_mount *m, struct cordon_err *err)
{
	int place = -1, mask, rc;
	const char *name = "";
	bool is_dir;
	/* Without a link on the way, its name is enough: what stands there when the
	 * mask comes is masked. */
	int dir = look_at_place(in, m->target, &name, &is_dir);

	if (dir < 0 && errno == ENOENT)
		return 0;
	if (dir < 0 && open_place(in, m->target, &place, &is_dir, err) < 0)
		return -1;
	if (dir < 0 && place < 0)
		return 0;
	mask = open_ours(in, is_dir ? "dir" : m->exec ? "program" : "file", err);
	if (mask < 0)
		return -1;
	rc = dir < 0 ? sys_move_mount(mask, "", place, "",
				      MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) :
		       sys_move_mount(mask, "", dir, name, MOVE_MOUNT_F_EMPTY_PATH);
	if (rc < 0)
		err_sys(err, CORDON_E_SETUP, "cannot mask '%s'", m->target);
	if (is_dir)
		forget_folders(in);
	close(mask);
	if (place >= 0)
		close(place);
	return rc;
}

int mount_mask(struct init *in, const struct plan_mount *m, int tree UNUSED,
		      const struct target *t UNUSED, struct cordon_err *err)
{
	return is_hollow(in, m->target) ? 0 : hold_mount(in, m, mask_once, err);
}

/* Where a link of this path leads, without a dot in it: two of them at the top
 * would lead to the old root.  False: it is too long. */
static bool follow(char path[4096], const char *link)
{
	char joined[8192];
	size_t n = 0;

	if (link[0] == '/')
		*path = '\0';
	else
		*strrchr(path, '/') = '\0';
	snprintf(joined, sizeof(joined), "%s/%s", path, link);
	for (const char *at = joined; *at;) {
		size_t len;

		at += strspn(at, "/");
		len = strcspn(at, "/");
		if (len == 2 && strncmp(at, "..", 2) == 0) {
			while (n && path[--n] != '/')
				;
		} else if (len && !(len == 1 && *at == '.')) {
			if (n + len + 1 >= 4096)
				return false;
			path[n++] = '/';
			memcpy(path + n, at, len);
			n += len;
		}
		at += len;
	}
	path[n] = '\0';
	return n > 0;
}

/* The file that a path leads to, made where nothing is, but only in what is
 * ours: /etc/resolv.conf may well lead to a place that is not inside.  -1 with
 * errno. */
static int find_text_place(struct init *in, const char *target)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	char path[4096], link[4096];

	snprintf(path, sizeof(path), "%s", target);
	for (int i = 0; i < 8; i++) {
		int place = sys_openat2(in->root, path, &how);
		struct target t;
		ssize_t n;

		if (place >= 0 || errno != ENOENT || find_target(in, path, &t) < 0)
			return place;
		n = readlinkat(t.dir, t.name, link, sizeof(link) - 1);
		if (n < 0 && errno == ENOENT && make_place(in, &t, false) == 0)
			place = openat(t.dir, t.name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (n < 0)
			return place;
		link[n] = '\0';
		if (!follow(path, link))
			break;
	}
	errno = ELOOP;
	return -1;
}

int mount_text(struct init *in, const struct plan_mount *m, int tree UNUSED,
		      const struct target *t UNUSED, struct cordon_err *err)
{
	int place = find_text_place(in, m->target), file, rc;
	char name[24];

	if (place < 0)
		return m->optional ? 0 : err_sys(err, CORDON_E_SETUP, "cannot replace '%s'",
						 m->target);
	name_after(in, m, name);
	file = tree_is_dir(place) ? err_set(err, CORDON_E_SETUP, "'%s' is a directory", m->target) :
				    open_ours(in, name, err);
	if (file < 0) {
		close(place);
		return -1;
	}
	rc = sys_move_mount(file, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
	if (rc < 0)
		err_sys(err, CORDON_E_SETUP, "cannot replace '%s'", m->target);
	close(file);
	close(place);
	return rc;
}
