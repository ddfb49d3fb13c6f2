/* Blocked commands as patterns, and argument vectors against them; see
 * command.h.  Shell text is judged in judge.c. */
#include "policy/command.h"

#include <ctype.h>
#include <limits.h>

#include "base/program.h"
#include "policy/shell/command_priv.h"
#include "policy/shell/expand.h"
#include "policy/shell/shell.h"
#include "policy/shell/wrapper.h"

/* Long options that are one letter, by program.  Abbreviations count, as
 * getopt_long takes them. */
static const struct spelling {
	const char *program;
	const char *name;
	char letter;
} spellings[] = {
	{ "rm", "recursive", 'r' },	{ "rm", "force", 'f' },
	{ "rm", "dir", 'd' },		{ "rm", "verbose", 'v' },
	{ "chmod", "recursive", 'R' },	{ "chmod", "silent", 'f' },
	{ "chown", "recursive", 'R' },	{ "chown", "silent", 'f' },
	{ "chgrp", "recursive", 'R' },	{ "cp", "recursive", 'r' },
	{ "cp", "archive", 'a' },	{ "cp", "force", 'f' },
	{ "mv", "force", 'f' },		{ "ln", "force", 'f' },
	{ "ln", "symbolic", 's' },	{ "mkdir", "parents", 'p' },
	{ "git", "force", 'f' },	{ "git", "delete", 'd' },
	{ "tar", "extract", 'x' },	{ "tar", "create", 'c' },
	{ "tar", "file", 'f' },		{ "curl", "output", 'o' },
	{ "curl", "data", 'd' },	{ "curl", "request", 'X' },
	{ "curl", "upload-file", 'T' },	{ "docker", "volume", 'v' },
	{ "truncate", "size", 's' },	{ "shred", "remove", 'u' },
	{ "sed", "in-place", 'i' },	{ "wget", "output-document", 'O' },
};

/* Letters that are the same option. */
static const struct {
	const char *program;
	char letter, same;
} synonyms[] = { { "rm", 'R', 'r' }, { "cp", 'R', 'r' } };

/* Programs whose options are words after a single dash. */
static const char *const worded[] = { "find", "java", "openssl", "go", "terraform", "ffmpeg",
				      "ip", "tc", "kill", "pkill" };

static bool in_list(struct str s, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_is(s, names[i]))
			return true;
	return false;
}

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
static const char *const families[] = { "mkfs", "fsck" };

static bool is_variant(struct str name, struct str want)
{
	static const char *const suffixes[] = { "openbsd", "traditional", "exe" };
	struct str rest;

	if (name.n <= want.n + 1 || memcmp(name.s, want.s, want.n) != 0 || name.s[want.n] != '.')
		return false;
	rest = str_from_pos(name, want.n + 1);
	return in_list(rest, suffixes, ARRAY_SIZE(suffixes)) ||
	       in_list(want, families, ARRAY_SIZE(families));
}

/* The word without what the environment adds to it. */
static struct str without_env(struct str word, char *out, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < word.n && n + 2 < size; i++) {
		if (word.s[i] == '\0' && i + 1 < word.n) {
			i++;
			if (word.s[i] == HOLE_ENV || word.s[i] == HOLE_ENV_BARE)
				continue;
			out[n++] = '\0';
		}
		out[n++] = word.s[i];
	}
	return (struct str){ out, n };
}

static bool is_only_env(struct str word)
{
	char out[8];

	return word.n && word.n % 2 == 0 && !without_env(word, out, sizeof(out)).n;
}

static enum command_match check_name(struct str want, struct str word)
{
	struct str name = command_base_name(word), sure;
	char out[2 * MAX_COMMAND_WORD + 8];

	if (hole_free(name))
		return hole_may_be(name, want, false) || is_variant(name, want) ?
		       COMMAND_MATCHES : COMMAND_DIFFERS;
	if (is_only_env(name))
		return COMMAND_DIFFERS;
	if (!hole_find(name, HOLE_ANY) && !hole_find(name, HOLE_MANY)) {
		sure = without_env(name, out, sizeof(out));
		if (hole_may_be(sure, want, false))
			return COMMAND_MATCHES;
	}
	return hole_may_be(name, want, false) ? COMMAND_MAY_MATCH : COMMAND_DIFFERS;
}

/* Options */

struct options {
	bool letters[UCHAR_MAX + 1];
	bool any;		/* a word that may be any option */
};

static char fold(struct str program, char letter)
{
	for (size_t i = 0; i < ARRAY_SIZE(synonyms); i++)
		if (letter == synonyms[i].letter && str_is(program, synonyms[i].program))
			return synonyms[i].same;
	return letter;
}

/* The letter of a long option ("--" is gone), perhaps abbreviated. */
static char long_letter(struct str program, struct str name)
{
	name.n = str_find(name, '=');
	for (size_t i = 0; name.n && i < ARRAY_SIZE(spellings); i++)
		if (str_is(program, spellings[i].program) &&
		    name.n <= strlen(spellings[i].name) &&
		    memcmp(spellings[i].name, name.s, name.n) == 0)
			return spellings[i].letter;
	return 0;
}

static bool is_option(struct str word)
{
	return word.n > 1 && word.s[0] == '-' && !str_is(word, "--");
}

/* Of what a value may be, options count only where several words may come
 * from: `rm -f "$tmp"` is no `rm -rf /`, `rm $(cat list)` may be. */
static bool may_be_options(struct str word)
{
	return word.n == 2 && word.s[0] == '\0' && word.s[1] == HOLE_MANY;
}

static void collect_options(struct str program, const struct str *argv, size_t n,
			    struct options *ret)
{
	*ret = (struct options){ .any = false };
	for (size_t i = 1; i < n && !str_is(argv[i], "--"); i++) {
		struct str word = argv[i];

		ret->any |= may_be_options(word);
		if (!is_option(word))
			continue;
		ret->any |= hole_find(word, HOLE_ANY) || hole_find(word, HOLE_MANY);
		if (word.s[1] == '-') {
			char letter = long_letter(program, str_from_pos(word, 2));

			ret->letters[(unsigned char)letter] = true;
			continue;
		}
		for (size_t k = 1; k < word.n; k++) {
			if (word.s[k] == '\0')
				k++;
			else
				ret->letters[(unsigned char)fold(program, word.s[k])] = true;
		}
	}
}

static bool has_option_word(struct str want, const struct str *argv, size_t n)
{
	for (size_t i = 1; i < n && !str_is(argv[i], "--"); i++)
		if (is_option(argv[i]) && hole_may_be(argv[i], want, true))
			return true;
	return false;
}

static bool option_given(struct str program, struct str want, const struct options *given,
			 const struct str *argv, size_t n)
{
	if (given->any || has_option_word(want, argv, n))
		return true;
	if (str_starts(want, "--")) {
		char letter = long_letter(program, str_from_pos(want, 2));

		return letter && given->letters[(unsigned char)letter];
	}
	if (in_list(program, worded, ARRAY_SIZE(worded)))
		return false;
	for (size_t k = 1; k < want.n; k++)
		if (!given->letters[(unsigned char)fold(program, want.s[k])])
			return false;
	return true;
}

/* Operands */

struct vector {
	const struct str *argv;
	size_t n;
	struct str cwd;			/* empty: not known */
	bool at_once;
};

struct plain {
	char text[PATH_MAX];
	size_t n;
	bool is_absolute;
};

/* Where the last name begins. */
static size_t last_name(const struct plain *p)
{
	size_t at = p->n;

	while (at && p->text[at - 1] != '/')
		at--;
	return at;
}

/* `..` takes back the name before it, but not what a pattern's `*` may be more of. */
static bool take_back(struct plain *p)
{
	size_t at = last_name(p);
	struct str name = { p->text + at, p->n - at };

	if (!p->n)
		return p->is_absolute;
	if (str_is(name, "..") || str_find(name, '*') < name.n)
		return false;
	p->n = at ? at - 1 : 0;
	return true;
}

static void add_name(struct plain *p, struct str name)
{
	if (!name.n || str_is(name, ".") || (str_is(name, "..") && take_back(p)))
		return;
	if (p->n || p->is_absolute)
		p->text[p->n++] = '/';
	memcpy(p->text + p->n, name.s, name.n);
	p->n += name.n;
}

/* A path by its text, without `.`, `//` and names that `..` takes back; what a slash ends
 * still ends so.  What cannot be told is left as it is. */
static struct str plain_path(struct str base, struct str path, struct plain *out)
{
	struct str parts[] = { base, path };

	*out = (struct plain){ .is_absolute = str_starts(base.n ? base : path, "/") };
	if (base.n + path.n + 2 >= sizeof(out->text) || !hole_free(path))
		return path;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		for (struct str rest = parts[i]; rest.n;) {
			size_t n = str_find(rest, '/');

			add_name(out, str_first(rest, n));
			rest = str_from_pos(rest, MIN(n + 1, rest.n));
		}
	if (!out->n)
		out->text[out->n++] = out->is_absolute ? '/' : '.';
	else if (str_ends(path, "/"))
		out->text[out->n++] = '/';
	return (struct str){ out->text, out->n };
}

static bool is_upward(struct str path)
{
	return str_is(path, "..") || str_starts(path, "../");
}

/* Both without detours.  A pattern that begins with `*` is no more than was written: what is
 * elsewhere is not below it. */
static bool plain_matches(struct str want, struct str word)
{
	struct plain wanted, given;

	if (str_find(want, '/') == want.n && str_find(word, '/') == word.n)
		return false;
	want = plain_path(STR(""), want, &wanted);
	word = plain_path(STR(""), word, &given);
	if (str_starts(want, "/") != str_starts(word, "/") || is_upward(want) != is_upward(word))
		return false;
	return hole_may_be(word, want, !str_is(want, "."));
}

/* What a relative operand leads to from the folder it is used in.  Where that folder begins
 * with the pattern, all would that lies in it: then it is the very place that counts. */
static bool matches_from(struct str cwd, struct str want, struct str word)
{
	struct plain wanted, given;

	if (!str_starts(want, "/") || str_starts(word, "/") || !str_starts(cwd, "/"))
		return false;
	want = plain_path(STR(""), want, &wanted);
	word = plain_path(cwd, word, &given);
	if (!hole_may_be(cwd, want, true))
		return hole_may_be(word, want, true);
	while (word.n > 1 && str_ends(word, "/"))
		word.n--;
	return str_eq(word, want);
}

static bool operand_matches(const struct vector *c, struct str want, struct str word)
{
	/* What only the environment decides is not the text's doing. */
	if (is_only_env(word))
		return false;
	return hole_may_be(word, want, true) || plain_matches(want, word) ||
	       matches_from(c->cwd, want, word);
}

/* The operand after position *i, or n. */
static size_t next_operand(const struct vector *c, size_t i, bool *ended)
{
	for (; i < c->n; i++) {
		if (!*ended && str_is(c->argv[i], "--"))
			*ended = true;
		else if (*ended || !is_option(c->argv[i]))
			break;
	}
	return i;
}

/* The words of the rule from `first` on. */
static bool arguments_match(const struct command_rule *r, size_t first, const struct vector *c)
{
	struct str program = command_base_name(r->words[0]);
	bool ended = false, argv_ended = false;
	struct options given;
	size_t at = 1;

	if (r->n_words == first)
		return true;
	collect_options(program, c->argv, c->n, &given);
	for (size_t i = first; i < r->n_words; i++) {
		struct str want = r->words[i];

		if (!ended && str_is(want, "--")) {
			ended = true;
			continue;
		}
		if (!ended && is_option(want)) {
			if (!option_given(program, want, &given, c->argv, c->n))
				return false;
			continue;
		}
		at = next_operand(c, at, &argv_ended);
		while (!c->at_once && at < c->n && !operand_matches(c, want, c->argv[at]))
			at = next_operand(c, at + 1, &argv_ended);
		if (at >= c->n || !operand_matches(c, want, c->argv[at]))
			return false;
		/* What may be any words may be the next one, too. */
		if (!may_be_options(c->argv[at]))
			at++;
	}
	return true;
}

static enum command_match check_as(const struct command_rule *r, struct str word,
				   const struct vector *c)
{
	enum command_match m = check_name(command_base_name(r->words[0]), word), joined;

	if (m == COMMAND_MATCHES && !arguments_match(r, 1, c))
		m = COMMAND_DIFFERS;
	if (m == COMMAND_MATCHES || !r->joined.n)
		return m;
	joined = check_name(r->joined, word);
	if (joined == COMMAND_MATCHES && !arguments_match(r, 2, c))
		joined = COMMAND_DIFFERS;
	return MAX(m, joined);
}

enum command_match command_check(const struct command_rule *r, const struct str *argv, size_t n,
				 bool at_once)
{
	return check_as(r, argv[0], &(struct vector){ argv, n, STR(""), at_once });
}

/* The program that a multi-call one is told to be. */
static struct str applet_name(struct str word)
{
	static const char option[] = "--coreutils-prog=";

	return str_starts(word, option) ? str_from_pos(word, sizeof(option) - 1) : word;
}

bool command_rule_matches(const struct command_rule *r, const struct str *argv, size_t n,
			  struct str cwd)
{
	struct str word = n ? argv[0] : STR("");

	for (; n && !r->has_operators; word = n ? applet_name(argv[0]) : STR("")) {
		struct vector c = { argv, n, cwd, false };

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
	       !in_list(name, families, ARRAY_SIZE(families));
}

struct str command_rule_program(const struct command_rule *r)
{
	struct str name = command_base_name(r->words[0]);

	return r->has_operators || str_find(name, '*') < name.n ? STR("") : name;
}
