/* The error object: see err.h.  No allocation, usable after a fork. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static_assert(sizeof(struct cordon_err) <= 512, "must cross a pipe in one atomic write");

PRINTF_LIKE(4, 0)
static void fill(struct cordon_err *err, enum cordon_errc code, int sys, const char *fmt,
		 va_list args)
{
	err->code = code;
	err->sys = sys;
	err->line = err->col = 0;
	vsnprintf(err->msg, sizeof(err->msg), fmt, args);
}

const char *err_text(int sys)
{
#ifdef __GLIBC__
	return strerrordesc_np(sys);
#else
	return (strerror)(sys);	/* a text of its own for each in musl, never made anew */
#endif
}

bool err_is_absence(void)
{
	return errno == ENOENT || errno == ENOTDIR;
}

int err_sys(struct cordon_err *err, enum cordon_errc code, const char *fmt, ...)
{
	int sys = errno;
	size_t used;
	va_list args;

	va_start(args, fmt);
	fill(err, code, sys, fmt, args);
	va_end(args);
	used = strlen(err->msg);
	snprintf(err->msg + used, sizeof(err->msg) - used, ": %s", err_text(sys));
	return -1;
}

int err_set(struct cordon_err *err, enum cordon_errc code, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fill(err, code, 0, fmt, args);
	va_end(args);
	return -1;
}

int err_at(struct cordon_err *err, unsigned line, unsigned col, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fill(err, CORDON_E_POLICY, 0, fmt, args);
	va_end(args);
	err->line = line;
	err->col = col;
	return -1;
}

int err_wrap(struct cordon_err *err, const char *fmt, ...)
{
	char inner[sizeof(err->msg)];
	size_t used;
	va_list args;

	memcpy(inner, err->msg, sizeof(inner));
	va_start(args, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, args);
	va_end(args);
	used = strlen(err->msg);
	snprintf(err->msg + used, sizeof(err->msg) - used, ": %s", inner);
	return -1;
}

int err_nomem(struct cordon_err *err)
{
	return err_set(err, CORDON_E_NOMEM, "out of memory");
}

_Noreturn void bug_abort(const char *file, int line, const char *what)
{
	fprintf(stderr, "cordon: bug at %s:%d: %s\n", file, line, what);
	abort();
}
