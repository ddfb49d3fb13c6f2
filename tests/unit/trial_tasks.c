/* Which trials are to be run: words of the operator as names that no two share. */
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/limits.h"
#include "own_folder.h"
#include "tap.h"
#include "trial/tasks.h"

static struct arena arena = ARENA(MAX_ARENA_BYTES);

/* A file, and the folders above it. */
static void put(const char *path)
{
	char part[256];

	for (size_t i = 0; path[i]; i++)
		if (path[i] == '/') {
			snprintf(part, sizeof(part), "%.*s", (int)i, path);
			ok(mkdirat(place, part, 0755) == 0 || errno == EEXIST, "%s", part);
		}
	close(openat(place, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
}

/* "name=file …", files from the place on, or the problem. */
static const char *list(unsigned attempts, const char *const *words)
{
	static char said[4096];
	struct cordon_err err = { 0 };
	struct trial_list l;
	size_t n = 0, at = 0;

	while (words[n])
		n++;
	if (trial_list_make(words, n, attempts, &arena, &l, &err) < 0) {
		snprintf(said, sizeof(said), "%s", err.msg);
		return said;
	}
	said[0] = '\0';
	for (size_t i = 0; i < l.n; i++) {
		const char *file = l.items[i].file;

		ok(file[0] == '/', "%s is whole", file);
		if (strncmp(file, top, strlen(top)) == 0)
			file += strlen(top) + 1;
		at += (size_t)snprintf(said + at, sizeof(said) - at, "%s%s=%s", i ? " " : "",
				       l.items[i].name, file);
	}
	return said;
}
#define LIST(attempts, ...)	list(attempts, (const char *const[]){ __VA_ARGS__, NULL })

static void test_words(void)
{
	begin();
	put("one/task.toml");
	put("set/b/task.toml");
	put("set/a/task.toml");
	put("set/c/other.toml");
	put("set/.hidden/task.toml");
	put("set/file");
	is_text(LIST(1, "one/task.toml"), "one=one/task.toml", "a file");
	is_text(LIST(1, "one"), "one=one/task.toml", "its folder");
	is_text(LIST(0, "one/"), "one=one/task.toml", "with a slash");
	is_text(LIST(1, "./set/../one/."), "one=one/task.toml", "by a longer way");
	is_text(LIST(1, "set"), "a=set/a/task.toml b=set/b/task.toml", "folders, in order");
	is_text(LIST(1, "set/c/other.toml"), "other=set/c/other.toml", "of another name");
	is_text(LIST(1, "one", "set"),
		"one=one/task.toml a=set/a/task.toml b=set/b/task.toml", "one after another");
	ok(fchdir(openat(place, "one", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == 0, "in it");
	is_text(LIST(1, "."), "one=one/task.toml", "here");
	is_text(LIST(1, "task.toml"), "one=one/task.toml", "here, a file");
	is_text(LIST(1, ".."), "one=one/task.toml", "all beside it");
}

static void test_what_is_a_task_itself_is_no_folder_of_them(void)
{
	begin();
	put("set/task.toml");
	put("set/a/task.toml");
	is_text(LIST(1, "set"), "set=set/task.toml", "only itself");
	put("deep/a/b/task.toml");
	ok(strstr(LIST(1, "deep"), "holds no task.toml"), "no deeper: %s", LIST(1, "deep"));
	is_text(LIST(1, "deep/a"), "b=deep/a/b/task.toml", "its parent");
	ok(mkdir("folder", 0755) == 0 && mkdir("folder/task.toml", 0755) == 0, "no file");
	ok(strstr(LIST(1, "folder"), "holds no task.toml"), "a folder of that name is none");
	ok(symlink("set", "link") == 0 && symlink("/dev/null", "set/x") == 0, "links");
	is_text(LIST(1, "link"), "link=link/task.toml", "a link to a folder is one");
}

static void test_names_are_of_one_each(void)
{
	begin();
	put("a/task.toml");
	put("x/a/task.toml");
	put("a.2/task.toml");
	put("x/a.toml");
	is_text(LIST(1, "a", "a"), "a=a/task.toml a.2=a/task.toml", "twice the same");
	is_text(LIST(1, "a", "x/a", "x/a.toml"),
		"a=a/task.toml a.2=x/a/task.toml a.3=x/a.toml", "of one name");
	is_text(LIST(1, "a", "a.2", "a"), "a=a/task.toml a.2=a.2/task.toml a.3=a/task.toml",
		"a name that is taken");
	is_text(LIST(1, "a", "a", "a.2"), "a=a/task.toml a.2=a/task.toml a.2.2=a.2/task.toml",
		"one that was taken before");
	is_text(LIST(3, "a"), "a.1=a/task.toml a.2=a/task.toml a.3=a/task.toml", "attempts");
	is_text(LIST(2, "a", "a"),
		"a.1=a/task.toml a.2=a/task.toml a.1.2=a/task.toml a.2.2=a/task.toml",
		"attempts at the same");
}

/* The same words give the same names: that is how a run goes on. */
static void test_names_stay(void)
{
	char before[4096];

	begin();
	put("s/b/task.toml");
	put("s/a/task.toml");
	put("s/c/task.toml");
	snprintf(before, sizeof(before), "%s", LIST(2, "s", "s/b"));
	is_text(LIST(2, "s", "s/b"), before, "again");
	ok(unlink("s/b/task.toml") == 0, "one is away");
	ok(strstr(LIST(2, "s", "s/a"), "a.1=s/a/task.toml a.2=s/a/task.toml c.1="), "others stay");
}

/* A name becomes a folder of the output. */
static void test_names_are_names_of_folders(void)
{
	begin();
	put("..toml");
	put("...toml");
	put(".toml");
	put("x/.a.toml");
	put("x/nodot");
	is_text(LIST(1, "..toml"), "task=..toml", "not the folder itself");
	is_text(LIST(1, "...toml"), "task=...toml", "nor the one above");
	is_text(LIST(1, "..toml", "...toml"), "task=..toml task.2=...toml", "both");
	is_text(LIST(1, ".toml"), ".toml=.toml", "nothing but an end");
	is_text(LIST(1, "x/.a.toml"), ".a=x/.a.toml", "one that is not shown");
	is_text(LIST(1, "x/nodot"), "nodot=x/nodot", "without an end");
	ok(chdir("/") == 0, "at the top");
	is_text(LIST(1, "/task.toml", "/x.toml"), "task=/task.toml x=/x.toml", "of the root");
}

static void test_what_is_not_there(void)
{
	begin();
	put("a/task.toml");
	ok(mkdir("empty", 0755) == 0, "a folder");
	ok(strstr(LIST(1, "nowhere"), "there is no task 'nowhere'"), "alone");
	ok(strstr(LIST(5, "empty"), "'empty' holds no task.toml"), "empty");
	is_text(LIST(1, "a", "nowhere"), "a=a/task.toml nowhere=nowhere",
		"among others it is a trial that fails");
	ok(strstr(LIST(1, "a", "empty"), "'empty' holds no task.toml"), "a slip of the pen");
}

static void test_bounded(void)
{
	struct cordon_err err = { 0 };
	const char *word = "a";
	struct trial_list l;

	begin();
	put("a/task.toml");
	is_int(trial_list_make(&word, 1, MAX_TRIALS, &arena, &l, &err), 0, "%s", err.msg);
	is_int((long long)l.n, MAX_TRIALS, "as many as may be");
	is_text(l.items[MAX_TRIALS - 1].name, "a.65536", "the last one");
	is_int(trial_list_make(&word, 1, MAX_TRIALS + 1, &arena, &l, &err), -1, "one more");
	ok(strstr(err.msg, "more than 65536 trials"), "%s", err.msg);
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_words), TAP(test_what_is_a_task_itself_is_no_folder_of_them),
		TAP(test_names_are_of_one_each), TAP(test_names_stay),
		TAP(test_names_are_names_of_folders), TAP(test_what_is_not_there),
		TAP(test_bounded), TAP_END });
}
