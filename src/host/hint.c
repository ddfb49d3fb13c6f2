/* Advice; see hint.h.
 *
 * One adviser a feature.  Each looks at the errno of the act that failed first
 * and at what surrounds us second, and names one cause: the likeliest.
 */
#include "host/hint.h"

#include <errno.h>

static bool is_refusal(const struct cordon_err *why)
{
	return why->sys == EPERM || why->sys == EACCES;
}

/* ---- what several advise ------------------------------------------------ */

/* What a container must be started with to allow namespaces, mounts and a
 * /proc of one's own. */
static void advise_container(const struct host_facts *facts, struct buf *out)
{
	static const char *const container_words[] = {
		[CONTAINER_NONE] =
			"a seccomp filter is on this process and may refuse it: start the "
			"program around it (a container engine, a service with "
			"SystemCallFilter=) without one",
		[CONTAINER_DOCKER] =
			"start the container with: docker run --security-opt "
			"seccomp=unconfined --security-opt apparmor=unconfined "
			"--security-opt systempaths=unconfined …",
		[CONTAINER_PODMAN] =
			"start the container with: podman run --security-opt seccomp=unconfined "
			"--security-opt unmask=ALL …",
		[CONTAINER_KUBERNETES] =
			"give the pod: securityContext: {seccompProfile: {type: Unconfined}, "
			"procMount: Unmasked}, and hostUsers: false",
		[CONTAINER_OTHER] =
			"the container around this process refuses it: let it nest "
			"(lxc: security.nesting=true; nspawn: SystemCallFilter=, PrivateUsers=)",
	};
	static_assert(ARRAY_SIZE(container_words) == N_HOST_CONTAINERS,
		      "a container without advice");

	buf_puts(out, container_words[facts->container]);
}

static bool is_enclosed(const struct host_facts *facts)
{
	return facts->filtered || facts->container != CONTAINER_NONE;
}

static void advise_apparmor(const struct host_facts *facts, struct buf *out)
{
	const char *exe = facts->exe[0] ? facts->exe : "/usr/local/bin/cordon";

	buf_printf(out,
		   "AppArmor keeps user namespaces from programs without a profile; as root write "
		   "/etc/apparmor.d/cordon:\n"
		   "  abi <abi/4.0>,\n"
		   "  include <tunables/global>\n"
		   "  profile cordon \"%s\" flags=(unconfined) {\n"
		   "    userns,\n"
		   "  }\n"
		   "and load it: apparmor_parser -r /etc/apparmor.d/cordon", exe);
}

/* A namespace of this kind could not be made, or not be used. */
static void advise_namespace(const char *kind, const struct cordon_err *why,
			     const struct host_facts *facts, struct buf *out)
{
	if (why->sys == ENOSPC)
		buf_printf(out, "raise the limit of such namespaces: sysctl -w "
				"user.max_%s_namespaces=15000", kind);
	else if (why->sys == EINVAL)
		buf_printf(out, "the kernel was built without %s namespaces", kind);
	else if (is_refusal(why) && facts->apparmor_restrict == 1 && !facts->is_root)
		advise_apparmor(facts, out);
	else if (is_enclosed(facts))
		advise_container(facts, out);
}

/* ---- one for each feature ----------------------------------------------- */

static void advise_userns(const struct cordon_err *why, const struct host_facts *facts,
			  struct buf *out)
{
	/* Each user namespace has a limit of its own, and who made it has set this one. */
	if (facts->max_user_namespaces == 0 && facts->in_userns)
		buf_puts(out, "this is inside a cordon, or another sandbox, that allows no user "
			      "namespaces (user.max_user_namespaces is 0): start it outside of "
			      "that");
	else if (facts->max_user_namespaces == 0)
		buf_puts(out, "user namespaces are switched off: sysctl -w "
			      "user.max_user_namespaces=15000");
	else if (facts->userns_clone == 0 && !facts->is_root)
		buf_puts(out, "user namespaces are kept from ordinary users: sysctl -w "
			      "kernel.unprivileged_userns_clone=1");
	else
		advise_namespace("user", why, facts, out);
	if (!out->n && is_refusal(why))
		buf_puts(out, "the kernel makes no user namespaces in a chroot, nor where a "
			      "security module forbids them: see dmesg");
}

static void advise_mount(const struct cordon_err *why, const struct host_facts *facts,
			 struct buf *out)
{
	if (why->sys == ENOSYS && !is_enclosed(facts))
		buf_puts(out, "the kernel has no mount_setattr: Linux 5.12 or later has");
	else
		advise_namespace("mnt", why, facts, out);
}

static void advise_pid(const struct cordon_err *why, const struct host_facts *facts,
		       struct buf *out)
{
	advise_namespace("pid", why, facts, out);
	if (!out->n && is_refusal(why))
		buf_puts(out, "the kernel refuses a new /proc where parts of the old one are "
			      "covered: see /proc/self/mountinfo for mounts below /proc");
}

static void advise_net(const struct cordon_err *why, const struct host_facts *facts,
		       struct buf *out)
{
	advise_namespace("net", why, facts, out);
}

static void advise_tproxy(const struct cordon_err *why, const struct host_facts *facts,
			  struct buf *out)
{
	if (why->sys == ENOENT || why->sys == EOPNOTSUPP || why->sys == EPROTONOSUPPORT ||
	    why->sys == EINVAL)
		buf_puts(out, "parts of nf_tables are not loaded; as root: modprobe -a nf_tables "
			      "nft_tproxy nft_reject_inet nft_log nft_limit nft_counter "
			      "nfnetlink_log (in the kernel's configuration: "
			      "CONFIG_NF_TABLES_INET, CONFIG_NFT_TPROXY, CONFIG_NFT_REJECT, "
			      "CONFIG_NFT_LOG, CONFIG_NFT_LIMIT, CONFIG_NFT_COUNTER, "
			      "CONFIG_NETFILTER_NETLINK_LOG)");
	else
		advise_net(why, facts, out);
}

static void advise_ipc(const struct cordon_err *why, const struct host_facts *facts,
		       struct buf *out)
{
	advise_namespace("ipc", why, facts, out);
}

static void advise_uts(const struct cordon_err *why, const struct host_facts *facts,
		       struct buf *out)
{
	advise_namespace("uts", why, facts, out);
}

static void advise_seccomp(const struct cordon_err *why, const struct host_facts *facts,
			   struct buf *out)
{
	if (is_enclosed(facts))
		advise_container(facts, out);
	else if (why->sys == ENOSYS || why->sys == EINVAL)
		buf_puts(out, "the kernel was built without CONFIG_SECCOMP_FILTER");
}

static void advise_notify(const struct cordon_err *why, const struct host_facts *facts,
			  struct buf *out)
{
	if (why->sys == EBUSY)
		buf_puts(out, "a supervisor around this process listens already (a container "
			      "engine, or another cordon): the kernel allows one");
	else if (why->sys == EINVAL)
		buf_puts(out, "the kernel has no notification that waits killably: Linux 5.19 or "
			      "later has");
	else
		advise_seccomp(why, facts, out);
}

static void advise_landlock(const struct cordon_err *why, const struct host_facts *facts,
			    struct buf *out)
{
	if (why->sys == EOPNOTSUPP)
		buf_printf(out, "Landlock is switched off at boot: add it to the kernel parameter, "
				"lsm=landlock,%s", facts->lsm[0] ? facts->lsm : "…");
	else if (why->sys == ENOSYS && is_enclosed(facts))
		advise_container(facts, out);
	else if (why->sys == ENOSYS)
		buf_puts(out, "the kernel was built without CONFIG_SECURITY_LANDLOCK (Linux 5.13 "
			      "or later has it); with it, start it with lsm=landlock,…");
	else if (why->sys == E2BIG)
		buf_puts(out, "16 rulesets are on this process already, and the kernel allows no "
			      "more");
}

static void advise_cgroup(const struct cordon_err *why, const struct host_facts *facts,
			  struct buf *out)
{
	(void)why;
	if (facts->container != CONTAINER_NONE)
		buf_puts(out, "start the container with a cgroup that it may write "
			      "(a private cgroup namespace, /sys/fs/cgroup mounted read-write)");
	else if (facts->systemd)
		buf_printf(out, "start cordon in a group of its own: systemd-run %s--scope "
				"-p Delegate=yes -- cordon run …", facts->is_root ? "" : "--user ");
	else
		buf_puts(out, "as root, give a group of version 2 away: mkdir GROUP; chown USER "
			      "GROUP GROUP/cgroup.procs; echo PID >GROUP/cgroup.procs");
}

static void (*const advisers[])(const struct cordon_err *why, const struct host_facts *facts,
				struct buf *out) = {
	[FEATURE_USERNS] = advise_userns,
	[FEATURE_MOUNT] = advise_mount,
	[FEATURE_PID] = advise_pid,
	[FEATURE_NET] = advise_net,
	[FEATURE_TPROXY] = advise_tproxy,
	[FEATURE_IPC] = advise_ipc,
	[FEATURE_UTS] = advise_uts,
	[FEATURE_SECCOMP] = advise_seccomp,
	[FEATURE_NOTIFY] = advise_notify,
	[FEATURE_LANDLOCK] = advise_landlock,
	[FEATURE_CGROUP] = advise_cgroup,
};
static_assert(ARRAY_SIZE(advisers) == N_HOST_FEATURES, "a feature without advice");

void host_hint(enum host_feature f, const struct cordon_err *why, const struct host_facts *facts,
	       struct buf *out)
{
	advisers[f](why, facts, out);
}
