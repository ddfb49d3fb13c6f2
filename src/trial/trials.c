/* Tasks: could this one run, and how do these? */
#include <stdio.h>

#include "base/path.h"
#include "lib/answer.h"
#include "lib/backend.h"
#include "plan/environment.h"
#include "trial/jobs.h"

int cordon_trial_check(const char *file, const struct cordon_trial_options *options,
		       struct cordon_answer *ret, struct cordon_err *err)
{
	struct cordon_request req = CORDON_REQUEST;
	cleanup_composition struct composition c;
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES);
	struct json_out j = { .out = &out };
	struct trial_capabilities capabilities;
	struct trial_check_options o = {
		.capabilities = &capabilities,
		.agent_hosts = options->agent_hosts,
		.n_agent_hosts = options->n_agent_hosts,
		.environment_hosts = options->environment_hosts,
		.n_environment_hosts = options->n_environment_hosts,
		.is_withheld = environment_is_credential,
	};
	struct task_folder folder = TASK_FOLDER;
	struct source src = { .name = file };
	const char *path;
	bool accepted;
	int rc;

	if (composition_init(&c, &req, err) < 0)
		return -1;
	if (options->size != sizeof(*options))
		return err_set(err, CORDON_E_USAGE,
			       "the options are of another version of cordon.h");
	if (options->capabilities
		    ? trial_capabilities_parse(str_from(options->capabilities), &capabilities,
					       err) < 0
		    : backend_probe_capabilities(NULL, &capabilities, err) < 0)
		return -1;
	path = path_normal(&c.arena, str_from(file), c.here);
	if (!path)
		return err_nomem(err);
	rc = task_folder_open(path, &c.arena, &folder, err);
	if (rc == 0)
		rc = task_folder_read(&folder, &c.arena, &src.text, err);
	task_folder_close(&folder);
	if (rc < 0)
		return -1;
	if (trial_check(&src, &o, &j, &accepted, err) < 0)
		return -1;
	buf_putc(&out, '\n');
	return answer_fill(ret, accepted, &out, &c, 0, err);
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
		.wishes = {
			.request = req,
			.texts = { trials->setup, trials->agent, trials->verifier },
			.agent_hosts = trials->agent_hosts,
			.n_agent_hosts = trials->n_agent_hosts,
			.environment_hosts = trials->environment_hosts,
			.n_environment_hosts = trials->n_environment_hosts,
			.own_process = trials->own_process,
			.no_image = trials->no_image,
			.end_leftovers = trials->end_leftovers,
		},
	};
	struct host_report machine;
	struct trial_list list;

	if (composition_init(&c, req, err) < 0)
		return -1;
	if (trials->size != sizeof(*trials) || !trials->n_tasks)
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
