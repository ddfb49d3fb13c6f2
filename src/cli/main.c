/* The program: find the command, parse its options, run it. */
#include "cli/cli.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define STACK_KB	256	/* a run takes 80, and a policy may be deep */

static const struct command *find_command(const char *name, const char *word)
{
	for (const struct command *c = commands; c->name; c++)
		if (strcmp(c->name, name) == 0 &&
		    (!c->word || (word && strcmp(c->word, word) == 0)))
			return c;
	return NULL;
}

static bool has_words(const char *name)
{
	for (const struct command *c = commands; c->name; c++)
		if (strcmp(c->name, name) == 0)
			return c->word != NULL;
	return false;
}

/* What to say when there is no such command: the word may be a program that
 * somebody wants to run. */
static int unknown(int argc, char **argv)
{
	if (argv[1][0] == '-')
		return say_usage("'%s' is not an option of cordon; see cordon help", argv[1]);
	if (has_words(argv[1]) && argc < 3)
		return say_usage("%s takes a word behind it; see cordon help %s", argv[1], argv[1]);
	if (has_words(argv[1]))
		return say_usage("there is no command '%s %s'; see cordon help %s", argv[1],
				 argv[2], argv[1]);
	return say_usage("there is no command '%s'; to run a program write: cordon run -- %s",
			 argv[1], argv[1]);
}

static int help_for(const char *name)
{
	static struct args args;

	args.words[0] = name;
	args.n_words = 1;
	return cmd_help(&args);
}

static int open_null(int how)
{
	return open("/dev/null", how | O_CLOEXEC);
}

/* A standard stream that is closed stays as good as closed, but no other file
 * takes its number: reading it, or writing to it, fails with EBADF. */
static int fill_streams(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open_null(fd ? O_RDONLY : O_WRONLY) != fd)
			return -1;
	return 0;
}

/* Options that stand for a command. */
static char *long_form(char *word)
{
	static char help[] = "help", version[] = "version";

	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		return help;
	return strcmp(word, "--version") == 0 ? version : word;
}

/* The kernel ends whoever needs more than it may have by SIGSEGV, which says nothing.  For
 * what enforces a policy that is 125: nothing was run. */
static int check_stack(const struct command *c)
{
	struct rlimit stack;

	if (getrlimit(RLIMIT_STACK, &stack) < 0 || stack.rlim_cur >= STACK_KB * 1024)
		return 0;
	say_usage("the limit of the stack (ulimit -s) is %llu KB, and a cordon needs %d; raise it "
		  "and try again", (unsigned long long)stack.rlim_cur / 1024, STACK_KB);
	return c->where & (IN_RUN | IN_START | IN_EXEC) ? 125 : EXIT_USAGE;
}

int main(int argc, char **argv)
{
	static struct args args;
	int skip, bad;

	if (fill_streams() < 0)
		return say_usage("a standard stream is closed, and /dev/null does not open");
	if (argc < 2) {
		help_print(stderr);
		return EXIT_USAGE;
	}
	argv[1] = long_form(argv[1]);
	if (strcmp(argv[1], "prove-act") == 0)
		return prove_act_main(argc - 2, argv + 2);
	args.command = find_command(argv[1], argc > 2 ? argv[2] : NULL);
	if (!args.command) {
		if (has_words(argv[1]) && argc > 2 &&
		    (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0))
			return help_for(argv[1]);
		return unknown(argc, argv);
	}
	skip = args.command->word ? 3 : 2;
	if (args_parse(&args, argc - skip, argv + skip) < 0)
		return EXIT_USAGE;
	if (args_has(&args, OPT_HELP)) {
		say_start();
		help_print_command(args.command, stdout);
		return say_done(EXIT_GOOD);
	}
	bad = check_stack(args.command);
	return bad ? bad : args.command->run(&args);
}
