/* Asking a policy about a host; see match.h.
 *
 * The order of the questions is the order of the answers' weight: is it a host
 * at all, may its scheme be used, is the network on, is it denied, is it
 * allowed, and is what it resolves to allowed.
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
	DENY_ANSWER_RULE,	/* host, rule */
	DENY_ANSWER,		/* host, what is wrong with the answers */
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
		[DENY_ANSWER_RULE] = "host %1$s: resolved address matched deny rule `%2$s`",
		[DENY_ANSWER] = "host %1$s resolves to %2$s: no allow rule matched",
	},
};

/* What would allow it; the same two texts. */
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
	[DENY_ANSWER_RULE] = "%1$.0snetwork.deny without %2$s",
	[DENY_ANSWER] = "an address rule, or --connect-to",
};

/* The formats are the tables' own constants. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void deny(const struct matcher *m, struct match_verdict *v, enum denial why,
		 const char *first, const char *second)
{
	v->allowed = false;
	snprintf(v->reason, sizeof(v->reason), denial_words[m->style][why], first, second);
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

int matcher_init(struct matcher *m, const struct policy *p, const struct section *s,
		 struct cordon_err *err)
{
	*m = (struct matcher){
		.mode = (enum network_mode)s->f[F_NETWORK_MODE].number,
		.style = p->dialect ? p->dialect->style : STYLE_NATIVE,
		.deny_items = &s->f[F_NETWORK_DENY],
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

/* May a name lead to this special address?  Only where a rule names it; a
 * range of everything names nothing. */
static bool names_address(const struct matcher *m, const struct host *addr, unsigned port)
{
	const struct host_rule *rule = host_set_find(m->allow, addr, port, false);

	return rule && rule->form == HOST_NET && rule->bits > 0;
}

bool matcher_denies(const struct matcher *m, const struct host *h, unsigned port)
{
	return find_denying(m, h, port);
}

bool matcher_accepts_answer(const struct matcher *m, const struct host_addr *answer, unsigned port,
			    bool own)
{
	struct host addr = { .is_addr = true, .addr = *answer };

	return !find_denying(m, &addr, port) &&
	       (m->mode != NETWORK_ALLOWLIST || (!host_addr_special(answer) && !own) ||
		names_address(m, &addr, port));
}

/* A denied answer refuses the name; of the others the good ones are used, and
 * one is enough. */
static bool check_answers(const struct matcher *m, const char *name, unsigned port,
			  const struct host_addr *answers, size_t n, struct match_verdict *v)
{
	size_t good = 0;

	for (size_t i = 0; i < n; i++) {
		struct host addr = { .is_addr = true, .addr = answers[i] };
		const struct host_rule *denied = find_denying(m, &addr, port);
		const char *special = host_addr_special(&answers[i]);
		cleanup_buf struct buf what = BUF(256);

		if (denied) {
			deny_by_rule(m, v, DENY_ANSWER_RULE, name, denied);
			return false;
		}
		if (matcher_accepts_answer(m, &answers[i], port, false)) {
			good++;
			continue;
		}
		host_addr_print(&answers[i], &what);
		buf_printf(&what, ", a special address (%s)", special);
		deny(m, v, DENY_ANSWER, name, buf_text(&what));
	}
	return good > 0 || n == 0;
}

void matcher_check_host(const struct matcher *m, const struct host *h, unsigned port,
			const struct host_addr *answers, size_t n_answers,
			struct match_verdict *v)
{
	cleanup_buf struct buf name = BUF(512);
	const struct host_rule *rule;

	*v = (struct match_verdict){ .allowed = false };
	host_print(h, &name);
	rule = find_denying(m, h, port);
	if (m->mode == NETWORK_NONE) {
		deny(m, v, DENY_MODE, buf_text(&name), "");
	} else if (rule) {
		deny_by_rule(m, v, DENY_RULE, buf_text(&name), rule);
	} else if (m->mode == NETWORK_ALLOWLIST && !host_set_find(m->allow, h, port, false)) {
		if (host_set_find(m->allow, h, 0, false))
			deny_port(m, v, h, buf_text(&name), port);
		else
			deny(m, v, h->is_addr ? DENY_ADDRESS : DENY_NOT_LISTED, buf_text(&name),
			     "");
	} else if (h->is_addr || check_answers(m, buf_text(&name), port, answers, n_answers, v)) {
		v->allowed = true;
	}
}

static bool is_http(struct str scheme)
{
	return str_is(scheme, "http") || str_is(scheme, "https");
}

/* The dialect that judges schemes has no policy at all when it is public. */
static bool judges_schemes(const struct matcher *m)
{
	return m->style == STYLE_AI_HARNESS && m->mode != NETWORK_PUBLIC;
}

static void check_url(const struct matcher *m, struct str target, const struct host_addr *answers,
		      size_t n_answers, struct match_verdict *v)
{
	char why[HOST_WHY];
	struct url url;
	enum url_fault fault = url_parse(target, &url, why);
	bool scheme_known = fault == URL_OK || fault == URL_NO_HOST || fault == URL_BAD_HOST ||
			    fault == URL_NO_SCHEME;

	if (fault == URL_INVALID)
		deny(m, v, DENY_INVALID, why, "");
	else if (scheme_known && judges_schemes(m) && !is_http(url.scheme))
		deny(m, v, DENY_SCHEME, url.scheme_text, "");
	else if (fault == URL_NO_HOST)
		deny(m, v, DENY_NO_HOST, "", "");
	else if (fault != URL_OK)
		deny(m, v, DENY_INVALID, why, "");
	else
		matcher_check_host(m, &url.host, url.port, answers, n_answers, v);
}

/* HOST and HOST:PORT have none of these; every URL has. */
static bool is_url(struct str target)
{
	return memmem(target.s, target.n, "//", 2) || memchr(target.s, '/', target.n) ||
	       memchr(target.s, '\\', target.n);
}

void matcher_check(const struct matcher *m, struct str target, const struct host_addr *answers,
		   size_t n_answers, struct match_verdict *ret)
{
	struct match_verdict v = { .allowed = false };
	char why[HOST_WHY];
	struct host host;
	unsigned port;

	if (is_url(target))
		check_url(m, target, answers, n_answers, &v);
	else if (url_parse_hostport(target, &host, &port, why) == 0)
		matcher_check_host(m, &host, port, answers, n_answers, &v);
	else if (judges_schemes(m) && str_find(target, '@') == target.n)
		check_url(m, target, answers, n_answers, &v);
	else
		deny(m, &v, DENY_INVALID, why, "");
	*ret = v;
}
