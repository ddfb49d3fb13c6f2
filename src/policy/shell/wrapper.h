/* Programs that run another program, named in their arguments. */
#ifndef POLICY_WRAPPER_H
#define POLICY_WRAPPER_H

#include "base/str.h"

struct wrapper {
	const char *name;
	const char *valued;	/* short options whose value is the next word */
	const char *long_valued;	/* long ones, each between blanks */
	unsigned n_skipped;	/* words between the options and the program */
	bool assigns;		/* NAME=value may come before the program */
};

const struct wrapper *wrapper_find(struct str name);
/* Where in `words` the program stands; `n` when there is none.  The words are
 * patterns (expand.h). */
size_t wrapper_program(const struct wrapper *w, const struct str *words, size_t n);
/* How many words the option at `i` takes: 0 when it is none. */
size_t wrapper_option(const struct wrapper *w, const struct str *words, size_t n, size_t i);

/* Programs that read shell text: sh and its family. */
bool wrapper_is_shell(struct str name);
/* Could `word` become the name of a program of this file or of `others`? */
bool wrapper_may_be(struct str word, const char *const *others, size_t n);

#endif
