/* Processes by descriptor, whose number cannot become another's.  The C library has
 * functions for this only since 2.36. */
#ifndef BASE_PIDFD_H
#define BASE_PIDFD_H

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* It is closed on exec; -1 with errno set. */
static inline int pidfd_of(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static inline int pidfd_signal(int pidfd, int signal)
{
	return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
}

#endif
