/* The log of one run: one line an event, several runs in one file.
 *
 * Never waits: lines are kept in memory and written in batches, whole lines at
 * a time.  An event that finds no room in memory, or whose class has no line
 * left, is counted, and the log (audit.lost) and the result say so.  No fsync: a
 * run must not pay for a disk.
 *
 * [L1] seq numbers the lines without a gap.  An event has a line, or is counted
 *      by exactly one audit.lost.
 * [L2] Lines of several runs do not mix: each write holds whole lines, and is
 *      added to the end as one (O_APPEND; PIPE_BUF for a pipe).  A write that
 *      the machine cut short is followed by a newline and the line once more.
 * GAP: a file on a network file system that does not answer holds up a write;
 *      the kernel offers no write to a file that does not wait.
 */
#ifndef AUDIT_LOG_H
#define AUDIT_LOG_H

#include "audit/event.h"
#include "audit/place.h"

/* Events that a command can cause as often as it likes: each class has its own
 * number of lines, so that none takes the lines of another. */
enum audit_class {
	AUDIT_CLASS_RUN,	/* of the run itself: no such number */
	AUDIT_CLASS_REFUSAL,
	AUDIT_CLASS_CONNECTION,	/* that was allowed, and its end */
	AUDIT_CLASS_QUESTION,	/* for a name that is refused */
	N_AUDIT_CLASSES
};

struct audit;

/* Takes the file.  NULL without memory. */
struct audit *audit_new(struct audit_file file, const char *run_id) MUST_USE;
/* One more event; `a` may be NULL: there is no log. */
void audit_add(struct audit *a, enum audit_class class, const struct audit_event *e);
/* Events of which no more is known than how many they were. */
void audit_add_lost(struct audit *a, enum audit_class class, uint64_t n);
/* When audit_write() is to be called, in microseconds of CLOCK_MONOTONIC;
 * INT64_MAX: not at all. */
int64_t audit_next_us(const struct audit *a);
/* Write what is due. */
void audit_write(struct audit *a);
/* The last write, for which a pipe gets a moment.  Returns how many events are
 * not in the log.  NULL is fine. */
uint64_t audit_free(struct audit *a);

#endif
