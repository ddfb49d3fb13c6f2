/* Borrowed text: globbing, distances, numbers, UTF-8. */
#include "base/str.h"

#include "tap.h"

static void test_glob_matches_any_bytes(void)
{
	ok(str_glob(STR("LC_*"), STR("LC_ALL")), "prefix");
	ok(str_glob(STR("*_TOKEN"), STR("GH_TOKEN")), "suffix");
	ok(str_glob(STR("*a*b"), STR("xaxxab")), "two stars backtrack");
	ok(!str_glob(STR("LC_*"), STR("LANG")), "other text");
	ok(!str_glob(STR("a"), STR("ab")), "no implied star");
	ok(str_glob(STR("*"), STR("")), "a star matches nothing, too");
}

static void test_lists_end_with_null(void)
{
	static const char *const words[] = { "a", "bc", NULL };

	ok(str_is_one_of(STR("bc"), words) && str_is_one_of(STR("a"), words), "those in it");
	ok(!str_is_one_of(STR("b"), words) && !str_is_one_of(STR(""), words), "no other");
	ok(!str_is_one_of(STR("a"), words + 2), "an empty one");
}

static void test_distance_counts_edits(void)
{
	is_int(str_distance(STR("netwrok"), STR("network"), 9), 2, "a swap is two edits");
	is_int(str_distance(STR(""), STR("abc"), 9), 3, "insertions");
	is_int(str_distance(STR("abc"), STR("xyz"), 2), 2, "gives up where it is told");
}

static void test_numbers_take_digits_only(void)
{
	uint64_t v = 7;

	ok(str_parse_u64(STR("18446744073709551615"), &v) && v == UINT64_MAX, "the largest");
	v = 7;
	ok(!str_parse_u64(STR("18446744073709551616"), &v), "one more");
	ok(!str_parse_u64(STR("+1"), &v) && !str_parse_u64(STR(""), &v), "signs and nothing");
	is_int((long long)v, 7, "untouched on failure");
}

static void test_utf8_is_strict(void)
{
	ok(str_is_utf8(STR("b\xc3\xbc" "cher")), "two bytes");
	ok(!str_is_utf8(STR("\xc0\x80")), "overlong NUL");
	ok(!str_is_utf8(STR("\xed\xa0\x80")), "surrogate");
	ok(!str_is_utf8(STR("\xf4\x90\x80\x80")), "over U+10FFFF");
	ok(!str_is_utf8(STR("a\xe2\x82")), "cut off");
}

static bool matches(const char *pattern, const char *text)
{
	if (!*pattern)
		return !*text;
	if (*pattern == '*')
		return matches(pattern + 1, text) || (*text && matches(pattern, text + 1));
	return *pattern == *text && matches(pattern + 1, text + 1);
}

/* The number in base three, by these letters. */
static void spell(unsigned n, const char *letters, char *out)
{
	for (; n; n /= 3)
		*out++ = letters[n % 3];
	*out = '\0';
}

static void test_glob_by_all_short_ones(void)
{
	char pattern[8], text[8];
	int n_wrong = 0;

	for (unsigned i = 0; i < 243; i++)
		for (unsigned k = 0; k < 243; k++) {
			spell(i, "*ab", pattern);
			spell(k, "bab", text);
			n_wrong += str_glob(str_from(pattern), str_from(text)) !=
				   matches(pattern, text);
		}
	is_int(n_wrong, 0, "as by the simplest way");
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_glob_matches_any_bytes), TAP(test_glob_by_all_short_ones),
		TAP(test_lists_end_with_null), TAP(test_distance_counts_edits),
		TAP(test_numbers_take_digits_only), TAP(test_utf8_is_strict), TAP_END });
}
