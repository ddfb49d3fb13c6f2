/* DNS questions (see dns.h).
 *
 * Run by the supervisor on what any program inside sends.  Stricter than most
 * servers: clients that resolve names send one question and at most the OPT
 * record of EDNS, so whatever else a message holds is not guessed at.
 */
#include "gate/dns.h"

#include "gate/dns_wire.h"

#define FLAG_QR		0x8000
#define FLAG_TC		0x0200
#define FLAG_RD		0x0100
#define FLAG_CD		0x0010
#define OPT_FLAG_DO	0x8000

static bool read_u8(struct reader *r, unsigned *ret)
{
	if (!r->n)
		return false;
	*ret = r->p[0];
	return read_skip(r, 1);
}

/* Bytes of the name at the start, with its root; 0 when there is none.  A
 * length over 63 is a compression pointer or of a kind that was never used:
 * the first name of a message has nothing to point to. */
static size_t find_name_size(struct reader r)
{
	size_t n = 0;
	unsigned len;

	while (read_u8(&r, &len)) {
		n += 1 + len;
		if (len > MAX_HOST_LABEL || n > DNS_MAX_NAME || !read_skip(&r, len))
			return 0;
		if (!len)
			return n;
	}
	return 0;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static bool is_name_char(char c)
{
	c = lower(c);
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* The text of the name in `raw`, which is well formed.  [DQ1] holds as a dot is
 * no character of a label. */
static void fill_name(struct dns_question *q)
{
	const unsigned char *p = q->raw;
	size_t n = 0;

	for (unsigned len = *p++; len; len = *p++) {
		if (n)
			q->name[n++] = '.';
		for (; len; len--, p++) {
			if (!is_name_char((char)*p)) {
				memset(q->name, 0, n);
				return;
			}
			q->name[n++] = lower((char)*p);
		}
	}
	q->form = n ? DNS_NAME_HOST : DNS_NAME_ROOT;
	q->name_n = (unsigned char)n;
}

static bool parse_question(struct reader *r, struct dns_question *q)
{
	const unsigned char *start = r->p;
	size_t n = find_name_size(*r);

	if (!n || !read_skip(r, n) || !read_u16(r, &q->type) || !read_u16(r, &q->klass))
		return false;
	q->raw_n = (uint16_t)(n + 4);
	memcpy(q->raw, start, q->raw_n);
	fill_name(q);
	return true;
}

static bool has_whole_options(struct reader r)
{
	uint16_t code, n;

	while (r.n)
		if (!read_u16(&r, &code) || !read_u16(&r, &n) || !read_skip(&r, n))
			return false;
	return true;
}

/* The one record a question may bring: EDNS (RFC 6891), at the end. */
static enum dns_fault parse_opt(struct reader *r, struct dns_question *q)
{
	unsigned root, rcode, version;
	uint16_t type, size, flags, n;

	if (!read_u8(r, &root) || root || !read_u16(r, &type) || type != DNS_TYPE_OPT ||
	    !read_u16(r, &size) || !read_u8(r, &rcode) || !read_u8(r, &version) ||
	    !read_u16(r, &flags) || !read_u16(r, &n) || n != r->n)
		return DNS_FORMERR;
	/* What the options of another version look like is not known. */
	if (!version && !has_whole_options(*r))
		return DNS_FORMERR;
	q->has_edns = true;
	q->udp_size = size;
	q->dnssec_ok = flags & OPT_FLAG_DO;
	return version ? DNS_BADVERS : DNS_OK;
}

/* After the header.  Answer and authority records have no place in a question;
 * AA, RA, Z, AD and the code mean nothing in one, and clients do set AD. */
static enum dns_fault parse_body(struct reader *r, const uint16_t counts[4],
				 struct dns_question *q)
{
	enum dns_fault fault;

	if (counts[0] != 1 || !parse_question(r, q) || counts[1] || counts[2] || counts[3] > 1)
		return DNS_FORMERR;
	if (counts[3]) {
		fault = parse_opt(r, q);
		if (fault)
			return fault;
	} else if (r->n) {
		return DNS_FORMERR;
	}
	return q->klass == DNS_CLASS_IN ? DNS_OK : DNS_REFUSED;
}

enum dns_fault dns_question_parse(const void *msg, size_t n, struct dns_question *ret)
{
	struct reader r = { msg, n };
	struct dns_question q = { 0 };
	uint16_t flags, counts[4];

	if (!read_u16(&r, &q.id) || !read_u16(&r, &flags) || (flags & FLAG_QR))
		return DNS_IGNORE;
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		if (!read_u16(&r, &counts[i]))
			return DNS_IGNORE;
	q.opcode = flags >> 11 & 15;
	q.rd = flags & FLAG_RD;
	q.cd = flags & FLAG_CD;
	*ret = q;
	if (q.opcode)
		return DNS_NOTIMP;
	if ((flags & FLAG_TC) || n > MAX_DNS_QUERY)
		return DNS_FORMERR;
	return parse_body(&r, counts, ret);
}

size_t dns_question_udp_max(const struct dns_question *q)
{
	if (!q->has_edns)
		return DNS_MIN_UDP;
	return MIN(MAX(q->udp_size, DNS_MIN_UDP), MAX_DNS_ANSWER);
}

void dns_question_print_name(const struct dns_question *q, struct buf *out)
{
	const unsigned char *p = q->raw;

	if (!q->raw_n)
		return;
	if (!*p)
		buf_putc(out, '.');
	for (unsigned len = *p++; len; len = *p++) {
		for (; len; len--, p++) {
			if (is_name_char((char)*p))
				buf_putc(out, (char)*p);
			else
				buf_printf(out, "\\%03u", *p);
		}
		if (*p)
			buf_putc(out, '.');
	}
}

const char *dns_type_find_name(uint16_t type)
{
#define X(name, value) { (value), #name },
	static const struct {
		uint16_t type;
		const char *name;
	} names[] = { DNS_TYPES(X) };
#undef X

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i].type == type)
			return names[i].name;
	return NULL;
}

/* "4.3.2.1" is 1.2.3.4; no leading zero, so that an address has one name. */
static bool parse_reverse_v4(struct str text, struct dns_addr *a)
{
	for (unsigned i = 4; i-- > 0;) {
		size_t end = str_find(text, '.');
		struct str part = str_first(text, end);
		uint64_t v;

		if (part.n > 3 || !str_parse_u64(part, &v) || v > 255 ||
		    (part.n > 1 && part.s[0] == '0') || (end == text.n) != (i == 0))
			return false;
		a->b[i] = (unsigned char)v;
		if (i)
			text = str_from_pos(text, end + 1);
	}
	return true;
}

static bool parse_nibble(char c, unsigned *ret)
{
	if (c >= '0' && c <= '9')
		*ret = (unsigned)(c - '0');
	else if (c >= 'a' && c <= 'f')
		*ret = (unsigned)(c - 'a') + 10;
	else
		return false;
	return true;
}

/* 32 labels of one digit, the lowest first. */
static bool parse_reverse_v6(struct str text, struct dns_addr *a)
{
	if (text.n != 63)
		return false;
	for (size_t i = 0; i < 32; i++) {
		unsigned v;

		if (!parse_nibble(text.s[2 * i], &v) || (i < 31 && text.s[2 * i + 1] != '.'))
			return false;
		a->b[15 - i / 2] |= (unsigned char)(v << (i % 2 * 4));
	}
	a->is_v6 = true;
	return true;
}

bool dns_reverse_parse(struct str name, struct dns_addr *ret)
{
	static const struct {
		struct str zone;
		bool (*parse)(struct str text, struct dns_addr *a);
	} zones[] = {
		{ STR(".in-addr.arpa"), parse_reverse_v4 },
		{ STR(".ip6.arpa"), parse_reverse_v6 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(zones); i++) {
		struct dns_addr a = { 0 };

		if (!str_ends(name, zones[i].zone.s))
			continue;
		if (!zones[i].parse(str_first(name, name.n - zones[i].zone.n), &a))
			return false;
		*ret = a;
		return true;
	}
	return false;
}
