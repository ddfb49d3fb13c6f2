/* What a text may cost: no text of 1 MiB takes more than 64 MiB of memory, and
 * none takes much more than eight times the work of an eighth of it.
 *
 * Each text is a head, one unit over and over, and a tail; every `@` of a unit
 * becomes a word that no other unit has.
 *
 * weight: 4/4
 * sanitized: --all
 */
#include <sys/resource.h>
#include <sys/time.h>

#include "base/buf.h"
#include "base/limits.h"
#include "text/value.h"

#include "tap.h"

#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED	1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_SANITIZED	1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED	0
#endif

#define WHOLE		(1u << 20)
#define MAX_KIB		(64 << 10)
#define MAX_RATIO	20	/* linear work has 8, quadratic 64 */
#define NOISE_US	3000	/* less than this says nothing about growth */
#define ATTEMPTS	3
#define CPU_SECONDS	20

typedef int read_fn(const struct source *src, struct arena *a, struct value *ret_root,
		    struct cordon_err *err);

struct text {
	const char *name, *head, *unit, *tail;
	bool is_read;		/* else it must be refused, with a place */
	size_t max_units;	/* 0: as many as fit; the rest is a comment */
};

/* Three characters for a number below 64^3, which is more than fit. */
static void put_number(struct buf *out, size_t i)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

	for (int digit = 0; digit < 3; digit++, i /= 64)
		buf_putc(out, letters[i % 64]);
}

static void put_unit(struct buf *out, const char *unit, size_t i)
{
	for (; *unit; unit++) {
		if (*unit == '@')
			put_number(out, i);
		else
			buf_putc(out, *unit);
	}
}

static void build(const struct text *t, size_t bytes, struct buf *out)
{
	size_t room = bytes - strlen(t->tail) - 3 * strlen(t->unit) - 4;

	buf_puts(out, t->head);
	for (size_t i = 0; out->n < room && (!t->max_units || i < t->max_units); i++)
		put_unit(out, t->unit, i);
	buf_puts(out, t->tail);
	if (t->max_units) {
		buf_puts(out, "\n#");
		while (out->n < bytes)
			buf_putc(out, '#');
	}
}

/* In the child: 0 when it was read, 1 when it was refused as it should be. */
static int read_once(const struct text *t, read_fn *read_text, size_t bytes)
{
	cleanup_arena struct arena arena = ARENA(MAX_ARENA_BYTES);
	cleanup_buf struct buf text = BUF(2 * WHOLE);
	struct rlimit cpu = { CPU_SECONDS, CPU_SECONDS };
	struct cordon_err err = { 0 };
	struct source src = { .name = "text" };
	struct value root;
	int r;

	setrlimit(RLIMIT_CPU, &cpu);
	build(t, bytes, &text);
	src.text = (struct str){ buf_text(&text), text.n };
	r = read_text(&src, &arena, &root, &err);
	if (r == 0)
		return 0;
	if (getenv("TEXT_COST_SHOW"))
		printf("# %s: %u:%u: %s\n", t->name, err.line, err.col, err.msg);
	fflush(stdout);
	return err.code == CORDON_E_POLICY && err.line && err.col && strstr(err.msg, "; ") ? 1 : 2;
}

struct cost {
	int status;
	long cpu_us, max_kib;
};

static struct cost measure(const struct text *t, read_fn *read_text, size_t bytes)
{
	struct cost cost = { .status = -1 };
	struct rusage used;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(read_once(t, read_text, bytes));
	if (pid < 0 || wait4(pid, &cost.status, 0, &used) != pid)
		return cost;
	cost.cpu_us = (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
		      used.ru_utime.tv_usec + used.ru_stime.tv_usec;
	cost.max_kib = used.ru_maxrss;
	return cost;
}

static void check_text(const struct text *t, read_fn *read_text)
{
	struct cost whole = { 0 }, part;
	bool is_linear = false;

	for (int i = 0; i < ATTEMPTS && !is_linear; i++) {
		part = measure(t, read_text, WHOLE / 8);
		whole = measure(t, read_text, WHOLE);
		is_linear = whole.cpu_us < MAX_RATIO * MAX(part.cpu_us, NOISE_US);
	}
	ok(WIFEXITED(whole.status) && WEXITSTATUS(whole.status) == !t->is_read,
	   "%s: %s, not status %d", t->name, t->is_read ? "is read" : "is refused",
	   whole.status);
	ok(is_linear, "%s: %ld us of CPU after %ld us for an eighth", t->name, whole.cpu_us,
	   part.cpu_us);
	ok(IS_SANITIZED || whole.max_kib < MAX_KIB, "%s: %ld KiB of memory", t->name,
	   whole.max_kib);
	if (getenv("TEXT_COST_SHOW"))
		printf("# %-40s %8ld us %8ld KiB\n", t->name, whole.cpu_us, whole.max_kib);
}

#define DEEP_60	"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
#define ENDS_60	"]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
#define ONES_10	"1,1,1,1,1,1,1,1,1,1,"
#define ONES_50	ONES_10 ONES_10 ONES_10 ONES_10 ONES_10
#define ONES_500 ONES_50 ONES_50 ONES_50 ONES_50 ONES_50 ONES_50 ONES_50 ONES_50 ONES_50 ONES_50
#define PARTS_60 ".a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a" \
		 ".a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a"
#define KEYS_26	"a=1\nb=1\nc=1\nd=1\ne=1\nf=1\ng=1\nh=1\ni=1\nj=1\nk=1\nl=1\nm=1\nn=1\n" \
		"o=1\np=1\nq=1\nr=1\ns=1\nt=1\nu=1\nv=1\nw=1\nx=1\ny=1\nz=1\n"
#define KEYS_36	KEYS_26 "0=1\n1=1\n2=1\n3=1\n4=1\n5=1\n6=1\n7=1\n8=1\n9=1\n"

static void test_toml(void)
{
	static const struct text texts[] = {
		{ "deep arrays", "a=", "[", "", false, 0 },
		{ "deep inline tables", "a=", "{a=", "", false, 0 },
		{ "empty arrays", "a=[", "[],", "]", false, 0 },
		{ "empty inline tables", "a=[", "{},", "]", false, 0 },
		{ "empty arrays as allowed", "a=[", "[],", "]", true, MAX_TEXT_CONTAINERS - 2 },
		{ "integers", "a=[", "1,", "]", true, 0 },
		{ "integers deep down", "a=" DEEP_60, "1,", ENDS_60, true, 0 },
		{ "empty strings", "a=[", "\"\",", "]", true, 0 },
		{ "strings with an escape", "a=[", "\"\\n\",", "]", true, 0 },
		{ "dates", "a=[", "1979-05-27,", "]", true, 0 },
		{ "floats", "a=[", "1e1,", "]", true, 0 },
		{ "one long key", "", "a", "=1", true, 0 },
		{ "one long quoted key", "\"", "\\u00e9", "\"=1", true, 0 },
		{ "a key of many parts", "", "a.", "a=1", false, 0 },
		{ "keys of many parts", "", "@" PARTS_60 "=1\n", "", false, 0 },
		{ "keys of many parts, as allowed", "", "@" PARTS_60 "=1\n", "", true,
		  MAX_TEXT_CONTAINERS / 62 },
		{ "keys in one table", "", "@=1\n", "", true, 0 },
		{ "one key many times", "", "a=1\n", "", false, 0 },
		{ "keys in one inline table", "a={", "@=1,", "z=1}", true, 0 },
		{ "many tables of many keys", "", "[@]\n" KEYS_36, "", true, 0 },
		{ "inline tables of one key", "a=[", "{a=1},", "]", true, MAX_TEXT_CONTAINERS - 2 },
		{ "headers", "", "[@]\n", "", false, 0 },
		{ "headers as allowed", "", "[@]\n", "", true, MAX_TEXT_CONTAINERS - 1 },
		{ "headers of three parts", "", "[@.b.c]\n", "", false, 0 },
		{ "headers of many parts", "", "[@" PARTS_60 "]\n", "", false, 0 },
		{ "headers into one table", "", "[a.b.c.@]\n", "", true, MAX_TEXT_CONTAINERS - 4 },
		{ "elements of one array", "", "[[a]]\n", "", false, 0 },
		{ "elements of one array, as allowed", "", "[[a]]\nb=1\n", "", true,
		  MAX_TEXT_CONTAINERS - 2 },
		{ "arrays of one element", "", "[[@]]\n", "", false, 0 },
		{ "one long comment", "#", "x", "", true, 0 },
		{ "many comments", "", "#\n", "", true, 0 },
		{ "blank lines", "", "\n", "", true, 0 },
		{ "a long string", "a=\"", "x", "\"", true, 0 },
		{ "a long string of escapes", "a=\"", "\\\\", "\"", true, 0 },
		{ "a string of many lines", "a=\"\"\"", "\n", "\"\"\"", true, 0 },
		{ "a string of many quotes", "a=\"\"\"", "\"\"x", "\"\"\"", true, 0 },
		{ "a string of continued lines", "a=\"\"\"", "\\\n", "\"\"\"", true, 0 },
		{ "an open string of quotes", "a='''", "''x", "", false, 0 },
		{ "a long integer", "a=", "1", "", false, 0 },
		{ "a long fraction", "a=0.", "1", "", true, 0 },
		{ "a long exponent", "a=1e", "0", "1", true, 0 },
		{ "a long number of underscores", "a=0.", "1_", "1", true, 0 },
		{ "a long fraction of a second", "a=07:32:00.", "1", "", true, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		check_text(&texts[i], toml_parse);
}

static void test_json(void)
{
	static const struct text texts[] = {
		{ "deep arrays", "", "[", "", false, 0 },
		{ "deep objects", "", "{\"a\":", "", false, 0 },
		{ "empty arrays", "[", "[],", "0]", false, 0 },
		{ "empty objects", "[", "{},", "0]", false, 0 },
		{ "integers", "[", "0,", "0]", true, 0 },
		{ "floats", "[", "0.1,", "0]", true, 0 },
		{ "empty strings", "[", "\"\",", "0]", true, 0 },
		{ "strings with an escape", "[", "\"\\n\",", "0]", true, 0 },
		{ "nulls", "[", "null,", "0]", true, 0 },
		{ "keys in one object", "{", "\"@\":0,", "\"z\":0}", true, 0 },
		{ "one key many times", "{", "\"a\":0,", "\"z\":0}", false, 0 },
		{ "objects of many keys", "[", "{\"a\":0,\"b\":0,\"c\":0,\"d\":0,\"e\":0},", "0]",
		  true, 0 },
		{ "objects among strings", "[", "{\"\":0},\"\",\"\",\"\",", "0]", true, 0 },
		{ "a long string", "[\"", "x", "\"]", true, 0 },
		{ "a long string of escapes", "[\"", "\\u00e9", "\"]", true, 0 },
		{ "a long key", "{\"", "x", "\":0}", true, 0 },
		{ "a long integer", "[", "1", "]", false, 0 },
		{ "a long fraction", "[0.", "1", "]", true, 0 },
		{ "a long exponent", "[1e", "0", "1]", true, 0 },
		{ "white space", "[", "\n", "]", true, 0 },
		{ "closing brackets", "[", "]", "", false, 0 },
		{ "an open string", "[\"", "x", "", false, 0 },
		{ "an error at the end", "[", "0,", "]", false, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		check_text(&texts[i], json_parse);
}

static void test_yaml(void)
{
	static const struct text texts[] = {
		{ "deep flow sequences", "---\na: ", "[", "\n---\n", false, 0 },
		{ "deep flow mappings", "---\na: ", "{a: ", "\n---\n", false, 0 },
		{ "deep block sequences", "---\n", "- ", "\n---\n", false, 0 },
		{ "deep keys", "---\n", "? ", "\n---\n", false, 0 },
		{ "empty flow sequences", "---\na: [", "[],", "]\n---\n", false, 0 },
		{ "empty flow mappings", "---\na: [", "{},", "]\n---\n", false, 0 },
		{ "integers in a flow sequence", "---\na: [", "1,", "]\n---\n", true, 0 },
		{ "lines of a flow sequence", "---\na: [", "1,\n ", "]\n---\n", true, 0 },
		{ "integers deep down", "---\na: " DEEP_60, "1,", ENDS_60 "\n---\n", true, 0 },
		{ "commas only", "---\na: [", ",", "]\n---\n", false, 0 },
		{ "empty strings", "---\na: [", "'',", "]\n---\n", true, 0 },
		{ "pairs in a flow sequence", "---\na: [", "a: 1,", "]\n---\n", false, 0 },
		{ "keys in a flow mapping", "---\na: {", "@,", "}\n---\n", true, 0 },
		{ "keys with values in a flow mapping", "---\na: {", "@: 1,", "}\n---\n", true, 0 },
		{ "items of a block sequence", "---\na:\n", "- 1\n", "---\n", true, 0 },
		{ "empty items", "---\na:\n", "-\n", "---\n", true, 0 },
		{ "nested block sequences", "---\na:\n", "- - 1\n", "---\n", false, 0 },
		{ "keys", "---\n", "@: 1\n", "---\n", true, 0 },
		{ "keys with a question mark", "---\n", "? @\n: 1\n", "---\n", true, 0 },
		{ "keys with nothing but a question mark", "---\n", "? @\n", "---\n", true, 0 },
		{ "one key many times", "---\n", "a: 1\n", "---\n", false, 0 },
		{ "colons", "---\n", ":", "\n---\n", false, 0 },
		{ "a long plain scalar", "---\na: ", "x", "\n---\n", true, 0 },
		{ "a long plain scalar of words", "---\na: ", "x ", "\n---\n", true, 0 },
		{ "a plain scalar of many lines", "---\na: x\n", " x\n", "---\n", true, 0 },
		{ "a plain scalar of blank lines", "---\na: x\n", "\n", " x\n---\n", true, 0 },
		{ "a plain scalar of accents", "---\na: [", "\xc3\xa9,", "]\n---\n", true, 0 },
		{ "a long quoted scalar", "---\na: \"", "x", "\"\n---\n", true, 0 },
		{ "a long quoted scalar of escapes", "---\na: \"", "\\x41", "\"\n---\n", true, 0 },
		{ "a quoted scalar of many lines", "---\na: '", " \n", "'\n---\n", true, 0 },
		{ "a block scalar", "---\na: |\n", " x\n", "---\n", true, 0 },
		{ "a folded scalar", "---\na: >\n", " x\n", "---\n", true, 0 },
		{ "a block scalar of blank lines", "---\na: |\n", "\n", " x\n---\n", true, 0 },
		{ "long comments", "---\n#", "x", "\n---\n", true, 0 },
		{ "many comments", "---\n", "# x\n", "---\n", true, 0 },
		{ "blank lines", "---\n", "\n", "---\n", true, 0 },
		{ "white space", "---\na: ", " ", "\n---\n", true, 0 },
		{ "deep indentation", "---\n", " ", "a: 1\n---\n", true, 0 },
		{ "tags", "---\na: [", "!a 1,", "]\n---\n", false, 0 },
		{ "anchors", "---\na: [", "&a 1,", "]\n---\n", false, 0 },
		{ "a long tag", "---\na: !", "x", " 1\n---\n", false, 0 },
		{ "a long tag of escapes", "---\na: !<", "%41", "> 1\n---\n", false, 0 },
		{ "a long anchor", "---\na: &", "x", " 1\n---\n", false, 0 },
		{ "directives", "---\n", "%TAG !@! a\n", "---\n", false, 0 },
		{ "odd directives", "---\na: 1", "\xc2\x85%TAG !@! a", "\n---\n", false, 0 },
		{ "flow sequences full of scalars", "---\na: [", DEEP_60 ONES_500 ENDS_60 ",",
		  "]\n---\n", true, 0 },
		{ "many documents", "---\n", "--- a\n", "---\n", false, 0 },
		{ "no closing line", "---\n", "a\n", "", false, 0 },
		{ "no front matter", "", "a\n", "", true, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		check_text(&texts[i], yaml_parse_front_matter);
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_toml), TAP(test_json), TAP(test_yaml), TAP_END });
}
