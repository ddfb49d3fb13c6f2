/* Labels beyond ASCII: to their A-label (xn--…) and back.
 *
 * A full IDNA needs Unicode's tables and changes with them.  Here is the part
 * that cannot be misread: the letters and marks of living scripts that every
 * version of IDNA keeps as they are, the upper case of alphabets, and nothing
 * else.  What is missing (ligatures, full-width forms, sz and final sigma, on
 * which IDNA 2003 and 2008 differ, combining accents, signs) is refused, and
 * its owner writes the A-label.  The rows were checked against Unicode 14: each
 * character stands for itself, or its lower case, after NFKC and case folding.
 */
#include "policy/host_priv.h"

enum map_kind {
	KEEP,
	MARK,			/* kept; not first, and in the order of its class */
	ADD,			/* upper case: add delta */
	EVEN,			/* pairs: an even character is the upper case of the next */
	ODD,			/* pairs that begin at odd ones */
};

struct map_range {
	uint16_t first, last;
	unsigned char kind;
	short delta;		/* ADD: what to add; MARK: the combining class */
};

#define K(a, b)		{ 0x##a, 0x##b, KEEP, 0 }
#define M(a, b, class)	{ 0x##a, 0x##b, MARK, class }
#define UP(a, b, delta)	{ 0x##a, 0x##b, ADD, delta }
#define E(a, b)		{ 0x##a, 0x##b, EVEN, 0 }
#define O(a, b)		{ 0x##a, 0x##b, ODD, 0 }

/* Sorted. */
static const struct map_range ranges[] = {
	/* Latin */
	UP(00c0, 00d6, 0x20), UP(00d8, 00de, 0x20), K(00e0, 00f6), K(00f8, 00ff),
	E(0100, 012f), K(0131, 0131), E(0134, 0137), K(0138, 0138), O(0139, 013e),
	O(0141, 0148), E(014a, 0177), UP(0178, 0178, -0x79), O(0179, 017e),
	E(01a0, 01a1), O(01af, 01b0), O(01cd, 01dc), E(01de, 01ef), K(01f0, 01f0),
	E(01f8, 021f), E(0222, 0233), E(0246, 024f),
	/* Greek */
	UP(0386, 0386, 0x26), UP(0388, 038a, 0x25), UP(038c, 038c, 0x40),
	UP(038e, 038f, 0x3f), K(0390, 0390), UP(0391, 03a1, 0x20), UP(03a3, 03ab, 0x20),
	K(03ac, 03c1), K(03c3, 03ce),
	/* Cyrillic */
	UP(0400, 040f, 0x50), UP(0410, 042f, 0x20), K(0430, 045f), E(0460, 0481),
	E(048a, 04bf), UP(04c0, 04c0, 0x0f), O(04c1, 04ce), K(04cf, 04cf), E(04d0, 052f),
	/* Armenian */
	UP(0531, 0556, 0x30), K(0561, 0586),
	/* Hebrew */
	K(05d0, 05ea),
	/* Arabic */
	K(0620, 063f), K(0641, 064a), K(066e, 066f), K(0671, 0674), K(0679, 06d3),
	K(06d5, 06d5), K(06e5, 06e6), K(06ee, 06ef), K(06fa, 06fc), K(06ff, 06ff),
	/* Arabic Supplement */
	K(0750, 077f),
	/* Devanagari */
	M(0900, 0903, 0), K(0904, 0939), K(093d, 093d), M(093e, 094c, 0), M(094d, 094d, 9),
	K(0950, 0950), K(0960, 0961), M(0962, 0963, 0), K(0966, 096f), K(0971, 097f),
	/* Bengali */
	K(0980, 0980), M(0981, 0983, 0), K(0985, 098c), K(098f, 0990), K(0993, 09a8),
	K(09aa, 09b0), K(09b2, 09b2), K(09b6, 09b9), K(09bd, 09bd), M(09be, 09c4, 0),
	M(09c7, 09c8, 0), M(09cb, 09cc, 0), M(09cd, 09cd, 9), K(09ce, 09ce),
	M(09d7, 09d7, 0), K(09e0, 09e1), M(09e2, 09e3, 0), K(09e6, 09f1),
	/* Gurmukhi */
	M(0a01, 0a03, 0), K(0a05, 0a0a), K(0a0f, 0a10), K(0a13, 0a28), K(0a2a, 0a30),
	K(0a32, 0a32), K(0a35, 0a35), K(0a38, 0a39), M(0a3e, 0a42, 0), M(0a47, 0a48, 0),
	M(0a4b, 0a4c, 0), M(0a4d, 0a4d, 9), K(0a5c, 0a5c), K(0a66, 0a6f), M(0a70, 0a71, 0),
	K(0a72, 0a74),
	/* Gujarati */
	M(0a81, 0a83, 0), K(0a85, 0a8d), K(0a8f, 0a91), K(0a93, 0aa8), K(0aaa, 0ab0),
	K(0ab2, 0ab3), K(0ab5, 0ab9), K(0abd, 0abd), M(0abe, 0ac5, 0), M(0ac7, 0ac9, 0),
	M(0acb, 0acc, 0), M(0acd, 0acd, 9), K(0ad0, 0ad0), K(0ae0, 0ae1), M(0ae2, 0ae3, 0),
	K(0ae6, 0aef), K(0af9, 0af9),
	/* Oriya */
	M(0b01, 0b03, 0), K(0b05, 0b0c), K(0b0f, 0b10), K(0b13, 0b28), K(0b2a, 0b30),
	K(0b32, 0b33), K(0b35, 0b39), K(0b3d, 0b3d), M(0b3e, 0b44, 0), M(0b47, 0b48, 0),
	M(0b4b, 0b4c, 0), M(0b4d, 0b4d, 9), M(0b56, 0b57, 0), K(0b5f, 0b61),
	M(0b62, 0b63, 0), K(0b66, 0b6f), K(0b71, 0b71),
	/* Tamil */
	M(0b82, 0b82, 0), K(0b83, 0b83), K(0b85, 0b8a), K(0b8e, 0b90), K(0b92, 0b95),
	K(0b99, 0b9a), K(0b9c, 0b9c), K(0b9e, 0b9f), K(0ba3, 0ba4), K(0ba8, 0baa),
	K(0bae, 0bb9), M(0bbe, 0bc2, 0), M(0bc6, 0bc8, 0), M(0bca, 0bcc, 0),
	M(0bcd, 0bcd, 9), K(0bd0, 0bd0), M(0bd7, 0bd7, 0), K(0be6, 0bef),
	/* Telugu */
	M(0c00, 0c04, 0), K(0c05, 0c0c), K(0c0e, 0c10), K(0c12, 0c28), K(0c2a, 0c39),
	K(0c3d, 0c3d), M(0c3e, 0c44, 0), M(0c46, 0c48, 0), M(0c4a, 0c4c, 0),
	M(0c4d, 0c4d, 9), K(0c58, 0c5a), K(0c5d, 0c5d), K(0c60, 0c61),
	M(0c62, 0c63, 0), K(0c66, 0c6f),
	/* Kannada */
	K(0c80, 0c80), M(0c81, 0c83, 0), K(0c85, 0c8c), K(0c8e, 0c90), K(0c92, 0ca8),
	K(0caa, 0cb3), K(0cb5, 0cb9), K(0cbd, 0cbd), M(0cbe, 0cc4, 0), M(0cc6, 0cc8, 0),
	M(0cca, 0ccc, 0), M(0ccd, 0ccd, 9), M(0cd5, 0cd6, 0), K(0cdd, 0cde), K(0ce0, 0ce1),
	M(0ce2, 0ce3, 0), K(0ce6, 0cef), K(0cf1, 0cf2),
	/* Malayalam */
	M(0d00, 0d03, 0), K(0d04, 0d0c), K(0d0e, 0d10), K(0d12, 0d3a), M(0d3b, 0d3c, 9),
	K(0d3d, 0d3d), M(0d3e, 0d44, 0), M(0d46, 0d48, 0), M(0d4a, 0d4c, 0),
	M(0d4d, 0d4d, 9), K(0d4e, 0d4e), K(0d54, 0d56), M(0d57, 0d57, 0), K(0d5f, 0d61),
	M(0d62, 0d63, 0), K(0d66, 0d6f), K(0d7a, 0d7f),
	/* Sinhala */
	M(0d81, 0d83, 0), K(0d85, 0d96), K(0d9a, 0db1), K(0db3, 0dbb), K(0dbd, 0dbd),
	K(0dc0, 0dc6), M(0dca, 0dca, 9), M(0dcf, 0dd4, 0), M(0dd6, 0dd6, 0),
	M(0dd8, 0ddf, 0), K(0de6, 0def), M(0df2, 0df3, 0),
	/* Thai */
	K(0e01, 0e30), M(0e31, 0e31, 0), K(0e32, 0e32), M(0e34, 0e37, 0),
	M(0e38, 0e39, 103), M(0e3a, 0e3a, 9), K(0e40, 0e46), M(0e47, 0e47, 0),
	M(0e48, 0e4b, 107), M(0e4c, 0e4e, 0), K(0e50, 0e59),
	/* Georgian */
	K(10d0, 10fa), K(10fd, 10ff),
	/* Latin with two marks */
	E(1e00, 1e95), K(1e96, 1e99), E(1ea0, 1eff),
	/* Kana, Bopomofo, Han, Hangul */
	K(3005, 3007), K(3041, 3096), K(309d, 309e), K(30a1, 30fa), K(30fc, 30fe),
	K(3105, 312f), K(3400, 4dbf), K(4e00, 9fff), K(ac00, d7a3),
};

/* Two characters that Unicode writes as one: no resolver sees them apart. */
static const struct { uint16_t first, second; } composed[] = {
	{ 0x09c7, 0x09be }, { 0x09c7, 0x09d7 }, { 0x0b47, 0x0b3e }, { 0x0b47, 0x0b56 },
	{ 0x0b47, 0x0b57 }, { 0x0b92, 0x0bd7 }, { 0x0bc6, 0x0bbe }, { 0x0bc6, 0x0bd7 },
	{ 0x0bc7, 0x0bbe }, { 0x0cbf, 0x0cd5 }, { 0x0cc6, 0x0cc2 }, { 0x0cc6, 0x0cd5 },
	{ 0x0cc6, 0x0cd6 }, { 0x0cca, 0x0cd5 }, { 0x0d46, 0x0d3e }, { 0x0d46, 0x0d57 },
	{ 0x0d47, 0x0d3e }, { 0x0dd9, 0x0dca }, { 0x0dd9, 0x0dcf }, { 0x0dd9, 0x0ddf },
	{ 0x0ddc, 0x0dca },
};

/* RFC 3492, section 5. */
enum { BASE = 36, T_MIN = 1, T_MAX = 26, SKEW = 38, DAMP = 700, BIAS = 72, FIRST = 0x80 };

static const struct map_range *range_of(uint32_t c)
{
	size_t low = 0, high = ARRAY_SIZE(ranges);

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (c > ranges[mid].last)
			low = mid + 1;
		else
			high = mid;
	}
	return low < ARRAY_SIZE(ranges) && c >= ranges[low].first ? &ranges[low] : NULL;
}

static uint32_t lower(const struct map_range *r, uint32_t c)
{
	if (r->kind == ADD)
		return c + (uint32_t)r->delta;
	if ((r->kind == EVEN && c % 2 == 0) || (r->kind == ODD && c % 2 == 1))
		return c + 1;
	return c;
}

/* May `c` of range `r` (NULL: ASCII) stand after the characters before it? */
static bool can_follow(const uint32_t *chars, size_t n, uint32_t c, const struct map_range *r)
{
	const struct map_range *before = n ? range_of(chars[n - 1]) : NULL;

	if (!r || !n)
		return !r || r->kind != MARK;
	for (size_t i = 0; i < ARRAY_SIZE(composed); i++)
		if (chars[n - 1] == composed[i].first && c == composed[i].second)
			return false;
	return !(r->kind == MARK && r->delta && before && before->kind == MARK &&
		 before->delta > r->delta);
}

static bool is_rtl(uint32_t c)
{
	return c >= 0x0590 && c <= 0x08ff;
}

/* The part of RFC 5893 that these scripts need: a label that holds one letter
 * written from the right begins with one and holds no letter from the left. */
static bool is_one_way(const uint32_t *chars, size_t n)
{
	bool any = false, other = false;

	for (size_t i = 0; i < n; i++) {
		bool rtl = is_rtl(chars[i]);

		any |= rtl;
		other |= !rtl && !(chars[i] >= '0' && chars[i] <= '9') && chars[i] != '-';
	}
	return !any || (!other && is_rtl(chars[0]));
}

static uint32_t adapt(uint32_t delta, uint32_t n_points, bool first)
{
	uint32_t k = 0;

	delta = first ? delta / DAMP : delta / 2;
	delta += delta / n_points;
	for (; delta > (BASE - T_MIN) * T_MAX / 2; k += BASE)
		delta /= BASE - T_MIN;
	return k + (BASE - T_MIN + 1) * delta / (delta + SKEW);
}

static uint32_t threshold(uint32_t k, uint32_t bias)
{
	return k <= bias + T_MIN ? T_MIN : k >= bias + T_MAX ? T_MAX : k - bias;
}

struct label {
	char text[MAX_HOST_LABEL];
	size_t n;
	bool failed;
};

static void label_putc(struct label *l, char c)
{
	if (l->n < sizeof(l->text))
		l->text[l->n++] = c;
	else
		l->failed = true;
}

static void print_number(struct label *l, uint32_t q, uint32_t bias)
{
	for (uint32_t k = BASE;; k += BASE) {
		uint32_t t = threshold(k, bias), digit = q < t ? q : t + (q - t) % (BASE - t);

		label_putc(l, (char)(digit < 26 ? 'a' + digit : '0' + digit - 26));
		if (q < t)
			return;
		q = (q - t) / (BASE - t);
	}
}

/* No overflow: there are at most 63 characters, each below 2^21. */
static bool encode(const uint32_t *chars, size_t n, struct label *l)
{
	uint32_t next = FIRST, delta = 0, bias = BIAS, done = 0, basic;

	*l = (struct label){ .text = "xn--", .n = 4 };
	for (size_t i = 0; i < n; i++)
		if (chars[i] < FIRST)
			label_putc(l, (char)chars[i]);
	basic = done = (uint32_t)l->n - 4;
	if (basic)
		label_putc(l, '-');
	for (; done < n && !l->failed; delta++, next++) {
		uint32_t least = UINT32_MAX;

		for (size_t i = 0; i < n; i++)
			if (chars[i] >= next && chars[i] < least)
				least = chars[i];
		delta += (least - next) * (done + 1);
		next = least;
		for (size_t i = 0; i < n; i++) {
			delta += chars[i] < next;
			if (chars[i] != next)
				continue;
			print_number(l, delta, bias);
			bias = adapt(delta, done + 1, done == basic);
			delta = 0;
			done++;
		}
	}
	return !l->failed;
}

static int digit_of(char c)
{
	return c >= 'a' && c <= 'z' ? c - 'a' : c >= '0' && c <= '9' ? c - '0' + 26 : -1;
}

static bool parse_number(struct str *in, uint32_t bias, uint64_t *ret)
{
	uint64_t sum = 0, weight = 1;

	for (uint32_t k = BASE;; k += BASE) {
		uint32_t t = threshold(k, bias);
		int digit = in->n ? digit_of(in->s[0]) : -1;

		if (digit < 0)
			return false;
		*in = str_from_pos(*in, 1);
		sum += (uint64_t)digit * weight;
		if (sum > UINT32_MAX)
			return false;
		if ((uint32_t)digit < t) {
			*ret = sum;
			return true;
		}
		weight *= BASE - t;
		if (weight > UINT32_MAX)
			return false;
	}
}

/* The characters of what follows xn--; 0 when it is no Punycode. */
static size_t decode(struct str in, uint32_t chars[MAX_HOST_LABEL])
{
	const char *dash = memrchr(in.s, '-', in.n);
	uint64_t next = FIRST, at = 0, step;
	uint32_t bias = BIAS;
	size_t n = 0;

	if (dash) {
		for (; in.s + n < dash; n++)
			chars[n] = (unsigned char)in.s[n];
		in = str_from_pos(in, n + 1);
	}
	for (bool first = true; in.n; first = false) {
		if (n == MAX_HOST_LABEL || !parse_number(&in, bias, &step))
			return 0;
		at += step;
		n++;
		bias = adapt((uint32_t)step, (uint32_t)n, first);
		next += at / n;
		at %= n;
		if (next > 0x10ffff || (next >= 0xd800 && next <= 0xdfff))
			return 0;
		memmove(chars + at + 1, chars + at, (n - 1 - at) * sizeof(*chars));
		chars[at++] = (uint32_t)next;
	}
	return n;
}

bool host_idna_check(struct str label)
{
	uint32_t chars[MAX_HOST_LABEL];
	size_t n = str_find(label, '_') == label.n ? decode(str_from_pos(label, 4), chars) : 0;
	struct label again;

	return n && encode(chars, n, &again) && str_eq(label, (struct str){ again.text, again.n });
}

/* The characters of a label, mapped; 0 when one of them is not ours to map. */
static size_t map_label(struct str label, uint32_t chars[MAX_HOST_LABEL])
{
	size_t n = 0, size;
	uint32_t c;

	for (; label.n; label = str_from_pos(label, size)) {
		const struct map_range *r;

		size = str_utf8(label, &c);
		if (!size || n == MAX_HOST_LABEL)
			return 0;
		r = c < FIRST ? NULL : range_of(c);
		if (r)
			c = lower(r, c);
		else if (c >= 'A' && c <= 'Z')
			c |= 0x20;
		else if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-')
			return 0;
		if (!can_follow(chars, n, c, r))
			return 0;
		chars[n++] = c;
	}
	return is_one_way(chars, n) ? n : 0;
}

int host_idna_print(struct str label, char out[MAX_HOST_LABEL], size_t *ret_n, char why[HOST_WHY])
{
	uint32_t chars[MAX_HOST_LABEL];
	size_t n = map_label(label, chars);
	struct label l;

	if (!n)
		return host_refuse(why, "has a label that is not plain letters: "
				   "write its A-label (xn--…)");
	if (chars[0] == '-' || chars[n - 1] == '-' ||
	    (n > 3 && chars[2] == '-' && chars[3] == '-'))
		return host_refuse(why, "has a label with a '-' where IDNA has none");
	if (!encode(chars, n, &l))
		return host_refuse(why, "has a label longer than %d bytes", MAX_HOST_LABEL);
	memcpy(out, l.text, l.n);
	*ret_n = l.n;
	return 0;
}
