/* From a request to one policy: files, ceilings, settings, defaults. */
#ifndef LIB_COMPOSE_H
#define LIB_COMPOSE_H

#include "cordon.h"
#include "plan/compile.h"
#include "policy/dialect/dialect.h"
#include "policy/intersect.h"

/* Everything one call works with; lives for the call. */
struct composition {
	struct arena arena;
	struct diags diags;
	const char *here;		/* where this process is: policies and roots start here */
	const char *cwd;		/* where the command works; absolute, links followed */
	const char *home;		/* or NULL */
	struct written_paths written;	/* of roots, in all that was read */
	struct cuts cuts;		/* what composing took away */
	const char **sources;		/* the files that were read, absolute */
	size_t n_sources, cap_sources;
	const char *option;		/* by which those that are read now are named, or NULL */
	const char *unread;		/* what to do where one cannot be read, or NULL */
	const char *found;		/* the policy that no option named, or NULL */
	bool untrusted;			/* it is not trusted (cordon trust): it only narrows */
	size_t first_ask, n_asks;	/* of cuts: what it asks for and trust would open */
	/* As in a container: nobody works here next, so any policy may be made; and the
	 * network is never the host's own. */
	bool like_container;
	struct policy policy;		/* the result */
	struct plan_paths named_roots;	/* writable ones by option, also inside others */
	/* What it was made of, for a network that changes while a cordon lives:
	 * the project with the settings, and the ceilings as they were read. */
	struct policy project;
	struct policy ceilings[2];
	size_t n_ceilings;
};

/* The names of a project's policy, in the order in which they are looked for in
 * the current directory and above it; ends with NULL.  The last, of a task, is protected
 * as they are, and never found: it is named. */
extern const char *const project_policies[];
#define N_FOUND_POLICIES	3
/* Is it a writable root of the policy, or below one? */
bool compose_is_writable(const struct composition *c, const char *path);
/* Could something else be put in its place?  It is below such a root, and has none in it. */
bool compose_is_replaceable(const struct composition *c, const char *path);
/* The user's ceiling, below HOME. */
#define USER_CEILING	".config/cordon/cordon.toml"

int composition_init(struct composition *c, const struct cordon_request *req,
		     struct cordon_err *err) MUST_USE;
void composition_release(struct composition *c);

/* One file.  Problems go to c->diags; -1 when there are any. */
int compose_file(struct composition *c, const char *path, const char *dialect,
		 struct policy *ret) MUST_USE;
/* One text; `name` stands for it in messages and outlives the composition. */
int compose_text(struct composition *c, const struct source *src, const struct dialect *dialect,
		 struct policy *ret) MUST_USE;
/* Read one file's text into the arena. */
int compose_read_source(struct composition *c, const char *path, struct source *ret) MUST_USE;
/* The files of the request, composed: no ceilings, settings or defaults.  `option` names
 * them, or is NULL. */
int compose_files(struct composition *c, const struct cordon_request *req,
		  const char *option) MUST_USE;
/* Everything: the project, the settings, defaults, the ceilings.  The command, if
 * there is one, and the directory are such as can be meant. */
int compose_all(struct composition *c, const struct cordon_request *req) MUST_USE;
/* The same once more from what was read then: `c` is empty, `from` outlives it.
 * The phase (empty: the base) is the one that settings are added to. */
int compose_again(struct composition *c, const struct composition *from, struct str phase,
		  struct cordon_err *err) MUST_USE;
/* Behind compose_again() and what was added: defaults and ceilings. */
int compose_finish(struct composition *c) MUST_USE;
/* By default the current directory is a writable root: where that is all there is, it is none.
 * For what does without, before the defaults are filled in. */
void compose_leave_out_top(struct composition *c);
/* Fill what nobody said. */
int compose_defaults(struct composition *c) MUST_USE;
/* A copy whose phases can be changed; lists are never changed in place. */
int compose_copy(struct arena *a, const struct policy *from, struct policy *ret,
		 struct cordon_err *err) MUST_USE;
/* Is there a project's policy here or above?  Its text into `ret`, its path into c->found,
 * which is NULL where there is none, and c->untrusted. */
int compose_find(struct composition *c, struct source *ret) MUST_USE;
/* A reader over the composition's policy. */
struct reader compose_reader(struct composition *c, struct policy *p, const char *file);

#define cleanup_composition __attribute__((cleanup(composition_release)))

#endif
