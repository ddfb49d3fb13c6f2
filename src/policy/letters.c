/* Letters that are patterns elsewhere; see letters.h. */
#include "policy/letters.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/macros.h"

/* `?`, `[ab]` or `{a,b}`: how it begins; or 0. */
static char find_pattern(struct str text)
{
	static const struct {
		char opens, holds, closes;
	} forms[] = { { '?', 0, 0 }, { '[', 0, ']' }, { '{', ',', '}' } };

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct str rest = str_from_pos(text, str_find(text, forms[i].opens));

		if (rest.n && forms[i].holds)
			rest = str_from_pos(rest, str_find(rest, forms[i].holds));
		if (rest.n && forms[i].closes)
			rest = str_from_pos(rest, str_find(rest, forms[i].closes));
		if (rest.n)
			return forms[i].opens;
	}
	return 0;
}

/* How many bytes of an absolute path are there, as far as its names have no `*`. */
static size_t find_there(const char *path)
{
	size_t n = strcspn(path, "*");
	char there[PATH_MAX];
	struct stat st;

	if (n >= sizeof(there))
		return 0;
	memcpy(there, path, n);
	there[n] = '\0';
	if (path[n])
		*strrchr(there, '/') = '\0';
	while (there[0] && lstat(there, &st) < 0)
		*strrchr(there, '/') = '\0';
	return strlen(there);
}

char letters_find(struct str text, const char *path)
{
	struct str all = path ? str_from(path) : text;
	char found = find_pattern(all);

	return found && path ? find_pattern(str_from_pos(all, find_there(path))) : found;
}
