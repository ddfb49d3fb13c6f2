/* What commands print; see output.h.
 *
 * Only what is certain: a command that is not in the table, or is one of
 * several, prints anything.
 */
#include "policy/shell/output.h"

#include "base/buf.h"
#include "base/limits.h"

#define MAX_OUTPUT_DEPTH	24

static struct ways output_of(struct expander *e, const struct shell_script *script,
			     const struct shell_command *cmd);

/* The same text twice is once. */
static void add_way(struct expander *e, struct ways *ways, struct str text)
{
	char *copy;

	if (!ways->items)
		ways->items = expand_new(e, MAX_WAYS, sizeof(struct str));
	copy = ways->items ? expand_new(e, text.n + 1, 1) : NULL;
	for (size_t i = 0; copy && i < ways->n; i++)
		if (str_eq(ways->items[i], text))
			return;
	if (!copy)
		return;
	if (ways->n == MAX_WAYS) {
		ways->n = 1;
		ways->items[0] = (struct str){ "\0S", 2 };
		return;
	}
	memcpy(copy, text.s, text.n);
	ways->items[ways->n++] = (struct str){ copy, text.n };
}

static struct ways anything(struct expander *e)
{
	struct ways ways = { 0 };

	add_way(e, &ways, (struct str){ "\0S", 2 });
	return ways;
}

/* `text` with its escapes decoded; stops at \c. */
static void put_unescaped(struct buf *out, struct str text)
{
	for (size_t i = 0; i < text.n; i++) {
		char bytes[4];
		size_t n;

		if (text.s[i] != '\\') {
			buf_putc(out, text.s[i]);
			continue;
		}
		if (i + 1 < text.n && text.s[i + 1] == 'c')
			return;
		if (i + 1 < text.n && text.s[i + 1] == '\0') {
			buf_putc(out, '\\');
			continue;
		}
		i += shell_unescape(str_from_pos(text, i + 1), bytes, &n);
		buf_add(out, bytes, n);
	}
}

/* bash decodes escapes with -e, dash always: both are told. */
static void output_echo(struct expander *e, struct argv line, struct ways *ways)
{
	cleanup_buf struct buf plain = BUF(4 * MAX_COMMAND_TEXT);
	cleanup_buf struct buf decoded = BUF(4 * MAX_COMMAND_TEXT);
	size_t i = 1;

	while (i < line.n && line.words[i].n > 1 && line.words[i].s[0] == '-' &&
	       strspn(line.words[i].s + 1, "neE") == line.words[i].n - 1)
		i++;
	for (size_t first = i; i < line.n; i++) {
		if (i > first)
			buf_putc(&plain, ' ');
		buf_str(&plain, line.words[i]);
	}
	buf_putc(&plain, '\n');
	put_unescaped(&decoded, (struct str){ buf_text(&plain), plain.n });
	add_way(e, ways, (struct str){ buf_text(&plain), plain.n });
	add_way(e, ways, (struct str){ buf_text(&decoded), decoded.n });
}

/* Behind '%': flags, width and precision are skipped, the letter decides. */
static size_t put_conversion(struct buf *out, struct str rest, struct str arg, bool *ret_used)
{
	size_t n = 0;
	char letter;

	while (n < rest.n && rest.s[n] && strchr("-+ #0123456789.", rest.s[n]))
		n++;
	letter = n < rest.n ? rest.s[n] : '\0';
	*ret_used = letter && letter != '%';
	if (letter == 'b')
		put_unescaped(out, arg);
	else if ((letter == 's' && n == 0) || (letter == 'd' && hole_free(arg)))
		buf_str(out, arg);
	else if (letter == '%')
		buf_putc(out, '%');
	else
		buf_add(out, "\0S", 2);
	return n < rest.n ? n + 1 : n;
}

/* One round over the format; returns how many arguments it took. */
static size_t put_format(struct buf *out, struct str format, const struct str *args, size_t n)
{
	size_t used = 0;

	for (size_t i = 0; i < format.n; i++) {
		if (format.s[i] == '\\' && i + 1 < format.n && format.s[i + 1] != '\0') {
			char bytes[4];
			size_t made;

			i += shell_unescape(str_from_pos(format, i + 1), bytes, &made);
			buf_add(out, bytes, made);
		} else if (format.s[i] == '%') {
			bool takes;

			i += put_conversion(out, str_from_pos(format, i + 1),
					    used < n ? args[used] : STR(""), &takes);
			used += takes;
		} else {
			buf_putc(out, format.s[i]);
		}
	}
	return used;
}

static void output_printf(struct expander *e, struct argv line, struct ways *ways)
{
	cleanup_buf struct buf out = BUF(4 * MAX_COMMAND_TEXT);
	size_t i = 1;

	if (i < line.n && str_is(line.words[i], "--"))
		i++;
	if (i >= line.n || str_is(line.words[i], "-v"))
		return add_way(e, ways, STR(""));
	for (size_t k = i + 1, used = 1; used && k <= line.n; k += used) {
		if (k > i + 1 && k == line.n)
			break;
		if (!expand_work(e, line.words[i].n + 8) || !buf_ok(&out))
			break;
		used = put_format(&out, line.words[i], line.words + k, line.n - k);
	}
	add_way(e, ways, (struct str){ buf_text(&out), out.n });
}

/* The names that find prints start with the places it was given. */
static void output_find(struct expander *e, struct argv line, struct ways *ways)
{
	for (size_t i = 1; i < line.n; i++) {
		cleanup_buf struct buf out = BUF(4 * MAX_COMMAND_TEXT);

		if (line.words[i].n && strchr("-(!", line.words[i].s[0]))
			break;
		buf_str(&out, line.words[i]);
		buf_add(&out, "\0S", 2);
		add_way(e, ways, (struct str){ buf_text(&out), out.n });
	}
	if (!ways->n)
		add_way(e, ways, (struct str){ ".\0S", 3 });
}

static bool is_which(struct argv line)
{
	return (str_is(line.words[0], "which") && line.n == 2) ||
	       (str_is(line.words[0], "command") && line.n == 3 && str_is(line.words[1], "-v"));
}

/* `which NAME` and `command -v NAME`: a path that ends in the name. */
static void output_which(struct expander *e, struct argv line, struct ways *ways)
{
	cleanup_buf struct buf out = BUF(4 * MAX_COMMAND_TEXT);

	buf_puts(&out, "/bin/");
	buf_str(&out, line.words[line.n - 1]);
	add_way(e, ways, (struct str){ buf_text(&out), out.n });
}

/* cat without files hands on what it reads. */
static void output_cat(struct expander *e, const struct shell_script *script,
		       const struct shell_command *cmd, struct ways *ways)
{
	struct ways input;

	if (!output_to_command(e, script, cmd, &input))
		return add_way(e, ways, (struct str){ "\0S", 2 });
	for (size_t i = 0; i < input.n; i++)
		add_way(e, ways, input.items[i]);
}

static void output_line(struct expander *e, const struct shell_script *script,
			const struct shell_command *cmd, struct argv line, struct ways *ways)
{
	struct str name = line.words[0];

	if (str_is(name, "echo"))
		output_echo(e, line, ways);
	else if (str_is(name, "printf"))
		output_printf(e, line, ways);
	else if (str_is(name, "find"))
		output_find(e, line, ways);
	else if (str_is(name, "pwd"))
		add_way(e, ways, (struct str){ "/\0S", 3 });
	else if (str_is(name, "true") || str_is(name, ":"))
		add_way(e, ways, STR(""));
	else if (is_which(line))
		output_which(e, line, ways);
	else if (str_is(name, "cat") &&
		 (line.n == 1 || (line.n == 2 && str_is(line.words[1], "-"))))
		output_cat(e, script, cmd, ways);
	else
		add_way(e, ways, (struct str){ "\0S", 2 });
}

static struct ways output_of(struct expander *e, const struct shell_script *script,
			     const struct shell_command *cmd)
{
	struct ways ways = { 0 };
	struct argv *lines;
	size_t n;

	for (size_t i = 0; i < cmd->n_redirects; i++)
		if (!cmd->redirects[i].is_input)
			return anything(e);
	if (e->depth >= MAX_OUTPUT_DEPTH)
		return anything(e);
	e->depth++;
	n = expand_command(e, cmd, &lines);
	for (size_t i = 0; i < n; i++) {
		if (lines[i].n)
			output_line(e, script, cmd, lines[i], &ways);
		else
			add_way(e, &ways, (struct str){ "\0S", 2 });
	}
	e->depth--;
	return ways.n ? ways : anything(e);
}

/* $(command -v a || command -v b || true): each prints a path of its own, on
 * a line of its own, or nothing. */
static bool output_of_list(struct expander *e, const struct shell_part *part, struct ways *ret)
{
	struct ways ways = { 0 };

	for (size_t i = part->first; i < part->first + part->n; i++) {
		const struct shell_command *cmd = &part->script->commands[i];
		struct argv *lines;

		if (cmd->is_conditional || cmd->n_words < 1 ||
		    expand_command(e, cmd, &lines) != 1 || !lines[0].n)
			return false;
		if (is_which(lines[0]))
			output_which(e, lines[0], &ways);
		else if (!str_is(lines[0].words[0], "true"))
			return false;
	}
	*ret = ways;
	return ways.n;
}

/* A substitution loses the line ends of its end. */
struct ways output_of_part(struct expander *e, const struct shell_part *part)
{
	const struct shell_command *cmd;
	struct ways ways = { 0 };

	if (part->n == 0) {
		add_way(e, &ways, STR(""));
		return ways;
	}
	cmd = &part->script->commands[part->first];
	if (part->n > 1 && part->n < MAX_WAYS && e->depth < MAX_OUTPUT_DEPTH &&
	    output_of_list(e, part, &ways))
		return ways;
	if (part->n != 1 || cmd->is_conditional || cmd->is_doubtful || part->is_written)
		return anything(e);
	ways = output_of(e, part->script, cmd);
	for (size_t i = 0; i < ways.n; i++) {
		struct str *s = &ways.items[i];

		while (s->n && s->s[s->n - 1] == '\n' && (s->n < 2 || s->s[s->n - 2] != '\0'))
			s->n--;
	}
	return ways;
}

bool output_to_command(struct expander *e, const struct shell_script *script,
		       const struct shell_command *cmd, struct ways *ret)
{
	const struct shell_redirect *last = NULL;

	for (size_t i = 0; i < cmd->n_redirects; i++)
		if (cmd->redirects[i].is_input)
			last = &cmd->redirects[i];
	if (last && last->kind == SHELL_HERE) {
		*ret = expand_text(e, last->target);
	} else if (last && last->kind == SHELL_READ) {
		const struct shell_word *word = last->target;

		if (word->n_parts != 1 || word->parts[0].kind != SHELL_PROCESS)
			return false;
		*ret = output_of_part(e, &word->parts[0]);
	} else if (last || (cmd->is_fed && cmd->feeder == SHELL_NONE)) {
		*ret = anything(e);
	} else if (cmd->is_fed) {
		*ret = output_of(e, script, &script->commands[cmd->feeder]);
	} else {
		return false;
	}
	return true;
}
