/* Reading policies from texts, for tests: nothing outside the text matters. */
#ifndef TESTS_POLICY_READ_H
#define TESTS_POLICY_READ_H

#include "policy/dialect/dialect.h"
#include "policy/intersect.h"
#include "policy/print.h"

#define TEST_BASE	"/base"
#define TEST_HOME	"/home-of-somebody"

/* Read `text` as `file` (a name that lives on); problems are in `diags`. */
__attribute__((unused))
static bool read_policy(struct arena *a, struct diags *diags, const struct dialect *dialect,
			struct str text, struct policy *ret)
{
	struct source src = { "f", text };
	struct reader r = { .policy = ret, .diags = diags, .file = "f", .base_dir = TEST_BASE,
			    .cwd = TEST_BASE, .home = TEST_HOME };
	struct value root;
	struct cordon_err err;
	size_t before = diags->n_errors;

	policy_init(ret, a);
	ret->dialect = dialect;
	if (dialect->parse(&src, a, &root, &err) < 0) {
		diag_err(diags, "f", &err);
		return false;
	}
	dialect->read(&r, &root);
	if (diags->n_errors == before)
		read_finish(&r);
	return diags->n_errors == before;
}

/* The same of a native text that is valid: a policy to work with. */
__attribute__((unused))
static struct policy read_native(struct arena *a, const char *text)
{
	cleanup_diags struct diags diags = DIAGS;
	cleanup_buf struct buf said = BUF(1 << 16);
	struct policy p;

	if (!read_policy(a, &diags, &dialect_cordon, str_from(text), &p)) {
		diags_print(&diags, &said);
		printf("# not valid: %s\n# %s\n", text, buf_text(&said));
		fflush(stdout);
		abort();
	}
	return p;
}

/* What the problems of a native text say, in `said`; "" when it is valid. */
__attribute__((unused))
static const char *problems(const char *text, struct buf *said)
{
	cleanup_arena struct arena a = ARENA(64 << 20);
	cleanup_diags struct diags diags = DIAGS;
	struct policy p;

	buf_clear(said);
	read_policy(&a, &diags, &dialect_cordon, str_from(text), &p);
	diags_print(&diags, said);
	return buf_text(said);
}

__attribute__((unused))
static const char *printed(const struct policy *p, struct buf *out)
{
	buf_clear(out);
	policy_print(p, false, out);
	return buf_text(out);
}

#endif
