/* The arguments of a command against those of a pattern; see command.h. */
#ifndef POLICY_COMMAND_ARGS_H
#define POLICY_COMMAND_ARGS_H

#include "policy/command.h"

struct command_vector {
	const struct str *argv;
	size_t n;
	struct command_place place;
	bool at_once;			/* the operands must be the first ones */
};

/* The words of the rule from `first` on. */
bool command_arguments_match(const struct command_rule *r, size_t first,
			     const struct command_vector *v);
/* Does the operand begin as the pattern's, also without detours and from where it is used?
 * What cannot be told does. */
bool command_operand_matches(const struct command_place *place, struct str want, struct str word);

#endif
