/* Paths as text, and what they resolve to. */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

/* Absolute, without `.`, `..`, doubled or trailing slashes; by text alone.
 * `base` (absolute) is put before a relative path.  NULL without memory. */
char *path_normal(struct arena *a, struct str path, const char *base) MUST_USE;
/* The same after following every symbolic link; what does not exist yet is
 * kept as text below its nearest existing ancestor.  Links are followed
 * before `..` is taken back, as the kernel does. */
int path_resolve(struct arena *a, struct str path, const char *base, const char **ret,
		 struct cordon_err *err) MUST_USE;
/* The absolute `path` with what its first symbolic link says in that one's place; *ret is NULL
 * where it holds none, and where a `..` behind another link is in the way. */
int path_follow(struct arena *a, const char *path, const char **ret,
		struct cordon_err *err) MUST_USE;
/* `path` and each name that path_follow() gives it after that, up to what it leads to; stops
 * where `act` is below 0.  A path that leads in circles is an error of the policy's. */
typedef int path_act_fn(void *data, const char *path, struct cordon_err *err);
int path_follow_all(struct arena *a, const char *path, path_act_fn *act, void *data,
		    struct cordon_err *err) MUST_USE;
/* `name` in the folder `base`; NULL without memory. */
char *path_join(struct arena *a, const char *base, const char *name) MUST_USE;
/* Is normal path `inner` the same as normal path `outer`, or below it? */
bool path_within(const char *inner, const char *outer);

#endif
