/* Lines of a file without allocation, for use in throw-away children. */
#ifndef HOST_LINES_H
#define HOST_LINES_H

#include "base/str.h"

/* What is left of a line that does not fit is dropped. */
struct lines {
	int fd;
	char data[4096];
	size_t at, n;
	bool in_long;		/* the rest of a line that was given already */
};

/* A file that cannot be opened has no lines. */
void lines_open(struct lines *l, const char *path);
void lines_close(struct lines *l);
/* The next line without its end; it holds until the next call. */
bool lines_next(struct lines *l, struct str *ret);

/* The n-th part (from 0) between `separator`s; the empty text past the last. */
struct str field_of(struct str line, char separator, unsigned n);

#define cleanup_lines __attribute__((cleanup(lines_close)))

#endif
