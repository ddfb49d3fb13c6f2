/* One verdict: what `cordon policy match` says of a text is what the gate does with the
 * connection that a program makes of it, on random policies and targets.
 *
 * The gate's side is asked as conn.c does: about the host, about where it resolves to, and about
 * the first bytes, which are those of a real client of the scheme.
 */
#include "gate/decide.h"
#include "gate/first.h"
#include "net_read.h"

#define N_CASES		10000
#define MAX_ANSWERS	3

static uint64_t state = 88172645463325252;

static unsigned below(unsigned n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)((state >> 20) % n);
}

#define ANY(pool)	(pool)[below(ARRAY_SIZE(pool))]

static const char *const modes[] = { "allowlist", "allowlist", "allowlist", "public",
				     "no-network" };
static const char *const rules[] = {
	"a.test", "*.a.test", "**.a.test", "*", "a.test:443", "a.test:1-1024", "b.test",
	"0.0.0.0/0", "::/0", "128.0.0.0/1", "64.0.0.0/2", "8.0.0.0/5", "10.0.0.0/8", "10.1.2.3",
	"127.0.0.1",
	"169.254.169.254", "169.254.0.0/16", "93.184.0.0/16", "[fd00::1]:80", "fc00::/7", "*:25",
	"64:ff9b::/96",
};
static const char *const protocols[] = { NULL, "\"any\"", "[\"http\", \"tls\"]", "[\"http\"]",
					 "[\"tls\"]", "[]" };
static const char *const hosts[] = { "a.test", "x.a.test", "b.test", "93.184.216.34", "10.1.2.3",
				     "169.254.169.254", "fd00::1", "64:ff9b::a9fe:a9fe", "0.0.0.0",
				     HOST_OF_MACHINE };
static const char *const addresses[] = { "93.184.216.34", "10.1.2.3", "127.0.0.1", "::1", "fd00::1",
					 "169.254.169.254", "9000::1" };
static const unsigned ports[] = { 21, 25, 80, 443, 5432 };

/* What a program of the scheme makes the gate see first. */
static const struct {
	const char *name;
	unsigned port;		/* 0: one is always written */
	const char *bytes;
	size_t n;
	bool server_first;
} schemes[] = {
	{ "http://", 80, "GET / HTTP/1.1\r\n", 16, false },
	{ "https://", 443, "\x16\x03\x01\x02\0\x01", 6, false },
	{ "ftp://", 21, "", 0, true },
	{ "git://", 9418, "0032git-upload-pack /a\0", 23, false },
	{ "", 0, "", 0, false },
};

struct question {
	char text[256];		/* for match */
	struct host host;
	unsigned port;
	size_t scheme;
	struct host_addr addrs[MAX_ANSWERS];
	struct match_answers answers;
	bool may_loop, may_meta;	/* leads to the loopback, or to a metadata address */
};

static void put_list(struct buf *out, const char *key, unsigned most)
{
	unsigned n = below(most + 1);

	buf_printf(out, "%s = [", key);
	for (unsigned i = 0; i < n; i++)
		buf_printf(out, "%s\"%s\"", i ? ", " : "", ANY(rules));
	buf_puts(out, "]\n");
}

/* Some are refused when they are read, as contradictions. */
static bool random_net(struct arena *a, struct buf *text, struct plan_net *ret)
{
	static const struct host_caps caps;
	struct net_options o = { .caps = &caps };
	cleanup_diags struct diags d = DIAGS;
	const char *mode = ANY(modes), *listed = ANY(protocols);
	struct policy *p = arena_new(a, 1, sizeof(*p));
	struct reader r = { .policy = p, .diags = &d, .file = "default", .base_dir = TEST_BASE,
			    .cwd = TEST_BASE, .home = TEST_HOME };
	struct cordon_err err;

	buf_printf(text, "[network]\nmode = \"%s\"\n", mode);
	if (strcmp(mode, "allowlist") == 0)
		put_list(text, "allow", 5);
	if (!below(2))
		put_list(text, "deny", 2);
	if (listed)
		buf_printf(text, "protocols = %s\n", listed);
	if (!below(4) && strcmp(mode, "no-network") != 0)
		buf_puts(text, "host_ports = [5432]\n");
	if (!read_policy(a, &d, &dialect_cordon, str_from(buf_text(text)), p) ||
	    read_defaults(&r) < 0)
		return false;
	o.gate = !net_is_open(&p->base);
	return ok(net_compile(p, &p->base, &o, a, ret, &err) == 0, "%s", err.msg);
}

static void random_question(struct question *q)
{
	const char *host = ANY(hosts);
	bool is_v6 = strchr(host, ':') != NULL;
	char why[HOST_WHY];

	memset(q, 0, sizeof(*q));
	q->scheme = below(ARRAY_SIZE(schemes));
	q->port = schemes[q->scheme].port;
	snprintf(q->text, sizeof(q->text), "%s%s%s%s", schemes[q->scheme].name, is_v6 ? "[" : "",
		 host, is_v6 ? "]" : "");
	if (!q->port || below(2)) {
		q->port = ANY(ports);
		snprintf(q->text + strlen(q->text), 16, ":%u", q->port);
	}
	if (schemes[q->scheme].name[0])
		snprintf(q->text + strlen(q->text), 3, "/x");
	if (host_parse(str_from(host), &q->host, why) < 0)
		abort();
	q->may_meta = q->host.is_addr && host_addr_is_metadata(&q->host.addr);
	q->answers.addrs = q->addrs;
	/* The machine's own name is not resolved. */
	if (q->host.is_addr || strcmp(host, HOST_OF_MACHINE) == 0)
		return;
	while (q->answers.n < MAX_ANSWERS && below(3)) {
		struct host_addr *to = &q->addrs[q->answers.n++];

		if (!host_addr_parse(str_from(ANY(addresses)), to))
			abort();
		q->may_loop |= host_addr_is_loopback(to);
		q->may_meta |= host_addr_is_metadata(to);
	}
}

static bool asks(const struct plan_net *net, const struct decide_question *q,
		 struct match_verdict *ret)
{
	struct decide_verdict v;

	decide(net, q, &v);
	if (!v.allowed)
		*ret = v.why;
	return v.allowed;
}

/* The steps of a connection. */
static bool passes(const struct plan_net *net, const struct question *q, struct match_verdict *why)
{
	struct decide_question host = { .host = &q->host, .port = q->port };
	struct decide_question all = host, first = host;

	all.answers = q->answers;
	first.first = schemes[q->scheme].server_first ? FIRST_OF_SERVER :
		      first_read((const unsigned char *)schemes[q->scheme].bytes,
				 schemes[q->scheme].n);
	return net->kind == NET_OPEN ||
	       (asks(net, &host, why) && (!q->answers.n || asks(net, &all, why)) &&
		asks(net, &first, why));
}

/* Does a hint name an option or a field? */
static bool opens(const char *hint)
{
	return strstr(hint, "--") || strstr(hint, "network.");
}

/* An answer of the loopback alone is named by that very address or not at all. */
static bool must_not_pass(const struct question *q, const struct plan_net *net, const char *policy)
{
	return q->answers.n == 1 && q->may_loop && net->kind != NET_OPEN && !q->addrs[0].is_v6 &&
	       !strstr(policy, "\"127.0.0.1\"");
}

struct counts {
	unsigned allowed, denied, of_metadata;
};

static void compare(const struct plan_net *net, const struct question *q, const char *policy,
		    struct counts *n)
{
	struct match_verdict match = { .reason = "" }, live = { .reason = "" };
	bool passed = passes(net, q, &live);
	/* Before a name is resolved, live knows nothing of where it leads. */
	bool opened;

	decide_target(net, str_from(q->text), &q->answers, &match);
	opened = opens(match.hint) || (q->host.is_addr && opens(live.hint));
	n->allowed += match.allowed;
	n->denied += !match.allowed;
	n->of_metadata += !match.allowed && q->may_meta;
	if (match.allowed != passed)
		ok(false, "%s\n%s: match '%s', live '%s'", policy, q->text, match.reason,
		   live.reason);
	if (!match.allowed && q->may_meta && opened)
		ok(false, "%s\n%s: a hint: '%s' '%s'", policy, q->text, match.hint, live.hint);
	if (passed && must_not_pass(q, net, policy))
		ok(false, "%s\n%s reaches the loopback", policy, q->text);
}

static void test_match_says_what_the_gate_does(void)
{
	struct counts n = { 0 };

	while (n.allowed + n.denied < N_CASES) {
		cleanup_arena struct arena a = ARENA(8 << 20);
		cleanup_buf struct buf text = BUF(4096);
		struct plan_net net;
		struct question q;

		if (!random_net(&a, &text, &net))
			continue;
		random_question(&q);
		compare(&net, &q, buf_text(&text), &n);
	}
	ok(n.allowed > N_CASES / 20 && n.denied > N_CASES / 20 && n.of_metadata > 100,
	   "%u allowed, %u denied, of these %u of metadata", n.allowed, n.denied, n.of_metadata);
}

int main(void)
{
	return tap_run((struct tap_case[]){ TAP(test_match_says_what_the_gate_does), TAP_END });
}
