/* Live cordons of this user. */
#include "base/limits.h"
#include "lib/answer.h"
#include "super/live.h"

int cordon_ps(bool json, struct cordon_answer *ret, struct cordon_err *err)
{
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES);
	struct cordon_answer answer = { .yes = true };

	if (live_list(json, &out, err) < 0)
		return -1;
	if (!buf_ok(&out))
		return err_nomem(err);
	if (out.n) {
		answer.text = buf_take(&out);
		if (!answer.text)
			return err_nomem(err);
	}
	*ret = answer;
	return 0;
}

int cordon_kill(const char *id, struct cordon_answer *ret, struct cordon_err *err)
{
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES);
	int rc = live_kill(id, err);

	if (rc < 0)
		return -1;
	*ret = (struct cordon_answer){ .yes = rc == 0 };
	if (ret->yes)
		return 0;
	buf_puts(&out, "cordon: no live cordon is called '");
	buf_put_plain(&out, str_from(id));
	buf_puts(&out, "'; see cordon ps\n");
	ret->problems = buf_ok(&out) ? buf_take(&out) : NULL;
	return 0;
}
