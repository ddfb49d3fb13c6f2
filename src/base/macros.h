/* The few macros that every room uses. */
#ifndef BASE_MACROS_H
#define BASE_MACROS_H

#include <assert.h>
#include <stdlib.h>

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define PRINTF_LIKE(fmt, args)	__attribute__((format(printf, fmt, args)))
#define MUST_USE		__attribute__((warn_unused_result))
#define UNUSED			__attribute__((unused))
#define TEXT_OF_(x)		#x
#define TEXT_OF(x)		TEXT_OF_(x)	/* of what a macro stands for */
#ifndef MIN			/* sys/param.h has the same two */
#define MIN(a, b)		((a) < (b) ? (a) : (b))
#define MAX(a, b)		((a) > (b) ? (a) : (b))
#endif

/* A state that no input can bring about: say where, and stop. */
#define BUG(what)		bug_abort(__FILE__, __LINE__, what)
_Noreturn void bug_abort(const char *file, int line, const char *what);

#endif
