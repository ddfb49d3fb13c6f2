/* The accounts of this machine, as /etc/passwd has them: what a directory service knows is not
 * there, since nobody is asked over a network before a run. */
#ifndef LIB_ACCOUNTS_H
#define LIB_ACCOUNTS_H

#include "base/arena.h"
#include "base/str.h"

struct account {
	struct str name, home;
	uint64_t uid;
};

/* The first for which `fits` says so, in an arena; false: there is none. */
typedef bool account_fits_fn(const struct account *a, const void *arg);
bool account_find(struct arena *a, account_fits_fn *fits, const void *arg, struct account *ret);
/* The caller's home as the machine knows it, whatever HOME says; NULL: it knows none. */
const char *account_find_home(struct arena *a);

#endif
