/* The process backend: from clone to exec, by the kernel's own means.
 *
 * Who runs
 *
 *   super    the caller's process and namespaces; holds the control socket
 *   init     pid 1 inside; builds the cage, gives up every right, starts the
 *            command, reaps, and ends everything when the command or the
 *            supervisor ends
 *   command  what was asked for; a child of init.  In a session there are many,
 *            and init outlives them
 *
 * super -> init: NATIVE_GO, NATIVE_GRANTED when asked, then signals and wishes.
 * init -> super: NATIVE_FAILED with an error, or NATIVE_ASKED, NATIVE_READY with
 * descriptors and later NATIVE_EXITED.
 */
#ifndef BACKEND_NATIVE_H
#define BACKEND_NATIVE_H

#include <linux/sched.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <termios.h>

#include "base/err.h"
#include "base/limits.h"
#include "plan/plan.h"

enum native_kind {
	/* to init */
	NATIVE_GO,		/* maps are written */
	NATIVE_GRANTED,		/* what is made outside meanwhile is made: Landlock's rules */
	NATIVE_SIGNAL,		/* value: send this signal to the command's group */
	NATIVE_SIGNAL_ALL,	/* value: send this signal to everything inside */
	NATIVE_TERMINATE,	/* the same, and let what is stopped go on to its end */
	NATIVE_SOCKET_WANTED,	/* one more TCP socket (IPv4), made inside */
	/* to the init of a session, about the command `id` */
	NATIVE_EXEC,		/* start it: see command.h */
	NATIVE_STOP,		/* value: a signal to its group; what it leaves is killed */
	NATIVE_KILL,		/* end it, and what is in its session */
	NATIVE_END_ALL,		/* kill everything inside but init; NATIVE_EMPTY follows */
	/* from init */
	NATIVE_FAILED,		/* err; nothing was run, or (value) nobody knows */
	NATIVE_ASKED,		/* make what is to be made outside: init has to wait anyway */
	NATIVE_READY,		/* everything is taken away; with descriptors */
	NATIVE_EXEC_FAILED,	/* value: errno; err says of what */
	NATIVE_STOPPED,		/* value: the signal that stopped the command */
	NATIVE_EXITED,		/* value: wait status; cpu_ms, max_rss_kb of what was waited for */
	NATIVE_SOCKET,		/* as wanted, with the descriptor; or value: errno */
	NATIVE_EMPTY,		/* no process is left but init */
	NATIVE_STARTED,		/* the command `id` runs; value: its pid; with its terminal */
	N_NATIVE_KINDS
};

/* Where the root of the tree hangs, in the root of its mounts; see mounts.c. */
#define NATIVE_ROOT		"root"
#define NATIVE_MASK_MODE	0111	/* of the empty file that stands for a program */

/* What comes with a message; -1 where there is none. */
enum native_fd {
	NATIVE_PROC,		/* the tree's own /proc */
	NATIVE_LISTENER,	/* notifications for the guard */
	NATIVE_RULESET,		/* Landlock's */
	NATIVE_TERMINAL,	/* the master of the terminal that was made */
	/* the network of a cordon with a gate, see network.c */
	NATIVE_GATE,		/* the transparent listener */
	NATIVE_DNS,
	NATIVE_DNS_STREAM,
	NATIVE_REFUSALS,	/* what nf_tables refused, by NFLOG */
	NATIVE_TABLE,		/* NETLINK_NETFILTER: to change the sets */
	NATIVE_GROUND,		/* the root of its mounts, in which NATIVE_ROOT is */
	NATIVE_MADE,		/* the socket that comes with NATIVE_SOCKET */
	NATIVE_BLOCK,		/* the command of NATIVE_EXEC */
	NATIVE_STREAM,		/* the first of its three standard streams */
	NATIVE_PRIVATE = NATIVE_STREAM + 3,	/* the private places */
	NATIVE_DATAGRAMS,	/* the first; as net_datagram_ports() */
	N_NATIVE_FDS = NATIVE_DATAGRAMS + MAX_NET_PORTS
};
/* The kernel's SCM_MAX_FD. */
static_assert(N_NATIVE_FDS <= 253, "more descriptors than one message can carry");

struct native_fds {
	int fd[N_NATIVE_FDS];
};
#define NATIVE_NO_FDS	((struct native_fds){ { [0 ... N_NATIVE_FDS - 1] = -1 } })

struct native_message {
	enum native_kind kind;
	int id;			/* of a command of a session; else 0 */
	int value;
	int64_t cpu_ms, max_rss_kb;
	uint64_t fds[(N_NATIVE_FDS + 63) / 64];	/* bits: those that come with it */
	struct cordon_err err;
};

struct native_child {
	pid_t pid;		/* init, as seen from here */
	int pidfd;
	int control;		/* SOCK_SEQPACKET */
	bool in_cgroup;		/* was cloned into it */
	int ruleset;		/* Landlock's, until native_grant(); or -1 */
	const unsigned char *grantors;	/* who grants which of the plan's accesses */
	atomic_size_t *turn;	/* shared with init, as long; or NULL */
};
#define NATIVE_NO_CHILD	((struct native_child){ .pidfd = -1, .control = -1, .ruleset = -1 })
/* Its descriptors; it may still run. */
void native_child_release(struct native_child *c);

/* A terminal is made inside, so that its name is true there. */
struct native_stdio {
	int fd[3];		/* become 0, 1 and 2; stay the caller's; -1: the new terminal */
	bool terminal;		/* make one */
	bool controlling;	/* it controls the command's session */
	struct termios settings;
	struct winsize size;
};

/* Where init runs. */
struct native_scope {
	int cgroup;		/* the directory of the cgroup to clone it into, or -1 */
	cpu_set_t cpus;		/* that init binds itself to; none: the caller's */
};

/* The path inside of a device that there is as well; NULL: there is none. */
struct stat;
const char *native_find_device(const struct stat *st);

/* A task that makes these of a run's namespaces, and that of its user, while its plan is still
 * made, on another CPU.  For a process of one thread, which stops it before it forgets the
 * struct. */
#define NATIVE_EARLY_NAMESPACES	(CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNS)
struct native_early {
	int pidfd;		/* -1: there is none */
	pid_t parent;
	_Atomic uint32_t state;
	struct clone_args args;
	sigset_t mask;		/* init's */
	jmp_buf init;		/* where it begins */
	pid_t child;		/* init */
};
#define NATIVE_NOT_EARLY	((struct native_early){ .pidfd = -1 })
void native_early_start(struct native_early *e);
void native_early_stop(struct native_early *e);

/* Make init and let it wait for NATIVE_GO.  On failure nothing is left.  `early`: who may have
 * begun, or NULL. */
int native_clone(const struct plan *plan, const struct native_stdio *io,
		 const struct native_scope *within, struct native_early *early,
		 struct native_child *ret, struct cordon_err *err) MUST_USE;
/* On NATIVE_ASKED: make the rules for files that are the host's, but for those that init,
 * where it comes to them first, makes meanwhile. */
int native_grant(const struct plan *plan, struct native_child *c, struct cordon_err *err) MUST_USE;
/* Behind that: init goes on. */
int native_send_granted(const struct native_child *c, struct cordon_err *err) MUST_USE;
int native_send(const struct native_child *c, enum native_kind kind, int value);
int native_send_to(const struct native_child *c, enum native_kind kind, int id, int value);
/* 1: a message; 0: init is gone; -1: nothing yet (EAGAIN) or an error.  `fds` gets
 * what came with it, in place of what it held there, which is closed; the rest
 * stays.  Where not all descriptors could be taken, init is killed and the message
 * is NATIVE_FAILED. */
int native_recv(const struct native_child *c, struct native_message *ret, struct native_fds *fds);

/* What both sides of the socket do.  Sending: the descriptors stay the caller's;
 * -1 with errno.  Receiving: as native_recv(), but NATIVE_FDS_LOST where not all
 * descriptors came. */
#define NATIVE_FDS_LOST	2
int native_send_fds(int control, struct native_message *m, const struct native_fds *fds, int flags);
int native_recv_fds(int control, struct native_message *ret, struct native_fds *fds);

#endif
