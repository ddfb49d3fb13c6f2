/* Commands of the shell: lists, pipelines, compound commands; see shell.h.
 *
 * Recursive descent over the bytes, one pass.  Nothing is kept of the tree:
 * what a judge needs of it (who feeds whom, what runs only perhaps) is written
 * on each simple command.
 */
#include "policy/shell.h"

#include <ctype.h>

#include "base/limits.h"
#include "policy/shell_priv.h"

static int read_list(struct shell_parser *p, bool may_be_empty);
static int read_command(struct shell_parser *p);

int shell_fail(struct shell_parser *p, const char *what)
{
	if (!p->wrong) {
		p->wrong = what;
		p->wrong_pos = p->pos;
	}
	return -1;
}

int shell_no_memory(struct shell_parser *p)
{
	p->no_memory = true;
	return -1;
}

int shell_count(struct shell_parser *p)
{
	return ++p->n_nodes > MAX_SHELL_NODES ? shell_fail(p, "the text has too many parts") : 0;
}

static int enter(struct shell_parser *p)
{
	return ++p->depth > MAX_SHELL_NESTING ?
	       shell_fail(p, "the text is nested too deeply") : 0;
}

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
	size_t from = p->pos, end = p->pos;

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
static int read_line_end(struct shell_parser *p)
{
	size_t n = p->n_pending;

	p->pos++;
	p->n_pending = 0;
	for (size_t i = 0; i < n; i++)
		if (read_body(p, &p->pending[i]) < 0)
			return -1;
	return 0;
}

/* Blanks, comments and continued lines; the line end stays. */
static void skip_comment(struct shell_parser *p)
{
	shell_skip_blanks(p);
	if (shell_peek(p, 0) == '#')
		p->pos += str_find(str_from_pos(p->text, p->pos), '\n');
}

static int skip_lines(struct shell_parser *p)
{
	for (;;) {
		size_t before = p->pos;

		skip_comment(p);
		if (p->reading == SHELL_AS_WRITTEN && shell_peek(p, 0) == '\n' &&
		    read_line_end(p) < 0)
			return -1;
		if (p->pos == before)
			return 0;
	}
}

/* Is the next word exactly this, unquoted? */
static bool at_word(const struct shell_parser *p, const char *word)
{
	struct shell_parser after = *p;
	size_t n = strlen(word);

	if (p->text.n - p->pos < n || memcmp(p->text.s + p->pos, word, n) != 0)
		return false;
	after.pos += n;
	return shell_at_meta(&after);
}

static bool at_any_word(const struct shell_parser *p, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (at_word(p, words[i]))
			return true;
	return false;
}

static int expect_word(struct shell_parser *p, const char *word, const char *what)
{
	if (skip_lines(p) < 0)
		return -1;
	if (!at_word(p, word))
		return shell_fail(p, what);
	p->pos += strlen(word);
	return 0;
}

/* Words that end a list; elsewhere they are a mistake. */
static bool at_closing_word(const struct shell_parser *p)
{
	static const char *const words[] = { "then", "do", "done", "fi", "elif", "else", "esac",
					     "}" };

	return at_any_word(p, words, ARRAY_SIZE(words));
}

static bool at_compound(const struct shell_parser *p)
{
	static const char *const words[] = { "{", "if", "while", "until", "for", "case",
					     "select", "[[", "function", "coproc" };

	return shell_peek(p, 0) == '(' || at_any_word(p, words, ARRAY_SIZE(words));
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
static int read_compound_redirects(struct shell_parser *p, size_t first)
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

static int push_command(struct shell_parser *p, struct shell_command cmd)
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
	cmd.is_conditional = p->is_conditional;
	cmd.is_doubtful = p->is_doubtful;
	out->commands = items;
	out->commands[out->n_commands++] = cmd;
	return 0;
}

static int push_word(struct shell_parser *p, struct shell_word **words, size_t *n, size_t *cap)
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

static int push_assign(struct shell_parser *p, struct shell_command *cmd, struct shell_assign a,
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
	if (shell_peek(p, n) == '[') {
		while (shell_peek(p, n) > ' ' && shell_peek(p, n) != ']')
			n++;
		if (shell_peek(p, n++) != ']')
			return 0;
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
		if (skip_lines(p) < 0)
			return -1;
		if (shell_peek(p, 0) == ')') {
			p->pos++;
			return 0;
		}
		if (push_word(p, &a->values, &a->n_values, &cap) < 0)
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
	} else if (!shell_at_meta(p) || ((shell_peek(p, 0) == '<' || shell_peek(p, 0) == '>') &&
					 shell_peek(p, 1) == '(')) {
		if (push_word(p, &a.values, &a.n_values, &value_cap) < 0)
			return -1;
	}
	return push_assign(p, cmd, a, cap);
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
static int read_function(struct shell_parser *p, struct str name)
{
	struct shell_script *out = p->out;
	struct str *names = arena_grow(p->a, out->functions, out->n_functions,
				       &out->cap_functions, sizeof(*names));
	bool outer = p->is_conditional;

	if (!names)
		return shell_no_memory(p);
	out->functions = names;
	names[out->n_functions++] = name;
	p->is_conditional = true;
	if (skip_lines(p) < 0 || read_command(p) < 0)
		return -1;
	p->is_conditional = outer;
	return 0;
}

static bool at_parentheses(const struct shell_parser *p, size_t *ret_end)
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

static int read_simple(struct shell_parser *p)
{
	struct shell_command cmd = { 0 };
	size_t words_cap = 0, assigns_cap = 0, redirects_cap = 0, name, n, end;
	int r;

	for (;;) {
		shell_skip_blanks(p);
		n = redirect_prefix(p);
		if (n != SHELL_NONE) {
			r = read_redirect(p, n, &cmd, &redirects_cap);
		} else if (shell_peek(p, 0) == '#') {
			break;
		} else if ((!cmd.n_words || declares(&cmd)) &&
			   (n = assign_prefix(p, &name)) != 0) {
			r = read_assign(p, &cmd, &assigns_cap, name, n);
		} else if (shell_at_meta(p) && !(shell_peek(p, 1) == '(' &&
						 (shell_peek(p, 0) == '<' ||
						  shell_peek(p, 0) == '>'))) {
			break;
		} else {
			r = push_word(p, &cmd.words, &cmd.n_words, &words_cap);
			if (r == 0 && cmd.n_words == 1 && !cmd.n_assigns && !cmd.n_redirects &&
			    at_parentheses(p, &end)) {
				p->pos = end;
				return read_function(p, cmd.words[0].source);
			}
		}
		if (r < 0)
			return -1;
	}
	if (!cmd.n_words && !cmd.n_assigns && !cmd.n_redirects)
		return shell_fail(p, "a command is missing");
	return push_command(p, cmd);
}

/* Compound commands */

static int read_if(struct shell_parser *p)
{
	do {
		if (read_list(p, false) < 0 || expect_word(p, "then", "'then' is missing") < 0 ||
		    read_list(p, false) < 0)
			return -1;
		if (at_word(p, "elif"))
			p->pos += 4;
		else
			break;
	} while (true);
	if (at_word(p, "else")) {
		p->pos += 4;
		if (read_list(p, false) < 0)
			return -1;
	}
	return expect_word(p, "fi", "'fi' is missing");
}

static int read_do(struct shell_parser *p)
{
	if (skip_lines(p) < 0)
		return -1;
	if (at_word(p, "{")) {
		p->pos++;
		return read_list(p, false) < 0 ? -1 : expect_word(p, "}", "'}' is missing");
	}
	if (expect_word(p, "do", "'do' is missing") < 0 || read_list(p, false) < 0)
		return -1;
	return expect_word(p, "done", "'done' is missing");
}

static int read_while(struct shell_parser *p)
{
	return read_list(p, false) < 0 ? -1 : read_do(p);
}

/* Behind "((": arithmetic up to "))". */
static int read_arithmetic_command(struct shell_parser *p)
{
	size_t end = shell_find_arithmetic_end(p, p->pos);
	struct shell_word inside;

	if (end == SHELL_NONE)
		return shell_fail(p, "'((' is not closed");
	if (shell_read_quoted(p, p->pos, end, &inside) < 0)
		return -1;
	p->pos = end + 2;
	return 0;
}

/* Behind `for` or `select`. */
static int read_for(struct shell_parser *p)
{
	static struct shell_part positional = { .kind = SHELL_VARIABLE, .quoted = true,
						.text = { "@", 1 }, .op = { "", 0 } };
	static struct shell_word arguments = { { "\"$@\"", 4 }, &positional, 1 };
	struct shell_assign loop = { .is_loop = true };
	struct shell_command cmd = { 0 };
	struct shell_word name;
	size_t cap = 0;

	shell_skip_blanks(p);
	if (shell_peek(p, 0) == '(' && shell_peek(p, 1) == '(') {
		p->pos += 2;
		if (read_arithmetic_command(p) < 0)
			return -1;
		shell_skip_blanks(p);
		p->pos += shell_peek(p, 0) == ';';
		return read_do(p);
	}
	if (shell_read_word(p, &name) < 0 || skip_lines(p) < 0)
		return -1;
	loop.name = name.source;
	loop.values = &arguments;
	loop.n_values = 1;
	if (!shell_is_name(loop.name))
		return shell_fail(p, "the name after 'for' is not one");
	if (at_word(p, "in")) {
		p->pos += 2;
		loop.values = NULL;
		loop.n_values = 0;
		for (skip_comment(p); !shell_at_meta(p) || shell_peek(p, 1) == '(';
		     skip_comment(p))
			if (push_word(p, &loop.values, &loop.n_values, &cap) < 0)
				return -1;
		if (shell_peek(p, 0) != ';' && shell_peek(p, 0) != '\n' &&
		    p->reading == SHELL_AS_WRITTEN)
			return shell_fail(p, "the words after 'in' do not end");
	}
	p->pos += shell_peek(p, 0) == ';';
	cap = 0;
	if (push_assign(p, &cmd, loop, &cap) < 0 || push_command(p, cmd) < 0)
		return -1;
	return read_do(p);
}

/* One `pattern | pattern) commands ;;`; *ret_last says that `esac` must follow. */
static int read_case_item(struct shell_parser *p, bool *ret_last)
{
	struct shell_word pattern;

	p->pos += shell_peek(p, 0) == '(';
	for (;;) {
		shell_skip_blanks(p);
		if (shell_read_word(p, &pattern) < 0)
			return -1;
		shell_skip_blanks(p);
		if (shell_peek(p, 0) != '|')
			break;
		p->pos++;
	}
	if (shell_peek(p, 0) != ')')
		return shell_fail(p, "a pattern of 'case' does not end");
	p->pos++;
	if (read_list(p, true) < 0)
		return -1;
	*ret_last = true;
	if (shell_peek(p, 0) != ';')
		return 0;
	*ret_last = false;
	p->pos++;			/* ;; and ;;& and ;& */
	p->pos += shell_peek(p, 0) == ';';
	p->pos += shell_peek(p, 0) == '&';
	return skip_lines(p);
}

static int read_case(struct shell_parser *p)
{
	struct shell_word word;
	bool last = false;

	shell_skip_blanks(p);
	if (shell_read_word(p, &word) < 0 || expect_word(p, "in", "'in' is missing") < 0 ||
	    skip_lines(p) < 0)
		return -1;
	while (!last && !at_word(p, "esac"))
		if (read_case_item(p, &last) < 0)
			return -1;
	return expect_word(p, "esac", "'esac' is missing");
}

/* Behind "[[": its operators and groups matter to nobody, its words do. */
static int read_condition(struct shell_parser *p)
{
	struct shell_word word;

	for (;;) {
		int c;

		if (skip_lines(p) < 0)
			return -1;
		c = shell_peek(p, 0);
		if (at_word(p, "]]")) {
			p->pos += 2;
			return 0;
		}
		if (c < 0 || c == ';')
			return shell_fail(p, "']]' is missing");
		if (strchr("&|()", c) || (strchr("<>", c) && shell_peek(p, 1) != '('))
			p->pos++;
		else if (shell_read_word(p, &word) < 0)
			return -1;
	}
}

static int read_function_word(struct shell_parser *p)
{
	struct shell_word name;
	size_t end;

	shell_skip_blanks(p);
	if (shell_read_word(p, &name) < 0)
		return -1;
	if (at_parentheses(p, &end))
		p->pos = end;
	return read_function(p, name.source);
}

/* coproc [NAME] command: the name is one only before a compound command. */
static int read_coproc(struct shell_parser *p)
{
	struct shell_parser ahead;

	shell_skip_blanks(p);
	ahead = *p;
	while (!shell_at_meta(&ahead))
		ahead.pos++;
	if (!shell_is_name(shell_slice(p, p->pos, ahead.pos)) || at_compound(p))
		return read_command(p);
	shell_skip_blanks(&ahead);
	if (at_compound(&ahead))
		p->pos = ahead.pos;
	return read_command(p);
}

static int read_group(struct shell_parser *p)
{
	return read_list(p, false) < 0 ? -1 : expect_word(p, "}", "'}' is missing");
}

static const struct compound {
	const char *word;
	int (*read)(struct shell_parser *p);
	bool is_certain;	/* what is inside runs exactly once */
} compounds[] = {
	{ "{", read_group, true },
	{ "if", read_if, false },
	{ "while", read_while, false },
	{ "until", read_while, false },
	{ "for", read_for, false },
	{ "select", read_for, false },
	{ "case", read_case, false },
	{ "[[", read_condition, true },
	{ "function", read_function_word, false },
	{ "coproc", read_coproc, false },
};

static int read_subshell(struct shell_parser *p)
{
	p->pos++;
	if (read_list(p, false) < 0)
		return -1;
	if (shell_peek(p, 0) != ')')
		return shell_fail(p, "a '(' is not closed");
	p->pos++;
	return 0;
}

/* At '(': a subshell, or arithmetic, which dash reads as two subshells. */
static int read_parenthesis(struct shell_parser *p)
{
	bool outer = p->is_doubtful;
	struct shell_parser again = *p;
	size_t n_commands = p->out->n_commands;

	if (shell_peek(p, 1) != '(' || p->is_doubtful ||
	    shell_find_arithmetic_end(p, p->pos + 2) == SHELL_NONE)
		return read_subshell(p);
	p->pos += 2;
	if (read_arithmetic_command(p) < 0)
		return -1;
	again.is_doubtful = true;
	again.n_nodes = p->n_nodes;
	n_commands = p->out->n_commands;
	if (read_subshell(&again) < 0) {
		if (again.no_memory)
			return shell_no_memory(p);
		p->out->n_commands = n_commands;
	}
	p->n_nodes = again.n_nodes;
	p->is_doubtful = outer;
	return 0;
}

static int read_compound(struct shell_parser *p, const struct compound *c)
{
	bool outer = p->is_conditional;
	size_t first = p->out->n_commands;
	int r;

	if (enter(p) < 0)
		return -1;
	if (c) {
		p->pos += strlen(c->word);
		p->is_conditional |= !c->is_certain;
		r = c->read(p);
	} else {
		r = read_parenthesis(p);
	}
	if (r < 0)
		return -1;
	p->is_conditional = outer;
	p->depth--;
	return read_compound_redirects(p, first);
}

static int read_command(struct shell_parser *p)
{
	if (shell_peek(p, 0) == '(')
		return read_compound(p, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(compounds); i++)
		if (at_word(p, compounds[i].word))
			return read_compound(p, &compounds[i]);
	if (at_closing_word(p))
		return shell_fail(p, "an unexpected word of the shell's grammar");
	return read_simple(p);
}

/* `!` and `time` before a pipeline.  `time` before a simple command stays
 * there: it may be the program of that name, whose options differ. */
static void skip_pipeline_words(struct shell_parser *p)
{
	for (;;) {
		struct shell_parser ahead = *p;

		if (at_word(p, "!")) {
			p->pos++;
			shell_skip_blanks(p);
			continue;
		}
		if (!at_word(p, "time"))
			return;
		ahead.pos += 4;
		shell_skip_blanks(&ahead);
		if (at_word(&ahead, "-p")) {
			ahead.pos += 2;
			shell_skip_blanks(&ahead);
		}
		if (!at_compound(&ahead) && !at_word(&ahead, "!"))
			return;
		p->pos = ahead.pos;
	}
}

static int read_pipeline(struct shell_parser *p)
{
	bool outer_fed = p->is_fed;
	size_t outer_feeder = p->feeder;

	skip_pipeline_words(p);
	for (;;) {
		bool is_simple = !at_compound(p);

		if (read_command(p) < 0)
			return -1;
		shell_skip_blanks(p);
		if (shell_peek(p, 0) != '|' || shell_peek(p, 1) == '|')
			break;
		p->pos += shell_peek(p, 1) == '&' ? 2 : 1;
		p->is_fed = true;
		p->feeder = is_simple ? p->out->n_commands - 1 : SHELL_NONE;
		if (skip_lines(p) < 0)
			return -1;
	}
	p->is_fed = outer_fed;
	p->feeder = outer_feeder;
	return 0;
}

static int read_and_or(struct shell_parser *p)
{
	for (;;) {
		int c;

		if (read_pipeline(p) < 0)
			return -1;
		c = shell_peek(p, 0);
		if ((c != '&' && c != '|') || shell_peek(p, 1) != c)
			return 0;
		p->pos += 2;
		if (skip_lines(p) < 0)
			return -1;
	}
}

static bool at_list_end(const struct shell_parser *p)
{
	int c = shell_peek(p, 0), next = shell_peek(p, 1);

	return c < 0 || c == ')' || (c == ';' && (next == ';' || next == '&')) ||
	       at_closing_word(p);
}

/* Commands up to a word or operator that ends a list. */
static int read_list(struct shell_parser *p, bool may_be_empty)
{
	size_t n = 0;

	if (enter(p) < 0)
		return -1;
	for (;;) {
		int c, next;

		if (skip_lines(p) < 0)
			return -1;
		if (at_list_end(p))
			break;
		if (read_and_or(p) < 0)
			return -1;
		n++;
		skip_comment(p);
		c = shell_peek(p, 0);
		next = shell_peek(p, 1);
		if ((c == ';' && next != ';' && next != '&') || (c == '&' && next != '&'))
			p->pos++;
		else if (c != '\n')
			break;
	}
	if (!n && !may_be_empty)
		return shell_fail(p, "a command is missing");
	if (!at_list_end(p))
		return shell_fail(p, "an unexpected word or operator");
	p->depth--;
	return 0;
}

int shell_read_commands(struct shell_parser *p)
{
	return read_list(p, true);
}

static int fail_at(const struct shell_parser *p, struct cordon_err *err)
{
	unsigned line = 1, col = 1;

	for (size_t i = 0; i < p->wrong_pos && i < p->text.n; i++) {
		col = p->text.s[i] == '\n' ? 1 : col + 1;
		line += p->text.s[i] == '\n';
	}
	return err_at(err, line, col, "cannot be read as shell commands: %s", p->wrong);
}

int shell_parse(struct str text, enum shell_reading reading, struct arena *a,
		struct shell_script *ret, struct cordon_err *err)
{
	struct shell_parser p = { .text = text, .reading = reading, .a = a, .out = ret,
				  .feeder = SHELL_NONE };

	*ret = (struct shell_script){ 0 };
	if (text.n > MAX_COMMAND_TEXT)
		return err_set(err, CORDON_E_POLICY, "the text is longer than %u bytes",
			       MAX_COMMAND_TEXT);
	if (memchr(text.s ? text.s : "", '\0', text.n))
		return err_set(err, CORDON_E_POLICY, "the text holds a NUL byte");
	if (read_list(&p, true) == 0 && p.pos == text.n) {
		ret->n_nodes = p.n_nodes;
		return 0;
	}
	if (p.no_memory)
		return err_nomem(err);
	if (!p.wrong)
		shell_fail(&p, "an unexpected word or operator");
	return fail_at(&p, err);
}
