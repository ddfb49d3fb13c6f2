/* DNS answers: byte by byte as the protocol has them, and as the C library of
 * the machine reads them. */
#include "gate/dns_answer.h"

#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <netinet/in.h>
#include <resolv.h>

#include "dns_message.h"

#define EDNS		"00 0029 04d0 00000000 0000"
#define EDNS_DO		"00 0029 04d0 00008000 0000"

static const unsigned char synthetic[4] = { 198, 18, 0, 5 };

/* Every way to answer, to the same question. */
static size_t answer(int kind, const struct dns_question *q, void *out, size_t max)
{
	switch (kind) {
	case 0:
		return dns_answer_addr(q, synthetic, 5, out, max);
	case 1:
		return dns_answer_ptr(q, STR("api.allowed.test"), 5, out, max);
	case 2:
		return dns_answer_nodata(q, out, max);
	case 3:
		return dns_answer_nxdomain(q, STR("not in the policy"), out, max);
	case 4:
		return dns_answer_nxdomain(q, STR(""), out, max);
	default:
		return dns_answer_error(q, (enum dns_fault)(DNS_FORMERR + kind - 5), out, max);
	}
}
#define N_KINDS	(5 + N_DNS_FAULTS - DNS_FORMERR)

static void ask(const char *name, unsigned type, const char *opt, struct dns_question *ret)
{
	struct message m;

	message_ask(&m, name, type, opt);
	is_int(message_parse(&m, ret), DNS_OK, "%s", name);
}

static void is_hex(const unsigned char *got, size_t n, const char *want, const char *what)
{
	struct message m = { 0 };

	message_add_hex(&m, want);
	if (ok(n == m.n && !memcmp(got, m.b, n), "%s", what))
		return;
	printf("# got ");
	for (size_t i = 0; i < n; i++)
		printf("%02x", got[i]);
	printf("\n");
}

static void test_answers_byte_by_byte(void)
{
	static const struct { const char *what, *opt; int kind; const char *want; } rows[] = {
		{ "an address", NULL, 0, "1234 8180 0001 0001 0000 0000 024E6f 0474657374 00"
		  "0001 0001 c00c 0001 0001 00000005 0004 c6120005" },
		{ "an address with EDNS", EDNS, 0, "1234 8180 0001 0001 0000 0001"
		  "024E6f 0474657374 00 0001 0001 c00c 0001 0001 00000005 0004 c6120005"
		  "00 0029 1000 00000000 0000" },
		{ "a name", EDNS, 1, "1234 8180 0001 0001 0000 0001"
		  "024E6f 0474657374 00 0001 0001 c00c 000c 0001 00000005 0012"
		  "03617069 07616c6c6f776564 0474657374 00 00 0029 1000 00000000 0000" },
		{ "no data", NULL, 2, "1234 8180 0001 0000 0000 0000 024E6f 0474657374 00"
		  "0001 0001" },
		{ "no data, DO", EDNS_DO, 2, "1234 8180 0001 0000 0000 0001 024E6f 0474657374 00"
		  "0001 0001 00 0029 1000 00008000 0000" },
		{ "no name", NULL, 3, "1234 8183 0001 0000 0000 0000 024E6f 0474657374 00"
		  "0001 0001" },
		{ "no name, blocked", EDNS, 3, "1234 8183 0001 0000 0000 0001"
		  "024E6f 0474657374 00 0001 0001 00 0029 1000 00000000 0017 000f 0013 000f"
		  "6e6f7420696e2074686520706f6c696379" },
		{ "no name, blocked without a reason", EDNS, 4, "1234 8183 0001 0000 0000 0001"
		  "024E6f 0474657374 00 0001 0001 00 0029 1000 00000000 0006 000f 0002 000f" },
		{ "FORMERR", EDNS, 5, "1234 8181 0001 0000 0000 0001 024E6f 0474657374 00"
		  "0001 0001 00 0029 1000 00000000 0000" },
		{ "NOTIMP", EDNS, 6, "1234 8184 0001 0000 0000 0001 024E6f 0474657374 00"
		  "0001 0001 00 0029 1000 00000000 0000" },
		{ "BADVERS", EDNS, 7, "1234 8180 0001 0000 0000 0001 024E6f 0474657374 00"
		  "0001 0001 00 0029 1000 01000000 0000" },
		{ "REFUSED", EDNS, 8, "1234 8185 0001 0000 0000 0001 024E6f 0474657374 00"
		  "0001 0001 00 0029 1000 00000000 0000" },
		{ "SERVFAIL", NULL, 9, "1234 8182 0001 0000 0000 0000 024E6f 0474657374 00"
		  "0001 0001" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		unsigned char out[MAX_DNS_ANSWER];
		struct dns_question q;
		size_t n;

		ask("No.test", DNS_TYPE_A, rows[i].opt, &q);
		n = answer(rows[i].kind, &q, out, sizeof(out));
		is_hex(out, n, rows[i].want, rows[i].what);
	}
}

/* Header bits of the question that come back, and those that do not. */
static void test_flags_of_the_question(void)
{
	static const struct { unsigned asked, answered; } rows[] = {
		{ 0x0000, 0x8080 }, { 0x0100, 0x8180 }, { 0x0010, 0x8090 }, { 0x0130, 0x8190 },
		{ 0x04ef, 0x8080 }, { 0x2100, 0xa184 }, { 0x7800, 0xf884 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		unsigned char out[MAX_DNS_ANSWER];
		struct message m;
		struct dns_question q;
		enum dns_fault fault;
		size_t n;

		message_begin(&m, rows[i].asked, 1, 0);
		message_add_hex(&m, "0161 00 0001 0001");
		fault = message_parse(&m, &q);
		n = fault ? dns_answer_error(&q, fault, out, sizeof(out)) :
			    dns_answer_nodata(&q, out, sizeof(out));
		is_int((int)n, fault ? DNS_HEADER : (int)m.n, "length for %04x", rows[i].asked);
		is_int(out[2] << 8 | out[3], (int)rows[i].answered, "flags %04x", rows[i].asked);
	}
}

/* Letters come back in the case they had; clients check it (0x20). */
static void test_case_is_repeated(void)
{
	unsigned char out[MAX_DNS_ANSWER];
	struct dns_question q;

	for (unsigned bits = 0; bits < 1 << 6; bits++) {
		char name[] = "apples.test";

		for (unsigned i = 0; i < 6; i++)
			if (bits >> i & 1)
				name[i] = (char)(name[i] & ~0x20);
		ask(name, DNS_TYPE_A, NULL, &q);
		is_text(q.name, "apples.test", "%s", name);
		is_int((int)dns_answer_addr(&q, synthetic, 5, out, sizeof(out)), 45, "%s", name);
		ok(!memcmp(out + DNS_HEADER + 1, name, 6), "%s", name);
	}
}

/* What glibc's reader finds in an answer. */
static void test_the_c_library_reads_them(void)
{
	for (int kind = 0; kind < N_KINDS; kind++) {
		for (int edns = 0; edns < 2; edns++) {
			unsigned char out[MAX_DNS_ANSWER];
			struct dns_question q;
			char target[NS_MAXDNAME];
			ns_msg msg;
			ns_rr rr;
			size_t n;

			ask("Api.Allowed.test", DNS_TYPE_A, edns ? EDNS : NULL, &q);
			n = answer(kind, &q, out, sizeof(out));
			if (!ok(ns_initparse(out, (int)n, &msg) == 0, "kind %d is whole", kind))
				continue;
			is_int(ns_msg_id(msg), 0x1234, "kind %d: id", kind);
			is_int(ns_msg_getflag(msg, ns_f_qr), 1, "kind %d: QR", kind);
			is_int(ns_msg_getflag(msg, ns_f_tc), 0, "kind %d: TC", kind);
			is_int(ns_msg_count(msg, ns_s_an), kind < 2, "kind %d: answers", kind);
			is_int(ns_msg_count(msg, ns_s_ns), 0, "kind %d: authorities", kind);
			is_int(ns_msg_count(msg, ns_s_ar), edns, "kind %d: OPT", kind);
			is_int(ns_parserr(&msg, ns_s_qd, 0, &rr), 0, "kind %d: question", kind);
			is_text(ns_rr_name(rr), "Api.Allowed.test", "kind %d: name", kind);
			is_int(edns ? ns_parserr(&msg, ns_s_ar, 0, &rr) : 0, 0, "kind %d", kind);
			is_int(edns ? ns_rr_type(rr) : ns_t_opt, ns_t_opt, "kind %d", kind);
			if (kind > 1)
				continue;
			is_int(ns_parserr(&msg, ns_s_an, 0, &rr), 0, "kind %d: answer", kind);
			is_text(ns_rr_name(rr), "Api.Allowed.test", "kind %d: owner", kind);
			is_int(ns_rr_type(rr), kind ? ns_t_ptr : ns_t_a, "kind %d: type", kind);
			is_int(ns_rr_ttl(rr), 5, "kind %d: TTL", kind);
			if (kind == 0) {
				ok(ns_rr_rdlen(rr) == 4 && !memcmp(ns_rr_rdata(rr), synthetic, 4),
				   "the address");
				continue;
			}
			ok(ns_name_uncompress(out, out + n, ns_rr_rdata(rr), target,
					      sizeof(target)) == ns_rr_rdlen(rr), "the name");
			is_text(target, "api.allowed.test", "the name");
		}
	}
}

/* An answer without its QR bit is a question again if it has no record: the
 * same one. */
static void test_answers_read_as_the_question(void)
{
	static const char *const names[] = { "", "a", "API.example", "x y.test" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		for (int edns = 0; edns < 2; edns++) {
			struct message m = { 0 };
			struct dns_question q, again;

			ask(names[i], DNS_TYPE_TXT, edns ? EDNS_DO : NULL, &q);
			m.n = dns_answer_nodata(&q, m.b, sizeof(m.b));
			m.b[2] &= 0x7f;
			is_int(message_parse(&m, &again), DNS_OK, "'%s'", names[i]);
			again.udp_size = q.udp_size;
			ok(!memcmp(&q, &again, sizeof(q)), "'%s'", names[i]);
		}
	}
}

/* With less and less room: never beyond it, whole for a reader, TC when more
 * than the reason is missing. */
static void test_every_size_of_buffer(void)
{
	for (int kind = 0; kind < N_KINDS; kind++) {
		unsigned char whole[MAX_DNS_ANSWER];
		struct dns_question q;
		size_t full;

		ask("Api.Allowed.test", DNS_TYPE_A, EDNS, &q);
		full = answer(kind, &q, whole, sizeof(whole));
		for (size_t max = 0; max <= full; max++) {
			unsigned char *out = malloc(max ? max : 1);
			size_t n = answer(kind, &q, out, max);
			bool lacks_reason_only = (kind == 3 || kind == 4) && max >= 12 + 22 + 11;
			ns_msg msg;

			ok(n <= max && (n == 0) == (max < DNS_HEADER), "%d: %zu in %zu", kind, n,
			   max);
			if (n) {
				is_int(ns_initparse(out, (int)n, &msg), 0, "%d in %zu", kind, max);
				is_int(ns_msg_getflag(msg, ns_f_tc),
				       max < full && !lacks_reason_only, "%d in %zu", kind, max);
			}
			free(out);
		}
	}
}

static void test_the_longest_of_all(void)
{
	char name[MAX_HOST_NAME + 1], reason[MAX_DNS_REASON + 2];
	unsigned char out[MAX_DNS_ANSWER];
	struct dns_question q;
	ns_msg msg;
	size_t n;

	longest_name(name);
	memset(reason, 'r', sizeof(reason));
	ask(name, DNS_TYPE_PTR, EDNS, &q);
	n = dns_answer_ptr(&q, str_from(name), 5, out, MAX_DNS_ANSWER);
	is_int((int)n, 549, "a name about a name");
	is_int(ns_initparse(out, (int)n, &msg), 0, "read again");
	is_int(ns_msg_getflag(msg, ns_f_tc), 0, "it is whole");
	n = dns_answer_ptr(&q, str_from(name), 5, out, DNS_MIN_UDP);
	is_int(ns_initparse(out, (int)n, &msg), 0, "read again");
	is_int(ns_msg_getflag(msg, ns_f_tc), 1, "it is cut");
	is_int(ns_msg_count(msg, ns_s_an), 0, "without its record");
	is_int(ns_msg_count(msg, ns_s_qd), 1, "with its question");

	n = dns_answer_nxdomain(&q, (struct str){ reason, MAX_DNS_REASON }, out, DNS_MIN_UDP);
	is_int((int)n, 12 + 259 + 11 + 6 + MAX_DNS_REASON, "a reason of the longest kind");
	is_int(ns_initparse(out, (int)n, &msg), 0, "read again");
	is_int(ns_msg_getflag(msg, ns_f_tc), 0, "it is whole");
	n = dns_answer_nxdomain(&q, (struct str){ reason, MAX_DNS_REASON + 1 }, out, DNS_MIN_UDP);
	is_int((int)n, 12 + 259 + 11 + 6, "a longer one is left out");
	is_int(ns_initparse(out, (int)n, &msg), 0, "read again");
}

static void test_what_is_no_name_is_not_told(void)
{
	char longer[MAX_HOST_NAME + 3], label[MAX_HOST_LABEL + 2];
	const char *const names[] = { "", ".", "a.", ".a", "a..b", label, longer };

	longest_name(longer);
	memcpy(longer + MAX_HOST_NAME, "a", 2);
	memset(label, 'a', sizeof(label));
	label[sizeof(label) - 1] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		unsigned char out[MAX_DNS_ANSWER];
		struct dns_question q;
		size_t n;

		ask("5.0.18.198.in-addr.arpa", DNS_TYPE_PTR, NULL, &q);
		n = dns_answer_ptr(&q, str_from(names[i]), 5, out, sizeof(out));
		is_int((int)n, DNS_HEADER + q.raw_n, "'%s'", names[i]);
		is_int(out[3] & 15, 2, "'%s' is SERVFAIL", names[i]);
	}
}

/* A question that was not understood is not repeated, nor answered with a
 * record. */
static void test_no_answer_to_no_question(void)
{
	unsigned char out[MAX_DNS_ANSWER];
	struct message m;
	struct dns_question q;

	message_begin(&m, 0x0100, 2, 0);
	is_int(message_parse(&m, &q), DNS_FORMERR, "two questions that are not there");
	is_int((int)dns_answer_error(&q, DNS_FORMERR, out, sizeof(out)), DNS_HEADER, "its header");
	is_hex(out, DNS_HEADER, "1234 8181 0000 0000 0000 0000", "FORMERR");
	is_int((int)dns_answer_addr(&q, synthetic, 5, out, sizeof(out)), DNS_HEADER, "no record");
	is_hex(out, DNS_HEADER, "1234 8380 0000 0000 0000 0000", "truncated");
	is_int((int)dns_answer_error(&q, DNS_OK, out, sizeof(out)), DNS_HEADER, "no fault");
	is_int(out[3] & 15, 2, "is SERVFAIL");
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_answers_byte_by_byte),
		TAP(test_flags_of_the_question),
		TAP(test_case_is_repeated),
		TAP(test_the_c_library_reads_them),
		TAP(test_answers_read_as_the_question),
		TAP(test_every_size_of_buffer),
		TAP(test_the_longest_of_all),
		TAP(test_what_is_no_name_is_not_told),
		TAP(test_no_answer_to_no_question),
		TAP_END,
	});
}
