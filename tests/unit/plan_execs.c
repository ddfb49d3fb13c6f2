/* Executions against blocked commands: plan/execs.h. */
#include "plan/execs.h"

#include "policy/command.h"
#include "tap.h"

#define MAX_WORDS	8

struct judged {
	const char *names;		/* of the program, apart by blanks; or NULL */
	const char *words;		/* the vector, apart by blanks */
	const char *want;		/* the rule that blocks it, or NULL */
};

static size_t split(const char *text, struct str *ret, size_t max)
{
	struct str rest = str_from(text ? text : "");
	size_t n = 0;

	while (rest.n && n < max) {
		size_t len = str_find(rest, ' ');

		ret[n++] = str_first(rest, len);
		rest = str_from_pos(rest, len < rest.n ? len + 1 : len);
	}
	return n;
}

static void check_rows(const char *const *rules, size_t n_rules, const struct judged *rows,
		       size_t n)
{
	cleanup_arena struct arena a = ARENA(1 << 20);
	struct plan plan = { .rules = arena_new(&a, n_rules, sizeof(*plan.rules)),
			     .n_rules = n_rules };
	char why[COMMAND_WHY];

	for (size_t i = 0; i < n_rules; i++) {
		struct command_rule *r = arena_new(&a, 1, sizeof(*r));

		ok(command_rule_parse(str_from(rules[i]), &a, r, why) == 0, "%s", rules[i]);
		plan.rules[i] = (struct plan_rule){ .rule = r, .text = rules[i] };
	}
	for (size_t i = 0; i < n; i++) {
		struct str words[MAX_WORDS], names[MAX_EXEC_NAMES];
		struct exec_view view = { .words = words };
		size_t n_names = split(rows[i].names, names, MAX_EXEC_NAMES);
		const struct plan_rule *got;

		view.n_words = split(rows[i].words, words, MAX_WORDS);
		for (size_t k = 0; k < n_names; k++)
			exec_view_add(&view, names[k]);
		exec_view_add(&view, words[0]);
		got = exec_find_rule(&plan, &view);
		is_text(got ? got->text : "none", rows[i].want ? rows[i].want : "none",
			"%s as %s", rows[i].words, rows[i].names ? rows[i].names : "itself");
	}
}

#define RM	"rm -rf /"

static void test_names_and_arguments(void)
{
	static const char *const rules[] = { RM, "wget", "py*" };
	static const struct judged rows[] = {
		{ NULL, "rm -rf /", RM },
		{ NULL, "/usr/bin/rm -fr /etc", RM },
		{ NULL, "rm --recursive --force //", RM },
		{ NULL, "rm -r x -f -- /./y", RM },
		{ NULL, "rm -rf x", NULL },
		{ NULL, "rm -r /", NULL },
		{ NULL, "echo rm -rf /", NULL },
		{ "/bin/rm", "x -rf /", RM },
		{ "./link /usr/bin/rm", "x -rf /", RM },
		{ "./copy", "x -rf /", NULL },
		{ "/bin/true", "rm -rf /", RM },
		{ NULL, "wget", "wget" },
		{ NULL, "python3 -c pass", "py*" },
		{ "/usr/bin/python3.11", "x", "py*" },
	};

	check_rows(rules, ARRAY_SIZE(rules), rows, ARRAY_SIZE(rows));
}

static void test_a_part_that_is_a_program(void)
{
	static const char *const rules[] = { "git push", "git reset --hard", "apt-get in*",
					     "rm x/y", "tool *", "fsck -y" };
	static const struct judged rows[] = {
		{ NULL, "git -C x push", "git push" },
		{ NULL, "/usr/lib/git-core/git-push origin", "git push" },
		{ NULL, "git-push", "git push" },
		{ "/usr/bin/git", "git-push origin", "git push" },
		{ "/usr/lib/git-core/git-push", "x origin", "git push" },
		{ NULL, "ld.so /usr/lib/git-core/git-push", "git push" },
		{ NULL, "ld.so --argv0 git-push ./link", "git push" },
		{ NULL, "git-reset --hard HEAD~", "git reset --hard" },
		{ NULL, "apt-get-install x", "apt-get in*" },
		{ NULL, "git-reset --soft HEAD~", NULL },
		{ NULL, "git-pushed x", NULL },
		{ NULL, "git-send-pack push", NULL },
		{ NULL, "push origin", NULL },
		{ NULL, "x/git-push/y origin", NULL },
		{ NULL, "y rm-x", NULL },
		{ NULL, "tool-box", NULL },
		{ NULL, "fsck-y", NULL },
	};

	check_rows(rules, ARRAY_SIZE(rules), rows, ARRAY_SIZE(rows));
}

static void test_programs_that_are_many(void)
{
	static const char *const rules[] = { RM, "wget" };
	static const struct judged rows[] = {
		{ NULL, "busybox rm -rf /", RM },
		{ NULL, "/bin/busybox wget x", "wget" },
		{ NULL, "busybox.static wget x", "wget" },
		{ NULL, "busybox busybox wget x", "wget" },
		{ "/bin/busybox", "wget x", "wget" },
		{ "/bin/wget /bin/busybox", "x y", "wget" },
		{ NULL, "toybox rm -r -f /", RM },
		{ NULL, "coreutils --coreutils-prog=rm -rf /", RM },
		{ NULL, "coreutils rm -rf /", RM },
		{ NULL, "busybox ls /", NULL },
		{ NULL, "busybox", NULL },
		/* its shell needs no exec to be another of its programs */
		{ NULL, "busybox sh -c x", RM },
		{ "/bin/busybox", "ash -c x", RM },
		{ "/bin/dash", "sh -c x", NULL },
	};

	check_rows(rules, ARRAY_SIZE(rules), rows, ARRAY_SIZE(rows));
}

static void test_the_loader(void)
{
	static const char *const rules[] = { RM };
	static const struct judged rows[] = {
		{ NULL, "/lib64/ld-linux-x86-64.so.2 /bin/rm -rf /", RM },
		{ NULL, "ld.so --library-path /x /bin/rm -rf /", RM },
		{ NULL, "ld-musl-x86_64.so.1 --preload=x rm -rf /", RM },
		{ NULL, "ld.so --argv0 rm ./copy -rf /", RM },
		{ NULL, "ld.so ld.so rm -rf /", RM },
		{ NULL, "ld.so ld.so ld.so ld.so ld.so ld.so x", RM },
		{ NULL, "ld.so ld.so x", NULL },
		{ "/usr/lib/ld-linux-aarch64.so.1", "x rm -rf /", RM },
		/* a link may lead anywhere, and to another loader */
		{ NULL, "ld.so ./link -rf /", RM },
		{ NULL, "ld.so ./link ./link -rf /", RM },
		{ NULL, "ld.so ./link -rf here", NULL },
		{ NULL, "ld.so ./link -r /", NULL },
		{ NULL, "ld.so --list /bin/ls", NULL },
		{ NULL, "ld.so", NULL },
		{ NULL, "ld.so --argv0", NULL },
	};

	check_rows(rules, ARRAY_SIZE(rules), rows, ARRAY_SIZE(rows));
}

static void test_shell_syntax_is_looked_for_in_what_a_shell_is_given(void)
{
	static const char *const rules[] = { ">/dev/sda" };
	static const struct judged rows[] = {
		{ NULL, "sh -c x>/dev/sda", ">/dev/sda" },
		{ "/bin/bash", "x -ec :>/dev/sda", ">/dev/sda" },
		{ NULL, "sh -c x", NULL },
		{ NULL, "grep >/dev/sda", NULL },
	};

	check_rows(rules, ARRAY_SIZE(rules), rows, ARRAY_SIZE(rows));
}

static void test_every_program(void)
{
	static const char *const rules[] = { "*" };
	static const struct judged rows[] = {
		{ NULL, "true", "*" },
		{ "/x/y", "z", "*" },
	};

	check_rows(rules, ARRAY_SIZE(rules), rows, ARRAY_SIZE(rows));
}

static void test_scripts(void)
{
	static const struct {
		const char *head, *interpreter, *argument;
	} rows[] = {
		{ "#!/bin/sh\nx", "/bin/sh", "" },
		{ "#! /bin/rm  -r f \n", "/bin/rm", "-r f" },
		{ "#!\t/bin/x\t-a", "/bin/x", "-a" },
		{ "#!x", "x", "" },
		{ "#!\n/bin/sh", NULL, NULL },
		{ "#!   ", NULL, NULL },
		{ "#", NULL, NULL },
		{ "", NULL, NULL },
		{ "\177ELF", NULL, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct str interpreter = STR(""), argument = STR("");
		bool is = exec_parse_script(str_from(rows[i].head), &interpreter, &argument);

		is_int(is, rows[i].interpreter != NULL, "%s", rows[i].head);
		if (is)
			ok(str_is(interpreter, rows[i].interpreter) &&
			   str_is(argument, rows[i].argument), "%s", rows[i].head);
	}
}

static void test_names_are_bounded(void)
{
	struct exec_view v = { 0 };
	static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k",
					     "l", "m", "n", "o", "p", "q", "r" };

	exec_view_add(&v, STR(""));
	ok(v.n_names == 0 && !v.has_more, "an empty name is none");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		exec_view_add(&v, str_from(names[i]));
		exec_view_add(&v, str_from(names[i]));
	}
	is_int((long long)v.n_names, MAX_EXEC_NAMES, "the others are left out");
	ok(v.has_more, "and that is known");
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_names_and_arguments),
		TAP(test_a_part_that_is_a_program),
		TAP(test_programs_that_are_many),
		TAP(test_the_loader),
		TAP(test_shell_syntax_is_looked_for_in_what_a_shell_is_given),
		TAP(test_every_program),
		TAP(test_scripts),
		TAP(test_names_are_bounded),
		TAP_END,
	});
}
