/* Asking a policy about a host; see match.h.
 *
 * decide() puts these questions together, for a live connection as for `cordon policy match`.
 */
#include "policy/match.h"

#include <stdarg.h>
#include <stdio.h>

#include "policy/dialect/dialect.h"
#include "policy/url.h"

enum denial {
	DENY_INVALID,		/* why */
	DENY_SCHEME,		/* scheme */
	DENY_NO_HOST,
	DENY_MODE,		/* host */
	DENY_RULE,		/* host, rule */
	DENY_PRIVATE,		/* host */
	DENY_NOT_LISTED,	/* host */
	DENY_ADDRESS,		/* host */
	DENY_PORT,		/* host, port */
	DENY_SPECIAL,		/* host, which block */
	DENY_OWN,		/* host */
	DENY_LOOPBACK,
	DENY_PROTOCOL,		/* host, what it begins with */
	DENY_ANSWER_RULE,	/* host, rule */
	DENY_ANSWER,		/* host, the answer and what is wrong with it */
	N_DENIALS
};

/* %1$s the host (or scheme, or why), %2$s the rule, port or answer. */
static const char *const denial_words[N_MESSAGE_STYLES][N_DENIALS] = {
	[STYLE_NATIVE] = {
		[DENY_INVALID] = "invalid URL: %1$s",
		[DENY_SCHEME] = "scheme \"%1$s\" is not permitted (only http/https)",
		[DENY_NO_HOST] = "URL has no host",
		[DENY_MODE] = "host %1$s is not reachable: network.mode is no-network",
		[DENY_RULE] = "host %1$s is denied by the rule %2$s",
		[DENY_PRIVATE] = "host %1$s is a special address",
		[DENY_NOT_LISTED] = "host %1$s is not in the allowlist",
		[DENY_ADDRESS] = "host %1$s is not in the allowlist",
		[DENY_PORT] = "port %2$s of host %1$s is not in the allowlist",
		[DENY_SPECIAL] = "host %1$s is a special address (%2$s) "
				 "that no rule names",
		[DENY_OWN] = "host %1$s is an address of this machine",
		[DENY_LOOPBACK] = "the loopback inside is the cordon's own",
		[DENY_PROTOCOL] = "connection to host %1$s begins with %2$s, which "
				  "network.protocols does not list",
		[DENY_ANSWER_RULE] = "host %1$s: resolved address is denied by the rule %2$s",
		[DENY_ANSWER] = "host %1$s resolves to %2$s",
	},
	[STYLE_AI_HARNESS] = {
		[DENY_INVALID] = "SandboxError: invalid URL: %1$s",
		[DENY_SCHEME] = "SandboxError: scheme \"%1$s\" is not permitted (only http/https)",
		[DENY_NO_HOST] = "SandboxError: URL has no host",
		[DENY_MODE] = "SandboxError: host %1$s is not reachable: network.mode is "
			      "no-network",
		[DENY_RULE] = "SandboxError: host %1$s is denied by the rule %2$s",
		[DENY_PRIVATE] = "SandboxError: host %1$s is a special address",
		[DENY_NOT_LISTED] = "SandboxError: host %1$s is not in allowed_domains",
		[DENY_ADDRESS] = "SandboxError: host %1$s is not in allowed_domains "
				 "(IP literal \"%1$s\" is not in the allowlist)",
		[DENY_PORT] = "SandboxError: port %2$s of host %1$s is not in allowed_domains",
		[DENY_SPECIAL] = "SandboxError: host %1$s is a special address (%2$s) "
				 "that no rule names",
		[DENY_OWN] = "SandboxError: host %1$s is an address of this machine",
		[DENY_LOOPBACK] = "SandboxError: the loopback inside is the cordon's own",
		[DENY_PROTOCOL] = "SandboxError: connection to host %1$s begins with %2$s, which "
				  "network.protocols does not list",
		[DENY_ANSWER_RULE] = "SandboxError: host %1$s: resolved address is denied by "
				     "the rule %2$s",
		[DENY_ANSWER] = "SandboxError: host %1$s resolves to %2$s",
	},
	[STYLE_HARN] = {
		[DENY_INVALID] = "invalid URL: %1$s",
		[DENY_SCHEME] = "scheme \"%1$s\" is not permitted",
		[DENY_NO_HOST] = "URL has no host",
		[DENY_MODE] = "host %1$s is not reachable: side_effect_level is below network",
		[DENY_RULE] = "host %1$s: matched deny rule `%2$s`",
		[DENY_PRIVATE] = "host `%1$s` is a disallowed address (private, loopback, "
				 "link-local, or metadata IP)",
		[DENY_NOT_LISTED] = "host %1$s is not in the allowlist: no allow rule matched",
		[DENY_ADDRESS] = "host %1$s is not in the allowlist: no allow rule matched",
		[DENY_PORT] = "port %2$s of host %1$s: no allow rule matched",
		[DENY_SPECIAL] = "host %1$s is a special address (%2$s) "
				 "that no rule names",
		[DENY_OWN] = "host %1$s is an address of this machine",
		[DENY_LOOPBACK] = "the loopback inside is the cordon's own",
		[DENY_PROTOCOL] = "connection to host %1$s begins with %2$s, which "
				  "network.protocols does not list",
		[DENY_ANSWER_RULE] = "host %1$s: resolved address matched deny rule `%2$s`",
		[DENY_ANSWER] = "host %1$s resolves to %2$s: no allow rule matched",
	},
};

/* What would allow it; the same two texts.  NULL: the caller writes it, with the port. */
static const char *const denial_hints[N_DENIALS] = {
	[DENY_INVALID] = "a host name or an address",
	[DENY_SCHEME] = "http or https",
	[DENY_NO_HOST] = "a URL with a host",
	[DENY_MODE] = "--allow-host %1$s",
	[DENY_RULE] = "%1$.0snetwork.deny without %2$s",
	[DENY_PRIVATE] = "a policy that does not block private addresses",
	[DENY_NOT_LISTED] = "--allow-host %1$s",
	[DENY_ADDRESS] = "--allow-host %1$s",
	[DENY_PORT] = "--allow-host %1$s:%2$s",
	[DENY_SPECIAL] = "--allow-host %1$s",
	[DENY_PROTOCOL] = "--protocols any",
	[DENY_ANSWER_RULE] = "%1$.0snetwork.deny without %2$s",
};

/* The formats are the tables' own constants. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void deny(const struct matcher *m, struct match_verdict *v, enum denial why,
		 const char *first, const char *second)
{
	v->allowed = false;
	snprintf(v->reason, sizeof(v->reason), denial_words[m->style][why], first, second);
	v->hint[0] = '\0';
	if (denial_hints[why])
		snprintf(v->hint, sizeof(v->hint), denial_hints[why], first, second);
}
#pragma GCC diagnostic pop

/* Behind an IPv6 address without brackets a port would be a part of another address. */
static void deny_port(const struct matcher *m, struct match_verdict *v, const struct host *h,
		      const char *name, unsigned port)
{
	char digits[16];

	snprintf(digits, sizeof(digits), "%u", port);
	deny(m, v, DENY_PORT, name, digits);
	if (h->is_addr && h->addr.is_v6)
		snprintf(v->hint, sizeof(v->hint), "--allow-host [%s]:%u", name, port);
}

/* All rules of a list, or those for every port alone. */
static int make_set(const struct field_value *v, bool every_port, struct arena *a,
		    const struct host_set **ret, struct cordon_err *err)
{
	struct host_rule *rules = arena_new(a, v->n + 1, sizeof(*rules));
	size_t n = 0;

	if (!rules)
		return err_nomem(err);
	for (size_t i = 0; i < v->n; i++)
		if (!every_port || v->items[i].host->port_last - v->items[i].host->port_first ==
					   UINT16_MAX)
			rules[n++] = *v->items[i].host;
	return host_set_new(rules, n, a, ret, err);
}

static unsigned read_protocols(const struct field_value *v)
{
	const char *const *words = field_words(KIND_PROTOCOLS);
	unsigned bits = 0;

	if (!v->set)
		return 1u << PROTOCOL_ANY;
	for (size_t i = 0; i < v->n; i++)
		for (unsigned k = 0; words[k]; k++)
			bits |= str_is(v->items[i].text, words[k]) ? 1u << k : 0;
	return bits;
}

int matcher_init(struct matcher *m, const struct policy *p, const struct section *s,
		 struct cordon_err *err)
{
	*m = (struct matcher){
		.mode = (enum network_mode)s->f[F_NETWORK_MODE].number,
		.style = p->dialect ? p->dialect->style : STYLE_NATIVE,
		.deny_items = &s->f[F_NETWORK_DENY],
		.protocols = read_protocols(&s->f[F_NETWORK_PROTOCOLS]),
	};
	if (make_set(&s->f[F_NETWORK_ALLOW], false, p->arena, &m->allow, err) < 0 ||
	    make_set(&s->f[F_NETWORK_DENY], false, p->arena, &m->deny, err) < 0)
		return -1;
	return make_set(&s->f[F_NETWORK_DENY], true, p->arena, &m->deny_host, err);
}

/* Without a port the question is about the host: `*:25` does not deny it. */
static const struct host_rule *find_denying(const struct matcher *m, const struct host *h,
					    unsigned port)
{
	return host_set_find(port ? m->deny : m->deny_host, h, port, true);
}

/* A rule that a switch of the dialect stands for, not one that was written. */
static bool is_private_block(const struct matcher *m, const struct host_rule *rule)
{
	for (size_t i = 0; i < m->deny_items->n; i++)
		if (host_rule_cmp(m->deny_items->items[i].host, rule) == 0)
			return str_is(m->deny_items->items[i].value, "block_private");
	return false;
}

static void deny_by_rule(const struct matcher *m, struct match_verdict *v, enum denial why,
			 const char *host, const struct host_rule *rule)
{
	cleanup_buf struct buf text = BUF(512);

	host_rule_print(rule, &text);
	deny(m, v, is_private_block(m, rule) ? DENY_PRIVATE : why, host, buf_text(&text));
}

bool matcher_denies(const struct matcher *m, const struct host *h, unsigned port)
{
	return find_denying(m, h, port);
}

/* Does an allow rule name this very address, or a range no wider than the block that makes it
 * special?  A wider range is about what else lies in it. */
static bool names_address(const struct matcher *m, const struct host_addr *addr, unsigned port,
			  bool own)
{
	struct host h = { .is_addr = true, .addr = *addr };
	const struct host_rule *rule = host_set_find(m->allow, &h, port, false);
	unsigned bits;

	host_addr_block(addr, &bits);
	return rule && rule->form == HOST_NET && rule->bits >= bits &&
	       (!own || host_rule_is_address(rule));
}

/* The machine's own addresses and the special ones, which a policy without a rule about them
 * does not lead to.  A public network has no such rule. */
static bool leads_to(const struct matcher *m, const struct host_addr *addr, unsigned port, bool own)
{
	if (!own && !host_addr_special(addr))
		return true;
	return m->mode == NETWORK_ALLOWLIST && names_address(m, addr, port, own);
}

static void print_port(unsigned port, char out[16])
{
	snprintf(out, 16, port ? "%u" : "PORT", port);
}

static void hint_own(struct match_verdict *v, unsigned port)
{
	char digits[16];

	print_port(port, digits);
	snprintf(v->hint, sizeof(v->hint), "--host-port %s, and the name " HOST_OF_MACHINE, digits);
}

/* For a host that the operator says the place of. */
static void hint_reroute(struct match_verdict *v, const struct host *h, unsigned port,
			 const struct host_addr *to)
{
	const struct host place = { .is_addr = true, .addr = *to };
	const struct host *const ends[] = { h, &place };
	cleanup_buf struct buf text = BUF(MATCH_REASON);
	char digits[16];

	print_port(port, digits);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		bool is_v6 = ends[i]->is_addr && ends[i]->addr.is_v6;

		buf_puts(&text, i ? ":" : "--connect-to ");
		buf_puts(&text, is_v6 ? "[" : "");
		host_print(ends[i], &text);
		buf_printf(&text, "%s:%s", is_v6 ? "]" : "", digits);
	}
	snprintf(v->hint, sizeof(v->hint), "%s", buf_text(&text));
}

/* The loopback inside is another than the one that would be dialled outside, to which the
 * unspecified address leads as well. */
bool matcher_check_loopback(const struct matcher *m, const struct host_addr *addr, unsigned port,
			    struct match_verdict *v)
{
	const char *special = host_addr_special(addr);

	if (!special || (strcmp(special, "loopback") != 0 && strcmp(special, "unspecified") != 0))
		return true;
	deny(m, v, DENY_LOOPBACK, "", "");
	hint_own(v, port);
	return false;
}

bool matcher_check_dialled(const struct matcher *m, const struct host_addr *addr, unsigned port,
			   bool own, struct match_verdict *v)
{
	const struct host h = { .is_addr = true, .addr = *addr };
	const char *special = host_addr_special(addr);
	cleanup_buf struct buf name = BUF(512);

	if (leads_to(m, addr, port, own))
		return true;
	host_print(&h, &name);
	if (own) {
		deny(m, v, DENY_OWN, buf_text(&name), "");
		hint_own(v, port);
		return false;
	}
	deny(m, v, DENY_SPECIAL, buf_text(&name), special);
	/* In a public network a rule that allows something would forbid the rest. */
	if (m->mode == NETWORK_PUBLIC)
		hint_reroute(v, &h, port, addr);
	return false;
}

static void deny_answer(const struct matcher *m, struct match_verdict *v, const struct host *h,
			unsigned port, const struct host_addr *answer)
{
	const char *special = host_addr_special(answer);
	cleanup_buf struct buf what = BUF(256);

	host_addr_print(answer, &what);
	if (special)
		buf_printf(&what, ", a special address (%s)", special);
	else
		buf_puts(&what, ", an address of this machine");
	deny(m, v, DENY_ANSWER, h->name, buf_text(&what));
	if (!special || host_addr_is_loopback(answer))
		hint_own(v, port);
	else
		hint_reroute(v, h, port, answer);
}

bool matcher_check_answers(const struct matcher *m, const struct host *h, unsigned port,
			   const struct match_answers *answers, unsigned *ret_good,
			   struct match_verdict *v)
{
	*ret_good = 0;
	assert(answers->n <= MAX_MATCH_ANSWERS);
	for (size_t i = 0; i < answers->n; i++) {
		struct host addr = { .is_addr = true, .addr = answers->addrs[i] };
		const struct host_rule *denied = find_denying(m, &addr, port);

		if (!denied)
			continue;
		deny_by_rule(m, v, DENY_ANSWER_RULE, h->name, denied);
		return false;
	}
	for (size_t i = 0; i < answers->n; i++) {
		if (leads_to(m, &answers->addrs[i], port, answers->own && answers->own[i]))
			*ret_good |= 1u << i;
		else if (!*ret_good)
			deny_answer(m, v, h, port, &answers->addrs[i]);
	}
	return *ret_good || !answers->n;
}

bool matcher_check_rules(const struct matcher *m, const struct host *h, unsigned port,
			 struct match_verdict *v)
{
	cleanup_buf struct buf name = BUF(512);
	const struct host_rule *rule;

	host_print(h, &name);
	rule = find_denying(m, h, port);
	if (m->mode == NETWORK_NONE)
		deny(m, v, DENY_MODE, buf_text(&name), "");
	else if (rule)
		deny_by_rule(m, v, DENY_RULE, buf_text(&name), rule);
	else if (m->mode == NETWORK_PUBLIC || host_set_find(m->allow, h, port, false))
		return true;
	else if (host_set_find(m->allow, h, 0, false))
		deny_port(m, v, h, buf_text(&name), port);
	else
		deny(m, v, h->is_addr ? DENY_ADDRESS : DENY_NOT_LISTED, buf_text(&name), "");
	return false;
}

bool matcher_check_first(const struct matcher *m, const struct host *h, enum first_bytes first,
			 struct match_verdict *v)
{
	static const struct {
		enum protocol_word word;	/* that allows it, besides "any" */
		const char *words;
	} rows[N_FIRST_BYTES] = {
		[FIRST_HTTP] = { PROTOCOL_HTTP, "HTTP" },
		[FIRST_TLS] = { PROTOCOL_TLS, "TLS" },
		[FIRST_OTHER] = { PROTOCOL_ANY, "neither HTTP nor TLS" },
		[FIRST_OF_SERVER] = { PROTOCOL_ANY, "the server's bytes" },
		[FIRST_NONE] = { PROTOCOL_ANY, "a client that sends nothing" },
	};
	cleanup_buf struct buf name = BUF(512);

	if (first == FIRST_UNSEEN || !matcher_judges_protocols(m) ||
	    m->protocols & 1u << rows[first].word)
		return true;
	host_print(h, &name);
	deny(m, v, DENY_PROTOCOL, buf_text(&name), rows[first].words);
	return false;
}

static enum first_bytes first_of_scheme(struct str scheme)
{
	return str_is(scheme, "http") ? FIRST_HTTP : str_is(scheme, "https") ? FIRST_TLS :
	       FIRST_OTHER;
}

static bool parse_url(const struct matcher *m, struct str target, struct match_target *ret,
		      struct match_verdict *v)
{
	char why[HOST_WHY];
	struct url url;
	enum url_fault fault = url_parse(target, &url, why);
	bool scheme_known = fault == URL_OK || fault == URL_NO_HOST || fault == URL_BAD_HOST ||
			    fault == URL_NO_SCHEME;
	enum first_bytes first = scheme_known ? first_of_scheme(url.scheme) : FIRST_OTHER;
	bool is_refused = first == FIRST_OTHER && matcher_judges_protocols(m);

	if (fault == URL_INVALID)
		deny(m, v, DENY_INVALID, why, "");
	else if (scheme_known && is_refused)
		deny(m, v, DENY_SCHEME, url.scheme_text, "");
	else if (fault == URL_NO_HOST)
		deny(m, v, DENY_NO_HOST, "", "");
	else if (fault != URL_OK)
		deny(m, v, DENY_INVALID, why, "");
	else
		*ret = (struct match_target){ url.host, url.port, first };
	return fault == URL_OK && !is_refused;
}

/* HOST and HOST:PORT have none of these; every URL has. */
static bool is_url(struct str target)
{
	return memmem(target.s, target.n, "//", 2) || memchr(target.s, '/', target.n) ||
	       memchr(target.s, '\\', target.n);
}

bool matcher_parse(const struct matcher *m, struct str target, struct match_target *ret,
		   struct match_verdict *v)
{
	char why[HOST_WHY];

	if (is_url(target))
		return parse_url(m, target, ret, v);
	ret->first = FIRST_UNSEEN;
	if (url_parse_hostport(target, &ret->host, &ret->port, why) == 0)
		return true;
	if (matcher_judges_protocols(m) && str_find(target, '@') == target.n)
		return parse_url(m, target, ret, v);
	deny(m, v, DENY_INVALID, why, "");
	return false;
}
