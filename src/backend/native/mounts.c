/* Building the file system that the command sees; runs in init.
 *
 * Sources are cloned while the host's tree is still in sight (sources.c); then an empty
 * tmpfs is attached over "/" and everything is moved into it.  The old root
 * stays mounted beneath, where no path leads: no pivot_root, and no unmount,
 * which would wait for every CPU.
 *
 * The new root hangs at a folder of that tmpfs in which nothing is.  When the run is over
 * the supervisor removes the folder, and the kernel takes away what is mounted there in one
 * piece.  When the namespace ends it takes mount from mount: who has a directory of this
 * tree, because it was sent to him, would then see what the masks in it are for.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>

#include "backend/native/mounts_priv.h"
#include "base/syscalls.h"


int new_fs(const char *type, const char *const options[][2], size_t n, unsigned attrs,
	   struct cordon_err *err)
{
	int fs = sys_fsopen(type), mnt = -1;

	if (fs < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot make a %s", type);
	for (size_t i = 0; i < n; i++)
		if (sys_fsconfig(fs, FSCONFIG_SET_STRING, options[i][0], options[i][1]) < 0) {
			err_sys(err, CORDON_E_SETUP, "cannot set %s=%s of a %s", options[i][0],
				options[i][1], type);
			close(fs);
			return -1;
		}
	if (sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL) < 0)
		err_sys(err, CORDON_E_SETUP, "cannot make a %s", type);
	else if ((mnt = sys_fsmount(fs, attrs)) < 0)
		err_sys(err, CORDON_E_SETUP, "cannot mount a %s", type);
	close(fs);
	return mnt;
}

/* Does it lie in a file system that we made?  Only there may a place be made:
 * nothing of ours appears on the host.  Nor below a mask. */
static bool is_ours(const struct init *in, int fd)
{
	struct statvfs fs;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return false;
	for (size_t i = 0; i < in->n_ours; i++)
		if (in->ours[i] == st.st_dev)
			return fstatvfs(fd, &fs) == 0 && !(fs.f_flag & ST_RDONLY);
	return false;
}

static int note_ours(struct init *in, int mnt, struct cordon_err *err)
{
	struct stat st;

	if (fstat(mnt, &st) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot look at a new mount");
	if (in->n_ours == ARRAY_SIZE(in->ours))
		return err_set(err, CORDON_E_BUG, "too many private places");
	in->ours[in->n_ours++] = st.st_dev;
	return 0;
}

static int clone_tree(int dir, const char *path)
{
	return sys_open_tree(dir, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
}

int hang_up(int mnt)
{
	return sys_move_mount(mnt, "", AT_FDCWD, "/proc", MOVE_MOUNT_F_EMPTY_PATH);
}

void name_after(const struct init *in, const struct plan_mount *m, char ret[24])
{
	snprintf(ret, 24, "%zu", (size_t)(m - in->mounts));
}

static int cover(int mnt)
{
	return sys_move_mount(mnt, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH);
}

/* The file system over "/", with the folder where the root hangs and one that it can be made
 * of.  Who goes up from a root of another run's gets there, and may not change anything: so
 * once more over it, only to be read; the other is the supervisor's. */
static int make_ground(struct init *in, struct cordon_err *err)
{
	static const char *const options[][2] = { { "mode", "0755" }, { "size", "4m" } };
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };
	int ground = new_fs("tmpfs", options, 2, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, err);
	int seen;

	in->fds.fd[NATIVE_GROUND] = ground;
	if (ground < 0)
		return -1;
	if (mkdirat(ground, NATIVE_ROOT, 0) < 0 || mkdirat(ground, "made", 0755) < 0 ||
	    cover(ground) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot make a ground for the new root");
	seen = clone_tree(ground, "");
	if (seen < 0 || sys_mount_setattr(seen, "", AT_EMPTY_PATH, &attr) < 0 || cover(seen) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot close the ground of the new root");
	return seen;
}

int step_new_root(struct init *in, struct cordon_err *err)
{
	bool whole = in->n_mounts && strcmp(in->mounts[0].target, "/") == 0;
	int ground;

	if (!(in->plan->clone_flags & CLONE_NEWNS))
		return 0;
	ground = make_ground(in, err);
	if (ground < 0)
		return -1;
	in->root = whole ? in->trees[0] : clone_tree(in->fds.fd[NATIVE_GROUND], "made");
	if (in->root < 0 ||
	    sys_move_mount(in->root, "", ground, NATIVE_ROOT, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot mount the new root");
	close(ground);
	if (!whole && note_ours(in, in->root, err) < 0)
		return -1;
	in->place = FOLDER(in->root,
			   RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	in->seen = FOLDER(in->root, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	in->seen.names = &in->names;
	return 0;
}

/* ---- targets ------------------------------------------------------------ */

/* Step into one component, making it where we may.  -1 with errno. */
static int enter(const struct init *in, int dir, const char *name)
{
	int next = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (next >= 0 || errno != ENOENT || !is_ours(in, dir))
		return next;
	if (mkdirat(dir, name, 0755) < 0)
		return -1;
	return openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* The parent directory, component by component, making what is missing. */
static int make_parents(const struct init *in, const char *path, size_t n)
{
	int dir = openat(in->root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (size_t at = 0; dir >= 0;) {
		char name[256];
		size_t len;
		int next;

		at += strspn(path + at, "/");
		if (at >= n)
			return dir;
		len = strcspn(path + at, "/");
		if (len >= sizeof(name)) {
			close(dir);
			errno = ENAMETOOLONG;
			return -1;
		}
		memcpy(name, path + at, len);
		name[len] = '\0';
		next = enter(in, dir, name);
		close(dir);
		dir = next;
		at += len;
	}
	return -1;
}

int find_target(struct init *in, const char *path, struct target *ret)
{
	ret->dir = folder_open(&in->place, path, &ret->name);
	if (ret->dir >= 0)
		return 0;
	if (errno == ENOENT)
		ret->dir = make_parents(in, path, (size_t)(ret->name - 1 - path));
	if (ret->dir < 0)
		return -1;
	folder_take(&in->place, path, ret->dir);
	return 0;
}

static bool may_make(struct init *in, const struct target *t)
{
	if (!in->place.judged) {
		in->place.ours = is_ours(in, t->dir);
		in->place.judged = true;
	}
	return in->place.ours;
}

int make_place(struct init *in, const struct target *t, bool is_dir)
{
	struct stat st;

	if (!may_make(in, t))
		return fstatat(t->dir, t->name, &st, AT_SYMLINK_NOFOLLOW);
	if ((is_dir ? mkdirat(t->dir, t->name, 0755)
		    : mknodat(t->dir, t->name, S_IFREG | 0444, 0)) < 0 && errno != EEXIST)
		return -1;
	return 0;
}

static int attach(int tree, const struct target *t)
{
	return sys_move_mount(tree, "", t->dir, t->name, MOVE_MOUNT_F_EMPTY_PATH);
}

bool tree_is_dir(int tree)
{
	struct stat st;

	return fstat(tree, &st) == 0 && S_ISDIR(st.st_mode);
}

/* ---- kinds -------------------------------------------------------------- */

void forget_folders(struct init *in)
{
	folder_close(&in->place);
	folder_close(&in->seen);
}

/* A protected path is cut out of what is there, and makes no place.  It is what
 * the path leads to that must not change: a link into a writable root would
 * leave its target open. */
static int keep_once(struct init *in, const struct plan_mount *m, struct cordon_err *err)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
					       MOUNT_ATTR_RDONLY };
	int place, tree, rc;
	bool is_dir;

	if (open_place(in, m->target, &place, &is_dir, err) < 0)
		return -1;
	if (place < 0)
		return 0;
	if (m->file && is_dir) {
		close(place);
		return 0;
	}
	tree = sys_open_tree(place, "", CLONE_OF_FD);
	rc = tree < 0 || sys_mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr) < 0 ||
	     sys_move_mount(tree, "", place, "",
			    MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0;
	if (rc)
		rc = err_sys(err, CORDON_E_SETUP, "cannot protect '%s'", m->target);
	if (is_dir)
		forget_folders(in);
	if (tree >= 0)
		close(tree);
	close(place);
	return rc;
}

#define REPLACED_TRIES	16

int hold_mount(struct init *in, const struct plan_mount *m, hold_fn *once,
	       struct cordon_err *err)
{
	int rc = -1;

	for (int i = 0; i < REPLACED_TRIES; i++) {
		*err = (struct cordon_err){ 0 };
		rc = once(in, m, err);
		if (rc == 0 || err->sys != ENOENT)
			break;
	}
	return rc;
}

static int mount_source(struct init *in, const struct plan_mount *m, int tree,
			const struct target *t, struct cordon_err *err)
{
	char link[4096];
	bool is_dir;
	ssize_t n;

	if (tree == TREE_LINK) {
		n = readlink(m->source, link, sizeof(link) - 1);
		if (n < 0)
			return 0;
		link[n] = '\0';
		if (symlinkat(link, t->dir, t->name) < 0 && errno != EEXIST)
			return err_sys(err, CORDON_E_SETUP, "cannot link '%s'", m->target);
		return 0;
	}
	is_dir = tree_is_dir(tree);
	if (make_place(in, t, is_dir) < 0) {
		if (m->optional)
			return 0;
		return err_sys(err, CORDON_E_SETUP, "cannot make a place for '%s'", m->target);
	}
	if (attach(tree, t) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot mount '%s'", m->target);
	return landlock_add_mount(in, m, tree, is_dir, err);
}

/* One file system for all private places, of which each is a folder: so they are bounded
 * together, and to make one and take it apart costs as much as ten mounts.  Its pages are
 * memory that no process shows: the supervisor counts them. */
static int make_private(struct init *in, struct cordon_err *err)
{
	int64_t most = in->plan->limits.disk;
	char size[32], inodes[32];
	const char *options[3][2] = { { "mode", "0755" }, { "nr_inodes", inodes },
				      { "size", size } };
	int mnt;

	/* About 1 KB of the kernel's memory each, on the account of whoever makes
	 * the name, which may be the guard. */
	snprintf(inodes, sizeof(inodes), "%lld",
		 (long long)MIN(MAX(in->plan->limits.memory / 4096, 4096), 1 << 20));
	snprintf(size, sizeof(size), "%lld", (long long)most);
	mnt = new_fs("tmpfs", (const char *const(*)[2])options, most == INT64_MAX ? 2 : 3,
		     MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, err);
	in->fds.fd[NATIVE_PRIVATE] = mnt;
	if (mnt < 0 || note_ours(in, mnt, err) < 0)
		return -1;
	return hang_up(mnt) < 0 ? err_sys(err, CORDON_E_SETUP, "cannot make private places") : 0;
}

static int open_private(struct init *in, const struct plan_mount *m)
{
	bool shared = strcmp(m->target, "/tmp") == 0 || strcmp(m->target, "/dev/shm") == 0;
	int fs = in->fds.fd[NATIVE_PRIVATE];
	char name[24];

	name_after(in, m, name);
	if (mkdirat(fs, name, 0700) < 0 || (shared && fchmodat(fs, name, 01777, 0) < 0))
		return -1;
	return clone_tree(fs, name);
}

static int mount_private(struct init *in, const struct plan_mount *m, int tree UNUSED,
			 const struct target *t, struct cordon_err *err)
{
	int mnt, rc;

	if (in->fds.fd[NATIVE_PRIVATE] < 0 && make_private(in, err) < 0)
		return -1;
	mnt = open_private(in, m);
	if (mnt < 0 || make_place(in, t, true) < 0 || attach(mnt, t) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot mount '%s'", m->target);
	rc = landlock_add_mount(in, m, mnt, true, err);
	close(mnt);
	return rc;
}

/* Our own view of processes. */
static int mount_proc(struct init *in, const struct plan_mount *m, int tree UNUSED,
		      const struct target *t, struct cordon_err *err)
{
	/* Its settings are those of the network that init is in. */
	if (step_enter_network(in, err) < 0)
		return -1;
	if (in->proc < 0)
		make_proc(in);
	if (check_made(in, err) < 0)
		return -1;
	if (make_place(in, t, true) < 0 || attach(in->proc, t) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot mount '%s'", m->target);
	if (landlock_add_mount(in, m, in->proc, true, err) < 0)
		return -1;
	close(in->proc);
	return 0;
}

static int mount_devpts(struct init *in, const struct plan_mount *m, int tree UNUSED,
			const struct target *t, struct cordon_err *err)
{
	/* The machine has some 3000 for all instances but the first. */
	static const char *const options[][2] = { { "ptmxmode", "0666" }, { "mode", "0620" },
						  { "max", "256" } };
	int mnt = new_fs("devpts", options, 3, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err);

	if (mnt < 0)
		return -1;
	if (make_place(in, t, true) < 0 || attach(mnt, t) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot mount '%s'", m->target);
	close(mnt);
	return 0;
}

/* Where the host is seen, so are its links. */
static int mount_link(struct init *in, const struct plan_mount *m, int tree UNUSED,
		      const struct target *t, struct cordon_err *err)
{
	if (may_make(in, t) && symlinkat(m->source, t->dir, t->name) < 0 && errno != EEXIST)
		return err_sys(err, CORDON_E_SETUP, "cannot link '%s'", m->target);
	return 0;
}

static int mount_dir(struct init *in, const struct plan_mount *m, int tree UNUSED,
		     const struct target *t, struct cordon_err *err)
{
	if (make_place(in, t, true) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot make '%s'", m->target);
	return 0;
}

static mount_fn *const mount_fns[] = {
	[MOUNT_RO] = mount_source,   [MOUNT_SYSTEM] = mount_source, [MOUNT_RW] = mount_source,
	[MOUNT_DEV] = mount_source,  [MOUNT_MASK] = mount_mask,	    [MOUNT_PRIVATE] = mount_private,
	[MOUNT_PROC] = mount_proc,   [MOUNT_DEVPTS] = mount_devpts, [MOUNT_LINK] = mount_link,
	[MOUNT_DIR] = mount_dir,     [MOUNT_TEXT] = mount_text,
};
static_assert(ARRAY_SIZE(mount_fns) == N_PLAN_MOUNT_KINDS, "a mount without a function");

static int mount_one(struct init *in, size_t i, struct cordon_err *err)
{
	const struct plan_mount *m = &in->mounts[i];
	struct target t;
	int rc;

	if (strcmp(m->target, "/") == 0)
		return 0;
	if (m->kind == MOUNT_MASK || m->kind == MOUNT_TEXT)
		return mount_fns[m->kind](in, m, TREE_NONE, NULL, err);
	if (m->keep)
		return hold_mount(in, m, keep_once, err);
	/* A source that is not there needs no place either. */
	if (has_source(m) && in->trees[i] == TREE_NONE) {
		landlock_skip_mount(in, m);
		return 0;
	}
	if (find_target(in, m->target, &t) < 0) {
		if (m->optional && is_absence())
			return 0;
		return err_sys(err, CORDON_E_SETUP, "cannot make a place for '%s'", m->target);
	}
	rc = mount_fns[m->kind](in, m, in->trees[i], &t, err);
	folder_close(&in->seen);
	if (in->trees[i] >= 0)
		close(in->trees[i]);
	in->trees[i] = TREE_PLACED;
	return rc;
}

/* What is mounted there by now comes along, and stays as it is. */
static int mount_alias(struct init *in, const struct plan_alias *a, struct cordon_err *err)
{
	int tree = sys_open_tree(in->root, a->target + 1, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
				 AT_RECURSIVE | AT_SYMLINK_NOFOLLOW);
	struct target t;
	int rc = -1;

	if (tree < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot find '%s' for '%s'", a->target,
			       a->path);
	if (find_target(in, a->path, &t) == 0 && make_place(in, &t, tree_is_dir(tree)) == 0)
		rc = attach(tree, &t);
	if (rc < 0)
		err_sys(err, CORDON_E_SETUP, "cannot make '%s'", a->path);
	close(tree);
	return rc;
}

int step_mounts(struct init *in, struct cordon_err *err)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };

	if (!(in->plan->clone_flags & CLONE_NEWNS))
		return 0;
	for (size_t i = 0; i < in->n_mounts; i++)
		if (mount_one(in, i, err) < 0)
			return -1;
	for (size_t i = 0; i < in->plan->n_aliases; i++)
		if (mount_alias(in, &in->plan->aliases[i], err) < 0)
			return -1;
	forget_folders(in);
	if (sys_mount_setattr(in->root, "", AT_EMPTY_PATH, &attr) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot make the new root read-only");
	return 0;
}

int step_enter_root(struct init *in, struct cordon_err *err)
{
	if ((in->plan->clone_flags & CLONE_NEWNS) && (fchdir(in->root) < 0 || chroot(".") < 0))
		return err_sys(err, CORDON_E_SETUP, "cannot enter the new root");
	if (chdir(in->plan->cwd) < 0)
		return err_sys(err, CORDON_E_SETUP,
			       "the working directory '%s' is not inside the cordon; add it with "
			       "--write or "
			       "--read",
			       in->plan->cwd);
	return 0;
}
