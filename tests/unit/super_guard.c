/* Guarded names as text, and the guard's start and end. */
#include "base/buf.h"
#include "base/name.h"
#include "super/guard_priv.h"
#include "super/proc_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "tap.h"

#define MANY_WAYS	1000

static struct guard_names names_of(const char *const *texts)
{
	struct plan_guarded given[MANY_WAYS + 1] = { { 0 } };
	struct guard_names names;
	struct cordon_err err = { 0 };
	size_t n = 0;

	for (; texts[n] && n < ARRAY_SIZE(given); n++)
		given[n].name = texts[n];
	is_int(guard_names_init(&names, given, n, &err), 0, "%s", err.msg);
	return names;
}

#define NAMES(...)	names_of((const char *const[]){ __VA_ARGS__, NULL })

static enum guard_verdict judge(const struct guard_names *names, const char *path)
{
	return guard_match(names, str_from(path)).verdict;
}

static void test_absolute_names(void)
{
	struct guard_names n = NAMES("/w/.git/hooks", "/w//.envrc/");

	is_int(judge(&n, "/w/.git/hooks"), GUARD_HELD, "itself");
	is_int(judge(&n, "/w/.git/hooks/pre-commit"), GUARD_HELD, "below");
	is_int(judge(&n, "/W/.GIT/Hooks"), GUARD_HELD, "other case");
	is_int(judge(&n, "/w/.git/./hooks"), GUARD_FREE, "paths come without dots");
	is_int(judge(&n, "/w/.git"), GUARD_PREFIX, "on the way");
	is_int(judge(&n, "/w"), GUARD_PREFIX, "further up");
	is_int(judge(&n, "/"), GUARD_PREFIX, "the root");
	is_int(judge(&n, "/w/.gitx"), GUARD_FREE, "longer");
	is_int(judge(&n, "/w/.git/hook"), GUARD_FREE, "shorter");
	is_int(judge(&n, "/w/x/.git/hooks"), GUARD_FREE, "elsewhere");
	is_int(judge(&n, "/w/.envrc"), GUARD_HELD, "slashes do not matter");
	guard_names_release(&n);
}

static void test_names_anywhere(void)
{
	struct guard_names n = NAMES("**/.env", "**/.vscode/tasks.json", "**/a/a/b");

	is_int(judge(&n, "/.env"), GUARD_HELD, "in the root");
	is_int(judge(&n, "/a/b/c/.env"), GUARD_HELD, "deep");
	is_int(judge(&n, "/a/.env/c"), GUARD_HELD, "below");
	is_int(judge(&n, "/a/.envx"), GUARD_FREE, "longer");
	is_int(judge(&n, "/x/.vscode/tasks.json"), GUARD_HELD, "two components");
	is_int(judge(&n, "/x/.vscode"), GUARD_PREFIX, "on the way");
	is_int(judge(&n, "/.vscode/x/tasks.json"), GUARD_FREE, "not together");
	is_int(judge(&n, "/x/a/a"), GUARD_PREFIX, "repeated");
	is_int(judge(&n, "/x/a/a/a/b"), GUARD_HELD, "overlapping");
	guard_names_release(&n);
}

static void test_patterns(void)
{
	struct guard_names n = NAMES("**/*.pem", "/w/secrets/*", "**/d*r/name", "/h/*/token",
				     "/w/*.k");

	is_int(judge(&n, "/a/b/x.pem"), GUARD_HELD, "at any depth");
	is_int(judge(&n, "/a/.PEM"), GUARD_HELD, "nothing before it, other case");
	is_int(judge(&n, "/a/x.pem/y"), GUARD_HELD, "below");
	is_int(judge(&n, "/a/x.pemx"), GUARD_FREE, "longer");
	is_int(judge(&n, "/w/secrets"), GUARD_PREFIX, "the folder itself");
	is_int(judge(&n, "/w/secrets/.a"), GUARD_HELD, "everything in it");
	is_int(judge(&n, "/w/secrets/a/b"), GUARD_HELD, "however deep");
	is_int(judge(&n, "/x/secrets/a"), GUARD_FREE, "not elsewhere");
	is_int(judge(&n, "/x/dir/name"), GUARD_HELD, "two components");
	is_int(judge(&n, "/x/dr"), GUARD_LOOSE, "on the way by a pattern");
	is_int(judge(&n, "/x/drx/name"), GUARD_FREE, "not on the way");
	is_int(judge(&n, "/h"), GUARD_PREFIX, "on the way by its name");
	is_int(judge(&n, "/h/any"), GUARD_LOOSE, "on the way by any name");
	is_int(judge(&n, "/h/any/token"), GUARD_HELD, "any name between");
	is_int(judge(&n, "/h/a/b/token"), GUARD_FREE, "one name only");
	is_int(judge(&n, "/w/x.k"), GUARD_HELD, "in one folder");
	is_int(judge(&n, "/w/x/x.k"), GUARD_FREE, "in that one only");
	guard_names_release(&n);
}

/* What follows a place, each with a space behind it. */
static int print_rest(void *data, const struct guard_name *name, size_t n)
{
	struct buf *out = data;

	for (; n < name->n_parts; n++)
		buf_printf(out, "%.*s%s", STR_FMT(name->parts[n]),
			   n + 1 < name->n_parts ? "/" : " ");
	return 0;
}

static void test_what_follows_a_place(void)
{
	static const struct {
		const char *path, *rests;
	} rows[] = { { "/w/a", "b/c d a/e " }, { "/x/a/a", "d e a/e " }, { "/x", "" } };
	struct guard_names n = NAMES("/w/a/b/c", "**/a/d", "**/a/a/e");

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_buf struct buf rests = BUF(256);

		is_int(guard_each_way(&n, str_from(rows[i].path), print_rest, &rests), 0, "told");
		ok(strcmp(buf_text(&rests), rows[i].rests) == 0, "%s: %s", rows[i].path,
		   buf_text(&rests));
	}
	guard_names_release(&n);
}

static int count_way(void *data, const struct guard_name *name, size_t n)
{
	(void)name;
	(void)n;
	++*(int *)data;
	return 0;
}

static void test_a_place_leads_to_any_number_of_names(void)
{
	const char *texts[MANY_WAYS + 1] = { NULL };
	char space[MANY_WAYS][16];
	struct guard_names n;
	int n_ways = 0;

	for (int i = 0; i < MANY_WAYS; i++) {
		snprintf(space[i], sizeof(space[i]), "/w/%d", i);
		texts[i] = space[i];
	}
	n = names_of(texts);
	is_int(judge(&n, "/w"), GUARD_PREFIX, "a folder may stand there");
	is_int(guard_each_way(&n, STR("/w"), count_way, &n_ways), 0, "told");
	is_int(n_ways, MANY_WAYS, "all ways on");
	guard_names_release(&n);
}

static void test_folding(void)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ ".ENV", ".env" },
		{ ".e\xe2\x80\x8cnv", ".env" },
		{ "\xef\xbb\xbf.env", ".env" },
		{ ".vs\xc3\xb6\xc3\x96", ".vs\xc3\xb6\xc3\x96" },
		{ "ta\xc5\xbfks", "tasks" },
		{ "hoo\xe2\x84\xaas", "hooks" },
		/* as ext4 and tmpfs take them in a folder that folds case */
		{ ".con\xef\xac\x81g", ".config" },
		{ ".\xc3\x9fh", ".ssh" },
		{ ".\xe1\xba\x9eh", ".ssh" },
		{ "o\xef\xac\x83" "ce", "office" },
		{ "te\xef\xac\x86", "test" },
		{ ".gi\xc2\xadt", ".git" },
		{ ".git\xef\xb8\x8f", ".git" },
		{ ".git\xe2\x80\x8b", ".git" },
		{ ".git\xf3\xa0\x80\x81", ".git" },
		{ "\xff\xfe", "\xff\xfe" },
		{ "\xe2\x80", "\xe2\x80" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *in = strdup(rows[i].in), *out = malloc(strlen(in));
		size_t n = name_fold(str_from(in), out);

		ok(n == strlen(rows[i].out) && memcmp(out, rows[i].out, n) == 0, "row %zu", i);
		free(in);
		free(out);
	}
}

static void test_longest_paths(void)
{
	struct guard_names n = NAMES("**/.env", "/w/x");
	char *path = malloc(2 * PATH_MAX);

	for (size_t i = 0; i < PATH_MAX - 1; i += 2)
		memcpy(path + i, "/a", 2);
	is_int(guard_match(&n, (struct str){ path, PATH_MAX - 2 }).verdict, GUARD_FREE,
	       "many components");
	memset(path, 'a', 2 * PATH_MAX);
	is_int(guard_match(&n, (struct str){ path, 2 * PATH_MAX }).verdict, GUARD_HELD,
	       "longer than any path");
	free(path);
	guard_names_release(&n);
}

static void test_names_that_are_none(void)
{
	static const char *const bad[] = { "",   "/",	    "x",      "**/",
					   "**", "/a/../b", "/a/./b", "a/**/b" };
	char long_name[MAX_GUARD_NAME + 3], parts[2 * (MAX_GUARD_PARTS + 1) + 1] = "";
	struct plan_guarded given = { .name = long_name };
	struct guard_names n;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct cordon_err err = { 0 };

		is_int(guard_names_init(&n, &(struct plan_guarded){ .name = bad[i] }, 1, &err), -1,
		       "'%s'", bad[i]);
		is_int(err.code, CORDON_E_POLICY, "'%s'", bad[i]);
		guard_names_release(&n);
	}
	memset(long_name, '/', sizeof(long_name));
	long_name[sizeof(long_name) - 2] = 'x';
	long_name[sizeof(long_name) - 1] = '\0';
	is_int(guard_names_init(&n, &given, 1, &(struct cordon_err){ 0 }), -1, "too long");
	guard_names_release(&n);
	for (size_t i = 0; i <= MAX_GUARD_PARTS; i++)
		memcpy(parts + 2 * i, "/p", 3);
	given.name = parts;
	is_int(guard_names_init(&n, &given, 1, &(struct cordon_err){ 0 }), -1, "too many parts");
	guard_names_release(&n);
	is_int(guard_names_init(&n, &given, MAX_GUARD_NAMES + 1, &(struct cordon_err){ 0 }), -1,
	       "too many");
	guard_names_release(&n);
}

/* Of the names that hold a path, the one whose cause is told. */
static void test_causes(void)
{
	static const struct plan_guarded given[] = {
		{ "/w/.git/hooks", CAUSE_SET, "git" },	{ "**/.env", CAUSE_ENTRY, "**/.env" },
		{ "/w/deny", CAUSE_DENY, "/w/deny" },	{ "/w/.git", CAUSE_READ, "/w/.git" },
	};
	static const struct {
		const char *path;
		int by;		/* number of `given`; -1: none */
	} rows[] = {
		{ "/w/.git/hooks/x", 3 }, { "/w/.env", 1 }, { "/w/deny/.env", 2 },
		{ "/w/free", -1 },	  { "/w", 2 },
	};
	struct cordon_err err = { 0 };
	struct guard_names n;

	is_int(guard_names_init(&n, given, ARRAY_SIZE(given), &err), 0, "%s", err.msg);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct guard_name *by = guard_match(&n, str_from(rows[i].path)).by;

		is_int(by ? (long long)by->given : -1, rows[i].by, "%s", rows[i].path);
	}
	guard_names_release(&n);
}

static void test_settling(void)
{
	char top[] = "/tmp/cordon-guard-XXXXXX", link[64], name[80], real[80];
	struct cordon_err err = { 0 };
	struct guard_names n;

	ok(mkdtemp(top) != NULL, "a folder");
	snprintf(link, sizeof(link), "%s/link", top);
	snprintf(name, sizeof(name), "%s/x/.git/hooks", link);
	snprintf(real, sizeof(real), "%s/real/x/.git/hooks", top);
	ok(symlink("real", link) == 0, "a link");
	n = NAMES(name, "**/.env");
	is_int(judge(&n, real), GUARD_FREE, "not known yet");
	is_int(guard_names_settle(&n, &err), 0, "%s", err.msg);
	is_int(judge(&n, real), GUARD_HELD, "where the link leads");
	is_int((long long)n.items[2].given, 0, "for the same reason");
	is_int(judge(&n, name), GUARD_HELD, "where it stood");
	guard_names_release(&n);
	unlink(link);
	rmdir(top);
}

/* Of many names in one folder, those that are links are found. */
static void test_settling_many(void)
{
	char top[] = "/tmp/cordon-guard-XXXXXX", names[40][64], path[128];
	struct plan_guarded given[40] = { { 0 } };
	struct cordon_err err = { 0 };
	struct guard_names n;

	ok(mkdtemp(top) != NULL, "a folder");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(names[i], sizeof(names[i]), "%s/name%zu", top, i);
		given[i].name = names[i];
	}
	ok(symlink("first", names[1]) == 0 && symlink("last", names[37]) == 0, "links");
	is_int(guard_names_init(&n, given, ARRAY_SIZE(given), &err), 0, "%s", err.msg);
	is_int(guard_names_settle(&n, &err), 0, "%s", err.msg);
	is_int((long long)n.n, ARRAY_SIZE(given) + 2, "two more names");
	snprintf(path, sizeof(path), "%s/first", top);
	is_int(judge(&n, path), GUARD_HELD, "where the first link leads");
	snprintf(path, sizeof(path), "%s/last", top);
	is_int(judge(&n, path), GUARD_HELD, "where a later one leads");
	snprintf(path, sizeof(path), "%s/other", top);
	is_int(judge(&n, path), GUARD_FREE, "nothing leads there");
	guard_names_release(&n);
	unlink(names[1]);
	unlink(names[37]);
	rmdir(top);
}

static void test_status_lines(void)
{
	struct str status = STR("Name:\tUid:\t9\nUmask:\t0022\nUid:\t1\t2\t3\t4\nGroups:\t4 24 \n");

	ok(str_is(proc_find_line(status, "Umask:"), "0022"), "umask");
	ok(str_is(proc_find_line(status, "Uid:"), "1\t2\t3\t4"), "only at the start of a line");
	ok(str_is(proc_find_line(status, "Groups:"), "4 24"), "trimmed");
	ok(str_is(proc_find_line(status, "Gid:"), ""), "none");
	ok(str_is(proc_find_line(STR(""), "Gid:"), ""), "no text");
}

static size_t open_descriptors(void)
{
	size_t n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* What can not be a user namespace of ours is an error, and nothing is left. */
static void test_start_fails_cleanly(void)
{
	const struct plan_guarded name = { .name = "/w/x" }, bad = { .name = "x" };
	struct cordon_err err = { 0 };
	struct pollfd fds[N_GUARD_POLLS];
	struct guard *guard = NULL;
	struct guard_options o = { .names = &name, .n_names = 1, .ruleset = -1, .mntns = -1 };
	size_t before;

	before = open_descriptors();
	o.userns = o.listener = open("/dev/null", O_RDONLY | O_CLOEXEC);
	is_int(guard_start(&o, &guard, &err), 0, "%s", err.msg);
	do {
		guard_poll(guard, fds);
		poll(fds, N_GUARD_POLLS, -1);
	} while (guard_work(guard, fds, &err) == 0);
	is_int(err.code, CORDON_E_HOST, "%s", err.msg);
	ok(strstr(err.msg, "user namespace") != NULL, "%s", err.msg);
	guard_stop(guard);
	guard = NULL;
	o.names = &bad;
	o.userns = o.listener = open("/dev/null", O_RDONLY | O_CLOEXEC);
	is_int(guard_start(&o, &guard, &err), -1, "a bad name");
	ok(guard == NULL, "untouched");
	is_int(err.code, CORDON_E_POLICY, "%s", err.msg);
	is_int((long long)open_descriptors(), (long long)before, "descriptors");
	is_int(waitpid(-1, NULL, WNOHANG), -1, "no child");
	guard_stop(NULL);
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_absolute_names),
		TAP(test_names_anywhere),
		TAP(test_patterns),
		TAP(test_what_follows_a_place),
		TAP(test_a_place_leads_to_any_number_of_names),
		TAP(test_folding),
		TAP(test_longest_paths),
		TAP(test_names_that_are_none),
		TAP(test_causes),
		TAP(test_settling),
		TAP(test_settling_many),
		TAP(test_status_lines),
		TAP(test_start_fails_cleanly),
		TAP_END,
	});
}
