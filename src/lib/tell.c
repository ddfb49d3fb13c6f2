/* Telling how a command went; see tell.h. */
#include "lib/tell.h"

#include <signal.h>

#include "base/limits.h"
#include "lib/answer.h"
#include "policy/field.h"
#include "policy/quantity.h"

/* Why nothing was run, and what to do: one line of the hint a line. */
static void say_refusal(struct composition *c, const struct run_result *res)
{
	struct str hint = str_from(res->hint ? res->hint : "");

	diag_error(&c->diags, (struct place){ 0 }, "cordon: %s", res->err.msg);
	while (hint.n) {
		size_t end = str_find(hint, '\n');

		diag_error(&c->diags, (struct place){ 0 }, "cordon: %.*s", (int)end, hint.s);
		hint = str_from_pos(hint, end < hint.n ? end + 1 : end);
	}
}

/* One refusal in a line.  A command that was refused inside is told in the words
 * that the message of the whole run would have, each pattern once; that message
 * stands there already when it was the command itself. */
static bool say_denial(struct composition *c, const struct run_result *res, size_t i)
{
	const struct denial *d = &res->denials.items[i];
	cleanup_buf struct buf line = BUF(MAX_DIAG_BYTES);

	if (d->kind != DENIAL_COMMAND) {
		denial_print(d, &line);
		diag_error(&c->diags, (struct place){ 0 }, "%s", buf_text(&line));
		return true;
	}
	for (size_t k = 0; k < i; k++)
		if (res->denials.items[k].kind == DENIAL_COMMAND &&
		    strcmp(res->denials.items[k].reason, d->reason) == 0)
			return false;
	if (!res->blocked)
		diag_error(&c->diags, (struct place){ 0 }, "%s", d->reason);
	return !res->blocked;
}

/* What was refused, as lines. */
static void say_denials(struct composition *c, const struct run_result *res)
{
	const struct denials *d = &res->denials;
	uint64_t more = d->left_out;
	size_t shown = 0;

	for (size_t i = 0; i < d->n; i++) {
		if (shown == MAX_DENIAL_LINES)
			more++;
		else if (say_denial(c, res, i))
			shown++;
	}
	if (more)
		diag_error(&c->diags, (struct place){ 0 }, "denied: … and %llu more%s",
			   (unsigned long long)more,
			   res->audit.problem ? "" : " (see the audit log)");
}

static void print_count(int64_t n, struct buf *out)
{
	buf_printf(out, "%lld", (long long)n);
}

static void print_seconds(int64_t ms, struct buf *out)
{
	print_count(ms / 1000, out);
}

/* What a limit is called where it is set, and how its value is written there. */
static const struct {
	enum field_id field;
	const char *option;
	void (*print)(int64_t value, struct buf *out);
} limits[] = {
	[LIMIT_WALL] = { F_LIMITS_TIMEOUT, "--timeout", quantity_print_duration },
	[LIMIT_CPU] = { F_LIMITS_CPU_SECONDS, "--cpu-seconds", print_seconds },
	[LIMIT_MEMORY] = { F_LIMITS_MEMORY, "--memory", quantity_print_size },
	[LIMIT_PROCESSES] = { F_LIMITS_PROCESSES, "--processes", print_count },
	[LIMIT_FILE_SIZE] = { F_LIMITS_FILE_SIZE, "--file-size", quantity_print_size },
	[LIMIT_OUTPUT] = { F_LIMITS_OUTPUT, "--output", quantity_print_size },
	[LIMIT_DISK] = { F_LIMITS_DISK, "--disk", quantity_print_size },
};
static_assert(ARRAY_SIZE(limits) == N_LIMIT_KINDS, "a limit that nobody sets");

/* Which limit ended it, and who sets that: a line of a policy, which no option raises,
 * or an option. */
static void say_limit(struct composition *c, const struct tell_how *o, const struct run_result *res)
{
	cleanup_buf struct buf line = BUF(MAX_DIAG_BYTES);
	enum field_id field = limits[res->limit].field;
	struct place at = c->policy.base.f[field].at;
	bool own = res->limit == LIMIT_WALL && res->limit_value == o->timeout_ms;

	buf_printf(&line, "cordon: ended by %s (", fields[field].key);
	limits[res->limit].print(res->limit_value, &line);
	buf_puts(&line, "); ");
	if (at.line)
		place_print(at, &line);
	else
		buf_puts(&line, limits[res->limit].option);
	buf_puts(&line, o->session && !own ? " of session start sets it" : " sets it");
	if (res->limit_why[0])
		buf_printf(&line, "; %s", res->limit_why);
	diag_error(&c->diags, (struct place){ 0 }, "%s", buf_text(&line));
}

/* It is the filter's answer to calls of another mode of the processor, which it could not judge;
 * a shell passes it on as its own status. */
static void say_foreign(struct composition *c, const struct run_result *res)
{
	if (run_result_code(res) == 128 + SIGSYS)
		diag_error(&c->diags, (struct place){ 0 },
			   "cordon: ended by SIGSYS, as programs of 32 bits (i386, arm) are inside:"
			   " take a build for this machine's own 64 bits");
}

/* What of ours ended the command, if anything did. */
static void say_end(struct composition *c, const struct tell_how *o, const struct run_result *res,
		    const struct plan *plan)
{
	if (res->limit != LIMIT_OK)
		say_limit(c, o, res);
	else if (plan->level != LEVEL_NONE)
		say_foreign(c, res);
}

static void say_unwritten(struct composition *c, int error)
{
	if (error)
		diag_error(&c->diags, (struct place){ 0 },
			   "cordon: not all of the command's output could be written: %s",
			   err_text(error));
}

static void say_lost(struct composition *c, const struct run_audit *a)
{
	if (a->lost)
		diag_error(&c->diags, (struct place){ 0 },
			   "cordon: warning: %llu events of this run are not in the audit log '%s'",
			   (unsigned long long)a->lost, a->path);
}

#define ESCAPED	6		/* bytes that one byte can take in JSON */

/* The command has run, whatever there is memory for: an output that is too large to be
 * told is told in part. */
static bool print_result(const struct run_result *res, const struct plan *plan, struct buf *out)
{
	static const size_t kept[] = { SIZE_MAX, MAX_OUTPUT_BYTES, 0 };
	struct run_result part = *res;

	for (size_t k = 0; k < ARRAY_SIZE(kept); k++) {
		struct json_out j = { .out = out };

		buf_release(out);
		*out = BUF(MAX_OUTPUT_BYTES);
		for (size_t i = 0; i < ARRAY_SIZE(part.out); i++) {
			part.truncated[i] |= part.out[i].n > kept[k];
			part.out[i].n = MIN(part.out[i].n, kept[k]);
			out->max += part.out[i].n * ESCAPED;
		}
		run_result_print(&part, plan, &j);
		buf_putc(out, '\n');
		if (buf_ok(out))
			return true;
	}
	return false;
}

int tell_result(struct composition *c, const struct tell_how *o, const struct run_result *res,
		const struct plan *plan, struct cordon_answer *ret, struct cordon_err *err)
{
	cleanup_buf struct buf out = BUF(0);

	if (o->json && !print_result(res, plan, &out))
		return err_nomem(err);
	if (!res->exec_errno && !res->blocked &&
	    (!res->started || res->err.code != CORDON_E_NONE))
		say_refusal(c, res);
	if (res->exec_errno && !res->blocked)
		diag_error(&c->diags, (struct place){ 0 }, "cordon: %s: %s", plan->argv[0],
			   run_exec_problem(res->exec_errno));
	if (res->blocked)
		diag_error(&c->diags, (struct place){ 0 }, "%s", res->blocked);
	if (!o->capture)
		say_denials(c, res);
	if (res->started && !o->capture)
		say_end(c, o, res, plan);
	say_unwritten(c, res->unwritten);
	say_lost(c, &res->audit);
	return answer_fill(ret, true, &out, c, 0, err);
}
