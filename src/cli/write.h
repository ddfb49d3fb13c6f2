/* A whole text to a descriptor that the caller may have made non-blocking, as programs do
 * whose loop reads the other end. */
#ifndef CLI_WRITE_H
#define CLI_WRITE_H

#define WRITE_PATIENT	(-1)	/* waits as long as a descriptor that blocks would */

/* -1 with errno.  `wait_s`: for so long at most there may be no room for all of it. */
int write_text(int fd, const char *text, int wait_s);

#endif
