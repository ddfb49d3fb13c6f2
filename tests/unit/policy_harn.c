/* Harn's policies as policies of ours.  Their JSON is quoted by ' here. */
#include "policy/dialect/dialect.h"

#include "harn_json.h"
#include "policy/match.h"
#include "policy/print.h"
#include "tap.h"

static const char *handler; /* HARN_HANDLER_SANDBOX */

static const char *fake_env(const char *name)
{
	return strcmp(name, "HARN_HANDLER_SANDBOX") == 0 ? handler : NULL;
}

/* Read `json` into `p`; the problems go to `d`. */
static int read_policy(const char *json, struct arena *a, struct policy *p, struct diags *d)
{
	struct source src = { "p.json", harn_json(json, a) };
	struct reader r = { .policy = p,
			    .diags = d,
			    .file = "p.json",
			    .base_dir = "/file",
			    .cwd = "/cwd",
			    .home = "/home/u",
			    .env = fake_env };
	struct cordon_err err = { .code = CORDON_E_NONE };
	struct value root;

	policy_init(p, a);
	p->dialect = &dialect_harn;
	if (json_parse(&src, a, &root, &err) < 0)
		return diag_err(d, "p.json", &err);
	dialect_harn.read(&r, &root);
	return read_finish(&r);
}

/* The native policy of a text, or its problems; malloc'd. */
static char *native(const char *json)
{
	cleanup_arena struct arena a = ARENA(MAX_ARENA_BYTES);
	cleanup_diags struct diags d = DIAGS;
	struct buf out = BUF(MAX_OUTPUT_BYTES);
	struct policy p;

	if (read_policy(json, &a, &p, &d) < 0)
		diags_print(&d, &out);
	else
		policy_print(&p, false, &out);
	return buf_take(&out);
}

static void reads(const char *json, const char *want)
{
	char *got = native(json);

	is_text(got, want, "%s", json);
	free(got);
}

static void reads_with(const char *json, const char *part)
{
	char *got = native(json);

	ok(got && strstr(got, part), "%s: no '%s' in\n%s", json, part, got ? got : "");
	free(got);
}

static void reads_without(const char *json, const char *part)
{
	char *got = native(json);

	ok(got && !strstr(got, part), "%s: '%s' in\n%s", json, part, got ? got : "");
	free(got);
}

/* ---- reading ------------------------------------------------------------ */

static void test_silence_is_the_worktree(void)
{
	static const char want[] = "profile = \"worktree\"\n\n[files]\nwrite = [\"/cwd\"]\n\n"
				   "[network]\nmode = \"public\"\n\n[env]\npass = [\"*\"]\n";

	reads("{}", want);
	reads("{'tools': [], 'capabilities': {}, 'workspace_roots': [], 'read_only_roots': [],"
	      " 'side_effect_level': null, 'recursion_limit': null, 'tool_annotations': {},"
	      " 'tool_arg_constraints': [], 'process_sandbox': {'presets': null,"
	      " 'read_roots': [], 'write_roots': []}, 'egress': null, 'env': null}",
	      want);
}

static void test_profiles_are_the_ladder(void)
{
	reads_with("{'sandbox_profile': 'os_hardened'}", "profile = \"os_hardened\"\n");
	reads_with("{'sandbox_profile': 'unrestricted'}", "profile = \"unrestricted\"\n");
	reads_with("{'sandbox_profile': 'x'}",
		   "p.json:1:21: unknown sandbox_profile \"x\"; expected one of \"unrestricted\", "
		   "\"worktree\", \"os_hardened\", \"wasi\"");
}

static void test_writing_needs_capability_and_level(void)
{
	static const char read_only[] = "write = []\nread = [\"/w\"]\n";

	reads_with("{'workspace_roots': ['/w']}", "write = [\"/w\"]\n");
	reads_with("{'workspace_roots': ['/w'], 'capabilities': {'workspace': ['delete']}}",
		   "write = [\"/w\"]\n");
	reads_with("{'workspace_roots': ['/w'], 'capabilities': {'workspace': ['list']}}",
		   read_only);
	reads_with("{'workspace_roots': ['/w'], 'side_effect_level': 'read_only'}", read_only);
	reads_with("{'workspace_roots': ['/w'], 'side_effect_level': 'workspace_write'}",
		   "write = [\"/w\"]\n");
	reads_with("{'workspace_roots': ['/w'],"
		   " 'process_sandbox': {'allow_child_workspace_write': false}}",
		   read_only);
	/* No operation on the workspace at all. */
	reads_with("{'workspace_roots': ['/w'], 'capabilities': {'process': ['exec']}}",
		   "write = []\nread = []\n");
	reads_with("{'workspace_roots': ['/w'], 'capabilities': {'workspace': []}}",
		   "write = []\nread = []\n");
	reads_with("{'workspace_roots': [], 'workspace_roots_restricted': true}", "write = []\n");
}

static void test_starting_needs_capability_and_level(void)
{
	static const char blocked[] = "[commands]\nblock = [\"*\"]\n";

	reads_without("{'capabilities': {'process': ['exec']}}", blocked);
	reads_without("{'side_effect_level': 'process_exec'}", blocked);
	reads_with("{'capabilities': {'workspace': ['read_text']}}", blocked);
	reads_with("{'capabilities': {'process': []}}", blocked);
	reads_with("{'capabilities': {}, 'capabilities_restricted': true}", blocked);
	reads_with("{'side_effect_level': 'workspace_write'}", blocked);
}

static void test_roots_of_processes(void)
{
	reads_with("{'workspace_roots': ['/w'], 'read_only_roots': ['/ref'], 'process_sandbox':"
		   " {'presets': [], 'read_roots': ['/opt/sdk', '/w/lib'], 'write_roots':"
		   " ['/cache'], 'read_deny_roots': ['~/.ssh'], 'allow_tcp_loopback': true}}",
		   "write = [\"/cache\", \"/w\"]\nread = [\"/opt/sdk\", \"/ref\"]\n"
		   "deny = [\"/home/u/.ssh\"]\npresets = []\n");
	reads_with("{'workspace_roots': ['/w'], 'side_effect_level': 'read_only',"
		   " 'process_sandbox': {'write_roots': ['/cache']}}",
		   "write = []\nread = [\"/w\"]\n");
	reads_with("{'workspace_roots': ['src']}", "write = [\"/cwd/src\"]\n");
}

static void test_read_only_wins_over_writable(void)
{
	reads_with("{'workspace_roots': ['/w'], 'read_only_roots': ['/w/ref']}",
		   "protect = [\"/w/ref\", \"agent-config\", \"git\", \"shell-rc\"]\n");
	reads_with("{'workspace_roots': ['/w/ref/sub'], 'read_only_roots': ['/w/ref']}",
		   "'/w/ref/sub' lies in the read-only root '/w/ref', which is never written");
	reads_with("{'workspace_roots': ['/w'], 'read_only_roots': ['/w']}",
		   "in both files.read and files.write");
	reads_with("{'workspace_roots': ['/w'], 'process_sandbox': {'read_roots': ['/']}}",
		   "write = [\"/w\"]\nread = [\"/\"]\n");
}

static void test_a_wide_read_root_opens_no_protected_one(void)
{
	reads_with("{'workspace_roots': ['/w'], 'read_only_roots': ['/w/ref'],"
		   " 'process_sandbox': {'read_roots': ['/']}}",
		   "write = [\"/w\"]\nread = [\"/\"]\nprotect = [\"/w/ref\", ");
	reads_with("{'workspace_roots': ['/w'], 'process_sandbox': {'write_roots': ['/'],"
		   " 'allow_child_workspace_write': false}}",
		   "write_roots holds the workspace root '/w'");
}

static void test_level_closes_the_network(void)
{
	static const char none[] = "[network]\nmode = \"no-network\"\n\n[env]";

	reads_with("{'side_effect_level': 'process_exec'}", none);
	reads_with("{'side_effect_level': 'network'}", "mode = \"public\"\n");
	reads_with("{'side_effect_level': 'desktop_control'}", "mode = \"public\"\n");
	reads_with("{'side_effect_level': 'process_exec', 'egress': {'allow': ['a.example']}}",
		   none);
	reads_with("{'side_effect_level': 'netwrok'}",
		   "p.json:1:23: unknown side_effect_level \"netwrok\"");
}

static void test_egress_rules(void)
{
	reads_with("{'egress': {'default': 'deny', 'allow': ['api.example.com:443', '*.b.org',"
		   " '1.1.1.1', '10.0.0.0/8:5432', '[::1]:8080', 'https://x.org', 'Y.org.']}}",
		   "mode = \"allowlist\"\nallow = [\n  \"api.example.com:443\",\n  \"*.b.org\",\n"
		   "  \"x.org:443\",\n  \"y.org\",\n  \"1.1.1.1\",\n  \"10.0.0.0/8:5432\",\n"
		   "  \"[::1]:8080\",\n]\n");
	reads_with("{'egress': {'allow': ['a.example']}}", "mode = \"allowlist\"\n");
	reads_with("{'egress': {'default': 'deny'}}", "mode = \"allowlist\"\nallow = []\n");
	reads_with("{'egress': {'allow': ['a.example'], 'default': 'allow'}}",
		   "mode = \"public\"\n\n");
	reads_with("{'egress': {'deny': ['bad.example', '2001:db8::/32']}}",
		   "mode = \"public\"\ndeny = [\"bad.example\", \"2001:db8::/32\"]\n");
}

static void test_egress_errors_in_harns_words(void)
{
	static const struct {
		const char *rules, *want;
	} cases[] = {
		{ "'allow': [' ']", "p.json:1:23: egress_policy: empty egress rule" },
		{ "'allow': ['*']", "invalid wildcard rule `*`" },
		{ "'allow': ['*.']", "invalid wildcard rule `*.`" },
		{ "'allow': ['a.*.b']", "invalid wildcard rule `a.*.b`" },
		{ "'deny': ['10.0.0.0/33']", "invalid CIDR rule `10.0.0.0/33`" },
		{ "'deny': ['host/path']", "invalid CIDR rule `host/path`" },
		{ "'deny': ['a.example:70000']", "invalid port in `a.example:70000`" },
		{ "'deny': ['a.example:0']", "invalid port in `a.example:0`" },
		{ "'deny': ['a.example:http']", "invalid port in `a.example:http`" },
		{ "'deny': ['[::1']", "invalid bracketed host rule `[::1`" },
		{ "'deny': ['gopher://a.example']", "invalid URL rule" },
		{ "'allow': 'a.example'", "p.json:1:22: egress_policy: allow must be a list" },
		{ "'default': 'maybe'", "default must be `allow` or `deny`, got `maybe`" },
		{ "'block_private': 'perhaps'", "block_private must be `private`/`on` or `off`" },
		{ "'allow_loopback': 'x'", "allow_loopback must be a boolean" },
		{ "'alow': []", "unknown key 'alow' in egress; did you mean 'allow'?" },
		{ "'allow': ['a.example'], 'deny': ['a.example']", "can never match" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup_buf struct buf json = BUF(1024);

		buf_printf(&json, "{'egress': {%s}}", cases[i].rules);
		reads_with(buf_text(&json), cases[i].want);
	}
}

/* What the policy says about a URL. */
static void asks(const char *json, const char *url, const char *want)
{
	cleanup_arena struct arena a = ARENA(MAX_ARENA_BYTES);
	cleanup_diags struct diags d = DIAGS;
	struct cordon_err err;
	struct match_verdict v = { .reason = "" };
	struct match_target t;
	struct matcher m;
	struct policy p;
	bool allowed;

	if (!ok(read_policy(json, &a, &p, &d) == 0, "%s reads", json) ||
	    !ok(matcher_init(&m, &p, &p.base, &err) == 0, "%s can be asked", json))
		return;
	allowed = matcher_parse(&m, str_from(url), &t, &v) &&
		  matcher_check_rules(&m, &t.host, t.port, &v);
	if (!want)
		ok(allowed, "%s under %s: %s", url, json, v.reason);
	else
		ok(!allowed && strstr(v.reason, want), "%s under %s: %s", url, json, v.reason);
}

static void test_private_block(void)
{
	static const char on[] = "{'egress': {'block_private': 'on'}}";
	static const char open[] = "{'egress': {'block_private': true, 'allow_loopback': true}}";
	static const char listed[] = "{'egress': {'default': 'deny', 'block_private': 'private',"
				     " 'allow': ['169.254.169.254', 'a.example']}}";
	static const char *const closed[] = {
		"http://10.1.2.3/",	   "http://100.64.0.1/",	"http://[64:ff9b::7f00:1]/",
		"http://[2002:7f00:1::]/", "http://[::ffff:10.0.0.1]/", "http://[fe80::1]/",
		"http://0.0.0.0/",	   "http://255.255.255.255/",	"http://[ff02::1]/",
		"http://127.0.0.1/"
	};

	for (size_t i = 0; i < ARRAY_SIZE(closed); i++)
		asks(on, closed[i], "is a disallowed address");
	asks(on, "http://93.184.216.34/", NULL);
	asks(open, "http://127.0.0.1/", NULL);
	asks(open, "http://[::1]/", NULL);
	asks(open, "http://192.168.0.1/", "is a disallowed address");
	asks(listed, "http://169.254.169.254/latest/", "is a disallowed address");
	asks(listed, "http://a.example/", NULL);
	asks("{'egress': {'block_private': 'off'}}", "http://10.1.2.3/", NULL);
	asks("{'egress': {'deny': ['b.example']}}", "https://b.example./",
	     "matched deny rule `b.example`");
}

static void test_hostlib_network(void)
{
	reads_with("{'network': {'mode': 'unrestricted'}}", "mode = \"public\"\n");
	reads_with("{'network': {'mode': 'limited'}}", "mode = \"allowlist\"\nallow = []\n");
	reads_with("{'network': {'mode': 'limited', 'allowed_hosts': ['a.example', 'c.b.org']},"
		   " 'egress': {'allow': ['*.b.org:443'], 'deny': ['d.b.org']}}",
		   "mode = \"allowlist\"\nallow = [\"c.b.org:443\"]\ndeny = [\"d.b.org\"]\n");
	reads_with("{'network': {'mode': 'open'}}", "network.mode must be");
	reads_with("{'network': {'mode': 'unrestricted', 'allowed_hosts': ['a.example']}}",
		   "network.allowed_hosts has no effect");
	reads_with("{'network': {'mode': 'limited', 'allowed_hosts': 'a'}}",
		   "network.allowed_hosts: allowed_hosts must be a list");
}

static void test_limits(void)
{
	reads_with("{'limits': {'wall_time': 90, 'memory_mb': 64, 'cpu_count': 2}}",
		   "memory = \"64M\"\ncpus = 2\ntimeout = \"90s\"\n");
	reads_with("{'limits': {'wall_time': 0.25}}", "timeout = \"250ms\"\n");
	reads_with("{'limits': {'wall_time': 0}}", "limits.wall_time is no time");
	reads_with("{'limits': {'memory_mb': 0}}", "limits.memory_mb is 0");
	reads_with("{'limits': {'memory_mb': 9223372036854775807}}", "write a number");
	reads_with("{'limits': {'idle_timeout': 5}}",
		   "limits.idle_timeout: cordon has no such limit");
	reads_with("{'limits': {'memory': 5}}", "unknown key 'memory' in limits");
}

static void test_environment(void)
{
	reads_with("{'env': {'ONE': '1'}}", "pass = [\"*\"]\nset = { ONE = \"1\" }\n");
	reads_with("{'env': {'ONE': '1'}, 'env_mode': 'replace'}",
		   "pass = []\nset = { ONE = \"1\" }\n");
	reads_with("{'env_mode': 'replace'}", "pass = [\"*\"]\n");
	reads_with("{'env': {'A': '1', '_x9': 'v'}, 'env_remove': ['A']}",
		   "set = { _x9 = \"v\" }\nstrip = [\"A\"]\n");
	reads_with("{'env': {'LD_PRELOAD': 'x'}}",
		   "p.json:1:10: env: 'LD_PRELOAD' steers the loader");
	reads_with("{'env': {'MALLOC_CONF': 'x'}}", "steers the loader");
	reads_with("{'env': {'GLIBC_TUNABLES': 'x'}}", "steers the loader");
	reads_with("{'env': {'A=B': 'v'}}", "is no variable's name");
	reads_with("{'env': {'9A': 'v'}}", "is no variable's name");
	reads_with("{'env': {'A': '${HOME}'}}", "holds '${'");
	reads_with("{'env_remove': ['A*']}", "env_remove: 'A*' is no variable's name");
	reads_with("{'env_mode': 'x'}",
		   "unknown env_mode \"x\"; expected \"merge\" or \"replace\"");
}

static void test_what_cordon_does_not_hold(void)
{
	static const struct {
		const char *json, *want;
	} cases[] = {
		{ "{'tools': ['a']}", "p.json:1:11: tools: governs Harn's own tools" },
		{ "{'tool_arg_constraints': [{'tool': 'a'}]}", "tool_arg_constraints: governs" },
		{ "{'tool_annotations': {'a': {}}}", "tool_annotations: governs" },
		{ "{'recursion_limit': 0}", "recursion_limit: governs" },
		{ "{'capabilities': {'llm': ['call']}}", "capabilities: 'llm' is not one" },
		{ "{'capabilities': {'process': ['exce']}}",
		  "capabilities.process: unknown operation \"exce\"; write exec" },
		{ "{'process_sandbox': {'unix_socket_roots': ['/s']}}",
		  "process_sandbox.unix_socket_roots: grants" },
		{ "{'process_sandbox': {'allow_process_self_introspection': true}}",
		  "grants what" },
		{ "{'process_sandbox': {'netns_launcher_path': '/x'}}", "grants what" },
		{ "{'process_sandbox': {'read_root': []}}", "did you mean 'read_roots'?" },
		{ "{'process_sandbox': {'presets': ['usr']}}", "unknown preset \"usr\"" },
		{ "{'process_sandbox': {'read_deny_roots': ['/a/*']}}", "holds a '*'" },
		{ "{'workspace_root': []}", "unknown key 'workspace_root'; did you mean" },
		{ "{'workspace_roots': '/w'}", "workspace_roots is a string; write an array" },
		{ "{'workspace_roots': [1]}", "workspace_roots is a whole number" },
		{ "{'workspace_roots': ['']}", "a blank entry" },
		{ "{'recursion_limit': -1}", "recursion_limit is negative" },
		{ "[]", "the policy is an array; write a table" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		reads_with(cases[i].json, cases[i].want);
}

static void test_lists_are_short(void)
{
	static const char *const keys[] = { "tools", "workspace_roots", "read_only_roots" };

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		cleanup_buf struct buf json = BUF(1 << 20);

		buf_printf(&json, "{'%s': ['a'", keys[i]);
		for (int k = 0; k < MAX_SHORT_LIST; k++)
			buf_printf(&json, ", 'a'");
		buf_puts(&json, "]}");
		reads_with(buf_text(&json), "has more than 4096 entries");
	}
}

static void test_handler_variable(void)
{
	static const char *const off[] = { "0", "false", "off", "none" };
	static const char *const enforce[] = { "1", "true", "enforce", "required" };

	for (int i = 0; i < 4; i++) {
		handler = off[i];
		reads_with("{}", "backend = \"none\"\n");
		handler = enforce[i];
		reads_with("{}", "require = [\"cgroup\", \"landlock\", \"namespaces\"]\n");
	}
	handler = "warn";
	reads_with("{}", "may_lack = [\"cgroup\", \"landlock\", \"namespaces\"]\n");
	handler = "enfroce";
	reads_with("{}", "HARN_HANDLER_SANDBOX is 'enfroce'");
	reads_with("{'sandbox_profile': 'os_hardened'}", "profile = \"os_hardened\"\n");
	handler = NULL;
}

/* ---- printing ----------------------------------------------------------- */

static void round_trip(const char *json)
{
	cleanup_arena struct arena a = ARENA(MAX_ARENA_BYTES);
	cleanup_diags struct diags d = DIAGS;
	cleanup_buf struct buf once = BUF(MAX_OUTPUT_BYTES), twice = BUF(MAX_OUTPUT_BYTES);
	struct policy p, again;
	struct reader r = { .policy = &again, .diags = &d, .file = "c.toml", .base_dir = "/b" };
	struct cordon_err err;
	struct source src;
	struct value root;

	if (!ok(read_policy(json, &a, &p, &d) == 0, "%s reads", json))
		return;
	policy_print(&p, false, &once);
	src = (struct source){ "c.toml", str_from(buf_text(&once)) };
	policy_init(&again, &a);
	if (!ok(toml_parse(&src, &a, &root, &err) == 0, "%s parses", buf_text(&once)))
		return;
	dialect_cordon.read(&r, &root);
	ok(read_finish(&r) == 0, "%s reads", buf_text(&once));
	ok(policy_eq(&p, &again), "%s is not what %s says", buf_text(&once), json);
	policy_print(&again, false, &twice);
	is_text(buf_text(&twice), buf_text(&once), "%s", json);
}

static void test_the_native_text_reads_the_same(void)
{
	static const char *const texts[] = {
		"{}",
		"{'sandbox_profile': 'wasi', 'side_effect_level': 'read_only'}",
		"{'capabilities': {'workspace': ['read_text'], 'process': ['exec']},"
		" 'workspace_roots': ['/w'], 'read_only_roots': ['/r']}",
		"{'capabilities': {'workspace': ['write_text']}, 'workspace_roots': ['/w']}",
		"{'capabilities': {'workspace': []}}",
		"{'capabilities': {'process': ['exec']}}",
		"{'workspace_roots': ['/w', '/v'], 'read_only_roots': ['/w/ref', '/r'],"
		" 'process_sandbox': {'presets': ['user_temp'], 'read_roots': ['/'],"
		" 'write_roots': ['/c'], 'read_deny_roots': ['/w/secret']}}",
		"{'workspace_roots': ['/w'], 'process_sandbox': {'read_roots': ['/w/in']}}",
		"{'process_sandbox': {'allow_child_workspace_write': false,"
		" 'write_roots': ['/c']}}",
		"{'egress': {'allow': ['a.example:443', '*.b.org', '10.0.0.0/8:1',"
		" '2001:db8::/32', '[2001:db9::/32]:53'], 'deny': ['c.b.org']}}",
		"{'egress': {'block_private': 'on', 'deny': ['10.0.0.0/8', '0.0.0.0/0']}}",
		"{'egress': {'block_private': 'on', 'allow_loopback': true,"
		" 'allow': ['a.example', '10.0.0.1']}}",
		"{'egress': {'deny': ['a.example']}, 'side_effect_level': 'none'}",
		"{'network': {'mode': 'limited'}}",
		"{'limits': {'wall_time': 0.3, 'memory_mb': 3, 'cpu_count': 1}}",
		"{'env': {'A': '\\'q\\' \\u00e9'}, 'env_mode': 'replace',"
		" 'env_remove': ['B']}",
		"{'env': {}, 'env_mode': 'replace'}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		round_trip(texts[i]);
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_silence_is_the_worktree),
		TAP(test_profiles_are_the_ladder),
		TAP(test_writing_needs_capability_and_level),
		TAP(test_starting_needs_capability_and_level),
		TAP(test_roots_of_processes),
		TAP(test_read_only_wins_over_writable),
		TAP(test_a_wide_read_root_opens_no_protected_one),
		TAP(test_level_closes_the_network),
		TAP(test_egress_rules),
		TAP(test_egress_errors_in_harns_words),
		TAP(test_private_block),
		TAP(test_hostlib_network),
		TAP(test_limits),
		TAP(test_environment),
		TAP(test_what_cordon_does_not_hold),
		TAP(test_lists_are_short),
		TAP(test_handler_variable),
		TAP(test_the_native_text_reads_the_same),
		TAP_END,
	});
}
