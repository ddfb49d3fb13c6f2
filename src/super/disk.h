/* Disk of the writable roots, where the policy asks for it.
 *
 * There are no quotas for a folder that an ordinary user could set, so it is
 * counted: what is on the disk before the command starts, and again and again
 * while it runs.  The caller ends the tree when it has added more than it may.
 *
 *   start ─▶ join ─▶ (disk_event_fd() is readable) read… ─▶
 *   (the tree is gone) ─▶ settle ─▶ stop
 *
 * A run that writes at rate r passes its limit by r times 20 ms and the time of
 * one count, 1.5 to 4 µs a file; where something else on the same file system
 * frees space meanwhile, by r times a second, or 20 counts if that is longer.
 */
#ifndef SUPER_DISK_H
#define SUPER_DISK_H

#include "base/err.h"
#include "plan/plan.h"

struct disk;

/* Start the counter and wait until it has counted what is there.  `userns` is
 * the tree's, or -1. */
int disk_start(const struct plan *plan, int userns, struct disk **ret,
	       struct cordon_err *err) MUST_USE;
/* The tree's own /proc, where its open files are. */
void disk_join(struct disk *d, int proc_fd);
int disk_event_fd(const struct disk *d);
/* Is there more than may be?  So also when nobody counts any more. */
bool disk_is_over(struct disk *d);
/* Why nobody knows whether there is, where that is so; else NULL. */
const char *disk_trouble(const struct disk *d);
/* The tree is gone: count once more, and answer the same. */
bool disk_settle(struct disk *d);
/* End the counter; NULL is fine. */
void disk_stop(struct disk *d);

#endif
