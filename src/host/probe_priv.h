/* The acts that probe.c tries; each is a child_fn.  Private to this room. */
#ifndef HOST_PROBE_PRIV_H
#define HOST_PROBE_PRIV_H

#include "host/child.h"

/* probe_namespace.c: in namespaces of their own. */
int try_userns(struct cordon_err *say);
int try_mount(struct cordon_err *say);
int try_pid(struct cordon_err *say);
int try_net(struct cordon_err *say);
int try_ipc(struct cordon_err *say);
int try_uts(struct cordon_err *say);

/* probe_network.c: in a network namespace. */
int try_tproxy(struct cordon_err *say);

/* probe_kernel.c: what the kernel does for one process. */
int try_seccomp(struct cordon_err *say);
int try_notify(struct cordon_err *say);
int try_landlock(struct cordon_err *say);
/* Landlock's ABI; 0 with `why` filled: none. */
int landlock_abi(struct cordon_err *why);

/* probe_outside.c: what others have set up for us. */
int try_cgroup(struct cordon_err *say);
/* Remove what a killed try_cgroup() of a child of ours may have left. */
void forget_cgroup(void);

/* What was found, in words. */
void say_found(struct cordon_err *say, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
