/* What this machine can enforce, as an answer for people and for programs. */
#include "base/json.h"
#include "base/limits.h"
#include "host/probe.h"
#include "lib/backend.h"
#include "lib/prove.h"

/* The default policy on this machine: what it cannot do without, and what a run
 * does instead of the rest.  (Profile worktree, no network, default limits.)
 */
static const struct {
	bool needed;
	const char *without;
} ladder[] = {
	[FEATURE_USERNS] = { true, "nothing can be enclosed" },
	[FEATURE_MOUNT] = { true, "files cannot be kept from the command" },
	[FEATURE_PID] = { true, "processes could outlive the run" },
	[FEATURE_NET] = { true, "the network cannot be kept from the command" },
	[FEATURE_TPROXY] = { false, "no network by host names" },
	[FEATURE_IPC] = { true, "shared memory cannot be kept apart" },
	[FEATURE_UTS] = { true, "the host name cannot be kept apart" },
	[FEATURE_SECCOMP] = { true, "system calls cannot be refused" },
	/* files.protect names what need not be there yet (.git, .envrc). */
	[FEATURE_NOTIFY] = { true, "protected names could be created" },
	[FEATURE_LANDLOCK] = { false, "mounts are the only wall around files" },
	[FEATURE_CGROUP] = { false, "limits are kept by cordon's own accounting" },
};
static_assert(ARRAY_SIZE(ladder) == N_HOST_FEATURES, "a feature without a place on the ladder");

static bool is_missing(const struct host_report *r, int feature)
{
	return ladder[feature].needed && !r->findings[feature].available;
}

static bool holds(const struct host_report *r)
{
	for (int f = 0; f < N_HOST_FEATURES; f++)
		if (is_missing(r, f))
			return false;
	return true;
}

/* ---- for people --------------------------------------------------------- */

#define NAME_WIDTH	11

/* Each line of the hint below its row. */
static void print_hint(struct str hint, struct buf *out)
{
	while (hint.n) {
		size_t end = str_find(hint, '\n');

		buf_printf(out, "%*s", NAME_WIDTH + 6, "");
		buf_str(out, str_first(hint, end));
		buf_putc(out, '\n');
		hint = str_from_pos(hint, end < hint.n ? end + 1 : end);
	}
}

static void print_verdict(const struct host_report *r, struct buf *out)
{
	if (holds(r)) {
		buf_puts(out, "\nThe default policy can be enforced on this machine.\n");
		return;
	}
	buf_puts(out, "\nThe default policy cannot be enforced on this machine; it needs:\n");
	for (int f = 0; f < N_HOST_FEATURES; f++)
		if (is_missing(r, f))
			buf_printf(out, "  %-*s %s\n", NAME_WIDTH,
				   host_feature_name((enum host_feature)f), ladder[f].without);
}

static void print_table(const struct host_report *r, struct buf *out)
{
	if (r->container)
		buf_printf(out, "This is inside a container (%s).\n\n", r->container);
	for (int f = 0; f < N_HOST_FEATURES; f++) {
		const struct host_finding *found = &r->findings[f];
		const char *name = host_feature_name((enum host_feature)f);

		buf_printf(out, "%-*s %-4s ", NAME_WIDTH, name, found->available ? "yes" : "no");
		buf_puts(out, found->detail);
		if (!found->available)
			buf_printf(out, "; %s", ladder[f].without);
		buf_putc(out, '\n');
		print_hint(str_from(found->hint), out);
	}
	print_verdict(r, out);
}

/* ---- for programs ------------------------------------------------------- */

static void json_member(struct json_out *j, const char *key, const char *text)
{
	json_key(j, key);
	json_put_text(j, text && text[0] ? text : NULL);
}

static void json_feature(struct json_out *j, const struct host_report *r, int f)
{
	const struct host_finding *found = &r->findings[f];

	json_open(j, '{');
	json_member(j, "name", host_feature_name((enum host_feature)f));
	json_key(j, "available");
	json_put_bool(j, found->available);
	json_key(j, "needed");
	json_put_bool(j, ladder[f].needed);
	json_member(j, "detail", found->detail);
	json_member(j, "without", found->available ? NULL : ladder[f].without);
	json_member(j, "hint", found->hint);
	json_close(j, '}');
}

static void json_report(struct json_out *j, const struct host_report *r)
{
	json_open(j, '{');
	json_key(j, "features");
	json_open(j, '[');
	for (int f = 0; f < N_HOST_FEATURES; f++)
		json_feature(j, r, f);
	json_close(j, ']');
	json_key(j, "default_policy");
	json_open(j, '{');
	json_key(j, "enforceable");
	json_put_bool(j, holds(r));
	json_key(j, "missing");
	json_open(j, '[');
	for (int f = 0; f < N_HOST_FEATURES; f++)
		if (is_missing(r, f))
			json_put_text(j, host_feature_name((enum host_feature)f));
	json_close(j, ']');
	json_close(j, '}');
	json_key(j, "landlock_abi");
	json_put_int(j, r->caps.landlock);
	json_member(j, "cgroup", host_cgroup_name(r->caps.cgroup));
	json_key(j, "root");
	json_put_bool(j, r->caps.is_root);
	json_member(j, "container", r->container);
	json_close(j, '}');
}

/* ---- capabilities ------------------------------------------------------- */

static void print_capabilities(const struct trial_capabilities *c, struct buf *out)
{
	const char *before = "";

	for (int i = 0; i < N_TRIAL_CAPABILITIES; i++)
		if (c->bits & 1u << i) {
			buf_printf(out, "%s%s", before,
				   trial_capability_name((enum trial_capability)i));
			before = ",";
		}
}

static void json_capabilities(struct json_out *j, const struct trial_capabilities *c)
{
	json_open(j, '{');
	json_key(j, "capabilities");
	json_open(j, '[');
	for (int i = 0; i < N_TRIAL_CAPABILITIES; i++)
		if (c->bits & 1u << i)
			json_put_text(j, trial_capability_name((enum trial_capability)i));
	json_close(j, ']');
	json_close(j, '}');
}

static int tell_capabilities(const struct cordon_doctor_options *o, struct buf *out,
			     struct cordon_err *err)
{
	struct json_out j = { .out = out, .indent = 2 };
	struct trial_capabilities c;

	if (backend_probe_capabilities(o->backend, &c, err) < 0)
		return -1;
	if (o->json)
		json_capabilities(&j, &c);
	else
		print_capabilities(&c, out);
	buf_putc(out, '\n');
	return 0;
}

static int tell_machine(const struct cordon_doctor_options *o, struct buf *out, bool *ret_holds,
			struct cordon_err *err)
{
	struct json_out j = { .out = out, .indent = 2 };
	struct host_report report;

	if (host_probe_report(&report, err) < 0)
		return -1;
	if (o->json) {
		json_report(&j, &report);
		buf_putc(out, '\n');
	} else {
		print_table(&report, out);
	}
	*ret_holds = holds(&report);
	return 0;
}

int cordon_doctor(const struct cordon_doctor_options *o, struct cordon_answer *ret,
		  struct cordon_err *err)
{
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES);
	struct cordon_answer answer = { .yes = true };

	if (o->size != sizeof(*o))
		return err_set(err, CORDON_E_USAGE,
			       "the options are of another version of cordon.h");
	if (o->backend && !o->capabilities)
		return err_set(err, CORDON_E_USAGE,
			       "a backend is named for its capabilities; ask for those as well");
	if (o->capabilities ? tell_capabilities(o, &out, err) < 0 :
	    o->prove	    ? prove_all(o->program, o->json, &out, &answer.yes, err) < 0 :
			      tell_machine(o, &out, &answer.yes, err) < 0)
		return -1;
	answer.text = buf_take(&out);
	if (!answer.text)
		return err_nomem(err);
	*ret = answer;
	return 0;
}
