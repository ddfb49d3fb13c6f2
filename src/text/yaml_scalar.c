/* Plain YAML scalars by the core schema of YAML 1.2 (chapter 10.3).
 *
 * YAML 1.1 would also turn yes, no, on, off and 1:30 into something else;
 * here they stay the strings that they look like.
 */
#include "text/yaml_priv.h"

#include <math.h>

static bool has_sign(struct str s)
{
	return s.n && (s.s[0] == '+' || s.s[0] == '-');
}

static unsigned digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 99;
}

/* How many digits of this base stand at the start. */
static size_t run_of_digits(struct str s, unsigned base)
{
	size_t n = 0;

	while (n < s.n && digit_value(s.s[n]) < base)
		n++;
	return n;
}

static int read_int(struct str digits, unsigned base, bool negative, struct value *ret,
		    struct cordon_err *err)
{
	int64_t v = 0;

	for (size_t i = 0; i < digits.n; i++) {
		int64_t d = digit_value(digits.s[i]);

		if (__builtin_mul_overflow(v, (int64_t)base, &v) ||
		    __builtin_add_overflow(v, negative ? -d : d, &v))
			return err_at(err, ret->line, ret->col, "the number is too large; write "
				      "one that fits in 64 bits, or put it in quotes");
	}
	ret->kind = VALUE_INT;
	ret->integer = v;
	return 0;
}

/* Base of the whole number that `s` is (its digits in *ret_digits), or 0. */
static unsigned int_base(struct str s, struct str *ret_digits)
{
	struct str digits = has_sign(s) ? str_from_pos(s, 1) : s;
	unsigned base = 10;

	if (str_starts(s, "0x"))
		base = 16;
	else if (str_starts(s, "0o"))
		base = 8;
	if (base != 10)
		digits = str_from_pos(s, 2);
	*ret_digits = digits;
	return digits.n && run_of_digits(digits, base) == digits.n ? base : 0;
}

/* [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )? */
static bool is_float(struct str s)
{
	size_t whole, fraction = 0;

	if (has_sign(s))
		s = str_from_pos(s, 1);
	whole = run_of_digits(s, 10);
	s = str_from_pos(s, whole);
	if (s.n && s.s[0] == '.') {
		s = str_from_pos(s, 1);
		fraction = run_of_digits(s, 10);
		s = str_from_pos(s, fraction);
	}
	if (!whole && !fraction)
		return false;
	if (!s.n)
		return true;
	if ((s.s[0] | 0x20) != 'e')
		return false;
	s = str_from_pos(s, 1);
	if (has_sign(s))
		s = str_from_pos(s, 1);
	return s.n && run_of_digits(s, 10) == s.n;
}

static bool read_special_float(struct str s, struct value *ret)
{
	static const char *const infs[] = { ".inf", ".Inf", ".INF", NULL };
	static const char *const nans[] = { ".nan", ".NaN", ".NAN", NULL };
	struct str bare = has_sign(s) ? str_from_pos(s, 1) : s;

	if (str_is_one_of(s, nans))
		ret->real = NAN;
	else if (str_is_one_of(bare, infs))
		ret->real = s.s[0] == '-' ? -INFINITY : INFINITY;
	else
		return false;
	ret->kind = VALUE_FLOAT;
	return true;
}

static bool read_name(struct str s, struct value *ret)
{
	static const char *const nulls[] = { "", "~", "null", "Null", "NULL", NULL };
	static const char *const trues[] = { "true", "True", "TRUE", NULL };
	static const char *const falses[] = { "false", "False", "FALSE", NULL };

	if (str_is_one_of(s, nulls)) {
		ret->kind = VALUE_NULL;
		return true;
	}
	ret->boolean = str_is_one_of(s, trues);
	if (!ret->boolean && !str_is_one_of(s, falses))
		return false;
	ret->kind = VALUE_BOOL;
	return true;
}

int yaml_resolve(struct str text, locale_t c_locale, struct value *ret, struct cordon_err *err)
{
	struct str digits;
	unsigned base = int_base(text, &digits);

	if (base)
		return read_int(digits, base, text.s[0] == '-', ret, err);
	if (read_name(text, ret) || read_special_float(text, ret))
		return 0;
	if (!is_float(text)) {
		ret->kind = VALUE_STRING;
		ret->string = text;
		return 0;
	}
	ret->kind = VALUE_FLOAT;
	ret->real = strtod_l(text.s, NULL, c_locale);
	if (isinf(ret->real))
		return err_at(err, ret->line, ret->col, "the number is too large; write a smaller "
			      "one, or put it in quotes");
	return 0;
}
