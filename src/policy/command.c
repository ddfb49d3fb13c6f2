/* Blocked commands as patterns, and argument vectors against them; see
 * command.h.  Shell text is judged in judge.c. */
#include "policy/command.h"

#include "base/program.h"
#include "policy/command_args.h"
#include "policy/shell/command_priv.h"
#include "policy/shell/expand.h"
#include "policy/shell/shell.h"
#include "policy/shell/wrapper.h"

struct str command_base_name(struct str word)
{
	size_t from = 0;

	for (size_t i = 0; i < word.n; i++) {
		if (word.s[i] == '/')
			from = i + 1;
		/* Any text may hold a slash: the name starts somewhere inside it. */
		if (word.s[i] == '\0' && i + 1 < word.n &&
		    (word.s[++i] == HOLE_ANY || word.s[i] == HOLE_MANY))
			from = i - 1;
	}
	return str_from_pos(word, from);
}

/* Patterns */

static bool has_operators(struct str text)
{
	for (size_t i = 0; i < text.n; i++)
		if (strchr("|&;<>()$`{}\"'\\", text.s[i]))
			return true;
	return false;
}

/* No program is called NAME=value without a folder before it: a shell takes that for itself. */
static bool is_assignment(struct str word)
{
	size_t equals = str_find(word, '=');

	return equals < word.n && shell_is_name(str_first(word, equals));
}

/* Of git and of others, what the first word asks for is a program of its own as well. */
static int join_words(struct command_rule *r, struct arena *a)
{
	struct str program = command_base_name(r->words[0]), part;
	char *text;

	if (r->n_words < 2 || r->has_operators)
		return 0;
	part = r->words[1];
	if (part.s[0] == '-' || part.s[0] == '*' || str_find(part, '/') < part.n)
		return 0;
	text = arena_printf(a, "%.*s-%.*s", STR_FMT(program), STR_FMT(part));
	if (!text)
		return -1;
	r->joined = str_from(text);
	return 0;
}

static int refuse(char why[COMMAND_WHY], const char *text)
{
	snprintf(why, COMMAND_WHY, "%s", text);
	return -1;
}

int command_rule_parse(struct str text, struct arena *a, struct command_rule *ret,
		       char why[COMMAND_WHY])
{
	struct command_rule r = { .text = text };
	size_t i = 0, cap = 0;

	if (text.n && memchr(text.s, '\0', text.n))
		return refuse(why, "the pattern holds a NUL byte");
	while (i < text.n) {
		size_t space = shell_space(str_from_pos(text, i)), from = i;
		struct str *words;

		if (space) {
			i += space;
			continue;
		}
		while (i < text.n && !shell_space(str_from_pos(text, i)))
			i++;
		if (i - from > MAX_COMMAND_WORD)
			return refuse(why, "a word of the pattern is too long");
		words = arena_grow(a, r.words, r.n_words, &cap, sizeof(*words));
		if (!words)
			return refuse(why, "out of memory");
		r.words = words;
		words[r.n_words++] = (struct str){ text.s + from, i - from };
	}
	if (!r.n_words)
		return refuse(why, "a blank pattern would block everything: name a program");
	r.has_operators = has_operators(text);
	if (!r.has_operators && !command_base_name(r.words[0]).n)
		return refuse(why, "the pattern names a directory: name a program");
	if (!r.has_operators && is_assignment(r.words[0]))
		return refuse(why, "the pattern begins with a variable and would block nothing: "
			      "begin with the program");
	if (join_words(&r, a) < 0)
		return refuse(why, "out of memory");
	*ret = r;
	return 0;
}

/* Names */

/* Other names under which distributions install the same program. */
static const char *const families[] = { "mkfs", "fsck", NULL };

static bool is_variant(struct str name, struct str want)
{
	static const char *const suffixes[] = { "openbsd", "traditional", "exe", NULL };
	struct str rest;

	if (name.n <= want.n + 1 || memcmp(name.s, want.s, want.n) != 0 || name.s[want.n] != '.')
		return false;
	rest = str_from_pos(name, want.n + 1);
	return str_is_one_of(rest, suffixes) || str_is_one_of(want, families);
}

static enum command_match check_name(struct str want, struct str word)
{
	struct str name = command_base_name(word), sure;
	char out[2 * MAX_COMMAND_WORD + 8];

	if (hole_free(name))
		return hole_may_be(name, want, false) || is_variant(name, want) ?
		       COMMAND_MATCHES : COMMAND_DIFFERS;
	if (hole_is_only_env(name))
		return COMMAND_DIFFERS;
	if (!hole_find(name, HOLE_ANY) && !hole_find(name, HOLE_MANY)) {
		sure = hole_without_env(name, out, sizeof(out));
		if (hole_may_be(sure, want, false))
			return COMMAND_MATCHES;
	}
	return hole_may_be(name, want, false) ? COMMAND_MAY_MATCH : COMMAND_DIFFERS;
}

static enum command_match check_as(const struct command_rule *r, struct str word,
				   const struct command_vector *c)
{
	enum command_match m = check_name(command_base_name(r->words[0]), word), joined;

	if (m == COMMAND_MATCHES && !command_arguments_match(r, 1, c))
		m = COMMAND_DIFFERS;
	if (m == COMMAND_MATCHES || !r->joined.n)
		return m;
	joined = check_name(r->joined, word);
	if (joined == COMMAND_MATCHES && !command_arguments_match(r, 2, c))
		joined = COMMAND_DIFFERS;
	return MAX(m, joined);
}

enum command_match command_check(const struct command_rule *r, const struct str *argv, size_t n,
				 bool at_once)
{
	const struct command_vector c = { .argv = argv, .n = n, .at_once = at_once };

	return check_as(r, argv[0], &c);
}

/* The program that a multi-call one is told to be. */
static struct str applet_name(struct str word)
{
	static const char option[] = "--coreutils-prog=";

	return str_starts(word, option) ? str_from_pos(word, sizeof(option) - 1) : word;
}

bool command_rule_matches(const struct command_rule *r, const struct str *argv, size_t n,
			  struct command_place place)
{
	struct str word = n ? argv[0] : STR("");

	for (; n && !r->has_operators; word = n ? applet_name(argv[0]) : STR("")) {
		struct command_vector c = { argv, n, place, false };

		if (check_as(r, word, &c) == COMMAND_MATCHES)
			return true;
		/* One program under many names: it becomes the applet without another
		 * exec. */
		if (!program_is_multi_call(command_base_name(word)))
			break;
		argv++;
		n--;
	}
	return false;
}

void command_rule_message(const struct command_rule *r, char message[COMMAND_WHY])
{
	command_say(message, "contains '", r->text, "'", 200);
}

bool command_is_shell(struct str word)
{
	return wrapper_is_shell(command_base_name(word));
}

bool command_rule_is_plain(const struct command_rule *r)
{
	struct str name = command_base_name(r->words[0]);

	return r->n_words == 1 && !r->has_operators && str_find(name, '*') == name.n &&
	       !str_is_one_of(name, families);
}

struct str command_rule_program(const struct command_rule *r)
{
	struct str name = command_base_name(r->words[0]);

	return r->has_operators || str_find(name, '*') < name.n ? STR("") : name;
}
