/* For tests/suite-all/endurance: the library call again and again in one process.
 *
 *   run_loop RUNS
 *
 * Prints what the process holds after a tenth of the runs and after all of
 * them: descriptors, children, mappings, kilobytes of memory of its own. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cordon.h"

static long count_entries(const char *dir)
{
	DIR *d = opendir(dir);
	long n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

/* The sum of a line's numbers over a file of /proc. */
static long sum_lines(const char *path, const char *key)
{
	FILE *f = fopen(path, "re");
	char line[512];
	long sum = 0;

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, key, strlen(key)) == 0)
			sum += strtol(line + strlen(key), NULL, 10);
	if (f)
		fclose(f);
	return sum;
}

static long count_children(void)
{
	FILE *f = fopen("/proc/thread-self/children", "re");
	long n = 0, pid;

	while (f && fscanf(f, "%ld", &pid) == 1)
		n++;
	if (f)
		fclose(f);
	return n;
}

static void print_state(long runs)
{
	printf("%ld %ld %ld %ld\n", runs, count_entries("/proc/self/fd"), count_children(),
	       sum_lines("/proc/self/smaps_rollup", "Anonymous:"));
	fflush(stdout);
}

/* Good, failing, timed out, not to be found, refused; with output and guard. */
static int run_one(long i)
{
	static const char *const texts[] = { "true", "exit 7", "head -c 100000 /dev/zero; : > f",
					     "sleep 60 & exit 0", "kill -9 $$" };
	static const int codes[] = { 0, 7, 0, 0, 137 };
	const char *command[] = { "/bin/sh", "-c", texts[i % 5] };
	const struct cordon_setting settings[] = {
		{ CORDON_TIGHTEN, "limits.timeout", "20s", "--timeout" },
		{ CORDON_ADD, "files.deny", "denied", "--deny" },
	};
	struct cordon_run_options options = CORDON_RUN_OPTIONS;
	struct cordon_request req = CORDON_REQUEST;
	struct cordon_answer answer = { 0 };
	struct cordon_err err = { 0 };
	int code = -1, rc;

	req.command = command;
	req.n_command = 3;
	req.settings = settings;
	req.n_settings = i % 7 == 6 ? 0 : 2;
	options.capture = options.json = true;
	rc = cordon_run(&req, &options, &code, &answer, &err);
	if (rc < 0 || code != codes[i % 5])
		printf("run %ld: %d %d %s %s\n", i, rc, code, err.msg,
		       answer.problems ? answer.problems : "");
	cordon_answer_release(&answer);
	return rc < 0 || code != codes[i % 5];
}

int main(int argc, char **argv)
{
	long runs = argc > 1 ? strtol(argv[1], NULL, 10) : 100;
	int bad = 0;

	for (long i = 0; i < runs; i++) {
		if (i == runs / 10)
			print_state(i);
		bad |= run_one(i);
	}
	print_state(runs);
	return bad;
}
