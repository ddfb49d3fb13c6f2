/* DNS questions: what clients send is read, the rest is told apart, and no two
 * names have the same text. */
#include "gate/dns.h"

#include "dns_message.h"
#include "policy/host.h"

/* What clients sent when they were asked for names; the ids are made up. */
static const struct {
	const char *client, *hex;
	const char *name;
	uint16_t type;
	bool has_edns, dnssec_ok, cd;
} sent[] = {
	{ "glibc 2.36", "39d7 0100 0001 0000 0000 0000 03617069 07616c6c6f776564 0474657374 00"
	  "0001 0001", "api.allowed.test", DNS_TYPE_A, .cd = false },
	{ "glibc with edns0 and trust-ad", "39d7 0120 0001 0000 0000 0001 03617069"
	  "07616c6c6f776564 0474657374 00 001c 0001 00 0029 04b0 00000000 0000",
	  "api.allowed.test", DNS_TYPE_AAAA, .has_edns = true },
	{ "musl 1.2.3", "0102 0100 0001 0000 0000 0000 026e6f 0474657374 00 001c 0001",
	  "no.test", DNS_TYPE_AAAA, .cd = false },
	{ "Go 1.19", "0102 0100 0001 0000 0000 0001 0135 0130 023138 03313938 07696e2d61646472"
	  "0461727061 00 000c 0001 00 0029 04d0 00000000 0000",
	  "5.0.18.198.in-addr.arpa", DNS_TYPE_PTR, .has_edns = true },
	{ "c-ares 1.20", "0102 0100 0001 0000 0000 0000 026e6f 0474657374 00 00ff 0001",
	  "no.test", DNS_TYPE_ANY, .cd = false },
	{ "dig 9.18", "0102 0120 0001 0000 0000 0001 0341704907416c4c6f576544047445735400"
	  "0001 0001 00 0029 04d0 00000000 000c 000a0008e474541141673c43",
	  "api.allowed.test", DNS_TYPE_A, .has_edns = true },
	{ "dig +dnssec", "0102 0120 0001 0000 0000 0001 026e6f047465737400 0001 0001"
	  "00 0029 04d0 00008000 000c 000a00083819d3df9b1c325d",
	  "no.test", DNS_TYPE_A, .has_edns = true, .dnssec_ok = true },
	{ "dig +cd +nord", "0102 0030 0001 0000 0000 0001 026e6f047465737400 0001 0001"
	  "00 0029 04d0 00000000 000c 000a0008d9cd206975f95edc",
	  "no.test", DNS_TYPE_A, .has_edns = true, .cd = true },
	{ "dig +subnet", "0102 0120 0001 0000 0000 0001 026e6f047465737400 0001 0001"
	  "00 0029 04d0 00000000 0015 00080005000108000a 000a00085949225ab03522d1",
	  "no.test", DNS_TYPE_A, .has_edns = true },
	{ "dig -t HTTPS", "0102 0120 0001 0000 0000 0001 026e6f047465737400 0041 0001"
	  "00 0029 04d0 00000000 000c 000a00081d09b4076ba5d561",
	  "no.test", DNS_TYPE_HTTPS, .has_edns = true },
	{ "dig without a name", "0102 0120 0001 0000 0000 0001 00 0002 0001 00 0029 04d0"
	  "00000000 000c 000a0008a751b8e7a30461e4", "", DNS_TYPE_NS, .has_edns = true },
};

static void test_what_clients_send(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(sent); i++) {
		const char *client = sent[i].client;
		struct message m = { 0 };
		struct dns_question q;

		message_add_hex(&m, sent[i].hex);
		is_int(message_parse(&m, &q), DNS_OK, "%s", client);
		is_text(q.name, sent[i].name, "%s", client);
		is_int(q.name_n, (int)strlen(sent[i].name), "%s: length", client);
		is_int(q.form, q.name_n ? DNS_NAME_HOST : DNS_NAME_ROOT, "%s: form", client);
		is_int(q.id, m.b[0] << 8 | m.b[1], "%s: id", client);
		is_int(q.type, sent[i].type, "%s: type", client);
		is_int(q.klass, DNS_CLASS_IN, "%s: class", client);
		is_int(q.has_edns, sent[i].has_edns, "%s: EDNS", client);
		is_int(q.dnssec_ok, sent[i].dnssec_ok, "%s: DO", client);
		is_int(q.cd, sent[i].cd, "%s: CD", client);
		is_int(q.rd, !sent[i].cd, "%s: RD", client);
		is_int(q.opcode, 0, "%s: opcode", client);
		ok(q.raw_n <= m.n - DNS_HEADER && !memcmp(q.raw, m.b + DNS_HEADER, q.raw_n),
		   "%s: [DQ2] the question as it came", client);
	}
}

/* Cut anywhere, or with a byte more, no message is a question. */
static void test_no_part_of_a_message_is_one(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(sent); i++) {
		struct message m = { 0 }, part;
		struct dns_question q;

		message_add_hex(&m, sent[i].hex);
		for (part = m, part.n = 0; part.n < m.n; part.n++)
			is_int(message_parse(&part, &q),
			       part.n < DNS_HEADER ? DNS_IGNORE : DNS_FORMERR,
			       "%s: the first %zu bytes", sent[i].client, part.n);
		message_add(&m, "", 1);
		is_int(message_parse(&m, &q), DNS_FORMERR, "%s: a byte more", sent[i].client);
	}
}

/* The rest of each message after the two bytes of its id. */
static const struct {
	const char *what, *hex;
	enum dns_fault want;
	bool has_question;
} faults[] = {
	{ "a response", "8180 0001 0000 0000 0000 0161 00 0001 0001", DNS_IGNORE, false },
	{ "a response that is an error", "8001 0000 0000 0000 0000", DNS_IGNORE, false },
	{ "an inverse query", "0900 0001 0000 0000 0000 0161 00 0001 0001", DNS_NOTIMP,
	  false },
	{ "NOTIFY", "2000 0001 0000 0000 0000 0161 00 0001 0001", DNS_NOTIMP, false },
	{ "UPDATE", "2800 0001 0000 0000 0000 0161 00 0001 0001", DNS_NOTIMP, false },
	{ "opcode 15", "7800 0000 0000 0000 0000", DNS_NOTIMP, false },
	{ "no question", "0100 0000 0000 0000 0000", DNS_FORMERR, false },
	{ "no question, but OPT", "0100 0000 0000 0000 0001 00 0029 04d0 00000000 0000",
	  DNS_FORMERR, false },
	{ "two questions", "0100 0002 0000 0000 0000 0161 00 0001 0001 0161 00 001c 0001",
	  DNS_FORMERR, false },
	{ "a truncated question", "0300 0001 0000 0000 0000 0161 00 0001 0001",
	  DNS_FORMERR, false },
	{ "a name that points to itself", "0100 0001 0000 0000 0000 c00c 0001 0001",
	  DNS_FORMERR, false },
	{ "a name that points into the header",
	  "0100 0001 0000 0000 0000 0161 c004 0001 0001", DNS_FORMERR, false },
	{ "a label of kind 01", "0100 0001 0000 0000 0000 4161 00 0001 0001", DNS_FORMERR,
	  false },
	{ "a label of kind 10", "0100 0001 0000 0000 0000 8161 00 0001 0001", DNS_FORMERR,
	  false },
	{ "a name without an end", "0100 0001 0000 0000 0000 0161 0162", DNS_FORMERR,
	  false },
	{ "an answer", "0100 0001 0001 0000 0000 0161 00 0001 0001"
	  "c00c 0001 0001 00000005 0004 01020304", DNS_FORMERR, true },
	{ "an authority", "0100 0001 0000 0001 0000 0161 00 0001 0001"
	  "c00c 0002 0001 00000005 0001 00", DNS_FORMERR, true },
	{ "an A record behind it", "0100 0001 0000 0000 0001 0161 00 0001 0001"
	  "00 0001 0001 00000005 0004 01020304", DNS_FORMERR, true },
	{ "TSIG behind it", "0100 0001 0000 0000 0001 0161 00 0001 0001"
	  "00 00fa 00ff 00000000 0000", DNS_FORMERR, true },
	{ "OPT with a name", "0100 0001 0000 0000 0001 0161 00 0001 0001"
	  "0161 00 0029 04d0 00000000 0000", DNS_FORMERR, true },
	{ "OPT with a pointer for a name", "0100 0001 0000 0000 0001 0161 00 0001 0001"
	  "c00e 0029 04d0 00000000 0000", DNS_FORMERR, true },
	{ "two OPTs", "0100 0001 0000 0000 0002 0161 00 0001 0001"
	  "00 0029 04d0 00000000 0000 00 0029 04d0 00000000 0000", DNS_FORMERR, true },
	{ "OPT among the answers", "0100 0001 0001 0000 0000 0161 00 0001 0001"
	  "00 0029 04d0 00000000 0000", DNS_FORMERR, true },
	{ "OPT that is not counted", "0100 0001 0000 0000 0000 0161 00 0001 0001"
	  "00 0029 04d0 00000000 0000", DNS_FORMERR, true },
	{ "OPT that is only counted", "0100 0001 0000 0000 0001 0161 00 0001 0001",
	  DNS_FORMERR, true },
	{ "an answer that is only counted",
	  "0100 0001 0001 0000 0000 0161 00 0001 0001", DNS_FORMERR, true },
	{ "an authority that is only counted",
	  "0100 0001 0000 0001 0000 0161 00 0001 0001", DNS_FORMERR, true },
	{ "two OPTs counted, one there", "0100 0001 0000 0000 0002 0161 00 0001 0001"
	  "00 0029 04d0 00000000 0000", DNS_FORMERR, true },
	{ "OPT with the length of a name", "0100 0001 0000 0000 0001 0161 00 0001 0001"
	  "05 0029 04d0 00000000 0000", DNS_FORMERR, true },
	{ "an option behind OPT", "0100 0001 0000 0000 0001 0161 00 0001 0001"
	  "00 0029 04d0 00000000 0000 000a0000", DNS_FORMERR, true },
	{ "OPT shorter than it says", "0100 0001 0000 0000 0001 0161 00 0001 0001"
	  "00 0029 04d0 00000000 0001", DNS_FORMERR, true },
	{ "half an option", "0100 0001 0000 0000 0001 0161 00 0001 0001"
	  "00 0029 04d0 00000000 0003 000a00", DNS_FORMERR, true },
	{ "an option that ends beyond OPT", "0100 0001 0000 0000 0001 0161 00 0001 0001"
	  "00 0029 04d0 00000000 0005 000a0002 00", DNS_FORMERR, true },
	{ "EDNS 1", "0100 0001 0000 0000 0001 0161 00 0001 0001"
	  "00 0029 04d0 00010000 0000", DNS_BADVERS, true },
	{ "EDNS 255 with what is no option", "0100 0001 0000 0000 0001 0161 00 0001 0001"
	  "00 0029 04d0 00ff0000 0001 ff", DNS_BADVERS, true },
	{ "EDNS 1 in another class", "0100 0001 0000 0000 0001 0161 00 0001 0003"
	  "00 0029 04d0 00010000 0000", DNS_BADVERS, true },
	{ "class CH", "0100 0001 0000 0000 0000 0161 00 0010 0003", DNS_REFUSED, true },
	{ "class ANY", "0100 0001 0000 0000 0000 0161 00 0001 00ff", DNS_REFUSED, true },
	{ "class 0", "0100 0001 0000 0000 0000 0161 00 0001 0000", DNS_REFUSED, true },
	{ "flags without a meaning", "06cf 0001 0000 0000 0000 0161 00 0001 0001",
	  DNS_FORMERR, false },
	{ "flags without a meaning but TC", "04ef 0001 0000 0000 0000 0161 00 0001 0001",
	  DNS_OK, true },
};

static void test_faults(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		struct message m = { 0 };
		struct dns_question q, before;

		memset(&q, 0x5a, sizeof(q));
		before = q;
		message_add_hex(&m, "1234");
		message_add_hex(&m, faults[i].hex);
		is_int(message_parse(&m, &q), faults[i].want, "%s", faults[i].what);
		if (faults[i].want == DNS_IGNORE) {
			ok(!memcmp(&q, &before, sizeof(q)), "%s: left alone", faults[i].what);
			continue;
		}
		is_int(q.id, 0x1234, "%s: id", faults[i].what);
		is_int(q.opcode, m.b[2] >> 3 & 15, "%s: opcode", faults[i].what);
		is_int(q.raw_n != 0, faults[i].has_question, "%s: question", faults[i].what);
		is_int(q.has_edns, faults[i].want == DNS_BADVERS, "%s: EDNS", faults[i].what);
	}
}

static void test_a_message_over_the_limit(void)
{
	struct message m;
	struct dns_question q;
	unsigned padding;

	for (unsigned over = 0; over < 2; over++) {
		message_ask(&m, "a.example", DNS_TYPE_A, NULL);
		m.b[11] = 1;
		padding = MAX_DNS_QUERY + over - (unsigned)m.n - 15;
		message_add_hex(&m, "00 0029 04d0 00000000");
		message_add_u16(&m, padding + 4);
		message_add_u16(&m, 12);
		message_add_u16(&m, padding);
		memset(m.b + m.n, 0, padding);
		m.n += padding;
		is_int((int)m.n, MAX_DNS_QUERY + (int)over, "size");
		is_int(message_parse(&m, &q), over ? DNS_FORMERR : DNS_OK, "%zu bytes", m.n);
	}
}

static void test_the_longest_names(void)
{
	char name[MAX_HOST_NAME + 3];
	struct message m;
	struct dns_question q;

	longest_name(name);
	message_ask(&m, name, DNS_TYPE_A, NULL);
	is_int(message_parse(&m, &q), DNS_OK, "253 bytes");
	is_text(q.name, name, "253 bytes");
	is_int(q.raw_n, DNS_MAX_QUESTION, "all of raw is used");

	memcpy(name + MAX_HOST_NAME, "a", 2);
	message_ask(&m, name, DNS_TYPE_A, NULL);
	is_int(message_parse(&m, &q), DNS_FORMERR, "254 bytes");
	is_int(q.raw_n, 0, "254 bytes: no question");
	is_text(q.name, "", "254 bytes: no name");

	for (size_t i = 0; i < MAX_HOST_NAME; i++)
		name[i] = i % 2 ? '.' : 'B';
	name[MAX_HOST_NAME] = '\0';
	message_ask(&m, name, DNS_TYPE_A, NULL);
	is_int(message_parse(&m, &q), DNS_OK, "127 labels");
	is_int(q.name_n, MAX_HOST_NAME, "127 labels");
	memcpy(name + MAX_HOST_NAME, ".b", 3);
	message_ask(&m, name, DNS_TYPE_A, NULL);
	is_int(message_parse(&m, &q), DNS_FORMERR, "128 labels");
	name[MAX_HOST_NAME] = '\0';

	memset(name, 'c', 64);
	name[63] = '\0';
	message_ask(&m, name, DNS_TYPE_A, NULL);
	is_int(message_parse(&m, &q), DNS_OK, "a label of 63 bytes");
	memcpy(name + 63, "c", 2);
	message_ask(&m, name, DNS_TYPE_A, NULL);
	is_int(message_parse(&m, &q), DNS_FORMERR, "a label of 64 bytes");
}

static bool is_host_byte(unsigned c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_';
}

/* [DQ1] Of all bytes only those of host names get into a text, and only upper
 * and lower case share one. */
static void test_every_byte_in_a_label(void)
{
	bool seen[256] = { false };

	for (unsigned c = 0; c < 256; c++) {
		struct message m;
		struct dns_question q;

		message_ask(&m, "x?y.example", DNS_TYPE_A, NULL);
		m.b[DNS_HEADER + 2] = (unsigned char)c;
		is_int(message_parse(&m, &q), DNS_OK, "byte %u", c);
		is_int(q.form, is_host_byte(c) ? DNS_NAME_HOST : DNS_NAME_OTHER, "byte %u", c);
		is_int(q.name_n, is_host_byte(c) ? 11 : 0, "byte %u", c);
		is_int((int)strlen(q.name), q.name_n, "byte %u", c);
		is_int(q.raw[2], (int)c, "byte %u is repeated as it is", c);
		if (q.form != DNS_NAME_HOST)
			continue;
		ok(!seen[(unsigned char)q.name[1]] || (c >= 'a' && c <= 'z'), "byte %u", c);
		seen[(unsigned char)q.name[1]] = true;
	}
}

/* What the text of another name could be taken for. */
static void test_names_that_no_host_has(void)
{
	static const struct { const char *hex, *shown; } rows[] = {
		{ "0b 6170692e616c6c6f776564 04 74657374 00", "api\\046allowed.test" },
		{ "04 61706900 07 616c6c6f776564 00", "api\\000.allowed" },
		{ "01 00 00", "\\000" },
		{ "01 2e 00", "\\046" },
		{ "01 2a 07 6578616d706c65 00", "\\042.example" },
		{ "02 6120 00", "a\\032" },
		{ "05 62c3bc6368 00", "b\\195\\188ch" },
		{ "04 30 2f 3235 03 6e6574 00", "0\\04725.net" },
		{ "01 5c 00", "\\092" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_buf struct buf shown = BUF(2048);
		struct message m;
		struct dns_question q;

		message_begin(&m, 0x0100, 1, 0);
		message_add_hex(&m, rows[i].hex);
		message_add_hex(&m, "0001 0001");
		is_int(message_parse(&m, &q), DNS_OK, "%s", rows[i].shown);
		is_int(q.form, DNS_NAME_OTHER, "%s", rows[i].shown);
		is_text(q.name, "", "%s", rows[i].shown);
		dns_question_print_name(&q, &shown);
		is_text(buf_text(&shown), rows[i].shown, "shown");
	}
}

static void test_names_are_shown_as_asked(void)
{
	static const struct { const char *name, *shown; } rows[] = {
		{ "", "." }, { "a", "a" }, { "ApI.Allowed.TEST", "ApI.Allowed.TEST" },
		{ "_dns.-x.test", "_dns.-x.test" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_buf struct buf shown = BUF(2048);
		struct message m;
		struct dns_question q;

		message_ask(&m, rows[i].name, DNS_TYPE_A, NULL);
		is_int(message_parse(&m, &q), DNS_OK, "%s", rows[i].shown);
		dns_question_print_name(&q, &shown);
		is_text(buf_text(&shown), rows[i].shown, "shown");
	}
}

/* A name that the policy takes for one is in its canonical form already. */
static void test_names_are_canonical_hosts(void)
{
	static const struct { const char *name; bool is_host; } rows[] = {
		{ "API.Example.com", true }, { "_sip._tcp.example", true }, { "localhost", true },
		{ "XN--BCHER-KVA.example", true }, { "5.0.18.198.in-addr.arpa", true },
		{ "xn--a-.example", false }, { "-a.example", false }, { "a-.example", false },
		{ "127.0.0.1", false }, { "127.1", false }, { "0x7f.1", false },
		{ "2130706433", false }, { "1.2.3.4.5", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char why[HOST_WHY];
		struct message m;
		struct dns_question q;
		struct host h;
		bool is_host;

		message_ask(&m, rows[i].name, DNS_TYPE_A, NULL);
		is_int(message_parse(&m, &q), DNS_OK, "%s", rows[i].name);
		is_int(q.form, DNS_NAME_HOST, "%s", rows[i].name);
		is_host = host_parse((struct str){ q.name, q.name_n }, &h, why) == 0 && !h.is_addr;
		is_int(is_host, rows[i].is_host, "%s", rows[i].name);
		if (is_host)
			is_text(h.name, q.name, "the same text");
	}
}

static void test_the_size_a_client_takes(void)
{
	static const struct { const char *opt; int want; } rows[] = {
		{ NULL, DNS_MIN_UDP },
		{ "00 0029 0000 00000000 0000", DNS_MIN_UDP },
		{ "00 0029 01ff 00000000 0000", DNS_MIN_UDP },
		{ "00 0029 0200 00000000 0000", DNS_MIN_UDP },
		{ "00 0029 0201 00000000 0000", 513 },
		{ "00 0029 ffff 00000000 0000", MAX_DNS_ANSWER },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct message m;
		struct dns_question q;

		message_ask(&m, "a.example", DNS_TYPE_A, rows[i].opt);
		is_int(message_parse(&m, &q), DNS_OK, "row %zu", i);
		is_int((int)dns_question_udp_max(&q), rows[i].want, "row %zu", i);
	}
}

static void test_types_have_names(void)
{
	is_text(dns_type_find_name(DNS_TYPE_A), "A", "1");
	is_text(dns_type_find_name(28), "AAAA", "28");
	is_text(dns_type_find_name(65), "HTTPS", "65");
	is_text(dns_type_find_name(255), "ANY", "255");
	is_text(dns_type_find_name(0), NULL, "0");
	is_text(dns_type_find_name(65535), NULL, "65535");
}

static void test_reverse_names(void)
{
	static const struct { const char *name, *want; } rows[] = {
		{ "5.0.18.198.in-addr.arpa", "198.18.0.5" },
		{ "255.255.255.255.in-addr.arpa", "255.255.255.255" },
		{ "0.0.0.0.in-addr.arpa", "0.0.0.0" },
		{ "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa",
		  "2001:db8::1" },
		{ "f.e.d.c.b.a.9.8.7.6.5.4.3.2.1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.e.f.ip6.arpa",
		  "fe80::123:4567:89ab:cdef" },
		{ "in-addr.arpa", NULL },
		{ ".in-addr.arpa", NULL },
		{ "0.18.198.in-addr.arpa", NULL },
		{ "1.5.0.18.198.in-addr.arpa", NULL },
		{ "5.0.18.256.in-addr.arpa", NULL },
		{ "05.0.18.198.in-addr.arpa", NULL },
		{ "5.0.18.0198.in-addr.arpa", NULL },
		{ "5.00.18.198.in-addr.arpa", NULL },
		{ "5..18.198.in-addr.arpa", NULL },
		{ "5.0.18.198.in-addr.arpa.example", NULL },
		{ "5.0.18.198xin-addr.arpa", NULL },
		{ "a.0.18.198.in-addr.arpa", NULL },
		{ "-1.0.18.198.in-addr.arpa", NULL },
		{ "0.18.198.ip6.arpa", NULL },
		{ "ip6.arpa", NULL },
		{ "g.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa",
		  NULL },
		{ "0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa", NULL },
		{ "00.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa",
		  NULL },
		{ "0.1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa",
		  NULL },
		{ "api.example.com", NULL },
		{ "", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_buf struct buf text = BUF(100);
		struct dns_addr a;
		struct host_addr h = { 0 };

		memset(&a, 0x5a, sizeof(a));
		if (!dns_reverse_parse(str_from(rows[i].name), &a)) {
			ok(!rows[i].want, "'%s' is an address", rows[i].name);
			is_int(a.b[15], 0x5a, "left alone");
			continue;
		}
		h.is_v6 = a.is_v6;
		memcpy(h.b, a.b, sizeof(h.b));
		host_addr_print(&h, &text);
		is_text(buf_text(&text), rows[i].want, "'%s'", rows[i].name);
	}
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_what_clients_send),
		TAP(test_no_part_of_a_message_is_one),
		TAP(test_faults),
		TAP(test_a_message_over_the_limit),
		TAP(test_the_longest_names),
		TAP(test_every_byte_in_a_label),
		TAP(test_names_that_no_host_has),
		TAP(test_names_are_shown_as_asked),
		TAP(test_names_are_canonical_hosts),
		TAP(test_the_size_a_client_takes),
		TAP(test_types_have_names),
		TAP(test_reverse_names),
		TAP_END,
	});
}
