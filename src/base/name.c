/* Names of files; see name.h. */
#include "base/name.h"

/* Characters that HFS+ takes no notice of, as git knows them. */
static bool is_ignored(uint32_t c)
{
	return (c >= 0x200c && c <= 0x200f) || (c >= 0x202a && c <= 0x202e) ||
	       (c >= 0x206a && c <= 0x206f) || c == 0xfeff;
}

size_t name_fold(struct str name, char *out)
{
	size_t n = 0;

	while (name.n) {
		uint32_t c = 0;
		size_t bytes = str_utf8(name, &c);

		if (bytes == 0)
			bytes = 1;	/* any byte can stand in a name */
		if (bytes == 1)
			out[n++] = *name.s >= 'A' && *name.s <= 'Z' ? (char)(*name.s | 32) :
								       *name.s;
		else if (c == 0x17f)	/* long s */
			out[n++] = 's';
		else if (c == 0x212a)	/* the sign of kelvin */
			out[n++] = 'k';
		else if (!is_ignored(c))
			for (size_t i = 0; i < bytes; i++)
				out[n++] = name.s[i];
		name = str_from_pos(name, bytes);
	}
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
