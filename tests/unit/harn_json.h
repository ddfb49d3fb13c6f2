/* JSON that is quoted by ' in a test's source, for legibility. */
#ifndef TESTS_UNIT_HARN_JSON_H
#define TESTS_UNIT_HARN_JSON_H

#include "base/arena.h"
#include "base/str.h"

/* The text with " for every '. */
static inline struct str harn_json(const char *text, struct arena *a)
{
	char *copy = arena_strndup(a, text, strlen(text));

	for (char *c = copy; c && *c; c++)
		if (*c == '\'')
			*c = '"';
	return str_from(copy ? copy : "");
}

#endif
