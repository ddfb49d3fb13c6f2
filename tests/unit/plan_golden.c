/* Plans of machines we don't have, byte for byte; see tests/golden/README.md. */
#include "plan/compile.h"

#include <glob.h>

#include "base/fd.h"
#include "policy_read.h"
#include "tap.h"

struct golden {
	const char *policy;
	enum plan_consent consent;
	const char *title;
	const char *home;	/* with the credentials in it, which make a plan long */
};

static const struct golden cases[] = {
	{ "plain", CONSENT_POLICY, "plain", NULL },
	{ "plain", CONSENT_ANY, "plain, CORDON_SANDBOX=warn", NULL },
	{ "plain", CONSENT_BARE, "plain, CORDON_SANDBOX=off", NULL },
	{ "lesser", CONSENT_POLICY, "lesser", NULL },
	{ "lesser", CONSENT_NONE, "lesser, CORDON_SANDBOX=enforce", NULL },
	{ "hardened", CONSENT_ANY, "hardened, CORDON_SANDBOX=warn", NULL },
	{ "public", CONSENT_POLICY, "public", "/nobody" },
	{ "gate", CONSENT_POLICY, "gate", NULL },
	{ "names", CONSENT_POLICY, "names", NULL },
	{ "names", CONSENT_BARE, "names, CORDON_SANDBOX=off", NULL },
	{ "denied", CONSENT_POLICY, "denied", NULL },
	{ "exposed", CONSENT_POLICY, "exposed", NULL },
	{ "blocked", CONSENT_POLICY, "blocked", NULL },
};

static struct str read_text(struct arena *a, const char *name)
{
	const char *path = arena_printf(a, "%s/%s", GOLDEN_DIR, name);
	struct cordon_err err;
	struct str text = STR("");

	ok(fd_read_file(path, MAX_SOURCE_BYTES, a, &text, &err) == 0, "%s", err.msg);
	return text;
}

static void print_case(struct arena *a, const struct golden *g, const struct host_caps *caps,
		       struct buf *out)
{
	static const char *const argv[] = { "make", "test", NULL };
	static const char *const environ_of[] = { "PATH=/usr/bin", "HOME=/nobody", "SECRET=x",
						  NULL };
	static const struct net_reroute reroutes[] = {
		{ .host = { .n = 11, .name = "api.example" }, .port = 443,
		  .addr = { .b = { 127, 0, 0, 1 } }, .to_port = 8443 },
		{ .host = { .n = 11, .name = "api.example" },
		  .addr = { .is_v6 = true, .b = { [15] = 1 } } },
	};
	static struct plan_link links[] = { { "/srv/project", "/src/project" } };
	const char *name = arena_printf(a, "%s.toml", g->policy);
	struct policy p = read_native(a, read_text(a, name).s);
	struct diags diags = DIAGS;
	struct reader r = { .policy = &p, .diags = &diags, .file = "default", .base_dir = "/src",
			    .cwd = "/src/project", .home = "/nobody" };
	struct plan_request req = {
		.argv = argv,
		.environ = environ_of,
		.cwd = "/src/project",
		.home = g->home,
		.live_root = "/run/user/1000/cordon",
		.uid = caps->is_root ? 0 : 1000,
		.gid = caps->is_root ? 0 : 1000,
		.consent = g->consent,
		.reroutes = reroutes,
		.n_reroutes = ARRAY_SIZE(reroutes),
		.links = links,
		.n_links = ARRAY_SIZE(links),
	};
	struct cordon_err err;
	struct plan plan;

	ok(read_defaults(&r) == 0, "defaults");
	diags_release(&diags);
	buf_printf(out, "== %s\n", g->title);
	if (plan_compile(&p, caps, &req, a, &plan, &err) == 0)
		plan_print(&plan, out);
	else
		buf_printf(out, "refused: %s\n", err.msg);
	buf_putc(out, '\n');
}

/* Where nothing is missing, what may be missing makes no difference: such a
 * plan stands there once, with all its titles. */
static void print_plans(struct arena *a, const struct host_caps *caps, struct buf *out)
{
	struct buf before = BUF(1 << 20);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup_buf struct buf one = BUF(1 << 20);
		const char *body, *was;

		print_case(a, &cases[i], caps, &one);
		body = strchr(buf_text(&one), '\n');
		was = before.n ? strchr(buf_text(&before), '\n') : NULL;
		if (was && strcmp(body, was) == 0) {
			buf_printf(out, "== %s\nas before\n\n", cases[i].title);
			continue;
		}
		buf_puts(out, buf_text(&one));
		buf_clear(&before);
		buf_puts(&before, buf_text(&one));
	}
	buf_release(&before);
}

static bool has_line(const char *text, struct str line)
{
	for (struct str rest = str_from(text); rest.n;) {
		size_t n = str_find(rest, '\n');

		if (str_eq(str_first(rest, n), line))
			return true;
		rest = str_from_pos(rest, n < rest.n ? n + 1 : n);
	}
	return false;
}

static void print_others(char sign, const char *of, const char *than, struct buf *out)
{
	for (struct str rest = str_from(of); rest.n;) {
		size_t n = str_find(rest, '\n');
		struct str line = str_first(rest, n);

		if (line.n && !has_line(than, line))
			buf_printf(out, "%c %.*s\n", sign, STR_FMT(line));
		rest = str_from_pos(rest, n < rest.n ? n + 1 : n);
	}
}

/* The lines of each case that differ on the two machines. */
static void print_difference(struct arena *a, const struct host_caps *full,
			     const struct host_caps *caps, struct buf *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup_buf struct buf one = BUF(1 << 20), other = BUF(1 << 20);

		print_case(a, &cases[i], full, &one);
		print_case(a, &cases[i], caps, &other);
		buf_printf(out, "== %s\n", cases[i].title);
		if (strstr(buf_text(&other), "level      full"))
			print_others('-', buf_text(&one), buf_text(&other), out);
		print_others('+', buf_text(&other), buf_text(&one), out);
	}
}

static void write_golden(const char *path, const struct buf *text)
{
	FILE *f = fopen(path, "we");

	ok(f && fputs(buf_text(text), f) >= 0, "%s", path);
	if (f)
		fclose(f);
}

static bool read_caps(struct arena *a, const char *name, struct host_caps *ret)
{
	struct str text = read_text(a, name);
	struct cordon_err err;

	return ok(host_caps_parse(text, ret, &err) == 0, "%s:%u: %s", name, err.line, err.msg);
}

static void check_machine(const char *name)
{
	static const char *const whole[] = { "full", "root", "landlock", "old-landlock",
					       "nothing", NULL };
	cleanup_arena struct arena a = ARENA(256 << 20);
	cleanup_buf struct buf one = BUF(1 << 20), two = BUF(1 << 20);
	bool is_whole = str_is_one_of(str_from(name), whole);
	const char *file = arena_printf(&a, "%s.%s", name, is_whole ? "plans" : "diff");
	struct host_caps full, caps;

	if (!read_caps(&a, "full.caps", &full) ||
	    !read_caps(&a, arena_printf(&a, "%s.caps", name), &caps))
		return;
	if (is_whole) {
		print_plans(&a, &caps, &one);
		print_plans(&a, &caps, &two);
		is_text(buf_text(&two), buf_text(&one), "the same input gives the same bytes");
	} else {
		print_difference(&a, &full, &caps, &one);
	}
	if (getenv("CORDON_GOLDEN"))
		write_golden(arena_printf(&a, GOLDEN_DIR "/%s", file), &one);
	else
		is_text(buf_text(&one), read_text(&a, file).s, "%s", file);
}

static void test_plans_are_the_golden_ones(void)
{
	glob_t found;

	if (!ok(glob(GOLDEN_DIR "/*.caps", 0, NULL, &found) == 0, "machines"))
		return;
	ok(found.gl_pathc >= 10, "%zu machines", found.gl_pathc);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		char *name = strrchr(found.gl_pathv[i], '/') + 1;

		*strrchr(name, '.') = '\0';
		check_machine(name);
	}
	globfree(&found);
}

int main(void)
{
	return tap_run((struct tap_case[]){ TAP(test_plans_are_the_golden_ones), TAP_END });
}
