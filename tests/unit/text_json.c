/* JSON: values, places, messages, limits. */
#include "text_reader.h"

static void test_values(void)
{
	static const struct text_case cases[] = {
		{ "{}", "{}" },
		{ " [ ] ", "[]" },
		{ "[1,-2,0.5,1e2,true,false,null,\"x\"]", "[1 -2 0.5f 100f true false null <x>]" },
		{ "{\"a\":{\"b\":[{},[]]},\"\":\"\"}", "{a={b=[{} []]} =<>}" },
		{ "[9223372036854775807,-9223372036854775808,9007199254740993]",
		  "[9223372036854775807 -9223372036854775808 9007199254740993]" },
		{ "[\"a\\n\\\"\\u00e9\\ud83d\\ude00\\/\"]", "[<a\n\"\xc3\xa9\xf0\x9f\x98\x80/>]" },
		{ "{\"z\":1,\"\\u0061\":2,\"m\":3,\"b\":4}", "{z=1 a=2 m=3 b=4}" },
		{ "[\"\x7f\"]", "[<\x7f>]" },
		{ NULL, NULL },
	};

	check_trees(json_parse, cases, false);
}

static void test_every_key_and_value_has_its_place(void)
{
	static const struct text_case cases[] = {
		{ "{ \"a\" : 1 ,\n\t\"b\":[ 2,\n  {\"c\" :null}] }",
		  "{a@1:3=1@1:9 b@2:2=[2@2:8 {c@3:4=null@3:9}@3:3]@2:6}@1:1" },
		{ "\n[\"\xc3\xa9\", \"\\\"]\", 1.5,\r\n\"\"]",
		  "[<\xc3\xa9>@2:2 <\"]>@2:8 1.5f@2:15 <>@3:1]@2:1" },
		{ "[[],{}]", "[[]@1:2 {}@1:5]@1:1" },
		{ NULL, NULL },
	};

	check_trees(json_parse, cases, true);
}

static void test_messages_name_the_remedy(void)
{
	static const struct text_case cases[] = {
		{ "", "1:1: the text is empty; write an object, {}" },
		{ " \n ", "2:2: the text is empty" },
		{ "1", "1:1: 1 cannot stand here; '[' or '{' expected" },
		{ "\"x\"", "1:1: \"x\" cannot stand here" },
		{ "{\"memory\":1,\n \"memory\":2}",
		  "2:2: the key 'memory' is written twice; remove one" },
		{ "{\"a\":1,\"\\u0061\":2}", "1:8: the key 'a' is written twice" },
		{ "[1", "1:1: an array is not closed; add ] at its end" },
		{ "[1,\n {\"a\":[]", "2:2: an object is not closed; add } at its end" },
		{ "[\"a]", "1:2: a string is not closed; add \" at its end" },
		{ "[\"a\nb\"]", "1:2: a string is not closed; add \" at its end" },
		{ "[\"a\\", "1:2: a string is not closed; add \" at its end" },
		{ "[1,]", "1:4: ] cannot stand here" },
		{ "{\"a\":1,}", "1:8: } cannot stand here; string or '}' expected" },
		{ "{a:1}", "1:2: a cannot stand here; string or '}' expected" },
		{ "{\"a\" 1}", "1:6: 1 cannot stand here; ':' expected" },
		{ "[1 2]", "1:4: 2 cannot stand here; ']' expected" },
		{ "[01]", "1:2: 01 cannot stand here" },
		{ "[-]", "1:2: - cannot stand here" },
		{ "[-01]", "1:2: -01 cannot stand here" },
		{ "[+1]", "1:2: +1 cannot stand here" },
		{ "[.5]", "1:2: .5 cannot stand here" },
		{ "[1.]", "1:2: 1. cannot stand here" },
		{ "[1.e5]", "1:2: 1.e5 cannot stand here" },
		{ "[1e+]", "1:2: 1e+ cannot stand here" },
		{ "[0x1]", "1:2: 0x1 cannot stand here" },
		{ "[True]", "1:2: True cannot stand here" },
		{ "[nulls]", "1:2: nulls cannot stand here" },
		{ "[NaN]", "1:2: NaN cannot stand here" },
		{ "['a']", "1:2: 'a' cannot stand here; write a string in double quotes" },
		{ "[1] // x", "1:5: there is more text after the value; remove it" },
		{ "[ // x\n]", "1:3: JSON has no comments; remove it" },
		{ "{} {}", "1:4: there is more text after the value" },
		{ "[\"\\q\"]", "1:2: \"\\q\" cannot stand here; invalid escape" },
		{ "[\"\\u12\"]", "1:2: \"\\u12\" cannot stand here; invalid escape" },
		{ "[\"\\u12g4\"]", "1:2: \"\\u12g4\" cannot stand here; invalid escape" },
		{ "[\"\\ud800\"]", "1:2: \"\\ud800\" cannot stand here" },
		{ "[\"\\ud800\\u0041\"]", "1:2: \"\\ud800\\u0041\" cannot stand here" },
		{ "[\"\\udc00\"]", "1:2: \"\\udc00\" cannot stand here" },
		{ "[,1]", "1:2: , cannot stand here" },
		{ "[1}", "1:3: } cannot stand here; ']' expected" },
		{ "{\"a\":}", "1:6: } cannot stand here" },
		{ "{\"a\":1 \"b\":2}", "1:8: \"b\" cannot stand here; '}' expected" },
		{ "[\"x\\u0000\"]", "1:2: the character U+0000 is not allowed in a string" },
		{ "{\"\\u0000\":1}", "1:2: the character U+0000 is not allowed in a string" },
		{ "[9223372036854775808]", "1:2: the number is too large" },
		{ "[-9223372036854775809]", "1:2: the number is too large" },
		{ "[0, 1e999]", "1:5: the number is too large" },
		{ "[\"\xc0\x80\"]", "1:3: this byte (0xC0) is not UTF-8" },
		{ "\xef\xbb\xbf{}", "1:1: the text starts with a byte order mark" },
		{ NULL, NULL },
	};

	check_messages(json_parse, cases);
	check_start(json_parse, STR("{}\0"), "1:3: the control character U+0000",
		    "a NUL byte");
}

static void test_limits(void)
{
	check_repeated(json_parse, PARTS("", "[", ""), MAX_TEXT_DEPTH,
		       "1:64: an array is not closed");
	check_repeated(json_parse, PARTS("", "[", ""), MAX_TEXT_DEPTH + 1,
		       "1:65: objects and arrays are nested deeper than 64; flatten");
	check_repeated(json_parse, PARTS("[", "{},", "{}]"), MAX_TEXT_CONTAINERS - 2, "[{} {} {}");
	check_repeated(json_parse, PARTS("[", "{},", "{}]"), MAX_TEXT_CONTAINERS - 1,
		       "1:196607: the text has more than 65536 objects and arrays");
	check_repeated(json_parse, PARTS("[", "1,", "1]"), MAX_TEXT_NODES,
		       "1:4194304: the text has more than 2097152 keys and values");
	check_repeated(json_parse, PARTS("[", " ", "]"), MAX_SOURCE_BYTES - 2, "[]");
	check_repeated(json_parse, PARTS("[", " ", "]"), MAX_SOURCE_BYTES - 1,
		       "1:1: the text is larger than 16777216 bytes");
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_values), TAP(test_every_key_and_value_has_its_place),
		TAP(test_messages_name_the_remedy), TAP(test_limits), TAP_END });
}
