/* Runs in processes of their own, by the library: several at once, from threads, polled;
 * what they are given, how they end, and when they do not start. */
#include "cordon.h"

#include <errno.h>
#include <ftw.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>

#include "base/macros.h"
#include "tap.h"

#define N_RUNS	4

struct run {
	struct cordon_child *child;
	struct cordon_answer answer;
	struct cordon_err err;
	int code;
};

static char folder[64];

static void enter(void)
{
	snprintf(folder, sizeof(folder), "/tmp/cordon-spawn-XXXXXX");
	if (!mkdtemp(folder) || chdir(folder) < 0 || setenv("XDG_STATE_HOME", folder, 1) < 0)
		abort();
}

static int remove_one(const char *path, const struct stat *st UNUSED, int type UNUSED,
		      struct FTW *ftw UNUSED)
{
	return remove(path);
}

static void leave(void)
{
	if (chdir("/") < 0 || nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS) < 0)
		abort();
}

static int start(struct run *r, const char *text, const struct cordon_setting *setting,
		 struct cordon_start_options o)
{
	struct cordon_request req = CORDON_REQUEST;

	*r = (struct run){ .code = -1 };
	req.settings = setting;
	req.n_settings = setting != NULL;
	o.program = PROGRAM;
	o.shell_text = text;
	return cordon_start(&req, &o, &r->child, &r->err);
}

static struct cordon_start_options captured(void)
{
	struct cordon_start_options o = CORDON_START_OPTIONS;

	o.capture = true;
	return o;
}

static int end(struct run *r)
{
	return cordon_child_end(r->child, &r->code, &r->answer, &r->err);
}

static bool says(const struct run *r, const char *what)
{
	return r->answer.text && strstr(r->answer.text, what);
}

static void *start_one(void *arg)
{
	struct run *r = arg;

	if (start(r, "sleep 0.2; echo out; echo err >&2; exit 3", NULL, captured()) < 0)
		r->child = NULL;
	return NULL;
}

static void test_runs_beside_each_other(void)
{
	pthread_t threads[N_RUNS];
	struct run runs[N_RUNS];
	int over = 0;

	enter();
	for (int i = 0; i < N_RUNS; i++)
		ok(pthread_create(&threads[i], NULL, start_one, &runs[i]) == 0, "a thread");
	for (int i = 0; i < N_RUNS; i++)
		ok(pthread_join(threads[i], NULL) == 0 && runs[i].child, "%s", runs[i].err.msg);
	ok(!cordon_child_is_over(runs[0].child), "it is not over at once");
	while (over < N_RUNS) {
		struct pollfd fds[N_RUNS];

		for (int i = 0; i < N_RUNS; i++)
			fds[i] = (struct pollfd){ cordon_child_fd(runs[i].child), POLLIN, 0 };
		if (!ok(poll(fds, N_RUNS, 60000) > 0, "one of them has something to say"))
			break;
		over = 0;
		for (int i = 0; i < N_RUNS; i++)
			over += cordon_child_is_over(runs[i].child);
	}
	for (int i = 0; i < N_RUNS; i++) {
		ok(end(&runs[i]) == 0, "%s", runs[i].err.msg);
		is_int(runs[i].code, 3, "the command's own code");
		ok(says(&runs[i], "\"stdout\":\"out\\n\",\"stderr\":\"") &&
		   says(&runs[i], "err\\n\",\"stdout_truncated\":false"), "%s",
		   runs[i].answer.text);
		cordon_answer_release(&runs[i].answer);
	}
	leave();
}

static void test_what_it_is_given(void)
{
	const struct cordon_setting setting = { CORDON_TIGHTEN, "limits.timeout", "1s", "timeout" };
	struct cordon_start_options o = CORDON_START_OPTIONS;
	char text[16] = "";
	struct run r;
	int ends[2], in = -1;

	enter();
	ok(start(&r, "-x; sleep 60", &setting, captured()) == 0, "%s", r.err.msg);
	ok(end(&r) == 0 && r.code == 124 && says(&r, "\"limit\":\"wall\""), "a setting holds");
	cordon_answer_release(&r.answer);
	/* A stream of its own, whatever its number. */
	ok(pipe(ends) == 0 && (in = fcntl(ends[0], F_DUPFD, 10)) >= 0 && dup2(ends[1], 3) == 3,
	   "a pipe");
	o.streams[1] = 3;
	ok(start(&r, "echo word", NULL, o) == 0, "%s", r.err.msg);
	ok(end(&r) == 0 && r.code == 0 && says(&r, "\"stdout\":\"\""), "it is not captured");
	ok(read(in, text, sizeof(text) - 1) == 5, "it is passed on");
	is_text(text, "word\n", "as it was written");
	cordon_answer_release(&r.answer);
	leave();
}

static void test_more_than_a_pipe_holds(void)
{
	struct run r;

	enter();
	ok(start(&r, "head -c 3000000 /dev/zero | tr '\\0' x", NULL, captured()) == 0, "%s",
	   r.err.msg);
	ok(end(&r) == 0 && r.code == 0, "%s", r.err.msg);
	ok(strlen(r.answer.text) > 3000000, "all of it came");
	cordon_answer_release(&r.answer);
	leave();
}

static void test_signals(void)
{
	struct run r;

	enter();
	ok(start(&r, "trap 'exit 7' TERM; echo >ready; while :; do sleep 0.05; done", NULL,
		 captured()) == 0, "%s", r.err.msg);
	while (access("ready", F_OK) < 0 && !cordon_child_is_over(r.child))
		usleep(10000);
	ok(cordon_child_signal(r.child, SIGTERM, &r.err) == 0, "%s", r.err.msg);
	ok(end(&r) == 0 && r.code == 7, "the command had the signal, code %d", r.code);
	cordon_answer_release(&r.answer);
	ok(start(&r, "sleep 60", NULL, captured()) == 0, "%s", r.err.msg);
	ok(cordon_child_signal(r.child, SIGKILL, &r.err) == 0, "%s", r.err.msg);
	ok(end(&r) < 0 && strstr(r.err.msg, "without a result"), "%s", r.err.msg);
	leave();
}

static void test_what_does_not_start(void)
{
	const struct cordon_setting wrong = { CORDON_TIGHTEN, "limits.memory", "much", "memory" };
	struct cordon_start_options o = CORDON_START_OPTIONS;
	struct cordon_request req = CORDON_REQUEST;
	struct cordon_child *child;
	struct run r;

	enter();
	o.program = "/nonexistent/cordon";
	ok(cordon_start(&req, &o, &child, &r.err) < 0 && strstr(r.err.msg, o.program), "%s",
	   r.err.msg);
	o.streams[2] = 1;
	ok(cordon_start(&req, &o, &child, &r.err) < 0 && strstr(r.err.msg, "stream 2"), "%s",
	   r.err.msg);
	ok(start(&r, "echo ran >ran", &wrong, captured()) == 0, "%s", r.err.msg);
	ok(end(&r) == 0 && r.code == 2, "the request was wrong");
	ok(r.answer.problems && strstr(r.answer.problems, "much"), "%s", r.answer.problems);
	ok(access("ran", F_OK) < 0 && errno == ENOENT, "nothing ran");
	cordon_answer_release(&r.answer);
	leave();
}

/* Each command of it would begin as a copy of this process that others can look into. */
static void test_session_shows_no_memory(void)
{
	const struct cordon_setting block = { CORDON_ADD, "commands.block", "rm -rf /", "--block" };
	struct cordon_session_options o = CORDON_SESSION_OPTIONS;
	struct cordon_request req = CORDON_REQUEST;
	struct cordon_answer answer = { 0 };
	struct cordon_err err = { 0 };

	req.settings = &block;
	req.n_settings = 1;
	enter();
	ok(cordon_session_start(&req, &o, &answer, &err) < 0 && err.code == CORDON_E_USAGE &&
	   strstr(err.msg, "memory of this program"), "%s", err.msg);
	cordon_answer_release(&answer);
	leave();
}

static void write_file(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		abort();
}

/* The same for the sessions of a trial: nothing of it is started. */
static void test_trial_shows_no_memory(void)
{
	const struct cordon_setting block = { CORDON_ADD, "commands.block", "rm -rf /", "--block" };
	const char *const task = "task.toml";
	struct cordon_trials t = CORDON_TRIALS;
	struct cordon_request req = CORDON_REQUEST;
	struct cordon_answer answer = { 0 };
	struct cordon_err err = { 0 };
	int rc;

	enter();
	write_file(task, "[environment]\nnetwork_mode = \"no-network\"\n");
	if (mkdir("tests", 0755) < 0)
		abort();
	write_file("tests/test.sh", "#!/bin/sh\n:\n");
	req.settings = &block;
	req.n_settings = 1;
	t.tasks = &task;
	t.n_tasks = 1;
	t.agent = "touch begun";
	t.json = true;
	rc = cordon_trial_run(&req, &t, &answer, &err);
	ok(rc == 0 && !answer.yes && answer.text && strstr(answer.text, "memory of this program"),
	   "%d %s %s", rc, answer.text ? answer.text : "", err.msg);
	cordon_answer_release(&answer);
	leave();
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_runs_beside_each_other),
		TAP(test_what_it_is_given),
		TAP(test_more_than_a_pipe_holds),
		TAP(test_signals),
		TAP(test_what_does_not_start),
		TAP(test_session_shows_no_memory),
		TAP(test_trial_shows_no_memory),
		TAP_END });
}
