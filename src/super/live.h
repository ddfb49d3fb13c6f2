/* Live cordons: one folder each in $XDG_RUNTIME_DIR/cordon, or /tmp/cordon-UID
 * where there is none, or none that can hold it.  Only their user can look into
 * them, and no command can: they are in no root, or masked where a root covers
 * them.
 *
 *   ID/about        the supervisor and what it runs
 *   ID/control      its control socket, see control.h
 *   ID/inside/      of a session: what its commands see, read-only
 *
 * [L1] At any time one live session at most has a name. */
#ifndef SUPER_LIVE_H
#define SUPER_LIVE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "plan/plan.h"

#define MAX_LIVE_ROOT	192

/* This cordon's folder. */
struct live {
	char path[MAX_LIVE_ROOT + 24];	/* empty: there is none */
	int control;			/* listens; or -1 */
};
#define LIVE_NONE	((struct live){ .control = -1 })

/* The value of a SIGTERM that ends a run, whatever its command does about it. */
#define LIVE_END	0x636f7264

/* The folder of all live runs of this user, as text; need not be there. */
void live_root(char ret[MAX_LIVE_ROOT]);
/* Where it is for who has no XDG_RUNTIME_DIR, and for who has the usual one. */
#define N_LIVE_ROOTS	2
void live_root_at(size_t i, char ret[MAX_LIVE_ROOT]);
/* Make it, so that it can be masked. */
int live_make_root(const char *root, struct cordon_err *err) MUST_USE;
/* Say that this process runs the plan.  Nothing depends on it but being
 * listed and spoken to: what fails is left out. */
void live_try_add(struct live *l, const char *root, const char *run_id, const struct plan *plan);
/* The folder of a session, before it has a plan, in two steps.  Its name (or
 * NULL) is refused while a live one has it. */
int live_add_session(struct live *l, const char *run_id, const char *name, const char *cwd,
		     struct cordon_err *err) MUST_USE;
/* The folder that its commands see. */
void live_inside(const struct live *l, char ret[MAX_LIVE_ROOT + 64]);
/* May a session have this name?  Not one that could be a run id or a pid. */
bool live_name_is_good(const char *name);
void live_remove(struct live *l);
/* Give up what belongs to another process from here on. */
void live_forget(struct live *l);

/* Connect to one by its id, its session's name or its supervisor's pid.  The
 * socket, or -1. */
int live_connect(const char *id, struct cordon_err *err) MUST_USE;

/* One line a live run, or a JSON list; what dead ones left is removed. */
int live_list(bool json, struct buf *out, struct cordon_err *err) MUST_USE;
/* End one by its id, its session's name or its supervisor's pid, and wait for the
 * end; what a dead session left is removed.  1: there is none such. */
int live_kill(const char *id, struct cordon_err *err) MUST_USE;

#endif
