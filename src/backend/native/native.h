/* The process backend: from clone to exec, by the kernel's own means.
 *
 * Who runs
 *
 *   super    the caller's process and namespaces; holds the control socket
 *   init     pid 1 inside; builds the cage, gives up every right, starts the
 *            command, reaps, and ends everything when the command or the
 *            supervisor ends
 *   command  what was asked for; a child of init
 *
 * super -> init: NATIVE_GO, NATIVE_GRANTED, then signals.  init -> super: NATIVE_FAILED with an
 * error, or NATIVE_READY with descriptors and later NATIVE_EXITED.
 */
#ifndef BACKEND_NATIVE_H
#define BACKEND_NATIVE_H

#include <sys/ioctl.h>
#include <sys/types.h>
#include <termios.h>

#include "base/err.h"
#include "plan/plan.h"

enum native_kind {
	/* to init */
	NATIVE_GO,		/* maps are written, limits joined */
	NATIVE_GRANTED,		/* the rules that are made outside are made */
	NATIVE_SIGNAL,		/* value: send this signal to the command's group */
	NATIVE_SIGNAL_ALL,	/* value: send this signal to everything inside */
	NATIVE_TERMINATE,	/* the same, and let what is stopped go on to its end */
	/* from init */
	NATIVE_FAILED,		/* err; nothing was run */
	NATIVE_READY,		/* everything is taken away; value: bits of enum native_fd */
	NATIVE_EXEC_FAILED,	/* value: errno; err says of what */
	NATIVE_STOPPED,		/* value: the signal that stopped the command */
	NATIVE_EXITED,		/* value: wait status; cpu_ms, max_rss_kb of what was waited for */
	N_NATIVE_KINDS
};

struct native_message {
	enum native_kind kind;
	int value;
	int64_t cpu_ms, max_rss_kb;
	struct cordon_err err;
};

/* What comes with NATIVE_READY; -1 where there is none. */
enum native_fd {
	NATIVE_PROC,		/* the tree's own /proc */
	NATIVE_LISTENER,	/* notifications for the guard */
	NATIVE_RULESET,		/* Landlock's */
	NATIVE_TERMINAL,	/* the master of the terminal that was made */
	NATIVE_PLACE,		/* the first of the private file systems */
	N_NATIVE_FDS = NATIVE_PLACE + 5
};

struct native_fds {
	int fd[N_NATIVE_FDS];
};
#define NATIVE_NO_FDS	((struct native_fds){ { -1, -1, -1, -1, -1, -1, -1, -1, -1 } })

struct native_child {
	pid_t pid;		/* init, as seen from here */
	int pidfd;
	int control;		/* SOCK_SEQPACKET */
	bool in_cgroup;		/* was cloned into it */
	int ruleset;		/* Landlock's, until native_grant(); or -1 */
	const bool *outside;	/* which of the plan's accesses that grants */
};

/* A terminal is made inside, so that its name is true there. */
struct native_stdio {
	int fd[3];		/* become 0, 1 and 2; stay the caller's; -1: the new terminal */
	bool terminal;		/* make one */
	bool controlling;	/* it controls the command's session */
	struct termios settings;
	struct winsize size;
};

/* Groups that init is to be in before it does anything. */
struct native_groups {
	int cgroup;		/* to be cloned into, or -1 */
	int entries[4];		/* files that init writes "0" to */
	size_t n_entries;
};

/* Make init and let it wait for NATIVE_GO.  On failure nothing is left. */
int native_clone(const struct plan *plan, const struct native_stdio *io,
		 const struct native_groups *groups, struct native_child *ret,
		 struct cordon_err *err) MUST_USE;
/* While init mounts, and at once behind NATIVE_GO: make the rules for files that
 * are the host's. */
int native_grant(const struct plan *plan, struct native_child *c, struct cordon_err *err) MUST_USE;
int native_send(const struct native_child *c, enum native_kind kind, int value);
/* 1: a message; 0: init is gone; -1: nothing yet (EAGAIN) or an error. */
int native_recv(const struct native_child *c, struct native_message *ret, struct native_fds *fds);

#endif
