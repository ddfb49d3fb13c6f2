/* Unit tests that speak TAP.
 *
 *   static void test_words(void) { ok(1 + 1 == 2, "sums"); }
 *   int main(void) { return tap_run((struct tap_case[]){ TAP(test_words), TAP_END }); }
 *
 * Each case runs in a child of its own, so that one that crashes, confines
 * itself or leaks a descriptor fails alone.  A case that cannot run here says
 * skip("why") and ends.
 */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct tap_case {
	const char *name;
	void (*run)(void);
};
#define TAP(fn)		{ #fn, fn }
#define TAP_END		{ NULL, NULL }

/* In the child: how many checks were made and how many failed. */
static int tap_checks, tap_failures;

#define ok(cond, ...)		tap_check((cond), #cond, __FILE__, __LINE__, __VA_ARGS__)
#define is_int(got, want, ...)	tap_is_int((got), (want), __FILE__, __LINE__, __VA_ARGS__)
#define is_text(got, want, ...)	tap_is_text((got), (want), __FILE__, __LINE__, __VA_ARGS__)

__attribute__((format(printf, 5, 6), unused))
static bool tap_check(bool good, const char *cond, const char *file, int line,
		      const char *fmt, ...)
{
	va_list args;

	tap_checks++;
	if (good)
		return true;
	tap_failures++;
	printf("# %s:%d: %s: ", file, line, cond);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	return false;
}

__attribute__((format(printf, 5, 6), unused))
static bool tap_is_int(long long got, long long want, const char *file, int line,
		       const char *fmt, ...)
{
	va_list args;

	tap_checks++;
	if (got == want)
		return true;
	tap_failures++;
	printf("# %s:%d: got %lld, want %lld: ", file, line, got, want);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	return false;
}

__attribute__((format(printf, 5, 6), unused))
static bool tap_is_text(const char *got, const char *want, const char *file, int line,
			const char *fmt, ...)
{
	va_list args;

	tap_checks++;
	if (got && want ? strcmp(got, want) == 0 : got == want)
		return true;
	tap_failures++;
	printf("# %s:%d: got '%s', want '%s': ", file, line, got ? got : "(null)",
	       want ? want : "(null)");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	return false;
}

/* Shared with the children, who write the reason for a skip. */
static char *tap_skipped;
#define TAP_SKIP_BYTES	256

__attribute__((format(printf, 1, 2), unused, noreturn))
static void skip(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(tap_skipped, TAP_SKIP_BYTES, fmt, args);
	va_end(args);
	exit(0);
}

static int tap_run(const struct tap_case *cases)
{
	int n = 0, failed = 0;

	tap_skipped = mmap(NULL, TAP_SKIP_BYTES, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (tap_skipped == MAP_FAILED) {
		perror("# mmap");
		return 1;
	}
	for (const struct tap_case *c = cases; c->name; c++) {
		int status;
		pid_t pid;

		fflush(stdout);
		*tap_skipped = '\0';
		pid = fork();
		if (pid == 0) {
			c->run();
			if (tap_checks == 0)
				printf("# %s checked nothing\n", c->name);
			exit(tap_failures || tap_checks == 0 ? 1 : 0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid) {
			perror("# fork");
			status = -1;
		}
		if (WIFSIGNALED(status))
			printf("# %s died of signal %d\n", c->name, WTERMSIG(status));
		failed += status != 0;
		printf("%sok %d - %s%s%s\n", status ? "not " : "", ++n, c->name,
		       *tap_skipped ? " # SKIP " : "", tap_skipped);
	}
	printf("1..%d\n", n);
	return failed != 0;
}

#endif
