/* What command.c (patterns) lends to judge.c (shell text). */
#ifndef POLICY_COMMAND_PRIV_H
#define POLICY_COMMAND_PRIV_H

#include "policy/command.h"

enum command_match {
	COMMAND_DIFFERS,
	COMMAND_MAY_MATCH,	/* the name has holes, and one filling is the rule's */
	COMMAND_MATCHES,
};

/* The words here are patterns (expand.h). */
struct str command_base_name(struct str word);
/* The program and the words after it; `at_once`: the operands must be the first ones.  What
 * may match does by its name. */
enum command_match command_check(const struct command_rule *r, const struct str *argv, size_t n,
				 bool at_once);
/* The message of a verdict: at most `max` bytes of `what` between the two. */
void command_say(char message[COMMAND_WHY], const char *before, struct str what, const char *after,
		 size_t max);

#endif
