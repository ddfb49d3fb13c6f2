/* guard-race: races that would make a guarded name if judging and acting could
 * be told apart.  Guarded: .envrc and .git/hooks of the working directory.
 *
 *   guard-race flip|swap|rename|crowd|flood|execute|rebind COUNT_OR_SECONDS
 *
 * Prints how often the name was made; for the last two, how often a file that
 * was just written could not be executed, an address just closed not be bound.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/macros.h"

static char path[16] = "fine";	/* changed by a thread while the call is made */
static atomic_bool done;

static bool seen(const char *name)
{
	struct stat st;

	return lstat(name, &st) == 0;
}

static void tried(long rc)
{
	(void)rc;
}

/* --- the path changes while it is read --------------------------------------- */

static void *flip_path(void *unused)
{
	(void)unused;
	while (!done) {
		memcpy(path, ".envrc", 7);
		atomic_signal_fence(memory_order_seq_cst);
		memcpy(path, "fine\0c", 7);
		atomic_signal_fence(memory_order_seq_cst);
	}
	return NULL;
}

static long flip(long count)
{
	long made = 0;
	pthread_t t;

	if (pthread_create(&t, NULL, flip_path, NULL) != 0)
		return -1;
	for (long i = 0; i < count; i++) {
		int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_CREAT | O_WRONLY, 0600);

		if (fd >= 0)
			close(fd);
		if (unlink(".envrc") == 0)
			made++;
		unlink("fine");
	}
	done = true;
	pthread_join(t, NULL);
	return made;
}

/* --- the directory on the way changes ---------------------------------------- */

static long swap(long count)
{
	long made = 0;
	pid_t pid;

	mkdir("a", 0755);
	tried(symlink("a", "p"));
	pid = fork();
	if (pid == 0)
		for (;;) {
			tried(symlink(".", "q"));
			rename("q", "p");
			tried(symlink("a", "q"));
			rename("q", "p");
		}
	for (long i = 0; i < count; i++) {
		int fd = open("p/.envrc", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

		if (fd >= 0)
			close(fd);
		if (unlink(".envrc") == 0)
			made++;
		unlink("a/.envrc");
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return made;
}

/* --- a directory moves while something is made in it ------------------------- */

static atomic_bool *ended;

static void make_hooks(int dir)
{
	while (!*ended) {
		mkdirat(dir, "hooks", 0755);
		unlinkat(dir, "hooks", AT_REMOVEDIR);
	}
	_exit(0);
}

/* Only we move the directory, so what we see while it is .git was there then. */
static long rename_race(long seconds)
{
	time_t end = time(NULL) + seconds;
	long made = 0, moves = 0;
	struct stat st;
	int dir;

	ended = mmap(NULL, sizeof(*ended), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	mkdir("x", 0755);
	dir = open("x", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fork() == 0)
		make_hooks(dir);
	while (time(NULL) < end) {
		if (rename("x", ".git") < 0)
			continue;
		for (int i = 0; i < 20; i++)
			made += fstatat(dir, "hooks", &st, AT_SYMLINK_NOFOLLOW) == 0;
		moves++;
		rename(".git", "x");
	}
	*ended = true;
	while (wait(NULL) > 0)
		;
	printf("moves %ld\n", moves);
	return made;
}

/* --- many at once ------------------------------------------------------------ */

static void one_of_crowd(long id)
{
	char from[32], to[32];

	for (int i = 0; i < 10; i++) {
		int fd;

		snprintf(from, sizeof(from), "c%ld.%d", id, i);
		snprintf(to, sizeof(to), "d%ld.%d", id, i);
		fd = open(from, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
		if (fd < 0 || close(fd) < 0 || rename(from, to) < 0)
			_exit(1);
		rename(to, ".envrc");
		if (seen(".envrc"))
			_exit(2);
	}
	_exit(0);
}

static long crowd(long count)
{
	long bad = 0, found = 0;
	char name[32];
	int status;

	for (long i = 0; i < count; i++)
		if (fork() == 0)
			one_of_crowd(i);
	while (wait(&status) > 0)
		bad += status != 0;
	for (long i = 0; i < count * 10; i++) {
		snprintf(name, sizeof(name), "d%ld.%ld", i / 10, i % 10);
		found += seen(name);
	}
	printf("found %ld of %ld\n", found, count * 10);
	return bad;
}

static long flood(long count)
{
	long made = 0;

	for (long i = 0; i < count; i++)
		made += mkdir(".envrc", 0755) == 0 && rmdir(".envrc") == 0;
	return made;
}

/* --- nobody else holds what was closed --------------------------------------- */

static int write_and_run(void)
{
	static const char script[] = "#!/bin/true\n";
	int fd = open("script", O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0755), status;
	pid_t pid;

	tried(write(fd, script, sizeof(script) - 1));
	close(fd);
	pid = vfork();
	if (pid == 0) {
		execl("./script", "script", (char *)NULL);
		_exit(1);
	}
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

static long execute(long count)
{
	long busy = 0;

	for (long i = 0; i < count; i++) {
		busy += write_and_run() != 0;
		unlink("script");
	}
	return busy;
}

static long rebind(long count)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t n = sizeof(a);
	long busy = 0;

	for (long i = 0; i < count; i++) {
		int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

		busy += bind(s, (struct sockaddr *)&a, sizeof(a)) < 0;
		if (i == 0)
			getsockname(s, (struct sockaddr *)&a, &n);
		close(s);
	}
	return busy;
}

static const struct {
	const char *name;
	long (*run)(long);
} kinds[] = {
	{ "flip", flip },   { "swap", swap },   { "rename", rename_race }, { "crowd", crowd },
	{ "flood", flood }, { "execute", execute }, { "rebind", rebind },
};

int main(int argc, char **argv)
{
	long n = argc > 2 ? strtol(argv[2], NULL, 10) : 1, made = -1;

	for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(kinds); i++)
		if (strcmp(argv[1], kinds[i].name) == 0)
			made = kinds[i].run(n);
	printf("made %ld\n", made);
	return 0;
}
