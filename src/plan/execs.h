/* Blocked commands: what is about to be executed, against the rules of policy/command.h.
 * Pure: the caller has read the words and knows the names of the program.
 *
 * One execution may have several names (the path, argv[0], the file behind a symlink, the
 * rule's program whose file it is); one that a rule matches is enough.
 *
 * GAP: a program is held by its names and its file, not by what it does: a copy
 * under another name (also of the dynamic loader), an interpreter that is given the script of
 * a blocked program, or a program that does the same runs.  Operands are compared by their text:
 * not what a link leads to, nor what the program may change to another folder for.
 *
 * What the dynamic loader is given it opens later, when a link may lead elsewhere:
 * so that counts as every program that is blocked with arguments.
 */
#ifndef PLAN_EXECS_H
#define PLAN_EXECS_H

#include "plan/plan.h"
#include "policy/command.h"

#define MAX_EXEC_NAMES	16

struct exec_view {
	struct str names[MAX_EXEC_NAMES];	/* of the program; may be paths */
	size_t n_names;
	bool has_more;				/* names that found no room: then it is blocked */
	struct str *words;			/* the vector; [0] is room for each name in turn */
	size_t n_words;				/* at least 1 */
	struct command_place place;		/* of who executes */
};

/* One more name, if it is one. */
void exec_view_add(struct exec_view *v, struct str name);
/* Which of the plan's rules it breaks, or NULL. */
const struct plan_rule *exec_find_rule(const struct plan *p, const struct exec_view *v);
/* What the kernel makes of a script: the interpreter and its argument (empty:
 * none) from the first bytes of a file.  False if it is no script. */
bool exec_parse_script(struct str head, struct str *ret_interpreter, struct str *ret_argument);

#endif
