/* Blocked commands: rules, programs' names, and rules that are shell syntax; see command.h. */
#include "policy/command.h"

#include <ctype.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/program.h"
#include "policy/command_priv.h"

struct str command_base_name(struct str path)
{
	size_t from = path.n;

	while (from && path.s[from - 1] != '/')
		from--;
	return str_from_pos(path, from);
}

/* The text up to the first `*` of the pattern must stand here, and so on. */
bool command_glob(struct str pattern, struct str text, bool is_prefix)
{
	size_t n = str_find(pattern, '*');

	if (text.n < n || (n && memcmp(text.s, pattern.s, n) != 0))
		return false;
	while (n < pattern.n) {
		const char *at;

		text = str_from_pos(text, n);
		pattern = str_from_pos(pattern, n + 1);
		n = str_find(pattern, '*');
		/* Behind the last one is the end of the text. */
		if (n == pattern.n && !is_prefix)
			return n <= text.n &&
			       (!n || memcmp(text.s + text.n - n, pattern.s, n) == 0);
		at = n ? memmem(text.s, text.n, pattern.s, n) : text.s;
		if (!at)
			return n == 0;
		text = str_from_pos(text, (size_t)(at - text.s));
	}
	return is_prefix || text.n == n;
}

bool command_is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

bool command_is_assignment(struct str word)
{
	size_t n = 0;

	while (n < word.n && command_is_name_char(word.s[n]))
		n++;
	if (!n || isdigit((unsigned char)word.s[0]))
		return false;
	if (n < word.n && word.s[n] == '[')
		n += str_find(str_from_pos(word, n), ']') + 1;
	if (n < word.n && word.s[n] == '+')
		n++;
	return n < word.n && word.s[n] == '=';
}

/* ---- rules -------------------------------------------------------------------- */

static bool has_operators(struct str text)
{
	for (size_t i = 0; i < text.n; i++)
		if (strchr("|&;<>()$`{}\"'\\", text.s[i]))
			return true;
	return false;
}

/* What git and others are told to do first is a program of its own as well. */
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

/* The next word of a text, empty at its end; `text` becomes what is behind it. */
static struct str next_word(struct str *text)
{
	struct str word;
	size_t n = 0;

	*text = str_trim(*text);
	while (n < text->n && !isspace((unsigned char)text->s[n]))
		n++;
	word = str_first(*text, n);
	*text = str_from_pos(*text, n);
	return word;
}

static const char *check_rule(const struct command_rule *r)
{
	if (!r->n_words)
		return "a blank pattern would block everything: name a program";
	if (r->has_operators)
		return NULL;
	if (!command_base_name(r->words[0]).n)
		return "the pattern names a directory: name a program";
	if (command_is_assignment(r->words[0]))
		return "the pattern begins with a variable and would block nothing: "
		       "begin with the program";
	return NULL;
}

int command_rule_parse(struct str text, struct arena *a, struct command_rule *ret,
		       char why[COMMAND_WHY])
{
	struct command_rule r = { .text = text, .has_operators = has_operators(text) };
	struct str rest = text, word;
	const char *wrong = NULL;
	size_t cap = 0;

	if (text.n && memchr(text.s, '\0', text.n))
		wrong = "the pattern holds a NUL byte";
	while (!wrong && (word = next_word(&rest)).n) {
		struct str *words = arena_grow(a, r.words, r.n_words, &cap, sizeof(*words));

		if (!words)
			wrong = "out of memory";
		else if (word.n > MAX_COMMAND_WORD)
			wrong = "a word of the pattern is too long";
		else
			(r.words = words)[r.n_words++] = word;
	}
	if (!wrong)
		wrong = check_rule(&r);
	if (!wrong && join_words(&r, a) < 0)
		wrong = "out of memory";
	if (wrong) {
		snprintf(why, COMMAND_WHY, "%s", wrong);
		return -1;
	}
	*ret = r;
	return 0;
}

void command_rule_message(const struct command_rule *r, char message[COMMAND_WHY])
{
	size_t n = MIN(r->text.n, 200u);

	while (n && n < r->text.n && ((unsigned char)r->text.s[n] & 0xc0) == 0x80)
		n--;
	snprintf(message, COMMAND_WHY, "Command blocked by sandbox policy: contains '%.*s%s'",
		 (int)n, r->text.s, n < r->text.n ? "…" : "");
	for (char *c = message; *c; c++)
		if ((unsigned char)*c < ' ')
			*c = ' ';
}

/* ---- names of programs ---------------------------------------------------------- */

/* mkfs.ext4 is mkfs. */
static const char *const families[] = { "mkfs", "fsck", NULL };

/* nc.traditional is nc. */
static bool is_variant(struct str name, struct str want)
{
	struct str suffix;

	if (name.n <= want.n || memcmp(name.s, want.s, want.n) != 0 || name.s[want.n] != '.')
		return false;
	suffix = str_from_pos(name, want.n);
	return str_is_one_of(suffix, program_suffixes) || str_is_one_of(want, families);
}

static bool is_program(struct str want, struct str word)
{
	struct str name = command_base_name(word);

	return command_glob(want, name, false) || is_variant(name, want);
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
		if ((is_program(command_base_name(r->words[0]), word) &&
		     command_arguments_match(r, 1, argv, n, place)) ||
		    (r->joined.n && is_program(r->joined, word) &&
		     command_arguments_match(r, 2, argv, n, place)))
			return true;
		/* It becomes the applet without another execution. */
		if (!program_is_multi_call(command_base_name(word)))
			break;
		argv++;
		n--;
	}
	return false;
}

bool command_is_shell(struct str word)
{
	static const char *const shells[] = { "sh", "bash", "dash", "zsh", "ksh", "ksh93", "mksh",
					      "ash", "rbash", "yash", "fish", "csh", "tcsh", NULL };

	return str_is_one_of(command_base_name(word), shells);
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

/* ---- rules that are shell syntax ------------------------------------------------- */

/* Every run of white space as one blank, none at the ends. */
static void collapse(struct str text, struct buf *out)
{
	struct str word;

	while ((word = next_word(&text)).n) {
		if (out->n)
			buf_putc(out, ' ');
		buf_str(out, word);
	}
}

bool command_rule_in_text(const struct command_rule *r, struct str text)
{
	cleanup_buf struct buf want = BUF(2 * MAX_COMMAND_TEXT), flat = BUF(2 * MAX_COMMAND_TEXT);

	if (!r->has_operators)
		return false;
	collapse(r->text, &want);
	collapse(text, &flat);
	/* What cannot be looked through counts as blocked. */
	return !buf_ok(&want) || !buf_ok(&flat) ||
	       memmem(buf_text(&flat), flat.n, buf_text(&want), want.n);
}
