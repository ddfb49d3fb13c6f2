/* The memory behind descriptors of a tree, which is in no process's count: bytes that wait
 * in pipes, and what the kernel has written down for whoever reads a file of /proc. */
#ifndef SUPER_FD_COUNT_H
#define SUPER_FD_COUNT_H

#include <stdint.h>
#include <sys/types.h>

struct fd_look {
	int proc_fd;			/* of the tree, borrowed */
	pid_t pid, tid;			/* with which process and thread the next look begins */
};

/* Bytes, at the most.  A tree with very many descriptors is looked at in parts. */
int64_t fd_measure(struct fd_look *l);

#endif
