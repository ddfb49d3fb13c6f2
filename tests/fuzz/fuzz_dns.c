/* DNS: the bytes as a question with every answer to it, as a TCP stream cut
 * into pieces, as what a server replies to us, and as the text of a reverse name. */
#include <stdio.h>
#include <stdlib.h>

#include "gate/dns_answer.h"
#include "gate/dns_reply.h"
#include "gate/dns_stream.h"
#include "policy/host.h"
#include "target.h"

/* The labels of a name's text are those of the question but for their case. */
static void check_name(const struct dns_question *q)
{
	char why[HOST_WHY];
	struct host h;
	size_t at = 0, i = 0;

	if (q->name[q->name_n] || strlen(q->name) != q->name_n)
		BUG("a name with a NUL inside");
	if (q->form != DNS_NAME_HOST) {
		if (q->name_n)
			BUG("[DQ1] a name that is none");
		return;
	}
	while (q->raw[at]) {
		for (size_t n = q->raw[at++]; n; n--, i++, at++)
			if (q->raw[at] != q->name[i] && (q->raw[at] | 0x20) != q->name[i])
				BUG("[DQ1] another name");
		if (q->name[i] != (q->raw[at] ? '.' : '\0'))
			BUG("[DQ1] a name with other labels");
		i += q->raw[at] != 0;
	}
	if (at + 5 != q->raw_n)
		BUG("[DQ2] a question of another length");
	if (host_parse((struct str){ q->name, q->name_n }, &h, why) == 0 && !h.is_addr &&
	    strcmp(h.name, q->name) != 0)
		BUG("a host with a name in another form");
}

static void check_answer(const struct dns_question *q, const unsigned char *out, size_t n,
			 size_t max)
{
	if (n > max || (n == 0) != (max < DNS_HEADER))
		BUG("an answer of a wrong length");
	if (!n)
		return;
	if ((out[0] << 8 | out[1]) != q->id || !(out[2] & 0x80) ||
	    (out[2] >> 3 & 15) != q->opcode || (out[2] & 1) != q->rd)
		BUG("an answer to another question");
	if (out[5] && (q->raw_n > n - DNS_HEADER || memcmp(out + DNS_HEADER, q->raw, q->raw_n)))
		BUG("a question that is repeated otherwise");
	if (!(out[2] & 2) && (out[5] != (q->raw_n != 0) || out[11] != q->has_edns))
		BUG("an answer that lacks something and does not say so");
}

/* Written where a sanitizer sees the first byte beyond. */
static void fuzz_answers(const struct dns_question *q, enum dns_fault fault, size_t max)
{
	static const unsigned char addr[4] = { 198, 18, 0, 5 };
	unsigned char *out = malloc(max ? max : 1);
	struct str name = { q->name, q->name_n };

	if (!out)
		return;
	if (fault) {
		check_answer(q, out, dns_answer_error(q, fault, out, max), max);
	} else {
		check_answer(q, out, dns_answer_addr(q, addr, q->id, out, max), max);
		check_answer(q, out, dns_answer_ptr(q, name, q->id, out, max), max);
		check_answer(q, out, dns_answer_nxdomain(q, name, out, max), max);
		check_answer(q, out, dns_answer_nodata(q, out, max), max);
	}
	free(out);
}

/* Without its QR bit an answer without a record asks the same. */
static void fuzz_again(const struct dns_question *q)
{
	unsigned char out[MAX_DNS_ANSWER];
	size_t n = dns_answer_nodata(q, out, sizeof(out));
	struct dns_question again;

	out[2] &= 0x7f;
	if (dns_question_parse(out, n, &again) != DNS_OK)
		BUG("an answer that is no message");
	again.udp_size = q->udp_size;
	if (memcmp(q, &again, sizeof(again)) != 0)
		BUG("an answer that repeats another question");
}

static void fuzz_question(const uint8_t *data, size_t n)
{
	cleanup_buf struct buf shown = BUF(4 * DNS_MAX_NAME);
	struct dns_question q;
	enum dns_fault fault = dns_question_parse(data, n, &q);

	if (fault == DNS_IGNORE)
		return;
	dns_question_print_name(&q, &shown);
	if (!buf_ok(&shown) || !str_is_utf8(str_from(buf_text(&shown))))
		BUG("a name that cannot be shown");
	check_name(&q);
	fuzz_answers(&q, fault, q.id % (MAX_DNS_ANSWER + 1));
	fuzz_answers(&q, fault, MAX_DNS_ANSWER);
	if (fault == DNS_OK)
		fuzz_again(&q);
}

/* Messages that come out, and their bytes in one number. */
struct tally {
	size_t n_messages;
	uint64_t hash;
	enum dns_stream_state end;
};

static struct tally read_stream(const uint8_t *data, size_t n, size_t piece, bool parse)
{
	struct tally t = { .end = DNS_STREAM_MORE };
	struct dns_stream s;

	dns_stream_init(&s);
	while (n && t.end == DNS_STREAM_MORE) {
		const unsigned char *msg;
		size_t room, len;
		unsigned char *p = dns_stream_get_room(&s, &room);

		if (!room)
			BUG("[DS2] no room for the rest of a message");
		len = MIN(MIN(n, room), piece);
		memcpy(p, data, len);
		dns_stream_add(&s, len);
		data += len;
		n -= len;
		while ((t.end = dns_stream_take(&s, &msg, &len)) == DNS_STREAM_MESSAGE) {
			t.n_messages++;
			t.hash = str_hash((struct str){ (const char *)msg, len }, t.hash);
			if (parse)
				fuzz_question(msg, len);
		}
	}
	return t;
}

static void fuzz_stream(const uint8_t *data, size_t n)
{
	struct tally whole = read_stream(data, n, n, true);
	struct tally pieces = read_stream(data, n, n ? data[0] % 13 + 1 : 1, false);

	if (whole.n_messages != pieces.n_messages || whole.hash != pieces.hash ||
	    whole.end != pieces.end)
		BUG("messages that depend on how they came");
}

static void fuzz_reverse(struct str text)
{
	cleanup_buf struct buf again = BUF(100);
	struct dns_addr a;

	if (!dns_reverse_parse(text, &a))
		return;
	for (int i = a.is_v6 ? 16 : 4; i-- > 0;) {
		if (a.is_v6)
			buf_printf(&again, "%x.%x.", a.b[i] & 15, a.b[i] >> 4);
		else
			buf_printf(&again, "%u.", a.b[i]);
	}
	buf_puts(&again, a.is_v6 ? "ip6.arpa" : "in-addr.arpa");
	if (!str_is(text, buf_text(&again)))
		BUG("two names for one address");
}

static void parse_reply(const unsigned char *msg, size_t n, const struct dns_asked *asked)
{
	struct host_addr addrs[3] = { 0 };
	const struct host_addr none = { 0 };
	size_t n_addrs = 99;
	enum dns_reply reply = dns_reply_parse(msg, n, asked, addrs, 2, &n_addrs);

	if (reply == DNS_REPLY_ADDRS ? n_addrs > 2 : n_addrs != 99)
		BUG("addresses of a reply without any");
	if (memcmp(&addrs[2], &none, sizeof(none)) != 0)
		BUG("more addresses than there is room for");
}

/* As a whole, and as the records behind a head and a question that are right. */
static void fuzz_reply(const uint8_t *data, size_t n)
{
	struct dns_asked asked;
	unsigned char *msg;

	if (!n || !dns_ask(0x1234, STR("a.test"), n % 2 ? DNS_TYPE_A : DNS_TYPE_AAAA, &asked))
		return;
	parse_reply(data, n, &asked);
	msg = malloc(asked.n + n);
	if (!msg)
		return;
	memcpy(msg, asked.b, asked.n);
	memcpy(msg + asked.n, data, n);
	msg[2] |= 0x80;
	msg[7] = data[0] % 5;
	parse_reply(msg, asked.n + n, &asked);
	free(msg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	fuzz_question(data, n);
	fuzz_stream(data, n);
	fuzz_reply(data, n);
	fuzz_reverse((struct str){ (const char *)data, n });
	return 0;
}
