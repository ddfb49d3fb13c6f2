/* Acts that need what others have set up: cgroups, ranges of ids, an engine. */
#include "host/probe_priv.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "host/lines.h"
#include "host/probe.h"

/* ---- cgroups ------------------------------------------------------------ */

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

/* Does a comma or space list hold the word? */
static bool has_word(struct str list, char separator, const char *word)
{
	for (unsigned i = 0; list.n && i < 64; i++) {
		struct str one = field_of(list, separator, i);

		if (!one.n)
			return false;
		if (str_is(one, word))
			return true;
	}
	return false;
}

/* Our own group's path of a v1 controller, or of v2 (controller NULL), as
 * /proc/self/cgroup has it: ID:CONTROLLERS:PATH. */
static bool read_own_group(const char *controller, char *ret, size_t n)
{
	cleanup_lines struct lines l;
	struct str line;

	lines_open(&l, "/proc/self/cgroup");
	while (lines_next(&l, &line)) {
		struct str names = field_of(line, ':', 1);
		struct str path = field_of(line, ':', 0);

		if (controller ? !has_word(names, ',', controller) : names.n > 0)
			continue;
		path = str_from_pos(line, path.n + names.n + 2);
		/* /..: outside of what this cgroup namespace shows. */
		if (path.n >= n || str_starts(path, "/.."))
			return false;
		memcpy(ret, path.s, path.n);
		ret[path.n] = '\0';
		return true;
	}
	return false;
}

/* The directory of our own group.  In a container without a cgroup namespace
 * the path is the machine's while the mount shows only the container's part. */
static int find_group(const char *base, const char *controller, char *ret, size_t n,
		      struct cordon_err *say)
{
	char path[PATH_MAX];

	if (!read_own_group(controller, path, sizeof(path)))
		return err_set(say, CORDON_E_HOST, "no %s group of our own",
			       controller ? controller : "cgroup v2");
	if ((size_t)snprintf(ret, n, "%s%s", base, strcmp(path, "/") ? path : "") >= n)
		return err_set(say, CORDON_E_HOST, "the path of our group is too long");
	if (!exists(ret))
		snprintf(ret, n, "%s", base);
	return 0;
}

/* `owner` is the process on whose behalf it is tried, so that it can remove
 * what a killed child left. */
static void name_trial_group(const char *dir, pid_t owner, char *ret, size_t n)
{
	snprintf(ret, n, "%s/cordon-probe-%d", dir, (int)owner);
}

static int prove_group(const char *dir, struct cordon_err *say)
{
	char trial[PATH_MAX + 64], file[PATH_MAX + 96];
	int usable;

	name_trial_group(dir, getppid(), trial, sizeof(trial));
	if (mkdir(trial, 0755) < 0)
		return err_sys(say, CORDON_E_HOST, "a group below %.100s", dir);
	snprintf(file, sizeof(file), "%s/cgroup.procs", trial);
	usable = access(file, W_OK);
	if (usable < 0)
		err_sys(say, CORDON_E_HOST, "moving processes below %.100s", dir);
	if (rmdir(trial) < 0)
		return err_sys(say, CORDON_E_HOST, "removing a group below %.100s", dir);
	return usable;
}

static const char *unified_base(void)
{
	if (exists("/sys/fs/cgroup/cgroup.controllers"))
		return "/sys/fs/cgroup";
	if (exists("/sys/fs/cgroup/unified/cgroup.controllers"))
		return "/sys/fs/cgroup/unified";
	return NULL;
}

/* Does this file of the group name both controllers? */
static bool names_controllers(const char *dir, const char *file)
{
	cleanup_lines struct lines l;
	struct str line = STR("");
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	lines_open(&l, path);
	if (!lines_next(&l, &line))
		line = STR("");
	return has_word(line, ' ', "memory") && has_word(line, ' ', "pids");
}

/* A group whose children have controllers may hold no process, but for the
 * root of the machine, which has no type: we can go into a child, others would
 * have to be moved. */
static int check_alone(const char *dir, pid_t other, struct cordon_err *say)
{
	cleanup_lines struct lines l;
	struct str line;
	char path[PATH_MAX + 64];
	uint64_t pid;

	snprintf(path, sizeof(path), "%s/cgroup.type", dir);
	if (names_controllers(dir, "cgroup.subtree_control") || !exists(path))
		return 0;
	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	lines_open(&l, path);
	while (lines_next(&l, &line))
		if (!str_parse_u64(line, &pid) ||
		    (pid != (uint64_t)getpid() && pid != (uint64_t)other))
			return err_set(say, CORDON_E_HOST, "%.100s holds other processes", dir);
	return 0;
}

/* `other` may be in our group as well: the process for which we try. */
static int check_controllers(const char *dir, pid_t other, struct cordon_err *say)
{
	static const char *const delegated[] = { "cgroup.procs", "cgroup.subtree_control" };
	char path[PATH_MAX + 64];

	if (!names_controllers(dir, "cgroup.controllers"))
		return err_set(say, CORDON_E_HOST, "%.100s has no memory and pids controllers",
			       dir);
	for (size_t i = 0; i < ARRAY_SIZE(delegated); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, delegated[i]);
		if (access(path, W_OK) < 0)
			return err_sys(say, CORDON_E_HOST, "writing to %.120s", path);
	}
	return check_alone(dir, other, say);
}

int try_cgroup_v2(struct cordon_err *say)
{
	const char *base = unified_base();
	char dir[PATH_MAX];

	if (!base)
		return err_set(say, CORDON_E_HOST, "no cgroup v2 is mounted");
	if (find_group(base, NULL, dir, sizeof(dir), say) < 0 ||
	    check_controllers(dir, getppid(), say) < 0 || prove_group(dir, say) < 0)
		return -1;
	say_found(say, "v2, below %.100s", dir);
	return 0;
}

static const char *const v1_controllers[] = { "memory", "pids", "cpuacct" };

static int find_v1_group(const char *controller, char *dir, size_t n, struct cordon_err *say)
{
	char base[64];

	snprintf(base, sizeof(base), "/sys/fs/cgroup/%s", controller);
	if (!exists(base))
		return err_set(say, CORDON_E_HOST, "no cgroup v1 %s is mounted", controller);
	return find_group(base, controller, dir, n, say);
}

int try_cgroup_v1(struct cordon_err *say)
{
	char dir[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(v1_controllers); i++)
		if (find_v1_group(v1_controllers[i], dir, sizeof(dir), say) < 0 ||
		    prove_group(dir, say) < 0)
			return -1;
	say_found(say, "v1: memory, pids and cpuacct below our own groups");
	return 0;
}

enum host_cgroup host_probe_cgroup(void)
{
	struct cordon_err ignored;
	const char *base = unified_base();
	char dir[PATH_MAX];

	if (base && find_group(base, NULL, dir, sizeof(dir), &ignored) == 0 &&
	    check_controllers(dir, getpid(), &ignored) == 0 && access(dir, W_OK) == 0)
		return HOST_CGROUP_V2;
	for (size_t i = 0; i < ARRAY_SIZE(v1_controllers); i++)
		if (find_v1_group(v1_controllers[i], dir, sizeof(dir), &ignored) < 0 ||
		    access(dir, W_OK) < 0)
			return HOST_CGROUP_NONE;
	return HOST_CGROUP_V1;
}

void forget_cgroups(void)
{
	struct cordon_err ignored;
	const char *base = unified_base();
	char dir[PATH_MAX], trial[PATH_MAX + 64];

	if (base && find_group(base, NULL, dir, sizeof(dir), &ignored) == 0) {
		name_trial_group(dir, getpid(), trial, sizeof(trial));
		rmdir(trial);
	}
	for (size_t i = 0; i < ARRAY_SIZE(v1_controllers); i++)
		if (find_v1_group(v1_controllers[i], dir, sizeof(dir), &ignored) == 0) {
			name_trial_group(dir, getpid(), trial, sizeof(trial));
			rmdir(trial);
		}
}

/* ---- ranges of ids ------------------------------------------------------ */

/* The caller's name, from /etc/passwd alone: a directory service would need
 * locks and may hang.  GAP: its users are found by number only. */
static void read_own_name(char *ret, size_t n)
{
	cleanup_lines struct lines l;
	struct str line;
	uint64_t uid;

	ret[0] = '\0';
	lines_open(&l, "/etc/passwd");
	while (lines_next(&l, &line))
		if (str_parse_u64(field_of(line, ':', 2), &uid) && uid == geteuid()) {
			snprintf(ret, n, "%.*s", STR_FMT(field_of(line, ':', 0)));
			return;
		}
}

/* How many ids the file gives to us. */
static uint64_t count_ids(const char *path, const char *name)
{
	cleanup_lines struct lines l;
	struct str line;
	uint64_t sum = 0;

	lines_open(&l, path);
	while (lines_next(&l, &line)) {
		struct str who = field_of(line, ':', 0);
		uint64_t uid, count;

		if (!(name[0] && str_is(who, name)) &&
		    !(str_parse_u64(who, &uid) && uid == geteuid()))
			continue;
		if (str_parse_u64(field_of(line, ':', 2), &count) && count < UINT32_MAX)
			sum += count;
	}
	return sum;
}

static bool find_program(const char *name)
{
	static const char *const places[] = { "/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin",
					      "/run/wrappers/bin" };
	char path[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		snprintf(path, sizeof(path), "%s/%s", places[i], name);
		if (access(path, X_OK) == 0)
			return true;
	}
	return false;
}

int try_idmap(struct cordon_err *say)
{
	static const struct {
		const char *file, *program;
	} needed[] = { { "/etc/subuid", "newuidmap" }, { "/etc/subgid", "newgidmap" } };
	uint64_t least = UINT64_MAX;
	char name[64];

	if (geteuid() == 0) {
		say_found(say, "root maps any range");
		return 0;
	}
	read_own_name(name, sizeof(name));
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		uint64_t count = count_ids(needed[i].file, name);

		if (!count)
			return err_set(say, CORDON_E_HOST, "%s gives no ids to %s", needed[i].file,
				       name[0] ? name : "us");
		if (!find_program(needed[i].program))
			return err_set(say, CORDON_E_HOST, "%s is not installed",
				       needed[i].program);
		least = MIN(least, count);
	}
	say_found(say, "%llu ids beside our own", (unsigned long long)least);
	return 0;
}

/* ---- engines ------------------------------------------------------------ */

static int try_socket(const char *path, struct cordon_err *say)
{
	cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(to.sun_path))
		return err_set(say, CORDON_E_HOST, "the path of the engine's socket is too long");
	memcpy(to.sun_path, path, strlen(path));
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		return err_sys(say, CORDON_E_HOST, "connecting to %.100s", path);
	say_found(say, "an engine listens on %.100s", path);
	return 0;
}

int try_docker(struct cordon_err *say)
{
	static const char scheme[] = "unix://";
	const char *named = getenv("DOCKER_HOST");
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char rootless[2][128] = { "", "" };
	const char *places[] = { rootless[0], rootless[1], "/run/podman/podman.sock",
				 "/var/run/docker.sock" };

	if (named && named[0]) {
		if (strncmp(named, scheme, sizeof(scheme) - 1) != 0)
			return err_set(say, CORDON_E_HOST, "DOCKER_HOST is no unix:// address");
		return try_socket(named + sizeof(scheme) - 1, say);
	}
	if (runtime && strlen(runtime) < 96) {
		snprintf(rootless[0], sizeof(rootless[0]), "%s/docker.sock", runtime);
		snprintf(rootless[1], sizeof(rootless[1]), "%s/podman/podman.sock", runtime);
	}
	for (size_t i = 0; i + 1 < ARRAY_SIZE(places); i++)
		if (places[i][0] && try_socket(places[i], say) == 0)
			return 0;
	return try_socket(places[ARRAY_SIZE(places) - 1], say);
}
