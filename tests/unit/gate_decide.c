/* Verdicts about live connections, as rows: policy, question, answer. */
#include "gate/decide.h"

#include "net_read.h"

#define MAX_ANSWERS	4

struct row {
	const char *policy, *host;		/* "=" before it, as below */
	unsigned port;
	const char *answers[MAX_ANSWERS];	/* "=" before one: an address of this machine */
	bool allowed;
	unsigned good;
	const char *why;			/* part of the reason */
};

#define ALLOW(list)	"[network]\nmode = \"allowlist\"\nallow = [" list "]\n"
#define PUBLIC		"[network]\nmode = \"public\"\ndeny = [\"b.test\"]\n"

static const struct row rows[] = {
	{ ALLOW("\"a.test\""), "a.test", 443, { NULL }, true, 0, NULL },
	{ ALLOW("\"a.test\""), "b.test", 443, { NULL }, false, 0, "not in the allowlist" },
	{ ALLOW("\"a.test:443\""), "a.test", 80, { NULL }, false, 0, "port 80" },
	{ ALLOW("\"a.test:443\""), "a.test", 0, { NULL }, true, 0, NULL },
	{ ALLOW("\"*.a.test\"") "deny = [\"x.a.test\"]\n", "x.a.test", 0, { NULL }, false, 0,
	  "deni" },
	/* Where it leads to. */
	{ ALLOW("\"a.test\""), "a.test", 443, { "192.0.2.1", "2001:db8::1" }, false, 0, "special" },
	{ ALLOW("\"a.test\""), "a.test", 443, { "93.184.216.34", "2606:2800::1" }, true, 3, NULL },
	{ ALLOW("\"a.test\""), "a.test", 443, { "93.184.216.34", "127.0.0.1" }, true, 1, NULL },
	{ ALLOW("\"a.test\""), "a.test", 443, { "169.254.169.254", "93.184.216.34" }, true, 2,
	  NULL },
	{ ALLOW("\"a.test\""), "a.test", 443, { "10.0.0.1" }, false, 0, "special" },
	{ ALLOW("\"a.test\""), "a.test", 443, { "::ffff:127.0.0.1" }, false, 0, "special" },
	{ ALLOW("\"a.test\""), "a.test", 443, { "64:ff9b::a00:1" }, false, 0, "special" },
	{ ALLOW("\"a.test\""), "a.test", 443, { "2002:7f00:1::" }, false, 0, "special" },
	{ ALLOW("\"a.test\""), "a.test", 443, { "0.0.0.0" }, false, 0, "special" },
	{ ALLOW("\"a.test\""), "a.test", 443, { "100.64.0.1" }, false, 0, "special" },
	{ ALLOW("\"a.test\", \"10.0.0.0/8\""), "a.test", 443, { "10.0.0.1" }, true, 1, NULL },
	{ ALLOW("\"a.test\", \"10.0.0.0/8:80\""), "a.test", 443, { "10.0.0.1" }, false, 0,
	  "special" },
	{ ALLOW("\"a.test\", \"0.0.0.0/0\""), "a.test", 443, { "10.0.0.1" }, false, 0, "special" },
	{ ALLOW("\"a.test\"") "deny = [\"93.184.0.0/16\"]\n", "a.test", 443,
	  { "93.184.216.34", "8.8.8.8" }, false, 0, "deni" },
	/* An address of this machine is as special as its loopback. */
	{ ALLOW("\"a.test\""), "a.test", 443, { "=93.184.216.34" }, false, 0, "this machine" },
	{ ALLOW("\"a.test\""), "a.test", 443, { "=93.184.216.34", "8.8.8.8" }, true, 2, NULL },
	{ ALLOW("\"a.test\", \"93.184.216.34\""), "a.test", 443, { "=93.184.216.34" }, true, 1,
	  NULL },
	/* Dialled as addresses. */
	{ ALLOW("\"a.test\""), "93.184.216.34", 443, { NULL }, false, 0, "not in the allowlist" },
	{ ALLOW("\"93.184.216.34\""), "93.184.216.34", 443, { NULL }, true, 0, NULL },
	{ ALLOW("\"10.0.0.0/8\""), "10.1.2.3", 443, { NULL }, true, 0, NULL },
	{ ALLOW("\"0.0.0.0/0\""), "8.8.8.8", 443, { NULL }, true, 0, NULL },
	{ ALLOW("\"0.0.0.0/0\""), "169.254.169.254", 80, { NULL }, false, 0, "special" },
	{ ALLOW("\"::/0\""), "fd00::1", 80, { NULL }, false, 0, "special" },
	{ ALLOW("\"127.0.0.0/8\""), "127.0.0.1", 61, { NULL }, false, 0, "own" },
	{ ALLOW("\"::1\""), "::1", 61, { NULL }, false, 0, "own" },
	{ ALLOW("\"*\""), "8.8.8.8", 443, { NULL }, false, 0, "not in the allowlist" },
	/* The host's own ports. */
	{ ALLOW("\"a.test\""), HOST_OF_MACHINE, 5432, { NULL }, false, 0, "host_ports" },
	{ ALLOW("\"*\""), HOST_OF_MACHINE, 5432, { NULL }, false, 0, "host_ports" },
	{ "[network]\nhost_ports = [5432]\n", HOST_OF_MACHINE, 5432, { NULL }, true, 0, NULL },
	{ "[network]\nhost_ports = [5432]\n", HOST_OF_MACHINE, 0, { NULL }, true, 0, NULL },
	{ "[network]\nhost_ports = [5432]\n",
	  HOST_OF_MACHINE, 22, { NULL }, false, 0, "host_ports" },
	{ "[network]\nhost_ports = [5432, 80]\ndeny = [\"*:5432\"]\n", HOST_OF_MACHINE, 5432,
	  { NULL },
	  false, 0, "deni" },
	{ "[network]\nhost_ports = [5432, 80]\ndeny = [\"*:5432\"]\n",
	  HOST_OF_MACHINE, 80, { NULL },
	  true, 0, NULL },
	{ "[network]\nhost_ports = [5432]\n", "a.test", 5432, { NULL }, false, 0, "a.test" },
	/* Everything but. */
	{ "[network]\nmode = \"public\"\ndeny = [\"b.test\", \"*:25\"]\n", "a.test", 443,
	  { "93.184.216.34" }, true, 1, NULL },
	{ "[network]\nmode = \"public\"\ndeny = [\"b.test\", \"*:25\"]\n", "b.test", 443,
	  { NULL }, false, 0, "deni" },
	{ "[network]\nmode = \"public\"\ndeny = [\"b.test\", \"*:25\"]\n", "8.8.8.8", 25,
	  { NULL }, false, 0, "deni" },
	{ "[network]\nmode = \"public\"\ndeny = [\"10.0.0.0/8\"]\n", "a.test", 443,
	  { "10.0.0.1" }, false, 0, "deni" },
	/* What is public leads neither to what is private nor to this machine. */
	{ PUBLIC, "a.test", 443, { "127.0.0.1" }, false, 0, "special" },
	{ PUBLIC, "a.test", 443, { "169.254.169.254" }, false, 0, "special" },
	{ PUBLIC, "a.test", 443, { "10.0.0.1", "93.184.216.34" }, true, 2, NULL },
	{ PUBLIC, "a.test", 443, { "=93.184.216.34" }, false, 0, "this machine" },
	{ PUBLIC, "=93.184.216.34", 443, { NULL }, false, 0, "this machine" },
	{ PUBLIC, "=10.0.0.1", 443, { NULL }, false, 0, "this machine" },
	{ PUBLIC, "127.0.0.1", 443, { NULL }, false, 0, "own" },
	{ PUBLIC, "::", 443, { NULL }, false, 0, "own" },
	{ PUBLIC, "0.0.0.0", 443, { NULL }, false, 0, "own" },
	{ PUBLIC, "10.0.0.1", 443, { NULL }, false, 0, "special" },
	{ PUBLIC, "169.254.169.254", 80, { NULL }, false, 0, "metadata" },
	{ PUBLIC, "100.100.100.200", 80, { NULL }, false, 0, "special" },
	{ PUBLIC, "::ffff:169.254.169.254", 80, { NULL }, false, 0, "special" },
	{ PUBLIC, "64:ff9b::a9fe:a9fe", 80, { NULL }, false, 0, "special" },
	{ PUBLIC, "fe80::1", 80, { NULL }, false, 0, "special" },
	{ PUBLIC, "93.184.216.34", 443, { NULL }, true, 0, NULL },
	{ ALLOW("\"0.0.0.0/0\""), "=8.8.8.8", 443, { NULL }, false, 0, "this machine" },
	{ ALLOW("\"8.8.8.8\""), "=8.8.8.8", 443, { NULL }, true, 0, NULL },
	/* A range that is wider than the machine's address, or than a special block, is about
	 * what else lies in it. */
	{ ALLOW("\"93.184.0.0/16\""), "=93.184.216.34", 443, { NULL }, false, 0, "this machine" },
	{ ALLOW("\"93.184.0.0/16\""), "93.184.216.35", 443, { NULL }, true, 0, NULL },
	{ ALLOW("\"a.test\", \"93.184.0.0/16\""), "a.test", 443, { "=93.184.216.34" }, false, 0,
	  "this machine" },
	{ ALLOW("\"10.0.0.0/8\""), "=10.1.2.3", 443, { NULL }, false, 0, "this machine" },
	{ ALLOW("\"a.test\", \"64.0.0.0/2\""), "a.test", 80, { "127.0.0.1" }, false, 0,
	  "loopback" },
	{ ALLOW("\"a.test\", \"127.0.0.0/8\""), "a.test", 80, { "127.0.0.1" }, false, 0,
	  "loopback" },
	{ ALLOW("\"a.test\", \"127.0.0.1\""), "a.test", 80, { "127.0.0.1" }, true, 1, NULL },
	{ ALLOW("\"a.test\", \"0.0.0.0/8\""), "a.test", 80, { "0.0.0.0" }, false, 0, "special" },
	{ ALLOW("\"a.test\", \"::/1\""), "a.test", 80, { "::1" }, false, 0, "loopback" },
	{ ALLOW("\"128.0.0.0/1\""), "169.254.169.254", 80, { NULL }, false, 0, "metadata" },
	{ ALLOW("\"169.254.0.0/16\""), "169.254.169.254", 80, { NULL }, false, 0, "metadata" },
	{ ALLOW("\"169.254.0.0/16\""), "169.254.1.1", 80, { NULL }, true, 0, NULL },
	{ ALLOW("\"169.254.0.0/15\""), "169.254.1.1", 80, { NULL }, false, 0, "link-local" },
	{ ALLOW("\"169.254.169.254\""), "169.254.169.254", 80, { NULL }, true, 0, NULL },
	{ ALLOW("\"a.test\", \"128.0.0.0/1\""), "a.test", 80, { "169.254.169.254" }, false, 0,
	  "metadata" },
	{ ALLOW("\"10.0.0.0/7\""), "10.1.2.3", 80, { NULL }, false, 0, "private" },
	{ ALLOW("\"224.0.0.0/3\""), "224.0.0.1", 80, { NULL }, false, 0, "multicast" },
	{ ALLOW("\"224.0.0.0/4\""), "224.0.0.1", 80, { NULL }, true, 0, NULL },
	{ ALLOW("\"64:ff9b::/96\""), "64:ff9b::a00:1", 80, { NULL }, false, 0, "private" },
	{ ALLOW("\"64:ff9b::a00:0/104\""), "64:ff9b::a00:1", 80, { NULL }, true, 0, NULL },
	{ ALLOW("\"2002::/16\""), "2002:a00:1::", 80, { NULL }, false, 0, "private" },
	{ ALLOW("\"2002:a00::/24\""), "2002:a00:1::", 80, { NULL }, true, 0, NULL },
	{ ALLOW("\"8000::/1\""), "fd00::1", 80, { NULL }, false, 0, "unique-local" },
	{ ALLOW("\"fc00::/7\""), "fd00::1", 80, { NULL }, true, 0, NULL },
	{ ALLOW("\"8000::/1\""), "9000::1", 80, { NULL }, false, 0, "reserved" },
	{ ALLOW("\"8000::/3\""), "9000::1", 80, { NULL }, true, 0, NULL },
};

/* Of no row does a hint say how to reach a place where a cloud gives out credentials. */
static bool is_about_metadata(const struct row *r)
{
	static const char *const places[] = { "169.254.169.254", "100.100.100.200", "a9fe:a9fe" };
	bool found = false;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		found |= strstr(r->host, places[i]) != NULL;
		for (size_t k = 0; k < MAX_ANSWERS && r->answers[k]; k++)
			found |= strstr(r->answers[k], places[i]) != NULL;
	}
	return found;
}

static void check_row(const struct row *r)
{
	cleanup_arena struct arena a = ARENA(8 << 20);
	const struct plan_net *net = read_net(&a, r->policy, NULL, 0);
	struct host_addr answers[MAX_ANSWERS];
	bool own[MAX_ANSWERS];
	struct host host;
	struct decide_question q = { .host = &host, .port = r->port,
				     .answers = { answers, own, 0 },
				     .is_own = r->host[0] == '=' };
	struct decide_verdict v;
	char why[HOST_WHY];

	ok(host_parse(str_from(r->host + q.is_own), &host, why) == 0, "%s: %s", r->host, why);
	for (size_t *n = &q.answers.n; *n < MAX_ANSWERS && r->answers[*n]; ++*n) {
		const char *text = r->answers[*n];

		own[*n] = text[0] == '=';
		ok(host_addr_parse(str_from(text + (text[0] == '=')), &answers[*n]), "%s", text);
	}
	decide(net, &q, &v);
	is_int(v.allowed, r->allowed, "%s %s:%u %s", r->policy, r->host, r->port, v.why.reason);
	is_int(v.allowed ? v.good : 0, r->good, "good: %s %s:%u", r->policy, r->host, r->port);
	if (r->why)
		ok(strstr(v.why.reason, r->why), "'%s' is not in '%s'", r->why, v.why.reason);
	if (!v.allowed)
		is_int(v.why.hint[0] != '\0', !is_about_metadata(r), "hint of %s %s: %s", r->policy,
		       r->host, v.why.hint);
}

static void test_verdicts(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_row(&rows[i]);
}

/* What somebody writes because of a hint must allow what was refused, and nothing else. */
static void test_hints(void)
{
	static const struct {
		const char *policy, *host;
		unsigned port;
		const char *hint;
	} hints[] = {
		{ ALLOW("\"a.test:443\""), "a.test", 80, "--allow-host a.test:80" },
		{ ALLOW("\"8.8.8.8:443\""), "8.8.8.8", 80, "--allow-host 8.8.8.8:80" },
		{ ALLOW("\"[2606:2800::1]:443\""), "2606:2800::1", 80,
		  "--allow-host [2606:2800::1]:80" },
		{ ALLOW("\"a.test\""), "2606:2800::1", 80, "--allow-host 2606:2800::1" },
		{ PUBLIC, "10.0.0.1", 80, "--connect-to 10.0.0.1:80:10.0.0.1:80" },
		{ PUBLIC, "fd00::1", 80, "--connect-to [fd00::1]:80:[fd00::1]:80" },
		{ ALLOW("\"a.test\""), HOST_OF_MACHINE, 80, "--host-port 80" },
		{ ALLOW("\"a.test\""), HOST_OF_MACHINE, 0, "--host-port PORT" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(hints); i++) {
		cleanup_arena struct arena a = ARENA(8 << 20);
		const struct plan_net *net = read_net(&a, hints[i].policy, NULL, 0);
		struct host host;
		struct decide_question q = { .host = &host, .port = hints[i].port };
		struct decide_verdict v;
		char why[HOST_WHY];

		ok(host_parse(str_from(hints[i].host), &host, why) == 0, "%s", why);
		decide(net, &q, &v);
		ok(!v.allowed, "%s", hints[i].host);
		is_text(v.why.hint, hints[i].hint, "%s", hints[i].host);
	}
}

static void test_the_operators_word(void)
{
	cleanup_arena struct arena a = ARENA(8 << 20);
	struct net_reroute reroutes[2];
	const struct plan_net *net;
	struct decide_verdict v;
	struct host h;
	struct decide_question q = { .host = &h, .port = 443 };
	char why[HOST_WHY];

	ok(net_reroute_parse(STR("a.test:443:127.0.0.1:8443"), &reroutes[0], why) == 0, "%s", why);
	ok(net_reroute_parse(STR("b.test::10.0.0.1:"), &reroutes[1], why) == 0, "%s", why);
	net = read_net(&a, ALLOW("\"a.test\""), reroutes, 2);
	ok(host_parse(STR("a.test"), &h, why) == 0, "%s", why);
	decide(net, &q, &v);
	ok(v.allowed && v.has_instead && v.instead_port == 8443, "it may be private");
	q.port = 80;
	decide(net, &q, &v);
	ok(v.allowed && !v.has_instead, "another port is somewhere else");
	ok(host_parse(STR("b.test"), &h, why) == 0, "%s", why);
	decide(net, &q, &v);
	ok(!v.allowed, "it allows nothing by itself");
}

static void test_datagrams(void)
{
	cleanup_arena struct arena a = ARENA(8 << 20);
	const struct plan_net *net =
		read_net(&a, ALLOW("\"a.test\"") "udp_allow = [\"ntp.test:123\"]\n", NULL, 0);
	struct host h;
	struct host_addr answers[2] = { { .b = { 10, 0, 0, 1 } }, { .b = { 8, 8, 8, 8 } } };
	bool own[2] = { false, false };
	struct decide_question q = { .host = &h, .port = 123, .datagrams = true };
	struct decide_verdict v;
	char why[HOST_WHY];

	ok(host_parse(STR("ntp.test"), &h, why) == 0, "%s", why);
	decide(net, &q, &v);
	ok(v.allowed, "%s", v.why.reason);
	q.answers = (struct match_answers){ answers, own, 2 };
	decide(net, &q, &v);
	ok(v.allowed && v.good == 2, "special answers are not used");
	q.answers.n = 1;
	decide(net, &q, &v);
	ok(!v.allowed, "nor is a name with no other");
	q.answers.n = 0;
	q.port = 124;
	decide(net, &q, &v);
	ok(!v.allowed, "another port");
	ok(host_parse(STR("a.test"), &h, why) == 0, "%s", why);
	q.port = 123;
	decide(net, &q, &v);
	ok(!v.allowed, "allowed for connections alone");
}

int main(void)
{
	return tap_run((struct tap_case[]){ TAP(test_verdicts), TAP(test_hints),
					    TAP(test_the_operators_word), TAP(test_datagrams),
					    TAP_END });
}
