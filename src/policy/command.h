/* Blocked commands: patterns, and two ways to ask them.
 *
 * A pattern is a program's name ("curl") or a program with arguments
 * ("rm -rf /").  Against an argument vector it is exact; against shell text
 * it is a courtesy (a text can hide what it runs), and what cannot be told
 * from the text counts as blocked.
 *
 * The program is compared by its last path component.  Options are sets: -rf
 * is -r -f is -fr is --recursive --force.  Every other word must begin an
 * operand of the command, in order, or be one word with the option before it (-C/tmp,
 * --directory=/tmp): "rm -rf /" is every absolute target, and "//./etc" begins with
 * "/etc", "a/../b" and "./b" with "b"; where it is known in which folder, "../../etc"
 * does as well, and "x" where that is /etc itself; not in a folder below it.  `~` is the
 * home as well, and alone nothing in it.  The first of them may be joined to the program
 * by a dash: git-push is `git push`, which is what git is told to do, not any operand.
 * A `*` stands for any bytes, alone for any argument.  A pattern with shell syntax in it
 * is looked for in the text itself, white space collapsed, and never matches an argument
 * vector.
 */
#ifndef POLICY_COMMAND_H
#define POLICY_COMMAND_H

#include "base/arena.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/str.h"

struct command_rule {
	struct str text;		/* as written: messages quote it */
	struct str *words;		/* text split at white space */
	size_t n_words;
	struct str joined;		/* "git-push" of `git push`, a program as well; or empty */
	bool has_operators;		/* shell syntax, such as `:(){ :|:& };:` or `> /dev/sda` */
};

/* Where a command runs.  Empty: not known. */
struct command_place {
	struct str cwd, home;
};

/* It has one, which cannot be told: what leads up from there may lead anywhere. */
#define COMMAND_CWD_LOST	STR("..")

#define COMMAND_WHY	256

/* A blank pattern is refused. */
int command_rule_parse(struct str text, struct arena *a, struct command_rule *ret,
		       char why[COMMAND_WHY]) MUST_USE;
/* Does running this vector do what the pattern names?  argv[0] may be a path.
 * Programs that exec another one (sudo, env) are not looked into: that exec
 * will be asked about, too.  busybox does not exec, so its applet counts. */
bool command_rule_matches(const struct command_rule *r, const struct str *argv, size_t n,
			  struct command_place place);
/* The same for a pattern with shell syntax, against the text that a shell is
 * given: white space is collapsed in both.  False for every other pattern. */
bool command_rule_in_text(const struct command_rule *r, struct str text);
/* "Command blocked by sandbox policy: contains '…'" */
void command_rule_message(const struct command_rule *r, char message[COMMAND_WHY]);
/* A program and nothing else: whoever takes its file away has blocked it. */
bool command_rule_is_plain(const struct command_rule *r);
/* The name of the one program it is about; empty if it is about text or many. */
struct str command_rule_program(const struct command_rule *r);
/* Does this program read shell text?  The word may be a path. */
bool command_is_shell(struct str word);

struct command_verdict {
	bool blocked;
	const struct command_rule *rule;	/* the first that matched; NULL when the text
						 * hides what it runs or is not shell */
	char message[COMMAND_WHY];		/* "Command blocked by sandbox policy: …" */
};

/* Judge shell text of any number of lines.  Without rules everything is
 * allowed, unread.  Fails only for want of memory. */
int command_text_check(const struct command_rule *rules, size_t n, struct str text,
		       struct command_verdict *ret, struct cordon_err *err) MUST_USE;

#endif
