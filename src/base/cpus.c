/* Which CPUs tasks run on; see cpus.h. */
#include "base/cpus.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

void cpus_read(cpu_set_t *ret)
{
	/* More than fit. */
	if (sched_getaffinity(0, sizeof(*ret), ret) < 0)
		CPU_ZERO(ret);
}

bool cpus_say_idle(const char *loadavg, int n_cpus)
{
	const char *at = strchr(loadavg, '/');
	char *end;
	long n_running;

	/* "0.00 0.01 0.05 1/211 4711": how many run stands before the slash. */
	while (at && at > loadavg && at[-1] != ' ')
		at--;
	if (!at || at == loadavg)
		return false;
	n_running = strtol(at, &end, 10);
	return *end == '/' && n_running > 0 && n_running < n_cpus;
}

bool cpus_have_idle(const cpu_set_t *all)
{
	cleanup_fd int fd = openat(AT_FDCWD, "/proc/loadavg", O_RDONLY | O_CLOEXEC);
	char text[128] = "";

	return fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 &&
	       cpus_say_idle(text, CPU_COUNT(all));
}

void cpus_part(const cpu_set_t *all, pid_t other)
{
	cpu_set_t rest = *all;
	int cpu = sched_getcpu();

	if (cpu < 0 || cpu >= CPU_SETSIZE)
		return;
	CPU_CLR(cpu, &rest);
	if (CPU_COUNT(&rest) > 0)
		(void)sched_setaffinity(other, sizeof(rest), &rest);
}

int cpus_use(const cpu_set_t *cpus)
{
	cpu_set_t now;

	cpus_read(&now);
	/* Whoever encloses us may not let us change them. */
	if (!CPU_COUNT(cpus) || CPU_EQUAL(&now, cpus))
		return 0;
	return sched_setaffinity(0, sizeof(*cpus), cpus);
}

void cpus_stay_on(int cpu)
{
	cpu_set_t one;

	if (cpu < 0 || cpu >= CPU_SETSIZE)
		return;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	(void)!cpus_use(&one);
}
