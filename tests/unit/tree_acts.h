/* What any process of a test's tree may do: map its ids, rest, use memory and
 * CPU time. */
#ifndef TESTS_TREE_ACTS_H
#define TESTS_TREE_ACTS_H

#include <sys/mman.h>
#include <time.h>

#include "base/fd.h"
#include "tap.h"

static void write_text(const char *path, const char *text)
{
	cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		_exit(90);
}

/* uid 0 in the tree is the caller, who is not root. */
static void map_ids(uid_t uid, gid_t gid)
{
	char map[64];

	snprintf(map, sizeof(map), "0 %u 1", uid);
	write_text("/proc/self/uid_map", map);
	write_text("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", gid);
	write_text("/proc/self/gid_map", map);
}

static void rest_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
		continue;
}

static char *map_bytes(int64_t bytes, int flags)
{
	char *p = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);

	if (p == MAP_FAILED)
		_exit(93);
	return p;
}

static int64_t cpu_used_ms(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void burn_ms(int64_t ms)
{
	int64_t end = cpu_used_ms(CLOCK_THREAD_CPUTIME_ID) + ms;

	while (cpu_used_ms(CLOCK_THREAD_CPUTIME_ID) < end)
		continue;
}

#endif
