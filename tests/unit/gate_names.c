/* Names and the addresses that stand for them. */
#include "gate/names.h"

#include "tap.h"

#define SECOND	INT64_C(1000000)

static struct host host_of(unsigned i)
{
	char text[32], why[HOST_WHY];
	struct host h;

	snprintf(text, sizeof(text), "n%u.test", i);
	if (host_parse(str_from(text), &h, why) < 0)
		abort();
	return h;
}

static struct name *add(struct names *t, unsigned i, int64_t now)
{
	struct host h = host_of(i);

	return names_add(t, &h, now);
}

static void test_an_address_is_one_name(void)
{
	struct names *t = names_new();

	for (unsigned i = 0; i < MAX_GATE_NAMES; i++) {
		struct name *n = add(t, i, SECOND);
		struct host_addr a;

		if (!ok(n, "name %u", i))
			return;
		a = name_addr(n);
		ok(a.b[0] == 198 && (a.b[1] == 18 || a.b[1] == 19) && (a.b[1] != 18 || a.b[2] >= 1),
		   "%u.%u.%u", a.b[0], a.b[1], a.b[2]);
		ok(names_covers(&a) && names_find_addr(t, &a) == n, "found by its address");
		ok(add(t, i, SECOND) == n, "the same again");
	}
	names_free(t);
}

static void test_what_stands_for_nothing(void)
{
	static const struct {
		struct host_addr a;
		bool covered;
	} rows[] = {
		{ { .b = { 198, 18, 0, 1 } }, true },	{ { .b = { 198, 18, 0, 0 } }, true },
		{ { .b = { 198, 18, 1, 1 } }, true },	{ { .b = { 198, 19, 255, 255 } }, true },
		{ { .b = { 198, 20, 0, 0 } }, false },	{ { .b = { 198, 17, 255, 255 } }, false },
		{ { .is_v6 = true, .b = { 198, 18, 1, 0 } }, false },
	};
	struct names *t = names_new();

	add(t, 0, SECOND);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		is_int(names_covers(&rows[i].a), rows[i].covered, "row %zu", i);
		ok(!names_find_addr(t, &rows[i].a), "row %zu", i);
	}
	names_free(t);
}

/* [N1], [N2] */
static void test_a_flood_takes_nothing_that_is_used(void)
{
	struct names *t = names_new();
	struct name *used, *n;
	struct host_addr first, again;
	struct host h;

	used = add(t, 0, SECOND);
	used->users = 1;
	first = name_addr(add(t, 1, SECOND));
	for (unsigned i = 2; i < MAX_GATE_NAMES; i++)
		add(t, i, 2 * SECOND);
	ok(!add(t, MAX_GATE_NAMES, 3 * SECOND), "all of them are fresh");
	ok(!add(t, MAX_GATE_NAMES, 61 * SECOND), "a minute is not over");
	n = add(t, MAX_GATE_NAMES, 63 * SECOND);
	if (!ok(n && n != used, "the oldest that nobody uses goes"))
		return;
	again = name_addr(n);
	ok(memcmp(&first, &again, sizeof(first)) != 0, "its address is not given again");
	ok(!names_find_addr(t, &first), "and stands for nothing");
	h = host_of(0);
	ok(names_find(t, &h) == used, "what is used stays");
	h = host_of(1);
	ok(!names_find(t, &h), "the other one is forgotten");
	names_free(t);
}

static void test_addresses_take_turns(void)
{
	struct names *t = names_new();
	struct host_addr seen[40];
	size_t n_seen = 0;
	int64_t now = SECOND;
	unsigned next = 0;

	for (unsigned i = 0; i < MAX_GATE_NAMES; i++)
		add(t, next++, now);
	/* Every name once more for each turn: no address comes back soon. */
	for (int turn = 0; turn < 30; turn++) {
		now += 100 * SECOND;
		for (unsigned i = 0; i < MAX_GATE_NAMES; i++) {
			struct name *n = add(t, next++, now);

			if (!ok(n, "turn %d, name %u", turn, i))
				return;
			if (i == 7)
				seen[n_seen++] = name_addr(n);
		}
	}
	for (size_t i = 0; i < n_seen; i++) {
		ok(names_covers(&seen[i]), "turn %zu", i);
		for (size_t k = 0; k < i; k++)
			ok(memcmp(&seen[i], &seen[k], sizeof(seen[i])) != 0, "%zu and %zu", i, k);
	}
	names_free(t);
}

int main(void)
{
	return tap_run((struct tap_case[]){ TAP(test_an_address_is_one_name),
					    TAP(test_what_stands_for_nothing),
					    TAP(test_a_flood_takes_nothing_that_is_used),
					    TAP(test_addresses_take_turns), TAP_END });
}
