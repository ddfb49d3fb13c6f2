/* What init's steps share.  Everything here runs between clone and exec: no
 * allocation, no locks, no logging. */
#ifndef BACKEND_INIT_PRIV_H
#define BACKEND_INIT_PRIV_H

#include <sched.h>

#include "backend/native/command.h"
#include "backend/native/folder.h"
#include "backend/native/native.h"
#include "base/listing.h"

struct network;

#define TREE_NONE	(-1)	/* there is no source */
#define TREE_LINK	(-2)	/* a link of the host that stays one */
#define TREE_PLACED	(-3)	/* it is where it belongs */

struct init {
	const struct plan *plan;
	const struct native_scope *within;
	const struct native_stdio *io;
	int control;
	int ruleset;		/* Landlock's, or -1 */
	int scope;		/* what the command enters beyond that, or -1 */
	unsigned char *grantors;	/* for each access one of enum grantor */
	atomic_size_t *turn;	/* which access whoever is free looks at next; with `ruleset` */
	const struct plan_mount *mounts;	/* the plan's, and what was found for it */
	size_t n_mounts;
	int *trees;		/* one descriptor a mount, or TREE_..., laid out before the clone */
	struct native_command command;	/* that is run; none in a session */
	int root;		/* the new root */
	struct folder place;	/* in the new root, where the last mount went */
	struct folder seen;	/* in the new root, with its links followed */
	struct listing names;	/* in that */
	int masks;		/* where masks are cloned from, or -1 */
	struct hollow {
		const char *tmpfs;	/* a private place, or NULL */
		const char *below[32];	/* what was put into it */
		size_t n;
	} hollow;		/* the last that was asked about */
	dev_t ours[8];		/* file systems that we made */
	size_t n_ours;
	cpu_set_t cpus;		/* the caller's */
	bool has_idle_cpu;	/* of these, when init was made */
	int64_t end_ms;		/* when the wall clock is over for sure; INT64_MAX: never */
	pid_t netns_maker;	/* the task that makes the network namespace */
	int netns;		/* what it made; -1: nothing */
	int proc;		/* the /proc that is to be mounted, from there or init; or -1 */
	struct made {
		int error;		/* errno; 0: all went well */
		const char *what, *path;
	} made;			/* why something of that is not there */
	bool in_network;	/* init is in it; from the beginning, by native_early */
	bool asked;		/* the supervisor, for what it grants */
	const struct network *network;
	struct native_fds fds;
};

_Noreturn void init_main(struct init *in);
/* Instead of one command: start those that the supervisor names, for as long as
 * it is there. */
_Noreturn void session_main(struct init *in, int signals);

/* ---- what a run and a session share, once everything is taken away -------- */

/* That nobody hears it is no reason to stop: then the supervisor is gone, and
 * the loop sees that. */
void tell(const struct init *in, const struct native_message *m);
/* The same with descriptors, which are closed here.  -1 with errno. */
int tell_fds(const struct init *in, struct native_message *m, struct native_fds *fds);
/* In a session: nothing of the caller's memory is left in ours but its code.  What
 * `in` points to is gone, but for the plan's flags. */
int wipe_memory(struct init *in, struct cordon_err *err) MUST_USE;
/* To everything inside but init. */
void signal_all(const struct init *in, int signal);
/* What the supervisor wants of every init; true: it was one of those. */
bool obey_common(const struct init *in, const struct native_message *m);
/* Standard streams that are devices become those inside; -1 with errno. */
int devices_open(void);
/* Open them for all commands of a session, who may not open for writing themselves. */
int devices_keep(void);
/* A new terminal on the command's own /dev/pts: the master, or -1 with errno. */
int terminal_open(const struct native_stdio *io, int *ret_slave);

struct launch {
	const struct native_command *command;
	/* In a session: what becomes its streams, and it leads a session of its
	 * own.  NULL: they are in place. */
	const int *streams;
	bool judged;		/* executions are judged */
	int scope;		/* a ruleset that it enters, or -1 */
	int error;		/* errno of exec; of chdir, negative */
	int told;		/* closed by the exec; what a copy of init has to tell goes there */
	pid_t group;		/* of the command, where the child only leads its session; or 0 */
};

/* Returns at its exec, or when that failed: the child is there, to be waited
 * for.  -1: there is none. */
pid_t launch(struct launch *l);

/* Before the clone: the files that blocked commands and host sockets are, as
 * masks behind the plan's own mounts. */
int find_masks(const struct plan *plan, const struct plan_mount **ret, size_t *ret_n,
	       struct cordon_err *err) MUST_USE;

/* What a path leads to, inside, as a descriptor; -1 where it leads nowhere, or to a device. */
int open_place(struct init *in, const char *target, int *ret_fd, bool *ret_is_dir,
	       struct cordon_err *err) MUST_USE;
/* The folder that has a path by a name, where there is no link: a descriptor that
 * in->seen keeps; or -1, with ENOENT where nothing is there. */
int look_at_place(struct init *in, const char *target, const char **ret_name, bool *ret_is_dir);
/* Is it sure that nothing is there?  Asks nobody. */
bool is_hollow(struct init *in, const char *path);
/* What is not there, or not ours to look at, is left out if it may be. */
bool is_absence(void);
/* Who makes the rule for an access. */
enum grantor {
	GRANT_INIT,		/* init, when all is mounted */
	GRANT_HOST,		/* init or the supervisor: it is the host's */
	GRANT_MOUNT,		/* init, with the mount that it is for; or there is none */
};

/* Before the clone: an empty ruleset, or -1 where the plan has none; and which of
 * the accesses need not wait for the mounts. */
int landlock_open(const struct plan *plan, int *ret_ruleset, unsigned char **ret_grantors,
		  struct cordon_err *err) MUST_USE;
/* Those of the host that nobody else has made. */
int landlock_share(int ruleset, const struct plan *plan, const unsigned char *grantors,
		   atomic_size_t *turn, struct cordon_err *err) MUST_USE;
/* What is mounted there, by a descriptor of it: no path has to be walked. */
int landlock_add_mount(const struct init *in, const struct plan_mount *m, int fd, bool is_dir,
		       struct cordon_err *err) MUST_USE;
/* What is not mounted needs no rights. */
void landlock_skip_mount(const struct init *in, const struct plan_mount *m);
/* Before the clone: what will be sent to the kernel to set up the network. */
int network_new(const struct plan *plan, const struct network **ret,
		struct cordon_err *err) MUST_USE;

/* Steps: 0, or -1 with the error filled. */
int step_open_sources(struct init *in, struct cordon_err *err);
int step_new_root(struct init *in, struct cordon_err *err);
int step_mounts(struct init *in, struct cordon_err *err);
int step_enter_root(struct init *in, struct cordon_err *err);
/* As clone3() for init, by who began early.  -1: it did not, and never will. */
pid_t native_early_clone(struct native_early *e, const struct clone_args *args);
int step_begin_network(struct init *in, struct cordon_err *err);
/* Also for whoever needs it before its turn. */
int step_enter_network(struct init *in, struct cordon_err *err);
int step_network(struct init *in, struct cordon_err *err);
int step_rules(struct init *in, struct cordon_err *err);
int step_landlock(struct init *in, struct cordon_err *err);
/* Do the rules keep what init sends to everybody in the tree?  Not before it entered them. */
bool landlock_keeps_signals(const struct init *in);
/* When a CPU is free, so that the supervisor works meanwhile: not while the network
 * is made, which would wait for it.  The second time does nothing. */
void ask_for_grants(struct init *in);
/* Fills in->proc, or in->made. */
void make_proc(struct init *in);
int check_made(const struct init *in, struct cordon_err *err) MUST_USE;

#endif
