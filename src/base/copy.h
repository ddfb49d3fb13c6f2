/* Copying a few bytes, as most of our copies are: parts of paths, words of a text.  memcpy()
 * of musl begins with an instruction (rep movs) that takes longer than all of these. */
#ifndef BASE_COPY_H
#define BASE_COPY_H

#include <stddef.h>
#include <string.h>

/* From both ends; the pieces may overlap.  The size is a constant to the compiler. */
__attribute__((always_inline)) static inline void copy_ends(char *to, const char *from, size_t n,
							    size_t piece)
{
	char first[16], last[16];

	memcpy(first, from, piece);
	memcpy(last, from + n - piece, piece);
	memcpy(to, first, piece);
	memcpy(to + n - piece, last, piece);
}

/* As memcpy(). */
static inline void copy_bytes(char *to, const char *from, size_t n)
{
	if (n > 32)
		memcpy(to, from, n);
	else if (n >= 16)
		copy_ends(to, from, n, 16);
	else if (n >= 8)
		copy_ends(to, from, n, 8);
	else if (n >= 4)
		copy_ends(to, from, n, 4);
	else if (n >= 2)
		copy_ends(to, from, n, 2);
	else if (n)
		*to = *from;
}

#endif
