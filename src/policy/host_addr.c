/* Addresses: every spelling that some resolver accepts, one way of printing,
 * and what an address is for (see host.h).
 *
 * Pure functions; the gate calls them on what DNS answered, the policy reader
 * on what a file says.
 */
#include <arpa/inet.h>

#include "policy/host_priv.h"

/* One part of an inet_aton address: 0x hexadecimal, 0 octal, else decimal. */
static bool parse_part(struct str part, uint64_t *ret)
{
	unsigned base = 10;
	uint64_t v = 0;

	if (part.n > 1 && part.s[0] == '0') {
		base = (part.s[1] | 0x20) == 'x' ? 16 : 8;
		part = str_from_pos(part, base == 16 ? 2 : 1);
	}
	if (!part.n)
		return false;
	for (size_t i = 0; i < part.n; i++) {
		char c = part.s[i];
		unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0') :
				 (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ?
				 (unsigned)((c | 0x20) - 'a') + 10 : 16;

		if (digit >= base)
			return false;
		v = v * base + digit;
		if (v > UINT32_MAX)
			return false;
	}
	*ret = v;
	return true;
}

bool host_addr_parse_loose(struct str text, struct host_addr *ret)
{
	struct host_addr a = { 0 };
	uint64_t v = 0;

	for (unsigned i = 0; i < 4; i++) {
		size_t end = str_find(text, '.');

		if (!parse_part(str_first(text, end), &v))
			return false;
		if (end == text.n) {
			/* The last part fills all the bytes that are left. */
			if (v >> (8 * (4 - i)))
				return false;
			for (unsigned k = 4; k-- > i; v >>= 8)
				a.b[k] = (unsigned char)v;
			*ret = a;
			return true;
		}
		if (v > 255)
			return false;
		a.b[i] = (unsigned char)v;
		text = str_from_pos(text, end + 1);
	}
	return false;
}

/* Four decimal numbers without leading zeros: the one spelling that every
 * parser reads alike. */
static bool parse_quad(struct str text, unsigned char *b)
{
	size_t i = 0;

	for (unsigned part = 0; part < 4; part++) {
		size_t start = i;
		unsigned v = 0;

		while (i < text.n && i < start + 3 && text.s[i] >= '0' && text.s[i] <= '9')
			v = v * 10 + (unsigned)(text.s[i++] - '0');
		if (i == start || v > 255 || (text.s[start] == '0' && i > start + 1))
			return false;
		if (part < 3 && (i == text.n || text.s[i++] != '.'))
			return false;
		b[part] = (unsigned char)v;
	}
	return i == text.n;
}

bool host_addr_parse(struct str text, struct host_addr *ret)
{
	struct host_addr a = { 0 };
	char copy[INET6_ADDRSTRLEN];

	if (parse_quad(text, a.b)) {
		*ret = a;
		return true;
	}
	if (text.n >= sizeof(copy) || str_find(text, ':') == text.n ||
	    str_find(text, '\0') < text.n)
		return false;
	memcpy(copy, text.s, text.n);
	copy[text.n] = '\0';
	if (inet_pton(AF_INET6, copy, a.b) != 1)
		return false;
	a.is_v6 = true;
	host_addr_unmap(&a);
	*ret = a;
	return true;
}

/* RFC 5952, always in hexadecimal: printed alike whatever the C library. */
static void print_v6(const unsigned char *b, struct buf *out)
{
	unsigned run = 0, best = 8, best_n = 1;

	for (unsigned i = 0; i < 8; i++) {
		run = b[2 * i] || b[2 * i + 1] ? 0 : run + 1;
		if (run > best_n) {
			best_n = run;
			best = i + 1 - run;
		}
	}
	for (unsigned i = 0; i < 8; i++) {
		if (i == best) {
			buf_puts(out, "::");
			i += best_n - 1;
			continue;
		}
		buf_printf(out, "%s%x", i && i != best + best_n ? ":" : "",
			   (unsigned)b[2 * i] << 8 | b[2 * i + 1]);
	}
}

void host_addr_print(const struct host_addr *a, struct buf *out)
{
	if (a->is_v6)
		print_v6(a->b, out);
	else
		buf_printf(out, "%u.%u.%u.%u", a->b[0], a->b[1], a->b[2], a->b[3]);
}

void host_addr_unmap(struct host_addr *a)
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (!a->is_v6 || memcmp(a->b, mapped, sizeof(mapped)) != 0)
		return;
	memmove(a->b, a->b + 12, 4);
	memset(a->b + 4, 0, 12);
	a->is_v6 = false;
}

bool host_addr_in(const struct host_addr *a, const struct host_addr *net, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	return a->is_v6 == net->is_v6 && memcmp(a->b, net->b, whole) == 0 &&
	       (!rest || (a->b[whole] ^ net->b[whole]) >> (8 - rest) == 0);
}

void host_addr_mask(struct host_addr *a, unsigned bits)
{
	unsigned whole = bits / 8;

	if (bits % 8)
		a->b[whole++] &= (unsigned char)(0xff << (8 - bits % 8));
	memset(a->b + whole, 0, sizeof(a->b) - whole);
}

/* Where an IPv4 address lies in an IPv6 one. */
enum carry {
	CARRY_NONE,
	CARRY_LAST,		/* the last four bytes */
	CARRY_6TO4,		/* right after 2002: */
	CARRY_TEREDO,		/* the last four bytes, each bit flipped (RFC 4380) */
};

struct special {
	const char *name;	/* NULL: ordinary, or as the carried address says */
	unsigned char bits;
	unsigned char b[16];
	enum carry carry;
};

/* The IANA registries of special-purpose addresses, with the addresses at
 * which clouds serve credentials.  The first row that contains it decides. */
static const struct special special_v4[] = {
	{ "metadata",      32, { 169, 254, 169, 254 }, 0 },
	{ "metadata",      32, { 100, 100, 100, 200 }, 0 },
	{ "metadata",      32, { 168, 63, 129, 16 }, 0 },
	{ "unspecified",    8, { 0 }, 0 },
	{ "loopback",       8, { 127 }, 0 },
	{ "private",        8, { 10 }, 0 },
	{ "private",       12, { 172, 16 }, 0 },
	{ "private",       16, { 192, 168 }, 0 },
	{ "link-local",    16, { 169, 254 }, 0 },
	{ "shared",        10, { 100, 64 }, 0 },
	{ "protocol",      24, { 192, 0, 0 }, 0 },
	{ "documentation", 24, { 192, 0, 2 }, 0 },
	{ "documentation", 24, { 198, 51, 100 }, 0 },
	{ "documentation", 24, { 203, 0, 113 }, 0 },
	{ "6to4-relay",    24, { 192, 88, 99 }, 0 },
	{ "benchmarking",  15, { 198, 18 }, 0 },
	{ "broadcast",     32, { 255, 255, 255, 255 }, 0 },
	{ "multicast",      4, { 224 }, 0 },
	{ "reserved",       4, { 240 }, 0 },
};

static const struct special special_v6[] = {
	{ "unspecified",  128, { 0 }, 0 },
	{ "loopback",     128, { [15] = 1 }, 0 },
	{ NULL,            96, { [10] = 0xff, [11] = 0xff }, CARRY_LAST },
	/* Deprecated: nobody can be reached there, so never ordinary. */
	{ "v4-compatible", 96, { 0 }, CARRY_LAST },
	{ NULL,            96, { 0, 0x64, 0xff, 0x9b }, CARRY_LAST },
	/* The place of the IPv4 address depends on the site (RFC 8215). */
	{ "nat64",         48, { 0, 0x64, 0xff, 0x9b, 0, 1 }, 0 },
	{ "discard",       64, { 1 }, 0 },
	{ "metadata",     128, { 0xfd, 0, 0x0e, 0xc2, [14] = 2, [15] = 0x54 }, 0 },
	{ "metadata",     128, { 0xfd, 0x20, 0, 0xce, [14] = 2, [15] = 0x54 }, 0 },
	{ "metadata",     128, { 0xfd, 0, 0, 0x42, [15] = 0x42 }, 0 },
	{ "unique-local",   7, { 0xfc }, 0 },
	{ "link-local",    10, { 0xfe, 0x80 }, 0 },
	{ "site-local",    10, { 0xfe, 0xc0 }, 0 },
	{ "multicast",      8, { 0xff }, 0 },
	/* It goes to a relay first and names two IPv4 addresses. */
	{ "teredo",        32, { 0x20, 0x01 }, CARRY_TEREDO },
	{ "protocol",      23, { 0x20, 0x01 }, 0 },
	{ "documentation", 32, { 0x20, 0x01, 0x0d, 0xb8 }, 0 },
	{ "documentation", 20, { 0x3f, 0xff }, 0 },
	{ NULL,            16, { 0x20, 0x02 }, CARRY_6TO4 },
	/* All that IANA has given out for hosts. */
	{ NULL,             3, { 0x20 }, 0 },
	{ "reserved",       0, { 0 }, 0 },
};

static const struct special *special_of(const struct host_addr *a)
{
	const struct special *rows = a->is_v6 ? special_v6 : special_v4;
	size_t n = a->is_v6 ? ARRAY_SIZE(special_v6) : ARRAY_SIZE(special_v4);

	for (size_t i = 0; i < n; i++) {
		struct host_addr net = { .is_v6 = a->is_v6 };

		memcpy(net.b, rows[i].b, sizeof(net.b));
		if (host_addr_in(a, &net, rows[i].bits))
			return &rows[i];
	}
	return NULL;
}

bool host_addr_unwrap(const struct host_addr *a, struct host_addr *ret)
{
	const struct special *s = a->is_v6 ? special_of(a) : NULL;
	unsigned char flip = s && s->carry == CARRY_TEREDO ? 0xff : 0;
	struct host_addr inner = { 0 };

	if (!s || s->carry == CARRY_NONE)
		return false;
	for (unsigned i = 0; i < 4; i++)
		inner.b[i] = a->b[i + (s->carry == CARRY_6TO4 ? 2 : 12)] ^ flip;
	*ret = inner;
	return true;
}

/* Where the carried address begins, in bits. */
static unsigned carry_offset(enum carry carry)
{
	return carry == CARRY_6TO4 ? 16 : 96;
}

/* The rest of IPv6 is reserved in blocks of this length: IANA gave out one of the eight. */
#define RESERVED_BITS	3

const char *host_addr_block(const struct host_addr *a, unsigned *ret_bits)
{
	const struct special *outer = special_of(a), *inner = NULL;
	struct host_addr carried;
	const char *name;

	*ret_bits = 0;
	if (host_addr_unwrap(a, &carried))
		inner = special_of(&carried);
	name = inner && inner->name ? inner->name : outer ? outer->name : NULL;
	if (!name)
		return NULL;
	if (inner && inner->name)
		*ret_bits = carry_offset(outer->carry) + inner->bits;
	else
		*ret_bits = outer->bits ? outer->bits : RESERVED_BITS;
	/* Both lead to this machine. */
	if (strcmp(name, "loopback") == 0 || strcmp(name, "unspecified") == 0)
		*ret_bits = host_addr_bits(a);
	return name;
}

const char *host_addr_special(const struct host_addr *a)
{
	unsigned bits;

	return host_addr_block(a, &bits);
}

bool host_addr_is_metadata(const struct host_addr *a)
{
	const char *special = host_addr_special(a);

	return special && strcmp(special, "metadata") == 0;
}

bool host_addr_is_loopback(const struct host_addr *a)
{
	static const struct host_addr v6 = { .is_v6 = true, .b = { [15] = 1 } };

	return a->is_v6 ? memcmp(a, &v6, sizeof(v6)) == 0 : a->b[0] == 127;
}
