/* Processes; see proc.h. */
#include "base/proc.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

int proc_open_clock(pid_t pid)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.inherit = 1,
		/* Asking for less needs less right; this clock counts all the same. */
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}
