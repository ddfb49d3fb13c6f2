/* What the two kinds of runs share. */
#ifndef SUPER_RUN_PRIV_H
#define SUPER_RUN_PRIV_H

#include <signal.h>

#include "super/run.h"

struct stdio;

int64_t run_now_us(void);
/* `ms` after `us`, or never. */
int64_t run_later_us(int64_t us, int64_t ms);
/* How long to wait for the next of these times. */
struct timespec run_wait(int64_t next_us);
/* Neither by a limit nor by a signal. */
bool run_ended_well(const struct run_result *res);
/* Does it ask for the end?  Other signals mean what the command makes of them. */
bool run_is_end(int signal);
/* stdio_drain(), and what it means: output that was cut ends a run in one way, whether the
 * command was stopped for it or had ended by itself before anybody saw. */
void run_drain_output(struct run_result *res, struct stdio *s, int signals, bool ended_well);
/* Block what is passed on to the command, and read it from *ret_fd. */
int run_watch_signals(int *ret_fd, struct cordon_err *err) MUST_USE;

#endif
