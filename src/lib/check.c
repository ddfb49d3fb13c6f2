/* Policy files against the schema and against this machine: what a run by each of
 * them, from here, would be refused for. */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/path.h"
#include "host/probe.h"
#include "lib/answer.h"
#include "lib/narrow.h"
#include "lib/request.h"
#include "lib/warn.h"
#include "super/limiter.h"
#include "super/scope.h"

/* This machine, once it was asked: not for texts that are wrong anywhere. */
struct machine {
	bool is_known;
	struct host_caps caps;
};

static int probe_machine(struct machine *m, struct cordon_err *err)
{
	if (!m->is_known && host_probe(&m->caps, err) < 0)
		return -1;
	if (!m->is_known)
		m->caps.cgroup = limiter_detect();
	m->is_known = true;
	return 0;
}

/* The group that systemd would give to a run, tried by a child: whoever asks for one is
 * moved for good. */
static enum host_cgroup probe_scope(void)
{
	struct cordon_err ignored;
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		_exit(scope_start(&ignored) < 0 ? HOST_CGROUP_NONE : (int)limiter_detect());
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && WIFEXITED(status) ? (enum host_cgroup)WEXITSTATUS(status)
					    : HOST_CGROUP_NONE;
}

/* The defaults, too, but for a root that is only where the caller stands. */
static int fill_defaults(struct composition *c)
{
	compose_leave_out_top(c);
	return compose_defaults(c);
}

/* Would a run start, or a session?  -1: that cannot be told. */
static int check_here(struct composition *c, const struct cordon_request *req,
		      bool is_for_session, struct machine *machine, const char *path,
		      struct cordon_err *err)
{
	struct cordon_request any = request_any_command(req);
	struct host_caps caps;
	struct cordon_err why;
	struct plan_request r;
	struct record record;
	struct plan plan;

	if (probe_machine(machine, err) < 0 || request_read(c, &any, &r, &record, err) < 0)
		return -1;
	caps = machine->caps;
	r.session = is_for_session;
	if (!r.session && caps.cgroup == HOST_CGROUP_NONE && request_requires_cgroup(&c->policy))
		caps.cgroup = probe_scope();
	/* The variables that a run takes are not the machine's. */
	r.environ = NULL;
	if (plan_compile(&c->policy, &caps, &r, &c->arena, &plan, &why) == 0)
		return 0;
	if (why.code != CORDON_E_HOST && why.code != CORDON_E_POLICY) {
		*err = why;
		return -1;
	}
	diag_error(&c->diags, (struct place){ path, MAX(why.line, 1u), MAX(why.col, 1u) }, "%s",
		   why.msg);
	return 0;
}

/* The text by itself, into c->policy.  -1: it could not be read at all. */
static int check_text(struct composition *c, const struct cordon_request *req, const char *path,
		      bool *ret_is_for_session)
{
	const struct dialect *dialect;
	struct source src;

	/* Each is a policy of its own. */
	c->n_sources = 0;
	if (compose_read_source(c, path, &src) < 0)
		return -1;
	dialect = req->dialect ? dialect_find(req->dialect) : dialect_detect(&src);
	/* What is wrong with it is the answer. */
	if (compose_text(c, &src, dialect, &c->policy) == 0)
		warn_of_variables(&c->policy, &c->diags);
	/* A task's phases may be in more than one session: cordon trial --check knows. */
	*ret_is_for_session = c->policy.n_phases && dialect != &dialect_harbor;
	return 0;
}

/* What trust would open, of the file that a run would find here. */
static int print_asks(const struct cordon_request *req, const char *path, struct buf *out,
		      struct cordon_err *err)
{
	const struct cordon_request no_options = CORDON_REQUEST;
	cleanup_composition struct composition c;
	const char *full;
	struct source src;

	if (composition_init(&c, req, err) < 0)
		return -1;
	full = path_normal(&c.arena, str_from(path), c.here);
	if (!full)
		return err_nomem(err);
	if (compose_find(&c, &src) < 0 || !c.found || !c.untrusted || strcmp(full, c.found) != 0 ||
	    compose_text(&c, &src, req->dialect ? dialect_find(req->dialect) :
						  dialect_detect(&src), &c.policy) < 0 ||
	    narrow_policy(&c, &no_options) < 0 || !c.n_asks)
		return 0;
	buf_put_plain(out, str_from(path));
	buf_puts(out, " is not trusted; cordon trust opens: ");
	narrow_print(&c, out);
	buf_putc(out, '\n');
	return 0;
}

int cordon_check(const struct cordon_request *req, struct cordon_answer *ret,
		 struct cordon_err *err)
{
	cleanup_composition struct composition c;
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES);
	struct machine machine = { 0 };
	int rc = 0;

	if (composition_init(&c, req, err) < 0)
		return -1;
	if (!req->n_files)
		return err_set(err, CORDON_E_USAGE, "0 policy files are given; 1 needed");
	for (size_t i = 0; i < req->n_files; i++) {
		size_t before = c.diags.n_errors;
		bool is_for_session;

		if (check_text(&c, req, req->files[i], &is_for_session) < 0) {
			rc = -1;
			continue;
		}
		if (c.diags.n_errors == before && fill_defaults(&c) == 0 &&
		    (check_here(&c, req, is_for_session, &machine, req->files[i], err) < 0 ||
		     print_asks(req, req->files[i], &out, err) < 0))
			return -1;
	}
	return answer_fill(ret, c.diags.n_errors == 0, &out, &c, rc, err);
}
