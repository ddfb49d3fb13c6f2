/* The machine's table: as text, against a second way of asking, and with each
 * feature taken away by a filter; and that asking leaves nothing behind.
 *
 * weight: 0.2/5
 */
#include "host/probe.h"

#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "host/child.h"
#include "host/lines.h"
#include "tap.h"

#define NOBODY	65534

/* ---- as text ------------------------------------------------------------ */

static const char *caps_text(const struct host_caps *caps)
{
	static char text[2][1024];
	static int which;
	cleanup_buf struct buf b = BUF(1023);

	host_caps_print(caps, &b);
	which = !which;
	snprintf(text[which], sizeof(text[which]), "%s", buf_text(&b));
	return text[which];
}

static void test_caps_print_and_parse_back(void)
{
	struct cordon_err err;

	for (int f = -1; f < N_HOST_FEATURES; f++) {
		struct host_caps caps = { .is_root = f % 2 == 0 }, again;

		if (f >= 0)
			host_caps_put(&caps, (enum host_feature)f, 1);
		ok(host_caps_parse(str_from(caps_text(&caps)), &again, &err) == 0, "%s", err.msg);
		is_text(caps_text(&again), caps_text(&caps), "feature %d", f);
		for (int g = 0; g < N_HOST_FEATURES; g++)
			is_int(host_caps_has(&again, (enum host_feature)g), f == g, "%s after %d",
			       host_feature_name((enum host_feature)g), f);
	}
}

static void test_caps_text_may_leave_out_and_comment(void)
{
	struct str text = STR("# a laptop\n\n  userns=true # yes\r\nlandlock = 7\ncgroup = v2");
	struct cordon_err err;
	struct host_caps caps;

	ok(host_caps_parse(text, &caps, &err) == 0, "%s", err.msg);
	is_text(caps_text(&caps),
		"userns = true\nmount = false\npid = false\nnet = false\n"
		"tproxy = false\nipc = false\nuts = false\n"
		"seccomp = false\nnotify = false\nlandlock = 7\ncgroup = v2\n"
		"root = false\n",
		"what is not named");
	is_int(caps.landlock, 7, "ABI");
	is_int(caps.cgroup, HOST_CGROUP_V2, "kind");
}

static void test_caps_text_is_strict(void)
{
	static const struct {
		const char *text;
		unsigned line;
		const char *says;
	} rows[] = {
		{ "users = true", 1, "'users' is nothing a machine has" },
		{ "\nnet = true\nnet = true", 3, "'net' is there twice" },
		{ "net = yes", 1, "net takes true or false, not 'yes'" },
		{ "net =", 1, "net takes true or false, not ''" },
		{ "landlock = -1", 1, "landlock takes a number, not '-1'" },
		{ "landlock = 99999999999", 1, "landlock takes a number, not '99999999999'" },
		{ "cgroup = v3", 1, "cgroup takes none or v2, not 'v3'" },
		{ "net", 1, "'net' is no `key = value`" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct host_caps caps = { .landlock = 42 };
		struct cordon_err err = { 0 };

		is_int(host_caps_parse(str_from(rows[i].text), &caps, &err), -1, "%s",
		       rows[i].text);
		is_text(err.msg, rows[i].says, "%s", rows[i].text);
		is_int(err.line, rows[i].line, "%s", rows[i].text);
		is_int(caps.landlock, 42, "untouched");
	}
}

static void test_lines(void)
{
	char name[] = "/tmp/cordon-lines-XXXXXX";
	int fd = mkostemp(name, O_CLOEXEC);
	cleanup_lines struct lines l;
	struct str line;

	ok(fd >= 0, "a file");
	dprintf(fd, "one\n\n%5000s\n%4096s\n%4095s\nlast", "x", "y", "z");
	close(fd);
	lines_open(&l, name);
	ok(lines_next(&l, &line) && str_is(line, "one"), "first");
	ok(lines_next(&l, &line) && line.n == 0, "empty");
	ok(lines_next(&l, &line) && line.n == 4096, "too long");
	ok(lines_next(&l, &line) && line.n == 4096 && line.s[4095] == 'y', "just too long");
	ok(lines_next(&l, &line) && line.n == 4095 && line.s[4094] == 'z', "just fits");
	ok(lines_next(&l, &line) && str_is(line, "last"), "without an end");
	ok(!lines_next(&l, &line) && !lines_next(&l, &line), "no more");
	unlink(name);
	ok(str_is(field_of(STR("a:b::d"), ':', 3), "d"), "part");
	ok(field_of(STR("a:b::d"), ':', 2).n == 0, "empty part");
	ok(field_of(STR("a:b::d"), ':', 9).n == 0, "past the last");
}

/* ---- against a second way ------------------------------------------------ */

/* Run in a child; its exit status says whether it worked. */
static bool works_in_child(bool (*act)(int arg), int arg)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(act(arg) ? 0 : 1);
	return waitpid(pid, &status, 0) == pid && status == 0;
}

static bool can_unshare(int flags)
{
	return unshare(CLONE_NEWUSER | flags) == 0;
}

static bool can_filter(int arg)
{
	struct sock_filter code[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog prog = { 1, code };

	(void)arg;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0;
}

static void check_agreement(void)
{
	struct host_report r;
	struct cordon_err err;
	long abi;

	if (!ok(host_probe_report(&r, &err) == 0, "%s", err.msg))
		return;
	is_int(r.caps.userns, works_in_child(can_unshare, 0), "userns: %s", r.findings[0].detail);
	is_int(r.caps.net, works_in_child(can_unshare, CLONE_NEWNET), "net: %s",
	       r.findings[FEATURE_NET].detail);
	is_int(r.caps.ipc, works_in_child(can_unshare, CLONE_NEWIPC), "ipc: %s",
	       r.findings[FEATURE_IPC].detail);
	is_int(r.caps.uts, works_in_child(can_unshare, CLONE_NEWUTS), "uts: %s",
	       r.findings[FEATURE_UTS].detail);
	/* These need more than the namespace: a refusal of it must show. */
	if (r.caps.mount)
		ok(works_in_child(can_unshare, CLONE_NEWNS), "mount");
	if (r.caps.pid)
		ok(works_in_child(can_unshare, CLONE_NEWPID), "pid");
	is_int(r.caps.seccomp, works_in_child(can_filter, 0), "seccomp");
	abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
	is_int(r.caps.landlock, abi > 0 ? abi : 0, "landlock");
	is_int(r.caps.is_root, geteuid() == 0, "root");
	for (int f = 0; f < N_HOST_FEATURES; f++) {
		const struct host_finding *found = &r.findings[f];

		is_int(found->available, host_caps_has(&r.caps, (enum host_feature)f), "row %d", f);
		ok(found->detail[0] != '\0', "row %d says something", f);
		ok(!found->available || (!found->hint[0] && !found->sys), "row %d needs nothing",
		   f);
	}
}

static void test_probe_agrees_with_what_can_be_done(void)
{
	check_agreement();
}

/* From here on an ordinary user; false when the caller is one already. */
static bool become_nobody(void)
{
	if (geteuid() != 0)
		return false;
	ok(setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0 &&
	   prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0, "becoming nobody");
	return true;
}

static void test_probe_agrees_for_an_ordinary_user(void)
{
	become_nobody();
	check_agreement();
}

static void test_quick_says_the_same_of_what_it_knows(void)
{
	struct host_caps caps, quick = { .cgroup = HOST_CGROUP_V2 };
	struct cordon_err err;

	ok(host_probe(&caps, &err) == 0, "%s", err.msg);
	host_probe_quick(&quick);
	is_int(quick.landlock, caps.landlock, "landlock");
	is_int(quick.is_root, caps.is_root, "root");
	ok(quick.userns && quick.mount && quick.pid && quick.net && quick.ipc && quick.uts &&
	   quick.seccomp && quick.notify && quick.cgroup == HOST_CGROUP_NONE,
	   "what a run finds out by itself");
}

/* ---- nothing left behind ------------------------------------------------- */

static uint64_t hash_file(const char *path)
{
	cleanup_arena struct arena a = ARENA(16u << 20);
	struct cordon_err err;
	struct str text;

	if (!ok(fd_read_file(path, 8u << 20, &a, &text, &err) == 0, "%s", err.msg))
		return 0;
	return str_hash(text, 0);
}

static int count_entries(const char *path, const char *prefix)
{
	DIR *dir = opendir(path);
	int n = 0;

	for (struct dirent *e; dir && (e = readdir(dir));)
		n += str_starts(str_from(e->d_name), prefix);
	if (dir)
		closedir(dir);
	return n;
}

static int count_named(const char *path, const char *name)
{
	char whole[128];

	snprintf(whole, sizeof(whole), "%s/%s", path, name);
	return access(whole, F_OK) == 0;
}

static void test_probe_leaves_nothing_behind(void)
{
	uint64_t mounts = hash_file("/proc/self/mountinfo");
	int fds = count_entries("/proc/self/fd", "");
	char before[65] = "", after[65] = "", group[32];
	struct cordon_err err;
	struct host_report r;
	sigset_t mask;

	gethostname(before, sizeof(before) - 1);
	ok(host_probe_report(&r, &err) == 0, "%s", err.msg);
	gethostname(after, sizeof(after) - 1);
	is_text(after, before, "host name");
	ok(hash_file("/proc/self/mountinfo") == mounts, "mounts");
	is_int(count_entries("/proc/self/fd", ""), fds, "descriptors");
	ok(waitpid(-1, NULL, __WALL) < 0 && errno == ECHILD, "children");
	sigprocmask(SIG_SETMASK, NULL, &mask);
	ok(!sigismember(&mask, SIGTERM) && !sigismember(&mask, SIGCHLD), "signal mask");
	/* Ours: others may be probing, too. */
	snprintf(group, sizeof(group), "cordon-probe-%d", getpid());
	is_int(count_named("/sys/fs/cgroup/pids", group), 0, "groups");
	is_int(count_named("/sys/fs/cgroup", group), 0, "groups");
	ok(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0, "rights of the caller");
	is_int(prctl(PR_GET_SECCOMP), 0, "filters of the caller");
}

static volatile int children_seen;

static void count_child(int sig)
{
	(void)sig;
	children_seen++;
}

static void test_probe_is_quiet_for_the_program_around_it(void)
{
	struct sigaction act = { .sa_handler = count_child };
	struct host_caps caps;
	struct cordon_err err;

	sigaction(SIGCHLD, &act, NULL);
	ok(host_probe(&caps, &err) == 0, "%s", err.msg);
	is_int(children_seen, 0, "no SIGCHLD");
	act.sa_handler = SIG_IGN;
	sigaction(SIGCHLD, &act, NULL);
	ok(host_probe(&caps, &err) == 0, "%s", err.msg);
	ok(caps.seccomp, "works where children are reaped by the kernel");
}

/* ---- acts that misbehave ------------------------------------------------- */

static int act_hang(struct cordon_err *say)
{
	(void)say;
	return pause();
}

static int act_die(struct cordon_err *say)
{
	(void)say;
	raise(SIGKILL);
	return 0;
}

static void test_an_act_that_hangs_or_dies_is_an_answer(void)
{
	struct child_answer answer = { .worked = true };
	struct cordon_err err;

	ok(child_run(0, act_hang, &answer, &err) == 0, "runs");
	ok(!answer.worked, "hangs");
	is_text(answer.say.msg, "no answer within 5000 ms", "hangs");
	ok(child_run(0, act_die, &answer, &err) == 0, "runs");
	ok(!answer.worked, "dies");
	is_text(answer.say.msg, "the process that tried was killed", "dies");
	ok(waitpid(-1, NULL, __WALL) < 0 && errno == ECHILD, "children");
}

/* ---- features taken away ------------------------------------------------- */

/* A call that is answered with an errno; with `mask`, only where argument
 * `arg` has one of these bits. */
struct refusal {
	int call, error, arg;
	unsigned mask;
};

static void refuse(const struct refusal *rows, size_t n)
{
	struct sock_filter code[64];
	struct sock_fprog prog = { 0, code };
	unsigned short at = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned off = (unsigned)offsetof(struct seccomp_data, args[0]) +
			       8 * (unsigned)rows[i].arg;

		code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
							  offsetof(struct seccomp_data, nr));
		code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							  (unsigned)rows[i].call, 0,
							  rows[i].mask ? 3 : 1);
		if (rows[i].mask) {
			code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, off);
			code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K,
								  rows[i].mask, 0, 1);
		}
		code[at++] = (struct sock_filter)BPF_STMT(
			BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)rows[i].error);
	}
	code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	prog.len = at;
	ok(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	   prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0, "the test's own filter");
}

static const struct refusal no_userns[] = {
	{ SYS_unshare, EPERM, 0, CLONE_NEWUSER },
	{ SYS_clone, EPERM, 0, CLONE_NEWUSER },
};

static void check_lacks(const struct host_report *r, enum host_feature f, int sys,
			const char *detail, const char *hint)
{
	const struct host_finding *found = &r->findings[f];
	const char *name = host_feature_name(f);

	ok(!host_caps_has(&r->caps, f) && !found->available, "%s is missing", name);
	is_int(found->sys, sys, "%s", name);
	ok(strstr(found->detail, detail) != NULL, "%s: '%s' in '%s'", name, detail, found->detail);
	ok(strstr(found->hint, hint) != NULL, "%s: '%s' in '%s'", name, hint, found->hint);
}

/* The hint depends on what is around the test as well; these words are in each
 * that a filter may be the reason for. */
static const char *filter_hint(const struct host_report *r)
{
	if (!r->container)
		return "a seccomp filter is on this process";
	if (strcmp(r->container, "docker") == 0)
		return "docker run --security-opt seccomp=unconfined";
	if (strcmp(r->container, "podman") == 0)
		return "podman run --security-opt seccomp=unconfined";
	return strcmp(r->container, "kubernetes") == 0 ? "seccompProfile" : "let it nest";
}

static void test_no_user_namespaces_for_root(void)
{
	struct host_report r;
	struct cordon_err err;

	if (geteuid() != 0) {
		ok(true, "needs root");
		return;
	}
	refuse(no_userns, ARRAY_SIZE(no_userns));
	ok(host_probe_report(&r, &err) == 0, "%s", err.msg);
	check_lacks(&r, FEATURE_USERNS, EPERM, "cannot make the namespace: Operation not permitted",
		    filter_hint(&r));
	ok(r.caps.uts && strstr(r.findings[FEATURE_UTS].detail, "as root, without userns"),
	   "root does without: %s", r.findings[FEATURE_UTS].detail);
	ok(r.caps.mount && strstr(r.findings[FEATURE_MOUNT].detail, "as root, without userns"),
	   "root does without: %s", r.findings[FEATURE_MOUNT].detail);
}

static void test_root_without_userns_leaves_nothing_behind(void)
{
	uint64_t mounts = hash_file("/proc/self/mountinfo");
	char before[65] = "", after[65] = "";
	struct host_caps caps;
	struct cordon_err err;

	refuse(no_userns, ARRAY_SIZE(no_userns));
	gethostname(before, sizeof(before) - 1);
	ok(host_probe(&caps, &err) == 0, "%s", err.msg);
	gethostname(after, sizeof(after) - 1);
	is_text(after, before, "host name");
	ok(hash_file("/proc/self/mountinfo") == mounts, "mounts");
}

static void test_no_user_namespaces_for_an_ordinary_user(void)
{
	struct host_report r;
	struct cordon_err err;

	become_nobody();
	refuse(no_userns, ARRAY_SIZE(no_userns));
	ok(host_probe_report(&r, &err) == 0, "%s", err.msg);
	check_lacks(&r, FEATURE_USERNS, EPERM, "Operation not permitted", "");
	check_lacks(&r, FEATURE_MOUNT, 0, "needs a user namespace", "see userns");
	check_lacks(&r, FEATURE_PID, 0, "needs a user namespace", "see userns");
	ok(r.caps.seccomp, "filters need none");
}

/* One call refused, and the row that must show it. */
static void test_each_call_refused_shows_in_its_row(void)
{
	static const struct {
		struct refusal refusal;
		enum host_feature feature;
		const char *detail;
	} rows[] = {
		{ { SYS_landlock_create_ruleset, ENOSYS, 0, 0 }, FEATURE_LANDLOCK,
		  "Landlock's ABI" },
		{ { SYS_landlock_restrict_self, EPERM, 0, 0 }, FEATURE_LANDLOCK,
		  "entering a Landlock" },
		{ { SYS_mount_setattr, ENOSYS, 0, 0 }, FEATURE_MOUNT, "mount_setattr of a tmpfs" },
		{ { SYS_move_mount, EPERM, 0, 0 }, FEATURE_MOUNT, "move_mount" },
		{ { SYS_open_tree, ENOSYS, 0, 0 }, FEATURE_MOUNT, "open_tree" },
		{ { SYS_fsopen, EPERM, 0, 0 }, FEATURE_MOUNT, "fsopen" },
		/* A file system's name is given: it is no change of what is there. */
		{ { SYS_mount, EPERM, 2, ~0u }, FEATURE_PID, "mounting a /proc of its own" },
		{ { SYS_ioctl, EPERM, 0, 0 }, FEATURE_NET, "lo in a network namespace" },
		{ { SYS_socket, EPERM, 0, AF_NETLINK }, FEATURE_TPROXY, "a socket for routes" },
		{ { SYS_socket, EPROTONOSUPPORT, 2, 8 }, FEATURE_TPROXY, "a socket for nf_tables" },
		{ { SYS_sethostname, EPERM, 0, 0 }, FEATURE_UTS, "setting a host name" },
		{ { SYS_clone, EINVAL, 0, CLONE_NEWIPC }, FEATURE_IPC,
		  "cannot make the namespace" },
		{ { SYS_seccomp, ENOSYS, 0, 0 }, FEATURE_SECCOMP, "installing a seccomp filter" },
		{ { SYS_seccomp, EINVAL, 1, SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV },
		  FEATURE_NOTIFY, "installing a filter with a listener" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			struct host_report r;
			struct cordon_err err;

			tap_failures = 0;
			refuse(&rows[i].refusal, 1);
			ok(host_probe_report(&r, &err) == 0, "%s", err.msg);
			check_lacks(&r, rows[i].feature, rows[i].refusal.error, rows[i].detail, "");
			if (rows[i].feature <= FEATURE_UTS)
				is_int(r.caps.seccomp, true, "the others still work");
			fflush(stdout);
			_exit(tap_failures != 0);
		}
		ok(waitpid(pid, &status, 0) == pid && status == 0, "row %zu", i);
	}
}

/* A filter that kills instead of refusing. */
static void test_a_filter_that_kills_is_an_answer(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_landlock_restrict_self, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { ARRAY_SIZE(code), code };
	struct host_report r;
	struct cordon_err err;

	ok(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	   prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0, "the test's own filter");
	ok(host_probe_report(&r, &err) == 0, "%s", err.msg);
	ok(!r.caps.landlock, "missing");
	is_text(r.findings[FEATURE_LANDLOCK].detail, "the process that tried was killed", "detail");
}

static bool fails_without_children(int arg)
{
	static const struct refusal none[] = { { SYS_clone, EAGAIN, 0, 0 } };
	struct host_caps caps = { .landlock = 42 };
	struct cordon_err err = { 0 };

	(void)arg;
	refuse(none, 1);
	is_int(host_probe(&caps, &err), -1, "fails");
	is_int(err.code, CORDON_E_SETUP, "code");
	is_int(err.sys, EAGAIN, "errno");
	is_int(caps.landlock, 42, "untouched");
	fflush(stdout);
	return tap_failures == 0;
}

/* In a child of its own, since sanitizers need children at their end. */
static void test_no_child_at_all_is_an_error(void)
{
	ok(works_in_child(fails_without_children, 0), "an error");
}

int main(void)
{
	unsetenv("DOCKER_HOST");
	unsetenv("XDG_RUNTIME_DIR");
	return tap_run((struct tap_case[]){
		TAP(test_caps_print_and_parse_back),
		TAP(test_caps_text_may_leave_out_and_comment),
		TAP(test_caps_text_is_strict),
		TAP(test_lines),
		TAP(test_probe_agrees_with_what_can_be_done),
		TAP(test_probe_agrees_for_an_ordinary_user),
		TAP(test_quick_says_the_same_of_what_it_knows),
		TAP(test_probe_leaves_nothing_behind),
		TAP(test_probe_is_quiet_for_the_program_around_it),
		TAP(test_an_act_that_hangs_or_dies_is_an_answer),
		TAP(test_no_user_namespaces_for_root),
		TAP(test_root_without_userns_leaves_nothing_behind),
		TAP(test_no_user_namespaces_for_an_ordinary_user),
		TAP(test_each_call_refused_shows_in_its_row),
		TAP(test_a_filter_that_kills_is_an_answer),
		TAP(test_no_child_at_all_is_an_error),
		TAP_END });
}
