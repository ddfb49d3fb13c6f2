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
/* By which names a path leads where it does: itself, then with what its first
 * symbolic link says in that one's place, and so on, up to what has no link on the way.  And
 * each name that a `..` behind it takes back, in it or in a link: whoever puts something else
 * there leads it elsewhere.  Stops where one is below 0.  A path that leads in circles is an
 * error of the policy's.  A relative one begins in `base`, wherever that is. */
typedef int path_act_fn(void *data, const char *path, struct cordon_err *err);
struct path_visitor {
	path_act_fn *act, *back;	/* back: or NULL */
	void *data;
};
int path_follow_all(struct arena *a, struct str path, const char *base,
		    const struct path_visitor *v, struct cordon_err *err) MUST_USE;
/* `name` in the folder `base`; NULL without memory. */
char *path_join(struct arena *a, const char *base, const char *name) MUST_USE;
/* Is normal path `inner` the same as normal path `outer`, or below it? */
bool path_within(const char *inner, const char *outer);

#endif
