/* Telling what happens; see report.h. */
#include "super/report.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plan/net_inside.h"
#include "super/run_priv.h"

/* "" stands for nothing. */
static struct audit_value text(const char *s)
{
	return AUDIT_TEXT(s && s[0] ? s : NULL);
}

/* 0 stands for nothing. */
static struct audit_value number(uint64_t n)
{
	return n ? AUDIT_NUMBER(n) : AUDIT_NULL;
}

static void add_denial(struct run_reporter *r, enum audit_class class, const struct denial *d,
		       const struct audit_event *e)
{
	denials_add(&r->res->denials, d->kind, d->what, d->port, d->reason, d->hint);
	if (r->on_denial)
		r->on_denial(r->denial_arg, d);
	audit_add(r->audit, class, e);
}

/* What is only looked at. */
static char *seen(const char *text)
{
	return (char *)(uintptr_t)text;
}

void run_report_start(struct run_reporter *r, const struct run_about *about)
{
	struct audit_event e = { EVENT_RUN_START, {
		[AUDIT_VERSION] = AUDIT_TEXT(CORDON_VERSION),
		[AUDIT_PID] = AUDIT_NUMBER(getpid()),
		[AUDIT_UID] = AUDIT_NUMBER(geteuid()),
		[AUDIT_CWD] = AUDIT_TEXT(about->cwd),
		[AUDIT_POLICIES] = AUDIT_LIST(about->policies, about->n_policies),
		[AUDIT_PROFILE] = AUDIT_TEXT(about->profile),
		[AUDIT_BACKEND] = AUDIT_TEXT(about->backend),
	} };
	size_t n = 0;

	while (about->argv[n])
		n++;
	e.values[AUDIT_COMMAND] = AUDIT_LIST(about->argv, n);
	audit_add(r->audit, AUDIT_CLASS_RUN, &e);
}

void run_report_command(struct run_reporter *r, const char *what, const char *reason, int leader)
{
	struct audit_event e = { EVENT_COMMAND_BLOCKED, {
		[AUDIT_WHAT] = AUDIT_TEXT(what),
		[AUDIT_REASON] = text(reason),
		[AUDIT_HINT] = AUDIT_TEXT(RUN_BLOCKED_HINT),
	} };
	const struct denial d = { .kind = DENIAL_COMMAND, .what = seen(what),
				  .reason = seen(reason), .hint = seen(RUN_BLOCKED_HINT),
				  .leader = leader };

	add_denial(r, AUDIT_CLASS_REFUSAL, &d, &e);
}

/* Why, and what would allow it: `before`, what the name is guarded by, `after`. */
static const struct {
	const char *reason, *before, *after;
} causes[] = {
	[CAUSE_SET] = { "the name is in a protected set", "files.protect without \"", "\"" },
	[CAUSE_ENTRY] = { "the name is protected", "files.protect without \"", "\"" },
	[CAUSE_READ] = { "the name lies in a read-only root", "files.read without \"", "\"" },
	/* -w would not do: a root inside another one is a part of that. */
	[CAUSE_CREDENTIAL] = { "the name is a place of credentials",
			       "\"", "\" in files.write, and no folder above it" },
	[CAUSE_DENY] = { "the name is denied", "files.deny without \"", "\"" },
	[CAUSE_POLICY] = { "the name is a policy's", "a change from outside the cordon", "" },
	/* What is ours nobody can have. */
	[CAUSE_OWN] = { "the name is cordon's own", "", "" },
	[CAUSE_WAY] = { "something outside is found by this name",
			"a change from outside the cordon", "" },
};
static_assert(ARRAY_SIZE(causes) == N_GUARD_CAUSES, "a cause without words");

void run_report_file(struct run_reporter *r, const char *path, const struct plan_guarded *why,
		     int leader)
{
	const char *reason = why ? causes[why->cause].reason : "what lies below may not be moved";
	cleanup_buf struct buf allow = BUF(MAX_SOURCE_BYTES);
	const char *hint;
	struct audit_event e = { EVENT_FILE_DENIED, {
		[AUDIT_PATH] = AUDIT_TEXT(path),
		[AUDIT_REASON] = AUDIT_TEXT(reason),
	} };

	if (why)
		buf_printf(&allow, "%s%s%s", causes[why->cause].before, why->by,
			   causes[why->cause].after);
	hint = buf_text(&allow);
	e.values[AUDIT_HINT] = text(hint);
	add_denial(r, AUDIT_CLASS_REFUSAL,
		   &(struct denial){ .kind = DENIAL_FILE, .what = seen(path),
				     .reason = seen(reason), .hint = seen(hint),
				     .leader = leader }, &e);
}

void run_report_lost(struct run_reporter *r, uint64_t n)
{
	if (!n)
		return;
	r->res->denials.left_out += n;
	if (r->on_lost)
		r->on_lost(r->denial_arg, n);
	audit_add_lost(r->audit, AUDIT_CLASS_REFUSAL, n);
}

/* The result names the host beside the reason: "host X is not in the allowlist"
 * is then "not in the allowlist".  Other words of a dialect stay as they are. */
static const char *without_host(const char *reason, const char *host)
{
	size_t n = strlen(host);

	if (strncmp(reason, "host ", 5) != 0 || strncmp(reason + 5, host, n) != 0)
		return reason;
	if (strncmp(reason + 5 + n, " is ", 4) == 0)
		return reason + 5 + n + 4;
	if (strncmp(reason + 5 + n, ": ", 2) == 0)
		return reason + 5 + n + 2;
	return reason[5 + n] == ' ' ? reason + 5 + n + 1 : reason;
}

static enum audit_class class_of(const struct gate_report *report)
{
	return strcmp(report->protocol, "dns") == 0 ? AUDIT_CLASS_QUESTION : AUDIT_CLASS_REFUSAL;
}

static void add_decision(struct run_reporter *r, const struct gate_report *report)
{
	struct audit_event e = { EVENT_NETWORK_DECISION, {
		[AUDIT_NETWORK_POLICY] =
			AUDIT_TEXT(report->kind == GATE_DENIED ? "denied" : "allowed"),
		[AUDIT_NETWORK_HOST] = AUDIT_TEXT(report->host),
		[AUDIT_PORT] = number(report->port),
		[AUDIT_PROTOCOL] = AUDIT_TEXT(report->protocol),
		[AUDIT_ADDRESS] = text(report->address),
		[AUDIT_REASON] = text(report->reason),
		[AUDIT_HINT] = text(report->hint),
		[AUDIT_GENERATION] = AUDIT_NUMBER(report->generation),
		[AUDIT_ID] = number(report->id),
	} };
	const struct denial denial = {
		.kind = DENIAL_NETWORK,
		.what = seen(report->host),
		.port = report->port,
		.reason = seen(without_host(report->reason, report->host)),
		.hint = seen(report->hint),
	};

	if (report->kind == GATE_DENIED)
		add_denial(r, class_of(report), &denial, &e);
	else
		audit_add(r->audit, AUDIT_CLASS_CONNECTION, &e);
}

static void add_close(struct run_reporter *r, const struct gate_report *report)
{
	struct audit_event e = { EVENT_NETWORK_CLOSE, {
		[AUDIT_NETWORK_HOST] = AUDIT_TEXT(report->host),
		[AUDIT_PORT] = number(report->port),
		[AUDIT_REASON] = text(report->reason),
		[AUDIT_ID] = number(report->id),
		[AUDIT_BYTES_OUT] = AUDIT_NUMBER(report->bytes_out),
		[AUDIT_BYTES_IN] = AUDIT_NUMBER(report->bytes_in),
		[AUDIT_DURATION_MS] = AUDIT_NUMBER(report->duration_ms),
	} };

	audit_add(r->audit, AUDIT_CLASS_CONNECTION, &e);
}

void run_report_network(struct run_reporter *r, const struct gate_report *report)
{
	if (report->kind == GATE_CLOSED)
		add_close(r, report);
	else
		add_decision(r, report);
}

void run_report_generation(struct run_reporter *r, uint64_t generation)
{
	struct audit_event e = { EVENT_NETWORK_GENERATION,
				 { [AUDIT_GENERATION] = AUDIT_NUMBER(generation) } };

	audit_add(r->audit, AUDIT_CLASS_RUN, &e);
}

void run_report_command_start(struct run_reporter *r, int id, const char *const *argv,
			      const char *cwd)
{
	struct audit_event e = { EVENT_COMMAND_START, { [AUDIT_ID] = AUDIT_NUMBER(id),
							[AUDIT_CWD] = AUDIT_TEXT(cwd) } };
	size_t n = 0;

	while (argv[n])
		n++;
	e.values[AUDIT_COMMAND] = AUDIT_LIST(argv, n);
	audit_add(r->audit, AUDIT_CLASS_RUN, &e);
}

void run_report_limit(struct run_reporter *r)
{
	struct audit_event e = { EVENT_LIMIT_HIT, { { 0 } } };

	if (r->limit_told || r->res->limit == LIMIT_OK)
		return;
	r->limit_told = true;
	e.values[AUDIT_LIMIT] = AUDIT_TEXT(limit_kind_name(r->res->limit));
	audit_add(r->audit, AUDIT_CLASS_RUN, &e);
}

void run_report_write(struct run_reporter *r)
{
	if (audit_next_us(r->audit) <= run_now_us())
		audit_write(r->audit);
}

static size_t list_parts(unsigned bits, const char *ret[N_PARTS])
{
	size_t n = 0;

	for (int i = 0; i < N_PARTS; i++)
		if (bits & 1u << i)
			ret[n++] = plan_part_name((enum plan_part)i);
	return n;
}

static size_t list_protections(unsigned bits, const char *ret[N_PROTECTIONS])
{
	size_t n = 0;

	for (int i = 0; i < N_PROTECTIONS; i++)
		if (bits & 1u << i)
			ret[n++] = protection_name((enum protection)i);
	return n;
}

/* As the result says it, without the command's name. */
static const char *find_error(const struct run_result *res)
{
	if (res->started)
		return res->err.code == CORDON_E_NONE ? NULL : res->err.msg;
	if (res->blocked)
		return res->blocked;
	return res->exec_errno ? run_exec_problem(res->exec_errno) : res->err.msg;
}

void run_report_command_end(struct run_reporter *r, int id, const struct run_result *res)
{
	bool signaled = res->started && WIFSIGNALED(res->status);
	struct audit_event e = { EVENT_COMMAND_END, {
		[AUDIT_ID] = AUDIT_NUMBER(id),
		[AUDIT_LIMIT] = AUDIT_TEXT(res->limit == LIMIT_OK ? NULL
								  : limit_kind_name(res->limit)),
		[AUDIT_ERROR] = text(find_error(res)),
		[AUDIT_DURATION_MS] = AUDIT_NUMBER(res->duration_ms),
		[AUDIT_CPU_MS] = AUDIT_NUMBER(MAX(res->usage.cpu_ms, 0)),
		[AUDIT_MAX_RSS_KB] = AUDIT_NUMBER(MAX(res->usage.max_rss_kb, 0)),
	} };

	if (signaled)
		e.values[AUDIT_SIGNAL] = AUDIT_NUMBER(WTERMSIG(res->status));
	else
		e.values[AUDIT_EXIT_CODE] = AUDIT_NUMBER(res->started ? WEXITSTATUS(res->status)
								      : run_result_code(res));
	audit_add(r->audit, AUDIT_CLASS_RUN, &e);
}

void run_report_end(struct run_reporter *r, const struct plan *plan)
{
	const struct run_result *res = r->res;
	const char *enforced[N_PARTS], *missing[N_PROTECTIONS];
	bool ran = res->started || res->exec_errno;
	bool signaled = res->started && WIFSIGNALED(res->status);
	struct audit_event e = { EVENT_RUN_END, {
		[AUDIT_LIMIT] = AUDIT_TEXT(res->limit == LIMIT_OK ? NULL
								  : limit_kind_name(res->limit)),
		[AUDIT_ERROR] = text(find_error(res)),
		[AUDIT_DURATION_MS] = AUDIT_NUMBER(res->duration_ms),
		[AUDIT_CPU_MS] = AUDIT_NUMBER(MAX(res->usage.cpu_ms, 0)),
		[AUDIT_MAX_RSS_KB] = AUDIT_NUMBER(MAX(res->usage.max_rss_kb, 0)),
		[AUDIT_ENFORCED] = AUDIT_LIST(enforced, list_parts(ran ? plan->enforced : 0,
								    enforced)),
		[AUDIT_MISSING] = AUDIT_LIST(missing, list_protections(plan->lacking, missing)),
		[AUDIT_DENIALS] = AUDIT_NUMBER(denials_count(&res->denials)),
		[AUDIT_QUESTIONS_ALLOWED] = ran && net_has_gate(&plan->net)
			? AUDIT_NUMBER(res->gate.questions) : AUDIT_NULL,
	} };

	if (signaled)
		e.values[AUDIT_SIGNAL] = AUDIT_NUMBER(WTERMSIG(res->status));
	else
		e.values[AUDIT_EXIT_CODE] = AUDIT_NUMBER(res->started ? WEXITSTATUS(res->status)
								      : run_result_code(res));
	run_report_limit(r);
	audit_add(r->audit, AUDIT_CLASS_RUN, &e);
	r->res->audit.lost = audit_free(r->audit);
	r->audit = NULL;
}
