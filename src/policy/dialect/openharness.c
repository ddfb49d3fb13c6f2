/* OpenHarness: the [sandbox] table of .harness/config.toml.
 *
 * The flat keys of SandboxConfig and those of SandboxPolicy, ResourceLimits
 * and NetworkPolicy, flat or in their tables, are all read.  A table that is
 * there is in force unless it says `enabled = false`; an unknown mode is an
 * error.  The other tables of the file belong to that program, but for what
 * looks like a policy that would be ignored.
 */
#include "policy/dialect/dialect.h"

#define MB	((int64_t)1 << 20)
#define MAX_NUMBER	((int64_t)1 << 40)

/* Limits: their key, their field, what one unit is, what holds unless written. */
static const struct {
	const char *key;
	enum field_id id;
	int64_t unit;
	int64_t preset;
} limit_rows[] = {
	{ "max_memory_mb", F_LIMITS_MEMORY, MB, 512 },
	{ "max_cpu_seconds", F_LIMITS_CPU_SECONDS, 1, 30 },
	{ "max_processes", F_LIMITS_PROCESSES, 1, 64 },
	{ "max_file_size_mb", F_LIMITS_FILE_SIZE, MB, 100 },
};

/* The first of these may be keys of something else, where they stand alone. */
#define N_COMMON_KEYS	3
static const char *const sandbox_keys[] = {
	"enabled", "mode", "network", "max_memory_mb", "max_cpu_seconds", "max_processes",
	"max_file_size_mb", "network_access", "allow_network", "allowed_hosts", "blocked_ports",
	"docker_image", "allowed_paths", "blocked_commands", "env_passthrough", "strip_env",
	"resource_limits", NULL };
static const char *const limit_keys[] = { "max_memory_mb", "max_cpu_seconds", "max_processes",
					  "max_file_size_mb", NULL };
static const char *const network_keys[] = { "allow_network", "allowed_hosts", "blocked_ports",
					    NULL };

/* A key that may stand in [sandbox] or in one of its tables, but not in both. */
static const struct value *find_either(struct reader *r, const struct value *sandbox,
				       const char *table, const char *key)
{
	const struct value *flat = value_find(sandbox, key);
	const struct value *nested = value_find(value_find(sandbox, table), key);

	if (flat && nested)
		diag_error(r->diags, reader_at(r, nested), "'%s' is written twice; remove one",
			   key);
	return flat ? flat : nested;
}

static void read_limits(struct reader *r, const struct value *sandbox)
{
	struct section *s = &r->policy->base;

	for (size_t i = 0; i < ARRAY_SIZE(limit_rows); i++) {
		const struct value *v =
			find_either(r, sandbox, "resource_limits", limit_rows[i].key);
		int64_t number = limit_rows[i].preset;

		if (v && !read_expect(r, v, VALUE_INT, limit_rows[i].key))
			continue;
		if (v)
			number = v->integer;
		if (number < 1 || number > MAX_NUMBER) {
			diag_error(r->diags, reader_at(r, v ? v : sandbox),
				   "%s is %lld; write a number from 1 to %lld", limit_rows[i].key,
				   (long long)number, (long long)MAX_NUMBER);
			continue;
		}
		read_number(s, limit_rows[i].id, number * limit_rows[i].unit,
			    reader_at(r, v ? v : sandbox));
	}
}

static int take_field(struct reader *r, struct str text, struct place at, void *id)
{
	return read_field_text(r, &r->policy->base, *(enum field_id *)id, text, at);
}

static void read_list(struct reader *r, const struct value *v, const char *key, enum field_id id)
{
	if (!v)
		return;
	read_list_start(&r->policy->base, id, reader_at(r, v));
	read_strings(r, v, key, take_field, &id);
}

static void read_ports(struct reader *r, const struct value *v)
{
	if (!v || !read_expect(r, v, VALUE_ARRAY, "blocked_ports"))
		return;
	for (size_t i = 0; i < v->array.n; i++) {
		const struct value *one = &v->array.items[i];
		char pattern[32];

		if (!read_expect(r, one, VALUE_INT, "blocked_ports"))
			continue;
		if (one->integer < 1 || one->integer > UINT16_MAX) {
			diag_error(r->diags, reader_at(r, one),
				   "blocked_ports: %lld is no port; write 1 to 65535",
				   (long long)one->integer);
			continue;
		}
		snprintf(pattern, sizeof(pattern), "*:%lld", (long long)one->integer);
		read_field_text(r, &r->policy->base, F_NETWORK_DENY, str_from(pattern),
				reader_at(r, one));
	}
}

static bool read_bool(struct reader *r, const struct value *v, const char *key, bool preset)
{
	if (!v || !read_expect(r, v, VALUE_BOOL, key))
		return preset;
	return v->boolean;
}

static void read_network(struct reader *r, const struct value *sandbox)
{
	const struct value *access = value_find(sandbox, "network_access");
	const struct value *allow = find_either(r, sandbox, "network", "allow_network");
	const struct value *hosts = find_either(r, sandbox, "network", "allowed_hosts");
	struct section *s = &r->policy->base;
	bool open = read_bool(r, access ? access : allow, "network_access", false);

	if (access && allow)
		diag_error(r->diags, reader_at(r, allow),
			   "network_access and allow_network say the same; remove one");
	read_ports(r, find_either(r, sandbox, "network", "blocked_ports"));
	if (!open) {
		read_number(s, F_NETWORK_MODE, NETWORK_NONE, reader_at(r, sandbox));
		if (hosts && (hosts->kind != VALUE_ARRAY || hosts->array.n))
			diag_error(r->diags, reader_at(r, hosts),
				   "allowed_hosts has no effect while the network is off; "
				   "write network_access = true or remove it");
		return;
	}
	read_number(s, F_NETWORK_MODE, hosts ? NETWORK_ALLOWLIST : NETWORK_PUBLIC,
		    reader_at(r, hosts ? hosts : sandbox));
	read_list(r, hosts, "allowed_hosts", F_NETWORK_ALLOW);
}

static void check_keys(struct reader *r, const struct value *sandbox)
{
	const struct value *limits = value_find(sandbox, "resource_limits");
	const struct value *network = value_find(sandbox, "network");

	read_check_keys(r, sandbox, sandbox_keys, " in [sandbox]");
	if (limits && read_expect(r, limits, VALUE_TABLE, "resource_limits"))
		read_check_keys(r, limits, limit_keys, " in [sandbox.resource_limits]");
	if (network && read_expect(r, network, VALUE_TABLE, "network"))
		read_check_keys(r, network, network_keys, " in [sandbox.network]");
}

static void read_mode(struct reader *r, const struct value *sandbox, bool enabled, bool *ret_off)
{
	const struct value *mode = value_find(sandbox, "mode");
	struct section *s = &r->policy->base;
	struct place at = reader_at(r, mode ? mode : sandbox);

	read_number(s, F_BACKEND, BACKEND_PROCESS, at);
	if (mode && read_expect(r, mode, VALUE_STRING, "mode"))
		read_field_text(r, s, F_BACKEND, mode->string, at);
	if (!enabled)
		read_number(s, F_BACKEND, BACKEND_NONE, at);
	*ret_off = s->f[F_BACKEND].number == BACKEND_NONE;
	read_number(s, F_PROFILE, *ret_off ? PROFILE_UNRESTRICTED : PROFILE_WORKTREE, at);
}

static void openharness_read(struct reader *r, const struct value *root)
{
	const struct value *sandbox = value_find(root, "sandbox");
	const struct value *paths = value_find(sandbox, "allowed_paths");
	const struct value *image = value_find(sandbox, "docker_image");
	bool off;

	read_check_top(r, root, "sandbox", sandbox_keys + N_COMMON_KEYS);
	if (!sandbox || !read_expect(r, sandbox, VALUE_TABLE, "sandbox"))
		return;
	r->base_dir = r->cwd;
	check_keys(r, sandbox);
	read_mode(r, sandbox, read_bool(r, value_find(sandbox, "enabled"), "enabled", true), &off);
	if (off)
		return;		/* upstream, too, looks at nothing else then */
	read_limits(r, sandbox);
	read_network(r, sandbox);
	if (paths && (paths->kind != VALUE_ARRAY || paths->array.n))
		read_list(r, paths, "allowed_paths", F_FILES_WRITE);
	read_list(r, value_find(sandbox, "blocked_commands"), "blocked_commands", F_COMMANDS_BLOCK);
	read_list(r, value_find(sandbox, "env_passthrough"), "env_passthrough", F_ENV_PASS);
	read_list(r, value_find(sandbox, "strip_env"), "strip_env", F_ENV_STRIP);
	/* Only mode = "docker" would start it. */
	if (image)
		(void)read_expect(r, image, VALUE_STRING, "docker_image");
}

const struct dialect dialect_openharness = {
	.name = "openharness",
	.about = "the [sandbox] table of .harness/config.toml",
	.style = STYLE_NATIVE,
	.parse = toml_parse,
	.read = openharness_read,
};
