/* From a policy and a machine's table to a plan.  Pure. */
#ifndef PLAN_COMPILE_H
#define PLAN_COMPILE_H

#include "host/caps.h"
#include "plan/plan.h"
#include "policy/model.h"

/* What a run may do without where the machine does not offer it.  Profile
 * os_hardened does without nothing, whatever is said here. */
enum plan_consent {
	CONSENT_POLICY,		/* what the policy's may_lack names */
	CONSENT_NONE,		/* nothing */
	CONSENT_ANY,		/* anything */
	CONSENT_BARE,		/* anything: and then nothing is enclosed at all */
	N_PLAN_CONSENTS
};

/* What is to be run, and by whom. */
struct plan_paths {
	const char **paths;
	size_t n, cap;
};
/* The path is not copied; NULL is what a caller without memory has. */
int plan_paths_add(struct arena *a, struct plan_paths *list, const char *path,
		   struct cordon_err *err) MUST_USE;

/* A path of the policy, and another one at which a mount of the host shows the same, or a
 * part of it; or by which links lead there. */
struct plan_second_name {
	const char *path, *other;
};

/* A link in a folder that a set of files.protect holds; what one of HOME leads to, or what a
 * variable moves. */
struct plan_held_link {
	const char *path, *set;
};

/* Where the host has a symbolic link, in a real folder, and the real path it leads to. */
struct plan_link {
	const char *path, *target;
};

struct plan_request {
	const char *const *argv;	/* ends with NULL */
	const char *const *environ;	/* the caller's; ends with NULL; or NULL: not known */
	const char *cwd;		/* absolute, aliases followed */
	const char *home;		/* or NULL */
	const char *own_home;		/* where the machine says that it is elsewhere, or NULL */
	uid_t uid;
	gid_t gid;
	const char *name_servers;	/* what /etc/resolv.conf says, where it leads out of /etc */
	/* The found policy that is not trusted, or NULL: a root that it names is not named by
	 * the operator. */
	const char *untrusted;
	struct plan_paths policy_files;		/* absolute; stay unwritable, and unmade */
	const char *live_root;		/* the folder of live runs; absolute */
	bool live_is_link;		/* then nobody uses it */
	bool multi_call;		/* a program that is many (busybox) is where programs are */
	struct plan_paths ways;		/* folders and links that stay where they are */
	struct plan_paths own;		/* logs and folders of other live runs; absolute */
	enum plan_consent consent;
	const struct policy *ceilings;	/* as they were read; cut the policy already */
	size_t n_ceilings;
	const struct net_reroute *reroutes;	/* --connect-to */
	size_t n_reroutes;
	/* Many commands in one place, and every phase: what this machine cannot
	 * hold, or cannot change while the session lives, is refused. */
	bool session;
	/* A session of a host program, of which a copy before an exec would be seen inside: such
	 * are made only where executions must be judged. */
	bool embedded;
	const char *status;		/* the folder with the session's status file, or NULL */
	const struct plan_alias *aliases;	/* of roots of the policy */
	size_t n_aliases;
	/* Not seen inside, whatever root covers them; real paths. */
	const char *const *hidden;
	size_t n_hidden;
	/* Besides those that its names say: folders of git, and what a configuration names
	 * for git to run or read.  Real paths below writable roots. */
	struct plan_paths git_folders, git_files;
	/* Where links of HOME, or variables, have credentials lie; real paths. */
	struct plan_paths credentials;
	/* Of `credentials`, and of those that presets.h names below HOME and for root: paths at
	 * which there is nothing.  Filled in only where the run may go without mounts. */
	struct plan_paths absent;
	/* Those that lead to what could be written by another name. */
	struct plan_held_link *held_links;
	size_t n_held_links, cap_held_links;
	struct plan_second_name *second_names;
	size_t n_second_names, cap_second_names;
	/* Where file systems of the kernel are mounted besides /proc, /sys and /dev. */
	struct plan_paths kernel_mounts;
	/* Entries of /etc that match a pattern of preset_etc; absolute. */
	struct plan_paths etc_entries;
	/* Writable roots that lie in another one, where a policy has no place for them; or not. */
	struct plan_paths named_roots;
	struct plan_paths file_roots;	/* those of all writable ones that are no folders */
	/* On the way to roots, to HOME and to the working directory, as those were written. */
	struct plan_link *links;
	size_t n_links, cap_links;
	const char *unshared;		/* a folder that no root may cover; real, or NULL */
};

/* `p` has its defaults filled in.  What cannot be done on this machine, or is
 * not built, is an error that names it (CORDON_E_HOST). */
int plan_compile(const struct policy *p, const struct host_caps *caps,
		 const struct plan_request *r, struct arena *a, struct plan *ret,
		 struct cordon_err *err) MUST_USE;
/* The word of `require` for it. */
enum protection plan_find_protection(enum host_feature f);
/* May the run go on at a lower level than LEVEL_FULL?  Then `caps` must have been probed. */
bool plan_may_be_less(const struct policy *p, const struct plan_request *r);
/* The first feature that a plan would be refused for, or N_HOST_FEATURES. */
enum host_feature plan_find_missing(const struct policy *p, const struct host_caps *caps,
				    const struct plan_request *r);

#endif
