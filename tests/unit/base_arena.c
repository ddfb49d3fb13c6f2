/* Memory that is given back at once: zeros, up to a maximum. */
#include "tap.h"

#include <string.h>

#include "base/arena.h"

static bool is_zero(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

/* [AR1], also behind a text that did not fit into what was left. */
static void test_zeros(void)
{
	struct arena_room room = { 0 };
	cleanup_arena struct arena a = ARENA_IN(&room, 4 << 20);
	size_t n_bad = 0;

	for (int i = 1; i < 400; i++) {
		char *p = arena_new(&a, (size_t)i, 7);

		if (!p || !is_zero(p, (size_t)i * 7) ||
		    !arena_printf(&a, "%0*d", (i * 37) % 5000, 1))
			n_bad++;
		else
			memset(p, 0xff, (size_t)i * 7);
	}
	is_int((long long)n_bad, 0, "all that is given is zeros");
	ok(a.head != NULL, "and more than the room was needed");
}

static void test_maximum(void)
{
	cleanup_arena struct arena a = ARENA(100 << 10);

	ok(arena_new(&a, 90 << 10, 1) != NULL, "less than the first block would be");
	ok(!arena_new(&a, 20 << 10, 1), "not more than the maximum");
	ok(arena_new(&a, 1 << 10, 1) != NULL, "what is left of it");
}

/* Nothing is left behind by a text that the maximum has no room for, nor is more given than
 * there is where the maximum is no multiple of anything. */
static void test_no_room_for_text(void)
{
	cleanup_arena struct arena a = ARENA(1000);
	const char *text;

	ok(!arena_printf(&a, "%02000d", 1), "more than the maximum");
	ok(arena_strndup(&a, "a", 1) != NULL, "there is room for a little");
	ok(!arena_printf(&a, "%02000d", 1), "not for more");
	text = arena_strndup(&a, "ab", 2);
	ok(text && strcmp(text, "ab") == 0, "a text ends where it should");
	while ((text = arena_printf(&a, "%*d", (int)(a.end - a.next) - 1, 1)))
		ok(a.next <= a.end && strlen(text) < 1000, "all that is left");
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_zeros),
		TAP(test_maximum),
		TAP(test_no_room_for_text),
		TAP_END,
	});
}
