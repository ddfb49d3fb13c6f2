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

#define TOP	false
#define PROCESS	true
const struct harn_row harn_rows[] = {
#define HARN(id, table, key, form, meet, shown, excess) \
	[K_##id] = { key, table, FORM_##form, SHOWN_##shown, excess },
#include "policy/dialect/harn.def"
#undef HARN
};
static_assert(ARRAY_SIZE(harn_rows) == N_HARN_KEYS, "a key without its row");

static int take_nothing(struct reader *r UNUSED, struct str text UNUSED, struct place at UNUSED,
			void *arg UNUSED)
{
	return 0;
}

static void check_members(struct reader *r, const struct value *v, const char *key)
{
	if (!read_expect(r, v, VALUE_TABLE, key))
		return;
	for (size_t i = 0; i < v->table.n; i++)
		if (harn_check_size(r, &v->table.members[i].value, key))
			read_strings(r, &v->table.members[i].value, key, take_nothing, NULL);
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

static void check_constraints(struct reader *r, const struct value *v, const char *key)
{
	static const char *const known[] = { "tool", "arg_key", "arg_patterns", NULL };

	if (!read_expect(r, v, VALUE_ARRAY, key))
		return;
	for (size_t i = 0; i < v->array.n; i++) {
		const struct value *one = &v->array.items[i];
		const struct value *patterns = harn_get(one, "arg_patterns");

		if (!read_expect(r, one, VALUE_TABLE, key))
			continue;
		for (size_t k = 0; k < 2; k++)
			if (harn_get(one, known[k]))
				read_expect(r, harn_get(one, known[k]), VALUE_STRING, known[k]);
		if (patterns && harn_check_size(r, patterns, "arg_patterns"))
			read_strings(r, patterns, "arg_patterns", take_nothing, NULL);
		read_check_keys(r, one, known, " in tool_arg_constraints");
	}
}

/* Is the string at `key` one of the words?  If not, says it as Harn does. */
static void check_word(struct reader *r, const struct value *v, const char *key,
		       const char *const *words, const char *expected)
{
	if (v->kind == VALUE_STRING && !str_is_one_of(v->string, words))
		diag_error(r->diags, reader_at(r, v), "unknown %s \"%.*s\"; expected one of %s",
			   key, STR_FMT(v->string), expected);
}

static void check_words(struct reader *r, const struct value *v, const struct harn_row *row)
{
	if (row->form == FORM_PROFILE)
		check_word(r, v, row->key, field_words(KIND_PROFILE),
			   "\"unrestricted\", \"worktree\", \"os_hardened\", \"wasi\"");
	if (row->form == FORM_LEVEL)
		check_word(r, v, row->key, harn_level_words,
			   "\"none\", \"read_only\", \"workspace_write\", \"process_exec\", "
			   "\"network\", \"desktop_control\"");
	for (size_t i = 0; row->form == FORM_PRESETS && v->kind == VALUE_ARRAY && i < v->array.n;
	     i++)
		check_word(r, &v->array.items[i], "preset", field_words(KIND_PRESETS),
			   "\"system_runtime\", \"developer_toolchains\", "
			   "\"package_manager_config\", \"user_temp\"");
}

static void check_form(struct reader *r, const struct value *v, const struct harn_row *row)
{
	static const enum value_kind kinds[N_HARN_FORMS] = {
		[FORM_STRING] = VALUE_STRING,	[FORM_PROFILE] = VALUE_STRING,
		[FORM_LEVEL] = VALUE_STRING,	[FORM_STRINGS] = VALUE_ARRAY,
		[FORM_PRESETS] = VALUE_ARRAY,	[FORM_ROOTS] = VALUE_ARRAY,
		[FORM_COUNT] = VALUE_INT,	[FORM_FLAG] = VALUE_BOOL,
		[FORM_TABLE] = VALUE_TABLE,
	};

	if (row->form == FORM_ANY || !harn_check_size(r, v, row->key))
		return;
	if (row->form == FORM_OPERATIONS)
		check_members(r, v, row->key);
	else if (row->form == FORM_CONSTRAINTS)
		check_constraints(r, v, row->key);
	else if (kinds[row->form] == VALUE_ARRAY)
		read_strings(r, v, row->key, take_nothing, NULL);
	else if (read_expect(r, v, kinds[row->form], row->key) && row->form == FORM_COUNT &&
		 v->integer < 0)
		diag_error(r->diags, reader_at(r, v), "%s is negative; write 0 or more", row->key);
	check_words(r, v, row);
}

static void check_rows(struct reader *r, const struct value *table, bool of_process,
		       const char *where)
{
	const char *known[N_HARN_KEYS + 1] = { NULL };
	size_t n = 0;

	for (int k = 0; k < N_HARN_KEYS; k++) {
		const struct value *v = harn_get(table, harn_rows[k].key);

		if (harn_rows[k].of_process != of_process)
			continue;
		known[n++] = harn_rows[k].key;
		if (v)
			check_form(r, v, &harn_rows[k]);
	}
	read_check_keys(r, table, known, where);
}

void harn_check(struct reader *r, const struct value *root)
{
	const struct value *process = harn_get(root, "process_sandbox");

	check_rows(r, root, false, "");
	if (process && process->kind == VALUE_TABLE)
		check_rows(r, process, true, " in process_sandbox");
}
