/* What a policy says about one host. */
#include "tap.h"

#include "gate/decide.h"
#include "policy_read.h"

struct row {
	const char *target;
	const char *answers;	/* parted by spaces; NULL: none */
	const char *want;	/* "" allowed, else the reason */
};

static void check(const struct dialect *dialect, const char *text, const char *phase,
		  const struct row *rows, size_t n)
{
	cleanup_arena struct arena a = ARENA(16 << 20);
	cleanup_diags struct diags d = DIAGS;
	struct policy p;
	struct reader r = { .policy = &p, .diags = &d, .file = "default", .base_dir = TEST_BASE,
			    .cwd = TEST_BASE, .home = TEST_HOME };
	static const struct host_caps caps;
	struct net_options o = { .caps = &caps };
	const struct section *s;
	struct cordon_err err;
	struct plan_net net;

	if (!read_policy(&a, &d, dialect, str_from(text), &p) || read_defaults(&r) < 0)
		abort();
	s = phase ? &policy_find_phase(&p, str_from(phase))->section : &p.base;
	o.gate = !net_is_open(s);
	ok(net_compile(&p, s, &o, &a, &net, &err) == 0, "ready");
	for (size_t i = 0; i < n; i++) {
		struct host_addr answers[4];
		struct match_verdict v;
		size_t n_answers = 0;
		struct str rest = str_from(rows[i].answers ? rows[i].answers : "");

		while (rest.n) {
			size_t k = str_find(rest, ' ');

			if (!host_addr_parse(str_first(rest, k), &answers[n_answers++]))
				abort();
			rest = str_from_pos(rest, MIN(k + 1, rest.n));
		}
		decide_target(&net, str_from(rows[i].target),
			      &(struct match_answers){ answers, NULL, n_answers }, &v);
		is_int(v.allowed, !rows[i].want[0], "%s", rows[i].target);
		if (!v.allowed)
			is_text(v.reason, rows[i].want, "%s", rows[i].target);
	}
}

static const char native[] =
	"[network]\nallow = [\"a.example\", \"b.example:443\", \"**.c.example\", \"10.1.0.0/16\", "
	"\"0.0.0.0/0:8080\"]\ndeny = [\"x.c.example\", \"*:25\", \"10.1.9.0/24\"]\n"
	"[phase.closed.network]\nmode = \"no-network\"\n"
	"[phase.open.network]\nmode = \"public\"\n";

static void test_the_order_of_answers(void)
{
	static const struct row rows[] = {
		{ "a.example", NULL, "" },
		{ "A.EXAMPLE.", NULL, "" },
		{ "a.example:22", NULL, "" },
		{ "a.example:25", NULL, "host a.example is denied by the rule *:25" },
		{ "sub.a.example", NULL, "host sub.a.example is not in the allowlist" },
		{ "b.example:443", NULL, "" },
		{ "b.example:80", NULL, "port 80 of host b.example is not in the allowlist" },
		{ "https://b.example/x", NULL, "" },
		{ "http://b.example/x", NULL, "port 80 of host b.example is not in the allowlist" },
		{ "x.c.example", NULL, "host x.c.example is denied by the rule x.c.example" },
		{ "y.x.c.example", NULL, "" },
		{ "10.1.2.3", NULL, "" },
		{ "10.1.9.3", NULL, "host 10.1.9.3 is denied by the rule 10.1.9.0/24" },
		{ "8.8.8.8", NULL, "" },	/* one of its ports is */
		{ "8.8.8.8:8080", NULL, "" },
		{ "10.2.0.1:8080", NULL,
		  "host 10.2.0.1 is a special address (private) that no rule names" },
		{ "[::ffff:10.1.2.3]:1", NULL, "" },
		{ "evil.test", NULL, "host evil.test is not in the allowlist" },
		{ "https://user:secret@evil.test/path?token=1#f", NULL,
		  "host evil.test is not in the allowlist" },
	};

	check(&dialect_cordon, native, NULL, rows, ARRAY_SIZE(rows));
}

static void test_no_reason_repeats_secrets(void)
{
	static const char *const targets[] = {
		"https://user:secret@a.example:99999/secret?secret#secret",
		"https://user:secret@/", "user:secret@a.example", "https://a.example\\secret",
		"secret://user:secret@evil.test/", "https://sec ret/", "https://[secret/",
		"http://evil.test/%zz?secret",
	};
	cleanup_arena struct arena a = ARENA(16 << 20);
	struct policy p = read_native(&a, native);
	struct cordon_err err;
	struct matcher m;

	ok(matcher_init(&m, &p, &p.base, &err) == 0, "ready");
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		struct match_verdict v = { .reason = "" };
		struct match_target t;

		ok(!matcher_parse(&m, str_from(targets[i]), &t, &v) ||
		   !matcher_check_rules(&m, &t.host, t.port, &v), "%s", targets[i]);
		ok(!strstr(v.reason, "user") && (!strstr(v.reason, "secret") || i == 4), "%s: %s",
		   targets[i], v.reason);
	}
}

static void test_what_a_name_resolves_to(void)
{
	static const struct row rows[] = {
		{ "a.example", "93.184.216.34", "" },
		{ "a.example", "127.0.0.1",
		  "host a.example resolves to 127.0.0.1, a special address (loopback)" },
		{ "a.example", "169.254.169.254",
		  "host a.example resolves to 169.254.169.254, a special address (metadata)" },
		{ "a.example", "::1",
		  "host a.example resolves to ::1, a special address (loopback)" },
		/* A range that names it; one wider than the block that it lies in does not. */
		{ "a.example", "10.1.0.7", "" },
		{ "a.example:8080", "10.2.0.7",
		  "host a.example resolves to 10.2.0.7, a special address (private)" },
		/* One good answer is enough; one that is denied is too much. */
		{ "a.example", "127.0.0.1 93.184.216.34", "" },
		{ "a.example", "93.184.216.34 10.1.9.1",
		  "host a.example: resolved address is denied by the rule 10.1.9.0/24" },
		{ "evil.test", "93.184.216.34", "host evil.test is not in the allowlist" },
	};

	check(&dialect_cordon, native, NULL, rows, ARRAY_SIZE(rows));
}

static void test_phases(void)
{
	static const struct row closed[] = {
		{ "a.example", NULL,
		  "host a.example is not reachable: network.mode is no-network" },
	};
	static const struct row open[] = {
		{ "evil.test", NULL, "" },
		{ "evil.test", "127.0.0.1",
		  "host evil.test resolves to 127.0.0.1, a special address (loopback)" },
		{ "evil.test:25", NULL, "host evil.test is denied by the rule *:25" },
		{ "ftp://evil.test/", NULL, "" },
		{ "evil.test", "10.1.9.1",
		  "host evil.test: resolved address is denied by the rule 10.1.9.0/24" },
	};

	check(&dialect_cordon, native, "closed", closed, ARRAY_SIZE(closed));
	check(&dialect_cordon, native, "open", open, ARRAY_SIZE(open));
}

static void test_the_words_of_ai_harness(void)
{
	static const struct row rows[] = {
		{ "https://api.github.com/x", NULL, "" },
		{ "https://evil.test/x?y", NULL,
		  "SandboxError: host evil.test is not in allowed_domains" },
		{ "ftp://api.github.com/", NULL,
		  "SandboxError: scheme \"ftp\" is not permitted (only http/https)" },
		{ "https://10.0.0.1/", NULL,
		  "SandboxError: host 10.0.0.1 is not in allowed_domains (IP literal \"10.0.0.1\" "
		  "is "
		  "not in the allowlist)" },
	};
	static const struct row open[] = { { "ftp://x.test/", NULL, "" } };

	check(&dialect_ai_harness, "---\nnetwork:\n  allowed_domains: [github.com]\n---\n", NULL,
	      rows, ARRAY_SIZE(rows));
	check(&dialect_ai_harness, "---\n---\nno network\n", NULL, open, ARRAY_SIZE(open));
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_the_order_of_answers), TAP(test_no_reason_repeats_secrets),
		TAP(test_what_a_name_resolves_to), TAP(test_phases),
		TAP(test_the_words_of_ai_harness), TAP_END });
}
