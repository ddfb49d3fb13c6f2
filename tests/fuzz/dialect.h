/* What every dialect promises of a text that it reads:
 *
 *   printed, it reads as the same policy and prints the same;
 *   composed with itself it stays what it is, and so does a part of it with
 *   the whole.
 */
#ifndef TESTS_FUZZ_DIALECT_H
#define TESTS_FUZZ_DIALECT_H

#include "policy/dialect/dialect.h"
#include "policy/intersect.h"
#include "policy/print.h"

#include "target.h"

static bool dialect_reads(const struct dialect *d, struct str text, struct arena *a,
			  struct policy *ret)
{
	cleanup_diags struct diags diags = DIAGS;
	struct source src = { "text", text };
	struct reader r = { .policy = ret,    .diags = &diags, .file = "text",
			    .base_dir = "/b", .cwd = "/b",     .home = "/h" };
	struct cordon_err err;
	struct value root;

	policy_init(ret, a);
	ret->dialect = d;
	if (d->parse(&src, a, &root, &err) < 0)
		return false;
	d->read(&r, &root);
	return !diags.n_errors && read_finish(&r) == 0;
}

static void dialect_check_same(const struct policy *p, const struct buf *text, struct arena *a)
{
	cleanup_buf struct buf one = BUF(MAX_OUTPUT_BYTES), two = BUF(MAX_OUTPUT_BYTES);
	struct policy again;

	if (!buf_ok(text))
		return;
	if (!dialect_reads(&dialect_cordon, (struct str){ buf_text(text), text->n }, a, &again))
		BUG("a printed policy does not read");
	if (!policy_eq(p, &again))
		BUG("a printed policy reads as another");
	policy_print(p, false, &one);
	policy_print(&again, false, &two);
	if (strcmp(buf_text(&one), buf_text(&two)) != 0)
		BUG("equal policies print differently");
}

static void dialect_check(const struct dialect *d, struct str text)
{
	cleanup_arena struct arena a = ARENA(MAX_ARENA_BYTES);
	cleanup_buf struct buf native = BUF(MAX_OUTPUT_BYTES);
	struct policy p, self;
	struct cordon_err err;

	if (!dialect_reads(d, text, &a, &p))
		return;
	policy_print(&p, false, &native);
	dialect_check_same(&p, &native, &a);
	if (policy_intersect(&p, &p, &self, NULL, &err) < 0)
		BUG("a policy that does not compose with itself");
	if (!policy_eq(&p, &self))
		BUG("a policy that changes when composed with itself");
}

#endif
