/* What a verifier wrote: the forms that Harbor takes, and everything that somebody
 * who is not to be trusted may leave in their place. */
#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/limits.h"
#include "own_folder.h"
#include "tap.h"
#include "trial/reward.h"

static struct arena arena = ARENA(MAX_ARENA_BYTES);

static void put(const char *name, const char *text)
{
	struct cordon_err err = { 0 };

	if (!ok(folder_write(place, name, str_from(text), &err) == 0, "%s", err.msg))
		exit(1);
}

/* As JSON, or the problem. */
static const char *read_all(void)
{
	static char said[1024];
	cleanup_buf struct buf out = BUF(1 << 20);
	struct json_out j = { .out = &out };
	struct cordon_err err = { 0 };
	struct rewards r;

	if (reward_read(place, &arena, &r, &err) < 0) {
		is_int(err.code, CORDON_E_PEER, "whose fault it is: %s", err.msg);
		snprintf(said, sizeof(said), "%s", err.msg);
		return said;
	}
	reward_print(&r, &j);
	snprintf(said, sizeof(said), "%s", buf_text(&out));
	return said;
}

static void is_read(const char *name, const char *text, const char *want)
{
	put(name, text);
	is_text(read_all(), want, "%s: %s", name, text);
}

/* The problem has these words. */
static void is_refused(const char *name, const char *text, const char *words)
{
	const char *said;

	put(name, text);
	said = read_all();
	ok(said[0] != '{' && strstr(said, words), "%s: %.60s: %s", name, text, said);
}

#define IS(number)	"{\"reward\":" number "}"

/* Those of Python's float(), which reads reward.txt upstream. */
static void test_numbers_of_a_text(void)
{
	static const struct { const char *text, *want; } cases[] = {
		{ "1", IS("1.0") },		{ "0", IS("0.0") },
		{ "0.5\n", IS("0.5") },		{ "  0.25 \r\n\n", IS("0.25") },
		{ "\t1\v\f", IS("1.0") },	{ "+1", IS("1.0") },
		{ "-1.5", IS("-1.5") },		{ ".5", IS("0.5") },
		{ "5.", IS("5.0") },		{ "007", IS("7.0") },
		{ "1e3", IS("1000.0") },	{ "1E-3", IS("0.001") },
		{ "1.5e+2", IS("150.0") },	{ "1_000", IS("1000.0") },
		{ "1_0.2_5e1_0", IS("102500000000.0") },
		{ "-0", IS("-0.0") },		{ "0.1", IS("0.1") },
		{ "1e-999", IS("0.0") },
		{ "1.7976931348623157e308", IS("1.7976931348623157e+308") },
		{ "0.30000000000000004", IS("0.30000000000000004") },
	};

	begin();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		is_read("reward.txt", cases[i].text, cases[i].want);
}

/* Some of them are numbers to Python, or to strtod(), and none that a result could
 * hold or a verifier should have meant. */
static void test_no_numbers(void)
{
	static const char *const texts[] = {
		"nan", "NaN", "-nan", "inf", "Infinity", "-inf", "1e999", "-1e999", "nan(1)",
		"0x10", "0x1p3", "1,5", "1 2", "1\n0", "1.2.3", "1e", "1e+", "e5", ".", "+", "-",
		"--1", "+-1", "1f", "1e5.0", "_1", "1_", "1__0", "1_.5", "1._5", "1e_5", "1_e5",
		"one", "true", "null", "{}", "{\"reward\": 1}", "\"1\"", "1%", "\xd9\xa1", "1\x01",
	};

	begin();
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		is_refused("reward.txt", texts[i], "reward.txt holds no number");
}

static void test_tables(void)
{
	begin();
	is_read("reward.json", "{\"reward\": 1}", IS("1.0"));
	is_read("reward.json", "{\"a\": 0.5, \"b\": true, \"c\": -3}",
		"{\"a\":0.5,\"b\":1.0,\"c\":-3.0}");
	is_read("reward.json", "{}", "{}");
	is_read("reward.json", "{\"\": 1e-3}", "{\"\":0.001}");
	is_read("reward.json", "{\"a\\u001b\": 9007199254740993}",
		"{\"a\\u001b\":9007199254740992.0}");
	is_refused("reward.json", "1", "reward.json: ");
	is_refused("reward.json", "[1]", "not names with numbers");
	is_refused("reward.json", "null", "reward.json: ");
	is_refused("reward.json", "{\"a\": \"1\"}", "'a' is no number");
	is_refused("reward.json", "{\"a\": null}", "'a' is no number");
	is_refused("reward.json", "{\"a\": {\"b\": 1}}", "'a' is no number");
	is_refused("reward.json", "{\"a\": [1]}", "'a' is no number");
	is_refused("reward.json", "{\"a\": 1, \"a\": 0}", "reward.json: ");
	is_refused("reward.json", "{\"a\": NaN}", "reward.json: ");
	is_refused("reward.json", "{\"a\": Infinity}", "reward.json: ");
	is_refused("reward.json", "{\"a\": 1e999}", "reward.json: ");
	is_refused("reward.json", "{\"a\": 99999999999999999999}", "reward.json: ");
	is_refused("reward.json", "{\"a\": 1", "reward.json: ");
	is_refused("reward.json", "{\"a\": 1} 2", "reward.json: ");
	is_refused("reward.json", "\xff", "reward.json: ");
}

static void test_which_one(void)
{
	begin();
	ok(strstr(read_all(), "wrote no reward"), "neither: %s", read_all());
	is_read("reward.txt", "0.5", IS("0.5"));
	is_read("reward.json", "{\"reward\": 1}", IS("1.0"));
	/* The one that is there is the one, good or not. */
	is_refused("reward.json", "", "reward.json is empty");
	is_refused("reward.json", " \n", "reward.json is empty");
	is_refused("reward.json", "{", "reward.json: ");
	ok(unlinkat(place, "reward.json", 0) == 0, "removed");
	is_refused("reward.txt", "", "reward.txt is empty");
	is_refused("reward.txt", " \n\t", "reward.txt is empty");
}

static void make_huge(const char *name, off_t size)
{
	int fd = openat(place, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	ok(fd >= 0 && ftruncate(fd, size) == 0, "a file with a hole");
	close(fd);
}

static void put_names(unsigned n)
{
	cleanup_buf struct buf out = BUF(MAX_REWARD_BYTES);

	for (unsigned i = 0; i < n; i++)
		buf_printf(&out, "%s\"n%u\": 1", i ? ", " : "{", i);
	buf_putc(&out, '}');
	put("reward.json", buf_text(&out));
}

/* Joining costs the square of it. */
static void test_many_names(void)
{
	begin();
	put_names(MAX_REWARDS);
	ok(strstr(read_all(), "\"n9\":1.0"), "as many as may be: %s", read_all());
	put_names(MAX_REWARDS + 1);
	ok(strstr(read_all(), "has more than 1024 names"), "one more: %s", read_all());
}

static void test_huge(void)
{
	char *deep = malloc(2 * 100000 + 1);

	begin();
	make_huge("reward.txt", MAX_REWARD_BYTES);
	ok(strstr(read_all(), "holds no number"), "as much as may be: %s", read_all());
	make_huge("reward.txt", MAX_REWARD_BYTES + 1);
	ok(strstr(read_all(), "has more than"), "a byte more: %s", read_all());
	make_huge("reward.json", INT64_C(1) << 40);
	ok(strstr(read_all(), "has more than"), "a great many: %s", read_all());
	memset(deep, '[', 100000);
	memset(deep + 100000, ']', 100000);
	deep[200000] = '\0';
	is_refused("reward.json", deep, "reward.json: ");
	free(deep);
	deep = malloc(400001);
	memset(deep, '9', 400000);
	deep[400000] = '\0';
	unlinkat(place, "reward.json", 0);
	is_refused("reward.txt", deep, "holds no number");
	free(deep);
}

static const char *read_made(const char *name)
{
	const char *said = read_all();

	unlinkat(place, name, 0);
	unlinkat(place, name, AT_REMOVEDIR);
	return said;
}

/* What may be in their place, in a folder that is the agent's, too. */
static void test_no_plain_files(void)
{
	static const char *const names[] = { "reward.json", "reward.txt" };

	begin();
	put("elsewhere", "1");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		ok(symlinkat("elsewhere", place, names[i]) == 0, "a link to a number");
		ok(strstr(read_made(names[i]), "cannot be opened"), "is not followed");
		ok(symlinkat("/dev/zero", place, names[i]) == 0, "one that never ends");
		ok(strstr(read_made(names[i]), "cannot be opened"), "is not followed");
		ok(symlinkat("nowhere", place, names[i]) == 0, "one to nothing");
		ok(strstr(read_made(names[i]), "cannot be opened"), "is not nothing");
		ok(mkfifoat(place, names[i], 0666) == 0, "a FIFO");
		ok(strstr(read_made(names[i]), "no plain file"), "is not waited for");
		ok(mkdirat(place, names[i], 0755) == 0, "a folder");
		ok(strstr(read_made(names[i]), "no plain file"), "is none");
	}
	put("reward.txt", "1");
	is_text(read_all(), IS("1.0"), "and the plain one is read");
}

/* ---- of steps ---------------------------------------------------------------------- */

struct step_case {
	const char *steps[3];		/* reward.json each */
	enum task_strategy strategy;
	const char *want;
};

static const char *join(const struct step_case *c)
{
	static char said[1024];
	cleanup_buf struct buf out = BUF(1 << 20);
	struct json_out j = { .out = &out };
	struct cordon_err err = { 0 };
	struct rewards steps[3], all;
	size_t n = 0;

	for (; n < ARRAY_SIZE(c->steps) && c->steps[n]; n++) {
		put("reward.json", c->steps[n]);
		if (reward_read(place, &arena, &steps[n], &err) < 0)
			return "not read";
	}
	if (reward_join(steps, n, c->strategy, &arena, &all, &err) < 0)
		return "not joined";
	reward_print(&all, &j);
	snprintf(said, sizeof(said), "%s", buf_text(&out));
	return said;
}

static void test_joined(void)
{
	static const struct step_case cases[] = {
		{ { "{\"reward\":1}" }, TASK_MEAN, IS("1.0") },
		{ { "{\"reward\":1}", "{\"reward\":0}" }, TASK_MEAN, IS("0.5") },
		{ { "{\"reward\":1}", "{\"reward\":0}" }, TASK_FINAL, IS("0.0") },
		{ { "{\"a\":1}", "{\"b\":3}", "{\"a\":2}" }, TASK_MEAN, "{\"a\":1.0,\"b\":1.0}" },
		{ { "{\"a\":1}", "{\"b\":3}" }, TASK_FINAL, "{\"b\":3.0}" },
		{ { "{\"a\":1}", "{}" }, TASK_FINAL, "{}" },
		{ { NULL }, TASK_MEAN, "{}" },
		{ { NULL }, TASK_FINAL, "{}" },
		/* Too large together. */
		{ { "{\"a\":1e308}", "{\"a\":1e308}" }, TASK_MEAN, "{\"a\":1e+308}" },
	};

	begin();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		is_text(join(&cases[i]), cases[i].want, "case %zu", i);
}

static bool reaches(const char *text, const char *name, double least)
{
	struct task_floor floor = { &(struct str){ name, strlen(name) }, &least, 1 };
	struct cordon_err err = { 0 };
	struct rewards r;

	put("reward.json", text);
	return reward_read(place, &arena, &r, &err) == 0 && reward_reaches(&r, &floor);
}

static void test_floors(void)
{
	struct cordon_err err = { 0 };
	struct rewards r;

	begin();
	ok(reaches("{\"reward\":0.5}", "reward", 0.5), "just as much");
	ok(!reaches("{\"reward\":0.49}", "reward", 0.5), "less");
	ok(!reaches("{\"reward\":1}", "other", 0), "of another name");
	ok(!reaches("{}", "reward", -1), "none at all");
	ok(reward_read(place, &arena, &r, &err) == 0 &&
	   reward_reaches(&r, &(struct task_floor){ 0 }), "nothing is asked for");
}

int main(void)
{
	return tap_run((struct tap_case[]){ TAP(test_numbers_of_a_text), TAP(test_no_numbers),
					    TAP(test_tables), TAP(test_which_one), TAP(test_huge),
					    TAP(test_many_names),
					    TAP(test_no_plain_files), TAP(test_joined),
					    TAP(test_floors), TAP_END });
}
