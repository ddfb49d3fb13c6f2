/* One tree for every text format.
 *
 * A reader turns a whole text into a tree of values that know their line and
 * column.  Strings are UTF-8 without NUL and point into the text or the arena;
 * both must outlive the tree.  Tables have no duplicate keys and keep the order
 * of the text.  A TOML table or array that has no bracket of its own (by a
 * header or a dotted key) stands where its key does.
 */
#ifndef TEXT_VALUE_H
#define TEXT_VALUE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum value_kind {
	VALUE_NULL,		/* JSON and YAML only */
	VALUE_BOOL,
	VALUE_INT,
	VALUE_FLOAT,
	VALUE_STRING,
	VALUE_TIME,		/* TOML dates and times: `string` holds the RFC 3339 text */
	VALUE_ARRAY,
	VALUE_TABLE,
	N_VALUE_KINDS
};

struct value {
	enum value_kind kind;
	unsigned line, col;	/* both from 1; columns count bytes */
	union {
		bool boolean;
		int64_t integer;
		double real;
		struct str string;
		struct {
			struct value *items;
			size_t n;
		} array;
		struct {
			struct member *members;
			size_t n;
		} table;
	};
};

struct member {
	struct str key;
	unsigned line, col;	/* of the key */
	struct value value;
};

/* A whole text with the name that messages use for it. */
struct source {
	const char *name;
	struct str text;
};

/* "a string", "an array", …: for messages. */
const char *value_kind_words(enum value_kind kind);
/* The member's value, or NULL; `table` may be NULL or of another kind. */
const struct value *value_find(const struct value *table, const char *key);

/* The readers share this shape.  On failure `err` has line and column, and
 * nothing was stored. */
int toml_parse(const struct source *src, struct arena *a, struct value *ret_root,
	       struct cordon_err *err) MUST_USE;
int json_parse(const struct source *src, struct arena *a, struct value *ret_root,
	       struct cordon_err *err) MUST_USE;
/* The YAML front matter of a Markdown text: what stands between a first line
 * `---` and the next line `---` (or `...`).  A text without it gives
 * VALUE_NULL.  Lines are counted in the whole text. */
int yaml_parse_front_matter(const struct source *src, struct arena *a, struct value *ret_root,
			    struct cordon_err *err) MUST_USE;

#endif
