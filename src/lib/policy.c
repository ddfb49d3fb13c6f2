/* Policies as data: show, convert, intersect, diff, match. */
#include "base/path.h"
#include "gate/decide.h"
#include "lib/answer.h"
#include "lib/request.h"
#include "policy/diff.h"
#include "policy/print.h"
#include "policy/schema.h"

static int need_files(const struct cordon_request *req, size_t least, size_t most,
		      struct cordon_err *err)
{
	if (req->n_files < least)
		return err_set(err, CORDON_E_USAGE, "%zu policy file%s given; %zu needed",
			       req->n_files, req->n_files == 1 ? " is" : "s are", least);
	if (req->n_files > most)
		return err_set(err, CORDON_E_USAGE, "%zu policy files are given; %zu at most",
			       req->n_files, most);
	return 0;
}

int cordon_policy_show(const struct cordon_request *req, struct cordon_answer *ret,
		       struct cordon_err *err)
{
	cleanup_composition struct composition c;
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES);
	struct json_out j = { .out = &out, .indent = 2 };
	int rc;

	if (composition_init(&c, req, err) < 0 || need_files(req, 1, MAX_POLICY_LAYERS, err) < 0)
		return -1;
	rc = compose_files(&c, req, NULL);
	if (rc == 0 && req->json) {
		policy_print_json(&c.policy, &j);
		buf_putc(&out, '\n');
	} else if (rc == 0) {
		policy_print(&c.policy, true, &out);
	}
	return answer_fill(ret, true, &out, &c, rc, err);
}

int cordon_policy_schema(struct cordon_answer *ret, struct cordon_err *err)
{
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES);
	struct json_out j = { .out = &out, .indent = 2 };

	policy_print_schema(&j);
	buf_putc(&out, '\n');
	*ret = (struct cordon_answer){ .yes = true, .text = buf_take(&out) };
	return ret->text ? 0 : err_nomem(err);
}

int cordon_policy_convert(const struct cordon_request *req, struct cordon_answer *ret,
			  struct cordon_err *err)
{
	cleanup_composition struct composition c;
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES);
	int rc;

	if (composition_init(&c, req, err) < 0 || need_files(req, 1, 1, err) < 0)
		return -1;
	rc = compose_files(&c, req, NULL);
	if (rc == 0)
		policy_print(&c.policy, false, &out);
	return answer_fill(ret, rc == 0, &out, &c, rc, err);
}

/* Two texts of one dialect that composes by its own rules. */
static int intersect_own(struct composition *c, const struct cordon_request *req,
			 const struct dialect *d, const struct source *src,
			 struct cordon_answer *ret, struct cordon_err *err)
{
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES);
	struct json_out j = { .out = &out, .indent = 2 };
	struct value trees[2];
	struct cordon_err why;

	for (size_t i = 0; i < 2; i++)
		if (d->parse(&src[i], &c->arena, &trees[i], &why) < 0)
			return answer_fill(ret, false, NULL, c,
					   diag_err(&c->diags, req->files[i], &why), err);
	if (d->intersect(&trees[0], &trees[1], &j, &why) < 0) {
		/* A text that is wrong has a place; a refusal to compose has none. */
		diag_err(&c->diags, why.line ? req->files[0] : NULL, &why);
		return answer_fill(ret, false, NULL, c, why.line ? -1 : 0, err);
	}
	buf_putc(&out, '\n');
	return answer_fill(ret, true, &out, c, 0, err);
}

static int intersect_models(struct composition *c, const struct cordon_request *req,
			    struct cordon_answer *ret, struct cordon_err *err)
{
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES);
	struct json_out j = { .out = &out, .indent = 2 };
	struct policy two[2];
	struct cordon_err why;
	int rc = 0;

	for (size_t i = 0; i < 2; i++)
		rc |= compose_file(c, req->files[i], req->dialect, &two[i]);
	if (rc < 0)
		return answer_fill(ret, false, NULL, c, rc, err);
	if (policy_intersect(&two[0], &two[1], &c->policy, NULL, &why) < 0) {
		diag_err(&c->diags, NULL, &why);
		return answer_fill(ret, false, NULL, c, 0, err);
	}
	if (req->json)
		policy_print_json(&c->policy, &j);
	else
		policy_print(&c->policy, false, &out);
	if (req->json)
		buf_putc(&out, '\n');
	return answer_fill(ret, true, &out, c, 0, err);
}

int cordon_policy_intersect(const struct cordon_request *req, struct cordon_answer *ret,
			    struct cordon_err *err)
{
	cleanup_composition struct composition c;
	const struct dialect *d[2];
	struct source src[2];

	if (composition_init(&c, req, err) < 0 || need_files(req, 2, 2, err) < 0)
		return -1;
	for (size_t i = 0; i < 2; i++) {
		if (compose_read_source(&c, req->files[i], &src[i]) < 0)
			return answer_fill(ret, false, NULL, &c, -1, err);
		d[i] = req->dialect ? dialect_find(req->dialect) : dialect_detect(&src[i]);
	}
	if (d[0] == d[1] && d[0]->intersect && req->json)
		return intersect_own(&c, req, d[0], src, ret, err);
	return intersect_models(&c, req, ret, err);
}

int cordon_policy_diff(const struct cordon_request *req, struct cordon_answer *ret,
		       struct cordon_err *err)
{
	cleanup_composition struct composition c;
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES);
	struct policy two[2];
	size_t lines = 0;
	int rc = 0;

	if (composition_init(&c, req, err) < 0 || need_files(req, 2, 2, err) < 0)
		return -1;
	for (size_t i = 0; i < 2; i++) {
		rc |= compose_file(&c, req->files[i], req->dialect, &two[i]);
		c.policy = two[i];
		if (rc == 0)
			rc = compose_defaults(&c);
		two[i] = c.policy;
	}
	if (rc == 0 && policy_diff((struct named_policy){ &two[0], req->files[0] },
				   (struct named_policy){ &two[1], req->files[1] }, &out, &lines,
				   err) < 0)
		return -1;
	return answer_fill(ret, lines == 0, &out, &c, rc, err);
}

/* ---- match -------------------------------------------------------------- */

static int parse_answers(struct composition *c, const struct cordon_question *q,
			 struct host_addr **ret, struct cordon_err *err)
{
	if (q->n_resolves_to > MAX_MATCH_ANSWERS)
		return err_set(err, CORDON_E_USAGE, "--resolves-to is there more than %d times",
			       MAX_MATCH_ANSWERS);
	*ret = arena_new(&c->arena, q->n_resolves_to + 1, sizeof(**ret));
	if (!*ret)
		return err_nomem(err);
	for (size_t i = 0; i < q->n_resolves_to; i++)
		if (!host_addr_parse(str_from(q->resolves_to[i]), &(*ret)[i]))
			return err_set(err, CORDON_E_USAGE, "'%s' is not an address",
				       q->resolves_to[i]);
	return 0;
}

/* What a run would hold of a section on a machine that can hold it. */
static int compile_net(struct composition *c, const struct cordon_request *req,
		       const struct section *s, struct plan_net *ret, struct cordon_err *err)
{
	static const struct host_caps none;
	struct net_options o = { .caps = &none, .n_reroutes = req->n_connect_to };

	if (request_reroutes(c, req, &o.reroutes, err) < 0)
		return -1;
	o.gate = !net_is_open(s);
	return net_compile(&c->policy, s, &o, &c->arena, ret, err);
}

static int match_targets(struct composition *c, const struct cordon_request *req,
			 const struct cordon_question *q, struct buf *out, bool *ret_yes,
			 struct cordon_err *err)
{
	const struct phase *phase = NULL;
	struct match_answers answers = { .n = q->n_resolves_to };
	struct host_addr *addrs = NULL;
	struct plan_net net;

	if (q->phase)
		phase = policy_find_phase(&c->policy, str_from(q->phase));
	if (q->phase && !phase)
		return err_set(err, CORDON_E_USAGE, "the policy has no phase '%s'", q->phase);
	if (parse_answers(c, q, &addrs, err) < 0 ||
	    compile_net(c, req, phase ? &phase->section : &c->policy.base, &net, err) < 0)
		return -1;
	answers.addrs = addrs;
	for (size_t i = 0; i < q->n_targets; i++) {
		struct match_verdict v;

		decide_target(&net, str_from(q->targets[i]), &answers, &v);
		*ret_yes &= v.allowed;
		buf_puts(out, v.allowed ? "allowed" : "denied: ");
		if (!v.allowed)
			buf_put_plain(out, str_from(v.reason));
		buf_putc(out, '\n');
	}
	return 0;
}

static int match_command(struct composition *c, const struct cordon_question *q, struct buf *out,
			 bool *ret_yes, struct cordon_err *err)
{
	const struct field_value *v = &c->policy.base.f[F_COMMANDS_BLOCK];
	struct command_rule *rules = arena_new(&c->arena, v->n + 1, sizeof(*rules));
	const struct command_rule *rule;
	char message[COMMAND_WHY];

	if (!rules)
		return err_nomem(err);
	for (size_t i = 0; i < v->n; i++)
		rules[i] = *v->items[i].command;
	if (command_text_find(rules, v->n, str_from(q->command), &rule, err) < 0)
		return -1;
	*ret_yes = !rule;
	buf_puts(out, rule ? "blocked: " : "allowed");
	if (rule) {
		command_rule_message(rule, message);
		buf_put_plain(out, str_from(message));
	}
	buf_putc(out, '\n');
	return 0;
}

int cordon_policy_match(const struct cordon_request *req, const struct cordon_question *q,
			struct cordon_answer *ret, struct cordon_err *err)
{
	cleanup_composition struct composition c;
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES);
	bool yes = true;
	int rc;

	if (composition_init(&c, req, err) < 0 || need_files(req, 1, MAX_POLICY_LAYERS, err) < 0)
		return -1;
	if (q->size != sizeof(*q))
		return err_set(err, CORDON_E_USAGE,
			       "the question is of another version of cordon.h");
	rc = compose_files(&c, req, "--policy");
	if (rc == 0)
		rc = compose_defaults(&c);
	if (rc < 0) {
		for (size_t i = 0; i < q->n_targets; i++)
			buf_puts(&out, "denied: the policy is not valid\n");
		if (q->command)
			buf_puts(&out, "blocked: the policy is not valid\n");
		return answer_fill(ret, false, &out, &c, rc, err);
	}
	if (q->command ? match_command(&c, q, &out, &yes, err) < 0
		       : match_targets(&c, req, q, &out, &yes, err) < 0)
		return -1;
	return answer_fill(ret, yes, &out, &c, 0, err);
}
