/* Writing JSON; see json.h. */
#include "base/json.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>	/* isfinite, a macro */

static void line_break(struct json_out *j)
{
	if (!j->indent)
		return;
	buf_putc(j->out, '\n');
	for (unsigned i = 0; i < j->indent * j->depth; i++)
		buf_putc(j->out, ' ');
}

static void before_value(struct json_out *j)
{
	if (j->after_key) {
		j->after_key = false;
		return;
	}
	if (j->after_value)
		buf_putc(j->out, ',');
	if (j->depth)
		line_break(j);
}

void json_open(struct json_out *j, char bracket)
{
	before_value(j);
	buf_putc(j->out, bracket);
	j->depth++;
	j->after_value = false;
}

void json_close(struct json_out *j, char bracket)
{
	j->depth--;
	if (j->after_value)
		line_break(j);
	buf_putc(j->out, bracket);
	j->after_value = true;
}

static bool is_plain(char c)
{
	return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
}

/* How many bytes from the start need no second look. */
static size_t plain_run(struct str s)
{
	size_t n = 0;

	while (n < s.n && is_plain(s.s[n]))
		n++;
	return n;
}

#define ESCAPE_BYTES	6	/* the longest: \u and four digits */

/* What the first character is written as, in `to`, and how much of the text that is. */
static size_t escape(struct str s, size_t *ret_used, char to[ESCAPE_BYTES])
{
	static const char digits[] = "0123456789abcdef";
	static const char letters[] = { ['"'] = '"', ['\\'] = '\\', ['\n'] = 'n', ['\t'] = 't' };
	uint32_t c;

	*ret_used = str_utf8(s, &c);
	to[0] = '\\';
	if (*ret_used && c < sizeof(letters) && letters[c]) {
		to[1] = letters[c];
		return 2;
	}
	if (*ret_used && str_is_shown(c)) {
		memcpy(to, s.s, *ret_used);
		return *ret_used;
	}
	/* People look at it in a terminal. */
	if (!*ret_used) {
		c = 0xfffd;
		*ret_used = 1;
	}
	to[1] = 'u';
	for (int i = 2; i < ESCAPE_BYTES; i++)
		to[i] = digits[c >> 4 * (ESCAPE_BYTES - 1 - i) & 0xf];
	return ESCAPE_BYTES;
}

/* All of an output may have to be escaped, while somebody waits: so not one by one. */
static void quote(struct buf *out, struct str s)
{
	char some[768];
	size_t held, n;

	buf_putc(out, '"');
	while (s.n) {
		n = plain_run(s);
		buf_add(out, s.s, n);
		s = str_from_pos(s, n);
		for (held = 0; s.n && !is_plain(s.s[0]) && held <= sizeof(some) - ESCAPE_BYTES;
		     s = str_from_pos(s, n))
			held += escape(s, &n, some + held);
		buf_add(out, some, held);
	}
	buf_putc(out, '"');
}

void json_key_str(struct json_out *j, struct str key)
{
	before_value(j);
	quote(j->out, key);
	buf_puts(j->out, j->indent ? ": " : ":");
	j->after_key = true;
}

void json_key(struct json_out *j, const char *key)
{
	json_key_str(j, str_from(key));
}

void json_put_str(struct json_out *j, struct str s)
{
	before_value(j);
	quote(j->out, s);
	j->after_value = true;
}

void json_put_text(struct json_out *j, const char *s)
{
	if (s)
		json_put_str(j, str_from(s));
	else
		json_put_null(j);
}

static void word(struct json_out *j, const char *text)
{
	before_value(j);
	buf_puts(j->out, text);
	j->after_value = true;
}

void json_put_int(struct json_out *j, int64_t v)
{
	before_value(j);
	buf_printf(j->out, "%" PRId64, v);
	j->after_value = true;
}

void json_put_real(struct json_out *j, double v)
{
	locale_t c_locale, before;
	char text[40];

	/* JSON has no other. */
	if (!isfinite(v)) {
		json_put_null(j);
		return;
	}
	/* The caller's may write 0,5. */
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	before = uselocale(c_locale);
	/* 17 digits always suffice; most numbers need fewer. */
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	uselocale(before);
	if (c_locale)
		freelocale(c_locale);
	before_value(j);
	buf_puts(j->out, text);
	if (!strpbrk(text, ".e"))
		buf_puts(j->out, ".0");
	j->after_value = true;
}

void json_put_bool(struct json_out *j, bool v)
{
	word(j, v ? "true" : "false");
}

void json_put_null(struct json_out *j)
{
	word(j, "null");
}

void json_put_raw(struct json_out *j, struct str s)
{
	before_value(j);
	buf_str(j->out, s);
	j->after_value = true;
}
