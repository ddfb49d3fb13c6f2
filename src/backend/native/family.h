/* The processes of one command of a session: those of the session that it leads,
 * and whatever descends from them, in sessions of its own or not.  Runs in init;
 * no allocation.
 *
 * GAP: a process that has made a session of its own, and whose parents have all
 * ended before anybody looked, is one of the background: it ends with the whole. */
#ifndef BACKEND_FAMILY_H
#define BACKEND_FAMILY_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* Before anything is started: what is inside cannot keep us from looking later.
 * -1 with errno. */
int family_init(void);
/* A signal to all of them, and let those that are stopped go on.  They are known
 * from here on, whatever becomes of their parents. */
void family_signal(pid_t leader, int signal);
/* Kill all of them, the known ones too, and forget them.  False: more come than can
 * be killed, or nobody can look. */
bool family_kill(pid_t leader);
/* It has ended in peace. */
void family_forget(pid_t leader);

#endif
