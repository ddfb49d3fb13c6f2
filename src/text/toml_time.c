/* TOML dates and times (RFC 3339), checked and written in one way: `T`
 * between date and time, `Z` for UTC, the digits of fractions as they are. */
#include "text/toml_priv.h"

struct fields {
	unsigned year, month, day, hour, minute, second;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Take `n` digits off the front. */
static bool take_number(struct str *s, size_t n, unsigned *ret)
{
	unsigned v = 0;

	if (s->n < n)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!is_digit(s->s[i]))
			return false;
		v = v * 10 + (unsigned)(s->s[i] - '0');
	}
	*s = str_from_pos(*s, n);
	*ret = v;
	return true;
}

static bool take_char(struct str *s, const char *one_of)
{
	if (!s->n || !strchr(one_of, s->s[0]))
		return false;
	*s = str_from_pos(*s, 1);
	return true;
}

static bool take_date(struct str *s, struct fields *f)
{
	return take_number(s, 4, &f->year) && take_char(s, "-") &&
	       take_number(s, 2, &f->month) && take_char(s, "-") && take_number(s, 2, &f->day);
}

static bool take_clock(struct str *s, struct fields *f)
{
	size_t n = 0;

	if (!take_number(s, 2, &f->hour) || !take_char(s, ":") ||
	    !take_number(s, 2, &f->minute) || !take_char(s, ":") ||
	    !take_number(s, 2, &f->second))
		return false;
	if (!take_char(s, "."))
		return true;
	while (n < s->n && is_digit(s->s[n]))
		n++;
	*s = str_from_pos(*s, n);
	return n > 0;
}

/* `Z` or +HH:MM; or nothing: the time is a local one. */
static bool take_offset(struct str *s)
{
	unsigned hours, minutes;

	if (!s->n || take_char(s, "Zz"))
		return true;
	return take_char(s, "+-") && take_number(s, 2, &hours) && take_char(s, ":") &&
	       take_number(s, 2, &minutes) && hours < 24 && minutes < 60;
}

static bool is_leap(unsigned year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static bool are_in_range(const struct fields *f)
{
	static const unsigned char days[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

	if (f->month < 1 || f->month > 12 || f->day < 1 || f->day > days[f->month - 1])
		return false;
	if (f->month == 2 && f->day == 29 && !is_leap(f->year))
		return false;
	/* 60: RFC 3339 has leap seconds. */
	return f->hour < 24 && f->minute < 60 && f->second <= 60;
}

static int write_text(struct toml *t, struct str word, struct value *ret)
{
	char *text = arena_strndup(t->arena, word.s, word.n);

	if (!text)
		return err_nomem(t->err);
	if (word.n > 10 && word.s[4] == '-')
		text[10] = 'T';
	if (text[word.n - 1] == 'z')
		text[word.n - 1] = 'Z';
	ret->kind = VALUE_TIME;
	ret->string = (struct str){ text, word.n };
	return 0;
}

static bool starts_as_date(struct str word)
{
	return word.n > 4 && is_digit(word.s[0]) && is_digit(word.s[3]) && word.s[4] == '-';
}

static bool starts_as_clock(struct str word)
{
	return word.n > 2 && is_digit(word.s[0]) && is_digit(word.s[1]) && word.s[2] == ':';
}

static bool is_time(struct str word)
{
	struct fields f = { .month = 1, .day = 1 };

	if (starts_as_clock(word)) {
		if (!take_clock(&word, &f))
			return false;
	} else {
		if (!take_date(&word, &f))
			return false;
		if (word.n && (!take_char(&word, "Tt ") || !take_clock(&word, &f) ||
			       !take_offset(&word)))
			return false;
	}
	return !word.n && are_in_range(&f);
}

int toml_time(struct toml *t, struct str word, struct value *ret, bool *ret_known)
{
	struct spot start = { ret->line, ret->col };

	*ret_known = starts_as_date(word) || starts_as_clock(word);
	if (!*ret_known)
		return 0;
	if (!is_time(word))
		return toml_fail(t, start, "'%s' is not a date or time; write it like "
				 "1979-05-27T07:32:00Z, 1979-05-27 or 07:32:00",
				 text_show(word).text);
	return write_text(t, word, ret);
}
