/* The policy of a live cordon; see live_policy.h.
 *
 * Each change makes the whole anew from what was read at the start: the project
 * with the options of the start, then the phase, then what was said since, then
 * the ceilings.  So nothing adds up over the changes, a file that was changed
 * meanwhile has no say, and what the ceilings cut stays cut.
 */
#include "lib/live_policy.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/path.h"
#include "lib/judge.h"
#include "lib/settings.h"
#include "plan/environment.h"
#include "plan/net_inside.h"
#include "plan/phases.h"
#include "policy/covering.h"
#include "policy/diff.h"

/* Said while it lives; a phase begins without any. */
struct wishes {
	const struct phase *phase;	/* of the start's policy; NULL: the base */
	bool replaced;			/* the network is another one than the policy says */
	enum network_mode mode;		/* then: which */
	size_t n_hosts;
	struct {
		char host[MAX_HOST_NAME + 64];
		int64_t until_us;	/* INT64_MAX: for good */
	} hosts[MAX_ALLOWANCES];
};

/* One generation: what holds because of some wishes. */
struct generation {
	struct composition made;	/* empty where the plan has it all */
	const struct section *section;
	const struct plan_net *net;
	struct plan_net own;
	struct wishes wishes;		/* last: room for hosts, which most never use */
};

struct live_policy {
	struct live_policy_about about;
	struct generation *now, *next;
};

static int64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

/* ---- generations -------------------------------------------------------- */

/* Only what is read is cleared: touching the room for the hosts would cost every
 * run more than all else that is done for this. */
static struct generation *generation_new(void)
{
	struct generation *g = malloc(sizeof(*g));

	if (g)
		memset(g, 0, offsetof(struct generation, wishes.hosts));
	return g;
}

static void generation_free(struct generation *g)
{
	if (g)
		composition_release(&g->made);
	free(g);
}

/* The first problem that composing found, as an error. */
static int take_problem(const struct composition *c, struct cordon_err *err)
{
	cleanup_buf struct buf text = BUF(MAX_DIAG_BYTES * 2);

	diags_print(&c->diags, &text);
	return err_set(err, CORDON_E_USAGE, "%.*s", (int)strcspn(buf_text(&text), "\n"),
		       buf_text(&text));
}

static void replace_network(struct section *s, enum network_mode mode)
{
	const struct place at = { "session network", 0, 0 };

	for (int id = 0; mode == NETWORK_NONE && id < N_FIELDS; id++)
		if (field_leads_out((enum field_id)id))
			s->f[id] = (struct field_value){ 0 };
	read_number(s, F_NETWORK_MODE, mode, at);
	s->f[F_NETWORK_ALLOW] = (struct field_value){ 0 };
	if (mode == NETWORK_ALLOWLIST)
		read_list_start(s, F_NETWORK_ALLOW, at);
	read_settle_mode(s);
}

/* The section of the phase, or of the base. */
static struct section *section_of(const struct wishes *w, struct policy *p)
{
	return w->phase ? &policy_find_phase(p, w->phase->name)->section : &p->base;
}

/* In a public network every host is allowed already, and the ceilings say of which that is
 * true: one that is added to it would be the only one. */
static bool takes_hosts(const struct section *s)
{
	const struct field_value *mode = &s->f[F_NETWORK_MODE];

	return !mode->set || mode->number != NETWORK_PUBLIC;
}

static int add_wished_hosts(struct composition *c, const struct wishes *w)
{
	struct cordon_setting host = { CORDON_ADD, "network.allow", NULL, "session allow" };

	for (size_t i = 0; i < w->n_hosts; i++) {
		host.value = w->hosts[i].host;
		if (settings_add(c, &host, 1) < 0)
			return -1;
	}
	return 0;
}

/* A policy with the wishes and, for one command, more settings. */
static int compose_wishes(const struct live_policy *p, const struct wishes *w,
			  const struct cordon_setting *more, size_t n_more, struct composition *c,
			  struct cordon_err *err)
{
	if (compose_again(c, p->about.start, w->phase ? w->phase->name : (struct str){ "", 0 },
			  err) < 0)
		return -1;
	if (w->replaced) {
		replace_network(section_of(w, &c->policy), w->mode);
		replace_network(&c->policy.base, w->mode);
	}
	if (takes_hosts(section_of(w, &c->policy)) && add_wished_hosts(c, w) < 0)
		return take_problem(c, err);
	if (settings_add(c, more, n_more) < 0 || compose_finish(c) < 0)
		return take_problem(c, err);
	return 0;
}

static bool has_wishes(const struct wishes *w)
{
	return w->replaced || w->n_hosts;
}

static int compile_network(const struct live_policy *p, struct generation *g,
			   const struct policy *policy, struct cordon_err *err)
{
	const struct plan_request *r = p->about.request;
	struct net_options o = { .caps = p->about.caps, .environ = r->environ,
				 .reroutes = r->reroutes, .n_reroutes = r->n_reroutes,
				 .gate = p->about.plan->net.kind == NET_GATE };

	if (!o.gate && net_has_gate(&p->about.plan->net))
		return err_set(err, CORDON_E_HOST,
			       "the network of this cordon cannot change: that needs %s (%s), "
			       "which this machine does not offer",
			       host_feature_name(FEATURE_TPROXY),
			       host_feature_about(FEATURE_TPROXY));
	if (net_compile(policy, g->section, &o, &g->made.arena, &g->own, err) < 0)
		return -1;
	if (g->wishes.phase) {
		const struct phase *phase = policy_find_phase(policy, g->wishes.phase->name);

		if (phases_check(policy, phase, &p->about.plan->net, &g->own, err) < 0)
			return -1;
	}
	g->net = &g->own;
	return 0;
}

static const struct plan_phase *find_planned(const struct plan *plan, const struct phase *phase)
{
	for (size_t i = 0; phase && i < plan->n_phases; i++)
		if (str_is(phase->name, plan->phases[i].name))
			return &plan->phases[i];
	return NULL;
}

static const struct plan_net *planned_net(const struct plan *plan, const struct phase *phase)
{
	const struct plan_phase *planned = find_planned(plan, phase);

	if (!phase)
		return &plan->net;
	return planned ? &planned->net : NULL;
}

/* Those of the base hold in every phase of a run. */
static const struct plan_limits *planned_limits(const struct plan *plan, const struct phase *phase)
{
	const struct plan_phase *planned = find_planned(plan, phase);

	return planned ? &planned->limits : &plan->limits;
}

/* The hosts that were asked for, as a list of rules; `ret` lives with the generation. */
static int read_wished_hosts(struct generation *g, struct policy *ret, struct cordon_err *err)
{
	struct reader r = compose_reader(&g->made, ret, "session allow");

	policy_init(ret, &g->made.arena);
	for (size_t i = 0; i < g->wishes.n_hosts; i++)
		if (read_field_text(&r, &ret->base, F_NETWORK_ALLOW,
				    str_from(g->wishes.hosts[i].host),
				    (struct place){ "session allow", 0, 0 }) < 0)
			return take_problem(&g->made, err);
	return 0;
}

/* What a ceiling cuts or a rule denies is not allowed by saying it again; what a wider
 * rule allows already is. */
static int check_hosts(struct generation *g, struct cordon_err *err)
{
	const struct item *const *allowed, *const *denied;
	const struct field_value *wished;
	struct policy scratch;

	if (read_wished_hosts(g, &scratch, err) < 0)
		return -1;
	wished = &scratch.base.f[F_NETWORK_ALLOW];
	if (items_find_covering(wished, F_NETWORK_ALLOW, &g->section->f[F_NETWORK_ALLOW],
				&g->made.arena, &allowed, err) < 0 ||
	    items_find_covering(wished, F_NETWORK_DENY, &g->section->f[F_NETWORK_DENY],
				&g->made.arena, &denied, err) < 0)
		return -1;
	for (size_t i = 0; i < wished->n; i++) {
		cleanup_buf struct buf host = BUF(1024);

		if (allowed[i] && !denied[i])
			continue;
		host_rule_print(wished->items[i].host, &host);
		return err_set(err, CORDON_E_USAGE,
			       "'%s' cannot be allowed: the policy denies it, or a ceiling "
			       "(see cordon explain) does not allow it", buf_text(&host));
	}
	return 0;
}

/* A ceiling may allow less than was asked for, but not nothing of it without a word. */
static int check_mode(const struct generation *g, struct cordon_err *err)
{
	if (!g->wishes.replaced || g->wishes.mode == NETWORK_NONE ||
	    g->section->f[F_NETWORK_MODE].number != NETWORK_NONE)
		return 0;
	return err_set(err, CORDON_E_USAGE,
		       "the network cannot be '%s': a ceiling (see cordon explain) allows none",
		       field_words(KIND_NETWORK_MODE)[g->wishes.mode]);
}

static int compile(const struct live_policy *p, struct generation *g, struct cordon_err *err)
{
	struct policy *start = (struct policy *)(uintptr_t)&p->about.start->policy;

	g->net = planned_net(p->about.plan, g->wishes.phase);
	if (!has_wishes(&g->wishes)) {
		g->section = section_of(&g->wishes, start);
		g->made.arena = ARENA(MAX_ARENA_BYTES);
		return g->net ? 0 : compile_network(p, g, start, err);
	}
	if (compose_wishes(p, &g->wishes, NULL, 0, &g->made, err) < 0)
		return -1;
	g->section = section_of(&g->wishes, &g->made.policy);
	if (check_mode(g, err) < 0 || check_hosts(g, err) < 0)
		return -1;
	return compile_network(p, g, &g->made.policy, err);
}

/* ---- what is said while it lives ---------------------------------------- */

static int wish_phase(const struct live_policy *p, const struct control_message *m,
		      struct wishes *w, struct cordon_err *err)
{
	const char *name = control_text(m, 0, 0);

	*w = (struct wishes){ .phase = NULL };
	if (!name || !name[0])
		return 0;
	w->phase = policy_find_phase(&p->about.start->policy, str_from(name));
	return w->phase ? 0 : err_set(err, CORDON_E_USAGE, "the policy has no phase '%s'", name);
}

static int add_host(struct wishes *w, const char *host, int64_t until_us, struct cordon_err *err)
{
	size_t i = 0;

	while (i < w->n_hosts && strcmp(w->hosts[i].host, host) != 0)
		i++;
	if (i == MAX_ALLOWANCES || strlen(host) >= sizeof(w->hosts[0].host))
		return err_set(err, CORDON_E_USAGE,
			       i == MAX_ALLOWANCES ? "more than %d hosts were added to the session"
						   : "a host is longer than %d bytes",
			       i == MAX_ALLOWANCES ? MAX_ALLOWANCES
						   : (int)sizeof(w->hosts[0].host) - 1);
	snprintf(w->hosts[i].host, sizeof(w->hosts[i].host), "%s", host);
	/* Said twice, the later end counts. */
	w->hosts[i].until_us = i < w->n_hosts ? MAX(w->hosts[i].until_us, until_us) : until_us;
	w->n_hosts = MAX(w->n_hosts, i + 1);
	return 0;
}

static int wish_hosts(const struct control_message *m, size_t list, int64_t until_us,
		      struct wishes *w, struct cordon_err *err)
{
	for (size_t i = 0; i < m->head.counts[list]; i++)
		if (add_host(w, control_text(m, list, i), until_us, err) < 0)
			return -1;
	return 0;
}

static int wish_network(const struct control_message *m, struct wishes *w, struct cordon_err *err)
{
	const char *const *words = field_words(KIND_NETWORK_MODE);
	const char *mode = control_text(m, 0, 0);
	int i = 0;

	w->n_hosts = 0;
	w->replaced = true;
	while (words[i] && strcmp(words[i], mode) != 0)
		i++;
	if (!words[i])
		return err_set(err, CORDON_E_USAGE,
			       "--network takes public, no-network or allowlist, not '%s'", mode);
	w->mode = (enum network_mode)i;
	if (m->head.counts[1] && w->mode != NETWORK_ALLOWLIST)
		return err_set(err, CORDON_E_USAGE, "--allow-host goes with --network allowlist");
	return wish_hosts(m, 1, INT64_MAX, w, err);
}

static int wish_allow(const struct live_policy *p, const struct control_message *m,
		      struct wishes *w, struct cordon_err *err)
{
	int64_t ms = m->head.numbers[0], until_us = INT64_MAX;

	if (p->now->section->f[F_NETWORK_MODE].number == NETWORK_PUBLIC)
		return err_set(err, CORDON_E_USAGE,
			       "the network is public: nothing has to be allowed");
	if (ms > 0 && ms < (INT64_MAX - now_us()) / 1000)
		until_us = now_us() + ms * 1000;
	return wish_hosts(m, 0, until_us, w, err);
}

static void drop_expired(struct wishes *w)
{
	int64_t now = now_us();
	size_t kept = 0;

	for (size_t i = 0; i < w->n_hosts; i++)
		if (w->hosts[i].until_us > now)
			w->hosts[kept++] = w->hosts[i];
	w->n_hosts = kept;
}

static int wish(const struct live_policy *p, const struct control_message *m, struct wishes *w,
		struct cordon_err *err)
{
	drop_expired(w);
	switch (m ? m->head.type : N_CONTROL_TYPES) {
	case CONTROL_PHASE:
		return wish_phase(p, m, w, err);
	case CONTROL_NETWORK:
		return wish_network(m, w, err);
	case CONTROL_ALLOW:
		return wish_allow(p, m, w, err);
	default:
		return 0;
	}
}

static int change(void *arg, const struct control_message *m, struct session_change *ret,
		  struct cordon_err *err)
{
	struct live_policy *p = arg;
	struct generation *g = generation_new();

	if (!g)
		return err_nomem(err);
	g->wishes = p->now->wishes;
	if (!p->about.plan->session && !net_has_gate(&p->about.plan->net)) {
		free(g);
		return err_set(err, CORDON_E_HOST,
			       "this run was started without a gate, so its network cannot change");
	}
	if (wish(p, m, &g->wishes, err) < 0 || compile(p, g, err) < 0) {
		generation_free(g);
		return -1;
	}
	p->next = g;
	ret->net = g->net;
	ret->limits = *planned_limits(p->about.plan, g->wishes.phase);
	return 0;
}

static int is_wider(void *arg, bool *ret, struct cordon_err *err)
{
	const struct live_policy *p = arg;

	return policy_network_is_wider(p->now->section, p->next->section, ret, err);
}

static void settle(void *arg, bool holds)
{
	struct live_policy *p = arg;

	generation_free(holds ? p->now : p->next);
	if (holds)
		p->now = p->next;
	p->next = NULL;
}

static int64_t next_us(void *arg)
{
	const struct live_policy *p = arg;
	int64_t next = INT64_MAX;

	for (size_t i = 0; i < p->now->wishes.n_hosts; i++)
		next = MIN(next, p->now->wishes.hosts[i].until_us);
	return next;
}

/* ---- one command -------------------------------------------------------- */

/* In place of one that the caller may have. */
static int add_status(const struct plan_request *r, const char *const **envp, struct arena *a,
		      struct cordon_err *err)
{
	static const char ours[] = PLAN_STATUS_VARIABLE "=" PLAN_STATUS_FOLDER
						       "/" PLAN_STATUS_FILE;
	const char **list;
	size_t n = 0, kept = 0;

	if (!r->status)
		return 0;
	while ((*envp)[n])
		n++;
	list = arena_new(a, n + 2, sizeof(*list));
	if (!list)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++)
		if (strncmp((*envp)[i], ours, sizeof(PLAN_STATUS_VARIABLE)) != 0)
			list[kept++] = (*envp)[i];
	list[kept] = ours;
	*envp = (const char *const *)list;
	return 0;
}

/* --env of one command: within the ceilings, as for a run. */
static int compile_own(const struct live_policy *p, const struct control_message *m,
		       struct environment_request wish, struct arena *a, const char *const **ret,
		       struct cordon_err *err)
{
	const char *const *words = control_list(m, EXEC_SETTINGS, a);
	size_t n = m->head.counts[EXEC_SETTINGS];
	struct cordon_setting *settings = arena_new(a, n + 1, sizeof(*settings));
	struct composition c;
	int rc;

	if (!words || !settings)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++)
		settings[i] = (struct cordon_setting){
			CORDON_ADD, strchr(words[i], '=') ? "env.set" : "env.pass", words[i],
			"--env" };
	rc = compose_wishes(p, &p->now->wishes, settings, n, &c, err);
	if (rc == 0) {
		wish.section = section_of(&p->now->wishes, &c.policy);
		rc = environment_compile(&wish, a, ret, err);
	}
	composition_release(&c);
	return rc;
}

static int plan_environment(const struct live_policy *p, const struct control_message *m,
			    struct arena *a, const char *const **ret, struct cordon_err *err)
{
	struct environment_request wish = { p->now->section, control_list(m, EXEC_ENVIRON, a),
					    p->about.plan };
	int rc;

	if (!wish.environ)
		return err_nomem(err);
	if (m->head.counts[EXEC_SETTINGS])
		rc = compile_own(p, m, wish, a, ret, err);
	else
		rc = environment_compile(&wish, a, ret, err);
	return rc < 0 ? -1 : add_status(p->about.request, ret, a, err);
}

/* Where the caller is, if that is in the session's directory; it must be where
 * it was asked for. */
static const char *find_cwd(const struct live_policy *p, const struct control_message *m)
{
	const char *theirs = control_text(m, EXEC_WORDS, EXEC_CWD);
	const char *own = p->about.request->cwd;

	if (control_text(m, EXEC_WORDS, EXEC_CWD_ASKED)[0])
		return theirs;
	return theirs[0] == '/' && path_within(theirs, own) ? theirs : own;
}

static int plan_command(void *arg, const struct control_message *m, struct arena *a,
			struct session_command *ret, struct cordon_err *err)
{
	const struct live_policy *p = arg;
	const char *text = control_text(m, EXEC_WORDS, EXEC_SHELL_TEXT);
	struct judged judged = { .argv = control_list(m, EXEC_ARGV, a),
				 .n = m->head.counts[EXEC_ARGV],
				 .shell_text = text[0] ? text : NULL };

	if (!judged.argv)
		return err_nomem(err);
	if (judge_command(&p->about.start->policy, &judged, a, &ret->blocked, err) < 0 ||
	    plan_environment(p, m, a, &ret->envp, err) < 0)
		return -1;
	ret->argv = judged.argv;
	ret->what = judged.shell_text ? judged.shell_text : judged.argv[0];
	ret->cwd = find_cwd(p, m);
	ret->limits = *planned_limits(p->about.plan, p->now->wishes.phase);
	return 0;
}

/* ---- what is told about it ---------------------------------------------- */

static void print_hosts(const struct field_value *v, const char *key, struct json_out *j)
{
	json_key(j, key);
	json_open(j, '[');
	for (size_t i = 0; i < v->n; i++) {
		cleanup_buf struct buf text = BUF(1024);

		host_rule_print(v->items[i].host, &text);
		json_put_text(j, buf_text(&text));
	}
	json_close(j, ']');
}

static void print_limits(const struct section *s, struct json_out *j)
{
	static const struct {
		const char *key;
		enum field_id id;
	} rows[] = {
		{ "memory", F_LIMITS_MEMORY },	     { "cpu_seconds", F_LIMITS_CPU_SECONDS },
		{ "cpus", F_LIMITS_CPUS },
		{ "processes", F_LIMITS_PROCESSES }, { "file_size", F_LIMITS_FILE_SIZE },
		{ "timeout_ms", F_LIMITS_TIMEOUT },  { "output", F_LIMITS_OUTPUT },
		{ "disk", F_LIMITS_DISK },	     { "open_files", F_LIMITS_OPEN_FILES },
	};

	json_key(j, "limits");
	json_open(j, '{');
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_key(j, rows[i].key);
		if (s->f[rows[i].id].number == LIMIT_NONE)
			json_put_null(j);
		else
			json_put_int(j, s->f[rows[i].id].number);
	}
	json_close(j, '}');
}

static void print(void *arg, struct json_out *j)
{
	const struct live_policy *p = arg;
	const struct section *s = p->now->section;
	const struct phase *phase = p->now->wishes.phase;

	json_key(j, "phase");
	if (phase)
		json_put_str(j, phase->name);
	else
		json_put_null(j);
	json_key(j, "network");
	json_open(j, '{');
	json_key(j, "mode");
	json_put_text(j, field_words(KIND_NETWORK_MODE)[s->f[F_NETWORK_MODE].number]);
	print_hosts(&s->f[F_NETWORK_ALLOW], "allow", j);
	print_hosts(&s->f[F_NETWORK_DENY], "deny", j);
	json_close(j, '}');
	print_limits(s, j);
}

/* ---- start and end ------------------------------------------------------ */

struct live_policy *live_policy_new(const struct live_policy_about *about, struct cordon_err *err)
{
	struct live_policy *p = calloc(1, sizeof(*p));

	if (p)
		p->now = generation_new();
	if (!p || !p->now) {
		free(p);
		err_nomem(err);
		return NULL;
	}
	p->about = *about;
	if (compile(p, p->now, err) < 0) {
		live_policy_free(p);
		return NULL;
	}
	return p;
}

void live_policy_free(struct live_policy *p)
{
	if (!p)
		return;
	generation_free(p->now);
	generation_free(p->next);
	free(p);
}

struct session_ops live_policy_ops(struct live_policy *p)
{
	return (struct session_ops){ .change = change, .is_wider = is_wider, .settle = settle,
				     .next_us = next_us, .plan_command = plan_command,
				     .print = print, .arg = p };
}
