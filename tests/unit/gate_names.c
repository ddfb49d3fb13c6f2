/* Names and the addresses that stand for them. */
#include "gate/names.h"

#include "tap.h"

static struct host host_of(unsigned i)
{
	char text[32], why[HOST_WHY];
	struct host h;

	snprintf(text, sizeof(text), "n%u.test", i);
	if (host_parse(str_from(text), &h, why) < 0)
		abort();
	return h;
}

static struct name *add(struct names *t, unsigned i)
{
	struct host h = host_of(i);

	return names_add(t, &h);
}

static void test_an_address_is_one_name(void)
{
	struct names *t = names_new();

	for (unsigned i = 0; i < MAX_GATE_NAMES; i++) {
		struct name *n = add(t, i);
		struct host_addr a;

		if (!ok(n, "name %u", i))
			return;
		a = name_addr(n);
		ok(a.b[0] == 198 && (a.b[1] == 18 || a.b[1] == 19) && (a.b[1] != 18 || a.b[2] >= 1),
		   "%u.%u.%u", a.b[0], a.b[1], a.b[2]);
		ok(names_covers(&a) && names_find_addr(t, &a) == n, "found by its address");
		ok(add(t, i) == n, "the same again");
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

	add(t, 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		is_int(names_covers(&rows[i].a), rows[i].covered, "row %zu", i);
		ok(!names_find_addr(t, &rows[i].a), "row %zu", i);
	}
	names_free(t);
}

/* [N1], [N2] */
static void test_a_flood_takes_nothing_that_is_used(void)
{
	enum { N_USED = 200 };
	struct names *t = names_new();
	struct name *used[N_USED], *n;
	struct host_addr first, again;
	struct host h;

	/* More than any search would look at: the ones in use are the oldest. */
	for (unsigned i = 0; i < N_USED; i++) {
		used[i] = add(t, i);
		used[i]->users = i % 3 == 2;
		used[i]->is_asked = i % 3 == 1;
		used[i]->waiting = i % 3 ? NULL : (struct conn *)(void *)t;
	}
	first = name_addr(add(t, N_USED));
	for (unsigned i = N_USED + 1; i < MAX_GATE_NAMES; i++)
		add(t, i);
	n = add(t, MAX_GATE_NAMES);
	if (!ok(n, "the oldest that nothing uses makes room, however young it is"))
		return;
	again = name_addr(n);
	ok(memcmp(&first, &again, sizeof(first)) != 0, "its address is not given again");
	ok(!names_find_addr(t, &first), "and stands for nothing");
	h = host_of(N_USED);
	ok(!names_find(t, &h), "its name is forgotten");
	for (unsigned i = 1; i <= 3 * MAX_GATE_NAMES; i++)
		if (!ok(add(t, MAX_GATE_NAMES + i), "name %u of a flood", i))
			return;
	for (unsigned i = 0; i < N_USED; i++) {
		h = host_of(i);
		ok(names_find(t, &h) == used[i], "name %u is in use and stays", i);
	}
	names_free(t);
}

static void test_a_name_that_was_asked_for_again_stays_longer(void)
{
	struct names *t = names_new();
	struct name *n = add(t, 0);
	struct host h = host_of(1);

	for (unsigned i = 1; i < MAX_GATE_NAMES; i++)
		add(t, i);
	ok(add(t, 0) == n, "asked for again");
	add(t, MAX_GATE_NAMES);
	ok(!names_find(t, &h), "the next one goes first");
	h = host_of(0);
	ok(names_find(t, &h) == n, "it stays");
	names_free(t);
}

static void test_names_in_use_are_never_given_up(void)
{
	struct names *t = names_new();

	for (unsigned i = 0; i < MAX_GATE_NAMES; i++)
		add(t, i)->users = 1;
	ok(!add(t, MAX_GATE_NAMES), "all are in use");
	ok(!add(t, MAX_GATE_NAMES), "and again");
	names_free(t);
}

static void test_addresses_take_turns(void)
{
	struct names *t = names_new();
	struct host_addr seen[40];
	size_t n_seen = 0;
	unsigned next = 0;

	for (unsigned i = 0; i < MAX_GATE_NAMES; i++)
		add(t, next++);
	/* Every name once more for each turn: no address comes back soon. */
	for (int turn = 0; turn < 30; turn++) {
		for (unsigned i = 0; i < MAX_GATE_NAMES; i++) {
			struct name *n = add(t, next++);

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
					    TAP(test_a_name_that_was_asked_for_again_stays_longer),
					    TAP(test_names_in_use_are_never_given_up),
					    TAP(test_addresses_take_turns), TAP_END });
}
