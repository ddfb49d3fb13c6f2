/* Harn's network: the rules of egress_policy and the hostlib's network mode.
 *
 * Order upstream: the block of private addresses, deny, allow, default.  Here
 * the block is a set of deny rules that carry a note, so that a refusal can be
 * told in Harn's words.  egress and network compose as the strictest.
 */
#include "policy/dialect/harn_priv.h"

#include "policy/intersect.h"

/* ---- one rule ----------------------------------------------------------- */

static const struct {
	const char *start;
	uint16_t port;
} schemes[] = {
	{ "http://", 80 }, { "https://", 443 }, { "ws://", 80 },
	{ "wss://", 443 }, { "ftp://", 21 },
};

/* A rule that is being read, and how messages name the list it stands in. */
struct rule_text {
	const char *list;
	struct str raw;
	struct place at;
};

static int bad_rule(struct reader *r, const struct rule_text *t, const char *what, const char *why)
{
	return diag_error(r->diags, t->at, "%s: %s `%.*s`%s%s", t->list, what, STR_FMT(t->raw),
			  why[0] ? ": " : "", why);
}

/* Take scheme and path off; the scheme's own port holds unless one is written. */
static int strip_url(struct reader *r, const struct rule_text *t, struct str *text, unsigned *port)
{
	size_t i = 0, n;

	if (!memmem(text->s, text->n, "://", 3))
		return 0;
	while (i < ARRAY_SIZE(schemes) && !str_starts(*text, schemes[i].start))
		i++;
	if (i == ARRAY_SIZE(schemes))
		return bad_rule(r, t, "invalid URL rule", "write the host alone");
	*port = schemes[i].port;
	*text = str_from_pos(*text, strlen(schemes[i].start));
	for (n = 0; n < text->n && !strchr("/?#", text->s[n]); n++)
		if (text->s[n] == '@')
			return bad_rule(r, t, "invalid URL rule", "it names a user");
	if (text->n > n + 1)
		diag_warn(r->diags, t->at,
			  "%s: a rule is about a whole host: the path in `%.*s` is ignored",
			  t->list, STR_FMT(t->raw));
	text->n = n;
	return 0;
}

/* HOST:PORT, [v6]:PORT and [v6]; a bare v6 address has no port. */
static int split_port(struct reader *r, const struct rule_text *t, struct str *text, unsigned *port)
{
	size_t colon = str_find(*text, ':');
	struct str digits;
	uint64_t number;

	if (str_starts(*text, "[")) {
		size_t end = str_find(*text, ']');

		if (end == text->n || (end + 1 < text->n && text->s[end + 1] != ':'))
			return bad_rule(r, t, "invalid bracketed host rule", "");
		digits = str_from_pos(*text, end + 1);
		*text = (struct str){ text->s + 1, end - 1 };
		if (!digits.n)
			return 0;
		digits = str_from_pos(digits, 1);
	} else {
		if (colon == text->n ||
		    str_find(str_from_pos(*text, colon + 1), ':') + colon + 1 < text->n)
			return 0;
		digits = str_from_pos(*text, colon + 1);
		text->n = colon;
	}
	if (!str_parse_u64(digits, &number) || number < 1 || number > UINT16_MAX)
		return bad_rule(r, t, "invalid port in", "write 1 to 65535");
	*port = (unsigned)number;
	return 0;
}

static int make_rule(struct reader *r, const struct rule_text *t, struct str host,
		     struct host_rule *ret)
{
	struct arena *a = r->policy->arena;
	char why[HOST_WHY] = "";

	while (str_ends(host, "."))
		host.n--;
	if (str_is(host, "*"))
		return bad_rule(r, t, "invalid wildcard rule",
				"it would match nothing; write *.NAME, or \"default\": \"allow\"");
	if (str_find(host, '*') < host.n) {
		if (!str_starts(host, "*.") ||
		    host_rule_make(HOST_BELOW, str_from_pos(host, 2), a, ret, why) < 0)
			return bad_rule(r, t, "invalid wildcard rule", why);
		return 0;
	}
	if (str_find(host, '/') < host.n) {
		if (host_rule_make(HOST_NET, host, a, ret, why) < 0)
			return bad_rule(r, t, "invalid CIDR rule", why);
		return 0;
	}
	if (host_rule_make(HOST_EXACT, host, a, ret, why) < 0)
		return bad_rule(r, t, "invalid host rule", why);
	return 0;
}

static int parse_rule(struct reader *r, const char *list, struct str text, struct place at,
		      struct host_rule *ret)
{
	struct rule_text t = { list, str_trim(text), at };
	struct str host = t.raw;
	unsigned port = 0;

	if (!host.n)
		return diag_error(r->diags, at, "%s: empty egress rule", list);
	if (strip_url(r, &t, &host, &port) < 0 || split_port(r, &t, &host, &port) < 0 ||
	    make_rule(r, &t, host, ret) < 0)
		return -1;
	if (port)
		ret->port_first = ret->port_last = (uint16_t)port;
	return 0;
}

/* ---- the private block -------------------------------------------------- */

/* Forms that carry an IPv4 address inside (NAT64, 6to4, v4-mapped) are judged
 * by it: a deny rule matches what is inside. */
static const struct {
	const char *net;
	bool loopback;
} private_nets[] = {
	{ "0.0.0.0/8", false },	     { "10.0.0.0/8", false },	  { "100.64.0.0/10", false },
	{ "127.0.0.0/8", true },     { "169.254.0.0/16", false }, { "172.16.0.0/12", false },
	{ "192.0.0.0/24", false },   { "192.0.2.0/24", false },	  { "192.88.99.0/24", false },
	{ "192.168.0.0/16", false }, { "198.18.0.0/15", false },  { "198.51.100.0/24", false },
	{ "203.0.113.0/24", false }, { "224.0.0.0/4", false },	  { "240.0.0.0/4", false },
	{ "::/128", false },	     { "::1/128", true },	  { "64:ff9b:1::/48", false },
	{ "100::/64", false },	     { "2001::/32", false },	  { "2001:db8::/32", false },
	{ "fc00::/7", false },	     { "fe80::/10", false },	  { "fec0::/10", false },
	{ "ff00::/8", false },
};

struct block {
	struct host_rule rules[ARRAY_SIZE(private_nets)];
	size_t n;
};

static void make_block(struct reader *r, bool loopback_open, struct block *ret)
{
	char why[HOST_WHY];

	for (size_t i = 0; i < ARRAY_SIZE(private_nets); i++) {
		if (private_nets[i].loopback && loopback_open)
			continue;
		if (host_rule_make(HOST_NET, str_from(private_nets[i].net), r->policy->arena,
				   &ret->rules[ret->n], why) < 0)
			BUG("a private network that is none");
		ret->n++;
	}
}

/* Is the switch on?  Harn takes words as well as true and false. */
static bool read_block_switch(struct reader *r, const struct value *v)
{
	static const char *const on[] = { "private", "on", "block", "block_private", "true", NULL };
	static const char *const off[] = { "off", "false", "none", NULL };

	if (v->kind == VALUE_BOOL)
		return v->boolean;
	if (!read_expect(r, v, VALUE_STRING, "egress.block_private"))
		return false;
	for (size_t i = 0; on[i]; i++)
		if (str_is(v->string, on[i]))
			return true;
	for (size_t i = 0; off[i]; i++)
		if (str_is(v->string, off[i]))
			return false;
	diag_error(r->diags, reader_at(r, v),
		   "egress_policy: block_private must be `private`/`on` or `off`, got `%.*s`",
		   STR_FMT(v->string));
	return false;
}

static void read_block(struct reader *r, const struct value *egress, struct block *ret)
{
	const struct value *private = harn_get(egress, "block_private");
	const struct value *loopback = harn_get(egress, "allow_loopback");

	if (loopback && loopback->kind != VALUE_BOOL) {
		diag_error(r->diags, reader_at(r, loopback),
			   "egress_policy: allow_loopback must be a boolean");
		return;
	}
	if (private && read_block_switch(r, private))
		make_block(r, loopback && loopback->boolean, ret);
}

/* Marked, so that a refusal names the address and not a rule nobody wrote. */
static void add_block(struct reader *r, const struct block *block, struct place at)
{
	struct field_value *deny = &r->policy->base.f[F_NETWORK_DENY];

	for (size_t i = 0; i < block->n; i++)
		if (read_host(r, &r->policy->base, F_NETWORK_DENY, &block->rules[i], at) == 0)
			deny->items[deny->n - 1].value = STR(HARN_PRIVATE_NOTE);
}

/* ---- lists -------------------------------------------------------------- */

struct rules {
	const char *list;
	enum field_id id;
	const struct block *block; /* allow rules wholly inside it are dead; or NULL */
	bool keep;		   /* else they are only looked at */
};

static int take_rule(struct reader *r, struct str text, struct place at, void *arg)
{
	const struct rules *rules = arg;
	struct host_rule rule;

	if (parse_rule(r, rules->list, text, at, &rule) < 0)
		return -1;
	for (size_t i = 0; rules->block && i < rules->block->n; i++)
		if (host_rule_covers(&rules->block->rules[i], &rule)) {
			/* Upstream asks the block first, too, and takes such a rule. */
			diag_warn(r->diags, at,
				  "%s: `%.*s` can never match: block_private refuses it",
				  rules->list, STR_FMT(text));
			return 0;
		}
	return rules->keep ? read_host(r, &r->policy->base, rules->id, &rule, at) : 0;
}

static void read_rules(struct reader *r, const struct value *egress, const char *key,
		       struct rules *rules)
{
	const struct value *v = harn_get(egress, key);

	if (v && v->kind != VALUE_ARRAY)
		diag_error(r->diags, reader_at(r, v), "%s: %s must be a list", rules->list, key);
	else if (v)
		read_strings(r, v, rules->list, take_rule, rules);
}

/* Does what no rule matches stay closed?  Unlike upstream an allow list alone
 * says so: there it would restrict nothing. */
static bool read_default(struct reader *r, const struct value *egress)
{
	const struct value *v = harn_get(egress, "default");
	struct str got;

	if (!v)
		return harn_list(egress, "allow");
	if (v->kind == VALUE_STRING && str_is(v->string, "deny"))
		return true;
	if (v->kind == VALUE_STRING && str_is(v->string, "allow")) {
		if (harn_list(egress, "allow"))
			diag_warn(r->diags, reader_at(r, harn_list(egress, "allow")),
				  "egress.allow has no effect while egress.default is \"allow\"");
		return false;
	}
	got = v->kind == VALUE_STRING ? v->string : str_from(value_kind_words(v->kind));
	diag_error(r->diags, reader_at(r, v),
		   "egress_policy: default must be `allow` or `deny`, got `%.*s`", STR_FMT(got));
	return true;
}

static void read_egress(struct reader *r, const struct value *egress)
{
	static const char *const known[] = { "allow", "deny", "default", "block_private",
					     "allow_loopback", NULL };
	struct rules deny = { "egress_policy", F_NETWORK_DENY, NULL, true };
	struct rules allow = { "egress_policy", F_NETWORK_ALLOW, NULL, true };
	struct block block = { .n = 0 };

	read_check_keys(r, egress, known, " in egress");
	allow.keep = read_default(r, egress);
	read_number(&r->policy->base, F_NETWORK_MODE,
		    allow.keep ? NETWORK_ALLOWLIST : NETWORK_PUBLIC, reader_at(r, egress));
	if (allow.keep)
		read_list_start(&r->policy->base, F_NETWORK_ALLOW, reader_at(r, egress));
	read_block(r, egress, &block);
	allow.block = &block;
	add_block(r, &block, reader_at(r, egress));
	read_rules(r, egress, "deny", &deny);
	read_rules(r, egress, "allow", &allow);
}

static void read_hostlib(struct reader *r, const struct value *network)
{
	static const char *const known[] = { "mode", "allowed_hosts", NULL };
	struct rules allow = { "network.allowed_hosts", F_NETWORK_ALLOW, NULL, true };
	const struct value *mode = harn_get(network, "mode");
	bool limited = mode && mode->kind == VALUE_STRING && str_is(mode->string, "limited");

	read_check_keys(r, network, known, " in network");
	if (!limited &&
	    !(mode && mode->kind == VALUE_STRING && str_is(mode->string, "unrestricted"))) {
		diag_error(r->diags, reader_at(r, mode ? mode : network),
			   "network.mode must be \"unrestricted\" or \"limited\"");
		return;
	}
	read_number(&r->policy->base, F_NETWORK_MODE, limited ? NETWORK_ALLOWLIST : NETWORK_PUBLIC,
		    reader_at(r, mode));
	if (limited)
		read_list_start(&r->policy->base, F_NETWORK_ALLOW, reader_at(r, mode));
	else if (harn_list(network, "allowed_hosts"))
		diag_error(r->diags, reader_at(r, harn_list(network, "allowed_hosts")),
			   "network.allowed_hosts has no effect while network.mode is "
			   "\"unrestricted\"; remove one");
	read_rules(r, network, "allowed_hosts", &allow);
}

static int canonical_hosts(struct reader *r, struct policy *p)
{
	struct field_value *f = p->base.f;
	struct cordon_err err;

	if (field_value_canonical(F_NETWORK_ALLOW, &f[F_NETWORK_ALLOW], p->arena, &err) < 0 ||
	    field_value_canonical(F_NETWORK_DENY, &f[F_NETWORK_DENY], p->arena, &err) < 0)
		return diag_error(r->diags, f[F_NETWORK_MODE].at, "%s", err.msg);
	return 0;
}

void harn_read_network(struct reader *r, const struct value *root)
{
	static const enum field_id ids[] = { F_NETWORK_MODE, F_NETWORK_ALLOW, F_NETWORK_DENY };
	const struct value *egress = harn_get(root, "egress"), *network = harn_get(root, "network");
	struct policy by_egress, by_network, both;
	struct reader of_egress = *r, of_network = *r;
	struct cordon_err err;

	policy_init(&by_egress, r->policy->arena);
	policy_init(&by_network, r->policy->arena);
	of_egress.policy = &by_egress;
	of_network.policy = &by_network;
	read_number(&by_egress.base, F_NETWORK_MODE, NETWORK_PUBLIC, reader_at(r, root));
	if (egress && read_expect(r, egress, VALUE_TABLE, "egress"))
		read_egress(&of_egress, egress);
	if (network && read_expect(r, network, VALUE_TABLE, "network"))
		read_hostlib(&of_network, network);
	/* Composing would drop dead rules in silence. */
	if (canonical_hosts(r, &by_egress) < 0 || canonical_hosts(r, &by_network) < 0 ||
	    read_check_hosts(r, &by_egress.base) < 0)
		return;
	if (policy_intersect(&by_egress, &by_network, &both, NULL, &err) < 0) {
		diag_error(r->diags, reader_at(r, root), "%s", err.msg);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		r->policy->base.f[ids[i]] = both.base.f[ids[i]];
}

/* ---- the result of intersect -------------------------------------------- */

/* Harn's rules are names, what is below a name, and networks; each for one port or all. */
static void print_rule(struct host_rule rule, struct json_out *out)
{
	cleanup_buf struct buf text = BUF(512);
	bool with_name = rule.form == HOST_AT_OR_BELOW;

	if (with_name)
		rule.form = HOST_EXACT;
	host_rule_print(&rule, &text);
	json_put_text(out, buf_text(&text));
	if (!with_name)
		return;
	rule.form = HOST_BELOW;
	print_rule(rule, out);
}

static bool is_private_note(const struct item *item)
{
	return str_is(item->value, HARN_PRIVATE_NOTE);
}

static void print_rules(const struct field_value *rules, const char *key, struct json_out *out)
{
	json_key(out, key);
	json_open(out, '[');
	for (size_t i = 0; i < rules->n; i++)
		if (!is_private_note(&rules->items[i]))
			print_rule(*rules->items[i].host, out);
	json_close(out, ']');
}

static void print_block(const struct field_value *deny, struct json_out *out)
{
	static const struct host v4 = { .is_addr = true, .addr = { .b = { 127, 0, 0, 1 } } };
	static const struct host v6 = { .is_addr = true,
					.addr = { .is_v6 = true, .b = { [15] = 1 } } };
	bool on = false, has_loopback = false;

	for (size_t i = 0; i < deny->n; i++) {
		if (!is_private_note(&deny->items[i]))
			continue;
		on = true;
		has_loopback |= host_rule_matches(deny->items[i].host, &v4, 0, false) ||
				host_rule_matches(deny->items[i].host, &v6, 0, false);
	}
	if (!on)
		return;
	json_key(out, "block_private");
	json_put_text(out, "private");
	json_key(out, "allow_loopback");
	json_put_bool(out, !has_loopback);
}

void harn_print_egress(const struct section *s, struct json_out *out)
{
	bool closed = s->f[F_NETWORK_MODE].set && s->f[F_NETWORK_MODE].number == NETWORK_ALLOWLIST;

	if (!closed && !s->f[F_NETWORK_DENY].n)
		return;
	json_key(out, "egress");
	json_open(out, '{');
	json_key(out, "default");
	json_put_text(out, closed ? "deny" : "allow");
	if (closed)
		print_rules(&s->f[F_NETWORK_ALLOW], "allow", out);
	print_rules(&s->f[F_NETWORK_DENY], "deny", out);
	print_block(&s->f[F_NETWORK_DENY], out);
	json_close(out, '}');
}
