/* guard-race: races that would make a guarded name if judging and acting could
 * be told apart.  Guarded: .envrc and .git/hooks of the working directory.
 *
 *   guard-race flip|swap|rename|crowd COUNT_OR_SECONDS
 *
 * Prints how often the name was made.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

struct shared {
	atomic_uint moves;	/* odd while one is going on; 2 mod 4: it is .git */
	atomic_bool done;
};

static void move_about(struct shared *s)
{
	while (!s->done) {
		s->moves++;
		if (rename("x", ".git") < 0) {
			s->moves--;
			continue;
		}
		s->moves++;
		s->moves++;
		rename(".git", "x");
		s->moves++;
	}
	_exit(0);
}

static void make_hooks(struct shared *s, int dir)
{
	while (!s->done) {
		mkdirat(dir, "hooks", 0755);
		unlinkat(dir, "hooks", AT_REMOVEDIR);
	}
	_exit(0);
}

static long rename_race(long seconds)
{
	struct shared *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	time_t end = time(NULL) + seconds;
	long made = 0, looks = 0;
	int dir;

	mkdir("x", 0755);
	dir = open("x", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fork() == 0)
		move_about(s);
	if (fork() == 0)
		make_hooks(s, dir);
	for (; time(NULL) < end; looks++) {
		unsigned before = s->moves;
		struct stat st;
		bool there = fstatat(dir, "hooks", &st, AT_SYMLINK_NOFOLLOW) == 0;

		if (there && before % 4 == 2 && s->moves == before)
			made++;
	}
	s->done = true;
	while (wait(NULL) > 0)
		;
	printf("looks %ld moves %u\n", looks, s->moves / 2);
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

int main(int argc, char **argv)
{
	long n = argc > 2 ? strtol(argv[2], NULL, 10) : 1, made = -1;

	if (argc > 1 && strcmp(argv[1], "flip") == 0)
		made = flip(n);
	else if (argc > 1 && strcmp(argv[1], "swap") == 0)
		made = swap(n);
	else if (argc > 1 && strcmp(argv[1], "rename") == 0)
		made = rename_race(n);
	else if (argc > 1 && strcmp(argv[1], "crowd") == 0)
		made = crowd(n);
	printf("made %ld\n", made);
	return 0;
}
