/* Parsing a command line: exact option names only, `--name VALUE` or
 * `--name=VALUE`, and everything behind `--` left alone. */
#include "cli/cli.h"

#include <stdarg.h>
#include <string.h>

/* The bytes of a letter in UTF-8 that a terminal shows; 0: of one that it obeys, or of none. */
static size_t letter_bytes(const char *text)
{
	const unsigned char *b = (const unsigned char *)text;
	size_t n = b[0] < 0x80 ? 1 : b[0] < 0xc2 ? 0 : b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 :
		   b[0] < 0xf5 ? 4 : 0;

	if (b[0] < 0x20 || b[0] == 0x7f || (b[0] == 0xc2 && b[1] < 0xa0))
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((b[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

/* Words of the command line are shown, not acted on by the terminal. */
void put_shown(const char *text, FILE *out)
{
	for (size_t n; *text; text += n ? n : 1) {
		n = letter_bytes(text);
		if (n)
			fwrite(text, 1, n, out);
		else
			fprintf(out, "\\x%02x", (unsigned char)*text);
	}
}

int say_usage(const char *fmt, ...)
{
	char text[4096];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	fputs("cordon: ", stderr);
	put_shown(text, stderr);
	fputc('\n', stderr);
	return EXIT_USAGE;
}

static bool takes_option(const struct command *c, const struct option *o)
{
	return o->id == OPT_HELP || (o->where & c->where) != 0;
}

/* `attached` is set when the value stands in the same word. */
static const struct option *find_option(const struct command *c, const char *word,
					const char **attached)
{
	*attached = NULL;
	for (const struct option *o = options; o->name; o++) {
		size_t n = strlen(o->name);

		if (!takes_option(c, o))
			continue;
		if (strncmp(word, o->name, n) == 0 && (word[n] == '\0' || word[n] == '=')) {
			*attached = word[n] ? word + n + 1 : NULL;
			return o;
		}
		/* A flag has nothing attached: -hello is no option. */
		if (o->letter && word[0] == '-' && word[1] == o->letter && (o->arg || !word[2])) {
			*attached = word[2] ? word + 2 : NULL;
			return o;
		}
	}
	return NULL;
}

static int name_command(const struct command *c, char *text, size_t n)
{
	return snprintf(text, n, "%s%s%s", c->name, c->word ? " " : "", c->word ? c->word : "");
}

/* Is the value there that the option takes, and none that it does not? */
static int check_value(const struct option *o, char *const *argv, const char *value, int left)
{
	/* `--` begins the command, as everywhere: a value of that name is attached. */
	bool is_next = left > 1 && strcmp(argv[1], "--") != 0;

	if (!o->arg && value) {
		say_usage("%s takes no value", o->name);
		return -1;
	}
	/* -w=PATH would name the file "=PATH". */
	if (value && argv[0][1] != '-' && value[0] == '=') {
		say_usage("-%c takes %s behind a space, or write %s=%s", o->letter, o->arg, o->name,
			  o->arg);
		return -1;
	}
	if (o->arg && !value && !is_next) {
		say_usage("%s takes %s", o->name, o->arg);
		return -1;
	}
	return 0;
}

/* One word that starts with a dash; returns how many words it took, or -1. */
static int parse_option(struct args *args, char *const *argv, int left)
{
	const char *value;
	const struct option *o = find_option(args->command, argv[0], &value);
	char name[64];

	name_command(args->command, name, sizeof(name));
	if (!o) {
		say_usage("'%s' is not an option of %s; see cordon help %s", argv[0], name,
			  args->command->name);
		return -1;
	}
	if (check_value(o, argv, value, left) < 0)
		return -1;
	args->given[args->n_given].option = o;
	args->given[args->n_given++].value = !o->arg ? NULL : value ? value : argv[1];
	return o->arg && !value ? 2 : 1;
}

/* Behind `--` stands a command to run, or words that look like options. */
static void take_behind(struct args *args, int argc, char *const *argv)
{
	if (args->command->where & IN_COMMANDS) {
		args->behind = (const char *const *)argv;
		args->n_behind = (size_t)argc;
		return;
	}
	for (int i = 0; i < argc; i++)
		args->words[args->n_words++] = argv[i];
}

/* The command of a run may have as many words as the kernel takes. */
static int count_own_words(const struct command *c, int argc, char *const *argv)
{
	int n = 0;

	while (n < argc && (!(c->where & IN_COMMANDS) || strcmp(argv[n], "--") != 0))
		n++;
	return n;
}

int args_parse(struct args *args, int argc, char *const *argv)
{
	if (count_own_words(args->command, argc, argv) > MAX_ARGS) {
		say_usage("more than %d words on the command line", MAX_ARGS);
		return -1;
	}
	for (int i = 0; i < argc;) {
		int took = 1;

		if (strcmp(argv[i], "--") == 0) {
			take_behind(args, argc - i - 1, argv + i + 1);
			break;
		}
		if (argv[i][0] == '-' && argv[i][1])
			took = parse_option(args, argv + i, argc - i);
		else
			args->words[args->n_words++] = argv[i];
		if (took < 0)
			return -1;
		i += took;
	}
	return 0;
}

const char *args_value(const struct args *args, enum option_id id)
{
	for (size_t i = args->n_given; i > 0; i--)
		if (args->given[i - 1].option->id == id)
			return args->given[i - 1].value;
	return NULL;
}

bool args_has(const struct args *args, enum option_id id)
{
	for (size_t i = 0; i < args->n_given; i++)
		if (args->given[i].option->id == id)
			return true;
	return false;
}

size_t args_values(const struct args *args, enum option_id id, const char **ret)
{
	size_t n = 0;

	for (size_t i = 0; i < args->n_given; i++)
		if (args->given[i].option->id == id)
			ret[n++] = args->given[i].value;
	return n;
}

static size_t add_settings(const struct args *args, struct cordon_setting *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < args->n_given; i++) {
		const struct option *o = args->given[i].option;
		const char *value = args->given[i].value;

		if (o->id == OPT_SETTING)
			ret[n++] = (struct cordon_setting){ o->op, o->key, value, o->name };
		else if (o->id == OPT_ENV)
			ret[n++] = (struct cordon_setting){
				CORDON_ADD, strchr(value, '=') ? "env.set" : "env.pass", value,
				o->name };
		else if (o->id == OPT_NO_SANDBOX) {
			ret[n++] = (struct cordon_setting){ CORDON_REPLACE, "backend", "none",
							    o->name };
			ret[n++] = (struct cordon_setting){ CORDON_REPLACE, "profile",
							    "unrestricted", o->name };
		}
	}
	return n;
}

struct cordon_request args_request(const struct args *args, struct cordon_setting *settings,
				   const char **files, const char **connect_to)
{
	struct cordon_request req = CORDON_REQUEST;

	req.n_files = args_values(args, OPT_POLICY, files);
	if (!(args->command->where & (IN_EXPLAIN | IN_RUN | IN_MATCH | IN_START)))
		for (size_t i = 0; i < args->n_words; i++)
			files[req.n_files++] = args->words[i];
	req.files = files;
	req.dialect = args_value(args, OPT_DIALECT);
	req.cwd = args_value(args, OPT_CWD);
	req.discover = !args_has(args, OPT_NO_POLICY);
	req.n_settings = add_settings(args, settings);
	req.settings = settings;
	req.json = args_has(args, OPT_JSON);
	req.audit = args_value(args, OPT_AUDIT);
	req.n_connect_to = args_values(args, OPT_CONNECT_TO, connect_to);
	req.connect_to = connect_to;
	return req;
}
