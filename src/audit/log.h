/* The log of one run: one line an event, several runs in one file.
 *
 * Never waits: lines are kept in memory and written in batches, whole lines at
 * a time; what does not go out in time is lost, is counted, and the log and the
 * result say so.  No fsync: a run must not pay for a disk.
 *
 * [L1] seq grows by one for each event, also for one that is lost: a gap is
 *      exactly what audit.lost counts.
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

struct audit;

/* Takes the file.  NULL without memory. */
struct audit *audit_new(struct audit_file file, const char *run_id) MUST_USE;
/* One more event; `a` may be NULL: there is no log. */
void audit_add(struct audit *a, const struct audit_event *e);
/* Events that were never given to us are lost all the same. */
void audit_add_lost(struct audit *a, uint64_t n);
/* When audit_write() is to be called, in microseconds of CLOCK_MONOTONIC;
 * INT64_MAX: not at all. */
int64_t audit_next_us(const struct audit *a);
/* Write what is due. */
void audit_write(struct audit *a);
/* The last write, for which a pipe gets a moment.  Returns how many events are
 * not in the log.  NULL is fine. */
uint64_t audit_free(struct audit *a);

#endif
