/* `cordon trial`: words into a list of trials, and what is said while they run. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- while they run ------------------------------------------------------- */

struct progress {
	bool live;		/* one line that changes; else a line for each event */
	bool shown;		/* it is there */
};

static void wipe(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}

static void say_phase(struct progress *p, const struct cordon_trial_event *e)
{
	const char *space = e->step[0] ? " " : "";

	if (!p->live) {
		/* Of many, only how they end. */
		if (e->n_all == 1)
			fprintf(stderr, "%s: %s%s%s\n", e->trial, e->phase, space, e->step);
		return;
	}
	wipe(p);
	fprintf(stderr, "[%zu/%zu] %zu running, %zu failed  %.40s: %s%s%.30s", e->n_done, e->n_all,
		e->n_running, e->n_failed, e->trial, e->phase, space, e->step);
	fflush(stderr);
	p->shown = true;
}

static void say_leftovers(struct progress *p, const struct cordon_trial_event *e)
{
	wipe(p);
	fprintf(stderr, "%s: the network of the %s phase was wider, and %lld process%s of earlier "
		"phases had it; --end-leftovers, or keep_processes = false in the task, ends such "
		"processes\n", e->trial, e->phase, e->leftovers, e->leftovers == 1 ? "" : "es");
}

static void say_warnings(const struct cordon_trial_event *e)
{
	for (const char *at = e->warnings; at && *at; at += strcspn(at, "\n") + 1)
		fprintf(stderr, "%s: warning: %.*s\n", e->trial, (int)strcspn(at, "\n"), at);
}

static void say_end(struct progress *p, const struct cordon_trial_event *e)
{
	wipe(p);
	say_warnings(e);
	if (p->live && e->n_all > 1 && !e->why) {
		fprintf(stderr, "[%zu/%zu] %zu running, %zu failed", e->n_done, e->n_all,
			e->n_running, e->n_failed);
		fflush(stderr);
		p->shown = true;
		return;
	}
	fprintf(stderr, "%s: %s", e->trial, e->status);
	if (e->has_reward)
		fprintf(stderr, ", reward %.4g", e->reward);
	if (e->reused)
		fputs(" before", stderr);
	else
		fprintf(stderr, " (%.1f s)", (double)e->duration_ms / 1000);
	if (e->n_all > 1)
		fprintf(stderr, " [%zu/%zu]", e->n_done, e->n_all);
	if (e->why)
		fprintf(stderr, ": %.*s", (int)strcspn(e->why, "\n"), e->why);
	fputc('\n', stderr);
}

static void say_event(void *arg, const struct cordon_trial_event *e)
{
	if (e->leftovers)
		say_leftovers(arg, e);
	else if (e->status)
		say_end(arg, e);
	else
		say_phase(arg, e);
}

/* ---- words ------------------------------------------------------------------ */

/* A count that an option gives, or 0. */
static int read_count(const struct args *args, enum option_id id, const char *name, unsigned *ret)
{
	const char *text = args_value(args, id);
	char *end;
	unsigned long n;

	*ret = 0;
	if (!text)
		return 0;
	n = strtoul(text, &end, 10);	/* of too many digits the largest number */
	if (*end || text[0] < '0' || text[0] > '9' || !n || n > 65536)
		return say_usage("%s takes a number of at least 1, not '%s'", name, text);
	*ret = (unsigned)n;
	return 0;
}

/* What a check and a run have in common; the words are tasks, and a task's own policy is
 * all there is. */
static struct cordon_trials read_options(const struct args *args, struct room *room,
					 struct cordon_request *ret_request)
{
	struct cordon_trials t = CORDON_TRIALS;

	*ret_request = args_request(args, room->settings, room->files, room->connect_to);
	ret_request->files = NULL;
	ret_request->n_files = 0;
	t.tasks = args->words;
	t.n_tasks = args->n_words;
	t.setup = args_value(args, OPT_SETUP);
	t.agent = args_value(args, OPT_AGENT);
	t.verifier = args_value(args, OPT_VERIFIER);
	t.no_image = args_has(args, OPT_NO_IMAGE);
	return t;
}

static int run(const struct args *args, struct room *room)
{
	const char *agent[MAX_ARGS], *environment[MAX_ARGS];
	struct cordon_request req;
	struct progress progress = { .live = isatty(STDERR_FILENO) };
	struct cordon_trials t = read_options(args, room, &req);
	struct cordon_answer answer = { 0 };
	struct cordon_err err = { 0 };
	int rc;

	t.agent_hosts = agent;
	t.n_agent_hosts = args_values(args, OPT_AGENT_HOST, agent);
	t.environment_hosts = environment;
	t.n_environment_hosts = args_values(args, OPT_ENVIRONMENT_HOST, environment);
	if (args_has(args, OPT_CHECK))
		return say_answer(cordon_trial_check(&req, &t, args_value(args, OPT_CAPABILITIES),
						     &answer, &err), &answer, &err);
	if (read_count(args, OPT_JOBS, "--jobs", &t.jobs) ||
	    read_count(args, OPT_ATTEMPTS, "--attempts", &t.attempts))
		return EXIT_USAGE;
	t.output = args_value(args, OPT_OUTPUT_DIR);
	t.end_leftovers = args_has(args, OPT_END_LEFTOVERS);
	t.json = args_has(args, OPT_JSON);
	t.tell = say_event;
	t.tell_arg = &progress;
	t.own_process = true;
	rc = cordon_trial_run(&req, &t, &answer, &err);
	wipe(&progress);
	return say_answer(rc, &answer, &err);
}

int cmd_trial(const struct args *args)
{
	struct room *room;
	int code, bad;

	if (args_has(args, OPT_CAPABILITIES) && !args_has(args, OPT_CHECK))
		return say_usage("--capabilities goes with --check: a trial has what this machine "
				 "has");
	bad = need_words(args, 1, args_has(args, OPT_CHECK) ? 1 : MAX_ARGS);
	if (bad)
		return bad;
	room = calloc(1, sizeof(*room));
	if (!room)
		return say_usage("out of memory");
	code = run(args, room);
	free(room);
	return code;
}
