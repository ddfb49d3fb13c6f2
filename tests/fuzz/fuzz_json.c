/* The JSON reader. */
#include "target.h"
#include "text_tree.h"

static bool stands(struct str rest, const struct str *key, const struct value *value)
{
	static const char *const starts[] = {
		[VALUE_NULL] = "n", [VALUE_BOOL] = "tf", [VALUE_INT] = "-0123456789",
		[VALUE_FLOAT] = "-0123456789", [VALUE_STRING] = "\"", [VALUE_TIME] = "",
		[VALUE_ARRAY] = "[", [VALUE_TABLE] = "{",
	};
	static_assert(ARRAY_SIZE(starts) == N_VALUE_KINDS, "a value kind without its start");

	return rest.n && strchr(key ? "\"" : starts[value->kind], rest.s[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_text(json_parse, (struct str){ (const char *)data, size }, stands);
	return 0;
}
