/* The memory of a tree in proportion: what several processes share counts once.
 *
 * The kernel walks every page for it, and waits for the process that it looks at, which
 * can make that last: so a process beside the supervisor looks, and who hinders it gets
 * nothing off.
 */
#ifndef SUPER_SHARE_H
#define SUPER_SHARE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* What to look at. */
struct share_job {
	int proc_fd;			/* the tree's /proc */
	/* Private file systems, whose files are counted elsewhere: what is mapped of
	 * them is left out where that decides. */
	const dev_t *devices;
	size_t n_devices;
	int64_t tasks, mapped;		/* at most: what there is to walk */
	int64_t shmem;			/* at most: shared memory, also where nobody maps it now */
	int64_t limit;			/* that the answer is compared with … */
	int64_t beside;			/* … together with these */
};

struct share_answer {
	int64_t bytes;			/* anonymous and shared memory; if over, at least */
	int64_t faults;			/* page faults of the tree until then */
	int64_t cpu_us;			/* what it took the looker */
};

/* A look that is going on. */
struct share_look {
	pid_t pid;			/* 0: none is */
	int fd;				/* readable at its end; else -1 */
	int own_proc_fd;		/* to look at the process itself */
	int64_t last_us, held_us;	/* when it was asked; how long others made it wait */
	int64_t most_held_us, most_cpu_us;
};
#define SHARE_LOOK ((struct share_look){ .fd = -1, .own_proc_fd = -1 })

enum share_state { SHARE_LOOKING, SHARE_DONE, SHARE_HINDERED, SHARE_FAILED };

int share_begin(struct share_look *l, const struct share_job *job, struct cordon_err *err) MUST_USE;
/* Does not wait.  SHARE_DONE and SHARE_FAILED end it; one that is hindered is killed, but
 * may take its time. */
enum share_state share_ask(struct share_look *l, struct share_answer *ret);
/* Waits for its end. */
void share_end(struct share_look *l);

#endif
