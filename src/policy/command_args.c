/* Options and operands of a command; see command_args.h. */
#include "policy/command_args.h"

#include <limits.h>

#include "policy/shell/command_priv.h"
#include "policy/shell/hole.h"

/* Long options that are one letter, by program, or by program and its first operand. */
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
	{ "git-commit", "no-verify", 'n' }, { "git-commit", "all", 'a' },
	{ "git-clean", "dry-run", 'n' }, { "git-push", "set-upstream", 'u' },
	{ "tar", "extract", 'x' },	{ "tar", "get", 'x' },
	{ "tar", "create", 'c' },	{ "tar", "file", 'f' },
	{ "tar", "directory", 'C' },	{ "tar", "absolute-names", 'P' },
	{ "curl", "output", 'o' },	{ "curl", "data", 'd' },
	{ "curl", "request", 'X' },	{ "curl", "upload-file", 'T' },
	{ "curl", "header", 'H' },	{ "curl", "form", 'F' },
	{ "curl", "insecure", 'k' },	{ "curl", "config", 'K' },
	{ "curl", "remote-name", 'O' },	{ "curl", "user", 'u' },
	{ "docker", "volume", 'v' },	{ "docker", "publish", 'p' },
	{ "docker", "interactive", 'i' }, { "docker", "tty", 't' },
	{ "docker", "env", 'e' },	{ "docker", "detach", 'd' },
	{ "iptables", "flush", 'F' },	{ "iptables", "append", 'A' },
	{ "iptables", "delete", 'D' },	{ "iptables", "insert", 'I' },
	{ "iptables", "policy", 'P' },	{ "ip6tables", "flush", 'F' },
	{ "npm", "global", 'g' },	{ "pip", "upgrade", 'U' },
	{ "node", "eval", 'e' },	{ "node", "print", 'p' },
	{ "sudo", "login", 'i' },	{ "sudo", "shell", 's' },
	{ "sudo", "user", 'u' },	{ "su", "command", 'c' },
	{ "truncate", "size", 's' },	{ "shred", "remove", 'u' },
	{ "sed", "in-place", 'i' },	{ "wget", "output-document", 'O' },
	{ "wget", "recursive", 'r' },
};

/* Letters that are the same option. */
static const struct {
	const char *program;
	char letter, same;
} synonyms[] = { { "rm", 'R', 'r' }, { "cp", 'R', 'r' } };

/* Letters whose value is the rest of the word, or the next one.  Of other programs any letter
 * may be an option. */
static const struct {
	const char *program;
	const char *letters;
} valued[] = {
	{ "git-commit", "mFcCtuS" },	{ "git-push", "o" },
	{ "git-clean", "e" },		{ "git-reset", "U" },
	{ "curl", "AbcCdDeEFHKmoPQrtTuUwxXyYz" }, { "wget", "aoiBtOTwQPUlARDIX" },
	{ "docker-run", "acehlmpuvw" },	{ "docker-exec", "euw" },
	{ "tar", "bCfFgHIKLNTVX" },	{ "sed", "efl" },
	{ "sudo", "ugphCTrtRUD" },	{ "su", "cgGsw" },
	{ "cp", "St" },			{ "mv", "St" },
	{ "ln", "St" },			{ "mkdir", "m" },
	{ "truncate", "rs" },		{ "shred", "ns" },
	{ "pip-install", "ctierbfC" },	{ "node", "erC" },
	{ "python3", "cmWX" },		{ "python", "cmWX" },
	{ "iptables", "tADIRLSFZNXPEpsdjgiomcCw" },
};

/* Programs that take a long option cut off, as getopt_long does. */
static const char *const abbreviated[] = { "git", "rm", "rmdir", "cp", "mv", "ln", "mkdir", "touch",
	"chmod", "chown", "chgrp", "truncate", "shred", "tar", "sed", "grep", "wget", "curl", "pip",
	"pip3", "iptables", "ip6tables", "sudo", "su", "make", "env", "timeout", "xargs", "install",
	"useradd", "userdel", "usermod", "mount", "umount", "wipefs", "systemctl", "gpg",
	NULL };

/* Programs whose options are words after a single dash. */
static const char *const worded[] = { "find", "java", "openssl", "go", "terraform", "ffmpeg",
				      "ip", "tc", "kill", "pkill", NULL };
/* Those whose first word is letters, with a dash or without. */
static const char *const dashless[] = { "tar", "ar", NULL };

/* What is compared: the words of a rule with those of a command. */
struct comparison {
	const struct command_rule *rule;
	const struct command_vector *v;
	struct str program;
	bool letters[UCHAR_MAX + 1];	/* options that are given, by letter */
	bool any;			/* a word that may be any option */
};

/* ---- options ------------------------------------------------------------------ */

static char fold(const struct comparison *c, char letter)
{
	for (size_t i = 0; i < ARRAY_SIZE(synonyms); i++)
		if (letter == synonyms[i].letter && str_is(c->program, synonyms[i].program))
			return synonyms[i].same;
	return letter;
}

static bool is_about(const struct comparison *c, const char *program)
{
	return str_is(c->program, program) || str_is(c->rule->joined, program);
}

/* The letter of a long option by its whole name ("--" is gone). */
static char whole_letter(const struct comparison *c, struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(spellings); i++)
		if (is_about(c, spellings[i].program) && str_is(name, spellings[i].name))
			return spellings[i].letter;
	return 0;
}

/* Does it begin so?  Not where it is the name of another option. */
static bool is_cut_off(const struct comparison *c, struct str given, struct str name)
{
	return given.n && given.n < name.n && memcmp(given.s, name.s, given.n) == 0 &&
	       str_is_one_of(c->program, abbreviated) && !whole_letter(c, given);
}

/* Without dashes and values. */
static bool is_same_option(const struct comparison *c, struct str given, struct str name)
{
	return str_eq(given, name) || is_cut_off(c, given, name);
}

/* The letter of a long option, perhaps cut off. */
static char long_letter(const struct comparison *c, struct str name)
{
	char letter;

	name.n = str_find(name, '=');
	letter = whole_letter(c, name);
	for (size_t i = 0; !letter && i < ARRAY_SIZE(spellings); i++)
		if (is_about(c, spellings[i].program) &&
		    is_cut_off(c, name, str_from(spellings[i].name)))
			letter = spellings[i].letter;
	return letter;
}

static bool is_option(struct str word)
{
	return word.n > 1 && word.s[0] == '-' && !str_is(word, "--");
}

static bool is_long(struct str word)
{
	return str_starts(word, "--");
}

/* Of what a value may be, options count only where several words may come
 * from: `rm -f "$tmp"` is no `rm -rf /`, `rm $(cat list)` may be. */
static bool may_be_options(struct str word)
{
	return word.n == 2 && word.s[0] == '\0' && word.s[1] == HOLE_MANY;
}

/* Behind an option it may be the value of that: then options go on. */
static bool ends_options(const struct comparison *c, size_t i)
{
	const struct str *argv = c->v->argv;

	return str_is(argv[i], "--") && !str_is_one_of(c->program, worded) &&
	       (!is_option(argv[i - 1]) || str_find(argv[i - 1], '=') < argv[i - 1].n);
}

/* The options of the command, one after the other from *i = 1 on; false: no more. */
static bool next_option(const struct comparison *c, size_t *i, struct str *ret)
{
	for (; *i < c->v->n && !ends_options(c, *i); ++*i) {
		*ret = c->v->argv[*i];
		if (is_option(*ret) || may_be_options(*ret)) {
			++*i;
			return true;
		}
	}
	return false;
}

/* How many letters of this word are options: up to the one that takes the rest. */
static size_t count_letters(const struct comparison *c, struct str word)
{
	for (size_t i = 0; i < ARRAY_SIZE(valued); i++)
		for (size_t k = 0; is_about(c, valued[i].program) && k < word.n; k++)
			if (word.s[k] == '\0')
				k++;
			else if (strchr(valued[i].letters, word.s[k]))
				return k + 1;
	return word.n;
}

static void add_letters(struct comparison *c, struct str word)
{
	for (size_t k = 0; k < word.n; k++) {
		if (word.s[k] == '\0')
			k++;
		else
			c->letters[(unsigned char)fold(c, word.s[k])] = true;
	}
}

static void collect_options(struct comparison *c)
{
	struct str word;

	if (c->v->n > 1 && !str_starts(c->v->argv[1], "-") && str_is_one_of(c->program, dashless))
		add_letters(c, c->v->argv[1]);
	for (size_t i = 1; next_option(c, &i, &word);) {
		c->any |= hole_find(word, HOLE_ANY) || hole_find(word, HOLE_MANY);
		if (is_long(word))
			c->letters[(unsigned char)long_letter(c, str_from_pos(word, 2))] = true;
		else
			add_letters(c, str_first(str_from_pos(word, 1),
						 count_letters(c, str_from_pos(word, 1))));
	}
}

/* A long option of the rule, perhaps with a value; what follows has it if the word has none. */
static bool is_long_option(const struct comparison *c, struct str want, struct str word,
			   size_t next)
{
	size_t equals = str_find(word, '='), wants = str_find(want, '=');
	struct str value = STR("");

	if (!is_long(want) || !is_long(word) ||
	    !is_same_option(c, str_from_pos(str_first(word, equals), 2),
			    str_from_pos(str_first(want, wants), 2)))
		return false;
	if (wants == want.n)
		return true;
	if (equals < word.n)
		value = str_from_pos(word, equals + 1);
	else if (next < c->v->n)
		value = c->v->argv[next];
	return hole_may_be(value, str_from_pos(want, wants + 1), true);
}

static bool has_option_word(const struct comparison *c, struct str want)
{
	struct str word;

	for (size_t i = 1; next_option(c, &i, &word);)
		if (hole_may_be(word, want, true) || is_long_option(c, want, word, i))
			return true;
	return false;
}

static bool option_given(const struct comparison *c, struct str want)
{
	if (c->any || has_option_word(c, want))
		return true;
	if (is_long(want)) {
		char letter = long_letter(c, str_from_pos(want, 2));

		return letter && c->letters[(unsigned char)letter];
	}
	if (str_is_one_of(c->program, worded))
		return false;
	for (size_t k = 1; k < want.n; k++)
		if (!c->letters[(unsigned char)fold(c, want.s[k])])
			return false;
	return true;
}

/* ---- values that are one word with their option ----------------------------------- */

static bool is_operand(const struct comparison *c, struct str want, struct str word)
{
	return command_operand_matches(&c->v->place, want, word);
}

/* --directory=/, of the option --directory or -C. */
static bool long_has_value(const struct comparison *c, struct str word, struct str option,
			   char letter, struct str want)
{
	size_t equals = str_find(word, '=');
	struct str name = { word.s + 2, equals - 2 };

	if (equals == word.n)
		return false;
	if (is_long(option) ? !is_same_option(c, name, str_from_pos(option, 2)) :
			      !letter || long_letter(c, name) != letter)
		return false;
	return is_operand(c, want, str_from_pos(word, equals + 1));
}

/* -C/, or -xC/. */
static bool letter_has_value(const struct comparison *c, struct str word, char letter,
			     struct str want)
{
	size_t k = 1, n = 1 + count_letters(c, str_from_pos(word, 1));

	while (k < n && fold(c, word.s[k]) != letter)
		k++;
	return letter && k < n && k + 1 < word.n && is_operand(c, want, str_from_pos(word, k + 1));
}

/* Is it the value of this option of the rule? */
static bool has_value(const struct comparison *c, struct str option, struct str want)
{
	char letter = is_long(option) ? long_letter(c, str_from_pos(option, 2)) :
					fold(c, option.s[option.n - 1]);
	struct str word;

	for (size_t i = 1; next_option(c, &i, &word);)
		if (is_long(word) ? long_has_value(c, word, option, letter, want) :
				    letter_has_value(c, word, letter, want))
			return true;
	return false;
}

/* ---- operands ------------------------------------------------------------------- */

/* The operand after position i, or n. */
static size_t next_operand(const struct command_vector *v, size_t i, bool *ended)
{
	for (; i < v->n; i++) {
		if (!*ended && str_is(v->argv[i], "--"))
			*ended = true;
		else if (*ended || !is_option(v->argv[i]))
			break;
	}
	return i;
}

/* Where git looks for what it is to do; 0: that cannot be told, since an option before it is
 * not known, or a word. */
static size_t find_part_of_git(const struct command_vector *v)
{
	static const char *const takes_word[] = { "-C", "-c", "--git-dir", "--work-tree",
					      "--namespace", "--super-prefix", "--config-env",
					      "--attr-source", NULL };
	static const char *const alone[] = { "-p", "-P", "--paginate", "--no-pager",
					     "--no-replace-objects", "--no-lazy-fetch",
					     "--no-optional-locks", "--no-advice", "--bare",
					     "--literal-pathspecs", "--glob-pathspecs",
					     "--noglob-pathspecs", "--icase-pathspecs", NULL };
	size_t i = 1;

	for (; i < v->n && is_option(v->argv[i]); i++) {
		if (str_is_one_of(v->argv[i], takes_word))
			i++;
		else if (!str_is_one_of(v->argv[i], alone) &&
			 (!is_long(v->argv[i]) || str_find(v->argv[i], '=') == v->argv[i].n))
			return 0;
	}
	return i < v->n && !hole_free(v->argv[i]) ? 0 : i;
}

/* The operand of the command that the rule's is, from *at on; false: there is none. */
static bool find_operand(const struct comparison *c, struct str want, size_t *at, bool *ended)
{
	const struct command_vector *v = c->v;
	size_t i = *at;

	/* Any argument, and be it an option. */
	if (!str_is(want, "*") || v->at_once)
		i = next_operand(v, i, ended);
	while (!v->at_once && i < v->n && !is_operand(c, want, v->argv[i]))
		i = next_operand(v, i + 1, ended);
	if (i >= v->n || !is_operand(c, want, v->argv[i]))
		return false;
	/* What may be any words may be the next one, too. */
	*at = may_be_options(v->argv[i]) ? i : i + 1;
	return true;
}

/* What git is to do stands in one place; what comes behind it is another matter. */
static bool is_other_part(const struct comparison *c, size_t first)
{
	size_t at = 0;

	if (first == 1 && c->rule->joined.n && str_is(c->program, "git"))
		at = find_part_of_git(c->v);
	return at && (at >= c->v->n || !hole_may_be(c->v->argv[at], c->rule->words[1], false));
}

bool command_arguments_match(const struct command_rule *r, size_t first,
			     const struct command_vector *v)
{
	struct comparison c = { .rule = r, .v = v, .program = command_base_name(r->words[0]) };
	bool ended = false, argv_ended = false;
	struct str option = STR("");
	size_t at = 1;

	if (r->n_words == first)
		return true;
	if (is_other_part(&c, first))
		return false;
	collect_options(&c);
	for (size_t i = first; i < r->n_words; i++) {
		struct str want = r->words[i];

		if (!ended && str_is(want, "--")) {
			ended = true;
		} else if (!ended && is_option(want)) {
			if (!option_given(&c, want))
				return false;
			option = want;
			continue;
		} else if (!(option.n && has_value(&c, option, want)) &&
			   !find_operand(&c, want, &at, &argv_ended)) {
			return false;
		}
		option = STR("");
	}
	return true;
}
