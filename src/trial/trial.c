/* One trial; see trial.h. */
#include "trial/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "lib/session_start.h"
#include "super/live.h"
#include "trial/judge.h"
#include "trial/phase.h"
#include "trial/trial_priv.h"

/* ---- before anything starts --------------------------------------------- */

static int reject(struct trial *t, const char *stage)
{
	t->status = TRIAL_REJECTED;
	t->stage = stage;
	return -1;
}

/* In words that may be longer than an error is. */
static int reject_for(struct trial *t, const char *stage, const char *why)
{
	err_set(&t->err, CORDON_E_POLICY, "%s", why);
	t->reason = arena_strndup(&t->c.arena, why, strlen(why));
	return reject(t, stage);
}

/* The problems of a text as one message. */
static int reject_problems(struct trial *t, const char *stage)
{
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES);

	diags_print(&t->c.diags, &out);
	while (out.n && out.data[out.n - 1] == '\n')
		out.data[--out.n] = '\0';
	return reject_for(t, stage, buf_text(&out));
}

void trial_digest(const struct trial_wishes *w, struct str task, char ret[SHA256_HEX])
{
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, w->asked);
	sha256_add(&s, task);
	sha256_print(&s, ret);
}

static const struct task_step *step_of(const struct trial *t, size_t i)
{
	return t->task.n_steps ? &t->policies.task.steps[i] : NULL;
}

static size_t count_steps(const struct trial *t)
{
	return MAX(t->task.n_steps, 1u);
}

static int judge(struct trial *t)
{
	struct judgement j = JUDGEMENT;
	char question[SHA256_HEX];
	int rc = judge_task(&t->c, t->about->file, t->about->wishes, &j, &t->err);

	t->folder = j.folder;
	t->task = j.task;
	t->verdict = j.verdict;
	t->commands = j.commands;
	t->policies = j.policies;
	if (rc < 0)
		return -1;
	for (size_t i = 0; i < j.verdict.n_warnings; i++)
		trial_warn(t, j.verdict.warnings[i]);
	trial_digest(t->about->wishes, j.text, question);
	if (folder_write(t->about->dir, TRIAL_QUESTION, str_from(question), &t->err) < 0)
		return -1;
	if (!j.verdict.accepted)
		return reject_for(t, trial_stage_name(j.verdict.stage), j.verdict.reason);
	if (j.no_command)
		return reject_for(t, "command", j.no_command);
	t->rewards = arena_new(&t->c.arena, count_steps(t), sizeof(*t->rewards));
	return t->rewards ? 0 : err_nomem(&t->err);
}

/* ---- environments -------------------------------------------------------- */

/* A session over a place, or only the question whether there could be one. */
struct environment {
	const struct workplace *place;
	const char *session;
	bool only_plan;
};

static int start(struct trial *t, const struct environment *e)
{
	struct cordon_session_options o = CORDON_SESSION_OPTIONS;
	const struct trial_wishes *wishes = t->about->wishes;
	struct cordon_request req = *wishes->request;
	struct cordon_answer answer = { 0 };
	const char *audit = arena_printf(&t->c.arena, "%s/audit.jsonl", t->about->path);
	char owner[16];
	int rc;

	o.own_process = wishes->own_process;
	if (!audit)
		return err_nomem(&t->err);
	snprintf(owner, sizeof(owner), "%d", (int)getpid());
	req.files = NULL;
	req.n_files = 0;
	req.dialect = NULL;
	req.cwd = e->place->roots[PLACE_APP];
	req.discover = false;
	req.ceilings = true;
	req.audit = req.audit ? req.audit : audit;
	o.name = e->session;
	o.idle = "none";
	o.owner = owner;
	rc = session_start(&(struct session_wish){ .request = &req,
						   .policy = e->place->policy,
						   .options = &o,
						   .aliases = e->place->aliases,
						   .n_aliases = PLACE_PARTS,
						   .hidden = wishes->hidden,
						   .n_hidden = wishes->n_hidden,
						   .unshared = wishes->output,
						   .machine = wishes->machine,
						   .like_container = true,
						   .only_plan = e->only_plan },
			   &answer, &t->err);
	if (rc < 0 && answer.problems)
		err_set(&t->err, t->err.code, "%s", answer.problems);
	cordon_answer_release(&answer);
	return rc;
}

static void stop(const char *session)
{
	struct cordon_err ignored;

	(void)!live_kill(session, &ignored);
}

static bool is_for_images(const char *name)
{
	return strcmp(name, "Dockerfile") == 0 || strncmp(name, "docker-compose.", 15) == 0 ||
	       strcmp(name, ".dockerignore") == 0;
}

static int make_place(struct trial *t)
{
	const struct trial_about *about = t->about;

	t->output = folder_make(about->dir, "output", &t->err);
	t->artifacts = t->output < 0 ? -1 : folder_make(about->dir, "artifacts", &t->err);
	if (t->artifacts < 0 ||
	    workplace_make(about->dir, about->path, t->task.environment.workdir, &t->c.arena,
			   &t->place, &t->err) < 0)
		return -1;
	if (workplace_fill(t->place.app, &t->folder, "environment", is_for_images, &t->err) < 0)
		return -1;
	if (policies_write(&t->c, &t->policies, NULL, &t->place, &t->err) < 0)
		return t->c.diags.n_errors ? reject_problems(t, "policy") : -1;
	return 0;
}

int trial_own_session(const char *session, char *ret, size_t size)
{
	return snprintf(ret, size, "%s-verifier", session) < (int)size ? 0 : -1;
}

/* The verifier's own place of a step, with its policy in it. */
static int make_own_place(struct trial *t, size_t i, struct workplace *ret)
{
	const struct task_step *step = step_of(t, i);
	const struct task_environment *own = task_verifier_environment(&t->task, step);
	const char *phase = policies_phase(step, "verifier.environment", &t->c.arena);
	const char *name = step ? arena_printf(&t->c.arena, "step-%zu.verifier", i + 1) :
				  "verifier";
	const char *path = name ? arena_printf(&t->c.arena, "%s/%s", t->about->path, name) : NULL;
	cleanup_fd int dir = -1;

	if (!phase || !path)
		return err_nomem(&t->err);
	dir = folder_make(t->about->dir, name, &t->err);
	if (dir < 0 || workplace_make(dir, path, own->workdir, &t->c.arena, ret, &t->err) < 0)
		return -1;
	if (policies_write(&t->c, &t->policies, phase, ret, &t->err) < 0)
		return t->c.diags.n_errors ? reject_problems(t, "policy") : -1;
	return 0;
}

/* Harbor finds out about these when the agent has done its work. */
static int check_own_places(struct trial *t)
{
	for (size_t i = 0; i < count_steps(t); i++) {
		struct workplace own = WORKPLACE;
		int rc;

		if (!t->verdict.steps[i].separate)
			continue;
		rc = make_own_place(t, i, &own);
		if (rc == 0)
			rc = start(t, &(struct environment){ &own, NULL, true });
		workplace_close(&own);
		if (rc < 0)
			return t->status == TRIAL_REJECTED ? -1 :
							     reject(t, "verifier-environment");
	}
	return 0;
}

/* ---- phases -------------------------------------------------------------- */

static void print_network(const struct task_network *net, struct json_out *j)
{
	json_key(j, "network_mode");
	json_put_text(j, field_words(KIND_NETWORK_MODE)[net->mode]);
	json_key(j, "allowed_hosts");
	json_open(j, '[');
	for (size_t i = 0; i < net->n_hosts; i++)
		json_put_str(j, net->hosts[i].text);
	json_close(j, ']');
}

static void open_phase(struct trial *t, const char *phase, const struct task_step *step)
{
	struct json_out *j = &t->phases;

	t->about->tell(t->about, phase, step ? step->name : STR(""));
	json_open(j, '{');
	json_key(j, "phase");
	json_put_text(j, phase);
	json_key(j, "step");
	if (step)
		json_put_str(j, step->name);
	else
		json_put_null(j);
}

/* The phase of an environment's beginning. */
static int run_start(struct trial *t, const char *phase, const struct task_step *step,
		     const struct environment *e, const struct task_network *net)
{
	struct json_out *j = &t->phases;
	int64_t begin = trial_now_ms();
	int rc;

	open_phase(t, phase, step);
	rc = start(t, e);
	json_key(j, "verdict");
	json_put_text(j, phase_verdict_word(rc < 0 ? PHASE_ERROR : PHASE_OK));
	print_network(net, j);
	json_key(j, "duration_ms");
	json_put_int(j, trial_now_ms() - begin);
	json_close(j, '}');
	return rc;
}

struct trial_phase {
	const char *name;			/* setup, agent, verifier */
	size_t step;
	const char *policy_phase;		/* NULL: the environment's own network */
	const struct trial_command *command;
	const struct workplace *place;
	const char *session;
	const struct task_network *network;
	const char *const *settings;
};

static void print_files(const struct phase_wish *w, struct json_out *j)
{
	static const char *const streams[] = { "stdout", "stderr" };

	for (size_t i = 0; i < ARRAY_SIZE(streams); i++) {
		char key[32], name[160];

		snprintf(key, sizeof(key), "%s_file", streams[i]);
		snprintf(name, sizeof(name), "output/%s.%s", w->name, streams[i]);
		json_key(j, key);
		json_put_text(j, name);
	}
}

/* One phase with a command; -1 only where the cordon was lost. */
static int run_phase(struct trial *t, const struct trial_phase *p, enum phase_verdict *ret)
{
	const struct task_step *step = step_of(t, p->step);
	cleanup_fd int input = open_beneath(p->place->dir, "instruction.md",
					    O_RDONLY | O_NOFOLLOW);
	char name[64];
	struct phase_wish w = {
		.session = p->session,
		.phase = p->policy_phase,
		.command = p->command,
		.workdir = p->place->workdir,
		.settings = p->settings,
		.input = strcmp(p->name, "agent") == 0 ? input : -1,
		.output = t->output,
		.name = name,
		.end_leftovers = t->about->wishes->end_leftovers ||
				 t->task.environment.ends_processes,
	};
	struct json_out *j = &t->phases;
	struct phase_result r;
	int rc = 0;

	if (step)
		snprintf(name, sizeof(name), "step-%zu.%s", p->step + 1, p->name);
	else
		snprintf(name, sizeof(name), "%s", p->name);
	open_phase(t, p->name, step);
	phase_run(&w, &t->c.arena, &r);
	if (r.leftovers)
		t->about->tell_leftovers(t->about, r.leftovers);
	json_key(j, "verdict");
	json_put_text(j, phase_verdict_word(r.verdict));
	print_network(p->network, j);
	json_key(j, "leftovers");
	json_put_int(j, r.leftovers);
	print_files(&w, j);
	run_result_print_keys(&r.run, &r.plan, j);
	json_close(j, '}');
	if (r.verdict == PHASE_ERROR) {
		t->err = r.run.err;
		rc = err_wrap(&t->err, "%s", p->name);
	}
	*ret = r.verdict;
	t->limit = r.run.limit;
	phase_result_release(&r);
	return rc;
}

/* ---- a step --------------------------------------------------------------- */

static int run_setup(struct trial *t, size_t i, const struct trial_command *c)
{
	struct trial_phase p = { .name = "setup", .step = i, .command = c, .place = &t->place,
				 .session = t->about->session,
				 .network = &t->verdict.steps[i].agent_env };
	enum phase_verdict v;

	if (!c->argv)
		return 0;
	if (run_phase(t, &p, &v) < 0)
		return -1;
	if (v == PHASE_OK)
		return 0;
	return err_set(&t->err, CORDON_E_PEER, "setup: %s; see output/",
		       phase_verdict_word(v));
}

static int prepare_step(struct trial *t, size_t i)
{
	const struct task_step *step = step_of(t, i);
	const char *workdir = step ? task_folder_step_part(step, "workdir", &t->c.arena) : NULL;
	const char *solution = task_folder_step_part(step, "solution", &t->c.arena);

	workplace_reopen(&t->place);
	if (workplace_instruct(&t->place, &t->folder, step, &t->c.arena, &t->err) < 0 ||
	    (workdir && workplace_fill(t->place.app, &t->folder, workdir, NULL, &t->err) < 0) ||
	    (workdir && workplace_allow_exec(t->place.app, "setup.sh", &t->err) < 0))
		return -1;
	if (i == 0 && run_setup(t, i, &t->commands[i].setup) < 0)
		return -1;
	if (run_setup(t, i, &t->commands[i].step_setup) < 0)
		return -1;
	if (folder_clear(t->place.solution, &t->err) < 0)
		return -1;
	if (!t->commands[i].agent.is_solution)
		return 0;
	if (workplace_fill(t->place.solution, &t->folder, "solution", NULL, &t->err) < 0 ||
	    (step && workplace_fill(t->place.solution, &t->folder, solution, NULL, &t->err) < 0))
		return -1;
	return workplace_allow_exec(t->place.solution, "solve.sh", &t->err);
}

static int run_agent(struct trial *t, size_t i)
{
	static const char *const settings[] = { "CORDON_INSTRUCTION=" TRIAL_INSTRUCTION, NULL };
	struct trial_phase p = {
		.name = "agent", .step = i, .command = &t->commands[i].agent, .place = &t->place,
		.session = t->about->session, .network = &t->verdict.steps[i].agent,
		.policy_phase = policies_phase(step_of(t, i), "agent", &t->c.arena),
		.settings = settings,
	};
	enum phase_verdict v;

	if (!p.policy_phase)
		return err_nomem(&t->err);
	/* An agent that failed is judged like any other, as Harbor does. */
	return run_phase(t, &p, &v);
}

/* What cannot be kept is told, and no reason not to judge the rest: an agent could
 * spare itself the verdict. */
static void keep(struct trial *t, struct str path, int to, struct folder_room *room)
{
	uint64_t n_wild = room->n_wild;
	struct cordon_err err = { 0 };
	int rc = workplace_keep(&t->place, path, to, room, &t->c.arena, &err);

	if (rc < 0)
		trial_warn(t, arena_printf(&t->c.arena, "%s", err.msg));
	if (rc == 1)
		trial_warn(t, arena_printf(&t->c.arena, "artifacts: '%.*s' is not kept: it is not "
					   "in %s, or is /logs or in /logs/verifier",
					   STR_FMT(path), t->place.workdir));
	if (room->n_wild > n_wild)
		trial_warn(t, arena_printf(&t->c.arena, "artifacts: '%.*s': symlinks that lead "
					   "out of it are not kept", STR_FMT(path)));
}

/* Not more than the agent may have written, however many names it gave to it. */
static struct folder_room artifacts_room(const struct trial *t)
{
	const struct policy *p = &t->policies.policy;
	struct folder_room room = workplace_room();

	if (policy_is_written(p, F_LIMITS_DISK))
		room.bytes = MIN(room.bytes, p->base.f[F_LIMITS_DISK].number);
	return room;
}

static void keep_artifacts(struct trial *t, size_t i, int to)
{
	struct folder_room room = artifacts_room(t);
	const struct task_step *step = step_of(t, i);
	const struct task_artifacts *lists[] = { &t->task.artifacts,
						 step ? &step->artifacts : NULL };

	for (size_t k = 0; k < ARRAY_SIZE(lists); k++)
		for (size_t n = 0; lists[k] && n < lists[k]->n; n++)
			keep(t, lists[k]->paths[n], to, &room);
	keep(t, STR(TRIAL_LOGS "/artifacts"), to, &room);
}

/* Its tests come now, and go with it: no agent has seen them. */
static int fill_tests(struct trial *t, size_t i, const struct workplace *place)
{
	const struct task_step *step = step_of(t, i);
	const char *own = task_folder_step_part(step, "tests", &t->c.arena);

	if (!own)
		return err_nomem(&t->err);
	if (workplace_renew_verifier(place, &t->err) < 0 ||
	    folder_clear(place->tests, &t->err) < 0 ||
	    workplace_fill(place->tests, &t->folder, "tests", NULL, &t->err) < 0 ||
	    (step && workplace_fill(place->tests, &t->folder, own, NULL, &t->err) < 0))
		return -1;
	return workplace_allow_exec(place->tests, "test.sh", &t->err);
}

static int verify_in(struct trial *t, size_t i, const struct workplace *place,
		     const char *session)
{
	struct trial_phase p = {
		.name = "verifier", .step = i, .command = &t->commands[i].verifier,
		.place = place, .session = session, .network = &t->verdict.steps[i].verifier,
		.policy_phase = policies_phase(step_of(t, i), "verifier", &t->c.arena),
	};
	enum phase_verdict v;
	cleanup_fd int dir = -1;

	if (!p.policy_phase)
		return err_nomem(&t->err);
	workplace_reopen(place);
	if (fill_tests(t, i, place) < 0 || run_phase(t, &p, &v) < 0 ||
	    folder_clear(place->tests, &t->err) < 0)
		return -1;
	dir = workplace_open_verifier(place, &t->err);
	if (dir < 0 || reward_read(dir, &t->c.arena, &t->rewards[t->n_rewards], &t->err) < 0) {
		if (v != PHASE_OK)
			return err_wrap(&t->err, "the verifier's verdict is %s, and",
					phase_verdict_word(v));
		return -1;
	}
	t->n_rewards++;
	return 0;
}

static int verify_alone(struct trial *t, size_t i)
{
	struct workplace own = WORKPLACE;
	struct environment e = { &own, NULL, false };
	char session[MAX_SESSION_NAME];
	int rc;

	if (trial_own_session(t->about->session, session, sizeof(session)) < 0)
		return err_set(&t->err, CORDON_E_BUG, "too long a name for a session");
	e.session = session;
	/* Of the last step nothing of the agent's may go on. */
	if (i + 1 == count_steps(t))
		stop(t->about->session);
	rc = make_own_place(t, i, &own);
	if (rc == 0) {
		keep_artifacts(t, i, own.dir);
		rc = run_start(t, "verifier-environment", step_of(t, i), &e,
			       &t->verdict.steps[i].verifier_env);
	}
	if (rc == 0) {
		rc = verify_in(t, i, &own, session);
		stop(session);
	}
	workplace_close(&own);
	return rc;
}

/* Those that end the whole environment. */
static bool has_ended_all(enum limit_kind limit)
{
	return limit == LIMIT_MEMORY || limit == LIMIT_CPU || limit == LIMIT_PROCESSES ||
	       limit == LIMIT_DISK;
}

/* An agent that went over a limit of its environment has lost it, but not the verdict:
 * what it left is judged in a new one. */
static int start_again(struct trial *t, size_t i)
{
	const struct environment e = { &t->place, t->about->session, false };
	struct cordon_err ignored;
	cleanup_fd int fd = -1;

	if (has_ended_all(t->limit))
		stop(t->about->session);	/* it may be on its way yet */
	else
		fd = live_connect(t->about->session, &ignored);
	if (fd >= 0)
		return 0;
	return run_start(t, "environment", step_of(t, i), &e, &t->verdict.steps[i].agent_env);
}

/* 1: it did not earn what the next one would have needed. */
static int run_step(struct trial *t, size_t i)
{
	const struct task_step *step = step_of(t, i);
	int rc;

	if (prepare_step(t, i) < 0 || run_agent(t, i) < 0)
		return -1;
	keep_artifacts(t, i, t->artifacts);
	/* A verifier with an environment of its own may be the last to need one. */
	if ((!t->verdict.steps[i].separate || i + 1 < count_steps(t)) && start_again(t, i) < 0)
		return -1;
	rc = t->verdict.steps[i].separate ? verify_alone(t, i) :
					    verify_in(t, i, &t->place, t->about->session);
	if (rc < 0)
		return -1;
	return step && !reward_reaches(&t->rewards[t->n_rewards - 1], &step->floor);
}

static int run_steps(struct trial *t)
{
	const struct environment e = { &t->place, t->about->session, false };
	int rc = 0;

	if (run_start(t, "environment", NULL, &e, &t->verdict.steps[0].agent_env) < 0)
		return t->err.code == CORDON_E_HOST || t->err.code == CORDON_E_POLICY ?
			       reject(t, "environment") : -1;
	for (size_t i = 0; rc == 0 && i < count_steps(t); i++)
		rc = run_step(t, i);
	stop(t->about->session);
	return rc < 0 ? -1 : 0;
}

static void run_all(struct trial *t)
{
	if (judge(t) < 0 || make_place(t) < 0 || check_own_places(t) < 0)
		return;
	if (run_steps(t) == 0)
		t->status = TRIAL_COMPLETED;
}

int trial_run(const struct trial_about *about, struct cordon_err *err)
{
	struct trial t = { .about = about, .folder = TASK_FOLDER, .place = WORKPLACE,
			   .output = -1, .artifacts = -1, .status = TRIAL_ERROR,
			   .text = BUF(MAX_OUTPUT_BYTES), .begin_ms = trial_now_ms() };
	int rc;

	t.phases = (struct json_out){ .out = &t.text };
	json_open(&t.phases, '[');
	if (composition_init(&t.c, about->wishes->request, err) < 0)
		return -1;
	run_all(&t);
	rc = trial_write_result(&t, err);
	workplace_close(&t.place);
	task_folder_close(&t.folder);
	fd_close(&t.output);
	fd_close(&t.artifacts);
	buf_release(&t.text);
	composition_release(&t.c);
	return rc;
}
