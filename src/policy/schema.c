/* The JSON Schema of a policy; see schema.h. */
#include "policy/schema.h"

#include "base/limits.h"
#include "policy/field.h"

static void words(enum field_kind kind, struct json_out *j)
{
	json_key(j, "enum");
	json_open(j, '[');
	for (const char *const *w = field_words(kind); *w; w++)
		json_put_text(j, *w);
	json_close(j, ']');
}

static void type(struct json_out *j, const char *name)
{
	json_key(j, "type");
	json_put_text(j, name);
}

static void range(struct json_out *j, int most)
{
	type(j, "integer");
	json_key(j, "minimum");
	json_put_int(j, 1);
	json_key(j, "maximum");
	json_put_int(j, most);
}

static void number(enum field_kind kind, struct json_out *j)
{
	if (kind == KIND_CONNECTIONS) {
		range(j, MAX_CONNECTIONS);
		return;
	}
	json_key(j, "anyOf");
	json_open(j, '[');
	json_open(j, '{');
	type(j, "integer");
	json_key(j, "minimum");
	json_put_int(j, 1);
	json_close(j, '}');
	json_open(j, '{');
	type(j, "string");
	json_key(j, "pattern");
	json_put_text(j, kind == KIND_SIZE	     ? "^(0*[1-9][0-9]*[KMG]?|none)$"
		     : kind == KIND_DURATION ? "^(0*[1-9][0-9]*(ms|s|m|h)?|none)$"
					     : "^(0*[1-9][0-9]*|none)$");
	json_close(j, '}');
	json_close(j, ']');
}

/* A list, or the word "any" alone. */
static void any_of_them(struct json_out *j)
{
	json_key(j, "type");
	json_open(j, '[');
	json_put_text(j, "array");
	json_put_text(j, "string");
	json_close(j, ']');
	json_key(j, "pattern");
	json_put_text(j, "^any$");
}

static void list(enum field_kind kind, struct json_out *j)
{
	if (kind == KIND_PROTOCOLS)
		any_of_them(j);
	else
		type(j, "array");
	json_key(j, "items");
	json_open(j, '{');
	if (kind == KIND_PORTS) {
		range(j, UINT16_MAX);
	} else {
		type(j, "string");
		json_key(j, "pattern");
		json_put_text(j, "\\S");
		if (kind == KIND_PRESETS || kind == KIND_PROTOCOLS || kind == KIND_PROTECTIONS)
			words(kind, j);
	}
	json_close(j, '}');
}

static void field_schema(enum field_id id, struct json_out *j)
{
	enum field_kind kind = fields[id].kind;

	json_key(j, field_leaf(id));
	json_open(j, '{');
	json_key(j, "description");
	json_put_text(j, fields[id].help);
	switch (field_shape(kind)) {
	case SHAPE_WORD:
		if (kind == KIND_SWITCH)
			type(j, "boolean");
		else
			words(kind, j);
		break;
	case SHAPE_NUMBER:
		number(kind, j);
		break;
	case SHAPE_TEXT:
		type(j, "string");
		json_key(j, "pattern");
		json_put_text(j, "\\S");
		break;
	case SHAPE_LIST:
		list(kind, j);
		break;
	case SHAPE_MAP:
		type(j, "object");
		json_key(j, "additionalProperties");
		json_open(j, '{');
		type(j, "string");
		json_close(j, '}');
		break;
	case N_FIELD_SHAPES:
		break;
	}
	json_close(j, '}');
}

static void open_object(struct json_out *j)
{
	json_open(j, '{');
	type(j, "object");
	json_key(j, "additionalProperties");
	json_put_bool(j, false);
	json_key(j, "properties");
	json_open(j, '{');
}

static void close_object(struct json_out *j)
{
	json_close(j, '}');
	json_close(j, '}');
}

/* The properties of the top, or of a phase. */
static void properties(struct json_out *j, bool phase)
{
	struct str shown = STR("");

	for (int i = 0; i < N_FIELDS; i++) {
		enum field_id id = (enum field_id)i;
		struct str table = field_table(id);

		if (phase && !field_in_phase(id))
			continue;
		if (!str_eq(shown, table)) {
			if (shown.n)
				close_object(j);
			json_key_str(j, table);
			open_object(j);
			shown = table;
		}
		field_schema(id, j);
	}
	if (shown.n)
		close_object(j);
}

void policy_print_schema(struct json_out *j)
{
	json_open(j, '{');
	json_key(j, "$schema");
	json_put_text(j, "http://json-schema.org/draft-07/schema#");
	json_key(j, "title");
	json_put_text(j, "cordon.toml");
	type(j, "object");
	json_key(j, "additionalProperties");
	json_put_bool(j, false);
	json_key(j, "properties");
	json_open(j, '{');
	properties(j, false);
	json_key(j, "phase");
	json_open(j, '{');
	json_key(j, "description");
	json_put_text(j, "named phases, each of which overrides network, limits and env");
	type(j, "object");
	json_key(j, "additionalProperties");
	open_object(j);
	properties(j, true);
	close_object(j);
	json_close(j, '}');
	json_close(j, '}');
	json_close(j, '}');
}
