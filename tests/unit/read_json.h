/* What a test reads out of JSON that the project wrote. */
#ifndef TESTS_UNIT_READ_JSON_H
#define TESTS_UNIT_READ_JSON_H

#include "base/arena.h"
#include "text/value.h"

/* The value, in the arena; NULL: the text is not JSON. */
static inline struct value *read_json(struct arena *a, struct str text)
{
	struct source src = { "json", { arena_strndup(a, text.s, text.n), text.n } };
	struct value *v = arena_new(a, 1, sizeof(*v));
	struct cordon_err err;

	return json_parse(&src, a, v, &err) < 0 ? NULL : v;
}

/* The text of a member; NULL: there is none. */
static inline const char *json_text(struct arena *a, const struct value *table, const char *key)
{
	const struct value *v = value_find(table, key);

	return v && v->kind == VALUE_STRING ? arena_strndup(a, v->string.s, v->string.n) : NULL;
}

/* The number of a member; 0: there is none. */
static inline int64_t json_int(const struct value *table, const char *key)
{
	const struct value *v = value_find(table, key);

	return v && v->kind == VALUE_INT ? v->integer : 0;
}

/* The size of a member that is an array; 0: there is none. */
static inline size_t json_size(const struct value *table, const char *key)
{
	const struct value *v = value_find(table, key);

	return v && v->kind == VALUE_ARRAY ? v->array.n : 0;
}

#endif
