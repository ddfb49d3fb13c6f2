/* A command against the blocked ones, before it is started. */
#ifndef LIB_JUDGE_H
#define LIB_JUDGE_H

#include "policy/model.h"

struct judged {
	const char *const *argv;
	size_t n;
	const char *shell_text;		/* the command is a shell with this text, or NULL */
};

/* Its text where there is one, its words otherwise.  What it starts in turn meets
 * the kernel.  Sets *ret to the message, or NULL. */
int judge_command(const struct policy *p, const struct judged *j, struct arena *a,
		  const char **ret, struct cordon_err *err) MUST_USE;

#endif
