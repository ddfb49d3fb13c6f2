/* The names in a small folder, read at once: most of many that are looked for are
 * not there, and this knows it without asking for each.  Allocates nothing. */
#ifndef BASE_LISTING_H
#define BASE_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define LISTING_ROOM	2048
#define LISTING_MARKS	16

struct listing {
	bool whole;			/* what is not here is not there */
	size_t n;			/* bytes of `names` */
	uint64_t marks[LISTING_MARKS];	/* a bit by the hash of each name: most lack theirs */
	char names[LISTING_ROOM];	/* of each its type (DT_*), then itself and a NUL */
};

enum listing_kind {
	LISTING_UNSURE,			/* ask the kernel */
	LISTING_NONE,			/* no such name, in whatever case of its letters */
	LISTING_LINK,
	LISTING_OTHER,
};

/* Of a folder, which may be open for its path only (O_PATH).  Whatever hinders it:
 * then nothing is known. */
void listing_read(struct listing *l, int dir);
/* What has the name, of ASCII letters in whatever case. */
enum listing_kind listing_find(const struct listing *l, struct str name);
/* Is it sure that there was none?  No: ask the kernel. */
bool listing_lacks(const struct listing *l, const char *name);

#endif
