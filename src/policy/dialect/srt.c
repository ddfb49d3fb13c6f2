/* srt: the settings of Anthropic's sandbox-runtime.
 *
 * Reading is open but for denyRead, writing closed but for allowWrite, the
 * network closed but for allowedDomains (an empty list means nothing).  A
 * bare domain is that name alone.  What srt protects whatever the settings
 * say (git hooks, agent and shell configuration) are our named sets.
 */
#include "policy/dialect/dialect.h"

static const char *const top_keys[] = {
	"network", "filesystem", "ignoreViolations", "enableWeakerNestedSandbox",
	"enableWeakerNetworkIsolation", "ripgrep", "mandatoryDenySearchDepth", "allowPty",
	"seccomp", NULL };
static const char *const network_keys[] = {
	"allowedDomains", "deniedDomains", "allowUnixSockets", "allowAllUnixSockets",
	"allowLocalBinding", "httpProxyPort", "socksProxyPort", "mitmProxy", "parentProxy", NULL };
static const char *const filesystem_keys[] = { "denyRead", "allowRead", "allowWrite", "denyWrite",
					       "allowGitConfig", NULL };

/* Settings that cordon cannot follow: written with anything but nothing, false
 * or an empty list they are refused. */
static const struct {
	const char *table, *key, *instead;
} refused[] = {
	{ NULL, "ignoreViolations", "every refusal is reported" },
	{ NULL, "enableWeakerNestedSandbox", "nothing is weakened in silence" },
	{ NULL, "enableWeakerNetworkIsolation", "nothing is weakened in silence" },
	{ "network", "allowAllUnixSockets", "sockets of the host are named one by one" },
	{ "network", "httpProxyPort", "there is no proxy" },
	{ "network", "socksProxyPort", "there is no proxy" },
	{ "network", "mitmProxy", "there is no proxy" },
	{ "network", "parentProxy", "there is no proxy" },
	{ "filesystem", "allowRead", "what is denied stays denied" },
	{ "filesystem", "allowGitConfig", "git's configuration stays unwritable" },
};

static bool says_nothing(const struct value *v)
{
	switch (v->kind) {
	case VALUE_NULL:
		return true;
	case VALUE_BOOL:
		return !v->boolean;
	case VALUE_ARRAY:
		return v->array.n == 0;
	case VALUE_TABLE:
		return v->table.n == 0;
	default:
		return false;
	}
}

static void check_refused(struct reader *r, const struct value *root)
{
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		const char *name = refused[i].table;
		const struct value *table = name ? value_find(root, name) : root;
		const struct value *v = value_find(table, refused[i].key);

		if (v && !says_nothing(v))
			diag_error(r->diags, reader_at(r, v),
				   "%s cannot be followed: %s; remove it", refused[i].key,
				   refused[i].instead);
	}
}

static int take(struct reader *r, struct str text, struct place at, void *arg)
{
	enum field_id id = *(enum field_id *)arg;

	/* A bare word is a file here, not one of our sets. */
	if (id == F_FILES_PROTECT && str_trim(text).n && !memchr(text.s, '/', text.n) &&
	    text.s[0] != '~') {
		text.s = arena_printf(r->policy->arena, "./%.*s", (int)text.n, text.s);
		if (!text.s)
			return diag_error(r->diags, at, "out of memory");
		text = str_from(text.s);
	}
	return read_field_text(r, &r->policy->base, id, text, at);
}

/* srt knows names and *.NAME; what else we could read it would not match. */
static int take_domain(struct reader *r, struct str text, struct place at, void *id)
{
	if (str_starts(text, "**") || str_find(text, '/') < text.n)
		return diag_error(r->diags, at, "'%.*s' is no domain; write NAME or *.NAME",
				  STR_FMT(text));
	return take(r, text, at, id);
}

/* srt refuses patterns that allow nearly everything, and so do we. */
static int take_allowed(struct reader *r, struct str text, struct place at, void *id)
{
	if (str_is(text, "*") || str_starts(text, "*:") ||
	    (str_starts(text, "*.") && str_find(str_from_pos(text, 2), '.') == text.n - 2))
		return diag_error(r->diags, at,
				  "allowedDomains: '%.*s' is too broad; write *.NAME.TLD",
				  STR_FMT(text));
	return take_domain(r, text, at, id);
}

static void read_list(struct reader *r, const struct value *table, const char *key,
		      enum field_id id)
{
	const struct value *v = value_find(table, key);

	if (!v || v->kind == VALUE_NULL)
		return;
	read_list_start(&r->policy->base, id, reader_at(r, v));
	read_strings(r, v, key,
		     id == F_NETWORK_ALLOW  ? take_allowed
		     : id == F_NETWORK_DENY ? take_domain
					    : take,
		     &id);
}

/* Then all of it can be written, and reading follows. */
static bool has_top(const struct field_value *write)
{
	for (size_t i = 0; i < write->n; i++)
		if (str_is(write->items[i].text, "/"))
			return true;
	return false;
}

static void srt_read(struct reader *r, const struct value *root)
{
	const struct value *network = value_find(root, "network");
	const struct value *files = value_find(root, "filesystem");
	struct section *s = &r->policy->base;
	struct place top = reader_at(r, root);

	if (!read_expect(r, root, VALUE_TABLE, "the settings"))
		return;
	r->base_dir = r->cwd;
	read_check_keys(r, root, top_keys, "");
	if (network && read_expect(r, network, VALUE_TABLE, "network"))
		read_check_keys(r, network, network_keys, " in network");
	if (files && read_expect(r, files, VALUE_TABLE, "filesystem"))
		read_check_keys(r, files, filesystem_keys, " in filesystem");
	check_refused(r, root);

	read_number(s, F_NETWORK_MODE, NETWORK_ALLOWLIST, network ? reader_at(r, network) : top);
	read_list(r, network, "allowedDomains", F_NETWORK_ALLOW);
	read_list(r, network, "deniedDomains", F_NETWORK_DENY);
	read_list(r, network, "allowUnixSockets", F_FILES_SOCKETS);
	read_list(r, files, "denyRead", F_FILES_DENY);
	read_list_start(s, F_FILES_WRITE, top);
	read_list(r, files, "allowWrite", F_FILES_WRITE);
	read_list_start(s, F_FILES_READ, top);
	if (!has_top(&s->f[F_FILES_WRITE]))
		read_field_text(r, s, F_FILES_READ, STR("/"), top);
	for (const char *const *set = field_words(KIND_PROTECT); *set; set++)
		read_field_text(r, s, F_FILES_PROTECT, str_from(*set), top);
	read_list(r, files, "denyWrite", F_FILES_PROTECT);
}

const struct dialect dialect_srt = {
	.name = "srt",
	.about = "settings of sandbox-runtime (JSON)",
	.style = STYLE_NATIVE,
	.parse = json_parse,
	.read = srt_read,
};
