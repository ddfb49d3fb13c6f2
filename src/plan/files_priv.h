/* Between files.c, what is there, and files_cut.c, what is cut out of it. */
#ifndef PLAN_FILES_PRIV_H
#define PLAN_FILES_PRIV_H

#include "base/map.h"
#include "plan/files.h"

struct files {
	const struct policy *policy;
	const struct plan_request *request;
	struct plan *plan;
	struct cordon_err *err;
	struct map protected;	/* paths that are mounted over themselves */
	const char *unnamed;	/* the writable root that nobody named, or NULL */
	bool whole;		/* "/" itself is a readable root */
	bool in_place;		/* no mount namespace: only rights hold, on the host's own tree */
	bool failed;		/* out of memory: said once, at the end */
	bool crowded;		/* more names than can be guarded: the same */
	const char *overlong;	/* one that cannot be: the same; NULL: none */
};

/* Each sets `failed` where there is no memory, and gives something harmless back. */
struct plan_mount *files_add_mount(struct files *f, enum plan_mount_kind kind, const char *source,
				   const char *target);
void files_add_guarded(struct files *f, struct plan_guarded guarded);
/* A name of a list: absolute as it is, else below `base`. */
const char *files_below(struct files *f, const char *base, const char *name);

/* Of the policy. */
const struct field_value *files_list(const struct files *f, enum field_id id);
bool files_has_word(const struct files *f, enum field_id id, const char *word);
/* Is the path a root of the list, or below one? */
bool files_is_within(const struct files *f, enum field_id id, const char *path);

/* Did the operator name this root: by an option, or in a policy that is named or trusted? */
bool files_is_named(const struct files *f, const struct item *root);

/* The set of files.protect that holds a place of which a part, or which, is this; or NULL. */
const char *files_find_set(struct files *f, const char *path);

/* In this order, behind everything that they cut. */
int files_add_protected(struct files *f) MUST_USE;
int files_add_masks(struct files *f) MUST_USE;
int files_hide_all(struct files *f) MUST_USE;

#endif
