/* Borrowed text; see str.h. */
#include "base/str.h"

#include "base/macros.h"

bool str_is_one_of(struct str a, const char *const *words)
{
	for (size_t i = 0; words[i]; i++)
		if (str_is(a, words[i]))
			return true;
	return false;
}

bool str_starts(struct str a, const char *prefix)
{
	size_t n = strlen(prefix);

	return a.n >= n && memcmp(a.s, prefix, n) == 0;
}

bool str_ends(struct str a, const char *suffix)
{
	size_t n = strlen(suffix);

	return a.n >= n && memcmp(a.s + a.n - n, suffix, n) == 0;
}

int str_cmp(struct str a, struct str b)
{
	size_t n = MIN(a.n, b.n);
	int c = n ? memcmp(a.s, b.s, n) : 0;

	return c ? c : (a.n > b.n) - (a.n < b.n);
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

struct str str_trim(struct str a)
{
	while (a.n && is_space(a.s[0]))
		a = str_from_pos(a, 1);
	while (a.n && is_space(a.s[a.n - 1]))
		a.n--;
	return a;
}

size_t str_find(struct str a, char byte)
{
	const char *p = a.n ? memchr(a.s, byte, a.n) : NULL;

	return p ? (size_t)(p - a.s) : a.n;
}

/* FNV-1a with a finaliser.  A file can choose colliding keys; the map that
 * uses this seeds it, and bounds how long a chain may become. */
uint64_t str_hash(struct str a, uint64_t seed)
{
	uint64_t h = 0xcbf29ce484222325u ^ seed;

	for (size_t i = 0; i < a.n; i++)
		h = (h ^ (unsigned char)a.s[i]) * 0x100000001b3u;
	h ^= h >> 32;
	h *= 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

bool str_glob(struct str pattern, struct str text)
{
	size_t p = 0, t = 0, star = SIZE_MAX, mark = 0;

	while (t < text.n) {
		if (p < pattern.n && pattern.s[p] == '*') {
			struct str rest = str_from_pos(pattern, p + 1);

			/* Behind the last one is the end of the text. */
			if (str_find(rest, '*') == rest.n)
				return rest.n <= text.n - t &&
				       memcmp(text.s + text.n - rest.n, rest.s, rest.n) == 0;
			star = p++;
			mark = t;
		} else if (p < pattern.n && pattern.s[p] == text.s[t]) {
			p++;
			t++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			t = ++mark;
		} else {
			return false;
		}
	}
	while (p < pattern.n && pattern.s[p] == '*')
		p++;
	return p == pattern.n;
}

unsigned str_distance(struct str a, struct str b, unsigned give_up)
{
	unsigned row[65];

	if (a.n > 64 || b.n > 64 || (a.n > b.n ? a.n - b.n : b.n - a.n) >= give_up)
		return give_up;
	for (size_t j = 0; j <= b.n; j++)
		row[j] = (unsigned)j;
	for (size_t i = 1; i <= a.n; i++) {
		unsigned diagonal = row[0], least = (unsigned)i;

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= b.n; j++) {
			unsigned above = row[j];
			unsigned best = MIN(above, row[j - 1]) + 1;

			row[j] = MIN(best, diagonal + (a.s[i - 1] != b.s[j - 1]));
			diagonal = above;
			least = MIN(least, row[j]);
		}
		/* No row is less than the one before it. */
		if (least >= give_up)
			return give_up;
	}
	return MIN(row[b.n], give_up);
}

bool str_parse_u64(struct str a, uint64_t *ret)
{
	uint64_t v = 0;

	if (!a.n)
		return false;
	for (size_t i = 0; i < a.n; i++) {
		if (a.s[i] < '0' || a.s[i] > '9')
			return false;
		if (__builtin_mul_overflow(v, 10u, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(a.s[i] - '0'), &v))
			return false;
	}
	*ret = v;
	return true;
}

/* How many bytes a character has by its first one; 0 if none starts so. */
static size_t utf8_length(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first < 0xc2)
		return 0;
	if (first < 0xe0)
		return 2;
	if (first < 0xf0)
		return 3;
	return first < 0xf5 ? 4 : 0;
}

size_t str_utf8(struct str a, uint32_t *ret_char)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *s = (const unsigned char *)a.s;
	uint32_t c;
	size_t n = a.n ? utf8_length(s[0]) : 0;

	if (!n || n > a.n)
		return 0;
	c = n == 1 ? s[0] : s[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*ret_char = c;
	return n;
}

bool str_is_shown(uint32_t c)
{
	return c >= 0x20 && !(c >= 0x7f && c <= 0x9f) && c != 0x061c &&
	       !(c >= 0x200b && c <= 0x200f) && !(c >= 0x2028 && c <= 0x202e) &&
	       !(c >= 0x2060 && c <= 0x206f) && c != 0xfeff;
}

bool str_is_utf8(struct str a)
{
	uint32_t c;

	for (size_t n; a.n; a = str_from_pos(a, n)) {
		n = str_utf8(a, &c);
		if (!n)
			return false;
	}
	return true;
}

size_t str_put_utf8(uint32_t c, char *out)
{
	static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	c &= 0x1fffff;
	for (size_t i = n - 1; i > 0; i--, c >>= 6)
		out[i] = (char)(0x80 | (c & 0x3f));
	out[0] = (char)(lead[n] | c);
	return n;
}
