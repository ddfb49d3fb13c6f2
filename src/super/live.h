/* Live runs: one file each in $XDG_RUNTIME_DIR/cordon, or /tmp/cordon-UID
 * where there is none.  Only their user can look into them, and no command can:
 * they are in no root, or masked where a root covers them. */
#ifndef SUPER_LIVE_H
#define SUPER_LIVE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "plan/plan.h"

#define MAX_LIVE_ROOT	192

/* This run's file. */
struct live {
	char path[MAX_LIVE_ROOT + 64];	/* empty: there is none */
};

/* The value of a SIGTERM that ends a run, whatever its command does about it. */
#define LIVE_END	0x636f7264

/* The folder of all live runs of this user, as text; need not be there. */
void live_root(char ret[MAX_LIVE_ROOT]);
/* Make it, so that it can be masked. */
int live_make_root(const char *root, struct cordon_err *err) MUST_USE;
/* Say that this process runs the plan.  Nothing depends on it but being
 * listed: what fails is left out. */
void live_try_add(struct live *l, const char *root, const char *run_id, const struct plan *plan);
void live_remove(struct live *l);

/* One line a live run, or a JSON list; what dead ones left is removed. */
int live_list(bool json, struct buf *out, struct cordon_err *err) MUST_USE;
/* End one by its id or its supervisor's pid, and wait for the end.  1: there is
 * none such. */
int live_kill(const char *id, struct cordon_err *err) MUST_USE;

#endif
