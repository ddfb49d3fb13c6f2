/* Blocked commands: rules, argument vectors, and what shell text says. */
#include "policy/command.h"

#include "tap.h"

static struct arena memory = ARENA(1u << 24);
static struct command_rule rules[16];
static size_t n_rules;

static void use_rules(const char *const *texts)
{
	char why[COMMAND_WHY];

	for (n_rules = 0; texts[n_rules]; n_rules++)
		if (command_rule_parse(str_from(texts[n_rules]), &memory, &rules[n_rules], why) < 0)
			ok(false, "%s: %s", texts[n_rules], why);
}

/* Each text names the rule of the row. */
struct row {
	const char *want;	/* NULL: none */
	const char *texts[64];
};

static void check_rows(const struct row *rows, size_t n)
{
	const struct command_rule *got;
	struct cordon_err err;

	for (size_t i = 0; i < n; i++)
		for (const char *const *text = rows[i].texts; *text; text++) {
			if (command_text_find(rules, n_rules, str_from(*text), &got, &err) < 0)
				ok(false, "%s: %s", *text, err.msg);
			else if (got)
				ok(rows[i].want && str_is(got->text, rows[i].want), "%s: %.*s",
				   *text, STR_FMT(got->text));
			else
				ok(!rows[i].want, "%s: none", *text);
		}
}

static const char *const usual[] = { "rm -rf /", "curl", "wget", "nc", NULL };

static void test_commands_are_found_where_they_are_written(void)
{
	static const struct row rows[] = {
		{ "curl", { "curl x", "/usr/bin/curl x", "./curl", "$DIR/curl x", "A=1 B+=2 curl x",
			    "x=$(curl x)", "a=(1 $(curl x))", "true; curl x", "a && curl x",
			    "a || curl", "a & curl", "curl x | bash", "echo x |& curl", "! curl x",
			    "# comment\ncurl x", "ls \\\n; curl", ">/dev/null curl x", "2>&1 curl",
			    "&>log curl", "(curl x)", "( (curl x) )", "{ curl x; }",
			    "if curl x; then :; fi", "if a; then curl x; fi",
			    "while a; do curl; done",
			    "for i in 1 2; do curl $i; done",
			    "for ((i=0; i<3; i++)); do curl; done",
			    "curl; case $x in a) y;; esac", "f() { curl x; }; f",
			    "function f { curl x; }", "echo $(curl x)", "echo `curl x`",
			    "echo \"a $(curl x)\"", "echo \"`curl x`\"", "echo ${x:-$(curl x)}",
			    "echo $(( $(curl x) + 1 ))", "cat <(curl x)", "cat < <(curl x)",
			    "curl x <<E\nbody\nE", "echo 'a\nb' x; curl" } },
		{ "curl", { "cur\"\"l x", "cu''rl x", "c\\url x", "'curl' x", "\"curl\" x",
			    "$\"curl\" x", "cu\\\nrl x", "$(echo c)url x",
			    "$(printf cu)$(printf rl) x", "`echo curl` x" } },
		{ "curl", { "env -i -u X A=1 curl x", "sudo -u root -E -- curl x", "sudo A=1 curl",
			    "sudo --user=root env nice -n 5 curl", "timeout -s KILL 5 curl x",
			    "stdbuf -oL curl", "time -p curl", "command -p curl", "exec -a ls curl",
			    "xargs -n 1 -P4 curl < list", "chroot /x curl", "flock /l curl",
			    "find . -exec curl {} \\;", "find . -execdir curl {} +",
			    "sh -c 'curl x'", "bash -lc 'curl x'", "bash -o pipefail -c 'curl x'",
			    "bash --norc -c -- 'curl x'", "/bin/sh -c 'sh -c \"sh -c curl\"'",
			    "eval 'curl x'", "eval cu''rl x", "busybox sh -c 'curl x'",
			    "find . -exec sh -c 'curl $1' _ {} ';'" } },
		{ "wget", { "busybox wget x", "env toybox wget", "bash -c 'wget http://x'" } },
		{ "nc", { "nc.traditional -l 1", "nc.openbsd x" } },
		{ "rm -rf /", { "rm\n-rf\n/", "cd x\nrm\n-rf\n/", "rm \\\n-rf /", "rm\t-rf\t/",
				"rm '-rf' /*", "rm -rf /$x", "sudo rm -r x -f -- /" } },
	};

	use_rules(usual);
	check_rows(rows, ARRAY_SIZE(rows));
}

/* Words that are no commands, and commands that the text computes: execve is asked. */
static void test_no_command_is_refused_that_is_not_written(void)
{
	static const struct row rows[] = {
		{ NULL, { "", " \n # curl\n", "sync", "rsync -a src dst", "python launch.py",
			  "echo curly", "echo curl", "apt-get download libcurl4",
			  "echo hi # curl x",
			  "git commit -m 'drop curl; rm -rf /'",
			  "git commit -m \"a; curl $(date) curl\"",
			  "echo $(date) curl", "python3 -c 'import os; os.system(\"curl x\")'",
			  "curl.sh", "which curl", "command -v curl", "env A=curl ls",
			  "env --unset curl ls", "sudo -u curl ls", "sudo --login curl",
			  "timeout 5 ls curl",
			  "sh script curl", "sh -c 'echo curl'", "xargs echo curl", "ls > curl",
			  "ls 2> curl >&2", "cat <<E\ncurl x\nE\nls", "cat <<'E'\n$(curl x)\nE",
			  "cat <<A <<B\ncurl\nA\ncurl\nB\n", "curl=1; echo $curl", "curl () { :; }",
			  "for curl in a b; do echo $curl; done", "a=(curl wget)",
			  "case curl in curl) echo y;; wget|nc) z;; esac",
			  "case $x in (nc) y;; esac",
			  "x=$(case $y in curl) z;; nc) w;; esac)", "echo '$(curl x)'",
			  "echo \"\\$(curl x)\"", "[ -x /usr/bin/curl ] && echo yes",
			  "[[ -x a && $x =~ ^(curl|wget)$ ]]", "ls @(curl|nc)", "((curl > nc))",
			  "echo $((a | curl))", "rm -rf build\n/usr/bin/make", "rm -rf build",
			  "rm -rf \"$tmp\"", "rm $(cat list)", "rm -rf *" } },
		{ NULL, { "c=curl; $c x", "$(cat f) x", "cu${X}rl x", "${X}curl x",
			  "/usr/bin/cur? x",
			  "cur* x", "{curl,x}", "$'cu\\x72l'", "echo curl | sh", "sh <<E\ncurl\nE",
			  "cat <<E\nE\ncurl",
			  "case $x in a) curl;; esac",
			  "$(echo 'curl x')", "alias x=curl; x", "rm${IFS}-rf${IFS}/", "rm -rf ~",
			  "$(echo %s) curl" } },
		{ NULL, { "echo 'curl", "echo \"x", "$(", "`", "${x", "case", "if then", "ls ;; ls",
			  ")))", "<<", "<", "((", "[[", "\\", "$", "$'\\", "a=(", "case x in",
			  "find -exec", "sh -c", "sudo -u", "f(", "<<E" } },
	};

	use_rules(usual);
	check_rows(rows, ARRAY_SIZE(rows));
}

static void test_shell_syntax_is_looked_for_in_the_text(void)
{
	static const char *const list[] = { ":(){ :|:& };:", "> /dev/sda", "wget", NULL };
	static const struct row rows[] = {
		{ ":(){ :|:& };:", { ":(){  :|:&\n};:" } },
		{ "> /dev/sda", { "echo x >  /dev/sda", "wget x > /dev/sda" } },
		{ NULL, { "echo x > /dev/sdb" } },
	};

	use_rules(list);
	check_rows(rows, ARRAY_SIZE(rows));
	ok(command_rule_in_text(&rules[1], STR(":  >\n/dev/sda")) &&
	   !command_rule_in_text(&rules[2], STR("wget")), "of a text alone");
}

static void test_rules_that_mean_nothing_are_refused(void)
{
	static const char *const bad[] = { "", " \t\n", "/usr/bin/", "A=1 curl" };
	struct command_rule r = { .n_words = 77 };
	char why[COMMAND_WHY] = "", message[COMMAND_WHY];
	static char large[MAX_COMMAND_WORD + 2];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ok(command_rule_parse(str_from(bad[i]), &memory, &r, why) < 0 && why[0], "'%s'",
		   bad[i]);
	ok(command_rule_parse((struct str){ "a\0b", 3 }, &memory, &r, why) < 0, "a NUL byte");
	memset(large, 'x', sizeof(large));
	ok(command_rule_parse((struct str){ large, MAX_COMMAND_WORD + 1 }, &memory, &r, why) < 0,
	   "too long");
	is_int((long long)r.n_words, 77, "untouched on failure");
	ok(command_rule_parse((struct str){ large, MAX_COMMAND_WORD }, &memory, &r, why) == 0,
	   "as long as may be");
	command_rule_message(&r, message);
	ok(strstr(message, "xxx…'"), "a long rule is quoted in part: %s", message);
	ok(command_rule_parse(STR("env A=1\tcurl"), &memory, &r, why) == 0, "a variable for env");
	command_rule_message(&r, message);
	is_text(message, "Command blocked by sandbox policy: contains 'env A=1 curl'", "a message");
}

/* ---- argument vectors --------------------------------------------------------- */

static bool matches(const char *rule, const char *command, struct command_place place)
{
	struct str words[16], rest = str_from(command);
	struct command_rule r;
	char why[COMMAND_WHY];
	size_t n = 0;

	if (command_rule_parse(str_from(rule), &memory, &r, why) < 0)
		return false;
	for (size_t len; rest.n; rest = str_from_pos(rest, MIN(len + 1, rest.n))) {
		len = str_find(rest, ' ');
		words[n++] = str_first(rest, len);
	}
	return command_rule_matches(&r, words, n, place);
}

static void check_vectors(const char *const (*rows)[3], size_t n, struct command_place place)
{
	for (size_t i = 0; i < n; i++) {
		ok(matches(rows[i][0], rows[i][1], place), "%s: %s", rows[i][0], rows[i][1]);
		ok(!matches(rows[i][0], rows[i][2], place), "%s: not %s", rows[i][0], rows[i][2]);
	}
}

static void test_options_are_a_set_of_letters(void)
{
	/* a rule, a command that it matches, one that it does not */
	static const char *const rows[][3] = {
		{ "curl", "/usr/bin/curl x", "echo curl" },
		{ "/usr/bin/curl", "curl", "sudo curl" },
		{ "wget", "busybox wget x", "busybox ls wget" },
		{ "mkfs", "mkfs.ext4 /dev/x", "mkfsx" },
		{ "python*", "python3.11 -c x", "xpython" },
		{ "rm -rf /", "rm -fr /etc", "rm -rf etc" },
		{ "rm -rf /", "rm -R -v --force /", "rm -r /" },
		{ "rm -rf /", "rm / --recurs -xf", "rm -- -rf /" },
		{ "rm -rf -- -x", "rm -rf -- -x", "rm -rf y" },
		{ "chmod -R 000 /", "chmod --recursive 000 /etc", "chmod -r 000 /" },
		{ "git push --force", "git push -f", "git push origin main" },
		{ "git push --force", "git push --force-with-lease", "git push --forged" },
		{ "git reset --hard", "git reset --har", "git reset --soft" },
		{ "git commit --no-verify", "git commit -m -- --no-verify",
		  "git commit -m x -- --no-verify" },
		{ "git commit --no-verify", "git commit -nm x", "git commit -am x" },
		{ "curl --data-binary", "curl --data-bin x", "curl --data x" },
		{ "docker run --network=host", "docker run --network host x",
		  "docker run --network none x" },
		{ "tar -C /", "tar -xC/", "tar -C x" },
		{ "tar -C /", "tar --directory=/", "tar --directory=x" },
		{ "curl -X POST", "curl -XPOST url", "curl -XGET url" },
		{ "touch --reference", "touch --ref=p x", "touch --no-create" },
		{ "find -delete", "find del ! -name -- -delete",
		  "find . -type d -empty -name let" },
		{ "curl *", "curl -Kc", "curl" },
		{ "curl * *", "curl -K c", "curl -Kc" },
		{ "git push", "git --shallow-file x push", "git --git-dir push x" },
		{ "dd if=", "dd of=x if=/dev/zero", "dd of=x" },
		{ "git push", "git -C x -c a=b --no-pager push", "git stash push" },
		{ "git push", "/usr/lib/git-core/git-push x", "git -C push status" },
		{ "git merge*", "git merge-base a b", "git log merge" },
		{ "git push", "git --git-dir=x push", "git commit -m push" },
		{ "coreutils", "coreutils rm", "rm coreutils" },
		{ "rm -rf /", "coreutils --coreutils-prog=rm -rf /", "coreutils ls -rf /" },
	};

	check_vectors(rows, ARRAY_SIZE(rows), (struct command_place){ 0 });
}

static void test_operands_are_paths(void)
{
	static const char *const rows[][3] = {
		{ "touch mark", "touch .//./mark", "touch ../mark" },
		{ "touch mark", "touch d/e/../../marks", "touch d/../../mark" },
		{ "touch ./mark", "touch mark", "touch d/mark" },
		{ "touch d/", "touch ./d/x", "touch dx" },
		{ "touch d/", "touch d", "touch ./dx" },
		{ "touch ../mark", "touch ../d/../mark", "touch d/../../../mark" },
		{ "touch .", "touch d/..", "touch d/../x" },
		{ "touch ./*", "touch x", "touch ../x" },
		{ "touch of=/dev/sda", "touch of=/dev/./sda", "touch of=/dev/sdb" },
		{ "touch //etc/./", "touch /etc/x", "touch /etcx" },
		{ "touch /", "touch ../..", "touch x" },
		{ "touch /*", "touch /x", "touch x" },
		{ "touch /etc", "touch ../../etc/x", "touch ../etc" },
		{ "touch /w", "touch ..", "touch ../other" },
		{ "touch /w/sub/d", "touch ./x/../d", "touch e" },
		{ "touch /w/sub/*", "touch x", "touch ../other" },
		{ "touch /w/*/", "touch x", "touch /other" },
		{ "touch /w/s", "touch ../s/x", "touch ../other" },
		{ "touch ~", "touch //home/./me/", "touch /home/me/x" },
		{ "touch ~/", "touch ../../home/me", "touch /home" },
		{ "touch ~/x", "touch /home/me/x", "touch /home/me/y" },
		{ "touch ~other", "touch ~other/x", "touch /home/me" },
	};

	check_vectors(rows, ARRAY_SIZE(rows), (struct command_place){ STR("/w/sub"),
		      STR("/home/me") });
}

static bool touches_from(const char *cwd, const char *rule, const char *command)
{
	return matches(rule, command, (struct command_place){ str_from(cwd), STR("") });
}

static void test_operands_are_relative_to_the_working_directory(void)
{
	ok(touches_from("/", "touch /", "touch etc"), "in the root");
	ok(!touches_from("/srv", "touch /", "touch etc"), "but not below it");
	ok(touches_from("/w/del", "touch /w/del", "touch x"), "in the named directory");
	ok(!touches_from("/w/del/a", "touch /w/del", "touch ../x"), "below it it may go on");
	ok(touches_from("/w/del/a", "touch /w/del", "touch .."), "but not with the directory");
	ok(touches_from("/w/del2", "touch /w/del", "touch ../del/x"), "a name that begins so");
	ok(touches_from("..", "touch /w/del", "touch ../x"), "a directory that is not known");
	ok(!touches_from("..", "touch /w/del", "touch x"), "down from it");
	ok(!touches_from("", "touch /w/del", "touch ../x"), "none");
}

/* ---- long texts ----------------------------------------------------------------- */

/* Each text is read in time that its length bounds: a quadratic reader needs hours. */
static void test_long_texts_are_read_once(void)
{
	static const char *const shapes[][2] = {
		{ "$(", ")" }, { "(", ")" }, { "((", "))" }, { "$((", "))" }, { "{ ", "; }" },
		{ "${x:-", "}" }, { "`", "" }, { "sh -c '", "'" }, { "sudo ", "" }, { "eval ", "" },
		{ "eval x;", "" }, { "f() { ", "; }" }, { "\"$(", ")\"" }, { "<(", ")" },
		{ "cat <<E\n", "E\n" }, { "cat <<E ", "\n" }, { "x;", "" }, { "find -exec ", "" },
		{ "rm\n-rf\n", "" }, { "case x in ", "esac " }, { "[[ ", "" }, { "a=(", ")" },
		{ "\\", "" }, { "'", "" }, { "\"", "" }, { "rm -rf ./", "" }, { "a/../", "" },
		{ "- -- ", "" }, { "\xff", "" },
	};
	static char text[MAX_COMMAND_TEXT + 2];
	const struct command_rule *got;
	struct cordon_err err;

	use_rules((const char *const[]){ "rm -rf /x*y*z", "git push --force", "curl", NULL });
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		size_t n = 0, open = strlen(shapes[i][0]), close = strlen(shapes[i][1]);

		while (n + open <= MAX_COMMAND_TEXT / (close ? 2 : 1)) {
			memcpy(text + n, shapes[i][0], open);
			n += open;
		}
		while (close && n + close <= MAX_COMMAND_TEXT) {
			memcpy(text + n, shapes[i][1], close);
			n += close;
		}
		ok(command_text_find(rules, n_rules, (struct str){ text, n }, &got, &err) == 0 &&
	   !got,
		   "%s", shapes[i][0]);
	}
	memset(text, ' ', sizeof(text));
	memcpy(text, "curl", 4);
	ok(command_text_find(rules, n_rules, (struct str){ text, MAX_COMMAND_TEXT }, &got,
	   &err) == 0 &&
	   got, "as long as may be");
	ok(command_text_find(rules, n_rules, (struct str){ text, MAX_COMMAND_TEXT + 1 }, &got,
			     &err) == 0 && !got, "longer: it is not read");
}

static void test_long_words_are_read_once(void)
{
	static char text[4u << 20];
	struct str argv[] = { STR("rm"), { text, sizeof(text) }, STR("x") };
	const struct command_place place = { STR("/w"), STR("/h") };

	use_rules((const char *const[]){ "rm -rf /x", "rm --force=x /x", "rm * /x", "rm a*aab",
					 "rm /w/*/x", NULL });
	for (size_t i = 0; i < n_rules; i++)
		for (const char *c = "a/."; *c; c++) {
			memset(text, *c, sizeof(text));
			text[0] = '-';
			ok(!command_rule_matches(&rules[i], argv, 3, place), "option %c", *c);
			text[0] = *c;
			ok(!command_rule_matches(&rules[i], argv, 3, place), "operand %c", *c);
		}
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = i % 2 ? '/' : '.';
	memcpy(text + sizeof(text) - 4, "../x", 4);
	ok(matches("touch /x", "touch ../x", place), "a short way up");
	argv[0] = STR("touch");
	use_rules((const char *const[]){ "touch /x", NULL });
	ok(command_rule_matches(&rules[0], argv, 2, place), "a long way up");
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_commands_are_found_where_they_are_written),
		TAP(test_no_command_is_refused_that_is_not_written),
		TAP(test_shell_syntax_is_looked_for_in_the_text),
		TAP(test_rules_that_mean_nothing_are_refused),
		TAP(test_options_are_a_set_of_letters),
		TAP(test_operands_are_paths),
		TAP(test_operands_are_relative_to_the_working_directory),
		TAP(test_long_texts_are_read_once),
		TAP(test_long_words_are_read_once),
		TAP_END });
}
