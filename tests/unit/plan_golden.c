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
	bool gate;		/* told of machines that differ in this */
};

static const struct golden cases[] = {
	{ "plain", CONSENT_POLICY, "plain", NULL, false },
	{ "plain", CONSENT_ANY, "plain, CORDON_SANDBOX=warn", NULL, false },
	{ "plain", CONSENT_BARE, "plain, CORDON_SANDBOX=off", NULL, false },
	{ "lesser", CONSENT_POLICY, "lesser", NULL, false },
	{ "lesser", CONSENT_NONE, "lesser, CORDON_SANDBOX=enforce", NULL, false },
	{ "hardened", CONSENT_ANY, "hardened, CORDON_SANDBOX=warn", NULL, false },
	{ "public", CONSENT_POLICY, "public", "/nobody", false },
	{ "gate", CONSENT_POLICY, "gate", NULL, true },
	{ "names", CONSENT_POLICY, "names", NULL, true },
	{ "names", CONSENT_ANY, "names, CORDON_SANDBOX=warn", NULL, true },
	{ "names", CONSENT_BARE, "names, CORDON_SANDBOX=off", NULL, true },
	{ "denied", CONSENT_POLICY, "denied", NULL, true },
	{ "exposed", CONSENT_POLICY, "exposed", NULL, true },
	{ "blocked", CONSENT_POLICY, "blocked", NULL, true },
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
static void print_plans(struct arena *a, const struct host_caps *caps, bool gate, struct buf *out)
{
	struct buf before = BUF(1 << 20);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup_buf struct buf one = BUF(1 << 20);
		const char *body, *was;

		if (cases[i].gate && !gate)
			continue;
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

static void write_golden(const char *path, const struct buf *text)
{
	FILE *f = fopen(path, "we");

	ok(f && fputs(buf_text(text), f) >= 0, "%s", path);
	if (f)
		fclose(f);
}

static void check_machine(const char *caps_path)
{
	cleanup_arena struct arena a = ARENA(256 << 20);
	cleanup_buf struct buf one = BUF(1 << 20), two = BUF(1 << 20);
	size_t n = strlen(caps_path) - strlen(".caps");
	const char *path = arena_printf(&a, "%.*s.plans", (int)n, caps_path);
	struct str text = STR(""), want = STR("");
	struct cordon_err err;
	struct host_caps caps;
	/* Those are about something else. */
	bool gate = !strstr(caps_path, "/landlock-") && !strstr(caps_path, "/cgroup-");

	ok(fd_read_file(caps_path, 1 << 16, &a, &text, &err) == 0, "%s", err.msg);
	if (!ok(host_caps_parse(text, &caps, &err) == 0, "%s:%u: %s", caps_path, err.line, err.msg))
		return;
	print_plans(&a, &caps, gate, &one);
	print_plans(&a, &caps, gate, &two);
	is_text(buf_text(&two), buf_text(&one), "the same input gives the same bytes");
	if (getenv("CORDON_GOLDEN")) {
		write_golden(path, &one);
		return;
	}
	ok(fd_read_file(path, MAX_SOURCE_BYTES, &a, &want, &err) == 0, "%s", err.msg);
	is_text(buf_text(&one), want.s, "%s", path);
}

static void test_plans_are_the_golden_ones(void)
{
	glob_t found;

	if (!ok(glob(GOLDEN_DIR "/*.caps", 0, NULL, &found) == 0, "machines"))
		return;
	ok(found.gl_pathc >= 10, "%zu machines", found.gl_pathc);
	for (size_t i = 0; i < found.gl_pathc; i++)
		check_machine(found.gl_pathv[i]);
	globfree(&found);
}

int main(void)
{
	return tap_run((struct tap_case[]){ TAP(test_plans_are_the_golden_ones), TAP_END });
}
