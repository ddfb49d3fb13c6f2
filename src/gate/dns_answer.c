/* DNS answers (see dns_answer.h).
 *
 * A message is put together from whole pieces: question, one record, OPT.  A
 * piece that does not fit is not there at all.
 */
#include "gate/dns_answer.h"

#include "gate/dns_wire.h"

#define FLAG_QR		0x8000
#define FLAG_TC		0x0200
#define FLAG_RD		0x0100
#define FLAG_RA		0x0080
#define FLAG_CD		0x0010
#define OPT_FLAG_DO	0x8000
#define OPTION_EDE	15
#define EDE_BLOCKED	15
#define QUESTION_NAME	(0xc000 | DNS_HEADER)	/* a pointer to the name in the question */

#define RECORD_HEAD	12
#define OPT_HEAD	11
#define EDE_HEAD	6

enum rcode { NOERROR, FORMERR, SERVFAIL, NXDOMAIN, NOTIMP, REFUSED, BADVERS = 16 };

/* The contents of an answer; no record if type is 0. */
struct reply {
	enum rcode rcode;
	uint16_t type;
	uint32_t ttl_s;
	struct str data;
	bool is_blocked;
	struct str why;
};

struct writer {
	unsigned char *p;
	size_t n, max;
};

static_assert(DNS_HEADER + DNS_MAX_QUESTION + OPT_HEAD + EDE_HEAD + MAX_DNS_REASON <= DNS_MIN_UDP,
	      "every client takes the longest refusal");
static_assert(DNS_HEADER + DNS_MAX_QUESTION + RECORD_HEAD + DNS_MAX_NAME + OPT_HEAD <=
		      MAX_DNS_ANSWER, "the longest record does not fit");

static bool put(struct writer *w, const void *bytes, size_t n)
{
	if (n > w->max - w->n)
		return false;
	if (n)
		memcpy(w->p + w->n, bytes, n);
	w->n += n;
	return true;
}

static unsigned char *store_u16(unsigned char *p, unsigned v)
{
	*p++ = (unsigned char)(v >> 8);
	*p++ = (unsigned char)v;
	return p;
}

static bool put_record(struct writer *w, const struct reply *reply)
{
	unsigned char b[RECORD_HEAD + DNS_MAX_NAME], *p = b;

	p = store_u16(p, QUESTION_NAME);
	p = store_u16(p, reply->type);
	p = store_u16(p, DNS_CLASS_IN);
	p = store_u16(p, reply->ttl_s >> 16);
	p = store_u16(p, reply->ttl_s);
	p = store_u16(p, (unsigned)reply->data.n);
	memcpy(p, reply->data.s, reply->data.n);
	return put(w, b, RECORD_HEAD + reply->data.n);
}

/* The reason why, if there is room for it; OPT without, if not. */
static bool put_opt(struct writer *w, const struct dns_question *q, const struct reply *reply)
{
	size_t why = reply->why.n <= MAX_DNS_REASON ? reply->why.n : 0;
	size_t ede = reply->is_blocked ? EDE_HEAD + why : 0;
	unsigned char b[OPT_HEAD + EDE_HEAD + MAX_DNS_REASON], *p = b;

	if (OPT_HEAD + ede > w->max - w->n)
		ede = 0;
	*p++ = 0;	/* the root's name */
	p = store_u16(p, DNS_TYPE_OPT);
	p = store_u16(p, MAX_DNS_QUERY);
	*p++ = (unsigned char)(reply->rcode >> 4);
	*p++ = 0;	/* version */
	p = store_u16(p, q->dnssec_ok ? OPT_FLAG_DO : 0);
	p = store_u16(p, (unsigned)ede);
	if (ede) {
		p = store_u16(p, OPTION_EDE);
		p = store_u16(p, (unsigned)ede - 4);
		p = store_u16(p, EDE_BLOCKED);
		if (why)
			memcpy(p, reply->why.s, why);
	}
	return put(w, b, OPT_HEAD + ede);
}

static size_t write_reply(const struct dns_question *q, const struct reply *reply, void *out,
			  size_t max)
{
	struct writer w = { out, DNS_HEADER, max };
	bool has_question, has_record, has_opt, is_cut;
	unsigned char *p = out;

	if (max < DNS_HEADER)
		return 0;
	has_question = q->raw_n && put(&w, q->raw, q->raw_n);
	has_record = has_question && reply->type && put_record(&w, reply);
	has_opt = q->has_edns && put_opt(&w, q, reply);
	is_cut = (q->raw_n && !has_question) || (reply->type && !has_record) ||
		 (q->has_edns && !has_opt);
	p = store_u16(p, q->id);
	p = store_u16(p, FLAG_QR | (unsigned)q->opcode << 11 | (is_cut ? FLAG_TC : 0) |
			 (q->rd ? FLAG_RD : 0) | FLAG_RA | (q->cd ? FLAG_CD : 0) |
			 (reply->rcode & 15));
	p = store_u16(p, has_question);
	p = store_u16(p, has_record);
	p = store_u16(p, 0);
	store_u16(p, has_opt);
	return w.n;
}

size_t dns_answer_addr(const struct dns_question *q, const unsigned char addr[4], uint32_t ttl_s,
		       void *out, size_t max)
{
	struct reply reply = {
		.type = DNS_TYPE_A,
		.ttl_s = ttl_s,
		.data = { (const char *)addr, 4 },
	};

	return write_reply(q, &reply, out, max);
}

size_t dns_write_name(struct str name, unsigned char out[DNS_MAX_NAME])
{
	size_t n = 0;

	if (name.n > MAX_HOST_NAME)
		return 0;
	for (;;) {
		size_t len = str_find(name, '.');

		if (!len || len > MAX_HOST_LABEL)
			return 0;
		out[n++] = (unsigned char)len;
		memcpy(out + n, name.s, len);
		n += len;
		if (len == name.n)
			break;
		name = str_from_pos(name, len + 1);
	}
	out[n++] = 0;
	return n;
}

size_t dns_answer_ptr(const struct dns_question *q, struct str name, uint32_t ttl_s, void *out,
		      size_t max)
{
	unsigned char data[DNS_MAX_NAME];
	size_t n = dns_write_name(name, data);
	struct reply reply = {
		.type = DNS_TYPE_PTR,
		.ttl_s = ttl_s,
		.data = { (const char *)data, n },
	};

	return n ? write_reply(q, &reply, out, max) : dns_answer_error(q, DNS_SERVFAIL, out, max);
}

size_t dns_answer_nodata(const struct dns_question *q, void *out, size_t max)
{
	return write_reply(q, &(struct reply){ 0 }, out, max);
}

size_t dns_answer_nxdomain(const struct dns_question *q, struct str why, void *out, size_t max)
{
	struct reply reply = { .rcode = NXDOMAIN, .is_blocked = true, .why = why };

	return write_reply(q, &reply, out, max);
}

size_t dns_answer_error(const struct dns_question *q, enum dns_fault fault, void *out, size_t max)
{
	static const enum rcode rcodes[] = {
		[DNS_OK] = SERVFAIL,
		[DNS_IGNORE] = SERVFAIL,
		[DNS_FORMERR] = FORMERR,
		[DNS_NOTIMP] = NOTIMP,
		[DNS_BADVERS] = BADVERS,
		[DNS_REFUSED] = REFUSED,
		[DNS_SERVFAIL] = SERVFAIL,
	};

	static_assert(ARRAY_SIZE(rcodes) == N_DNS_FAULTS, "a fault without a code");
	return write_reply(q, &(struct reply){ .rcode = rcodes[fault] }, out, max);
}
