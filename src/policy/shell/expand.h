/* What the words of a shell text may become when it runs.
 *
 * Nothing is run: variables that the text itself assigns are followed,
 * whatever the order in which it does so; the output of `echo`, `printf` and
 * a few others is worked out; everything else is a hole in the
 * result (hole.h).
 */
#ifndef POLICY_EXPAND_H
#define POLICY_EXPAND_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/str.h"
#include "policy/shell/hole.h"
#include "policy/shell/shell.h"

/* Several things that one word may become; more than this and it is any. */
#define MAX_WAYS	64

struct ways {
	struct str *items;
	size_t n;
};

/* One command line: patterns, and the words they come from. */
struct argv {
	struct str *words;
	struct str *sources;
	size_t n;
};

/* One set of positional parameters, of a function's call or (n == 0) any. */
struct call {
	struct str function;
	struct argv args;
};

struct variable;

struct expander {
	struct arena *a;
	struct map names;		/* into `variables` */
	struct variable *variables;
	size_t n_variables, cap_variables;
	struct call *calls;		/* what became positional parameters */
	size_t n_calls, cap_calls;
	bool calls_anything;		/* too many of them */
	struct str scope;		/* the function whose $1 is meant */
	bool shifts;			/* the text uses `shift` */
	bool learned;			/* something new since this was last cleared */
	unsigned round;			/* older remembered results do not count */
	unsigned depth;
	size_t work;
	bool exhausted;			/* too much work: nothing that follows is right */
	bool no_memory;
};

/* Count `n` bytes of work; false once there was too much. */
bool expand_work(struct expander *e, size_t n);
/* Memory for the results; NULL is noted in `e`. */
void *expand_new(struct expander *e, size_t n, size_t size);
/* A text for as long as the expander lives; empty where there is no room, which
 * the expander remembers. */
struct str expand_keep(struct expander *e, const struct buf *text);

/* Learn the assignments of a script. */
void expand_learn(struct expander *e, const struct shell_script *script);
/* Learn that `name` may be `value`; without one, that it may be anything. */
void expand_learn_value(struct expander *e, struct str name, const struct str *value);
/* Learn a set of positional parameters. */
void expand_learn_call(struct expander *e, struct str function, struct argv args);

/* The text of a word as in an assignment: one field. */
struct ways expand_text(struct expander *e, const struct shell_word *word);
/* The command lines that a simple command may become. */
size_t expand_command(struct expander *e, const struct shell_command *cmd, struct argv **ret);

#endif
