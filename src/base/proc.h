/* Asking about processes. */
#ifndef BASE_PROC_H
#define BASE_PROC_H

#include <sys/types.h>

/* A counter of the CPU time, in ns, of a process (0: this one) and of all that
 * it starts from now on; -1 with errno where the machine does not permit it. */
int proc_open_clock(pid_t pid);

#endif
