/* guard-attack: tries to make guarded names in the working directory.
 *
 * Guarded are, in it: .env and .vscode/tasks.json at any depth,
 * .envrc, .git/hooks and deep/er/name.
 * For each attempt prints `NAME made` or `NAME refused`, by what is there
 * afterwards; the errno is shown for readers.  tests/suite/guard runs it without
 * the guard, where each must succeed, and with it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macros.h"

static char home[4096];		/* the working directory */
static const char *alias;	/* a second mount of it */

static void put(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

	if (fd >= 0)
		close(fd);
}

/* Whether it worked is seen by what is there. */
static void tried(long rc)
{
	(void)rc;
}

static void go(const char *dir)
{
	tried(chdir(dir));
}

static void closing(long fd)
{
	int kept = errno;

	if (fd >= 0)
		close((int)fd);
	errno = kept;
}

/* --- one name ---------------------------------------------------------------- */

static void by_open(void)
{
	closing(syscall(SYS_openat, AT_FDCWD, ".env", O_CREAT | O_WRONLY, 0644));
}

#ifdef SYS_open
static void by_old_open(void)
{
	closing(syscall(SYS_open, ".env", O_CREAT | O_RDWR, 0644));
}

static void by_creat(void)
{
	closing(syscall(SYS_creat, ".env", 0644));
}

static void by_old_mkdir(void)
{
	syscall(SYS_mkdir, ".env", 0755);
}

static void by_old_rename(void)
{
	put("x");
	syscall(SYS_rename, "x", ".env");
}

static void by_old_symlink(void)
{
	syscall(SYS_symlink, "x", ".env");
}

static void by_old_link(void)
{
	put("x");
	syscall(SYS_link, "x", ".env");
}

static void by_old_mknod(void)
{
	syscall(SYS_mknod, ".env", S_IFREG | 0644, 0);
}
#endif

static void by_absolute(void)
{
	char path[8192];

	snprintf(path, sizeof(path), "///%s/.//.env", home);
	closing(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
}

static void by_dirfd(void)
{
	int dir = open(".", O_PATH | O_CLOEXEC);

	closing(openat(dir, ".env", O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0644));
	closing(dir);
}

static void by_high_bits(void)
{
	closing(syscall(SYS_openat, (long)(0xdead00000000ull | (uint32_t)AT_FDCWD), ".env",
			0x7eadbeef00000000ull | O_CREAT | O_WRONLY, 0644));
}

static void by_mkdir(void)
{
	mkdir(".env", 0755);
}

static void by_spelling(void)
{
	mkdir("x", 0755);
	mkdir("./x/../.env///", 0755);
}

static void by_case(void)
{
	put(".ENV");
}

static void by_ignored_character(void)
{
	put(".e\xe2\x80\x8cnv");
}

static void by_fifo(void)
{
	mknod(".env", S_IFIFO | 0644, 0);
}

static void by_symlink(void)
{
	tried(symlink("x", ".env"));
}

static void by_link(void)
{
	put("x");
	tried(link("x", ".env"));
}

static void by_rename(void)
{
	put("x");
	rename("x", ".env");
}

static void by_noreplace(void)
{
	put("x");
	renameat2(AT_FDCWD, "x", AT_FDCWD, ".env", RENAME_NOREPLACE);
}

static void by_whiteout(void)
{
	put("x");
	renameat2(AT_FDCWD, "x", AT_FDCWD, ".env", RENAME_WHITEOUT);
}

static void by_bind(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX, .sun_path = ".env" };
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	tried(bind(s, (struct sockaddr *)&a, sizeof(a)));
	closing(s);
}

static void by_bind_below_link(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	tried(symlink(".", "here"));
	snprintf(a.sun_path, sizeof(a.sun_path), "here/.env");
	tried(bind(s, (struct sockaddr *)&a, sizeof(a)));
	closing(s);
}

/* --- through links ----------------------------------------------------------- */

static void through(const char *target)
{
	if (symlink(target, "x") == 0)
		closing(open("x", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
}

static void by_dangling_link(void)
{
	through(".env");
}

static void by_link_chain(void)
{
	if (symlink("./.env", "y") == 0)
		through("y");
}

static void by_cwd_link(void)
{
	through("/proc/self/cwd/.env");
}

static void by_thread_self(void)
{
	through("/proc/thread-self/cwd/.env");
}

static void by_root_link(void)
{
	char path[8192];

	snprintf(path, sizeof(path), "/proc/self/root%s/.env", home);
	through(path);
}

static void by_fd_link(void)
{
	char path[64];
	int dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	snprintf(path, sizeof(path), "/proc/self/fd/%d/.env", dir);
	through(path);
	closing(dir);
}

static void by_cwd_path(void)
{
	mkdir("/proc/self/cwd/.env", 0755);
}

static void by_pid_path(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/cwd/.env", getpid());
	put(path);
}

static void by_link_in_way(void)
{
	if (symlink(home, "w") == 0)
		put("w/w/.env");
}

/* --- without a name first ---------------------------------------------------- */

static void by_tmpfile(void)
{
	char path[64];
	int fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0644);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	tried(linkat(AT_FDCWD, path, AT_FDCWD, ".env", AT_SYMLINK_FOLLOW));
	closing(fd);
}

static void by_empty_path(void)
{
	char path[64];
	int fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0644);

	/* Not allowed on all kernels; the other way is. */
	if (linkat(fd, "", AT_FDCWD, ".env", AT_EMPTY_PATH) < 0 && errno == ENOENT) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		tried(linkat(AT_FDCWD, path, AT_FDCWD, ".env", AT_SYMLINK_FOLLOW));
	}
	closing(fd);
}

static void by_page_end(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(at + page, page);
	memcpy(at + page - 5, ".env", 5);
	closing(syscall(SYS_openat, AT_FDCWD, at + page - 5, O_CREAT | O_WRONLY, 0644));
}

static void by_openat2(void)
{
	struct {
		uint64_t flags, mode, resolve;
	} how = { O_CREAT | O_WRONLY, 0644, 0 };

	closing(syscall(437, AT_FDCWD, ".env", &how, sizeof(how)));
}

/* --- directories ------------------------------------------------------------- */

static void hooks_by_mkdir(void)
{
	mkdir(".git", 0755);
	mkdir(".git/hooks", 0755);
}

static void hooks_by_rename(void)
{
	mkdir("y", 0755);
	mkdir("y/hooks", 0755);
	rename("y", ".git");
}

static void hooks_by_rename_over(void)
{
	mkdir("y", 0755);
	mkdir("y/hooks", 0755);
	mkdir(".git", 0755);
	rename("y", ".git");
}

static void hooks_by_exchange(void)
{
	mkdir("y", 0755);
	mkdir("y/hooks", 0755);
	mkdir(".git", 0755);
	renameat2(AT_FDCWD, "y", AT_FDCWD, ".git", RENAME_EXCHANGE);
}

static void hooks_by_exchange_back(void)
{
	mkdir("y", 0755);
	mkdir("y/hooks", 0755);
	mkdir(".git", 0755);
	renameat2(AT_FDCWD, ".git", AT_FDCWD, "y", RENAME_EXCHANGE);
}

static void hooks_by_leaving(void)
{
	mkdir(".git", 0755);
	rename(".git", "y");
	mkdir("y/hooks", 0755);
	rename("y", ".git");
}

static void hooks_by_link(void)
{
	mkdir("y", 0755);
	mkdir("y/hooks", 0755);
	tried(symlink("y", ".git"));
}

static void hooks_by_renamed_link(void)
{
	mkdir("y", 0755);
	mkdir("y/hooks", 0755);
	if (symlink("y", "z") == 0)
		rename("z", ".git");
}

static void hooks_by_linked_link(void)
{
	mkdir("y", 0755);
	mkdir("y/hooks", 0755);
	if (symlink("y", "z") == 0)
		tried(linkat(AT_FDCWD, "z", AT_FDCWD, ".git", 0));
}

static void hooks_by_unreadable(void)
{
	mkdir("y", 0755);
	mkdir("y/hooks", 0755);
	chmod("y", 0300);
	rename("y", ".git");
	chmod("y", 0700);
	chmod(".git", 0700);
}

static void hooks_by_held_fd(void)
{
	int dir;

	mkdir("y", 0755);
	dir = open("y", O_PATH | O_CLOEXEC);
	rename("y", ".git");
	mkdirat(dir, "hooks", 0755);
	closing(dir);
}

static void hooks_in_other_case(void)
{
	mkdir("y", 0755);
	mkdir("y/HOOKS", 0755);
	rename("y", ".git");
}

static void tasks_in_new_folder(void)
{
	mkdir("a", 0755);
	mkdir("a/.vscode", 0755);
	put("a/.vscode/tasks.json");
}

static void tasks_by_rename(void)
{
	mkdir("a", 0755);
	mkdir("a/x", 0755);
	put("a/x/tasks.json");
	rename("a/x", "a/.vscode");
}

static void deep_by_rename(void)
{
	mkdir("y", 0755);
	mkdir("y/er", 0755);
	put("y/er/name");
	rename("y", "deep");
}

static void deep_by_rename_inside(void)
{
	mkdir("deep", 0755);
	mkdir("deep/y", 0755);
	put("deep/y/name");
	rename("deep/y", "deep/er");
}

static void deep_by_link_inside(void)
{
	mkdir("y", 0755);
	mkdir("z", 0755);
	put("z/name");
	tried(symlink("../z", "y/er"));
	rename("y", "deep");
}

static void env_in_new_folder(void)
{
	mkdir("a", 0755);
	mkdir("a/b", 0755);
	go("a/b");
	put(".env");
	go(home);
}

static void below_held(void)
{
	put("kept.env");	/* .envrc is a directory made beforehand */
	rename("kept.env", "made/.env");
}

static void by_alias(void)
{
	char path[8192];

	snprintf(path, sizeof(path), "%s/.envrc", alias);
	put(path);
}

static void by_alias_hooks(void)
{
	char path[8192];

	mkdir(".git", 0755);
	snprintf(path, sizeof(path), "%s/.git/hooks", alias);
	mkdir(path, 0755);
}

/* Too deep for the kernel to tell the path. */
static void by_depth(void)
{
	char name[201];

	memset(name, 'd', 200);
	name[200] = '\0';
	for (int i = 0; i < 25; i++) {
		mkdir(name, 0755);
		if (chdir(name) < 0)
			break;
	}
	put(".env");
	if (access(".env", F_OK) == 0) {
		go(home);
		put("deep-made");
	}
	go(home);
}

/* --- callers of other kinds -------------------------------------------------- */

static void *in_thread(void *unused)
{
	(void)unused;
	if (unshare(CLONE_FS | CLONE_FILES) == 0 && mkdir("t", 0755) == 0 && chdir("t") == 0)
		put("../.env");
	return NULL;
}

static void by_thread(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, in_thread, NULL) == 0)
		pthread_join(t, NULL);
}

static void by_vfork(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		syscall(SYS_mkdirat, AT_FDCWD, ".env", 0755);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void by_not_dumpable(void)
{
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	put(".env");
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

static void by_setuid_mode(void)
{
	struct stat st;

	closing(open("x", O_CREAT | O_WRONLY | O_CLOEXEC, 04755));
	if (stat("x", &st) == 0 && st.st_mode & S_ISUID)
		put("setuid-made");
}

static const struct attack {
	const char *name, *makes;
	void (*run)(void);
} attacks[] = {
	{ "openat", ".env", by_open },
#ifdef SYS_open
	{ "open", ".env", by_old_open },
	{ "creat", ".env", by_creat },
	{ "old mkdir", ".env", by_old_mkdir },
	{ "old rename", ".env", by_old_rename },
	{ "old symlink", ".env", by_old_symlink },
	{ "old link", ".env", by_old_link },
	{ "old mknod", ".env", by_old_mknod },
#endif
	{ "absolute path", ".env", by_absolute },
	{ "descriptor of the directory", ".env", by_dirfd },
	{ "junk in high bits", ".env", by_high_bits },
	{ "mkdirat", ".env", by_mkdir },
	{ "dots and slashes", ".env", by_spelling },
	{ "other case", ".ENV", by_case },
	{ "ignored character", ".e\xe2\x80\x8cnv", by_ignored_character },
	{ "fifo", ".env", by_fifo },
	{ "symlink", ".env", by_symlink },
	{ "link", ".env", by_link },
	{ "rename", ".env", by_rename },
	{ "rename NOREPLACE", ".env", by_noreplace },
	{ "rename WHITEOUT", ".env", by_whiteout },
	{ "bind", ".env", by_bind },
	{ "bind below a link", ".env", by_bind_below_link },
	{ "dangling link", ".env", by_dangling_link },
	{ "chain of links", ".env", by_link_chain },
	{ "link to /proc/self/cwd", ".env", by_cwd_link },
	{ "link to /proc/thread-self", ".env", by_thread_self },
	{ "link to /proc/self/root", ".env", by_root_link },
	{ "link to /proc/self/fd", ".env", by_fd_link },
	{ "path over /proc/self/cwd", ".env", by_cwd_path },
	{ "path over /proc/PID/cwd", ".env", by_pid_path },
	{ "links on the way", ".env", by_link_in_way },
	{ "O_TMPFILE and linkat", ".env", by_tmpfile },
	{ "O_TMPFILE and AT_EMPTY_PATH", ".env", by_empty_path },
	{ "path at the end of memory", ".env", by_page_end },
	{ "openat2", ".env", by_openat2 },
	{ "hooks: mkdir", ".git/hooks", hooks_by_mkdir },
	{ "hooks: rename of the parent", ".git/hooks", hooks_by_rename },
	{ "hooks: rename over the parent", ".git/hooks", hooks_by_rename_over },
	{ "hooks: exchange", ".git/hooks", hooks_by_exchange },
	{ "hooks: exchange back", ".git/hooks", hooks_by_exchange_back },
	{ "hooks: parent away and back", ".git/hooks", hooks_by_leaving },
	{ "hooks: link as parent", ".git/hooks", hooks_by_link },
	{ "hooks: renamed link as parent", ".git/hooks", hooks_by_renamed_link },
	{ "hooks: hard link of a link", ".git/hooks", hooks_by_linked_link },
	{ "hooks: unreadable parent", ".git/hooks", hooks_by_unreadable },
	{ "hooks: descriptor held over a rename", ".git/hooks", hooks_by_held_fd },
	{ "hooks: other case", ".git/HOOKS", hooks_in_other_case },
	{ "tasks.json in a new folder", "a/.vscode/tasks.json", tasks_in_new_folder },
	{ "tasks.json by rename", "a/.vscode/tasks.json", tasks_by_rename },
	{ "deep: rename from the top", "deep/er/name", deep_by_rename },
	{ "deep: rename in the middle", "deep/er/name", deep_by_rename_inside },
	{ "deep: link inside what moves", "deep/er/name", deep_by_link_inside },
	{ ".env in a new folder", "a/b/.env", env_in_new_folder },
	{ ".env into a folder", "made/.env", below_held },
	{ "second mount", ".envrc", by_alias },
	{ "second mount, below", ".git/hooks", by_alias_hooks },
	{ "very deep folder", "deep-made", by_depth },
	{ "thread with its own directory", ".env", by_thread },
	{ "vfork", ".env", by_vfork },
	{ "not dumpable", ".env", by_not_dumpable },
	{ "setuid mode", "setuid-made", by_setuid_mode },
};

/* Remove what is in a directory, however deep. */
static void empty(int dir)
{
	DIR *d = fdopendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		int sub;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (unlinkat(dirfd(d), e->d_name, 0) == 0)
			continue;
		sub = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (sub >= 0)
			empty(sub);
		unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
	}
	if (d)
		closedir(d);
}

static void clean(void)
{
	go(home);
	empty(open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

int main(int argc, char **argv)
{
	alias = argc > 1 ? argv[1] : NULL;
	if (!getcwd(home, sizeof(home)))
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(attacks); i++) {
		const struct attack *a = &attacks[i];
		struct stat st;
		int said;

		clean();
		mkdir("made", 0755);
		errno = 0;
		a->run();
		said = errno;
		printf("%s: %s (%s)\n", lstat(a->makes, &st) == 0 ? "made" : "refused", a->name,
		       strerrorname_np(said));
		fflush(stdout);
	}
	clean();
	return 0;
}
