/* Text with holes: a pattern of what a word may become.
 *
 * A NUL byte (no shell text holds one) and the byte after it stand for
 * something that is not known.
 */
#ifndef POLICY_HOLE_H
#define POLICY_HOLE_H

#include "base/str.h"

enum hole {
	HOLE_ANY = 'S',		/* any text at all */
	HOLE_MANY = 'M',	/* the same as several words: $(…) without quotes, xargs */
	HOLE_ENV = 'V',		/* a value that the text does not choose: a variable that it
				 * never assigns.  No slash; perhaps nothing */
	HOLE_ENV_BARE = 'v',	/* the same without quotes: the word may vanish */
	HOLE_STAR = '*',	/* matched against file names: any number of bytes, */
	HOLE_ONE = '?',		/* or one; no slash */
	HOLE_TILDE = '~',	/* a home directory */
	/* Not in fields: only on the way to them (fields.h). */
	HOLE_BREAK = ' ',
	HOLE_BRACE = '{',
	HOLE_COMMA = ',',
	HOLE_UNBRACE = '}',
};

/* Could `word` become something that is (or starts with) `want`, in which `*`
 * stands for any bytes? */
bool hole_may_be(struct str word, struct str want, bool as_prefix);
bool hole_find(struct str word, enum hole hole);
/* The word without what the environment adds to it; as much of it as fits. */
struct str hole_without_env(struct str word, char *out, size_t size);
/* Nothing but that? */
bool hole_is_only_env(struct str word);
static inline bool hole_free(struct str word)
{
	return !word.n || !memchr(word.s, '\0', word.n);
}

#endif
