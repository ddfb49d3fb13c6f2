/* Programs whose arguments or input are commands: shells, eval, xargs, find…;
 * see judge_priv.h. */
#include "policy/shell/judge_priv.h"

#include <ctype.h>

#include "base/buf.h"
#include "policy/shell/output.h"
#include "policy/shell/wrapper.h"

struct line judge_shift_line(struct line line, size_t by)
{
	line.argv.words += by;
	line.argv.sources += by;
	line.argv.n -= by;
	return line;
}

/* Behind "$", "${" or "${NAME" a hole is (part of) a variable's name. */
static void put_hole(struct buf *out, bool is_any)
{
	size_t n = out->n;

	while (n && (isalnum((unsigned char)out->data[n - 1]) || out->data[n - 1] == '_'))
		n--;
	if (n >= 2 && out->data[n - 1] == '{' && out->data[n - 2] == '$')
		buf_puts(out, n == out->n ? "!ANY" : "ANY");
	else if (out->n && out->data[out->n - 1] == '$')
		buf_puts(out, "{!ANY}");
	else
		buf_puts(out, is_any ? "${!ANY}" : "${ENV_VALUE}");
}

/* A pattern as shell text: holes become variables that are such holes again. */
static struct str pattern_text(struct judge *j, struct str word)
{
	cleanup_buf struct buf out = BUF(4 * MAX_COMMAND_TEXT);

	if (hole_free(word))
		return word;
	for (size_t i = 0; i < word.n; i++) {
		if (word.s[i] != '\0' || i + 1 == word.n)
			buf_putc(&out, word.s[i]);
		else if (word.s[++i] == HOLE_ANY || word.s[i] == HOLE_MANY)
			put_hole(&out, true);
		else if (word.s[i] == HOLE_ENV || word.s[i] == HOLE_ENV_BARE)
			put_hole(&out, false);
		else
			buf_putc(&out, word.s[i]);
	}
	return expand_keep(&j->e, &out);
}

/* Words from `from` on, joined by blanks as eval does. */
static struct str joined_text(struct judge *j, struct argv argv, size_t from)
{
	cleanup_buf struct buf out = BUF(4 * MAX_COMMAND_TEXT);

	if (from + 1 == argv.n)
		return pattern_text(j, argv.words[from]);
	for (size_t i = from; i < argv.n; i++) {
		struct str text = pattern_text(j, argv.words[i]);

		if (!expand_work(&j->e, text.n + 1))
			break;
		buf_str(&out, text);
		buf_putc(&out, ' ');
	}
	return expand_keep(&j->e, &out);
}

/* The text that a shell reads from its input. */
static void judge_input(struct judge *j, struct line line)
{
	struct ways ways;

	if (output_to_command(&j->e, line.script, line.cmd, &ways)) {
		for (size_t i = 0; i < ways.n; i++)
			judge_text(j, pattern_text(j, ways.items[i]), false);
	} else if (line.is_fed && !line.cmd->n_redirects) {
		judge_hide(j, line.argv.sources[0]);
	}
}

/* A script that is no file: <(…) or the input. */
static void judge_script_word(struct judge *j, struct line line, size_t i)
{
	static const char *const inputs[] = { "-", "/dev/stdin", "/dev/fd/0",
					      "/proc/self/fd/0" };
	struct ways ways;

	for (size_t k = 0; k < ARRAY_SIZE(inputs); k++) {
		if (str_is(line.argv.words[i], inputs[k])) {
			judge_input(j, line);
			return;
		}
	}
	/* The word is only known as text here; its substitution is found by it. */
	for (size_t w = 0; w < line.cmd->n_words; w++) {
		const struct shell_word *word = &line.cmd->words[w];

		if (word->n_parts != 1 || word->parts[0].kind != SHELL_PROCESS ||
		    word->source.s != line.argv.sources[i].s)
			continue;
		ways = output_of_part(&j->e, &word->parts[0]);
		for (size_t k = 0; k < ways.n; k++)
			judge_text(j, pattern_text(j, ways.items[k]), line.is_fed);
	}
}

/* How a shell was called. */
struct shell_call {
	bool has_text;		/* -c */
	bool reads_input;	/* -s */
	size_t operand;		/* the first word that is no option */
};

/* A word of a shell's options that is a hole: an option, a script or nothing.
 * False when it is to be taken for a script. */
static bool pass_hole(struct judge *j, struct argv v, size_t i)
{
	if (v.words[i].n != 2 || v.words[i].s[1] == HOLE_ENV)
		return false;
	if (v.words[i].s[1] != HOLE_ENV_BARE)
		judge_hide(j, v.sources[0]);
	return true;
}

static struct shell_call read_shell_call(struct judge *j, struct argv v)
{
	static const struct wrapper options = { "sh", "oO", " rcfile init-file ", 0, false };
	struct shell_call call = { .operand = 1 };

	for (size_t i = 1; i < v.n && v.words[i].n > 1; call.operand = i) {
		struct str word = v.words[i];

		if (word.s[0] == '\0' && pass_hole(j, v, i)) {
			i++;
		} else if (word.s[0] == '+') {
			i += word.s[1] == 'o' || word.s[1] == 'O' ? 2 : 1;
		} else if (word.s[0] != '-') {
			break;
		} else if (word.s[1] == '-') {
			i += wrapper_option(&options, v.words, v.n, i);
			if (word.n == 2) {
				call.operand = i;
				break;
			}
		} else {
			call.has_text |= str_find(word, 'c') < word.n;
			call.reads_input |= str_find(word, 's') < word.n;
			i += wrapper_option(&options, v.words, v.n, i);
		}
	}
	call.operand = MIN(call.operand, v.n);
	return call;
}

/* sh [options] [-c text | file] [arguments] */
static void judge_shell(struct judge *j, struct line line)
{
	struct shell_call call = read_shell_call(j, line.argv);
	size_t at = call.operand;

	if (call.has_text && at < line.argv.n) {
		/* The word after the text is $0, the others are $@. */
		expand_learn_call(&j->e, STR(""), judge_shift_line(line, at + 1).argv);
		if (at + 2 < line.argv.n)
			expand_learn_call(&j->e, STR(""), judge_shift_line(line, at + 2).argv);
		judge_text(j, pattern_text(j, line.argv.words[at]),
			   line.is_fed || line.cmd->is_fed);
	} else if (at >= line.argv.n || call.reads_input) {
		judge_input(j, line);
	} else {
		judge_script_word(j, line, at);
	}
}

static void judge_eval(struct judge *j, struct line line)
{
	size_t from = line.argv.n > 1 && str_is(line.argv.words[1], "--") ? 2 : 1;

	if (from < line.argv.n)
		judge_text(j, joined_text(j, line.argv, from), line.is_fed);
}

static void judge_trap(struct judge *j, struct line line)
{
	size_t from = line.argv.n > 1 && str_is(line.argv.words[1], "--") ? 2 : 1;

	if (from + 1 < line.argv.n && !str_is(line.argv.words[from], "-"))
		judge_text(j, pattern_text(j, line.argv.words[from]), line.is_fed);
}

static void judge_source(struct judge *j, struct line line)
{
	if (line.argv.n > 1)
		judge_script_word(j, line, 1);
}

/* One name, one text: a name with two hides what it runs. */
static void learn_alias(struct judge *j, struct str name, struct str text)
{
	struct map_slot *slot;
	struct str *texts;
	bool is_new;

	texts = arena_grow(j->e.a, j->alias_texts, j->n_aliases, &j->cap_aliases, sizeof(*texts));
	slot = texts ? map_add(&j->aliases, j->e.a, name, j->n_aliases, &is_new) : NULL;
	if (!slot) {
		j->e.no_memory = true;
		return;
	}
	j->alias_texts = texts;
	if (is_new) {
		texts[j->n_aliases++] = text;
		j->e.learned = true;
	} else if (texts[slot->value].s && !str_eq(texts[slot->value], text)) {
		texts[slot->value].s = NULL;
		j->e.learned = true;
	}
}

/* alias name=text */
static void judge_alias(struct judge *j, struct line line)
{
	for (size_t i = 1; i < line.argv.n; i++) {
		struct str word = line.argv.words[i], text;
		size_t eq = str_find(word, '=');

		if (eq == word.n)
			continue;
		text = pattern_text(j, str_from_pos(word, eq + 1));
		learn_alias(j, str_first(word, eq), text);
		judge_text(j, text, line.is_fed);
	}
}

/* A name that may be an alias: its text and the words behind it.  A text that
 * starts with its own name (alias ls='ls -l') is not expanded again. */
static void judge_alias_use(struct judge *j, struct line line)
{
	struct map_slot *slot = map_find(&j->aliases, line.argv.words[0]);
	struct argv v = { 0 };
	struct str text;

	if (!slot)
		return;
	text = j->alias_texts[slot->value];
	if (!text.s) {
		judge_hide(j, line.argv.sources[0]);
		return;
	}
	if (text.n >= slot->key.n && str_eq(str_first(text, slot->key.n), slot->key) &&
	    (text.n == slot->key.n || text.s[slot->key.n] == ' '))
		return;
	v.words = expand_new(&j->e, line.argv.n, sizeof(struct str));
	if (!v.words)
		return;
	memcpy(v.words, line.argv.words, line.argv.n * sizeof(struct str));
	v.words[0] = text;
	v.n = line.argv.n;
	judge_text(j, joined_text(j, v, 0), line.is_fed);
}

static void judge_set(struct judge *j, struct line line)
{
	size_t i = 1;

	while (i < line.argv.n && line.argv.words[i].n &&
	       strchr("-+", line.argv.words[i].s[0]) && !str_is(line.argv.words[i], "--"))
		i++;
	if (i < line.argv.n && str_is(line.argv.words[i], "--"))
		i++;
	if (i < line.argv.n)
		expand_learn_call(&j->e, STR(""), judge_shift_line(line, i).argv);
}

static void judge_shift(struct judge *j, struct line line)
{
	(void)line;
	j->e.learned |= !j->e.shifts;
	j->e.shifts = true;
}

/* export and its like: what the reader did not see as an assignment. */
static void judge_declare(struct judge *j, struct line line)
{
	for (size_t i = 1; i < line.argv.n; i++) {
		struct str word = line.argv.words[i];
		size_t eq = str_find(word, '=');
		struct str value;

		if (eq == word.n || !shell_is_name(str_first(word, eq)))
			continue;
		value = str_from_pos(word, eq + 1);
		expand_learn_value(&j->e, str_first(word, eq), &value);
	}
}

/* read, mapfile and their like: the names among the arguments get a value. */
static void judge_read(struct judge *j, struct line line)
{
	for (size_t i = 1; i < line.argv.n; i++)
		if (shell_is_name(line.argv.words[i]))
			expand_learn_value(&j->e, line.argv.words[i], NULL);
	expand_learn_value(&j->e, STR("REPLY"), NULL);
}

static void judge_printf(struct judge *j, struct line line)
{
	if (line.argv.n > 2 && str_is(line.argv.words[1], "-v"))
		expand_learn_value(&j->e, line.argv.words[2], NULL);
}

/* A word with every `mark` in it replaced. */
static struct str fill_mark(struct judge *j, struct str word, struct str mark, struct str fill)
{
	cleanup_buf struct buf out = BUF(4 * MAX_COMMAND_TEXT);
	size_t i = 0;

	if (!mark.n || !memmem(word.s, word.n, mark.s, mark.n))
		return word;
	while (i < word.n) {
		if (word.n - i >= mark.n && memcmp(word.s + i, mark.s, mark.n) == 0) {
			buf_str(&out, fill);
			i += mark.n;
		} else {
			buf_putc(&out, word.s[i++]);
		}
	}
	return expand_keep(&j->e, &out);
}

/* The words [from, to) as a command, marks filled. */
static void judge_filled(struct judge *j, struct line line, size_t from, size_t to,
			 struct str mark, struct str fill)
{
	size_t n = to - from;
	struct argv v = { expand_new(&j->e, n + 1, sizeof(struct str)),
			  expand_new(&j->e, n + 1, sizeof(struct str)), n };

	if (!v.words || !v.sources)
		return;
	for (size_t i = 0; i < n; i++) {
		v.words[i] = fill_mark(j, line.argv.words[from + i], mark, fill);
		v.sources[i] = line.argv.sources[from + i];
	}
	line.argv = v;
	judge_line(j, line);
}

/* find places… -exec command {} ; */
static void judge_find(struct judge *j, struct line line)
{
	static const char *const actions[] = { "-exec", "-execdir", "-ok", "-okdir" };
	struct argv v = line.argv;
	struct str fill = { ".\0S", 3 };
	size_t n_places = 0;

	for (size_t i = 1; i < v.n && v.words[i].n && !strchr("-(!", v.words[i].s[0]); i++) {
		cleanup_buf struct buf out = BUF(4 * MAX_COMMAND_TEXT);

		buf_str(&out, v.words[i]);
		buf_add(&out, "\0S", 2);
		/* More than one place: the names may start with any of them. */
		fill = ++n_places == 1 ? expand_keep(&j->e, &out) : (struct str){ "\0S", 2 };
	}
	for (size_t i = 1; i < v.n; i++) {
		size_t end = i + 1;
		bool is_action = false;

		for (size_t k = 0; k < ARRAY_SIZE(actions); k++)
			is_action |= str_is(v.words[i], actions[k]);
		if (!is_action)
			continue;
		while (end < v.n && !str_is(v.words[end], ";") &&
		       !(str_is(v.words[end], "+") && str_is(v.words[end - 1], "{}")))
			end++;
		if (end > i + 1)
			judge_filled(j, line, i + 1, end, STR("{}"), fill);
		i = end;
	}
}

/* The words from `at` on with those of `input` behind them. */
static void judge_appended(struct judge *j, struct line line, size_t at, struct str input)
{
	struct argv v = { 0 };
	size_t n = line.argv.n - at, max = n + input.n / 2 + 2;

	v.words = expand_new(&j->e, max, sizeof(struct str));
	v.sources = expand_new(&j->e, max, sizeof(struct str));
	if (!v.words || !v.sources)
		return;
	for (; v.n < n; v.n++) {
		v.words[v.n] = line.argv.words[at + v.n];
		v.sources[v.n] = line.argv.sources[at + v.n];
	}
	for (size_t i = 0; i < input.n;) {
		size_t from = i;

		while (i < input.n && !strchr(" \t\n", input.s[i] ? input.s[i] : 'x'))
			i++;
		if (i > from) {
			v.words[v.n] = (struct str){ input.s + from, i - from };
			v.sources[v.n++] = line.argv.sources[0];
		}
		i++;
	}
	line.argv = v;
	judge_line(j, line);
}

/* xargs -I MARK: the word that a line of input takes the place of. */
static struct str xargs_mark(const struct wrapper *w, struct argv v, size_t at)
{
	struct str mark = { "", 0 };

	for (size_t i = 1; i < at; i += MAX(1u, wrapper_option(w, v.words, v.n, i))) {
		struct str word = v.words[i];

		if (str_starts(word, "-I") && word.n > 2)
			mark = str_from_pos(word, 2);
		else if (str_is(word, "-I") && i + 1 < at)
			mark = v.words[i + 1];
		else if (str_starts(word, "-i") || str_starts(word, "--replace"))
			mark = STR("{}");
	}
	return mark;
}

static void judge_xargs(struct judge *j, struct line line)
{
	static const struct str many = { "\0M", 2 };
	const struct wrapper *w = wrapper_find(STR("xargs"));
	size_t at = wrapper_program(w, line.argv.words, line.argv.n);
	struct str mark = xargs_mark(w, line.argv, at);
	struct ways ways = { 0 };

	if (at >= line.argv.n)
		return;
	if (!output_to_command(&j->e, line.script, line.cmd, &ways) || !ways.n) {
		ways.items = expand_new(&j->e, 1, sizeof(many));
		if (!ways.items)
			return;
		ways.items[0] = many;
		ways.n = 1;
	}
	for (size_t i = 0; i < ways.n; i++) {
		struct str input = str_trim(ways.items[i]);

		if (str_eq(input, (struct str){ "\0S", 2 }))
			input = many;
		if (mark.n)
			judge_filled(j, line, at, line.argv.n, mark, input);
		else
			judge_appended(j, line, at, input);
	}
}

/* parallel command ::: arguments; without a command the arguments are commands */
static void judge_parallel(struct judge *j, struct line line)
{
	struct argv v = line.argv;
	size_t at = wrapper_program(wrapper_find(STR("parallel")), v.words, v.n), end = at;

	while (end < v.n && !str_starts(v.words[end], ":::"))
		end++;
	if (end > at) {
		struct argv command = { v.words + at, v.sources + at, end - at };

		judge_text(j, joined_text(j, command, 0), line.is_fed);
		return;
	}
	for (size_t i = end + 1; i < v.n; i++)
		judge_text(j, pattern_text(j, v.words[i]), line.is_fed);
	if (end >= v.n)
		judge_input(j, line);
}

/* env -S 'command arguments' */
static void judge_env(struct judge *j, struct line line)
{
	const struct wrapper *w = wrapper_find(STR("env"));
	struct argv v = line.argv;
	size_t at = wrapper_program(w, v.words, v.n);

	for (size_t i = 1; i < at && i < v.n;) {
		size_t taken = MAX(1u, wrapper_option(w, v.words, v.n, i));
		struct str word = v.words[i];
		size_t s = str_find(word, 'S');

		if (str_starts(word, "--split-string="))
			judge_text(j, pattern_text(j, str_from_pos(word, 15)), line.is_fed);
		else if (str_is(word, "--split-string") && taken == 2)
			judge_text(j, joined_text(j, v, i + 1), line.is_fed);
		else if (word.n > 1 && word.s[0] == '-' && word.s[1] != '-' && s < word.n)
			judge_text(j, taken == 2 ? joined_text(j, v, i + 1) :
				   pattern_text(j, str_from_pos(word, s + 1)), line.is_fed);
		i += taken;
	}
	if (at < v.n)
		judge_line(j, judge_shift_line(line, at));
}

/* su, script, flock: the text after -c. */
static void judge_dash_c(struct judge *j, struct line line)
{
	struct argv v = line.argv;

	for (size_t i = 1; i < v.n; i++) {
		struct str word = v.words[i];

		if (str_starts(word, "--command="))
			judge_text(j, pattern_text(j, str_from_pos(word, 10)), line.is_fed);
		else if (i + 1 < v.n && (str_is(word, "--command") ||
					 (word.n > 1 && word.s[0] == '-' && word.s[1] != '-' &&
					  word.s[word.n - 1] == 'c')))
			judge_text(j, pattern_text(j, v.words[i + 1]), line.is_fed);
	}
}

static void judge_flock(struct judge *j, struct line line)
{
	size_t at = wrapper_program(wrapper_find(STR("flock")), line.argv.words, line.argv.n);

	judge_dash_c(j, line);
	if (at < line.argv.n)
		judge_line(j, judge_shift_line(line, at));
}

static void judge_watch(struct judge *j, struct line line)
{
	size_t at = wrapper_program(wrapper_find(STR("watch")), line.argv.words, line.argv.n);

	if (at < line.argv.n)
		judge_text(j, joined_text(j, line.argv, at), line.is_fed);
}

/* command -v NAME only asks. */
static void judge_command(struct judge *j, struct line line)
{
	size_t at = wrapper_program(wrapper_find(STR("command")), line.argv.words, line.argv.n);

	for (size_t i = 1; i < at && i < line.argv.n; i++)
		if (str_find(line.argv.words[i], 'v') < line.argv.words[i].n ||
		    str_find(line.argv.words[i], 'V') < line.argv.words[i].n)
			return;
	if (at < line.argv.n)
		judge_line(j, judge_shift_line(line, at));
}

static const struct special {
	const char *name;
	void (*judge)(struct judge *j, struct line line);
} specials[] = {
	{ "eval", judge_eval },		{ "trap", judge_trap },
	{ ".", judge_source },		{ "source", judge_source },
	{ "alias", judge_alias },	{ "set", judge_set },
	{ "shift", judge_shift },	{ "find", judge_find },
	{ "xargs", judge_xargs },	{ "parallel", judge_parallel },
	{ "env", judge_env },		{ "su", judge_dash_c },
	{ "runuser", judge_dash_c },	{ "script", judge_dash_c },
	{ "flock", judge_flock },	{ "watch", judge_watch },
	{ "command", judge_command },	{ "export", judge_declare },
	{ "declare", judge_declare },	{ "local", judge_declare },
	{ "typeset", judge_declare },	{ "readonly", judge_declare },
	{ "read", judge_read },		{ "mapfile", judge_read },
	{ "readarray", judge_read },	{ "getopts", judge_read },
	{ "printf", judge_printf },
};

void judge_program(struct judge *j, struct line line, struct str name)
{
	const struct wrapper *w;
	size_t at;

	for (size_t i = 0; i < ARRAY_SIZE(specials); i++) {
		if (str_is(name, specials[i].name)) {
			specials[i].judge(j, line);
			return;
		}
	}
	if (wrapper_is_shell(name)) {
		judge_shell(j, line);
		return;
	}
	w = wrapper_find(name);
	if (w) {
		at = wrapper_program(w, line.argv.words, line.argv.n);
		if (at < line.argv.n)
			judge_line(j, judge_shift_line(line, at));
		return;
	}
	if (map_find(&j->functions, line.argv.words[0]) && line.argv.n > 1)
		expand_learn_call(&j->e, line.argv.words[0], judge_shift_line(line, 1).argv);
	judge_alias_use(j, line);
}
