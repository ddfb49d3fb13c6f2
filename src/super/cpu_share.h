/* limits.cpus where no cgroup holds it: the tree is bound to so many CPUs.
 *
 * Each live run has a mark for each of its CPUs: an abstract unix socket, whose name the
 * kernel gives to one process alone and takes back when that ends.  A run takes CPUs that
 * the fewest others have a mark for, and of these the one that it runs on first, which the
 * kernel chose because it was idle.  The marks only spread the load: a process that takes
 * the names changes which CPUs are chosen, and never how many. */
#ifndef SUPER_CPU_SHARE_H
#define SUPER_CPU_SHARE_H

#include <sched.h>
#include <stddef.h>
#include <stdint.h>

#define MAX_CPU_MARKS	32	/* of one run; it shares the rest of its CPUs with any other */

struct cpu_share {
	int marks[MAX_CPU_MARKS];
	size_t n;
};

/* `n` of the CPUs in `from`, or all of them where there are no more.  Marks that the run had
 * before are given up. */
void cpu_share_take(struct cpu_share *s, const cpu_set_t *from, int64_t n, cpu_set_t *ret);
void cpu_share_release(struct cpu_share *s);

#endif
