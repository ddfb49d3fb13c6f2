/* The field table; see field.h and policy.def. */
#include "policy/field.h"

#include "base/limits.h"
#include "base/macros.h"

const struct field fields[N_FIELDS] = {
#define FIELD(id, key, kind, merge, preset, promise, help) \
	[F_##id] = { #id, key, KIND_##kind, MERGE_##merge, preset, promise, help },
#include "policy/policy.def"
#undef FIELD
};

static const char *const profile_words[] = { "unrestricted", "worktree", "wasi", "os_hardened",
					     NULL };
static const char *const backend_words[] = { "none", "process", "docker", NULL };
static const char *const mode_words[] = { "public", "allowlist", "no-network", NULL };
static const char *const switch_words[] = { "true", "false", NULL };
static const char *const tls_words[] = { "name-only", "strict", NULL };
static const char *const protection_words[] = { "namespaces", "landlock", "cgroup", NULL };
static const char *const protocol_words[] = { "any", "http", "tls", NULL };
static const char *const preset_words[] = {
	"system_runtime", "developer_toolchains", "package_manager_config", "user_temp", NULL };
static const char *const protect_words[] = { "git", "agent-config", "shell-rc", NULL };
static_assert(ARRAY_SIZE(profile_words) == N_PROFILES + 1, "profile_words does not match");
static_assert(ARRAY_SIZE(backend_words) == N_BACKEND_WORDS + 1, "backend_words does not match");
static_assert(ARRAY_SIZE(mode_words) == N_NETWORK_MODES + 1, "mode_words does not match");
static_assert(ARRAY_SIZE(switch_words) == N_SWITCH_WORDS + 1, "switch_words does not match");
static_assert(ARRAY_SIZE(tls_words) == N_TLS_WORDS + 1, "tls_words does not match");
static_assert(ARRAY_SIZE(protocol_words) == N_PROTOCOL_WORDS + 1,
	      "protocol_words does not match");
static_assert(ARRAY_SIZE(protection_words) == N_PROTECTIONS + 1,
	      "protection_words does not match");
static_assert(ARRAY_SIZE(preset_words) == N_FILE_PRESETS + 1, "preset_words does not match");
static_assert(ARRAY_SIZE(protect_words) == N_PROTECT_SETS + 1, "protect_words does not match");

static const struct {
	enum field_shape shape;
	const char *const *words;
	const char *expects;
} kind_table[] = {
	[KIND_PROFILE] = { SHAPE_WORD, profile_words, "a profile" },
	[KIND_BACKEND] = { SHAPE_WORD, backend_words, "a backend" },
	[KIND_NETWORK_MODE] = { SHAPE_WORD, mode_words, "a network mode" },
	[KIND_TLS] = { SHAPE_WORD, tls_words, "a word" },
	[KIND_SWITCH] = { SHAPE_WORD, switch_words, "true or false" },
	[KIND_SIZE] = { SHAPE_NUMBER, NULL, "a size such as \"512M\", or \"none\"" },
	[KIND_COUNT] = { SHAPE_NUMBER, NULL, "a whole number of at least 1, or \"none\"" },
	[KIND_DURATION] = { SHAPE_NUMBER, NULL, "a duration such as \"10m\", or \"none\"" },
	[KIND_CONNECTIONS] = { SHAPE_NUMBER, NULL,
			       "a whole number from 1 to " TEXT_OF(MAX_CONNECTIONS) },
	[KIND_PROXY] = { SHAPE_TEXT, NULL, "a proxy such as \"http://proxy.example:3128\"" },
	[KIND_PROTECTIONS] = { SHAPE_LIST, protection_words, "a list of protections" },
	[KIND_PRESETS] = { SHAPE_LIST, preset_words, "a list of presets" },
	[KIND_PROTOCOLS] = { SHAPE_LIST, protocol_words, "\"any\", or a list of protocols" },
	[KIND_ROOTS] = { SHAPE_LIST, NULL, "a list of paths" },
	[KIND_PATHS] = { SHAPE_LIST, NULL, "a list of paths and patterns" },
	[KIND_PROTECT] = { SHAPE_LIST, protect_words, "a list of paths, patterns and named sets" },
	[KIND_ALLOW_HOSTS] = { SHAPE_LIST, NULL, "a list of host patterns" },
	[KIND_DENY_HOSTS] = { SHAPE_LIST, NULL, "a list of host patterns" },
	[KIND_PORTS] = { SHAPE_LIST, NULL, "a list of ports such as [8080]" },
	[KIND_ENDPOINTS] = { SHAPE_LIST, NULL, "a list of HOST:PORT" },
	[KIND_ENV_NAMES] = { SHAPE_LIST, NULL, "a list of names; a name may end in *" },
	[KIND_ENV_GLOBS] = { SHAPE_LIST, NULL, "a list of names; * stands for anything" },
	[KIND_COMMANDS] = { SHAPE_LIST, NULL, "a list of commands" },
	[KIND_ENV_MAP] = { SHAPE_MAP, NULL, "a table of names and texts" },
};
static_assert(ARRAY_SIZE(kind_table) == N_FIELD_KINDS, "a kind without a row");

enum field_shape field_shape(enum field_kind kind)
{
	return kind_table[kind].shape;
}

const char *const *field_words(enum field_kind kind)
{
	return kind_table[kind].words;
}

const char *field_expects(enum field_kind kind)
{
	return kind_table[kind].expects;
}

/* Only hosts are matched in constant time and may be many. */
size_t field_most(enum field_kind kind)
{
	return kind == KIND_ALLOW_HOSTS || kind == KIND_DENY_HOSTS ? MAX_LIST_ITEMS
								   : MAX_SHORT_LIST;
}

struct str field_table(enum field_id id)
{
	struct str key = str_from(fields[id].key);
	size_t dot = str_find(key, '.');

	return dot < key.n ? str_first(key, dot) : STR("");
}

const char *field_leaf(enum field_id id)
{
	struct str table = field_table(id);

	return fields[id].key + (table.n ? table.n + 1 : 0);
}

bool field_in_phase(enum field_id id)
{
	struct str table = field_table(id);

	return str_is(table, "network") || str_is(table, "limits") || str_is(table, "env");
}

bool field_leads_out(enum field_id id)
{
	return id == F_NETWORK_HOST_PORTS || id == F_NETWORK_UDP_ALLOW;
}

bool field_is_top(struct str key)
{
	for (int id = 0; id < N_FIELDS; id++) {
		struct str table = field_table((enum field_id)id);

		if (table.n ? str_eq(key, table) : str_is(key, fields[id].key))
			return true;
	}
	return str_is(key, "phase");
}

enum field_id field_find(struct str key)
{
	for (int id = 0; id < N_FIELDS; id++)
		if (str_is(key, fields[id].key))
			return (enum field_id)id;
	return N_FIELDS;
}
