/* Files, ceilings, options and defaults become one policy: what `explain` says
 * of it. */
#include "tap.h"

#include <sys/stat.h>

#include "base/macros.h"
#include "cordon.h"

static char top[] = "/tmp/cordon-compose-XXXXXX";

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		abort();
}

static void make_dir(const char *path)
{
	if (mkdir(path, 0755) < 0)
		abort();
}

/* A place of its own: top/p is the project, top/config the user's. */
static void enter(void)
{
	if (!mkdtemp(top) || chdir(top) < 0)
		abort();
	make_dir("p");
	make_dir("p/sub");
	make_dir("config");
	make_dir("config/cordon");
	setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
	setenv("HOME", top, 1);
	if (chdir("p") < 0)
		abort();
}

static const char *named;	/* the policy of explain_with(); NULL: the one that is found */

static void leave(void)
{
	char command[64];

	named = NULL;
	snprintf(command, sizeof(command), "%s", top);
	if (chdir("/") < 0)
		abort();
	if (fork() == 0) {
		execlp("rm", "rm", "-rf", "--", command, (char *)NULL);
		_exit(1);
	}
	wait(NULL);
}

static void use_ceiling(const char *text)
{
	char dir[128];

	write_file("../config/cordon/cordon.toml", text);
	snprintf(dir, sizeof(dir), "%s/config", top);
	setenv("XDG_CONFIG_HOME", dir, 1);
}

/* Runs of blanks become one; the temporary place becomes T; what enforces a
 * value is of the machine, and left out. */
static void squeeze(const char *text, char *out, size_t n)
{
	size_t used = 0;

	while (*text && used + 2 < n) {
		if (strncmp(text, top, strlen(top)) == 0) {
			out[used++] = 'T';
			text += strlen(top);
		} else if (strncmp(text, "  [", 3) == 0 && strchr(text, '\n') &&
			   strchr(text, '\n')[-1] == ']') {
			text = strchr(text, '\n');
		} else if (*text == ' ' && used && out[used - 1] == ' ') {
			text++;
		} else {
			out[used++] = *text++;
		}
	}
	out[used] = '\0';
}

#define SAID	65536
static char said[SAID], why[SAID];

static int explain_with(const struct cordon_setting *settings, size_t n, bool discover)
{
	struct cordon_request req = CORDON_REQUEST;
	struct cordon_answer answer = { 0 };
	struct cordon_err err = { 0 };
	char path[128];
	const char *file = path;
	int rc;

	req.discover = discover;
	if (named) {
		snprintf(path, sizeof(path), "%s/p/%s", top, named);
		req.files = &file;
		req.n_files = 1;
	}
	req.ceilings = true;
	req.settings = settings;
	req.n_settings = n;
	rc = cordon_explain(&req, &answer, &err);
	squeeze(answer.text ? answer.text : "", said, sizeof(said));
	squeeze(answer.problems ? answer.problems : err.msg, why, sizeof(why));
	cordon_answer_release(&answer);
	return rc;
}

#define explain(...)	explain_with((struct cordon_setting[]){ __VA_ARGS__ }, \
				     sizeof((struct cordon_setting[]){ __VA_ARGS__ }) / \
					     sizeof(struct cordon_setting), true)

#define WRITE(p)	{ CORDON_ADD, "files.write", p, "-w" }
#define READ(p)		{ CORDON_ADD, "files.read", p, "-r" }
#define ALLOW(h)	{ CORDON_ADD, "network.allow", h, "--allow-host" }
#define DENY(h)		{ CORDON_ADD, "network.deny", h, "--deny-host" }
#define HOST_PORT(p)	{ CORDON_ADD, "network.host_ports", p, "--host-port" }
#define TLS(v)		{ CORDON_REPLACE, "network.tls", v, "--tls" }
#define TIGHTEN(k, v)	{ CORDON_TIGHTEN, k, v, "--" k }
#define SANDBOX(v)	{ CORDON_REPLACE, "backend", v, "--sandbox" }

/* Lines before "cut:" and behind it. */
static bool has_line(const char *line)
{
	const char *end = strstr(said, "\ncut:");
	const char *at = strstr(said, line);

	return at && (!end || at < end) && (at == said || at[-1] == '\n');
}

static bool has_cut(const char *line)
{
	const char *cuts = strstr(said, "\ncut:");

	return cuts && strstr(cuts, line);
}

#define HAS(line)	ok(has_line(line), "%s in:\n%s\n%s", line, said, why)
#define HAS_NOT(line)	ok(!has_line(line), "no %s in:\n%s\n%s", line, said, why)
#define CUT(line)	ok(has_cut(line), "cut %s in:\n%s\n%s", line, said, why)

static void test_without_anything_the_default_holds(void)
{
	enter();
	is_int(explain_with(NULL, 0, true), 0, "%s", why);
	HAS("profile \"worktree\" default\n");
	HAS("files.write T/p default\n");
	HAS("network.mode \"no-network\" default\n");
	leave();
}

static void test_the_nearest_policy_above_is_found(void)
{
	enter();
	write_file("../cordon.toml", "[limits]\nmemory = \"1G\"\n");
	is_int(explain_with(NULL, 0, true), 0, "%s", why);
	HAS("limits.memory \"1G\" T/cordon.toml:2:10\n");
	write_file("cordon.toml", "[limits]\nmemory = \"2G\"\n");
	is_int(explain_with(NULL, 0, true), 0, "%s", why);
	HAS("limits.memory \"2G\" T/p/cordon.toml:2:10\n");
	is_int(explain_with(NULL, 0, false), 0, "%s", why);
	HAS("limits.memory \"4G\" default\n");
	if (chdir("sub") < 0)
		abort();
	is_int(explain_with(NULL, 0, true), 0, "%s", why);
	HAS("limits.memory \"2G\" T/p/cordon.toml:2:10\n");
	leave();
}

/* Whatever it asks for, it gives no more than the options without it. */
static void test_a_found_policy_narrows(void)
{
	enter();
	write_file("cordon.toml",
		   "profile = \"unrestricted\"\nbackend = \"none\"\nmay_lack = [\"cgroup\"]\n"
		   "[files]\nwrite = [\"sub\", \"~/q\"]\nread = [\"~/.ssh\"]\nprotect = []\n"
		   "deny = [\"secret\"]\nsockets = [\"~/s\"]\n[processes]\ndebug = true\n"
		   "[network]\nmode = \"public\"\ntls = \"name-only\"\nhost_ports = [1]\n"
		   "expose = [2]\nudp_allow = [\"a:1\"]\n[limits]\nmemory = \"64G\"\n"
		   "processes = 7\n[env]\npass = [\"*\"]\nset = { A = \"${B}\" }\n"
		   "[phase.p.network]\nmode = \"allowlist\"\nallow = [\"b\"]\n"
		   "[phase.p.env]\nset = { C = \"D\" }\n");
	is_int(explain_with(NULL, 0, true), 0, "%s", why);
	HAS("profile \"worktree\" default\n");
	HAS("backend \"process\" default\n");
	HAS("may_lack [] ");
	HAS("files.write T/p/sub T/p/cordon.toml:5:10\n");
	HAS_NOT("files.write T/q");
	HAS_NOT("files.write T/p ");
	HAS_NOT("files.read T/.ssh");
	HAS("files.deny T/p/secret ");
	HAS("files.protect git default\n");
	HAS("files.protect shell-rc default\n");
	HAS("files.sockets [] ");
	HAS("processes.debug false default\n");
	HAS("network.mode \"no-network\" default\n");
	HAS("network.tls \"strict\" ");
	HAS("network.host_ports [] ");
	HAS("network.expose [] ");
	HAS("network.udp_allow [] ");
	HAS("limits.memory \"4G\" default\n");
	HAS("limits.processes 7 T/p/cordon.toml:20:13\n");
	HAS_NOT("env.pass * ");
	HAS("env.pass PATH default\n");
	HAS("env.set {} ");
	HAS("phase.p.network.mode \"no-network\" default\n");
	HAS_NOT("phase.p.network.allow");
	HAS("phase.p.env.set {} ");
	CUT("files.read T/.ssh T/p/cordon.toml:6:9 by default, until cordon trust");
	CUT("files.protect without git T/p/cordon.toml:7:11 by default, until cordon trust");
	CUT("phase.p.network.allow b ");
	leave();
}

/* The options are the operator's, with a found policy as without one. */
static void test_options_open_beside_a_found_policy(void)
{
	enter();
	write_file("cordon.toml", "[files]\nwrite = [\".\", \"/a\"]\n[network]\n"
				  "mode = \"allowlist\"\nallow = [\"a.example\", \"b.example\"]\n");
	is_int(explain(ALLOW("b.example"), ALLOW("c.example"), WRITE("/x"),
		       { CORDON_ADD, "env.set", "A=2", "--env" }), 0, "%s", why);
	HAS("network.mode \"allowlist\" ");
	HAS("network.allow b.example ");
	HAS("network.allow c.example --allow-host\n");
	HAS_NOT("network.allow a.example");
	HAS("files.write /x -w\n");
	HAS("files.write T/p default\n");
	HAS_NOT("files.write /a");
	HAS("env.set A=2 --env\n");
	is_int(explain(TIGHTEN("network.mode", "public")), 0, "%s", why);
	HAS("network.allow a.example T/p/cordon.toml:5:10\n");
	write_file("cordon.toml", "[network]\nmode = \"public\"\n");
	is_int(explain(TIGHTEN("network.mode", "public")), 0, "%s", why);
	HAS("network.mode \"public\" ");
	is_int(explain(ALLOW("b.example")), 0, "%s", why);
	HAS("network.mode \"allowlist\" --allow-host\n");
	leave();
}

static int ask_trust(const char *file, enum cordon_trust_act act)
{
	struct cordon_request req = CORDON_REQUEST;
	struct cordon_answer answer = { 0 };
	struct cordon_err err = { 0 };
	int rc;

	req.discover = true;
	req.files = &file;
	req.n_files = file != NULL;
	rc = cordon_trust(&req, act, &answer, &err);
	rc = rc < 0 ? rc : answer.yes;
	squeeze(answer.text ? answer.text : "", said, sizeof(said));
	squeeze(answer.problems ? answer.problems : err.msg, why, sizeof(why));
	cordon_answer_release(&answer);
	return rc;
}

/* Of exactly this path and text. */
static void test_a_trusted_policy_opens(void)
{
	static const char text[] = "[files]\nread = [\"/a\"]\n";

	enter();
	setenv("XDG_STATE_HOME", top, 1);
	is_int(ask_trust(NULL, CORDON_TRUST_ADD), -1, "there is none");
	is_int(ask_trust("other.toml", CORDON_TRUST_ADD), -1, "no run finds it");
	write_file("cordon.toml", text);
	make_dir("sub/.harness");
	write_file("sub/cordon.toml", text);
	is_int(ask_trust("cordon.toml", CORDON_TRUST_ADD), 1, "%s", why);
	is_text(said, "trusted: T/p/cordon.toml (opens /a)\n", "%s", why);
	is_int(explain_with(NULL, 0, true), 0, "%s", why);
	HAS("files.read /a ");
	/* Again from what stands in its place, and not from what lies below. */
	if (chdir("sub") < 0)
		abort();
	is_int(explain_with(NULL, 0, true), 0, "%s", why);
	HAS_NOT("files.read /a ");
	if (chdir("..") < 0)
		abort();
	write_file("cordon.toml", "[files]\nread = [\"/a\"]\n\n");
	is_int(explain_with(NULL, 0, true), 0, "%s", why);
	HAS_NOT("files.read /a ");
	is_int(ask_trust(NULL, CORDON_TRUST_LIST), 1, "%s", why);
	is_text(said, "T/p/cordon.toml (has changed: not trusted)\n", "%s", why);
	write_file("cordon.toml", text);
	is_int(explain_with(NULL, 0, true), 0, "%s", why);
	HAS("files.read /a ");
	/* A record that others could have written is none. */
	if (chmod("../cordon/trust", 0622) < 0)
		abort();
	is_int(explain_with(NULL, 0, true), 0, "%s", why);
	HAS_NOT("files.read /a ");
	is_int(ask_trust(NULL, CORDON_TRUST_REMOVE), -1, "refused");
	if (chmod("../cordon/trust", 0600) < 0)
		abort();
	is_int(ask_trust(NULL, CORDON_TRUST_REMOVE), 1, "%s", why);
	is_int(ask_trust(NULL, CORDON_TRUST_REMOVE), 0, "%s", why);
	is_int(explain_with(NULL, 0, true), 0, "%s", why);
	HAS_NOT("files.read /a ");
	unsetenv("XDG_STATE_HOME");
	leave();
}

static void test_a_policy_that_others_can_write_is_refused(void)
{
	enter();
	write_file("cordon.toml", "[limits]\nmemory = \"1G\"\n");
	if (chmod("cordon.toml", 0666) < 0)
		abort();
	is_int(explain_with(NULL, 0, true), -1, "refused");
	ok(strstr(why,
		  "T/p/cordon.toml: lies in a parent directory and belongs to, or can be written "
		  "by, somebody else; name it with --policy, or use --no-policy"),
	   "%s", why);
	is_int(explain_with(NULL, 0, false), 0, "not looked for");
	if (geteuid() == 0) {
		if (chmod("cordon.toml", 0644) < 0 || chown("cordon.toml", 12345, 12345) < 0)
			abort();
		is_int(explain_with(NULL, 0, true), -1, "another's");
		/* Another's link to a file of ours. */
		if (chown("cordon.toml", 0, 0) < 0 || rename("cordon.toml", "notes") < 0 ||
		    symlink("notes", "cordon.toml") < 0)
			abort();
		is_int(explain_with(NULL, 0, true), 0, "our own link");
		if (lchown("cordon.toml", 12345, 12345) < 0)
			abort();
		is_int(explain_with(NULL, 0, true), -1, "another's link");
	}
	leave();
}

static void test_ceilings_cut_additions(void)
{
	enter();
	use_ceiling("[files]\nwrite = [\"~/p\"]\n[network]\nallow = [\"**.good.example\"]\n"
		    "[limits]\nmemory = \"1G\"\n");
	is_int(explain(WRITE("/elsewhere"), ALLOW("a.good.example"), ALLOW("evil.example")), 0,
	       "%s", why);
	HAS("files.write T/p default\n");
	HAS_NOT("files.write /elsewhere");
	CUT("files.write /elsewhere -w by T/config/cordon/cordon.toml:2:9");
	HAS("network.allow a.good.example --allow-host\n");
	HAS_NOT("network.allow evil.example");
	CUT("network.allow evil.example --allow-host by T/config/cordon/cordon.toml:4:9");
	HAS("limits.memory \"1G\" T/config/cordon/cordon.toml:6:10\n");
	leave();
}

/* What a ceiling permits is not granted by it. */
static void test_ceilings_never_widen(void)
{
	enter();
	use_ceiling("[files]\nwrite = [\"~\"]\n[network]\nmode = \"public\"\n"
		    "[limits]\nmemory = \"64G\"\n[env]\npass = [\"*\"]\n");
	is_int(explain_with(NULL, 0, true), 0, "%s", why);
	HAS("files.write T/p default\n");
	HAS_NOT("files.write T default");
	HAS("network.mode \"no-network\" default\n");
	HAS("limits.memory \"4G\" default\n");
	HAS("env.pass PATH default\n");
	HAS_NOT("env.pass * ");
	leave();
}

/* An allowlist that says no more than hosts is a word about every way out. */
static void test_ceilings_cut_every_way_out(void)
{
	enter();
	write_file("cordon.toml", "[network]\nallow = [\"a.good.example\"]\nhost_ports = [5432]\n"
				  "udp_allow = [\"evil.example:9\"]\ntls = \"name-only\"\n"
				  "[env]\nset = { CI = \"project\" }\n");
	named = "cordon.toml";
	use_ceiling("[network]\nallow = [\"**.good.example\"]\n[env]\nset = { CI = \"mine\" }\n");
	is_int(explain(ALLOW("a.good.example"), HOST_PORT("99")), 0, "%s", why);
	HAS("network.allow a.good.example T/p/cordon.toml:2:10\n");
	HAS("network.host_ports []");
	HAS("network.udp_allow []");
	HAS("network.tls \"strict\" T/config/cordon/cordon.toml:2:9\n");
	CUT("network.host_ports 5432 T/p/cordon.toml:3:15 by T/config/cordon/cordon.toml:2:9");
	CUT("network.host_ports 99 --host-port by T/config/cordon/cordon.toml:2:9");
	CUT("network.udp_allow evil.example:9 T/p/cordon.toml:4:14 by");
	CUT("network.tls \"name-only\" T/p/cordon.toml:5:7 by");
	HAS("env.set CI=mine T/config/cordon/cordon.toml:4:9\n");
	leave();
}

static void test_ways_out_open_the_network(void)
{
	enter();
	is_int(explain(HOST_PORT("5432")), 0, "%s", why);
	HAS("network.mode \"allowlist\" --host-port\n");
	HAS("network.host_ports 5432 --host-port\n");
	write_file("cordon.toml", "[network]\nmode = \"no-network\"\n[phase.p]\n"
				  "[phase.q.network]\nmode = \"public\"\n");
	named = "cordon.toml";
	is_int(explain(HOST_PORT("5432")), 0, "%s", why);
	HAS("network.mode \"allowlist\" --host-port\n");
	HAS("phase.p.network.mode \"allowlist\" --host-port\n");
	HAS("phase.p.network.host_ports 5432 --host-port\n");
	HAS("phase.q.network.mode \"public\" T/p/cordon.toml:5:8\n");
	HAS("phase.q.network.host_ports []");
	is_int(explain(HOST_PORT("5432"), TIGHTEN("network.mode", "no-network")), 0, "%s", why);
	HAS("network.mode \"no-network\" --network.mode\n");
	HAS("network.host_ports []");
	is_int(explain(TLS("name-only"), ALLOW("a")), 0, "%s", why);
	HAS("network.tls \"name-only\" --tls\n");
	leave();
}

static void test_proxies_are_the_operators(void)
{
	enter();
	write_file("cordon.toml", "[network]\nupstream_proxy = \"http://${HOME}@evil.example\"\n");
	is_int(explain_with(NULL, 0, true), 0, "%s", why);
	HAS_NOT("network.upstream_proxy");
	is_int(explain(TIGHTEN("network.mode", "public")), 0, "%s", why);
	HAS_NOT("network.upstream_proxy");
	CUT("network.upstream_proxy \"http://${HOME}@evil.example\" T/p/cordon.toml:2:18 by "
	    "default, until cordon trust");
	write_file("cordon.toml", "[phase.p.network]\nupstream_proxy = \"http://evil.example\"\n");
	is_int(explain_with(NULL, 0, true), 0, "%s", why);
	HAS_NOT("phase.p.network.upstream_proxy");
	named = "cordon.toml";
	is_int(explain_with(NULL, 0, true), 0, "of a file that was named");
	HAS("phase.p.network.upstream_proxy \"http://evil.example\"");
	named = NULL;
	write_file("cordon.toml", "[network]\nallow = [\"a\"]\n");
	use_ceiling("[network]\nupstream_proxy = \"http://proxy.example:3128\"\n");
	is_int(explain_with(NULL, 0, true), 0, "%s", why);
	HAS("network.upstream_proxy \"http://proxy.example:3128\" "
	    "T/config/cordon/cordon.toml:2:18\n");
	leave();
}

static void test_a_ceiling_that_cannot_be_read_stops_everything(void)
{
	enter();
	use_ceiling("nonsense");
	is_int(explain_with(NULL, 0, true), -1, "stopped");
	ok(strstr(why, "T/config/cordon/cordon.toml:1:"), "%s", why);
	leave();
}

static void test_sandbox_replaces(void)
{
	enter();
	make_dir(".harness");
	write_file(".harness/config.toml", "[sandbox]\nenabled = false\n");
	/* What merely lies there does not turn the cordon off. */
	is_int(explain_with(NULL, 0, true), 0, "%s", why);
	HAS("backend \"process\" default\n");
	HAS("profile \"worktree\" default\n");
	CUT("backend \"none\" T/p/.harness/config.toml:1:2 by default, until cordon trust");
	named = ".harness/config.toml";
	is_int(explain_with(NULL, 0, true), 0, "%s", why);
	HAS("backend \"none\" ");
	is_int(explain(SANDBOX("process")), 0, "%s", why);
	HAS("backend \"process\" --sandbox\n");
	HAS("profile \"worktree\" default\n");
	use_ceiling("backend = \"docker\"\n");
	is_int(explain(SANDBOX("none")), 0, "%s", why);
	HAS("backend \"docker\" T/config/cordon/cordon.toml:1:11\n");
	leave();
}

static void test_read_inside_write_protects(void)
{
	enter();
	is_int(explain(READ("sub")), 0, "%s", why);
	HAS("files.protect T/p/sub -r\n");
	HAS("files.protect git default\n");
	HAS_NOT("files.read T/p/sub");
	is_int(explain(READ("/x/y"), WRITE("/x")), 0, "%s", why);
	HAS("files.protect /x/y -r\n");
	is_int(explain(WRITE("/x"), READ("/x/y")), 0, "%s", why);
	HAS("files.protect /x/y -r\n");
	write_file("cordon.toml", "[files]\nread = [\"/x/y\"]\n");
	is_int(explain(WRITE("/x")), 0, "%s", why);
	HAS("files.protect /x/y T/p/cordon.toml:2:9\n");
	HAS("files.write /x -w\n");
	HAS("files.write T/p default\n");
	leave();
}

/* A root that the file names for reading alone is not writable because another
 * one is added. */
static void test_options_do_not_bring_defaults_back(void)
{
	enter();
	write_file("cordon.toml", "[files]\nread = [\".\"]\n");
	is_int(explain(WRITE("/x")), 0, "%s", why);
	HAS("files.write /x -w\n");
	HAS_NOT("files.write T/p");
	HAS("files.read T/p default\n");
	write_file("cordon.toml", "[files]\nwrite = [\"/srv\"]\n");
	is_int(explain(READ("/x")), 0, "%s", why);
	HAS_NOT("files.read T/p");
	HAS("files.read /x -r\n");
	leave();
}

static void test_the_order_of_options_does_not_matter(void)
{
	static const struct cordon_setting all[] = {
		WRITE("/x"),
		READ("/x/y"),
		ALLOW("a.example"),
		DENY("b.example"),
		READ("/r"),
		TIGHTEN("limits.memory", "1G"),
		TIGHTEN("limits.memory", "2G"),
		TIGHTEN("profile", "os_hardened"),
		TIGHTEN("profile", "worktree"),
		SANDBOX("docker"),
		{ CORDON_ADD, "files.protect", "/x/z", "--protect" },
		{ CORDON_ADD, "env.pass", "FOO", "--env" },
		{ CORDON_ADD, "network.deny", "*.c.example", "--deny-host" },
	};
	struct cordon_setting mixed[ARRAY_SIZE(all)];
	static char first[SAID];
	unsigned state = 7;

	enter();
	for (unsigned round = 0; round < 40; round++) {
		char *end;

		memcpy(mixed, all, sizeof(all));
		for (size_t i = ARRAY_SIZE(all); round && i > 1; i--) {
			size_t k = (state = state * 1103515245 + 12345) / 65536 % i;
			struct cordon_setting one = mixed[i - 1];

			mixed[i - 1] = mixed[k];
			mixed[k] = one;
		}
		is_int(explain_with(mixed, ARRAY_SIZE(all), true), 0, "%s", why);
		/* What was cut is told in the order it happened. */
		end = strstr(said, "\ncut:");
		if (end)
			*end = '\0';
		if (!round)
			memcpy(first, said, sizeof(first));
		is_text(said, first, "round %u", round);
	}
	HAS("limits.memory \"1G\" --limits.memory\n");
	HAS("profile \"os_hardened\" --profile\n");
	HAS("files.write /x -w\n");
	leave();
}

static void test_options_hold_in_phases(void)
{
	enter();
	write_file("cordon.toml",
		   "[network]\nallow = [\"a.example\"]\n[env]\nset = { A = \"1\", Z = "
		   "\"26\" }\n[phase.same]\n[phase.closed.network]\nmode = \"no-network\"\n"
		   "[phase.denies.network]\ndeny = [\"x.example\"]\n"
		   "[phase.closed.env]\nstrip = [\"Q\"]\n");
	named = "cordon.toml";
	is_int(explain(DENY("evil.example"), ALLOW("b.example"),
		       { CORDON_ADD, "env.strip", "S", "--strip-env" },
		       { CORDON_ADD, "env.set", "A=2", "--env" },
		       TIGHTEN("limits.memory", "1G")), 0, "%s", why);
	HAS("network.deny evil.example --deny-host\n");
	HAS("phase.same.network.deny evil.example --deny-host\n");
	HAS("phase.closed.network.deny evil.example --deny-host\n");
	HAS("phase.denies.network.deny evil.example --deny-host\n");
	HAS("phase.denies.network.deny x.example T/p/cordon.toml:");
	HAS("phase.same.network.allow b.example --allow-host\n");
	HAS("phase.closed.network.mode \"no-network\" T/p/cordon.toml:");
	HAS("phase.closed.env.strip S --strip-env\n");
	HAS("phase.closed.env.strip Q T/p/cordon.toml:");
	HAS("phase.same.env.set A=2 --env\n");
	HAS("phase.same.env.set Z=26 T/p/cordon.toml:");
	HAS("phase.closed.limits.memory \"1G\" --limits.memory\n");
	leave();
}

static void test_wrong_settings_name_their_option(void)
{
	enter();
	is_int(explain(TIGHTEN("limits.memory", "lots"), ALLOW("*a"), WRITE(" ")), -1, "refused");
	ok(strstr(why, "--limits.memory: 'lots' is not valid") ||
	   strstr(why, "--allow-host: network.allow: '*a'"), "%s", why);
	ok(strstr(why, "-w: a blank entry in files.write"), "%s", why);
	is_int(explain({ CORDON_ADD, "no.field", "x", "--x" }), -1, "refused");
	is_text(why, "--x: 'no.field' is not a field\n", "named");
	leave();
}

/* One setting of each operation, and the line by which `explain` shows that it was applied.
 * An operation without a row does not compile. */
static const struct {
	struct cordon_setting setting;
	const char *line;
} op_rows[] = {
	[CORDON_ADD] = { DENY("b.example"), "network.deny b.example --deny-host\n" },
	[CORDON_TIGHTEN] = { TIGHTEN("limits.memory", "1G"),
			     "limits.memory \"1G\" --limits.memory\n" },
	[CORDON_REPLACE] = { TLS("name-only"), "network.tls \"name-only\" --tls\n" },
	[CORDON_ADD_DOMAIN] = { { CORDON_ADD_DOMAIN, NULL, "a.example", "--allowed-domain" },
				"network.allow **.a.example --allowed-domain\n" },
};
static_assert(sizeof(op_rows) / sizeof(op_rows[0]) == CORDON_N_SETTING_OPS,
	      "an operation without a row");

static const char *const named_policy[] = { "named.toml" };

/* The policy that a setting meets. */
static const struct {
	const char *name;
	bool discover;
	size_t n_files;
} policy_rows[] = {
	{ "found", true, 0 },
	{ "named", false, 1 },
	{ "none", false, 0 },
};

static struct cordon_request request_with(const struct cordon_setting *setting, size_t policy)
{
	struct cordon_request req = CORDON_REQUEST;

	req.discover = policy_rows[policy].discover;
	req.files = named_policy;
	req.n_files = policy_rows[policy].n_files;
	req.settings = setting;
	req.n_settings = 1;
	return req;
}

static int ask(const struct cordon_setting *setting, size_t policy)
{
	struct cordon_request req = request_with(setting, policy);
	struct cordon_answer answer = { 0 };
	struct cordon_err err = { 0 };
	int rc = cordon_explain(&req, &answer, &err);

	squeeze(answer.text ? answer.text : "", said, sizeof(said));
	squeeze(answer.problems ? answer.problems : err.msg, why, sizeof(why));
	cordon_answer_release(&answer);
	return rc;
}

static void test_each_setting_meets_each_policy(void)
{
	enter();
	write_file("cordon.toml", "backend = \"process\"\n[network]\nallow = [\"c.example\"]\n");
	write_file("named.toml", "backend = \"none\"\n[network]\nallow = [\"c.example\"]\n");
	for (size_t p = 0; p < sizeof(policy_rows) / sizeof(policy_rows[0]); p++)
		for (int op = 0; op < CORDON_N_SETTING_OPS; op++) {
			struct cordon_setting keyless = op_rows[op].setting;

			is_int(ask(&op_rows[op].setting, p), 0, "%s policy, operation %d: %s",
			       policy_rows[p].name, op, why);
			HAS(op_rows[op].line);
			keyless.key = NULL;
			is_int(ask(&keyless, p), op == CORDON_ADD_DOMAIN ? 0 : -1,
			       "%s policy, operation %d without a key", policy_rows[p].name, op);
			if (op != CORDON_ADD_DOMAIN)
				ok(strstr(why, "'' is not a field"), "%s", why);
		}
	leave();
}

static void test_an_operation_that_there_is_not_is_refused(void)
{
	struct cordon_setting unknown = { CORDON_N_SETTING_OPS, "limits.memory", "1G", "--memory" };

	enter();
	is_int(explain_with(&unknown, 1, false), -1, "refused");
	is_text(why, "--memory: there is no such operation\n", "said");
	leave();
}

static void test_requests_of_another_version(void)
{
	struct cordon_request req = CORDON_REQUEST;
	struct cordon_answer answer = { 0 };
	struct cordon_err err = { 0 };

	req.size--;
	is_int(cordon_explain(&req, &answer, &err), -1, "refused");
	is_text(err.msg, "the request is of another version of cordon.h", "said");
	is_int(err.code, CORDON_E_USAGE, "code");
	cordon_answer_release(&answer);
}

static void test_options_of_another_version(void)
{
	static const char *const command[] = { "/bin/true", NULL };
	struct cordon_request req = CORDON_REQUEST;
	struct cordon_run_options run = CORDON_RUN_OPTIONS;
	struct cordon_exec_options exec = CORDON_EXEC_OPTIONS;
	struct cordon_answer answer = { 0 };
	struct cordon_err err = { 0 };
	int code;

	req.command = exec.command = command;
	req.n_command = 1;
	run.size++;
	is_int(cordon_run(&req, &run, &code, &answer, &err), -1, "a run is refused");
	is_text(err.msg, "the options are of another version of cordon.h", "said");
	exec.size++;
	is_int(cordon_session_exec("x", &exec, &code, &answer, &err), -1, "a command as well");
	is_text(err.msg, "the options are of another version of cordon.h", "said");
	cordon_answer_release(&answer);
}

static void test_home_and_directory_may_be_missing(void)
{
	enter();
	unsetenv("HOME");
	unsetenv("XDG_CONFIG_HOME");
	is_int(explain_with(NULL, 0, true), 0, "without HOME: %s", why);
	setenv("HOME", "relative", 1);
	is_int(explain_with(NULL, 0, true), 0, "with a relative one: %s", why);
	if (chdir("sub") < 0 || rmdir("../sub") < 0)
		abort();
	is_int(explain_with(NULL, 0, true), -1, "without a directory");
	is_text(why, "cannot tell the current directory: No such file or directory", "said");
	leave();
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_without_anything_the_default_holds),
		TAP(test_the_nearest_policy_above_is_found),
		TAP(test_a_found_policy_narrows),
		TAP(test_options_open_beside_a_found_policy),
		TAP(test_a_trusted_policy_opens),
		TAP(test_a_policy_that_others_can_write_is_refused),
		TAP(test_ceilings_cut_additions), TAP(test_ceilings_never_widen),
		TAP(test_ceilings_cut_every_way_out), TAP(test_ways_out_open_the_network),
		TAP(test_proxies_are_the_operators),
		TAP(test_a_ceiling_that_cannot_be_read_stops_everything),
		TAP(test_sandbox_replaces), TAP(test_read_inside_write_protects),
		TAP(test_options_do_not_bring_defaults_back),
		TAP(test_the_order_of_options_does_not_matter), TAP(test_options_hold_in_phases),
		TAP(test_wrong_settings_name_their_option),
		TAP(test_each_setting_meets_each_policy),
		TAP(test_an_operation_that_there_is_not_is_refused),
		TAP(test_requests_of_another_version),
		TAP(test_options_of_another_version),
		TAP(test_home_and_directory_may_be_missing), TAP_END });
}
