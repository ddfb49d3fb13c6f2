/* URLs: what is accepted, written anew from its parts, reads alike. */
#include <stdint.h>

#include "policy/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void write_anew(const struct host *h, unsigned port, struct buf *out)
{
	bool brackets = h->is_addr && h->addr.is_v6;

	buf_puts(out, brackets ? "[" : "");
	host_print(h, out);
	buf_puts(out, brackets ? "]" : "");
	if (port)
		buf_printf(out, ":%u", port);
}

static bool is_same_host(const struct host *a, const struct host *b)
{
	return a->is_addr == b->is_addr && a->n == b->n && memcmp(a->name, b->name, a->n) == 0 &&
	       a->addr.is_v6 == b->addr.is_v6 &&
	       memcmp(a->addr.b, b->addr.b, sizeof(a->addr.b)) == 0;
}

static void fuzz_url(struct str text)
{
	cleanup_buf struct buf out = BUF(1024);
	struct url u, again;
	char why[HOST_WHY] = "";

	if (url_parse(text, &u, why) != URL_OK) {
		if (!why[0])
			BUG("refused without a reason");
		return;
	}
	buf_str(&out, u.scheme);
	buf_puts(&out, "://");
	write_anew(&u.host, u.port, &out);
	if (url_parse(str_from(buf_text(&out)), &again, why) != URL_OK || again.port != u.port ||
	    !str_eq(again.scheme, u.scheme) || !is_same_host(&again.host, &u.host))
		BUG("a URL that is written as another one");
}

static void fuzz_hostport(struct str text)
{
	cleanup_buf struct buf out = BUF(1024);
	unsigned port, port_again;
	struct host h, again;
	char why[HOST_WHY] = "";

	if (url_parse_hostport(text, &h, &port, why) < 0) {
		if (!why[0])
			BUG("refused without a reason");
		return;
	}
	write_anew(&h, port, &out);
	if (url_parse_hostport(str_from(buf_text(&out)), &again, &port_again, why) < 0 ||
	    port != port_again || !is_same_host(&h, &again))
		BUG("a host and port that are written as others");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str text = { (const char *)data, n };

	fuzz_url(text);
	fuzz_hostport(text);
	return 0;
}
