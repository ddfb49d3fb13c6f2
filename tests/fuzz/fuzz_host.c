/* Hosts and patterns: what is accepted prints to text that reads alike. */
#include <stdint.h>

#include "policy/host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void fuzz_host(struct str text)
{
	cleanup_buf struct buf out = BUF(1024);
	struct host h, again;
	char why[HOST_WHY] = "";

	if (host_parse(text, &h, why) < 0) {
		if (!why[0])
			BUG("refused without a reason");
		return;
	}
	host_print(&h, &out);
	if (host_parse(str_from(buf_text(&out)), &again, why) < 0 || again.is_addr != h.is_addr ||
	    again.n != h.n || memcmp(again.name, h.name, h.n) != 0 ||
	    again.addr.is_v6 != h.addr.is_v6 ||
	    memcmp(again.addr.b, h.addr.b, sizeof(h.addr.b)) != 0)
		BUG("a host that prints to another one");
	if (h.is_addr)
		(void)host_addr_special(&h.addr);
}

static void fuzz_rule(struct str text)
{
	cleanup_arena struct arena a = ARENA(1 << 20);
	cleanup_buf struct buf out = BUF(1024);
	struct host_rule r, again, both;
	char why[HOST_WHY] = "";

	if (host_rule_parse(text, &a, &r, why) < 0) {
		if (!why[0])
			BUG("refused without a reason");
		return;
	}
	host_rule_print(&r, &out);
	if (host_rule_parse(str_from(buf_text(&out)), &a, &again, why) < 0 ||
	    host_rule_cmp(&r, &again) != 0)
		BUG("a pattern that prints to another one");
	if (!host_rule_covers(&r, &again) || !host_rule_meet(&r, &again, &both) ||
	    host_rule_cmp(&r, &both) != 0)
		BUG("a pattern that does not meet itself");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str text = { (const char *)data, n };

	fuzz_host(text);
	fuzz_rule(text);
	return 0;
}
