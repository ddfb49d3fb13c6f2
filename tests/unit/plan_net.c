/* The network of a plan: what it needs of the machine, and what goes into it. */
#include "plan/net.h"

#include "plan/compile.h"
#include "policy_read.h"
#include "tap.h"

/* A policy with its defaults, as plans are made from. */
static struct policy read_whole(struct arena *a, const char *text)
{
	struct policy p = read_native(a, text);
	cleanup_diags struct diags diags = DIAGS;
	struct reader r = { .policy = &p, .diags = &diags, .file = "default",
			    .base_dir = TEST_BASE, .cwd = TEST_BASE, .home = TEST_HOME };

	ok(read_defaults(&r) == 0, "defaults of %s", text);
	return p;
}

static const char *const variables[] = { "HTTPS_PROXY=http://u%40x:p%3aw@proxy.example/",
					 "PLAIN=http://10.0.0.1:3128", "BARE=http://proxy.example",
					 "BAD=https://proxy.example:1", "ESCAPE=http://a%4@b:1",
					 "USER=me", "PASS=open:sesame@x", "PAIR=me:word", NULL };

static int compile(struct arena *a, const char *text, const struct host_caps *caps,
		   struct plan_net *ret, struct cordon_err *err)
{
	struct policy *p = arena_new(a, 1, sizeof(*p));
	const struct net_options o = { .caps = caps, .environ = variables };

	*p = read_whole(a, text);
	return net_compile(p, &p->base, &o, a, ret, err);
}

/* ---- how it is held ------------------------------------------------------- */

enum machine { NO_NET, PLAIN_NET, WITH_TPROXY, N_MACHINES };
static const struct host_caps machines[] = {
	[NO_NET] = { .tproxy = true },
	[PLAIN_NET] = { .net = true },
	[WITH_TPROXY] = { .net = true, .tproxy = true },
};
static_assert(ARRAY_SIZE(machines) == N_MACHINES, "a machine without a table");

#define NET(x)	"[network]\n" x "\n"

static void test_kinds(void)
{
	static const struct {
		const char *text;
		enum net_kind want;
	} rows[] = {
		{ "", NET_CLOSED },
		{ NET("mode = \"public\""), NET_OPEN },
		{ NET("mode = \"public\"\nudp_allow = [\"a:1\"]"), NET_OPEN },
		{ NET("mode = \"public\"\nupstream_proxy = \"none\""), NET_OPEN },
		{ NET("mode = \"public\"\ndeny = [\"a\"]"), NET_GATE },
		{ NET("mode = \"public\"\nexpose = [1]"), NET_GATE },
		{ NET("mode = \"public\"\nhost_ports = [1]"), NET_GATE },
		{ NET("mode = \"public\"\nupstream_proxy = \"http://p:1\""), NET_GATE },
		{ NET("expose = [8080]"), NET_GATE },
		{ NET("host_ports = [5432]"), NET_GATE },
		{ NET("udp_allow = [\"a:123\"]"), NET_GATE },
		{ NET("allow = []"), NET_GATE },
		{ NET("allow = [\"a:443\"]"), NET_GATE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (int k = 0; k < N_MACHINES; k++) {
			cleanup_arena struct arena a = ARENA(8 << 20);
			struct plan_net net;
			struct cordon_err err;
			struct policy p = read_whole(&a, rows[i].text);
			bool offered = rows[i].want != NET_GATE || k == WITH_TPROXY;

			is_int(net_find_kind(&p.base), rows[i].want, "%s", rows[i].text);
			is_int(net_find_missing(&p.base, &machines[k]) == N_HOST_FEATURES, offered,
			       "missing: %s on machine %d", rows[i].text, k);
			is_int(compile(&a, rows[i].text, &machines[k], &net, &err) == 0, offered,
			       "compile: %s on machine %d", rows[i].text, k);
			if (offered)
				is_int(net.kind, rows[i].want, "%s", rows[i].text);
		}
}

static void test_refusals_name_what_asks(void)
{
	static const struct {
		const char *text;
		enum machine machine;
		const char *want;	/* the start */
	} rows[] = {
		{ NET("allow = [\"a:1\"]"), NO_NET, "network.mode allowlist needs net (" },
		{ NET("allow = [\"a:1\"]"), PLAIN_NET, "network.mode allowlist needs tproxy (" },
		{ NET("mode = \"public\"\ndeny = [\"a\"]"), PLAIN_NET,
		  "network.deny under network.mode public needs tproxy (" },
		{ NET("expose = [1]"), PLAIN_NET,
		  "network.expose under network.mode no-network needs tproxy (" },
		{ NET("mode = \"public\"\nupstream_proxy = \"http://p\""), PLAIN_NET,
		  "network.upstream_proxy under network.mode public needs tproxy (" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_arena struct arena a = ARENA(8 << 20);
		struct plan_net net = { .max_connections = 7 };
		struct cordon_err err = { 0 };

		is_int(compile(&a, rows[i].text, &machines[rows[i].machine], &net, &err), -1,
		       "%s", rows[i].text);
		ok(strncmp(err.msg, rows[i].want, strlen(rows[i].want)) == 0, "%s", err.msg);
		is_int(err.code, CORDON_E_HOST, "code");
		is_int(net.max_connections, 7, "untouched on failure");
	}
}

/* ---- what goes in --------------------------------------------------------- */

static void test_ports(void)
{
	cleanup_arena struct arena a = ARENA(8 << 20);
	struct cordon_err err;
	struct plan_net net;

	if (!ok(compile(&a, NET("allow = [\"a:443\"]\nhost_ports = [9]\nexpose = [8080]"),
			&machines[WITH_TPROXY], &net, &err) == 0, "%s", err.msg))
		return;
	ok(net.n_host_ports == 1 && net.host_ports[0] == 9, "host ports");
	ok(net.n_expose == 1 && net.expose[0] == 8080, "expose");
}

static void test_datagrams(void)
{
	cleanup_arena struct arena a = ARENA(8 << 20);
	struct cordon_err err;
	struct plan_net net;

	if (!ok(compile(&a, NET("udp_allow = [\"n:123\", \"192.0.2.1:9\"]"),
			&machines[WITH_TPROXY], &net, &err) == 0, "%s", err.msg))
		return;
	is_int(net.n_datagrams, 2, "datagrams");
	is_text(net.datagrams[0].host.name, "n", "by name");
	is_int(net.datagrams[0].host.n, 1, "by name");
	is_int(net.datagrams[0].port, 123, "by name");
	ok(net.datagrams[1].host.is_addr && net.datagrams[1].host.addr.b[0] == 192, "by address");
}

static void test_address_rules(void)
{
	cleanup_arena struct arena a = ARENA(8 << 20);
	struct cordon_err err;
	struct plan_net net;

	ok(compile(&a, NET("allow = [\"a\", \"10.0.0.0/8\"]"), &machines[WITH_TPROXY], &net,
		   &err) == 0, "%s", err.msg);
	ok(net.n_nets == 1 && net.nets[0].form == HOST_NET && net.nets[0].bits == 8, "one");
	is_int(net.match.mode, NETWORK_ALLOWLIST, "mode");
	ok(compile(&a, NET("mode = \"public\"\ndeny = [\"a\"]"), &machines[WITH_TPROXY], &net,
		   &err) == 0, "%s", err.msg);
	ok(net.n_nets == 2 && !net.nets[0].bits && !net.nets[1].bits && !net.nets[0].addr.is_v6 &&
		   net.nets[1].addr.is_v6, "everything");
}

static void test_numbers_and_words(void)
{
	cleanup_arena struct arena a = ARENA(8 << 20);
	struct cordon_err err;
	struct plan_net net;

	ok(compile(&a, NET("allow = [\"a\"]"), &machines[WITH_TPROXY], &net, &err) == 0, "%s",
	   err.msg);
	ok(net.strict && net.max_connections == 512 && !net.proxy.host, "defaults");
	ok(compile(&a, NET("allow = [\"a\"]\ntls = \"name-only\"\nconnections = 12"),
		   &machines[WITH_TPROXY], &net, &err) == 0, "%s", err.msg);
	ok(!net.strict && net.max_connections == 12, "written");
}

static void test_limits_of_the_gate(void)
{
	static const char *const keys[] = { "expose", "udp_allow" };

	for (size_t k = 0; k < ARRAY_SIZE(keys); k++)
		for (unsigned n = MAX_NET_PORTS; n <= MAX_NET_PORTS + 1; n++) {
			cleanup_arena struct arena a = ARENA(8 << 20);
			cleanup_buf struct buf text = BUF(1 << 16);
			struct cordon_err err = { 0 };
			struct plan_net net;

			buf_printf(&text, "[network]\n%s = [", keys[k]);
			for (unsigned i = 0; i < n; i++)
				buf_printf(&text, k ? "\"a:%u\", " : "%u, ", 1000 + i);
			buf_puts(&text, "]\n");
			is_int(compile(&a, buf_text(&text), &machines[WITH_TPROXY], &net, &err),
			       n > MAX_NET_PORTS ? -1 : 0, "%u of %s", n, keys[k]);
			if (n > MAX_NET_PORTS)
				ok(strstr(err.msg, keys[k]), "%s", err.msg);
		}
}

static void test_proxies(void)
{
	static const struct {
		const char *text;
		const char *host;	/* NULL: refused */
		unsigned port;
		const char *authorization;
	} rows[] = {
		{ "http://proxy.example:3128", "proxy.example", 3128, NULL },
		{ "http://proxy.example/", "proxy.example", 80, NULL },
		{ "http://[2001:db8::1]:8080", "2001:db8::1", 8080, NULL },
		/* u@x:p:w */
		{ "${HTTPS_PROXY}", "proxy.example", 80, "Basic dUB4OnA6dw==" },
		{ "${PLAIN}", "10.0.0.1", 3128, NULL },
		{ "${BARE}", "proxy.example", 80, NULL },
		/* me:open:sesame@x, taken as it is */
		{ "http://${USER}:${PASS}@p.example:1", "p.example", 1,
		  "Basic bWU6b3BlbjpzZXNhbWVAeA==" },
		{ "http://${USER}@p.example:1", "p.example", 1, "Basic bWU6" },
		{ "http://${PAIR}@p.example:1", "p.example", 1, "Basic bWU6d29yZA==" },
		{ "http://${PAIR}:${PASS}@p.example:1", NULL, 0, NULL },
		{ "${BAD}", NULL, 0, NULL },
		{ "${ESCAPE}", NULL, 0, NULL },
		{ "${NOBODY}", NULL, 0, NULL },
		{ "http://${NOBODY}@p.example:1", NULL, 0, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_arena struct arena a = ARENA(8 << 20);
		cleanup_buf struct buf shown = BUF(1 << 12);
		const char *text = arena_printf(&a, "[network]\nallow = [\"a\"]\n"
						    "upstream_proxy = \"%s\"\n", rows[i].text);
		struct cordon_err err = { 0 };
		struct plan_net net;

		is_int(compile(&a, text, &machines[WITH_TPROXY], &net, &err),
		       rows[i].host ? 0 : -1, "%s: %s", rows[i].text, err.msg);
		/* Neither a value nor a part of one is told. */
		ok(!strstr(err.msg, "sesame") && !strstr(err.msg, "%4"), "%s", err.msg);
		if (!rows[i].host)
			continue;
		is_text(net.proxy.host, rows[i].host, "%s", rows[i].text);
		is_int(net.proxy.port, rows[i].port, "%s", rows[i].text);
		ok(!rows[i].authorization == !net.proxy.authorization, "%s", rows[i].text);
		if (rows[i].authorization)
			is_text(net.proxy.authorization, rows[i].authorization, "%s", rows[i].text);
		net_print(&net, &shown);
		ok(!strstr(buf_text(&shown), "Basic") && !strstr(buf_text(&shown), "sesame"),
		   "%s", buf_text(&shown));
	}
}

/* ---- phases --------------------------------------------------------------- */

/* Each holds by itself; all of them only when that is asked for. */
static void test_phases(void)
{
	static const char *const argv[] = { "true", NULL };
	cleanup_arena struct arena a = ARENA(32 << 20);
	struct policy p = read_whole(&a, "[phase.open.network]\nmode = \"public\"\n"
					 "[phase.some.network]\nallow = [\"a\"]\n");
	struct host_caps caps = { .userns = true, .mount = true, .pid = true, .net = true,
				  .ipc = true, .uts = true, .seccomp = true, .notify = true,
				  .landlock = 7 };
	struct plan_request r = { .argv = argv, .environ = variables, .cwd = "/", .uid = 1,
				  .live_root = "/run/cordon" };
	const struct net_options o = { .caps = &machines[WITH_TPROXY], .environ = variables };
	struct plan_net net;
	struct plan plan;
	struct cordon_err err = { 0 };

	ok(net_compile(&p, &p.phases[0].section, &o, &a, &net, &err) == 0 && net.kind == NET_OPEN,
	   "an open phase");
	ok(net_compile(&p, &p.phases[1].section, &o, &a, &net, &err) == 0 &&
		   net.kind == NET_GATE, "one with an allowlist");
	ok(plan_compile(&p, &caps, &r, &a, &plan, &err) == 0 && plan.net.kind == NET_CLOSED,
	   "the base alone: %s", err.msg);
	r.session = true;
	is_int(plan_compile(&p, &caps, &r, &a, &plan, &err), -1, "all phases");
	ok(strstr(err.msg, "phase some") && strstr(err.msg, "tproxy"), "%s", err.msg);
	caps.tproxy = true;
	is_int(plan_compile(&p, &caps, &r, &a, &plan, &err), 0, "%s", err.msg);
}

/* By the field's name: with a cgroup, or never. */
static void test_limits_of_phases(void)
{
	static const struct {
		const char *field;
		bool with_cgroup, without;
	} rows[] = {
		{ "memory = \"80M\"", true, false }, { "cpu_seconds = 7", true, false },
		{ "cpus = 1", true, false },	     { "processes = 4", true, false },
		{ "disk = \"1M\"", false, false },   { "output = \"1M\"", false, false },
		{ "file_size = \"1M\"", true, true }, { "open_files = 99", true, true },
		{ "timeout = \"7s\"", true, true },
	};
	static const char *const argv[] = { "true", NULL };
	const struct plan_request r = { .argv = argv, .environ = variables, .cwd = "/", .uid = 1,
					.live_root = "/run/cordon", .session = true };
	struct host_caps caps = { .userns = true, .mount = true, .pid = true, .net = true,
				  .tproxy = true, .ipc = true, .uts = true, .seccomp = true,
				  .notify = true, .landlock = 7 };

	for (size_t i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
		const char *field = rows[i / 2].field;
		bool may = i % 2 ? rows[i / 2].with_cgroup : rows[i / 2].without;
		cleanup_arena struct arena a = ARENA(32 << 20);
		struct cordon_err err = { 0 };
		struct policy p;
		struct plan plan;
		char text[128], key[32];

		caps.cgroup = i % 2 ? HOST_CGROUP_V2 : HOST_CGROUP_NONE;
		snprintf(text, sizeof(text), "[phase.same.limits]\n[phase.x.limits]\n%s\n", field);
		snprintf(key, sizeof(key), "limits.%.*s", (int)strcspn(field, " "), field);
		p = read_whole(&a, text);
		is_int(plan_compile(&p, &caps, &r, &a, &plan, &err), may ? 0 : -1, "%s, cgroup %s",
		       field, host_cgroup_name(caps.cgroup));
		ok(may || (strstr(err.msg, "phase x: ") && strstr(err.msg, key)), "%s", err.msg);
	}
}

/* ---- --connect-to --------------------------------------------------------- */

static void test_reroutes(void)
{
	static const struct {
		const char *text, *host, *addr;	/* NULL: refused */
		unsigned port, to_port;
	} rows[] = {
		{ "a.test:443:127.0.0.1:8443", "a.test", "127.0.0.1", 443, 8443 },
		{ "A.Test.::127.0.0.1:8443", "a.test", "127.0.0.1", 0, 8443 },
		{ "a.test:443:127.0.0.1:", "a.test", "127.0.0.1", 443, 0 },
		{ "a.test::[::1]:", "a.test", "::1", 0, 0 },
		{ "[2001:db8::1]:1:[::1]:2", "2001:db8::1", "::1", 1, 2 },
		{ "192.0.2.1:1:10.0.0.1:2", "192.0.2.1", "10.0.0.1", 1, 2 },
		{ ":443:127.0.0.1:1", NULL, NULL, 0, 0 },
		{ "", NULL, NULL, 0, 0 },
		{ "a.test", NULL, NULL, 0, 0 },
		{ "a.test:443", NULL, NULL, 0, 0 },
		{ "a.test:443:127.0.0.1", NULL, NULL, 0, 0 },
		{ "a.test:443:b.test:1", NULL, NULL, 0, 0 },
		{ "a.test:443::1", NULL, NULL, 0, 0 },
		{ "a.test:443:::1:1", NULL, NULL, 0, 0 },
		{ "a.test:443:[::1:1", NULL, NULL, 0, 0 },
		{ "a.test:0:127.0.0.1:1", NULL, NULL, 0, 0 },
		{ "a.test:1:127.0.0.1:65536", NULL, NULL, 0, 0 },
		{ "a.test:1:127.0.0.1:1:1", NULL, NULL, 0, 0 },
		{ "a..test:1:127.0.0.1:1", NULL, NULL, 0, 0 },
		{ "a.test:1:127.1:1", NULL, NULL, 0, 0 },
		{ "*.test:1:127.0.0.1:1", NULL, NULL, 0, 0 },
		{ "Host.Cordon.Internal.:80:127.0.0.1:1", NULL, NULL, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_buf struct buf host = BUF(512), addr = BUF(64);
		struct net_reroute r = { .port = 7 };
		char why[HOST_WHY] = "";

		is_int(net_reroute_parse(str_from(rows[i].text), &r, why), rows[i].host ? 0 : -1,
		       "'%s' %s", rows[i].text, why);
		if (!rows[i].host) {
			ok(why[0] && r.port == 7, "says why, and leaves the rest");
			continue;
		}
		if (r.host.is_addr)
			host_addr_print(&r.host.addr, &host);
		else
			buf_puts(&host, r.host.name);
		host_addr_print(&r.addr, &addr);
		is_text(buf_text(&host), rows[i].host, "%s", rows[i].text);
		is_text(buf_text(&addr), rows[i].addr, "%s", rows[i].text);
		ok(r.port == rows[i].port && r.to_port == rows[i].to_port, "%s", rows[i].text);
	}
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_kinds),
		TAP(test_refusals_name_what_asks), TAP(test_ports),
		TAP(test_datagrams), TAP(test_address_rules), TAP(test_numbers_and_words),
		TAP(test_limits_of_the_gate), TAP(test_proxies), TAP(test_phases),
		TAP(test_limits_of_phases), TAP(test_reroutes), TAP_END });
}
