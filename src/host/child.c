/* Throw-away children; see child.h.
 *
 *   caller   holds the reading end of one pipe; waits for it at most
 *            MAX_PROBE_MS, then kills, then reaps
 *   child    the namespaces asked for, pid 1 where one of pids is among them;
 *            writes one struct cordon_err and ends; dies with the caller
 */
#include "host/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"

static const struct {
	unsigned long flag;
	const char *name, *path;
} namespace_kinds[] = {
	{ CLONE_NEWUSER, "user", "/proc/self/ns/user" },
	{ CLONE_NEWNS, "mount", "/proc/self/ns/mnt" },
	{ CLONE_NEWPID, "pid", "/proc/self/ns/pid" },
	{ CLONE_NEWNET, "network", "/proc/self/ns/net" },
	{ CLONE_NEWIPC, "ipc", "/proc/self/ns/ipc" },
	{ CLONE_NEWUTS, "uts", "/proc/self/ns/uts" },
};

/* What the child must know of the world before it. */
struct origin {
	unsigned long namespaces;
	uid_t uid;
	gid_t gid;
	ino_t inodes[ARRAY_SIZE(namespace_kinds)];	/* 0: not known */
	int report_fd;
	child_fn *act;
};

static ino_t namespace_inode(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* ---- in the child ------------------------------------------------------- */

static int write_file(const char *path, const char *text, struct cordon_err *err)
{
	cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC);
	size_t n = strlen(text);

	if (fd < 0)
		return err_sys(err, CORDON_E_HOST, "cannot open %s", path);
	if (write(fd, text, n) != (ssize_t)n)
		return err_sys(err, CORDON_E_HOST, "cannot write %s", path);
	return 0;
}

static int map_own_ids(const struct origin *o, struct cordon_err *err)
{
	char uid_map[64], gid_map[64];

	snprintf(uid_map, sizeof(uid_map), "%u %u 1\n", o->uid, o->uid);
	snprintf(gid_map, sizeof(gid_map), "%u %u 1\n", o->gid, o->gid);
	if (write_file("/proc/self/setgroups", "deny", err) < 0 ||
	    write_file("/proc/self/uid_map", uid_map, err) < 0 ||
	    write_file("/proc/self/gid_map", gid_map, err) < 0)
		return -1;
	if (geteuid() != o->uid || getegid() != o->gid)
		return err_set(err, CORDON_E_HOST, "the maps were written and do not hold");
	return 0;
}

/* What follows changes mounts, interfaces and names: not before it is certain
 * that they are our own. */
static int prove_namespaces(const struct origin *o, struct cordon_err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(namespace_kinds); i++) {
		ino_t now;

		if (!(o->namespaces & namespace_kinds[i].flag))
			continue;
		now = namespace_inode(namespace_kinds[i].path);
		if (!now || now == o->inodes[i])
			return err_set(err, CORDON_E_HOST, "the %s namespace is still the caller's",
				       namespace_kinds[i].name);
	}
	return 0;
}

_Noreturn static void child_main(const struct origin *o)
{
	struct cordon_err say = { .code = CORDON_E_NONE };
	int rc;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	rc = prove_namespaces(o, &say);
	if (rc == 0 && (o->namespaces & CLONE_NEWUSER))
		rc = map_own_ids(o, &say);
	if (rc == 0)
		rc = o->act(&say);
	if (rc == 0)
		say.code = CORDON_E_NONE;
	_exit(write(o->report_fd, &say, sizeof(say)) == (ssize_t)sizeof(say) ? 0 : 1);
}

/* ---- in the caller ------------------------------------------------------ */

/* Like fork(), with namespaces, and without a signal to the parent at its end:
 * a program around us may have a handler that reaps every child. */
static pid_t clone_quietly(unsigned long namespaces)
{
#ifdef __s390__
	return (pid_t)syscall(SYS_clone, NULL, namespaces, NULL, NULL, NULL);
#else
	return (pid_t)syscall(SYS_clone, namespaces, NULL, NULL, NULL, NULL);
#endif
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Wait until there is something to read or nobody is left to write it. */
static bool wait_readable(int fd)
{
	int64_t deadline = now_ms() + MAX_PROBE_MS;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	for (;;) {
		int64_t left = deadline - now_ms();
		int n = poll(&p, 1, left > 0 ? (int)left : 0);

		if (n > 0)
			return true;
		if (n == 0 || errno != EINTR)
			return false;
	}
}

static void read_answer(int fd, struct child_answer *ret)
{
	ssize_t n = 0;

	ret->worked = false;
	if (!wait_readable(fd)) {
		err_set(&ret->say, CORDON_E_HOST, "no answer within %d ms", MAX_PROBE_MS);
		return;
	}
	do
		n = read(fd, &ret->say, sizeof(ret->say));
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(ret->say)) {
		/* Filters that kill, and machines out of memory, answer so. */
		err_set(&ret->say, CORDON_E_HOST, "the process that tried was killed");
		return;
	}
	ret->say.msg[sizeof(ret->say.msg) - 1] = '\0';
	ret->worked = ret->say.code == CORDON_E_NONE;
}

static void reap(pid_t pid)
{
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
}

static void describe_origin(struct origin *o)
{
	o->uid = geteuid();
	o->gid = getegid();
	for (size_t i = 0; i < ARRAY_SIZE(namespace_kinds); i++)
		if (o->namespaces & namespace_kinds[i].flag)
			o->inodes[i] = namespace_inode(namespace_kinds[i].path);
}

int child_run(unsigned long namespaces, child_fn *act, struct child_answer *ret,
	      struct cordon_err *err)
{
	struct origin o = { .namespaces = namespaces, .act = act };
	struct child_answer answer = { .worked = false };
	sigset_t all, before;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot make a pipe");
	describe_origin(&o);
	o.report_fd = ends[1];
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = clone_quietly(namespaces);
	if (pid == 0)
		child_main(&o);
	if (pid < 0)
		err_sys(&answer.say, CORDON_E_HOST, "cannot make %s",
			namespaces ? "the namespace" : "a process");
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(ends[1]);
	if (pid > 0) {
		read_answer(ends[0], &answer);
		reap(pid);
	}
	close(ends[0]);
	answer.refused = pid < 0;
	if (pid < 0 && !namespaces) {
		*err = answer.say;
		err->code = CORDON_E_SETUP;
		return -1;
	}
	*ret = answer;
	return 0;
}
