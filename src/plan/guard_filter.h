/* Which calls the filter hands to the guard of names: those that could make one.
 *
 * All is decided by registers; what stands in memory (openat2's flags, a
 * socket's family) is either refused with ENOSYS, so that callers fall back, or
 * handed over always.
 */
#ifndef PLAN_GUARD_FILTER_H
#define PLAN_GUARD_FILTER_H

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
 * `mask`; always, if arg is -1. */
struct guard_call {
	int nr;
	int arg;
	uint32_t mask;
};
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
