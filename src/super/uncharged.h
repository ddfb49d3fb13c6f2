/* Memory of the kernel that nobody is charged for: no group of processes, and no
 * process's size shows it. */
#ifndef SUPER_UNCHARGED_H
#define SUPER_UNCHARGED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/limits.h"

struct uncharged {
	int proc_fd;			/* the tree's /proc; -1: nothing is looked at */
	int diag_fd;			/* lists sockets; -1: others count them */
	int fs_fds[MAX_LIMITER_FS];	/* private file systems; borrowed */
	size_t n_fs;
	bool own_network;		/* its sockets are the tree's */
	int64_t slab;			/* the kernel's, the least since locks were listed */
	int64_t due_us, locks_due_us, sockets_due_us;
};
#define UNCHARGED	((struct uncharged){ .proc_fd = -1, .diag_fd = -1 })

/* `proc_fd` is borrowed; -1: there is none. */
int uncharged_start(struct uncharged *u, int proc_fd, bool own_network,
		    struct cordon_err *err) MUST_USE;
/* Does the tree hold too much of it, for this limit of memory?  Looks if it is time
 * to; *ret_wait_us is when to ask again, -1: never. */
bool uncharged_is_over(struct uncharged *u, int64_t limit, int64_t now_us,
		       int64_t *ret_wait_us);
/* A private file system of the tree, whose pages may be charged to others. */
int uncharged_add_fs(struct uncharged *u, int fd, struct cordon_err *err) MUST_USE;
/* Bytes in all of them. */
int64_t uncharged_measure_fs(const struct uncharged *u);
/* Takes the descriptor over. */
void uncharged_add_sockets(struct uncharged *u, int diag_fd);
void uncharged_stop(struct uncharged *u);

#endif
