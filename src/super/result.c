/* What is told about a run; see run.h. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>

#include "base/err.h"
#include "base/limits.h"
#include "plan/net_inside.h"
#include "super/run.h"

static void make_id(char id[40])
{
	unsigned char raw[8];
	size_t n = 0;

	if (getrandom(raw, sizeof(raw), 0) != (ssize_t)sizeof(raw))
		memset(raw, 0, sizeof(raw));
	for (size_t i = 0; i < sizeof(raw); i++)
		n += (size_t)snprintf(id + n, 40 - n, "%02x", raw[i]);
}

void run_result_init(struct run_result *r)
{
	*r = (struct run_result){ .out = { BUF(MAX_OUTPUT_BYTES * 4), BUF(MAX_OUTPUT_BYTES * 4) } };
	make_id(r->run_id);
}

void run_result_release(struct run_result *r)
{
	buf_release(&r->out[0]);
	buf_release(&r->out[1]);
	denials_release(&r->denials);
}

/* What to say about an exec that failed. */
const char *run_exec_problem(int error)
{
	if (error == ENOENT || error == ENOTDIR)
		return "command not found";
	if (error == ELIBACC)
		return "the interpreter that it names is not inside the cordon";
	return err_text(error);
}

static bool is_not_found(const struct run_result *r)
{
	return r->exec_errno == ENOENT || r->exec_errno == ENOTDIR;
}

int run_result_code(const struct run_result *r)
{
	if (!r->started)
		return r->exec_errno ? (is_not_found(r) ? 127 : 126) : 125;
	if (r->limit == LIMIT_WALL || r->limit == LIMIT_CPU)
		return 124;
	if (r->limit == LIMIT_MEMORY)
		return 137;
	/* As with the file of --result: what it was run for is not there. */
	if (r->unwritten && r->status == 0)
		return 125;
	return WIFSIGNALED(r->status) ? 128 + WTERMSIG(r->status) : WEXITSTATUS(r->status);
}

/* What an error is called, and what to do about it where nobody knows better. */
static const struct {
	const char *name, *hint;
} errors[] = {
	[CORDON_E_NONE] = { "none", NULL },
	[CORDON_E_USAGE] = { "usage", "cordon help says what each command takes" },
	[CORDON_E_POLICY] = { "policy", "cordon explain says where each value came from" },
	[CORDON_E_HOST] = { "host", "cordon doctor says what this machine offers" },
	[CORDON_E_SETUP] = { "setup", "cordon doctor says what this machine offers" },
	[CORDON_E_PEER] = { "peer", NULL },
	[CORDON_E_NOMEM] = { "memory", NULL },
	[CORDON_E_BUG] = { "bug", NULL },
};
static_assert(ARRAY_SIZE(errors) == CORDON_N_ERRCS, "an error without a name");

static void print_error(const struct run_result *r, const struct plan *plan, struct json_out *j)
{
	json_key(j, "error");
	if (r->started && r->err.code == CORDON_E_NONE) {
		json_put_null(j);
		return;
	}
	json_open(j, '{');
	json_key(j, "code");
	json_put_text(j, r->blocked    ? "blocked" :
			 r->exec_errno ? "exec" :
					 errors[r->err.code].name);
	json_key(j, "message");
	if (r->blocked) {
		json_put_text(j, r->blocked);
	} else if (r->exec_errno) {
		cleanup_buf struct buf text = BUF(8192);

		buf_printf(&text, "%s: %s", plan->argv[0],
			   run_exec_problem(r->exec_errno));
		json_put_text(j, buf_text(&text));
	} else {
		json_put_text(j, r->err.msg);
	}
	json_key(j, "hint");
	json_put_text(j, r->started    ? NULL :
			 r->blocked    ? RUN_BLOCKED_HINT :
			 r->exec_errno ? "cordon explain shows what can be seen inside" :
			 r->hint       ? r->hint :
					 errors[r->err.code].hint);
	json_close(j, '}');
}

static void print_protections(const struct run_result *r, const struct plan *plan,
			      struct json_out *j)
{
	json_key(j, "enforced");
	json_open(j, '[');
	/* Nothing enclosed a run that was refused. */
	for (int i = 0; (r->started || r->exec_errno) && i < N_PARTS; i++)
		if (plan->enforced & 1u << i)
			json_put_text(j, plan_part_name((enum plan_part)i));
	json_close(j, ']');
	json_key(j, "missing");
	json_open(j, '[');
	for (int i = 0; i < N_PROTECTIONS; i++)
		if (plan->lacking & 1u << i)
			json_put_text(j, protection_name((enum protection)i));
	json_close(j, ']');
}

/* What the supervisor held and spent for connections; not known of a command of a session. */
static void print_network(const struct run_result *r, struct json_out *j)
{
	if (!r->gate.memory_limit)
		return;
	json_key(j, "network");
	json_open(j, '{');
	json_key(j, "buffers_kb");
	json_put_int(j, (int64_t)(r->gate.memory_most / 1024));
	json_key(j, "buffers_limit_kb");
	json_put_int(j, (int64_t)(r->gate.memory_limit / 1024));
	json_key(j, "cpu_ms");
	json_put_int(j, r->gate.cpu_us / 1000);
	json_close(j, '}');
}

/* What the result and the log do not say. */
static void print_left_out(const struct run_result *r, struct json_out *j)
{
	if (r->limit_why[0]) {
		json_key(j, "limit_uncounted");
		json_put_text(j, r->limit_why);
	}
	if (r->denials.left_out) {
		json_key(j, "denials_left_out");
		json_put_int(j, (int64_t)r->denials.left_out);
	}
	if (!r->audit.problem && !r->audit.lost)
		return;
	json_key(j, "audit");
	json_open(j, '{');
	json_key(j, "file");
	json_put_text(j, r->audit.path);
	json_key(j, "lost");
	if (r->audit.problem)
		json_put_null(j);
	else
		json_put_int(j, (int64_t)r->audit.lost);
	json_key(j, "problem");
	json_put_text(j, r->audit.problem);
	json_close(j, '}');
}

static void print_how(const struct run_result *r, struct json_out *j)
{
	bool signaled = r->started && WIFSIGNALED(r->status);

	json_key(j, "exit_code");
	if (signaled)
		json_put_null(j);
	else
		json_put_int(j, r->started ? WEXITSTATUS(r->status) : run_result_code(r));
	json_key(j, "signal");
	if (signaled)
		json_put_int(j, WTERMSIG(r->status));
	else
		json_put_null(j);
	json_key(j, "timed_out");
	json_put_bool(j, r->limit == LIMIT_WALL || r->limit == LIMIT_CPU);
	json_key(j, "oom_killed");
	json_put_bool(j, r->oom_killed);
	json_key(j, "limit");
	json_put_text(j, r->limit == LIMIT_OK ? NULL : limit_kind_name(r->limit));
}

static void print_output(const struct run_result *r, struct json_out *j)
{
	static const char *const names[] = { "stdout", "stderr" };
	static const char *const cut[] = { "stdout_truncated", "stderr_truncated" };

	for (int i = 0; i < 2; i++) {
		json_key(j, names[i]);
		json_put_str(j, (struct str){ buf_text(&r->out[i]), r->out[i].n });
	}
	for (int i = 0; i < 2; i++) {
		json_key(j, cut[i]);
		json_put_bool(j, r->truncated[i]);
	}
}

void run_result_print_keys(const struct run_result *r, const struct plan *plan, struct json_out *j)
{
	json_key(j, "run_id");
	json_put_text(j, r->run_id);
	print_how(r, j);
	json_key(j, "blocked");
	json_put_text(j, r->blocked);
	print_error(r, plan, j);
	print_output(r, j);
	json_key(j, "duration_ms");
	json_put_int(j, r->duration_ms);
	json_key(j, "cpu_ms");
	json_put_int(j, MAX(r->usage.cpu_ms, 0));
	json_key(j, "max_rss_kb");
	json_put_int(j, MAX(r->usage.max_rss_kb, 0));
	json_key(j, "processes_peak");
	json_put_int(j, r->started ? MAX(r->usage.processes_peak, 1) : 0);
	json_key(j, "backend");
	json_put_text(j, plan->backend);
	json_key(j, "profile");
	json_put_text(j, plan->profile);
	print_protections(r, plan, j);
	json_key(j, "denials");
	denials_print(&r->denials, j);
	print_network(r, j);
	print_left_out(r, j);
}

void run_result_print(const struct run_result *r, const struct plan *plan, struct json_out *j)
{
	json_open(j, '{');
	run_result_print_keys(r, plan, j);
	json_close(j, '}');
}
