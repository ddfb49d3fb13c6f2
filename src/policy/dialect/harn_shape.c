/* The shape of Harn's policies: keys, kinds and words, and looking them up. */
#include "policy/dialect/harn_priv.h"

#include "base/path.h"

const char *const harn_level_words[] = {
	[HARN_NONE] = "none",
	[HARN_READ_ONLY] = "read_only",
	[HARN_WORKSPACE_WRITE] = "workspace_write",
	[HARN_PROCESS_EXEC] = "process_exec",
	[HARN_NETWORK] = "network",
	[HARN_DESKTOP_CONTROL] = "desktop_control",
	[HARN_UNBOUNDED] = NULL,
};
static_assert(ARRAY_SIZE(harn_level_words) == N_HARN_LEVELS, "a level without its word");

/* ---- looking things up -------------------------------------------------- */

const struct value *harn_get(const struct value *table, const char *key)
{
	const struct value *v = value_find(table, key);

	return v && v->kind != VALUE_NULL ? v : NULL;
}

const struct value *harn_list(const struct value *table, const char *key)
{
	const struct value *v = value_find(table, key);

	return v && v->kind == VALUE_ARRAY && v->array.n ? v : NULL;
}

bool harn_flag(const struct value *table, const char *key)
{
	const struct value *v = value_find(table, key);

	return v && v->kind == VALUE_BOOL && v->boolean;
}

enum harn_level harn_get_level(const struct value *root)
{
	const struct value *v = harn_get(root, "side_effect_level");
	int level = HARN_UNBOUNDED;

	for (int i = 0; v && v->kind == VALUE_STRING && harn_level_words[i]; i++)
		if (str_is(v->string, harn_level_words[i]))
			level = i;
	return (enum harn_level)level;
}

bool harn_has_capabilities(const struct value *root)
{
	const struct value *v = harn_get(root, "capabilities");

	return (v && v->kind == VALUE_TABLE && v->table.n) ||
	       harn_flag(root, "capabilities_restricted");
}

bool harn_has_operation(const struct value *root, const char *capability, const char *operation)
{
	const struct value *v = harn_list(value_find(root, "capabilities"), capability);

	for (size_t i = 0; v && i < v->array.n; i++)
		if (v->array.items[i].kind == VALUE_STRING &&
		    str_is(v->array.items[i].string, operation))
			return true;
	return false;
}

bool harn_has_workspace(const struct value *root)
{
	return !harn_has_capabilities(root) ||
	       harn_list(value_find(root, "capabilities"), "workspace");
}

bool harn_holds(const struct field_value *roots, const char *path)
{
	for (size_t i = 0; i < roots->n; i++)
		if (path_within(path, roots->items[i].text.s))
			return true;
	return false;
}

bool harn_is_loader_variable(struct str name)
{
	return str_starts(name, "LD_") || str_starts(name, "MALLOC_") ||
	       str_is(name, "GLIBC_TUNABLES");
}

/* ---- the shape of a text ------------------------------------------------ */

enum form {
	FORM_STRING,
	FORM_STRINGS,
	FORM_COUNT,
	FORM_FLAG,
	FORM_TABLE,
	FORM_TABLES,	 /* an array of them */
	FORM_OPERATIONS, /* names with lists of strings */
	FORM_LATER,	 /* whoever reads it looks */
	N_FORMS
};

struct key {
	const char *name;
	enum form form;
};

static const struct key top_keys[] = {
	{ "tools", FORM_STRINGS },
	{ "tools_restricted", FORM_FLAG },
	{ "capabilities", FORM_OPERATIONS },
	{ "capabilities_restricted", FORM_FLAG },
	{ "workspace_roots", FORM_STRINGS },
	{ "workspace_roots_restricted", FORM_FLAG },
	{ "read_only_roots", FORM_STRINGS },
	{ "side_effect_level", FORM_STRING },
	{ "recursion_limit", FORM_COUNT },
	{ "tool_arg_constraints", FORM_TABLES },
	{ "tool_annotations", FORM_TABLE },
	{ "sandbox_profile", FORM_STRING },
	{ "process_sandbox", FORM_TABLE },
	{ "egress", FORM_LATER },
	{ "network", FORM_LATER },
	{ "limits", FORM_LATER },
	{ "env", FORM_LATER },
	{ "env_mode", FORM_LATER },
	{ "env_remove", FORM_LATER },
};

static const struct key process_keys[] = {
	{ "presets", FORM_STRINGS },
	{ "read_roots", FORM_STRINGS },
	{ "write_roots", FORM_STRINGS },
	{ "read_deny_roots", FORM_STRINGS },
	{ "allow_tcp_loopback", FORM_FLAG },
	{ "unix_socket_roots", FORM_STRINGS },
	{ "allow_process_self_introspection", FORM_FLAG },
	{ "allow_child_workspace_write", FORM_FLAG },
	{ "netns_launcher_path", FORM_STRING },
	{ "process_network_proxy", FORM_LATER },
};

static const struct key constraint_keys[] = {
	{ "tool", FORM_STRING },
	{ "arg_patterns", FORM_STRINGS },
	{ "arg_key", FORM_STRING },
};

#define MAX_KEYS 32
static_assert(ARRAY_SIZE(top_keys) < MAX_KEYS, "more keys than check_table() has room for");

static int take_nothing(struct reader *r UNUSED, struct str text UNUSED, struct place at UNUSED,
			void *arg UNUSED)
{
	return 0;
}

static void check_table(struct reader *r, const struct value *table, const struct key *keys,
			size_t n, const char *where);

static void check_members(struct reader *r, const struct value *v, const char *key)
{
	if (!read_expect(r, v, VALUE_TABLE, key))
		return;
	for (size_t i = 0; i < v->table.n; i++)
		if (v->table.members[i].value.kind != VALUE_NULL &&
		    harn_check_size(r, &v->table.members[i].value, key))
			read_strings(r, &v->table.members[i].value, key, take_nothing, NULL);
}

static void check_constraints(struct reader *r, const struct value *v, const char *key)
{
	if (!read_expect(r, v, VALUE_ARRAY, key))
		return;
	for (size_t i = 0; i < v->array.n; i++)
		if (read_expect(r, &v->array.items[i], VALUE_TABLE, key))
			check_table(r, &v->array.items[i], constraint_keys,
				    ARRAY_SIZE(constraint_keys), " in tool_arg_constraints");
}

bool harn_check_size(struct reader *r, const struct value *v, const char *key)
{
	size_t n = v->kind == VALUE_ARRAY ? v->array.n : v->kind == VALUE_TABLE ? v->table.n : 0;

	if (n <= MAX_SHORT_LIST)
		return true;
	diag_error(r->diags, reader_at(r, v), "%s has more than %d entries; remove some", key,
		   MAX_SHORT_LIST);
	return false;
}

static void check_form(struct reader *r, const struct value *v, const struct key *key)
{
	static const enum value_kind kinds[N_FORMS] = { [FORM_STRING] = VALUE_STRING,
							[FORM_COUNT] = VALUE_INT,
							[FORM_FLAG] = VALUE_BOOL,
							[FORM_TABLE] = VALUE_TABLE };

	if (key->form == FORM_LATER || !harn_check_size(r, v, key->name))
		return;
	switch (key->form) {
	case FORM_STRINGS:
		read_strings(r, v, key->name, take_nothing, NULL);
		return;
	case FORM_OPERATIONS:
		check_members(r, v, key->name);
		return;
	case FORM_TABLES:
		check_constraints(r, v, key->name);
		return;
	default:
		if (read_expect(r, v, kinds[key->form], key->name) && key->form == FORM_COUNT &&
		    v->integer < 0)
			diag_error(r->diags, reader_at(r, v), "%s is negative; write 0 or more",
				   key->name);
	}
}

static void check_table(struct reader *r, const struct value *table, const struct key *keys,
			size_t n, const char *where)
{
	const char *known[MAX_KEYS] = { NULL };

	for (size_t i = 0; i < n; i++) {
		const struct value *v = harn_get(table, keys[i].name);

		known[i] = keys[i].name;
		if (v)
			check_form(r, v, &keys[i]);
	}
	read_check_keys(r, table, known, where);
}

/* Is the string at `key` one of the words?  If not, says it as Harn does. */
static void check_word(struct reader *r, const struct value *v, const char *key,
		       const char *const *words, const char *expected)
{
	if (!v || v->kind != VALUE_STRING)
		return;
	for (; *words; words++)
		if (str_is(v->string, *words))
			return;
	diag_error(r->diags, reader_at(r, v), "unknown %s \"%.*s\"; expected one of %s", key,
		   STR_FMT(v->string), expected);
}

void harn_check(struct reader *r, const struct value *root)
{
	const struct value *process = harn_get(root, "process_sandbox");
	const struct value *presets = harn_list(process, "presets");

	check_table(r, root, top_keys, ARRAY_SIZE(top_keys), "");
	if (process && process->kind == VALUE_TABLE)
		check_table(r, process, process_keys, ARRAY_SIZE(process_keys),
			    " in process_sandbox");
	check_word(r, harn_get(root, "sandbox_profile"), "sandbox_profile",
		   field_words(KIND_PROFILE),
		   "\"unrestricted\", \"worktree\", \"os_hardened\", \"wasi\"");
	check_word(r, harn_get(root, "side_effect_level"), "side_effect_level", harn_level_words,
		   "\"none\", \"read_only\", \"workspace_write\", \"process_exec\", \"network\", "
		   "\"desktop_control\"");
	for (size_t i = 0; presets && i < presets->array.n; i++)
		check_word(r, &presets->array.items[i], "preset", field_words(KIND_PRESETS),
			   "\"system_runtime\", \"developer_toolchains\", "
			   "\"package_manager_config\", \"user_temp\"");
}
