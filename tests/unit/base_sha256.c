/* SHA-256: the vectors of FIPS 180-4, each length about a block, and pieces. */
#include "base/sha256.h"

#include "base/macros.h"
#include "tap.h"

static const char *digest(struct str text, size_t piece)
{
	static char hex[SHA256_HEX];
	struct sha256 s;

	sha256_init(&s);
	for (size_t at = 0; at < text.n; at += piece)
		sha256_add(&s, str_first(str_from_pos(text, at), MIN(piece, text.n - at)));
	sha256_print(&s, hex);
	return hex;
}

static void test_known_digests(void)
{
	static char a[1000000];

	memset(a, 'a', sizeof(a));
	is_text(digest(STR(""), 1),
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "nothing");
	is_text(digest(STR("abc"), 9),
		"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "abc");
	is_text(digest(STR("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"), 99),
		"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1", "56 bytes");
	is_text(digest((struct str){ a, sizeof(a) }, 997),
		"cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
		"a million");
}

static void test_pieces(void)
{
	char text[200], whole[SHA256_HEX];

	memset(text, 'x', sizeof(text));
	for (size_t n = 50; n < sizeof(text); n++) {
		snprintf(whole, sizeof(whole), "%s", digest((struct str){ text, n }, n));
		is_text(digest((struct str){ text, n }, 1), whole, "%zu bytes, one by one", n);
		is_text(digest((struct str){ text, n }, 63), whole, "in pieces of 63");
	}
}

int main(void)
{
	return tap_run((struct tap_case[]){ TAP(test_known_digests), TAP(test_pieces), TAP_END });
}
