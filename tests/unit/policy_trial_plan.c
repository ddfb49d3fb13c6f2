/* The plan of a trial: merging, labels, the order of the judgement. */
#include "policy/trial_plan.h"

#include "tap.h"
#include "trial_verdict.h"

/* The printed verdict, or why there is none. */
static const char *check(const char *text, const char *capabilities, const char *agent_host,
			 const char *environment_host)
{
	static char said[16384];
	cleanup_buf struct buf out = BUF(sizeof(said) - 1);
	struct trial_capabilities can;
	struct trial_check_options o = {
		.capabilities = capabilities ? &can : NULL,
		.agent_hosts = &agent_host,
		.n_agent_hosts = agent_host != NULL,
		.environment_hosts = &environment_host,
		.n_environment_hosts = environment_host != NULL,
	};
	struct cordon_err err;
	bool accepted = false;

	if (capabilities && trial_capabilities_parse(str_from(capabilities), &can, &err) < 0)
		return "no capabilities";
	if (print_verdict(str_from(text), &o, &out, &accepted, &err) < 0)
		return "no verdict";
	is_int(accepted, strstr(buf_text(&out), "\"verdict\":\"accepted\"") != NULL, "verdict");
	snprintf(said, sizeof(said), "%s", buf_text(&out));
	return said;
}

#define PUBLIC		"{\"network_mode\":\"public\",\"allowed_hosts\":[]}"
#define CLOSED		"{\"network_mode\":\"no-network\",\"allowed_hosts\":[]}"
#define ONLY(hosts)	"{\"network_mode\":\"allowlist\",\"allowed_hosts\":[" hosts "]}"
#define STEP(ae, a, ve, v)                                                                         \
	"{\"agent_env_baseline\":" ae ",\"agent_phase\":" a ",\"verifier_env_baseline\":" ve       \
	",\"verifier_phase\":" v "}"
#define ACCEPTED(plan, warnings)                                                                   \
	"{\"verdict\":\"accepted\",\"stage\":null,\"reason\":null,\"plan\":[" plan                 \
	"],\"warnings\":[" warnings "]}"

static void test_plans_and_merging(void)
{
	static const struct { const char *text, *agent, *environment, *want;
	} cases[] = {
		{ "", NULL, NULL, ACCEPTED(STEP(PUBLIC, PUBLIC, "null", PUBLIC), "") },
		{ "[environment]\nnetwork_mode=\"no-network\"", "A.org.", NULL,
		  ACCEPTED(STEP(CLOSED, ONLY("\"a.org\""), "null", CLOSED), "") },
		{ "[environment]\nnetwork_mode=\"allowlist\"\nallowed_hosts=[\"b.org\",\"b.org\","
		  "\"a.org\"]",
		  "a.org", NULL,
		  ACCEPTED(STEP(ONLY("\"b.org\",\"b.org\",\"a.org\""), ONLY("\"b.org\",\"a.org\""),
				"null", ONLY("\"b.org\",\"b.org\",\"a.org\"")),
			   "") },
		{ "[environment]\nnetwork_mode=\"no-network\"\n[agent]\nnetwork_mode=\"no-"
		  "network\"",
		  NULL, "a.org",
		  ACCEPTED(STEP(ONLY("\"a.org\""), CLOSED, "null", ONLY("\"a.org\"")), "") },
		{ "[environment]\nnetwork_mode=\"no-network\"", "b.org", "a.org",
		  ACCEPTED(STEP(ONLY("\"a.org\""), ONLY("\"a.org\",\"b.org\""), "null",
				ONLY("\"a.org\"")),
			   "") },
		{ "[environment]\nnetwork_mode=\"no-network\"\n[verifier]\nenvironment_mode="
		  "\"separate\"",
		  NULL, "a.org",
		  ACCEPTED(STEP(ONLY("\"a.org\""), ONLY("\"a.org\""), ONLY("\"a.org\""),
				ONLY("\"a.org\"")),
			   "") },
		{ "[environment]\nnetwork_mode=\"no-network\"\n[verifier.environment]", NULL,
		  "a.org",
		  ACCEPTED(STEP(ONLY("\"a.org\""), ONLY("\"a.org\""), PUBLIC, PUBLIC), "") },
		{ "", "a.org", NULL,
		  ACCEPTED(STEP(PUBLIC, PUBLIC, "null", PUBLIC),
			   "\"Run-specific allowlist host(s) ['a.org'] are ignored because the "
			   "effective "
			   "network policy is public.\"") },
		{ "[agent]\nnetwork_mode=\"public\"\n[[steps]]\nname=\"a\"\n[steps.agent]\n"
		  "network_mode=\"no-network\"\n",
		  "a.org", NULL, ACCEPTED(STEP(PUBLIC, ONLY("\"a.org\""), "null", PUBLIC), "") },
		{ "[environment]\nnetwork_mod=\"no-network\"", NULL, NULL,
		  ACCEPTED(STEP(PUBLIC, PUBLIC, "null", PUBLIC),
			   "\"task.toml:2:1: unknown key 'network_mod' in [environment] is "
			   "ignored; did you "
			   "mean 'network_mode'?\"") },
		{ "[verifier.environment]\nnetwork_mode=\"no-network\"\n[[steps]]\nname=\"s\"\n"
		  "[steps.verifier]\nenvironment_mode=\"separate\"\n[[steps]]\nname=\"t\"\n"
		  "[steps.verifier]\nenvironment_mode=\"shared\"\n",
		  NULL, NULL,
		  ACCEPTED(STEP(PUBLIC, PUBLIC, CLOSED, CLOSED) "," STEP(PUBLIC, PUBLIC, "null",
									 PUBLIC),
			   "") },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		is_text(check(cases[i].text, NULL, cases[i].agent, cases[i].environment),
			cases[i].want, "%s", cases[i].text);
}

#define RULE " is not supported by process environment. Environment providers must enforce the " \
	     "requested network policy or reject the task.\""
#define FIXED ", but this environment cannot change network policy after start.\""
#define NO_NETWORK "[environment]\nnetwork_mode=\"no-network\"\n"

static void test_refusals_come_in_harbors_order_and_words(void)
{
	static const struct { const char *text, *can, *want;
	} cases[] = {
		/* what cannot be held at all comes before what cannot change */
		{ NO_NETWORK, "",
		  "\"stage\":\"environment\",\"reason\":\"network_mode='no-network'" RULE },
		{ NO_NETWORK "[agent]\nnetwork_mode=\"allowlist\"", "disable_internet",
		  "\"stage\":\"environment\",\"reason\":\"network_mode='allowlist'" RULE },
		{ NO_NETWORK "[agent]\nnetwork_mode=\"allowlist\"",
		  "disable_internet,network_allowlist",
		  "\"stage\":\"phase\",\"reason\":\"[agent] agent phase network policy differs "
		  "from the agent "
		  "environment baseline" FIXED },
		{ "[verifier]\nnetwork_mode=\"no-network\"", "disable_internet",
		  "\"stage\":\"phase\",\"reason\":\"[agent] verifier phase network policy differs "
		  "from the "
		  "agent environment baseline" FIXED },
		{ "[verifier]\nnetwork_mode=\"public\"\n[verifier.environment]\nnetwork_mode=\"no-"
		  "network\"",
		  "disable_internet",
		  "\"stage\":\"phase\",\"reason\":\"[agent] verifier phase network policy differs "
		  "from the "
		  "separate verifier environment baseline" FIXED },
		{ "[[steps]]\nname=\"a\"\n[[steps]]\nname=\"b "
		  "c\"\n[steps.verifier]\nnetwork_mode=\"no-network\"",
		  "disable_internet",
		  "\"reason\":\"Step 'b c' verifier phase network policy differs from the agent "
		  "environment "
		  "baseline" FIXED },
		/* the verifier's own environment comes last, but before anything runs */
		{ "[verifier.environment]\nnetwork_mode=\"no-network\"", "",
		  "\"stage\":\"verifier-environment\",\"reason\":\"network_mode='no-"
		  "network'" RULE },
		{ "[[steps]]\nname=\"a\"\n[steps.agent]\nnetwork_mode=\"no-network\"\n"
		  "[steps.verifier.environment]\nnetwork_mode=\"allowlist\"",
		  "disable_internet", "\"stage\":\"phase\",\"reason\":\"Step 'a' agent phase" },
		{ "[verifier]\nnetwork_mode=\"allowlist\"\n[verifier.environment]\nnetwork_mode="
		  "\"public\"",
		  "dynamic_network_policy",
		  "\"stage\":\"verifier-environment\",\"reason\":\"network_mode='allowlist'" RULE },
		/* the order of a list counts */
		{ "[environment]\nnetwork_mode=\"allowlist\"\nallowed_hosts=[\"a\",\"b\"]\n"
		  "[agent]\nnetwork_mode=\"allowlist\"\nallowed_hosts=[\"b\",\"a\"]",
		  "network_allowlist,network_allowlist_hostnames", "\"stage\":\"phase\"" },
		{ "[environment]\nnetwork_mode=\"allowlist\"\nallowed_hosts=[\"a\",\"b\"]\n"
		  "[agent]\nnetwork_mode=\"allowlist\"\nallowed_hosts=[\"A.\",\"b\"]",
		  "network_allowlist,network_allowlist_hostnames", "\"verdict\":\"accepted\"" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *said = check(cases[i].text, cases[i].can, NULL, NULL);

		ok(said && strstr(said, cases[i].want), "%s\n# gives %s", cases[i].text,
		   said ? said : "nothing");
		ok(strstr(said, "\"plan\":[{") != NULL, "with its plan");
	}
}

static void test_each_class_of_hosts_needs_its_capability(void)
{
	static const struct { const char *host, *words, *capability; } cases[] = {
		{ "a.org", "hostnames", "network_allowlist_hostnames" },
		{ "*.a.org", "wildcard hostnames", "network_allowlist_wildcard_hostnames" },
		{ "1.1.1.1", "IPv4 addresses", "network_allowlist_ipv4_addresses" },
		{ "::1", "IPv6 addresses", "network_allowlist_ipv6_addresses" },
		{ "10.0.0.0/8", "IPv4 CIDR ranges", "network_allowlist_ipv4_cidrs" },
		{ "2001:db8::/32", "IPv6 CIDR ranges", "network_allowlist_ipv6_cidrs" },
	};
	char text[256], want[256], can[256];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *said;

		snprintf(text, sizeof(text),
			 "[environment]\nnetwork_mode=\"allowlist\"\nallowed_hosts=[\"%s\"]",
			 cases[i].host);
		snprintf(want, sizeof(want), "network_mode='allowlist' with %s" RULE,
			 cases[i].words);
		snprintf(can, sizeof(can), "network_allowlist, %s", cases[i].capability);
		said = check(text, "network_allowlist", NULL, NULL);
		ok(strstr(said, want) != NULL, "%s gives %s", text, said);
		said = check(text, can, NULL, NULL);
		ok(strstr(said, "accepted") != NULL, "%s with %s gives %s", text, can, said);
		said = check(NO_NETWORK,
			     "disable_internet,network_allowlist,dynamic_network_policy",
			     cases[i].host, NULL);
		ok(strstr(said, want) != NULL, "added by the run: %s gives %s", cases[i].host,
		   said);
	}
}

static void test_what_does_not_parse_has_no_plan(void)
{
	static const struct { const char *text, *host, *want;
	} cases[] = {
		{ "a = ", NULL, "\"reason\":\"task.toml:1:5: " },
		{ "[environment]\nnetwork_mode=\"off\"\n[agent]\nallowed_hosts=[]", NULL,
		  "'allowlist' (got 'off')\\ntask.toml:4:15: agent: allowed_hosts is only valid" },
		{ "", "http://a.org",
		  "\"reason\":\"--allow-agent-host: allowed_hosts entries must be" },
		{ "", "",
		  "\"reason\":\"--allow-agent-host: allowed_hosts entries must be non-empty" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *said = check(cases[i].text, NULL, cases[i].host, NULL);

		ok(strstr(said, cases[i].want) != NULL, "%s gives %s", cases[i].text, said);
		ok(strstr(said, "\"stage\":\"parse\"") != NULL, "stage");
		ok(strstr(said, "\"plan\":[]") != NULL, "no plan");
	}
}

static void test_capabilities_are_named(void)
{
	struct trial_capabilities can = { 0x5a };
	struct cordon_err err;

	is_int(trial_capabilities_parse(STR("disable_internet,flying"), &can, &err), -1, "unknown");
	ok(strstr(err.msg, "'flying' is no capability") != NULL, "%s", err.msg);
	is_int(can.bits, 0x5a, "untouched");
	is_int(trial_capabilities_parse(STR(""), &can, &err), 0, "none");
	is_int(can.bits, 0, "none");
	for (unsigned c = 0; c < N_TRIAL_CAPABILITIES; c++) {
		const char *name = trial_capability_name((enum trial_capability)c);

		is_int(trial_capabilities_parse(str_from(name), &can, &err), 0, "%s", name);
		is_int(can.bits, 1 << c, "%s", name);
	}
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_plans_and_merging),
		TAP(test_refusals_come_in_harbors_order_and_words),
		TAP(test_each_class_of_hosts_needs_its_capability),
		TAP(test_what_does_not_parse_has_no_plan),
		TAP(test_capabilities_are_named),
		TAP_END });
}
