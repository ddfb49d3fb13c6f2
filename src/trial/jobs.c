/* Many trials; see jobs.h.
 *
 * Who runs
 *
 *   this process     starts trials, listens to them, writes results.jsonl
 *   one a trial      trial_run(), in a session of its own; ends with this process
 *   its sessions     end with the trial's process, which is their owner
 */
#include "trial/jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/folder.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/pidfd.h"
#include "super/live.h"
#include "text/value.h"

#define RESULTS		"results.jsonl"
#define DEFAULT_OUTPUT	"trials"
#define MARKS		".cordon-trial"		/* names of folders that are ours to clear */
#define SESSIONS	"trial-"		/* the beginning of their names */
#define TASK_SECRETS	4			/* parts of a task that are hidden */
#define LOCK_TRIES	40			/* of 50 ms each */

/* What a trial's process says; one write each. */
struct news {
	size_t job;
	char phase[32], step[64];
	char problem[256];		/* not empty: it could not write its result */
	int64_t leftovers;		/* not 0: it is about these alone */
};
static_assert(sizeof(struct news) <= 512, "more than a pipe takes in one piece");

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000) + t.tv_nsec / 1000000;
}

/* ---- where everything is kept --------------------------------------------- */

static const char *fresh_name(struct arena *a)
{
	time_t now = time(NULL);
	struct tm tm;

	if (!localtime_r(&now, &tm))
		return NULL;
	return arena_printf(a, "%04d-%02d-%02d.%02d-%02d-%02d.%d", tm.tm_year + 1900,
			    tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
			    (int)getpid());
}

/* Trials of a process that was killed hold it as well, until they are gone, which
 * is soon. */
static int take_lock(struct jobs *j, struct cordon_err *err)
{
	const struct timespec a_while = { .tv_nsec = 50000000 };

	j->lock = open_beneath(j->dir, ".lock", O_RDWR | O_CREAT | O_NOFOLLOW);
	if (j->lock < 0)
		return err_sys(err, CORDON_E_USAGE, "cannot write into '%s'", j->path);
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(j->lock, LOCK_EX | LOCK_NB) == 0)
			return 0;
		nanosleep(&a_while, NULL);
	}
	return err_set(err, CORDON_E_USAGE,
		       "other trials are being run into '%s'; wait for them, or choose another "
		       "--output-dir", j->path);
}

/* For its owner alone, also where an earlier run made it otherwise. */
static int make_private(int dir, const char *name, struct cordon_err *err)
{
	int fd = folder_make(dir, name, err);

	if (fd >= 0 && fchmod(fd, 0700) < 0) {
		err_sys(err, CORDON_E_SETUP, "cannot close '%s' to other users", name);
		fd_close(&fd);
	}
	return fd;
}

/* A new directory in ./trials: the repository that this is run in did not choose where
 * that leads. */
static int open_default(struct jobs *j, const char *here, struct cordon_err *err)
{
	cleanup_fd int cwd = open_named(here, O_RDONLY | O_DIRECTORY), top = -1;
	const char *name = fresh_name(j->arena);

	j->path = name ? arena_printf(j->arena, "%s/" DEFAULT_OUTPUT "/%s", here, name) : NULL;
	if (cwd < 0 || !j->path)
		return err_sys(err, CORDON_E_SETUP, "cannot tell where to keep the results");
	top = folder_make(cwd, DEFAULT_OUTPUT, err);
	if (top < 0)
		return err_wrap(err, "cannot keep results in '" DEFAULT_OUTPUT "', which must be a "
				"directory and no symlink; name another one with --output-dir");
	j->dir = make_private(top, name, err);
	return j->dir < 0 ? -1 : 0;
}

/* Symlinks are followed here, once: all paths below are final. */
static int open_asked(struct jobs *j, const char *here, struct cordon_err *err)
{
	if (path_resolve(j->arena, str_from(j->o->output), here, &j->path, err) < 0 ||
	    make_named(j->path, err) < 0)
		return err_wrap(err, "--output-dir");
	j->dir = open_named(j->path, O_RDONLY | O_DIRECTORY);
	if (j->dir < 0)
		return err_sys(err, CORDON_E_USAGE, "cannot open '%s'", j->path);
	return 0;
}

static int open_output(struct jobs *j, struct cordon_err *err)
{
	char here[PATH_MAX];

	if (!getcwd(here, sizeof(here)))
		return err_sys(err, CORDON_E_SETUP, "cannot tell where to keep the results");
	if ((j->o->output ? open_asked(j, here, err) : open_default(j, here, err)) < 0 ||
	    take_lock(j, err) < 0)
		return -1;
	j->marks = make_private(j->dir, MARKS, err);
	if (j->marks < 0)
		return -1;
	j->results = open_beneath(j->dir, RESULTS,
				  O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW);
	if (j->results < 0 || fchmod(j->results, 0600) < 0)
		return err_sys(err, CORDON_E_USAGE, "cannot write '%s/" RESULTS "'", j->path);
	return 0;
}

/* ---- results --------------------------------------------------------------- */

static const struct value *text_of(const struct value *root, const char *key)
{
	const struct value *v = value_find(root, key);

	return v && v->kind == VALUE_STRING ? v : NULL;
}

/* A line each, and fit for a terminal: names of tasks are in them. */
static const char *take_warnings(const struct value *list, struct arena *keep)
{
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES);

	for (size_t i = 0; list && list->kind == VALUE_ARRAY && i < list->array.n; i++) {
		const struct value *one = &list->array.items[i];

		if (one->kind != VALUE_STRING)
			continue;
		if (i == MAX_DENIAL_LINES) {
			buf_puts(&out, "and more, which are in its " TRIAL_RESULT "\n");
			break;
		}
		buf_put_plain(&out, one->string);
		buf_putc(&out, '\n');
	}
	return out.n ? arena_strndup(keep, buf_text(&out), out.n) : NULL;
}

/* What the table shows of a result.  False: it is none. */
static bool take_result(struct job *job, struct str text)
{
	cleanup_arena struct arena a = ARENA(MAX_ARENA_BYTES);
	struct arena *keep = job->jobs->arena;
	struct source src = { TRIAL_RESULT, text };
	const struct value *status, *reward, *why;
	struct cordon_err ignored = { 0 };
	struct value root;
	int s = 0;

	if (json_parse(&src, &a, &root, &ignored) < 0)
		return false;
	status = text_of(&root, "status");
	while (status && s < N_TRIAL_STATUSES &&
	       !str_is(status->string, trial_status_word((enum trial_status)s)))
		s++;
	if (!status || s == N_TRIAL_STATUSES)
		return false;
	job->status = (enum trial_status)s;
	reward = value_find(&root, "reward");
	job->has_reward = reward && (reward->kind == VALUE_FLOAT || reward->kind == VALUE_INT);
	if (job->has_reward)
		job->reward = reward->kind == VALUE_INT ? (double)reward->integer : reward->real;
	why = text_of(value_find(&root, "error"), "message");
	job->why = why ? arena_strndup(keep, why->string.s, why->string.n) : NULL;
	job->warnings = take_warnings(value_find(&root, "warnings"), keep);
	return true;
}

static bool read_file(int dir, const char *name, struct arena *a, struct str *ret)
{
	struct cordon_err ignored = { 0 };
	cleanup_fd int fd = open_beneath(dir, name, O_RDONLY | O_NOFOLLOW);

	return fd >= 0 && fd_read_text(fd, name, MAX_OUTPUT_BYTES, a, ret, &ignored) == 0;
}

/* Its result, if it wrote one. */
static bool read_result(struct job *job, struct arena *a, struct str *ret)
{
	return read_file(job->about.dir, TRIAL_RESULT, a, ret) && take_result(job, *ret);
}

/* Among those of all. */
static void list_result(struct job *job, struct str text)
{
	struct jobs *j = job->jobs;

	if (j->o->json)
		job->text = strndup(text.s, text.n);
	if (write(j->results, text.s, text.n) != (ssize_t)text.n)
		j->unwritten = true;
}

static void write_lost(struct job *job, const char *why)
{
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES);
	struct json_out j = { .out = &out };
	struct cordon_err ignored = { 0 };
	struct str text;

	trial_print_lost(&job->about, why, &j);
	buf_putc(&out, '\n');
	text = (struct str){ buf_text(&out), out.n };
	job->status = TRIAL_ERROR;
	job->has_reward = false;
	job->why = arena_strndup(job->jobs->arena, why, strlen(why));
	if (job->about.dir >= 0 &&
	    folder_write(job->about.dir, TRIAL_RESULT, text, &ignored) < 0)
		job->jobs->unwritten = true;
	list_result(job, text);
}

/* The names of tasks and of their steps are other people's, and a terminal obeys
 * some bytes. */
static const char *plain(const char *text, struct buf *out)
{
	if (text)
		buf_put_plain(out, str_first(str_from(text), str_find(str_from(text), '\n')));
	return text ? buf_text(out) : NULL;
}

static void tell(struct job *job, bool ended, int64_t leftovers)
{
	cleanup_buf struct buf name = BUF(MAX_OUTPUT_BYTES), step = BUF(MAX_OUTPUT_BYTES);
	cleanup_buf struct buf why = BUF(MAX_OUTPUT_BYTES);
	struct jobs *j = job->jobs;
	struct cordon_trial_event e = {
		.trial = plain(job->about.name, &name), .phase = job->phase,
		.step = plain(job->step, &step),
		.status = ended ? trial_status_word(job->status) : NULL,
		.why = job->status == TRIAL_COMPLETED ? NULL : plain(job->why, &why),
		.warnings = ended && !job->reused ? job->warnings : NULL,
		.reused = job->reused, .has_reward = job->has_reward, .reward = job->reward,
		.duration_ms = job->duration_ms, .n_done = j->n_done, .n_running = j->n_running,
		.n_failed = j->n_failed, .n_all = j->n, .leftovers = leftovers,
	};

	if (j->o->tell)
		j->o->tell(j->o->tell_arg, &e);
}

static void finish(struct job *job)
{
	job->state = JOB_DONE;
	job->jobs->n_done++;
	job->jobs->n_failed += job->status != TRIAL_COMPLETED;
	fd_close(&job->about.dir);
	tell(job, true, 0);
}

/* ---- in a trial's process --------------------------------------------------- */

static void send_news(const struct trial_about *about, const struct news *news)
{
	const struct job *job = about->arg;

	(void)!write(job->jobs->news[1], news, sizeof(*news));
}

static void tell_phase(const struct trial_about *about, const char *phase, struct str step)
{
	const struct job *job = about->arg;
	struct news news = { .job = (size_t)(job - job->jobs->items) };

	snprintf(news.phase, sizeof(news.phase), "%s", phase);
	snprintf(news.step, sizeof(news.step), "%.*s", (int)MIN(step.n, 60u), step.s);
	send_news(about, &news);
}

static void tell_leftovers(const struct trial_about *about, int64_t n)
{
	const struct job *job = about->arg;

	send_news(about, &(struct news){ .job = (size_t)(job - job->jobs->items), .leftovers = n });
}

/* Nothing of the terminal's, and no longer than the process that started it. */
static int leave_caller(pid_t parent)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	sigemptyset(&none);
	if (setsid() < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent ||
	    null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
		return -1;
	return sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void job_main(struct job *job, pid_t parent)
{
	struct news news = { .job = (size_t)(job - job->jobs->items) };
	struct cordon_err err;

	if (leave_caller(parent) < 0)
		_exit(1);
	fd_close(&job->jobs->news[0]);
	if (trial_run(&job->about, &err) == 0)
		_exit(0);
	snprintf(news.problem, sizeof(news.problem), "%.250s", err.msg);
	send_news(&job->about, &news);
	_exit(1);
}

/* ---- starting ---------------------------------------------------------------- */

/* Are the task and the options of the result that is there still the same? */
static bool is_same_question(const struct job *job)
{
	cleanup_arena struct arena a = ARENA(MAX_ARENA_BYTES);
	struct task_folder f = TASK_FOLDER;
	struct cordon_err ignored = { 0 };
	char question[SHA256_HEX] = "";
	struct str text, then;

	if (task_folder_open(job->about.file, &a, &f, &ignored) == 0 &&
	    task_folder_read(&f, &a, &text, &ignored) == 0)
		trial_digest(&job->jobs->wishes, text, question);
	task_folder_close(&f);
	return question[0] && read_file(job->about.dir, TRIAL_QUESTION, &a, &then) &&
	       str_is(then, question);
}

/* Of a trial whose process is dead; this waits until they have noticed. */
static void end_sessions(const char *session)
{
	char own[MAX_SESSION_NAME];
	struct cordon_err ignored = { 0 };

	(void)!live_kill(session, &ignored);
	if (trial_own_session(session, own, sizeof(own)) == 0)
		(void)!live_kill(own, &ignored);
}

/* Somebody else's folder is never cleared: ours have a mark, which comes first and
 * stays, so that no end of this process leaves one without it.  It holds the name
 * of the last session, which may still be about to end. */
static int mark_folder(const struct job *job, bool is_there, struct cordon_err *err)
{
	const struct trial_about *about = &job->about;
	cleanup_fd int fd = open_beneath(job->jobs->marks, about->name,
					 O_RDWR | O_NOFOLLOW | (is_there ? 0 : O_CREAT));
	size_t size = strlen(about->session);
	char before[MAX_SESSION_NAME] = "";

	if (fd < 0 && errno == ENOENT)
		return err_set(err, CORDON_E_USAGE,
			       "'%s' is there and holds no trial; choose another --output-dir",
			       about->path);
	if (fd < 0 || read(fd, before, sizeof(before) - 1) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot mark '%s'", about->path);
	if (str_starts(str_from(before), SESSIONS))
		end_sessions(before);
	if (ftruncate(fd, 0) < 0 || pwrite(fd, about->session, size, 0) != (ssize_t)size)
		return err_sys(err, CORDON_E_SETUP, "cannot mark '%s'", about->path);
	return 0;
}

/* Its folder, empty.  1: what is there is complete, and stays. */
static int make_folder(struct job *job, struct cordon_err *err)
{
	cleanup_arena struct arena a = ARENA(MAX_ARENA_BYTES);
	struct jobs *j = job->jobs;
	struct stat st;
	struct str before;

	if (mark_folder(job, entry_stat(j->dir, job->about.name, &st) == 0, err) < 0)
		return -1;
	job->about.dir = make_private(j->dir, job->about.name, err);
	if (job->about.dir < 0)
		return -1;
	if (read_result(job, &a, &before) && job->status == TRIAL_COMPLETED) {
		if (!is_same_question(job))
			return err_set(err, CORDON_E_USAGE,
				       "'%s' holds the result of another text of the task, or of "
				       "other options; choose another --output-dir, or remove it",
				       job->about.path);
		list_result(job, before);
		return 1;
	}
	return folder_clear(job->about.dir, err);
}

static void start_job(struct job *job)
{
	struct jobs *j = job->jobs;
	pid_t parent = getpid();
	struct cordon_err err;
	int rc = make_folder(job, &err);

	job->begin_ms = now_ms();
	if (rc == 1) {
		job->reused = true;
		finish(job);
		return;
	}
	if (rc == 0) {
		job->pid = fork();
		if (job->pid == 0)
			job_main(job, parent);
		if (job->pid > 0)
			job->pidfd = pidfd_of(job->pid);
		if (job->pid < 0 || job->pidfd < 0)
			rc = err_sys(&err, CORDON_E_SETUP, "cannot start a process");
	}
	if (rc < 0) {
		if (job->pid > 0) {
			kill(job->pid, SIGKILL);
			waitpid(job->pid, NULL, 0);
		}
		/* Not into a folder that is somebody else's. */
		fd_close(&job->about.dir);
		write_lost(job, err.msg);
		finish(job);
		return;
	}
	job->state = JOB_RUNNING;
	j->n_running++;
}

/* ---- ending ------------------------------------------------------------------- */

static void end_job(struct job *job)
{
	cleanup_arena struct arena a = ARENA(MAX_ARENA_BYTES);
	siginfo_t info = { 0 };
	struct str text;
	char why[400];

	if (waitid(P_PIDFD, (id_t)job->pidfd, &info, WEXITED) < 0)
		info.si_code = CLD_KILLED;
	fd_close(&job->pidfd);
	job->jobs->n_running--;
	job->duration_ms = now_ms() - job->begin_ms;
	if (info.si_code != CLD_EXITED || info.si_status != 0)
		end_sessions(job->about.session);
	if (info.si_code == CLD_EXITED && info.si_status == 0 && read_result(job, &a, &text)) {
		list_result(job, text);
		finish(job);
		return;
	}
	if (job->jobs->interrupted)
		snprintf(why, sizeof(why), "interrupted by signal %d in %s",
			 job->jobs->interrupted, job->phase[0] ? job->phase : "its beginning");
	else if (job->problem[0])
		snprintf(why, sizeof(why), "the result could not be written: %s", job->problem);
	else if (info.si_code == CLD_EXITED)
		snprintf(why, sizeof(why), "the trial's process ended without a result in %s",
			 job->phase[0] ? job->phase : "its beginning");
	else
		snprintf(why, sizeof(why), "the trial's process was killed by signal %d in %s",
			 info.si_status, job->phase[0] ? job->phase : "its beginning");
	write_lost(job, why);
	finish(job);
}

static void read_news(struct jobs *j)
{
	struct news n;

	while (read(j->news[0], &n, sizeof(n)) == (ssize_t)sizeof(n)) {
		struct job *job = n.job < j->n ? &j->items[n.job] : NULL;

		if (!job || job->state != JOB_RUNNING)
			continue;
		if (n.problem[0]) {
			memcpy(job->problem, n.problem, sizeof(job->problem));
			continue;
		}
		if (n.leftovers) {
			tell(job, false, n.leftovers);
			continue;
		}
		memcpy(job->phase, n.phase, sizeof(job->phase));
		memcpy(job->step, n.step, sizeof(job->step));
		tell(job, false, 0);
	}
}

static void interrupt(struct jobs *j, int signal)
{
	j->interrupted = signal;
	for (size_t i = 0; i < j->n; i++)
		if (j->items[i].state == JOB_RUNNING)
			kill(j->items[i].pid, SIGKILL);
}

/* ---- the loop ------------------------------------------------------------------ */

static int wait_for_one(struct jobs *j, int signals, struct cordon_err *err)
{
	struct pollfd fds[2 + MAX_TRIAL_JOBS];
	size_t whose[2 + MAX_TRIAL_JOBS], n = 2;
	struct signalfd_siginfo si;

	fds[0] = (struct pollfd){ .fd = signals, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = j->news[0], .events = POLLIN };
	for (size_t i = 0; i < j->n && n < ARRAY_SIZE(fds); i++)
		if (j->items[i].state == JOB_RUNNING) {
			whose[n] = i;
			fds[n++] = (struct pollfd){ .fd = j->items[i].pidfd, .events = POLLIN };
		}
	if (poll(fds, n, -1) < 0 && errno != EINTR)
		return err_sys(err, CORDON_E_SETUP, "cannot wait for trials");
	read_news(j);
	if (fds[0].revents && read(signals, &si, sizeof(si)) == (ssize_t)sizeof(si))
		interrupt(j, (int)si.ssi_signo);
	for (size_t i = 2; i < n; i++)
		if (fds[i].revents)
			end_job(&j->items[whose[i]]);
	return 0;
}

static int loop(struct jobs *j, int signals, struct cordon_err *err)
{
	size_t most = MIN(j->o->jobs ? j->o->jobs : 1, MAX_TRIAL_JOBS), next = 0;

	for (;;) {
		while (!j->interrupted && next < j->n && j->n_running < most)
			start_job(&j->items[next++]);
		if (!j->n_running)
			return 0;
		if (wait_for_one(j, signals, err) < 0) {
			interrupt(j, SIGKILL);
			for (size_t i = 0; i < j->n; i++)
				if (j->items[i].state == JOB_RUNNING)
					end_job(&j->items[i]);
			return -1;
		}
	}
}

static int make_items(struct jobs *j, const struct trial_list *list, struct cordon_err *err)
{
	unsigned mark = 0;

	if (getrandom(&mark, sizeof(mark), 0) != (ssize_t)sizeof(mark))
		return err_sys(err, CORDON_E_SETUP, "no random number");
	j->items = arena_new(j->arena, list->n + 1, sizeof(*j->items));
	if (!j->items)
		return err_nomem(err);
	for (size_t i = 0; i < list->n; i++) {
		struct job *job = &j->items[i];

		job->jobs = j;
		job->pidfd = -1;
		job->about = (struct trial_about){
			.wishes = &j->wishes, .name = list->items[i].name,
			.file = list->items[i].file, .dir = -1, .tell = tell_phase,
			.tell_leftovers = tell_leftovers, .arg = job,
			.path = arena_printf(j->arena, "%s/%s", j->path, list->items[i].name),
			.session = arena_printf(j->arena, SESSIONS "%08x-%zu", mark, i + 1),
		};
		if (!job->about.path || !job->about.session)
			return err_nomem(err);
	}
	j->n = list->n;
	return 0;
}

/* What only the verifier, or nobody, may see of a task; it may lie where every
 * command can read, as in /opt. */
static int hide_task(struct jobs *j, const char *file, const char **ret, size_t *n,
		     struct cordon_err *err)
{
	static const char *const parts[TASK_SECRETS - 1] = { "tests", "solution", "steps" };
	int dir = (int)(strrchr(file, '/') - file);

	for (size_t i = 0; i < TASK_SECRETS; i++) {
		const char *path = i ? arena_printf(j->arena, "%.*s/%s", dir, file, parts[i - 1])
				     : file;

		if (!path)
			return err_nomem(err);
		if (path_resolve(j->arena, str_from(path), "/", &ret[*n], err) < 0)
			return -1;
		++*n;
	}
	return 0;
}

static int hide_tasks(struct jobs *j, const struct trial_list *list, struct cordon_err *err)
{
	const char **hidden = arena_new(j->arena, list->n * TASK_SECRETS + 1, sizeof(*hidden));
	size_t n = 0;

	if (!hidden)
		return err_nomem(err);
	for (size_t i = 0; i < list->n; i++)
		/* Attempts at one follow each other. */
		if ((!i || strcmp(list->items[i].file, list->items[i - 1].file) != 0) &&
		    hide_task(j, list->items[i].file, hidden, &n, err) < 0)
			return -1;
	j->wishes.hidden = hidden;
	j->wishes.n_hidden = n;
	j->wishes.output = j->path;
	return 0;
}

int jobs_run(struct jobs *j, const struct trial_list *list, struct cordon_err *err)
{
	cleanup_fd int signals = -1;
	sigset_t ours, before;
	int rc;

	j->dir = j->results = j->lock = j->marks = j->news[0] = j->news[1] = -1;
	if (open_output(j, err) < 0 || make_items(j, list, err) < 0 ||
	    hide_tasks(j, list, err) < 0)
		return -1;
	if (pipe2(j->news, O_CLOEXEC) < 0 || fcntl(j->news[0], F_SETFL, O_NONBLOCK) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot make a pipe");
	sigemptyset(&ours);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGHUP);
	signals = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0 || sigprocmask(SIG_BLOCK, &ours, &before) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot watch signals");
	rc = loop(j, signals, err);
	(void)!sigprocmask(SIG_SETMASK, &before, NULL);
	return rc;
}

void jobs_release(struct jobs *j)
{
	for (size_t i = 0; i < j->n; i++)
		free(j->items[i].text);
	fd_close(&j->dir);
	fd_close(&j->results);
	fd_close(&j->lock);
	fd_close(&j->marks);
	fd_close(&j->news[0]);
	fd_close(&j->news[1]);
}
