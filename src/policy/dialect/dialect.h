/* The dialects: one row each.
 *
 * A dialect says how its text is read into the model and how it words a
 * refusal.  An entry of a text that the model cannot hold is an error that
 * names the field, never dropped.
 */
#ifndef POLICY_DIALECT_H
#define POLICY_DIALECT_H

#include "base/json.h"
#include "policy/match.h"
#include "policy/reader.h"

struct dialect {
	const char *name;
	const char *about;			/* one line for help */
	enum message_style style;
	/* The syntax of its texts. */
	int (*parse)(const struct source *src, struct arena *a, struct value *ret_root,
		     struct cordon_err *err);
	/* Read a tree into the reader's policy.  Problems go to the reader;
	 * read_finish() is the caller's. */
	void (*read)(struct reader *r, const struct value *root);
	/* Compose two texts by the dialect's own rules, as JSON; NULL: by the
	 * model.  On refusal `err` has the dialect's own words. */
	int (*intersect)(const struct value *ceiling, const struct value *requested,
			 struct json_out *out, struct cordon_err *err);
};

extern const struct dialect dialect_cordon, dialect_ai_harness, dialect_openharness, dialect_harn,
	dialect_harbor, dialect_srt;
/* All of them; ends with NULL. */
extern const struct dialect *const dialects[];

/* NULL when there is none. */
const struct dialect *dialect_find(const char *name);
/* By the file's name, then by what stands in it; never NULL. */
const struct dialect *dialect_detect(const struct source *src);

/* What a task says, as the harbor dialect reads it. */
struct task;
void harbor_put_task(struct reader *r, const struct task *t);

/* Add one domain with ai-harness's meaning (--allowed-domain), and its network.protocols. */
int dialect_add_domain(struct reader *r, struct str text, struct place at);

#endif
