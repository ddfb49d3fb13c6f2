/* Functions this project does not use, refused at compile time.
 *
 * Force-included before every file of ours; adding a line is a normal commit.
 */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

/* The headers first, so that their own declarations are not hit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BANNED(f)	cordon_does_not_use_##f

#undef strcpy
#undef strcat
#undef strncpy
#undef strncat
#undef sprintf
#undef vsprintf
#undef strtok
#undef strerror
#undef atoi
#undef atol
#undef alloca
#define strcpy(...)	BANNED(strcpy)
#define strcat(...)	BANNED(strcat)
#define strncpy(...)	BANNED(strncpy)
#define strncat(...)	BANNED(strncat)
#define sprintf(...)	BANNED(sprintf)
#define vsprintf(...)	BANNED(vsprintf)
#define strtok(...)	BANNED(strtok)
#define strerror(...)	BANNED(strerror)
#define atoi(...)	BANNED(atoi)
#define atol(...)	BANNED(atol)
#define alloca(...)	BANNED(alloca)
#define system(...)	BANNED(system)
#define popen(...)	BANNED(popen)
#define tmpnam(...)	BANNED(tmpnam)
#define mktemp(...)	BANNED(mktemp)

#endif
