/* Which CPUs tasks run on.
 *
 * The kernel often puts a new task behind the one that made it, and leaves it there
 * for longer than both have to do while another CPU is idle.  Where two are to work
 * at the same time, it is told so; but not where others are at work, too, whom it knows
 * better. */
#ifndef BASE_CPUS_H
#define BASE_CPUS_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/macros.h"

/* Those that this process may use; none where that cannot be told. */
void cpus_read(cpu_set_t *ret);
/* Is one of so many idle, by the text of /proc/loadavg?  We are one who runs. */
bool cpus_say_idle(const char *loadavg, int n_cpus);
/* The same for these, now. */
bool cpus_have_idle(const cpu_set_t *all);
/* Let another task, which has these, run beside this one, if there is a CPU for it.
 * A hint: it takes the rest back by cpus_use(). */
void cpus_part(const cpu_set_t *all, pid_t other);
/* Run on this one alone.  A hint; less than 0: nothing changes. */
void cpus_stay_on(int cpu);
/* Run on these from here on; none: nothing changes.  -1 with errno. */
int cpus_use(const cpu_set_t *cpus) MUST_USE;

#endif
