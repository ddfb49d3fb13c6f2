/* What the guard of names costs: names made, renamed and opened in the same cage
 * with and without it, on a tmpfs where there is one, and a git clone.
 *
 * The two take turns and the fastest round counts.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/macros.h"
#include "box.h"

#define ROUNDS	5
#define NAMES	1000

enum what { CREATE, RENAME, OPEN, MKDIR, CLONE, N_WHATS };
static const struct {
	const char *name, *unit;
} kinds[] = {
	[CREATE] = { "guard: create and close", "us" },
	[RENAME] = { "guard: rename", "us" },
	[OPEN] = { "guard: open what exists", "us" },
	[MKDIR] = { "guard: mkdir", "us" },
	[CLONE] = { "guard: git clone of 500 files", "ms" },
};
static_assert(ARRAY_SIZE(kinds) == N_WHATS, "a row for each");

static char top[64];

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int run(const char *script)
{
	const char *const argv[] = { "/bin/sh", "-c", script, NULL };
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		execv(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

static void one(enum what what, int i)
{
	char from[32], to[32];
	int fd;

	snprintf(from, sizeof(from), "f%d", i);
	snprintf(to, sizeof(to), "g%d", i);
	switch (what) {
	case CREATE:
		fd = open(from, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
		if (fd < 0 || close(fd) < 0)
			_exit(1);
		break;
	case RENAME:
		if (rename(from, to) < 0)
			_exit(1);
		break;
	case OPEN:
		fd = open(to, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || close(fd) < 0)
			_exit(1);
		break;
	default:
		if (mkdir(from, 0755) < 0)
			_exit(1);
	}
}

/* Inside: each kind in turn, its time into the shared page. */
static void measure(void *arg)
{
	double *times = arg;

	for (int what = 0; what < CLONE; what++) {
		double begin = now_us();

		for (int i = 0; i < NAMES; i++)
			one((enum what)what, i);
		times[what] = (now_us() - begin) / NAMES;
	}
	times[CLONE] = now_us();
	if (run("git clone -q --template= ../repo clone 2>/dev/null") != 0)
		_exit(1);
	times[CLONE] = (now_us() - times[CLONE]) / 1e3;
	if (run("rm -rf clone f* g*") != 0)
		_exit(1);
	_exit(0);
}

static int prepare(void)
{
	const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	char script[1024];

	snprintf(top, sizeof(top), "%s/cordon-bench-XXXXXX", base);
	if (!mkdtemp(top))
		return -1;
	snprintf(script, sizeof(script),
		 "cd %s && export HOME=$PWD GIT_CONFIG_NOSYSTEM=1 && mkdir w repo && cd repo &&"
		 " git init -q --template= && i=0 && while [ $i -lt 500 ]; do"
		 " mkdir -p d$((i %% 20)); echo $i >d$((i %% 20))/f$i; i=$((i + 1)); done &&"
		 " git add . && git -c user.name=a -c user.email=a@b commit -q -m x", top);
	return run(script);
}

int main(void)
{
	double best[2][N_WHATS], *times = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char dir[96], hooks[128], script[96];
	const char *names[] = { "**/.env", hooks };
	int bad = prepare();

	snprintf(dir, sizeof(dir), "%s/w", top);
	snprintf(hooks, sizeof(hooks), "%s/.git/hooks", dir);
	setenv("HOME", dir, 1);
	for (int round = 0; round < ROUNDS && !bad; round++)
		for (int guarded = 0; guarded < 2 && !bad; guarded++) {
			struct box b = { .names = names, .n_names = 2, .dir = dir,
					 .unguarded = !guarded, .landlock = true };

			bad = box_start(&b, NULL, measure, times) < 0 || box_wait(&b) != 0;
			for (int i = 0; i < N_WHATS; i++)
				if (round == 0 || times[i] < best[guarded][i])
					best[guarded][i] = times[i];
		}
	snprintf(script, sizeof(script), "rm -rf %s", top);
	if (run(script) != 0 || bad) {
		fprintf(stderr, "bench-guard: cannot measure here\n");
		return 1;
	}
	for (int i = 0; i < N_WHATS; i++)
		printf("{\"name\":\"%s\",\"value\":%.2f,\"unit\":\"%s\",\"baseline\":%.2f,"
		       "\"ratio\":%.2f}\n", kinds[i].name, best[1][i], kinds[i].unit, best[0][i],
		       best[1][i] / best[0][i]);
	return 0;
}
