/* YAML front matter: where it is, values, places, what is refused, limits. */
#include "text_reader.h"

static void test_front_matter_is_between_two_lines(void)
{
	static const struct text_case cases[] = {
		{ "", "null@1:1" },
		{ "# Title\n---\na: 1\n---\n", "null@1:1" },
		{ "\n---\na: 1\n---\n", "null@1:1" },
		{ "----\na: 1\n----\n", "null@1:1" },
		{ "---\na: 1\n---\n# Title\n---\nb: 2\n", "{a@2:1=1@2:4}@2:1" },
		{ "---\na: 1\n...\nrest", "{a@2:1=1@2:4}@2:1" },
		{ "---  \na: 1\n--- \t", "{a@2:1=1@2:4}@2:1" },
		{ "---\r\na: 1\r\n---\r\n", "{a@2:1=1@2:4}@2:1" },
		{ "\xef\xbb\xbf---\na: 1\n---\n", "{a@2:1=1@2:4}@2:1" },
		{ "---\n---\n", "{}@2:1" },
		{ "---\n# nothing\n\n---\n", "{}@4:1" },
		{ "---\na: 1\n---\n\xff\x01", "{a@2:1=1@2:4}@2:1" },
		{ NULL, NULL },
	};
	static const struct text_case open[] = {
		{ "---", "1:1: the front matter is not closed; add a line --- after it" },
		{ "---\na: 1\n", "1:1: the front matter is not closed" },
		{ "---\na: 1\n ---\n", "1:1: the front matter is not closed" },
		{ NULL, NULL },
	};

	check_trees(yaml_parse_front_matter, cases, true);
	check_messages(yaml_parse_front_matter, open);
}

static void check_scalar(const char *text, const char *want)
{
	char whole[256], tree[256];

	snprintf(whole, sizeof(whole), "---\na: %s\n---\n", text);
	snprintf(tree, sizeof(tree), "{a=%s}", want);
	is_text(read_text(yaml_parse_front_matter, str_from(whole), false), tree, "%s", text);
}

static void test_plain_scalars_follow_the_core_schema(void)
{
	static const char *const scalars[][2] = {
		{ "", "null" }, { "~", "null" }, { "null", "null" }, { "NULL", "null" },
		{ "nUll", "<nUll>" }, { "true", "true" }, { "False", "false" }, { "TRUE", "true" },
		{ "yes", "<yes>" }, { "no", "<no>" }, { "on", "<on>" }, { "off", "<off>" },
		{ "y", "<y>" }, { "12", "12" }, { "-12", "-12" }, { "+7", "7" }, { "007", "7" },
		{ "0x1F", "31" }, { "0o17", "15" }, { "-0x1", "<-0x1>" }, { "0b1", "<0b1>" },
		{ "0x", "<0x>" }, { "0o8", "<0o8>" }, { "1_000", "<1_000>" }, { "1:30", "<1:30>" },
		{ "1.5", "1.5f" }, { ".5", "0.5f" }, { "5.", "5f" }, { "-1e3", "-1000f" },
		{ "1e", "<1e>" }, { ".", "<.>" }, { "+", "<+>" },
		{ ".inf", "inff" }, { "-.Inf", "-inff" }, { ".nan", "nanf" }, { "inf", "<inf>" },
		{ "2024-01-01", "<2024-01-01>" }, { "<<", "<<<>" }, { "1.2.3", "<1.2.3>" },
		{ "-9223372036854775808", "-9223372036854775808" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(scalars); i++)
		check_scalar(scalars[i][0], scalars[i][1]);
}

static void test_quoted_scalars_are_strings(void)
{
	check_scalar("'12'", "<12>");
	check_scalar("\"true\"", "<true>");
	check_scalar("''", "<>");
	check_scalar("\"\\u00e9\\n\\x41\"", "<\xc3\xa9\nA>");
	check_scalar("\"x\\u2028y\"", "<x\xe2\x80\xa8y>");
	check_scalar("|\n  1\n  2", "<1\n2\n>");
	check_scalar(">-\n  1\n  2", "<1 2>");
	check_scalar("a\n  b", "<a b>");
}

static void test_every_key_and_value_has_its_place(void)
{
	static const struct text_case cases[] = {
		{ "---\na:\n  b: [1, {c: x}]\n  'd':\n  - 2\n---\n",
		  "{a@2:1={b@3:3=[1@3:7 {c@3:11=<x>@3:14}@3:10]@3:6 "
		  "d@4:3=[2@5:5]@5:3}@3:3}@2:1" },
		{ "---\n\xc3\xa9: \xc3\xa9 # \xc3\xa9\n"
		  "b: \"\xf0\x9f\x98\x80\"\nc: [\xc3\xa9, 1]\n---\n",
		  "{\xc3\xa9@2:1=<\xc3\xa9>@2:5 b@3:1=<\xf0\x9f\x98\x80>@3:4 "
		  "c@4:1=[<\xc3\xa9>@4:5 1@4:9]@4:4}@2:1" },
		{ "---\r\na: 1\r\nb:\r\n  c: 2\r\n---\r\n",
		  "{a@2:1=1@2:4 b@3:1={c@4:3=2@4:6}@4:3}@2:1" },
		{ NULL, NULL },
	};

	check_trees(yaml_parse_front_matter, cases, true);
}

static void test_what_is_no_tree_of_scalars_is_refused(void)
{
	static const struct text_case cases[] = {
		{ "---\na: &x 1\n---\n", "2:4: an anchor (&name) is not allowed; remove it" },
		{ "---\na: &x [1]\n---\n", "2:4: an anchor" },
		{ "---\n&x a: 1\n---\n", "2:1: an anchor" },
		{ "---\na: *x\n---\n", "2:4: an alias (*name) is not allowed; write" },
		{ "---\n*x : 1\n---\n", "2:1: an alias" },
		{ "---\na: !!str 1\n---\n", "2:4: a tag (!name) is not allowed; remove it" },
		{ "---\na: ! 1\n---\n", "2:4: a tag" },
		{ "---\na: !!map {}\n---\n", "2:4: a tag" },
		{ "---\n!!map\na: 1\n---\n", "2:1: a tag" },
		{ "---\na: 1\nb: 2\na: 3\n---\n", "4:1: the key 'a' is written twice; remove one" },
		{ "---\na: {b: 1, \"b\": 2}\n---\n", "2:11: the key 'b' is written twice" },
		{ "---\n[a]: 1\n---\n", "2:1: a key must be a word or a string" },
		{ "---\n? {a: 1}\n: 1\n---\n", "2:3: a key must be a word or a string" },
		{ "---\n?\n: 1\n---\n", "2:2: a key is missing" },
		{ "---\n- 1\n---\n", "2:1: the front matter is no mapping; write key: value" },
		{ "---\nx\n---\n", "2:1: the front matter is no mapping" },
		{ "---\n~\n---\n", "2:1: the front matter is no mapping" },
		{ "---\na: 1\n--- b\n---\n", "3:1: a second document starts here" },
		{ "---\n%TAG ! x\n---\n", "2:1: a line starts with %; directives are not allowed" },
		{ "---\na: [1\n---\n", "3:1: this is not YAML: did not find expected ',' or ']'" },
		{ "---\na: 'x\n---\n", "3:1: this is not YAML: found unexpected end of stream" },
		{ "---\n\ta: 1\n---\n", "2:1: this is not YAML" },
		{ "---\na: b: c\n---\n", "2:5: this is not YAML: mapping values are not allowed" },
		{ "---\na: 1\n  b: 2\n---\n", "3:4: this is not YAML" },
		{ "---\na: \"x\\0\"\n---\n", "2:4: the character U+0000 is not allowed" },
		{ "---\n\"\\x00\": 1\n---\n", "2:1: the character U+0000 is not allowed" },
		{ "---\na: 9223372036854775808\n---\n", "2:4: the number is too large" },
		{ "---\na: 0x10000000000000000\n---\n", "2:4: the number is too large" },
		{ "---\na: 1e999\n---\n", "2:4: the number is too large" },
		{ "---\na: \x01\n---\n", "2:4: the control character U+0001 is not allowed" },
		{ "---\na: \xff\n---\n", "2:4: this byte (0xFF) is not UTF-8" },
		{ "---\na: 1\n\xc2\x80: 1\n---\n", "3:1: this is not YAML: control characters" },
		{ "---\na: 1\rb: 2\n---\n", "2:5: a carriage return stands alone" },
		{ "---\na: 1\xc2\x85%TAG ! x\n---\n", "2:5: U+0085 is a line break to some" },
		{ "---\na: 'x\xe2\x80\xa8y'\n---\n", "2:6: U+2028 is a line break to some" },
		{ NULL, NULL },
	};

	check_messages(yaml_parse_front_matter, cases);
	check_start(yaml_parse_front_matter, STR("---\na: \0\n---\n"),
		    "2:4: the control character U+0000", "a NUL byte");
}

static void test_limits(void)
{
	read_fn *read_yaml = yaml_parse_front_matter;

	/* The root is the first of the 64. */
	check_repeated(read_yaml, PARTS("---\na: ", "[", "\n---\n"), MAX_TEXT_DEPTH - 1,
		       "3:1: this is not YAML");
	check_repeated(read_yaml, PARTS("---\na: ", "[", "\n---\n"), MAX_TEXT_DEPTH,
		       "2:67: mappings and sequences are nested deeper than 64; flatten");
	check_repeated(read_yaml, PARTS("---\na: [", "{},", "]\n---\n"), MAX_TEXT_CONTAINERS - 2,
		       "{a=[{} {} {}");
	check_repeated(read_yaml, PARTS("---\na: [", "{},", "]\n---\n"), MAX_TEXT_CONTAINERS - 1,
		       "2:196607: the text has more than 65536 mappings and sequences");
	check_repeated(read_yaml, PARTS("---\na: [", "1,", "]\n---\n"), MAX_TEXT_NODES,
		       "2:4194303: the text has more than 2097152 keys and values");
	check_repeated(read_yaml, PARTS("", "\n", ""), MAX_SOURCE_BYTES, "null");
	check_repeated(read_yaml, PARTS("", "\n", ""), MAX_SOURCE_BYTES + 1,
		       "1:1: the text is larger than 16777216 bytes");
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_front_matter_is_between_two_lines),
		TAP(test_plain_scalars_follow_the_core_schema),
		TAP(test_quoted_scalars_are_strings),
		TAP(test_every_key_and_value_has_its_place),
		TAP(test_what_is_no_tree_of_scalars_is_refused), TAP(test_limits), TAP_END });
}
