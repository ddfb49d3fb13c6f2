/* What is asked of the proxy: the verdict does not depend on how the bytes are cut
 * ([PX2]), a host that was asked for reads back as itself ([PX3]), and nothing behind
 * the request is taken ([PX1]). */
#include "gate/proxy.h"
#include "target.h"

struct end {
	enum proxy_verdict verdict;
	size_t taken;
};

static struct end feed(struct proxy_ask *a, const uint8_t *data, size_t n, size_t step)
{
	struct end e = { PROXY_MORE, 0 };

	*a = (struct proxy_ask){ .n = 0 };
	while (e.taken < n && (e.verdict == PROXY_MORE || e.verdict == PROXY_GREETED)) {
		size_t part = MIN(step, n - e.taken), taken;

		e.verdict = proxy_feed(a, data + e.taken, part, &taken);
		if (taken > part || (e.verdict == PROXY_MORE && taken < part))
			BUG("bytes that are not there, or left for nobody");
		e.taken += taken;
	}
	return e;
}

static void check_host(const struct proxy_ask *a)
{
	cleanup_buf struct buf text = BUF(512);
	char why[HOST_WHY];
	struct host again;

	host_print(&a->host, &text);
	if (!a->port || host_parse((struct str){ buf_text(&text), text.n }, &again, why) < 0 ||
	    again.is_addr != a->host.is_addr || strcmp(again.name, a->host.name) != 0 ||
	    memcmp(again.addr.b, a->host.addr.b, sizeof(again.addr.b)) != 0)
		BUG("a host that has no canonical form");
}

/* The head, or the request, ends with the last byte that was taken. */
static void check_end(const struct proxy_ask *a, const uint8_t *data, size_t taken)
{
	struct proxy_ask shorter;

	if (feed(&shorter, data, taken - 1, taken).verdict == PROXY_ASKED)
		BUG("more was taken than was needed");
	if (!a->is_socks && memcmp(data + taken - 4, "\r\n\r\n", 4) != 0)
		BUG("a head that does not end");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char out[PROXY_ANSWER_BYTES];
	struct proxy_ask whole, cut;
	struct end e = feed(&whole, data, n, n ? n : 1);

	for (size_t step = 1; step < n; step += 1 + n / 7) {
		struct end other = feed(&cut, data, n, step);

		if (other.verdict != e.verdict || other.taken != e.taken ||
		    (e.verdict == PROXY_BAD && cut.answer != whole.answer))
			BUG("another verdict when cut");
	}
	if (e.verdict == PROXY_ASKED) {
		check_host(&whole);
		check_end(&whole, data, e.taken);
	}
	for (int i = 0; i < N_PROXY_ANSWERS; i++)
		if (proxy_answer_print(&whole, (enum proxy_answer)i, "why", out) >= sizeof(out))
			BUG("an answer that does not fit");
	return 0;
}
