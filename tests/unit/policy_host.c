/* Hosts: canonical names, every spelling of an address, special addresses. */
#include "policy/host.h"

#include "tap.h"

static const char *host_text(struct str text)
{
	static char out[512];
	cleanup_buf struct buf b = BUF(sizeof(out) - 1);
	char why[HOST_WHY] = "";
	struct host h;

	if (host_parse(text, &h, why) < 0) {
		snprintf(out, sizeof(out), "! %s", why);
		return out;
	}
	host_print(&h, &b);
	snprintf(out, sizeof(out), "%s%s", h.is_addr ? "@" : "", buf_text(&b));
	return out;
}

/* '@' stands before an address, "!" alone for any refusal. */
static void check_host(struct str text, const char *want)
{
	const char *got = host_text(text);

	if (strcmp(want, "!") == 0)
		ok(got[0] == '!' && got[2], "'%.*s' is refused, got '%s'", STR_FMT(text), got);
	else
		is_text(got, want, "'%.*s'", STR_FMT(text));
}

struct text_case {
	const char *text, *want;
};

static void check_hosts(const struct text_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++)
		check_host(str_from(cases[i].text), cases[i].want);
}

static void test_names_have_one_canonical_form(void)
{
	static const struct text_case cases[] = {
		{ "example.com", "example.com" },
		{ "API.GitHub.COM", "api.github.com" },
		{ "example.com.", "example.com" },
		{ "localhost", "localhost" },
		{ "_dmarc.example.com", "_dmarc.example.com" },
		{ "r3---sn-4g5e.example", "r3---sn-4g5e.example" },
		{ "1password.com", "1password.com" },
		{ "1.2.3.4.example", "1.2.3.4.example" },
		{ "0x7f.example", "0x7f.example" },
		{ "a.0y1", "a.0y1" },
	};

	check_hosts(cases, ARRAY_SIZE(cases));
}

static void test_what_has_no_canonical_form_is_refused(void)
{
	static const struct text_case cases[] = {
		{ "", "! is empty" },
		{ ".", "! has an empty label" },
		{ "..", "! has an empty label" },
		{ "example.com..", "! has an empty label" },
		{ ".example.com", "! has an empty label" },
		{ "a..b", "! has an empty label" },
		{ "a b", "! has a space" },
		{ " a", "! has a space" },
		{ "a\tb", "! has a control character" },
		{ "a\x7f", "! has a control character" },
		{ "a%2eb", "! has the character '%', which no host name has" },
		{ "a/b", "! has the character '/', which no host name has" },
		{ "a\\b", "! has the character '\\', which no host name has" },
		{ "*.example.com", "! has the character '*', which no host name has" },
		{ "u@h", "! has the character '@', which no host name has" },
		{ "-a.example", "! has a label that begins or ends with '-'" },
		{ "a-.example", "! has a label that begins or ends with '-'" },
		{ "example.com:443", "! has a ':' and is no IPv6 address" },
		{ "[example.com]", "! has brackets around what is no IPv6 address" },
		{ "[127.0.0.1]", "! has brackets around what is no IPv6 address" },
		{ "[::1", "! begins with '[' and does not end with ']'" },
		{ "[", "! begins with '[' and does not end with ']'" },
		{ "[]", "! has brackets around what is no IPv6 address" },
		{ "[::1].", "! begins with '[' and does not end with ']'" },
		{ "fe80::1%eth0", "! is an IPv6 address with a zone; write it without" },
		{ "[fe80::1%25eth0]", "! is an IPv6 address with a zone; write it without" },
		{ "\xff.example", "!" },
		{ "a\xc3", "!" },
	};

	check_hosts(cases, ARRAY_SIZE(cases));
	check_host((struct str){ "a\0b", 3 }, "! has a control character");
	check_host((struct str){ "::1\0", 4 }, "!");
}

static void test_lengths_are_bounded(void)
{
	char text[400], label[64];

	memset(label, 'a', 63);
	label[63] = '\0';
	snprintf(text, sizeof(text), "%s.example", label);
	check_host(str_from(text), text);
	snprintf(text, sizeof(text), "%sa.example", label);
	check_host(str_from(text), "! has a label longer than 63 bytes");
	snprintf(text, sizeof(text), "%s.%s.%s.%.61s", label, label, label, label);
	is_int((long long)strlen(text), MAX_HOST_NAME, "the longest name");
	check_host(str_from(text), text);
	snprintf(text, sizeof(text), "%s.%s.%s.%.61s.", label, label, label, label);
	ok(host_text(str_from(text))[0] == 'a', "a trailing dot does not count");
	snprintf(text, sizeof(text), "%s.%s.%s.%.62s", label, label, label, label);
	check_host(str_from(text), "! is longer than 253 bytes");
}

static void test_every_spelling_of_an_address_is_the_address(void)
{
	static const struct text_case cases[] = {
		{ "127.0.0.1", "@127.0.0.1" },
		{ "127.0.0.1.", "@127.0.0.1" },
		{ "127.1", "@127.0.0.1" },
		{ "127.0.1", "@127.0.0.1" },
		{ "2130706433", "@127.0.0.1" },
		{ "0x7f000001", "@127.0.0.1" },
		{ "0X7F.1", "@127.0.0.1" },
		{ "0x7f.0.0.0x1", "@127.0.0.1" },
		{ "0177.0.0.01", "@127.0.0.1" },
		{ "017700000001", "@127.0.0.1" },
		{ "0", "@0.0.0.0" },
		{ "00", "@0.0.0.0" },
		{ "1.65535", "@1.0.255.255" },
		{ "1.2.65535", "@1.2.255.255" },
		{ "1.16777215", "@1.255.255.255" },
		{ "4294967295", "@255.255.255.255" },
		{ "::1", "@::1" },
		{ "[::1]", "@::1" },
		{ "[2001:0DB8:0:0:0:0:0:1]", "@2001:db8::1" },
		{ "2001:db8:0:0:1:0:0:1", "@2001:db8::1:0:0:1" },
		{ "2001:db8:0:1:1:1:1:1", "@2001:db8:0:1:1:1:1:1" },
		{ "1:0:0:0:0:0:0:0", "@1::" },
		{ "::", "@::" },
		{ "::ffff:127.0.0.1", "@127.0.0.1" },
		{ "[::ffff:7f00:1]", "@127.0.0.1" },
		{ "::1.2.3.4", "@::102:304" },
		{ "64:ff9b::10.0.0.1", "@64:ff9b::a00:1" },
	};

	check_hosts(cases, ARRAY_SIZE(cases));
}

static void test_names_that_end_in_a_number_are_no_names(void)
{
	static const char *const cases[] = {
		"256.1.1.1", "1.2.3.4.5", "1.2.3.256", "1.256.1", "4294967296", "08", "0x",
		"1.2.3.08", "example.0x", "example.com.1", "example.0xff", "1..2", "1.2.3.", "a.1.",
		"0x100000000", "99999999999999999999", "1.16777216", "1.2.65536", "_.0",
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (strcmp(cases[i], "1.2.3.") == 0)
			check_host(str_from(cases[i]), "@1.2.0.3");
		else
			check_host(str_from(cases[i]), "!");
	}
}

static void test_labels_beyond_ascii_become_a_labels(void)
{
	static const struct text_case cases[] = {
		{ "bücher.example", "xn--bcher-kva.example" },
		{ "BÜCHER.example", "xn--bcher-kva.example" },
		{ "XN--Bcher-Kva.example", "xn--bcher-kva.example" },
		{ "www.münchen.de.", "www.xn--mnchen-3ya.de" },
		{ "żółw.pl", "xn--w-uga1v8h.pl" },
		{ "ŻÓŁW.pl", "xn--w-uga1v8h.pl" },
		{ "VIỆT-Nam.vn", "xn--vit-nam-zv4c.vn" },
	};

	check_hosts(cases, ARRAY_SIZE(cases));
}

static void test_labels_that_need_more_of_idna_are_refused(void)
{
	static const char hint[] = "! has a label with other than Latin letters: "
				   "write its A-label (xn--…)";
	static const char *const cases[] = {
		"straße.de",			/* IDNA 2003 and 2008 differ */
		"ς.gr",				/* so they do on the final sigma */
		"example.com\xe3\x80\x82" "evil.com",	/* ideographic full stop */
		"example\xef\xbc\x8e" "com",	/* full-width dot */
		"\xef\xbd\x81.com",		/* full-width a */
		"bu\xcc\x88" "cher.example",	/* combining diaeresis */
		"a\xe2\x80\x8d" "b",		/* zero-width joiner */
		"a\xe2\x80\x8b" "b",		/* zero-width space */
		"a\xc2\xad" "b",		/* soft hyphen */
		"\xe2\x84\xaa" "elvin",		/* Kelvin sign */
		"\xf0\x9f\x92\xa9.la",		/* a picture */
		"\xee\x80\x80.example",		/* private use */
		"a\xc2\xb7" "b",		/* middle dot */
		"İstanbul.tr",			/* maps to two characters */
		"ŉ.example",			/* compatibility form */
		"δοκιμή.gr", "испытание.example", "a\xd0\xb0.example", "例え.example",
		"실례.example", "דוגמה.example", "ไทย.example", "हिन्दी.example",
		"bü_cher.example",
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check_host(str_from(cases[i]), hint);
	check_host(STR("-ü.example"), "!");
	check_host(STR("xn--ü.example"), "! has a label with a '-' where IDNA has none");
}

static void test_a_labels_must_be_punycode(void)
{
	static const char *const bad[] = {
		"xn--", "xn--a-", "xn---", "xn--999999999", "xn--b_cher-kva", "xn--bcher-kv",
		"xn--0zwm56d-", "xn--bcher-kvaa9999", "xn--\xc3\xbc",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		check_host(str_from(bad[i]), "!");
	check_host(STR("xn--ls8h.la"), "xn--ls8h.la");
	check_host(STR("xn--strae-oqa.de"), "xn--strae-oqa.de");
}

static void test_long_labels_stay_within_bounds(void)
{
	char text[256] = "";
	size_t n = 0;

	for (; n < 2 * 57; n += 2)
		memcpy(text + n, "\xc3\xbc", 2);
	ok(host_text((struct str){ text, n })[0] == 'x', "57 letters make 63 bytes");
	for (; n < 2 * 80; n += 2) {
		memcpy(text + n, "\xc3\xbc", 2);
		check_host((struct str){ text, n + 2 }, "!");
	}
}

static void test_outputs_stay_on_failure(void)
{
	cleanup_arena struct arena a = ARENA(1 << 16);
	struct host_rule rule = { .bits = 77 };
	struct host h = { .n = 77 };
	struct host_addr addr = { .b = { 77 } };
	char why[HOST_WHY];

	ok(host_parse(STR("a..b"), &h, why) < 0 && h.n == 77, "host_parse");
	ok(host_parse(STR("1.2.3.400"), &h, why) < 0 && h.n == 77, "host_parse of an address");
	ok(!host_addr_parse(STR("::g"), &addr) && addr.b[0] == 77, "host_addr_parse");
	ok(host_rule_parse(STR("a:0"), &a, &rule, why) < 0 && rule.bits == 77, "host_rule_parse");
}

static void test_strict_addresses_have_one_spelling(void)
{
	static const char *const bad[] = {
		"", "1.2.3", "1.2.3.4.", "01.2.3.4", "1.2.3.256", "0x1.2.3.4", "1.2.3.4 ", "1.2.3.",
		"1..2.3", "[::1]", "::1%lo", "::1 ", "g::", "1:2:3:4:5:6:7:8:9", ":::",
		"1234:1234:1234:1234:1234:1234:1234:1234:1234:1234",
	};
	struct host_addr a;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ok(!host_addr_parse(str_from(bad[i]), &a), "'%s'", bad[i]);
	ok(host_addr_parse(STR("255.0.10.1"), &a) && !a.is_v6 && a.b[0] == 255 && a.b[4] == 0,
	   "a dotted quad");
	ok(host_addr_parse(STR("::ffff:1.2.3.4"), &a) && !a.is_v6 && a.b[3] == 4, "mapped");
}

static void test_special_addresses_are_named(void)
{
	static const struct { const char *addr, *name; } rows[] = {
		{ "0.0.0.0", "unspecified" }, { "0.255.255.255", "unspecified" },
		{ "1.0.0.0", NULL }, { "126.255.255.255", NULL },
		{ "127.0.0.1", "loopback" }, { "127.255.255.255", "loopback" },
		{ "128.0.0.0", NULL },
		{ "9.255.255.255", NULL }, { "10.0.0.0", "private" },
		{ "10.255.255.255", "private" }, { "11.0.0.0", NULL },
		{ "172.15.255.255", NULL }, { "172.16.0.0", "private" },
		{ "172.31.255.255", "private" }, { "172.32.0.0", NULL },
		{ "192.167.255.255", NULL }, { "192.168.0.0", "private" },
		{ "192.168.255.255", "private" }, { "192.169.0.0", NULL },
		{ "169.253.255.255", NULL }, { "169.254.0.0", "link-local" },
		{ "169.254.169.254", "metadata" }, { "169.254.255.255", "link-local" },
		{ "169.255.0.0", NULL },
		{ "100.63.255.255", NULL }, { "100.64.0.0", "shared" },
		{ "100.100.100.200", "metadata" }, { "100.127.255.255", "shared" },
		{ "100.128.0.0", NULL }, { "168.63.129.16", "metadata" },
		{ "168.63.129.17", NULL },
		{ "191.255.255.255", NULL }, { "192.0.0.0", "protocol" },
		{ "192.0.0.255", "protocol" }, { "192.0.1.0", NULL },
		{ "192.0.2.0", "documentation" }, { "192.0.2.255", "documentation" },
		{ "192.0.3.0", NULL }, { "192.88.98.255", NULL },
		{ "192.88.99.1", "6to4-relay" }, { "192.88.100.0", NULL },
		{ "198.17.255.255", NULL }, { "198.18.0.0", "benchmarking" },
		{ "198.19.255.255", "benchmarking" }, { "198.20.0.0", NULL },
		{ "198.51.99.255", NULL }, { "198.51.100.7", "documentation" },
		{ "198.51.101.0", NULL }, { "203.0.112.255", NULL },
		{ "203.0.113.1", "documentation" }, { "203.0.114.0", NULL },
		{ "223.255.255.255", NULL }, { "224.0.0.1", "multicast" },
		{ "239.255.255.255", "multicast" }, { "240.0.0.0", "reserved" },
		{ "255.255.255.254", "reserved" }, { "255.255.255.255", "broadcast" },
		{ "8.8.8.8", NULL },

		{ "::", "unspecified" }, { "::1", "loopback" },
		{ "::2", "unspecified" }, { "::127.0.0.1", "loopback" },
		{ "::8.8.8.8", "v4-compatible" }, { "::ffff:8.8.8.8", NULL },
		{ "::ffff:10.0.0.1", "private" }, { "::fffe:8.8.8.8", "reserved" },
		{ "64:ff9b::8.8.8.8", NULL }, { "64:ff9b::127.0.0.1", "loopback" },
		{ "64:ff9b::169.254.169.254", "metadata" },
		{ "64:ff9b::1:8.8.8.8", "reserved" },
		{ "64:ff9b:1::8.8.8.8", "nat64" }, { "64:ff9b:1:ffff::1", "nat64" },
		{ "64:ff9b:2::1", "reserved" },
		{ "100::1", "discard" }, { "100:0:0:1::1", "reserved" },
		{ "fbff::1", "reserved" }, { "fc00::1", "unique-local" },
		{ "fdff::1", "unique-local" }, { "fd00:ec2::254", "metadata" },
		{ "fd00:ec2::253", "unique-local" }, { "fd20:ce::254", "metadata" },
		{ "fd00:42::42", "metadata" }, { "fe00::1", "reserved" },
		{ "fe80::1", "link-local" }, { "febf::1", "link-local" },
		{ "fec0::1", "site-local" }, { "feff::1", "site-local" },
		{ "ff00::1", "multicast" }, { "ff02::1", "multicast" },
		{ "1fff::1", "reserved" }, { "2000::1", NULL },
		{ "2001::1", "reserved" }, { "2001:0:4136:e378:8000:63bf:80ff:fffe", "loopback" },
		{ "2001:0:4136:e378:8000:63bf:f7f7:f7f7", "teredo" },
		{ "2001:1::1", "protocol" }, { "2001:1ff::1", "protocol" },
		{ "2001:200::1", NULL }, { "2001:db7::1", NULL },
		{ "2001:db8::1", "documentation" }, { "2001:db8:ffff::1", "documentation" },
		{ "2001:db9::1", NULL },
		{ "2002:7f00:1::", "loopback" }, { "2002:0a00:1::1", "private" },
		{ "2002:808:808::1", NULL }, { "2003::1", NULL },
		{ "2606:4700::1111", NULL }, { "3ffe::1", NULL },
		{ "3fff::1", "documentation" }, { "3fff:fff::1", "documentation" },
		{ "3fff:1000::1", NULL }, { "4000::1", "reserved" }, { "5f00::1", "reserved" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct host_addr a;

		ok(host_addr_parse(str_from(rows[i].addr), &a), "'%s'", rows[i].addr);
		is_text(host_addr_special(&a), rows[i].name, "'%s'", rows[i].addr);
	}
}

static void test_mapped_bytes_are_judged_as_ipv4(void)
{
	struct host_addr a = { .is_v6 = true,
			       .b = { [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 } };
	struct host h;

	is_text(host_addr_special(&a), "loopback", "from a socket");
	host_from_addr(&a, &h);
	ok(h.is_addr && !h.addr.is_v6 && h.addr.b[0] == 127 && h.addr.b[3] == 1, "as a host");
}

static void test_carried_addresses_come_out(void)
{
	static const struct { const char *outer, *inner; } rows[] = {
		{ "64:ff9b::a00:1", "10.0.0.1" }, { "2002:a00:1:2:3:4:5:6", "10.0.0.1" },
		{ "::a00:1", "10.0.0.1" }, { "2001::f5ff:fffe", "10.0.0.1" },
		{ "::1", NULL }, { "::", NULL }, { "2003:a00:1::", NULL }, { "10.0.0.1", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_buf struct buf b = BUF(64);
		struct host_addr a, inner;
		bool found;

		ok(host_addr_parse(str_from(rows[i].outer), &a), "'%s'", rows[i].outer);
		found = host_addr_unwrap(&a, &inner);
		if (found)
			host_addr_print(&inner, &b);
		is_text(found ? buf_text(&b) : NULL, rows[i].inner, "'%s'", rows[i].outer);
	}
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_names_have_one_canonical_form),
		TAP(test_what_has_no_canonical_form_is_refused),
		TAP(test_lengths_are_bounded),
		TAP(test_every_spelling_of_an_address_is_the_address),
		TAP(test_names_that_end_in_a_number_are_no_names),
		TAP(test_labels_beyond_ascii_become_a_labels),
		TAP(test_labels_that_need_more_of_idna_are_refused),
		TAP(test_a_labels_must_be_punycode), TAP(test_long_labels_stay_within_bounds),
		TAP(test_outputs_stay_on_failure), TAP(test_strict_addresses_have_one_spelling),
		TAP(test_special_addresses_are_named),
		TAP(test_mapped_bytes_are_judged_as_ipv4),
		TAP(test_carried_addresses_come_out), TAP_END });
}
