/* Growing text: in a room of its user's, and beyond it. */
#include "tap.h"

#include "base/buf.h"

static void test_room(void)
{
	char room[8];
	cleanup_buf struct buf b = BUF_IN(room, 64);

	is_text(buf_text(&b), "", "nothing is no text of the room");
	buf_puts(&b, "1234567");
	ok(b.data == room, "what fits stays in the room");
	buf_puts(&b, "8");
	ok(b.data != room, "what does not goes on elsewhere");
	is_text(buf_text(&b), "12345678", "with all that was there");
	buf_clear(&b);
	is_text(buf_text(&b), "", "cleared");
}

static void test_printed(void)
{
	char room[8];
	cleanup_buf struct buf b = BUF_IN(room, 16);

	buf_printf(&b, "%d", 123);
	buf_printf(&b, "-%s", "4567");
	is_text(buf_text(&b), "123-4567", "over the end of the room");
	buf_printf(&b, "%s", "123456789");
	ok(!buf_ok(&b), "not over the maximum");
	is_text(buf_text(&b), "123-4567", "what was there is left as it was");
}

static void test_taken(void)
{
	char room[8];
	struct buf b = BUF_IN(room, 64), full = BUF_IN(room, 4), none = BUF(64);
	char *text;

	buf_puts(&b, "abc");
	text = buf_take(&b);
	ok(text && text != room, "what is taken is no room of somebody's");
	is_text(text ? text : "", "abc", "and the same text");
	free(text);
	text = buf_take(&none);
	is_text(text ? text : "?", "", "nothing is a text");
	free(text);
	buf_puts(&full, "12345");
	ok(!buf_take(&full), "one that failed gives none");
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_room),
		TAP(test_printed),
		TAP(test_taken),
		TAP_END,
	});
}
