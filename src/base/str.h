/* A borrowed piece of text: pointer and length, possibly without a NUL. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
	const char *s;		/* not owned */
	size_t n;
};

#define STR(literal)	((struct str){ "" literal, sizeof(literal) - 1 })
/* For "%.*s". */
#define STR_FMT(x)	(int)((x).n > 300 ? 300 : (x).n), (x).s

static inline struct str str_from(const char *s)
{
	return (struct str){ s, strlen(s) };
}

static inline bool str_eq(struct str a, struct str b)
{
	return a.n == b.n && (!a.n || memcmp(a.s, b.s, a.n) == 0);
}

static inline bool str_is(struct str a, const char *b)
{
	return str_eq(a, str_from(b));
}

static inline struct str str_from_pos(struct str a, size_t pos)
{
	return (struct str){ a.s + pos, a.n - pos };
}

static inline struct str str_first(struct str a, size_t n)
{
	return (struct str){ a.s, n };
}

/* Of a list that ends with NULL. */
bool str_is_one_of(struct str a, const char *const *words);
bool str_starts(struct str a, const char *prefix);
bool str_ends(struct str a, const char *suffix);
/* Order of bytes; a prefix comes first. */
int str_cmp(struct str a, struct str b);
/* White space (ASCII) taken off both ends. */
struct str str_trim(struct str a);
/* Position of a byte, or a.n. */
size_t str_find(struct str a, char byte);
uint64_t str_hash(struct str a, uint64_t seed);
/* Does `text` match `pattern`, where `*` stands for any bytes? */
bool str_glob(struct str pattern, struct str text);
/* How many single-character edits lie between the two; at most `give_up`. */
unsigned str_distance(struct str a, struct str b, unsigned give_up);
/* The decimal number that is the whole of `a`: no sign, no spaces, no overflow. */
bool str_parse_u64(struct str a, uint64_t *ret);
/* Bytes of the UTF-8 character at the start of `a` (1 to 4), 0 when it is not
 * one: overlong forms, surrogates and what lies over U+10FFFF are not. */
size_t str_utf8(struct str a, uint32_t *ret_char);
bool str_is_utf8(struct str a);
/* Write a character as UTF-8; returns the bytes, 1 to 4.  What is no character
 * is written in the same way, as far as four bytes hold it. */
size_t str_put_utf8(uint32_t c, char *out);
/* May this character be shown to people as it is?  Not what moves the cursor,
 * turns the writing direction or breaks the line. */
bool str_is_shown(uint32_t c);

#endif
