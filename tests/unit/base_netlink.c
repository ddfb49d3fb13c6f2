/* Messages that fit, that do not, and that are nonsense. */
#include "base/netlink.h"

#include <errno.h>
#include <linux/netlink.h>

#include "tap.h"

static void write_some(struct netlink *w)
{
	netlink_open(w, 77, NLM_F_CREATE, "head", 4);
	netlink_add_text(w, 1, "text");
	netlink_open_nest(w, 2);
	netlink_add_be16(w, 3, 0x0102);
	netlink_add_be32(w, 4, 0x01020304);
	netlink_add_be64(w, 5, 0x0102030405060708);
	netlink_close_nest(w);
	netlink_close(w);
	netlink_open(w, 78, 0, NULL, 0);
	netlink_close(w);
	netlink_add_ack(w);
}

static bool take_attr(struct str *rest, unsigned type, const char *value, size_t n)
{
	struct netlink_attr a;

	return netlink_read_attr(rest, &a) && a.type == type && a.value.n == n &&
	       memcmp(a.value.s, value, n) == 0;
}

static void test_what_is_written_is_read(void)
{
	unsigned char room[256];
	struct netlink_message m;
	struct netlink_attr nest;
	struct netlink w;
	struct str rest, attrs;

	netlink_init(&w, room, sizeof(room), 41);
	write_some(&w);
	ok(!w.full, "it fits");
	rest = (struct str){ (const char *)room, w.n };
	ok(netlink_read(&rest, &m), "a message");
	ok(m.type == 77 && m.seq == 42 && m.flags == (NLM_F_REQUEST | NLM_F_CREATE), "its head");
	ok(m.body.n > 4 && memcmp(m.body.s, "head", 4) == 0, "the family's");
	attrs = str_from_pos(m.body, 4);
	ok(take_attr(&attrs, 1, "text", 5), "a text with its end");
	ok(netlink_read_attr(&attrs, &nest) && nest.type == 2, "a nest");
	ok(take_attr(&nest.value, 3, "\1\2", 2), "16 bits");
	ok(take_attr(&nest.value, 4, "\1\2\3\4", 4), "32 bits");
	ok(take_attr(&nest.value, 5, "\1\2\3\4\5\6\7\10", 8), "64 bits");
	ok(!netlink_read_attr(&nest.value, &nest) && !attrs.n, "the end");
	ok(netlink_read(&rest, &m) && m.type == 78 && m.seq == 43 && !m.body.n &&
	   (m.flags & NLM_F_ACK), "the next");
	ok(!netlink_read(&rest, &m), "the end");
}

static void test_what_does_not_fit_is_not_sent(void)
{
	unsigned char room[256];
	struct netlink whole;

	netlink_init(&whole, room, sizeof(room), 0);
	write_some(&whole);
	for (size_t size = 0; size <= whole.n; size++) {
		unsigned char *tight = malloc(size + 1);	/* for the sanitizer */
		struct netlink w;

		netlink_init(&w, tight, size, 0);
		write_some(&w);
		ok(w.full == (size < whole.n), "%zu bytes", size);
		ok(w.n <= size, "stays inside");
		if (w.full)
			ok(netlink_send(-1, &w) < 0 && errno == EMSGSIZE, "is not sent");
		free(tight);
	}
}

static void test_an_attribute_has_a_longest(void)
{
	static unsigned char room[200000], value[70000];
	struct netlink w;

	netlink_init(&w, room, sizeof(room), 0);
	netlink_open(&w, 1, 0, NULL, 0);
	netlink_add(&w, 1, value, 65531);
	ok(!w.full, "the longest");
	netlink_add(&w, 1, value, 65532);
	ok(w.full, "one more");
	netlink_init(&w, room, sizeof(room), 0);
	netlink_open(&w, 1, 0, NULL, 0);
	netlink_open_nest(&w, 1);
	netlink_add(&w, 1, value, 40000);
	netlink_add(&w, 1, value, 40000);
	netlink_close_nest(&w);
	ok(w.full, "a nest too long");
}

/* Cut anywhere, or with any length in it, it is read to some end. */
static void test_nonsense_is_the_end(void)
{
	unsigned char room[256];
	struct netlink w;

	netlink_init(&w, room, sizeof(room), 0);
	write_some(&w);
	for (size_t n = 0; n <= w.n; n++)
		for (unsigned value = 0; value < 256; value++) {
			char *copy = malloc(n + 1);
			struct str rest = { copy, n };
			struct netlink_message m;
			unsigned found = 0;

			memcpy(copy, room, n);
			if (n)
				copy[value % n] = (char)value;
			while (netlink_read(&rest, &m)) {
				struct str attrs = str_from_pos(m.body, m.body.n < 4 ? 0 : 4);
				struct netlink_attr a;

				while (netlink_read_attr(&attrs, &a))
					found++;
			}
			tap_checks++;
			if (found > n)
				ok(false, "%u attributes in %zu bytes", found, n);
			free(copy);
		}
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_what_is_written_is_read),
		TAP(test_what_does_not_fit_is_not_sent),
		TAP(test_an_attribute_has_a_longest),
		TAP(test_nonsense_is_the_end),
		TAP_END,
	});
}
