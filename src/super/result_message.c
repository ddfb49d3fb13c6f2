/* How a command went, as a message; see result_message.h. */
#include "super/result_message.h"

#include <stdio.h>
#include <string.h>

enum number { NR_STARTED, NR_EXEC_ERRNO, NR_STATUS, NR_LIMIT, NR_OOM, NR_DURATION, NR_CPU, NR_RSS,
	      NR_PEAK, NR_ENFORCED, NR_LACKING, NR_ERR_CODE, NR_LEFT_OUT,
	      NR_LIMIT_VALUE, N_NUMBERS };
enum text { TEXT_RUN_ID, TEXT_BLOCKED, TEXT_ERR, TEXT_BACKEND, TEXT_PROFILE, N_TEXTS };
static_assert(N_NUMBERS <= (int)N_CONTROL_NUMBERS, "a result has more numbers than a message");

#define DENIAL_TEXTS	4	/* numbers, what, reason, hint */

static void put_denials(struct control_out *o, const struct denials *d)
{
	char numbers[64];

	for (size_t i = 0; i < d->n; i++) {
		const struct denial *one = &d->items[i];

		snprintf(numbers, sizeof(numbers), "%d %u %llu", one->kind, one->port,
			 (unsigned long long)one->count);
		control_put(o, 1, numbers);
		control_put(o, 1, one->what);
		control_put(o, 1, one->reason);
		control_put(o, 1, one->hint);
	}
}

void result_message_put(struct control_out *o, const struct run_result *res,
			const struct plan *plan)
{
	int64_t *n = o->head.numbers;

	n[NR_STARTED] = res->started;
	n[NR_EXEC_ERRNO] = res->exec_errno;
	n[NR_STATUS] = res->status;
	n[NR_LIMIT] = res->limit;
	n[NR_LIMIT_VALUE] = res->limit_value;
	n[NR_OOM] = res->oom_killed;
	n[NR_DURATION] = res->duration_ms;
	n[NR_CPU] = res->usage.cpu_ms;
	n[NR_RSS] = res->usage.max_rss_kb;
	n[NR_PEAK] = res->usage.processes_peak;
	n[NR_ENFORCED] = plan->enforced;
	n[NR_LACKING] = plan->lacking;
	n[NR_ERR_CODE] = res->err.code;
	n[NR_LEFT_OUT] = (int64_t)res->denials.left_out;
	control_put(o, 0, res->run_id);
	control_put(o, 0, res->blocked ? res->blocked : "");
	control_put(o, 0, res->err.msg);
	control_put(o, 0, plan->backend);
	control_put(o, 0, plan->profile);
	put_denials(o, &res->denials);
}

static void take_denials(const struct control_message *m, struct arena *a, struct denials *d)
{
	const char *const *texts = control_list(m, 1, a);

	for (size_t i = 0; texts && i + DENIAL_TEXTS <= m->head.counts[1]; i += DENIAL_TEXTS) {
		unsigned long long count;
		unsigned port;
		int kind;

		if (sscanf(texts[i], "%d %u %llu", &kind, &port, &count) != 3 || kind < 0 ||
		    kind >= N_DENIAL_KINDS)
			continue;
		denials_add(d, (enum denial_kind)kind, texts[i + 1], port, texts[i + 2],
			    texts[i + 3]);
		if (d->n)
			d->items[d->n - 1].count = count;
	}
	d->left_out = (uint64_t)m->head.numbers[NR_LEFT_OUT];
}

static const char *copy(const struct control_message *m, size_t at, struct arena *a)
{
	const char *text = control_text(m, 0, at);

	return arena_strndup(a, text, strlen(text));
}

int result_message_take(const struct control_message *m, struct arena *a, struct run_result *res,
			struct plan *plan, struct cordon_err *err)
{
	const int64_t *n = m->head.numbers;
	const char *blocked = copy(m, TEXT_BLOCKED, a);

	if (n[NR_LIMIT] < 0 || n[NR_LIMIT] >= N_LIMIT_KINDS || n[NR_ERR_CODE] < 0 ||
	    n[NR_ERR_CODE] >= CORDON_N_ERRCS)
		return err_set(err, CORDON_E_PEER, "the supervisor's answer makes no sense");
	snprintf(res->run_id, sizeof(res->run_id), "%s", control_text(m, 0, TEXT_RUN_ID));
	res->started = n[NR_STARTED];
	res->exec_errno = (int)n[NR_EXEC_ERRNO];
	res->status = (int)n[NR_STATUS];
	res->limit_value = n[NR_LIMIT_VALUE];
	/* The output is counted by who reads it. */
	if (res->limit == LIMIT_OK)
		res->limit = (enum limit_kind)n[NR_LIMIT];
	res->oom_killed = n[NR_OOM];
	res->duration_ms = n[NR_DURATION];
	res->usage = (struct limiter_usage){ .cpu_ms = n[NR_CPU], .max_rss_kb = n[NR_RSS],
					     .processes_peak = n[NR_PEAK] };
	res->err.code = (enum cordon_errc)n[NR_ERR_CODE];
	snprintf(res->err.msg, sizeof(res->err.msg), "%s", control_text(m, 0, TEXT_ERR));
	res->blocked = blocked && blocked[0] ? blocked : NULL;
	plan->enforced = (unsigned)n[NR_ENFORCED];
	plan->lacking = (unsigned)n[NR_LACKING];
	plan->backend = copy(m, TEXT_BACKEND, a);
	plan->profile = copy(m, TEXT_PROFILE, a);
	take_denials(m, a, &res->denials);
	return blocked && plan->backend && plan->profile ? 0 : err_nomem(err);
}
