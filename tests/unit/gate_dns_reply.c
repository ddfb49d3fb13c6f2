/* DNS as a client: what is asked, and what of a reply counts. */
#include "gate/dns_reply.h"

#include "dns_message.h"
#include "tap.h"

#define NAME	"01 61 04 74 65 73 74 00"	/* a.test */

static void test_asked(void)
{
	static const unsigned char want[] = { 0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 'a', 4,
					      't', 'e', 's', 't', 0, 0, 28, 0, 1 };
	char long_label[80] = "", long_name[300] = "";
	struct dns_asked out = { .n = 77 };

	ok(dns_ask(0x1234, STR("a.test"), DNS_TYPE_AAAA, &out) && out.n == sizeof(want) &&
	   memcmp(out.b, want, out.n) == 0, "a.test");
	out.n = 77;
	memset(long_label, 'a', 64);
	memset(long_name, 'a', 254);
	ok(!dns_ask(1, str_from(long_label), DNS_TYPE_A, &out), "a label of 64");
	ok(!dns_ask(1, str_from(long_name), DNS_TYPE_A, &out), "a name of 254");
	for (size_t i = 63; i < 253; i += 64)
		long_name[i] = '.';
	long_name[253] = '\0';
	ok(!dns_ask(1, STR(""), DNS_TYPE_A, &out), "no name");
	ok(!dns_ask(1, STR("a..b"), DNS_TYPE_A, &out), "an empty label");
	ok(!dns_ask(1, STR("a."), DNS_TYPE_A, &out), "a dot at the end");
	ok(out.n == 77, "nothing is given back for those");
	ok(dns_ask(1, str_from(long_name), DNS_TYPE_A, &out) && out.n == sizeof(out.b),
	   "a name of 253");
}

static const struct {
	const char *what, *hex;
	enum dns_reply want;
	size_t n;
} rows[] = {
	{ "one address", "1234 8180 0001 0001 0000 0000" NAME "0001 0001"
	  "c00c 0001 0001 0000003c 0004 c0000201", DNS_REPLY_ADDRS, 1 },
	{ "letters in another case", "1234 8180 0001 0001 0000 0000 01 41 04 74 45 73 74 00"
	  "0001 0001 c00c 0001 0001 0000003c 0004 c0000201", DNS_REPLY_ADDRS, 1 },
	{ "behind an alias, with a name that is written out, and one of another type",
	  "1234 8180 0001 0004 0000 0000" NAME "0001 0001"
	  "c00c 0005 0001 0000003c 0004 01 62 c0 0e"
	  "01 62 c00e 0001 0001 0000003c 0004 c0000201"
	  "01 62 04 74 65 73 74 00 0001 0001 0000003c 0004 c0000202"
	  "c00c 001c 0001 0000003c 0010 20010db8000000000000000000000001", DNS_REPLY_ADDRS, 2 },
	{ "more than there is room for", "1234 8180 0001 0003 0000 0000" NAME "0001 0001"
	  "c00c 0001 0001 0000003c 0004 c0000201 c00c 0001 0001 0000003c 0004 c0000202"
	  "c00c 0001 0001 0000003c 0004 c0000203", DNS_REPLY_ADDRS, 2 },
	{ "of another class", "1234 8180 0001 0001 0000 0000" NAME "0001 0001"
	  "c00c 0001 0003 0000003c 0004 c0000201", DNS_REPLY_ADDRS, 0 },
	{ "none of this type", "1234 8180 0001 0000 0000 0000" NAME "0001 0001",
	  DNS_REPLY_ADDRS, 0 },
	{ "no such name", "1234 8183 0001 0000 0000 0000" NAME "0001 0001", DNS_REPLY_ADDRS, 0 },
	{ "cut", "1234 8380 0001 0000 0000 0000" NAME "0001 0001", DNS_REPLY_CUT, 0 },
	{ "SERVFAIL", "1234 8182 0001 0000 0000 0000" NAME "0001 0001", DNS_REPLY_FAILED, 0 },
	{ "FORMERR without the question", "1234 8181 0000 0000 0000 0000", DNS_REPLY_FAILED, 0 },
	/* not to this question */
	{ "another id", "1235 8180 0001 0001 0000 0000" NAME "0001 0001"
	  "c00c 0001 0001 0000003c 0004 c0000201", DNS_REPLY_OTHER, 0 },
	{ "a question", "1234 0100 0001 0000 0000 0000" NAME "0001 0001", DNS_REPLY_OTHER, 0 },
	{ "another act", "1234 a980 0001 0000 0000 0000" NAME "0001 0001", DNS_REPLY_OTHER, 0 },
	{ "another name", "1234 8180 0001 0000 0000 0000 01 62 04 74 65 73 74 00 0001 0001",
	  DNS_REPLY_OTHER, 0 },
	{ "another type", "1234 8180 0001 0000 0000 0000" NAME "001c 0001", DNS_REPLY_OTHER, 0 },
	{ "no question, and no error", "1234 8180 0000 0000 0000 0000", DNS_REPLY_OTHER, 0 },
	{ "two questions", "1234 8180 0002 0000 0000 0000" NAME "0001 0001" NAME "0001 0001",
	  DNS_REPLY_OTHER, 0 },
	{ "half a header", "1234 8180 0001", DNS_REPLY_OTHER, 0 },
	{ "nothing", "", DNS_REPLY_OTHER, 0 },
	/* not whole */
	{ "a record that is missing", "1234 8180 0001 0002 0000 0000" NAME "0001 0001"
	  "c00c 0001 0001 0000003c 0004 c0000201", DNS_REPLY_FAILED, 0 },
	{ "an address of three bytes", "1234 8180 0001 0001 0000 0000" NAME "0001 0001"
	  "c00c 0001 0001 0000003c 0003 c00002", DNS_REPLY_FAILED, 0 },
	{ "data beyond the end", "1234 8180 0001 0001 0000 0000" NAME "0001 0001"
	  "c00c 0001 0001 0000003c 0004 c00002", DNS_REPLY_FAILED, 0 },
	{ "a name without an end", "1234 8180 0001 0001 0000 0000" NAME "0001 0001 3f61",
	  DNS_REPLY_FAILED, 0 },
	{ "half a pointer", "1234 8180 0001 0001 0000 0000" NAME "0001 0001 c0", DNS_REPLY_FAILED,
	  0 },
	{ "a length of no kind", "1234 8180 0001 0001 0000 0000" NAME "0001 0001"
	  "80 0001 0001 0000003c 0004 c0000201", DNS_REPLY_FAILED, 0 },
};

static void test_replies(void)
{
	struct dns_asked asked;

	if (!dns_ask(0x1234, STR("a.test"), DNS_TYPE_A, &asked))
		BUG("no question");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct host_addr addrs[3] = { 0 };
		const struct host_addr none = { 0 };
		struct message m = { 0 };
		size_t n = 77;

		message_add_hex(&m, rows[i].hex);
		ok(dns_reply_parse(m.b, m.n, &asked, addrs, 2, &n) == rows[i].want &&
		   n == (rows[i].want == DNS_REPLY_ADDRS ? rows[i].n : 77) &&
		   memcmp(&addrs[2], &none, sizeof(none)) == 0, "%s", rows[i].what);
		if (rows[i].n)
			ok(!addrs[0].is_v6 && memcmp(addrs[0].b, "\300\0\2\1", 4) == 0,
			   "%s: which", rows[i].what);
	}
}

int main(void)
{
	return tap_run((struct tap_case[]){ TAP(test_asked), TAP(test_replies), TAP_END });
}
