/* A growing text with a maximum given at birth.
 *
 * Appending past the maximum, or without memory, sets `failed` and drops what
 * follows: the writer checks once, at the end, with buf_ok().
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/macros.h"
#include "base/str.h"

struct buf {
	char *data;		/* NUL-terminated once anything was added */
	size_t n, cap, max;
	bool failed;
	bool lent;		/* `data` is the room of BUF_IN(), and nobody's to free */
};

#define BUF(max_bytes)	((struct buf){ .max = (max_bytes) })
/* One that begins in an array of its user's, and takes nothing from the heap while that is
 * enough. */
#define BUF_IN(room, max_bytes)	((struct buf){						\
	.data = (room), .cap = sizeof(room), .max = (max_bytes), .lent = true })

void buf_release(struct buf *b);
void buf_clear(struct buf *b);
void buf_add(struct buf *b, const char *data, size_t n);
void buf_puts(struct buf *b, const char *text);
void buf_putc(struct buf *b, char c);
void buf_str(struct buf *b, struct str s);
/* For people: what a terminal would act on, and what is not UTF-8, as escapes. */
void buf_put_plain(struct buf *b, struct str s);
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
static inline bool buf_ok(const struct buf *b)
{
	return !b->failed;
}
/* The text, never NULL; it stays the buffer's. */
const char *buf_text(const struct buf *b);
/* The text, malloc'd and now the caller's; NULL if the buffer failed. */
char *buf_take(struct buf *b) MUST_USE;

#define cleanup_buf __attribute__((cleanup(buf_release)))

#endif
