/* Policies as text: the native dialect, and JSON of the same shape. */
#ifndef POLICY_PRINT_H
#define POLICY_PRINT_H

#include "base/buf.h"
#include "base/json.h"
#include "policy/model.h"

/* One entry of a list as it is written (hosts and ports are printed). */
int item_text(enum field_kind kind, const struct item *item, struct arena *a,
	      struct str *ret) MUST_USE;
/* A whole value in one line, as in cordon.toml. */
int value_text(enum field_id id, const struct field_value *v, struct arena *a,
	       struct str *ret) MUST_USE;
/* "512M" without quotes, "a, b" for lists: for people. */
void value_print_plain(enum field_id id, const struct field_value *v, struct buf *out);

/* cordon.toml.  Reading it again gives the same policy; fields that nobody
 * set appear as comments with their defaults when `defaults` is true. */
void policy_print(const struct policy *p, bool defaults, struct buf *out);
void policy_print_json(const struct policy *p, struct json_out *out);
/* Is this the entry of a read list that a writable root already grants? */
bool print_skips(const struct section *s, enum field_id id, const struct item *item);

#endif
