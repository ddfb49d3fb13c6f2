/* Asking systemd for a scope; see scope.h.
 *
 * One call over D-Bus, StartTransientUnit, made by systemd's own client.  Not by
 * systemd-run: that moves only itself and what it executes, and a second start of
 * this program would read the policy, and standard input, a second time.
 */
#include "super/scope.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/program.h"
#include "super/cgroup.h"
#include "super/run_priv.h"

#define WAIT_SECONDS	2	/* for the move */
#define MAX_ANSWER	300	/* bytes of an error that are passed on */

static int refuse(struct cordon_err *err, const char *why)
{
	return err_set(err, CORDON_E_PEER, "asking systemd for a cgroup failed: %s; start cordon "
		       "by systemd-run %s--scope -p Delegate=yes", why,
		       geteuid() == 0 ? "" : "--user ");
}

/* In the child: only the answer goes out, and not to our caller. */
static _Noreturn void exec_client(const char *busctl, const char *const *argv, int answer)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(answer, 2) < 0)
		_exit(1);
	signal(SIGPIPE, SIG_DFL);
	execv(busctl, (char *const *)(uintptr_t)argv);
	_exit(1);
}

/* One line of what the client says; the rest is read, so that the client ends. */
static void read_answer(int fd, char text[MAX_ANSWER])
{
	char rest[256];
	size_t n = 0;
	ssize_t got;

	do {
		bool full = n == MAX_ANSWER - 1;

		got = full ? read(fd, rest, sizeof(rest)) :
			     read(fd, text + n, MAX_ANSWER - 1 - n);
		if (got > 0 && !full)
			n += (size_t)got;
	} while (got > 0 || (got < 0 && errno == EINTR));
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
}

static int ask(const char *busctl, const char *unit, struct cordon_err *err)
{
	char pid[16], text[MAX_ANSWER];
	const char *const argv[] = { "busctl", geteuid() == 0 ? "--system" : "--user", "--quiet",
				     "--timeout=2", "call", "org.freedesktop.systemd1",
				     "/org/freedesktop/systemd1",
				     "org.freedesktop.systemd1.Manager", "StartTransientUnit",
				     /* name, mode, properties, auxiliary units */
				     "ssa(sv)a(sa(sv))", unit, "fail", "3",
				     "PIDs", "au", "1", pid, "Delegate", "b", "true",
				     "Description", "s", "a run of cordon", "0", NULL };
	int ends[2], status = 0;
	pid_t child;

	snprintf(pid, sizeof(pid), "%d", getpid());
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot make a pipe");
	child = fork();
	if (child == 0)
		exec_client(busctl, argv, ends[1]);
	close(ends[1]);
	if (child > 0)
		read_answer(ends[0], text);
	close(ends[0]);
	if (child < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot start a process");
	/* Where the caller ignores SIGCHLD there is no status: see wait_for_move(). */
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return status == 0 ? 0 : refuse(err, text[0] ? text : "busctl could not be started");
}

/* systemd answers before it has moved the process. */
static int wait_for_move(const char *self, const char *unit, struct cordon_err *err)
{
	int64_t end = run_now_us() + WAIT_SECONDS * 1000000;
	struct timespec pause = { .tv_nsec = 1000000 };
	char text[CGROUP_SELF_BYTES];

	while (run_now_us() < end) {
		struct cgroup_own own;

		if (cgroup_self_read(self, text, err) < 0)
			return -1;
		if (cgroup_self_find(text, "", &own) && str_ends(own.path, unit))
			return 0;
		nanosleep(&pause, NULL);
	}
	return refuse(err, "it did not move this process");
}

int scope_start_by(const char *busctl, const char *self, struct cordon_err *err)
{
	char unit[64];

	snprintf(unit, sizeof(unit), "cordon-run-%d-%lld.scope", getpid(), (long long)run_now_us());
	if (ask(busctl, unit, err) < 0)
		return -1;
	return wait_for_move(self, unit, err);
}

int scope_start(struct cordon_err *err)
{
	/* PATH may name directories that other users write. */
	struct program_dirs dirs = PROGRAM_DIRS(STR(""));
	char path[64];
	struct str dir;

	while (program_dirs_next(&dirs, &dir)) {
		snprintf(path, sizeof(path), "%.*s/busctl", STR_FMT(dir));
		if (access(path, X_OK) == 0)
			return scope_start_by(path, "/proc/self/cgroup", err);
	}
	return refuse(err, "there is no program busctl");
}
