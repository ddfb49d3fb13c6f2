/* ClientHellos made to measure. */
#ifndef TESTS_UNIT_PEEK_HELLO_H
#define TESTS_UNIT_PEEK_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/macros.h"

/* The random of a HelloRetryRequest. */
#define RETRY_RANDOM \
	"\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91" \
	"\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c"

struct bytes {
	unsigned char b[200000];
	size_t n;
};

UNUSED static void put(struct bytes *o, const void *data, size_t n)
{
	memcpy(o->b + o->n, data, n);
	o->n += n;
}

UNUSED static void put_number(struct bytes *o, size_t value, unsigned width)
{
	while (width--)
		o->b[o->n++] = (unsigned char)(value >> (8 * width));
}

struct extension {
	unsigned type;
	const char *body;
	size_t n;
};
#define EXT(type, body)	{ type, body, sizeof(body) - 1 }

/* Record and message headers are not in it. */
UNUSED static void hello_body(struct bytes *o, const struct extension *e, size_t n)
{
	size_t at;

	put(o, "\x03\x03", 2);
	for (int i = 0; i < 32; i++)
		put_number(o, 0x5a, 1);
	put(o, "\0" "\0\x04\x13\x01\xc0\x2f" "\x01\0", 9);
	at = o->n;
	put_number(o, 0, 2);
	for (size_t i = 0; i < n; i++) {
		put_number(o, e[i].type, 2);
		put_number(o, e[i].n, 2);
		put(o, e[i].body, e[i].n);
	}
	o->b[at] = (unsigned char)((o->n - at - 2) >> 8);
	o->b[at + 1] = (unsigned char)(o->n - at - 2);
}

UNUSED static void put_message(struct bytes *o, unsigned type, const struct bytes *body)
{
	put_number(o, type, 1);
	put_number(o, body->n, 3);
	put(o, body->b, body->n);
}

/* `data` in records of at most `size` bytes. */
UNUSED static void put_records(struct bytes *o, unsigned type, const void *data, size_t n,
			       size_t size)
{
	for (size_t at = 0; at < n; at += size) {
		size_t part = MIN(size, n - at);

		put_number(o, type, 1);
		put(o, "\x03\x01", 2);
		put_number(o, part, 2);
		put(o, (const char *)data + at, part);
	}
}

UNUSED static void put_hello(struct bytes *o, const struct extension *e, size_t n, size_t size)
{
	static struct bytes body, message;

	body.n = message.n = 0;
	hello_body(&body, e, n);
	put_message(&message, 1, &body);
	put_records(o, 22, message.b, message.n, size);
}

#endif
