/* Refusing the creation of guarded names, without leaving anything behind, and
 * the execution of blocked commands.
 *
 * The seccomp filter hands every call that could make a name or change what has
 * one (open to make or to write, mkdir, mknod, symlink, link, rename, bind,
 * truncate: plan/guard_filter.h) to the guard, which does the act itself on
 * descriptors inside the caller's root and gives the result back.  A call is
 * never let go on after its memory was read; but for executions, which are
 * looked at again when they are done (guard_exec.c).  The guard is a few
 * processes of their own; when they are gone, such calls fail.
 *
 * A name is refused with EACCES where it stands, and everything below it, in
 * any case of its letters; what exists already can be read.  A directory may
 * be made where a guarded name's path leads through; a symbolic link may not,
 * and a directory may move there only if it does not bring the rest along, and
 * away from there only if it does not take the rest with it.
 */
#ifndef SUPER_GUARD_H
#define SUPER_GUARD_H

#include <poll.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct plan;
struct plan_guarded;

#define N_GUARD_PAIRS	2	/* one alone was slower, more gained nothing on few CPUs */

struct guard_options {
	const struct plan_guarded *names;
	size_t n_names;
	const struct plan *plan;	/* whose rules executions are judged by; NULL: none are */
	int listener;			/* seccomp notification descriptor */
	int userns;			/* user namespace of the tree; -1: the caller's own */
	int mntns;			/* of its mounts, whose points are busy there; or -1 */
	const char *root;		/* the root of the tree there */
	int ruleset;			/* its Landlock ruleset, or -1 */
	pid_t init;			/* ours in the tree, whose calls go on; 0: none */
	bool is_early;			/* nobody waits for it yet: one CPU will do */
};

struct guard;

/* Start the workers.  The listener is the guard's from here on, whatever becomes of
 * it: while anyone else holds it, calls wait instead of failing when the workers are
 * gone.  All else stays the caller's, until guard_stop().  The caller has one thread,
 * and the uid, gid and groups of the tree: a process with others is refused everything
 * (EPERM) but /dev/null.
 * The root of the first process that asks is the root of all. */
int guard_start(const struct guard_options *o, struct guard **ret, struct cordon_err *err) MUST_USE;

/* What is to be polled for it, and when guard_work() is due without that. */
enum { GUARD_DENIALS, GUARD_WORKERS, N_GUARD_POLLS = GUARD_WORKERS + 2 * N_GUARD_PAIRS };
void guard_poll(const struct guard *g, struct pollfd fds[N_GUARD_POLLS]);
int64_t guard_next_us(const struct guard *g);
/* After that: look after the workers.  -1: they could not begin, which is so as well where
 * the tree has ended meanwhile; what was refused until then can still be read.  That they
 * are gone later is no failure: then the calls fail. */
int guard_work(struct guard *g, const struct pollfd fds[N_GUARD_POLLS],
	       struct cordon_err *err) MUST_USE;
/* Has one told why it could not begin, which nobody has read yet? */
bool guard_read_trouble(const struct guard *g, struct cordon_err *ret);
/* One refusal.  Who shows the text escapes it before. */
struct guard_denial {
	uint32_t rule;		/* 1 + the number of a rule; 0: a name */
	uint32_t name;		/* 1 + the number of the guarded name; 0: of none alone */
	int32_t thread;		/* that wanted to execute it; 0: a name, or a program already */
	int32_t leader;		/* of the session of who wanted it, as numbered inside */
	uint64_t path;		/* the hash of the path that it gave */
	char what[4096];	/* the command, or the name (absolute inside); may be cut */
};
/* The next refusal.  1: read, 0: none waiting, -1: nor will there be. */
int guard_read_denial(struct guard *g, struct guard_denial *ret);
/* Refusals that were not kept because nobody read them. */
uint64_t guard_denials_lost(const struct guard *g);
/* CPU time of the workers so far. */
int64_t guard_cpu_us(struct guard *g);
/* Let the workers end, and wait for nothing: the tree ends, too.  What was refused
 * can still be read.  NULL is fine. */
void guard_end(const struct guard *g);
/* End the workers and wait for them; NULL is fine. */
void guard_stop(struct guard *g);

#endif
