/* What the parts of the shell reader share: lists (shell.c), simple and
 * compound commands, words.  They call each other in circles, as the grammar
 * does. */
#ifndef POLICY_SHELL_PRIV_H
#define POLICY_SHELL_PRIV_H

#include "policy/shell/shell.h"

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
	struct str function;
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

/* At <(…) or >(…)? */
static inline bool shell_at_process(const struct shell_parser *p)
{
	return (shell_peek(p, 0) == '<' || shell_peek(p, 0) == '>') && shell_peek(p, 1) == '(';
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

/* shell.c */

/* One level deeper; fails when that is too deep. */
int shell_enter(struct shell_parser *p);
/* Blanks, comments and continued lines; the line end stays. */
void shell_skip_comment(struct shell_parser *p);
/* Those and line ends. */
int shell_skip_lines(struct shell_parser *p);
/* Is the next word exactly this, unquoted? */
bool shell_at_word(const struct shell_parser *p, const char *word);
bool shell_at_any_word(const struct shell_parser *p, const char *const *words, size_t n);
/* Take this word, or fail with `what`. */
int shell_expect_word(struct shell_parser *p, const char *word, const char *what);
/* Words that end a list; elsewhere they are a mistake. */
bool shell_at_closing_word(const struct shell_parser *p);
/* Commands up to a word or operator that ends a list. */
int shell_read_list(struct shell_parser *p, bool may_be_empty);

/* shell_simple.c */

/* At a line end: behind it stand the bodies of the line's here-documents. */
int shell_read_line_end(struct shell_parser *p);
int shell_read_simple(struct shell_parser *p);
/* Behind a compound command, whose inner ones start at `first`: text given to
 * it reaches every command in it. */
int shell_read_redirects(struct shell_parser *p, size_t first);
int shell_push_command(struct shell_parser *p, struct shell_command cmd);
int shell_push_word(struct shell_parser *p, struct shell_word **words, size_t *n, size_t *cap);
int shell_push_assign(struct shell_parser *p, struct shell_command *cmd, struct shell_assign a,
		      size_t *cap);
/* Is this "()"?  *ret_end is behind it. */
bool shell_at_parentheses(const struct shell_parser *p, size_t *ret_end);
/* Behind "name()": the body. */
int shell_read_function(struct shell_parser *p, struct str name);

/* shell_compound.c */

bool shell_at_compound(const struct shell_parser *p);
/* One simple or compound command. */
int shell_read_command(struct shell_parser *p);

#endif
