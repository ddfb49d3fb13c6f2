/* What this machine can enforce: one table, filled by trying (probe.h) or read
 * from a text, so that plans for other machines can be tested here. */
#ifndef HOST_CAPS_H
#define HOST_CAPS_H

#include <stdbool.h>

enum host_cgroup {
	HOST_CGROUP_NONE,	/* nothing we may write */
	HOST_CGROUP_V1,		/* memory, pids and cpuacct below our own groups */
	HOST_CGROUP_V2,		/* a group of ours with memory and pids */
	N_HOST_CGROUPS
};

struct host_caps {
	bool userns;		/* an unprivileged user namespace */
	bool mount;		/* a mount namespace with open_tree, move_mount, mount_setattr */
	bool pid;		/* a pid namespace with a /proc of its own */
	bool net;		/* a network namespace */
	bool ipc, uts;
	bool seccomp;
	bool notify;		/* seccomp user notification with WAIT_KILLABLE_RECV */
	int landlock;		/* ABI; 0: none */
	enum host_cgroup cgroup;
	bool is_root;		/* the caller is uid 0 */
};

#endif
