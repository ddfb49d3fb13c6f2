/* The problems found in texts: several in one go, each with its place. */
#ifndef BASE_DIAG_H
#define BASE_DIAG_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"

/* Where a piece of text stands.  `file` outlives whatever refers to it; a
 * line of 0 is a place without lines (an option, a built-in default). */
struct place {
	const char *file;
	unsigned line, col;
};

struct diag {
	struct place place;
	const char *text;	/* what is wrong; what to write instead */
	bool is_warning;
};

struct diags {
	struct arena arena;	/* holds the texts */
	struct diag *items;
	size_t n, cap;
	size_t n_errors;	/* counts those that did not fit as well */
};

#define DIAGS	((struct diags){ .arena = ARENA(MAX_DIAGS * 4 * MAX_DIAG_BYTES) })

void diags_release(struct diags *d);
/* Returns -1, so that a reader can say `return diag_error(…)`. */
int diag_error(struct diags *d, struct place at, const char *fmt, ...) PRINTF_LIKE(3, 4);
void diag_warn(struct diags *d, struct place at, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Say where the text is that an error is about; returns -1, too. */
int err_locate(struct cordon_err *err, struct place at);
/* Take over an error of a reader of `file`. */
int diag_err(struct diags *d, const char *file, const struct cordon_err *err);
/* FILE:LINE:COL: text, one a line; warnings say so. */
void diags_print(const struct diags *d, struct buf *out);
/* FILE:LINE:COL, FILE, or nothing, as far as it is known. */
void place_print(struct place at, struct buf *out);

#define cleanup_diags __attribute__((cleanup(diags_release)))

#endif
