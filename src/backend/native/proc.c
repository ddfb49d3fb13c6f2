/* The tree's own /proc, with the settings of its namespaces; runs in init, or in
 * the task that makes its network while init mounts.  So no call here touches
 * errno, and what failed is left for init to tell. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>

#include "backend/native/init_priv.h"
#include "backend/native/quiet.h"
#include "base/syscalls.h"

#define INSTANCES_PATH		"sys/user/max_inotify_instances"
#define MOST_INSTANCES		64	/* half of what the caller's other programs have */
#define LEAST_INSTANCES		4
#define INSTANCE_BYTES		(8 << 20)	/* in one that is not read */

/* Settings of our own namespaces, made while we may; without the namespace they
 * would be the host's.  No namespace may be made inside: each brings kernel code
 * in reach.  Messages in queues are memory that no process shows.
 * GAP: without a /proc of our own none of this is set. */
static const struct {
	const char *path, *value;
	unsigned long namespace;
	bool optional;
} sysctls[] = {
	{ "sys/user/max_user_namespaces", "0", CLONE_NEWUSER, false },
	{ INSTANCES_PATH, NULL, CLONE_NEWUSER, true },
	{ "sys/user/max_inotify_watches", "65536", CLONE_NEWUSER, true },
	{ "sys/kernel/msgmni", "16", CLONE_NEWIPC, true },
	{ "sys/fs/mqueue/queues_max", "16", CLONE_NEWIPC, true },
	/* What all TCP sockets of the machine may hold is one number, and programs
	 * inside could hold it all by connections to themselves. */
	{ "sys/net/ipv4/tcp_rmem", "4096 131072 524288", CLONE_NEWNET, false },
	{ "sys/net/ipv4/tcp_wmem", "4096 16384 524288", CLONE_NEWNET, false },
	/* A new namespace inherits the host's, which may be BBR: it paces on the loopback as
	 * well, at a third of the speed.  Connections of the gate outside keep the host's. */
	{ "sys/net/ipv4/tcp_congestion_control", "reno", CLONE_NEWNET, true },
	/* Of each socket, and charged to nobody: keys, groups, what goes with a message. */
	{ "sys/net/core/optmem_max", "20480", CLONE_NEWNET, true },
	/* Connections that are over, and charged to nobody: 360 bytes each. */
	{ "sys/net/ipv4/tcp_max_tw_buckets", "16384", CLONE_NEWNET, true },
};

/* What waits in all of them is a quarter of the memory, or less. */
static void put_instances(const struct init *in, char ret[3])
{
	int64_t n = in->plan->most.memory / (4 * INSTANCE_BYTES);

	n = MAX(LEAST_INSTANCES, MIN(n, MOST_INSTANCES));
	ret[0] = (char)('0' + n / 10);
	ret[1] = (char)('0' + n % 10);
	ret[2] = '\0';
}

static void fail(struct init *in, long rc, const char *what, const char *path)
{
	in->made = (struct made){ .error = (int)-rc, .what = what, .path = path };
}

static long write_setting(int proc, const char *path, const char *text)
{
	int fd = (int)QUIET3(openat, proc, path, O_WRONLY | O_CLOEXEC);
	long n;

	if (fd < 0)
		return fd;
	n = QUIET3(write, fd, text, strlen(text));
	QUIET1(close, fd);
	return n;
}

/* A detached mount, or -errno. */
static int new_proc(void)
{
	int fs = (int)QUIET2(fsopen, "proc", FSOPEN_CLOEXEC), mnt;

	if (fs < 0)
		return fs;
	mnt = (int)QUIET5(fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
	if (mnt == 0)
		mnt = (int)QUIET3(fsmount, fs, FSMOUNT_CLOEXEC,
				  MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	QUIET1(close, fs);
	return mnt;
}

/* Read-only, whole: the caller's own files in it are enough for programs, and uid
 * 0 could write the rest. */
void make_proc(struct init *in)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };
	int proc = new_proc(), folder;
	char instances[3];
	long rc = proc;

	put_instances(in, instances);
	if (rc < 0) {
		fail(in, rc, "cannot make a proc", "");
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(sysctls); i++) {
		if (!(in->plan->clone_flags & sysctls[i].namespace))
			continue;
		rc = write_setting(proc, sysctls[i].path,
				   sysctls[i].value ? sysctls[i].value : instances);
		if (rc < 0 && !sysctls[i].optional) {
			fail(in, rc, "cannot set /proc/", sysctls[i].path);
			return;
		}
	}
	folder = (int)QUIET3(openat, proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = folder < 0 ? folder : QUIET5(mount_setattr, proc, "", AT_EMPTY_PATH, &attr,
					  sizeof(attr));
	if (rc < 0) {
		fail(in, rc, "cannot restrict the new /proc", "");
		return;
	}
	in->fds.fd[NATIVE_PROC] = folder;
	in->proc = proc;
}
