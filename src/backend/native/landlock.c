/* The second layer: Landlock, built from the plan's rights; runs in init. */
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>

#include "backend/native/init_priv.h"
#include "backend/native/syscalls.h"
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

static int add_rule(int ruleset, const struct plan_access *a, struct folder *folder,
		    uint64_t handled, struct cordon_err *err)
{
	struct beneath_attr rule = { .allowed = a->rights & handled };
	const char *name;
	int dir = folder_open(folder, a->path, &name), rc;

	rule.parent = dir < 0 ? -1 : openat(dir, *name ? name : ".", O_PATH | O_CLOEXEC);
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

int step_landlock(struct init *in, struct cordon_err *err)
{
	struct folder folder = FOLDER(AT_FDCWD, 0);
	const struct plan *p = in->plan;
	struct ruleset_attr attr = {
		.handled_fs = landlock_handled(p->landlock),
		.scoped = p->landlock >= 6 ? LL_SCOPE_ABSTRACT_UNIX | LL_SCOPE_SIGNAL : 0,
	};

	if (!p->landlock)
		return 0;
	in->fds.fd[NATIVE_RULESET] =
		(int)syscall(SYS_landlock_create_ruleset, &attr, attr_size(p->landlock), 0);
	if (in->fds.fd[NATIVE_RULESET] < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot make a Landlock ruleset");
	for (size_t i = 0; i < p->n_accesses; i++)
		if (add_rule(in->fds.fd[NATIVE_RULESET], &p->accesses[i], &folder,
			     attr.handled_fs, err) < 0)
			return -1;
	folder_close(&folder);
	if (syscall(SYS_landlock_restrict_self, in->fds.fd[NATIVE_RULESET], 0) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot enter the Landlock ruleset");
	return 0;
}
