/* Harn's policies: what reads can be printed, and written where Harn can say
 * it, without changing; composed with itself a text gives a result that stays.
 */
#include "dialect.h"

static struct str str_of(const struct buf *b)
{
	return (struct str){ buf_text(b), b->n };
}

/* Composed with itself; returns -1 when it is no policy. */
static int compose(struct str text, struct arena *a, struct buf *out, bool *ret_constrained)
{
	struct source src = { "text", text };
	struct json_out j = { .out = out };
	struct cordon_err err;
	struct value root;
	const struct value *constraints;

	if (json_parse(&src, a, &root, &err) < 0 ||
	    dialect_harn.intersect(&root, &root, &j, &err) < 0)
		return -1;
	constraints = value_find(&root, "tool_arg_constraints");
	*ret_constrained = constraints && constraints->kind == VALUE_ARRAY && constraints->array.n;
	return 0;
}

static void check_composing(struct str text, struct arena *a)
{
	cleanup_buf struct buf once = BUF(MAX_OUTPUT_BYTES), twice = BUF(MAX_OUTPUT_BYTES);
	bool constrained;

	if (compose(text, a, &once, &constrained) < 0)
		return;
	if (compose(str_of(&once), a, &twice, &constrained) < 0)
		BUG("a result that is no policy");
	/* Constraints are joined, so they are there twice by now. */
	if (!constrained && !str_eq(str_of(&once), str_of(&twice)))
		BUG("a result that changes when it is composed with itself");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	cleanup_arena struct arena a = ARENA(MAX_ARENA_BYTES);
	struct str text = { (const char *)data, n };

	dialect_check(&dialect_harn, text);
	check_composing(text, &a);
	return 0;
}
