/* What is told about one trial; see trial.h. */
#include <time.h>

#include "trial/trial_priv.h"

static const char *const status_words[N_TRIAL_STATUSES] = {
	[TRIAL_COMPLETED] = "completed",
	[TRIAL_REJECTED] = "rejected",
	[TRIAL_ERROR] = "error",
};

const char *trial_status_word(enum trial_status s)
{
	return status_words[s];
}

int64_t trial_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000) + t.tv_nsec / 1000000;
}

static void add_warning(struct trial *t, const char *text)
{
	const char **more = arena_grow(&t->c.arena, t->warnings, t->n_warnings, &t->cap_warnings,
				       sizeof(*more));

	if (!more || !text)
		return;
	t->warnings = more;
	t->warnings[t->n_warnings++] = text;
}

void trial_warn(struct trial *t, const char *text)
{
	for (size_t i = 0; text && i < t->n_warnings; i++)
		if (strcmp(t->warnings[i], text) == 0)
			return;
	add_warning(t, text);
}

static void print_error(const struct trial *t, struct json_out *j)
{
	json_key(j, "error");
	if (t->status == TRIAL_COMPLETED) {
		json_put_null(j);
		return;
	}
	json_open(j, '{');
	json_key(j, "message");
	json_put_text(j, t->err.msg);
	json_close(j, '}');
}

static void print_rewards(struct trial *t, struct json_out *j)
{
	struct rewards all = { 0 };
	const double *reward = NULL;

	if (t->status == TRIAL_COMPLETED &&
	    reward_join(t->rewards, t->n_rewards, t->task.strategy, &t->c.arena, &all,
			&t->err) == 0)
		reward = reward_find(&all, STR("reward"));
	json_key(j, "reward");
	if (reward)
		json_put_real(j, *reward);
	else
		json_put_null(j);
	json_key(j, "rewards");
	reward_print(&all, j);
	json_key(j, "steps");
	json_open(j, '[');
	for (size_t i = 0; t->task.n_steps && i < t->n_rewards; i++) {
		json_open(j, '{');
		json_key(j, "step");
		json_put_str(j, t->task.steps[i].name);
		json_key(j, "rewards");
		reward_print(&t->rewards[i], j);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void print_head(const struct trial_about *about, enum trial_status status,
		       const char *stage, struct json_out *j)
{
	json_open(j, '{');
	json_key(j, "trial");
	json_put_text(j, about->name);
	json_key(j, "task");
	json_put_text(j, about->file);
	json_key(j, "status");
	json_put_text(j, trial_status_word(status));
	json_key(j, "stage");
	json_put_text(j, stage);
}

static void print_result(struct trial *t, struct json_out *j)
{
	print_head(t->about, t->status, t->stage, j);
	json_key(j, "reason");
	json_put_text(j, t->status != TRIAL_REJECTED ? NULL : t->reason ? t->reason : t->err.msg);
	print_rewards(t, j);
	print_error(t, j);
	json_key(j, "duration_ms");
	json_put_int(j, trial_now_ms() - t->begin_ms);
	json_key(j, "warnings");
	json_open(j, '[');
	for (size_t i = 0; i < t->n_warnings; i++)
		json_put_text(j, t->warnings[i]);
	json_close(j, ']');
	json_key(j, "phases");
	json_put_raw(j, (struct str){ buf_text(&t->text), t->text.n });
	json_close(j, '}');
}

void trial_print_lost(const struct trial_about *about, const char *why, struct json_out *j)
{
	print_head(about, TRIAL_ERROR, NULL, j);
	json_key(j, "reward");
	json_put_null(j);
	json_key(j, "rewards");
	json_open(j, '{');
	json_close(j, '}');
	json_key(j, "error");
	json_open(j, '{');
	json_key(j, "message");
	json_put_text(j, why);
	json_close(j, '}');
	json_close(j, '}');
}

int trial_write_result(struct trial *t, struct cordon_err *err)
{
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES);
	struct json_out j = { .out = &out };

	json_close(&t->phases, ']');
	print_result(t, &j);
	buf_putc(&out, '\n');
	if (!buf_ok(&out) || !buf_ok(&t->text))
		return err_nomem(err);
	return folder_write(t->about->dir, TRIAL_RESULT, (struct str){ buf_text(&out), out.n },
			    err);
}
