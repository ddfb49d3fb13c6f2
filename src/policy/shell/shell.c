/* Commands of the shell: lists, pipelines, compound commands; see shell.h.
 *
 * Recursive descent over the bytes, one pass.  Nothing is kept of the tree:
 * what a judge needs of it (who feeds whom, what runs only perhaps) is written
 * on each simple command.
 */
#include "policy/shell/shell.h"

#include "base/limits.h"
#include "policy/shell/shell_priv.h"

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

int shell_enter(struct shell_parser *p)
{
	return ++p->depth > MAX_SHELL_NESTING ?
	       shell_fail(p, "the text is nested too deeply") : 0;
}

/* Blanks, comments and continued lines; the line end stays. */
void shell_skip_comment(struct shell_parser *p)
{
	shell_skip_blanks(p);
	if (shell_peek(p, 0) == '#')
		p->pos += str_find(str_from_pos(p->text, p->pos), '\n');
}

int shell_skip_lines(struct shell_parser *p)
{
	for (;;) {
		size_t before = p->pos;

		shell_skip_comment(p);
		if (p->reading == SHELL_AS_WRITTEN && shell_peek(p, 0) == '\n' &&
		    shell_read_line_end(p) < 0)
			return -1;
		if (p->pos == before)
			return 0;
	}
}

/* Is the next word exactly this, unquoted? */
bool shell_at_word(const struct shell_parser *p, const char *word)
{
	struct shell_parser after = *p;
	size_t n = strlen(word);

	if (p->text.n - p->pos < n || memcmp(p->text.s + p->pos, word, n) != 0)
		return false;
	after.pos += n;
	return shell_at_meta(&after);
}

bool shell_at_any_word(const struct shell_parser *p, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (shell_at_word(p, words[i]))
			return true;
	return false;
}

int shell_expect_word(struct shell_parser *p, const char *word, const char *what)
{
	if (shell_skip_lines(p) < 0)
		return -1;
	if (!shell_at_word(p, word))
		return shell_fail(p, what);
	p->pos += strlen(word);
	return 0;
}

/* Words that end a list; elsewhere they are a mistake. */
bool shell_at_closing_word(const struct shell_parser *p)
{
	static const char *const words[] = { "then", "do", "done", "fi", "elif", "else", "esac",
					     "}" };

	return shell_at_any_word(p, words, ARRAY_SIZE(words));
}

/* `!` and `time` before a pipeline.  `time` before a simple command stays
 * there: it may be the program of that name, whose options differ. */
static void skip_pipeline_words(struct shell_parser *p)
{
	for (;;) {
		struct shell_parser ahead = *p;

		if (shell_at_word(p, "!")) {
			p->pos++;
			shell_skip_blanks(p);
			continue;
		}
		if (!shell_at_word(p, "time"))
			return;
		ahead.pos += 4;
		shell_skip_blanks(&ahead);
		if (shell_at_word(&ahead, "-p")) {
			ahead.pos += 2;
			shell_skip_blanks(&ahead);
		}
		if (!shell_at_compound(&ahead) && !shell_at_word(&ahead, "!"))
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
		bool is_simple = !shell_at_compound(p);

		if (shell_read_command(p) < 0)
			return -1;
		shell_skip_blanks(p);
		if (shell_peek(p, 0) != '|' || shell_peek(p, 1) == '|')
			break;
		p->pos += shell_peek(p, 1) == '&' ? 2 : 1;
		p->is_fed = true;
		p->feeder = is_simple ? p->out->n_commands - 1 : SHELL_NONE;
		if (shell_skip_lines(p) < 0)
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
		if (shell_skip_lines(p) < 0)
			return -1;
	}
}

static bool at_list_end(const struct shell_parser *p)
{
	int c = shell_peek(p, 0), next = shell_peek(p, 1);

	return c < 0 || c == ')' || (c == ';' && (next == ';' || next == '&')) ||
	       shell_at_closing_word(p);
}

/* Commands up to a word or operator that ends a list. */
int shell_read_list(struct shell_parser *p, bool may_be_empty)
{
	size_t n = 0;

	if (shell_enter(p) < 0)
		return -1;
	for (;;) {
		int c, next;

		if (shell_skip_lines(p) < 0)
			return -1;
		if (at_list_end(p))
			break;
		if (read_and_or(p) < 0)
			return -1;
		n++;
		shell_skip_comment(p);
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
	if (shell_read_list(&p, true) == 0 && p.pos == text.n) {
		ret->n_nodes = p.n_nodes;
		return 0;
	}
	if (p.no_memory)
		return err_nomem(err);
	if (!p.wrong)
		shell_fail(&p, "an unexpected word or operator");
	return fail_at(&p, err);
}
