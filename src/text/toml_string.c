/* TOML strings: basic and literal, on one line or on many.
 *
 * The end is looked for first; a string without escapes then points into the
 * text, and any other is decoded into room of its raw length, which is always
 * enough.
 */
#include "text/toml_priv.h"

#include <ctype.h>

static size_t quotes_at(const char *p, const char *end, char quote)
{
	size_t n = 0;

	while (p + n < end && p[n] == quote)
		n++;
	return n;
}

static int refuse_open(struct toml *t, struct spot start, const char *quotes)
{
	return toml_fail(t, start, "a string is not closed; add %s at its end", quotes);
}

static int read_hex(struct toml *t, size_t n, uint32_t *ret)
{
	struct spot start = cursor_spot(&t->at, t->at.p - 2);
	uint32_t v = 0;

	for (size_t i = 0; i < n; i++) {
		int c = cursor_peek(&t->at);

		if (c < 0 || !isxdigit(c))
			return toml_fail(t, start, "\\%c needs %zu hexadecimal digits; add them",
					 n == 4 ? 'u' : 'U', n);
		v = v << 4 | (uint32_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
		t->at.p++;
	}
	if (!v)
		return toml_fail(t, start, "the character U+0000 is not allowed in a string; "
				 "leave it out");
	if (v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff))
		return toml_fail(t, start, "U+%04X is not a character; write one up to U+10FFFF "
				 "that is no surrogate", (unsigned)v);
	*ret = v;
	return 0;
}

/* A backslash, white space, a line break: everything up to the next text is
 * left out.  False when no line break follows. */
static bool skip_continuation(struct cursor *c, const char *end)
{
	const char *p = c->p;

	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	if (p == end || (*p != '\n' && *p != '\r'))
		return false;
	while (c->p < end && (*c->p == ' ' || *c->p == '\t' || *c->p == '\r' || *c->p == '\n'))
		cursor_step(c);
	return true;
}

/* What follows a backslash; adds the bytes it stands for to *n. */
static int read_escape(struct toml *t, const char *end, char *out, size_t *n)
{
	static const char from[] = "btnfr\"\\", to[] = "\b\t\n\f\r\"\\";
	struct spot start = cursor_spot(&t->at, t->at.p - 1);
	char c = *t->at.p;
	const char *simple = strchr(from, c);
	uint32_t ch = 0;

	if (simple) {
		out[(*n)++] = to[simple - from];
		t->at.p++;
		return 0;
	}
	if (c == 'u' || c == 'U') {
		t->at.p++;
		if (read_hex(t, c == 'u' ? 4 : 8, &ch) < 0)
			return -1;
		*n += str_put_utf8(ch, out + *n);
		return 0;
	}
	if (skip_continuation(&t->at, end))
		return 0;
	return toml_fail(t, start, "a backslash must start one of \\b \\t \\n \\f \\r \\\" \\\\ "
			 "\\uXXXX \\UXXXXXXXX; write \\\\ for a backslash");
}

/* The text from the cursor up to `end`, decoded. */
static int decode(struct toml *t, const char *end, bool has_escapes, struct str *ret)
{
	char *out = arena_new(t->arena, (size_t)(end - t->at.p) + 1, 1);
	size_t n = 0;

	if (!out)
		return err_nomem(t->err);
	while (t->at.p < end) {
		char c = *t->at.p;

		if (c == '\\' && has_escapes) {
			t->at.p++;
			if (read_escape(t, end, out, &n) < 0)
				return -1;
			continue;
		}
		cursor_step(&t->at);
		if (c != '\r')		/* a line break is LF, however it was written */
			out[n++] = c;
	}
	*ret = (struct str){ out, n };
	return 0;
}

static int read_line_string(struct toml *t, struct str *ret)
{
	struct spot start = cursor_spot(&t->at, t->at.p);
	const char quote = *t->at.p++;
	const char *p = t->at.p;
	bool has_escapes = false;

	for (; p < t->at.end && *p != quote && *p != '\n' && *p != '\r'; p++) {
		if (quote == '"' && *p == '\\') {
			has_escapes = true;
			if (++p == t->at.end || *p == '\n' || *p == '\r')
				break;
		}
	}
	if (p == t->at.end || *p != quote)
		return refuse_open(t, start, quote == '"' ? "\"" : "'");
	if (has_escapes) {
		if (decode(t, p, true, ret) < 0)
			return -1;
	} else {
		*ret = (struct str){ t->at.p, (size_t)(p - t->at.p) };
	}
	t->at.p = p + 1;
	return 0;
}

static int read_long_string(struct toml *t, struct str *ret)
{
	struct spot start = cursor_spot(&t->at, t->at.p);
	const char quote = *t->at.p;
	const char *p;
	size_t n = 0;

	t->at.p += 3;
	if (t->at.end - t->at.p > 1 && t->at.p[0] == '\r' && t->at.p[1] == '\n')
		t->at.p++;
	/* A line break right after the quotes is not part of the string. */
	if (cursor_peek(&t->at) == '\n')
		cursor_step(&t->at);
	for (p = t->at.p; p < t->at.end; p += n ? n : 1) {
		n = quotes_at(p, t->at.end, quote);
		if (n >= 3)
			break;
		if (quote == '"' && *p == '\\' && p + 1 < t->at.end)
			p++;
	}
	if (p >= t->at.end)
		return refuse_open(t, start, quote == '"' ? "\"\"\"" : "'''");
	n = MIN(n, 5);		/* up to two quotes may stand before the closing three */
	if (decode(t, p + n - 3, quote == '"', ret) < 0)
		return -1;
	t->at.p += 3;
	return 0;
}

int toml_string(struct toml *t, struct str *ret)
{
	if (quotes_at(t->at.p, t->at.end, *t->at.p) >= 3)
		return read_long_string(t, ret);
	return read_line_string(t, ret);
}

int toml_quoted_key(struct toml *t, struct str *ret)
{
	if (quotes_at(t->at.p, t->at.end, *t->at.p) >= 3)
		return toml_fail(t, cursor_spot(&t->at, t->at.p),
				 "a key cannot span lines; write one quote at each end");
	return read_line_string(t, ret);
}
