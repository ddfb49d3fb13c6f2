/* Paths as text and resolved; texts for people. */
#include "tap.h"

#include <limits.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/path.h"

static void test_normal(void)
{
	static const char *const rows[][2] = {
		{ "/", "/" },	       { "//", "/" },	       { "/..", "/" },
		{ "/../../a", "/a" },  { "/a/", "/a" },	       { "/a//b/./c", "/a/b/c" },
		{ "/a/b/../..", "/" }, { "x", "/base/x" },     { ".", "/base" },
		{ "..", "/" },	       { "../..", "/" },       { "a/../b", "/base/b" },
		{ "/...", "/..." },    { "/a/..b", "/a/..b" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_arena struct arena a = ARENA(1 << 20);

		is_text(path_normal(&a, str_from(rows[i][0]), "/base"), rows[i][1], "%s",
			rows[i][0]);
	}
}

static void test_within(void)
{
	ok(path_within("/a", "/a") && path_within("/a/b", "/a") && path_within("/a", "/"),
	   "inside");
	ok(path_within("/", "/"), "the top in itself");
	ok(!path_within("/ab", "/a") && !path_within("/", "/a") && !path_within("/b", "/a"), "not");
	ok(!path_within("/a", "/a/b") && !path_within("/a/bc", "/a/b"), "nor above, nor beside");
}

static void test_join(void)
{
	cleanup_arena struct arena a = ARENA(1 << 20);

	is_text(path_join(&a, "/a", "b/c"), "/a/b/c", "in a folder");
	is_text(path_join(&a, "/", "b"), "/b", "in the top");
	is_text(path_join(&a, "/a", ""), "/a/", "nothing");
}

/* What fits into the room, and what needs a block, side by side. */
static void test_printed(void)
{
	struct arena_room room = { 0 };
	cleanup_arena struct arena a = ARENA_IN(&room, 1 << 20);
	const char *texts[64];
	char want[2048];

	for (int i = 0; i < 64; i++)
		texts[i] = arena_printf(&a, "%d:%0*d", i, i * 31, 0);
	for (int i = 0; i < 64; i++) {
		snprintf(want, sizeof(want), "%d:%0*d", i, i * 31, 0);
		is_text(texts[i], want, "text %d", i);
	}
	ok(((uintptr_t)arena_new(&a, 1, 1) & 15) == 0, "aligned behind it");
}

static void make_dir(const char *path)
{
	if (mkdir(path, 0700) < 0)
		abort();
}

static void make_link(const char *target, const char *path)
{
	if (symlink(target, path) < 0)
		abort();
}

static void test_resolve(void)
{
	static const char *const rows[][2] = {
		{ "d", "T/d" }, { "l", "T/d" }, { "l/sub", "T/d/sub" }, { "l/..", "T" },
		{ "l/sub/../new", "T/d/new" }, { "deep", "T/d/sub" }, { "deep/..", "T/d" },
		{ "none", "T/none" }, { "none/../l", "T/d" }, { "none/x/../../l/y", "T/d/y" },
		{ "none/l", "T/none/l" }, { "none/..//none2/l", "T/none2/l" },
		{ "file/l", "T/file/l" }, { "file/../l", "T/d" }, { "dangling/x", "T/nothing/x" },
		{ "dangling/../l", "T/d" }, { "n/../longer-than-n/l", "T/d/sub" },
		{ "longer-than-n/l", "T/d/sub" },
	};
	char top[] = "/tmp/cordon-path-XXXXXX";
	cleanup_arena struct arena a = ARENA(1 << 20);
	struct cordon_err err;
	const char *got;
	char real[PATH_MAX];

	if (!mkdtemp(top) || chdir(top) < 0)
		abort();
	make_dir("d");
	make_dir("d/sub");
	make_dir("longer-than-n");
	make_link("../d/sub", "longer-than-n/l");
	make_link("d", "l");
	make_link("l/sub", "deep");
	make_link("nothing", "dangling");
	make_link("loop", "loop");
	fclose(fopen("file", "we"));
	if (!realpath(top, real))
		abort();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *want = arena_printf(&a, "%s%s", real, rows[i][1] + 1);

		ok(path_resolve(&a, str_from(rows[i][0]), top, &got, &err) == 0, "%s", rows[i][0]);
		is_text(got, want, "%s", rows[i][0]);
	}
	got = "untouched";
	ok(path_resolve(&a, STR("loop"), top, &got, &err) < 0, "a loop");
	is_text(got, "untouched", "stores nothing");
	ok(strstr(err.msg, "too many symbolic links in '"), "%s", err.msg);
	ok(unlink("file") == 0 && unlink("loop") == 0 && unlink("dangling") == 0 &&
	   unlink("deep") == 0 && unlink("l") == 0 && unlink("longer-than-n/l") == 0 &&
	   rmdir("longer-than-n") == 0 && rmdir("d/sub") == 0 && rmdir("d") == 0 && rmdir(top) == 0,
	   "clean");
}

static int add_name(void *data, const char *path, struct cordon_err *err)
{
	struct buf *names = data;

	buf_printf(names, "%s ", strrchr(path, '/') + 1);
	return strcmp(strrchr(path, '/'), "/stop") == 0 ? err_set(err, CORDON_E_BUG, "stop") : 0;
}

static int add_back(void *data, const char *path, struct cordon_err *err)
{
	buf_printf(data, "-%s ", strrchr(path, '/') + 1);
	return strcmp(strrchr(path, '/'), "/halt") == 0 ? err_set(err, CORDON_E_BUG, "halt") : 0;
}

static void check_follow_ends(struct arena *a, const char *folder)
{
	cleanup_buf struct buf names = BUF(256);
	const struct path_visitor v = { add_name, add_back, &names };
	struct cordon_err err;

	ok(path_follow_all(a, STR("stop"), folder, &v, &err) < 0 &&
	   err.code == CORDON_E_BUG, "stops where it is told to");
	ok(path_follow_all(a, STR("halt/.."), folder, &v, &err) < 0 &&
	   err.code == CORDON_E_BUG, "also by the other");
	ok(path_follow_all(a, STR("loop"), folder, &v, &err) < 0 &&
	   err.code == CORDON_E_POLICY, "a loop");
}

/* Each name of a path in turn, and those that are taken back with a dash before them. */
static void test_follow(void)
{
	static const char *const rows[][2] = {
		{ "d/f", "f " },
		{ "gone/f", "f " },
		{ "two", "two l d " },
		{ "l/f", "f f " },
		{ ".//l///f//", "f f " },
		{ "none", "none gone " },
		{ "far", "far d " },
		{ "d/up", "up x x x " },
		{ "x/../d", "-x d " },
		{ "gone/.././/d/", "-gone d " },
		{ "l/../d", "-l -d d " },
		{ "two/../d/sub", "-two -l -d sub " },
		{ "d/sub/../../l", "-sub -d l d " },
		{ "back", "back -deep -sub f " },
		{ "l/sub/../f", "f -sub f " },
		{ "d/up/../f", "-up f f -x f " },
	};
	static const char *const made[] = { "loop", "back", "deep", "none", "far", "d/up", "two",
					    "l", "d/sub", "d" };
	char top[] = "/tmp/cordon-path-XXXXXX", real[PATH_MAX];
	cleanup_arena struct arena a = ARENA(1 << 20);
	struct cordon_err err;

	if (!mkdtemp(top) || chdir(top) < 0 || !realpath(top, real))
		abort();
	make_dir("d");
	make_dir("d/sub");
	make_link("d", "l");
	make_link("l", "two");
	make_link("../two/x", "d/up");
	make_link(arena_printf(&a, "%s/d", real), "far");
	make_link("gone", "none");
	make_link("d/sub", "deep");
	make_link("deep/../f", "back");
	make_link("loop", "loop");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_buf struct buf names = BUF(256);
		const struct path_visitor v = { add_name, add_back, &names };
		const char *path = arena_printf(&a, "%s/%s", real, rows[i][0]);

		ok(path_follow_all(&a, str_from(path), "/", &v, &err) == 0, "%s", rows[i][0]);
		is_text(buf_text(&names), rows[i][1], "%s", rows[i][0]);
		buf_clear(&names);
		/* The folder that it begins in is no part of it. */
		path = arena_printf(&a, "../%s", rows[i][0]);
		ok(path_follow_all(&a, str_from(path), arena_printf(&a, "%s/far", real), &v,
				   &err) == 0, "%s", path);
		is_text(buf_text(&names), rows[i][1], "%s", path);
	}
	check_follow_ends(&a, real);
	for (size_t i = 0; i < ARRAY_SIZE(made); i++)
		ok(remove(made[i]) == 0, "%s is gone", made[i]);
	ok(rmdir(top) == 0, "clean");
}

static void test_plain(void)
{
	static const char *const rows[][2] = {
		{ "", "" }, { "a b", "a b" }, { "ü", "ü" }, { "\033[2J", "\\x1b[2J" },
		{ "a\nb\tc\rd", "a\\nb\\tc\\x0dd" }, { "\x7f", "\\x7f" }, { "\xc2\x9b", "\\x9b" },
		{ "\xff\xfe", "\\xff\\xfe" }, { "\xe2\x80\xae", "\\u202e" }, { "\xf0\x9f\x98\x80",
		"\xf0\x9f\x98\x80" }, { "\xed\xa0\x80", "\\xed\\xa0\\x80" }, { "%s%n", "%s%n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_buf struct buf out = BUF(64);

		buf_put_plain(&out, str_from(rows[i][0]));
		is_text(buf_text(&out), rows[i][1], "row %zu", i);
	}
}

int main(void)
{
	return tap_run((struct tap_case[]){ TAP(test_normal), TAP(test_within), TAP(test_join),
					    TAP(test_printed), TAP(test_resolve), TAP(test_follow),
					    TAP(test_plain), TAP_END });
}
