/* Folders as wholes: what is copied and what is not, what is removed however deep
 * or closed it is, and nobody who changes them meanwhile leads out of them.
 *
 * weight: 8/9
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "base/fd.h"
#include "base/folder.h"
#include "base/limits.h"
#include "tap.h"

#define DEPTH		5000
#define NOBODY		65534
#define SECRET		"of somebody else"

static char top[64];
static int place = -1;		/* top, open */

static void clean(void)
{
	struct cordon_err ignored;

	(void)!folder_clear(place, &ignored);
	rmdir(top);
}

/* A place for one case, which is a process of its own.  `plain`: without root's
 * rights, as modes count for the one who set them, too. */
static void begin(bool plain)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(top, sizeof(top), "%.40s/cordon-folder-XXXXXX", tmp ? tmp : "/tmp");
	umask(022);
	place = mkdtemp(top) ? open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (!ok(place >= 0, "a place"))
		exit(1);
	if (plain && geteuid() == 0 &&
	    !ok(fchown(place, NOBODY, NOBODY) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
		setresuid(NOBODY, NOBODY, NOBODY) == 0, "nobody"))
		exit(1);
	atexit(clean);
}

/* In the place. */
static int folder(const char *path)
{
	int fd;

	(void)!mkdirat(place, path, 0755);
	fd = openat(place, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!ok(fd >= 0, "%s", path))
		exit(1);
	return fd;
}

static void put(int dir, const char *name, const char *text, mode_t mode)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (!ok(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) &&
		fchmod(fd, mode) == 0, "%s", name))
		exit(1);
	close(fd);
}

/* What a plain file says; "" where there is none. */
static const char *text_of(int dir, const char *name)
{
	static char text[256];
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
	return text;
}

static mode_t mode_of(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? 0 : st.st_mode;
}

static int entries_of(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), n = 0;
	DIR *d = fdopendir(fd);

	while (d && readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static int open_files(void)
{
	int fd = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC), n = entries_of(fd);

	close(fd);
	return n;
}

/* One in one in one; the descriptor of the last. */
static int go_deep(int dir, int levels, const char *name)
{
	int fd = dup(dir);

	for (int i = 0; i < levels; i++) {
		int next;

		if (mkdirat(fd, name, 0755) < 0)
			break;
		next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(fd);
		fd = next;
	}
	return fd;
}

static int copy(int from, int to, struct cordon_err *err)
{
	struct folder_room room = { .bytes = 1 << 20, .entries = 1 << 20 };

	return folder_copy(from, to, NULL, &room, err);
}

/* ---- copying ------------------------------------------------------------------ */

static void make_mixture(int from)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int below, s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	put(from, "plain", "text", 0640);
	put(from, "script", "#!", 04755);
	put(from, "empty", "", 0400);
	ok(symlinkat("../nowhere", from, "link") == 0, "a link");
	ok(mkfifoat(from, "fifo", 0666) == 0, "a FIFO");
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/from/socket", top);
	ok(bind(s, (struct sockaddr *)&addr, sizeof(addr)) == 0, "a socket");
	close(s);
	below = folder("from/below");
	put(below, "plain", "deeper", 0644);
	put(below, "Dockerfile", "kept here", 0644);
	put(from, "Dockerfile", "left out", 0644);
	close(below);
}

static bool is_dockerfile(const char *name)
{
	return strcmp(name, "Dockerfile") == 0;
}

static void test_copied_as_they_are(void)
{
	int from, to, below;
	struct folder_room room = { .bytes = 64, .entries = 64 };
	struct cordon_err err = { 0 };
	char target[32] = "";

	begin(false);
	from = folder("from");
	to = folder("to");
	make_mixture(from);
	is_int(folder_copy(from, to, is_dockerfile, &room, &err), 0, "%s", err.msg);
	is_text(text_of(to, "plain"), "text", "a file");
	is_int(mode_of(to, "plain"), S_IFREG | 0640, "with its mode");
	is_int(mode_of(to, "script"), S_IFREG | 0755, "without the bits that give rights");
	is_int(mode_of(to, "empty"), S_IFREG | 0400, "an empty one");
	ok(readlinkat(to, "link", target, sizeof(target)) == 10 &&
	   strcmp(target, "../nowhere") == 0, "a link stays one: %s", target);
	is_int(mode_of(to, "fifo"), 0, "no FIFO");
	is_int(mode_of(to, "socket"), 0, "no socket");
	is_int(mode_of(to, "Dockerfile"), 0, "nor what is skipped");
	below = openat(to, "below", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	is_text(text_of(below, "Dockerfile"), "kept here", "which is so at the top alone");
	is_text(text_of(below, "plain"), "deeper", "a file below");
	is_int(room.bytes, 64 - 4 - 2 - 0 - 6 - 9, "bytes are counted");
	is_int(room.entries, 64 - 9, "and entries");
}

static void test_one_of_them(void)
{
	int from, to;
	struct folder_room room = { .bytes = 64, .entries = 64 };
	struct cordon_err err = { 0 };

	begin(false);
	from = folder("from");
	to = folder("to");
	make_mixture(from);
	is_int(folder_copy_one(from, "missing", to, &room, &err), 0, "what is not there");
	is_int(folder_copy_one(from, "fifo", to, &room, &err), 0, "a FIFO");
	is_int(entries_of(to), 0, "are nothing");
	is_int(folder_copy_one(from, "plain", to, &room, &err), 0, "a file: %s", err.msg);
	is_int(folder_copy_one(from, "below", to, &room, &err), 0, "a folder: %s", err.msg);
	is_int(folder_copy_one(from, "link", to, &room, &err), 0, "a link: %s", err.msg);
	is_int(entries_of(to), 3, "all of them");
}

/* What is there already is replaced itself, not what it leads to. */
static void test_nothing_is_written_through(void)
{
	int from, to, out;
	struct cordon_err err = { 0 };
	int below;

	begin(false);
	from = folder("from");
	to = folder("to");
	out = folder("outside");
	put(out, "secret", SECRET, 0644);
	put(from, "a", "new", 0644);
	put(from, "b", "new", 0644);
	put(from, "c", "new", 0644);
	ok(symlinkat("../outside/secret", to, "a") == 0 &&
	   linkat(out, "secret", to, "b", 0) == 0 && mkfifoat(to, "c", 0666) == 0, "in the way");
	is_int(copy(from, to, &err), 0, "%s", err.msg);
	is_text(text_of(to, "a"), "new", "for a link");
	is_text(text_of(to, "b"), "new", "for another name of the same file");
	is_text(text_of(to, "c"), "new", "for a FIFO");
	is_text(text_of(out, "secret"), SECRET, "which nobody wrote to");
	below = folder("from/below");
	put(below, "secret", "new", 0644);
	ok(symlinkat("../outside", to, "below") == 0, "a link where a folder goes");
	is_int(copy(from, to, &err), 0, "makes way: %s", err.msg);
	is_int(mode_of(to, "below"), S_IFDIR | 0755, "for the folder");
	is_text(text_of(out, "secret"), SECRET, "and is not followed");
}

static void test_room_is_held(void)
{
	int from, to;
	struct folder_room bytes = { .bytes = 10, .entries = 9 };
	struct folder_room fewer = { .bytes = 9, .entries = 9 };
	struct folder_room entries = { .bytes = 99, .entries = 1 };
	struct folder_room sparse = { .bytes = 1 << 20, .entries = 9 };
	struct cordon_err err = { 0 };
	struct stat st;
	int fd;

	begin(false);
	from = folder("from");
	to = folder("to");
	put(from, "a", "12345", 0644);
	put(from, "b", "67890", 0644);
	is_int(folder_copy(from, to, NULL, &bytes, &err), 0, "as much as fits: %s", err.msg);
	is_int(bytes.bytes, 0, "and no more");
	is_int(folder_copy(from, to, NULL, &fewer, &err), -1, "a byte more");
	ok(strstr(err.msg, "more is there than may be copied"), "%s", err.msg);
	is_int(folder_copy(from, to, NULL, &entries, &err), -1, "an entry more");
	/* A size costs nobody anything to claim. */
	fd = openat(from, "a", O_WRONLY | O_CLOEXEC);
	ok(ftruncate(fd, INT64_C(1) << 40) == 0, "a file with a hole");
	close(fd);
	is_int(folder_copy_one(from, "a", to, &sparse, &err), -1, "is no smaller for that");
	ok(fstatat(to, "a", &st, 0) == 0, "the one from before");
	is_int(st.st_size, 5, "nothing of it was written first");
}

/* Whoever makes it pays for no block of it; nor does who copies it. */
static void test_holes_stay_holes(void)
{
	int from, to, fd;
	struct folder_room room = { .bytes = 64 << 20, .entries = 9 };
	struct cordon_err err = { 0 };
	struct stat st;
	char end[4] = "";

	begin(false);
	from = folder("from");
	to = folder("to");
	put(from, "a", "begin", 0644);
	fd = openat(from, "a", O_WRONLY | O_CLOEXEC);
	ok(pwrite(fd, "end", 3, 32 << 20) == 3 && ftruncate(fd, 48 << 20) == 0,
	   "a file with holes");
	close(fd);
	is_int(folder_copy_one(from, "a", to, &room, &err), 0, "%s", err.msg);
	fd = openat(to, "a", O_RDONLY | O_CLOEXEC);
	ok(fstat(fd, &st) == 0 && st.st_size == 48 << 20, "is as long as before");
	ok(st.st_blocks < 2048, "and as small: %lld blocks", (long long)st.st_blocks);
	ok(pread(fd, end, 3, 32 << 20) == 3 && strcmp(end, "end") == 0, "with what is in it");
	close(fd);
}

/* Followed in another place, they would show what is there. */
static void test_links_that_lead_out(void)
{
	static const struct { const char *target; bool kept; } links[] = {
		{ "x", true }, { "./x/y", true }, { "../x", true }, { "/usr/bin/python3", false },
		{ "..", true }, { "/tests/answer", false }, { "/", false }, { "../../x", false },
		{ "../.././x", false }, { "x/../../../tests", false }, { "./..//..", false },
		{ "/usr/../tests/answer", false }, { "/usrx", false }, { "x/..", false },
		{ "/proc/self/root/tests", false },
	};
	int from, to, below, into;
	struct folder_room room = { .bytes = 64, .entries = 64, .tame = true };
	struct cordon_err err = { 0 };
	uint64_t n_wild = 0;
	char name[8];

	begin(false);
	from = folder("from");
	to = folder("to");
	below = folder("from/top");
	close(below);
	below = folder("from/top/below");
	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		snprintf(name, sizeof(name), "%zu", i);
		ok(symlinkat(links[i].target, below, name) == 0, "a link");
		n_wild += !links[i].kept;
	}
	is_int(folder_copy_one(from, "top", to, &room, &err), 0, "%s", err.msg);
	into = openat(to, "top/below", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		snprintf(name, sizeof(name), "%zu", i);
		is_int(mode_of(into, name) != 0, links[i].kept, "a link to %s", links[i].target);
	}
	is_int((long long)room.n_wild, (long long)n_wild, "those left out are counted");
	close(into);
	close(below);
}

static void test_too_deep_to_copy(void)
{
	int from, to, fits, before;
	struct cordon_err err = { 0 };
	int last;

	begin(false);
	from = folder("from");
	to = folder("to");
	fits = folder("fits");
	last = go_deep(fits, MAX_COPY_DEPTH, "d");
	put(last, "file", "down here", 0644);
	close(last);
	is_int(copy(fits, to, &err), 0, "%d levels: %s", MAX_COPY_DEPTH, err.msg);
	last = go_deep(from, DEPTH, "e");
	close(last);
	before = open_files();
	is_int(copy(from, to, &err), -1, "%d levels", DEPTH);
	ok(strstr(err.msg, "too deep"), "%s", err.msg);
	is_int(open_files(), before, "with nothing left open");
}

static void test_closed_to_read(void)
{
	int from, to, below;
	struct cordon_err err = { 0 };

	begin(true);
	from = folder("from");
	below = folder("from/below");
	put(below, "file", "x", 0644);
	to = folder("to");
	ok(fchmod(below, 0) == 0, "nobody may look in");
	is_int(copy(from, to, &err), -1, "a folder that cannot be read is no empty one");
	ok(strstr(err.msg, "below"), "it is named: %s", err.msg);
	ok(fchmod(below, 0755) == 0, "open again");
	put(below, "file", "x", 0);
	is_int(copy(from, to, &err), -1, "nor is a file");
	ok(strstr(err.msg, "file"), "it is named: %s", err.msg);
}

/* ---- removing ------------------------------------------------------------------ */

static void test_cleared_however_deep(void)
{
	int dir, last, before;
	struct cordon_err err = { 0 };

	begin(false);
	dir = folder("dir");
	last = go_deep(dir, DEPTH, "d");
	put(last, "file", "at the end", 0);
	close(last);
	last = go_deep(dir, DEPTH, "another");
	close(last);
	before = open_files();
	is_int(folder_clear(dir, &err), 0, "%s", err.msg);
	is_int(entries_of(dir), 0, "nothing is left");
	is_int(open_files(), before, "nor open");
}

static void make_broad(int dir)
{
	for (int i = 0; i < 300; i++) {
		char name[32];
		int fd;

		snprintf(name, sizeof(name), "folder%d", i);
		if (mkdirat(dir, name, 0755) < 0)
			return;
		fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(go_deep(fd, 3, "d"));
		put(fd, ".moved-7", "a file", 0);
		close(fd);
		/* The names that the clearing itself takes. */
		snprintf(name, sizeof(name), ".moved-%d", i);
		if (i % 2)
			ok(mkdirat(dir, name, 0) == 0, "%s", name);
		else
			put(dir, name, "a file", 0);
	}
}

static void test_cleared_however_broad(void)
{
	int dir;
	struct cordon_err err = { 0 };

	begin(false);
	dir = folder("dir");
	make_broad(dir);
	is_int(entries_of(dir), 600, "they are there");
	is_int(folder_clear(dir, &err), 0, "%s", err.msg);
	is_int(entries_of(dir), 0, "nothing is left");
}

static void test_cleared_but_not_what_links_lead_to(void)
{
	int dir, out, below;
	struct cordon_err err = { 0 };

	begin(false);
	dir = folder("dir");
	out = folder("outside");
	below = folder("dir/below");
	put(out, "secret", SECRET, 0600);
	ok(symlinkat("../outside", dir, "link") == 0 &&
	   symlinkat("../../outside", below, "link") == 0 &&
	   linkat(out, "secret", dir, "name", 0) == 0 && mkfifoat(below, "fifo", 0) == 0,
	   "links, a name and a FIFO");
	is_int(folder_clear(dir, &err), 0, "%s", err.msg);
	is_int(entries_of(dir), 0, "nothing is left");
	is_text(text_of(out, "secret"), SECRET, "but all of what they led to");
	is_int(mode_of(out, "secret"), S_IFREG | 0600, "as it was");
	is_int(mode_of(place, "outside"), S_IFDIR | 0755, "and the folder");
}

static void test_cleared_though_closed(void)
{
	struct cordon_err err = { 0 };
	int dir, last;

	begin(true);
	dir = folder("dir");
	last = go_deep(dir, 20, "d");
	put(last, "file", "x", 0);
	/* From the last to the first, as a closed one cannot be entered. */
	for (int i = 0; i < 20; i++) {
		int up = openat(last, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		ok(fchmod(last, i % 2 ? 0 : 0555) == 0, "closed");
		close(last);
		last = up;
	}
	ok(fchmod(dir, 0) == 0 || geteuid() != 0, "the top as well");
	is_int(folder_clear(dir, &err), 0, "%s", err.msg);
	is_int(entries_of(dir), 0, "nothing is left");
}

/* ---- somebody is there meanwhile ------------------------------------------------ */

/* Until it is killed: what `x` is changes all the time.  Of what is in the folder it
 * makes some anew, for who removes it. */
static pid_t swap_names(int dir, const char *with)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	while (getppid() == parent) {
		(void)!syscall(SYS_renameat2, dir, "x", dir, with, 2u /* RENAME_EXCHANGE */);
		(void)!mkdirat(dir, "x", 0755);
		(void)!symlinkat("../outside", dir, with);
	}
	_exit(0);
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Does the word stand in a file below?  Deeper than the test makes it is no matter. */
static bool has_secret(int dir, int depth)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fdopendir(fd);
	bool found = false;

	for (struct dirent *e; d && !found && (e = readdir(d));) {
		if (e->d_name[0] == '.')
			continue;
		if (S_ISREG(mode_of(dir, e->d_name)))
			found = strcmp(text_of(dir, e->d_name), SECRET) == 0;
		fd = depth ? openat(dir, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
			   : -1;
		if (fd >= 0) {
			found |= has_secret(fd, depth - 1);
			close(fd);
		}
	}
	closedir(d);
	return found;
}

static void test_names_swapped_while_copying(void)
{
	int from, out, followed = 0;
	struct cordon_err err = { 0 };
	pid_t pid;

	begin(false);
	from = folder("from");
	out = folder("outside");
	put(out, "secret", SECRET, 0644);
	close(folder("from/x"));
	ok(symlinkat("../outside", from, "y") == 0, "a folder and a link");
	pid = swap_names(from, "y");
	for (int i = 0; i < 3000; i++) {
		int to = folder("to");

		/* It may be refused, as what was seen is not what is there. */
		(void)!copy(from, to, &err);
		followed += has_secret(to, 2);
		is_int(folder_clear(to, &err), 0, "%s", err.msg);
		close(to);
	}
	end(pid);
	is_int(followed, 0, "no copy holds what lies outside");
}

static void test_names_swapped_while_clearing(void)
{
	int dir, out;
	struct cordon_err err = { 0 };
	pid_t pid;

	begin(false);
	dir = folder("dir");
	out = folder("outside");
	put(out, "secret", SECRET, 0644);
	close(folder("dir/x"));
	ok(symlinkat("../outside", dir, "y") == 0, "a folder and a link");
	pid = swap_names(dir, "y");
	for (int i = 0; i < 3000; i++)
		(void)!folder_clear(dir, &err);
	end(pid);
	is_text(text_of(out, "secret"), SECRET, "what lies outside is still there");
	is_int(mode_of(place, "outside"), S_IFDIR | 0755, "as it was");
	is_int(folder_clear(dir, &err), 0, "and alone all of it goes: %s", err.msg);
	is_int(entries_of(dir), 0, "all of it");
}

/* Files that come and go, as those of a program that still runs do, are there or
 * not, and no reason to copy nothing. */
static void test_files_that_come_and_go(void)
{
	int from, to, bad = 0;
	struct cordon_err err = { 0 };
	pid_t parent = getpid(), pid;

	begin(false);
	from = folder("from");
	to = folder("to");
	put(from, "stays", "here", 0644);
	pid = fork();
	while (pid == 0 && getppid() == parent) {
		int fd = openat(from, "comes", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

		close(fd);
		unlinkat(from, "comes", 0);
		(void)!mkdirat(from, "comes", 0755);
		unlinkat(from, "comes", AT_REMOVEDIR);
		(void)!symlinkat("x", from, "comes");
		unlinkat(from, "comes", 0);
	}
	if (pid == 0)
		_exit(0);
	for (int i = 0; i < 3000; i++) {
		bad += copy(from, to, &err) < 0;
		bad += strcmp(text_of(to, "stays"), "here") != 0;
		bad += folder_clear(to, &err) < 0;
	}
	end(pid);
	is_int(bad, 0, "each copy has what stays: %s", err.msg);
}

/* ---- writing --------------------------------------------------------------------- */

static void test_written_whole(void)
{
	int dir, out;
	struct cordon_err err = { 0 };
	char longest[NAME_MAX + 1];

	begin(false);
	dir = folder("dir");
	out = folder("outside");
	put(out, "secret", SECRET, 0644);
	is_int(folder_write(dir, "a", STR("one"), &err), 0, "%s", err.msg);
	is_int(folder_write(dir, "a", STR("two"), &err), 0, "%s", err.msg);
	is_text(text_of(dir, "a"), "two", "the last one");
	ok(symlinkat("../outside/secret", dir, "b") == 0, "a link of that name");
	is_int(folder_write(dir, "b", STR("three"), &err), 0, "%s", err.msg);
	is_text(text_of(dir, "b"), "three", "is replaced");
	ok(symlinkat("../outside/secret", dir, "c.new") == 0, "a link on the way");
	is_int(folder_write(dir, "c", STR("four"), &err), -1, "is not followed");
	is_text(text_of(out, "secret"), SECRET, "nobody wrote there");
	memset(longest, 'n', NAME_MAX);
	longest[NAME_MAX] = '\0';
	is_int(folder_write(dir, longest, STR("five"), &err), -1, "too long a name");
	is_int(entries_of(dir), 3, "nothing else is there");
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_copied_as_they_are),
		TAP(test_one_of_them),
		TAP(test_nothing_is_written_through),
		TAP(test_room_is_held),
		TAP(test_holes_stay_holes),
		TAP(test_links_that_lead_out),
		TAP(test_too_deep_to_copy),
		TAP(test_closed_to_read),
		TAP(test_cleared_however_deep),
		TAP(test_cleared_however_broad),
		TAP(test_cleared_but_not_what_links_lead_to),
		TAP(test_cleared_though_closed),
		TAP(test_names_swapped_while_copying),
		TAP(test_names_swapped_while_clearing),
		TAP(test_files_that_come_and_go),
		TAP(test_written_whole),
		TAP_END });
}
