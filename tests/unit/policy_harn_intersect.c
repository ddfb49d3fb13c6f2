/* Harn's intersect.  Its JSON is quoted by ' here. */
#include <stdlib.h>
#include <unistd.h>

#include "harn_json.h"
#include "policy/dialect/dialect.h"
#include "tap.h"

/* The result on one line, or what is wrong; malloc'd. */
static char *intersected(const char *ceiling, const char *requested, int *ret)
{
	cleanup_arena struct arena a = ARENA(MAX_ARENA_BYTES);
	struct source c = { "c", harn_json(ceiling, &a) }, q = { "q", harn_json(requested, &a) };
	struct buf out = BUF(MAX_OUTPUT_BYTES);
	struct json_out j = { .out = &out };
	struct cordon_err err = { .code = CORDON_E_NONE };
	struct value cv, qv;

	*ret = -1;
	if (json_parse(&c, &a, &cv, &err) < 0 || json_parse(&q, &a, &qv, &err) < 0 ||
	    (*ret = dialect_harn.intersect(&cv, &qv, &j, &err)) < 0) {
		buf_clear(&out);
		buf_puts(&out, err.msg);
	}
	return buf_take(&out);
}

static void gives(const char *ceiling, const char *requested, const char *part)
{
	cleanup_arena struct arena a = ARENA(1 << 20);
	int ret;
	char *got = intersected(ceiling, requested, &ret);

	ok(ret == 0 && got && strstr(got, harn_json(part, &a).s), "%s and %s: no '%s' in %s",
	   ceiling, requested, part, got ? got : "");
	free(got);
}

static void gives_without(const char *ceiling, const char *requested, const char *part)
{
	int ret;
	char *got = intersected(ceiling, requested, &ret);

	ok(ret == 0 && got && !strstr(got, part), "%s and %s: '%s' in %s", ceiling, requested, part,
	   got ? got : "");
	free(got);
}

static void exceeds(const char *ceiling, const char *requested, const char *part)
{
	int ret;
	char *got = intersected(ceiling, requested, &ret);

	ok(ret < 0 && got && strstr(got, part), "%s and %s: no '%s' in %s", ceiling, requested,
	   part, got ? got : "");
	free(got);
}

static void test_nothing_and_nothing(void)
{
	cleanup_arena struct arena a = ARENA(1 << 20);
	int ret;
	char *got = intersected("{}", "{}", &ret);

	is_int(ret, 0, "composes");
	is_text(got,
		harn_json("{'sandbox_profile':'worktree','side_effect_level':null,'tools':[],"
			  "'tool_arg_constraints':[],'tool_annotations':{},'capabilities':{},"
			  "'read_only_roots':[],'recursion_limit':null,'process_sandbox':{'presets'"
			  ":null,"
			  "'read_roots':[],'write_roots':[]}}",
			  &a)
			.s,
		"every key but those of nobody");
	free(got);
}

static void test_strictest_profile_and_level(void)
{
	gives("{'sandbox_profile':'unrestricted'}", "{'sandbox_profile':'os_hardened'}",
	      "'sandbox_profile':'os_hardened'");
	gives("{'sandbox_profile':'os_hardened'}", "{'sandbox_profile':'wasi'}",
	      "'sandbox_profile':'os_hardened'");
	gives("{'sandbox_profile':'wasi'}", "{}", "'sandbox_profile':'wasi'");
	gives("{'sandbox_profile':'unrestricted'}", "{'sandbox_profile':'unrestricted'}",
	      "'sandbox_profile':'unrestricted'");
	gives("{'side_effect_level':'network'}", "{'side_effect_level':'none'}",
	      "'side_effect_level':'none'");
	gives("{}", "{'side_effect_level':'process_exec'}", "'side_effect_level':'process_exec'");
	exceeds("{'side_effect_level':'lots'}", "{}",
		"ceiling: unknown side_effect_level \"lots\"");
	exceeds("{}", "{'side_effect_level':'lots'}", "requested: unknown side_effect_level");
	gives("{'recursion_limit':3}", "{'recursion_limit':5}", "'recursion_limit':3");
	gives("{'recursion_limit':0}", "{}", "'recursion_limit':0");
}

static void test_tools(void)
{
	gives("{'tools':['a','b','c']}", "{'tools':['c','a']}", "'tools':['c','a']");
	gives("{'tools':['a']}", "{}", "'tools':['a']");
	gives("{'tools':['fs_*']}", "{'tools':['fs_read']}", "'tools':['fs_read']");
	exceeds("{'tools':['read']}", "{'tools':['read','exec','net']}",
		"requested tools exceed host ceiling: exec, net");
	exceeds("{'tools':['fs_*']}", "{'tools':['*']}", "exceed host ceiling: *");
	exceeds("{'tools_restricted':true}", "{'tools':['a']}", "exceed host ceiling: a");
	gives("{'tools_restricted':true}", "{}", "'tools':[],'tools_restricted':true");
	gives("{'tool_arg_constraints':[{'tool':'a'}]}",
	      "{'tool_arg_constraints':[{'tool':'b','arg_patterns':['src/**']}]}",
	      "'tool_arg_constraints':[{'tool':'a'},{'tool':'b','arg_patterns':['src/**']}]");
	gives("{'tools':['a','b'],'tool_annotations':{'a':{'k':1},'b':{'k':1.5}}}",
	      "{'tools':['a','b'],'tool_annotations':{'a':{'k':2},'c':{}}}",
	      "'tool_annotations':{'a':{'k':2},'b':{'k':1.5}}");
	exceeds("{'tool_arg_constraints':[{'tol':'a'}]}", "{}", "did you mean 'tool'?");
}

static void test_capabilities(void)
{
	static const char ceiling[] = "{'capabilities':{'workspace':['read_text','list']}}";

	gives(ceiling, "{'capabilities':{'workspace':['list']}}",
	      "'capabilities':{'workspace':['list']}");
	gives(ceiling, "{}", "'capabilities':{'workspace':['read_text','list']}");
	gives("{}", "{'capabilities':{'net':['get']}}", "'capabilities':{'net':['get']}");
	gives(ceiling, "{'capabilities':{'workspace':[]}}", "'capabilities':{'workspace':[]}");
	exceeds(ceiling, "{'capabilities':{'workspace':null}}", "requested: capabilities is null");
	exceeds(ceiling, "{'capabilities':{'workspace':['write_text','list','delete']}}",
		"requested capability operations exceed host ceiling: workspace.write_text,delete");
	exceeds("{'capabilities':{'workspace':[]}}", "{'capabilities':{'workspace':['read_text']}}",
		"requested capability operations exceed host ceiling: workspace.read_text");
	exceeds(ceiling, "{'capabilities':{'workspace':['delete'],'process':['exec']}}",
		"requested capability exceeds host ceiling: process");
	exceeds("{'capabilities_restricted':true}", "{'capabilities':{'process':['exec']}}",
		"requested capability exceeds host ceiling: process");
	gives("{'capabilities_restricted':true}", "{}",
	      "'capabilities':{},'capabilities_restricted':true");
}

static void test_roots_narrow_by_containment(void)
{
	gives("{}", "{'workspace_roots':['/w/a']}", "'workspace_roots':['/w/a']");
	gives("{'workspace_roots':['/w/a']}", "{}", "'workspace_roots':['/w/a']");
	gives("{'workspace_roots':['/w/a']}", "{'workspace_roots':[]}",
	      "'workspace_roots':['/w/a']");
	gives("{'workspace_roots':['/w']}", "{'workspace_roots':['/w/b','/w/a']}",
	      "'workspace_roots':['/w/a','/w/b']");
	gives("{'workspace_roots':['/w/a','/w/b']}", "{'workspace_roots':['/w']}",
	      "'workspace_roots':['/w/a','/w/b']");
	gives("{'workspace_roots':['/repo']}", "{'workspace_roots':['/repo-backup','/repo/x']}",
	      "'workspace_roots':['/repo/x']");
	gives("{'workspace_roots':['/repo']}", "{'workspace_roots':['/repo/../etc']}",
	      "'workspace_roots':[],'workspace_roots_restricted':true");
	gives("{'workspace_roots':['/w/a']}", "{'workspace_roots':['/w/b']}",
	      "'workspace_roots':[],'workspace_roots_restricted':true");
	gives("{'workspace_roots':[],'workspace_roots_restricted':true}",
	      "{'workspace_roots':['/w']}",
	      "'workspace_roots':[],'workspace_roots_restricted':true");
	gives_without("{}", "{}", "workspace_roots");
	exceeds("{}", "{'workspace_roots':['~/x']}", "requested: ");
}

static void test_links_are_followed(void)
{
	char dir[] = "/tmp/cordon-harn-XXXXXX", path[64], ceiling[128], asked[128], want[128];

	if (!ok(mkdtemp(dir) != NULL, "a place of its own"))
		return;
	snprintf(path, sizeof(path), "%s/link", dir);
	ok(symlink("/etc", path) == 0, "a link out of it");
	snprintf(ceiling, sizeof(ceiling), "{'workspace_roots':['%s']}", dir);
	snprintf(asked, sizeof(asked), "{'workspace_roots':['%s/link/x','%s/in']}", dir, dir);
	snprintf(want, sizeof(want), "'workspace_roots':['%s/in']", dir);
	gives(ceiling, asked, want);
	unlink(path);
	rmdir(dir);
}

static void test_read_only_roots(void)
{
	gives("{'read_only_roots':['/ref','/mem']}", "{'read_only_roots':['/mem']}",
	      "'read_only_roots':['/mem']");
	gives("{}", "{'read_only_roots':['/ref']}", "'read_only_roots':['/ref']");
	gives("{'read_only_roots':['/ref']}", "{}", "'read_only_roots':['/ref']");
	exceeds("{'workspace_roots':['/w']}",
		"{'workspace_roots':['/w'],'read_only_roots':['/secrets']}",
		"read_only_roots exceed the ceiling");
	exceeds("{'sandbox_profile':'worktree'}", "{'read_only_roots':['/secrets']}",
		"read_only_roots exceed the ceiling");
	gives("{'workspace_roots':['/w']}", "{'read_only_roots':['/w/ref']}",
	      "'read_only_roots':['/w/ref']");
	exceeds("{'workspace_roots':['/w'],'capabilities':{'process':['exec']}}",
		"{'read_only_roots':['/w/ref']}", "read_only_roots exceed the ceiling");
	/* What one side keeps from being written stays so. */
	gives("{'workspace_roots':['/w'],'read_only_roots':['/w/ref']}",
	      "{'workspace_roots':['/w/ref/sub']}", "'workspace_roots_restricted':true");
	gives("{'workspace_roots':['/w'],'read_only_roots':['/w/ref']}",
	      "{'workspace_roots':['/w'],'read_only_roots':['/w/ref/a']}",
	      "'read_only_roots':['/w/ref','/w/ref/a']");
}

static void test_protection_in_the_execution_root(void)
{
	char cwd[256], want[512];

	if (!ok(getcwd(cwd, sizeof(cwd)) != NULL, "a working directory"))
		return;
	snprintf(want, sizeof(want), "'read_only_roots':['%s/x/y']", cwd);
	gives("{'read_only_roots':['/r']}", "{'read_only_roots':['x/y']}", want);
}

static void test_process_sandbox(void)
{
	gives("{'process_sandbox':{'read_roots':['/opt/sdk','/opt/x']}}",
	      "{'process_sandbox':{'read_roots':['/opt/sdk']}}", "'read_roots':['/opt/sdk']");
	gives("{}", "{'process_sandbox':{'read_roots':['/v'],'write_roots':['/v']}}",
	      "'process_sandbox':{'presets':null,'read_roots':[],'write_roots':[]}");
	gives("{'process_sandbox':{'write_roots':['/v']}}", "{}", "'write_roots':['/v']");
	gives("{}", "{'process_sandbox':{'presets':['user_temp','system_runtime']}}",
	      "'presets':['system_runtime','user_temp']");
	gives("{'process_sandbox':{'presets':['user_temp','system_runtime']}}", "{}",
	      "'presets':['user_temp','system_runtime']");
	gives("{'process_sandbox':{'presets':['system_runtime']}}",
	      "{'process_sandbox':{'presets':['user_temp']}}", "'presets':[]");
	gives("{'process_sandbox':{'read_deny_roots':['/b']}}",
	      "{'process_sandbox':{'read_deny_roots':['/a','/b']}}",
	      "'read_deny_roots':['/a','/b']");
	gives("{'process_sandbox':{'unix_socket_roots':['/s']}}",
	      "{'process_sandbox':{'unix_socket_roots':['/s/a','/t']}}",
	      "'unix_socket_roots':['/s/a']");
	gives_without("{}", "{'process_sandbox':{'unix_socket_roots':['/t']}}", "unix_socket");
	gives("{'process_sandbox':{'allow_tcp_loopback':true,'netns_launcher_path':'/n'}}",
	      "{'process_sandbox':{'allow_tcp_loopback':false}}",
	      "'allow_tcp_loopback':true,'netns_launcher_path':'/n'");
	gives_without("{}", "{'process_sandbox':{'allow_tcp_loopback':true}}",
		      "allow_tcp_loopback");
	gives("{'process_sandbox':{'allow_process_self_introspection':true}}", "{}",
	      "'allow_process_self_introspection':false");
	gives("{'process_sandbox':{'allow_child_workspace_write':false}}",
	      "{'process_sandbox':{'allow_child_workspace_write':true}}",
	      "'allow_child_workspace_write':false");
}

static void test_the_sections_beside(void)
{
	gives("{'egress':{'allow':['*.b.org','a.example']}}",
	      "{'network':{'mode':'limited','allowed_hosts':['c.b.org','d.org']}}",
	      "'egress':{'default':'deny','allow':['c.b.org'],'deny':[]}");
	gives("{'egress':{'deny':['a.example']}}", "{'egress':{'allow':['a.example','b.org']}}",
	      "'egress':{'default':'deny','allow':['b.org'],'deny':['a.example']}");
	gives("{'egress':{'block_private':'on','allow_loopback':true}}",
	      "{'egress':{'block_private':'on'}}",
	      "'egress':{'default':'allow','deny':[],'block_private':'private',"
	      "'allow_loopback':false}");
	gives("{'limits':{'memory_mb':64}}", "{'limits':{'memory_mb':128,'wall_time':2}}",
	      "'limits':{'wall_time':2,'memory_mb':64}");
	gives("{'env':{'A':'1'},'env_remove':['B']}",
	      "{'env':{'A':'2','B':'3','C':'4'},'env_mode':'replace'}",
	      "'env':{'A':'1','C':'4'},'env_mode':'replace','env_remove':['B']");
	exceeds("{'egress':{'allow':['*']}}", "{}",
		"ceiling: egress_policy: invalid wildcard rule");
	exceeds("{}", "{'workspce_roots':[]}", "requested: unknown key 'workspce_roots'");
	exceeds("[]", "{}", "ceiling: the policy is an array");
}

static void test_twice_is_once(void)
{
	static const char text[] =
		"{'sandbox_profile':'os_hardened','side_effect_level':'network','tools':['b'],"
		"'tool_annotations':{'b':{'x':[null,true]}},'capabilities':{'process':['exec']},"
		"'workspace_roots':['/w/b','/w/a'],'read_only_roots':['/w/a/r','/r'],"
		"'recursion_limit':2,'process_sandbox':{'presets':['user_temp'],"
		"'read_roots':['/x'],'write_roots':['/y'],'read_deny_roots':['/z']},"
		"'egress':{'allow':['a.example'],'block_private':'on'},"
		"'limits':{'wall_time':1.25},'env':{'A':'1'},'env_mode':'replace'}";
	int ret;
	char *once = intersected(text, text, &ret), *twice = intersected(once, once, &ret);

	is_int(ret, 0, "the result can be composed again");
	is_text(twice, once, "and stays as it is");
	free(once);
	free(twice);
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_nothing_and_nothing),
		TAP(test_strictest_profile_and_level),
		TAP(test_tools),
		TAP(test_capabilities),
		TAP(test_roots_narrow_by_containment),
		TAP(test_links_are_followed),
		TAP(test_read_only_roots),
		TAP(test_protection_in_the_execution_root),
		TAP(test_process_sandbox),
		TAP(test_the_sections_beside),
		TAP(test_twice_is_once),
		TAP_END,
	});
}
