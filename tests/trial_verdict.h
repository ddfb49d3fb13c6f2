/* From the text of a task to its printed verdict, without the folder around it. */
#ifndef TEST_TRIAL_VERDICT_H
#define TEST_TRIAL_VERDICT_H

#include "policy/trial_plan.h"

static int print_verdict(struct str text, const struct trial_check_options *o, struct buf *out,
			 bool *ret_accepted, struct cordon_err *err)
{
	cleanup_arena struct arena arena = ARENA(MAX_ARENA_BYTES);
	cleanup_diags struct diags diags = DIAGS;
	struct source src = { "task.toml", text };
	struct json_out json = { .out = out };
	struct trial_verdict verdict;
	struct policy unused;
	struct reader r = { .policy = &unused, .diags = &diags, .file = src.name,
			    .ignores_unknown = true };
	struct task task;

	policy_init(&unused, &arena);
	if (trial_read(&r, &src, o, &task, &verdict, err) < 0)
		return -1;
	trial_verdict_print(&verdict, &json);
	*ret_accepted = verdict.accepted;
	return 0;
}

#endif
