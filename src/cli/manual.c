/* cordon-manual TEMPLATE: the source of a manual page (scdoc), with the lists
 * of commands, options, fields, dialects and events put in from the tables.  Used by
 * the build only. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

/* scdoc takes _ and * for emphasis, and a line that starts with a dot or # for
 * something else. */
static void put(const char *text)
{
	for (; *text; text++) {
		if (strchr("_*\\<[]", *text))
			putchar('\\');
		putchar(*text);
	}
}

static void put_commands(void)
{
	for (const struct command *c = commands; c->name; c++) {
		printf("*cordon %s%s%s* ", c->name, c->word ? " " : "", c->word ? c->word : "");
		put(c->usage);
		printf("\n\t");
		put(c->help);
		printf("\n\n");
	}
}

static void put_taken_by(const struct option *o)
{
	const char *before = "";

	printf(" (");
	for (const struct command *c = commands; c->name; c++)
		if (o->where & c->where) {
			printf("%s%s%s%s", before, c->name, c->word ? " " : "",
			       c->word ? c->word : "");
			before = ", ";
		}
	printf(")");
}

static void put_options(void)
{
	for (const struct option *o = options; o->name; o++) {
		printf("*");
		if (o->letter && !option_is_letter(o))
			printf("-%c*, *", o->letter);
		put(o->name);
		printf("*");
		if (o->arg) {
			printf(" ");
			put(o->arg);
		}
		printf("\n\t");
		put(o->help);
		if (o->id != OPT_HELP)
			put_taken_by(o);
		printf("\n\n");
	}
}

static void put_fields(void)
{
	struct cordon_field_info f;

	for (size_t i = 0; cordon_field_info(i, &f); i++) {
		printf("*");
		put(f.key);
		printf("* (");
		put(f.takes);
		printf(")\n\t");
		put(f.help);
		printf(".");
		if (f.words) {
			printf(" Known words:");
			for (size_t w = 0; f.words[w]; w++) {
				printf("%s ", w ? "," : "");
				put(f.words[w]);
			}
			printf(".");
		}
		printf(" Default: ");
		put(f.preset[0] ? f.preset : "empty");
		printf(". Composed: %s. Serves %s.\n\n", f.merge, f.promise);
	}
}

static void put_dialects(void)
{
	for (size_t i = 0; cordon_dialect_name(i); i++) {
		printf("*%s*\n\t", cordon_dialect_name(i));
		put(cordon_dialect_about(i));
		printf("\n\n");
	}
}

static void put_events(void)
{
	struct cordon_event_field_info f;
	struct cordon_event_info e;

	for (size_t i = 0; cordon_event_info(i, &e); i++) {
		printf("*");
		put(e.name);
		printf("*\n\t");
		put(e.help);
		printf("\n\n");
		for (size_t k = 0; cordon_event_field_info(i, k, &f); k++) {
			printf("\t*");
			put(f.key);
			printf("* (%s): ", f.type);
			put(f.help);
			printf("\n\n");
		}
	}
}

static const struct {
	const char *mark;
	void (*put)(void);
} lists[] = {
	{ "@COMMANDS@\n", put_commands },
	{ "@OPTIONS@\n", put_options },
	{ "@FIELDS@\n", put_fields },
	{ "@DIALECTS@\n", put_dialects },
	{ "@EVENTS@\n", put_events },
};

int main(int argc, char **argv)
{
	FILE *in = argc == 2 ? fopen(argv[1], "re") : NULL;
	char *line = NULL;
	size_t cap = 0;

	if (!in) {
		fputs("usage: cordon-manual TEMPLATE\n", stderr);
		return EXIT_USAGE;
	}
	while (getline(&line, &cap, in) > 0) {
		size_t i = 0;

		while (i < sizeof(lists) / sizeof(lists[0]) && strcmp(line, lists[i].mark) != 0)
			i++;
		if (i < sizeof(lists) / sizeof(lists[0]))
			lists[i].put();
		else
			fputs(line, stdout);
	}
	free(line);
	fclose(in);
	return fflush(stdout) ? EXIT_USAGE : EXIT_GOOD;
}
