/* Help and shell completion, made from the tables. */
#include "cli/cli.h"

#include <string.h>

static void print_name(const struct command *c, FILE *out)
{
	fprintf(out, "%s%s%s", c->name, c->word ? " " : "", c->word ? c->word : "");
}

void help_print(FILE *out)
{
	fputs("cordon: a sandbox for commands nobody reviewed\n\n", out);
	for (const struct command *c = commands; c->name; c++) {
		char name[64];

		snprintf(name, sizeof(name), "%s%s%s", c->name, c->word ? " " : "",
			 c->word ? c->word : "");
		fprintf(out, "  cordon %-18s %s\n", name, c->help);
	}
	fputs("\nEvery command takes --help.  Manual: cordon(1), cordon-policy(5)\n", out);
}

static bool takes(const struct command *c, const struct option *o)
{
	return o->id == OPT_HELP || (o->where & c->where) != 0;
}

/* What stands before the name: nothing, where the name is the letter. */
static void print_letter(const struct option *o, FILE *out)
{
	if (option_is_letter(o))
		fputs("  ", out);
	else if (o->letter)
		fprintf(out, "  -%c, ", o->letter);
	else
		fputs("      ", out);
}

void help_print_command(const struct command *c, FILE *out)
{
	fputs("usage: cordon ", out);
	print_name(c, out);
	fprintf(out, " [OPTIONS] %s\n  %s\n\n", c->usage, c->help);
	for (const struct option *o = options; o->name; o++) {
		char names[64];

		if (!takes(c, o))
			continue;
		print_letter(o, out);
		snprintf(names, sizeof(names), "%s%s%s", o->name, o->arg ? " " : "",
			 o->arg ? o->arg : "");
		fprintf(out, "%-*s %s\n", option_is_letter(o) ? 34 : 30, names, o->help);
	}
	fputc('\n', out);
}

/* ---- completion --------------------------------------------------------- */

/* Those of one name stand together. */
static bool is_first(const struct command *c)
{
	return c == commands || strcmp(c[-1].name, c->name) != 0;
}

static void print_commands(FILE *out)
{
	for (const struct command *c = commands; c->name; c++)
		if (is_first(c))
			fprintf(out, "%s ", c->name);
}

static void print_words(const char *name, FILE *out)
{
	for (const struct command *c = commands; c->name; c++)
		if (c->word && strcmp(c->name, name) == 0)
			fprintf(out, "%s ", c->word);
}

static void print_options(const struct command *c, FILE *out)
{
	for (const struct option *o = options; o->name; o++)
		if (takes(c, o))
			fprintf(out, "%s ", o->name);
}

static void print_dialects(FILE *out)
{
	for (size_t i = 0; cordon_dialect_name(i); i++)
		fprintf(out, "%s ", cordon_dialect_name(i));
}

/* For each command that takes a word: what stands before its name, before its words, and
 * behind them. */
static void print_second(const char *before, const char *between, const char *after, FILE *out)
{
	for (const struct command *c = commands; c->name; c++) {
		if (!c->word || !is_first(c))
			continue;
		fprintf(out, "%s%s%s", before, c->name, between);
		print_words(c->name, out);
		fputs(after, out);
	}
}

static void print_bash(FILE *out)
{
	fputs("# bash completion for cordon\n_cordon() {\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	      "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\tCOMPREPLY=($(compgen -W \"", out);
	print_commands(out);
	fputs("\" -- \"$cur\"))\n\t\treturn\n\tfi\n"
	      "\tif [ \"$COMP_CWORD\" -eq 2 ]; then\n\t\tcase ${COMP_WORDS[1]} in\n", out);
	print_second("\t\t", ")\n\t\t\tCOMPREPLY=($(compgen -W \"",
		     "\" -- \"$cur\"))\n\t\t\treturn;;\n", out);
	fputs("\t\tesac\n\tfi\n"
	      "\tcase $prev in\n\t--dialect)\n\t\tCOMPREPLY=($(compgen -W \"", out);
	print_dialects(out);
	fputs("\" -- \"$cur\"))\n\t\treturn;;\n\tesac\n"
	      "\tif [[ $cur != -* ]]; then\n\t\tCOMPREPLY=($(compgen -f -- "
	      "\"$cur\"))\n\t\treturn\n\tfi\n"
	      "\tcase \"${COMP_WORDS[1]} ${COMP_WORDS[2]}\" in\n",
	      out);
	for (const struct command *c = commands; c->name; c++) {
		fprintf(out, "\t\"%s %s\"*) COMPREPLY=($(compgen -W \"", c->name,
			c->word ? c->word : "");
		print_options(c, out);
		fputs("\" -- \"$cur\"));;\n", out);
	}
	fputs("\tesac\n}\ncomplete -o filenames -F _cordon cordon\n", out);
}

/* A help line inside single quotes of zsh or fish; brackets and colons mean
 * something to zsh. */
static void print_quoted(const char *text, FILE *out)
{
	for (; *text; text++)
		if (*text == '\'' || *text == '[' || *text == ']' || *text == ':')
			fputc(' ', out);
		else
			fputc(*text, out);
}

static void print_zsh(FILE *out)
{
	fputs("#compdef cordon\n_cordon() {\n\tlocal -a words_\n"
	      "\tif (( CURRENT == 2 )); then\n\t\twords_=(", out);
	print_commands(out);
	fputs(")\n\t\t_describe command words_\n\t\treturn\n\tfi\n"
	      "\tif (( CURRENT == 3 )); then\n\t\tcase $words[2] in\n", out);
	print_second("\t\t(", ") words_=(", ");;\n", out);
	fputs("\t\tesac\n\t\tif (( $#words_ )); then\n\t\t\t_describe command words_\n"
	      "\t\t\treturn\n\t\tfi\n\tfi\n"
	      "\tcase \"$words[2] $words[3]\" in\n", out);
	for (const struct command *c = commands; c->name; c++) {
		fprintf(out, "\t(%s%s%s*) _arguments", c->name, c->word ? "\\ " : "",
			c->word ? c->word : "");
		for (const struct option *o = options; o->name; o++) {
			if (!takes(c, o))
				continue;
			fprintf(out, " '*%s[", o->name);
			print_quoted(o->help, out);
			fprintf(out, "]%s%s%s'", o->arg ? ":" : "", o->arg ? "value" : "",
				o->arg ? ":_files" : "");
		}
		fputs(" '*:file:_files';;\n", out);
	}
	fputs("\tesac\n}\n_cordon \"$@\"\n", out);
}

static void print_fish(FILE *out)
{
	fputs("# fish completion for cordon\n", out);
	for (const struct command *c = commands; c->name; c++) {
		if (is_first(c)) {
			fprintf(out, "complete -c cordon -n __fish_use_subcommand -a %s -d '",
				c->name);
			if (c->word)
				print_words(c->name, out);
			else
				print_quoted(c->help, out);
			fputs("'\n", out);
		}
		if (c->word) {
			fprintf(out,
				"complete -c cordon -n '__fish_seen_subcommand_from %s' -a %s -d '",
				c->name, c->word);
			print_quoted(c->help, out);
			fputs("'\n", out);
		}
		for (const struct option *o = options; o->name; o++) {
			if (!takes(c, o) || o->id == OPT_HELP)
				continue;
			fprintf(out,
				"complete -c cordon -n '__fish_seen_subcommand_from %s' "
				"-%c %s%s -d '",
				c->word ? c->word : c->name, option_is_letter(o) ? 's' : 'l',
				o->name + (option_is_letter(o) ? 1 : 2), o->arg ? " -r" : "");
			print_quoted(o->help, out);
			fputs("'\n", out);
		}
	}
}

int completion_print(const char *shell, FILE *out)
{
	static const struct {
		const char *shell;
		void (*print)(FILE *out);
	} shells[] = { { "bash", print_bash }, { "zsh", print_zsh }, { "fish", print_fish } };

	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
		if (strcmp(shell, shells[i].shell) == 0) {
			shells[i].print(out);
			return 0;
		}
	return -1;
}
