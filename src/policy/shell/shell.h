/* Shell text, taken apart: which simple commands it holds, wherever they hide.
 *
 * The grammar is the union of POSIX sh and what bash adds, since the text may
 * be run by either.  Nothing is expanded: a word keeps its parts, and each
 * part says whether it stands for itself or is computed when the text runs.
 * The commands of lists, pipelines, compound commands, functions and of every
 * kind of substitution come out as one flat array.
 */
#ifndef POLICY_SHELL_H
#define POLICY_SHELL_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct shell_script;

enum shell_part_kind {
	SHELL_TEXT,		/* characters that stand for themselves */
	SHELL_VARIABLE,		/* $name, ${name…} */
	SHELL_OUTPUT,		/* $(…) or `…` */
	SHELL_ARITHMETIC,	/* $((…)) */
	SHELL_PROCESS,		/* <(…) or >(…) */
};

struct shell_part {
	enum shell_part_kind kind;
	bool quoted;		/* neither split into fields nor matched against file names */
	bool is_written;	/* PROCESS: >(…) */
	struct str text;	/* TEXT: the characters.  VARIABLE: the name */
	struct str subscript;	/* VARIABLE: the inside of name[…]; s == NULL without one */
	struct str op;		/* VARIABLE: "" for a plain one, else ":-", "%%", "/", "!", … */
	struct shell_word *arg;	/* VARIABLE with an operator: the word after it */
	const struct shell_script *script;	/* OUTPUT, PROCESS: where the commands are, */
	size_t first, n;			/* and which */
};

struct shell_word {
	struct str source;	/* as written, quotes and all */
	struct shell_part *parts;
	size_t n_parts;
};

/* name=value, name+=value, name=(values); also `for name in values`. */
struct shell_assign {
	struct str name;
	struct shell_word *values;
	size_t n_values;
	bool appends;
	bool is_array;
	bool is_loop;		/* each field of each value in turn */
};

enum shell_redirect_kind {
	SHELL_READ,		/* < and <> */
	SHELL_WRITE,		/* > >> >| &> &>> */
	SHELL_HERE,		/* << and <<<: `target` is the text itself */
	SHELL_DUP,		/* <& and >& */
};

struct shell_redirect {
	enum shell_redirect_kind kind;
	bool is_input;		/* of descriptor 0 */
	struct shell_word *target;
};

#define SHELL_NONE	SIZE_MAX

struct shell_command {
	struct shell_word *words;	/* program and arguments; may be empty */
	size_t n_words;
	struct shell_assign *assigns;
	size_t n_assigns;
	struct shell_redirect *redirects;
	size_t n_redirects;
	bool is_fed;		/* its input is a pipe or text from the script, */
	size_t feeder;		/* written by this command; SHELL_NONE: by more than one */
	struct str function;	/* whose body it is in; n == 0: none */
	bool is_conditional;	/* in a loop, branch or function: runs never, once or often */
	bool is_doubtful;	/* there only for a shell without `((…))` */
};

struct shell_script {
	struct shell_command *commands;	/* the inner ones of a command's words come before it */
	size_t n_commands, cap_commands;
	struct str *functions;		/* names defined here */
	size_t n_functions, cap_functions;
	size_t n_nodes;			/* words, parts and commands: what reading it cost */
};

enum shell_reading {
	SHELL_AS_WRITTEN,
	SHELL_JOINED,		/* line ends and Unicode's white space are blanks */
};

/* Read `text`, which must outlive the result.  Fails with CORDON_E_POLICY and
 * a place when the text is not shell or is nested too deeply or has too many
 * parts, and with CORDON_E_NOMEM.  `ret` must not move afterwards. */
int shell_parse(struct str text, enum shell_reading reading, struct arena *a,
		struct shell_script *ret, struct cordon_err *err) MUST_USE;

/* The bytes (1 to 4, or 0 for none) that the escape `s`, whose backslash is
 * already gone, stands for in $'…', `echo -e` and printf; returns how many
 * bytes of `s` it took. */
size_t shell_unescape(struct str s, char ret_bytes[4], size_t *ret_n);
/* Bytes of the white space (as Python's str.split knows it) at the start. */
size_t shell_space(struct str s);
bool shell_is_name(struct str s);

#endif
