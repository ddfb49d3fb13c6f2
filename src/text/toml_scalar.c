/* TOML numbers and booleans: the word up to the next delimiter, judged as a
 * whole. */
#include "text/toml_priv.h"

#include <math.h>

#include "base/buf.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int refuse_word(struct toml *t, struct str word, struct spot start)
{
	return toml_fail(t, start, "'%s' is not a value; write a string in quotes, a number, "
			 "a date, true or false", text_show(word).text);
}

/* Digits of a base with single underscores between them.  Returns the bytes
 * used, 0 when there is no such run; the digits go to `out` if there is one. */
static size_t digits(struct str s, unsigned base, struct buf *out)
{
	size_t i = 0;

	for (; i < s.n; i++) {
		char c = s.s[i], low = (char)(c | 0x20);
		unsigned v = is_digit(c) ? (unsigned)(c - '0') :
			     low >= 'a' && low <= 'f' ? (unsigned)(low - 'a') + 10 : 99;

		if (c == '_' && i && s.s[i - 1] != '_')
			continue;
		if (v >= base)
			break;
		if (out)
			buf_putc(out, c);
	}
	return i && s.s[i - 1] == '_' ? 0 : i;
}

static int read_integer(struct toml *t, struct str word, unsigned base, struct value *ret)
{
	struct spot start = { ret->line, ret->col };
	bool negative = word.n && word.s[0] == '-';
	int64_t v = 0;

	for (size_t i = base == 10 ? 0 : 2; i < word.n; i++) {
		char c = word.s[i];
		int d = is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10;

		if (c == '_' || c == '+' || c == '-')
			continue;
		if (__builtin_mul_overflow(v, (int64_t)base, &v) ||
		    __builtin_add_overflow(v, negative ? -d : d, &v))
			return toml_fail(t, start, "the number is too large; write one that fits "
					 "in 64 bits");
	}
	ret->kind = VALUE_INT;
	ret->integer = v;
	return 0;
}

static int read_prefixed(struct toml *t, struct str word, struct value *ret)
{
	static const struct {
		char letter;
		unsigned base;
	} bases[] = { { 'x', 16 }, { 'o', 8 }, { 'b', 2 } };
	struct spot start = { ret->line, ret->col };
	struct str rest = str_from_pos(word, 2);

	for (size_t i = 0; i < ARRAY_SIZE(bases); i++) {
		if (word.s[1] != bases[i].letter)
			continue;
		if (!rest.n || digits(rest, bases[i].base, NULL) != rest.n)
			break;
		return read_integer(t, word, bases[i].base, ret);
	}
	return refuse_word(t, word, start);
}

static int read_float(struct toml *t, const char *text, struct value *ret)
{
	struct spot start = { ret->line, ret->col };

	ret->kind = VALUE_FLOAT;
	ret->real = strtod_l(text, NULL, t->c_locale);
	if (isinf(ret->real))
		return toml_fail(t, start, "the number is too large; write a smaller one, or inf");
	return 0;
}

/* One more run of digits must follow `n` bytes of `word`; 0 if not. */
static size_t more_digits(struct str word, size_t n, struct buf *clean)
{
	size_t run = n < word.n ? digits(str_from_pos(word, n), 10, clean) : 0;

	return run ? n + run : 0;
}

static size_t maybe_sign(struct str word, size_t n, struct buf *clean)
{
	if (n == word.n || (word.s[n] != '+' && word.s[n] != '-'))
		return n;
	buf_putc(clean, word.s[n]);
	return n + 1;
}

/* Is the word a decimal number?  It goes to `clean` without underscores. */
static bool scan_number(struct str word, struct buf *clean, bool *ret_float)
{
	size_t n = more_digits(word, maybe_sign(word, 0, clean), clean);

	*ret_float = false;
	if (n && n < word.n && word.s[n] == '.') {
		*ret_float = true;
		buf_putc(clean, '.');
		n = more_digits(word, n + 1, clean);
	}
	if (n && n < word.n && (word.s[n] | 0x20) == 'e') {
		*ret_float = true;
		buf_putc(clean, 'e');
		n = more_digits(word, maybe_sign(word, n + 1, clean), clean);
	}
	return n && n == word.n;
}

static int read_number(struct toml *t, struct str word, struct value *ret)
{
	struct spot start = { ret->line, ret->col };
	cleanup_buf struct buf clean = BUF(word.n);
	const char *digit;
	bool is_float;

	if (!scan_number(word, &clean, &is_float))
		return refuse_word(t, word, start);
	if (!buf_ok(&clean))
		return err_nomem(t->err);
	digit = buf_text(&clean) + (is_digit(word.s[0]) ? 0 : 1);
	if (digit[0] == '0' && is_digit(digit[1]))
		return toml_fail(t, start, "a number starts with 0; remove the leading zero");
	return is_float ? read_float(t, buf_text(&clean), ret) : read_integer(t, word, 10, ret);
}

/* true, false, inf, nan. */
static bool read_named(struct str word, struct value *ret)
{
	bool negative = word.s[0] == '-';
	struct str bare = negative || word.s[0] == '+' ? str_from_pos(word, 1) : word;

	if (str_is(word, "true") || str_is(word, "false")) {
		ret->kind = VALUE_BOOL;
		ret->boolean = word.s[0] == 't';
		return true;
	}
	if (!str_is(bare, "inf") && !str_is(bare, "nan"))
		return false;
	ret->kind = VALUE_FLOAT;
	ret->real = bare.s[0] == 'i' ? INFINITY : NAN;
	if (negative)
		ret->real = -ret->real;
	return true;
}

static bool ends_word(char c)
{
	return strchr(" \t\r\n,]}[{#=\"'", c) != NULL;
}

/* The word at the cursor.  One space may stand between a date and a time. */
static struct str next_word(const struct cursor *c)
{
	struct str word = { c->p, 0 };
	size_t rest = (size_t)(c->end - c->p);

	while (word.n < rest && !ends_word(word.s[word.n]))
		word.n++;
	if (word.n == 10 && word.s[4] == '-' && is_digit(word.s[0]) && rest > 11 &&
	    word.s[10] == ' ' && is_digit(word.s[11])) {
		word.n = 11;
		while (word.n < rest && !ends_word(word.s[word.n]))
			word.n++;
	}
	return word;
}

int toml_scalar(struct toml *t, struct value *ret)
{
	struct str word = next_word(&t->at);
	struct spot start = { ret->line, ret->col };
	bool is_time;
	int r;

	if (!word.n)
		return toml_fail(t, start, "a value is missing; write one");
	if (toml_time(t, word, ret, &is_time) < 0)
		return -1;
	if (is_time || read_named(word, ret))
		r = 0;
	else if (word.n > 1 && word.s[0] == '0' && (word.s[1] | 0x20) >= 'a' &&
		 (word.s[1] | 0x20) != 'e')
		r = read_prefixed(t, word, ret);
	else
		r = read_number(t, word, ret);
	if (r == 0)
		t->at.p += word.n;
	return r;
}
