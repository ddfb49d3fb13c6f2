/* The names in a folder. */
#include "tap.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/fd.h"
#include "base/listing.h"
#include "base/macros.h"

static char top[] = "/tmp/cordon-listing-XXXXXX";

static void make_file(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		abort();
	close(fd);
}

/* Only where the file system is one of those that hide nothing. */
static bool is_listed(void)
{
	struct statfs fs;

	return statfs(top, &fs) == 0 &&
	       (fs.f_type == EXT4_SUPER_MAGIC || fs.f_type == TMPFS_MAGIC ||
		fs.f_type == BTRFS_SUPER_MAGIC);
}

static void read_top(struct listing *l)
{
	int dir = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);

	memset(l, 0xff, sizeof(*l));
	listing_read(l, dir);
	close(dir);
}

static void test_names(void)
{
	struct listing l;

	make_file(".Env");
	make_file("a");
	read_top(&l);
	is_int(listing_lacks(&l, "b"), is_listed(), "what is not there");
	is_int(listing_lacks(&l, ".env.local"), is_listed(), "longer");
	is_int(listing_lacks(&l, ".en"), is_listed(), "shorter");
	ok(!listing_lacks(&l, "a") && !listing_lacks(&l, ".Env"), "what is there");
	ok(!listing_lacks(&l, ".env"), "in another case of its letters it may be there");
	ok(!listing_lacks(&l, ".") && !listing_lacks(&l, ".."), "the folder itself");
	ok(unlink(".Env") == 0 && unlink("a") == 0, "clean");
}

static enum listing_kind kind(const struct listing *l, const char *name)
{
	return listing_find(l, str_from(name));
}

static void test_kinds(void)
{
	struct listing l;

	make_file("file");
	ok(mkdir("folder", 0700) == 0 && symlink("file", "link") == 0 &&
	   symlink("nowhere", "Both") == 0, "made");
	make_file("both");
	read_top(&l);
	is_int(kind(&l, "link"), is_listed() ? LISTING_LINK : LISTING_UNSURE, "a link");
	is_int(kind(&l, "file"), is_listed() ? LISTING_OTHER : LISTING_UNSURE, "a file");
	is_int(kind(&l, "folder"), is_listed() ? LISTING_OTHER : LISTING_UNSURE, "a folder");
	is_int(kind(&l, "none"), is_listed() ? LISTING_NONE : LISTING_UNSURE, "nothing");
	is_int(kind(&l, "both"), LISTING_UNSURE, "two that differ in the case of a letter");
	is_int(listing_find(&l, (struct str){ "link/below", 4 }),
	       is_listed() ? LISTING_LINK : LISTING_UNSURE, "a part of a path");
	ok(unlink("file") == 0 && rmdir("folder") == 0 && unlink("link") == 0 &&
	   unlink("Both") == 0 && unlink("both") == 0, "clean");
}

/* Each finds its own mark, and the few that share one are told apart. */
static void test_marks(void)
{
	int n_wrong = 0;
	struct listing l;
	char name[16];

	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		make_file(name);
	}
	read_top(&l);
	for (int i = 0; i < 400; i++) {
		enum listing_kind want = i < 200 ? LISTING_OTHER : LISTING_NONE;

		snprintf(name, sizeof(name), "%c%d", i % 2 ? 'n' : 'N', i);
		n_wrong += kind(&l, name) != (is_listed() ? want : LISTING_UNSURE);
	}
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		unlink(name);
	}
	is_int(n_wrong, 0, "of four hundred names");
}

/* A file system that folds letters takes the Kelvin sign for a k. */
static void test_names_that_may_be_others(void)
{
	struct listing l;

	make_file("\xe2\x84\xaa");
	read_top(&l);
	ok(!listing_lacks(&l, "k") && !listing_lacks(&l, "b"), "nothing is sure");
	ok(unlink("\xe2\x84\xaa") == 0, "clean");
}

static void test_too_many(void)
{
	struct listing l;
	char name[64];

	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "a-name-of-so-many-letters-%04d", i);
		make_file(name);
	}
	read_top(&l);
	ok(!listing_lacks(&l, "b"), "they do not fit, so nothing is sure");
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "a-name-of-so-many-letters-%04d", i);
		unlink(name);
	}
}

static void test_what_cannot_be_read(void)
{
	int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct listing l = { .whole = true };

	listing_read(&l, -1);
	ok(!listing_lacks(&l, "b"), "no descriptor");
	l.whole = true;
	listing_read(&l, file);
	ok(!listing_lacks(&l, "b"), "no folder");
	l.whole = true;
	listing_read(&l, proc);
	ok(!listing_lacks(&l, "b"), "a file system that need not list what it has");
	close(proc);
	close(file);
}

int main(void)
{
	int rc;

	if (!mkdtemp(top) || chdir(top) < 0)
		abort();
	rc = tap_run((struct tap_case[]){ TAP(test_names), TAP(test_kinds), TAP(test_marks),
					  TAP(test_names_that_may_be_others),
					  TAP(test_too_many), TAP(test_what_cannot_be_read),
					  TAP_END });
	if (rmdir(top) < 0)
		perror(top);
	return rc;
}
