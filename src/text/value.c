/* The value tree; see value.h. */
#include "text/value.h"

static const char *const kind_words[] = {
	[VALUE_NULL] = "null",
	[VALUE_BOOL] = "true or false",
	[VALUE_INT] = "a whole number",
	[VALUE_FLOAT] = "a fraction",
	[VALUE_STRING] = "a string",
	[VALUE_TIME] = "a date or time",
	[VALUE_ARRAY] = "an array",
	[VALUE_TABLE] = "a table",
};
static_assert(ARRAY_SIZE(kind_words) == N_VALUE_KINDS, "a value kind without words");

const char *value_kind_words(enum value_kind kind)
{
	return kind_words[kind];
}

const struct value *value_find(const struct value *table, const char *key)
{
	struct str want = str_from(key);

	if (!table || table->kind != VALUE_TABLE)
		return NULL;
	for (size_t i = 0; i < table->table.n; i++)
		if (str_eq(table->table.members[i].key, want))
			return &table->table.members[i].value;
	return NULL;
}
