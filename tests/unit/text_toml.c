/* TOML: values, places, the rules about defining twice, messages, limits. */
#include "text_reader.h"

#include <locale.h>
#include <math.h>

static void test_values(void)
{
	static const struct text_case cases[] = {
		{ "", "{}" },
		{ "# only a comment", "{}" },
		{ "a = 1_000\nb = 0xdead_BEEF\nc = 0o17\nd = 0b101\ne = -17\nf = +0",
		  "{a=1000 b=3735928559 c=15 d=5 e=-17 f=0}" },
		{ "a = 9223372036854775807\nb = -9223372036854775808",
		  "{a=9223372036854775807 b=-9223372036854775808}" },
		{ "a = 1.5\nb = -2e-3\nc = 1_0.2_5E+1\nd = inf\ne = -inf\nf = 0e0",
		  "{a=1.5f b=-0.002f c=102.5f d=inff e=-inff f=0f}" },
		{ "a = true\nb = false", "{a=true b=false}" },
		{ "a = [1, 'b', [true,],\n # c\n]\nb = []", "{a=[1 <b> [true]] b=[]}" },
		{ "a = { b = 1, c.d = 2, c.e = {} }", "{a={b=1 c={d=2 e={}}}}" },
		{ "a.b.c = 1\na.b.d = 2\na.\"x y\".'' = 3", "{a={b={c=1 d=2} x y={=3}}}" },
		{ "3.14 = 1\n\xc3\xa9 = 1", "2:1: a key has letters, digits, - and _ only; "
		  "put any other key in quotes" },
		{ "1979-05-27 = 1\r\ntrue = 2", "{1979-05-27=1 true=2}" },
		{ NULL, NULL },
	};

	check_trees(toml_parse, cases, false);
}

static void test_strings(void)
{
	static const struct text_case cases[] = {
		{ "a = \"x\\ty\\\"\\\\\\u00e9\\U0001F600\\b\\f\\r\\n\"",
		  "{a=<x\ty\"\\\xc3\xa9\xf0\x9f\x98\x80\b\f\r\n>}" },
		{ "a = 'C:\\n'", "{a=<C:\\n>}" },
		{ "a = 'x\xe2\x80\xa8y'", "{a=<x\xe2\x80\xa8y>}" },
		{ "a = \"\"\nb = ''", "{a=<> b=<>}" },
		{ "a = \"\"\"\none\r\ntwo \\\n\n   three\"\"\"", "{a=<one\ntwo three>}" },
		{ "a = \"\"\"\"\"x\"\"\"\"\"", "{a=<\"\"x\"\">}" },
		{ "a = '''\r\nx\\\n''y'''''", "{a=<x\\\n''y''>}" },
		{ "a = \"\"\"\\\n  \"\"\"", "{a=<>}" },
		{ "a = '''''''", "{a=<'>}" },
		{ "a = '''''''''",
		  "1:13: there is more text after a value; start a new line for it" },
		{ NULL, NULL },
	};

	check_trees(toml_parse, cases, false);
}

static void test_times_are_written_in_one_way(void)
{
	static const struct text_case cases[] = {
		{ "a = 1979-05-27T07:32:00Z", "{a=(1979-05-27T07:32:00Z)}" },
		{ "a = 1979-05-27 07:32:00.123z", "{a=(1979-05-27T07:32:00.123Z)}" },
		{ "a = 1979-05-27t00:32:00.999-07:00", "{a=(1979-05-27T00:32:00.999-07:00)}" },
		{ "a = 1979-05-27T07:32:00", "{a=(1979-05-27T07:32:00)}" },
		{ "a = 1979-05-27 # a date", "{a=(1979-05-27)}" },
		{ "a = [07:32:00, 00:32:00.5]", "{a=[(07:32:00) (00:32:00.5)]}" },
		{ "a = 2000-02-29\nb = 2024-02-29", "{a=(2000-02-29) b=(2024-02-29)}" },
		{ "a = 1990-12-31T23:59:60Z", "{a=(1990-12-31T23:59:60Z)}" },
		{ NULL, NULL },
	};
	static const char *const bad[] = {
		"1979-05-32", "1979-13-01", "1979-00-01", "1900-02-29", "2023-02-29", "1979-04-31",
		"1979-05-27T", "1979-05-27T07:32", "1979-05-27T24:00:00", "1979-05-27T07:60:00",
		"1979-05-27T07:32:61", "1979-05-27T07:32:00.", "1979-05-27T07:32:00+24:00",
		"1979-05-27T07:32:00+07", "07:32:00Z", "7:32:00", "07:32", "1979-5-27",
		"1979-05-27X07:32:00", "1979-05-2707:32:00", "1979-05-27Z", "1979-05-27T07:32:00Zx",
	};

	check_trees(toml_parse, cases, false);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char text[64];

		snprintf(text, sizeof(text), "a = %s", bad[i]);
		ok(strncmp(read_text(toml_parse, str_from(text), false), "1:5: '", 6) == 0,
		   "%s is refused", text);
	}
}

static void test_every_key_and_value_has_its_place(void)
{
	static const struct text_case cases[] = {
		{ "a = 1\n  'b' =  \"x\" # c\n",
		  "{a@1:1=1@1:5 b@2:3=<x>@2:10}@1:1" },
		{ "a.b = [1,\n\t{ c = 2 }]\n",
		  "{a@1:1={b@1:3=[1@1:8 {c@2:4=2@2:8}@2:2]@1:7}@1:1}@1:1" },
		{ "s = \"\"\"\r\nx\r\n\"\"\"\r\n\xc3\xa9 = 1",
		  "4:1: a key has letters, digits, - and _ only; put any other key in quotes" },
		{ "'\xc3\xa9' = 1", "{\xc3\xa9@1:1=1@1:8}@1:1" },
		{ "[a.b]\nc = 1\n[ a ]\nd = 2",
		  "{a@3:3={b@1:4={c@2:1=1@2:5}@1:4 d@4:1=2@4:5}@3:3}@1:1" },
		{ "[[a]]\nb = 1\n[[a]]\n[a.c]",
		  "{a@1:3=[{b@2:1=1@2:5}@1:3 {c@4:4={}@4:4}@3:3]@1:3}@1:1" },
		{ "a = \"\"\"x\\\n  \"\"\"\nb = 2", "{a@1:1=<x>@1:5 b@3:1=2@3:5}@1:1" },
		{ NULL, NULL },
	};

	check_trees(toml_parse, cases, true);
}

static void test_tables_are_defined_once(void)	/* [T1] to [T5] */
{
	static const struct text_case good[] = {
		{ "[a.b]\n[a]\n[a.c]", "{a={b={} c={}}}" },				/* [T2] */
		{ "[a.b.c]\n[a]\nb.d = 1", "{a={b={c={} d=1}}}" },			/* [T2] */
		{ "[a]\nb.c = 1\n[a.b.d]", "{a={b={c=1 d={}}}}" },			/* [T4] */
		{ "[[a]]\n[a.b]\n[[a]]\n[a.b]", "{a=[{b={}} {b={}}]}" },		/* [T5] */
		{ "[[a.b]]\n[a]\nc = 1", "{a={b=[{}] c=1}}" },				/* [T2] */
		{ "[[a]]\n[[a.b]]\n[[a.b]]\n[[a]]", "{a=[{b=[{} {}]} {}]}" },		/* [T5] */
		{ NULL, NULL },
	};
	static const struct text_case bad[] = {
		{ "a = 1\n'a' = 2", "2:1: the key 'a' is written twice (first on line 1);" },
		{ "a.b = 1\na = 2", "2:1: the key 'a' is written twice" },
		{ "a = 1\na.b = 2", "2:1: 'a' is a whole number already (line 1)" },	/* [T1] */
		{ "a = {}\na.b = 2", "2:1: 'a' is a table already (line 1), nothing" },	/* [T1] */
		{ "a = {b = {}, b.c = 1}", "1:14: 'b' is a table already" },		/* [T1] */
		{ "a = {b.c = 1}\n[a.b.d]", "2:2: 'a' is a table already" },		/* [T1] */
		{ "a = []\n[[a]]", "2:3: 'a' is an array already" },			/* [T1] */
		{ "a = [{}]\n[a.b]", "2:2: 'a' is an array already" },			/* [T1] */
		{ "a = 1\n[a]", "2:2: 'a' is a whole number already" },			/* [T1] */
		{ "[a]\n[a]", "2:2: the table 'a' is defined twice (first on" },	/* [T3] */
		{ "[a.b]\n[a]\nb.c = 1", "3:1: the table 'b' has a header (line 1)" },	/* [T3] */
		{ "[a]\nb.c = 1\n[a.b]", "3:4: the table 'b' is defined twice" },	/* [T4] */
		{ "[a.b.c]\n[a]\nb.d = 1\n[a.b]", "4:4: the table 'b' is defined twice" },
		{ "[[a]]\n[a]", "2:2: 'a' is an array of tables already (line 1)" },	/* [T5] */
		{ "[a]\n[[a]]", "2:3: 'a' is a table already (line 1); write [...]" },
		{ "[[a.b]]\n[a]\nb.c = 1", "3:1: the table 'b' has a header" },		/* [T5] */
		{ "[a.b]\n[[a]]", "2:3: 'a' is a table already" },
		{ "[a]\nb = 1\n[a.b.c]", "3:4: 'b' is a whole number already" },
		{ NULL, NULL },
	};

	check_trees(toml_parse, good, false);
	check_messages(toml_parse, bad);
}

static void test_messages_name_the_remedy(void)
{
	static const struct text_case cases[] = {
		{ "a = \"x", "1:5: a string is not closed; add \" at its end" },
		{ "a = \"x\\", "1:5: a string is not closed; add \" at its end" },
		{ "a = \"x\\\ny\"", "1:5: a string is not closed; add \" at its end" },
		{ "a = 'x\n'", "1:5: a string is not closed; add ' at its end" },
		{ "a = \"\"\"x\n\"\"", "1:5: a string is not closed; add \"\"\" at its end" },
		{ "a = '''x\n''", "1:5: a string is not closed; add ''' at its end" },
		{ "a = \"\\q\"", "1:6: a backslash must start one of" },
		{ "a = \"\"\"\n\n x\\ y\"\"\"", "3:3: a backslash must start one of" },
		{ "a = \"\\e\\x41\"", "1:6: a backslash must start one of" },
		{ "a = \"\\u12\"", "1:6: \\u needs 4 hexadecimal digits" },
		{ "a = \"\\U0012\"", "1:6: \\U needs 8 hexadecimal digits" },
		{ "a = \"\\ud800\"", "1:6: U+D800 is not a character" },
		{ "a = \"\\U00110000\"", "1:6: U+110000 is not a character" },
		{ "a = \"x\\u0000\"", "1:7: the character U+0000 is not allowed in a string" },
		{ "\"\\u0000\" = 1", "1:2: the character U+0000 is not allowed in a string" },
		{ "a = [1", "1:5: an array is not closed; add ] at its end" },
		{ "a = [\n", "1:5: an array is not closed; add ] at its end" },
		{ "a = [1 2]", "1:8: the items of an array are not separated" },
		{ "a = [,]", "1:6: a value is missing" },
		{ "a = {b = 1", "1:5: an inline table is not closed; add } at its end" },
		{ "a = {b = 1,}", "1:12: a comma stands before }; remove it" },
		{ "a = {\n}", "1:6: an inline table must stay on one line" },
		{ "a = {b = 1 # c\n}", "1:12: an inline table must stay on one line" },
		{ "a = {b = 1 c = 2}", "1:12: the keys of an inline table are not separated" },
		{ "a", "1:2: a key needs a value; write = and the value after it" },
		{ "a =\n", "1:4: a value is missing" },
		{ "= 1", "1:1: a key is missing" },
		{ "a..b = 1", "1:3: a key is missing" },
		{ "\"\"\"a\"\"\" = 1", "1:1: a key cannot span lines" },
		{ "a = 1 b = 2", "1:7: there is more text after a value; start a new line" },
		{ "[a] b = 1", "1:5: there is more text after a header" },
		{ "[a", "1:1: a header is not closed; add ] at its end" },
		{ "[[a]", "1:1: a header is not closed; add ]] at its end" },
		{ "[]", "1:2: a key is missing" },
		{ "a = 01", "1:5: a number starts with 0; remove the leading zero" },
		{ "a = 1__0", "1:5: '1__0' is not a value" },
		{ "a = 1.", "1:5: '1.' is not a value" },
		{ "a = 0xg", "1:5: '0xg' is not a value" },
		{ "a = yes", "1:5: 'yes' is not a value; write a string in quotes" },
		{ "a = 9223372036854775808", "1:5: the number is too large" },
		{ "a = -9223372036854775809", "1:5: the number is too large" },
		{ "a = 0x8000000000000000", "1:5: the number is too large" },
		{ "a = 1e999", "1:5: the number is too large; write a smaller one" },
		{ "a = 1\n\x01", "2:1: the control character U+0001 is not allowed; remove it" },
		{ "# \x7f", "1:3: the control character U+007F is not allowed" },
		{ "a = 1\rb = 2", "1:6: a carriage return stands alone" },
		{ "a = '\xff'", "1:6: this byte (0xFF) is not UTF-8; save the file as UTF-8" },
		{ "\xef\xbb\xbf" "a = 1", "1:1: the text starts with a byte order mark" },
		{ NULL, NULL },
	};

	check_messages(toml_parse, cases);
	check_start(toml_parse, STR("a = 1\n\0"), "2:1: the control character U+0000",
		    "a NUL byte");
}

static void test_messages_are_safe_to_print(void)
{
	const char *got = read_text(toml_parse, STR("'a' = 1\n\"\\u001b[31m\" = 1\n"
						    "\"\\u001b[31m\" = 2"), false);

	ok(strstr(got, "'?[31m'") != NULL, "no escape sequence in '%s'", got);
	for (size_t n = 40; n < 80; n++) {
		char xs[100] = "", text[256];

		memset(xs, 'x', n);
		snprintf(text, sizeof(text), "a = %s\xc3\xa9\xf0\x9f\x98\x80xxxxxxxxxxxxxxx", xs);
		got = read_text(toml_parse, str_from(text), false);
		ok(str_is_utf8(str_from(got)) && strlen(got) < 200, "cut at characters: '%s'", got);
	}
}

static void test_limits(void)
{
	/* The root is the first of the 64; both an array and its element count. */
	check_repeated(toml_parse, PARTS("a=", "[", ""), MAX_TEXT_DEPTH - 1,
		       "1:65: an array is not closed");
	check_repeated(toml_parse, PARTS("a=", "[", ""), MAX_TEXT_DEPTH,
		       "1:66: tables and arrays are nested deeper than 64; flatten");
	check_repeated(toml_parse, PARTS("[[a]]\n[[a.b]]\n", "a.", "a={}"), MAX_TEXT_DEPTH - 6,
		       "{a=[{b=[{a={");
	check_repeated(toml_parse, PARTS("[[a]]\n[[a.b]]\n", "a.", "a={}"), MAX_TEXT_DEPTH - 5,
		       "3:121: tables and arrays are nested deeper");
	check_repeated(toml_parse, PARTS("a=[", "{},", "]"), MAX_TEXT_CONTAINERS,
		       "1:196606: the text has more than 65536 tables and arrays");
	check_repeated(toml_parse, PARTS("a=[", "1,", "]"), MAX_TEXT_NODES,
		       "1:4194304: the text has more than 2097152 values");
	check_repeated(toml_parse, PARTS("", "\n", ""), MAX_SOURCE_BYTES, "{}");
	check_repeated(toml_parse, PARTS("", "\n", ""), MAX_SOURCE_BYTES + 1,
		       "1:1: the text is larger than 16777216 bytes");
}

static void test_a_small_arena_is_no_crash(void)
{
	struct source src = { "text", STR("a = \"\\n\"\n[b]\nc = [1, 2]\n") };

	for (size_t max = 0; max < 2; max++) {
		cleanup_arena struct arena a = ARENA(max);
		struct cordon_err err = { 0 };
		struct value root;

		ok(toml_parse(&src, &a, &root, &err) < 0, "no memory");
		is_int(err.code, CORDON_E_NOMEM, "and it says so");
	}
}

static void test_the_locale_of_the_caller_does_not_matter(void)
{
	/* Not every machine has one with a decimal comma; then this only reads. */
	setlocale(LC_ALL, "de_DE.UTF-8");
	setlocale(LC_NUMERIC, "de_DE.UTF-8");
	struct source src = { "text", STR("a = 1.5") };
	struct cordon_err err = { 0 };
	struct value root;

	ok(toml_parse(&src, &text_arena, &root, &err) == 0, "%s", err.msg);
	ok(fabs(root.table.members[0].value.real - 1.5) < 1e-9, "1.5 stays 1.5");
	arena_release(&text_arena);
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_values), TAP(test_strings), TAP(test_times_are_written_in_one_way),
		TAP(test_every_key_and_value_has_its_place), TAP(test_tables_are_defined_once),
		TAP(test_messages_name_the_remedy), TAP(test_messages_are_safe_to_print),
		TAP(test_limits), TAP(test_a_small_arena_is_no_crash),
		TAP(test_the_locale_of_the_caller_does_not_matter), TAP_END });
}
