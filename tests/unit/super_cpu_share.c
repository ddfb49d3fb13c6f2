/* CPUs for a run, spread over the live ones.  The numbers are of CPUs that no machine of ours
 * has, so that no run beside this test has marks for them. */
#include "super/cpu_share.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macros.h"
#include "tap.h"

#define FIRST	900

static cpu_set_t cpus_from(int first, int n)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (int i = 0; i < n; i++)
		CPU_SET(first + i, &set);
	return set;
}

/* The one CPU that `s` gets of `n`; -1: it is none of them, or there are more. */
static int take_one(struct cpu_share *s, int n)
{
	cpu_set_t from = cpus_from(FIRST, n), got;

	cpu_share_take(s, &from, 1, &got);
	for (int i = 0; i < n; i++)
		if (CPU_ISSET(FIRST + i, &got))
			return CPU_COUNT(&got) == 1 ? i : -1;
	return -1;
}

static void test_as_many_as_there_are(void)
{
	static const int64_t numbers[] = { 3, 4, INT64_MAX };
	cpu_set_t from = cpus_from(FIRST, 3), none = cpus_from(0, 0), got;
	struct cpu_share s = { .n = 0 };

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		cpu_share_take(&s, &from, numbers[i], &got);
		ok(CPU_EQUAL(&from, &got), "all of them");
		is_int((long long)s.n, 0, "and no mark");
	}
	cpu_share_take(&s, &none, 1, &got);
	is_int(CPU_COUNT(&got), 0, "of none none");
}

static void test_each_run_has_its_own(void)
{
	struct cpu_share s[6] = { { .n = 0 } };
	int runs[3] = { 0 }, cpu;

	for (size_t i = 0; i < ARRAY_SIZE(s); i++) {
		cpu = take_one(&s[i], 3);
		if (!ok(cpu >= 0, "one CPU"))
			return;
		runs[cpu]++;
		for (int k = 0; k < 3; k++)
			ok(runs[k] >= (int)(i + 1) / 3 && runs[k] <= (int)i / 3 + 1,
			   "CPU %d has %d of %zu runs", k, runs[k], i + 1);
	}
	/* What ends makes room at its place. */
	cpu_share_release(&s[1]);
	cpu = take_one(&s[1], 3);
	cpu_share_release(&s[1]);
	is_int(take_one(&s[1], 3), cpu, "the same again");
	is_int(take_one(&s[1], 3), cpu, "also by who has it: its own mark is given up first");
	for (size_t i = 0; i < ARRAY_SIZE(s); i++)
		cpu_share_release(&s[i]);
}

static void test_more_than_one(void)
{
	cpu_set_t from = cpus_from(FIRST, 3), got;
	struct cpu_share s[3] = { { .n = 0 } };
	int runs[3] = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(s); i++) {
		cpu_share_take(&s[i], &from, 2, &got);
		is_int(CPU_COUNT(&got), 2, "two CPUs");
		for (int k = 0; k < 3; k++)
			runs[k] += CPU_ISSET(FIRST + k, &got);
	}
	for (int k = 0; k < 3; k++)
		is_int(runs[k], 2, "CPU %d", k);
	for (size_t i = 0; i < ARRAY_SIZE(s); i++)
		cpu_share_release(&s[i]);
}

static void test_marks_end_with_their_process(void)
{
	struct cpu_share s = { .n = 0 };
	int ready[2], theirs = -1;
	pid_t pid;

	if (pipe(ready) < 0)
		abort();
	pid = fork();
	if (pid == 0) {
		theirs = take_one(&s, 2);
		if (write(ready[1], &theirs, sizeof(theirs)) < 0)
			_exit(1);
		pause();
		_exit(0);
	}
	ok(read(ready[0], &theirs, sizeof(theirs)) == sizeof(theirs), "a process has a CPU");
	is_int(take_one(&s, 2), !theirs, "then we have the other one");
	cpu_share_release(&s);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	is_int(take_one(&s, 2) >= 0, 1, "one of both");
	is_int((long long)s.n, 1, "with a mark of the first round");
	cpu_share_release(&s);
}

/* Names may be taken by others, and descriptors may be short: the number stays. */
static void test_without_a_mark_the_number_holds(void)
{
	struct cpu_share many[80] = { { .n = 0 } }, s = { .n = 0 };
	cpu_set_t from = cpus_from(FIRST, 40), got;

	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		ok(take_one(&many[i], 2) >= 0, "run %zu", i);
	is_int((long long)many[79].n, 0, "no name is left");
	cpu_share_take(&s, &from, 39, &got);
	is_int(CPU_COUNT(&got), 39, "so many CPUs");
	is_int((long long)s.n, MAX_CPU_MARKS, "not so many marks");
	cpu_share_release(&s);
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		cpu_share_release(&many[i]);
}

int main(void)
{
	return tap_run((struct tap_case[]){ TAP(test_as_many_as_there_are),
					    TAP(test_each_run_has_its_own),
					    TAP(test_more_than_one),
					    TAP(test_marks_end_with_their_process),
					    TAP(test_without_a_mark_the_number_holds), TAP_END });
}
