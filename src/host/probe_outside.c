/* The cgroup that others have given to the caller. */
#include "host/probe_priv.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
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

/* The path of our own group of version 2, as /proc/self/cgroup has it: 0::PATH. */
static bool read_own_group(char *ret, size_t n)
{
	cleanup_lines struct lines l;
	struct str line;

	lines_open(&l, "/proc/self/cgroup");
	while (lines_next(&l, &line)) {
		struct str names = field_of(line, ':', 1);
		struct str path = field_of(line, ':', 0);

		if (names.n > 0)
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
static int find_group(const char *base, char *ret, size_t n, struct cordon_err *say)
{
	char path[PATH_MAX];

	if (!read_own_group(path, sizeof(path)))
		return err_set(say, CORDON_E_HOST, "no cgroup v2 group of our own");
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

int try_cgroup(struct cordon_err *say)
{
	const char *base = unified_base();
	char dir[PATH_MAX];

	if (!base)
		return err_set(say, CORDON_E_HOST, "no cgroup v2 is mounted");
	if (find_group(base, dir, sizeof(dir), say) < 0 ||
	    check_controllers(dir, getppid(), say) < 0 || prove_group(dir, say) < 0)
		return -1;
	say_found(say, "v2, below %.100s", dir);
	return 0;
}

void forget_cgroup(void)
{
	struct cordon_err ignored;
	const char *base = unified_base();
	char dir[PATH_MAX], trial[PATH_MAX + 64];

	if (base && find_group(base, dir, sizeof(dir), &ignored) == 0) {
		name_trial_group(dir, getpid(), trial, sizeof(trial));
		rmdir(trial);
	}
}
