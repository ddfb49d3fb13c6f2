/* Host patterns: reading, printing, order, and how two of them relate. */
#include "policy/host.h"

#include "tap.h"

struct text_case {
	const char *text, *want;
};

static const char *rule_text(struct str text)
{
	static char out[512];
	cleanup_arena struct arena a = ARENA(1 << 16);
	cleanup_buf struct buf b = BUF(sizeof(out) - 1);
	char why[HOST_WHY] = "";
	struct host_rule r;

	if (host_rule_parse(text, &a, &r, why) < 0) {
		snprintf(out, sizeof(out), "! %s", why);
		return out;
	}
	host_rule_print(&r, &b);
	snprintf(out, sizeof(out), "%s", buf_text(&b));
	return out;
}

static void test_patterns_print_canonically(void)
{
	static const struct text_case cases[] = {
		{ "api.Example.com", "api.example.com" },
		{ "api.example.com.", "api.example.com" },
		{ "*.example.com", "*.example.com" },
		{ "*.COM", "*.com" },
		{ "**.example.com:443", "**.example.com:443" },
		{ "*.BÜCHER.example", "*.xn--bcher-kva.example" },
		{ "*", "*" },
		{ "*:25", "*:25" },
		{ "a:1", "a:1" },
		{ "a:65535", "a:65535" },
		{ "a:8000-8100", "a:8000-8100" },
		{ "a:80-80", "a:80" },
		{ "a:1-65535", "a" },
		{ "192.0.2.7", "192.0.2.7" },
		{ "192.0.2.7/32", "192.0.2.7" },
		{ "192.0.2.7:80", "192.0.2.7:80" },
		{ "10.0.0.0/8:5432", "10.0.0.0/8:5432" },
		{ "0.0.0.0/0", "0.0.0.0/0" },
		{ "2001:DB8:0::1", "2001:db8::1" },
		{ "[2001:db8::1]", "2001:db8::1" },
		{ "[2001:db8::1]:443", "[2001:db8::1]:443" },
		{ "2001:db8::/32", "2001:db8::/32" },
		{ "[2001:db8::/32]:1-2", "[2001:db8::/32]:1-2" },
		{ "::1/128", "::1" },
		{ "::/0", "::/0" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		is_text(rule_text(str_from(cases[i].text)), cases[i].want, "'%s'", cases[i].text);
		is_text(rule_text(str_from(cases[i].want)), cases[i].want, "again");
	}
}

#define STAR	"! has a star in the wrong place: only *, *.NAME and **.NAME have one"
#define STAR_ADDR	"! has a star before an address; a range is written like 10.0.0.0/8"
#define SPELLING	"! is an address that not every program reads alike: write 127.0.0.1"
#define DOT	"! begins with a dot: write *.NAME for what is below a name, **.NAME to include it"

static void test_patterns_that_cannot_match_are_refused(void)
{
	static const struct text_case cases[] = {
		{ "", "! is blank" },
		{ "  ", "! is blank" },
		{ " a.example", "! has a space" },
		{ "**", "! has two stars alone: write * for every name" },
		{ "*.", "! has no name after the star" },
		{ "**.", "! has no name after the star" },
		{ "*example.com", STAR },
		{ "api.*.com", STAR },
		{ "*.*.com", STAR },
		{ "***.com", STAR },
		{ ".example.com", DOT },
		{ "*..com", DOT },
		{ "https://api.example.com/v1", "! is a URL: write api.example.com" },
		{ "https://u:pw@api.example.com:84?x@y", "! is a URL: write api.example.com:84" },
		{ "https://", "! is a URL: write the host alone" },
		{ "u@example.com", "! names a user: write the host alone" },
		{ "example.com/v1", "! has a path: write example.com" },
		{ "*.example.com/", "! has a path: write *.example.com" },
		{ "example.com:443/x", "! has a path: write example.com:443" },
		{ "/x", "! has a path: write the host alone" },
		{ "127.1", SPELLING },
		{ "2130706433", SPELLING },
		{ "0177.0.0.1:80", SPELLING },
		{ "127.0.0.1.", SPELLING },
		{ "10.1/16", "! is a range whose address is not in four decimal numbers, "
			     "like 10.1.0.0/16" },
		{ "10.0.0.1/8", "! has bits set beyond its prefix: write 10.0.0.0/8" },
		{ "2001:db8::1/32", "! has bits set beyond its prefix: write 2001:db8::/32" },
		{ "::ffff:10.0.0.1", "! is IPv4 inside IPv6: write 10.0.0.1" },
		{ "::ffff:10.0.0.0/104", "! is IPv4 inside IPv6: write 10.0.0.0/8" },
		{ "10.0.0.0/33", "! has a prefix that is no number from 0 to 32" },
		{ "10.0.0.0/08", "! has a prefix that is no number from 0 to 32" },
		{ "10.0.0.0/255.0.0.0", "! has a prefix that is no number from 0 to 32" },
		{ "10.0.0.0/", "! has a prefix that is no number from 0 to 32" },
		{ "2001:db8::/129", "! has a prefix that is no number from 0 to 128" },
		{ "*.127.0.0.1", STAR_ADDR },
		{ "**.1", STAR_ADDR },
		{ "a:", "! has no port after ':'" },
		{ ":80", "! has no host" },
		{ "a:0", "! has a port that is no number from 1 to 65535" },
		{ "a:65536", "! has a port that is no number from 1 to 65535" },
		{ "a:080", "! has a port that is no number from 1 to 65535" },
		{ "a:http", "! has a port that is no number from 1 to 65535" },
		{ "a:*", "! has a port that is no number from 1 to 65535" },
		{ "a:1-", "! has a range of ports that is not like 8000-8100" },
		{ "a:1-2-3", "! has a range of ports that is not like 8000-8100" },
		{ "a:-2", "! has a port that is no number from 1 to 65535" },
		{ "a:9-8", "! has a range of ports that runs backwards: write 8-9" },
		{ "[2001:db8::1", "! has '[' without ']'" },
		{ "[2001:db8::1]x", "! has more than a port after ']'" },
		{ "[10.0.0.1]:80", "! has brackets around what is no IPv6 address" },
		{ "[a.example]:80", "! has brackets around what is no IPv6 address" },
		{ "2001:db8::/32:443", "!" },
		{ "fe80::1%eth0", "!" },
		{ "256.1.1.1", "!" },
		{ "a b", "!" },
		{ "a?b", "!" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *got = rule_text(str_from(cases[i].text));

		if (strcmp(cases[i].want, "!") == 0)
			ok(got[0] == '!' && got[2], "'%s' gave '%s'", cases[i].text, got);
		else
			is_text(got, cases[i].want, "'%s'", cases[i].text);
	}
}

static void test_a_star_needs_room_below_the_name(void)
{
	char text[300] = "*.";

	for (size_t i = 0; i < 251; i++)
		text[2 + i] = i % 50 == 49 ? '.' : 'a';
	ok(rule_text(str_from(text))[0] == '*', "251 bytes leave room for one letter and a dot");
	memmove(text + 4, text + 2, 252);
	memcpy(text, "*.b.", 4);
	is_text(rule_text(str_from(text)), "! is too long to have names below it", "253 bytes");
	memmove(text + 1, text, 255);
	text[0] = '*';
	ok(rule_text(str_from(text))[0] == '*', "the name itself still matches");
}

static void test_dialects_build_rules_by_form(void)
{
	static const struct { enum host_form form; const char *text, *want; } rows[] = {
		{ HOST_EXACT, "Example.com", "example.com" },
		{ HOST_BELOW, "example.com", "*.example.com" },
		{ HOST_AT_OR_BELOW, "example.com", "**.example.com" },
		{ HOST_ANY, "", "*" },
		{ HOST_NET, "10.0.0.0/8", "10.0.0.0/8" },
		{ HOST_EXACT, "1.1.1.1", "1.1.1.1" },
		{ HOST_EXACT, "2001:db8::1", "2001:db8::1" },
		{ HOST_EXACT, "1", NULL },
		{ HOST_AT_OR_BELOW, "127.1", NULL },
		{ HOST_NET, "example.com", NULL },
		{ HOST_EXACT, "*.example.com", NULL },
		{ HOST_EXACT, "example.com:443", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_arena struct arena a = ARENA(1 << 16);
		cleanup_buf struct buf b = BUF(300);
		struct host_rule r;
		char why[HOST_WHY] = "";
		int got = host_rule_make(rows[i].form, str_from(rows[i].text), &a, &r, why);

		if (got == 0)
			host_rule_print(&r, &b);
		is_text(got == 0 ? buf_text(&b) : NULL, rows[i].want, "'%s': %s", rows[i].text,
			why);
	}
}

static struct host_rule rule_of(struct arena *a, const char *text)
{
	struct host_rule r = { 0 };
	char why[HOST_WHY] = "";

	if (host_rule_parse(str_from(text), a, &r, why) < 0)
		ok(false, "'%s' %s", text, why);
	return r;
}

static void test_patterns_match_by_labels(void)
{
	static const struct { const char *rule, *host; unsigned port; bool allow, deny; } rows[] = {
		{ "example.com", "example.com", 443, true, true },
		{ "example.com", "api.example.com", 443, false, false },
		{ "*.example.com", "api.example.com", 443, true, true },
		{ "*.example.com", "a.b.example.com", 443, true, true },
		{ "*.example.com", "example.com", 443, false, false },
		{ "*.example.com", "notexample.com", 443, false, false },
		{ "**.example.com", "example.com", 443, true, true },
		{ "**.example.com", "x.example.com", 443, true, true },
		{ "**.example.com", "notexample.com", 443, false, false },
		{ "**.example.com", "example.com.evil.com", 443, false, false },
		{ "*", "anything.example", 443, true, true },
		{ "*", "1.1.1.1", 443, false, true },
		{ "*", "::1", 443, false, true },
		{ "example.com:443", "example.com", 443, true, true },
		{ "example.com:443", "example.com", 80, false, false },
		{ "example.com:443", "example.com", 0, true, true },
		{ "example.com:80-90", "example.com", 90, true, true },
		{ "example.com:80-90", "example.com", 91, false, false },
		{ "10.0.0.0/8", "10.200.3.4", 1, true, true },
		{ "10.0.0.0/8", "11.0.0.1", 1, false, false },
		{ "10.0.0.0/8", "::ffff:10.0.0.1", 1, true, true },
		{ "10.0.0.0/8", "64:ff9b::10.0.0.1", 1, false, true },
		{ "10.0.0.0/8", "2002:0a00:1::", 1, false, true },
		{ "10.0.0.0/8", "example.com", 1, false, false },
		{ "172.16.0.0/12", "172.31.0.1", 1, true, true },
		{ "172.16.0.0/12", "172.32.0.1", 1, false, false },
		{ "2001:db8::/32", "2001:db8:1::2", 1, true, true },
		{ "2001:db8::1", "2001:0DB8:0:0:0:0:0:1", 1, true, true },
		{ "::/0", "1.2.3.4", 1, false, false },
		{ "0.0.0.0/0", "::1", 1, false, false },
		{ "127.0.0.1", "2130706433", 1, true, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_arena struct arena a = ARENA(1 << 16);
		struct host_rule r = rule_of(&a, rows[i].rule);
		char why[HOST_WHY];
		struct host h;

		ok(host_parse(str_from(rows[i].host), &h, why) == 0, "'%s'", rows[i].host);
		is_int(host_rule_matches(&r, &h, rows[i].port, false), rows[i].allow,
		       "allow %s for %s:%u", rows[i].rule, rows[i].host, rows[i].port);
		is_int(host_rule_matches(&r, &h, rows[i].port, true), rows[i].deny,
		       "deny %s for %s:%u", rows[i].rule, rows[i].host, rows[i].port);
	}
}

/* In the order of host_rule_cmp(). */
static const char *const ordered[] = {
	"*", "*:1-9", "*:2-9", "*:2-8", "*:443",
	"**.com", "com", "*.com", "**.example.com", "example.com", "example.com:80",
	"example.com:443", "*.example.com", "**.a.example.com", "a.example.com", "*.a.example.com",
	"b.example.com", "ple.com", "zexample.com", "net", "xcom", "x.xcom",
	"0.0.0.0/0", "10.0.0.0/8", "10.0.0.0/9", "10.0.0.0", "10.0.0.0:80", "10.128.0.0/9",
	"11.0.0.0/8", "::/0", "::1", "2001:db8::/32", "2001:db8::",
};

static void test_the_order_is_total_and_puts_covers_first(void)
{
	cleanup_arena struct arena a = ARENA(1 << 16);
	struct host_rule r[ARRAY_SIZE(ordered)];

	for (size_t i = 0; i < ARRAY_SIZE(ordered); i++)
		r[i] = rule_of(&a, ordered[i]);
	for (size_t i = 0; i < ARRAY_SIZE(ordered); i++)
		for (size_t k = 0; k < ARRAY_SIZE(ordered); k++) {
			int c = host_rule_cmp(&r[i], &r[k]);

			is_int((c > 0) - (c < 0), (i > k) - (i < k), "%s and %s", ordered[i],
			       ordered[k]);
			if (i > k)
				ok(!host_rule_covers(&r[i], &r[k]), "%s does not cover %s",
				   ordered[i], ordered[k]);
		}
}

/* What the meet of two rules must be, from their covering each other. */
static void check_meet(const struct host_rule *a, const struct host_rule *b)
{
	struct host_rule m, n;
	bool has = host_rule_meet(a, b, &m);

	is_int(host_rule_meet(b, a, &n), has, "the meet does not depend on the order");
	if (!has) {
		ok(!host_rule_covers(a, b) && !host_rule_covers(b, a), "no meet, no cover");
		return;
	}
	is_int(host_rule_cmp(&m, &n), 0, "nor does its value");
	ok(host_rule_covers(a, &m) && host_rule_covers(b, &m), "both cover their meet");
	is_int(host_rule_covers(a, b), host_rule_cmp(&m, b) == 0, "covers means: the meet is b");
}

static void test_covers_and_meet_obey_their_laws(void)
{
	cleanup_arena struct arena a = ARENA(1 << 16);
	struct host_rule r[ARRAY_SIZE(ordered)];

	for (size_t i = 0; i < ARRAY_SIZE(ordered); i++)
		r[i] = rule_of(&a, ordered[i]);
	for (size_t i = 0; i < ARRAY_SIZE(ordered); i++) {
		ok(host_rule_covers(&r[i], &r[i]), "%s covers itself", ordered[i]);
		for (size_t k = 0; k < ARRAY_SIZE(ordered); k++) {
			check_meet(&r[i], &r[k]);
			for (size_t m = 0; m < ARRAY_SIZE(ordered); m++)
				ok(!host_rule_covers(&r[i], &r[k]) ||
				   !host_rule_covers(&r[k], &r[m]) ||
				   host_rule_covers(&r[i], &r[m]), "transitive");
		}
	}
}

static void test_memory_that_runs_out_is_said(void)
{
	cleanup_arena struct arena a = ARENA(1);
	struct host_rule r;
	char why[HOST_WHY] = "";

	ok(host_rule_parse(STR("example.com"), &a, &r, why) < 0, "no room");
	is_text(why, "does not fit into memory", "and says so");
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_patterns_print_canonically),
		TAP(test_patterns_that_cannot_match_are_refused),
		TAP(test_a_star_needs_room_below_the_name),
		TAP(test_dialects_build_rules_by_form), TAP(test_patterns_match_by_labels),
		TAP(test_the_order_is_total_and_puts_covers_first),
		TAP(test_covers_and_meet_obey_their_laws), TAP(test_memory_that_runs_out_is_said),
		TAP_END });
}
