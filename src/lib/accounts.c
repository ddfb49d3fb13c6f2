/* Accounts; see accounts.h. */
#include "lib/accounts.h"

#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"

/* NAME:PASSWORD:UID:GID:TEXT:HOME:SHELL */
static bool read_line(struct str line, struct account *ret)
{
	struct str parts[6] = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		size_t end = str_find(line, ':');

		parts[i] = str_first(line, end);
		line = str_from_pos(line, end < line.n ? end + 1 : end);
	}
	ret->name = parts[0];
	ret->home = parts[5];
	return str_parse_u64(parts[2], &ret->uid) && str_starts(ret->home, "/");
}

bool account_find(struct arena *a, account_fits_fn *fits, const void *arg, struct account *ret)
{
	struct cordon_err ignored;
	struct account one;
	struct str rest;

	if (fd_read_file("/etc/passwd", MAX_SOURCE_BYTES, a, &rest, &ignored) < 0)
		return false;
	while (rest.n) {
		size_t n = str_find(rest, '\n');

		if (read_line(str_first(rest, n), &one) && fits(&one, arg)) {
			*ret = one;
			return true;
		}
		rest = str_from_pos(rest, n < rest.n ? n + 1 : n);
	}
	return false;
}

static bool is_caller(const struct account *a, const void *arg UNUSED)
{
	return a->uid == geteuid();
}

const char *account_find_home(struct arena *a)
{
	struct account own;

	return account_find(a, is_caller, NULL, &own) ?
		       arena_strndup(a, own.home.s, own.home.n) : NULL;
}
