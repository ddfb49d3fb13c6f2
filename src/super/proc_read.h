/* What a procfs says about one process, read without allocating.
 *
 * `proc_fd` is the root of a procfs, `pid` the name of a process in it.  Each
 * answers false for a process that is gone: that is no error.
 */
#ifndef SUPER_PROC_READ_H
#define SUPER_PROC_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"

/* The processes of a procfs, or the tasks of one, one after the other; zeroed but for its
 * descriptor, which is at the beginning.  NULL at the end; a name is valid until the next. */
#define PROC_DENTS_BYTES	16384
struct proc_list {
	int fd;				/* borrowed */
	size_t pos, n;
	/* For getdents64(): aligned as its records are. */
	_Alignas(8) char dents[PROC_DENTS_BYTES];
};
const char *proc_next(struct proc_list *l);

/* Bytes, but for the threads; from status. */
struct proc_status {
	int64_t anon, shmem;		/* resident */
	int64_t page_tables, swap;
	int64_t threads;
	bool has_memory;		/* not so once its first thread has ended */
};
/* What stands behind `start` in the line that begins with it, trimmed; empty when there is
 * none.  Every line of a status but the first is the kernel's own, and that one has no line
 * ends in it. */
struct str proc_find_line(struct str text, const char *start);
bool proc_read_status(int proc_fd, const char *pid, struct proc_status *ret);

/* The memory of a process whose first thread has ended before the others is that of
 * any of these: writes the name to read it by, and what it says, the threads left as
 * they are.  False: it has none. */
#define PROC_TASK_NAME	48
bool proc_find_memory(int proc_fd, const char *pid, char ret_name[PROC_TASK_NAME],
		      struct proc_status *ret);

/* From stat. */
struct proc_stat {
	int64_t ticks;			/* CPU time, with that of children waited for */
	int64_t faults;			/* page faults, also of children waited for */
	char state;
	pid_t parent;
	int64_t start;			/* in ticks since the machine's */
	int64_t size, resident;		/* of all its memory: bytes, pages */
};
bool proc_read_stat(int proc_fd, const char *pid, struct proc_stat *ret);

/* From status. */
struct proc_numbers {
	pid_t parent;			/* as this procfs has it */
	pid_t inside;			/* its own, in the pid namespace that it is in */
};
bool proc_read_numbers(int proc_fd, const char *pid, struct proc_numbers *ret);

/* Bytes of memory that others may share, in proportion; from smaps_rollup. */
struct proc_share {
	int64_t anon;			/* with what is swapped out */
	int64_t shmem;
	bool refused;			/* not ours to see: nothing is known */
};
bool proc_read_share(int proc_fd, const char *pid, struct proc_share *ret);

/* Bytes that a line of meminfo says, for the whole machine; -1: it has none.  `key` is with
 * its colon. */
int64_t proc_read_meminfo(int proc_fd, const char *key);

/* Shared mappings on one device, as maps has them. */
struct proc_mapping {
	bool is_shared;
	dev_t device;
	uint64_t inode;
	int64_t end;			/* in what is mapped: how large it is at least */
};
void proc_list_shared(int proc_fd, const char *pid, dev_t device,
		      void (*add)(void *arg, const struct proc_mapping *m), void *arg);

/* The part of share.shmem that are files of these devices; from smaps. */
bool proc_read_mapped(int proc_fd, const char *pid, const dev_t *devices, size_t n_devices,
		      int64_t *ret);

#endif
