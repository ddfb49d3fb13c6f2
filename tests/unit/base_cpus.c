/* Which CPUs tasks run on. */
#include "tap.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/cpus.h"

static void first_of(const cpu_set_t *all, cpu_set_t *ret)
{
	int i = 0;

	while (i < CPU_SETSIZE - 1 && !CPU_ISSET(i, all))
		i++;
	CPU_ZERO(ret);
	CPU_SET(i, ret);
}

/* Stay on one CPU meanwhile, so that it is known which. */
static void test_part(void)
{
	cpu_set_t all, here, child;
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	cpus_read(&all);
	ok(CPU_COUNT(&all) > 0, "there are CPUs");
	first_of(&all, &here);
	is_int(cpus_use(&here), 0, "on the first");
	cpus_part(&all, pid);
	is_int(sched_getaffinity(pid, sizeof(child), &child), 0, "its CPUs");
	if (CPU_COUNT(&all) > 1) {
		CPU_XOR(&here, &here, &all);
		ok(CPU_EQUAL(&child, &here), "all but that");
	} else {
		ok(CPU_EQUAL(&child, &all), "there is no other");
	}
	cpus_part(&(cpu_set_t){ { 0 } }, pid);
	is_int(sched_getaffinity(pid, sizeof(here), &here), 0, "its CPUs");
	ok(CPU_EQUAL(&child, &here), "none are told to nobody");
	is_int(cpus_use(&(cpu_set_t){ { 0 } }), 0, "none change nothing");
	is_int(cpus_use(&all), 0, "all again");
	cpus_read(&here);
	ok(CPU_EQUAL(&here, &all), "as they were");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_idle(void)
{
	static const char *const wrong[] = { "", "/", "1/2", " /2", "0.00 0.01 0.05 x/2 3",
					     "0.00 0.01 0.05 0/2 3", "0.00 0.01 0.05 -1/2 3",
					     "0.00 0.01 0.05 1 2 3" };
	cpu_set_t all, one;

	ok(cpus_say_idle("0.00 0.01 0.05 1/211 4711\n", 2), "only we run");
	ok(!cpus_say_idle("0.00 0.01 0.05 2/211 4711\n", 2), "somebody else, too");
	ok(!cpus_say_idle("0.00 0.01 0.05 1/211 4711\n", 1), "there is one CPU");
	ok(cpus_say_idle("9.00 9.01 9.05 12/911 4711\n", 16), "some of many run");
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		ok(!cpus_say_idle(wrong[i], 64), "'%s' tells nothing", wrong[i]);
	cpus_read(&all);
	first_of(&all, &one);
	ok(!cpus_have_idle(&one), "of the one that we run on");
	ok(!cpus_have_idle(&(cpu_set_t){ { 0 } }), "of none");
}

int main(void)
{
	return tap_run((struct tap_case[]){ TAP(test_part), TAP(test_idle),
					    TAP_END });
}
