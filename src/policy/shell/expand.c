/* What words may become; see expand.h. */
#include "policy/shell/expand.h"

#include "base/buf.h"
#include "base/limits.h"
#include "policy/shell/fields.h"
#include "policy/shell/output.h"

#define MAX_EXPAND_DEPTH	24	/* variables that refer to variables */
#define MAX_CALLS		(4 * MAX_WAYS)
#define MAX_CLASS		64u	/* bytes of a [class]; a longer one is plain text */

/* One assignment of a variable. */
struct value {
	const struct shell_word *word;	/* NULL: `text` is the value */
	struct str text;
	bool is_loop, is_array, appends;
	struct str scope;		/* the function that assigns it */
};

struct variable {
	struct str name;
	struct value *values;
	size_t n_values, cap_values;
	bool is_anything;
	/* Remembered results, of one round. */
	unsigned round;
	bool busy;
	struct ways ways;
};

/* Words under construction: each of the things it may become. */
struct draft {
	struct buf ways[MAX_WAYS];
	size_t n;
};

static void draft_release(struct draft *d)
{
	for (size_t i = 0; i < d->n; i++)
		buf_release(&d->ways[i]);
}

#define cleanup_draft __attribute__((cleanup(draft_release)))

static void expand_parts(struct expander *e, const struct shell_word *word, bool splits,
			 struct draft *d);
static struct variable *find_variable(struct expander *e, struct str name);
static struct ways variable_ways(struct expander *e, struct str name, bool all);

bool expand_work(struct expander *e, size_t n)
{
	e->work += n;
	if (e->work > MAX_COMMAND_WORK)
		e->exhausted = true;
	return !e->exhausted && !e->no_memory;
}

void *expand_new(struct expander *e, size_t n, size_t size)
{
	void *p = expand_work(e, n * size) ? arena_new(e->a, n, size) : NULL;

	if (!p && !e->exhausted)
		e->no_memory = true;
	return p;
}

struct str expand_keep(struct expander *e, const struct buf *text)
{
	char *copy = expand_new(e, text->n + 1, 1);

	if (!copy)
		return STR("");
	if (!buf_ok(text))
		e->exhausted = true;
	memcpy(copy, buf_text(text), text->n);
	return (struct str){ copy, text->n };
}

static struct ways one_way(struct expander *e, const char *text, size_t n)
{
	struct str *item = expand_new(e, 1, sizeof(*item));
	char *copy = item ? expand_new(e, n + 1, 1) : NULL;

	if (!copy)
		return (struct ways){ 0 };
	memcpy(copy, text, n);
	*item = (struct str){ copy, n };
	return (struct ways){ item, 1 };
}

static struct ways hole_way(struct expander *e, enum hole hole)
{
	char text[2] = { '\0', (char)hole };

	return one_way(e, text, 2);
}

/* Drafts */

static void draft_init(struct draft *d)
{
	d->n = 1;
	d->ways[0] = BUF(4 * MAX_COMMAND_TEXT);
}

static void draft_add(struct expander *e, struct draft *d, const char *text, size_t n)
{
	for (size_t i = 0; i < d->n && expand_work(e, n); i++)
		buf_add(&d->ways[i], text, n);
}

static void draft_hole(struct expander *e, struct draft *d, enum hole hole)
{
	char text[2] = { '\0', (char)hole };

	draft_add(e, d, text, 2);
}

/* Continue with every one of `ways`, each already in its final form. */
static void draft_fork(struct expander *e, struct draft *d, struct ways ways)
{
	size_t n = d->n;

	if (!ways.n)
		return;
	if (ways.n > MAX_WAYS / n) {
		draft_hole(e, d, HOLE_ANY);
		return;
	}
	for (size_t w = 1; w < ways.n; w++) {
		for (size_t i = 0; i < n && expand_work(e, d->ways[i].n + ways.items[w].n); i++) {
			struct buf *b = &d->ways[d->n++];

			*b = BUF(4 * MAX_COMMAND_TEXT);
			buf_add(b, buf_text(&d->ways[i]), d->ways[i].n);
			buf_str(b, ways.items[w]);
		}
	}
	for (size_t i = 0; i < n && expand_work(e, ways.items[0].n); i++)
		buf_str(&d->ways[i], ways.items[0]);
}

static struct ways draft_ways(struct expander *e, struct draft *d)
{
	struct ways ways = { expand_new(e, d->n, sizeof(struct str)), 0 };

	for (size_t i = 0; ways.items && i < d->n; i++) {
		ways.items[ways.n] = expand_keep(e, &d->ways[i]);
		if (e->no_memory || e->exhausted)
			break;
		ways.n++;
	}
	return ways;
}

/* One more way, unless it is there already; too many become any. */
static void ways_add(struct expander *e, struct ways *ways, struct str text)
{
	if (!ways->items)
		ways->items = expand_new(e, MAX_WAYS, sizeof(struct str));
	if (!ways->items)
		return;
	for (size_t i = 0; i < ways->n; i++)
		if (str_eq(ways->items[i], text))
			return;
	if (ways->n == MAX_WAYS) {
		*ways = hole_way(e, HOLE_ANY);
		return;
	}
	if (ways->n == 1 && str_eq(ways->items[0], (struct str){ "\0S", 2 }))
		return;
	ways->items[ways->n++] = text;
}

/* At '[': where the class of file-name matching that it opens ends; 0: none. */
static size_t class_end(struct str text, size_t i)
{
	struct str inside;
	size_t n;

	if (i + 2 >= text.n)
		return 0;
	inside = str_first(str_from_pos(text, i + 2), MIN(text.n - i - 2, MAX_CLASS));
	n = str_find(inside, ']');
	return n < inside.n ? i + 2 + n : 0;
}

/* Text as written or as the value of a variable, unquoted: its white space
 * separates fields and its stars match file names. */
static void put_bare(struct buf *out, struct str text, bool is_source, struct str ifs)
{
	for (size_t i = 0; i < text.n; i++) {
		char c = text.s[i];
		size_t close = c == '[' ? class_end(text, i) : 0;

		if (c == '\0' && i + 1 < text.n) {
			c = text.s[++i];
			buf_putc(out, '\0');
			buf_putc(out, c == HOLE_ENV ? (char)HOLE_ENV_BARE : c);
			continue;
		}
		if (close) {
			i = close;
			c = '?';
		}
		if (!is_source && (c == '\t' || c == '\n' || str_find(ifs, c) < ifs.n))
			c = ' ';
		if (strchr(is_source ? "*?{,}" : "*? ", c))
			buf_putc(out, '\0');
		buf_putc(out, c);
	}
}

/* The separators that the text itself sets, all together. */
static struct str own_separators(struct expander *e)
{
	struct variable *v = find_variable(e, STR("IFS"));
	struct ways ways;

	if (!v || v->busy)
		return STR("");
	ways = variable_ways(e, STR("IFS"), false);
	for (size_t i = 0; i < ways.n; i++)
		if (ways.items[i].n)
			return ways.items[i];
	return STR("");
}

static struct ways bare_ways(struct expander *e, struct ways from, bool is_output)
{
	struct ways ways = { expand_new(e, from.n, sizeof(struct str)), 0 };
	struct str ifs = own_separators(e);

	for (size_t i = 0; ways.items && i < from.n; i++) {
		cleanup_buf struct buf out = BUF(4 * MAX_COMMAND_TEXT);
		struct ways one;

		put_bare(&out, from.items[i], false, ifs);
		if (is_output && out.n == 2 && out.data[1] == HOLE_ANY)
			out.data[1] = HOLE_MANY;
		one = one_way(e, buf_text(&out), out.n);
		if (!one.n)
			break;
		ways.items[ways.n++] = one.items[0];
	}
	return ways;
}

/* Variables */

static struct variable *find_variable(struct expander *e, struct str name)
{
	struct map_slot *slot = map_find(&e->names, name);

	return slot ? &e->variables[slot->value] : NULL;
}

static struct variable *add_variable(struct expander *e, struct str name)
{
	struct variable *v = find_variable(e, name);
	bool is_new;

	if (v)
		return v;
	v = arena_grow(e->a, e->variables, e->n_variables, &e->cap_variables, sizeof(*v));
	if (!v || !map_add(&e->names, e->a, name, e->n_variables, &is_new)) {
		e->no_memory = true;
		return NULL;
	}
	e->variables = v;
	v += e->n_variables++;
	v->name = name;
	return v;
}

static bool same_value(const struct value *a, const struct value *b)
{
	return str_eq(a->word ? a->word->source : a->text, b->word ? b->word->source : b->text) &&
	       !a->word == !b->word && a->is_loop == b->is_loop &&
	       a->is_array == b->is_array && a->appends == b->appends &&
	       str_eq(a->scope, b->scope);
}

static void learn(struct expander *e, struct str name, const struct value *value)
{
	struct variable *v = add_variable(e, name);
	struct value *values;

	if (!v || v->is_anything)
		return;
	for (size_t i = 0; value && i < v->n_values; i++)
		if (same_value(&v->values[i], value))
			return;
	e->learned = true;
	if (!value || v->n_values >= MAX_WAYS) {
		v->is_anything = true;
		return;
	}
	values = arena_grow(e->a, v->values, v->n_values, &v->cap_values, sizeof(*values));
	if (!values) {
		e->no_memory = true;
		return;
	}
	v->values = values;
	values[v->n_values++] = *value;
}

void expand_learn_value(struct expander *e, struct str name, const struct str *value)
{
	struct value v = { .text = value ? *value : STR("") };

	learn(e, name, value ? &v : NULL);
}

static void learn_assign(struct expander *e, const struct shell_assign *a, struct str scope)
{
	struct value v = { .is_loop = a->is_loop, .is_array = a->is_array,
			   .appends = a->appends, .scope = scope };

	if (!a->n_values && !a->is_array && !a->is_loop)
		learn(e, a->name, &v);
	for (size_t i = 0; i < a->n_values; i++) {
		v.word = &a->values[i];
		learn(e, a->name, &v);
	}
}

/* ${name:=word}, in any word. */
static void learn_defaults(struct expander *e, const struct shell_word *word,
			   struct str scope)
{
	for (size_t i = 0; i < word->n_parts; i++) {
		const struct shell_part *part = &word->parts[i];

		if (part->kind != SHELL_VARIABLE || !part->op.n)
			continue;
		if (str_ends(part->op, "=") && part->arg->n_parts) {
			struct value v = { .word = part->arg, .scope = scope };

			learn(e, part->text, &v);
		}
		learn_defaults(e, part->arg, scope);
	}
}

void expand_learn(struct expander *e, const struct shell_script *script)
{
	for (size_t i = 0; i < script->n_commands && !e->no_memory; i++) {
		const struct shell_command *cmd = &script->commands[i];
		struct str scope = cmd->function.n ? cmd->function : e->scope;

		for (size_t k = 0; k < cmd->n_assigns; k++)
			learn_assign(e, &cmd->assigns[k], scope);
		for (size_t k = 0; k < cmd->n_words; k++)
			learn_defaults(e, &cmd->words[k], scope);
	}
}

static bool same_call(const struct call *c, struct str function, struct argv args)
{
	bool same = c->args.n == args.n && str_eq(c->function, function);

	for (size_t k = 0; same && k < args.n; k++)
		same = str_eq(c->args.words[k], args.words[k]);
	return same;
}

void expand_learn_call(struct expander *e, struct str function, struct argv args)
{
	struct call *calls;

	for (size_t i = 0; i < e->n_calls; i++)
		if (!expand_work(e, 16) || same_call(&e->calls[i], function, args))
			return;
	if (!args.n || e->calls_anything)
		return;
	e->learned = true;
	if (e->n_calls >= MAX_CALLS) {
		e->calls_anything = true;
		return;
	}
	calls = arena_grow(e->a, e->calls, e->n_calls, &e->cap_calls, sizeof(*calls));
	if (!calls) {
		e->no_memory = true;
		return;
	}
	e->calls = calls;
	calls[e->n_calls++] = (struct call){ function, args };
}

static void join_into(struct buf *out, struct argv args, size_t from)
{
	for (size_t k = from; k < args.n; k++) {
		if (k > from)
			buf_add(out, "\0 ", 2);
		buf_str(out, args.words[k]);
	}
}

/* One call's contribution: $1 may be any argument, $@ is all of them. */
static void add_call_ways(struct expander *e, struct argv args, bool all, struct ways *ways)
{
	for (size_t k = 0; k < args.n && ways->n < MAX_WAYS; k++) {
		cleanup_buf struct buf out = BUF(4 * MAX_COMMAND_TEXT);
		struct ways one;

		if (all && k && !e->shifts)
			break;
		if (all)
			join_into(&out, args, k);
		else
			buf_str(&out, args.words[k]);
		one = one_way(e, buf_text(&out), out.n);
		if (one.n)
			ways_add(e, ways, one.items[0]);
	}
}

static struct ways positional_ways(struct expander *e, struct str name)
{
	bool all = str_is(name, "@") || str_is(name, "*");
	struct ways ways = { 0 };

	if (e->calls_anything)
		return hole_way(e, HOLE_ANY);
	/* Of a text, $0 is the shell that runs it. */
	if (str_is(name, "0"))
		ways_add(e, &ways, STR("sh"));
	for (size_t i = 0; i < e->n_calls; i++) {
		const struct call *c = &e->calls[i];

		if (!c->function.n || str_eq(c->function, e->scope))
			add_call_ways(e, c->args, all, &ways);
	}
	return ways.n < MAX_WAYS ? ways : hole_way(e, HOLE_ANY);
}

/* What variables hold that the text does not set. */
static struct ways known_ways(struct expander *e, struct str name)
{
	static const char *const absolute[] = { "HOME", "PWD", "OLDPWD", "TMPDIR" };

	for (size_t i = 0; i < ARRAY_SIZE(absolute); i++)
		if (str_is(name, absolute[i]))
			return one_way(e, "/\0S", 3);
	if (str_is(name, "SHELL") || str_is(name, "BASH"))
		return one_way(e, "/bin/sh", 7);
	/* The last word of the command before: whatever the text wants. */
	if (str_is(name, "_"))
		return hole_way(e, HOLE_ANY);
	return hole_way(e, HOLE_ENV);
}

/* Elements of an array, all as one when the text makes it in one place. */
static struct ways array_ways(struct expander *e, const struct variable *v, bool all)
{
	cleanup_buf struct buf out = BUF(4 * MAX_COMMAND_TEXT);
	struct ways ways = { 0 };

	for (size_t i = 0; i < v->n_values; i++) {
		struct ways one;

		if (!v->values[i].word)
			continue;
		one = expand_text(e, v->values[i].word);
		if (all && one.n != 1)
			return hole_way(e, HOLE_ANY);
		if (all && i)
			buf_add(&out, "\0 ", 2);
		for (size_t k = 0; k < one.n; k++) {
			ways_add(e, &ways, one.items[k]);
			if (all)
				buf_str(&out, one.items[k]);
		}
	}
	return all ? one_way(e, buf_text(&out), out.n) : ways;
}

static void add_value_ways(struct expander *e, const struct value *value, struct ways *ways)
{
	struct shell_command words = { .n_words = 1 };
	struct shell_word copy;
	struct argv *lines;
	struct ways one;
	size_t n;

	if (!value->word) {
		ways_add(e, ways, value->text);
	} else if (!value->is_loop) {
		one = expand_text(e, value->word);
		for (size_t k = 0; k < one.n; k++)
			ways_add(e, ways, one.items[k]);
	} else {
		copy = *value->word;
		words.words = &copy;
		n = expand_command(e, &words, &lines);
		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; k < lines[i].n; k++)
				ways_add(e, ways, lines[i].words[k]);
	}
}

/* `index` is the slot, since the table may move while values are expanded. */
static struct ways value_ways(struct expander *e, size_t index, bool all)
{
	struct variable v = e->variables[index];
	bool is_array = false, is_plain = false, appends = false;
	struct ways ways = { 0 };

	if (v.is_anything)
		return hole_way(e, HOLE_ANY);
	for (size_t i = 0; i < v.n_values; i++) {
		is_array |= v.values[i].is_array;
		is_plain |= !v.values[i].is_array;
		appends |= v.values[i].appends;
	}
	if (is_array && !is_plain)
		return array_ways(e, &v, all);
	if (is_array || appends)
		return hole_way(e, HOLE_ANY);
	for (size_t i = 0; i < v.n_values && expand_work(e, 1); i++) {
		e->scope = v.values[i].scope;
		add_value_ways(e, &v.values[i], &ways);
	}
	return ways;
}

static struct ways variable_ways(struct expander *e, struct str name, bool all)
{
	struct variable *v = find_variable(e, name);
	struct str scope = e->scope;
	struct ways ways;
	size_t index;

	if (!v)
		return known_ways(e, name);
	if (v->busy || e->depth >= MAX_EXPAND_DEPTH)
		return hole_way(e, HOLE_ANY);
	if (v->round == e->round && !all)
		return v->ways;
	index = (size_t)(v - e->variables);
	v->busy = true;
	e->depth++;
	ways = value_ways(e, index, all);
	e->scope = scope;
	e->depth--;
	v = &e->variables[index];
	v->busy = false;
	if (all)
		return ways;
	v->round = e->round;
	v->ways = ways;
	return ways;
}

static struct ways plain_ways(struct expander *e, const struct shell_part *part)
{
	struct str name = part->text;
	struct ways ways;
	bool all = part->subscript.s && (str_is(part->subscript, "@") ||
					 str_is(part->subscript, "*"));

	if (strchr("?$!#-", name.s[0]))
		return hole_way(e, HOLE_ENV);
	if (!strchr("@*0123456789", name.s[0]))
		return variable_ways(e, name, all);
	ways = positional_ways(e, name);
	return ways.n ? ways : hole_way(e, HOLE_ENV);
}

/* ${name:-word} and its like: what there is, and the word. */
static struct ways operator_ways(struct expander *e, const struct shell_part *part)
{
	char op = part->op.s[part->op.n - 1];
	struct ways ways = { 0 }, other;

	if (op == '#' && part->op.n == 1 && !part->arg->n_parts)
		return hole_way(e, HOLE_ENV);		/* ${#name}: a number */
	if (!strchr("-=+?", op))
		return hole_way(e, HOLE_ANY);
	if (op == '+')
		ways_add(e, &ways, STR(""));
	else
		ways = plain_ways(e, part);
	if (op == '?' || e->depth >= MAX_EXPAND_DEPTH)
		return ways;
	/* Not the remembered list: it belongs to the variable. */
	other = ways;
	ways = (struct ways){ 0 };
	for (size_t i = 0; i < other.n; i++)
		ways_add(e, &ways, other.items[i]);
	e->depth++;
	other = expand_text(e, part->arg);
	e->depth--;
	for (size_t i = 0; i < other.n; i++)
		ways_add(e, &ways, other.items[i]);
	return ways;
}

static void expand_variable(struct expander *e, const struct shell_part *part, bool splits,
			    struct draft *d)
{
	bool bare = splits && !part->quoted;
	struct ways ways;

	if (bare && str_is(part->text, "IFS")) {
		draft_hole(e, d, HOLE_BREAK);
		return;
	}
	ways = part->op.n ? operator_ways(e, part) : plain_ways(e, part);
	draft_fork(e, d, bare ? bare_ways(e, ways, false) : ways);
}

static void expand_source(struct expander *e, const struct shell_part *part, bool splits,
			  bool is_first, struct draft *d)
{
	cleanup_buf struct buf out = BUF(4 * MAX_COMMAND_TEXT);
	struct str text = part->text;

	if (part->quoted) {
		draft_add(e, d, text.s, text.n);
		return;
	}
	if (is_first && text.n && text.s[0] == '~') {
		size_t n = str_find(text, '/');

		draft_hole(e, d, HOLE_TILDE);
		text = str_from_pos(text, n);
	}
	if (!splits) {
		draft_add(e, d, text.s, text.n);
		return;
	}
	put_bare(&out, text, true, STR(""));
	draft_add(e, d, buf_text(&out), out.n);
}

static void expand_parts(struct expander *e, const struct shell_word *word, bool splits,
			 struct draft *d)
{
	for (size_t i = 0; i < word->n_parts && expand_work(e, 4); i++) {
		const struct shell_part *part = &word->parts[i];
		struct ways ways;

		switch (part->kind) {
		case SHELL_TEXT:
			expand_source(e, part, splits, i == 0, d);
			break;
		case SHELL_VARIABLE:
			expand_variable(e, part, splits, d);
			break;
		case SHELL_OUTPUT:
			ways = output_of_part(e, part);
			draft_fork(e, d, splits && !part->quoted ? bare_ways(e, ways, true) :
				   ways);
			break;
		case SHELL_ARITHMETIC:
			draft_hole(e, d, HOLE_ENV);
			break;
		case SHELL_PROCESS:
			draft_add(e, d, "/dev/fd/\0V", 10);
			break;
		}
	}
}

/* A here-document or an array can hold breaks ("$@"); as text they are blanks. */
struct ways expand_text(struct expander *e, const struct shell_word *word)
{
	cleanup_draft struct draft d = { .n = 0 };

	draft_init(&d);
	expand_parts(e, word, false, &d);
	return draft_ways(e, &d);
}

static bool is_never_empty(const struct shell_word *word)
{
	for (size_t i = 0; i < word->n_parts; i++)
		if (word->parts[i].quoted && !str_is(word->parts[i].text, "@"))
			return true;
	return false;
}

static void push_field(struct expander *e, struct argv *line, size_t *cap, struct str text,
		       struct str source)
{
	size_t cap2 = *cap;

	line->words = arena_grow(e->a, line->words, line->n, cap, sizeof(struct str));
	line->sources = arena_grow(e->a, line->sources, line->n, &cap2, sizeof(struct str));
	if (!line->words || !line->sources) {
		e->no_memory = true;
		line->n = 0;
		*cap = 0;
		return;
	}
	line->words[line->n] = text;
	line->sources[line->n++] = source;
}

/* The ways of each word; a product that is too large makes words any. */
static struct ways *word_ways(struct expander *e, const struct shell_command *cmd,
			      size_t *ret_lines)
{
	struct ways *ways = expand_new(e, cmd->n_words + 1, sizeof(*ways));

	*ret_lines = 1;
	for (size_t i = 0; ways && i < cmd->n_words; i++) {
		cleanup_draft struct draft d = { .n = 0 };

		if (!expand_work(e, FIELD_COST))
			return NULL;
		draft_init(&d);
		expand_parts(e, &cmd->words[i], true, &d);
		ways[i] = draft_ways(e, &d);
		if (!ways[i].n)
			return NULL;
		if (*ret_lines * ways[i].n > MAX_WAYS)
			ways[i] = hole_way(e, HOLE_ANY);
		if (!ways[i].n)
			return NULL;
		*ret_lines *= ways[i].n;
	}
	return ways;
}

size_t expand_command(struct expander *e, const struct shell_command *cmd, struct argv **ret)
{
	size_t n_lines;
	struct ways *ways = word_ways(e, cmd, &n_lines);
	struct argv *lines = ways ? expand_new(e, n_lines, sizeof(*lines)) : NULL;

	if (!lines)
		return 0;
	for (size_t l = 0; l < n_lines; l++) {
		size_t rest = l, cap = 0;

		for (size_t i = 0; i < cmd->n_words && expand_work(e, FIELD_COST); i++) {
			struct fields f = { .n = 0 };

			fields_split(e, ways[i].items[rest % ways[i].n], &f);
			rest /= ways[i].n;
			if (!f.n && is_never_empty(&cmd->words[i]))
				fields_add(e, &f, STR(""));
			for (size_t k = 0; k < f.n; k++)
				push_field(e, &lines[l], &cap, f.items[k], cmd->words[i].source);
		}
	}
	*ret = lines;
	return n_lines;
}
