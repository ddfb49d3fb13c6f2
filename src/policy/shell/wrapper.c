/* Programs that run programs; see wrapper.h. */
#include "policy/shell/wrapper.h"

#include "base/macros.h"
#include "policy/shell/expand.h"

static const struct wrapper wrappers[] = {
	/* name, short options with a value, long ones, words skipped, NAME=value */
	{ "sudo", "ughpCrtTUDRac", " user group host prompt chdir chroot ", 0, true },
	{ "doas", "uCa", "", 0, false },
	{ "env", "uCS", " unset chdir split-string ", 0, true },
	{ "nice", "n", " adjustment ", 0, false },
	{ "ionice", "cnpPu", " class classdata ", 0, false },
	{ "chrt", "TPD", "", 1, false },
	{ "taskset", "", "", 1, false },
	{ "numactl", "mNCpi", "", 0, false },
	{ "setarch", "", "", 1, false },
	{ "linux32", "", "", 0, false },
	{ "linux64", "", "", 0, false },
	{ "nohup", "", "", 0, false },
	{ "time", "fo", " format output ", 0, false },
	{ "timeout", "sk", " signal kill-after ", 1, false },
	{ "setsid", "", "", 0, false },
	{ "stdbuf", "ioe", " input output error ", 0, false },
	{ "unbuffer", "", "", 0, false },
	{ "command", "", "", 0, false },
	{ "builtin", "", "", 0, false },
	{ "exec", "a", "", 0, false },
	{ "xargs", "InLPsdEa", " max-args max-lines max-procs max-chars delimiter arg-file eof ",
	  0, false },
	{ "chroot", "", "", 1, false },
	{ "unshare", "SGRwl", "", 0, false },
	{ "nsenter", "tSG", " target setuid setgid ", 0, false },
	{ "setpriv", "", " reuid regid groups inh-caps ambient-caps bounding-set securebits ", 0,
	  false },
	{ "prlimit", "p", " pid ", 0, false },
	{ "strace", "eopsuEaOSPIbXU", "", 0, false },
	{ "ltrace", "eopsuanlxADF", "", 0, false },
	{ "valgrind", "", "", 0, false },
	{ "flock", "wE", " timeout wait conflict-exit-code ", 1, false },
	{ "watch", "n", " interval ", 0, false },
	{ "parallel", "jNnLaISPsd", " jobs max-args arg-file colsep sshlogin delay joblog ", 0,
	  false },
	{ "fakeroot", "lsib", "", 0, false },
	{ "faketime", "f", "", 1, false },
	{ "systemd-run", "puEMHCtG", " property unit setenv slice description uid gid ", 0, false },
	{ "systemd-inhibit", "", "", 0, false },
	{ "dbus-run-session", "", "", 0, false },
	{ "xvfb-run", "efnpsw", "", 0, false },
	{ "proxychains", "f", "", 0, false },
	{ "proxychains4", "f", "", 0, false },
	{ "torsocks", "", "", 0, false },
	{ "eatmydata", "", "", 0, false },
	{ "chronic", "", "", 0, false },
	{ "pkexec", "", " user ", 0, false },
	{ "gosu", "", "", 1, false },
	{ "su-exec", "", "", 1, false },
	{ "firejail", "", "", 0, false },
	{ "catchsegv", "", "", 0, false },
	{ "busybox", "", "", 0, false },
	{ "toybox", "", "", 0, false },
};

static const char *const shells[] = { "sh", "bash", "dash", "zsh", "ksh", "ksh93", "mksh", "ash",
				      "rbash", "yash", "fish", "csh", "tcsh" };

const struct wrapper *wrapper_find(struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(wrappers); i++)
		if (str_is(name, wrappers[i].name))
			return &wrappers[i];
	return NULL;
}

bool wrapper_is_shell(struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(shells); i++)
		if (str_is(name, shells[i]))
			return true;
	return false;
}

bool wrapper_may_be(struct str word, const char *const *others, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(wrappers); i++)
		if (hole_may_be(word, str_from(wrappers[i].name), false))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(shells); i++)
		if (hole_may_be(word, str_from(shells[i]), false))
			return true;
	for (size_t i = 0; i < n; i++)
		if (hole_may_be(word, str_from(others[i]), false))
			return true;
	return false;
}

static bool long_takes_value(const struct wrapper *w, struct str name)
{
	const char *at = w->long_valued;

	while (*at == ' ' && at[1]) {
		size_t n = strcspn(at + 1, " ");

		if (str_eq(name, (struct str){ at + 1, n }))
			return true;
		at += n + 1;
	}
	return false;
}

size_t wrapper_option(const struct wrapper *w, const struct str *words, size_t n, size_t i)
{
	struct str word = words[i];
	size_t taken = 1;

	if (!word.n || word.s[0] != '-')
		return 0;
	if (str_starts(word, "--")) {
		if (long_takes_value(w, str_from_pos(word, 2)))
			taken = 2;
	} else {
		for (size_t k = 1; k < word.n; k++) {
			if (!word.s[k] || !strchr(w->valued, word.s[k]))
				continue;
			taken = k + 1 == word.n ? 2 : 1;
			break;
		}
	}
	return MIN(taken, n - i);
}

static bool is_assignment(struct str word)
{
	size_t eq = str_find(word, '=');

	return eq < word.n && shell_is_name(str_first(word, eq));
}

size_t wrapper_program(const struct wrapper *w, const struct str *words, size_t n)
{
	size_t i = 1;

	while (i < n) {
		size_t taken = wrapper_option(w, words, n, i);

		if (taken && str_is(words[i], "--")) {
			i++;
			break;
		}
		if (!taken)
			break;
		i += taken;
	}
	while (w->assigns && i < n && is_assignment(words[i]))
		i++;
	return MIN(n, i + w->n_skipped);
}
