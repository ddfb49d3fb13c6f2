/* TLS streams: the verdict does not depend on how they are cut, and what passes
 * names the target in each hello, as a second and simpler reader finds. */
#include "../unit/peek_stream.h"
#include "target.h"

static const struct stream to = { .host = "allowed.test", .port = 443, .open = true };

static void check_same(const struct stream_end *a, const struct stream_end *b)
{
	if (a->verdict != b->verdict || a->done != b->done || a->kind != b->kind)
		BUG("another verdict when cut");
}

static void check_cuts(const uint8_t *data, size_t n, const struct stream_end *whole)
{
	struct stream unseen = to;
	struct stream_end e = stream_feed(&to, data, n, 0, 1);

	check_same(whole, &e);
	for (size_t cut = 1; cut < n; cut += 1 + n / 5) {
		e = stream_feed(&to, data, n, cut, n);
		check_same(whole, &e);
	}
	unseen.use_unseen = true;
	e = stream_feed(&unseen, data, n, 0, 7);
	check_same(whole, &e);
}

static unsigned number(const uint8_t *b, unsigned width)
{
	unsigned v = 0;

	while (width--)
		v = v << 8 | *b++;
	return v;
}

/* The hello at `b`, whose lengths were found good by whoever let it pass. */
static void check_hello(const uint8_t *b, size_t n)
{
	size_t at = 4 + 2 + 32;
	unsigned names = 0;

	at += 1 + b[at];
	at += 2 + number(b + at, 2);
	at += 1 + b[at];
	for (at += 2; at + 4 <= n; at += 4 + number(b + at + 2, 2)) {
		unsigned type = number(b + at, 2);

		if (type == 0xfe0d || type == 0xffce)
			BUG("a hidden name passes");
		if (type != 0)
			continue;
		names++;
		if (b[at + 6] != 0 || strncasecmp((const char *)b + at + 9, "allowed.test", 12) ||
		    number(b + at + 7, 2) > 13)
			BUG("another name passes");
	}
	if (names != 1)
		BUG("not one name");
}

/* Handshake records at the start of the stream, put together. */
static void check_hellos(const uint8_t *data, size_t n)
{
	static uint8_t all[1 << 20];
	size_t n_all = 0, at = 0;

	while (at + 5 <= n && data[at] == 22) {
		size_t len = number(data + at + 3, 2);

		/* The last one may go on beyond what has passed so far. */
		len = MIN(len, n - at - 5);
		if (n_all + len > sizeof(all))
			break;
		memcpy(all + n_all, data + at + 5, len);
		n_all += len;
		at += 5 + len;
	}
	for (at = 0; at + 4 <= n_all; at += 4 + number(all + at + 1, 3)) {
		size_t len = 4 + number(all + at + 1, 3);

		if (at + len <= n_all && all[at] == 1)
			check_hello(all + at, len);
		if (!at && (at + len > n_all || all[at] != 1))
			BUG("no hello, and something passes");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct stream_end whole = stream_feed(&to, data, n, 0, n ? n : 1);

	check_cuts(data, n, &whole);
	if (whole.kind == PEEK_TLS && whole.done && data[0] == 22)
		check_hellos(data, whole.done);
	return 0;
}
