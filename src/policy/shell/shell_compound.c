/* Compound commands of the shell; see shell_priv.h. */
#include "policy/shell/shell_priv.h"

bool shell_at_compound(const struct shell_parser *p)
{
	static const char *const words[] = { "{", "if", "while", "until", "for", "case",
					     "select", "[[", "function", "coproc" };

	return shell_peek(p, 0) == '(' || shell_at_any_word(p, words, ARRAY_SIZE(words));
}

/* Compound commands */

static int read_if(struct shell_parser *p)
{
	do {
		if (shell_read_list(p, false) < 0 ||
		    shell_expect_word(p, "then", "'then' is missing") < 0 ||
		    shell_read_list(p, false) < 0)
			return -1;
		if (shell_at_word(p, "elif"))
			p->pos += 4;
		else
			break;
	} while (true);
	if (shell_at_word(p, "else")) {
		p->pos += 4;
		if (shell_read_list(p, false) < 0)
			return -1;
	}
	return shell_expect_word(p, "fi", "'fi' is missing");
}

static int read_group(struct shell_parser *p)
{
	if (shell_read_list(p, false) < 0)
		return -1;
	return shell_expect_word(p, "}", "'}' is missing");
}

static int read_do(struct shell_parser *p)
{
	if (shell_skip_lines(p) < 0)
		return -1;
	if (shell_at_word(p, "{")) {
		p->pos++;
		return read_group(p);
	}
	if (shell_expect_word(p, "do", "'do' is missing") < 0 || shell_read_list(p, false) < 0)
		return -1;
	return shell_expect_word(p, "done", "'done' is missing");
}

static int read_while(struct shell_parser *p)
{
	return shell_read_list(p, false) < 0 ? -1 : read_do(p);
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

/* for (( … )) */
static int read_counting_for(struct shell_parser *p)
{
	p->pos += 2;
	if (read_arithmetic_command(p) < 0)
		return -1;
	shell_skip_blanks(p);
	p->pos += shell_peek(p, 0) == ';';
	return read_do(p);
}

/* Behind `in`: words up to ';' or the line's end. */
static int read_for_words(struct shell_parser *p, struct shell_assign *loop)
{
	size_t cap = 0;

	loop->values = NULL;
	loop->n_values = 0;
	for (shell_skip_comment(p); !shell_at_meta(p) || shell_peek(p, 1) == '(';
	     shell_skip_comment(p))
		if (shell_push_word(p, &loop->values, &loop->n_values, &cap) < 0)
			return -1;
	if (shell_peek(p, 0) != ';' && shell_peek(p, 0) != '\n' &&
	    p->reading == SHELL_AS_WRITTEN)
		return shell_fail(p, "the words after 'in' do not end");
	return 0;
}

/* Behind `for` or `select`. */
static int read_for(struct shell_parser *p)
{
	static struct shell_part positional = { .kind = SHELL_VARIABLE, .quoted = true,
						.text = { "@", 1 }, .op = { "", 0 } };
	static struct shell_word arguments = { { "\"$@\"", 4 }, &positional, 1 };
	struct shell_assign loop = { .is_loop = true, .values = &arguments, .n_values = 1 };
	struct shell_command cmd = { 0 };
	struct shell_word name;
	size_t cap = 0;

	shell_skip_blanks(p);
	if (shell_peek(p, 0) == '(' && shell_peek(p, 1) == '(')
		return read_counting_for(p);
	if (shell_read_word(p, &name) < 0 || shell_skip_lines(p) < 0)
		return -1;
	loop.name = name.source;
	if (!shell_is_name(loop.name))
		return shell_fail(p, "the name after 'for' is not one");
	if (shell_at_word(p, "in")) {
		p->pos += 2;
		if (read_for_words(p, &loop) < 0)
			return -1;
	}
	p->pos += shell_peek(p, 0) == ';';
	if (shell_push_assign(p, &cmd, loop, &cap) < 0 || shell_push_command(p, cmd) < 0)
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
	if (shell_read_list(p, true) < 0)
		return -1;
	*ret_last = true;
	if (shell_peek(p, 0) != ';')
		return 0;
	*ret_last = false;
	p->pos++;			/* ;; and ;;& and ;& */
	p->pos += shell_peek(p, 0) == ';';
	p->pos += shell_peek(p, 0) == '&';
	return shell_skip_lines(p);
}

static int read_case(struct shell_parser *p)
{
	struct shell_word word;
	bool last = false;

	shell_skip_blanks(p);
	if (shell_read_word(p, &word) < 0 || shell_expect_word(p, "in", "'in' is missing") < 0 ||
	    shell_skip_lines(p) < 0)
		return -1;
	while (!last && !shell_at_word(p, "esac"))
		if (read_case_item(p, &last) < 0)
			return -1;
	return shell_expect_word(p, "esac", "'esac' is missing");
}

/* Behind "[[": its operators and groups matter to nobody, its words do. */
static int read_condition(struct shell_parser *p)
{
	struct shell_word word;

	for (;;) {
		int c;

		if (shell_skip_lines(p) < 0)
			return -1;
		c = shell_peek(p, 0);
		if (shell_at_word(p, "]]")) {
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
	if (shell_at_parentheses(p, &end))
		p->pos = end;
	return shell_read_function(p, name.source);
}

/* coproc [NAME] command: the name is one only before a compound command. */
static int read_coproc(struct shell_parser *p)
{
	struct shell_parser ahead;

	shell_skip_blanks(p);
	ahead = *p;
	while (!shell_at_meta(&ahead))
		ahead.pos++;
	if (!shell_is_name(shell_slice(p, p->pos, ahead.pos)) || shell_at_compound(p))
		return shell_read_command(p);
	shell_skip_blanks(&ahead);
	if (shell_at_compound(&ahead))
		p->pos = ahead.pos;
	return shell_read_command(p);
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
	if (shell_read_list(p, false) < 0)
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

	if (shell_enter(p) < 0)
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
	return shell_read_redirects(p, first);
}

int shell_read_command(struct shell_parser *p)
{
	if (shell_peek(p, 0) == '(')
		return read_compound(p, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(compounds); i++)
		if (shell_at_word(p, compounds[i].word))
			return read_compound(p, &compounds[i]);
	if (shell_at_closing_word(p))
		return shell_fail(p, "an unexpected word of the shell's grammar");
	return shell_read_simple(p);
}
