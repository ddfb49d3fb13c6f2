/* Paths of a tree that another party wrote: none leaves its root, and no entry is
 * followed. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "own_folder.h"

/* A tree with a file in it and one beside it; its descriptor. */
static int make_tree(void)
{
	struct cordon_err err = { 0 };
	int root, below;

	begin();
	root = folder_make(place, "tree", &err);
	below = folder_make(root, "below", &err);
	ok(folder_write(place, "secret", STR("outside"), &err) == 0 &&
	   folder_write(below, "file", STR("inside"), &err) == 0, "%s", err.msg);
	close(below);
	return root;
}

static bool opens(int root, const char *path, int flags)
{
	cleanup_fd int fd = open_beneath(root, path, flags);

	return fd >= 0;
}

static void test_no_path_leaves_the_root(void)
{
	static const char *const targets[] = { "../secret", "below/../../secret", "/etc/passwd",
					       "/proc/self/environ", "/proc/self/root/etc/passwd",
					       "link0" };
	int root = make_tree();
	char absolute[PATH_MAX], name[16];

	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		snprintf(name, sizeof(name), "link%zu", i);
		ok(symlinkat(targets[i], root, name) == 0, "a symlink to %s", targets[i]);
		ok(!opens(root, name, O_RDONLY) && is_outside(), "%s is refused", targets[i]);
		ok(!opens(root, name, O_PATH) && is_outside(), "also to look at it");
		ok(!opens(root, targets[i], O_RDONLY), "and as a path");
	}
	snprintf(absolute, sizeof(absolute), "%s/tree/below/file", top);
	ok(symlinkat(absolute, root, "absolute") == 0 && !opens(root, "absolute", O_RDONLY),
	   "an absolute symlink, even into the root");
	ok(opens(root, "below/file", O_RDONLY), "a path inside");
	close(root);
}

static void test_links_inside(void)
{
	int root = make_tree();

	ok(symlinkat("below", root, "folder") == 0 &&
	   symlinkat("../below/file", root, "below/link") == 0, "symlinks inside");
	ok(opens(root, "folder/file", O_RDONLY) && opens(root, "below/link", O_RDONLY),
	   "are followed");
	ok(!opens(root, "folder/file", O_RDONLY | O_NOFOLLOW) && is_outside(),
	   "but for O_NOFOLLOW, which holds for the whole path");
	ok(!opens(root, "below/link", O_RDONLY | O_NOFOLLOW), "and for its end");
	close(root);
}

static void test_files_are_made_for_the_owner_alone(void)
{
	int root = make_tree();
	struct stat st;

	umask(0);
	ok(opens(root, "new", O_WRONLY | O_CREAT | O_NOFOLLOW), "a new file");
	ok(entry_stat(root, "new", &st) == 0, "is there");
	is_int(st.st_mode, S_IFREG | 0600, "with this mode");
	close(root);
}

static void test_entries_are_not_followed(void)
{
	int root = make_tree();
	struct stat st;
	char target[16] = "";

	ok(entry_make_link("../secret", root, "link") == 0, "a symlink");
	ok(entry_stat(root, "link", &st) == 0 && S_ISLNK(st.st_mode), "is one");
	is_int(entry_read_link(root, "link", target, sizeof(target)), 9, "its target");
	(void)!entry_chmod(root, "link", 0);
	ok(entry_move(root, "link", root, "moved", 0) == 0 && entry_remove(root, "moved", 0) == 0,
	   "moved and removed");
	ok(fstatat(place, "secret", &st, 0) == 0, "the file that it led to is there");
	is_int(st.st_mode, S_IFREG | 0600, "as it was");
	close(root);
}

static void test_an_entry_is_one_name(void)
{
	static const char *const names[] = { "", "..", "../secret", "below/file", "/etc", "x/" };
	int root = make_tree();
	struct stat st;
	char target[16];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *n = names[i];

		ok(entry_stat(root, n, &st) < 0 && errno == EINVAL, "stat '%s'", n);
		ok(entry_make_dir(root, n, 0700) < 0 && errno == EINVAL, "mkdir");
		ok(entry_make_link("x", root, n) < 0 && errno == EINVAL, "symlink");
		ok(entry_chmod(root, n, 0) < 0 && errno == EINVAL, "chmod");
		ok(entry_remove(root, n, 0) < 0 && errno == EINVAL, "unlink");
		ok(entry_move(root, "below", root, n, 0) < 0 && errno == EINVAL, "rename to");
		ok(entry_move(root, n, root, "y", 0) < 0 && errno == EINVAL, "rename from");
		ok(entry_read_link(root, n, target, sizeof(target)) < 0 && errno == EINVAL,
		   "readlink");
	}
	close(root);
}

static void test_a_pipe_is_not_waited_for(void)
{
	int root = make_tree();

	ok(mkfifoat(root, "fifo", 0600) == 0 && opens(root, "fifo", O_RDONLY), "opened at once");
	close(root);
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_no_path_leaves_the_root),
		TAP(test_links_inside),
		TAP(test_files_are_made_for_the_owner_alone),
		TAP(test_entries_are_not_followed),
		TAP(test_an_entry_is_one_name),
		TAP(test_a_pipe_is_not_waited_for),
		TAP_END });
}
