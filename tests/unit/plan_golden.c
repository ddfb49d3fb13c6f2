/* Plans of machines we don't have, byte for byte; see tests/golden/README.md. */
#include "plan/compile.h"

#include <glob.h>
#include <unistd.h>

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

/* ---- differences -------------------------------------------------------- */

#define MAX_LINES	2000

struct lines {
	struct str line[MAX_LINES];
	size_t n;
};

static void split(const char *text, struct lines *ret)
{
	for (ret->n = 0; *text && ok(ret->n < MAX_LINES - 1, "few lines"); ret->n++) {
		size_t n = strcspn(text, "\n");

		ret->line[ret->n] = (struct str){ text, n };
		text += n + (text[n] == '\n');
	}
}

static bool is_same(struct str a, struct str b)
{
	return a.n == b.n && memcmp(a.s, b.s, a.n) == 0;
}

struct pair {
	struct lines was, is;
	uint16_t common[MAX_LINES * MAX_LINES];
};

/* How many lines both have in common from lines i and k to the end. */
static uint16_t *common_from(struct pair *p, size_t i, size_t k)
{
	return &p->common[i * (p->is.n + 1) + k];
}

static void count_common(struct pair *p)
{
	for (size_t i = p->was.n; i-- > 0;)
		for (size_t k = p->is.n; k-- > 0;)
			*common_from(p, i, k) = is_same(p->was.line[i], p->is.line[k]) ?
						(uint16_t)(*common_from(p, i + 1, k + 1) + 1) :
						MAX(*common_from(p, i + 1, k),
						    *common_from(p, i, k + 1));
}

/* Is line k of the new text one that the old text does not have at line i? */
static bool is_added(struct pair *p, size_t i, size_t k)
{
	return i == p->was.n ||
	       (k < p->is.n && *common_from(p, i, k + 1) > *common_from(p, i + 1, k));
}

/* Prints the lines that only one text has, and above them the title of their case. */
static void print_lines_of_one(struct arena *a, const char *old, const char *new, struct buf *out)
{
	struct pair *p = arena_new(a, 1, sizeof(*p));
	struct str title = STR("");

	if (!ok(p != NULL, "memory"))
		return;
	split(old, &p->was);
	split(new, &p->is);
	count_common(p);
	for (size_t i = 0, k = 0; i < p->was.n || k < p->is.n;) {
		bool added;

		if (i < p->was.n && k < p->is.n && is_same(p->was.line[i], p->is.line[k])) {
			if (strncmp(p->is.line[k].s, "== ", 3) == 0)
				title = p->is.line[k];
			i++, k++;
			continue;
		}
		if (title.n)
			buf_printf(out, "%.*s\n", (int)title.n, title.s);
		title = STR("");
		added = is_added(p, i, k);
		buf_printf(out, "%c%.*s\n", added ? '+' : '-',
			   (int)(added ? p->is.line[k] : p->was.line[i]).n,
			   (added ? p->is.line[k] : p->was.line[i]).s);
		k += added;
		i += !added;
	}
}

/* ---- machines ----------------------------------------------------------- */

static void write_golden(const char *path, const struct buf *text)
{
	FILE *f = fopen(path, "we");

	ok(f && fputs(buf_text(text), f) >= 0, "%s", path);
	if (f)
		fclose(f);
}

/* The plans of one machine; the same input gives the same bytes. */
static bool plans_of(struct arena *a, const char *machine, bool gate, struct buf *out)
{
	const char *path = arena_printf(a, "%s.caps", machine);
	cleanup_buf struct buf again = BUF(1 << 20);
	struct str text = STR("");
	struct cordon_err err;
	struct host_caps caps;

	ok(fd_read_file(path, 1 << 16, a, &text, &err) == 0, "%s", err.msg);
	if (!ok(host_caps_parse(text, &caps, &err) == 0, "%s:%u: %s", path, err.line, err.msg))
		return false;
	print_plans(a, &caps, gate, out);
	print_plans(a, &caps, gate, &again);
	return is_text(buf_text(&again), buf_text(out), "the same input gives the same bytes");
}

/* Replaces plans by how they differ from those of the machine that `diff` begins with. */
static void make_diff(struct arena *a, struct str diff, bool gate, struct buf *plans)
{
	cleanup_buf struct buf others = BUF(1 << 20), out = BUF(1 << 20);
	size_t n = strcspn(diff.s, "\n");
	const char *other;

	if (!ok(strncmp(diff.s, "against ", 8) == 0, "a diff names a machine"))
		return;
	other = arena_printf(a, "%s/%.*s", GOLDEN_DIR, (int)n - 8, diff.s + 8);
	if (!plans_of(a, other, gate, &others))
		return;
	buf_printf(&out, "%.*s\n", (int)n, diff.s);
	print_lines_of_one(a, buf_text(&others), buf_text(plans), &out);
	buf_clear(plans);
	buf_puts(plans, buf_text(&out));
}

static void check_machine(const char *caps_path)
{
	cleanup_arena struct arena a = ARENA(256 << 20);
	cleanup_buf struct buf is = BUF(1 << 20);
	const char *machine = arena_printf(&a, "%.*s", (int)(strlen(caps_path) - 5), caps_path);
	const char *path = arena_printf(&a, "%s.plans", machine);
	bool is_whole = access(path, F_OK) == 0;
	struct str want = STR("");
	struct cordon_err err;
	/* Those are about something else. */
	bool gate = !strstr(caps_path, "/landlock-") && !strstr(caps_path, "/cgroup-");

	if (!is_whole)
		path = arena_printf(&a, "%s.diff", machine);
	ok(fd_read_file(path, MAX_SOURCE_BYTES, &a, &want, &err) == 0, "%s", err.msg);
	if (!plans_of(&a, machine, gate, &is))
		return;
	if (!is_whole)
		make_diff(&a, want, gate, &is);
	if (getenv("CORDON_GOLDEN"))
		write_golden(path, &is);
	else
		is_text(buf_text(&is), want.s, "%s", path);
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
