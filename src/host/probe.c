/* The probes, one row a feature; see probe.h.
 *
 * The user namespace comes first: the others are made inside one.  Real root
 * without one tries them with its own rights, and the detail says so.
 */
#include "host/probe.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "host/hint.h"
#include "host/probe_priv.h"

static const struct {
	unsigned long namespaces;	/* besides the user's */
	child_fn *act;
} probes[] = {
	[FEATURE_USERNS] = { CLONE_NEWUSER, try_userns },
	[FEATURE_MOUNT] = { CLONE_NEWNS, try_mount },
	[FEATURE_PID] = { CLONE_NEWPID | CLONE_NEWNS, try_pid },
	[FEATURE_NET] = { CLONE_NEWNET, try_net },
	[FEATURE_TPROXY] = { CLONE_NEWNET, try_tproxy },
	[FEATURE_IPC] = { CLONE_NEWIPC, try_ipc },
	[FEATURE_UTS] = { CLONE_NEWUTS, try_uts },
	[FEATURE_SECCOMP] = { 0, try_seccomp },
	[FEATURE_NOTIFY] = { 0, try_notify },
	[FEATURE_LANDLOCK] = { 0, try_landlock },
	[FEATURE_CGROUP] = { 0, try_cgroup },
};
static_assert(ARRAY_SIZE(probes) == N_HOST_FEATURES, "a feature without a probe");

void say_found(struct cordon_err *say, const char *fmt, ...)
{
	va_list args;

	*say = (struct cordon_err){ .code = CORDON_E_NONE };
	va_start(args, fmt);
	vsnprintf(say->msg, sizeof(say->msg), fmt, args);
	va_end(args);
}

static int number_of(enum host_feature f)
{
	struct cordon_err ignored;

	return f == FEATURE_LANDLOCK ? landlock_abi(&ignored) : true;
}

static void fill_finding(enum host_feature f, const struct child_answer *answer, bool bare_root,
			 const struct host_facts *facts, struct host_finding *ret)
{
	cleanup_buf struct buf hint = BUF(sizeof(ret->hint) - 1);

	ret->available = answer->worked;
	ret->sys = answer->worked ? 0 : answer->say.sys;
	snprintf(ret->detail, sizeof(ret->detail), "%.*s%s", (int)sizeof(ret->detail) - 40,
		 answer->say.msg[0] ? answer->say.msg : host_feature_about(f),
		 bare_root && answer->worked ? " (as root, without userns)" : "");
	if (!answer->worked)
		host_hint(f, &answer->say, facts, &hint);
	snprintf(ret->hint, sizeof(ret->hint), "%s", buf_text(&hint));
}

static int probe_one(enum host_feature f, const struct host_facts *facts, struct host_report *r,
		     struct cordon_err *err)
{
	unsigned long namespaces = probes[f].namespaces;
	bool inside = namespaces && f != FEATURE_USERNS;
	struct host_finding *finding = &r->findings[f];
	struct child_answer answer;

	if (inside && !r->caps.userns && !r->caps.is_root) {
		snprintf(finding->detail, sizeof(finding->detail), "needs a user namespace");
		snprintf(finding->hint, sizeof(finding->hint), "see userns");
		return 0;
	}
	if (inside && r->caps.userns)
		namespaces |= CLONE_NEWUSER;
	if (child_run(namespaces, probes[f].act, &answer, err) < 0)
		return -1;
	if (!answer.worked && f == FEATURE_CGROUP)
		forget_cgroup();
	if (answer.worked)
		host_caps_put(&r->caps, f, number_of(f));
	fill_finding(f, &answer, inside && !r->caps.userns, facts, finding);
	return 0;
}

int host_probe_report(struct host_report *ret, struct cordon_err *err)
{
	struct host_report report = { .caps.is_root = geteuid() == 0 };
	struct host_facts facts;

	if (fd_check_limit(err) < 0)
		return -1;
	host_facts_read(&facts);
	report.container = host_container_name(facts.container);
	for (int f = 0; f < N_HOST_FEATURES; f++)
		if (probe_one((enum host_feature)f, &facts, &report, err) < 0)
			return -1;
	*ret = report;
	return 0;
}

int host_probe(struct host_caps *ret, struct cordon_err *err)
{
	struct host_report report;

	if (host_probe_report(&report, err) < 0)
		return -1;
	*ret = report.caps;
	return 0;
}

void host_probe_quick(struct host_caps *ret)
{
	struct cordon_err ignored;

	*ret = (struct host_caps){
		.userns = true,
		.mount = true,
		.pid = true,
		.net = true,
		.tproxy = true,
		.ipc = true,
		.uts = true,
		.seccomp = true,
		.notify = true,
		.landlock = landlock_abi(&ignored),
		.is_root = geteuid() == 0,
	};
}
