/* Starting a session: compose, compile everything that it will need, and leave a
 * supervisor behind.
 *
 * Who runs
 *
 *   starter      the caller; waits until the supervisor says "ready", or why not
 *   supervisor   a process of its own, in a session without a terminal, with
 *                nothing of the caller's open; holds the cordon until its end
 */
#include "lib/session_start.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/syscalls.h"
#include "host/probe.h"
#include "lib/answer.h"
#include "lib/live_policy.h"
#include "lib/request.h"
#include "lib/warn.h"
#include "policy/quantity.h"
#include "super/live.h"
#include "super/report.h"
#include "super/session.h"

#define DEFAULT_IDLE_MS	(24 * 3600 * INT64_C(1000))

/* What the supervisor says over the pipe, one write each. */
enum word { SAYS_WARNING, SAYS_READY, SAYS_FAILED, N_WORDS };
struct says {
	enum word word;
	struct cordon_err err;
};

struct starting {
	struct composition *c;
	const struct cordon_session_options *o;
	const struct session_wish *wish;
	struct plan_request request;
	struct record record;
	struct host_report report;
	struct plan plan;
	struct run_result res;
	struct run_reporter reporter;
	struct session_options so;
	int pipe;			/* the supervisor's end */
};

/* ---- in the supervisor -------------------------------------------------- */

/* False: the starter is gone. */
static bool say(const struct starting *s, enum word word, const struct cordon_err *err)
{
	struct says says = { .word = word };

	if (err)
		says.err = *err;
	return write(s->pipe, &says, sizeof(says)) == (ssize_t)sizeof(says);
}

static bool say_ready(void *arg)
{
	struct starting *s = arg;
	bool heard = say(s, SAYS_READY, NULL);

	fd_close(&s->pipe);
	return heard;
}

/* Nothing of the caller's but the pipe, which becomes 3. */
static int leave_caller(struct starting *s, struct cordon_err *err)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; null >= 0 && i < 3; i++)
		if (dup2(null, i) < 0)
			return err_sys(err, CORDON_E_SETUP, "cannot leave the caller's streams");
	if (null < 0 || (s->pipe != 3 && dup3(s->pipe, 3, O_CLOEXEC) < 0) ||
	    sys_close_range(4, ~0u) < 0 || chdir("/") < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot leave the caller's place");
	s->pipe = 3;
	return 0;
}

static int start_record(struct starting *s, struct cordon_err *err)
{
	const struct field_value *f = s->c->policy.base.f;
	const char *const words[] = { "session", s->so.name, NULL };
	struct run_about about = {
		.argv = words,
		.cwd = s->request.cwd,
		.policies = s->request.policy_files.paths,
		.n_policies = s->c->n_sources,
		.profile = field_words(KIND_PROFILE)[f[F_PROFILE].number],
		.backend = field_words(KIND_BACKEND)[f[F_BACKEND].number],
	};
	struct run_audit *told = &s->res.audit;
	struct cordon_err warning;

	told->path = s->record.path;
	if (record_open(s->c, &s->record, s->res.run_id, &s->reporter.audit, &told->problem,
			err) < 0)
		return -1;
	if (told->problem) {
		err_set(&warning, CORDON_E_SETUP, "warning: this session is not recorded: %s; "
			"--audit FILE names another place", told->problem);
		(void)say(s, SAYS_WARNING, &warning);
	}
	run_report_start(&s->reporter, &about);
	return 0;
}

static int hold(struct starting *s, struct cordon_err *err)
{
	struct live_policy_about about = { s->c, &s->plan, &s->report.caps, &s->request };
	struct live_policy *policy = live_policy_new(&about, err);
	struct session_ops ops;
	struct live live;
	int rc;

	if (!policy)
		return -1;
	ops = live_policy_ops(policy);
	s->so.ops = &ops;
	rc = live_add_session(&live, s->res.run_id, s->so.name, s->request.cwd, err);
	if (rc == 0 && start_record(s, err) < 0) {
		live_remove(&live);
		rc = -1;
	}
	if (rc == 0) {
		rc = session_hold(&s->plan, &s->report.caps, &live, &s->so, err);
		if (rc < 0)
			s->res.err = *err;
		run_report_end(&s->reporter, &s->plan);
	}
	live_policy_free(policy);
	return rc;
}

static _Noreturn void supervisor_main(struct starting *s)
{
	struct cordon_err err = { 0 };

	signal(SIGPIPE, SIG_IGN);
	if (leave_caller(s, &err) < 0 || hold(s, &err) < 0)
		(void)say(s, SAYS_FAILED, &err);
	_exit(0);
}

/* ---- in the starter ----------------------------------------------------- */

/* A grandchild: nobody has to wait for it. */
static int start_supervisor(struct starting *s, int pipe_end, struct cordon_err *err)
{
	int status;
	pid_t pid;

	s->pipe = pipe_end;
	pid = fork();
	if (pid < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot start a supervisor");
	if (pid == 0) {
		if (setsid() < 0)
			_exit(1);
		pid = fork();
		if (pid == 0)
			supervisor_main(s);
		_exit(pid < 0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return 0;
}

static int wait_for_ready(const struct starting *s, int pipe_end, struct cordon_err *err)
{
	struct says says;
	ssize_t n;

	for (;;) {
		n = read(pipe_end, &says, sizeof(says));
		if (n < 0 && errno == EINTR)
			continue;
		if (n != (ssize_t)sizeof(says))
			return err_set(err, CORDON_E_PEER,
				       "the supervisor ended before the session was ready");
		if (says.word == SAYS_READY)
			return 0;
		if (says.word == SAYS_FAILED) {
			*err = says.err;
			return -1;
		}
		if (s->o->warn)
			s->o->warn(s->o->warn_arg, says.err.msg);
	}
}

static int read_options(struct starting *s, struct cordon_err *err)
{
	const struct cordon_session_options *o = s->o;
	uint64_t owner = 0;

	if (o->size != sizeof(*o))
		return err_set(err, CORDON_E_USAGE,
			       "the options are of another version of cordon.h");
	if (o->name && !live_name_is_good(o->name))
		return err_set(err, CORDON_E_USAGE,
			       "--name takes letters, digits, '.', '_' and '-', not all digits and "
			       "not like a run id: not '%s'", o->name);
	s->so = (struct session_options){ .name = o->name, .idle_ms = DEFAULT_IDLE_MS,
					  .reporter = &s->reporter, .ready = say_ready,
					  .ready_arg = s };
	if (o->idle && strcmp(o->idle, "none") == 0)
		s->so.idle_ms = INT64_MAX;
	else if (o->idle && !quantity_parse_duration(str_from(o->idle), &s->so.idle_ms))
		return err_set(err, CORDON_E_USAGE, "--idle takes a duration or none, not '%s'",
			       o->idle);
	if (o->owner && (!str_parse_u64(str_from(o->owner), &owner) || !owner || owner > INT32_MAX))
		return err_set(err, CORDON_E_USAGE, "--owner takes a process id, not '%s'",
			       o->owner);
	s->so.owner = (pid_t)owner;
	return 0;
}

/* Everything that can be known before: so a phase that this machine cannot hold
 * is refused now. */
static int plan_session(struct starting *s, const struct cordon_request *req,
			struct cordon_err *err)
{
	s->c->like_container = s->wish->like_container;
	s->so.limit_output = policy_is_written(&s->c->policy, F_LIMITS_OUTPUT);
	if (request_read(s->c, req, &s->request, &s->record, err) < 0)
		return -1;
	s->request.session = true;
	s->request.embedded = !s->o->own_process;
	s->request.aliases = s->wish->aliases;
	s->request.n_aliases = s->wish->n_aliases;
	s->request.hidden = s->wish->hidden;
	s->request.n_hidden = s->wish->n_hidden;
	s->request.unshared = s->wish->unshared;
	s->request.status = arena_printf(&s->c->arena, "%s/%s/inside", s->request.live_root,
					 s->res.run_id);
	if (!s->request.status)
		return err_nomem(err);
	if (s->wish->machine)
		s->report = *s->wish->machine;
	else if (host_probe_report(&s->report, err) < 0)
		return -1;
	s->report.caps.cgroup = limiter_detect();
	if (plan_compile(&s->c->policy, &s->report.caps, &s->request, &s->c->arena, &s->plan,
			 err) < 0)
		return -1;
	/* The supervisor, init and its copies come of this process by fork(). */
	if (s->plan.n_rules && !s->o->own_process)
		return err_set(err, CORDON_E_USAGE,
			       "commands are blocked by their arguments: such a session would show "
			       "the memory of this program inside; start it by cordon session "
			       "start");
	return 0;
}

static int start(struct starting *s, struct cordon_err *err)
{
	const struct warner warner = { s->o->warn, s->o->warn_arg };
	int ends[2], rc;

	warn_of_found(&warner, s->c);
	warn_of_cuts(&warner, s->c);
	warn_of_plan(&warner, &s->plan);
	if (request_make_roots(s->c, err) < 0)
		return -1;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot make a pipe");
	rc = start_supervisor(s, ends[1], err);
	close(ends[1]);
	if (rc == 0)
		rc = wait_for_ready(s, ends[0], err);
	close(ends[0]);
	return rc;
}

/* A text of ours: values in it are not to be in a file. */
static int take_policy(struct composition *c, const struct source *policy)
{
	const char **source = arena_new(&c->arena, 1, sizeof(*source));

	if (!source)
		return diag_error(&c->diags, (struct place){ 0 }, "out of memory");
	*source = policy->name;
	c->sources = source;
	c->n_sources = c->cap_sources = 1;
	return compose_text(c, policy, dialect_find("cordon"), &c->policy);
}

int session_start(const struct session_wish *w, struct cordon_answer *ret, struct cordon_err *err)
{
	cleanup_composition struct composition c;
	cleanup_buf struct buf out = BUF(256);
	struct starting s = { .c = &c, .o = w->options, .wish = w,
			      .reporter = { .res = &s.res } };
	int rc;

	if (composition_init(&c, w->request, err) < 0 || read_options(&s, err) < 0)
		return -1;
	if ((w->policy.name && take_policy(&c, &w->policy) < 0) ||
	    compose_all(&c, w->request) < 0 || compose_defaults(&c) < 0)
		return answer_fill(ret, false, NULL, &c, -1, err);
	run_result_init(&s.res);
	rc = plan_session(&s, w->request, err);
	if (rc == 0 && !w->only_plan)
		rc = start(&s, err);
	buf_printf(&out, "%s\n", s.res.run_id);
	run_result_release(&s.res);
	return rc < 0 ? -1 : answer_fill(ret, true, &out, &c, 0, err);
}

int cordon_session_start(const struct cordon_request *req,
			 const struct cordon_session_options *options, struct cordon_answer *ret,
			 struct cordon_err *err)
{
	return session_start(&(struct session_wish){ .request = req, .options = options }, ret,
			     err);
}
