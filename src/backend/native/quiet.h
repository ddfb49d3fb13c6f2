/* System calls that leave errno alone: for a task that shares its memory, and so
 * errno, with another one that works meanwhile. */
#ifndef BACKEND_QUIET_H
#define BACKEND_QUIET_H

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>

/* What the call returns, or -errno; the filter is for the same processors. */
static inline long quiet_call(long number, long a, long b, long c, long d, long e)
{
#if defined(__x86_64__)
	long ret;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return ret;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
			 : "memory");
	return x0;
#else
	(void)number, (void)a, (void)b, (void)c, (void)d, (void)e;
	return -ENOSYS;
#endif
}

#define QUIET_ARG(x)	((long)(intptr_t)(x))
#define QUIET1(name, a)	quiet_call(SYS_##name, QUIET_ARG(a), 0, 0, 0, 0)
#define QUIET2(name, a, b) quiet_call(SYS_##name, QUIET_ARG(a), QUIET_ARG(b), 0, 0, 0)
#define QUIET3(name, a, b, c) \
	quiet_call(SYS_##name, QUIET_ARG(a), QUIET_ARG(b), QUIET_ARG(c), 0, 0)
#define QUIET5(name, a, b, c, d, e)                                                      \
	quiet_call(SYS_##name, QUIET_ARG(a), QUIET_ARG(b), QUIET_ARG(c), QUIET_ARG(d),   \
		   QUIET_ARG(e))

#endif
