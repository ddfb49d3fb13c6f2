/* The field table (policy.def) as data. */
#ifndef POLICY_FIELD_H
#define POLICY_FIELD_H

#include <stdint.h>

#include "base/str.h"

enum field_id {
#define FIELD(id, ...)	F_##id,
#include "policy/policy.def"
#undef FIELD
	N_FIELDS
};

/* How a value is written. */
enum field_kind {
	/* one word of a fixed list; the number is its place in the list */
	KIND_PROFILE,
	KIND_BACKEND,
	KIND_NETWORK_MODE,
	KIND_TLS,
	KIND_SWITCH,		/* true or false, not in quotes */
	/* a number; LIMIT_NONE is "none" */
	KIND_SIZE,
	KIND_COUNT,
	KIND_DURATION,
	KIND_CONNECTIONS,	/* never LIMIT_NONE */
	/* one text */
	KIND_PROXY,		/* http://HOST:PORT, perhaps with ${NAME} in it */
	/* lists */
	KIND_PROTECTIONS,
	KIND_PRESETS,
	KIND_PROTOCOLS,		/* "any" is in place of a list, and covers every entry */
	KIND_ROOTS,
	KIND_PATHS,
	KIND_PROTECT,
	KIND_ALLOW_HOSTS,
	KIND_DENY_HOSTS,
	KIND_PORTS,
	KIND_ENDPOINTS,		/* one host with one port each */
	KIND_ENV_NAMES,
	KIND_ENV_GLOBS,
	KIND_COMMANDS,
	/* names with texts */
	KIND_ENV_MAP,
	N_FIELD_KINDS
};

/* How two values become one.  Except for JOIN and FIRST the order of the
 * two does not matter. */
enum field_merge {
	MERGE_STRICTEST,	/* the word that allows less */
	MERGE_LEAST,		/* the smaller number */
	MERGE_UNION,		/* everything that either takes away */
	MERGE_COMMON,		/* only what both grant */
	MERGE_ROOTS,		/* by containment of paths */
	MERGE_HOSTS,		/* by what both patterns match */
	MERGE_JOIN,		/* both; the first one's value where they differ */
	MERGE_FIRST,		/* the first one's; without it the second one's, unless the
				 * first restricts the network */
	N_FIELD_MERGES
};

#define LIMIT_NONE	INT64_MAX

/* What a value looks like in memory (struct field_value). */
enum field_shape { SHAPE_WORD, SHAPE_NUMBER, SHAPE_TEXT, SHAPE_LIST, SHAPE_MAP, N_FIELD_SHAPES };

struct field {
	const char *name;	/* PROFILE, for messages about the table itself */
	const char *key;
	enum field_kind kind;
	enum field_merge merge;
	const char *preset;	/* the default */
	const char *promise;
	const char *help;
};

extern const struct field fields[N_FIELDS];

enum field_shape field_shape(enum field_kind kind);
/* The words of a word kind, weakest first, or of a list kind with fixed
 * words; NULL for the others.  Ends with NULL. */
const char *const *field_words(enum field_kind kind);
/* "a size such as \"512M\"", …: what to write, for messages. */
const char *field_expects(enum field_kind kind);
/* The most entries of a list or map. */
size_t field_most(enum field_kind kind);
/* Can a phase override it? */
bool field_in_phase(enum field_id id);
/* Is it a list that is empty where the mode is no-network? */
bool field_leads_out(enum field_id id);
/* The table it stands in ("network"), or "" for the top; and its last part. */
struct str field_table(enum field_id id);
const char *field_leaf(enum field_id id);
/* Does it stand at the top of a native policy: a field, or a table of fields or phases? */
bool field_is_top(struct str key);
/* N_FIELDS when there is none. */
enum field_id field_find(struct str key);

/* Places in the word lists that the code names. */
enum profile {
	PROFILE_UNRESTRICTED,
	PROFILE_WORKTREE,
	PROFILE_WASI,
	PROFILE_OS_HARDENED,
	N_PROFILES
};
enum backend_word { BACKEND_NONE, BACKEND_PROCESS, BACKEND_DOCKER, N_BACKEND_WORDS };
enum network_mode { NETWORK_PUBLIC, NETWORK_ALLOWLIST, NETWORK_NONE, N_NETWORK_MODES };
enum switch_word { SWITCH_TRUE, SWITCH_FALSE, N_SWITCH_WORDS };
enum tls_word { TLS_NAME_ONLY, TLS_STRICT, N_TLS_WORDS };
enum protocol_word { PROTOCOL_ANY, PROTOCOL_HTTP, PROTOCOL_TLS, N_PROTOCOL_WORDS };
enum protection {
	PROTECTION_NAMESPACES,
	PROTECTION_LANDLOCK,
	PROTECTION_CGROUP,
	N_PROTECTIONS
};
enum file_preset {
	PRESET_SYSTEM_RUNTIME,
	PRESET_DEVELOPER_TOOLCHAINS,
	PRESET_PACKAGE_MANAGER_CONFIG,
	PRESET_USER_TEMP,
	N_FILE_PRESETS
};
enum protect_set { PROTECT_GIT, PROTECT_AGENT_CONFIG, PROTECT_SHELL_RC, N_PROTECT_SETS };

#endif
