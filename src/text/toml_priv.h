/* What the files of the TOML reader share.
 *
 * toml.c reads the lines, toml_string.c and toml_scalar.c the values, and
 * toml_tree.c keeps the tables and the rules about defining them twice.
 */
#ifndef TEXT_TOML_PRIV_H
#define TEXT_TOML_PRIV_H

#include <locale.h>

#include "text/cursor_priv.h"
#include "text/pile_priv.h"
#include "text/value.h"

/* Who made a table decides who may add to it:
 *
 * [T1] A closed value (scalar, static array, inline table) takes nothing more.
 * [T2] A table that only a longer header implied may be defined once, by a
 *      header or by dotted keys.
 * [T3] A table with a header of its own is never defined again, and dotted
 *      keys of another table do not reach into it.
 * [T4] A table made by dotted keys gets no header; further dotted keys and
 *      headers of sub-tables may add to it.
 * [T5] An array made by [[headers]] grows by these alone; other headers go
 *      through it into its last element.
 */
enum toml_form {
	TOML_CLOSED,
	TOML_IMPLIED,
	TOML_HEADER,		/* also the root, and elements of [[arrays]] */
	TOML_DOTTED,
	TOML_ELEMENTS,
	N_TOML_FORMS
};

/* A key with its value while the text is being read. */
struct toml_node {
	struct str key;
	struct spot key_spot;
	enum toml_form form : 16;
	unsigned depth : 16;	/* of what it holds, if that is a table or array */
	unsigned n_children;
	struct value value;	/* of an open node: kind, line and column only */
	struct toml_node *parent, *next;
	struct toml_node *first, *last;	/* children, in the order of the text */
};

/* All nodes by parent and key.  One index for the whole text: one per table
 * would cost most where a text has many small tables. */
struct toml_index {
	struct toml_node **slots;
	size_t n, cap;
};

struct toml {
	struct cursor at;
	struct arena *arena;		/* of the tree that is given away */
	struct arena scratch;		/* of the nodes */
	struct toml_index index;
	struct pile items;		/* of the arrays that are still open */
	size_t n_nodes, n_containers;
	locale_t c_locale;		/* the caller's may write 0,5 */
	struct cordon_err *err;
};

/* A key to look up or to make. */
struct toml_key {
	struct str name;
	struct spot spot;
};

#define toml_fail(t, spot, ...) err_at((t)->err, (spot).line, (spot).col, __VA_ARGS__)

/* Count one more value, or one more table or array at this depth. */
int toml_count(struct toml *t, struct spot spot) MUST_USE;
int toml_count_container(struct toml *t, unsigned depth, struct spot spot) MUST_USE;

/* A table of no parent: the root, or an inline table. */
struct toml_node *toml_node_new(struct toml *t, struct spot spot, unsigned depth) MUST_USE;
/* The table that a part of a header, but for its last, leads into. */
struct toml_node *toml_node_through(struct toml *t, struct toml_node *from,
				    const struct toml_key *key) MUST_USE;
/* The same for a part of a dotted key. */
struct toml_node *toml_node_dotted(struct toml *t, struct toml_node *from,
				   const struct toml_key *key) MUST_USE;
/* The last part: a [table], an element of an [[array]], a closed value. */
struct toml_node *toml_node_define(struct toml *t, struct toml_node *from,
				   const struct toml_key *key) MUST_USE;
struct toml_node *toml_node_append(struct toml *t, struct toml_node *from,
				   const struct toml_key *key) MUST_USE;
struct toml_node *toml_node_value(struct toml *t, struct toml_node *from,
				  const struct toml_key *key) MUST_USE;
/* Turn an open node and all below it into a value of the tree. */
int toml_node_close(struct toml *t, const struct toml_node *node, struct value *ret) MUST_USE;

/* A string in any of its four forms; the cursor is at its first quote. */
int toml_string(struct toml *t, struct str *ret) MUST_USE;
/* The same without the forms that span lines. */
int toml_quoted_key(struct toml *t, struct str *ret) MUST_USE;
/* A number, boolean, date or time. */
int toml_scalar(struct toml *t, struct value *ret) MUST_USE;
/* A date or time that is the whole of `word`; *ret_known tells whether it
 * looks like one at all. */
int toml_time(struct toml *t, struct str word, struct value *ret, bool *ret_known) MUST_USE;

#endif
