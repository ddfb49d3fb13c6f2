/* Options and operands of a command against those of a rule; see command.h. */
#include "policy/command_priv.h"

#include <ctype.h>
#include <limits.h>

/* Long options that are one letter, of whatever program.  A program that says it otherwise is
 * refused for its own long option alone. */
static const struct {
	const char *name, *letters;
} spellings[] = {
	{ "recursive", "rR" }, { "force", "f" },    { "delete", "dD" },	 { "all", "a" },
	{ "no-verify", "n" },  { "insecure", "k" }, { "extract", "x" },	 { "directory", "C" },
	{ "output", "o" },     { "data", "d" },	    { "request", "X" },
};

/* Programs whose options are words behind a single dash, not letters. */
static const char *const worded[] = { "find", "java", "openssl", "go", "terraform", "ffmpeg",
				      NULL };
/* Programs to which -R is -r. */
static const char *const folded[] = { "rm", "cp", NULL };

struct comparison {
	struct str program;		/* the rule's */
	const struct str *argv;
	size_t n;
	struct command_place place;
	size_t end;			/* of the options: the `--` that ends them, or n */
	size_t dashes;			/* the first `--`, or n */
	bool is_worded;
	bool letters[UCHAR_MAX + 1];	/* options that are given */
};

/* ---- options ------------------------------------------------------------------ */

static bool is_option(struct str word)
{
	return word.n > 1 && word.s[0] == '-' && !str_is(word, "--");
}

static bool is_long(struct str word)
{
	return str_starts(word, "--") && word.n > 2;
}

/* --NAME=value */
static struct str long_name(struct str word)
{
	word = str_from_pos(word, 2);
	return str_first(word, str_find(word, '='));
}

static bool is_whole_name(struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(spellings); i++)
		if (str_is(name, spellings[i].name))
			return true;
	return false;
}

/* Programs take long options cut off, as getopt_long() does. */
static bool is_same_name(struct str given, struct str name)
{
	return str_eq(given, name) ||
	       (given.n && given.n < name.n && memcmp(given.s, name.s, given.n) == 0 &&
		!is_whole_name(given));
}

static bool is_letter_of(struct str name, char letter)
{
	for (size_t i = 0; i < ARRAY_SIZE(spellings); i++)
		if (is_same_name(name, str_from(spellings[i].name)) &&
		    strchr(spellings[i].letters, letter))
			return true;
	return false;
}

static unsigned char fold(const struct comparison *c, char letter)
{
	return letter == 'R' && str_is_one_of(c->program, folded) ? 'r' : (unsigned char)letter;
}

/* Up to where -abc is letters; --abc has none.  A value in the same word counts as letters, too,
 * as far as it is letters and digits. */
static size_t count_letters(struct str word)
{
	size_t n = 1;

	while (n < word.n && isalnum((unsigned char)word.s[n]))
		n++;
	return n;
}

/* Behind an option `--` may be its value: then options as well as operands follow. */
static void find_end(struct comparison *c)
{
	c->end = c->dashes = c->n;
	for (size_t i = c->n; --i > 0;) {
		if (!str_is(c->argv[i], "--"))
			continue;
		c->dashes = i;
		if (!c->is_worded && (i == 1 || !is_option(c->argv[i - 1]) ||
				      str_find(c->argv[i - 1], '=') < c->argv[i - 1].n))
			c->end = i;
	}
}

static void collect_letters(struct comparison *c)
{
	for (size_t i = 1; i < c->end; i++) {
		struct str word = c->argv[i];
		size_t n = count_letters(word);

		if (!is_option(word))
			continue;
		for (size_t k = 1; k < n; k++)
			c->letters[fold(c, word.s[k])] = true;
		for (size_t k = 0; is_long(word) && k < ARRAY_SIZE(spellings); k++)
			for (const char *l = spellings[k].letters; *l; l++)
				if (is_same_name(long_name(word), str_from(spellings[k].name)))
					c->letters[fold(c, *l)] = true;
	}
}

static bool has_letters(const struct comparison *c, struct str want)
{
	size_t n = 1;

	if (is_long(want)) {
		for (int l = 0; l <= CHAR_MAX; l++)
			if (c->letters[l] && is_letter_of(long_name(want), (char)l))
				return true;
		return false;
	}
	while (!c->is_worded && n < want.n && c->letters[fold(c, want.s[n])])
		n++;
	return n == want.n;
}

static bool has_option(const struct comparison *c, struct str want)
{
	for (size_t i = 1; i < c->end; i++)
		if (is_option(c->argv[i]) &&
		    (command_glob(want, c->argv[i], true) ||
		     (is_long(want) && is_long(c->argv[i]) &&
		      is_same_name(long_name(c->argv[i]), long_name(want)))))
			return true;
	return has_letters(c, want);
}

/* ---- operands ------------------------------------------------------------------- */

/* Does the option hold its value: --directory=/, -C/, -xC/?  Letters are no names in the
 * working directory. */
static bool holds_value(const struct comparison *c, struct str word, struct str want)
{
	static const struct command_place nowhere;
	size_t equals = str_find(word, '=');

	if (is_long(word))
		return equals < word.n &&
		       command_operand_matches(&c->place, want, str_from_pos(word, equals + 1));
	for (size_t from = 2; from < MIN(word.n, 5u); from++)
		if (command_operand_matches(&nowhere, want, str_from_pos(word, from)))
			return true;
	return false;
}

/* The next operand from *at on that begins as the rule's word, or an option whose value does;
 * false: there is none. */
static bool find_operand(const struct comparison *c, struct str want, size_t *at)
{
	for (size_t i = *at; i < c->n; i++) {
		bool is_operand = i > c->dashes || !is_option(c->argv[i]);

		/* Alone it is any argument, be it an option. */
		if (i == c->dashes && !str_is(want, "*"))
			continue;
		if (is_operand || str_is(want, "*") ?
		    !command_operand_matches(&c->place, want, c->argv[i]) :
		    !holds_value(c, c->argv[i], want))
			continue;
		*at = i + (is_operand || str_is(want, "*"));
		return true;
	}
	return false;
}

/* Of git's words the first that is neither an option nor its value says what it does: `git
 * stash push` is no `git push`. */
static bool is_part_of_git(const struct comparison *c, struct str part)
{
	static const char *const valued[] = { "-C", "-c", "--git-dir", "--work-tree", "--namespace",
					      "--super-prefix", "--config-env", "--attr-source",
					      "--shallow-file", NULL };
	size_t i = 1;

	while (i < c->n && is_option(c->argv[i]))
		i += str_is_one_of(c->argv[i], valued) ? 2 : 1;
	return i < c->n && command_glob(part, c->argv[i], false);
}

/* Is a word of the rule given?  Operands follow each other from *at on. */
static bool has_word(const struct comparison *c, struct str want, bool is_operand, size_t *at)
{
	size_t equals = str_find(want, '='), any = 1;

	if (is_operand)
		return find_operand(c, want, at);
	if (!is_long(want) || equals == want.n)
		return has_option(c, want);
	/* --NAME=value may be two words. */
	return has_option(c, str_first(want, equals)) &&
	       find_operand(c, str_from_pos(want, equals + 1), &any);
}

bool command_arguments_match(const struct command_rule *r, size_t first, const struct str *argv,
			     size_t n, struct command_place place)
{
	struct comparison c = { .program = command_base_name(r->words[0]), .argv = argv, .n = n,
				.place = place };
	bool ended = false;
	size_t at = 1;

	if (r->n_words == first)
		return true;
	if (first == 1 && r->joined.n && str_is(c.program, "git") &&
	    !is_part_of_git(&c, r->words[1]))
		return false;
	c.is_worded = str_is_one_of(c.program, worded);
	find_end(&c);
	collect_letters(&c);
	for (size_t i = first; i < r->n_words; i++) {
		struct str want = r->words[i];

		if (!ended && str_is(want, "--"))
			ended = true;
		else if (!has_word(&c, want, ended || !is_option(want), &at))
			return false;
	}
	return true;
}
