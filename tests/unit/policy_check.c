/* What two fields say together: contradictions, dead rules, nested roots. */
#include "tap.h"

#include "policy_read.h"

struct row {
	const char *text;
	const char *said;	/* the problems, or "" … */
	const char *printed;	/* … and then what it prints as */
};

static void check(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		cleanup_arena struct arena a = ARENA(8 << 20);
		cleanup_buf struct buf said = BUF(1 << 16), out = BUF(1 << 16);
		struct policy p;

		is_text(problems(rows[i].text, &said), rows[i].said, "%s", rows[i].text);
		if (rows[i].said[0] || said.n)
			continue;
		p = read_native(&a, rows[i].text);
		is_text(printed(&p, &out), rows[i].printed, "%s", rows[i].text);
	}
}

static void test_network_contradictions(void)
{
	static const struct row rows[] = {
		{ "[network]\nmode = \"public\"\nallow = [\"a.example\"]\n",
		  "f:3:9: network.allow is only valid when network.mode is \"allowlist\"; change "
		  "the "
		  "mode or remove the list\n",
		  NULL },
		{ "[network]\nmode = \"no-network\"\nallow = [\"a.example\"]\n",
		  "f:3:9: network.allow is only valid when network.mode is \"allowlist\"; change "
		  "the "
		  "mode or remove the list\n",
		  NULL },
		/* [M4] */
		{ "[network]\nmode = \"public\"\nallow = []\n", "",
		  "[network]\nmode = \"public\"\n" },
		{ "[network]\nallow = []\n", "", "[network]\nmode = \"allowlist\"\nallow = []\n" },
		{ "[network]\nmode = \"allowlist\"\n", "",
		  "[network]\nmode = \"allowlist\"\nallow = []\n" },
		{ "[network]\nmode = \"no-network\"\nhost_ports = [1]\nudp_allow = [\"a:1\"]\n",
		  "f:3:14: network.host_ports is not valid when network.mode is \"no-network\"; "
		  "change the mode or remove the list\n"
		  "f:4:13: network.udp_allow is not valid when network.mode is \"no-network\"; "
		  "change the mode or remove the list\n",
		  NULL },
		{ "[network]\nmode = \"no-network\"\nexpose = [1]\nhost_ports = []\n", "",
		  "[network]\nmode = \"no-network\"\nexpose = [1]\n" },
		{ "[network]\nhost_ports = [2, 1]\n", "", "[network]\nhost_ports = [1, 2]\n" },
		{ "[network]\nallow = []\nhost_ports = []\nudp_allow = []\ntls = \"strict\"\n", "",
		  "[network]\nmode = \"allowlist\"\nallow = []\n" },
		/* A phase without a network has none of its base's ways out. */
		{ "[network]\nmode = \"public\"\nhost_ports = [1]\n[phase.p.network]\n"
		  "mode = \"no-network\"\n[phase.q.network]\nallow = []\ntls = \"name-only\"\n",
		  "",
		  "[network]\nmode = \"public\"\nhost_ports = [1]\n\n[phase.p.network]\n"
		  "mode = \"no-network\"\n\n[phase.q.network]\nmode = \"allowlist\"\nallow = []\n"
		  "tls = \"name-only\"\n" },
		{ "[network]\nallow = []\ntls = \"name-only\"\nhost_ports = [1]\n"
		  "[phase.p.network]\ntls = \"strict\"\nhost_ports = []\n",
		  "",
		  "[network]\nmode = \"allowlist\"\nallow = []\nhost_ports = [1]\n"
		  "tls = \"name-only\"\n\n[phase.p.network]\nhost_ports = []\ntls = \"strict\"\n" },
		{ "[network]\nmode = \"no-network\"\n[phase.p.network]\nhost_ports = [1]\n",
		  "f:4:14: network.host_ports is not valid when network.mode is \"no-network\"; "
		  "change the mode or remove the list\n",
		  NULL },
		{ "[phase.p.network]\nmode = \"public\"\nallow = [\"a.example\"]\n",
		  "f:3:9: network.allow is only valid when network.mode is \"allowlist\"; change "
		  "the "
		  "mode or remove the list\n",
		  NULL },
	};

	check(rows, ARRAY_SIZE(rows));
}

static void test_dead_allow_rules(void)
{
	static const struct row rows[] = {
		{ "[network]\nallow = [\"a.example\", \"b.example\"]\ndeny = [\"*.example\"]\n",
		  "f:2:10: network.allow: 'a.example' can never match, since network.deny has "
		  "'*.example'; remove one\n"
		  "f:2:23: network.allow: 'b.example' can never match, since network.deny has "
		  "'*.example'; remove one\n",
		  NULL },
		{ "[network]\nallow = [\"10.0.0.1\"]\ndeny = [\"*\"]\n",
		  "f:2:10: network.allow: '10.0.0.1' can never match, since network.deny has '*'; "
		  "remove one\n",
		  NULL },
		{ "[network]\nallow = [\"*\", \"Host.Cordon.Internal:80\"]\n",
		  "f:2:15: network.allow: 'Host.Cordon.Internal:80' can never match; list the port "
		  "in network.host_ports\n",
		  NULL },
		{ "[network]\nudp_allow = [\"a.example:1\", \"HOST.cordon.internal.:5000\"]\n",
		  "f:2:29: network.udp_allow: 'HOST.cordon.internal.:5000' can never match; no "
		  "datagram leads to this machine: remove it\n",
		  NULL },
		{ "[network]\nudp_allow = [\"a.example:1\", \"b:1\"]\ndeny = [\"*.example\"]\n",
		  "f:2:14: network.udp_allow: 'a.example:1' can never match, since network.deny "
		  "has '*.example'; remove one\n",
		  NULL },
		{ "[network]\nallow = [\"[2001:db8::1]:443\"]\ndeny = [\"*:400-500\"]\n",
		  "f:2:10: network.allow: '[2001:db8::1]:443' can never match, since network.deny "
		  "has "
		  "'*:400-500'; remove one\n",
		  NULL },
		{ "[network]\nallow = [\"a.example\"]\ndeny = [\"a.example:25\"]\n", "",
		  "[network]\nmode = \"allowlist\"\nallow = [\"a.example\"]\n"
		  "deny = [\"a.example:25\"]\n" },
		/* Of a phase by itself, once. */
		{ "[network]\nallow = [\"a.example\"]\n[phase.p.network]\ndeny = [\"a.example\"]\n",
		  "f:2:10: network.allow: 'a.example' can never match, since network.deny has "
		  "'a.example'; remove one\n",
		  NULL },
		{ "[network]\nallow = [\"a.example\"]\ndeny = "
		  "[\"a.example\"]\n[phase.p]\n[phase.q]\n",
		  "f:2:10: network.allow: 'a.example' can never match, since network.deny has "
		  "'a.example'; remove one\n",
		  NULL },
	};

	check(rows, ARRAY_SIZE(rows));
}

static void test_roots(void)
{
	static const struct row rows[] = {
		{ "[files]\nread = [\"/a\"]\nwrite = [\"/a\"]\n",
		  "f:2:9: '/a' is in both files.read and files.write; remove one\n", NULL },
		{ "[files]\nwrite = [\"/a/b\"]\ndeny = [\"/a\"]\n",
		  "f:2:10: files.write: '/a/b' is denied by '/a' in files.deny; remove one\n",
		  NULL },
		{ "[files]\nread = [\"/a\"]\ndeny = [\"/a\"]\n",
		  "f:2:9: files.read: '/a' is denied by '/a' in files.deny; remove one\n", NULL },
		{ "[files]\nread = [\"/a-b\"]\ndeny = [\"/a\"]\n", "",
		  "[files]\nread = [\"/a-b\"]\ndeny = [\"/a\"]\n" },
		{ "[files]\nread = [\"/\"]\ndeny = [\"/\"]\n",
		  "f:2:9: files.read: '/' is denied by '/' in files.deny; remove one\n", NULL },
		/* A pattern denies parts only, as far as we know. */
		{ "[files]\nread = [\"/a\"]\ndeny = [\"/*\"]\n", "",
		  "[files]\nread = [\"/a\"]\ndeny = [\"/*\"]\n" },
		/* [M3]: a read root inside a writable one is protected. */
		{ "[files]\nwrite = [\"/a\"]\nread = [\"/a/v\", \"/s\"]\n", "",
		  "[files]\nwrite = [\"/a\"]\nread = [\"/s\"]\nprotect = [\"/a/v\", "
		  "\"agent-config\", \"git\", \"shell-rc\"]\n" },
		{ "[files]\nwrite = [\"/a\"]\nread = [\"/\", \"/a/v\"]\nprotect = []\n", "",
		  "[files]\nwrite = [\"/a\"]\nread = [\"/\"]\nprotect = [\"/a/v\"]\n" },
		{ "[files]\nwrite = []\nread = []\n", "", "[files]\nwrite = []\nread = []\n" },
	};

	check(rows, ARRAY_SIZE(rows));
}

static void test_lists_are_canonical(void)
{
	/* [M1] */
	static const struct row rows[] = {
		{ "require = [\"namespaces\", \"cgroup\", \"namespaces\"]\n", "",
		  "require = [\"cgroup\", \"namespaces\"]\n" },
		{ "require = [\"landlock\"]\nmay_lack = [\"cgroup\", \"landlock\"]\n",
		  "f:2:23: 'landlock' is in both require and may_lack; remove one\n", NULL },
		{ "[files]\nread = [\"/a/b\", \"/a\", \"/a-b\", \"/a/c\"]\n", "",
		  "[files]\nread = [\"/a\", \"/a-b\"]\n" },
		{ "[env]\npass = [\"LC_ALL\", \"LC_*\", \"L\", \"LC_\"]\n", "",
		  "[env]\npass = [\"L\", \"LC_*\"]\n" },
		{ "[env]\npass = [\"*\", \"A\"]\n", "", "[env]\npass = [\"*\"]\n" },
		{ "[network]\nallow = [\"a.b.example\", \"**.b.example\", \"b.example:80\"]\n", "",
		  "[network]\nmode = \"allowlist\"\nallow = [\"**.b.example\"]\n" },
		{ "[network]\nexpose = [2, 1, 2]\n", "", "[network]\nexpose = [1, 2]\n" },
		/* Nothing is said by an empty list that only takes away. */
		{ "require = []\n[env]\nstrip = []\nset = {}\n", "", "" },
		{ "[files]\nprotect = []\npresets = []\n", "",
		  "[files]\nprotect = []\npresets = []\n" },
	};

	check(rows, ARRAY_SIZE(rows));
}

static void test_phases_can_be_read_without_their_base(void)
{
	/* [M2] */
	cleanup_arena struct arena a = ARENA(8 << 20);
	struct policy p = read_native(&a, "[network]\nallow = [\"a\"]\ndeny = [\"b\"]\n"
					  "[limits]\nmemory = \"1G\"\n[env]\nstrip = [\"X\"]\n"
					  "[phase.closed.network]\nmode = \"no-network\"\n"
					  "[phase.bare.env]\nstrip = []\n"
					  "[phase.same]\n"
					  "[phase.list.network]\nallow = [\"c\"]\n");
	const struct section *s = &policy_find_phase(&p, STR("closed"))->section;

	ok(!s->f[F_NETWORK_ALLOW].set && s->f[F_NETWORK_DENY].n == 1,
	   "closed: no list, same denials");
	is_int(s->f[F_LIMITS_MEMORY].number, 1 << 30, "closed: the base's memory");
	s = &policy_find_phase(&p, STR("bare"))->section;
	ok(s->f[F_ENV_STRIP].set && !s->f[F_ENV_STRIP].n, "bare: an empty list stays");
	ok(s->f[F_NETWORK_ALLOW].set && s->f[F_NETWORK_ALLOW].n == 1, "bare: the base's hosts");
	s = &policy_find_phase(&p, STR("list"))->section;
	is_int(s->f[F_NETWORK_MODE].number, NETWORK_ALLOWLIST, "list: implied");
	ok(s->f[F_NETWORK_ALLOW].n == 1 &&
		   s->f[F_NETWORK_ALLOW].items != p.base.f[F_NETWORK_ALLOW].items,
	   "list: its own");
	ok(!policy_find_phase(&p, STR("none")), "no such phase");
}

/* Defaults make a policy that says nothing and one that writes them the same. */
static void test_defaults(void)
{
	static const struct {
		const char *text, *write, *read, *protect;
	} rows[] = {
		{ "", "/base", "/base", "agent-config, git, shell-rc" },
		{ "[files]\nwrite = [\"/a\"]\n", "/a", "/a", "agent-config, git, shell-rc" },
		{ "[files]\nread = [\"/s\"]\n", "/base", "/base, /s",
		  "agent-config, git, shell-rc" },
		{ "[files]\nread = [\"/\"]\n", "/base", "/", "agent-config, git, shell-rc" },
		/* Named for reading alone. */
		{ "[files]\nread = [\".\"]\n", "nothing", "/base", "agent-config, git, shell-rc" },
		{ "[files]\nread = [\"vendor\"]\n", "/base", "/base",
		  "/base/vendor, agent-config, git, shell-rc" },
		{ "[files]\nwrite = []\n", "nothing", "nothing", "agent-config, git, shell-rc" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_arena struct arena a = ARENA(8 << 20);
		cleanup_diags struct diags d = DIAGS;
		struct policy p = read_native(&a, rows[i].text);
		struct reader r = { .policy = &p, .diags = &d, .file = "default",
				    .base_dir = TEST_BASE, .cwd = TEST_BASE };
		const struct {
			enum field_id id;
			const char *want;
		} cells[] = { { F_FILES_WRITE, rows[i].write }, { F_FILES_READ, rows[i].read },
			      { F_FILES_PROTECT, rows[i].protect } };

		ok(read_defaults(&r) == 0, "%s", rows[i].text);
		for (size_t k = 0; k < ARRAY_SIZE(cells); k++) {
			cleanup_buf struct buf out = BUF(4096);

			value_print_plain(cells[k].id, &p.base.f[cells[k].id], &out);
			is_text(buf_text(&out), cells[k].want, "%s: %s", rows[i].text,
				fields[cells[k].id].key);
		}
	}
}

/* Every default of the table can be read, and no field is left without one
 * but a text, and the list that goes with a mode. */
static void test_defaults_are_valid(void)
{
	cleanup_arena struct arena a = ARENA(8 << 20);
	cleanup_diags struct diags d = DIAGS;
	struct policy p = read_native(&a, "[phase.p]\n");
	struct reader r = { .policy = &p, .diags = &d, .file = "default", .base_dir = TEST_BASE,
			    .cwd = TEST_BASE };

	ok(read_defaults(&r) == 0 && !d.n, "read");
	for (int id = 0; id < N_FIELDS; id++) {
		bool open = id == F_NETWORK_ALLOW || id == F_NETWORK_UPSTREAM_PROXY;

		is_int(p.base.f[id].set, !open, "%s", fields[id].key);
		is_int(p.phases[0].section.f[id].set,
		       !open && field_in_phase((enum field_id)id), "phase %s", fields[id].key);
	}
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_network_contradictions), TAP(test_dead_allow_rules), TAP(test_roots),
		TAP(test_lists_are_canonical), TAP(test_phases_can_be_read_without_their_base),
		TAP(test_defaults), TAP(test_defaults_are_valid), TAP_END });
}
