/* The printed JSON Schema: valid JSON with a property for each field.  What it
 * accepts is judged by tests/suite/schema. */
#include "tap.h"

#include "policy/schema.h"
#include "policy_read.h"

static void test_it_names_every_field(void)
{
	cleanup_arena struct arena a = ARENA(16 << 20);
	cleanup_buf struct buf out = BUF(1 << 20);
	struct json_out j = { .out = &out, .indent = 2 };
	struct source src = { "schema", { 0 } };
	const struct value *top, *phase;
	struct cordon_err err;
	struct value root;

	policy_print_schema(&j);
	src.text = (struct str){ buf_text(&out), out.n };
	if (!ok(json_parse(&src, &a, &root, &err) == 0, "is JSON"))
		return;
	top = value_find(&root, "properties");
	phase = value_find(value_find(value_find(top, "phase"), "additionalProperties"),
			   "properties");
	for (int i = 0; i < N_FIELDS; i++) {
		enum field_id id = (enum field_id)i;
		struct str table = field_table(id);
		const char *name = arena_strndup(&a, table.s, table.n);
		const struct value *of =
			table.n ? value_find(value_find(top, name), "properties") : top;
		const struct value *v = value_find(of, field_leaf(id));

		ok(v && str_is(value_find(v, "description")->string, fields[i].help), "%s",
		   fields[i].key);
		v = value_find(value_find(value_find(phase, name), "properties"), field_leaf(id));
		is_int(v != NULL, field_in_phase(id), "%s of a phase", fields[i].key);
	}
}

int main(void)
{
	return tap_run((struct tap_case[]){ TAP(test_it_names_every_field), TAP_END });
}
