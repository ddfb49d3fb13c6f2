/* What the files of blocked commands share; see command.h. */
#ifndef POLICY_COMMAND_PRIV_H
#define POLICY_COMMAND_PRIV_H

#include "policy/command.h"

/* Does `text` match `pattern`, where `*` stands for any bytes?  With `is_prefix` it is
 * enough that the text begins so.  Linear in the text. */
bool command_glob(struct str pattern, struct str text, bool is_prefix);
/* Of a shell's variable. */
bool command_is_name_char(char c);
/* NAME=value, which a shell takes for itself. */
bool command_is_assignment(struct str word);
/* The words of the rule from `first` on, against those of the command from 1 on. */
bool command_arguments_match(const struct command_rule *r, size_t first, const struct str *argv,
			     size_t n, struct command_place place);
/* Does the operand begin as the rule's word, also without detours and from where the command
 * runs?  Without memory: yes. */
bool command_operand_matches(const struct command_place *place, struct str want, struct str word);

#endif
