/* without FEATURE[,FEATURE…] CMD [ARG…]: run a command on a machine that lacks
 * these: the calls that make them are refused by a filter, namespaces by their
 * number in a namespace around. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macros.h"

static const struct {
	const char *feature;
	int call, error, arg;
	unsigned mask;		/* only where the argument has one of these bits; 0: always */
} refusals[] = {
	{ "mount", SYS_open_tree, ENOSYS, 0, 0 },
	/* NETLINK_NETFILTER: no other protocol has this bit. */
	{ "tproxy", SYS_socket, EPROTONOSUPPORT, 2, 8 },
	{ "uts", SYS_sethostname, EPERM, 0, 0 },
	{ "landlock", SYS_landlock_create_ruleset, ENOSYS, 0, 0 },
	{ "seccomp", SYS_seccomp, ENOSYS, 0, 0 },
	{ "notify", SYS_seccomp, EINVAL, 1, 1u << 5 },
};

static bool is_named(const char *list, const char *feature)
{
	size_t n = strlen(feature);

	for (const char *at = list; (at = strstr(at, feature)); at++)
		if ((at == list || at[-1] == ',') && (at[n] == ',' || !at[n]))
			return true;
	return false;
}

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));

	if (fd >= 0)
		close(fd);
	return n < 0 ? -1 : 0;
}

/* The caller's own ids, mapped from outside, where root may keep its groups. */
static int write_maps(pid_t pid, unsigned uid, unsigned gid)
{
	char path[64], map[64];

	snprintf(path, sizeof(path), "/proc/%d/setgroups", pid);
	if (uid && write_file(path, "deny") < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	snprintf(map, sizeof(map), "%u %u 1\n", uid, uid);
	if (write_file(path, map) < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/gid_map", pid);
	snprintf(map, sizeof(map), "%u %u 1\n", gid, gid);
	return write_file(path, map);
}

static const struct {
	const char *feature, *setting;
} namespaces[] = {
	{ "userns", "/proc/sys/user/max_user_namespaces" },
	{ "net", "/proc/sys/user/max_net_namespaces" },
	{ "pid", "/proc/sys/user/max_pid_namespaces" },
};

/* A namespace in which there may be no other of those that are named. */
static int leave_namespaces(const char *list)
{
	unsigned uid = geteuid(), gid = getegid();
	int ready[2], status;
	pid_t child, parent = getpid();
	char byte = 0;

	if (pipe2(ready, O_CLOEXEC) < 0 || (child = fork()) < 0)
		return -1;
	if (child == 0)
		_exit(read(ready[0], &byte, 1) == 1 && write_maps(parent, uid, gid) == 0 ? 0 : 1);
	if (unshare(CLONE_NEWUSER) < 0 || write(ready[1], &byte, 1) != 1 ||
	    waitpid(child, &status, 0) != child || status != 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(namespaces); i++)
		if (is_named(list, namespaces[i].feature) &&
		    write_file(namespaces[i].setting, "0") < 0)
			return -1;
	return 0;
}

static bool lacks_namespace(const char *list)
{
	for (size_t i = 0; i < ARRAY_SIZE(namespaces); i++)
		if (is_named(list, namespaces[i].feature))
			return true;
	return false;
}

static int leave_calls(const char *list)
{
	struct sock_filter code[8 * ARRAY_SIZE(refusals) + 1];
	struct sock_fprog prog = { 0, code };

	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		unsigned off = (unsigned)offsetof(struct seccomp_data, args) +
			       8 * (unsigned)refusals[i].arg;
		struct sock_filter test[] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)refusals[i].call, 0, 3),
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, off),
			BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, refusals[i].mask, 0, 1),
			BPF_STMT(BPF_RET | BPF_K,
				 SECCOMP_RET_ERRNO | (unsigned)refusals[i].error),
		};

		if (!refusals[i].mask)
			test[3] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JA | BPF_K, 0, 0, 0);
		if (!is_named(list, refusals[i].feature))
			continue;
		memcpy(code + prog.len, test, sizeof(test));
		prog.len = (unsigned short)(prog.len + ARRAY_SIZE(test));
	}
	code[prog.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fputs("usage: without FEATURE[,FEATURE…] CMD [ARG…]\n", stderr);
		return 2;
	}
	if ((lacks_namespace(argv[1]) && leave_namespaces(argv[1]) < 0) ||
	    leave_calls(argv[1]) < 0) {
		perror("without");
		return 99;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
