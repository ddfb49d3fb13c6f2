/* The difference of two policies, in words. */
#include "tap.h"

#include <time.h>

#include "policy/diff.h"
#include "policy_read.h"

static struct policy with_defaults(struct arena *a, const char *text)
{
	cleanup_diags struct diags d = DIAGS;
	struct policy p = read_native(a, text);
	struct reader r = { .policy = &p, .diags = &d, .file = "default", .base_dir = TEST_BASE,
			    .cwd = TEST_BASE, .home = TEST_HOME };

	if (read_defaults(&r) < 0)
		abort();
	return p;
}

static const struct {
	const char *a, *b, *want;
} rows[] = {
	{ "", "", "" },
	{ "", "profile = \"worktree\"\n[files]\nwrite = [\".\"]\n[limits]\nmemory = \"4096M\"\n",
	  "" },
	{ "[files]\nwrite = [\"/a\"]\n", "[files]\nwrite = [\"/a\"]\nread = []\n", "" },
	{ "profile = \"wasi\"", "profile = \"worktree\"",
	  "B allows more: profile is worktree, not wasi\n" },
	{ "[limits]\nmemory = \"1G\"", "[limits]\nmemory = \"none\"",
	  "B allows more: limits.memory is none, not 1G\n" },
	{ "[limits]\nmemory = \"1G\"\ndisk = \"1G\"", "[limits]\nmemory = \"2G\"\ndisk = \"1K\"",
	  "B allows more: limits.memory is 2G, not 1G\nA allows more: limits.disk is 1G, not "
	  "1K\n" },
	{ "[files]\nwrite = [\"/a\"]", "[files]\nwrite = [\"/a/b\", \"/c\"]",
	  "B allows more: files.write has /c\nB allows more: files.read has /c\n"
	  "A allows more: files.write has /a\nA allows more: files.read has /a\n" },
	{ "[network]\nallow = [\"*.x\"]", "[network]\nallow = [\"a.x:80\", \"x\"]",
	  "B allows more: network.allow has x\nA allows more: network.allow has *.x\n" },
	{ "[network]\nmode = \"public\"", "[network]\nallow = [\"a\"]",
	  "A allows more: network.mode is public, not allowlist\n" },
	{ "[network]\ndeny = [\"*\"]\nmode = \"public\"",
	  "[network]\ndeny = [\"10.0.0.1\", \"a\"]\nmode = \"public\"",
	  "B allows more: network.deny does not have *\n" },
	{ "[env]\npass = [\"A*\"]", "[env]\npass = [\"AB\", \"B\"]",
	  "B allows more: env.pass has B\nA allows more: env.pass has A*\n" },
	{ "[env]\nset = { A = \"1\" }", "",
	  "B allows more: env.set is nothing, not A=1\nA allows more: env.set is A=1, not "
	  "nothing\n" },
	{ "[phase.p.limits]\nmemory = \"1G\"", "",
	  "B allows more: phase p: limits.memory is 4G, not 1G\n" },
	{ "[files]\ndeny = [\"/\\u001b[2J\"]", "",
	  "B allows more: files.deny does not have /\\x1b[2J\n" },
	{ "[phase.\"\\u001b\".limits]\ncpus = 1", "",
	  "B allows more: phase \\x1b: limits.cpus is none, not 1\n" },
};

static void test_words(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_arena struct arena arena = ARENA(16 << 20);
		cleanup_buf struct buf out = BUF(1 << 16);
		struct policy a = with_defaults(&arena, rows[i].a);
		struct policy b = with_defaults(&arena, rows[i].b);
		struct cordon_err err;
		size_t lines = 77;

		ok(policy_diff((struct named_policy){ &a, "A" }, (struct named_policy){ &b, "B" },
			       &out, &lines, &err) == 0,
		   "answered");
		is_text(buf_text(&out), rows[i].want, "%s against %s", rows[i].a, rows[i].b);
		ok((lines == 0) == !rows[i].want[0], "%zu lines", lines);
	}
}

/* Long lists are compared in one walk: this is seconds or minutes otherwise. */
static void test_long_lists(void)
{
	cleanup_arena struct arena arena = ARENA(MAX_ARENA_BYTES);
	cleanup_buf struct buf x = BUF(8 << 20), y = BUF(8 << 20), out = BUF(64 << 20);
	struct timespec begin, end;
	struct policy a, b;
	struct cordon_err err;
	size_t lines = 0;

	buf_puts(&x, "[network]\nallow = [");
	buf_puts(&y, "[network]\nallow = [");
	for (unsigned i = 0; i < 100000; i++) {
		buf_printf(&x, "\"h%u.x%u.example\",\n", i, i % 100);
		buf_printf(&y, "\"h%u.x%u.example\",\n", i, i % 101);
	}
	buf_puts(&x, "]");
	buf_puts(&y, "]");
	a = with_defaults(&arena, buf_text(&x));
	b = with_defaults(&arena, buf_text(&y));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	ok(policy_diff((struct named_policy){ &a, "A" }, (struct named_policy){ &b, "B" }, &out,
		       &lines, &err) == 0, "answered");
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	ok(lines > 190000 && lines < 200000, "%zu lines", lines);
	ok(end.tv_sec - begin.tv_sec < 20, "in time");
}

static void test_a_wider_network(void)
{
	static const struct {
		const char *from, *to;
		bool wider;
	} nets[] = {
		{ "", "", false },
		{ "", "mode = \"public\"", true },
		{ "mode = \"public\"", "", false },
		{ "", "allow = [\"a\"]", true },
		{ "allow = [\"a\"]", "mode = \"public\"", true },
		{ "mode = \"public\"", "allow = [\"a\"]", false },
		{ "allow = [\"a\", \"b\"]", "allow = [\"b\"]", false },
		{ "allow = [\"a\"]", "allow = [\"a\", \"b\"]", true },
		{ "allow = [\"*.a\"]", "allow = [\"b.a:80\"]", false },
		{ "allow = [\"b.a:80\"]", "allow = [\"b.a\"]", true },
		{ "allow = [\"a\"]\ndeny = [\"a:25\"]", "allow = [\"a\"]", true },
		{ "allow = [\"a\"]", "allow = [\"a\"]\ndeny = [\"a:25\"]", false },
		{ "mode = \"public\"\ndeny = [\"a\"]", "mode = \"public\"", true },
		{ "allow = [\"a\"]", "allow = [\"a\"]\nudp_allow = [\"a:5353\"]", true },
		{ "allow = [\"a\"]", "allow = [\"a\"]\nhost_ports = [80]", true },
		{ "allow = [\"a\"]", "allow = [\"a\"]\ntls = \"name-only\"", true },
		{ "allow = [\"a\"]\nhost_ports = [80]", "mode = \"no-network\"", false },
		{ "allow = [\"a\"]", "allow = [\"a\"]\nconnections = 4000", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(nets); i++) {
		cleanup_arena struct arena arena = ARENA(MAX_ARENA_BYTES);
		char from[200], to[200];
		struct policy a, b;
		struct cordon_err err;
		bool wider;

		snprintf(from, sizeof(from), "[network]\n%s\n", nets[i].from);
		snprintf(to, sizeof(to), "[network]\n%s\n", nets[i].to);
		a = with_defaults(&arena, from);
		b = with_defaults(&arena, to);
		ok(policy_network_is_wider(&a.base, &b.base, &wider, &err) == 0, "answered");
		is_int(wider, nets[i].wider, "from '%s' to '%s'", nets[i].from, nets[i].to);
	}
}

int main(void)
{
	return tap_run((struct tap_case[]){ TAP(test_words), TAP(test_a_wider_network),
					    TAP(test_long_lists), TAP_END });
}
