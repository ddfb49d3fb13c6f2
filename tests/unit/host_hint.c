/* Advice for machines that are not this one: one cause, one thing to do. */
#include "host/hint.h"

#include <errno.h>

#include "base/limits.h"
#include "tap.h"

/* What differs from a plain machine on which nothing is in the way. */
enum {
	ROOT = 1 << 0,
	FILTERED = 1 << 1,
	SYSTEMD = 1 << 2,
	MAX_0 = 1 << 3,		/* user.max_user_namespaces */
	CLONE_0 = 1 << 4,	/* kernel.unprivileged_userns_clone */
	APPARMOR = 1 << 5,
	IN_DOCKER = 1 << 7,
	IN_PODMAN = 1 << 8,
	IN_KUBERNETES = 1 << 9,
	IN_USERNS = 1 << 10,
};

static struct host_facts facts_of(unsigned world)
{
	return (struct host_facts){
		.is_root = world & ROOT,
		.filtered = world & FILTERED,
		.systemd = world & SYSTEMD,
		.in_userns = world & IN_USERNS,
		.container = world & IN_DOCKER ? CONTAINER_DOCKER
			     : world & IN_PODMAN ? CONTAINER_PODMAN
			     : world & IN_KUBERNETES ? CONTAINER_KUBERNETES : CONTAINER_NONE,
		.userns_clone = world & CLONE_0 ? 0 : -1,
		.max_user_namespaces = world & MAX_0 ? 0 : 15000,
		.apparmor_restrict = world & APPARMOR ? 1 : -1,
		.lsm = "capability,yama",
		.exe = "/opt/c/cordon",
	};
}

static const char *hint_text(enum host_feature f, int sys, const struct host_facts *facts)
{
	static char text[MAX_HINT_BYTES];
	cleanup_buf struct buf b = BUF(MAX_HINT_BYTES - 1);
	struct cordon_err why = { .code = CORDON_E_HOST, .sys = sys };

	host_hint(f, &why, facts, &b);
	ok(buf_ok(&b), "it fits");
	snprintf(text, sizeof(text), "%s", buf_text(&b));
	return text;
}

static void test_each_cause_has_its_remedy(void)
{
	static const struct {
		enum host_feature feature;
		int sys;
		unsigned world;
		const char *says;
	} rows[] = {
		{ FEATURE_USERNS, ENOSPC, MAX_0,
		  "sysctl -w user.max_user_namespaces=15000" },
		{ FEATURE_USERNS, ENOSPC, MAX_0 | IN_USERNS, "this is inside a cordon, or" },
		{ FEATURE_USERNS, ENOSPC, 0, "sysctl -w user.max_user_namespaces=15000" },
		{ FEATURE_USERNS, EPERM, CLONE_0,
		  "sysctl -w kernel.unprivileged_userns_clone=1" },
		{ FEATURE_USERNS, EACCES, APPARMOR,
		  "profile cordon \"/opt/c/cordon\" flags=(unconfined) {\n    userns,\n  }\n" },
		{ FEATURE_USERNS, EPERM, APPARMOR,
		  "/etc/apparmor.d/cordon" },
		{ FEATURE_USERNS, EPERM, IN_DOCKER | FILTERED,
		  "docker run --security-opt seccomp=unconfined" },
		{ FEATURE_USERNS, EPERM, IN_PODMAN,
		  "podman run --security-opt seccomp=unconfined" },
		{ FEATURE_USERNS, EPERM, IN_KUBERNETES, "seccompProfile" },
		{ FEATURE_USERNS, EPERM, FILTERED, "a seccomp filter is on this" },
		{ FEATURE_USERNS, EINVAL, 0, "built without user namespaces" },
		{ FEATURE_USERNS, EPERM, 0, "in a chroot" },
		/* These keep ordinary users out, not root. */
		{ FEATURE_USERNS, EPERM, CLONE_0 | ROOT, "in a chroot" },
		{ FEATURE_USERNS, EPERM, APPARMOR | ROOT,
		  "in a chroot" },
		{ FEATURE_MOUNT, ENOSYS, 0, "Linux 5.12" },
		{ FEATURE_MOUNT, EACCES, IN_DOCKER,
		  "apparmor=unconfined" },
		{ FEATURE_MOUNT, ENOSPC, 0, "user.max_mnt_namespaces" },
		{ FEATURE_MOUNT, EACCES, APPARMOR, "/etc/apparmor.d/cordon" },
		{ FEATURE_PID, EPERM, IN_DOCKER,
		  "systempaths=unconfined" },
		{ FEATURE_PID, EPERM, IN_PODMAN, "unmask=ALL" },
		{ FEATURE_PID, EPERM, IN_KUBERNETES, "procMount: Unmasked" },
		{ FEATURE_PID, EPERM, 0, "mounts below /proc" },
		{ FEATURE_PID, ENOSPC, 0, "user.max_pid_namespaces" },
		{ FEATURE_NET, ENOSPC, 0, "user.max_net_namespaces" },
		{ FEATURE_TPROXY, ENOENT, 0, "modprobe -a nf_tables nft_tproxy" },
		{ FEATURE_TPROXY, EPERM, IN_DOCKER, "docker run --security-opt" },
		{ FEATURE_IPC, ENOSPC, 0, "user.max_ipc_namespaces" },
		{ FEATURE_UTS, EINVAL, 0, "built without uts namespaces" },
		{ FEATURE_SECCOMP, EINVAL, 0, "CONFIG_SECCOMP_FILTER" },
		{ FEATURE_NOTIFY, EBUSY, 0, "listens already" },
		{ FEATURE_NOTIFY, EINVAL, 0, "Linux 5.19" },
		{ FEATURE_LANDLOCK, EOPNOTSUPP, 0,
		  "lsm=landlock,capability,yama" },
		{ FEATURE_LANDLOCK, ENOSYS, 0, "CONFIG_SECURITY_LANDLOCK" },
		{ FEATURE_LANDLOCK, ENOSYS, IN_DOCKER, "seccomp=unconfined" },
		{ FEATURE_LANDLOCK, E2BIG, 0, "16 rulesets" },
		{ FEATURE_CGROUP, EACCES, SYSTEMD,
		  "systemd-run --user --scope -p Delegate=yes" },
		{ FEATURE_CGROUP, EACCES, ROOT | SYSTEMD,
		  "systemd-run --scope -p Delegate=yes" },
		{ FEATURE_CGROUP, EROFS, IN_DOCKER, "mounted read-write" },
		{ FEATURE_CGROUP, EACCES, 0, "chown USER GROUP" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct host_facts facts = facts_of(rows[i].world);
		const char *text = hint_text(rows[i].feature, rows[i].sys, &facts);

		ok(strstr(text, rows[i].says) != NULL, "row %zu: '%s' in '%s'", i, rows[i].says,
		   text);
	}
}

static void test_the_longest_advice_fits(void)
{
	struct host_facts facts = facts_of(APPARMOR);

	memset(facts.exe, 'x', sizeof(facts.exe) - 1);
	memset(facts.lsm, 'y', sizeof(facts.lsm) - 1);
	for (int f = 0; f < N_HOST_FEATURES; f++)
		for (int sys = 0; sys < 134; sys++)
			for (int c = 0; c < N_HOST_CONTAINERS; c++) {
				facts.container = (enum host_container)c;
				hint_text((enum host_feature)f, sys, &facts);
			}
}

int main(void)
{
	return tap_run((struct tap_case[]){ TAP(test_each_cause_has_its_remedy),
					    TAP(test_the_longest_advice_fits), TAP_END });
}
