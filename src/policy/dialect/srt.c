/* srt: the settings of Anthropic's sandbox-runtime.
 *
 * Reading is open but for denyRead, writing closed but for allowWrite, the
 * network closed but for allowedDomains (an empty list means nothing).  A
 * bare domain is that name alone.  What srt protects whatever the settings
 * say (git hooks, agent and shell configuration) are our named sets.
 */
#include "policy/dialect/dialect.h"
#include "policy/print.h"

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

/* ---- writing ------------------------------------------------------------ */

static int refuse(const struct policy *p, enum field_id id, const char *what, struct diags *diags)
{
	return dialect_refuse(&dialect_srt, id, p->base.f[id].at, what, diags);
}

static bool is_set_name(struct str text)
{
	for (const char *const *set = field_words(KIND_PROTECT); *set; set++)
		if (str_is(text, *set))
			return true;
	return false;
}

static bool is_range(const struct host_rule *r)
{
	return r->form == HOST_NET && r->bits < (r->addr.is_v6 ? 128 : 32);
}

static int write_hosts(const struct policy *p, enum field_id id, struct json_out *j,
		       struct diags *diags)
{
	const struct field_value *v = &p->base.f[id];
	int bad = 0;

	json_open(j, '[');
	for (size_t i = 0; i < v->n; i++) {
		const struct host_rule *r = v->items[i].host;
		cleanup_buf struct buf text = BUF(MAX_DIAG_BYTES);
		bool too_broad = id == F_NETWORK_ALLOW &&
				 (r->form == HOST_ANY ||
				  (r->form == HOST_BELOW && str_find(r->name, '.') == r->name.n));

		host_rule_print(r, &text);
		if (r->form == HOST_AT_OR_BELOW || too_broad || is_range(r) ||
		    (r->port_first && r->port_first != r->port_last))
			bad = refuse(p, id, buf_text(&text), diags);
		json_put_text(j, buf_text(&text));
	}
	json_close(j, ']');
	return bad;
}

static void write_paths(const struct policy *p, enum field_id id, struct json_out *j)
{
	const struct field_value *v = &p->base.f[id];

	json_open(j, '[');
	for (size_t i = 0; i < v->n; i++)
		if (id != F_FILES_PROTECT || !is_set_name(v->items[i].text))
			json_put_str(j, v->items[i].text);
	json_close(j, ']');
}

static int check_sayable(const struct policy *p, struct diags *diags)
{
	static const enum field_id sayable[] = { F_FILES_WRITE, F_FILES_READ, F_FILES_DENY,
						 F_FILES_PROTECT, F_FILES_SOCKETS, F_NETWORK_MODE,
						 F_NETWORK_ALLOW, F_NETWORK_DENY, N_FIELDS };
	const struct field_value *mode = &p->base.f[F_NETWORK_MODE];
	const struct field_value *read = &p->base.f[F_FILES_READ];
	const struct field_value *protect = &p->base.f[F_FILES_PROTECT];
	size_t sets = 0;
	int bad = dialect_refuse_others(p, sayable, false, &dialect_srt, diags);

	if (!mode->set || mode->number != NETWORK_ALLOWLIST)
		bad = refuse(p, F_NETWORK_MODE, "anything but an allowlist", diags);
	if (read->n != 1 || !str_is(read->items[0].text, "/"))
		bad = refuse(p, F_FILES_READ, "anything but \"/\"", diags);
	if (!p->base.f[F_FILES_WRITE].set)
		bad = refuse(p, F_FILES_WRITE, "nothing: no place would be writable", diags);
	for (size_t i = 0; i < protect->n; i++)
		sets += is_set_name(protect->items[i].text);
	if (sets != 3)
		bad = refuse(p, F_FILES_PROTECT, "less than git, agent-config and shell-rc", diags);
	return bad;
}

static int srt_write(const struct policy *p, struct buf *out, struct diags *diags)
{
	struct json_out j = { .out = out, .indent = 2 };
	int bad = check_sayable(p, diags);

	json_open(&j, '{');
	json_key(&j, "network");
	json_open(&j, '{');
	json_key(&j, "allowedDomains");
	bad |= write_hosts(p, F_NETWORK_ALLOW, &j, diags);
	json_key(&j, "deniedDomains");
	bad |= write_hosts(p, F_NETWORK_DENY, &j, diags);
	if (p->base.f[F_FILES_SOCKETS].set) {
		json_key(&j, "allowUnixSockets");
		write_paths(p, F_FILES_SOCKETS, &j);
	}
	json_close(&j, '}');
	json_key(&j, "filesystem");
	json_open(&j, '{');
	json_key(&j, "denyRead");
	write_paths(p, F_FILES_DENY, &j);
	json_key(&j, "allowWrite");
	write_paths(p, F_FILES_WRITE, &j);
	json_key(&j, "denyWrite");
	write_paths(p, F_FILES_PROTECT, &j);
	json_close(&j, '}');
	json_close(&j, '}');
	buf_putc(out, '\n');
	return bad;
}

const struct dialect dialect_srt = {
	.name = "srt",
	.about = "settings of sandbox-runtime (JSON)",
	.style = STYLE_NATIVE,
	.parse = json_parse,
	.read = srt_read,
	.write = srt_write,
};
