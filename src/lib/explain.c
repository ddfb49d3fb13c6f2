/* The effective policy: each value, where it came from, and what cut it. */
#include "host/probe.h"
#include "lib/answer.h"
#include "lib/request.h"
#include "plan/enforce.h"
#include "policy/print.h"
#include "super/limiter.h"

struct line {
	const char *key;
	struct str phase;
	struct str value;
	struct place at;
	const char *by;		/* the kernel feature that enforces it here, or NULL */
};

/* What explanations are made of. */
struct explanation {
	struct composition *c;
	struct enforcement enforcement;
	struct host_caps caps;
	const char *refused;	/* why a run would not start here, or NULL */
};

typedef int line_fn(void *arg, const struct line *line);

static int each_item(struct composition *c, const struct section *s, enum field_id id,
		     struct line *line, line_fn *tell, void *arg)
{
	const struct field_value *v = &s->f[id];

	for (size_t i = 0; i < v->n; i++) {
		if (print_skips(s, id, &v->items[i]))
			continue;
		line->at = v->items[i].at;
		if (item_text(fields[id].kind, &v->items[i], &c->arena, &line->value) < 0 ||
		    tell(arg, line) < 0)
			return -1;
	}
	return 0;
}

/* An empty list and a limit of none ask for nothing. */
static const char *find_enforcer(const struct explanation *e, enum field_id id,
				 const struct section *s)
{
	const struct field_value *v = &s->f[id];
	enum field_shape shape = field_shape(fields[id].kind);

	if (((shape == SHAPE_LIST || shape == SHAPE_MAP) && !v->n) ||
	    (shape == SHAPE_NUMBER && v->number == LIMIT_NONE))
		return NULL;
	return enforcer_find(id, &e->c->policy, s, &e->enforcement);
}

/* One line a value; one for each entry of a list, and one for an empty one. */
static int each_value(const struct explanation *e, const struct section *s, struct str phase,
		      line_fn *tell, void *arg)
{
	struct composition *c = e->c;

	for (int i = 0; i < N_FIELDS; i++) {
		enum field_id id = (enum field_id)i;
		const struct field_value *v = &s->f[i];
		struct line line = { fields[i].key, phase, STR(""), v->at,
				     find_enforcer(e, id, s) };

		if (!v->set)
			continue;
		if (v->n) {
			if (each_item(c, s, id, &line, tell, arg) < 0)
				return -1;
		} else if (value_text(id, v, &c->arena, &line.value) < 0 || tell(arg, &line) < 0) {
			return -1;
		}
	}
	return 0;
}

static int each_line(const struct explanation *e, line_fn *tell, void *arg)
{
	struct composition *c = e->c;

	if (each_value(e, &c->policy.base, STR(""), tell, arg) < 0)
		return -1;
	for (size_t i = 0; i < c->policy.n_phases; i++)
		if (each_value(e, &c->policy.phases[i].section, c->policy.phases[i].name, tell,
			       arg) < 0)
			return -1;
	return 0;
}

/* ---- for people --------------------------------------------------------- */

static void pad(struct buf *out, size_t start, size_t width)
{
	do
		buf_putc(out, ' ');
	while (out->n - start < width && buf_ok(out));
}

static void print_place(struct place at, struct buf *out)
{
	char room[256];
	cleanup_buf struct buf text = BUF_IN(room, MAX_OUTPUT_BYTES);

	place_print(at, &text);
	buf_put_plain(out, (struct str){ buf_text(&text), text.n });
}

/* KEY VALUE PLACE, in columns. */
static void print_line(const struct line *line, struct buf *out)
{
	size_t start = out->n;

	if (line->phase.n) {
		buf_puts(out, "phase.");
		buf_put_plain(out, line->phase);
		buf_putc(out, '.');
	}
	buf_puts(out, line->key);
	pad(out, start, 21);
	start = out->n;
	buf_put_plain(out, line->value);
	pad(out, start, 37);
	buf_putc(out, ' ');
	print_place(line->at, out);
}

static int tell_people(void *arg, const struct line *line)
{
	struct buf *out = arg;

	print_line(line, out);
	if (line->by)
		buf_printf(out, "  [%s]", line->by);
	buf_putc(out, '\n');
	return buf_ok(out) ? 0 : -1;
}

static void print_cuts(const struct cuts *cuts, struct buf *out)
{
	if (cuts->n)
		buf_puts(out, "\ncut:\n");
	for (size_t i = 0; i < cuts->n; i++) {
		const struct cut *cut = &cuts->items[i];

		print_line(&(struct line){ fields[cut->id].key, cut->phase, cut->what, cut->at,
					   NULL },
			   out);
		buf_puts(out, "  by ");
		print_place(cut->by, out);
		buf_putc(out, '\n');
	}
}

/* ---- for programs ------------------------------------------------------- */

static void json_place(struct json_out *j, const char *key, struct place at)
{
	char room[256];
	cleanup_buf struct buf text = BUF_IN(room, 8192);

	place_print(at, &text);
	json_key(j, key);
	json_put_text(j, buf_text(&text));
}

static void json_head(struct json_out *j, struct str phase, const char *key, struct str value)
{
	json_key(j, "key");
	json_put_text(j, key);
	json_key(j, "phase");
	if (phase.n)
		json_put_str(j, phase);
	else
		json_put_null(j);
	json_key(j, "value");
	json_put_str(j, value);
}

static int tell_programs(void *arg, const struct line *line)
{
	struct json_out *j = arg;

	json_open(j, '{');
	json_head(j, line->phase, line->key, line->value);
	json_place(j, "from", line->at);
	json_key(j, "enforced_by");
	json_put_text(j, line->by);
	json_close(j, '}');
	return buf_ok(j->out) ? 0 : -1;
}

/* Would the blocked commands let this one be executed?  Of the vector alone:
 * what it starts in turn is judged when it does. */
static int tell_command(struct composition *c, const struct cordon_request *req, line_fn *tell,
			void *arg)
{
	const struct field_value *block = &c->policy.base.f[F_COMMANDS_BLOCK];
	struct str *argv = arena_new(&c->arena, req->n_command + 1, sizeof(*argv));
	struct line line = {
		"command", STR(""), STR("may be executed"), { "commands.block", 0, 0 }, NULL
	};
	const struct command_place place = { str_from(c->cwd), str_from(c->home ? c->home : "") };

	if (!argv)
		return -1;
	for (size_t i = 0; i < req->n_command; i++)
		argv[i] = str_from(req->command[i]);
	for (size_t i = 0; i < block->n; i++)
		if (command_rule_matches(block->items[i].command, argv, req->n_command, place)) {
			line.value = STR("may not be executed");
			line.at = block->items[i].at;
		}
	return req->n_command ? tell(arg, &line) : 0;
}

static int explain_json(const struct explanation *e, const struct cordon_request *req,
			struct buf *out)
{
	struct json_out j = { .out = out, .indent = 2 };
	struct composition *c = e->c;

	json_open(&j, '{');
	json_key(&j, "values");
	json_open(&j, '[');
	if (each_line(e, tell_programs, &j) < 0 || tell_command(c, req, tell_programs, &j) < 0)
		return -1;
	json_close(&j, ']');
	json_key(&j, "cuts");
	json_open(&j, '[');
	for (size_t i = 0; i < c->cuts.n; i++) {
		const struct cut *cut = &c->cuts.items[i];

		json_open(&j, '{');
		json_head(&j, cut->phase, fields[cut->id].key, cut->what);
		json_place(&j, "from", cut->at);
		json_place(&j, "by", cut->by);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_key(&j, "refused");
	json_put_text(&j, e->refused);
	json_close(&j, '}');
	buf_putc(out, '\n');
	return 0;
}

static int explain_text(const struct explanation *e, const struct cordon_request *req,
			struct buf *out)
{
	struct composition *c = e->c;

	if (each_line(e, tell_people, out) < 0 || tell_command(c, req, tell_people, out) < 0)
		return -1;
	if (e->refused)
		buf_printf(out, "\nrefused on this machine: %s\n", e->refused);
	print_cuts(&c->cuts, out);
	return 0;
}

/* Ask the machine, and whether a run would start. */
static int explanation_init(struct explanation *e, struct composition *c,
			    const struct cordon_request *req, struct cordon_err *err)
{
	struct cordon_request any = request_any_command(req);
	struct plan_request r;
	struct record record;
	struct plan plan;

	*e = (struct explanation){ .c = c };
	if (host_probe(&e->caps, err) < 0 || request_read(c, &any, &r, &record, err) < 0 ||
	    record_check(&record, err) < 0)
		return -1;
	e->caps.cgroup = limiter_detect();
	/* If the run would be refused: as if it were not. */
	e->enforcement = (struct enforcement){ LEVEL_FULL, e->caps.landlock > 0, r.uid == 0,
					       e->caps.cgroup };
	if (plan_compile(&c->policy, &e->caps, &r, &c->arena, &plan, err) == 0) {
		e->enforcement.level = plan.level;
		return 0;
	}
	e->refused = arena_strndup(&c->arena, err->msg, strlen(err->msg));
	return e->refused ? 0 : err_nomem(err);
}

int cordon_explain(const struct cordon_request *req, struct cordon_answer *ret,
		   struct cordon_err *err)
{
	cleanup_composition struct composition c;
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES);
	struct explanation e;

	if (composition_init(&c, req, err) < 0)
		return -1;
	if (compose_all(&c, req) < 0)
		return answer_fill(ret, false, NULL, &c, -1, err);
	if (explanation_init(&e, &c, req, err) < 0)
		return -1;
	/* One that became too large says so itself. */
	if ((req->json ? explain_json(&e, req, &out) : explain_text(&e, req, &out)) < 0 &&
	    buf_ok(&out))
		return err_nomem(err);
	return answer_fill(ret, true, &out, &c, 0, err);
}
