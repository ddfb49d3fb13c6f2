/* What the reader and the intersect of Harn's policies share.
 *
 * A text is a CapabilityPolicy in JSON; null and an absent key mean the same.
 */
#ifndef POLICY_DIALECT_HARN_PRIV_H
#define POLICY_DIALECT_HARN_PRIV_H

#include "base/json.h"
#include "policy/dialect/dialect.h"

/* side_effect_level, least first. */
enum harn_level {
	HARN_NONE,
	HARN_READ_ONLY,
	HARN_WORKSPACE_WRITE,
	HARN_PROCESS_EXEC,
	HARN_NETWORK,
	HARN_DESKTOP_CONTROL,
	HARN_UNBOUNDED, /* not written */
	N_HARN_LEVELS
};

/* Words of side_effect_level; ends with NULL in the place of HARN_UNBOUNDED. */
extern const char *const harn_level_words[N_HARN_LEVELS];

/* How a key's value is checked. */
enum harn_form {
	FORM_STRING,
	FORM_PROFILE,
	FORM_LEVEL,
	FORM_STRINGS,
	FORM_PRESETS,
	FORM_ROOTS,
	FORM_COUNT,
	FORM_FLAG,
	FORM_TABLE,
	FORM_CONSTRAINTS, /* an array of tables */
	FORM_OPERATIONS,  /* names with lists of strings */
	FORM_ANY,	  /* checked by its reader, or copied as it is */
	N_HARN_FORMS
};

/* When the result of intersect has a key. */
enum harn_shown { SHOWN_ALWAYS, SHOWN_SAID, SHOWN_FILLED, SHOWN_AS_TABLE };

enum harn_key {
#define HARN(id, ...)	K_##id,
#include "policy/dialect/harn.def"
#undef HARN
	N_HARN_KEYS
};

struct harn_row {
	const char *key;
	bool of_process;	/* stands in process_sandbox */
	enum harn_form form;
	enum harn_shown shown;
	const char *excess;
};

extern const struct harn_row harn_rows[N_HARN_KEYS];

/* The note that the rules of block_private carry (match.c looks for it). */
#define HARN_PRIVATE_NOTE "block_private"

/* ---- looking things up -------------------------------------------------- */

/* The value unless it is null; `table` may be NULL or of another kind. */
const struct value *harn_get(const struct value *table, const char *key);
/* A list with entries, or NULL. */
const struct value *harn_list(const struct value *table, const char *key);
bool harn_flag(const struct value *table, const char *key);
enum harn_level harn_get_level(const struct value *root);
/* Are capabilities bounded at all, and do they have this operation? */
bool harn_has_capabilities(const struct value *root);
bool harn_has_operation(const struct value *root, const char *capability, const char *operation);
/* Is anything allowed in the workspace roots?  What is may be read there. */
bool harn_has_workspace(const struct value *root);
/* Is one of the roots `path`, or above it? */
bool harn_holds(const struct field_value *roots, const char *path);
/* Variables that steer the loader, not the program. */
bool harn_is_loader_variable(struct str name);

/* ---- reading ------------------------------------------------------------ */

/* Report unknown keys, wrong kinds and unknown words, of all but the sections
 * that harn_read_rest() reads. */
void harn_check(struct reader *r, const struct value *root);
/* A list or table that is compared with another, entry by entry, is short. */
bool harn_check_size(struct reader *r, const struct value *v, const char *key);
/* egress, network, limits and env; as if side_effect_level were unbounded. */
void harn_read_rest(struct reader *r, const struct value *root);
/* egress and network of it (harn_net.c). */
void harn_read_network(struct reader *r, const struct value *root);

/* ---- intersect ---------------------------------------------------------- */

/* The members that harn_read_rest() reads, of what two such policies have in common. */
void harn_print_rest(const struct section *s, struct json_out *out);
/* "egress" of it, where there is something to say (harn_net.c). */
void harn_print_egress(const struct section *s, struct json_out *out);
int harn_intersect(const struct value *ceiling, const struct value *requested, struct json_out *out,
		   struct cordon_err *err);

#endif
