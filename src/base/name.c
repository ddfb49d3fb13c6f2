/* Names of files; see name.h. */
#include "base/name.h"

#include <string.h>

#include "base/macros.h"

/* What file systems that fold the case of letters take no notice of: HFS+, as git knows it, and
 * ext4, f2fs and tmpfs (Default_Ignorable_Code_Point; fs/unicode/mkutf8data.c). */
static bool is_ignored(uint32_t c)
{
	static const uint32_t ranges[][2] = {
		{ 0xad, 0xad },		{ 0x34f, 0x34f },	{ 0x61c, 0x61c },
		{ 0x115f, 0x1160 },	{ 0x17b4, 0x17b5 },	{ 0x180b, 0x180f },
		{ 0x200b, 0x200f },	{ 0x202a, 0x202e },	{ 0x2060, 0x206f },
		{ 0x3164, 0x3164 },	{ 0xfe00, 0xfe0f },	{ 0xfeff, 0xfeff },
		{ 0xffa0, 0xffa0 },	{ 0xfff0, 0xfff8 },	{ 0x1bca0, 0x1bca3 },
		{ 0x1d173, 0x1d17a },	{ 0xe0000, 0xe0fff },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		if (c >= ranges[i][0] && c <= ranges[i][1])
			return true;
	return false;
}

/* The letters of ASCII that it folds to, where it does, in as many bytes as its own or less:
 * statuses C and F of Unicode's CaseFolding.txt. */
static const char *find_letters(uint32_t c)
{
	static const struct {
		uint32_t c;
		const char *letters;
	} folds[] = {
		{ 0xdf, "ss" },		{ 0x17f, "s" },		{ 0x1e9e, "ss" },
		{ 0x212a, "k" },	{ 0xfb00, "ff" },	{ 0xfb01, "fi" },
		{ 0xfb02, "fl" },	{ 0xfb03, "ffi" },	{ 0xfb04, "ffl" },
		{ 0xfb05, "st" },	{ 0xfb06, "st" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(folds); i++)
		if (folds[i].c == c)
			return folds[i].letters;
	return NULL;
}

/* Returns the bytes written. */
static size_t fold_wide(uint32_t c, struct str bytes, char *out)
{
	const char *letters = find_letters(c);

	if (is_ignored(c))
		return 0;
	if (letters)
		bytes = str_from(letters);
	memcpy(out, bytes.s, bytes.n);
	return bytes.n;
}

size_t name_fold(struct str name, char *out)
{
	size_t n = 0, n_dots = 0;

	while (name.n) {
		bool is_wide = (unsigned char)*name.s >= 0x80;
		uint32_t c = 0;
		size_t bytes = is_wide ? str_utf8(name, &c) : 1;

		if (bytes == 0)
			bytes = 1;	/* any byte can stand in a name */
		if (bytes == 1)
			out[n++] = *name.s >= 'A' && *name.s <= 'Z' ? (char)(*name.s | 32) :
								       *name.s;
		else
			n += fold_wide(c, str_first(name, bytes), out + n);
		name = str_from_pos(name, bytes);
	}
	/* FAT takes no notice of dots at the end. */
	while (n_dots < n && out[n_dots] == '.')
		n_dots++;
	while (n > n_dots && out[n - 1] == '.')
		n--;
	return n;
}

bool name_matches(struct str pattern, struct str name)
{
	char folded[NAME_MAX + 1];
	struct str text = { folded, 0 };

	if (name.n > NAME_MAX)
		return false;
	text.n = name_fold(name, folded);
	return str_glob(pattern, text);
}
