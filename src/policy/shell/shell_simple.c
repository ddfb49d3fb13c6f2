/* Simple commands of the shell: assignments, redirections, here-documents;
 * see shell_priv.h. */
#include "policy/shell/shell_priv.h"

#include <ctype.h>

/* Here-documents */

/* One line, its end included; *ret_line is without it. */
static size_t next_line(const struct shell_parser *p, size_t from, struct str *ret_line)
{
	size_t n = str_find(str_from_pos(p->text, from), '\n');

	*ret_line = shell_slice(p, from, from + n);
	return from + n < p->text.n ? from + n + 1 : from + n;
}

static int read_body(struct shell_parser *p, const struct shell_pending *doc)
{
	size_t from = p->pos, end = from;

	while (end < p->text.n) {
		struct str line;
		size_t next = next_line(p, end, &line);

		while (doc->strips_tabs && line.n && line.s[0] == '\t')
			line = str_from_pos(line, 1);
		if (str_eq(line, doc->delimiter)) {
			p->pos = next;
			break;
		}
		end = next;
		p->pos = next;
	}
	if (!doc->is_literal)
		return shell_read_quoted(p, from, end, doc->body);
	doc->body->source = shell_slice(p, from, end);
	doc->body->parts = arena_new(p->a, 1, sizeof(*doc->body->parts));
	if (!doc->body->parts)
		return shell_no_memory(p);
	doc->body->n_parts = 1;
	doc->body->parts[0] = (struct shell_part){ .kind = SHELL_TEXT, .quoted = true,
						   .text = doc->body->source };
	return 0;
}

/* At a line end: behind it stand the bodies of the line's here-documents. */
int shell_read_line_end(struct shell_parser *p)
{
	size_t n = p->n_pending;

	p->pos++;
	p->n_pending = 0;
	for (size_t i = 0; i < n; i++)
		if (read_body(p, &p->pending[i]) < 0)
			return -1;
	return 0;
}

/* Redirections */

/* At a redirection: the bytes before its operator; SHELL_NONE elsewhere. */
static size_t redirect_prefix(const struct shell_parser *p)
{
	size_t n = 0;
	int c = shell_peek(p, 0);

	if (c == '&')
		return shell_peek(p, 1) == '>' ? 0 : SHELL_NONE;
	if (c == '{') {
		do
			n++;
		while (isalnum(shell_peek(p, n)) || shell_peek(p, n) == '_');
		if (shell_peek(p, n++) != '}')
			return SHELL_NONE;
	} else {
		while (isdigit(shell_peek(p, n)))
			n++;
	}
	c = shell_peek(p, n);
	return (c == '<' || c == '>') && (n || shell_peek(p, 1) != '(') ? n : SHELL_NONE;
}

static const struct redirect_operator {
	const char *text;
	enum shell_redirect_kind kind;
} redirect_operators[] = {
	{ "<<<", SHELL_HERE }, { "<<", SHELL_HERE }, { "<&", SHELL_DUP }, { "<>", SHELL_READ },
	{ "<", SHELL_READ }, { "&>>", SHELL_WRITE }, { "&>", SHELL_WRITE }, { ">>", SHELL_WRITE },
	{ ">&", SHELL_DUP }, { ">|", SHELL_WRITE }, { ">", SHELL_WRITE },
};

/* The word after `<<`: how the body ends and whether it is literal. */
static int add_here_document(struct shell_parser *p, struct shell_redirect *r)
{
	struct shell_pending *docs, doc = { 0 };
	struct shell_word word;
	size_t n = 0;
	char *name;

	if (p->reading == SHELL_JOINED)
		return shell_fail(p, "a here-document needs lines");
	if (shell_peek(p, 0) == '-') {
		doc.strips_tabs = true;
		p->pos++;
	}
	shell_skip_blanks(p);
	if (shell_read_word(p, &word) < 0)
		return -1;
	name = arena_new(p->a, word.source.n + 1, 1);
	docs = arena_grow(p->a, p->pending, p->n_pending, &p->cap_pending, sizeof(*docs));
	if (!name || !docs)
		return shell_no_memory(p);
	for (size_t i = 0; i < word.n_parts; i++) {
		const struct shell_part *part = &word.parts[i];

		doc.is_literal |= part->quoted;
		if (part->kind != SHELL_TEXT || n + part->text.n > word.source.n)
			return shell_fail(p, "the end of a here-document is computed");
		memcpy(name + n, part->text.s, part->text.n);
		n += part->text.n;
	}
	doc.delimiter = (struct str){ name, n };
	doc.body = r->target;
	p->pending = docs;
	p->pending[p->n_pending++] = doc;
	return 0;
}

static int read_redirect(struct shell_parser *p, size_t prefix, struct shell_command *cmd,
			 size_t *cap)
{
	struct shell_redirect *items, r = { 0 };
	bool other_fd = prefix && !(prefix == 1 && shell_peek(p, 0) == '0');
	const struct redirect_operator *op = redirect_operators;

	p->pos += prefix;
	while (!str_starts(str_from_pos(p->text, p->pos), op->text))
		op++;
	p->pos += strlen(op->text);
	r.kind = op->kind;
	r.is_input = op->text[0] == '<' && !other_fd;
	r.target = arena_new(p->a, 1, sizeof(*r.target));
	items = arena_grow(p->a, cmd->redirects, cmd->n_redirects, cap, sizeof(*items));
	if (!r.target || !items)
		return shell_no_memory(p);
	cmd->redirects = items;
	cmd->redirects[cmd->n_redirects++] = r;
	if (strcmp(op->text, "<<") == 0)
		return add_here_document(p, &r);
	shell_skip_blanks(p);
	return shell_read_word(p, r.target);
}

/* Behind a compound command; text given to it reaches every command in it. */
int shell_read_redirects(struct shell_parser *p, size_t first)
{
	struct shell_command cmd = { 0 };
	size_t cap = 0, prefix, last = p->out->n_commands;
	bool feeds = false;

	for (;;) {
		shell_skip_blanks(p);
		prefix = redirect_prefix(p);
		if (prefix == SHELL_NONE)
			break;
		if (read_redirect(p, prefix, &cmd, &cap) < 0)
			return -1;
	}
	for (size_t i = 0; i < cmd.n_redirects; i++) {
		const struct shell_redirect *r = &cmd.redirects[i];

		feeds |= r->is_input && (r->kind == SHELL_HERE || r->kind == SHELL_DUP ||
					 (r->target->n_parts &&
					  r->target->parts[0].kind == SHELL_PROCESS));
	}
	for (size_t i = first; feeds && i < last; i++) {
		if (!p->out->commands[i].is_fed)
			p->out->commands[i].feeder = SHELL_NONE;
		p->out->commands[i].is_fed = true;
	}
	return 0;
}

/* Simple commands */

int shell_push_command(struct shell_parser *p, struct shell_command cmd)
{
	struct shell_script *out = p->out;
	struct shell_command *items;

	if (shell_count(p) < 0)
		return -1;
	items = arena_grow(p->a, out->commands, out->n_commands, &out->cap_commands,
			   sizeof(*items));
	if (!items)
		return shell_no_memory(p);
	cmd.is_fed = p->is_fed;
	cmd.feeder = p->feeder;
	cmd.function = p->function;
	cmd.is_conditional = p->is_conditional;
	cmd.is_doubtful = p->is_doubtful;
	out->commands = items;
	out->commands[out->n_commands++] = cmd;
	return 0;
}

int shell_push_word(struct shell_parser *p, struct shell_word **words, size_t *n, size_t *cap)
{
	struct shell_word word, *items;

	if (shell_count(p) < 0 || shell_read_word(p, &word) < 0)
		return -1;
	items = arena_grow(p->a, *words, *n, cap, sizeof(*items));
	if (!items)
		return shell_no_memory(p);
	*words = items;
	items[(*n)++] = word;
	return 0;
}

int shell_push_assign(struct shell_parser *p, struct shell_command *cmd, struct shell_assign a,
		       size_t *cap)
{
	struct shell_assign *items = arena_grow(p->a, cmd->assigns, cmd->n_assigns, cap,
						sizeof(*items));

	if (!items)
		return shell_no_memory(p);
	cmd->assigns = items;
	items[cmd->n_assigns++] = a;
	return 0;
}

/* Is this NAME=, NAME+= or NAME[…]=?  Returns the bytes up to the value. */
static size_t assign_prefix(const struct shell_parser *p, size_t *ret_name)
{
	size_t n = 0;

	while (isalnum(shell_peek(p, n)) || shell_peek(p, n) == '_')
		n++;
	if (!shell_is_name(shell_slice(p, p->pos, p->pos + n)))
		return 0;
	*ret_name = n;
	for (size_t depth = 0; shell_peek(p, n) == '[' || depth; n++) {
		if (shell_peek(p, n) <= ' ')
			return 0;
		depth += shell_peek(p, n) == '[';
		depth -= shell_peek(p, n) == ']';
	}
	if (shell_peek(p, n) == '+')
		n++;
	return shell_peek(p, n) == '=' ? n + 1 : 0;
}

/* Behind "NAME=(": words, over any number of lines. */
static int read_array(struct shell_parser *p, struct shell_assign *a)
{
	size_t cap = 0;

	a->is_array = true;
	for (;;) {
		if (shell_skip_lines(p) < 0)
			return -1;
		if (shell_peek(p, 0) == ')') {
			p->pos++;
			return 0;
		}
		if (shell_push_word(p, &a->values, &a->n_values, &cap) < 0)
			return -1;
	}
}

static int read_assign(struct shell_parser *p, struct shell_command *cmd, size_t *cap,
		       size_t name, size_t prefix)
{
	struct shell_assign a = { .name = shell_slice(p, p->pos, p->pos + name) };
	size_t value_cap = 0, subscript = p->pos + name;

	a.appends = p->text.s[p->pos + prefix - 2] == '+';
	p->pos += prefix;
	if (p->text.s[subscript] == '[') {
		size_t end = p->pos;

		/* One element of an array: whatever it is, it is one value more. */
		p->pos = subscript + 1;
		if (shell_skip_subscript(p) < 0)
			return -1;
		p->pos = end;
		a.is_array = a.appends = true;
	}
	if (shell_peek(p, 0) == '(') {
		p->pos++;
		if (read_array(p, &a) < 0)
			return -1;
	} else if (!shell_at_meta(p) || shell_at_process(p)) {
		if (shell_push_word(p, &a.values, &a.n_values, &value_cap) < 0)
			return -1;
	}
	return shell_push_assign(p, cmd, a, cap);
}

/* Builtins whose arguments are assignments, arrays included. */
static bool declares(const struct shell_command *cmd)
{
	static const char *const names[] = { "export", "declare", "local", "typeset",
					     "readonly" };

	for (size_t i = 0; cmd->n_words && i < ARRAY_SIZE(names); i++)
		if (str_is(cmd->words[0].source, names[i]))
			return true;
	return false;
}

/* Behind the first word: a function is defined if "()" follows. */
int shell_read_function(struct shell_parser *p, struct str name)
{
	struct shell_script *out = p->out;
	struct str *names = arena_grow(p->a, out->functions, out->n_functions,
				       &out->cap_functions, sizeof(*names));
	struct str outer_function = p->function;
	bool outer = p->is_conditional;

	if (!names)
		return shell_no_memory(p);
	out->functions = names;
	names[out->n_functions++] = name;
	p->is_conditional = true;
	p->function = name;
	if (shell_skip_lines(p) < 0 || shell_read_command(p) < 0)
		return -1;
	p->is_conditional = outer;
	p->function = outer_function;
	return 0;
}

bool shell_at_parentheses(const struct shell_parser *p, size_t *ret_end)
{
	struct shell_parser ahead = *p;

	shell_skip_blanks(&ahead);
	if (shell_peek(&ahead, 0) != '(')
		return false;
	ahead.pos++;
	shell_skip_blanks(&ahead);
	*ret_end = ahead.pos + 1;
	return shell_peek(&ahead, 0) == ')';
}

/* A simple command and the room its arrays have. */
struct growing {
	struct shell_command cmd;
	size_t words, assigns, redirects;
};

/* One more piece of it; *ret_done when there is none. */
static int read_piece(struct shell_parser *p, struct growing *g, bool *ret_done)
{
	size_t name, n = redirect_prefix(p);

	*ret_done = false;
	if (n != SHELL_NONE)
		return read_redirect(p, n, &g->cmd, &g->redirects);
	if (shell_peek(p, 0) == '#') {
		*ret_done = true;
		return 0;
	}
	if (!g->cmd.n_words || declares(&g->cmd)) {
		n = assign_prefix(p, &name);
		if (n)
			return read_assign(p, &g->cmd, &g->assigns, name, n);
	}
	if (shell_at_meta(p) && !shell_at_process(p)) {
		*ret_done = true;
		return 0;
	}
	return shell_push_word(p, &g->cmd.words, &g->cmd.n_words, &g->words);
}

int shell_read_simple(struct shell_parser *p)
{
	struct growing g = { .words = 0 };
	struct shell_command cmd;
	bool done = false;
	size_t end;

	while (!done) {
		shell_skip_blanks(p);
		if (read_piece(p, &g, &done) < 0)
			return -1;
		if (g.cmd.n_words == 1 && !g.cmd.n_assigns && !g.cmd.n_redirects &&
		    shell_at_parentheses(p, &end)) {
			p->pos = end;
			return shell_read_function(p, g.cmd.words[0].source);
		}
	}
	cmd = g.cmd;
	if (!cmd.n_words && !cmd.n_assigns && !cmd.n_redirects)
		return shell_fail(p, "a command is missing");
	return shell_push_command(p, cmd);
}
