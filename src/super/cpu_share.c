/* CPUs for a run, spread over the live ones; see cpu_share.h. */
#include "super/cpu_share.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"

#define MAX_SHARERS	32	/* runs that have a mark for one CPU */

/* False: as many other runs have the CPU.  Without a socket there is no mark to be had. */
static bool take_mark(struct cpu_share *s, int cpu, int sharer)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	cleanup_fd int fd = -1;
	int n;

	if (s->n == MAX_CPU_MARKS)
		return true;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return true;
	n = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "cordon-cpu-%d-%d", cpu, sharer);
	if (bind(fd, (struct sockaddr *)&name,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) < 0)
		return false;
	s->marks[s->n++] = fd_take(&fd);
	return true;
}

void cpu_share_take(struct cpu_share *s, const cpu_set_t *from, int64_t n, cpu_set_t *ret)
{
	int first = MAX(sched_getcpu(), 0);

	cpu_share_release(s);
	CPU_ZERO(ret);
	n = MIN(n, CPU_COUNT(from));
	if (n == CPU_COUNT(from)) {
		*ret = *from;
		return;
	}
	/* After the last round all names are taken: then any will do. */
	for (int sharer = 0; sharer <= MAX_SHARERS; sharer++)
		for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(ret) < n; i++) {
			int cpu = (first + i) % CPU_SETSIZE;

			if (CPU_ISSET(cpu, from) && !CPU_ISSET(cpu, ret) &&
			    (sharer == MAX_SHARERS || take_mark(s, cpu, sharer)))
				CPU_SET(cpu, ret);
		}
}

void cpu_share_release(struct cpu_share *s)
{
	while (s->n)
		close(s->marks[--s->n]);
}
