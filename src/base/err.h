/* The one error object (struct cordon_err) and the three ways to fill it. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "cordon.h"
#include "base/macros.h"

/* Each returns -1, so that a failing function can say `return err_set(…)`. */

/* A system call failed: errno is read once, first thing, and its text added. */
int err_sys(struct cordon_err *err, enum cordon_errc code, const char *fmt, ...)
	PRINTF_LIKE(3, 4);
/* Anything else failed; errno is not looked at. */
int err_set(struct cordon_err *err, enum cordon_errc code, const char *fmt, ...)
	PRINTF_LIKE(3, 4);
/* The same with a place in the text that is at fault. */
int err_at(struct cordon_err *err, unsigned line, unsigned col, const char *fmt, ...)
	PRINTF_LIKE(4, 5);
/* Put what the caller was doing before the message; the rest stays. */
int err_wrap(struct cordon_err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);
int err_nomem(struct cordon_err *err);

/* What an errno means, in English; NULL for one that nobody knows. */
const char *err_text(int sys);
/* Does errno say that nothing is there?  Any other says that this cannot be told: what
 * protects something must not take a folder that was closed for one that is empty. */
bool err_is_absence(void);

#endif
