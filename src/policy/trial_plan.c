/* The plan of a trial; see trial_plan.h. */
#include "policy/trial_plan.h"

#include "base/map.h"

static const char *const capability_names[] = {
	[TRIAL_DISABLE_INTERNET] = "disable_internet",
	[TRIAL_ALLOWLIST] = "network_allowlist",
	[TRIAL_ALLOWLIST_HOSTNAMES] = "network_allowlist_hostnames",
	[TRIAL_ALLOWLIST_WILDCARD_HOSTNAMES] = "network_allowlist_wildcard_hostnames",
	[TRIAL_ALLOWLIST_IPV4_ADDRESSES] = "network_allowlist_ipv4_addresses",
	[TRIAL_ALLOWLIST_IPV6_ADDRESSES] = "network_allowlist_ipv6_addresses",
	[TRIAL_ALLOWLIST_IPV4_CIDRS] = "network_allowlist_ipv4_cidrs",
	[TRIAL_ALLOWLIST_IPV6_CIDRS] = "network_allowlist_ipv6_cidrs",
	[TRIAL_DYNAMIC_POLICY] = "dynamic_network_policy",
};
static_assert(ARRAY_SIZE(capability_names) == N_TRIAL_CAPABILITIES, "a capability without a name");
static_assert(TRIAL_ALLOWLIST_HOSTNAMES + (int)N_TASK_HOST_CLASSES == (int)TRIAL_DYNAMIC_POLICY,
	      "a class of hosts without a capability");

static const char *const class_words[] = {
	[TASK_HOSTNAME] = "hostnames",
	[TASK_WILDCARD_HOSTNAME] = "wildcard hostnames",
	[TASK_IPV4_ADDRESS] = "IPv4 addresses",
	[TASK_IPV6_ADDRESS] = "IPv6 addresses",
	[TASK_IPV4_CIDR] = "IPv4 CIDR ranges",
	[TASK_IPV6_CIDR] = "IPv6 CIDR ranges",
};
static_assert(ARRAY_SIZE(class_words) == N_TASK_HOST_CLASSES, "a class of hosts without words");

static const char *const stage_names[] = {
	[TRIAL_STAGE_NONE] = NULL,
	[TRIAL_STAGE_PARSE] = "parse",
	[TRIAL_STAGE_POLICY] = "policy",
	[TRIAL_STAGE_ENVIRONMENT] = "environment",
	[TRIAL_STAGE_PHASE] = "phase",
	[TRIAL_STAGE_VERIFIER_ENVIRONMENT] = "verifier-environment",
};
static_assert(ARRAY_SIZE(stage_names) == N_TRIAL_STAGES, "a stage without a name");

/* ---- capabilities ------------------------------------------------------- */

const char *trial_stage_name(enum trial_stage s)
{
	return stage_names[s];
}

const char *trial_capability_name(enum trial_capability c)
{
	return capability_names[c];
}

int trial_capabilities_parse(struct str list, struct trial_capabilities *ret,
			     struct cordon_err *err)
{
	struct trial_capabilities found = { 0 };

	while (list.n) {
		size_t n = str_find(list, ','), c = 0;
		struct str name = str_trim(str_first(list, n));

		while (c < N_TRIAL_CAPABILITIES && !str_is(name, capability_names[c]))
			c++;
		if (c == N_TRIAL_CAPABILITIES)
			return err_set(err, CORDON_E_USAGE,
				       "'%.*s' is no capability; write a comma list of such as "
				       "'disable_internet,network_allowlist'", STR_FMT(name));
		found.bits |= 1u << c;
		list = str_from_pos(list, n < list.n ? n + 1 : n);
	}
	*ret = found;
	return 0;
}

static bool can(const struct trial_options *o, unsigned capability)
{
	return o->capabilities.bits >> capability & 1;
}

/* ---- merging ------------------------------------------------------------ */

struct planner {
	const struct task *task;
	const struct trial_options *options;
	struct arena *arena;
	struct trial_verdict *verdict;
	struct cordon_err *err;
};

int trial_verdict_warn(struct trial_verdict *v, struct arena *a, const char *text)
{
	const char **warnings = arena_grow(a, v->warnings, v->n_warnings, &v->cap_warnings,
					   sizeof(*warnings));

	if (!warnings || !text)
		return -1;
	v->warnings = warnings;
	v->warnings[v->n_warnings++] = text;
	return 0;
}

static int warn_ignored(struct planner *p, const struct task_host *extra, size_t n)
{
	cleanup_buf struct buf text = BUF(MAX_OUTPUT_BYTES);

	buf_puts(&text, "Run-specific allowlist host(s) [");
	for (size_t i = 0; i < n; i++)
		buf_printf(&text, "%s'%s'", i ? ", " : "", extra[i].text.s);
	buf_puts(&text, "] are ignored because the effective network policy is public.");
	if (!buf_ok(&text) ||
	    trial_verdict_warn(p->verdict, p->arena,
			       arena_strndup(p->arena, buf_text(&text), text.n)) < 0)
		return err_nomem(p->err);
	return 0;
}

/* Add what is not there yet, in order. */
static int add_hosts(struct planner *p, struct map *seen, const struct task_host *hosts, size_t n,
		     struct task_host *out, size_t *n_out)
{
	for (size_t i = 0; i < n; i++) {
		bool is_new;

		if (!map_add(seen, p->arena, hosts[i].text, i, &is_new))
			return err_nomem(p->err);
		if (is_new)
			out[(*n_out)++] = hosts[i];
	}
	return 0;
}

/* A policy with the hosts that the run adds: `net` is replaced. */
static int merge(struct planner *p, struct task_network *net, const struct task_host *extra,
		 size_t n)
{
	struct map seen = { 0 };
	struct task_host *hosts;
	size_t n_hosts = 0;

	if (!n)
		return 0;
	if (net->mode == NETWORK_PUBLIC)
		return warn_ignored(p, extra, n);
	hosts = arena_new(p->arena, net->n_hosts + n, sizeof(*hosts));
	if (!hosts)
		return err_nomem(p->err);
	if (add_hosts(p, &seen, net->hosts, net->n_hosts, hosts, &n_hosts) < 0 ||
	    add_hosts(p, &seen, extra, n, hosts, &n_hosts) < 0)
		return -1;
	net->mode = NETWORK_ALLOWLIST;
	net->hosts = hosts;
	net->n_hosts = n_hosts;
	for (size_t i = 0; i < n; i++)
		net->classes |= 1u << extra[i].class;
	return 0;
}

/* ---- the plan ----------------------------------------------------------- */

/* What is the same in every step that says nothing itself, worked out once:
 * lists may be long and steps many. */
struct common_plan {
	struct task_network agent_env, agent;
	bool has_agent;
};

static int plan_agent(struct planner *p, struct common_plan *common, const struct task_step *step,
		      struct task_network *ret)
{
	const struct task_network *explicit = task_agent_network(p->task, step);
	const struct trial_options *o = p->options;
	bool is_own = step && explicit == &step->agent.network;

	if (!is_own && common->has_agent) {
		*ret = common->agent;
		return 0;
	}
	*ret = explicit ? *explicit : common->agent_env;
	if (merge(p, ret, o->agent_hosts, o->n_agent_hosts) < 0)
		return -1;
	if (!is_own) {
		common->agent = *ret;
		common->has_agent = true;
	}
	return 0;
}

static int plan_step(struct planner *p, struct common_plan *common, const struct task_step *step,
		     struct trial_step *ret)
{
	const struct task_environment *own = task_verifier_environment(p->task, step);
	const struct task_network *verifier = task_verifier_network(p->task, step);

	ret->agent_env = common->agent_env;
	if (plan_agent(p, common, step, &ret->agent) < 0)
		return -1;
	ret->separate = own != NULL;
	/* A verifier environment that is only a copy of [environment] gets what
	 * the run adds to that one; a table of its own is the author's word. */
	if (own)
		ret->verifier_env = own == &p->task->environment ? common->agent_env : own->network;
	ret->verifier = verifier ? *verifier : own ? ret->verifier_env : ret->agent_env;
	if (step)
		ret->name = step->name;
	return 0;
}

static int plan_steps(struct planner *p)
{
	const struct task *t = p->task;
	const struct trial_options *o = p->options;
	struct common_plan common = { .agent_env = t->environment.network };
	size_t n = MAX(t->n_steps, (size_t)1);
	struct trial_step *steps = arena_new(p->arena, n, sizeof(*steps));

	if (!steps)
		return err_nomem(p->err);
	if (merge(p, &common.agent_env, o->environment_hosts, o->n_environment_hosts) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (plan_step(p, &common, t->n_steps ? &t->steps[i] : NULL, &steps[i]) < 0)
			return -1;
	p->verdict->steps = steps;
	p->verdict->n_steps = n;
	return 0;
}

/* ---- the judgement ------------------------------------------------------ */

/* The checks return 0 and leave their answer in the verdict; -1 is want of
 * memory.  `reason` comes from the arena and may be NULL for that. */
static int refuse(struct planner *p, enum trial_stage stage, const char *reason)
{
	if (!reason)
		return err_nomem(p->err);
	p->verdict->accepted = false;
	p->verdict->stage = stage;
	p->verdict->reason = reason;
	return 0;
}

static int refuse_mode(struct planner *p, enum trial_stage stage, const char *mode,
		       const char *with)
{
	return refuse(
		p, stage,
		arena_printf(p->arena,
			     "network_mode='%s'%s%s is not supported by %s environment. "
			     "Environment providers must enforce the requested network policy "
			     "or reject the task.",
			     mode, *with ? " with " : "", with, p->options->backend));
}

/* Can the backend hold this policy at all? */
static int check_policy(struct planner *p, enum trial_stage stage, const struct task_network *net)
{
	const char *mode = field_words(KIND_NETWORK_MODE)[net->mode];

	if (!p->verdict->accepted)
		return 0;
	if (net->mode == NETWORK_NONE && !can(p->options, TRIAL_DISABLE_INTERNET))
		return refuse_mode(p, stage, mode, "");
	if (net->mode != NETWORK_ALLOWLIST)
		return 0;
	if (!can(p->options, TRIAL_ALLOWLIST))
		return refuse_mode(p, stage, mode, "");
	for (unsigned c = 0; c < N_TASK_HOST_CLASSES; c++)
		if (net->classes >> c & 1 && !can(p->options, TRIAL_ALLOWLIST_HOSTNAMES + c))
			return refuse_mode(p, stage, mode, class_words[c]);
	return 0;
}

/* By mode and ordered list, as Harbor compares: two orders of one list count
 * as different there. */
static bool differs(const struct task_network *a, const struct task_network *b)
{
	if (a->mode != b->mode || a->n_hosts != b->n_hosts)
		return true;
	if (a->hosts == b->hosts)
		return false;
	for (size_t i = 0; i < a->n_hosts; i++)
		if (!str_eq(a->hosts[i].text, b->hosts[i].text))
			return true;
	return false;
}

/* Can it change to this policy while the environment lives? */
static int check_change(struct planner *p, const struct trial_step *step, const char *phase,
			const struct task_network *net, const struct task_network *baseline)
{
	const char *label = "[agent]";

	if (!p->verdict->accepted || can(p->options, TRIAL_DYNAMIC_POLICY) ||
	    !differs(net, baseline))
		return 0;
	if (step->name.n)
		label = arena_printf(p->arena, "Step '%.*s'", STR_FMT(step->name));
	if (!label)
		return err_nomem(p->err);
	return refuse(p, TRIAL_STAGE_PHASE,
		      arena_printf(p->arena,
				   "%s %s phase network policy differs from the %s baseline, but "
				   "this environment cannot change network policy after start.",
				   label, phase,
				   baseline == &step->verifier_env ? "separate verifier environment"
								   : "agent environment"));
}

static int judge(struct planner *p)
{
	const struct trial_verdict *v = p->verdict;
	int bad = check_policy(p, TRIAL_STAGE_ENVIRONMENT, &v->steps[0].agent_env);

	for (size_t i = 0; i < v->n_steps && !bad; i++) {
		bad |= check_policy(p, TRIAL_STAGE_ENVIRONMENT, &v->steps[i].agent);
		if (!v->steps[i].separate)
			bad |= check_policy(p, TRIAL_STAGE_ENVIRONMENT, &v->steps[i].verifier);
	}
	for (size_t i = 0; i < v->n_steps && !bad; i++) {
		const struct trial_step *s = &v->steps[i];

		bad |= check_change(p, s, "agent", &s->agent, &s->agent_env);
		bad |= check_change(p, s, "verifier", &s->verifier,
				    s->separate ? &s->verifier_env : &s->agent_env);
	}
	/* Harbor learns this only when the agent has run. */
	for (size_t i = 0; i < v->n_steps && !bad; i++) {
		if (!v->steps[i].separate)
			continue;
		bad |= check_policy(p, TRIAL_STAGE_VERIFIER_ENVIRONMENT, &v->steps[i].verifier_env);
		bad |= check_policy(p, TRIAL_STAGE_VERIFIER_ENVIRONMENT, &v->steps[i].verifier);
	}
	return bad;
}

int trial_plan(const struct task *t, const struct trial_options *o, struct arena *a,
	       struct trial_verdict *ret, struct cordon_err *err)
{
	struct trial_verdict verdict = { .accepted = true };
	struct planner p = { t, o, a, &verdict, err };

	if (plan_steps(&p) < 0 || judge(&p) < 0)
		return -1;
	*ret = verdict;
	return 0;
}

/* ---- printing ----------------------------------------------------------- */

static void print_network(const char *key, const struct task_network *net, struct json_out *out)
{
	json_key(out, key);
	if (!net) {
		json_put_null(out);
		return;
	}
	json_open(out, '{');
	json_key(out, "network_mode");
	json_put_text(out, field_words(KIND_NETWORK_MODE)[net->mode]);
	json_key(out, "allowed_hosts");
	json_open(out, '[');
	for (size_t i = 0; i < net->n_hosts && buf_ok(out->out); i++)
		json_put_str(out, net->hosts[i].text);
	json_close(out, ']');
	json_close(out, '}');
}

void trial_verdict_print(const struct trial_verdict *v, struct json_out *out)
{
	json_open(out, '{');
	json_key(out, "verdict");
	json_put_text(out, v->accepted ? "accepted" : "rejected");
	json_key(out, "stage");
	json_put_text(out, stage_names[v->stage]);
	json_key(out, "reason");
	json_put_text(out, v->reason);
	json_key(out, "plan");
	json_open(out, '[');
	for (size_t i = 0; i < v->n_steps; i++) {
		const struct trial_step *s = &v->steps[i];

		json_open(out, '{');
		print_network("agent_env_baseline", &s->agent_env, out);
		print_network("agent_phase", &s->agent, out);
		print_network("verifier_env_baseline", s->separate ? &s->verifier_env : NULL, out);
		print_network("verifier_phase", &s->verifier, out);
		json_close(out, '}');
	}
	json_close(out, ']');
	json_key(out, "warnings");
	json_open(out, '[');
	for (size_t i = 0; i < v->n_warnings; i++)
		json_put_text(out, v->warnings[i]);
	json_close(out, ']');
	json_close(out, '}');
}

/* ---- from text to verdict ----------------------------------------------- */

static struct task_host *read_extra(struct reader *r, const char *option, const char *const *texts,
				    size_t n)
{
	struct place at = { option, 0, 0 };
	struct task_host *hosts = arena_new(r->policy->arena, n + 1, sizeof(*hosts));

	for (size_t i = 0; hosts && i < n; i++) {
		const char *why;

		if (task_host_parse(str_from(texts[i]), r->policy->arena, &hosts[i], &why) < 0)
			diag_error(r->diags, at, "%s (got '%.300s')", why, texts[i]);
		hosts[i].at = at;
	}
	return hosts;
}

/* The reader's problems as a refusal, and its warnings. */
static int tell_problems(const struct diags *d, struct arena *a, struct trial_verdict *v)
{
	cleanup_buf struct buf errors = BUF(MAX_OUTPUT_BYTES);
	size_t shown = 0;

	for (size_t i = 0; i < d->n; i++) {
		const struct diag *one = &d->items[i];
		cleanup_buf struct buf text = BUF(MAX_OUTPUT_BYTES);

		place_print(one->place, &text);
		buf_printf(&text, ": %s", one->text);
		if (!one->is_warning)
			buf_printf(&errors, "%s%s", shown++ ? "\n" : "", buf_text(&text));
		else if (trial_verdict_warn(v, a, arena_strndup(a, buf_text(&text), text.n)) < 0)
			return -1;
	}
	if (!d->n_errors)
		return 0;
	if (d->n_errors > shown)
		buf_printf(&errors, "\n… and %zu more", d->n_errors - shown);
	v->accepted = false;
	v->stage = TRIAL_STAGE_PARSE;
	v->reason = arena_strndup(a, buf_text(&errors), errors.n);
	return v->reason ? 0 : -1;
}

/* Everything up to the plan: -1 with a problem in the reader's list. */
static int read_all(struct reader *r, const struct source *src, const struct trial_check_options *o,
		    struct task *ret_task, struct trial_options *ret)
{
	struct trial_options options = {
		.capabilities = o->capabilities ? *o->capabilities : TRIAL_ALL_CAPABILITIES,
		.backend = o->backend ? o->backend : "process",
		.n_agent_hosts = o->n_agent_hosts,
		.n_environment_hosts = o->n_environment_hosts,
	};
	struct cordon_err err;
	struct value root;

	options.agent_hosts = read_extra(r, "--allow-agent-host", o->agent_hosts, o->n_agent_hosts);
	options.environment_hosts = read_extra(r, "--allow-environment-host", o->environment_hosts,
					       o->n_environment_hosts);
	if (!options.agent_hosts || !options.environment_hosts)
		return diag_error(r->diags, (struct place){ src->name, 0, 0 }, "out of memory");
	if (toml_parse(src, r->policy->arena, &root, &err) < 0)
		return diag_err(r->diags, src->name, &err);
	if (task_read(r, &root, ret_task) < 0 || r->diags->n_errors)
		return -1;
	*ret = options;
	return 0;
}

int trial_read(struct reader *r, const struct source *src, const struct trial_check_options *o,
	       struct task *ret_task, struct trial_verdict *ret, struct cordon_err *err)
{
	struct arena *arena = r->policy->arena;
	struct trial_verdict verdict = { 0 };
	struct trial_options options;
	struct task task = { 0 };

	if (read_all(r, src, o, &task, &options) == 0 &&
	    trial_plan(&task, &options, arena, &verdict, err) < 0)
		return -1;
	if (tell_problems(r->diags, arena, &verdict) < 0)
		return err_nomem(err);
	*ret_task = task;
	*ret = verdict;
	return 0;
}
