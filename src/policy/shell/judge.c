/* Shell text against blocked commands: command_text_check() of command.h.
 *
 * Every simple command of the text is expanded (expand.h) and compared; what
 * programs such as sudo, xargs or `sh -c` run is a command of its own.
 *
 * What counts as hidden, and what does not:
 * - A program's name that the text computes and that could be a blocked one
 *   is hidden.  A variable that the text never assigns is not: its value is
 *   the caller's, and blocking it would block $CC, $PYTHON and "$@".  It may be
 *   unset, though, so the word after it is judged as a program, too.
 * - Arguments that the text computes match whatever they could be.
 *
 * GAP: a value that is put into the text of `sh -c` or `eval` is taken for
 * one word, not for commands; scripts in files and other languages are not
 * read.  The check at exec does not depend on any of this.
 */
#include "policy/command.h"

#include "base/buf.h"
#include "policy/shell/command_priv.h"
#include "policy/shell/judge_priv.h"
#include "policy/shell/wrapper.h"

#define MAX_ROUNDS	6	/* over the text, each with what the last one learned */
#define JOINED_WORDS	16u	/* that a pattern may span over several lines */
#define HIDDEN_SHOWN	48	/* bytes of a hidden word that a message quotes */

void judge_hide(struct judge *j, struct str source)
{
	/* Inside a text that was made from holes, quote what was written. */
	if (!j->sure_only && !j->hidden.s)
		j->hidden = memmem(source.s, source.n, "${!ANY}", 7) ? j->origin : source;
}

/* Those whose name, were it computed, would hide a command. */
static const char *const hiding[] = { "eval", "trap", "source", "alias", "find", "su", "runuser",
				      "script" };

/* Nothing but variables that the text does not set. */
static bool is_only_env(struct str word, bool *ret_bare)
{
	*ret_bare = true;
	for (size_t i = 0; i < word.n; i += 2) {
		if (word.s[i] != '\0' || (word.s[i + 1] != HOLE_ENV &&
					 word.s[i + 1] != HOLE_ENV_BARE))
			return false;
		*ret_bare &= word.s[i + 1] == HOLE_ENV_BARE;
	}
	return word.n;
}

/* The program's name is not plain text: could it be one that matters? */
static void judge_holes(struct judge *j, struct line line, struct str name)
{
	bool bare;

	if (!is_only_env(name, &bare)) {
		if (wrapper_may_be(name, hiding, ARRAY_SIZE(hiding)))
			judge_hide(j, line.argv.sources[0]);
		return;
	}
	/* $UNSET curl: the word is gone and the next one is the program. */
	if (bare && line.argv.n > 1 && line.argv.words[0].n == name.n)
		judge_line(j, judge_shift_line(line, 1));
}

static void judge_rules(struct judge *j, struct line line)
{
	struct argv v = line.argv;

	for (size_t i = 0; i < j->n_rules && i < j->best; i++) {
		const struct command_rule *r = &j->rules[i];
		enum command_match m;

		if (r->has_operators)
			continue;
		m = command_check(r, v.words, v.n, j->at_once);
		if (m == COMMAND_MAY_MATCH)
			judge_hide(j, v.sources[0]);
		else if (m == COMMAND_MATCHES)
			j->best = i;
	}
}

void judge_line(struct judge *j, struct line line)
{
	struct str name;

	if (!line.argv.n || !expand_work(&j->e, 16 * line.argv.n))
		return;
	if (j->depth >= MAX_COMMAND_DEPTH) {
		judge_hide(j, line.argv.sources[0]);
		return;
	}
	j->depth++;
	name = command_base_name(line.argv.words[0]);
	judge_rules(j, line);
	if (hole_free(name))
		judge_program(j, line, name);
	else
		judge_holes(j, line, name);
	j->depth--;
}

/* In the joined reading: is there a line end before word `i`? */
static bool starts_line(struct argv v, size_t i)
{
	const char *end = v.sources[i - 1].s + v.sources[i - 1].n;

	return v.sources[i].s > end && memchr(end, '\n', (size_t)(v.sources[i].s - end));
}

/* Each line may start a command that the next lines continue. */
static void judge_line_starts(struct judge *j, struct line line)
{
	for (size_t i = 1; i < line.argv.n; i++) {
		struct line rest = judge_shift_line(line, i);

		if (!starts_line(line.argv, i))
			continue;
		rest.argv.n = MIN(rest.argv.n, JOINED_WORDS);
		if (!expand_work(&j->e, 16 * rest.argv.n))
			return;
		judge_rules(j, rest);
	}
}

/* The word to blame for what a command's inner text hides: a computed one. */
static struct str blamed_word(const struct shell_command *cmd)
{
	for (size_t i = 0; i < cmd->n_words; i++)
		for (size_t k = 0; k < cmd->words[i].n_parts; k++)
			if (cmd->words[i].parts[k].kind != SHELL_TEXT)
				return cmd->words[i].source;
	return cmd->n_words ? cmd->words[0].source : STR("");
}

static void judge_script(struct judge *j, const struct shell_script *script, bool is_fed)
{
	struct str outer_scope = j->e.scope;

	for (size_t i = 0; i < script->n_functions; i++) {
		bool is_new;

		if (!map_add(&j->functions, j->e.a, script->functions[i], 0, &is_new))
			j->e.no_memory = true;
	}
	for (size_t i = 0; i < script->n_commands && j->best; i++) {
		const struct shell_command *cmd = &script->commands[i];
		bool sure_only = j->sure_only;
		struct argv *lines;
		size_t n;

		if (!expand_work(&j->e, 32))
			return;
		j->sure_only |= cmd->is_doubtful;
		if (!j->depth)
			j->origin = blamed_word(cmd);
		j->e.scope = cmd->function.n ? cmd->function : outer_scope;
		n = expand_command(&j->e, cmd, &lines);
		for (size_t k = 0; k < n; k++)
			judge_line(j, (struct line){ script, cmd, is_fed, lines[k] });
		for (size_t k = 0; k < n && j->at_once && !j->depth; k++)
			judge_line_starts(j, (struct line){ script, cmd, is_fed, lines[k] });
		j->sure_only = sure_only;
		j->e.scope = outer_scope;
	}
}

/* NULL when it cannot be read, which is noted unless in a second reading. */
static struct shell_script *read_text(struct judge *j, struct str text,
				      enum shell_reading reading)
{
	struct shell_script *script = expand_new(&j->e, 1, sizeof(*script));
	struct cordon_err err;

	if (!script || !expand_work(&j->e, text.n))
		return NULL;
	if (shell_parse(text, reading, j->e.a, script, &err) < 0) {
		j->e.no_memory |= err.code == CORDON_E_NOMEM;
		j->unreadable |= !j->sure_only;
		return NULL;
	}
	return expand_work(&j->e, 24 * script->n_nodes) ? script : NULL;
}

void judge_text(struct judge *j, struct str text, bool is_fed)
{
	struct shell_script *script;

	if (j->depth >= MAX_COMMAND_DEPTH) {
		judge_hide(j, text);
		return;
	}
	script = read_text(j, text, SHELL_AS_WRITTEN);
	if (!script)
		return;
	j->depth++;
	expand_learn(&j->e, script);
	judge_script(j, script, is_fed);
	j->depth--;
}

/* Patterns with operators */

/* Every run of white space as one blank, none at the ends. */
static void collapse(struct str text, struct buf *out)
{
	for (size_t i = 0; i < text.n;) {
		size_t space = shell_space(str_from_pos(text, i));

		if (!space) {
			buf_putc(out, text.s[i++]);
			continue;
		}
		for (; i < text.n && space; i += space, space = i < text.n ?
		     shell_space(str_from_pos(text, i)) : 0)
			;
		if (out->n && i < text.n)
			buf_putc(out, ' ');
	}
}

/* Is the pattern in the collapsed text?  -1 without memory. */
static int has_pattern(const struct command_rule *r, const struct buf *flat)
{
	cleanup_buf struct buf want = BUF(2 * MAX_COMMAND_TEXT);

	if (!r->has_operators)
		return 0;
	collapse(r->text, &want);
	if (!buf_ok(&want) || !buf_ok(flat))
		return -1;
	return memmem(buf_text(flat), flat->n, buf_text(&want), want.n) != NULL;
}

static int check_operators(struct judge *j, struct str text)
{
	cleanup_buf struct buf flat = BUF(2 * MAX_COMMAND_TEXT);

	collapse(text, &flat);
	for (size_t i = 0; i < j->n_rules && i < j->best; i++) {
		int has = has_pattern(&j->rules[i], &flat);

		if (has < 0)
			return -1;
		if (has)
			j->best = i;
	}
	return 0;
}

bool command_rule_in_text(const struct command_rule *r, struct str text)
{
	cleanup_buf struct buf flat = BUF(2 * MAX_COMMAND_TEXT);

	if (!r->has_operators)
		return false;
	collapse(text, &flat);
	/* What cannot be looked through counts as blocked. */
	return has_pattern(r, &flat) != 0;
}

/* A newline is white space to the list, although it ends a command for the
 * shell: "rm\n-rf\n/".  Only what stands together counts in this reading, or
 * a script's next lines would be arguments of each `rm`. */
static void judge_joined(struct judge *j, struct str text)
{
	struct shell_script *script;
	bool has_space = false;

	for (size_t i = 0; i < text.n && !has_space; i++)
		has_space = text.s[i] != ' ' && text.s[i] != '\t' &&
			    shell_space(str_from_pos(text, i));
	if (!has_space || j->e.exhausted)
		return;
	/* No shell reads it so: what is too long for it is no reason to block. */
	j->e.work = 0;
	j->sure_only = j->at_once = true;
	script = read_text(j, text, SHELL_JOINED);
	if (script)
		judge_script(j, script, false);
	j->e.exhausted = false;
}

void command_say(char message[COMMAND_WHY], const char *before, struct str what, const char *after,
		 size_t max)
{
	size_t n = MIN(what.n, max);

	while (n && n < what.n && ((unsigned char)what.s[n] & 0xc0) == 0x80)
		n--;
	snprintf(message, COMMAND_WHY, "Command blocked by sandbox policy: %s%.*s%s%s", before,
		 (int)n, what.s ? what.s : "", n < what.n ? "…" : "", after);
	for (char *c = message; *c; c++)
		if ((unsigned char)*c < ' ')
			*c = ' ';
}

/* Parse once, judge until a round learns nothing that the next could use. */
static void judge_rounds(struct judge *j, struct str text)
{
	struct shell_script *script = read_text(j, text, SHELL_AS_WRITTEN);

	if (!script)
		return;
	expand_learn(&j->e, script);
	for (unsigned i = 0; i < MAX_ROUNDS; i++) {
		j->e.round++;
		j->e.learned = false;
		/* Arguments that grow with every round (f() { f x "$@"; }) are anything. */
		j->e.calls_anything |= i + 2 == MAX_ROUNDS;
		judge_script(j, script, false);
		if (!j->e.learned || !j->best)
			return;
	}
	j->e.exhausted = true;
}

int command_text_check(const struct command_rule *rules, size_t n, struct str text,
		       struct command_verdict *ret, struct cordon_err *err)
{
	cleanup_arena struct arena a = ARENA(MAX_ARENA_BYTES);
	struct judge j = { .rules = rules, .n_rules = n, .best = SIZE_MAX, .e.a = &a };
	struct command_verdict v = { .blocked = true };

	if (!n) {
		*ret = (struct command_verdict){ 0 };
		return 0;
	}
	if (text.n <= MAX_COMMAND_TEXT && check_operators(&j, text) < 0)
		return err_nomem(err);
	judge_rounds(&j, text);
	if (!j.unreadable && j.best)
		judge_joined(&j, text);
	/* A full arena is the text's doing, an empty machine is not. */
	j.e.exhausted |= a.used > a.max / 2;
	if (j.e.no_memory && !j.e.exhausted)
		return err_nomem(err);
	if (j.best < n) {
		v.rule = &rules[j.best];
		command_rule_message(v.rule, v.message);
	} else if (j.unreadable || j.e.exhausted) {
		command_say(v.message, "the text cannot be read as shell commands", STR(""), "", 0);
	} else if (j.hidden.s) {
		command_say(v.message, "the text hides which program it runs ('", j.hidden, "')",
			    HIDDEN_SHOWN);
	} else {
		v.blocked = false;
	}
	*ret = v;
	return 0;
}
