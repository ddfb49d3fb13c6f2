/* The judge of shell text, in two parts: judge.c walks over the commands and
 * asks the patterns; judge_program.c knows programs that run commands, and
 * hands those back. */
#ifndef POLICY_JUDGE_PRIV_H
#define POLICY_JUDGE_PRIV_H

#include "base/map.h"
#include "policy/command.h"
#include "policy/shell/expand.h"

struct judge {
	const struct command_rule *rules;
	size_t n_rules;
	struct expander e;
	struct map aliases, functions;
	struct str *alias_texts;
	size_t n_aliases, cap_aliases;
	unsigned depth;
	struct str origin;	/* the word of the outermost text that is being judged */
	bool sure_only;		/* a second reading: it may block, but not by doubt */
	bool at_once;
	/* The verdict so far. */
	size_t best;		/* index of the first rule that matched */
	struct str hidden;	/* the word that hides a program; s == NULL: none */
	bool unreadable;
};

/* One command line and where it stands. */
struct line {
	const struct shell_script *script;
	const struct shell_command *cmd;
	bool is_fed;		/* the whole text reads a pipe */
	struct argv argv;
};

/* Note that this word hides which program runs. */
void judge_hide(struct judge *j, struct str source);
/* The same line without its first words. */
struct line judge_shift_line(struct line line, size_t by);
void judge_line(struct judge *j, struct line line);
void judge_text(struct judge *j, struct str text, bool is_fed);
/* The program `name` of this line may run others: judge those, too. */
void judge_program(struct judge *j, struct line line, struct str name);

#endif
