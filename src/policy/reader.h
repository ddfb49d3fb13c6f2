/* From written values to fields: what every dialect reads with.
 *
 * A reader holds one policy that is being read and where its problems go.
 * The functions report what is wrong themselves and return -1; a dialect goes
 * on after a failure, so that several problems are reported in one run.
 */
#ifndef POLICY_READER_H
#define POLICY_READER_H

#include "policy/model.h"
#include "text/value.h"

/* Absolute, with the links and dots that somebody wrote. */
struct written_paths {
	const char **items;
	size_t n, cap;
};

struct reader {
	struct policy *policy;
	struct diags *diags;
	const char *file;	/* the name that places get; outlives the policy */
	const char *base_dir;	/* what relative paths start from; absolute */
	const char *cwd;	/* the same for dialects that start from the caller's place */
	const char *home;	/* what ~ means, or NULL */
	struct written_paths *written;	/* of roots that have another path; or NULL */
	/* A variable of the caller's environment, or NULL. */
	const char *(*env)(const char *name);
	/* Keys that the dialect's own program ignores are warnings, not errors. */
	bool ignores_unknown;
	size_t n_guesses;	/* of misspelt keys, so far */
};

static inline struct place reader_at(const struct reader *r, const struct value *v)
{
	return (struct place){ r->file, v->line, v->col };
}

/* A value in the native shape of the field. */
int read_field(struct reader *r, struct section *s, enum field_id id, const struct value *v);
/* The same from a text: a word or number, or one more entry of a list. */
int read_field_text(struct reader *r, struct section *s, enum field_id id, struct str text,
		    struct place at);
/* For a path that may not be written or read: letters that are a pattern elsewhere would, taken
 * for a name, close nothing.  What is there of the absolute `path` is a name; NULL: not known. */
int read_check_letters(struct reader *r, struct str text, const char *path, struct place at);
/* Set a number (or the place of a word) that the dialect worked out itself. */
void read_number(struct section *s, enum field_id id, int64_t number, struct place at);
/* Say that a list is written, though perhaps empty. */
void read_list_start(struct section *s, enum field_id id, struct place at);
/* Add a host pattern that the dialect made. */
int read_host(struct reader *r, struct section *s, enum field_id id, const struct host_rule *rule,
	      struct place at);
/* Add NAME=VALUE to a map field. */
int read_map_entry(struct reader *r, struct section *s, enum field_id id, struct str name,
		   struct str value, struct place at);

/* Is `v` of this kind?  If not, says "KEY must be …". */
bool read_expect(struct reader *r, const struct value *v, enum value_kind kind, const char *key);
/* A list of strings that are not blank; calls `take` for each. */
int read_strings(struct reader *r, const struct value *v, const char *key,
		 int (*take)(struct reader *r, struct str text, struct place at, void *arg),
		 void *arg);

/* Report each member of `table` whose key is not in `known` (ends with NULL),
 * naming the nearest known one. */
void read_check_keys(struct reader *r, const struct value *table, const char *const *known,
		     const char *where);
/* The same for the top of a file that is another program's but for the key `own`: report
 * what is written for `own`, is one of the keys `inner` that belong into it, or is a field
 * of cordon.toml, and would be ignored. */
void read_check_top(struct reader *r, const struct value *root, const char *own,
		    const char *const *inner);
/* The word of `words` (ends with NULL) nearest to a misspelt one, or NULL. */
const char *read_nearest(struct str word, const char *const *words);

/* Fill every field of the reader's policy that is not set with its default. */
int read_defaults(struct reader *r);

/* [M3] once defaults stand in files.write or files.read. */
int read_settle_defaults(struct reader *r, bool write_is_default, bool read_is_default);
/* [M4]: what a mode says that is set. */
void read_settle_mode(struct section *s);
/* Report each allow rule all of whose hosts are denied: it can never match. */
int read_check_hosts(struct reader *r, const struct section *s);
/* The entry of files.deny that denies all of a root, or NULL. */
const struct item *read_find_denied(const struct field_value *deny, const struct item *root);

/* After the last field: canonical lists, contradictions, dead rules, [M2] to
 * [M4].  Called once for each policy. */
int read_finish(struct reader *r);

#endif
