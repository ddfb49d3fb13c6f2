/* One command in a session; see phase.h. */
#include "trial/phase.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "super/live.h"
#include "super/session.h"

#define TAIL_BYTES	2048	/* of each output that the result shows */

static const char *const verdict_words[N_PHASE_VERDICTS] = {
	[PHASE_OK] = "ok",		   [PHASE_FAILED] = "failed",
	[PHASE_TIMED_OUT] = "timed_out",   [PHASE_OOM_KILLED] = "oom_killed",
	[PHASE_LIMIT] = "limit",	   [PHASE_BLOCKED] = "blocked",
	[PHASE_ERROR] = "error",
};

const char *phase_verdict_word(enum phase_verdict v)
{
	return verdict_words[v];
}

static enum phase_verdict judge(const struct run_result *r)
{
	if (!r->started)
		return r->exec_errno || r->blocked ? PHASE_BLOCKED : PHASE_ERROR;
	if (r->oom_killed)
		return PHASE_OOM_KILLED;
	if (r->limit == LIMIT_WALL || r->limit == LIMIT_CPU)
		return PHASE_TIMED_OUT;
	if (r->limit != LIMIT_OK)
		return PHASE_LIMIT;
	return WIFEXITED(r->status) && WEXITSTATUS(r->status) == 0 ? PHASE_OK : PHASE_FAILED;
}

static int switch_phase(const struct phase_wish *w, bool end_leftovers, int64_t *ret_leftovers,
			struct cordon_err *err)
{
	cleanup_control_out struct control_out o;
	cleanup_buf struct buf ignored = BUF(MAX_CONTROL_BYTES);
	cleanup_fd int fd = live_connect(w->session, err);

	control_out_init(&o, CONTROL_PHASE);
	if (fd < 0)
		return -1;
	o.head.numbers[0] = end_leftovers;
	if (w->phase)
		control_put(&o, 0, w->phase);
	return session_ask(fd, &o, &ignored, ret_leftovers, err);
}

/* Also where the session has ended, or cannot end them: then everything in it goes. */
static void end_leftovers(const struct phase_wish *w)
{
	struct cordon_err ignored;
	int64_t none;

	if (switch_phase(w, true, &none, &ignored) < 0)
		(void)!live_kill(w->session, &ignored);
}

static int open_output(const struct phase_wish *w, const char *stream, struct cordon_err *err)
{
	char name[128];
	int fd;

	snprintf(name, sizeof(name), "%s.%s", w->name, stream);
	fd = open_beneath(w->output, name, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW);
	if (fd < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot make '%s'", name);
	return fd;
}

/* 0: what it reads; 1 and 2: where its output is kept. */
static int set_streams(const struct phase_wish *w, int files[2], struct cordon_err *err)
{
	cleanup_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	files[0] = open_output(w, "stdout", err);
	files[1] = files[0] < 0 ? -1 : open_output(w, "stderr", err);
	if (files[1] < 0)
		return -1;
	if (null < 0 || dup2(w->input >= 0 ? w->input : null, 0) < 0 || dup2(files[0], 1) < 0 ||
	    dup2(files[1], 2) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot set the streams of a phase");
	return 0;
}

/* What it said last, for who reads the result only. */
static void keep_tail(int file, struct buf *out, bool *truncated)
{
	char tail[TAIL_BYTES];
	struct stat st;
	off_t begin;
	ssize_t n;

	if (file < 0 || fstat(file, &st) < 0)
		return;
	begin = st.st_size > TAIL_BYTES ? st.st_size - TAIL_BYTES : 0;
	n = pread(file, tail, sizeof(tail), begin);
	if (n > 0)
		buf_add(out, tail, (size_t)n);
	*truncated |= begin > 0;
}

static int execute(const struct phase_wish *w, struct arena *a, struct phase_result *r,
		   struct cordon_err *err)
{
	const struct session_exec e = {
		.argv = w->command->argv,
		.environ = (const char *const *)environ,
		.cwd = w->workdir,
		.cwd_asked = true,
		.shell_text = w->command->shell_text,
		.settings = w->settings,
		.timeout_ms = INT64_MAX,
	};
	cleanup_fd int fd = -1;

	if (switch_phase(w, false, &r->leftovers, err) < 0)
		return -1;
	fd = live_connect(w->session, err);
	if (fd < 0)
		return -1;
	return session_exec(fd, &e, a, &r->run, &r->plan, err);
}

void phase_run(const struct phase_wish *w, struct arena *a, struct phase_result *ret)
{
	int files[2] = { -1, -1 };
	bool failed;

	*ret = (struct phase_result){ .plan = { .argv = w->command->argv, .backend = "process",
						.profile = "worktree" } };
	run_result_init(&ret->run);
	failed = set_streams(w, files, &ret->run.err) < 0 ||
		 execute(w, a, ret, &ret->run.err) < 0;
	if (w->end_leftovers)
		end_leftovers(w);
	for (int i = 0; i < 2; i++) {
		keep_tail(files[i], &ret->run.out[i], &ret->run.truncated[i]);
		fd_close(&files[i]);
	}
	/* A command whose session was lost has begun, but did not fail by itself. */
	ret->verdict = failed ? PHASE_ERROR : judge(&ret->run);
}

void phase_result_release(struct phase_result *r)
{
	run_result_release(&r->run);
}
