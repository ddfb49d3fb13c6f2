/* Print a TOML file as the tagged JSON of toml-test, for tests/suite/toml-test.
 *
 *   toml_tagged FILE      exit status 0, or 1 with FILE:LINE:COL: message
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "text/value.h"

static const char *time_type(struct str s)
{
	size_t t = str_find(s, 'T');

	if (t == s.n)
		return str_find(s, ':') < s.n ? "time-local" : "date-local";
	for (size_t i = t; i < s.n; i++)
		if (strchr("Z+-", s.s[i]))
			return "datetime";
	return "datetime-local";
}

static void put_tagged(struct json_out *j, const char *type, struct str text)
{
	json_open(j, '{');
	json_key(j, "type");
	json_put_text(j, type);
	json_key(j, "value");
	json_put_str(j, text);
	json_close(j, '}');
}

static void put_float(struct json_out *j, double v)
{
	char text[64];

	snprintf(text, sizeof(text), "%.17g", v);
	put_tagged(j, "float", isnan(v) ? STR("nan") : str_from(text));
}

static void put_value(struct json_out *j, const struct value *v);

static void put_table(struct json_out *j, const struct value *v)
{
	json_open(j, '{');
	for (size_t i = 0; i < v->table.n; i++) {
		json_key_str(j, v->table.members[i].key);
		put_value(j, &v->table.members[i].value);
	}
	json_close(j, '}');
}

static void put_array(struct json_out *j, const struct value *v)
{
	json_open(j, '[');
	for (size_t i = 0; i < v->array.n; i++)
		put_value(j, &v->array.items[i]);
	json_close(j, ']');
}

static void put_value(struct json_out *j, const struct value *v)
{
	char text[32];

	switch (v->kind) {
	case VALUE_BOOL:
		put_tagged(j, "bool", v->boolean ? STR("true") : STR("false"));
		break;
	case VALUE_INT:
		snprintf(text, sizeof(text), "%" PRId64, v->integer);
		put_tagged(j, "integer", str_from(text));
		break;
	case VALUE_FLOAT:
		put_float(j, v->real);
		break;
	case VALUE_STRING:
		put_tagged(j, "string", v->string);
		break;
	case VALUE_TIME:
		put_tagged(j, time_type(v->string), v->string);
		break;
	case VALUE_ARRAY:
		put_array(j, v);
		break;
	case VALUE_TABLE:
		put_table(j, v);
		break;
	case VALUE_NULL:
	case N_VALUE_KINDS:
		BUG("a kind that TOML does not have");
	}
}

int main(int argc, char **argv)
{
	cleanup_arena struct arena arena = ARENA(MAX_ARENA_BYTES);
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES);
	struct json_out j = { .out = &out };
	struct cordon_err err = { 0 };
	struct source src = { .name = argc == 2 ? argv[1] : "" };
	struct value root;

	if (argc != 2) {
		fprintf(stderr, "usage: toml_tagged FILE\n");
		return 2;
	}
	if (fd_read_file(src.name, MAX_SOURCE_BYTES, &arena, &src.text, &err) < 0 ||
	    toml_parse(&src, &arena, &root, &err) < 0) {
		fprintf(stderr, "%s:%u:%u: %s\n", src.name, err.line, err.col, err.msg);
		return 1;
	}
	put_value(&j, &root);
	puts(buf_text(&out));
	return buf_ok(&out) ? 0 : 2;
}
