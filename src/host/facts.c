/* What surrounds us; see facts.h. */
#include "host/facts.h"

#include <stdio.h>
#include <unistd.h>

#include "base/macros.h"
#include "host/lines.h"

static const char *const container_words[] = {
	[CONTAINER_NONE] = NULL,
	[CONTAINER_DOCKER] = "docker",
	[CONTAINER_PODMAN] = "podman",
	[CONTAINER_KUBERNETES] = "kubernetes",
	[CONTAINER_OTHER] = "container",
};
static_assert(ARRAY_SIZE(container_words) == N_HOST_CONTAINERS, "a container without a word");

const char *host_container_name(enum host_container c)
{
	return container_words[c];
}

static void read_line(const char *path, char *ret, size_t n)
{
	cleanup_lines struct lines l;
	struct str line;

	ret[0] = '\0';
	lines_open(&l, path);
	if (lines_next(&l, &line) && line.n < n)
		snprintf(ret, n, "%.*s", (int)line.n, line.s);
}

static long read_setting(const char *path)
{
	char line[32];
	uint64_t number;

	read_line(path, line, sizeof(line));
	return str_parse_u64(str_from(line), &number) ? (long)MIN(number, 1u << 30) : -1;
}

/* "Seccomp:\t2" in /proc/self/status. */
static bool is_filtered(void)
{
	cleanup_lines struct lines l;
	struct str line;

	lines_open(&l, "/proc/self/status");
	while (lines_next(&l, &line))
		if (str_starts(line, "Seccomp:"))
			return str_is(str_trim(field_of(line, ':', 1)), "2");
	return false;
}

static enum host_container find_container(void)
{
	if (getenv("KUBERNETES_SERVICE_HOST"))
		return CONTAINER_KUBERNETES;
	if (access("/run/.containerenv", F_OK) == 0)
		return CONTAINER_PODMAN;
	if (access("/.dockerenv", F_OK) == 0)
		return CONTAINER_DOCKER;
	return access("/run/systemd/container", F_OK) == 0 || getenv("container") ? CONTAINER_OTHER
										  : CONTAINER_NONE;
}

static bool is_in_userns(void)
{
	char map[64] = "";
	unsigned long inside, outside, n;

	read_line("/proc/self/uid_map", map, sizeof(map));
	return sscanf(map, "%lu %lu %lu", &inside, &outside, &n) == 3 &&
	       (inside != 0 || outside != 0 || n != UINT32_MAX);
}

void host_facts_read(struct host_facts *ret)
{
	ssize_t n;

	*ret = (struct host_facts){
		.is_root = geteuid() == 0,
		.filtered = is_filtered(),
		.systemd = access("/run/systemd/system", F_OK) == 0,
		.in_userns = is_in_userns(),
		.container = find_container(),
		.userns_clone = read_setting("/proc/sys/kernel/unprivileged_userns_clone"),
		.max_user_namespaces = read_setting("/proc/sys/user/max_user_namespaces"),
		.apparmor_restrict =
			read_setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
	};
	read_line("/sys/kernel/security/lsm", ret->lsm, sizeof(ret->lsm));
	n = readlink("/proc/self/exe", ret->exe, sizeof(ret->exe) - 1);
	ret->exe[n > 0 ? n : 0] = '\0';
}
