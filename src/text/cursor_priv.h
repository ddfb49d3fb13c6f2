/* Where a reader stands in its text, and what every reader checks first. */
#ifndef TEXT_CURSOR_PRIV_H
#define TEXT_CURSOR_PRIV_H

#include "base/err.h"
#include "base/str.h"
#include "text/value.h"

struct spot {
	unsigned line, col;	/* both from 1; columns count bytes */
};

struct cursor {
	const char *p, *end;	/* the next byte, and the end of the text */
	const char *line_start;
	unsigned line;
};

static inline struct cursor cursor_from(struct str text)
{
	return (struct cursor){ text.s, text.s + text.n, text.s, 1 };
}

/* The spot of a byte of the cursor's line. */
static inline struct spot cursor_spot(const struct cursor *c, const char *p)
{
	return (struct spot){ c->line, (unsigned)(p - c->line_start) + 1 };
}

/* The next byte, or -1 at the end. */
static inline int cursor_peek(const struct cursor *c)
{
	return c->p < c->end ? (unsigned char)*c->p : -1;
}

/* Step over the next byte, which may be a line feed. */
static inline void cursor_step(struct cursor *c)
{
	if (*c->p++ == '\n') {
		c->line++;
		c->line_start = c->p;
	}
}

/* How much a reader allows beyond being UTF-8 without NUL. */
enum text_rule {
	TEXT_ANY,		/* the reader looks at control characters itself */
	TEXT_PLAIN,		/* no control characters but tab, LF and CR LF */
	TEXT_LINES,		/* also none that YAML 1.1 takes for a line break */
	N_TEXT_RULES
};

/* Is it of a size that we read? */
int text_check_size(const struct source *src, struct cordon_err *err) MUST_USE;
/* Does it start with U+FEFF? */
bool text_has_bom(struct str text);
/* Is it UTF-8 and within the rule?  Lines are counted from 1. */
int text_check_chars(struct str text, enum text_rule rule, struct cordon_err *err) MUST_USE;

/* Does no key of a table stand in it twice? */
int text_check_keys(const struct member *members, size_t n, struct cordon_err *err) MUST_USE;

/* A piece of the text for a message: short, whole characters, and nothing in
 * it that a terminal would obey.  For `"'%s'", text_show(key).text`. */
struct shown {
	char text[72];
};
struct shown text_show(struct str s);

#endif
