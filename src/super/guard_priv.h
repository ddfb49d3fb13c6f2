/* What the parts of the guard share.
 *
 * A worker is a pair.  The reader receives calls and reads the caller's memory
 * and descriptors; the actor does the act and answers.  They are two processes
 * because Landlock lets a process read another only from the same domain or
 * one around it, so that the one which acts inside the tree's rules can not be
 * the one which reads.  They talk over one socket: see struct guard_request.
 */
#ifndef SUPER_GUARD_PRIV_H
#define SUPER_GUARD_PRIV_H

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "backend/native/programs.h"
#include "base/arena.h"
#include "base/limits.h"
#include "base/str.h"
#include "plan/plan.h"
#include "super/guard.h"

/* The result of a system call as one number: -errno or what it returned. */
static inline int guard_rc(long rc)
{
	int sys = errno;

	return rc < 0 ? -sys : (int)rc;
}

/* --- names: guard_match.c, without system calls; guard_settle.c --------------- */

struct guard_name {
	bool anywhere;		/* below any directory */
	const char *text;	/* as it was given, and whose it was; absolute unless anywhere */
	struct str *parts;	/* folded */
	struct str *raw;	/* the same in `text` */
	size_t n_parts;
	size_t n_literal;	/* parts before the first with a `*` */
	size_t given;		/* the number of the one that was given for it */
	enum guard_cause cause;	/* of that */
};

struct guard_names {
	struct arena arena;
	struct guard_name *items;
	size_t n, cap;
};

enum guard_verdict {
	GUARD_FREE,
	GUARD_LOOSE,		/* a directory here would lead to a guarded name: no link */
	GUARD_PREFIX,		/* a guarded name's path leads through here: a directory only */
	GUARD_HELD,		/* is guarded, or below what is */
};

struct guard_finding {
	enum guard_verdict verdict;
	const struct guard_name *by;	/* whose verdict it is, or NULL */
};

/* Told of a way: the first `n` parts of a name lead to a place or, if those are all,
 * to it or to what it lies in.  What is not 0 ends the search. */
typedef int guard_way_fn(void *data, const struct guard_name *name, size_t n);

/* Whether they can be guarded; what is left to find out is how many parts they have. */
int guard_names_check(const struct plan_guarded *given, size_t n, struct cordon_err *err) MUST_USE;
/* The texts stay the caller's, for as long as they are used. */
int guard_names_init(struct guard_names *g, const struct plan_guarded *given, size_t n,
		     struct cordon_err *err) MUST_USE;
/* One more, for the same reason as another. */
int guard_names_add(struct guard_names *g, const char *text, const struct guard_name *like,
		    struct cordon_err *err) MUST_USE;
void guard_names_release(struct guard_names *g);
/* Add the places to which symbolic links of this process's root lead the
 * absolute names. */
int guard_names_settle(struct guard_names *g, struct cordon_err *err) MUST_USE;
/* The path cannot be looked at (errno): is that because of a folder that the tree, whose
 * own it is, can open again?  Then nobody knows what stands there. */
bool guard_is_closed(const char *path);
/* Every way to an absolute path; 1: it can not be told. */
int guard_each_way(const struct guard_names *g, struct str path, guard_way_fn *act, void *data);
/* A guard_way_fn, with a struct guard_finding: of all verdicts the strongest counts, of
 * equals the one with the latest cause. */
int guard_add_way(void *data, const struct guard_name *name, size_t n);
/* Judge an absolute path. */
struct guard_finding guard_match(const struct guard_names *g, struct str path);

/* --- what crosses the socket ------------------------------------------------ */

enum guard_op {
	GUARD_OPEN,
	GUARD_MKDIR,
	GUARD_MKNOD,
	GUARD_SYMLINK,
	GUARD_LINK,
	GUARD_RENAME,
	GUARD_BIND,
	GUARD_TRUNCATE,
	GUARD_EXEC,		/* the actor only tells what the path leads to */
	N_GUARD_OPS
};

/* The C library's is 0 where files are large anyway; the kernel knows it. */
#if defined(__aarch64__) || defined(__arm__)
#define GUARD_LARGE_FILE	0400000
#else
#define GUARD_LARGE_FILE	0100000
#endif

/* Descriptors that may come with a request, in this order. */
enum guard_slot {
	GUARD_SLOT_ROOT,	/* with the first request only */
	GUARD_SLOT_OLD,		/* where relative paths begin */
	GUARD_SLOT_NEW,
	GUARD_SLOT_SOCKET,
	N_GUARD_SLOTS
};

/* One call, as the reader took it down.  Ops with one path have it as `new`;
 * symlink's text and bind's address are `old`. */
struct guard_request {
	uint64_t id;
	enum guard_op op;
	unsigned flags, mode, dev, umask;
	int64_t size;		/* of truncate */
	uint64_t size_max;	/* that the caller may make of a file */
	int tgid, tid;		/* of the caller, in its own pid namespace */
	int leader;		/* of its session, there; 0: of another one */
	bool slots[N_GUARD_SLOTS];
	size_t n_old, n_new;	/* bytes in texts, with the NULs of paths */
	char texts[2 * PATH_MAX];
};
#define GUARD_REQUEST_HEAD	offsetof(struct guard_request, texts)

/* From the actor to the reader: what else it needs, or GUARD_DONE. */
enum guard_ask {
	GUARD_DONE,
	GUARD_ASK_CWD,
	GUARD_ASK_FD,
	GUARD_ASK_COPY,		/* of a descriptor itself, not only of what it stands for */
	GUARD_ASK_TTY,
	GUARD_ASK_CLOSED,	/* nothing: an answer says that what was sent is closed there */
	GUARD_PROGRAM		/* no question: a struct guard_program */
};
struct guard_question {
	enum guard_ask ask;
	int fd;
};
#define GUARD_HEAD	256	/* the kernel looks for #! in that much */
/* What a path to execute leads to; empty when that cannot be told. */
struct guard_program {
	struct guard_question question;
	bool is_missing;		/* there is nothing */
	bool is_mask;			/* as that of a program looks */
	uint64_t dev, ino;
	size_t n_head;
	char path[PATH_MAX];
	char head[GUARD_HEAD];
};
/* And back: a descriptor, a device number (GUARD_ASK_TTY), or -errno. */
struct guard_reply {
	int rc;
};

int guard_send(int sock, const void *data, size_t n, const int *fds, size_t n_fds) MUST_USE;
/* Returns the bytes received; 0 when the other end is gone; -errno. */
int guard_recv(int sock, void *data, size_t n, int *fds, size_t *n_fds) MUST_USE;

/* --- executions: guard_exec.c, run by the reader ------------------------------ */

/* Blocked commands, and the files of those that are programs. */
struct guard_commands {
	struct arena arena;
	const struct plan *plan;	/* NULL: no execution comes here */
	struct str home;		/* of the command, inside */
	struct program_files known;
};
int guard_commands_init(struct guard_commands *c, const struct plan *plan,
			struct cordon_err *err) MUST_USE;
void guard_commands_release(struct guard_commands *c);

struct guard_worker;
struct guard_vector;

struct guard_exec {
	const struct guard_worker *w;
	uint64_t id;
	pid_t tid;
	int leader;			/* of its session, as numbered inside */
	bool is_traced;			/* by somebody else */
	const char *path;		/* as it was given */
	const struct guard_program *program;
	struct guard_vector *vector;
};

/* NULL without memory; most of it is never touched. */
struct guard_vector *guard_vector_new(void);
/* Copy the words of a thread; 0 or -errno. */
int guard_vector_read(struct guard_vector *v, pid_t tid, uint64_t argv) MUST_USE;
/* Judge the call and refuse it, or let it go on and judge what came of it. */
void guard_answer_exec(const struct guard_exec *e);
/* Copy memory of a thread: up to the first page that is not there; bytes or
 * -errno. */
int guard_read_memory(pid_t tid, uint64_t from, void *to, size_t n);

/* --- processes -------------------------------------------------------------- */

/* Shared by all processes of the guard. */
struct guard_shared {
	/* Creations shared, what moves or aliases names exclusively: so nobody
	 * else can change the path of a directory between judging and acting.
	 * Who waits for it holds the turn, so that a stream of creations cannot
	 * keep a rename out for ever. */
	pthread_mutex_t turn;
	pthread_rwlock_t lock;
	atomic_ullong lost;		/* refusals nobody read */
	atomic_int cpus[N_GUARD_PAIRS];	/* that a pair shares, and 1; 0: none yet */
	bool root_known;		/* under the lock, as what follows */
	uint64_t root_mount, root_inode;
};

struct guard_worker {
	int listener;
	pid_t init;			/* whose calls go on: nobody inside can write its memory */
	int sock;			/* to the other one of the pair */
	int denials;
	int proc;			/* /proc of the host */
	int self;			/* actor: its own folder there */
	int mounts;			/* actor: the mounts of the tree, as text */
	uint64_t *mount_ids;		/* actor: their numbers, once one was asked for */
	size_t n_mount_ids;
	struct guard_shared *shared;
	atomic_int *cpu;		/* the pair's, of `shared` */
	unsigned n_calls;		/* that it served while the pair was not on one CPU */
	struct guard_names *names;
	struct guard_commands *commands;
};

/* Serve until the tree is gone; return then, or when something is wrong. */
void guard_reader_loop(struct guard_worker *w);
void guard_actor_loop(struct guard_worker *w);
/* End a request with a value or -errno. */
void guard_answer(int listener, uint64_t id, int rc);
/* Let the caller do it itself. */
void guard_go_on(int listener, uint64_t id);
/* End a request to open with a descriptor of ours, which is closed. */
void guard_give(int listener, const struct guard_request *req, int fd);
/* The same of a device, which may be ours for a moment longer: one call instead of two. */
void guard_give_device(int listener, const struct guard_request *req, int fd);
bool guard_is_valid(int listener, uint64_t id);
/* For each call: after a few, both of the pair stay on one CPU. */
void guard_share_cpu(struct guard_worker *w);
/* Report a refusal: all but `what` is in `about`. */
void guard_report(const struct guard_worker *w, const struct guard_denial *about,
		  const char *what);

/* --- the actor: guard_serve.c, guard_open.c, guard_path.c, guard_judge.c, guard_mounts.c */

struct guard_actor {
	struct guard_worker *w;
	struct guard_request req;
	int fds[N_GUARD_SLOTS];		/* -1: did not come */
	int opened;			/* -1, or what the caller gets */
	int own_fd;			/* -1, or the caller's that a link of procfs led to last */
	unsigned links;			/* symbolic links followed so far */
	unsigned n_fifos;		/* processes that wait for the other end */
};

/* Where a name is, or would be. */
struct guard_place {
	int dir;			/* borrowed if it is the base, else `owned` */
	int owned;			/* -1, or dir */
	char last[NAME_MAX + 2];	/* with a slash if the path ended in one */
	size_t n_last;			/* without it */
	bool magic;			/* the way led through a link of procfs */
	bool from_root;			/* it led from our root through our mounts alone */
	char path[PATH_MAX + NAME_MAX + 2];	/* absolute inside, once judged */
	struct guard_finding is;	/* what it was judged to be */
};
#define GUARD_PLACE	{ .dir = -1, .owned = -1, .is.verdict = GUARD_HELD }

void guard_place_clear(struct guard_place *p);
#define cleanup_place __attribute__((cleanup(guard_place_clear)))

/* The directory and the last component of a path; 0 or -errno. */
int guard_resolve(struct guard_actor *a, int base, const char *path, struct guard_place *ret);
/* A descriptor (O_PATH) of what the path names; 0 or -errno. */
int guard_find(struct guard_actor *a, int base, const char *path, bool follow, int *ret_fd);
/* One step over the symbolic link at a place: *ret_fd is where a link of
 * procfs leads, or -1 and `target` has the text. */
int guard_follow(struct guard_actor *a, const struct guard_place *p, char target[PATH_MAX],
		 int *ret_fd);
/* Is it the link of procfs to a descriptor of the caller's own?  Those of a caller that is
 * not dumpable can be neither seen nor opened here, but followed. */
bool guard_is_own_fd(const struct guard_actor *a, const struct guard_place *p);
bool guard_is_procfs(int fd);
/* Is it in one of the tree's mounts, of which nobody inside makes any?  What another run has
 * sent may be in a mount where nothing is held any more, and its path one from there. */
bool guard_is_mounted(struct guard_worker *w, int fd);
/* Is its mount only to be read?  What cannot be told is. */
bool guard_is_read_only(int fd);
/* Does one of them stand below the directory `st` of that name?  1: yes; or -errno. */
int guard_has_mount_below(const struct guard_worker *w, struct str name, const struct stat *st);
/* The path of a descriptor, absolute inside; -errno. */
int guard_fd_path(const struct guard_worker *w, int fd, char *ret, size_t n);
/* Fill in the path of a place and judge it; -errno when that can not be told. */
int guard_judge(struct guard_actor *a, struct guard_place *p);
/* May the object at `from` come to stand at `to` (judged)?  1: no, for *ret_by; or -errno. */
int guard_check_landing(const struct guard_actor *a, const struct guard_place *from,
			const struct guard_place *to, const struct guard_name **ret_by);
/* May the object at `from` (judged) go from there?  1: no, for *ret_by; or -errno. */
int guard_check_leaving(const struct guard_actor *a, const struct guard_place *from,
			const struct guard_name **ret_by);
/* Ask the reader. */
int guard_ask(struct guard_actor *a, enum guard_ask what, int fd, int *ret_fd);

/* Report a refusal, for a guarded name or NULL; returns -EACCES. */
int guard_refuse(struct guard_actor *a, const char *path, const struct guard_name *by);
void guard_lock(struct guard_worker *w, bool alone);
void guard_unlock(struct guard_worker *w);
/* The number for the caller, or -errno; or GUARD_ANSWERED. */
int guard_open_file(struct guard_actor *a);
int guard_truncate_file(struct guard_actor *a);
#define GUARD_ANSWERED	(-4096)

#endif
