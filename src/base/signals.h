/* Which signals concern all that a command has started, and which the command alone. */
#ifndef BASE_SIGNALS_H
#define BASE_SIGNALS_H

#include <sys/types.h>

/* Send it on to a command that leads a process group: to the group where a terminal or a
 * service manager would send it there, else to the command. */
void signal_command(pid_t command, int signal);

#endif
