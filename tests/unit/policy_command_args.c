/* Blocked commands against argument vectors: policy/command_args.h. */
#include "policy/command.h"

#include "tap.h"

static struct arena memory = ARENA(MAX_ARENA_BYTES);

static bool argv_matches(const char *pattern, const char *const *argv)
{
	struct command_rule r;
	struct str words[16];
	char why[COMMAND_WHY];
	size_t n = 0;

	if (command_rule_parse(str_from(pattern), &memory, &r, why) < 0)
		return false;
	while (argv[n]) {
		words[n] = str_from(argv[n]);
		n++;
	}
	return command_rule_matches(&r, words, n,
				    (struct command_place){ STR("/w/sub"), STR("/home/me") });
}

#define ARGV(...)	((const char *const[]){ __VA_ARGS__, NULL })

static void test_argument_vectors(void)
{
	ok(argv_matches("curl", ARGV("/usr/bin/curl", "x")), "by base name");
	ok(argv_matches("/usr/bin/curl", ARGV("curl")), "a path in the pattern is its name");
	ok(!argv_matches("curl", ARGV("echo", "curl")), "an argument");
	ok(!argv_matches("curl", ARGV("sudo", "curl")), "sudo will exec again");
	ok(argv_matches("wget", ARGV("busybox", "wget", "x")), "an applet does not");
	ok(argv_matches("rm -rf /", ARGV("rm", "-fr", "/")), "cluster");
	ok(argv_matches("rm -rf /", ARGV("rm", "-r", "--force", "--", "/etc")), "long");
	ok(!argv_matches("rm -rf /", ARGV("rm", "-rf", "etc")), "relative");
	ok(argv_matches("rm -rf /home", ARGV("rm", "-rf", "//./home/x")), "the path otherwise");
	ok(argv_matches("rm -rf /home", ARGV("rm", "-rf", "/etc/../home")), "up and down");
	ok(argv_matches("rm -rf /*", ARGV("rm", "-rf", "/bin", "/etc")), "a star, expanded");
	ok(!argv_matches("> /dev/sda", ARGV("> /dev/sda")), "operators are for text");
	ok(!argv_matches("curl", ARGV("$(curl)")), "no shell here");
}

static void test_operands_with_detours(void)
{
	/* of the rule `touch WANT`, run in /w/sub */
	static const struct {
		const char *want, *given;
		bool matches;
	} rows[] = {
		{ "mark", "./mark", true },
		{ "mark", ".//./mark", true },
		{ "mark", "d/../mark", true },
		{ "mark", "d/e/../../mark", true },
		{ "mark", "d/../../mark", false },
		{ "mark", "../mark", false },
		{ "mark", "d/mark", false },
		{ "./mark", "mark", true },
		{ "./mark", "d/../marks", true },
		{ "d/mark", "d//mark", true },
		{ "d/../mark", "mark", true },
		{ "d/", "./d/x", true },
		{ "d/", "./dx", false },
		{ "../mark", "../d/../mark", true },
		{ "../mark", "d/../../mark", true },
		{ "../mark", "mark", false },
		{ ".", "d/..", true },
		{ ".", "d/../x", false },
		{ "d/..", "x", false },
		{ "./*", "x", true },
		{ "./*", "../x", false },
		{ "./*", "/x", false },
		{ "a*/../x", "x", false },
		{ "of=/dev/sda", "of=/dev/./sda", true },
		{ "//etc/./", "/etc/x", true },
		{ "//etc/./", "/etcx", false },
		{ "/", "../..", true },
		{ "/", "../../../", true },
		{ "/", "../../.", true },
		{ "/", "..", false },
		{ "/", "x", false },
		{ "/*", "x", false },
		{ "/etc", "../../etc/x", true },
		{ "/etc", "../etc", false },
		{ "/w", "x", false },
		{ "/w", "..", true },
		{ "/w", "../other", false },
		{ "/w/sub/d", "d/e", true },
		{ "/w/sub/d", "./x/../d", true },
		{ "/w/sub/d", "e", false },
		{ "/w/sub", "./", true },
		{ "/w/sub", "x", true },
		{ "/w/sub/", "x", true },
		{ "/w/sub/*", "x", true },
		{ "/w/*", "x", false },
		{ "/w/*", "../other", false },
		{ "/w/*/", "x", true },
		{ "/w/su", "x", true },
		{ "/w/s", "../s/x", true },
		{ "/w/s", "../other", false },
		{ "~", "/home/me", true },
		{ "~", "//home/./me/", true },
		{ "~", "/home/me/x", false },
		{ "~", "/home/me2", false },
		{ "~/", "/home/me", true },
		{ "/srv/", "/srv", true },
		{ "/srv/", "/srv2", false },
		{ "d/", "d", true },
		{ "~/x", "/home/me/x", true },
		{ "~/x", "/home/me/y", false },
		{ "~", "/home", false },
		{ "~", "../../home/me", true },
		{ "~", "x", false },
		{ "~other", "/home/me", false },
	};
	char pattern[64];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(pattern, sizeof(pattern), "touch %s", rows[i].want);
		is_int(argv_matches(pattern, ARGV("touch", rows[i].given)), rows[i].matches,
		       "%s: %s", pattern, rows[i].given);
	}
}

static bool touches_from(const char *cwd, const char *want, const char *given)
{
	struct str words[] = { STR("touch"), str_from(given) };
	struct command_rule r;
	char pattern[64], why[COMMAND_WHY];

	snprintf(pattern, sizeof(pattern), "touch %s", want);
	return command_rule_parse(str_from(pattern), &memory, &r, why) == 0 &&
	       command_rule_matches(&r, words, 2, (struct command_place){ str_from(cwd), STR("") });
}

static void test_operands_by_their_folder(void)
{
	ok(touches_from("/", "/", "etc"), "all that is in the root");
	ok(touches_from("/", "/*", "etc"), "the same with a star");
	ok(!touches_from("/srv", "/", "etc"), "but not below it");
	ok(touches_from("/w/del", "/w/del", "x"), "in the place itself");
	ok(!touches_from("/w/del/a", "/w/del", "x"), "who works below it goes on there");
	ok(!touches_from("/w/del/a", "/w/del", "../x"), "also beside it");
	ok(touches_from("/w/del/a", "/w/del", ".."), "but not with the place");
	ok(touches_from("/w/del2", "/w/del", "../del/x"), "a folder whose name begins so");
	ok(touches_from("..", "/w/del", "../x"), "nobody knows from where");
	ok(!touches_from("..", "/w/del", "x"), "but it goes down");
	ok(!touches_from("", "/w/del", "../x"), "of a text");
}

/* As long as a path may be, and longer: who takes it apart by himself knows no limit. */
static void test_operands_that_are_long(void)
{
	static char text[20000];
	size_t n;

	for (size_t half = 2040; half < 9000; half += 2000) {
		n = 0;
		for (size_t i = 0; i < half; i++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "./");
		snprintf(text + n, sizeof(text) - n, "del");
		ok(touches_from("/w/sub", "/w/sub/del", text), "%zu bytes, from a folder", n);
		ok(touches_from("/w/sub", "del", text), "%zu bytes", n);
		memset(text, '/', n);
		ok(touches_from("/", "/del", text), "%zu slashes", n);
		ok(!touches_from("/w", "/other", text), "%zu slashes, elsewhere", n);
	}
}

/* Words as long as an execution takes are judged in a moment. */
static void test_words_that_are_long(void)
{
	static char text[4u << 20];
	struct str argv[] = { STR("rm"), { text, sizeof(text) }, STR("x") };
	static const char *const patterns[] = { "rm -rf /x", "rm -f /x", "rm --force=x /x",
						"rm * /x" };
	const struct command_place place = { STR("/w"), STR("/h") };
	struct command_rule r;
	char why[COMMAND_WHY];

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		memset(text, 'f', sizeof(text));
		text[0] = '-';
		ok(command_rule_parse(str_from(patterns[i]), &memory, &r, why) == 0 &&
		   !command_rule_matches(&r, argv, 3, place), "%s: letters", patterns[i]);
		memset(text, '/', sizeof(text));
		ok(!command_rule_matches(&r, argv, 3, place), "%s: slashes", patterns[i]);
	}
}

static void test_options_of_a_vector(void)
{
	static const struct {
		const char *pattern, *argv;
		bool matches;
	} rows[] = {
		/* `--` as the value of an option */
		{ "git commit --no-verify", "git commit -m -- --no-verify", true },
		{ "git commit --no-verify", "git commit -m x -- --no-verify", false },
		{ "git reset --hard", "git --namespace -- reset --hard", true },
		{ "find -delete", "find del ! -name -- -delete", true },
		{ "rm -rf", "rm -- -rf", false },
		{ "rm -rf --", "rm -rf -- x", true },
		{ "rm -rf -- -x", "rm -rf -- -x", true },
		/* abbreviated, or a letter */
		{ "git reset --hard", "git reset --har", true },
		{ "git reset --hard", "git reset --soft", false },
		{ "git commit --no-verify", "git commit -n", true },
		{ "git commit --no-verify", "git commit --no-verif", true },
		{ "git push --no-verify", "git push -n", false },
		{ "git push --force-with-lease", "git push --force", false },
		{ "curl --data-binary", "curl --data x", false },
		{ "kubectl delete --all-namespaces", "kubectl delete --all", false },
		{ "docker run --privileged", "docker run --privileged x", true },
		{ "docker run --network=host", "docker run --network=none x", false },
		{ "docker run --network=host", "docker run --network=host x", true },
		{ "docker run --network=host", "docker run --network host x", true },
		{ "docker run --network=host", "docker run --network none x", false },
		{ "iptables -F", "iptables --flush", true },
		{ "tar -x", "tar xf a.tar", true },
		{ "tar -x", "tar --get", true },
		{ "tar -x", "tar cf x", false },
		{ "tar -x", "tar fx a.tar", true },
		{ "tar -x", "tar --exclude=x -cf a .", false },
		/* values that look like letters */
		{ "git commit --no-verify", "git commit -mAdd-login", false },
		{ "git commit --no-verify", "git commit -am new", false },
		{ "git commit --no-verify", "git commit -nm x", true },
		{ "curl --insecure", "curl -HX-Token:ok u", false },
		{ "curl --insecure", "curl -sko x u", true },
		{ "node -e", "node -pe 1", true },
		{ "docker run --detach", "docker run -eFOOd=x img", false },
		{ "tar -x", "tar -cfx .", false },
		/* values in one word with their option */
		{ "tar -C /", "tar -C/", true },
		{ "tar -C /", "tar -xC/", true },
		{ "tar -C /", "tar --directory=/", true },
		{ "tar -C /", "tar --directory /", true },
		{ "tar -C /", "tar -C x", false },
		{ "tar --directory /", "tar -C/", true },
		{ "curl -X POST", "curl -XPOST url", true },
		{ "curl -X POST", "curl --request=POST url", true },
		{ "curl -X POST", "curl --request POST url", true },
		{ "curl -X POST", "curl -XGET url", false },
		/* any argument */
		{ "curl *", "curl -Kc", true },
		{ "sudo *", "sudo -i", true },
		{ "sudo *", "sudo", false },
		{ "npm run *", "npm run", false },
		{ "npm run *", "npm run x", true },
		/* what git is told to do */
		{ "git push", "git push", true },
		{ "git push", "git -C x -c a=b --no-pager push origin", true },
		{ "git push", "git --git-dir=x push", true },
		{ "git push", "git --some-day x push", true },
		{ "git push", "git stash push", false },
		{ "git merge", "git merge-base a b", false },
		{ "git merge*", "git merge-base a b", true },
		{ "git push", "git -C push status", false },
		{ "git push", "git commit -m push", false },
		{ "git push", "git log --grep push", false },
		{ "git push --force", "git push --repo -- --force origin", true },
		{ "docker run", "docker --context x run", true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char words[64], *argv[16] = { 0 }, *rest = words;

		snprintf(words, sizeof(words), "%s", rows[i].argv);
		for (size_t n = 0; rest; n++)
			argv[n] = strsep(&rest, " ");
		is_int(argv_matches(rows[i].pattern, (const char *const *)argv), rows[i].matches,
		       "%s: %s", rows[i].pattern, rows[i].argv);
	}
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_argument_vectors),
		TAP(test_operands_with_detours),
		TAP(test_operands_by_their_folder),
		TAP(test_operands_that_are_long),
		TAP(test_options_of_a_vector),
		TAP(test_words_that_are_long),
		TAP_END });
}
