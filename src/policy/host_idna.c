/* Labels beyond ASCII: to their A-label (xn--…) and back.
 *
 * A full IDNA needs Unicode's tables and changes with them.  Here are the
 * letters of the Latin alphabet that every version of IDNA maps alike, and
 * nothing else.  A label with any other character (another script, sz, a
 * combining accent, a full-width form) is refused: its owner writes the A-label.
 */
#include "policy/host_priv.h"

struct map_range {
	uint16_t first, last;
	enum {
		KEEP,	/* lower case, or without case */
		ADD,	/* upper case: add delta */
		EVEN,	/* pairs: an even character is the upper case of the next */
		ODD	/* pairs that begin at odd ones */
	} kind;
	short delta;
};

/* Each character was checked against Unicode 14: NFKC and case folding give this and nothing
 * else. */
static const struct map_range ranges[] = {
	{ 0x00c0, 0x00d6, ADD, 0x20 }, { 0x00d8, 0x00de, ADD, 0x20 },
	{ 0x00e0, 0x00f6, KEEP, 0 }, { 0x00f8, 0x00ff, KEEP, 0 },
	{ 0x0100, 0x012f, EVEN, 0 }, { 0x0131, 0x0131, KEEP, 0 },
	{ 0x0134, 0x0137, EVEN, 0 }, { 0x0138, 0x0138, KEEP, 0 },
	{ 0x0139, 0x013e, ODD, 0 }, { 0x0141, 0x0148, ODD, 0 },
	{ 0x014a, 0x0177, EVEN, 0 }, { 0x0178, 0x0178, ADD, -0x79 },
	{ 0x0179, 0x017e, ODD, 0 }, { 0x01a0, 0x01a1, EVEN, 0 },
	{ 0x01af, 0x01b0, ODD, 0 }, { 0x01cd, 0x01dc, ODD, 0 },
	{ 0x01de, 0x01ef, EVEN, 0 }, { 0x01f0, 0x01f0, KEEP, 0 },
	{ 0x01f8, 0x021f, EVEN, 0 }, { 0x0222, 0x0233, EVEN, 0 },
	{ 0x0246, 0x024f, EVEN, 0 }, { 0x1e00, 0x1e95, EVEN, 0 },
	{ 0x1e96, 0x1e99, KEEP, 0 }, { 0x1ea0, 0x1eff, EVEN, 0 },
};

/* RFC 3492, section 5. */
enum { BASE = 36, T_MIN = 1, T_MAX = 26, SKEW = 38, DAMP = 700, BIAS = 72, FIRST = 0x80 };

/* The lower case of a Latin letter beyond ASCII, or 0. */
static uint32_t lower(uint32_t c)
{
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		const struct map_range *r = &ranges[i];

		if (c < r->first || c > r->last)
			continue;
		if (r->kind == ADD)
			return c + (uint32_t)r->delta;
		return c + ((r->kind == EVEN && c % 2 == 0) || (r->kind == ODD && c % 2 == 1));
	}
	return 0;
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
		size = str_utf8(label, &c);
		if (!size || n == MAX_HOST_LABEL)
			return 0;
		if (c >= 'A' && c <= 'Z')
			c |= 0x20;
		else if (c >= FIRST)
			c = lower(c);
		else if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-')
			return 0;
		if (!c)
			return 0;
		chars[n++] = c;
	}
	return n;
}

int host_idna_print(struct str label, char out[MAX_HOST_LABEL], size_t *ret_n, char why[HOST_WHY])
{
	uint32_t chars[MAX_HOST_LABEL];
	size_t n = map_label(label, chars);
	struct label l;

	if (!n)
		return host_refuse(why, "has a label with other than Latin letters: "
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
