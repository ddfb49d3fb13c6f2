/* Folders and names of programs; see program.h. */
#include "base/program.h"

#include "base/macros.h"

static const char *const dirs[] = {
	"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin",
	"/usr/games", "/snap/bin",
	/* programs that stand there once more */
	"/usr/lib/git-core", "/usr/libexec/git-core", "/usr/lib/klibc/bin",
	"/usr/lib/initramfs-tools/bin",
};

bool program_dirs_next(struct program_dirs *d, struct str *ret)
{
	if (d->next < ARRAY_SIZE(dirs)) {
		*ret = str_from(dirs[d->next++]);
		return true;
	}
	while (d->path.n) {
		size_t n = str_find(d->path, ':');

		*ret = str_first(d->path, n);
		d->path = str_from_pos(d->path, n < d->path.n ? n + 1 : n);
		if (str_starts(*ret, "/"))
			return true;
	}
	return false;
}

struct str program_path(const char *const *envp)
{
	for (size_t i = 0; envp && envp[i]; i++)
		if (strncmp(envp[i], "PATH=", 5) == 0)
			return str_from(envp[i] + 5);
	return STR("");
}

const char *const program_suffixes[] = { "", ".openbsd", ".traditional", NULL };

const char *const program_multi_calls[] = { "busybox", "toybox", "coreutils", NULL };

bool program_is_multi_call(struct str name)
{
	for (size_t i = 0; program_multi_calls[i]; i++) {
		size_t n = strlen(program_multi_calls[i]);

		if (str_starts(name, program_multi_calls[i]) &&
		    (name.n == n || name.s[n] == '.' || name.s[n] == '-'))
			return true;
	}
	return false;
}

size_t program_shell(const char *text, const char *ret_words[MAX_SHELL_WORDS])
{
	size_t n = 0;

	ret_words[n++] = "/bin/sh";
	ret_words[n++] = "-c";
	/* Else the shell takes it for options of its own. */
	if (*text == '-' || *text == '+')
		ret_words[n++] = "--";
	ret_words[n++] = text;
	ret_words[n] = NULL;
	return n;
}
