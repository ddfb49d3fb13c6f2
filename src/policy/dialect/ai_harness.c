/* ai-harness: the `network` block of harness.md's front matter.
 *
 * A bare name covers its sub-domains; `*` every host and address; beside a list nothing but
 * HTTP and TLS passes.  An absent or empty list is no policy at all (public).  An entry that the
 * original would keep without it ever matching (a port, a scheme, an address, a blank)
 * is refused here.  All other keys of harness.md belong to that program, but
 * for what looks like a policy that would be ignored.
 */
#include "policy/dialect/dialect.h"

static int refuse(struct reader *r, struct str entry, const char *why, struct place at)
{
	/* A URL may hold a password. */
	bool shown = str_find(entry, '@') == entry.n && str_find(entry, '/') == entry.n;

	return diag_error(r->diags, at, "network.allowed_domains: %s%.*s%s %s; write NAME, "
			  "*.NAME or *", shown ? "'" : "an entry",
			  STR_FMT(shown ? entry : STR("")), shown ? "'" : "", why);
}

/* `name` is the entry, or what is behind its star. */
static int add(struct reader *r, enum host_form form, struct str entry, struct str name,
	       struct place at)
{
	struct host_rule rule;
	struct host host;
	char why[HOST_WHY];

	if (host_parse(name, &host, why) == 0 && host.is_addr)
		return refuse(r, entry, "is an address, which no rule of this dialect names", at);
	if (host_rule_make(form, name, r->policy->arena, &rule, why) < 0)
		return refuse(r, entry, why, at);
	return read_host(r, &r->policy->base, F_NETWORK_ALLOW, &rule, at);
}

static int add_text(struct reader *r, const char *pattern, struct place at)
{
	return read_field_text(r, &r->policy->base, F_NETWORK_ALLOW, str_from(pattern), at);
}

static int take_domain(struct reader *r, struct str text, struct place at, void *arg UNUSED)
{
	text = str_trim(text);
	if (!text.n)
		return diag_error(r->diags, at,
				  "a blank entry in network.allowed_domains; remove it");
	if (str_is(text, "*"))
		return add_text(r, "*", at) | add_text(r, "0.0.0.0/0", at) |
		       add_text(r, "::/0", at);
	if (str_starts(text, "*."))
		return add(r, HOST_BELOW, text, str_from_pos(text, 2), at);
	return add(r, HOST_AT_OR_BELOW, text, text, at);
}

static int take_protocols(struct reader *r, struct place at)
{
	return read_field_text(r, &r->policy->base, F_NETWORK_PROTOCOLS, STR("http,tls"), at);
}

int dialect_add_domain(struct reader *r, struct str text, struct place at)
{
	return take_domain(r, text, at, NULL) | take_protocols(r, at);
}

/* A list of domains that is not where the original reads it would leave the network public.
 * What other tables call so may be anything: domains of a tool that searches. */
static void refuse_elsewhere(struct reader *r, const struct value *in, const struct value *network)
{
	for (size_t i = 0; in->kind == VALUE_ARRAY && i < in->array.n; i++)
		refuse_elsewhere(r, &in->array.items[i], network);
	for (size_t i = 0; in->kind == VALUE_TABLE && i < in->table.n; i++) {
		const struct member *m = &in->table.members[i];
		const struct value *domains = value_find(&m->value, "allowed_domains");

		if (&m->value == network)
			continue;
		if (domains && (str_is(m->key, "network") || str_is(m->key, "sandbox")))
			diag_error(r->diags, reader_at(r, domains),
				   "'allowed_domains' would be ignored here; write it into "
				   "'network' at the top");
		refuse_elsewhere(r, &m->value, network);
	}
}

static void ai_harness_read(struct reader *r, const struct value *root)
{
	static const char *const known[] = { "allowed_domains", NULL };
	const struct value *network = value_find(root, "network");
	const struct value *domains = value_find(network, "allowed_domains");
	struct section *s = &r->policy->base;

	if (root->kind == VALUE_NULL) {
		diag_error(r->diags, reader_at(r, root), "there is no front matter; begin with "
			   "a line ---, name the dialect that this is, or use --no-policy");
		return;
	}
	read_check_top(r, root, "network", known);
	refuse_elsewhere(r, root, network);
	if (network && network->kind != VALUE_NULL &&
	    read_expect(r, network, VALUE_TABLE, "network"))
		read_check_keys(r, network, known, " in network");
	if (!domains || domains->kind == VALUE_NULL ||
	    (domains->kind == VALUE_ARRAY && !domains->array.n)) {
		read_number(s, F_NETWORK_MODE, NETWORK_PUBLIC,
			    network ? reader_at(r, network) : (struct place){ r->file, 0, 0 });
		return;
	}
	read_number(s, F_NETWORK_MODE, NETWORK_ALLOWLIST, reader_at(r, domains));
	read_strings(r, domains, "network.allowed_domains", take_domain, NULL);
	(void)!take_protocols(r, reader_at(r, domains));
}

const struct dialect dialect_ai_harness = {
	.name = "ai-harness",
	.about = "the front matter of harness.md",
	.style = STYLE_AI_HARNESS,
	.parse = yaml_parse_front_matter,
	.read = ai_harness_read,
};
