/* Tasks: could this one run, and how do these? */
#include <stdio.h>

#include "lib/answer.h"
#include "lib/backend.h"
#include "trial/jobs.h"
#include "trial/judge.h"

static struct trial_wishes make_wishes(const struct cordon_request *req,
				       const struct cordon_trials *trials)
{
	return (struct trial_wishes){
		.request = req,
		.texts = { trials->setup, trials->agent, trials->verifier },
		.agent_hosts = trials->agent_hosts,
		.n_agent_hosts = trials->n_agent_hosts,
		.environment_hosts = trials->environment_hosts,
		.n_environment_hosts = trials->n_environment_hosts,
		.own_process = trials->own_process,
		.no_image = trials->no_image,
		.end_leftovers = trials->end_leftovers,
	};
}

static int check_size(const struct cordon_trials *trials, struct cordon_err *err)
{
	if (trials->size == sizeof(*trials))
		return 0;
	return err_set(err, CORDON_E_USAGE, "the options are of another version of cordon.h");
}

/* ---- judging -------------------------------------------------------------- */

/* The same as in the JSON, for a terminal. */
static void tell_verdict(struct composition *c, const struct judgement *j)
{
	for (size_t i = 0; i < j->verdict.n_warnings; i++)
		diag_warn(&c->diags, (struct place){ 0 }, "%s", j->verdict.warnings[i]);
	if (!j->verdict.accepted && !c->diags.n_errors)
		diag_error(&c->diags, (struct place){ 0 }, "%s", j->verdict.reason);
}

static int judge_one(struct composition *c, const struct trial_wishes *w, const char *file,
		     struct cordon_answer *ret, struct cordon_err *err)
{
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES);
	struct json_out json = { .out = &out };
	struct judgement j = JUDGEMENT;
	int rc = judge_task(c, file, w, &j, err);

	task_folder_close(&j.folder);
	if (rc == 0 && j.no_command && trial_verdict_warn(&j.verdict, &c->arena, j.no_command) < 0)
		rc = err_nomem(err);
	if (rc < 0)
		return -1;
	trial_verdict_print(&j.verdict, &json);
	buf_putc(&out, '\n');
	tell_verdict(c, &j);
	return answer_fill(ret, j.verdict.accepted, &out, c, 0, err);
}

int cordon_trial_check(const struct cordon_request *req, const struct cordon_trials *trials,
		       const char *capabilities, struct cordon_answer *ret,
		       struct cordon_err *err)
{
	cleanup_composition struct composition c;
	struct trial_wishes w = make_wishes(req, trials);
	struct trial_list list;

	if (composition_init(&c, req, err) < 0 || check_size(trials, err) < 0)
		return -1;
	if (capabilities ? trial_capabilities_parse(str_from(capabilities), &w.capabilities,
						    err) < 0
			 : backend_probe_capabilities(NULL, &w.capabilities, err) < 0)
		return -1;
	if (trial_list_make(trials->tasks, trials->n_tasks, 1, &c.arena, &list, err) < 0)
		return -1;
	if (list.n != 1)
		return err_set(err, CORDON_E_USAGE, "--check takes one task");
	return judge_one(&c, &w, list.items[0].file, ret, err);
}

/* ---- running --------------------------------------------------------------- */

/* What people see of a list: a line each, and one about all. */
static void print_table(const struct jobs *j, struct buf *out)
{
	size_t wide = strlen("TRIAL"), completed = 0, judged = 0, begin;
	double sum = 0;

	for (size_t i = 0; i < j->n; i++)
		wide = MAX(wide, strlen(j->items[i].about.name));
	buf_printf(out, "%-*s  %-9s  %8s  %8s\n", (int)wide, "TRIAL", "STATUS", "REWARD",
		   "SECONDS");
	for (size_t i = 0; i < j->n; i++) {
		const struct job *job = &j->items[i];
		char reward[32] = "-";

		if (job->state != JOB_DONE)
			continue;
		if (job->has_reward)
			snprintf(reward, sizeof(reward), "%.4g", job->reward);
		begin = out->n;
		buf_put_plain(out, str_from(job->about.name));
		buf_printf(out, "%*s  %-9s  %8s  ", (int)(wide - MIN(wide, out->n - begin)), "",
			   trial_status_word(job->status), reward);
		if (job->reused)
			buf_printf(out, "%8s", "before");
		else
			buf_printf(out, "%8.1f", (double)job->duration_ms / 1000);
		if (job->why && job->status != TRIAL_COMPLETED) {
			buf_puts(out, "  ");
			buf_put_plain(out, str_first(str_from(job->why),
						     str_find(str_from(job->why), '\n')));
		}
		buf_putc(out, '\n');
		completed += job->status == TRIAL_COMPLETED;
		/* No reward is none, as Harbor counts it: whoever fails could else see to it
		 * that there is no verdict. */
		judged += job->status != TRIAL_REJECTED;
		sum += job->has_reward ? job->reward : 0;
	}
	buf_printf(out, "%zu of %zu completed", completed, j->n);
	if (judged)
		buf_printf(out, ", mean reward %.4g", sum / (double)judged);
	buf_printf(out, "; everything is in %s\n", j->path);
}

static void print_results(const struct jobs *j, struct buf *out)
{
	for (size_t i = 0; i < j->n; i++)
		if (j->items[i].text)
			buf_puts(out, j->items[i].text);
}

/* Said last, since it is about everything. */
static void add_problems(const struct jobs *j, struct composition *c)
{
	if (j->interrupted)
		diag_error(&c->diags, (struct place){ 0 },
			   "cordon: interrupted by signal %d; the same again with --output-dir %s "
			   "goes on", j->interrupted, j->path);
	if (j->unwritten)
		diag_error(&c->diags, (struct place){ 0 },
			   "cordon: not every result could be written to %s", j->path);
}

static int run_list(struct composition *c, struct jobs *j, const struct trial_list *list,
		    struct cordon_answer *ret, struct cordon_err *err)
{
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES * 16);
	int rc = jobs_run(j, list, err);

	if (rc == 0) {
		if (j->o->json)
			print_results(j, &out);
		else
			print_table(j, &out);
		add_problems(j, c);
		rc = answer_fill(ret, !j->n_failed && !j->interrupted && !j->unwritten, &out, c, 0,
				 err);
	}
	jobs_release(j);
	return rc;
}

static void put_words(struct buf *out, const char *name, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (words[i])
			buf_printf(out, "%s %zu %s\n", name, strlen(words[i]), words[i]);
}

/* Everything that a result depends on, the task and this machine aside. */
static int write_asked(struct jobs *j, struct cordon_err *err)
{
	const struct cordon_request *req = j->wishes.request;
	const struct cordon_trials *o = j->o;
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES);
	const char *text;

	put_words(&out, "setup", &o->setup, 1);
	put_words(&out, "agent", &o->agent, 1);
	put_words(&out, "verifier", &o->verifier, 1);
	put_words(&out, "agent host", o->agent_hosts, o->n_agent_hosts);
	put_words(&out, "environment host", o->environment_hosts, o->n_environment_hosts);
	put_words(&out, "connect to", req->connect_to, req->n_connect_to);
	for (size_t i = 0; i < req->n_settings; i++) {
		put_words(&out, req->settings[i].origin ? req->settings[i].origin : "setting",
			  &req->settings[i].key, 1);
		put_words(&out, "value", &req->settings[i].value, 1);
	}
	if (o->no_image)
		buf_puts(&out, "no image\n");
	if (o->end_leftovers)
		buf_puts(&out, "end leftovers\n");
	text = buf_ok(&out) ? arena_strndup(j->arena, buf_text(&out), out.n) : NULL;
	if (!text)
		return err_nomem(err);
	j->wishes.asked = (struct str){ text, out.n };
	return 0;
}

int cordon_trial_run(const struct cordon_request *req, const struct cordon_trials *trials,
		     struct cordon_answer *ret, struct cordon_err *err)
{
	cleanup_composition struct composition c;
	struct jobs j = {
		.o = trials,
		.arena = &c.arena,
		.wishes = make_wishes(req, trials),
	};
	struct host_report machine;
	struct trial_list list;

	if (composition_init(&c, req, err) < 0)
		return -1;
	if (check_size(trials, err) < 0)
		return -1;
	if (!trials->n_tasks)
		return err_set(err, CORDON_E_USAGE, "there is no task to run");
	if (trials->jobs > MAX_TRIAL_JOBS)
		return err_set(err, CORDON_E_USAGE, "--jobs takes at most %d", MAX_TRIAL_JOBS);
	if (write_asked(&j, err) < 0 || host_probe_report(&machine, err) < 0)
		return -1;
	j.wishes.machine = &machine;
	if (!backend_find_capabilities(NULL, &machine.caps, &j.wishes.capabilities) ||
	    trial_list_make(trials->tasks, trials->n_tasks, trials->attempts, &c.arena, &list,
			    err) < 0)
		return -1;
	return run_list(&c, &j, &list, ret, err);
}
