/* How long `cordon version` takes to start and end, against an empty program.
 *
 * The two alternate, so that both see the same machine, and the fastest round
 * of each counts: whatever else runs can only add to it.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS	1000
#define LIMIT	1.2

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Run a program once; its time in microseconds, or -1 if it did not end well. */
static double run_us(char *const argv[], const posix_spawn_file_actions_t *quiet)
{
	double begin = now_us();
	int status;
	pid_t pid;

	if (posix_spawn(&pid, argv[0], quiet, NULL, argv, environ) != 0 ||
	    waitpid(pid, &status, 0) != pid || status != 0)
		return -1;
	return now_us() - begin;
}

int main(void)
{
	const char *build = getenv("CORDON_BUILD"), *cordon = getenv("CORDON");
	char program[4096], version[] = "version", empty[4096];
	char *const argvs[2][3] = { { program, version, NULL }, { empty, NULL } };
	double best[2] = { 1e9, 1e9 };
	posix_spawn_file_actions_t quiet;

	if (!build || !cordon) {
		fprintf(stderr, "CORDON and CORDON_BUILD are not set; run tools/bench\n");
		return 2;
	}
	snprintf(program, sizeof(program), "%s", cordon);
	snprintf(empty, sizeof(empty), "%s/tests/bench/empty", build);
	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);

	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < 2; i++) {
			double us = run_us(argvs[i], &quiet);

			if (us < 0) {
				fprintf(stderr, "%s does not run\n", argvs[i][0]);
				return 1;
			}
			if (us < best[i])
				best[i] = us;
		}
	printf("{\"name\": \"start: cordon version, against an empty program\", "
	       "\"value\": %.1f, \"unit\": \"us\", \"baseline\": %.1f, \"ratio\": %.3f, "
	       "\"limit\": %.2f}\n",
	       best[0], best[1], best[0] / best[1], LIMIT);
	return 0;
}
