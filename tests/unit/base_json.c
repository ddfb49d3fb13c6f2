/* Writing JSON: what a text becomes, and that all of an output can be escaped. */
#include "tap.h"

#include <time.h>

#include "base/json.h"
#include "base/limits.h"

static const char *quoted(struct buf *out, struct str s)
{
	struct json_out j = { .out = out };

	buf_clear(out);
	json_put_str(&j, s);
	return buf_text(out);
}

static void test_escapes(void)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "", "\"\"" },
		{ "plain", "\"plain\"" },
		{ "a\"b\\c", "\"a\\\"b\\\\c\"" },
		{ "\n\t\r\x01\x7f", "\"\\n\\t\\u000d\\u0001\\u007f\"" },
		{ "\xc3\xa4 \xf0\x9f\x98\x80", "\"\xc3\xa4 \xf0\x9f\x98\x80\"" },
		{ "\xe2\x80\xae", "\"\\u202e\"" },
		{ "\xff" "a\xc3", "\"\\ufffda\\ufffd\"" },
	};
	cleanup_buf struct buf out = BUF(4096);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		is_text(quoted(&out, str_from(rows[i].text)), rows[i].want, "text %zu", i);
	is_text(quoted(&out, (struct str){ "\0", 1 }), "\"\\u0000\"", "no end");
}

/* They are written some at a time. */
static void test_many(void)
{
	cleanup_buf struct buf in = BUF(8192), want = BUF(65536), out = BUF(65536);

	for (int n = 0; n < 1000; n++) {
		buf_clear(&want);
		buf_printf(&want, "\"%s", n % 3 ? "" : "x");
		buf_clear(&in);
		buf_puts(&in, n % 3 ? "" : "x");
		for (int i = 0; i < n; i++) {
			buf_putc(&in, i % 2 ? '\n' : '\x02');
			buf_puts(&want, i % 2 ? "\\n" : "\\u0002");
		}
		buf_putc(&want, '"');
		if (strcmp(quoted(&out, str_from(buf_text(&in))), buf_text(&want)) != 0)
			break;
	}
	is_text(buf_text(&out), buf_text(&want), "of any number");
}

#define MANY	(8 << 20)
#define MAX_TIMES	25	/* of what as much plain text takes */

static int64_t cost(char c, size_t want, struct buf *out)
{
	char *in = malloc(MANY);
	clock_t begin;

	if (!in)
		BUG("no memory");
	memset(in, c, MANY);
	begin = clock();
	quoted(out, (struct str){ in, MANY });
	begin = clock() - begin;
	is_int((long long)out->n, (long long)want, "all is there");
	free(in);
	return begin;
}

static void test_cost(void)
{
	cleanup_buf struct buf out = BUF((size_t)MANY * 8);
	int64_t escaped, plain;

	cost('\x01', MANY * 6 + 2, &out);	/* the memory is there then */
	escaped = cost('\x01', MANY * 6 + 2, &out);
	plain = cost('x', MANY + 2, &out);
	ok(escaped < MAX_TIMES * plain, "%lld us, plain %lld", (long long)escaped,
	   (long long)plain);
}

int main(void)
{
	return tap_run((struct tap_case[]){ TAP(test_escapes), TAP(test_many), TAP(test_cost),
					    TAP_END });
}
