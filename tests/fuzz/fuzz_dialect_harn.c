/* Harn's policies: what reads can be printed, and written where Harn can say
 * it, without changing; composed with itself a text gives a result that stays.
 */
#include <stdint.h>

#include "policy/dialect/dialect.h"
#include "policy/print.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int read_text(const struct dialect *dialect, struct str text, struct arena *a,
		     struct policy *p)
{
	cleanup_diags struct diags diags = DIAGS;
	struct source src = { "text", text };
	struct reader r = { .policy = p,
			    .diags = &diags,
			    .file = "text",
			    .base_dir = "/base",
			    .cwd = "/base",
			    .home = "/home/user" };
	struct cordon_err err;
	struct value root;

	policy_init(p, a);
	p->dialect = dialect;
	if (dialect->parse(&src, a, &root, &err) < 0)
		return -1;
	dialect->read(&r, &root);
	return read_finish(&r);
}

static struct str str_of(const struct buf *b)
{
	return (struct str){ buf_text(b), b->n };
}

static void check_printing(const struct policy *p, struct arena *a)
{
	cleanup_buf struct buf once = BUF(MAX_OUTPUT_BYTES), twice = BUF(MAX_OUTPUT_BYTES);
	struct policy again;

	policy_print(p, false, &once);
	if (read_text(&dialect_cordon, str_of(&once), a, &again) < 0)
		BUG("a printed policy that does not read");
	if (!policy_eq(p, &again))
		BUG("a printed policy that reads as another one");
	policy_print(&again, false, &twice);
	if (!str_eq(str_of(&once), str_of(&twice)))
		BUG("a printed policy that prints otherwise");
}

static void check_writing(const struct policy *p, struct arena *a)
{
	cleanup_diags struct diags diags = DIAGS;
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES);
	struct policy again;

	if (dialect_harn.write(p, &out, &diags) < 0)
		return;
	if (read_text(&dialect_harn, str_of(&out), a, &again) < 0)
		BUG("a written policy that does not read");
	if (!policy_eq(p, &again))
		BUG("a written policy that reads as another one");
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
	struct policy p;

	if (read_text(&dialect_harn, text, &a, &p) == 0) {
		check_printing(&p, &a);
		check_writing(&p, &a);
	}
	check_composing(text, &a);
	return 0;
}
