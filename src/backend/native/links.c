/* The way to what is protected or masked; runs in init.
 *
 * A mount holds what a path leads to.  If the path leads through a link in a
 * writable root, the link could be removed: this run would still be held, but
 * the next one would look for the path and find nothing.  So links are held,
 * too.  Other paths cost one call.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/native/init_priv.h"
#include "base/syscalls.h"

bool is_absence(void)
{
	return errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == ELOOP;
}

#define MAX_LINKS_PINNED	40

/* A link becomes a mount of itself, so that it can be neither removed nor
 * renamed: without it, the next run would not find what must be held.  Links
 * can be mounted since there are open_tree() and move_mount(). */
static int pin_link(int link, struct cordon_err *err)
{
	struct statx st;
	int tree, rc;

	if (sys_statx(link, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_TYPE, &st) == 0 &&
	    (st.stx_attributes & STATX_ATTR_MOUNT_ROOT))
		return 0;
	tree = sys_open_tree(link, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	rc = tree < 0 ? -1 : sys_move_mount(tree, "", link, "",
					    MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
	if (rc < 0)
		err_sys(err, CORDON_E_SETUP, "cannot hold a link to what is protected");
	if (tree >= 0)
		close(tree);
	return rc;
}

/* Put the text of a link in place of the component path[from … end); false where
 * it does not fit. */
static bool follow_text(char path[PATH_MAX], size_t *from, size_t end, int link)
{
	char text[PATH_MAX], rest[PATH_MAX];
	ssize_t n = readlinkat(link, "", text, sizeof(text));
	size_t begin = n > 0 && text[0] == '/' ? 0 : *from, n_rest = strlen(path + end);

	if (n <= 0 || begin + (size_t)n + n_rest >= PATH_MAX)
		return false;
	memcpy(rest, path + end, n_rest + 1);
	memcpy(path + begin, text, (size_t)n);
	memcpy(path + begin + (size_t)n, rest, n_rest + 1);
	*from = begin;
	return true;
}

/* The way ends in a folder that is closed to us.  One of another user's is closed to the
 * command as well; its own it can open again, to whatever was not held there. */
static int judge_closed(const struct init *in, const char *target, char *folder,
			struct cordon_err *err)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = in->seen.resolve };
	int fd = sys_openat2(in->root, *folder ? folder : "/", &how);
	struct stat st;
	bool own = fd < 0 || fstat(fd, &st) < 0 || st.st_uid == in->plan->uid;

	if (fd >= 0)
		close(fd);
	if (!own)
		return 0;
	return err_set(err, CORDON_E_HOST,
		       "'%s' cannot be held: '%s' is closed to cordon (chmod u+rwx, or give it "
		       "your own group)", target, folder);
}

/* Pin every link on the way to `target`, as far as it leads. */
static int pin_links(const struct init *in, const char *target, struct cordon_err *err)
{
	struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	char path[PATH_MAX], prefix[PATH_MAX];
	size_t at = 0;

	if (strlen(target) >= sizeof(path))
		return 0;	/* no path of that length leads anywhere */
	memcpy(path, target, strlen(target) + 1);
	for (int links = 0; path[at] && links < MAX_LINKS_PINNED;) {
		size_t from = at + strspn(path + at, "/"), end = from + strcspn(path + from, "/");
		struct stat st;
		int fd, rc = 0;

		memcpy(prefix, path, end);
		prefix[end] = '\0';
		fd = sys_openat2(in->root, prefix, &how);
		if (fd < 0 && errno == EACCES) {
			prefix[from] = '\0';
			return judge_closed(in, target, prefix, err);
		}
		if (fd < 0 && is_absence())
			return 0;
		if (fd < 0 || fstat(fd, &st) < 0)
			return err_sys(err, CORDON_E_SETUP, "cannot look at '%s'", prefix);
		at = end;
		if (S_ISLNK(st.st_mode)) {
			links++;
			at = from;
			rc = pin_link(fd, err);
			if (rc == 0 && !follow_text(path, &at, end, fd))
				rc = 1;
		}
		close(fd);
		if (rc)
			return rc < 0 ? -1 : 0;
	}
	return 0;
}

/* -1 with errno; ELOOP where a link is on the way, though there may be nothing behind it:
 * what the command makes there is guarded where the links lead now. */
static int open_plain(struct init *in, const char *target, struct stat *st)
{
	const char *name;
	int dir = folder_open(&in->seen, target, &name), fd;

	if (dir < 0)
		return -1;
	if (in->seen.linked) {
		errno = ELOOP;
		return -1;
	}
	if (*name && folder_lacks(&in->seen, name)) {
		errno = ENOENT;
		return -1;
	}
	fd = openat(dir, *name ? name : ".", O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, st) == 0 && !S_ISLNK(st->st_mode))
		return fd;
	if (fd >= 0) {
		close(fd);
		errno = ELOOP;
	}
	return -1;
}

int look_at_place(struct init *in, const char *target, const char **ret_name, bool *ret_is_dir)
{
	int dir = folder_open(&in->seen, target, ret_name);
	struct stat st;

	if (dir < 0)
		return -1;
	errno = ELOOP;
	if (in->seen.linked || !**ret_name)
		return -1;
	errno = ENOENT;
	if (folder_lacks(&in->seen, *ret_name) ||
	    fstatat(dir, *ret_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	errno = ELOOP;
	if (S_ISLNK(st.st_mode))
		return -1;
	*ret_is_dir = S_ISDIR(st.st_mode);
	return dir;
}

int open_place(struct init *in, const char *target, int *ret_fd, bool *ret_is_dir,
	       struct cordon_err *err)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = in->seen.resolve };
	struct stat st = { 0 };

	*ret_fd = open_plain(in, target, &st);
	if (*ret_fd < 0 && (errno == ELOOP || errno == EACCES)) {
		if (pin_links(in, target, err) < 0)
			return -1;
		*ret_fd = sys_openat2(in->root, target, &how);
		if (*ret_fd >= 0 && fstat(*ret_fd, &st) < 0)
			return err_sys(err, CORDON_E_SETUP, "cannot look at '%s'", target);
	}
	if (*ret_fd < 0 && !is_absence())
		return err_sys(err, CORDON_E_SETUP, "cannot look at '%s'", target);
	/* A history that is kept by nobody: /dev/null is everybody's, and nothing is in it. */
	if (*ret_fd >= 0 && S_ISCHR(st.st_mode)) {
		close(*ret_fd);
		*ret_fd = -1;
	}
	*ret_is_dir = S_ISDIR(st.st_mode);
	return 0;
}
