/* Which signals concern all that a command has started, which the command alone, and which
 * nobody. */
#ifndef BASE_SIGNALS_H
#define BASE_SIGNALS_H

#include <sys/types.h>

/* Send it on to a command that leads a process group: to the group where a terminal or a
 * service manager would send it there, else to the command. */
void signal_command(pid_t command, int signal);
/* From here on a write that fails says so, where nobody reads any more and where the caller lets
 * no file grow larger.  A program that is started afterwards would inherit it. */
void signals_ignore_writes(void);

#endif
