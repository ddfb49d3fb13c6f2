/* What mounts of the host mean for a policy; see mounts.h. */
#include "lib/mounts.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/mount_table.h"
#include "base/path.h"

/* ---- second names ---------------------------------------------------------- */

struct names {
	struct arena *arena;
	struct plan_request *r;
};

static int add_name(void *arg, const char *path, const char *other, struct cordon_err *err)
{
	struct names *n = arg;
	struct plan_request *r = n->r;
	struct plan_second_name *names = arena_grow(n->arena, r->second_names, r->n_second_names,
						    &r->cap_second_names, sizeof(*names));

	if (!names)
		return err_nomem(err);
	r->second_names = names;
	names[r->n_second_names++] = (struct plan_second_name){ path, other };
	return 0;
}

/* ---- file systems of the kernel ------------------------------------------- */

static bool is_kernel_type(struct str type)
{
	static const char *const types[] = {
		"proc", "sysfs", "cgroup", "cgroup2", "cpuset", "debugfs", "tracefs", "securityfs",
		"selinuxfs", "smackfs", "apparmorfs", "bpf", "binfmt_misc", "mqueue", "devtmpfs",
		"devpts", "fusectl", "pstore", "efivarfs", "configfs", "hugetlbfs", "rpc_pipefs",
		"nfsd", "resctrl", "binder", "functionfs", "xenfs", "spufs", "ocfs2_dlmfs",
	};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (str_is(type, types[i]))
			return true;
	return false;
}

/* Those of the machine itself: the plan has its own word for each. */
static bool is_usual(const char *place)
{
	return path_within(place, "/proc") || path_within(place, "/sys") ||
	       path_within(place, "/dev");
}

/* Something else may be mounted over it.  What cannot be told may be seen. */
static bool is_seen(const struct mount_line *m)
{
	char device[32];
	struct stat st;

	if (lstat(m->place, &st) < 0)
		return true;
	snprintf(device, sizeof(device), "%u:%u", major(st.st_dev), minor(st.st_dev));
	return strcmp(device, m->device) == 0;
}

static int find_kernel(const struct mount_table *t, struct plan_request *r, struct cordon_err *err)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct mount_line *one = &t->items[i];

		if (is_kernel_type(one->type) && !is_usual(one->place) && is_seen(one) &&
		    plan_paths_add(t->arena, &r->kernel_mounts, one->place, err) < 0)
			return -1;
	}
	return 0;
}

int mounts_find(struct composition *c, struct plan_request *r, struct cordon_err *err)
{
	static const enum field_id ids[] = { F_FILES_DENY, F_FILES_PROTECT };
	struct names names = { &c->arena, r };
	struct mount_table t;

	if (mount_table_read(&t, &c->arena, err) < 0 || find_kernel(&t, r, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		const struct field_value *v = &c->policy.base.f[ids[i]];

		for (size_t k = 0; k < v->n; k++) {
			const struct item *item = &v->items[k];

			/* Words are sets of names. */
			if (item->text.s[0] != '/')
				continue;
			if (mount_table_find(&t, item->text.s, add_name, &names, err) < 0 ||
			    (item->real &&
			     mount_table_find(&t, item->real, add_name, &names, err) < 0))
				return -1;
		}
	}
	return 0;
}
