/* The second layer: Landlock, built from the plan's rights.
 *
 * A rule is tied to a file, whichever way leads to it.  Most are for entries of
 * the host's /etc, which is mounted whole: the supervisor makes those while init
 * mounts, and init takes its turn once it has mounted.  Init makes the others: with the
 * mount that they are for, or, where there is none, when the new root stands.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/types.h>
#include <string.h>
#include <sys/mman.h>

#include "backend/native/init_priv.h"
#include "base/path.h"
#include "base/syscalls.h"
#include "plan/landlock.h"

struct ruleset_attr {
	uint64_t handled_fs, handled_net, scoped;
};

struct beneath_attr {
	uint64_t allowed;
	int32_t parent;
} __attribute__((packed));

#define RULE_PATH_BENEATH	1

/* The kernel takes only as much of the struct as its ABI knows. */
static size_t attr_size(int abi)
{
	return abi >= 6 ? sizeof(struct ruleset_attr) : abi >= 4 ? 16 : 8;
}

/* A rule for something that is no directory may only have some of the rights. */
static int add_beneath(int ruleset, struct beneath_attr *rule)
{
	int rc = (int)syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, rule, 0);

	if (rc == 0 || errno != EINVAL)
		return rc;
	rule->allowed &= LL_FILE_RIGHTS;
	return (int)syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, rule, 0);
}

/* -1 with errno; ELOOP where a link is on the way of what must have none. */
static int open_access(const struct plan_access *a, struct folder *folder)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS };
	const char *name;
	int dir;

	if (a->plain)
		return (int)syscall(SYS_openat2, AT_FDCWD, a->path, &how, sizeof(how));
	dir = folder_open(folder, a->path, &name);
	return dir < 0 ? -1 : openat(dir, *name ? name : ".", O_PATH | O_CLOEXEC);
}

static int add_rule(int ruleset, const struct plan_access *a, struct folder *folder,
		    uint64_t handled, struct cordon_err *err)
{
	struct beneath_attr rule = { .allowed = a->rights & handled,
				     .parent = open_access(a, folder) };
	int rc;

	if (rule.parent < 0 && a->optional &&
	    (errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == ELOOP))
		return 0;
	if (rule.parent < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot open '%s' for its rights", a->path);
	rc = add_beneath(ruleset, &rule);
	if (rc < 0)
		err_sys(err, CORDON_E_SETUP, "cannot grant '%s'", a->path);
	close(rule.parent);
	return rc;
}

/* Is the host's /etc there, and nothing of ours? */
static bool mounts_etc(const struct plan *p)
{
	for (size_t i = 0; i < p->n_mounts; i++)
		if (p->mounts[i].kind == MOUNT_RO && strcmp(p->mounts[i].target, "/etc") == 0)
			return strcmp(p->mounts[i].source, "/etc") == 0;
	return false;
}

/* What is mounted inside /etc is not what is there outside.  A mask can stay out
 * of this: nobody gets to what is beneath it, whatever its rights. */
static void find_in_etc(const struct plan *p, unsigned char *grantors)
{
	for (size_t i = 0; i < p->n_accesses; i++)
		if (p->accesses[i].optional && p->accesses[i].rights == LL_READ &&
		    strncmp(p->accesses[i].path, "/etc/", 5) == 0)
			grantors[i] = GRANT_HOST;
	for (size_t k = 0; k < p->n_mounts; k++) {
		const struct plan_mount *m = &p->mounts[k];

		if (strncmp(m->target, "/etc/", 5) != 0 || m->kind == MOUNT_MASK)
			continue;
		for (size_t i = 0; i < p->n_accesses; i++)
			if (path_within(p->accesses[i].path, m->target) ||
			    path_within(m->target, p->accesses[i].path))
				grantors[i] = GRANT_INIT;
	}
}

/* The system's own folders are the same inside, links among them too. */
static void find_system(const struct plan *p, unsigned char *grantors)
{
	for (size_t k = 0; k < p->n_mounts; k++)
		if (p->mounts[k].kind == MOUNT_SYSTEM && p->mounts[k].access)
			grantors[p->mounts[k].access - 1] = GRANT_HOST;
}

int landlock_open(const struct plan *plan, int *ret_ruleset, unsigned char **ret_grantors,
		  struct cordon_err *err)
{
	struct ruleset_attr attr = {
		.handled_fs = landlock_handled(plan->landlock),
		.scoped = plan->landlock >= 6 ? LL_SCOPE_ABSTRACT_UNIX | LL_SCOPE_SIGNAL : 0,
	};
	unsigned char *grantors = arena_new(plan->arena, plan->n_accesses + 1, 1);
	int fd = -1;

	if (!grantors)
		return err_nomem(err);
	if (plan->landlock) {
		fd = (int)syscall(SYS_landlock_create_ruleset, &attr, attr_size(plan->landlock), 0);
		if (fd < 0)
			return err_sys(err, CORDON_E_SETUP, "cannot make a Landlock ruleset");
		if (mounts_etc(plan))
			find_in_etc(plan, grantors);
		find_system(plan, grantors);
	}
	*ret_ruleset = fd;
	*ret_grantors = grantors;
	return 0;
}

int landlock_share(int ruleset, const struct plan *plan, const unsigned char *grantors,
		   atomic_size_t *turn, struct cordon_err *err)
{
	struct folder folder = FOLDER(AT_FDCWD, 0);
	uint64_t handled = landlock_handled(plan->landlock);
	int rc = 0;
	size_t i;

	while (rc == 0 && (i = atomic_fetch_add(turn, 1)) < plan->n_accesses)
		if (grantors[i] == GRANT_HOST)
			rc = add_rule(ruleset, &plan->accesses[i], &folder, handled, err);
	folder_close(&folder);
	return rc;
}

static int add_own(const struct init *in, struct cordon_err *err)
{
	struct folder folder = FOLDER(AT_FDCWD, 0);
	uint64_t handled = landlock_handled(in->plan->landlock);
	int rc = 0;

	for (size_t i = 0; i < in->plan->n_accesses && rc == 0; i++)
		if (in->grantors[i] == GRANT_INIT)
			rc = add_rule(in->ruleset, &in->plan->accesses[i], &folder, handled, err);
	folder_close(&folder);
	return rc;
}

static bool is_granted_here(const struct init *in, const struct plan_mount *m)
{
	return in->ruleset >= 0 && m->access && in->grantors[m->access - 1] == GRANT_INIT;
}

int landlock_add_mount(const struct init *in, const struct plan_mount *m, int fd, bool is_dir,
		       struct cordon_err *err)
{
	uint64_t handled = landlock_handled(in->plan->landlock);
	struct beneath_attr rule = { .parent = fd };

	if (!is_granted_here(in, m))
		return 0;
	rule.allowed = in->plan->accesses[m->access - 1].rights & handled;
	if (!is_dir)
		rule.allowed &= LL_FILE_RIGHTS;
	in->grantors[m->access - 1] = GRANT_MOUNT;
	if (syscall(SYS_landlock_add_rule, in->ruleset, RULE_PATH_BENEATH, &rule, 0) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot grant '%s'", m->target);
	return 0;
}

void landlock_skip_mount(const struct init *in, const struct plan_mount *m)
{
	if (is_granted_here(in, m))
		in->grantors[m->access - 1] = GRANT_MOUNT;
}

bool landlock_keeps_signals(const struct init *in)
{
	return in->scope >= 0;
}

/* Among the processes of the host init is one of the tree: who ends it frees the others, who
 * stops it stops their clock.  So the command is one step further in, from where no signal
 * comes out. */
static int open_scope(struct init *in, struct cordon_err *err)
{
	struct ruleset_attr attr = { .scoped = LL_SCOPE_SIGNAL };

	if ((in->plan->clone_flags & CLONE_NEWPID) || in->plan->landlock < 6)
		return 0;
	in->scope = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (in->scope < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot make a Landlock ruleset for signals");
	return 0;
}

int step_rules(struct init *in, struct cordon_err *err)
{
	if (!in->plan->landlock)
		return 0;
	if (add_own(in, err) < 0 ||
	    landlock_share(in->ruleset, in->plan, in->grantors, in->turn, err) < 0)
		return -1;
	munmap(in->turn, sizeof(*in->turn));
	return 0;
}

int step_landlock(struct init *in, struct cordon_err *err)
{
	if (!in->plan->landlock)
		return 0;
	if (syscall(SYS_landlock_restrict_self, in->ruleset, 0) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot enter the Landlock ruleset");
	in->fds.fd[NATIVE_RULESET] = in->ruleset;
	return open_scope(in, err);
}
