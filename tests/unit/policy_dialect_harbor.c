/* task.toml as a policy. */
#include "policy/dialect/dialect.h"
#include "policy/print.h"

#include "tap.h"

static struct arena arena = { .max = MAX_ARENA_BYTES };
static struct diags diags;

/* The native policy that a text means, or its problems. */
static const char *convert(const char *text)
{
	static char said[16384];
	cleanup_buf struct buf out = BUF(sizeof(said) - 1);
	struct source src = { "t", str_from(text) };
	struct policy policy;
	struct reader r = { .policy = &policy, .diags = &diags, .file = "t", .base_dir = "/" };
	struct cordon_err err;
	struct value root;

	diags_release(&diags);
	policy_init(&policy, &arena);
	if (dialect_harbor.parse(&src, &arena, &root, &err) < 0)
		return err.msg[0] ? "no TOML" : "";
	dialect_harbor.read(&r, &root);
	if (read_finish(&r) < 0)
		diags_print(&diags, &out);
	else
		policy_print(&policy, false, &out);
	snprintf(said, sizeof(said), "%s", buf_text(&out));
	return said;
}

#define AGENT		"\n[phase.agent]\n"
#define VERIFIER	"\n[phase.verifier.limits]\ntimeout = \"10m\"\n"

static void test_texts_become_policies(void)
{
	static const struct { const char *text, *want;
	} cases[] = {
		{ "", "[network]\nmode = \"public\"\n" AGENT VERIFIER },
		{ "[environment]\nnetwork_mode = \"allowlist\"\n"
		  "allowed_hosts = [\"A.org.\", \"*.b.org\", \"1.1.1.1\", \"2001:DB8::/32\"]\n",
		  "[network]\nmode = \"allowlist\"\n"
		  "allow = [\"a.org\", \"*.b.org\", \"1.1.1.1\", \"2001:db8::/32\"]\n" AGENT
			  VERIFIER },
		{ "[environment]\nnetwork_mode = \"allowlist\"\n",
		  "[network]\nmode = \"allowlist\"\nallow = []\n" AGENT VERIFIER },
		{ "[environment]\nmemory_mb = 512\nstorage_mb = 2048\ncpus = 2\nenv.A = "
		  "\"${X:-d}\"\n"
		  "docker_image = \"img\"\n[agent]\nnetwork_mode = \"no-network\"\ntimeout_sec = "
		  "1.5\n"
		  "[verifier]\nenv.B = \"2\"\n",
		  "[network]\nmode = \"public\"\n\n[limits]\nmemory = \"512M\"\ncpus = 2\ndisk = "
		  "\"2G\"\n\n"
		  "[env]\nset = { A = \"${X:-d}\" }\n"
		  "\n[phase.agent.network]\nmode = \"no-network\"\n"
		  "\n[phase.agent.limits]\ntimeout = \"1500ms\"\n" VERIFIER
		  "\n[phase.verifier.env]\nset = { A = \"${X:-d}\", B = \"2\" }\n" },
		/* a table of its own takes nothing over */
		{ "[environment]\nnetwork_mode = \"no-network\"\nmemory_mb = 512\nenv.A = \"1\"\n"
		  "[verifier.environment]\ncpus = 1\n",
		  "[network]\nmode = \"no-network\"\n\n[limits]\nmemory = \"512M\"\n\n[env]\nset = "
		  "{ A = \"1\" }\n" AGENT "\n[phase.verifier.network]\nmode = \"public\"\n"
		  "\n[phase.verifier.limits]\nmemory = \"4G\"\ncpus = 1\ntimeout = \"10m\"\n"
		  "\n[phase.verifier.env]\nset = {}\n"
		  "\n[phase.\"verifier.environment\".network]\nmode = \"public\"\n"
		  "\n[phase.\"verifier.environment\".limits]\nmemory = \"4G\"\ncpus = 1\n"
		  "\n[phase.\"verifier.environment\".env]\nset = {}\n" },
		{ "[agent]\nnetwork_mode = \"no-network\"\n[[steps]]\nname = \"s\"\n"
		  "[steps.verifier]\ntimeout_sec = inf\n",
		  "[network]\nmode = \"public\"\n\n[phase.agent.network]\nmode = \"no-network\"\n"
		  "\n[phase.\"steps.s.agent\".network]\nmode = \"no-network\"\n"
		  "\n[phase.\"steps.s.verifier\".limits]\ntimeout = \"none\"\n" VERIFIER },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		is_text(convert(cases[i].text), cases[i].want,
			"%s", cases[i].text);
}

static void test_what_a_policy_cannot_hold_is_refused(void)
{
	static const struct { const char *text, *want;
	} cases[] = {
		{ "[environment]\nnetwork_mod = \"no-network\"\n",
		  "t:2:1: unknown key 'network_mod' in [environment]; did you mean "
		  "'network_mode'?\n" },
		{ "profile = \"wasi\"\n[network]\nallowed_hosts = []\n[phase.p.env]\n",
		  "t:1:1: unknown key 'profile' at the top of the file; it belongs to cordon.toml, "
		  "and would be ignored in a task\n"
		  "t:2:2: unknown key 'network' at the top of the file; it belongs to cordon.toml, "
		  "and would be ignored in a task\n"
		  "t:4:2: unknown key 'phase' at the top of the file; it belongs to cordon.toml, "
		  "and would be ignored in a task\n" },
		{ "[environment]\ngpus = 1\n",
		  "t:2:8: environment.gpus: a cordon has no GPUs to give; write 0 or remove it\n" },
		{ "[environment]\nenv = { \"a-b\" = \"1\" }\n",
		  "t:2:9: 'a-b' in env.set is no variable's name; write letters, digits and _\n" },
	};
	static const char *const dead[] = { "127.1", "2130706433", "0x7f.1", "256.1.1.1", "*.1" };
	char text[128];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		is_text(convert(cases[i].text), cases[i].want,
			"%s", cases[i].text);
	for (size_t i = 0; i < ARRAY_SIZE(dead); i++) {
		const char *said;

		snprintf(text, sizeof(text),
			 "[agent]\nnetwork_mode = \"allowlist\"\nallowed_hosts = [\"%s\"]\n",
			 dead[i]);
		said = convert(text);
		ok(str_starts(str_from(said), "t:3:18: allowed_hosts: '"), "%s: %s", dead[i], said);
	}
}

int main(void)
{
	diags = DIAGS;
	return tap_run((struct tap_case[]){
		TAP(test_texts_become_policies),
		TAP(test_what_a_policy_cannot_hold_is_refused),
		TAP_END });
}
