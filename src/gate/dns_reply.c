/* DNS as a client (see dns_reply.h).  Run by a worker of the resolver. */
#include "gate/dns_reply.h"

#include "gate/dns_wire.h"

#define FLAG_QR		0x8000
#define FLAG_TC		0x0200
#define FLAG_RD		0x0100
#define FLAGS_OPCODE	0x7800
#define FLAGS_RCODE	0x000f
#define RCODE_NXDOMAIN	3
#define POINTER		0xc0	/* a name goes on elsewhere */

/* ---- asking -------------------------------------------------------------- */

static void put_u16(unsigned char *out, unsigned value)
{
	out[0] = (unsigned char)(value >> 8);
	out[1] = (unsigned char)value;
}

bool dns_ask(uint16_t id, struct str name, enum dns_type type, struct dns_asked *ret)
{
	struct dns_asked asked = { .n = 0 };
	unsigned char *out = asked.b;
	size_t n = dns_write_name(name, out + DNS_HEADER);

	if (!n)
		return false;
	n += DNS_HEADER;
	put_u16(out, id);
	put_u16(out + 2, FLAG_RD);
	put_u16(out + 4, 1);
	put_u16(out + n, type);
	put_u16(out + n + 2, DNS_CLASS_IN);
	asked.n = n + 4;
	*ret = asked;
	return true;
}

/* ---- the reply ----------------------------------------------------------- */

/* Whose a record is does not count: the server has followed every alias. */
static bool read_name(struct reader *r)
{
	while (r->n) {
		unsigned len = *r->p;

		if (len >= POINTER)
			return read_skip(r, 2);
		if (len > MAX_HOST_LABEL || !read_skip(r, 1 + len))
			return false;
		if (!len)
			return true;
	}
	return false;
}

static unsigned char lower(unsigned char c)
{
	return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}

/* Some servers change the case of letters; all repeat the question. */
static bool repeats(struct reader *r, const unsigned char *question, size_t n)
{
	if (r->n < n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (lower(r->p[i]) != lower(question[i]))
			return false;
	return read_skip(r, n);
}

struct record {
	uint16_t type, klass, n;
	const unsigned char *data;
};

static bool read_record(struct reader *r, struct record *ret)
{
	if (!read_name(r) || !read_u16(r, &ret->type) || !read_u16(r, &ret->klass) ||
	    !read_skip(r, 4) || !read_u16(r, &ret->n))
		return false;
	ret->data = r->p;
	return read_skip(r, ret->n);
}

/* All of them, so that what is not whole gives none. */
static bool read_addrs(struct reader *r, unsigned n_records, unsigned type,
		       struct host_addr *addrs, size_t max, size_t *ret_n)
{
	size_t size = type == DNS_TYPE_AAAA ? 16 : 4, n = 0;
	struct record record;

	while (n_records--) {
		if (!read_record(r, &record))
			return false;
		if (record.type != type || record.klass != DNS_CLASS_IN)
			continue;
		if (record.n != size)
			return false;
		if (n == max)
			continue;
		addrs[n] = (struct host_addr){ .is_v6 = type == DNS_TYPE_AAAA };
		memcpy(addrs[n++].b, record.data, size);
	}
	*ret_n = n;
	return true;
}

enum dns_reply dns_reply_parse(const void *msg, size_t n, const struct dns_asked *asked,
			       struct host_addr *addrs, size_t max, size_t *ret_n)
{
	const unsigned char *end = asked->b + asked->n;
	unsigned type = (unsigned)(end[-4] << 8 | end[-3]);
	uint16_t head[DNS_HEADER / 2];	/* id, flags, and how many of each kind follow */
	struct reader r = { msg, n };

	for (size_t i = 0; i < ARRAY_SIZE(head); i++)
		if (!read_u16(&r, &head[i]))
			return DNS_REPLY_OTHER;
	if (head[0] != (unsigned)(asked->b[0] << 8 | asked->b[1]) || !(head[1] & FLAG_QR) ||
	    (head[1] & FLAGS_OPCODE))
		return DNS_REPLY_OTHER;
	/* Who refuses may leave the question out. */
	if (!head[2] && (head[1] & FLAGS_RCODE))
		return DNS_REPLY_FAILED;
	if (head[2] != 1 || !repeats(&r, asked->b + DNS_HEADER, asked->n - DNS_HEADER))
		return DNS_REPLY_OTHER;
	if (head[1] & FLAG_TC)
		return DNS_REPLY_CUT;
	if ((head[1] & FLAGS_RCODE) == RCODE_NXDOMAIN) {
		*ret_n = 0;
		return DNS_REPLY_ADDRS;
	}
	if ((head[1] & FLAGS_RCODE) || !read_addrs(&r, head[3], type, addrs, max, ret_n))
		return DNS_REPLY_FAILED;
	return DNS_REPLY_ADDRS;
}
