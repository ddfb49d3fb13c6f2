/* One process as procfs tells it; see proc_read.h.
 *
 * The texts are the kernel's, but names in them are the tree's: a program name
 * may hold brackets and spaces (the kernel escapes newlines), so stat is read
 * from its last bracket on, and the others by whole lines.
 */
#include "super/proc_read.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/syscalls.h"

struct str proc_find_line(struct str text, const char *start)
{
	size_t n = strlen(start);

	while (text.n) {
		size_t end = str_find(text, '\n');
		struct str line = str_first(text, end);

		if (line.n >= n && memcmp(line.s, start, n) == 0)
			return str_trim(str_from_pos(line, n));
		text = str_from_pos(text, end < text.n ? end + 1 : end);
	}
	return STR("");
}

const char *proc_next(struct proc_list *l)
{
	for (;;) {
		const struct dirent64 *d = (const void *)(l->dents + l->pos);

		if (l->pos == l->n) {
			ssize_t n = sys_getdents64(l->fd, l->dents, sizeof(l->dents));

			if (n <= 0)
				return NULL;
			l->pos = 0;
			l->n = (size_t)n;
			continue;
		}
		l->pos += d->d_reclen;
		if (d->d_name[0] >= '0' && d->d_name[0] <= '9')
			return d->d_name;
	}
}

#define CHUNK_BYTES	8192

/* A file by lines; one longer than the chunk is given cut. */
struct lines {
	int fd;
	bool skip;			/* the rest of a line that was given cut */
	size_t pos, n;
	char chunk[CHUNK_BYTES];
};

static int open_file(int proc_fd, const char *pid, const char *file)
{
	char path[64];

	if (snprintf(path, sizeof(path), "%s/%s", pid, file) >= (int)sizeof(path))
		return -1;
	return openat(proc_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

/* The next line without its newline, valid until the next call; NULL at the
 * end or when the process is gone. */
static char *next_line(struct lines *l)
{
	for (;;) {
		char *start = l->chunk + l->pos;
		char *end = memchr(start, '\n', l->n - l->pos);
		bool skip = l->skip;
		ssize_t got;

		if (end) {
			*end = '\0';
			l->pos = (size_t)(end - l->chunk) + 1;
			l->skip = false;
			if (!skip)
				return start;
			continue;
		}
		if (l->pos == 0 && l->n == CHUNK_BYTES - 1) {
			l->chunk[l->n] = '\0';
			l->pos = l->n;
			l->skip = true;
			if (!skip)
				return start;
		}
		memmove(l->chunk, l->chunk + l->pos, l->n - l->pos);
		l->n -= l->pos;
		l->pos = 0;
		got = read(l->fd, l->chunk + l->n, CHUNK_BYTES - 1 - l->n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return NULL;
		l->n += (size_t)got;
	}
}

/* Where a line `key` with so many kB goes. */
struct field {
	const char *key;		/* with its colon */
	int64_t *bytes;
};

/* A number of digits after blanks, 0 where there is none. */
static int64_t number_in(const char *text)
{
	return strtoll(text, NULL, 10);
}

static bool take_field(const char *line, const struct field *fields, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(fields[i].key);

		if (strncmp(line, fields[i].key, len) == 0) {
			*fields[i].bytes += number_in(line + len) * 1024;
			return true;
		}
	}
	return false;
}

bool proc_read_status(int proc_fd, const char *pid, struct proc_status *ret)
{
	cleanup_fd int fd = open_file(proc_fd, pid, "status");
	struct lines lines = { .fd = fd };
	struct proc_status s = { 0 };
	const struct field fields[] = {
		{ "RssAnon:", &s.anon },
		{ "RssShmem:", &s.shmem },
		{ "VmPTE:", &s.page_tables },
		{ "VmSwap:", &s.swap },
	};
	const char *line;

	if (fd < 0)
		return false;
	while ((line = next_line(&lines))) {
		if (strncmp(line, "Threads:", 8) == 0) {
			s.threads = number_in(line + 8);
			break;		/* all others stand before it */
		}
		if (line[0] == 'V' || line[0] == 'R')
			s.has_memory |= take_field(line, fields,
						   sizeof(fields) / sizeof(fields[0]));
	}
	if (s.threads == 0)
		return false;
	*ret = s;
	return true;
}

bool proc_find_memory(int proc_fd, const char *pid, char ret_name[PROC_TASK_NAME],
		      struct proc_status *ret)
{
	cleanup_fd int dir = open_file(proc_fd, pid, "task");
	struct proc_list tasks = { .fd = dir };
	struct proc_status s = { 0 };
	const char *task;

	while (dir >= 0 && (task = proc_next(&tasks))) {
		snprintf(ret_name, PROC_TASK_NAME, "%.16s/task/%.16s", pid, task);
		if (!proc_read_status(proc_fd, ret_name, &s) || !s.has_memory)
			continue;
		s.threads = ret->threads;
		*ret = s;
		return true;
	}
	return false;
}

bool proc_read_stat(int proc_fd, const char *pid, struct proc_stat *ret)
{
	/* Fields after the name, counted from the state, see proc_pid_stat(5). */
	enum { PARENT = 1, MINFLT = 7, CMAJFLT = 10, UTIME = 11, CSTIME = 14, START = 19, SIZE,
	       RESIDENT, N_FIELDS };
	cleanup_fd int fd = open_file(proc_fd, pid, "stat");
	char text[1024];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	int64_t fields[N_FIELDS] = { 0 };
	const char *at, *state;

	if (n <= 0)
		return false;
	text[n] = '\0';
	at = strrchr(text, ')');
	state = at ? at + 2 : NULL;
	for (int i = 0; at && i < N_FIELDS; i++) {
		at = strchr(at + 1, ' ');
		fields[i] = at ? number_in(at) : 0;
	}
	if (!at)
		return false;
	*ret = (struct proc_stat){ .state = *state, .parent = (pid_t)fields[PARENT],
				   .start = fields[START], .size = fields[SIZE],
				   .resident = fields[RESIDENT] };
	for (int i = MINFLT; i <= CMAJFLT; i++)
		ret->faults += fields[i];
	for (int i = UTIME; i <= CSTIME; i++)
		ret->ticks += fields[i];
	return true;
}

bool proc_read_numbers(int proc_fd, const char *pid, struct proc_numbers *ret)
{
	cleanup_fd int fd = open_file(proc_fd, pid, "status");
	struct lines lines = { .fd = fd };
	struct proc_numbers n = { 0 };
	const char *line;

	while (fd >= 0 && !n.inside && (line = next_line(&lines))) {
		if (strncmp(line, "PPid:", 5) == 0)
			n.parent = (pid_t)number_in(line + 5);
		else if (strncmp(line, "NSpid:", 6) == 0)
			n.inside = (pid_t)number_in(strrchr(line, '\t'));
	}
	if (!n.inside)
		return false;
	*ret = n;
	return true;
}

bool proc_read_share(int proc_fd, const char *pid, struct proc_share *ret)
{
	cleanup_fd int fd = open_file(proc_fd, pid, "smaps_rollup");
	struct lines lines = { .fd = fd };
	struct proc_share s = { .refused = fd < 0 && (errno == EACCES || errno == EPERM) };
	const struct field fields[] = {
		{ "Pss_Anon:", &s.anon },
		{ "Pss_Shmem:", &s.shmem },
		{ "SwapPss:", &s.anon },
	};
	const char *line;
	bool any = s.refused;

	if (fd < 0 && !s.refused)
		return false;
	while (fd >= 0 && (line = next_line(&lines)))
		any |= take_field(line, fields, sizeof(fields) / sizeof(fields[0]));
	if (any)
		*ret = s;
	return any;
}

int64_t proc_read_meminfo(int proc_fd, const char *key)
{
	cleanup_fd int fd = openat(proc_fd, "meminfo", O_RDONLY | O_CLOEXEC);
	char text[4096];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	struct str value = n <= 0 ? STR("") : proc_find_line((struct str){ text, (size_t)n }, key);

	if (!value.n)
		return -1;
	text[n] = '\0';
	return number_in(value.s) * 1024;
}

/* False for a line that is no mapping's first. */
static bool parse_mapping(const char *line, struct proc_mapping *ret)
{
	unsigned long long from, to, offset, inode;
	unsigned dev_major, dev_minor;
	char rights[5];

	if ((line[0] < '0' || line[0] > '9') && (line[0] < 'a' || line[0] > 'f'))
		return false;
	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu", &from, &to, rights, &offset, &dev_major,
		   &dev_minor, &inode) != 7)
		return false;
	*ret = (struct proc_mapping){ .is_shared = rights[3] == 's',
				      .device = makedev(dev_major, dev_minor),
				      .inode = inode,
				      .end = (int64_t)(offset + (to - from)) };
	return true;
}

void proc_list_shared(int proc_fd, const char *pid, dev_t device,
		      void (*add)(void *arg, const struct proc_mapping *m), void *arg)
{
	cleanup_fd int fd = open_file(proc_fd, pid, "maps");
	struct lines lines = { .fd = fd };
	struct proc_mapping m;
	const char *line;

	while (fd >= 0 && (line = next_line(&lines)))
		if (parse_mapping(line, &m) && m.is_shared && m.device == device)
			add(arg, &m);
}

bool proc_read_mapped(int proc_fd, const char *pid, const dev_t *devices, size_t n_devices,
		      int64_t *ret)
{
	cleanup_fd int fd = open_file(proc_fd, pid, "smaps");
	struct lines lines = { .fd = fd };
	int64_t all = 0, anon = 0;
	const struct field ours[] = { { "Pss:", &all }, { "Anonymous:", &anon } };
	const char *line;
	struct proc_mapping m;
	bool listed = false;

	if (fd < 0)
		return false;
	while ((line = next_line(&lines))) {
		if (parse_mapping(line, &m)) {
			listed = false;
			for (size_t i = 0; i < n_devices; i++)
				listed |= devices[i] == m.device;
		} else if (listed) {
			take_field(line, ours, sizeof(ours) / sizeof(ours[0]));
		}
	}
	/* A private mapping's own copies are anonymous memory, not the file's. */
	*ret = all > anon ? all - anon : 0;
	return true;
}
