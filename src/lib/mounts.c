/* What mounts of the host mean for a policy; see mounts.h. */
#include "lib/mounts.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/mount_table.h"
#include "base/path.h"

/* ---- second names ---------------------------------------------------------- */

struct names {
	struct composition *c;
	struct plan_request *r;
	const struct item *entry;	/* whose links are followed */
};

static int add_name(void *arg, const char *path, const char *other, struct cordon_err *err)
{
	struct names *n = arg;
	struct plan_request *r = n->r;
	struct plan_second_name *names = arena_grow(&n->c->arena, r->second_names,
						    r->n_second_names, &r->cap_second_names,
						    sizeof(*names));

	if (!names)
		return err_nomem(err);
	r->second_names = names;
	names[r->n_second_names++] = (struct plan_second_name){ path, other };
	return 0;
}

/* A link of a root, behind one that lies outside and so is not seen inside: led elsewhere, the
 * next run would look for the entry there. */
static int add_link_name(void *data, const char *path, struct cordon_err *err)
{
	struct names *n = data;

	if (str_is(n->entry->text, path) || strcmp(path, n->entry->real) == 0 ||
	    !compose_is_writable(n->c, path))
		return 0;
	return add_name(n, n->entry->text.s, path, err);
}

/* What it leads to, wherever that is mounted, and by each link on the way. */
static int add_names_behind(struct names *n, const struct mount_table *t, struct cordon_err *err)
{
	if (!n->entry->real)
		return 0;
	if (mount_table_find(t, n->entry->real, add_name, n, err) < 0)
		return -1;
	/* What is named in a policy has no `..` any more. */
	return path_follow_all(&n->c->arena, n->entry->text, "/",
			       &(struct path_visitor){ .act = add_link_name, .data = n }, err);
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
	struct names names = { .c = c, .r = r };
	struct mount_table t;

	if (mount_table_read(&t, &c->arena, err) < 0 || find_kernel(&t, r, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		const struct field_value *v = &c->policy.base.f[ids[i]];

		for (size_t k = 0; k < v->n; k++) {
			names.entry = &v->items[k];
			/* Words are sets of names. */
			if (names.entry->text.s[0] != '/')
				continue;
			if (mount_table_find(&t, names.entry->text.s, add_name, &names, err) < 0 ||
			    add_names_behind(&names, &t, err) < 0)
				return -1;
		}
	}
	return 0;
}
