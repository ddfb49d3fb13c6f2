/* What this machine can enforce: one table, filled by trying (probe.h) or read
 * from a text, so that plans for other machines can be tested here. */
#ifndef HOST_CAPS_H
#define HOST_CAPS_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

enum host_cgroup {
	HOST_CGROUP_NONE,	/* nothing we may write */
	HOST_CGROUP_V2,		/* a group of ours with memory and pids */
	N_HOST_CGROUPS
};

struct host_caps {
	bool userns;		/* a user namespace that maps the caller's own uid */
	bool mount;		/* a mount namespace with open_tree, move_mount, mount_setattr */
	bool pid;		/* a pid namespace with a /proc of its own */
	bool net;		/* a network namespace whose loopback comes up */
	bool tproxy;		/* in it nf_tables can bring connections to one listener */
	bool ipc, uts;
	bool seccomp;
	bool notify;		/* seccomp user notification with WAIT_KILLABLE_RECV */
	int landlock;		/* ABI; 0: none */
	enum host_cgroup cgroup;
	bool is_root;		/* the caller is uid 0 */
};

/* The rows of the table, in the order in which they are shown.  A new one is a
 * line here, a member above, a row of `features` in caps.c, of `probes` in
 * probe.c and of `advisers` in hint.c. */
enum host_feature {
	FEATURE_USERNS,
	FEATURE_MOUNT,
	FEATURE_PID,
	FEATURE_NET,
	FEATURE_TPROXY,
	FEATURE_IPC,
	FEATURE_UTS,
	FEATURE_SECCOMP,
	FEATURE_NOTIFY,
	FEATURE_LANDLOCK,
	FEATURE_CGROUP,
	N_HOST_FEATURES
};
const char *host_feature_name(enum host_feature f);
/* What it gives to a run, in a few words. */
const char *host_feature_about(enum host_feature f);
const char *host_cgroup_name(enum host_cgroup kind);
/* Is it there at all?  (Landlock of any ABI, a cgroup of either kind.) */
bool host_caps_has(const struct host_caps *caps, enum host_feature f);
/* true, an ABI or a kind of cgroup: `number` is what the member holds. */
void host_caps_put(struct host_caps *caps, enum host_feature f, int number);

/* `key = value` lines, one for each member. */
void host_caps_print(const struct host_caps *caps, struct buf *out);
/* The reverse; comments begin with #.  A key that is not named is a thing the
 * machine does not have.  A key twice, an unknown one or a bad value is an
 * error with its line. */
int host_caps_parse(struct str text, struct host_caps *ret, struct cordon_err *err) MUST_USE;

#endif
