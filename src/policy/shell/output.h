/* What a command of a shell text prints, where the text tells. */
#ifndef POLICY_OUTPUT_H
#define POLICY_OUTPUT_H

#include "policy/shell/expand.h"

/* The output of a substitution. */
struct ways output_of_part(struct expander *e, const struct shell_part *part);
/* What `cmd` reads; false when that does not come from this text. */
bool output_to_command(struct expander *e, const struct shell_script *script,
		       const struct shell_command *cmd, struct ways *ret);

#endif
