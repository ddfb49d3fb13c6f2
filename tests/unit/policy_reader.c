/* Reading cordon.toml: each kind of field, good and wrong, with its message. */
#include "tap.h"

#include <sys/stat.h>

#include "policy_read.h"

struct wrong {
	const char *text;
	const char *said;	/* all of it */
};

static void check_wrong(const struct wrong *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		cleanup_buf struct buf said = BUF(1 << 16);

		is_text(problems(rows[i].text, &said), rows[i].said, "%s", rows[i].text);
	}
}

#define NETWORK	"[network]\n"
#define FILES	"[files]\n"
#define LIMITS	"[limits]\n"
#define ENV	"[env]\n"

static void test_words(void)
{
	static const struct wrong rows[] = {
		{ "profile = \"worktree\"", "" },
		{ "profile = \"worktre\"",
		  "f:1:11: 'worktre' is not known for profile; did you mean 'worktree'? "
		  "(unrestricted, worktree, wasi, os_hardened)\n" },
		{ "profile = \"\"",
		  "f:1:11: '' is not known for profile; write one of unrestricted, "
		  "worktree, wasi, os_hardened\n" },
		{ "backend = \"kubernetes\"",
		  "f:1:11: 'kubernetes' is not known for backend; write one of none, process, "
		  "docker\n" },
		{ "profile = 3", "f:1:11: profile is a whole number; write a profile\n" },
		{ "profile = [\"wasi\"]", "f:1:11: profile is an array; write a profile\n" },
		{ "profile = \"Worktree\"",
		  "f:1:11: 'Worktree' is not known for profile; did you mean 'worktree'? "
		  "(unrestricted, worktree, wasi, os_hardened)\n" },
		{ NETWORK "mode = \"none\"",
		  "f:2:8: 'none' is not known for network.mode; write one of public, allowlist, "
		  "no-network\n" },
	};

	check_wrong(rows, ARRAY_SIZE(rows));
}

static void test_numbers(void)
{
	static const struct wrong rows[] = {
		{ LIMITS "memory = \"512M\"\ntimeout = 10\ncpus = \"none\"\nprocesses = \"7\"",
		  "" },
		{ LIMITS "memory = \"512MB\"",
		  "f:2:10: '512MB' is not valid for limits.memory; write "
		  "a size such as \"512M\", or \"none\"\n" },
		{ LIMITS "memory = 0",
		  "f:2:10: '0' is not valid for limits.memory; write a size such "
		  "as \"512M\", or \"none\"\n" },
		{ LIMITS "memory = -1", "f:2:10: '-1' is not valid for limits.memory; write a size "
					"such as \"512M\", or \"none\"\n" },
		{ LIMITS "memory = 1.5", "f:2:10: limits.memory is a fraction; write a size such "
					 "as \"512M\", or \"none\"\n" },
		{ LIMITS "memory = true",
		  "f:2:10: limits.memory is true or false; write a size such as "
		  "\"512M\", or \"none\"\n" },
		{ LIMITS "cpus = \"2K\"", "f:2:8: '2K' is not valid for limits.cpus; write a whole "
					  "number of at least 1, or \"none\"\n" },
		{ LIMITS "cpus = 9223372036854775807",
		  "f:2:8: '9223372036854775807' is not valid for limits.cpus; write a whole number "
		  "of at least 1, or \"none\"\n" },
		{ LIMITS "timeout = \"1d\"",
		  "f:2:11: '1d' is not valid for limits.timeout; write a "
		  "duration such as \"10m\", or \"none\"\n" },
		{ LIMITS "disk = \"9999999999G\"", "f:2:8: '9999999999G' is not valid for "
						   "limits.disk; write a size such as \"512M\", "
						   "or \"none\"\n" },
	};

	check_wrong(rows, ARRAY_SIZE(rows));
}

/* What could be a secret is not repeated. */
static void test_network(void)
{
	static const struct wrong rows[] = {
		{ NETWORK "tls = \"strict\"\nconnections = 5000", "" },
		{ NETWORK "tls = \"loose\"",
		  "f:2:7: 'loose' is not known for network.tls; write one of name-only, strict\n" },
		{ NETWORK "connections = 5001",
		  "f:2:15: '5001' is not valid for network.connections; write a whole number "
		  "from 1 to 5000\n" },
		{ NETWORK "connections = \"none\"",
		  "f:2:15: network.connections is a string; write a whole number from 1 to "
		  "5000\n" },
		{ NETWORK "upstream_proxy = \"http://p.example:3128\"", "" },
		{ NETWORK "upstream_proxy = \"http://p.example/\"", "" },
		{ NETWORK "upstream_proxy = \"http://[2001:db8::1]:3128\"", "" },
		{ NETWORK "upstream_proxy = \"http://${U}:${P_2}@p.example:3128\"", "" },
		{ NETWORK "upstream_proxy = \"http://${U}@p.example:3128\"", "" },
		{ NETWORK "upstream_proxy = \"${HTTPS_PROXY}\"", "" },
		{ NETWORK "upstream_proxy = \"none\"", "" },
#define CREDENTIALS "f:2:18: network.upstream_proxy holds credentials: keep them in variables of " \
		    "the caller and write http://${USER}:${PASSWORD}@HOST:PORT\n"
		{ NETWORK "upstream_proxy = \"http://me:sesame@p.example\"", CREDENTIALS },
		{ NETWORK "upstream_proxy = \"http://sesame@p.example\"", CREDENTIALS },
		{ NETWORK "upstream_proxy = \"http://${U}:sesame@p.example\"", CREDENTIALS },
		{ NETWORK "upstream_proxy = \"http://${U}sesame@p.example\"", CREDENTIALS },
		{ NETWORK "upstream_proxy = \"http://${U:-sesame}@p.example\"", CREDENTIALS },
		{ NETWORK "upstream_proxy = \"http://a@b:sesame@p.example\"", CREDENTIALS },
#define NO_PROXY "f:2:18: network.upstream_proxy is no http:// proxy: write http://HOST:PORT or " \
		 "${NAME}\n"
		{ NETWORK "upstream_proxy = \"https://p.example\"", NO_PROXY },
		{ NETWORK "upstream_proxy = \"p.example:3128\"", NO_PROXY },
		{ NETWORK "upstream_proxy = \"${A}${B}\"", NO_PROXY },
		{ NETWORK "upstream_proxy = \"${1A}\"", NO_PROXY },
		{ NETWORK "upstream_proxy = \"${}\"", NO_PROXY },
		{ NETWORK "upstream_proxy = \"http://p.example/x\"",
		  "f:2:18: network.upstream_proxy is no proxy: write http://HOST:PORT\n" },
		{ NETWORK "upstream_proxy = \"http://\"",
		  "f:2:18: network.upstream_proxy is no proxy: write http://HOST:PORT\n" },
		{ NETWORK "upstream_proxy = \"http://p..example:1\"",
		  "f:2:18: network.upstream_proxy names no host and port behind http://\n" },
		{ NETWORK "upstream_proxy = \"http://${HOST}:1\"",
		  "f:2:18: network.upstream_proxy names no host and port behind http://\n" },
		{ NETWORK "upstream_proxy = \" \"",
		  "f:2:18: network.upstream_proxy is blank; write a text or remove it\n" },
	};

	check_wrong(rows, ARRAY_SIZE(rows));
}

static void test_lists(void)
{
	static const struct wrong rows[] = {
		{ "require = [\"cgroup\"]\nmay_lack = []", "" },
		{ "require = \"net\"",
		  "f:1:11: require is a string; write a list of protections\n" },
		{ "require = [\"network\"]",
		  "f:1:12: 'network' is not known for require; write one of "
		  "namespaces, landlock, cgroup\n" },
		{ "require = [1]",
		  "f:1:12: require is a whole number; write a list of protections\n" },
		{ "require = [\"\"]", "f:1:12: a blank entry in require; remove it\n" },
		{ "require = [\" \\t\"]", "f:1:12: a blank entry in require; remove it\n" },
		{ FILES "presets = [\"user_tmp\"]",
		  "f:2:12: 'user_tmp' is not known for files.presets; did you mean 'user_temp'? "
		  "(system_runtime, developer_toolchains, package_manager_config, user_temp)\n" },
		{ FILES "protect = [\"gti\"]",
		  "f:2:12: 'gti' is not known for files.protect; did you mean 'git'? (git, "
		  "agent-config, shell-rc)\n" },
		{ NETWORK "expose = [1, 65535]", "" },
		{ NETWORK "expose = [0, 65536, -1]",
		  "f:2:11: '0' in network.expose is no port; write 1 to 65535\n"
		  "f:2:14: '65536' in network.expose is no port; write 1 to 65535\n"
		  "f:2:21: '-1' in network.expose is no port; write 1 to 65535\n" },
		{ NETWORK "expose = [\"80\"]",
		  "f:2:11: network.expose is a string; write a list of "
		  "ports such as [8080]\n" },
		{ NETWORK "udp_allow = [\"a.example:123\", \"10.0.0.1:9\", \"[2001:db8::1]:9\"]",
		  "" },
		{ NETWORK "udp_allow = [\"a.example\", \"*.b:1\", \"10.0.0.0/8:1\", \"c:1-2\"]",
		  "f:2:14: network.udp_allow: 'a.example' is not one host with one port; write "
		  "HOST:PORT\n"
		  "f:2:27: network.udp_allow: '*.b:1' is not one host with one port; write "
		  "HOST:PORT\n"
		  "f:2:36: network.udp_allow: '10.0.0.0/8:1' is not one host with one port; write "
		  "HOST:PORT\n"
		  "f:2:52: network.udp_allow: 'c:1-2' is not one host with one port; write "
		  "HOST:PORT\n" },
		{ NETWORK "udp_allow = [\"8.8.8.8:53\"]",
		  "f:2:14: network.udp_allow: '8.8.8.8:53' can never match, since questions to "
		  "port 53 are answered by the cordon; remove it\n" },
		{ NETWORK "allow = [\"a.example\", \"\", \"*a\"]",
		  "f:2:23: a blank entry in network.allow; remove it\n"
		  "f:2:27: network.allow: '*a' has a star in the wrong place: only *, *.NAME and "
		  "**.NAME have one\n" },
		{ ENV "pass = [\"A\", \"B*\", \"*\"]\nstrip = [\"*_TOKEN\"]", "" },
		{ ENV "pass = [\"*A\"]",
		  "f:2:9: '*A' in env.pass is no variable's name; write NAME or "
		  "PREFIX*\n" },
		{ ENV "pass = [\"1A\"]",
		  "f:2:9: '1A' in env.pass is no variable's name; write NAME or "
		  "PREFIX*\n" },
		{ ENV "pass = [\"A=B\"]",
		  "f:2:9: 'A=B' in env.pass is no variable's name; write NAME "
		  "or PREFIX*\n" },
		{ ENV "strip = [\"A-B\"]",
		  "f:2:10: 'A-B' in env.strip is no variable's name; write "
		  "letters, digits, _ and *\n" },
		{ ENV "set = { A = \"1\" }", "" },
		{ ENV "set = { A = 1 }", "f:2:13: env.set is a whole number; write a string\n" },
		{ ENV "set = [\"A=1\"]", "f:2:7: env.set is an array; write a table of names and "
					 "texts\n" },
		{ ENV "set = { \"A B\" = \"1\" }", "f:2:9: 'A B' in env.set is no variable's name; "
						   "write letters, digits and _\n" },
	};

	check_wrong(rows, ARRAY_SIZE(rows));
}

static void test_keys_and_tables(void)
{
	static const struct wrong rows[] = {
		{ "profil = \"wasi\"", "f:1:1: unknown key 'profil'; did you mean 'profile'?\n" },
		{ "zzzzzzzzzzzz = 1", "f:1:1: unknown key 'zzzzzzzzzzzz'; remove it\n" },
		{ FILES "wirte = []",
		  "f:2:1: unknown key 'wirte' in [files]; did you mean 'write'?\n" },
		{ "files = 3", "f:1:9: files is a whole number; write a table\n" },
		{ "[phase.p.files]\nwrite = []", "f:1:10: unknown key 'files'; remove it\n" },
		{ "[phase.p]\nprofile = \"wasi\"", "f:2:1: unknown key 'profile'; remove it\n" },
		{ "[phase.p.network]\nmod = \"public\"",
		  "f:2:1: unknown key 'mod' in [phase.NAME.network]; did you mean 'mode'?\n" },
		{ "phase = 1", "f:1:9: phase is a whole number; write a table\n" },
		{ "[phase]\np = 1", "f:2:5: a phase is a whole number; write a table\n" },
		{ "[phase.\" \"]", "f:1:8: a phase without a name; write [phase.NAME]\n" },
		{ "\"network.mode\" = \"public\"",
		  "f:1:1: unknown key 'network.mode'; remove it\n" },
		{ "profile = \"x\"\nbackend = 1\n[files]\nwrit = 1\n",
		  "f:1:11: 'x' is not known for profile; write one of unrestricted, worktree, "
		  "wasi, "
		  "os_hardened\n"
		  "f:2:11: backend is a whole number; write a backend\n"
		  "f:4:1: unknown key 'writ' in [files]; did you mean 'write'?\n" },
		{ "a = 1\na = 2", "f:2:1: the key 'a' is written twice; remove one\n" },
	};

	/* The last is the TOML reader's own; only its place is fixed here. */
	check_wrong(rows, ARRAY_SIZE(rows) - 1);
	{
		cleanup_buf struct buf said = BUF(1 << 16);

		ok(strncmp(problems(rows[ARRAY_SIZE(rows) - 1].text, &said), "f:2:1: ", 7) == 0,
		   "%s", buf_text(&said));
	}
}

static void test_paths(void)
{
	static const struct wrong rows[] = {
		{ FILES "read = [\"/a/*\"]",
		  "f:2:9: '/a/*' in files.read holds a '*'; write a directory or file\n" },
		{ FILES "read = [\"~other/x\"]",
		  "f:2:9: '~other/x' names another user's home; write its path\n" },
		{ FILES "deny = [\" ~/.ssh\"]",
		  "f:2:9: ' ~/.ssh' begins with a space; remove it\n" },
		{ FILES "deny = [\"**/\"]", "f:2:9: '**/' can never match; write '**/NAME'\n" },
		{ FILES "deny = [\"**/a/../b\"]",
		  "f:2:9: '**/a/../b' can never match; write '**/NAME'\n" },
		{ FILES "deny = [\"**/a//b\"]",
		  "f:2:9: '**/a//b' can never match; write '**/NAME'\n" },
		{ FILES "deny = [\"**/id_?sa\"]",
		  "f:2:9: '**/id_?sa' holds '?', which is a letter of a name here; * is all that "
		  "patterns have: write an entry for each name\n" },
		{ FILES "deny = [\"/etc/*.{pem,key}\"]",
		  "f:2:9: '/etc/*.{pem,key}' holds '{', which is a letter of a name here; * is all "
		  "that patterns have: write an entry for each name\n" },
		{ FILES "protect = [\"/no-such/[ab]/c\"]",
		  "f:2:12: '/no-such/[ab]/c' holds '[', which is a letter of a name here; * is all "
		  "that patterns have: write an entry for each name\n" },
		/* a root to be read in one to be written is one more of these */
		{ FILES "write = [\"/no-such\"]\nread = [\"/no-such/[ab]\"]",
		  "f:3:9: '/no-such/[ab]' holds '[', which is a letter of a name here; * is all "
		  "that patterns have: write an entry for each name\n" },
		{ FILES "deny = [\"**/{{x}}\", \"**/a[\", \"/no-such/{a\"]", "" },
		{ FILES "deny = [\"/a/*/../b\"]",
		  "f:2:9: '/a/*/../b' holds '..' beside a '*'; remove it\n" },
	};
	cleanup_arena struct arena a = ARENA(1 << 20);
	cleanup_buf struct buf out = BUF(1 << 16), big = BUF(1 << 16);
	struct policy p = read_native(&a, FILES "write = [\".\", \"x/../y\", \"~\", \"~/z\"]\n"
					  "deny = [\"k/\", \"/a//b/./c\", \"**/.env\"]");

	is_text(printed(&p, &out),
		"[files]\nwrite = [\"/base\", \"" TEST_HOME "\"]\n"
		"deny = [\"**/.env\", \"/a/b/c\", \"/base/k\"]\n", "made absolute");
	check_wrong(rows, ARRAY_SIZE(rows));
	buf_puts(&big, FILES "read = [\"/");
	for (int i = 0; i < 5000; i++)
		buf_putc(&big, 'a');
	buf_puts(&big, "\"]");
	is_text(problems(buf_text(&big), &out),
		"f:2:9: a path of 5001 bytes is too long; write a shorter one\n", "no long path");
}

static struct policy read_at(struct arena *a, struct diags *d, const char *dir, const char *home,
			     const char *text)
{
	struct source src = { "f", str_from(text) };
	struct policy p;
	struct reader r = { .policy = &p, .diags = d, .file = "f", .base_dir = dir, .cwd = dir,
			    .home = home };
	struct value root;
	struct cordon_err err;

	policy_init(&p, a);
	if (toml_parse(&src, a, &root, &err) < 0)
		abort();
	dialect_cordon.read(&r, &root);
	read_finish(&r);
	return p;
}

static void test_home_must_be_known(void)
{
	static const char *const homes[] = { NULL, "", "relative" };

	for (size_t i = 0; i < ARRAY_SIZE(homes); i++) {
		cleanup_arena struct arena a = ARENA(1 << 20);
		cleanup_diags struct diags d = DIAGS;
		cleanup_buf struct buf said = BUF(4096);

		read_at(&a, &d, "/base", homes[i], "[files]\nread = [\"~/x\", \"/y\"]\n");
		diags_print(&d, &said);
		is_text(buf_text(&said), "f:2:9: '~' has no meaning without HOME; write the path\n",
			"home %zu", i);
	}
}

/* Roots are what links lead to; what is not there yet stays as it is written. */
static void test_links_are_followed(void)
{
	cleanup_arena struct arena a = ARENA(1 << 20);
	cleanup_diags struct diags d = DIAGS;
	cleanup_buf struct buf said = BUF(4096), out = BUF(4096);
	char dir[] = "/tmp/cordon-reader-XXXXXX", *want;
	struct policy p;

	if (!mkdtemp(dir) || chdir(dir) < 0 || mkdir("real", 0700) < 0 ||
	    mkdir("real/sub", 0700) < 0 || symlink("real", "link") < 0 || symlink("a", "b") < 0 ||
	    symlink("b", "a") < 0 || symlink("odd\xff", "odd") < 0)
		abort();
	p = read_at(&a, &d, dir, NULL, "[files]\nwrite = [\"link/sub/new\", \"link/../x\"]\n");
	want = arena_printf(&a, "[files]\nwrite = [\"%s/real/sub/new\", \"%s/x\"]\n", dir, dir);
	is_text(printed(&p, &out), want, "followed");
	read_at(&a, &d, dir, NULL, "[files]\nread = [\"a\"]\n");
	read_at(&a, &d, dir, NULL, "[files]\nread = [\"odd\"]\n");
	diags_print(&d, &said);
	ok(strstr(buf_text(&said), "f:2:9: too many symbolic links in '"), "%s", buf_text(&said));
	ok(strstr(buf_text(&said), "odd\\xff', which cannot be written in a policy"), "%s",
	   buf_text(&said));
	ok(unlink("odd") == 0 && unlink("a") == 0 && unlink("b") == 0 && unlink("link") == 0 &&
	   rmdir("real/sub") == 0 && rmdir("real") == 0 && rmdir(dir) == 0, "clean");
}

/* One more than a list may hold, and one that is just full. */
static void test_lists_have_a_maximum(void)
{
	static const struct {
		const char *start, *one, *end, *key;
		unsigned most;
	} rows[] = {
		{ "[files]\nread = [", "\"/r%u\",", "]", "files.read", MAX_SHORT_LIST },
		{ "[files]\ndeny = [", "\"/r%u\",", "]", "files.deny", MAX_SHORT_LIST },
		{ "[env]\npass = [", "\"A%u\",", "]", "env.pass", MAX_SHORT_LIST },
		{ "[commands]\nblock = [", "\"c%u\",", "]", "commands.block", MAX_SHORT_LIST },
		{ "[env.set]\n", "A%u = \"\"\n", "", "env.set", MAX_SHORT_LIST },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (unsigned more = 0; more < 2; more++) {
			cleanup_buf struct buf text = BUF(1 << 20), said = BUF(1 << 16);

			buf_puts(&text, rows[i].start);
			for (unsigned k = 0; k < rows[i].most + more; k++) {
				char entry[64];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
				snprintf(entry, sizeof(entry), rows[i].one, k);
#pragma GCC diagnostic pop
				buf_puts(&text, entry);
			}
			buf_puts(&text, rows[i].end);
			problems(buf_text(&text), &said);
			if (!more)
				is_text(buf_text(&said), "", "%s", rows[i].key);
			else
				ok(strstr(buf_text(&said),
					  "has more than 4096 entries; remove some") &&
					   strstr(buf_text(&said), rows[i].key),
				   "%s: %s", rows[i].key, buf_text(&said));
		}
}

static void test_phases_have_a_maximum(void)
{
	for (unsigned more = 0; more < 2; more++) {
		cleanup_buf struct buf text = BUF(1 << 20), said = BUF(1 << 16);

		for (unsigned k = 0; k < MAX_PHASES + more; k++)
			buf_printf(&text, "[phase.p%u]\n", k);
		is_text(problems(buf_text(&text), &said),
			more ? "f:1:2: more than 256 phases; remove some\n" : "", "%u", more);
	}
}

static void test_many_problems_are_counted(void)
{
	cleanup_buf struct buf text = BUF(1 << 20), said = BUF(1 << 20);

	for (unsigned k = 0; k < 1000; k++)
		buf_printf(&text, "unknown%u = 1\n", k);
	problems(buf_text(&text), &said);
	ok(strstr(buf_text(&said), "f:64:1: ") && !strstr(buf_text(&said), "f:65:1: "), "some");
	ok(strstr(buf_text(&said), "… and 936 more\n"), "%s", buf_text(&said));
}

/* What a policy's author writes is never an escape sequence for a terminal. */
static void test_messages_are_plain(void)
{
	static const struct wrong rows[] = {
		{ "\"\\u001b[2J\" = 1", "f:1:1: unknown key '\\x1b[2J'; remove it\n" },
		{ "profile = \"\\u001b]0;x\\u0007\"",
		  "f:1:11: '\\x1b]0;x\\x07' is not known for profile; write one of unrestricted, "
		  "worktree, wasi, os_hardened\n" },
		{ "profile = \"a\\nb\\u009b\\u202e\"", "f:1:11: 'a\\nb\\x9b\\u202e' is not known "
						       "for profile; write one of unrestricted, "
						       "worktree, wasi, os_hardened\n" },
		{ "profile = \"%s%n%d\"",
		  "f:1:11: '%s%n%d' is not known for profile; write one of unrestricted, worktree, "
		  "wasi, os_hardened\n" },
		{ NETWORK "allow = [\"https://user:secret@h.example/path?q\"]",
		  "f:2:10: network.allow: is a URL: write h.example\n" },
	};

	check_wrong(rows, ARRAY_SIZE(rows));
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_words), TAP(test_numbers), TAP(test_network), TAP(test_lists),
		TAP(test_keys_and_tables),
		TAP(test_paths), TAP(test_home_must_be_known), TAP(test_links_are_followed),
		TAP(test_lists_have_a_maximum), TAP(test_phases_have_a_maximum),
		TAP(test_many_problems_are_counted), TAP(test_messages_are_plain), TAP_END });
}
