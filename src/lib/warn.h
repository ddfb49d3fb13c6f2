/* One line each about what the caller may not expect; told to whoever wants to hear it. */
#ifndef LIB_WARN_H
#define LIB_WARN_H

#include "lib/compose.h"
#include "plan/compile.h"

struct warner {
	void (*tell)(void *arg, const char *line);	/* or NULL */
	void *arg;
};

/* What a found policy asks for, and does not get until it is trusted. */
void warn_of_found(const struct warner *w, const struct composition *c);
/* What an option asks for and another policy, a ceiling mostly, does not allow. */
void warn_of_cuts(const struct warner *w, const struct composition *c);
/* That nothing encloses the command, and who says so. */
void warn_of_none(const struct warner *w, const struct policy *p);
/* Limits that an option sets and that nobody holds for a command that nothing encloses. */
void warn_of_unheld(const struct warner *w, const struct policy *p, bool counts_output);
/* What a plan keeps to be read only, and what it does without. */
void warn_of_plan(const struct warner *w, const struct plan *plan);
/* Variables that are named and that nothing can bring in. */
void warn_of_variables(const struct policy *p, struct diags *d);

#endif
