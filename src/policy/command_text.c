/* Shell text against blocked commands, before it is executed: command_text_find().
 *
 * The text is split at separators and substitutions.  Programs that execute another one
 * (sudo, xargs) are peeled off, the text of `sh -c` and `eval` is read in its turn, and what
 * is left is compared with the rules.  What the shell computes (variables, patterns, most
 * substitutions) is a NUL in its word: a part that is not known.  A text is read up to its
 * first `case`, `[[`, here-document or $'…', and no deeper than MAX_COMMAND_DEPTH.  None of
 * this is a wall: execve is.
 *
 * Each text is read once from its beginning to its end; the words of a command are on a stack
 * that no text can make larger than its own length.
 */
#include "policy/command.h"

#include <ctype.h>

#include "base/buf.h"
#include "policy/command_priv.h"

#define NO_BYTE		256

struct text {
	struct str text;
	unsigned depth;
	struct text *next;
};

struct search {
	const struct command_rule *rules;
	size_t best;		/* the first rule that was found; or how many there are */
	struct arena *arena;
	struct text **last;	/* of those that are still to be read */
	bool no_memory;
};

/* One text while it is read. */
struct reading {
	struct search *search;
	const struct text *text;
	const char *at, *end;
	char *out;		/* [T1] the words, one behind the other: no more than was read */
	struct str *words;
	size_t n_out, n_words;
	unsigned depth;		/* of substitutions */
};

/* A list of commands, of which one is being read. */
struct list {
	size_t out, words;	/* where that begins on the stack */
	int until;		/* the byte that ends the list, or NO_BYTE */
	bool has_ended;		/* another command was before it */
};

/* ---- what a command executes ---------------------------------------------------- */

static const struct wrapper {
	const char *name;
	const char *valued;	/* options whose value is the next word */
	unsigned n_skipped;	/* words between the options and the program */
} wrappers[] = {
	{ "sudo", "ughpCrtTUDRa", 0 }, { "doas", "uCa", 0 },	{ "env", "uCS", 0 },
	{ "nice", "n", 0 },	       { "ionice", "cnpPu", 0 }, { "nohup", "", 0 },
	{ "time", "fo", 0 },	       { "timeout", "sk", 1 },	{ "setsid", "", 0 },
	{ "stdbuf", "ioe", 0 },	       { "command", "", 0 },	{ "builtin", "", 0 },
	{ "exec", "a", 0 },	       { "chroot", "", 1 },	{ "unshare", "SGRwl", 0 },
	{ "flock", "wE", 1 },	       { "taskset", "", 1 },	{ "strace", "eopsuEaOSPIbXU", 0 },
	{ "busybox", "", 0 },	       { "toybox", "", 0 },	{ "xargs", "InLPsdEa", 0 },
};

/* What is behind the options; n where that cannot be told, as a long one may have a value. */
static size_t skip_options(const struct wrapper *w, const struct str *argv, size_t n)
{
	size_t i = 1;

	for (; i < n && str_starts(argv[i], "-"); i++) {
		struct str word = argv[i];
		size_t k = 1;

		if (str_is(word, "--"))
			return i + 1;
		/* `command -v` executes nothing. */
		if ((str_starts(word, "--") && str_find(word, '=') == word.n) ||
		    str_is(word, "-v") || str_is(word, "-V"))
			return n;
		while (k < word.n && !(word.s[k] && strchr(w->valued, word.s[k])))
			k++;
		i += k + 1 == word.n;
	}
	return i;
}

/* Where the program stands that the wrapper executes, or 0. */
static size_t find_wrapped(const struct str *argv, size_t n)
{
	struct str name = command_base_name(argv[0]);
	const struct wrapper *w = wrappers;
	size_t i;

	while (w < wrappers + ARRAY_SIZE(wrappers) && !str_is(name, w->name))
		w++;
	if (w == wrappers + ARRAY_SIZE(wrappers))
		return 0;
	i = skip_options(w, argv, n);
	while (i < n && command_is_assignment(argv[i]))
		i++;
	return i + w->n_skipped < n ? i + w->n_skipped : 0;
}

/* Where the text of `sh -c TEXT` stands, or 0. */
static size_t find_shell_text(const struct str *argv, size_t n)
{
	bool has_text = false;
	size_t i = 1;

	for (; i < n && (str_starts(argv[i], "-") || str_starts(argv[i], "+")); i++)
		if (!str_starts(argv[i], "--")) {
			has_text |= str_find(argv[i], 'c') < argv[i].n;
			i += str_ends(argv[i], "o") || str_ends(argv[i], "O");
		}
	return has_text && i < n ? i : 0;
}

/* Read the words as one text later, joined by blanks as `eval` does. */
static void add_text(struct reading *r, const struct str *words, size_t n)
{
	struct search *s = r->search;
	cleanup_buf struct buf joined = BUF(2 * MAX_COMMAND_TEXT);
	struct text *t;

	if (!n || r->text->depth == MAX_COMMAND_DEPTH)
		return;
	for (size_t i = 0; i < n; i++) {
		buf_str(&joined, words[i]);
		buf_putc(&joined, ' ');
	}
	t = arena_new(s->arena, 1, sizeof(*t));
	if (t && buf_ok(&joined))
		t->text.s = arena_strndup(s->arena, buf_text(&joined), joined.n);
	if (!t || !t->text.s) {
		s->no_memory = true;
		return;
	}
	t->text.n = joined.n;
	t->depth = r->text->depth + 1;
	*s->last = t;
	s->last = &t->next;
}

/* The command, and what it executes in its turn: of `find` its first -exec. */
static void check_command(struct reading *r, const struct str *argv, size_t n)
{
	struct search *s = r->search;
	size_t at;

	for (unsigned depth = 0; n && depth < MAX_COMMAND_DEPTH; depth++, argv += at, n -= at) {
		for (size_t i = 0; i < s->best; i++)
			if (command_rule_matches(&s->rules[i], argv, n,
						 (struct command_place){ 0 }))
				s->best = i;
		at = 0;
		if (command_is_shell(argv[0]) && (at = find_shell_text(argv, n))) {
			add_text(r, argv + at, 1);
			return;
		} else if (str_is(argv[0], "eval")) {
			add_text(r, argv + 1, n - 1);
		} else if (str_is(command_base_name(argv[0]), "find")) {
			while (at < n && !str_is(argv[at], "-exec") &&
			       !str_is(argv[at], "-execdir"))
				at++;
			at = at + 1 < n ? at + 1 : 0;
		} else {
			at = find_wrapped(argv, n);
		}
		if (!at)
			return;
	}
}

/* ---- words -------------------------------------------------------------------- */

static bool next_is(const struct reading *r, const char *text)
{
	size_t n = strlen(text);

	return (size_t)(r->end - r->at) >= n && memcmp(r->at, text, n) == 0;
}

static void put(struct reading *r, char c)
{
	r->out[r->n_out++] = c;
}

/* One level deeper; where that is too deep nothing more is read. */
static void enter(struct reading *r)
{
	if (r->depth++ == MAX_COMMAND_DEPTH)
		r->at = r->end;
}

static struct str read_list(struct reading *r, int until);
static void read_piece(struct reading *r, bool is_quoted);

/* Up to where `level` of them are closed.  It is one part that is not known, but the
 * substitutions in it are read. */
static void skip_group(struct reading *r, int open, int close, size_t level, bool is_quoted)
{
	size_t n_out = r->n_out;

	enter(r);
	while (r->at < r->end && level) {
		level += *r->at == open;
		level -= *r->at == close;
		if (level)
			read_piece(r, is_quoted);
		else
			r->at++;
		r->n_out = n_out;
	}
	r->depth--;
	put(r, '\0');
}

/* The output of the commands is a part of the word, and known where it is one plain word. */
static void read_substitution(struct reading *r, int until)
{
	size_t n_out = r->n_out;
	struct str output;

	enter(r);
	output = read_list(r, until);
	r->depth--;
	r->n_out = n_out;
	if (!output.n)
		put(r, '\0');
	else
		memmove(r->out + n_out, output.s, output.n);
	r->n_out += output.n;
}

static void read_dollar(struct reading *r, bool is_quoted)
{
	r->at++;
	if (next_is(r, "((")) {
		r->at += 2;
		skip_group(r, '(', ')', 2, is_quoted);
	} else if (next_is(r, "(")) {
		r->at++;
		read_substitution(r, ')');
	} else if (next_is(r, "{")) {
		r->at++;
		skip_group(r, NO_BYTE, '}', 1, is_quoted);
	} else if (next_is(r, "'") && !is_quoted) {
		r->at = r->end;
		put(r, '\0');
	} else if (r->at < r->end &&
		   (command_is_name_char(*r->at) || memchr("@*#?$!-", *r->at, 7))) {
		bool is_name = command_is_name_char(*r->at++);

		while (is_name && r->at < r->end && command_is_name_char(*r->at))
			r->at++;
		put(r, '\0');
	} else if (!next_is(r, "\"") || is_quoted) {
		put(r, '$');
	}
}

static void read_quotes(struct reading *r, char quote)
{
	r->at++;
	while (r->at < r->end && *r->at != quote)
		if (quote == '"')
			read_piece(r, true);
		else
			put(r, *r->at++);
	r->at += r->at < r->end;
}

/* One byte of a word, or a quoted or substituted part. */
static void read_piece(struct reading *r, bool is_quoted)
{
	char c = *r->at;

	if (c == '\\' && r->at + 1 < r->end) {
		if (is_quoted && !memchr("$`\"\\\n", r->at[1], 5))
			put(r, c);
		if (r->at[1] != '\n')
			put(r, r->at[1]);
		r->at += 2;
	} else if (c == '"' || (c == '\'' && !is_quoted)) {
		read_quotes(r, c);
	} else if (c == '$') {
		read_dollar(r, is_quoted);
	} else if (c == '`') {
		r->at++;
		read_substitution(r, '`');
	} else {
		put(r, !is_quoted && (c == '*' || c == '?') ? '\0' : c);
		r->at++;
	}
}

/* False: there is none here. */
static bool read_word(struct reading *r, int until)
{
	const char *from = r->at;
	size_t n_out = r->n_out;

	while (r->at < r->end && *r->at != until && !memchr(" \t\n;&|()<>", *r->at, 10)) {
		read_piece(r, false);
		/* NAME=(words), and patterns such as @(a|b) */
		if (next_is(r, "(") && memchr("=@?*+", r->at[-1], 5)) {
			r->at++;
			skip_group(r, '(', ')', 1, false);
		}
	}
	if (r->at == from)
		return false;
	r->words[r->n_words++] = (struct str){ r->out + n_out, r->n_out - n_out };
	return true;
}

/* ---- commands ------------------------------------------------------------------- */

static void drop_command(struct reading *r, const struct list *l)
{
	r->n_words = l->words;
	r->n_out = l->out;
}

static void end_command(struct reading *r, struct list *l)
{
	size_t from = l->words;

	while (from < r->n_words && command_is_assignment(r->words[from]))
		from++;
	check_command(r, r->words + from, r->n_words - from);
	l->has_ended |= r->n_words > l->words;
	drop_command(r, l);
}

/* A whole list that is `echo` or `printf` with one plain word: the word; or empty. */
static struct str find_output(const struct reading *r, const struct list *l)
{
	struct str word;

	if (l->has_ended || r->n_words - l->words != 2 ||
	    (!str_is(r->words[l->words], "echo") && !str_is(r->words[l->words], "printf")))
		return STR("");
	word = r->words[l->words + 1];
	for (size_t i = 0; i < word.n; i++)
		if (memchr("%\\\0 \t\n", word.s[i], 6))
			return STR("");
	return str_starts(word, "-") ? STR("") : word;
}

/* The descriptor before it and the file behind it are no words of the command. */
static void read_redirection(struct reading *r, struct list *l)
{
	size_t n_out = r->n_out;

	if (next_is(r, "<<") && !next_is(r, "<<<")) {
		r->at = r->end;
		return;
	}
	if (next_is(r, "<(") || next_is(r, ">(")) {
		r->at += 2;
		read_substitution(r, ')');
		r->words[r->n_words++] = (struct str){ r->out + n_out, r->n_out - n_out };
		return;
	}
	if (r->n_words > l->words && isdigit((unsigned char)r->at[-1]) &&
	    r->words[r->n_words - 1].n == 1)
		r->n_words--;
	while (r->at < r->end && memchr("<>&|", *r->at, 4))
		r->at++;
	while (next_is(r, " ") || next_is(r, "\t"))
		r->at++;
	if (read_word(r, l->until))
		r->n_words--;
	r->n_out = n_out;
}

/* A subshell, the `()` of a function, or arithmetic. */
static void read_parenthesis(struct reading *r, struct list *l)
{
	bool is_arithmetic = next_is(r, "((");

	drop_command(r, l);
	r->at += is_arithmetic ? 2 : 1;
	if (is_arithmetic)
		skip_group(r, '(', ')', 2, false);
	else
		read_substitution(r, ')');
	drop_command(r, l);
}

/* Words of the shell's own language are no words of the command. */
static void take_keyword(struct reading *r, struct list *l)
{
	static const char *const before[] = { "if", "then", "else", "elif", "while", "until", "do",
					      "!", "{", "}", NULL };
	size_t n = r->n_words - l->words;
	struct str first = r->words[l->words];

	if (n == 1 && (str_is(first, "case") || str_is(first, "[[")))
		r->at = r->end;
	else if ((n == 1 && str_is_one_of(first, before)) || (n == 2 && str_is(first, "function")))
		drop_command(r, l);
}

static void read_token(struct reading *r, struct list *l)
{
	char c = *r->at;

	if (c == ' ' || c == '\t') {
		r->at++;
	} else if (c == '#') {
		while (r->at < r->end && *r->at != '\n')
			r->at++;
	} else if (c == '<' || c == '>' || next_is(r, "&>")) {
		read_redirection(r, l);
	} else if (c == '(') {
		read_parenthesis(r, l);
	} else if (memchr("\n;&|)", c, 5)) {
		end_command(r, l);
		r->at++;
	} else if (next_is(r, "\\\n")) {
		r->at += 2;
	} else if (read_word(r, l->until)) {
		take_keyword(r, l);
	}
}

/* Commands up to `until`, which is read, too.  Returns what they print, if that is known. */
static struct str read_list(struct reading *r, int until)
{
	struct list l = { .out = r->n_out, .words = r->n_words, .until = until };
	struct str output;

	while (r->at < r->end && *r->at != until)
		read_token(r, &l);
	output = find_output(r, &l);
	end_command(r, &l);
	r->at += r->at < r->end;
	return output;
}

static void read_text(struct search *s, const struct text *t)
{
	struct reading r = { .search = s, .text = t, .at = t->text.s,
			     .end = t->text.s + t->text.n };

	r.out = malloc(t->text.n + 1);
	r.words = malloc((t->text.n + 1) * sizeof(*r.words));
	if (r.out && r.words)
		(void)read_list(&r, NO_BYTE);
	else
		s->no_memory = true;
	free(r.out);
	free(r.words);
}

/* White space of a rule may be the end of a line in the text: "rm\n-rf\n/" is in some callers'
 * words one command. */
static bool is_on_lines(const struct command_rule *r, struct str text)
{
	cleanup_buf struct buf want = BUF(2 * MAX_COMMAND_TEXT);
	const char *at = text.s, *end = text.s + text.n;

	if (r->has_operators || r->n_words < 2 || str_find(r->text, '*') < r->text.n)
		return false;
	for (size_t i = 0; i < r->n_words; i++) {
		buf_puts(&want, i ? "\n" : "");
		buf_str(&want, r->words[i]);
	}
	for (; (at = memmem(at, (size_t)(end - at), buf_text(&want), want.n)); at++)
		if (at == text.s || at[-1] == '\n')
			return true;
	return false;
}

int command_text_find(const struct command_rule *rules, size_t n, struct str text,
		      const struct command_rule **ret, struct cordon_err *err)
{
	cleanup_arena struct arena a = ARENA(MAX_ARENA_BYTES);
	struct text whole = { .text = text };
	struct search s = { .rules = rules, .best = n, .arena = &a, .last = &whole.next };

	*ret = NULL;
	if (!n || !text.n || text.n > MAX_COMMAND_TEXT)
		return 0;
	for (size_t i = 0; i < s.best; i++)
		if (command_rule_in_text(&rules[i], text) || is_on_lines(&rules[i], text))
			s.best = i;
	for (const struct text *t = &whole; t; t = t->next)
		read_text(&s, t);
	if (s.no_memory)
		return err_nomem(err);
	*ret = s.best < n ? &rules[s.best] : NULL;
	return 0;
}
