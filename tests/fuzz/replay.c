/* Feed files to a fuzz target, without a fuzzer; speaks TAP.
 *
 *   replay-NAME FILE-OR-DIRECTORY...
 *
 * Each file is read in a child of its own: one that crashes fails alone.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "target.h"

static int n_tests, n_failed;

static int replay(const char *path)
{
	cleanup_arena struct arena arena = ARENA(MAX_ARENA_BYTES);
	struct cordon_err err;
	struct str text;
	uint8_t *copy;

	if (fd_read_file(path, MAX_SOURCE_BYTES, &arena, &text, &err) < 0) {
		printf("# %s\n", err.msg);
		return 1;
	}
	/* Exactly as long as the file, so that a sanitizer sees a read beyond. */
	copy = malloc(text.n ? text.n : 1);
	if (!copy)
		return 1;
	memcpy(copy, text.s, text.n);
	LLVMFuzzerTestOneInput(copy, text.n);
	free(copy);
	return 0;
}

static void test_file(const char *path)
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		exit(replay(path));
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		perror("# fork");
	n_failed += status != 0;
	printf("%s %d - %s\n", status ? "not ok" : "ok", ++n_tests, path);
}

static int is_seed(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void test_path(const char *path)
{
	struct dirent **entries;
	int n = scandir(path, &entries, is_seed, alphasort);

	if (n < 0) {
		test_file(path);
		return;
	}
	for (int i = 0; i < n; i++) {
		char file[4096];

		snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name);
		test_file(file);
		free(entries[i]);
	}
	free(entries);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		test_path(argv[i]);
	printf("1..%d\n", n_tests);
	return n_failed != 0;
}
