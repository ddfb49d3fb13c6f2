/* What the two halves of the shell reader share: shell.c knows commands,
 * shell_word.c knows words. */
#ifndef POLICY_SHELL_PRIV_H
#define POLICY_SHELL_PRIV_H

#include "policy/shell.h"

/* A here-document whose body starts after the next line end. */
struct shell_pending {
	struct str delimiter;
	bool is_literal;	/* the delimiter was quoted */
	bool strips_tabs;	/* <<- */
	struct shell_word *body;
};

struct shell_parser {
	struct str text;
	size_t pos;
	enum shell_reading reading;
	struct arena *a;
	struct shell_script *out;
	unsigned depth;
	size_t n_nodes;
	/* What a simple command read now will say of itself. */
	bool is_fed, is_conditional, is_doubtful;
	size_t feeder;
	struct shell_pending *pending;
	size_t n_pending, cap_pending;
	/* The first thing that went wrong. */
	const char *wrong;
	size_t wrong_pos;
	bool no_memory;
};

/* Both return -1. */
int shell_fail(struct shell_parser *p, const char *what);
int shell_no_memory(struct shell_parser *p);
/* Count one more piece; fails when the text has too many. */
int shell_count(struct shell_parser *p);

static inline int shell_peek(const struct shell_parser *p, size_t ahead)
{
	return p->pos + ahead < p->text.n ? (unsigned char)p->text.s[p->pos + ahead] : -1;
}

static inline struct str shell_slice(const struct shell_parser *p, size_t from, size_t to)
{
	return (struct str){ p->text.s + from, to - from };
}

/* shell_word.c */

/* Bytes of the blank at this place: what separates words. */
size_t shell_blank(const struct shell_parser *p);
/* Skip blanks and continued lines. */
void shell_skip_blanks(struct shell_parser *p);
/* Does a word end here? */
bool shell_at_meta(const struct shell_parser *p);
int shell_read_word(struct shell_parser *p, struct shell_word *ret);
/* Take `text` (part of p->text) as if in double quotes. */
int shell_read_quoted(struct shell_parser *p, size_t from, size_t to, struct shell_word *ret);
/* `pos` is behind "((": where the matching "))" starts, or SHELL_NONE. */
size_t shell_find_arithmetic_end(const struct shell_parser *p, size_t pos);
/* The inside of a name's subscript starts here: skip to behind its ']'. */
int shell_skip_subscript(struct shell_parser *p);

/* shell.c: commands up to a ')' or the end of the text. */
int shell_read_commands(struct shell_parser *p);

#endif
