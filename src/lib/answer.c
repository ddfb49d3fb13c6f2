/* Answers; see answer.h. */
#include "lib/answer.h"

void cordon_answer_release(struct cordon_answer *answer)
{
	free(answer->text);
	free(answer->problems);
	*answer = (struct cordon_answer){ 0 };
}

int answer_fill(struct cordon_answer *ret, bool yes, struct buf *out, struct composition *c, int rc,
		struct cordon_err *err)
{
	cleanup_buf struct buf problems = BUF(MAX_OUTPUT_BYTES);
	struct cordon_answer answer = { .yes = yes && rc == 0 };

	diags_print(&c->diags, &problems);
	if (out && !buf_ok(out))
		return err_set(err, CORDON_E_NOMEM, "the answer is too large");
	if (out && out->n) {
		answer.text = buf_take(out);
		if (!answer.text)
			return err_set(err, CORDON_E_NOMEM, "the answer is too large");
	}
	if (problems.n) {
		answer.problems = buf_take(&problems);
		if (!answer.problems) {
			cordon_answer_release(&answer);
			return err_nomem(err);
		}
	}
	*ret = answer;
	if (rc < 0)
		return err_set(err, CORDON_E_POLICY, "%zu problem%s in the policy",
			       c->diags.n_errors, c->diags.n_errors == 1 ? "" : "s");
	return 0;
}
