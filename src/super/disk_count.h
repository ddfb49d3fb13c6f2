/* How much is on the disk: the bytes of directory trees, and of files that have
 * no name any more but are still held open. */
#ifndef SUPER_DISK_COUNT_H
#define SUPER_DISK_COUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/limits.h"

struct disk_inode {
	uint64_t dev, ino;		/* ino 0: free */
};

/* Descriptors are borrowed. */
struct disk_counter {
	int roots[MAX_DISK_ROOTS];
	dev_t devices[MAX_DISK_ROOTS];
	size_t n_roots;
	int proc;			/* root of the tree's procfs, or -1 */
	/* Files with more than one name, and those without, are counted once. */
	struct disk_inode *seen;
	size_t n_seen, cap_seen;
};

/* Add up the bytes, until they are more than `most`: the answer is then just
 * larger.  A file counts what it has allocated, and DISK_ENTRY_BYTES.  -1 with
 * the place where something of the caller's can not be looked into, or is too
 * deep or too much to be counted. */
#define DISK_ENTRY_BYTES	512
int disk_count(struct disk_counter *c, int64_t most, int64_t *ret_bytes,
	       struct cordon_err *err) MUST_USE;
/* Bytes that are free on the file systems of the roots: who takes some of them,
 * nobody can tell from that. */
int64_t disk_free(const struct disk_counter *c);

#endif
