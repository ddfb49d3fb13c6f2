/* What _FORTIFY_SOURCE makes of four functions with glibc's headers, for a program that is
 * linked with another libc: the archives of libyaml and jansson were compiled so.  `room` is
 * what the compiler knows of the place's size.  No header declares them: only the compiler
 * calls them.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* C reserves these names; they are the ones that are asked for. */
char *__strncpy_chk(char *to, const char *from, size_t n, size_t room);
int __sprintf_chk(char *to, int flag, size_t room, const char *fmt, ...);
int __snprintf_chk(char *to, size_t n, int flag, size_t room, const char *fmt, ...);
int __vsnprintf_chk(char *to, size_t n, int flag, size_t room, const char *fmt, va_list args);

char *__strncpy_chk(char *to, const char *from, size_t n, size_t room)
{
	if (n > room)
		__builtin_trap();
	return (strncpy)(to, from, n);
}

int __vsnprintf_chk(char *to, size_t n, int flag, size_t room, const char *fmt, va_list args)
{
	(void)flag;
	if (n > room)
		__builtin_trap();
	return vsnprintf(to, n, fmt, args);
}

int __snprintf_chk(char *to, size_t n, int flag, size_t room, const char *fmt, ...)
{
	va_list args;
	int len;

	va_start(args, fmt);
	len = __vsnprintf_chk(to, n, flag, room, fmt, args);
	va_end(args);
	return len;
}

int __sprintf_chk(char *to, int flag, size_t room, const char *fmt, ...)
{
	va_list args;
	int len;

	va_start(args, fmt);
	len = __vsnprintf_chk(to, room, flag, room, fmt, args);
	va_end(args);
	if (len < 0 || (size_t)len >= room)
		__builtin_trap();
	return len;
}
