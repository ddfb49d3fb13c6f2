/* Runs a command through the library, once for each line that it reads; answers
 * with the microseconds that the call took.  Started by run.py, which calls it in
 * turn with the programs that it is compared with.
 *
 *     call COMMAND [ARG...]
 *     call --session ID COMMAND [ARG...]
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cordon.h"

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* The answers' descriptor; the command gets /dev/null for its streams. */
static FILE *hide_streams(FILE **ret_lines)
{
	int in = fcntl(0, F_DUPFD_CLOEXEC, 10), out = fcntl(1, F_DUPFD_CLOEXEC, 10);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (in < 0 || out < 0 || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0)
		return NULL;
	*ret_lines = fdopen(in, "r");
	return *ret_lines ? fdopen(out, "w") : NULL;
}

/* In a session, or (NULL) a run of its own. */
static int call(const char *session, char **argv, size_t n, int *ret_code,
		struct cordon_answer *ret, struct cordon_err *err)
{
	struct cordon_exec_options exec = CORDON_EXEC_OPTIONS;
	struct cordon_run_options run = CORDON_RUN_OPTIONS;
	struct cordon_request req = CORDON_REQUEST;

	exec.command = req.command = (const char *const *)argv;
	req.n_command = n;
	return session ? cordon_session_exec(session, &exec, ret_code, ret, err)
		       : cordon_run(&req, &run, ret_code, ret, err);
}

int main(int argc, char **argv)
{
	const char *session = NULL;
	FILE *lines, *answers = hide_streams(&lines);
	char line[16];

	if (!answers || argc < 2)
		return 2;
	if (argc > 3 && strcmp(argv[1], "--session") == 0) {
		session = argv[2];
		argv += 2;
		argc -= 2;
	}
	while (fgets(line, sizeof(line), lines)) {
		struct cordon_answer answer = { 0 };
		struct cordon_err err;
		double begin = now_us();
		int code = 125, rc = call(session, argv + 1, (size_t)argc - 1, &code, &answer,
					  &err);
		double us = now_us() - begin;

		if (rc < 0 || code != 0) {
			fprintf(stderr, "call: %d: %s\n", code,
				rc < 0 ? err.msg : answer.problems ? answer.problems : "");
			return 1;
		}
		cordon_answer_release(&answer);
		fprintf(answers, "%.1f\n", us);
		fflush(answers);
	}
	return 0;
}
