/* The names in a small folder, read at once: most of many that are looked for are
 * not there, and this knows it without asking for each.  Allocates nothing. */
#ifndef BASE_LISTING_H
#define BASE_LISTING_H

#include <stdbool.h>
#include <stddef.h>

#define LISTING_ROOM	2048

struct listing {
	bool whole;			/* what is not here is not there */
	size_t n;			/* bytes of `names` */
	char names[LISTING_ROOM];	/* each ends with a NUL */
};

/* Of a folder, which may be open for its path only (O_PATH).  Whatever hinders it:
 * then nothing is known. */
void listing_read(struct listing *l, int dir);
/* Is it sure that no such name, of ASCII letters in whatever case, was there?  No:
 * ask the kernel. */
bool listing_lacks(const struct listing *l, const char *name);

#endif
