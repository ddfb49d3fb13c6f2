/* The TOML reader. */
#include "target.h"
#include "text_tree.h"

static bool starts_with(struct str rest, struct str s)
{
	return rest.n >= s.n && str_eq(str_first(rest, s.n), s);
}

static bool stands(struct str rest, const struct str *key, const struct value *value)
{
	bool is_quoted = rest.n && (rest.s[0] == '"' || rest.s[0] == '\'');

	if (key)
		return is_quoted || starts_with(rest, *key);
	switch (value->kind) {
	case VALUE_NULL:
		return false;
	case VALUE_BOOL:
		return str_starts(rest, value->boolean ? "true" : "false");
	case VALUE_STRING:
		return is_quoted;
	case VALUE_TIME:
		return starts_with(rest, str_first(value->string, 5));
	default:
		return true;	/* a table or array may stand where its key does */
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_text(toml_parse, (struct str){ (const char *)data, size }, stands);
	return 0;
}
