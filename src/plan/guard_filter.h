/* Which calls the filter hands to the guard of names: those that could make one.
 *
 * All is decided by registers; what stands in memory (openat2's flags, a
 * socket's family) is either refused with ENOSYS, so that callers fall back, or
 * handed over always.
 */
#ifndef PLAN_GUARD_FILTER_H
#define PLAN_GUARD_FILTER_H

#include <fcntl.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV	/* Linux 5.19 */
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV	(1UL << 5)
#endif

/* How the filter is installed.  Without the second flag a signal would make the
 * caller do the call again while it is being done. */
#define GUARD_FILTER_FLAGS	(SECCOMP_FILTER_FLAG_NEW_LISTENER | \
				 SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)

/* SECCOMP_RET_USER_NOTIF for this call if argument `arg` has one of the bits in
 * `mask`, and none of those in `except`; always, if arg is -1. */
struct guard_call {
	int nr;
	int arg;
	uint32_t mask, except;
};
/* Of open(): what makes a name, and what changes the file that has one.  A file without
 * a name is not the guard's, and a descriptor without rights changes nothing. */
#define GUARD_OPEN_MASK		(O_CREAT | O_WRONLY | O_RDWR | O_TRUNC)
#define GUARD_TMPFILE_BIT	020000000u	/* of O_TMPFILE, whose other one differs */
#define GUARD_OPEN_EXCEPT	(GUARD_TMPFILE_BIT | O_PATH)
extern const struct guard_call guard_calls[];
extern const size_t n_guard_calls;

/* Calls that would go round the guard, and what they are answered; if `arg` is
 * not -1, only where it has one of the bits in `mask`. */
struct guard_refusal {
	int nr;
	int error;
	int arg;
	uint32_t mask;
};
extern const struct guard_refusal guard_refusals[];
extern const size_t n_guard_refusals;

#endif
