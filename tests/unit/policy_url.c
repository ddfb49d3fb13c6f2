/* URLs: what is read, what is refused, and that no secret is repeated. */
#include "policy/url.h"

#include "tap.h"

/* "SCHEME HOST PORT", or the fault's letter and reason. */
static const char *url_text(struct str text)
{
	static const char *const faults[] = {
		[URL_OK] = "", [URL_INVALID] = "invalid", [URL_NO_SCHEME] = "no-scheme",
		[URL_NO_HOST] = "no-host", [URL_BAD_HOST] = "bad-host",
	};
	static char out[600];
	cleanup_buf struct buf b = BUF(300);
	char why[HOST_WHY] = "";
	struct url u = { .port = 77 };
	enum url_fault fault = url_parse(text, &u, why);

	static_assert(ARRAY_SIZE(faults) == N_URL_FAULTS, "a fault without a name");
	ok(!strstr(why, "secret"), "'%s' keeps secrets", why);
	if (fault) {
		ok(why[0] != '\0', "a fault has a reason");
		snprintf(out, sizeof(out), "%s", faults[fault]);
		return out;
	}
	host_print(&u.host, &b);
	snprintf(out, sizeof(out), "%.*s %s %u", STR_FMT(u.scheme), buf_text(&b), u.port);
	return out;
}

static void test_urls_give_scheme_host_and_port(void)
{
	static const struct { const char *text, *want; } rows[] = {
		{ "https://api.github.com/zen", "https api.github.com 443" },
		{ "HTTPS://API.GitHub.COM", "https api.github.com 443" },
		{ "http://a.example", "http a.example 80" },
		{ "ws://a.example/", "ws a.example 80" },
		{ "wss://a.example/", "wss a.example 443" },
		{ "ftp://a.example/", "ftp a.example 21" },
		{ "ssh://git@a.example/x", "ssh a.example 22" },
		{ "git://a.example/x", "git a.example 9418" },
		{ "gopher://a.example/", "gopher a.example 0" },
		{ "git+ssh://a.example:1/", "git+ssh a.example 1" },
		{ "https://a.example:8443/", "https a.example 8443" },
		{ "https://a.example:/", "https a.example 443" },
		{ "https://a.example:00080/", "https a.example 80" },
		{ "https://a.example.:443", "https a.example 443" },
		{ "https://u:secret@a.example/", "https a.example 443" },
		{ "https://a.example@evil.example/", "https evil.example 443" },
		{ "https://u@secret@a.example/", "https a.example 443" },
		{ "https://evil.example#@a.example/", "https evil.example 443" },
		{ "https://evil.example?@a.example/", "https evil.example 443" },
		{ "https://evil.example/@a.example/", "https evil.example 443" },
		{ "https://a.example?q=%zz#x", "https a.example 443" },
		{ "https://a.example/%41?%#%41", "https a.example 443" },
		{ "https://a.example/\xc3\xbc", "https a.example 443" },
		{ "https://b\xc3\xbc" "cher.example/", "https xn--bcher-kva.example 443" },
		{ "http://127.1/", "http 127.0.0.1 80" },
		{ "http://2130706433/", "http 127.0.0.1 80" },
		{ "http://0x7f.0.0.1:81/", "http 127.0.0.1 81" },
		{ "http://[::1]/", "http ::1 80" },
		{ "http://[::1]:8080/", "http ::1 8080" },
		{ "http://[::ffff:127.0.0.1]/", "http 127.0.0.1 80" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		is_text(url_text(str_from(rows[i].text)), rows[i].want, "'%s'", rows[i].text);
}

static void test_what_parsers_read_differently_is_refused(void)
{
	static const struct { const char *text, *want; } rows[] = {
		{ "", "no-scheme" },
		{ "//api.github.com/zen", "no-scheme" },
		{ "api.github.com/zen", "no-scheme" },
		{ "/x:y", "no-scheme" },
		{ "://a.example", "no-scheme" },
		{ "1http://a.example", "no-scheme" },
		{ "ht_tp://a.example", "no-scheme" },
		{ "127.0.0.1:80/", "no-scheme" },
		{ "a-scheme-nobody-knows://a.example", "no-scheme" },
		{ "https:api.github.com/zen", "no-host" },
		{ "https:/a.example", "no-host" },
		{ "https:///a.example", "no-host" },
		{ "https://", "no-host" },
		{ "https://:443/", "no-host" },
		{ "https://secret@/", "no-host" },
		{ "file:///etc/passwd", "no-host" },
		{ "data:text/plain,x", "no-host" },
		{ "javascript:alert(1)", "no-host" },
		{ "https://evil.com\\@api.github.com/", "invalid" },
		{ "https://api.github.com\\/", "invalid" },
		{ "https:\\\\a.example/", "invalid" },
		{ "https://api.github.com /", "invalid" },
		{ "https://a.example/x -> https://evil.com/", "invalid" },
		{ " https://a.example/", "invalid" },
		{ "https://a.example/\n", "invalid" },
		{ "https://a\t.example/", "invalid" },
		{ "https://a.example/\x7f", "invalid" },
		{ "https://a%2eexample/", "invalid" },
		{ "http://[fe80::1%25eth0]/", "invalid" },
		{ "https://sec\"ret@a.example/", "invalid" },
		{ "https://secret%4@a.example/", "invalid" },
		{ "https://a.example/%4", "invalid" },
		{ "https://a.example/secret%", "invalid" },
		{ "https://a.example/#%4x", "invalid" },
		{ "https://a.example:65536/", "invalid" },
		{ "https://a.example:99999/", "invalid" },
		{ "https://a.example:0/", "invalid" },
		{ "https://a.example:000443/", "invalid" },
		{ "https://a.example:+80/", "invalid" },
		{ "https://a.example:80a/", "invalid" },
		{ "https://a.example:80:80/", "invalid" },
		{ "https://2001:db8::1/", "invalid" },
		{ "https://[::1/", "invalid" },
		{ "https://[::1]80/", "invalid" },
		{ "https://[api.github.com]/", "bad-host" },
		{ "https://[127.0.0.1]/", "bad-host" },
		{ "https://x[::1]/", "invalid" },
		{ "https://.example.com/", "bad-host" },
		{ "https://api.github.com../", "bad-host" },
		{ "https://a_b.ex*mple/", "bad-host" },
		{ "https://256.1.1.1/", "bad-host" },
		{ "https://example.com\xe3\x80\x82" "evil.com/", "bad-host" },
		{ "https://secret@a..b/secret?secret#secret", "bad-host" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		is_text(url_text(str_from(rows[i].text)), rows[i].want, "'%s'", rows[i].text);
	is_text(url_text((struct str){ "https://a.example/\0", 19 }), "invalid", "a NUL");
	is_text(url_text((struct str){ "https://a\0.example/", 19 }), "invalid", "in the host");
}

static void test_length_is_bounded(void)
{
	static char text[MAX_URL_BYTES + 1] = "https://a.example/";

	memset(text + 18, 'x', sizeof(text) - 18);
	is_text(url_text((struct str){ text, MAX_URL_BYTES }), "https a.example 443", "longest");
	is_text(url_text((struct str){ text, MAX_URL_BYTES + 1 }), "invalid", "one more");
}

static void test_the_scheme_survives_a_missing_host(void)
{
	struct url u = { .port = 77 };
	char why[HOST_WHY];

	is_int(url_parse(STR("FILE:///x"), &u, why), URL_NO_HOST, "no host");
	ok(str_is(u.scheme, "file") && !u.has_host, "its scheme");
	is_int(url_parse(STR("ftp://a..b"), &u, why), URL_BAD_HOST, "a bad host");
	ok(str_is(u.scheme, "ftp") && !u.has_host, "its scheme");
	u.port = 77;
	is_int(url_parse(STR("https://a:x/"), &u, why), URL_INVALID, "invalid");
	is_int(u.port, 77, "untouched");
}

static void test_host_and_port_without_a_scheme(void)
{
	static const struct { const char *text, *host; unsigned port; } rows[] = {
		{ "a.example", "a.example", 0 },
		{ "A.example.:443", "a.example", 443 },
		{ "127.1:80", "127.0.0.1", 80 },
		{ "[::1]", "::1", 0 },
		{ "[::1]:80", "::1", 80 },
		{ "::1", "::1", 0 },
		{ "2001:db8::1:80", "2001:db8::1:80", 0 },
		{ "", NULL, 0 }, { ":80", NULL, 0 }, { "a.example:", NULL, 0 },
		{ "a.example:0", NULL, 0 }, { "a.example:65536", NULL, 0 },
		{ "a.example:1:2", NULL, 0 }, { "[::1]x", NULL, 0 }, { "[::1", NULL, 0 },
		{ "[a.example]:80", NULL, 0 }, { "u@a.example:80", NULL, 0 },
		{ "a.example/x", NULL, 0 }, { "https://a.example", NULL, 0 },
		{ "a.example :80", NULL, 0 }, { "a.example:80 ", NULL, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_buf struct buf b = BUF(300);
		struct host h = { .n = 77 };
		unsigned port = 77;
		char why[HOST_WHY] = "";
		int got = url_parse_hostport(str_from(rows[i].text), &h, &port, why);

		if (got == 0)
			host_print(&h, &b);
		is_text(got == 0 ? buf_text(&b) : NULL, rows[i].host, "'%s'", rows[i].text);
		is_int(port, got == 0 ? rows[i].port : 77, "port of '%s'", rows[i].text);
		ok(got == 0 || (h.n == 77 && why[0]), "untouched, with a reason: '%s'",
		   rows[i].text);
	}
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_urls_give_scheme_host_and_port),
		TAP(test_what_parsers_read_differently_is_refused), TAP(test_length_is_bounded),
		TAP(test_the_scheme_survives_a_missing_host),
		TAP(test_host_and_port_without_a_scheme), TAP_END });
}
