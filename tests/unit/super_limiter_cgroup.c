/* The cgroup mechanisms on a folder that looks like a cgroup mount: what is
 * written where, and what is left when a file is missing.
 *
 * Linked with a mkdirat() that fills new groups as the kernel does, and an
 * unlinkat() that removes groups with their files in them.
 */
#include "super/limiter_priv.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "tap.h"

struct file {
	const char *name, *text;
};

static const struct file group_files[] = {
	{ "cgroup.procs", "" },
	{ "cgroup.event_control", "" },
	{ "cgroup.kill", "" },
	{ "memory.max", "" },
	{ "memory.swap.max", "" },
	{ "memory.oom.group", "" },
	{ "memory.events", "low 0\nhigh 0\nmax 3\noom 0\noom_kill 0\noom_group_kill 0\n" },
	{ "memory.current", "4096\n" },
	{ "memory.peak", "1048576\n" },
	{ "memory.limit_in_bytes", "" },
	{ "memory.memsw.limit_in_bytes", "" },
	{ "memory.swappiness", "" },
	{ "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n" },
	{ "memory.max_usage_in_bytes", "2097152\n" },
	{ "pids.max", "" },
	{ "pids.events", "max 0\n" },
	{ "pids.current", "3\n" },
	{ "pids.peak", "7\n" },
	{ "cpu.max", "" },
	{ "cpu.stat", "usage_usec 2500\nuser_usec 1000\nsystem_usec 1500\n" },
	{ "cpuacct.usage", "3500000\n" },
};

static const char *missing;		/* a file that new groups lack */
static int mkdir_errno;			/* what mkdirat() fails with */
static int n_made, n_removed;
static char kill_text[16], subtree_text[64];	/* when the last group went */

static char base[64], self[80];
static struct limiter_paths paths = { base, self };

static void put(const char *dir, const char *name, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "we");
	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		exit(90);
}

static void get(int dir_fd, const char *name, char *text, size_t size)
{
	cleanup_fd int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);

	text[n > 0 ? n : 0] = '\0';
}

int __real_mkdirat(int dir_fd, const char *path, mode_t mode);
int __wrap_mkdirat(int dir_fd, const char *path, mode_t mode);
int __wrap_mkdirat(int dir_fd, const char *path, mode_t mode)
{
	char dir[64];
	int fd;

	if (mkdir_errno) {
		errno = mkdir_errno;
		return -1;
	}
	if (__real_mkdirat(dir_fd, path, mode) < 0)
		return -1;
	n_made++;
	fd = openat(dir_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	snprintf(dir, sizeof(dir), "/proc/self/fd/%d", fd);
	for (size_t i = 0; i < ARRAY_SIZE(group_files); i++) {
		if (!missing || strcmp(missing, group_files[i].name) != 0)
			put(dir, group_files[i].name, group_files[i].text);
	}
	close(fd);
	return 0;
}

int __real_unlinkat(int dir_fd, const char *path, int flags);
int __wrap_unlinkat(int dir_fd, const char *path, int flags);
int __wrap_unlinkat(int dir_fd, const char *path, int flags)
{
	int fd = openat(dir_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char text[16];

	get(fd, "cgroup.kill", text, sizeof(text));
	if (text[0])
		memcpy(kill_text, text, sizeof(text));
	get(dir_fd, "cgroup.subtree_control", subtree_text, sizeof(subtree_text));
	for (size_t i = 0; i < ARRAY_SIZE(group_files); i++)
		__real_unlinkat(fd, group_files[i].name, 0);
	close(fd);
	n_removed++;
	return __real_unlinkat(dir_fd, path, flags);
}

/* --- the folder ----------------------------------------------------------------- */

static void make_dir(const char *name, char path[256])
{
	snprintf(path, 256, "%s/%s", base, name);
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		exit(91);
}

static void make_base(const char *self_text)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(base, sizeof(base), "%.40s/limiter-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(base))
		exit(92);
	snprintf(self, sizeof(self), "%s/self", base);
	put(base, "self", self_text);
}

/* A group of ours at `name` with memory and pids; `subtree`: what its children
 * have; alone in it, or with a process 1. */
static void make_own(const char *name, const char *subtree, bool alone)
{
	char dir[256], procs[64];

	make_dir(name, dir);
	snprintf(procs, sizeof(procs), "%s%d\n", alone ? "" : "1\n", getpid());
	put(dir, "cgroup.controllers", "cpuset cpu io memory pids\n");
	put(dir, "cgroup.subtree_control", subtree);
	put(dir, "cgroup.type", "domain\n");
	put(dir, "cgroup.procs", procs);
}

static void make_version2(const char *subtree, bool alone)
{
	make_base("0::/own\n");
	put(base, "cgroup.controllers", "memory pids\n");
	make_own("own", subtree, alone);
}

static void remove_base(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		execlp("rm", "rm", "-rf", base, (char *)NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
}

/* Folders named as our groups are, anywhere in the base. */
static int count_groups(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	char path[1024];
	int n = 0;

	while (d && (e = readdir(d))) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		n += strncmp(e->d_name, "cordon-", 7) == 0;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		n += count_groups(path);
	}
	if (d)
		closedir(d);
	return n;
}

static int count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static struct plan_limits some_limits(void)
{
	return (struct plan_limits){ .memory = 64 << 20, .cpu_ms = 1000, .processes = 20,
				     .cpus = INT64_MAX };
}

static void file_is(int dir_fd, const char *name, const char *want)
{
	char text[64];

	get(dir_fd, name, text, sizeof(text));
	is_text(text, want, "%s", name);
}

/* --- version 2 -------------------------------------------------------------------- */

static void test_version2_writes_the_limits(void)
{
	struct plan_limits limits = some_limits();
	struct cordon_err err = { 0 };
	struct limiter *l = NULL;
	int fd;

	make_version2("memory pids\n", false);
	is_int(limiter_detect_in(&paths), HOST_CGROUP_V2, "found");
	if (ok(limiter_new_in(&paths, &limits, HOST_CGROUP_V2, &l, &err) == 0, "%s", err.msg)) {
		fd = limiter_cgroup_fd(l);
		file_is(fd, "memory.max", "67108864");
		file_is(fd, "memory.swap.max", "0");
		file_is(fd, "memory.oom.group", "1");
		file_is(fd, "pids.max", "20");
		is_int(limiter_join(l, 4321, &err), 0, "join");
		file_is(fd, "cgroup.procs", "4321");
		is_int(n_made, 1, "one group");
		limiter_free(l);
	}
	is_int(count_groups(base), 0, "nothing is left");
	is_text(kill_text, "1", "what was left in it was killed");
	is_text(subtree_text, "memory pids\n", "what others enabled stays");
	remove_base();
}

static void test_version2_without_limits_writes_none(void)
{
	struct plan_limits limits = { .memory = INT64_MAX, .cpu_ms = INT64_MAX,
				      .processes = INT64_MAX, .cpus = INT64_MAX };
	struct cordon_err err = { 0 };
	struct limiter *l = NULL;
	int64_t wait_us = 7;

	make_version2("memory pids\n", false);
	if (ok(limiter_new_in(&paths, &limits, HOST_CGROUP_V2, &l, &err) == 0, "%s", err.msg)) {
		file_is(limiter_cgroup_fd(l), "memory.max", "");
		file_is(limiter_cgroup_fd(l), "pids.max", "");
		file_is(limiter_cgroup_fd(l), "cpu.max", "");
		ok(!limiter_holds_cpus(l), "there is no limit to hold");
		is_int(limiter_check(l, &wait_us), LIMIT_OK, "nothing is over");
		limiter_free(l);
	}
	remove_base();
}

/* Put text in a file of the group, for the mechanism to read. */
static void set_file(const struct limiter *l, const char *name, const char *text)
{
	char dir[64];

	snprintf(dir, sizeof(dir), "/proc/self/fd/%d", limiter_cgroup_fd(l));
	put(dir, name, text);
}

static void test_version2_takes_another_limit(void)
{
	struct plan_limits limits = some_limits();
	struct cordon_err err = { 0 };
	struct limiter *l = NULL;
	char text[64];

	make_version2("memory pids\n", false);
	if (ok(limiter_new_in(&paths, &limits, HOST_CGROUP_V2, &l, &err) == 0, "%s", err.msg)) {
		set_file(l, "memory.current", "33554432\n");
		set_file(l, "pids.current", "17\n");
		limits.memory = 32 << 20;
		is_int(limiter_change(l, &limits, &err), 0, "as much as is in use");
		file_is(limiter_cgroup_fd(l), "memory.max", "33554432");
		limits.memory--;
		is_int(limiter_change(l, &limits, &err), -1, "more is in use");
		file_is(limiter_cgroup_fd(l), "memory.max", "33554432");
		limits.memory = INT64_MAX;
		is_int(limiter_change(l, &limits, &err), 0, "none");
		/* A plain file keeps what stood behind. */
		get(limiter_cgroup_fd(l), "memory.max", text, sizeof(text));
		is_int(strncmp(text, "max", 3), 0, "%s", text);
		limits.memory = 64 << 20;
		set_file(l, "memory.swap.max", "max\n");
		is_int(limiter_change(l, &limits, &err), 0, "from none to some");
		get(limiter_cgroup_fd(l), "memory.swap.max", text, sizeof(text));
		is_int(text[0], '0', "and no swap beside it: %s", text);
		limits.processes = 17;
		is_int(limiter_change(l, &limits, &err), 0, "as many as are alive");
		file_is(limiter_cgroup_fd(l), "pids.max", "17");
		limits.processes = 16;
		is_int(limiter_change(l, &limits, &err), -1, "more are alive");
		set_file(l, "pids.current", "\n");
		is_int(limiter_change(l, &limits, &err), -1, "nobody can tell how many are alive");
		file_is(limiter_cgroup_fd(l), "pids.max", "17");
		limiter_free(l);
	}
	remove_base();
}

/* As file_is(), of a file whose end stays from what was there before. */
static void file_begins(int dir_fd, const char *name, const char *want)
{
	char text[64];

	get(dir_fd, name, text, sizeof(text));
	text[MIN(strlen(want), sizeof(text) - 1)] = '\0';
	is_text(text, want, "%s", name);
}

static void test_version2_holds_the_number_of_cpus(void)
{
	struct plan_limits limits = some_limits();
	struct cordon_err err = { 0 };
	struct limiter *l = NULL;

	make_version2("cpu memory pids\n", false);
	limits.cpus = 2;
	if (ok(limiter_new_in(&paths, &limits, HOST_CGROUP_V2, &l, &err) == 0, "%s", err.msg)) {
		ok(limiter_holds_cpus(l), "by the group");
		file_is(limiter_cgroup_fd(l), "cpu.max", "200000 100000");
		limits.cpus = 1;
		is_int(limiter_change(l, &limits, &err), 0, "another phase has fewer");
		file_is(limiter_cgroup_fd(l), "cpu.max", "100000 100000");
		limits.cpus = INT64_MAX;
		is_int(limiter_change(l, &limits, &err), 0, "and another one all");
		file_begins(limiter_cgroup_fd(l), "cpu.max", "max 100000");
		limiter_free(l);
	}
	is_text(subtree_text, "cpu memory pids\n", "what others enabled stays");
	remove_base();
}

/* Whether its file comes is the kernel's word: here each group has one. */
static void test_version2_asks_for_the_controller_of_cpus(void)
{
	struct plan_limits limits = some_limits();
	struct cordon_err err = { 0 };
	struct limiter *l = NULL;
	char dir[128];
	int fd;

	for (int wanted = 0; wanted < 2; wanted++) {
		make_version2("memory pids\n", false);
		snprintf(dir, sizeof(dir), "%s/own", base);
		fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
		limits.cpus = wanted ? 3 : INT64_MAX;
		if (ok(limiter_new_in(&paths, &limits, HOST_CGROUP_V2, &l, &err) == 0, "%s",
		       err.msg)) {
			file_begins(fd, "cgroup.subtree_control", wanted ? "+cpu" : "memory pids");
			is_int(limiter_holds_cpus(l), wanted, "as it was asked for");
			limiter_free(l);
		}
		close(fd);
		remove_base();
	}
}

static void test_version2_without_that_controller_is_a_group_all_the_same(void)
{
	struct plan_limits limits = some_limits();
	struct cordon_err err = { 0 };
	struct limiter *l = NULL;
	char dir[256];

	make_version2("memory pids\n", false);
	make_own("own", "memory pids\n", false);
	snprintf(dir, sizeof(dir), "%s/own", base);
	put(dir, "cgroup.controllers", "cpuset memory pids\n");
	missing = "cpu.max";
	limits.cpus = 1;
	if (ok(limiter_new_in(&paths, &limits, HOST_CGROUP_V2, &l, &err) == 0, "%s", err.msg)) {
		ok(!limiter_holds_cpus(l), "but another has to hold the number of CPUs");
		file_is(limiter_cgroup_fd(l), "memory.max", "67108864");
		limiter_free(l);
	}
	missing = NULL;
	is_text(subtree_text, "memory pids\n", "what it cannot give is not asked for");
	remove_base();
}

static void test_version2_reads_the_counters(void)
{
	struct plan_limits limits = some_limits();
	struct limiter_usage usage;
	struct cordon_err err = { 0 };
	struct limiter *l = NULL;
	int64_t wait_us;

	make_version2("memory pids\n", true);
	if (!ok(limiter_new_in(&paths, &limits, HOST_CGROUP_V2, &l, &err) == 0, "%s", err.msg))
		return;
	is_int(limiter_start(l, -1, &err), 0, "no /proc is needed");
	is_int(limiter_check(l, &wait_us), LIMIT_OK, "nothing is over");
	ok(wait_us > 0, "to be looked at again");
	limiter_usage(l, &usage);
	ok(usage.cpu_ms == 2 && usage.max_rss_kb == 1024 && usage.processes_peak == 7, "usage");
	ok(!usage.processes_refused && !usage.oom_killed, "nothing was refused");

	set_file(l, "memory.events", "low 0\noom 1\noom_kill 2\n");
	is_int(limiter_check(l, &wait_us), LIMIT_MEMORY, "memory is over");
	is_int(limiter_check(l, &wait_us), LIMIT_OK, "once");
	set_file(l, "cpu.stat", "usage_usec 1000000\n");
	for (int i = 0; i < 100000 && limiter_check(l, &wait_us) != LIMIT_CPU; i++)
		usleep((useconds_t)(wait_us > 0 ? wait_us : 1));
	is_int(limiter_check(l, &wait_us), LIMIT_OK, "once");
	is_int(wait_us, -1, "nothing more to look for");
	set_file(l, "pids.events", "max 5\n");
	limiter_usage(l, &usage);
	ok(usage.processes_refused && usage.oom_killed && usage.cpu_ms == 1000, "usage");
	limiter_free(l);
	remove_base();
}

static void test_version2_goes_into_a_leaf_when_alone(void)
{
	struct plan_limits limits = some_limits();
	struct cordon_err err = { 0 };
	struct limiter *l = NULL;
	char dir[128];
	int fd;

	make_version2("cpu\n", true);
	is_int(limiter_detect_in(&paths), HOST_CGROUP_V2, "found");
	snprintf(dir, sizeof(dir), "%s/own", base);
	fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (ok(limiter_new_in(&paths, &limits, HOST_CGROUP_V2, &l, &err) == 0, "%s", err.msg)) {
		is_int(n_made, 2, "a leaf and a group");
		file_is(fd, "cgroup.subtree_control", "+memory +pids");
		snprintf(dir, sizeof(dir), "cordon-%d-0/cgroup.procs", getpid());
		file_is(fd, dir, "0");
		limiter_free(l);
	}
	is_text(subtree_text, "-memory -pids", "before the leaf went");
	is_int(count_groups(base), 0, "nothing is left");
	close(fd);
	remove_base();
}

static void is_refused(const char *why)
{
	struct plan_limits limits = some_limits();
	struct cordon_err err = { 0 };
	struct limiter *l = NULL;

	is_int(limiter_detect_in(&paths), HOST_CGROUP_NONE, "not found: %s", why);
	is_int(limiter_new_in(&paths, &limits, HOST_CGROUP_V2, &l, &err), -1, "%s", why);
	ok(!l && strstr(err.msg, base), "it names the file: %s", err.msg);
	is_int(n_made, 0, "nothing was made");
	remove_base();
}

static void test_version2_is_refused_where_it_cannot_be(void)
{
	char dir[256];

	make_version2("cpu\n", false);
	is_refused("others are in our group");

	make_version2("memory pids\n", true);
	snprintf(dir, sizeof(dir), "%s/own", base);
	put(dir, "cgroup.controllers", "cpu memory\n");
	is_refused("no controller of pids");

	make_base("0::/own\n");
	is_refused("nothing is mounted");

	make_base("4:memory:/own\n");
	is_refused("no group of version 2");

	make_version2("memory pids\n", true);
	put(base, "self", "0::/../other\n");
	is_refused("our group is outside");

	make_version2("memory pids\n", true);
	put(base, "self", "0::/gone (deleted)\n");
	is_refused("our group is not to be seen");
}

static void test_version2_is_found_in_other_places(void)
{
	char dir[256];

	make_base("1:name=systemd:/x\n0::/own\n");
	make_dir("unified", dir);
	put(dir, "cgroup.controllers", "");
	make_own("unified/own", "memory pids\n", false);
	is_int(limiter_detect_in(&paths), HOST_CGROUP_V2, "beside version 1");
	remove_base();

	/* A container shows its own group as the root of the mount. */
	make_base("0::/outside/path\n");
	make_own(".", "memory pids\n", true);
	is_int(limiter_detect_in(&paths), HOST_CGROUP_V2, "as the root that we are in");
	remove_base();
}

/* --- failures ----------------------------------------------------------------------- */

static void fails_cleanly(enum host_cgroup cgroup, const char *named)
{
	struct plan_limits limits = some_limits();
	struct cordon_err err = { 0 };
	struct limiter *l = NULL;
	int n_fds = count_fds();

	n_made = n_removed = 0;
	is_int(limiter_new_in(&paths, &limits, cgroup, &l, &err), -1, "without %s", named);
	ok(!l && strstr(err.msg, named), "%s is named: %s", named, err.msg);
	is_int(n_removed, n_made, "what was made was removed");
	is_int(count_groups(base), 0, "nothing is left without %s", named);
	is_int(count_fds(), n_fds, "no descriptor is left without %s", named);
}

static void works_without(enum host_cgroup cgroup, const char *file)
{
	struct plan_limits limits = some_limits();
	struct cordon_err err = { 0 };
	struct limiter_usage usage;
	struct limiter *l = NULL;
	int64_t wait_us;

	missing = file;
	if (ok(limiter_new_in(&paths, &limits, cgroup, &l, &err) == 0, "%s", err.msg)) {
		is_int(limiter_check(l, &wait_us), LIMIT_OK, "without %s", file);
		limiter_usage(l, &usage);
		ok(usage.processes_peak >= 3, "what was seen, without %s", file);
		limiter_free(l);
	}
	is_int(count_groups(base), 0, "nothing is left without %s", file);
}

static void test_version2_fails_cleanly_at_each_file(void)
{
	static const char *const required[] = { "memory.max", "pids.max", "memory.events",
						"cpu.stat", "pids.events", "cgroup.procs" };
	static const char *const optional[] = { "memory.swap.max", "memory.oom.group",
						"memory.peak", "pids.peak", "cgroup.kill" };

	/* Once with controllers, once with a leaf of our own. */
	for (int alone = 0; alone < 2; alone++) {
		make_version2(alone ? "" : "memory pids\n", alone);
		for (size_t i = 0; i < ARRAY_SIZE(required); i++) {
			missing = required[i];
			fails_cleanly(HOST_CGROUP_V2, required[i]);
			/* The fake keeps no list: take back what was written. */
			make_own("own", alone ? "" : "memory pids\n", alone);
		}
		for (size_t i = 0; i < ARRAY_SIZE(optional); i++) {
			works_without(HOST_CGROUP_V2, optional[i]);
			make_own("own", alone ? "" : "memory pids\n", alone);
		}
		missing = NULL;
		mkdir_errno = EACCES;
		fails_cleanly(HOST_CGROUP_V2, "cordon-");
		mkdir_errno = EEXIST;
		fails_cleanly(HOST_CGROUP_V2, "cordon-");
		mkdir_errno = 0;
		remove_base();
	}
}

/* A process that makes groups and waits; its end by a signal leaves them. */
static pid_t start_maker(void)
{
	struct plan_limits limits = some_limits();
	struct cordon_err err = { 0 };
	struct limiter *l = NULL;
	int ready[2];
	char byte = 0;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) < 0)
		exit(94);
	pid = fork();
	if (pid == 0) {
		byte = (char)limiter_new_in(&paths, &limits, HOST_CGROUP_V2, &l, &err);
		if (write(ready[1], &byte, 1) == 1)
			pause();
		_exit(1);
	}
	ok(read(ready[0], &byte, 1) == 1 && byte == 0, "groups of another process");
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void make_and_free(void)
{
	struct plan_limits limits = some_limits();
	struct cordon_err err = { 0 };
	struct limiter *l = NULL;

	ok(limiter_new_in(&paths, &limits, HOST_CGROUP_V2, &l, &err) == 0, "%s", err.msg);
	limiter_free(l);
}

static void test_groups_of_killed_makers_are_removed(void)
{
	pid_t maker;

	make_version2("memory pids\n", false);
	maker = start_maker();
	make_and_free();
	is_int(count_groups(base), 1, "that of a living maker stay");
	kill(maker, SIGKILL);
	waitpid(maker, NULL, 0);
	is_int(count_groups(base), 1, "a killed maker leaves it");
	make_and_free();
	is_int(count_groups(base), 0, "the next one removes them");
	remove_base();
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_version2_writes_the_limits),
		TAP(test_version2_without_limits_writes_none),
		TAP(test_version2_takes_another_limit),
		TAP(test_version2_holds_the_number_of_cpus),
		TAP(test_version2_asks_for_the_controller_of_cpus),
		TAP(test_version2_without_that_controller_is_a_group_all_the_same),
		TAP(test_version2_reads_the_counters),
		TAP(test_version2_goes_into_a_leaf_when_alone),
		TAP(test_version2_is_refused_where_it_cannot_be),
		TAP(test_version2_is_found_in_other_places),
		TAP(test_version2_fails_cleanly_at_each_file),
		TAP(test_groups_of_killed_makers_are_removed),
		TAP_END });
}
