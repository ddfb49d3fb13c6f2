/* Sizes and durations; see quantity.h. */
#include "policy/quantity.h"

#include <inttypes.h>

#include "base/macros.h"

struct unit {
	const char *name;
	int64_t factor;
};

/* Largest first, as printing tries them. */
static const struct unit sizes[] = {
	{ "G", 1 << 30 }, { "M", 1 << 20 }, { "K", 1 << 10 }, { "", 1 }
};
static const struct unit durations[] = {
	{ "h", 3600000 }, { "m", 60000 }, { "s", 1000 }, { "ms", 1 }
};

static bool parse(struct str text, const struct unit *units, size_t n, int64_t plain, int64_t *ret)
{
	int64_t factor = 0;
	size_t digits = 0, value;
	uint64_t number;

	while (digits < text.n && text.s[digits] >= '0' && text.s[digits] <= '9')
		digits++;
	value = digits;
	if (digits == text.n)
		factor = plain;
	for (size_t i = 0; i < n && !factor; i++)
		if (units[i].name[0] && str_is(str_from_pos(text, value), units[i].name))
			factor = units[i].factor;
	if (!factor || !str_parse_u64(str_first(text, digits), &number) || number > INT64_MAX)
		return false;
	if (__builtin_mul_overflow((int64_t)number, factor, ret) || *ret < 1 || *ret == INT64_MAX)
		return false;
	return true;
}

bool quantity_parse_size(struct str text, int64_t *ret)
{
	int64_t v;

	if (!parse(text, sizes, ARRAY_SIZE(sizes), 1, &v))
		return false;
	*ret = v;
	return true;
}

bool quantity_parse_duration(struct str text, int64_t *ret)
{
	int64_t v;

	if (!parse(text, durations, ARRAY_SIZE(durations), 1000, &v))
		return false;
	*ret = v;
	return true;
}

static void print(int64_t v, const struct unit *units, struct buf *out)
{
	while (v % units->factor)
		units++;
	buf_printf(out, "%" PRId64 "%s", v / units->factor, units->name);
}

void quantity_print_size(int64_t bytes, struct buf *out)
{
	print(bytes, sizes, out);
}

void quantity_print_duration(int64_t ms, struct buf *out)
{
	print(ms, durations, out);
}
