/* Composing two policies, case by case; the laws are in policy_property.c. */
#include "tap.h"

#include "policy_read.h"

struct row {
	const char *a, *b;
	const char *want;	/* printed */
};

static void check(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		cleanup_arena struct arena arena = ARENA(16 << 20);
		cleanup_buf struct buf out = BUF(1 << 16);
		struct policy a = read_native(&arena, rows[i].a),
			      b = read_native(&arena, rows[i].b);
		struct policy ab = { 0 };
		struct cordon_err err;

		if (ok(policy_intersect(&a, &b, &ab, NULL, &err) == 0, "%s and %s: %s", rows[i].a,
		       rows[i].b, err.msg))
			is_text(printed(&ab, &out), rows[i].want, "%s and %s", rows[i].a,
				rows[i].b);
	}
}

static void test_words_and_numbers(void)
{
	static const struct row rows[] = {
		{ "", "", "" },
		{ "profile = \"wasi\"", "", "profile = \"wasi\"\n" },
		{ "profile = \"worktree\"", "profile = \"os_hardened\"",
		  "profile = \"os_hardened\"\n" },
		{ "backend = \"docker\"", "backend = \"none\"", "backend = \"docker\"\n" },
		{ "[limits]\nmemory = \"1G\"", "[limits]\nmemory = \"1025M\"",
		  "[limits]\nmemory = \"1G\"\n" },
		{ "[limits]\nmemory = \"none\"", "[limits]\nmemory = \"8G\"",
		  "[limits]\nmemory = \"8G\"\n" },
		{ "[limits]\ntimeout = 60", "[limits]\ntimeout = \"2m\"",
		  "[limits]\ntimeout = \"1m\"\n" },
	};

	check(rows, ARRAY_SIZE(rows));
}

static void test_lists(void)
{
	static const struct row rows[] = {
		{ "require = [\"cgroup\"]", "require = [\"landlock\"]",
		  "require = [\"cgroup\", \"landlock\"]\n" },
		{ "may_lack = [\"cgroup\", \"landlock\"]", "may_lack = [\"landlock\"]",
		  "may_lack = [\"landlock\"]\n" },
		/* Unset is no opinion; empty is nothing. */
		{ "may_lack = [\"landlock\"]", "", "may_lack = [\"landlock\"]\n" },
		{ "may_lack = [\"landlock\"]", "may_lack = []", "may_lack = []\n" },
		/* [M5] */
		{ "may_lack = [\"landlock\", \"cgroup\"]", "require = [\"landlock\"]",
		  "require = [\"landlock\"]\nmay_lack = [\"cgroup\"]\n" },
		{ "[env]\npass = [\"A*\", \"B\"]", "[env]\npass = [\"AB*\", \"AC\", \"B*\"]",
		  "[env]\npass = [\"AB*\", \"AC\", \"B\"]\n" },
		{ "[env]\npass = [\"*\"]", "[env]\npass = []", "[env]\npass = []\n" },
		{ "[env]\nstrip = [\"A\"]", "[env]\nstrip = [\"*\"]",
		  "[env]\nstrip = [\"*\", \"A\"]\n" },
		{ "[env]\nset = { A = \"1\", C = \"3\" }", "[env]\nset = { A = \"2\", B = \"2\" }",
		  "[env]\nset = { A = \"1\", B = \"2\", C = \"3\" }\n" },
		{ "[commands]\nblock = [\"curl\"]", "[commands]\nblock = [\"wget\", \"curl\"]",
		  "[commands]\nblock = [\"curl\", \"wget\"]\n" },
		{ "[network]\nexpose = [1, 2]", "[network]\nexpose = [2, 3]",
		  "[network]\nexpose = [2]\n" },
		{ "[files]\npresets = [\"user_temp\"]", "[files]\npresets = [\"system_runtime\"]",
		  "[files]\npresets = []\n" },
	};

	check(rows, ARRAY_SIZE(rows));
}

static void test_roots(void)
{
	static const struct row rows[] = {
		{ "[files]\nwrite = [\"/a\"]", "[files]\nwrite = [\"/a/b\", \"/a-b\"]",
		  "[files]\nwrite = [\"/a/b\"]\n" },
		{ "[files]\nwrite = [\"/a\"]", "[files]\nwrite = [\"/b\"]",
		  "[files]\nwrite = []\n" },
		{ "[files]\nread = [\"/\"]", "[files]\nread = [\"/a\", \"/b/c\"]",
		  "[files]\nread = [\"/a\", \"/b/c\"]\n" },
		/* [M3]: what one side does not let be read is not written. */
		{ "[files]\nwrite = [\"/a\"]", "[files]\nread = [\"/a/b\"]",
		  "[files]\nwrite = [\"/a/b\"]\nread = []\n" },
		{ "[files]\nwrite = [\"/a\"]\nread = []", "[files]\nread = [\"/\"]",
		  "[files]\nwrite = [\"/a\"]\nread = []\n" },
		{ "[files]\nwrite = [\"/a\"]\nread = []", "[files]\nwrite = []\nread = [\"/a\"]",
		  "[files]\nwrite = []\nread = [\"/a\"]\n" },
		/* [M5]: what one side denies is gone. */
		{ "[files]\nwrite = [\"/a/b\", \"/c\"]", "[files]\ndeny = [\"/a\"]",
		  "[files]\nwrite = [\"/c\"]\ndeny = [\"/a\"]\n" },
		{ "[files]\nread = [\"/a\"]", "[files]\ndeny = [\"/a\", \"**/x\"]",
		  "[files]\nread = []\ndeny = [\"**/x\", \"/a\"]\n" },
		{ "[files]\nprotect = [\"git\"]", "[files]\nprotect = [\"/x\"]",
		  "[files]\nprotect = [\"/x\", \"git\"]\n" },
	};

	check(rows, ARRAY_SIZE(rows));
}

#define ALLOW(list)	"[network]\nallow = [" list "]\n"

#define PROXY(host)	"[network]\nupstream_proxy = \"http://" host "\""

static void test_network(void)
{
	static const struct row rows[] = {
		{ "[network]\nmode = \"public\"", ALLOW("\"a\""),
		  "[network]\nmode = \"allowlist\"\nallow = [\"a\"]\n" },
		{ "[network]\nmode = \"no-network\"", ALLOW("\"a\""),
		  "[network]\nmode = \"no-network\"\n" },
		{ "[network]\nmode = \"no-network\"", "[network]\nmode = \"public\"",
		  "[network]\nmode = \"no-network\"\n" },
		{ "", ALLOW(""), "[network]\nmode = \"allowlist\"\nallow = []\n" },
		{ ALLOW("\"a\""), ALLOW("\"b\""), "[network]\nmode = \"allowlist\"\nallow = []\n" },
		{ ALLOW("\"*.x.example\""), ALLOW("\"a.x.example:443\", \"x.example\""),
		  "[network]\nmode = \"allowlist\"\nallow = [\"a.x.example:443\"]\n" },
		{ ALLOW("\"a:80-90\""), ALLOW("\"a:85-100\""),
		  "[network]\nmode = \"allowlist\"\nallow = [\"a:85-90\"]\n" },
		{ ALLOW("\"10.0.0.0/8\""), ALLOW("\"10.1.0.0/16\", \"*\""),
		  "[network]\nmode = \"allowlist\"\nallow = [\"10.1.0.0/16\"]\n" },
		{ ALLOW("\"**.x\""), ALLOW("\"*.x\", \"x:1\""),
		  "[network]\nmode = \"allowlist\"\nallow = [\"x:1\", \"*.x\"]\n" },
		/* [M4]: an allowlist, or none, is a word about every way out. */
		{ ALLOW("\"a\""), "[network]\nhost_ports = [1]\nudp_allow = [\"x:1\"]\n"
				 "tls = \"name-only\"\n",
		  "[network]\nmode = \"allowlist\"\nallow = [\"a\"]\n" },
		{ "[network]\nmode = \"no-network\"", "[network]\nhost_ports = [1]\n",
		  "[network]\nmode = \"no-network\"\n" },
		{ "[network]\nmode = \"public\"",
		  "[network]\nhost_ports = [1]\ntls = \"name-only\"",
		  "[network]\nmode = \"public\"\nhost_ports = [1]\ntls = \"name-only\"\n" },
		{ ALLOW("\"a\"") "\nhost_ports = [1, 2]\nudp_allow = [\"x:1\", \"y:1\"]",
		  ALLOW("\"a\"") "\nhost_ports = [2, 3]\nudp_allow = [\"x:2\", \"y:1\"]",
		  "[network]\nmode = \"allowlist\"\nallow = [\"a\"]\nhost_ports = [2]\n"
		  "udp_allow = [\"y:1\"]\n" },
		{ "[network]\nudp_allow = [\"x.y:1\", \"z:1\"]", "[network]\ndeny = [\"*.y\"]",
		  "[network]\ndeny = [\"*.y\"]\nudp_allow = [\"z:1\"]\n" },
		{ "[network]\nconnections = 9", "[network]\nconnections = 10",
		  "[network]\nconnections = 9\n" },
		/* The ceiling's proxy, or one that it leaves room for. */
		{ PROXY("a"), PROXY("b"), PROXY("a") "\n" },
		{ PROXY("a"), "", PROXY("a") "\n" },
		{ "", PROXY("b"), PROXY("b") "\n" },
		{ "[network]\nmode = \"public\"", PROXY("b"),
		  "[network]\nmode = \"public\"\nupstream_proxy = \"http://b\"\n" },
		{ "[network]\ndeny = [\"x\"]", PROXY("b"),
		  "[network]\ndeny = [\"x\"]\nupstream_proxy = \"none\"\n" },
		{ ALLOW("\"a\""), PROXY("b"),
		  "[network]\nmode = \"allowlist\"\nallow = [\"a\"]\nupstream_proxy = \"none\"\n" },
		{ PROXY("a"), ALLOW("\"b\""),
		  "[network]\nmode = \"allowlist\"\nallow = [\"b\"]\n"
		  "upstream_proxy = \"http://a\"\n" },
		/* [M5] */
		{ ALLOW("\"a.x\", \"b\""), "[network]\ndeny = [\"*.x\"]",
		  "[network]\nmode = \"allowlist\"\nallow = [\"b\"]\ndeny = [\"*.x\"]\n" },
		{ ALLOW("\"10.0.0.1\""), "[network]\ndeny = [\"*\"]",
		  "[network]\nmode = \"allowlist\"\nallow = []\ndeny = [\"*\"]\n" },
		{ "[network]\ndeny = [\"a\", \"*.b\"]", "[network]\ndeny = [\"c.b\", \"a:1\"]",
		  "[network]\ndeny = [\"a\", \"*.b\"]\n" },
	};

	check(rows, ARRAY_SIZE(rows));
}

static void test_phases(void)
{
	static const struct row rows[] = {
		{ "[phase.p]", "", "[phase.p]\n" },
		{ "[phase.p]", "[phase.q]", "[phase.p]\n\n[phase.q]\n" },
		/* A phase of one side meets the other side's base. */
		{ "[limits]\nmemory = \"4G\"\n[phase.p.limits]\nmemory = \"1G\"",
		  "[limits]\nmemory = \"2G\"",
		  "[limits]\nmemory = \"2G\"\n\n[phase.p.limits]\nmemory = \"1G\"\n" },
		{ "[limits]\nmemory = \"1G\"\n[phase.p.limits]\nmemory = \"4G\"",
		  "[limits]\nmemory = \"2G\"",
		  "[limits]\nmemory = \"1G\"\n\n[phase.p.limits]\nmemory = \"2G\"\n" },
		{ "[phase.p.network]\nmode = \"public\"", "[network]\nmode = \"no-network\"",
		  "[network]\nmode = \"no-network\"\n\n[phase.p]\n" },
		{ "[phase.p.network]\nallow = [\"a\", \"b\"]",
		  "[phase.p.network]\nallow = [\"b\", \"c\"]",
		  "[phase.p.network]\nmode = \"allowlist\"\nallow = [\"b\"]\n" },
		/* A phase that lifts a denial of its own side does not lift the other's. */
		{ "[network]\ndeny = [\"x\"]\n[phase.p.network]\ndeny = []",
		  "[network]\ndeny = [\"y\"]",
		  "[network]\ndeny = [\"x\", \"y\"]\n\n[phase.p.network]\ndeny = [\"y\"]\n" },
		{ "[network]\nallow = [\"x\"]",
		  "[network]\ndeny = [\"x\"]\n[phase.p.network]\ndeny = []",
		  "[network]\nmode = \"allowlist\"\nallow = []\ndeny = [\"x\"]\n\n"
		  "[phase.p.network]\nallow = [\"x\"]\ndeny = []\n" },
	};

	check(rows, ARRAY_SIZE(rows));
}

static void test_maxima(void)
{
	cleanup_arena struct arena arena = ARENA(256 << 20);
	cleanup_buf struct buf x = BUF(1 << 20), y = BUF(1 << 20);
	struct policy a, b, ab = { .n_phases = 77 };
	struct cordon_err err = { 0 };

	for (unsigned i = 0; i < MAX_PHASES; i++)
		buf_printf(&x, "[phase.p%u]\n", i);
	a = read_native(&arena, buf_text(&x));
	b = read_native(&arena, "[phase.q]");
	ok(policy_intersect(&a, &b, &ab, NULL, &err) < 0, "too many phases");
	is_text(err.msg, "the policies have more than 256 phases together", "is said");
	is_int((long long)ab.n_phases, 77, "nothing is stored");
	buf_clear(&x);
	buf_puts(&x, "[files]\ndeny = [");
	buf_puts(&y, "[files]\ndeny = [");
	for (unsigned i = 0; i < MAX_SHORT_LIST; i++) {
		buf_printf(&x, "\"/x%u\",", i);
		buf_printf(&y, "\"/y%u\",", i);
	}
	buf_puts(&x, "]");
	buf_puts(&y, "]");
	a = read_native(&arena, buf_text(&x));
	b = read_native(&arena, buf_text(&y));
	ok(policy_intersect(&a, &a, &ab, NULL, &err) == 0, "with itself");
	ok(policy_intersect(&a, &b, &ab, NULL, &err) < 0, "too many entries");
	is_text(err.msg, "files.deny has more than 4096 entries when the policies are composed",
		"is said");
}

static void test_cuts_are_noted(void)
{
	static const char *const want[] = {
		"files.write=/p", "network.allow=b.example", "limits.memory=\"4G\"", "env.pass=A*",
		"env.set=A=2", "network.allow=a.example",
	};
	cleanup_arena struct arena arena = ARENA(16 << 20);
	struct policy ab,
		ceiling = read_native(&arena, "[files]\nwrite = [\"/p/w\"]\n"
					      "[network]\nallow = [\"a.example\"]\n"
					      "[limits]\nmemory = \"1G\"\n"
					      "[env]\npass = [\"AB\"]\nset = {A = \"1\"}\n");
	struct policy b =
		read_native(&arena, "[files]\nwrite = [\"/p\"]\n"
				    "[network]\nallow = [\"a.example:1\", \"b.example\"]\n"
				    "[limits]\nmemory = \"4G\"\n"
				    "[env]\npass = [\"A*\"]\nset = {A = \"2\"}\n");
	struct cuts cuts = { 0 };
	struct cordon_err err;

	ok(policy_intersect(&ceiling, &b, &ab, &cuts, &err) == 0, "composed");
	is_int((long long)cuts.n, ARRAY_SIZE(want), "cuts");
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		bool found = false;

		for (size_t k = 0; k < cuts.n; k++) {
			const struct cut *c = &cuts.items[k];
			const char *text = arena_printf(&arena, "%s=%.*s", fields[c->id].key,
							STR_FMT(c->what));

			found |= strcmp(text, want[i]) == 0;
		}
		ok(found, "%s", want[i]);
	}
}

int main(void)
{
	return tap_run((struct tap_case[]){ TAP(test_words_and_numbers), TAP(test_lists),
					    TAP(test_roots), TAP(test_network), TAP(test_phases),
					    TAP(test_maxima), TAP(test_cuts_are_noted), TAP_END });
}
