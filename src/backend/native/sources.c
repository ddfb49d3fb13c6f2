/* What of the host's is to come inside, cloned while it is still in sight; runs in init. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include "backend/native/mounts_priv.h"
#include "base/syscalls.h"

bool has_source(const struct plan_mount *m)
{
	if (m->keep)
		return false;
	return m->kind == MOUNT_RO || m->kind == MOUNT_RW || m->kind == MOUNT_SYSTEM ||
	       m->kind == MOUNT_DEV;
}

static bool is_link(const char *path)
{
	char target[1];

	return readlink(path, target, sizeof(target)) >= 0;
}

/* -1 with errno; ELOOP where a link is on the way. */
static int open_plain_tree(struct folder *host, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS };
	int at, tree, error;

	if (!folder_has(host, path))
		return -1;
	at = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	if (at < 0)
		return -1;
	tree = sys_open_tree(at, "", CLONE_OF_FD);
	error = errno;
	close(at);
	errno = error;
	return tree;
}

static int open_source(const struct plan_mount *m, struct folder *host, int *ret,
		       struct cordon_err *err)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_NOSUID };

	if (m->kind == MOUNT_SYSTEM && is_link(m->source)) {
		*ret = TREE_LINK;
		return 0;
	}
	/* A root was resolved when the policy was read: a link that stands there now
	 * was put there since, perhaps by another run that may write there. */
	*ret = m->plain || m->root ? open_plain_tree(host, m->source) :
			  sys_open_tree(AT_FDCWD, m->source,
					OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	if (*ret < 0) {
		if (m->optional && is_absence())
			return 0;
		return err_sys(err, CORDON_E_SETUP, "cannot reach '%s'", m->source);
	}
	if (m->kind != MOUNT_DEV)
		attr.attr_set |= MOUNT_ATTR_NODEV;
	/* A node on a read-only mount is written like any other, but its mode,
	 * owner and times are not: those of /dev/null are the whole machine's. */
	if (m->kind != MOUNT_RW)
		attr.attr_set |= MOUNT_ATTR_RDONLY;
	if (sys_mount_setattr(*ret, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot restrict the mount of '%s'", m->source);
	return 0;
}

int step_open_sources(struct init *in, struct cordon_err *err)
{
	struct folder host = FOLDER(AT_FDCWD, RESOLVE_NO_SYMLINKS);

	if (!(in->plan->clone_flags & CLONE_NEWNS))
		return 0;
	/* Nothing of ours may show on the host, nor the reverse. */
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot make the mounts private");
	for (size_t i = 0; i < in->n_mounts; i++) {
		in->trees[i] = TREE_NONE;
		if (has_source(&in->mounts[i]) &&
		    open_source(&in->mounts[i], &host, &in->trees[i], err) < 0)
			return -1;
	}
	folder_close(&host);
	return 0;
}
