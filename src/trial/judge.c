/* The one judgement of a task; see judge.h. */
#include "trial/judge.h"

#include <unistd.h>

#include "plan/environment.h"
#include "policy/template.h"

struct judging {
	struct composition *c;
	const char *file;
	const struct trial_wishes *wishes;
	struct judgement *j;
	struct cordon_err *err;
};

static size_t count_steps(const struct judging *g)
{
	return MAX(g->j->task.n_steps, 1u);
}

/* `why` may be longer than an error is. */
static int refuse(const struct judging *g, enum trial_stage stage, const char *why)
{
	struct trial_verdict *v = &g->j->verdict;

	v->accepted = false;
	v->stage = stage;
	v->reason = arena_strndup(&g->c->arena, why, strlen(why));
	return v->reason ? 0 : err_nomem(g->err);
}

/* The problems of a text as one message. */
static int refuse_problems(const struct judging *g, enum trial_stage stage)
{
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES);

	diags_print(&g->c->diags, &out);
	while (out.n && out.data[out.n - 1] == '\n')
		out.data[--out.n] = '\0';
	return refuse(g, stage, buf_text(&out));
}

/* ---- the text ----------------------------------------------------------------- */

static int read_task(const struct judging *g)
{
	const struct trial_check_options o = {
		.capabilities = &g->wishes->capabilities,
		.agent_hosts = g->wishes->agent_hosts,
		.n_agent_hosts = g->wishes->n_agent_hosts,
		.environment_hosts = g->wishes->environment_hosts,
		.n_environment_hosts = g->wishes->n_environment_hosts,
	};
	cleanup_diags struct diags diags = DIAGS;
	struct reader r = compose_reader(g->c, &g->c->policy, g->file);
	struct judgement *j = g->j;
	struct source src = { .name = g->file };
	struct cordon_err err;

	if (task_folder_open(g->file, &g->c->arena, &j->folder, &err) < 0 ||
	    task_folder_read(&j->folder, &g->c->arena, &src.text, &err) < 0)
		return refuse(g, TRIAL_STAGE_PARSE, err.msg);
	j->text = src.text;
	r.diags = &diags;
	r.ignores_unknown = true;
	return trial_read(&r, &src, &o, &j->task, &j->verdict, g->err);
}

/* Names become folders of the task. */
static int check_steps(const struct judging *g)
{
	for (size_t i = 0; i < g->j->task.n_steps; i++) {
		struct str name = g->j->task.steps[i].name;

		if (str_find(name, '/') < name.n || str_starts(name, "."))
			return refuse(g, TRIAL_STAGE_PARSE,
				      arena_printf(&g->c->arena, "the step '%.*s' cannot be the "
						   "name of a folder", STR_FMT(name)));
	}
	return 0;
}

/* ---- the folder --------------------------------------------------------------- */

static int check_folder(const struct judging *g)
{
	const char *image = task_folder_image(&g->j->folder, &g->j->task);
	struct cordon_err err;

	if (task_folder_check(&g->j->folder, &g->j->task, &g->c->arena, &err) < 0)
		return refuse(g, TRIAL_STAGE_ENVIRONMENT, err.msg);
	if (!image || g->wishes->no_image)
		return 0;
	err_set(&err, CORDON_E_HOST,
		"the task wants an image (%s), which the process backend has not; --no-image says "
		"that the host's own files will do", image);
	return refuse(g, TRIAL_STAGE_ENVIRONMENT, err.msg);
}

static int find_commands(const struct judging *g)
{
	struct judgement *j = g->j;
	struct cordon_err err;

	j->commands = arena_new(&g->c->arena, count_steps(g), sizeof(*j->commands));
	if (!j->commands)
		return err_nomem(g->err);
	for (size_t i = 0; i < count_steps(g); i++) {
		const struct trial_asked asked = {
			&j->task, j->task.n_steps ? &j->task.steps[i] : NULL, &g->wishes->texts };

		if (task_folder_commands(&j->folder, &asked, &g->c->arena, &j->commands[i],
					 &err) == 0)
			continue;
		j->no_command = arena_strndup(&g->c->arena, err.msg, strlen(err.msg));
		return j->no_command ? 0 : err_nomem(g->err);
	}
	return 0;
}

/* ---- the policies ------------------------------------------------------------- */

static int make_policies(const struct judging *g)
{
	struct judgement *j = g->j;
	struct policies_options o = { .file = g->file, .request = g->wishes->request };

	for (size_t i = 0; i < count_steps(g); i++)
		o.solution |= j->commands[i].agent.is_solution;
	if (policies_make(g->c, &o, &j->task, &j->verdict, &j->policies) < 0)
		return refuse_problems(g, TRIAL_STAGE_POLICY);
	return 0;
}

/* A template with a default is made without the value that the caller has. */
static int warn_of_defaults(const struct judging *g, const struct item *item)
{
	struct arena *a = &g->c->arena;
	struct str rest = item->value;
	struct template_part part;
	const char *text;

	while (rest.n && template_next(&rest, &part)) {
		if (!part.is_variable || !part.has_fallback ||
		    !environment_is_credential(part.name))
			continue;
		text = arena_printf(a, "env: %.*s has its default, since ${%.*s} looks like a "
				    "credential and is not passed on", STR_FMT(item->text),
				    STR_FMT(part.name));
		if (trial_verdict_warn(&g->j->verdict, a, text) < 0)
			return err_nomem(g->err);
	}
	return 0;
}

static int check_section(const struct judging *g, const struct section *s, struct str phase)
{
	struct cordon_err err;

	if (!g->j->verdict.accepted)
		return 0;
	if (environment_check(s, (const char *const *)environ, &g->c->arena, &err) < 0) {
		if (phase.n)
			err_wrap(&err, "phase %.*s", STR_FMT(phase));
		return refuse(g, TRIAL_STAGE_ENVIRONMENT, err.msg);
	}
	for (size_t i = 0; i < s->f[F_ENV_SET].n; i++)
		if (warn_of_defaults(g, &s->f[F_ENV_SET].items[i]) < 0)
			return -1;
	return 0;
}

/* A ceiling may leave out what an option passes on. */
static int check_cuts(const struct judging *g)
{
	for (size_t i = 0; i < g->c->cuts.n; i++) {
		const struct cut *cut = &g->c->cuts.items[i];
		cleanup_buf struct buf by = BUF(MAX_DIAG_BYTES);
		struct cordon_err err;

		if (cut->id != F_ENV_PASS || !cut->at.file ||
		    !str_starts(str_from(cut->at.file), "--"))
			continue;
		place_print(cut->by, &by);
		err_set(&err, CORDON_E_POLICY, "%s: '%.*s' is not passed on: not allowed by %s",
			cut->at.file, STR_FMT(cut->what), buf_text(&by));
		return refuse(g, TRIAL_STAGE_ENVIRONMENT, err.msg);
	}
	return 0;
}

/* What it warns of is either refused below or told by the session. */
static int compose(const struct judging *g, const struct cordon_request *req)
{
	struct diags before = g->c->diags;
	int rc = 0;

	g->c->diags = DIAGS;
	if (compose_all(g->c, req) < 0)
		rc = refuse_problems(g, TRIAL_STAGE_POLICY);
	diags_release(&g->c->diags);
	g->c->diags = before;
	return rc;
}

/* With the options and ceilings, as a session composes them. */
static int check_variables(const struct judging *g)
{
	struct cordon_request req = *g->wishes->request;
	struct policy *p = &g->c->policy;

	*p = g->j->policies.policy;
	p->phases = arena_new(&g->c->arena, p->n_phases + 1, sizeof(*p->phases));
	if (!p->phases)
		return err_nomem(g->err);
	memcpy(p->phases, g->j->policies.policy.phases, p->n_phases * sizeof(*p->phases));
	req.files = NULL;
	req.n_files = 0;
	req.dialect = NULL;
	req.discover = false;
	req.ceilings = true;
	if (compose(g, &req) < 0)
		return -1;
	if (!g->j->verdict.accepted)
		return 0;
	if (check_cuts(g) < 0 || check_section(g, &p->base, STR("")) < 0)
		return -1;
	for (size_t i = 0; i < p->n_phases; i++)
		if (check_section(g, &p->phases[i].section, p->phases[i].name) < 0)
			return -1;
	return 0;
}

int judge_task(struct composition *c, const char *file, const struct trial_wishes *w,
	       struct judgement *ret, struct cordon_err *err)
{
	static int (*const checks[])(const struct judging *) = {
		check_steps, check_folder, find_commands, make_policies, check_variables };
	struct judging g = { c, file, w, ret, err };

	if (read_task(&g) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(checks) && ret->verdict.accepted; i++)
		if (checks[i](&g) < 0)
			return -1;
	return 0;
}
