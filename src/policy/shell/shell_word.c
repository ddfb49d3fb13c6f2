/* Words of the shell: quotes, expansions, substitutions; see shell_priv.h.
 *
 * A word becomes a row of parts that point into the text; only what had to be
 * decoded ($'…', backticks) is copied.
 */
#include "policy/shell/shell_priv.h"

#include <ctype.h>

#include "base/limits.h"

struct parts {
	struct shell_part *items;
	size_t n, cap;
};

/* How the characters up to an end are read. */
enum mode {
	IN_WORD,	/* up to white space or an operator */
	IN_BRACES,	/* up to '}', with quotes */
	IN_QUOTES,	/* up to '"' */
	IN_QUOTED_BRACES,	/* up to '}', inside double quotes */
	IN_BODY,	/* up to the end of the text: here-documents, arithmetic */
};

static int read_parts(struct shell_parser *p, enum mode mode, struct parts *w);

static struct shell_part *add_part(struct shell_parser *p, struct parts *w,
				   enum shell_part_kind kind, bool quoted)
{
	struct shell_part *items;

	if (shell_count(p) < 0)
		return NULL;
	items = arena_grow(p->a, w->items, w->n, &w->cap, sizeof(*items));
	if (!items) {
		shell_no_memory(p);
		return NULL;
	}
	w->items = items;
	items += w->n++;
	items->kind = kind;
	items->quoted = quoted;
	return items;
}

static int add_text(struct shell_parser *p, struct parts *w, struct str text, bool quoted)
{
	struct shell_part *part = add_part(p, w, SHELL_TEXT, quoted);

	if (!part)
		return -1;
	part->text = text;
	return 0;
}

static bool is_name_start(int c)
{
	return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_name_byte(int c)
{
	return is_name_start(c) || (c >= '0' && c <= '9');
}

bool shell_is_name(struct str s)
{
	if (!s.n || !is_name_start((unsigned char)s.s[0]))
		return false;
	for (size_t i = 1; i < s.n; i++)
		if (!is_name_byte((unsigned char)s.s[i]))
			return false;
	return true;
}

size_t shell_space(struct str s)
{
	static const struct { uint32_t first, last; } spaces[] = {
		{ '\t', '\r' }, { 0x1c, ' ' }, { 0x85, 0x85 }, { 0xa0, 0xa0 }, { 0x1680, 0x1680 },
		{ 0x2000, 0x200a }, { 0x2028, 0x2029 }, { 0x202f, 0x202f }, { 0x205f, 0x205f },
		{ 0x3000, 0x3000 },
	};
	uint32_t c;
	size_t n = str_utf8(s, &c);

	for (size_t i = 0; n && i < ARRAY_SIZE(spaces); i++)
		if (c >= spaces[i].first && c <= spaces[i].last)
			return n;
	return 0;
}

size_t shell_blank(const struct shell_parser *p)
{
	int c = shell_peek(p, 0);

	if (c == ' ' || c == '\t')
		return 1;
	if (p->reading == SHELL_AS_WRITTEN || c < 0)
		return 0;
	return shell_space(str_from_pos(p->text, p->pos));
}

void shell_skip_blanks(struct shell_parser *p)
{
	for (;;) {
		size_t n = shell_blank(p);

		if (!n && shell_peek(p, 0) == '\\' && shell_peek(p, 1) == '\n')
			n = 2;
		if (!n)
			return;
		p->pos += n;
	}
}

bool shell_at_meta(const struct shell_parser *p)
{
	int c = shell_peek(p, 0);

	return c < 0 || c == '\n' || strchr(";&|<>()", c) || shell_blank(p);
}

static int hex_digit(int c)
{
	return c >= '0' && c <= '9' ? c - '0' :
	       c >= 'a' && c <= 'f' ? c - 'a' + 10 :
	       c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

/* Up to `max` digits of `base`; returns how many there were. */
static size_t read_digits(struct str s, int base, size_t max, uint32_t *ret)
{
	uint32_t v = 0;
	size_t n = 0;

	while (n < max && n < s.n && hex_digit((unsigned char)s.s[n]) < base)
		v = v * (uint32_t)base + (uint32_t)hex_digit((unsigned char)s.s[n++]);
	*ret = v;
	return n;
}

size_t shell_unescape(struct str s, char ret_bytes[4], size_t *ret_n)
{
	static const char from[] = "abefnrtvE", to[] = "\a\b\033\f\n\r\t\v\033";
	const char *at;
	uint32_t v;
	size_t n;

	*ret_n = 1;
	if (!s.n) {
		ret_bytes[0] = '\\';
		return 0;
	}
	at = strchr(from, s.s[0]);
	if (s.s[0] && at) {
		ret_bytes[0] = to[at - from];
		return 1;
	}
	if (s.s[0] >= '0' && s.s[0] <= '7') {
		/* echo -e wants \0NNN, the others \NNN: one zero more does no harm. */
		n = read_digits(s, 8, s.s[0] == '0' ? 4 : 3, &v);
		ret_bytes[0] = (char)(v & 0xff);
		*ret_n = (v & 0xff) != 0;
		return n;
	}
	if (s.s[0] == 'x' || s.s[0] == 'u' || s.s[0] == 'U') {
		n = read_digits(str_from_pos(s, 1), 16, s.s[0] == 'x' ? 2 : s.s[0] == 'u' ? 4 : 8,
				&v);
		if (s.s[0] != 'x')
			*ret_n = v ? str_put_utf8(v, ret_bytes) : 0;
		else if (n)
			*ret_n = (ret_bytes[0] = (char)v) != 0;
		else
			ret_bytes[0] = 'x';
		return n + 1;
	}
	ret_bytes[0] = s.s[0];
	return 1;
}

/* Behind $' : decode up to the closing quote. */
static int read_ansi(struct shell_parser *p, struct parts *w)
{
	size_t end = p->pos, n = 0;
	char *out;

	while (end < p->text.n && p->text.s[end] != '\'')
		end += p->text.s[end] == '\\' ? 2 : 1;
	if (end >= p->text.n)
		return shell_fail(p, "a quote is not closed");
	/* \u with one digit can become two bytes, but takes three. */
	out = arena_new(p->a, end - p->pos + 4, 1);
	if (!out)
		return shell_no_memory(p);
	while (p->pos < end) {
		size_t made;

		if (p->text.s[p->pos] != '\\') {
			out[n++] = p->text.s[p->pos++];
			continue;
		}
		p->pos++;
		if (p->text.s[p->pos] == 'c' && p->pos + 1 < end) {
			out[n] = (char)(toupper((unsigned char)p->text.s[p->pos + 1]) ^ 0x40);
			n += out[n] != 0;
			p->pos += 2;
			continue;
		}
		p->pos += shell_unescape(shell_slice(p, p->pos, end), out + n, &made);
		n += made;
	}
	p->pos = end + 1;
	return add_text(p, w, (struct str){ out, n }, true);
}

static int read_single(struct shell_parser *p, struct parts *w)
{
	size_t from = p->pos, n = str_find(str_from_pos(p->text, from), '\'');

	if (from + n >= p->text.n)
		return shell_fail(p, "a quote is not closed");
	p->pos = from + n + 1;
	return add_text(p, w, shell_slice(p, from, from + n), true);
}

static int read_double(struct shell_parser *p, struct parts *w)
{
	if (add_text(p, w, STR(""), true) < 0 || read_parts(p, IN_QUOTES, w) < 0)
		return -1;
	if (shell_peek(p, 0) != '"')
		return shell_fail(p, "a quote is not closed");
	p->pos++;
	return 0;
}

/* Behind an opening parenthesis: the commands up to the closing one. */
static int read_substitution(struct shell_parser *p, struct shell_part *part)
{
	struct shell_parser outer = *p;
	size_t first = p->out->n_commands;

	p->pending = NULL;
	p->n_pending = p->cap_pending = 0;
	p->is_conditional = false;
	if (part->kind == SHELL_PROCESS && part->is_written) {
		p->is_fed = true;
		p->feeder = SHELL_NONE;
	}
	if (shell_read_list(p, true) < 0)
		return -1;
	if (shell_peek(p, 0) != ')')
		return shell_fail(p, "a '(' is not closed");
	p->pos++;
	p->pending = outer.pending;
	p->n_pending = outer.n_pending;
	p->cap_pending = outer.cap_pending;
	p->is_conditional = outer.is_conditional;
	p->is_fed = outer.is_fed;
	p->feeder = outer.feeder;
	part->script = p->out;
	part->first = first;
	part->n = p->out->n_commands - first;
	return 0;
}

/* Parts may move while the inside is read, so it is filled in afterwards. */
static int add_substitution(struct shell_parser *p, struct parts *w, struct shell_part what)
{
	struct shell_part *part;

	if (read_substitution(p, &what) < 0)
		return -1;
	part = add_part(p, w, what.kind, what.quoted);
	if (!part)
		return -1;
	*part = what;
	return 0;
}

/* What stands between backticks loses one layer of backslashes. */
static int unquote_backticks(struct shell_parser *p, size_t end, bool quoted, struct str *ret)
{
	char *text = arena_new(p->a, end - p->pos + 1, 1);
	size_t n = 0;

	if (!text)
		return shell_no_memory(p);
	for (size_t i = p->pos; i < end; i++) {
		if (p->text.s[i] == '\\' && strchr(quoted ? "`\\$\"" : "`\\$", p->text.s[i + 1]))
			i++;
		text[n++] = p->text.s[i];
	}
	*ret = (struct str){ text, n };
	return 0;
}

/* Behind a backtick: up to the next, as a text of its own. */
static int read_backticks(struct shell_parser *p, struct parts *w, bool quoted)
{
	struct shell_part what = { .kind = SHELL_OUTPUT, .quoted = quoted, .script = p->out };
	struct shell_parser inner = *p;
	struct shell_part *part;
	size_t end = p->pos;

	while (end < p->text.n && p->text.s[end] != '`')
		end += p->text.s[end] == '\\' ? 2 : 1;
	if (end >= p->text.n)
		return shell_fail(p, "a backtick is not closed");
	if (unquote_backticks(p, end, quoted, &inner.text) < 0)
		return -1;
	inner.pos = inner.n_pending = inner.cap_pending = 0;
	inner.pending = NULL;
	inner.is_conditional = false;
	what.first = p->out->n_commands;
	if (shell_read_list(&inner, true) == 0 && inner.pos < inner.text.n)
		shell_fail(&inner, "unexpected word or operator");
	p->n_nodes = inner.n_nodes;
	p->no_memory = inner.no_memory;
	if (inner.wrong)
		return shell_fail(p, inner.wrong);
	if (inner.no_memory)
		return -1;
	p->pos = end + 1;
	what.n = p->out->n_commands - what.first;
	part = add_part(p, w, SHELL_OUTPUT, quoted);
	if (!part)
		return -1;
	*part = what;
	return 0;
}

size_t shell_find_arithmetic_end(const struct shell_parser *p, size_t pos)
{
	size_t depth = 0;

	for (; pos < p->text.n; pos++) {
		char c = p->text.s[pos];

		if (c == '\\') {
			pos++;
		} else if (c == '\'' || c == '"' || c == '`') {
			size_t n = str_find(str_from_pos(p->text, pos + 1), c);

			pos += n + 1;
		} else if (c == '(') {
			depth++;
		} else if (c == ')') {
			if (depth == 0)
				return pos + 1 < p->text.n && p->text.s[pos + 1] == ')' ? pos :
				       SHELL_NONE;
			depth--;
		}
	}
	return SHELL_NONE;
}

/* Behind "$((", with "))" at `end`. */
static int read_arithmetic(struct shell_parser *p, struct parts *w, bool quoted, size_t end)
{
	struct shell_word inside;

	if (shell_read_quoted(p, p->pos, end, &inside) < 0)
		return -1;
	p->pos = end + 2;
	return add_part(p, w, SHELL_ARITHMETIC, quoted) ? 0 : -1;
}

int shell_skip_subscript(struct shell_parser *p)
{
	size_t from = p->pos, depth = 0;
	struct shell_word inside;

	for (; p->pos < p->text.n; p->pos++) {
		char c = p->text.s[p->pos];

		if (c == '\\')
			p->pos++;
		else if (c == '[')
			depth++;
		else if (c == ']' && depth-- == 0)
			break;
		else if (c == '\n')
			return shell_fail(p, "a '[' is not closed");
	}
	if (p->pos >= p->text.n)
		return shell_fail(p, "a '[' is not closed");
	return shell_read_quoted(p, from, p->pos++, &inside);
}

/* The name behind "${" or '$': a name, digits, or one special character. */
static struct str read_parameter(struct shell_parser *p, bool in_braces)
{
	size_t from = p->pos;
	int c = shell_peek(p, 0);

	if (is_name_start(c)) {
		while (is_name_byte(shell_peek(p, 0)))
			p->pos++;
	} else if (in_braces && isdigit(c)) {
		while (isdigit(shell_peek(p, 0)))
			p->pos++;
	} else if (c > 0 && strchr("@*#?-$!0123456789", c)) {
		p->pos++;
	}
	return shell_slice(p, from, p->pos);
}

/* Behind the name: the operator, which decides how the rest is read. */
static struct str read_operator(struct shell_parser *p)
{
	size_t from = p->pos;
	int c = shell_peek(p, 0), next = shell_peek(p, 1);

	if (c == ':' && next > 0 && strchr("-=+?", next))
		p->pos += 2;
	else if (c > 0 && strchr("%#/^,", c))
		p->pos += next == c ? 2 : 1;
	else if (c > 0 && strchr(":-=+?@", c))
		p->pos++;
	return shell_slice(p, from, p->pos);
}

/* '#' or '!' before the name of ${#name} and ${!name}; elsewhere (${#}, ${!})
 * it is the name. */
static struct str read_prefix(struct shell_parser *p)
{
	int c = shell_peek(p, 0), next = shell_peek(p, 1);

	if ((c != '#' && c != '!') || next < 0 ||
	    !(is_name_byte(next) || strchr("@*?-$!", next)))
		return STR("");
	p->pos++;
	return shell_slice(p, p->pos - 1, p->pos);
}

/* Name and subscript. */
static int read_name(struct shell_parser *p, struct shell_part *what)
{
	size_t inside;

	what->text = read_parameter(p, true);
	if (!what->text.n)
		return shell_fail(p, "'${' is not followed by a name");
	if (shell_peek(p, 0) != '[')
		return 0;
	inside = ++p->pos;
	if (shell_skip_subscript(p) < 0)
		return -1;
	what->subscript = shell_slice(p, inside, p->pos - 1);
	return 0;
}

/* The word behind the operator, up to '}'.  Patterns know quotes of their own
 * even inside double quotes, the others do not. */
static int read_operand(struct shell_parser *p, struct shell_part *what)
{
	bool patterned = what->op.n && !strchr("-=+?", what->op.s[what->op.n - 1]);
	struct parts arg = { 0 };
	size_t from = p->pos;

	if (!what->op.n && shell_peek(p, 0) != '}')
		return shell_fail(p, "'${' has an unknown operator");
	if (read_parts(p, what->quoted && !patterned ? IN_QUOTED_BRACES : IN_BRACES, &arg) < 0)
		return -1;
	if (shell_peek(p, 0) != '}')
		return shell_fail(p, "a '{' is not closed");
	what->arg = arena_new(p->a, 1, sizeof(*what->arg));
	if (!what->arg)
		return shell_no_memory(p);
	*what->arg = (struct shell_word){ shell_slice(p, from, p->pos), arg.items, arg.n };
	p->pos++;
	return 0;
}

/* Behind "${". */
static int read_braces(struct shell_parser *p, struct parts *w, bool quoted)
{
	struct shell_part what = { .kind = SHELL_VARIABLE, .quoted = quoted };
	struct str prefix = read_prefix(p);
	struct shell_part *part;

	if (read_name(p, &what) < 0)
		return -1;
	what.op = read_operator(p);
	if (read_operand(p, &what) < 0)
		return -1;
	if (prefix.n)
		what.op = prefix;
	part = add_part(p, w, SHELL_VARIABLE, quoted);
	if (!part)
		return -1;
	*part = what;
	return 0;
}

/* Behind "$(". */
static int read_parenthesis(struct shell_parser *p, struct parts *w, bool quoted)
{
	if (shell_peek(p, 0) == '(') {
		size_t end = shell_find_arithmetic_end(p, p->pos + 1);

		if (end != SHELL_NONE) {
			p->pos++;
			return read_arithmetic(p, w, quoted, end);
		}
	}
	return add_substitution(p, w, (struct shell_part){ .kind = SHELL_OUTPUT,
							   .quoted = quoted });
}

/* At '$'. */
static int read_dollar(struct shell_parser *p, struct parts *w, enum mode mode)
{
	bool quoted = mode != IN_WORD && mode != IN_BRACES;
	int next = shell_peek(p, 1);
	struct shell_part *part;
	struct str name;

	p->pos++;
	if (next == '(') {
		p->pos++;
		return read_parenthesis(p, w, quoted);
	}
	if (next == '{') {
		p->pos++;
		return read_braces(p, w, quoted);
	}
	if (!quoted && next == '\'') {
		p->pos++;
		return read_ansi(p, w);
	}
	if (!quoted && next == '"') {
		p->pos++;
		return read_double(p, w);
	}
	name = read_parameter(p, false);
	if (!name.n)
		return add_text(p, w, STR("$"), true);
	part = add_part(p, w, SHELL_VARIABLE, quoted);
	if (!part)
		return -1;
	part->text = name;
	part->op = STR("");
	return 0;
}

/* At '\'. */
static int read_backslash(struct shell_parser *p, struct parts *w, enum mode mode)
{
	int next = shell_peek(p, 1);
	bool quoted = mode != IN_WORD && mode != IN_BRACES;

	if (next < 0) {
		p->pos++;
		return add_text(p, w, STR("\\"), true);
	}
	p->pos += 2;
	if (next == '\n')
		return 0;
	if (quoted && !strchr("$`\\", next) && !(next == '"' && mode != IN_BODY) &&
	    !(next == '}' && mode == IN_QUOTED_BRACES))
		return add_text(p, w, shell_slice(p, p->pos - 2, p->pos), true);
	return add_text(p, w, shell_slice(p, p->pos - 1, p->pos), true);
}

static bool at_end(const struct shell_parser *p, enum mode mode)
{
	int c = shell_peek(p, 0);

	switch (mode) {
	case IN_WORD:
		return shell_at_meta(p) && !shell_at_process(p);
	case IN_BRACES:
	case IN_QUOTED_BRACES:
		return c < 0 || c == '}';
	case IN_QUOTES:
		return c < 0 || c == '"';
	case IN_BODY:
		break;
	}
	return c < 0;
}

/* Ordinary characters up to one that means something. */
static int read_run(struct shell_parser *p, struct parts *w, enum mode mode)
{
	bool quoted = mode != IN_WORD && mode != IN_BRACES;
	size_t from = p->pos;

	do {
		p->pos++;
	} while (!at_end(p, mode) && !strchr("\\$`\"'<>", shell_peek(p, 0)));
	return add_text(p, w, shell_slice(p, from, p->pos), quoted);
}

static int read_parts(struct shell_parser *p, enum mode mode, struct parts *w)
{
	bool quoted = mode != IN_WORD && mode != IN_BRACES;

	if (++p->depth > MAX_SHELL_NESTING)
		return shell_fail(p, "the text is nested too deeply");
	while (!at_end(p, mode)) {
		int c = shell_peek(p, 0), r;

		if (c == '\\') {
			r = read_backslash(p, w, mode);
		} else if (c == '$') {
			r = read_dollar(p, w, mode);
		} else if (c == '`') {
			p->pos++;
			r = read_backticks(p, w, quoted);
		} else if (c == '\'' && !quoted) {
			p->pos++;
			r = read_single(p, w);
		} else if (c == '"' && mode != IN_BODY) {
			p->pos++;
			r = read_double(p, w);
		} else if (!quoted && shell_at_process(p)) {
			p->pos += 2;
			r = add_substitution(p, w, (struct shell_part){ .kind = SHELL_PROCESS,
									.is_written = c == '>' });
		} else {
			r = read_run(p, w, mode);
		}
		if (r < 0)
			return -1;
	}
	p->depth--;
	return 0;
}

int shell_read_word(struct shell_parser *p, struct shell_word *ret)
{
	struct parts w = { 0 };
	size_t from = p->pos;

	if (read_parts(p, IN_WORD, &w) < 0)
		return -1;
	if (p->pos == from)
		return shell_fail(p, "a word is missing");
	*ret = (struct shell_word){ shell_slice(p, from, p->pos), w.items, w.n };
	return 0;
}

int shell_read_quoted(struct shell_parser *p, size_t from, size_t to, struct shell_word *ret)
{
	size_t pos = p->pos, n = p->text.n;
	struct parts w = { 0 };

	p->pos = from;
	p->text.n = to;
	if (read_parts(p, IN_BODY, &w) < 0)
		return -1;
	p->pos = pos;
	p->text.n = n;
	*ret = (struct shell_word){ shell_slice(p, from, to), w.items, w.n };
	return 0;
}
