/* guard-calls: makes names in every way and prints what the calls answered.
 *
 * tests/suite/guard runs it with and without the guard in empty directories:
 * the lines must be the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char home[4096];

static const char *error_of(long rc)
{
	return rc < 0 ? strerrorname_np(errno) : "ok";
}

static void say(const char *name, long rc)
{
	printf("%s: %s\n", name, error_of(rc));
}

/* What is at a path: type, mode, links, size, target. */
static void show(const char *path)
{
	char target[256] = "";
	struct stat st;

	if (lstat(path, &st) < 0) {
		printf("  %s: %s\n", path, strerrorname_np(errno));
		return;
	}
	if (S_ISLNK(st.st_mode) && readlink(path, target, sizeof(target) - 1) < 0)
		return;
	printf("  %s: %o uid %d gid %d links %d size %ld %s\n", path, st.st_mode,
	       st.st_uid == geteuid(), st.st_gid == getegid(), (int)st.st_nlink,
	       S_ISDIR(st.st_mode) ? 0 : (long)st.st_size, target);
}

static void try_open(const char *name, const char *path, int flags, unsigned mode)
{
	int fd = open(path, flags, mode);

	printf("%s: %s", name, error_of(fd));
	if (fd >= 0) {
		printf(" fd %d flags %o cloexec %d wrote %zd", fd, fcntl(fd, F_GETFL),
		       fcntl(fd, F_GETFD), write(fd, "text", 4));
		close(fd);
	}
	putchar('\n');
}

static void opens(void)
{
	char longest[NAME_MAX + 2];

	try_open("new", "a", O_CREAT | O_WRONLY, 0666);
	show("a");
	try_open("new excl cloexec", "b", O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	show("b");
	try_open("excl again", "b", O_CREAT | O_EXCL | O_RDWR, 0600);
	try_open("existing", "b", O_CREAT | O_RDWR, 0600);
	try_open("truncated", "a", O_CREAT | O_WRONLY | O_TRUNC, 0600);
	show("a");
	try_open("appended", "a", O_CREAT | O_WRONLY | O_APPEND, 0600);
	show("a");
	try_open("nonblock", "a", O_CREAT | O_RDONLY | O_NONBLOCK, 0600);
	try_open("sync direct", "s", O_CREAT | O_WRONLY | O_SYNC | O_NOATIME, 0600);
	try_open("read-only new", "ro", O_CREAT | O_WRONLY, 0400);
	show("ro");
	try_open("read-only again", "ro", O_CREAT | O_WRONLY, 0400);
	umask(077);
	try_open("umask", "u", O_CREAT | O_WRONLY, 0666);
	show("u");
	umask(022);
	try_open("mode over", "m", O_CREAT | O_WRONLY, 0777);
	show("m");
	try_open("directory", ".", O_CREAT | O_RDONLY, 0600);
	try_open("directory excl", "..", O_CREAT | O_EXCL | O_RDONLY, 0600);
	try_open("root", "/", O_CREAT | O_RDONLY, 0600);
	try_open("slash", "new/", O_CREAT | O_RDONLY, 0600);
	try_open("in a file", "a/x", O_CREAT | O_WRONLY, 0600);
	try_open("in nothing", "none/x", O_CREAT | O_WRONLY, 0600);
	try_open("empty", "", O_CREAT | O_WRONLY, 0600);
	try_open("null", NULL, O_CREAT | O_WRONLY, 0600);
	memset(longest, 'n', sizeof(longest));
	longest[NAME_MAX + 1] = '\0';
	try_open("too long", longest, O_CREAT | O_WRONLY, 0600);
	longest[NAME_MAX] = '\0';
	try_open("longest", longest, O_CREAT | O_WRONLY, 0600);
	try_open("in /", "/cordon-guard-test/x", O_CREAT | O_WRONLY, 0600);
	try_open("above /", "/../../../../none/x", O_CREAT | O_WRONLY, 0600);
	try_open("null device", "/dev/null", O_CREAT | O_WRONLY | O_TRUNC, 0600);
	try_open("bad descriptor", "x", O_CREAT | O_WRONLY | O_DIRECTORY, 0600);
	say("openat bad descriptor", openat(99, "x", O_CREAT | O_WRONLY, 0600));
	say("openat file", openat(1, "x", O_CREAT | O_WRONLY, 0600));
	try_open("proc", "/proc/self/x", O_CREAT | O_WRONLY, 0600);
	try_open("proc comm", "/proc/self/comm", O_CREAT | O_WRONLY, 0600);
}

/* The guard answers for this one by itself, where nothing is odd about the call. */
static void null_device(void)
{
	static const int flags[] = {
		O_WRONLY, O_RDWR, O_WRONLY | O_CREAT, O_RDONLY | O_CREAT, O_RDONLY | O_TRUNC,
		O_WRONLY | O_APPEND | O_NONBLOCK, O_RDWR | O_CLOEXEC | O_NOCTTY, O_ACCMODE,
		O_WRONLY | O_CREAT | O_EXCL, O_WRONLY | O_EXCL, O_WRONLY | O_DIRECTORY,
		O_WRONLY | O_NOFOLLOW, O_WRONLY | O_SYNC, O_WRONLY | O_ASYNC, O_WRONLY | O_DIRECT,
	};
	struct stat here = { 0 }, st = { 0 };
	char name[32];
	int fd;

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		snprintf(name, sizeof(name), "null %o", flags[i]);
		try_open(name, "/dev/null", flags[i], 0600);
	}
	try_open("null by a slash", "/dev/null/", O_WRONLY, 0);
	try_open("null in itself", "/dev/null/x", O_WRONLY | O_CREAT, 0600);
	try_open("null by two", "//dev//null", O_WRONLY, 0);
	fd = open("/dev/null", O_WRONLY);
	say("null is itself", fstat(fd, &st) == 0 && stat("/dev/null", &here) == 0 &&
			      st.st_dev == here.st_dev && st.st_ino == here.st_ino ? 0 : -1);
	close(fd);
}

/* Without O_CREAT: nothing is made, and what is there may be changed. */
static void opens_existing(void)
{
	try_open("nothing", "none", O_WRONLY, 0600);
	show("none");
	try_open("new", "e", O_CREAT | O_WRONLY, 0600);
	try_open("to write", "e", O_WRONLY, 0);
	try_open("to do both", "e", O_RDWR | O_APPEND | O_CLOEXEC, 04755);
	try_open("exclusive", "e", O_RDWR | O_EXCL, 0);
	show("e");
	try_open("emptied", "e", O_RDONLY | O_TRUNC, 0);
	show("e");
	try_open("emptied to write", "e", O_WRONLY | O_TRUNC, 0);
	try_open("a folder", ".", O_RDWR, 0);
	try_open("a folder by its slash", "./", O_WRONLY, 0);
	try_open("a file by a slash", "e/", O_WRONLY, 0);
	try_open("nothing by a slash", "none/", O_WRONLY, 0);
	try_open("folders only", "e", O_WRONLY | O_DIRECTORY, 0);
	try_open("the root", "/", O_WRONLY, 0);
	try_open("a device", "/dev/null", O_RDWR, 0);
	say("link", symlink("e", "le"));
	try_open("by a link", "le", O_WRONLY, 0);
	try_open("a link itself", "le", O_WRONLY | O_NOFOLLOW, 0);
	say("dangling", symlink("none", "ln"));
	try_open("by a link to nothing", "ln", O_WRONLY, 0);
	say("truncate", truncate("e", 2));
	show("e");
	say("truncate to more", truncate("le", 100));
	show("e");
	say("truncate to less than nothing", truncate("e", -1));
	say("truncate a folder", truncate(".", 0));
	say("truncate nothing", truncate("none", 0));
	say("truncate what is only to be read", truncate("/proc/self/status", 0));
}

static void links_followed(void)
{
	say("symlink", symlink("target", "l"));
	try_open("dangling excl", "l", O_CREAT | O_EXCL | O_WRONLY, 0600);
	try_open("dangling nofollow", "l", O_CREAT | O_NOFOLLOW | O_WRONLY, 0600);
	try_open("dangling", "l", O_CREAT | O_WRONLY, 0644);
	show("target");
	try_open("nofollow of a file", "target", O_CREAT | O_NOFOLLOW | O_WRONLY, 0600);
	say("loop", symlink("loop", "loop"));
	try_open("a loop", "loop", O_CREAT | O_WRONLY, 0600);
	say("two", symlink("one", "two"));
	say("one", symlink("two", "one"));
	try_open("two links in a loop", "one", O_CREAT | O_WRONLY, 0600);
	try_open("a loop on the way", "one/x", O_CREAT | O_WRONLY, 0600);
	say("mkdir", mkdir("d", 0755));
	say("to a folder", symlink("d", "ld"));
	try_open("link to a folder", "ld", O_CREAT | O_WRONLY, 0600);
	try_open("over a link", "ld/f", O_CREAT | O_WRONLY, 0600);
	show("d/f");
	say("mkdir on a link", mkdir("l", 0755));
	say("mkdir on a dangling link", mkdir("loop/", 0755));
	try_open("over cwd", "/proc/self/cwd/c1", O_CREAT | O_WRONLY, 0600);
	try_open("over thread-self", "/proc/thread-self/cwd/c2", O_CREAT | O_WRONLY, 0600);
	show("c1");
	show("c2");
	try_open("missing descriptor", "/proc/self/fd/77", O_CREAT | O_WRONLY, 0600);
	say("dots", mkdir("d/../e", 0755));
	show("e");
}

static void names(void)
{
	say("mkdir mode", mkdir("dir", 02777));
	show("dir");
	say("mkdir sticky", mkdir("sticky", 01777));
	show("sticky");
	say("mkdir again", mkdir("dir", 0755));
	say("mkdir dot", mkdir(".", 0755));
	say("mkdir dots", mkdir("dir/..", 0755));
	say("mkdir root", mkdir("/", 0755));
	say("mkdir slashes", mkdir("slashes///", 0755));
	say("mkdir nowhere", mkdir("no/where", 0755));
	say("mknod file", mknod("node", S_IFREG | 0640, 0));
	show("node");
	say("mknod none", mknod("none", 0644, 0));
	show("none");
	say("mknod device", mknod("device", S_IFCHR | 0600, 0x103));
	say("mknod folder", mknod("folder", S_IFDIR | 0755, 0));
	say("mkfifo", mkfifo("fifo", 0620));
	show("fifo");
	say("mknod slash", mknod("sl/", S_IFREG | 0600, 0));
	say("symlink empty", symlink("", "sym"));
	say("symlink again", symlink("x", "node"));
	say("symlink", symlink("no/such/thing", "sym"));
	show("sym");
	say("link", link("node", "link"));
	show("link");
	say("link again", link("node", "link"));
	say("link folder", link("dir", "dl"));
	say("link nothing", link("nothing", "nl"));
	say("link symlink", link("sym", "sym2"));
	show("sym2");
	say("link followed", linkat(AT_FDCWD, "sym", AT_FDCWD, "sym3", AT_SYMLINK_FOLLOW));
	say("link bad flag", linkat(AT_FDCWD, "node", AT_FDCWD, "bad", 0x8000));
	say("link elsewhere", link("node", "/proc/x"));
}

static void renames(void)
{
	say("file", rename("link", "renamed"));
	say("nothing", rename("link", "x"));
	say("over", rename("renamed", "none"));
	show("none");
	say("same", rename("none", "none"));
	say("file on folder", rename("none", "dir"));
	say("folder on file", rename("dir", "none"));
	say("folder", rename("dir", "dir2"));
	say("into itself", rename("dir2", "dir2/x"));
	say("dot", rename(".", "x"));
	say("dots", rename("dir2/..", "x"));
	say("file with slash", rename("none/", "x"));
	say("folder with slash", rename("dir2/", "dir3/"));
	say("noreplace", renameat2(AT_FDCWD, "node", AT_FDCWD, "none", RENAME_NOREPLACE));
	say("exchange", renameat2(AT_FDCWD, "node", AT_FDCWD, "dir3", RENAME_EXCHANGE));
	show("node");
	say("exchange nothing", renameat2(AT_FDCWD, "node", AT_FDCWD, "zz", RENAME_EXCHANGE));
	say("bad flags", renameat2(AT_FDCWD, "node", AT_FDCWD, "zz", 64));
	say("both", renameat2(AT_FDCWD, "node", AT_FDCWD, "zz",
			      RENAME_EXCHANGE | RENAME_NOREPLACE));
	say("other file system", rename("none", "/proc/none"));
	say("symlink", rename("sym", "symr"));
	show("symr");
}

/* --- sockets ----------------------------------------------------------------- */

static void show_socket(int s)
{
	struct sockaddr_un a = { 0 };
	socklen_t n = sizeof(a);

	if (getsockname(s, (struct sockaddr *)&a, &n) == 0)
		printf("  family %d length %u path %s\n", a.sun_family,
		       a.sun_path[0] ? n : 0, a.sun_path[0] == home[0] ? "absolute" : a.sun_path);
}

static void try_bind(const char *name, const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	say(name, bind(s, (struct sockaddr *)&a, sizeof(a)));
	show_socket(s);
	show(path);
	close(s);
}

static void sockets(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "\0abstract-cordon" };
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	say("inet", bind(s, (struct sockaddr *)&in, sizeof(in)));
	say("inet again", bind(s, (struct sockaddr *)&in, sizeof(in)));
	say("short", bind(s, (struct sockaddr *)&in, 3));
	say("long", bind(s, (struct sockaddr *)&in, 1000));
	say("null", bind(s, NULL, 16));
	close(s);
	say("no socket", bind(1, (struct sockaddr *)&in, sizeof(in)));
	say("no descriptor", bind(77, (struct sockaddr *)&in, sizeof(in)));
	s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	say("abstract", bind(s, (struct sockaddr *)&un, 20));
	close(s);
	s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	say("autobind", bind(s, (struct sockaddr *)&un, 2));
	close(s);
	say("mkdir", mkdir("sd", 0755));
	try_bind("relative", "sock");
	try_bind("in use", "sock");
	try_bind("below", "sd/sock");
	try_bind("dots", "./sd/../sd/sock2");
	try_bind("over cwd", "/proc/self/cwd/sock3");
	try_bind("nowhere", "no/sock");
	say("link", symlink("sd", "sl"));
	try_bind("over a link", "sl/sock4");
	say("dangling", symlink("sock5", "sd5"));
	try_bind("on a link", "sd5");
}

/* --- waiting ----------------------------------------------------------------- */

static void fifos(void)
{
	char text[8] = "";
	pid_t pid;
	int fd;

	say("mkfifo", mkfifo("pipe", 0600));
	try_open("no reader", "pipe", O_CREAT | O_WRONLY | O_NONBLOCK, 0600);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		usleep(50000);
		fd = open("pipe", O_CREAT | O_WRONLY, 0600);
		_exit(write(fd, "pipe", 4) == 4 ? 0 : 1);
	}
	fd = open("pipe", O_CREAT | O_RDONLY, 0600);
	say("reader waits", read(fd, text, 4));
	printf("  %s %o\n", text, fcntl(fd, F_GETFL));
	close(fd);
	waitpid(pid, NULL, 0);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		usleep(50000);
		fd = open("pipe", O_RDONLY);
		_exit(read(fd, text, 4) == 4 ? 0 : 1);
	}
	fd = open("pipe", O_CREAT | O_WRONLY | O_TRUNC, 0600);
	say("writer waits", write(fd, "pipe", 4));
	close(fd);
	waitpid(pid, NULL, 0);
	/* While one waits, others must be served. */
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 8; i++)
			if (fork() == 0)
				_exit(open("pipe", O_CREAT | O_WRONLY, 0600) >= 0);
		pause();
	}
	usleep(100000);
	say("others", mkdir("others", 0755));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	fd = open("pipe", O_RDONLY | O_NONBLOCK);
	usleep(300000);
	close(fd);
}

static void *thread(void *unused)
{
	(void)unused;
	say("unshare", unshare(CLONE_FS | CLONE_FILES));
	say("mkdir", mkdir("thread", 0755));
	say("chdir", chdir("thread"));
	umask(0);
	try_open("in its own directory", "x", O_CREAT | O_WRONLY, 0666);
	show("x");
	close(0);
	try_open("own table", "y", O_CREAT | O_WRONLY, 0666);
	try_bind("own socket", "s");
	return NULL;
}

/* --- who cannot be looked into, as agents that hold keys ------------------------ */

static void by_descriptor(int dir, const char *how)
{
	char path[64];

	printf("not dumpable, %s\n", how);
	say("openat", openat(dir, "f", O_CREAT | O_WRONLY | O_CLOEXEC, 0600) < 0 ? -1 : 0);
	say("mkdirat", mkdirat(dir, "d", 0700));
	say("symlinkat", symlinkat("f", dir, "s"));
	say("mknodat", mknodat(dir, "n", S_IFREG | 0600, 0));
	say("linkat", linkat(dir, "f", dir, "l", 0));
	say("renameat", renameat(dir, "n", dir, "r"));
	snprintf(path, sizeof(path), "/proc/self/fd/%d/by-fd", dir);
	try_open("over procfs", path, O_CREAT | O_WRONLY, 0600);
	*strrchr(path, '/') = '\0';
	try_open("itself", path, O_CREAT | O_WRONLY, 0600);
	try_open("itself to write", path, O_WRONLY | O_TRUNC, 0600);
	try_open("itself new", path, O_CREAT | O_EXCL | O_WRONLY, 0600);
	try_open("itself, no link", path, O_NOFOLLOW | O_WRONLY, 0600);
	try_bind("socket", "nd-sock");
	unlink("nd-sock");
	for (const char *name = "fslr"; *name; name++)
		say("there", unlinkat(dir, (char[]){ *name, '\0' }, 0));
	say("folder", unlinkat(dir, "d", AT_REMOVEDIR));
}

/* A folder that only this thread has, under a number that is another's elsewhere. */
static void *closed_thread(void *number)
{
	int dir, *at = number;

	if (unshare(CLONE_FS | CLONE_FILES) < 0 || chdir("nd-thread") < 0)
		return NULL;
	dir = open(".", O_PATH | O_CLOEXEC);
	dup3(dir, *at, O_CLOEXEC);
	close(dir);
	by_descriptor(*at, "own table");
	say("own folder", mkdirat(*at, "here", 0700));
	return NULL;
}

static void *shared_thread(void *number)
{
	by_descriptor(*(const int *)number, "thread");
	return NULL;
}

static void closed_to_others(void)
{
	int dir = open("sd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int path = open("sd", O_PATH | O_CLOEXEC), file = open("/dev/null", O_RDWR | O_CLOEXEC);
	pthread_t t;

	mkdir("nd-thread", 0700);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	try_open("not dumpable", "nd", O_CREAT | O_WRONLY, 0600);
	try_open("not dumpable over cwd", "/proc/self/cwd/nd2", O_CREAT | O_WRONLY, 0600);
	by_descriptor(dir, "a folder");
	by_descriptor(path, "a path");
	by_descriptor(file, "a file");
	by_descriptor(99, "nothing");
	say("bind a file", bind(file, (struct sockaddr *)&(struct sockaddr_un){ AF_UNIX, "x" }, 4));
	say("bind a path", bind(path, (struct sockaddr *)&(struct sockaddr_un){ AF_UNIX, "x" }, 4));
	if (pthread_create(&t, NULL, shared_thread, &dir) == 0)
		pthread_join(t, NULL);
	if (pthread_create(&t, NULL, closed_thread, &dir) == 0)
		pthread_join(t, NULL);
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	show("nd-thread/here");
	show("sd/here");
	close(dir);
	close(path);
	close(file);
}

static void others(void)
{
	struct rlimit few = { 3, 64 };
	char path[64];
	pthread_t t;
	int fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0640);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	say("tmpfile", linkat(AT_FDCWD, path, AT_FDCWD, "tmpfile", AT_SYMLINK_FOLLOW));
	show("tmpfile");
	close(fd);
	fd = open("sd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d/by-fd", fd);
	try_open("over a descriptor", path, O_CREAT | O_WRONLY, 0600);
	show("sd/by-fd");
	say("openat", openat(fd, "../sd/at", O_CREAT | O_WRONLY, 0600) < 0 ? -1 : 0);
	close(fd);
	if (pthread_create(&t, NULL, thread, NULL) == 0)
		pthread_join(t, NULL);
	closed_to_others();
	fflush(stdout);
	if (fork() == 0) {
		setrlimit(RLIMIT_NOFILE, &few);
		try_open("no descriptor free", "few", O_CREAT | O_WRONLY, 0600);
		fflush(stdout);
		_exit(0);
	}
	wait(NULL);
	mkdir("closed", 0500);
	try_open("closed folder", "closed/x", O_CREAT | O_WRONLY, 0600);
	say("mkdir in it", mkdir("closed/x", 0700));
	chmod("closed", 0);
	try_open("shut folder", "closed/x", O_CREAT | O_WRONLY, 0600);
	chmod("closed", 0700);
	try_open("read-only place", "/proc/version", O_CREAT | O_WRONLY, 0600);
}

int main(void)
{
	umask(022);
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	if (!getcwd(home, sizeof(home)))
		return 1;
	opens();
	null_device();
	opens_existing();
	links_followed();
	names();
	renames();
	sockets();
	fifos();
	others();
	return 0;
}
