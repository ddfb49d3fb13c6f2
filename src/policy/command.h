/* Blocked commands: rules, and what is compared with them.
 *
 * A rule is a program and words: "curl", "rm -rf /".  The program is compared by the last
 * component of its path.  Options of the rule are a set of letters: -rf is -r -f, -fr and
 * --recursive --force.  Every other word must begin an operand of the command, in the same
 * order; paths are compared without `.`, `//` and `..`, and from the working directory where
 * that is known.  `~` is the home directory, and alone nothing below it.  A `*` stands for
 * any bytes, alone for any argument.  `git push` is git-push as well.
 *
 * The wall is execve (plan/execs.h), where the words are known.  Shell text that is not yet
 * executed is only split into commands: a command that the text computes is not found in it.
 *
 * A rule with shell syntax ("> /dev/sda") is looked for in shell text as it was written, with
 * white space collapsed, and matches no argument vector.
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
	bool has_operators;		/* it is shell syntax */
};

/* Where a command runs.  Empty: not known. */
struct command_place {
	struct str cwd, home;
};

/* There is a working directory, but its path is not known: `..` may lead anywhere. */
#define COMMAND_CWD_LOST	STR("..")

#define COMMAND_WHY	256

/* A blank rule is refused. */
int command_rule_parse(struct str text, struct arena *a, struct command_rule *ret,
		       char why[COMMAND_WHY]) MUST_USE;
/* Is this argument vector the rule's command?  argv[0] may be a path.  The program that sudo
 * or env executes is not looked for: that execution is compared by itself.  An applet of
 * busybox is not executed again, so it counts.  A word may hold a NUL for a part that is not
 * known; that part is equal to nothing but a `*`. */
bool command_rule_matches(const struct command_rule *r, const struct str *argv, size_t n,
			  struct command_place place);
/* Is a rule of shell syntax in the text that a shell is given?  False for other rules. */
bool command_rule_in_text(const struct command_rule *r, struct str text);
/* "Command blocked by sandbox policy: contains '…'" */
void command_rule_message(const struct command_rule *r, char message[COMMAND_WHY]);
/* A program without words: a mask over its file blocks it. */
bool command_rule_is_plain(const struct command_rule *r);
/* The name of the one program it is about; empty if it is about text or several programs. */
struct str command_rule_program(const struct command_rule *r);
/* The last component of a path. */
struct str command_base_name(struct str path);
/* Does this program read shell text?  The word may be a path. */
bool command_is_shell(struct str word);

/* The first rule whose command is written in the shell text, or NULL.  Text that cannot be
 * split is left to execve.  Fails only for want of memory. */
int command_text_find(const struct command_rule *rules, size_t n, struct str text,
		      const struct command_rule **ret, struct cordon_err *err) MUST_USE;

#endif
