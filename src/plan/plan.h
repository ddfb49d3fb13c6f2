/* A plan: what will be done to one command, in the words of the kernel.
 *
 * Compiled from a policy and a machine's table without a single system call;
 * printed by --dry-run; carried out by a backend.  Everything it points to
 * lives in its arena.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include <linux/filter.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "plan/net.h"
#include "policy/field.h"

/* How much encloses the command. */
enum plan_level {
	LEVEL_FULL,		/* namespaces, mounts and seccomp; Landlock and cgroup if offered */
	LEVEL_LANDLOCK,		/* Landlock and seccomp, on the host's own files and processes */
	LEVEL_NONE,		/* nothing: only fields of enforcer_find_bare() hold */
	N_PLAN_LEVELS
};

/* The kernel features that enclose a command, as the result names them. */
enum plan_part {
	PART_USERNS,
	PART_MOUNT,
	PART_PID,
	PART_IPC,
	PART_UTS,
	PART_NET,
	PART_LANDLOCK,
	PART_SECCOMP,
	PART_CGROUP,
	N_PARTS
};
const char *plan_part_name(enum plan_part part);

/* As in require, may_lack and the `missing` of the result. */
const char *protection_name(enum protection p);

/* One step of building the file system that the command sees.  The new root is
 * an empty tmpfs; targets are made in it as needed, in the order of the list. */
enum plan_mount_kind {
	MOUNT_RO,		/* source, read-only, with all below it */
	MOUNT_SYSTEM,		/* the same; a link of the host stays a link */
	MOUNT_RW,		/* source, writable */
	MOUNT_DEV,		/* a device node of the host */
	MOUNT_MASK,		/* whatever is there becomes unreadable */
	MOUNT_PRIVATE,		/* empty, writable; all of them share limits.disk */
	MOUNT_PROC,
	MOUNT_DEVPTS,
	MOUNT_LINK,		/* a symbolic link to source */
	MOUNT_DIR,		/* an empty directory */
	MOUNT_TEXT,		/* a read-only file that holds source, in place of what is there */
	N_PLAN_MOUNT_KINDS
};

struct plan_mount {
	enum plan_mount_kind kind;
	bool optional;		/* what is not there is left out */
	bool exec;		/* mask: of a program */
	bool root;		/* a root of the policy: names are looked for below it */
	bool keep;		/* what the target leads to, if anything, over itself */
	bool file;		/* keep: unless it is a directory */
	bool plain;		/* left out if a link is on the way to the source */
	const char *source;	/* path on the host, link target, name or text */
	const char *target;	/* absolute */
	size_t access;		/* 1 + the one that is for all of it; 0: none */
};

/* One more name inside for a place that is there: all of it once more, as it is
 * when everything is mounted. */
struct plan_alias {
	const char *path, *target;	/* absolute, inside */
};

/* Access to a place by Landlock; the bits are those of linux/landlock.h. */
struct plan_access {
	const char *path;	/* inside */
	uint64_t rights;
	bool optional;
	bool plain;		/* no link may be on the way */
};

/* In the order of the struct. */
enum plan_limit {
	PLAN_MEMORY,
	PLAN_CPU,
	PLAN_CPUS,
	PLAN_PROCESSES,
	PLAN_FILE_SIZE,
	PLAN_WALL,
	PLAN_OUTPUT,
	PLAN_DISK,
	PLAN_ROOTS,
	PLAN_OPEN_FILES,
	N_PLAN_LIMITS
};

/* Every file or directory that fits: components with `*` for any text. */
struct plan_name {
	const char *pattern;	/* absolute, or without its leading slash anywhere */
	bool anywhere;		/* below each root, however deep */
	bool below;		/* what lies in the folders that fit */
	bool mask;		/* unreadable; else read-only */
};

struct command_rule;

/* One blocked command. */
struct plan_rule {
	const struct command_rule *rule;
	const char *text;	/* as written */
	const char *program;	/* the name of the one program it is about, or NULL */
	const char *message;	/* what is said when it blocks something */
};

/* Why a name may not be made.  Where more than one holds, the last is told: what allows the
 * others would not do. */
enum guard_cause {
	CAUSE_SET,		/* of files.protect; `by` is its word */
	CAUSE_ENTRY,		/* of files.protect */
	CAUSE_READ,		/* a read-only root inside a writable one */
	CAUSE_CREDENTIAL,	/* a place of credentials */
	CAUSE_DENY,		/* an entry of files.deny */
	CAUSE_POLICY,		/* a policy's file */
	CAUSE_OWN,		/* a place of cordon's own */
	CAUSE_WAY,		/* PLAN_WAY_NAME: its folder stays where it is */
	N_GUARD_CAUSES
};

/* A name in a folder that can be written, but by which something is found from elsewhere: the
 * folder is not moved away, and no link comes in its place.  Nobody has such a name. */
#define PLAN_WAY_NAME	".cordon.way"

struct plan_guarded {
	const char *name;
	enum guard_cause cause;
	const char *by;		/* the set, entry or path that it comes from */
};

/* INT64_MAX: none. */
struct plan_limits {
	int64_t memory;			/* bytes of the tree */
	int64_t cpu_ms;			/* CPU time of the tree */
	int64_t cpus;
	int64_t processes;		/* tasks of the tree */
	int64_t file_size;
	int64_t wall_ms;
	int64_t output;
	int64_t disk;			/* of the private places */
	int64_t roots;			/* that may be added to the writable roots */
	int64_t open_files;
	int64_t grace_ms;		/* between SIGTERM and SIGKILL */
};

/* What changes with a phase of a session; its environment is made for each
 * command. */
struct plan_phase {
	const char *name;
	struct plan_net net;
	struct plan_limits limits;
};

/* Where a session's commands find its status, and what names it to them. */
#define PLAN_STATUS_FOLDER	"/dev/cordon"
#define PLAN_STATUS_FILE	"status.json"
#define PLAN_STATUS_VARIABLE	"CORDON_STATUS"

struct plan {
	struct arena *arena;
	const char *backend, *profile;	/* their names, for the result */
	enum plan_level level;
	bool is_lowered;		/* the policy or CORDON_SANDBOX accepts this level */
	unsigned enforced;		/* bits of enum plan_part */
	unsigned lacking;		/* bits of enum protection */
	const char *kept_root;		/* a writable one that is only read, or NULL */
	const char *kept_by;		/* the set of files.protect that holds it; NULL: it is the
					 * system's */
	bool session;			/* many commands, named later, and not argv */

	unsigned long clone_flags;	/* CLONE_NEW… */
	uid_t uid;			/* of the caller, and inside */
	gid_t gid;
	const char *hostname;

	struct plan_mount *mounts;
	size_t n_mounts, cap_mounts;
	const struct plan_alias *aliases;
	size_t n_aliases;
	struct plan_access *accesses;
	size_t n_accesses, cap_accesses;
	/* Without mounts: directories of presets that are not opened, because of a credential
	 * inside. */
	const char **left_out;
	size_t n_left_out;
	int landlock;			/* ABI to use; 0: none */
	/* Programs that may not be executed: names, looked for where programs are. */
	const char **blocked;
	size_t n_blocked;
	/* What every execution is judged by (execs.h); none: nobody is asked. */
	struct plan_rule *rules;
	size_t n_rules;
	/* Sockets of the host that stay in reach, and all below. */
	const char **sockets;
	size_t n_sockets;
	/* Names to be looked for below the roots before the start. */
	struct plan_name *names;
	size_t n_names, cap_names;
	/* Names that may not be made, renamed to or linked to: absolute paths
	 * inside, or two stars, a slash and a name for any depth; with `*` for any
	 * text in a component. */
	struct plan_guarded *guarded;
	size_t n_guarded, cap_guarded;
	const char *live_root;		/* the folder of live runs, never seen inside */
	bool mask_live_root;		/* a root covers it */
	struct sock_filter *filter;	/* seccomp; NULL: none */
	size_t n_filter;
	bool asks;			/* it hands calls over, which a guard must answer */
	bool asks_at_once;		/* so it is with the command's first acts */
	bool no_inet, no_unix;		/* families of sockets that it refuses */

	const char *cwd;		/* inside */
	const char *const *argv;	/* ends with NULL; argv[0] as it was given */
	const char *program;		/* argv[0], or NULL to look it up in PATH inside */
	const char *const *envp;	/* ends with NULL */
	struct plan_limits limits;
	struct plan_limits most;	/* of each in any phase: what init may have */
	bool uncounted;			/* nobody can count the tree */
	bool few_cpus;			/* in any phase */
	struct plan_net net;
	struct plan_phase *phases;	/* of a session */
	size_t n_phases;
	const char *limited_by[N_PLAN_LIMITS];	/* the kernel feature behind each */
};

/* One line a step, with the kernel feature behind it. */
void plan_print(const struct plan *p, struct buf *out);

#endif
