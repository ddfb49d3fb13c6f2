/* The enclosed tree of processes, whatever runs in it: init, what bounds it, what
 * guards it and its network.  A run has one for one command, a session one for
 * many. */
#ifndef SUPER_TREE_H
#define SUPER_TREE_H

#include <poll.h>

#include "backend/native/native.h"
#include "super/caller.h"
#include "super/cpu_share.h"
#include "super/guard.h"
#include "super/limiter.h"
#include "super/network.h"
#include "super/report.h"

struct disk;

/* Killing init ends everything inside, and so does the end of this process. */
struct tree {
	const struct plan *plan;
	struct run_reporter *reporter;
	struct native_early *early;	/* NULL: nobody began before it */
	struct native_child child;
	struct native_fds fds;
	struct limiter *limiter;	/* NULL until it is granted, where init enters it */
	enum host_cgroup cgroup;
	struct cpu_share cpus;	/* of limits.cpus, where the limiter does not hold that */
	bool granted;		/* what init asked for */
	struct guard *guard;
	struct disk *disk;	/* NULL: not counted */
	struct network network;
	int userns, mntns;	/* of the tree, for the guard; or -1 */
	struct caller caller;	/* what this process was before */
	int64_t begin_us;	/* when init was told to go; 0: not yet */
	int64_t look_at_us;	/* when the limits are due */
	int64_t guard_cpu_us;	/* that the guard's processes had used then */
	int64_t killed_us;	/* when it was first to end; 0: not yet */
	struct plan_limits limits;	/* that hold; those of the plan at first */
	const char *blocked;	/* the message of the last command that was refused */
	/* The last execution that was refused: whose, of what, by which path first. */
	struct {
		int32_t thread;
		uint64_t words, path;
	} refused;
};

/* What is polled for a tree. */
enum { TREE_CHILD, TREE_CONTROL, TREE_LIMITER, TREE_LISTENER, TREE_NETWORK, TREE_DISK, TREE_GUARD,
       N_TREE_POLLS = TREE_GUARD + N_GUARD_POLLS };

void tree_init(struct tree *t, const struct plan *plan, const struct host_caps *caps,
	       struct run_reporter *reporter);
/* Clone init and let it work; `io` stays the caller's.  From here on nobody can
 * look into this process. */
int tree_start(struct tree *t, const struct native_stdio *io, struct cordon_err *err) MUST_USE;
/* NATIVE_ASKED came: make what init needs before it can run anything. */
int tree_grant(struct tree *t, struct cordon_err *err) MUST_USE;
/* NATIVE_READY came. */
int tree_join(struct tree *t, struct cordon_err *err) MUST_USE;
/* Before the first call that makes a name, or executes something where commands are blocked;
 * else it starts with that, and runs that do neither pay nothing. */
int tree_start_guard(struct tree *t, struct cordon_err *err) MUST_USE;
/* To be called after each poll: starts the guard, and looks after it.  -1 also where the
 * tree has ended meanwhile. */
int tree_guard(struct tree *t, const struct pollfd fds[N_TREE_POLLS],
	       struct cordon_err *err) MUST_USE;
/* What the guard refused.  False: there may be more. */
bool tree_read_denials(struct tree *t);
/* The limits of the tree, where they are due; each is said once. */
enum limit_kind tree_check(struct tree *t);
/* What the tree has used, with the CPU time that guard and gate spent for it. */
void tree_usage(const struct tree *t, struct limiter_usage *ret);
/* Other limits of the tree from now on; -1: the old ones hold, or the tree ends. */
int tree_change_limits(struct tree *t, const struct plan_limits *limits,
		       struct cordon_err *err) MUST_USE;
void tree_poll(const struct tree *t, struct pollfd fds[N_TREE_POLLS]);
/* When tree_check() is due, the log is to be written, or the network has to work. */
int64_t tree_next_us(const struct tree *t);
/* Is init not there any more, or about to go?  Its socket is closed a while before its pidfd
 * tells, as it waits for everything inside to end. */
bool tree_shows_end(const struct pollfd fds[N_TREE_POLLS]);
bool tree_is_gone(const struct tree *t);
/* Again, where it is not gone: see there. */
void tree_kill(struct tree *t);
/* The error of one whose init was killed from outside, or for memory, before anything
 * ran.  Returns -1. */
int tree_refuse_killed(const struct plan *plan, bool oom_killed, struct cordon_err *err);
/* What init could not do, in the words of the policy, where that left it too little. */
void tree_explain(const struct plan *plan, struct cordon_err *err);
/* Kill, and wait until nothing of it is left.  Nothing is, also when it fails: then what it
 * was mounted of could be looked through. */
int tree_wait(struct tree *t, struct cordon_err *err) MUST_USE;
/* After that: its network ends, too; the limiter is left, for what it counted, and
 * workers that end meanwhile. */
void tree_stop(struct tree *t);
void tree_release(struct tree *t);

#endif
