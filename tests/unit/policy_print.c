/* Printing: what is printed is read as the same, and printed the same again. */
#include "tap.h"

#include "policy_read.h"

static const char everything[] =
	"profile = \"wasi\"\nbackend = \"docker\"\nrequire = [\"landlock\", \"namespaces\"]\n"
	"may_lack = [\"cgroup\"]\n\n"
	"[files]\nwrite = [\"/w\"]\nread = [\"/opt/sdk\"]\ndeny = [\"**/.env\", \"/w/secret\"]\n"
	"protect = [\"/w/x\", \"git\"]\npresets = [\"user_temp\"]\n"
	"sockets = [\"/agent.sock\"]\n\n[processes]\ndebug = true\n\n"
	"[network]\nmode = \"allowlist\"\n"
	"allow = [\"a.example\", \"**.b.example:443\", \"10.1.0.0/16:5432\", "
	"\"[2001:db8::1]:1-9\"]\n"
	"deny = [\"*:25\", \"x.b.example\"]\nexpose = [8080]\n"
	"host_ports = [5432]\nudp_allow = [\"ntp.example:123\", \"[2001:db8::2]:53124\"]\n"
	"tls = \"name-only\"\nprotocols = [\"http\", \"tls\"]\n"
	"upstream_proxy = \"http://${U}:${P}@proxy.example:3128\"\n"
	"connections = 64\n\n"
	"[limits]\nmemory = \"512M\"\ncpu_seconds = 30\ncpus = \"none\"\nprocesses = 64\n"
	"file_size = \"100M\"\ntimeout = \"10m\"\noutput = \"64M\"\ndisk = \"2G\"\n"
	"open_files = 1024\n\n"
	"[env]\npass = [\"HOME\", \"LC_*\"]\nset = { CI = \"1\", X = \"y z\" }\n"
	"strip = [\"*_TOKEN\"]\n\n"
	"[commands]\nblock = [\"curl\", \"rm -rf /\"]\n\n"
	"[phase.agent.network]\nmode = \"no-network\"\n\n"
	"[phase.\"of many words\"]\n\n"
	"[phase.verifier.limits]\nmemory = \"1G\"\n\n"
	"[phase.verifier.env]\nset = {}\nstrip = []\n";

static void check_stable(const char *text)
{
	cleanup_arena struct arena a = ARENA(16 << 20);
	cleanup_buf struct buf one = BUF(1 << 20), two = BUF(1 << 20);
	struct policy p = read_native(&a, text);
	struct policy again = read_native(&a, printed(&p, &one));

	ok(policy_eq(&p, &again), "the same policy: %s", text);
	is_text(printed(&again, &two), buf_text(&one), "the same text");
}

static void test_every_field(void)
{
	cleanup_arena struct arena a = ARENA(16 << 20);
	cleanup_buf struct buf out = BUF(1 << 20);
	struct policy p = read_native(&a, everything);

	is_text(printed(&p, &out), everything, "is printed as it is written");
	for (int id = 0; id < N_FIELDS; id++)
		ok(p.base.f[id].set, "the sample has %s", fields[id].key);
	check_stable(everything);
}

static void test_strings(void)
{
	static const char *const texts[] = {
		("[files]\ndeny = [\"/a\\\"b\", '/c\\d', \"/e\\u0001\\u001b\\u007f\\u0085\", "
		 "\"/\\b\\t\\n\\f\\r\"]\n"),
		"[files]\ndeny = [\"/\\U0001F600\", \"/ünïcödé\", \"/\\u202e\\ufeff\\u2028\"]\n",
		"[env]\nset = { A = \"\", B = \"\\\\ \\\" ' \\n\" }\n",
		"[phase.\"a.b\"]\n[phase.\"\\u001b[2J\"]\n[phase.'\"']\n[phase.\"ü\"]\n[phase.9-_]"
		"\n",
		"[commands]\nblock = [\"echo 'a  b'\", \"x \\\"y z\\\"\"]\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		cleanup_arena struct arena a = ARENA(16 << 20);
		cleanup_buf struct buf out = BUF(1 << 20);
		struct policy p = read_native(&a, texts[i]);

		check_stable(texts[i]);
		printed(&p, &out);
		for (size_t k = 0; k < out.n; k++)
			ok((unsigned char)out.data[k] >= ' ' || out.data[k] == '\n',
			   "no control character: %s", texts[i]);
		ok(!strstr(buf_text(&out), "\xc2\x85") && !strstr(buf_text(&out), "\xe2\x80\xae"),
		   "none of the others either");
	}
}

static void test_phases(void)
{
	static const char *const texts[] = {
		"[phase.p]\n",
		"[network]\nallow = [\"a\"]\n[phase.p]\n",
		"[network]\nallow = [\"a\"]\n[phase.p.network]\nmode = \"public\"\n",
		"[network]\nmode = \"public\"\n[phase.p.network]\nallow = [\"a\"]\n",
		"[network]\nmode = \"public\"\n[phase.p.network]\nallow = []\n",
		"[network]\nallow = [\"a\"]\n[phase.p.network]\nallow = []\n",
		"[network]\nallow = [\"a\"]\n[phase.p.network]\nmode = \"allowlist\"\n",
		"[network]\ndeny = [\"a\"]\n[phase.p.network]\ndeny = []\nmode = \"public\"\n",
		"[env]\nset = { A = \"1\" }\n[phase.p.env]\nset = {}\n",
		"[env]\nset = { A = \"1\" }\n[phase.p.env]\nset = { A = \"2\" }\n",
		"[limits]\nmemory = \"1G\"\n[phase.p.limits]\nmemory = \"none\"\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		check_stable(texts[i]);
}

static void test_long_lists_stand_in_lines(void)
{
	cleanup_arena struct arena a = ARENA(16 << 20);
	cleanup_buf struct buf out = BUF(1 << 20);
	struct policy p = read_native(&a, "[env]\npass = [\"A\", \"B\", \"C\", \"D\", \"E\"]\n"
					  "set = { A = \"1\", B = \"2\", C = \"3\", D = \"4\", E = "
					  "\"5\" }\n");

	is_text(printed(&p, &out),
		"[env]\npass = [\n  \"A\",\n  \"B\",\n  \"C\",\n  \"D\",\n  \"E\",\n]\n"
		"set = { A = \"1\", B = \"2\", C = \"3\", D = \"4\", E = \"5\" }\n", "as lines");
	check_stable(buf_text(&out));
}

/* Comments for what nobody wrote: reading them again changes nothing. */
static void test_defaults_are_comments(void)
{
	static const char *const texts[] = { "", "profile = \"wasi\"\n",
					     "[limits]\nmemory = \"1G\"\n[phase.p]\n" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		cleanup_arena struct arena a = ARENA(16 << 20);
		cleanup_buf struct buf one = BUF(1 << 20), two = BUF(1 << 20);
		struct policy p = read_native(&a, texts[i]), again;

		policy_print(&p, true, &one);
		ok(strstr(buf_text(&one), "# output = \"256M\"   (default)\n"), "a default");
		again = read_native(&a, buf_text(&one));
		ok(policy_eq(&p, &again), "the same policy");
		policy_print(&again, true, &two);
		is_text(buf_text(&two), buf_text(&one), "the same text");
	}
}

static void test_json(void)
{
	cleanup_arena struct arena a = ARENA(16 << 20);
	cleanup_buf struct buf out = BUF(1 << 20);
	struct json_out j = { .out = &out };
	struct policy p = read_native(&a, everything);
	struct source src = { "j", { 0 } };
	struct value root;
	struct cordon_err err;
	const struct value *v;

	policy_print_json(&p, &j);
	src.text = (struct str){ buf_text(&out), out.n };
	ok(json_parse(&src, &a, &root, &err) == 0, "is JSON");
	for (int id = 0; id < N_FIELDS; id++) {
		struct str table = field_table((enum field_id)id);
		const char *name = arena_strndup(&a, table.s, table.n);

		v = value_find(table.n ? value_find(&root, name) : &root,
			       field_leaf((enum field_id)id));
		ok(v, "has %s", fields[id].key);
	}
	v = value_find(value_find(&root, "phase"), "verifier");
	v = value_find(value_find(v, "limits"), "memory");
	ok(v && str_is(v->string, "1G"), "phases, too");
	v = value_find(value_find(&root, "limits"), "cpus");
	ok(v && v->kind == VALUE_STRING && str_is(v->string, "none"), "none is a word");
}

int main(void)
{
	return tap_run((struct tap_case[]){ TAP(test_every_field), TAP(test_strings),
					    TAP(test_phases), TAP(test_long_lists_stand_in_lines),
					    TAP(test_defaults_are_comments), TAP(test_json),
					    TAP_END });
}
