/* Harbor's task.toml: host entries, tables, what stands in for what. */
#include "policy/task.h"

#include "tap.h"

static struct arena arena = { .max = MAX_ARENA_BYTES };
static struct diags diags;
static struct policy policy;

/* Every problem and warning of a text, one a line; "" when there is none. */
static const char *read_task(const char *text, bool ignores_unknown, struct task *ret)
{
	static char said[8192];
	cleanup_buf struct buf out = BUF(sizeof(said) - 1);
	struct source src = { "t", str_from(text) };
	struct reader r = { .policy = &policy, .diags = &diags, .file = "t",
			    .ignores_unknown = ignores_unknown };
	struct cordon_err err;
	struct value root;

	diags_release(&diags);
	policy_init(&policy, &arena);
	memset(ret, 0x5a, sizeof(*ret));
	if (toml_parse(&src, &arena, &root, &err) < 0)
		return "no TOML";
	if (task_read(&r, &root, ret) < 0) {
		ok(diags.n_errors > 0, "a failure has a problem");
		ok(ret->n_steps == 0x5a5a5a5a5a5a5a5a, "untouched on failure");
	}
	diags_print(&diags, &out);
	snprintf(said, sizeof(said), "%s", buf_text(&out));
	return said;
}

#define WHY_URL                                                                                    \
	"allowed_hosts entries must be hostnames, IP addresses, or IP CIDR ranges, not URLs, "     \
	"ports, or paths."
#define WHY_LABEL                                                                                  \
	"allowed_hosts entries must be IP addresses, IP CIDR ranges, or valid hostnames or "       \
	"leading wildcard host patterns containing only letters, digits, hyphens, and dots."
#define WHY_STAR "allowed_hosts wildcard entries must use a leading '*.' prefix."
#define WHY_STAR_ADDRESS                                                                           \
	"allowed_hosts wildcard entries must target hostnames, not IP address literals."
#define WHY_BLANK "allowed_hosts entries must be non-empty hostnames."
#define LABEL_63 "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabc"

static void test_host_entries_that_are_taken(void)
{
	static const struct { const char *text, *want; enum task_host_class class; } cases[] = {
		{ " Index.Example.ORG... ", "index.example.org", TASK_HOSTNAME },
		{ "localhost", "localhost", TASK_HOSTNAME },
		{ "xn--bcher-kva.de", "xn--bcher-kva.de", TASK_HOSTNAME },
		{ LABEL_63 ".org", LABEL_63 ".org", TASK_HOSTNAME },
		{ "127.1", "127.1", TASK_HOSTNAME },
		{ "2130706433", "2130706433", TASK_HOSTNAME },
		{ "0x7f.0.0.1", "0x7f.0.0.1", TASK_HOSTNAME },
		{ "01.1.1.1", "01.1.1.1", TASK_HOSTNAME },
		{ "256.1.1.1", "256.1.1.1", TASK_HOSTNAME },
		{ "1.2.3.4.5", "1.2.3.4.5", TASK_HOSTNAME },
		{ "*.Example.com", "*.example.com", TASK_WILDCARD_HOSTNAME },
		{ "*.com", "*.com", TASK_WILDCARD_HOSTNAME },
		{ "1.1.1.1.", "1.1.1.1", TASK_IPV4_ADDRESS },
		{ "::1", "::1", TASK_IPV6_ADDRESS },
		{ "2001:0DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1", TASK_IPV6_ADDRESS },
		{ "1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7", TASK_IPV6_ADDRESS },
		{ "::ffff:1.2.3.4", "::ffff:102:304", TASK_IPV6_ADDRESS },
		{ "1::", "1::", TASK_IPV6_ADDRESS },
		{ "::", "::", TASK_IPV6_ADDRESS },
		{ "10.0.0.0/8", "10.0.0.0/8", TASK_IPV4_CIDR },
		{ "10.0.0.0/255.0.0.0", "10.0.0.0/8", TASK_IPV4_CIDR },
		{ "10.0.0.0/0.255.255.255", "10.0.0.0/8", TASK_IPV4_CIDR },
		{ "1.2.3.4/255.255.255.255", "1.2.3.4/32", TASK_IPV4_CIDR },
		{ "0.0.0.0/0.0.0.0", "0.0.0.0/0", TASK_IPV4_CIDR },
		{ "0.0.0.0/0", "0.0.0.0/0", TASK_IPV4_CIDR },
		{ "10.0.0.0/08", "10.0.0.0/8", TASK_IPV4_CIDR },
		{ "2001:DB8::/32", "2001:db8::/32", TASK_IPV6_CIDR },
		{ "::/0", "::/0", TASK_IPV6_CIDR },
		{ "2001:db8:8000::/33", "2001:db8:8000::/33", TASK_IPV6_CIDR },
		{ "::1/128", "::1/128", TASK_IPV6_CIDR },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct task_host host = { 0 };
		const char *why = "";
		int rc = task_host_parse(str_from(cases[i].text), &arena, &host, &why);

		is_int(rc, 0, "%s: %s", cases[i].text, why);
		is_text(host.text.s, cases[i].want, "%s", cases[i].text);
		is_int(host.class, cases[i].class, "%s", cases[i].text);
	}
}

static void test_host_entries_that_are_refused(void)
{
	static const struct { const char *text, *why; } cases[] = {
		{ "", WHY_BLANK },
		{ " .. ", WHY_BLANK },
		{ "https://index.example.org", WHY_URL },
		{ "index.example.org/simple", WHY_URL },
		{ "10.0.0.1/8", WHY_URL },
		{ "10.0.0.0/33", WHY_URL },
		{ "10.0.0.0/", WHY_URL },
		{ "10.0.0.0/255.0.255.0", WHY_URL },
		{ "10.0.0.0/8/8", WHY_URL },
		{ "10/8", WHY_URL },
		{ "010.0.0.0/8", WHY_URL },
		{ "2001:db8::1/32", WHY_URL },
		{ "2001:db8:8000::/32", WHY_URL },
		{ "::/129", WHY_URL },
		{ "::/255.0.0.0", WHY_URL },
		{ "*.1.2.3.0/24", WHY_URL },
		{ "index.example.org:443", WHY_URL },
		{ "fe80::1%eth0", WHY_URL },
		{ "*.::1", WHY_URL },
		{ "[::1]", WHY_URL },
		{ "[index.example.org]", WHY_URL },
		{ "*.1.2.3.4", WHY_STAR_ADDRESS },
		{ "*", WHY_STAR },
		{ "*.", WHY_STAR },
		{ "**.index.example.org", WHY_STAR },
		{ "pypi.*", WHY_STAR },
		{ "a.*.org", WHY_STAR },
		{ "*.*.org", WHY_LABEL },
		{ "b\xc3\xbc" "cher.de", WHY_LABEL },
		{ "\xe2\x84\xaa" ".org", WHY_LABEL },	/* the Kelvin sign */
		{ "-x.org", WHY_LABEL },
		{ "x-.org", WHY_LABEL },
		{ "a..org", WHY_LABEL },
		{ ".org", WHY_LABEL },
		{ "a_b.org", WHY_LABEL },
		{ "user@index.example.org", WHY_LABEL },
		{ "a b", WHY_LABEL },
		{ LABEL_63 "d.org", WHY_LABEL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct task_host host = { .class = N_TASK_HOST_CLASSES };
		const char *why = NULL;
		int rc = task_host_parse(str_from(cases[i].text), &arena, &host, &why);

		is_int(rc, -1, "'%s'", cases[i].text);
		is_text(why, cases[i].why, "'%s'", cases[i].text);
		is_int(host.class, N_TASK_HOST_CLASSES, "untouched: '%s'", cases[i].text);
	}
}

static void test_an_empty_task_has_the_defaults(void)
{
	struct task t;

	is_text(read_task("", false, &t), "", "no problem");
	is_int(t.environment.network.mode, NETWORK_PUBLIC, "public");
	ok(!t.environment.cpus.set && !t.environment.memory_mb.set && !t.environment.storage_mb.set,
	   "no limits");
	ok(!task_agent_timeout(&t, NULL).set, "the agent has all the time");
	is_int(task_verifier_timeout(&t, NULL).value, 600000, "the verifier 600 s");
	ok(!task_agent_network(&t, NULL) && !task_verifier_network(&t, NULL), "no overrides");
	ok(!task_verifier_environment(&t, NULL), "one environment");
}

static void test_a_whole_task_is_read(void)
{
	static const char text[] =
		"[metadata]\nnetwork_mode = 5\n"
		"[environment]\nnetwork_mode = \"allowlist\"\nallowed_hosts = [\"a.org\", "
		"\"A.org.\"]\n"
		"cpus = 2.0\nmemory_mb = 512\nstorage_mb = 1\ngpus = 0\nbuild_timeout_sec = "
		"0.0001\n"
		"docker_image = \"img\"\nenv = { A = \"${X:-d}\" }\n"
		"[agent]\ntimeout_sec = 16.1\ncommand = [\"claude\", \"-p\"]\nuser = \"x\"\n"
		"[verifier]\ntimeout_sec = inf\ncommand = \"bash t.sh\"\nenv.V = \"1\"\n"
		"[solution]\nenv = { S = \"2\" }\n";
	struct task t;

	is_text(read_task(text, false, &t), "", "no problem");
	is_int((long long)t.environment.network.n_hosts, 2, "duplicates are kept");
	is_text(t.environment.network.hosts[1].text.s, "a.org", "and normalised");
	is_int(t.environment.network.classes, 1 << TASK_HOSTNAME, "classes");
	is_int(t.environment.cpus.value, 2, "a fraction that is whole");
	is_int(t.environment.memory_mb.value, 512, "memory");
	is_int(t.environment.build_timeout_ms.value, 1, "a started millisecond");
	ok(str_is(t.environment.docker_image, "img"), "image");
	ok(t.environment.env.n == 1 && str_is(t.environment.env.items[0].value, "${X:-d}"),
	   "a template stays text");
	is_int(task_agent_timeout(&t, NULL).value, 16100, "decimal seconds are exact");
	is_int(task_verifier_timeout(&t, NULL).value, LIMIT_NONE, "inf");
	ok(!t.agent.command.is_shell && t.agent.command.n_words == 2, "words");
	ok(t.verifier.command.is_shell && str_is(t.verifier.command.words[0], "bash t.sh"),
	   "a shell text");
	ok(t.verifier.env.n == 1 && t.solution_env.n == 1, "variables of the phases");
}

static void test_processes_that_are_not_kept(void)
{
	struct task t;

	is_text(read_task("[environment]\nkeep_processes = false\n", false, &t), "", "read");
	ok(t.environment.ends_processes, "they end");
	is_text(read_task("[environment]\nkeep_processes = true\n", false, &t), "", "read");
	ok(!t.environment.ends_processes, "they are kept");
	is_text(read_task("", false, &t), "", "read");
	ok(!t.environment.ends_processes, "as when nothing is said");
	ok(strstr(read_task("[environment]\nkeep_processes = 0\n", false, &t),
		  "environment.keep_processes"), "no other word");
}

static void test_older_spellings(void)
{
	static const struct { const char *text; int64_t mb; const char *says;
	} sizes[] = {
		{ "memory = \"2G\"", 2048, "deprecated" },
		{ "memory = \" 512m \"", 512, "deprecated" },
		{ "memory = \"2048k\"", 2, "deprecated" },
		{ "memory = \"1.5g\"", 1536, "deprecated" },
		{ "memory = \"2G\"\nmemory_mb = 2048", 2048, "deprecated" },
		{ "memory = \"2G\"\nmemory_mb = 1024", -1,
		  "Conflicting 'memory' and 'memory_mb' values" },
		{ "memory = \"2T\"", -1,
		  "Invalid size format: 2T. Expected format like '1G', '512M', etc." },
		{ "memory = \"G\"", -1, "Invalid size format" },
		{ "memory = \"\"", -1, "Invalid size format" },
		{ "memory = \"1K\"", -1, "less than 1M" },
		{ "memory_mb = 0", -1, "at least 1" },
		{ "memory_mb = 9000000000000000000", -1, "at least 1" },
		{ "memory_mb = 1.5", -1, "a whole number" },
		{ "storage = \"1G\"\nstorage_mb = 5", -1,
		  "Conflicting 'storage' and 'storage_mb' values" },
	};
	char text[256];
	struct task t;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		const char *said;

		snprintf(text, sizeof(text), "[environment]\n%s\n", sizes[i].text);
		said = read_task(text, false, &t);
		ok(strstr(said, sizes[i].says) != NULL, "%s: %s", text, said);
		is_int(diags.n_errors == 0, sizes[i].mb > 0, "%s", text);
		if (sizes[i].mb > 0)
			is_int(t.environment.memory_mb.value, sizes[i].mb, "%s", text);
	}
}

static void test_allow_internet_yields_to_what_is_newer(void)
{
	struct task t;

	is_text(read_task("[environment]\nallow_internet = false\n", false, &t), "", "alone");
	is_int(t.environment.network.mode, NETWORK_NONE, "no network");
	is_text(read_task("[environment]\nallow_internet = true\n", false, &t), "", "alone");
	is_int(t.environment.network.mode, NETWORK_PUBLIC, "public");
	ok(strstr(read_task("[environment]\nallow_internet = false\nnetwork_mode = \"public\"\n",
			    true, &t),
		  "warning: ") != NULL,
	   "a laxer mode is told");
	is_int(t.environment.network.mode, NETWORK_PUBLIC, "and wins, as in Harbor");
	ok(strstr(read_task("[environment]\nallow_internet = false\nallowed_hosts = []\n", false,
			    &t),
		  "contradicts") != NULL,
	   "but not in a policy");
	is_text(read_task("[environment]\nallow_internet = true\nnetwork_mode = \"no-network\"\n",
			  false, &t),
		"", "a stricter mode may stand");
}

static void test_problems_have_harbors_words_and_a_place(void)
{
	static const struct { const char *text, *want;
	} cases[] = {
		{ "[environment]\nnetwork_mode = \"Public\"\n",
		  "t:2:16: environment.network_mode: Input should be 'public', 'no-network' or "
		  "'allowlist' "
		  "(got 'Public')\n" },
		{ "[environment]\nallowed_hosts = [\"a\"]\n",
		  "t:2:17: environment: allowed_hosts is only valid when "
		  "network_mode='allowlist'.\n" },
		{ "[agent]\nallowed_hosts = []\n",
		  "t:2:17: agent: allowed_hosts is only valid when network_mode='allowlist'.\n" },
		{ "[agent]\nnetwork_mode = \"public\"\nallowed_hosts = []\n", "" },
		{ "[environment]\nnetwork_mode = \"public\"\nallowed_hosts = []\n", "" },
		{ "[environment]\nallowed_hosts = []\n", "" },
		{ "[environment]\nnetwork_mode = \"allowlist\"\nallowed_hosts = [\"*\"]\n",
		  "t:3:18: environment: " WHY_STAR " (got '*')\n" },
		{ "[environment]\nnetwork_mode = \"allowlist\"\nallowed_hosts = [5]\n",
		  "t:3:18: environment.allowed_hosts is a whole number; write a string\n" },
		{ "[verifier]\nenvironment_mode = \"shared\"\n[verifier.environment]\n",
		  "t:2:20: [verifier].environment_mode='shared' is incompatible with "
		  "[verifier.environment]; remove one of them\n" },
		{ "[verifier]\nenvironment_mode = \"own\"\n",
		  "t:2:20: verifier.environment_mode: Input should be 'shared' or 'separate' (got "
		  "'own')\n" },
		{ "environment = 1\n", "t:1:15: environment is a whole number; write a table\n" },
		{ "[[steps]]\n", "t:1:3: a step without a name; write name = \"…\"\n" },
		{ "[[steps]]\nname = \"a\"\n[[steps]]\nname = \"a\"\n",
		  "t:4:8: two steps are named 'a'; rename one\n" },
		{ "steps = [1]\n", "t:1:10: an entry of steps is a whole number; write a table\n" },
		{ "[agent]\ntimeout_sec = 0\n", "t:2:15: agent.timeout_sec is no time-out; write "
						"seconds above 0 and up to 1e9, or inf\n" },
		{ "[agent]\ntimeout_sec = nan\n", "t:2:15: agent.timeout_sec is no time-out; write "
						  "seconds above 0 and up to 1e9, or inf\n" },
		{ "[agent]\ntimeout_sec = \"5\"\n",
		  "t:2:15: agent.timeout_sec is a string; write a number of seconds\n" },
		{ "[agent]\ncommand = []\n",
		  "t:2:11: agent.command is blank; write a command or remove it\n" },
		{ "[environment]\nenv = { \"A=B\" = \"1\", C = 1 }\n",
		  "t:2:9: 'A=B' in environment.env is no variable's name\n"
		  "t:2:26: environment.env is a whole number; write a string\n" },
	};
	struct task t;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		is_text(read_task(cases[i].text, false, &t), cases[i].want, "%s", cases[i].text);
}

static void test_unknown_keys_matter_where_they_look_like_known_ones(void)
{
	static const struct { const char *text, *want;
	} cases[] = {
		{ "[environment]\nnetwork_mod = \"no-network\"\n", "did you mean 'network_mode'?" },
		{ "[environment]\nallowedHosts = []\n", "did you mean 'allowed_hosts'?" },
		{ "[agnet]\n", "did you mean 'agent'?" },
		{ "[[steps]]\nname = \"a\"\n[steps.verifer]\n", "did you mean 'verifier'?" },
		{ "network_mode = \"no-network\"\n", "the network is set by" },
		{ "[agent]\nallow_internet = false\n", "the network is set by" },
		{ "[environment]\nblocked_hosts = [\"a\"]\n", "the network is set by" },
		{ "[environment]\ntpu = {}\nos = \"linux\"\nworkdir = \"/w\"\n",
		  "" },
		{ "version = \"1.0\"\ntask.name = \"a/b\"\nartifacts = []\nsource = \"x\"\n", "" },
		{ "[metadata]\nnetwork_mod = 1\nauthor_name = \"x\"\n", "" },
	};
	struct task t;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *said = read_task(cases[i].text, false, &t);
		bool clean = !*cases[i].want;

		ok(clean ? !*said : strstr(said, cases[i].want) != NULL, "%s: %s", cases[i].text,
		   said);
		is_int(diags.n_errors > 0, !clean, "%s", cases[i].text);
		said = read_task(cases[i].text, true, &t);
		is_int((long long)diags.n_errors, 0, "only a warning for a trial: %s", said);
		is_int(strstr(said, "is ignored") != NULL, !clean, "%s: %s", cases[i].text, said);
	}
}

/* They are no reason to refuse a policy, and a trial tells them. */
static void test_other_unknown_keys_are_told(void)
{
	static const char text[] = "unheard_of = 1\n[environment]\nother = 2\n";
	const char *said;
	struct task t;

	is_text(read_task(text, false, &t), "", "silent where a policy is read");
	said = read_task(text, true, &t);
	is_int((long long)diags.n_errors, 0, "%s", said);
	ok(strstr(said, "'unheard_of' at the top of the file is ignored") &&
	   strstr(said, "'other' in [environment] is ignored"), "%s", said);
}

static void test_hardware_that_is_wanted(void)
{
	static const struct { const char *text; bool tpu; } cases[] = {
		{ "[environment]\ntpu = {}\ntpus = 0\n", false },
		{ "[environment]\ntpus = 1\n", true },
		{ "[environment]\ntpu = { type = \"v4\" }\n", true },
		{ "[environment]\ntpu = \"v4\"\n", true },
	};
	struct task t;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		is_text(read_task(cases[i].text, true, &t), "", "%s", cases[i].text);
		is_int(t.environment.tpu, cases[i].tpu, "%s", cases[i].text);
	}
	is_text(read_task("[environment]\nos = \"windows\"\n", true, &t), "", "an os");
	ok(str_is(t.environment.os, "windows"), "is read");
}

static void test_steps_stand_before_the_task(void)
{
	static const char text[] =
		"[environment]\nnetwork_mode = \"no-network\"\n"
		"[agent]\nnetwork_mode = \"public\"\ntimeout_sec = 1\n"
		"[verifier]\ntimeout_sec = 2\n[verifier.environment]\ncpus = 1\n"
		"[[steps]]\nname = \"silent\"\n"
		"[[steps]]\nname = \"own\"\n"
		"[steps.agent]\nnetwork_mode = \"no-network\"\ntimeout_sec = 3\n"
		"[steps.verifier.environment]\ncpus = 2\n"
		"[[steps]]\nname = \"shared\"\n[steps.verifier]\nenvironment_mode = \"shared\"\n"
		"timeout_sec = 4\nnetwork_mode = \"public\"\n";
	const struct task_step *s;
	struct task t;

	is_text(read_task(text, false, &t), "", "no problem");
	s = t.steps;
	ok(task_agent_network(&t, &s[0]) == &t.agent.network, "a silent step has the task's agent");
	ok(task_agent_network(&t, &s[1]) == &s[1].agent.network, "a step has its own");
	is_int(task_agent_timeout(&t, &s[0]).value, 1000, "the task's time");
	is_int(task_agent_timeout(&t, &s[1]).value, 3000, "its own time");
	is_int(task_verifier_timeout(&t, &s[1]).value, 2000, "the task's verifier time");
	is_int(task_verifier_timeout(&t, &s[2]).value, 4000, "its own verifier time");
	ok(task_verifier_environment(&t, NULL) == &t.verifier.environment, "a table is separate");
	ok(task_verifier_environment(&t, &s[0]) == &t.verifier.environment,
	   "for a silent step, too");
	ok(task_verifier_environment(&t, &s[1]) == &s[1].verifier.environment, "its own table");
	ok(!task_verifier_environment(&t, &s[2]), "its own word");
	ok(task_verifier_network(&t, &s[2]) == &s[2].verifier.network, "its own verifier network");
	is_text(read_task("[verifier]\nenvironment_mode = \"separate\"\n", false, &t), "",
		"no table");
	ok(task_verifier_environment(&t, NULL) == &t.environment, "is a copy of [environment]");
}

static void test_bounds_are_kept(void)
{
	cleanup_buf struct buf text = BUF(1 << 20);
	struct task t;

	for (int i = 0; i <= MAX_TASK_STEPS; i++)
		buf_printf(&text, "[[steps]]\nname = \"s%d\"\n", i);
	is_text(read_task(buf_text(&text), false, &t), "t:1:3: more than 64 steps; remove some\n",
		"steps");
	buf_clear(&text);
	buf_puts(&text, "[environment.env]\n");
	for (int i = 0; i <= MAX_SHORT_LIST; i++)
		buf_printf(&text, "V%d = \"\"\n", i);
	ok(strstr(read_task(buf_text(&text), false, &t), "more than 4096 variables") != NULL,
	   "variables");
}

int main(void)
{
	diags = DIAGS;
	return tap_run((struct tap_case[]){
		TAP(test_host_entries_that_are_taken),
		TAP(test_host_entries_that_are_refused),
		TAP(test_an_empty_task_has_the_defaults),
		TAP(test_a_whole_task_is_read),
		TAP(test_processes_that_are_not_kept),
					    TAP(test_older_spellings),
		TAP(test_allow_internet_yields_to_what_is_newer),
		TAP(test_problems_have_harbors_words_and_a_place),
		TAP(test_unknown_keys_matter_where_they_look_like_known_ones),
		TAP(test_other_unknown_keys_are_told),
		TAP(test_hardware_that_is_wanted),
		TAP(test_steps_stand_before_the_task),
		TAP(test_bounds_are_kept),
		TAP_END });
}
