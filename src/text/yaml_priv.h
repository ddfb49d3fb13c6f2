/* What the two files of the YAML reader share. */
#ifndef TEXT_YAML_PRIV_H
#define TEXT_YAML_PRIV_H

#include <locale.h>

#include "text/value.h"

/* What a plain scalar means in the core schema of YAML 1.2; what is none of
 * null, boolean and number is a string.  `text` is NUL-terminated; `ret` has
 * its line and column and, for a string, will point to `text`. */
int yaml_resolve(struct str text, locale_t c_locale, struct value *ret,
		 struct cordon_err *err) MUST_USE;

#endif
