/* Growing text; see buf.h. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/copy.h"

/* Each size is one that a C library may map and unmap anew each time; so not many. */
#define FIRST_ROOM	1024

void buf_release(struct buf *b)
{
	if (!b->lent)
		free(b->data);
	*b = BUF(b->max);
}

void buf_clear(struct buf *b)
{
	b->n = 0;
	b->failed = false;
	if (b->data)
		b->data[0] = '\0';
}

static bool reserve(struct buf *b, size_t more)
{
	size_t want, cap;
	char *data;

	if (b->failed || more > b->max || b->n > b->max - more) {
		b->failed = true;
		return false;
	}
	want = b->n + more + 1;
	if (want <= b->cap)
		return true;
	cap = MAX(b->cap * 2, MAX(want, FIRST_ROOM));
	data = realloc(b->lent ? NULL : b->data, cap);
	if (!data) {
		b->failed = true;
		return false;
	}
	if (b->lent)
		memcpy(data, b->data, b->n);
	b->data = data;
	b->cap = cap;
	b->lent = false;
	return true;
}

void buf_add(struct buf *b, const char *data, size_t n)
{
	if (!reserve(b, n))
		return;
	copy_bytes(b->data + b->n, data, n);
	b->n += n;
	b->data[b->n] = '\0';
}

void buf_puts(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text));
}

void buf_putc(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_str(struct buf *b, struct str s)
{
	buf_add(b, s.s, s.n);
}

void buf_put_plain(struct buf *b, struct str s)
{
	uint32_t c;

	for (size_t n; s.n; s = str_from_pos(s, n)) {
		n = str_utf8(s, &c);
		if (!n) {
			buf_printf(b, "\\x%02x", (unsigned)(unsigned char)s.s[0]);
			n = 1;
		} else if (c == '\n' || c == '\t') {
			buf_puts(b, c == '\n' ? "\\n" : "\\t");
		} else if (!str_is_shown(c)) {
			buf_printf(b, c < 0x100 ? "\\x%02x" : "\\u%04x", (unsigned)c);
		} else {
			buf_add(b, s.s, n);
		}
	}
}

/* Most texts fit into what is left, and are written once. */
void buf_printf(struct buf *b, const char *fmt, ...)
{
	size_t room = b->cap - b->n;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(room ? b->data + b->n : NULL, room, fmt, args);
	va_end(args);
	if (n < 0 || !reserve(b, (size_t)n)) {
		if (room)
			b->data[b->n] = '\0';
		b->failed = true;
		return;
	}
	if ((size_t)n >= room) {
		va_start(args, fmt);
		vsnprintf(b->data + b->n, (size_t)n + 1, fmt, args);
		va_end(args);
	}
	b->n += (size_t)n;
}

const char *buf_text(const struct buf *b)
{
	return b->n ? b->data : "";
}

char *buf_take(struct buf *b)
{
	char *data;

	if (b->lent)
		b->cap = 0;	/* moved to the heap */
	buf_add(b, "", 0);
	data = b->failed ? NULL : b->data;
	if (!data)
		buf_release(b);
	*b = BUF(b->max);
	return data;
}
