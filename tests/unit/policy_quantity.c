/* Sizes and durations. */
#include "tap.h"

#include "base/macros.h"
#include "policy/quantity.h"

struct row {
	const char *text;
	int64_t size, ms;	/* -1: refused */
	const char *size_text, *ms_text;
};

static const struct row rows[] = {
	{ "1", 1, 1000, "1", "1s" },
	{ "007", 7, 7000, "7", "7s" },
	{ "1023", 1023, 1023000, "1023", "1023s" },
	{ "1024", 1024, 1024000, "1K", "1024s" },
	{ "3600", 3600, 3600000, "3600", "1h" },
	{ "512M", 512 << 20, -1, "512M", NULL },
	{ "1024M", 1 << 30, -1, "1G", NULL },
	{ "1G", 1 << 30, -1, "1G", NULL },
	{ "3K", 3072, -1, "3K", NULL },
	{ "8589934591G", 8589934591LL << 30, -1, "8589934591G", NULL },
	{ "9223372036854775806", INT64_MAX - 1, -1, "9223372036854775806", NULL },
	{ "90m", -1, 5400000, NULL, "90m" },
	{ "60m", -1, 3600000, NULL, "1h" },
	{ "1ms", -1, 1, NULL, "1ms" },
	{ "1500ms", -1, 1500, NULL, "1500ms" },
	{ "10s", -1, 10000, NULL, "10s" },
	{ "24h", -1, 86400000, NULL, "24h" },
};

static const char *const wrong[] = {
	"",
	" ",
	"0",
	"00",
	"0M",
	"0ms",
	"-1",
	"+1",
	"1 ",
	" 1",
	"1 M",
	"1.5",
	"1.5G",
	"1e3",
	"0x10",
	"M",
	"ms",
	"s",
	"512m ",
	"512MB",
	"512MiB",
	"1T",
	"1k",
	"1g",
	"1d",
	"1S",
	"1H",
	"1Ms",
	"none",
	"9223372036854775807",
	"9223372036854775808",
	"18446744073709551616",
	"99999999999999999999999999",
	"8589934592G",
	"9223372036854775807ms",
	"2562047788016h",
	"١",
};

static void test_good_values_are_read_and_printed(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_buf struct buf out = BUF(64);
		const struct row *r = &rows[i];
		int64_t got = -1;

		is_int(quantity_parse_size(str_from(r->text), &got), r->size > 0, "%s", r->text);
		is_int(got, r->size, "%s bytes", r->text);
		if (r->size > 0) {
			quantity_print_size(got, &out);
			is_text(buf_text(&out), r->size_text, "%s", r->text);
		}
		buf_clear(&out);
		got = -1;
		is_int(quantity_parse_duration(str_from(r->text), &got), r->ms > 0, "%s", r->text);
		is_int(got, r->ms, "%s ms", r->text);
		if (r->ms > 0) {
			quantity_print_duration(got, &out);
			is_text(buf_text(&out), r->ms_text, "%s", r->text);
		}
	}
}

static void test_wrong_values_are_refused_and_store_nothing(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		int64_t got = 77;

		/* Some are wrong for one of the two only. */
		if (strcmp(wrong[i], "9223372036854775807ms") != 0)
			ok(!quantity_parse_size(str_from(wrong[i]), &got), "'%s'", wrong[i]);
		ok(!quantity_parse_duration(str_from(wrong[i]), &got), "'%s'", wrong[i]);
		is_int(got, 77, "'%s' stores nothing", wrong[i]);
	}
}

/* What is printed is read as the same number, for every number. */
static void test_printing_and_reading_agree(void)
{
	for (int64_t v = 1, step = 1; v > 0 && v < INT64_MAX / 3; v = v * 2 + step, step = !step) {
		cleanup_buf struct buf size = BUF(64), time = BUF(64);
		int64_t got = 0;

		quantity_print_size(v, &size);
		ok(quantity_parse_size(str_from(buf_text(&size)), &got) && got == v, "%lld",
		   (long long)v);
		quantity_print_duration(v, &time);
		ok(quantity_parse_duration(str_from(buf_text(&time)), &got) && got == v, "%lld",
		   (long long)v);
	}
}

int main(void)
{
	return tap_run((struct tap_case[]){ TAP(test_good_values_are_read_and_printed),
					    TAP(test_wrong_values_are_refused_and_store_nothing),
					    TAP(test_printing_and_reading_agree), TAP_END });
}
