/* What surrounds us, for advice only: nothing is decided by it. */
#ifndef HOST_FACTS_H
#define HOST_FACTS_H

#include <stdbool.h>

enum host_container {
	CONTAINER_NONE,
	CONTAINER_DOCKER,
	CONTAINER_PODMAN,
	CONTAINER_KUBERNETES,
	CONTAINER_OTHER,	/* nspawn, lxc, … */
	N_HOST_CONTAINERS
};
/* NULL for none. */
const char *host_container_name(enum host_container c);

/* Settings are -1 where the kernel does not have them. */
struct host_facts {
	bool is_root;
	bool filtered;			/* a seccomp filter is on us already */
	bool systemd;			/* runs here */
	bool in_userns;			/* not that of the machine */
	enum host_container container;
	long userns_clone;		/* kernel.unprivileged_userns_clone */
	long max_user_namespaces;	/* user.max_user_namespaces */
	long apparmor_restrict;		/* kernel.apparmor_restrict_unprivileged_userns */
	char lsm[128];			/* active security modules, or "" */
	char exe[256];			/* our own program, or "" */
};

void host_facts_read(struct host_facts *ret);

#endif
