/* What the two halves of Harn's intersect share: harn_intersect.c works the
 * result out, harn_result.c prints it.
 */
#ifndef POLICY_DIALECT_HARN_MEET_PRIV_H
#define POLICY_DIALECT_HARN_MEET_PRIV_H

#include "policy/dialect/harn_priv.h"

enum harn_roots {
	ROOTS_WORKSPACE,
	ROOTS_READ_ONLY,
	ROOTS_PROCESS_READ,
	ROOTS_PROCESS_WRITE,
	ROOTS_SOCKETS,
	ROOTS_DENY,
	N_HARN_ROOTS
};

struct harn_root_key {
	const char *key;
	bool of_process; /* stands in process_sandbox */
};

extern const struct harn_root_key harn_root_keys[N_HARN_ROOTS];

/* One of the two texts. */
struct harn_side {
	const char *name; /* for messages */
	const struct value *root;
	const struct value *process;		/* its process_sandbox, or NULL */
	struct field_value roots[N_HARN_ROOTS]; /* resolved */
	struct policy rest;			/* network, limits and environment */
};

struct harn_meet {
	struct arena *arena;
	const char *cwd;	/* the execution root */
	struct harn_side c, q; /* ceiling and request */
	struct field_value roots[N_HARN_ROOTS];
	bool no_workspace; /* narrowed to nothing */
	struct policy rest;
	struct cordon_err *err;
};

/* Entries of a list that may be NULL. */
static inline size_t n_strings(const struct value *list)
{
	return list ? list->array.n : 0;
}

bool harn_has_string(const struct value *list, struct str text);
bool harn_bounds_tools(const struct harn_side *side);
/* A list, possibly empty, or NULL. */
const struct value *harn_as_list(const struct value *v);
/* The member or NULL; `table` may be NULL. */
const struct member *harn_find_member(const struct value *table, struct str key);

/* The result as JSON, once it is worked out. */
void harn_print_result(const struct harn_meet *m, struct json_out *out);

#endif
