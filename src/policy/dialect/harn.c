/* Harn: a CapabilityPolicy in JSON.
 *
 * It governs two things: Harn's own tools, which cordon does not run (what
 * says something about them is refused), and the processes they start.  The
 * sections of the hostlib (network, limits, env) and egress_policy's arguments
 * (egress) may stand beside it.  Relative roots start from the caller's place.
 *
 * Where Harn is weak this is stricter: an allow list without a default denies
 * the rest, an empty operation list grants nothing, a read-only root is never
 * written even inside a writable one, and a misspelt HARN_HANDLER_SANDBOX is
 * an error.
 */
#include "policy/dialect/harn_priv.h"

#include "base/path.h"

/* ---- what is granted ---------------------------------------------------- */

/* May files below the workspace roots be written? */
static bool may_write(const struct value *root)
{
	return harn_get_level(root) >= HARN_WORKSPACE_WRITE &&
	       (!harn_has_capabilities(root) ||
		harn_has_operation(root, "workspace", "write_text") ||
		harn_has_operation(root, "workspace", "delete"));
}

static bool may_start(const struct value *root)
{
	return harn_get_level(root) >= HARN_PROCESS_EXEC &&
	       (!harn_has_capabilities(root) || harn_has_operation(root, "process", "exec"));
}

/* ---- what cordon does not run ------------------------------------------- */

static bool says_something(const struct value *v)
{
	switch (v->kind) {
	case VALUE_BOOL:
		return v->boolean;
	case VALUE_ARRAY:
		return v->array.n > 0;
	case VALUE_TABLE:
		return v->table.n > 0;
	default:
		return true;
	}
}

static void refuse_keys(struct reader *r, const struct value *table, const char *const *keys,
			const char *prefix, const char *why)
{
	for (; *keys; keys++) {
		const struct value *v = harn_get(table, *keys);

		if (v && says_something(v))
			diag_error(r->diags, reader_at(r, v), "%s%s: %s; remove it here", prefix,
				   *keys, why);
	}
}

static void refuse_unheld(struct reader *r, const struct value *root)
{
	static const char *const of_tools[] = { "tools",
						"tools_restricted",
						"tool_arg_constraints",
						"tool_annotations",
						"recursion_limit",
						NULL };
	static const char *const grants[] = { "unix_socket_roots",
					      "allow_process_self_introspection",
					      "netns_launcher_path", "process_network_proxy",
					      NULL };

	refuse_keys(r, root, of_tools, "", "governs Harn's own tools, which cordon does not run");
	refuse_keys(r, harn_get(root, "process_sandbox"), grants, "process_sandbox.",
		    "grants what cordon has no field for");
}

static void check_operations(struct reader *r, const struct member *m, const char *const *words)
{
	const struct value *v = &m->value;

	for (size_t i = 0; v->kind == VALUE_ARRAY && i < v->array.n; i++) {
		const struct value *op = &v->array.items[i];
		const char *nearest = read_nearest(op->string, words);
		size_t k = 0;

		while (words[k] && !str_is(op->string, words[k]))
			k++;
		if (!words[k])
			diag_error(r->diags, reader_at(r, op),
				   "capabilities.%.*s: unknown operation \"%.*s\"; write %s",
				   STR_FMT(m->key), STR_FMT(op->string),
				   nearest ? nearest : words[0]);
	}
}

static void check_capabilities(struct reader *r, const struct value *root)
{
	static const char *const workspace[] = { "read_text",  "list",	 "exists",
						 "write_text", "delete", NULL };
	static const char *const process[] = { "exec", NULL };
	const struct value *v = harn_get(root, "capabilities");

	for (size_t i = 0; v && i < v->table.n; i++) {
		const struct member *m = &v->table.members[i];

		if (str_is(m->key, "workspace"))
			check_operations(r, m, workspace);
		else if (str_is(m->key, "process"))
			check_operations(r, m, process);
		else
			diag_error(r->diags, (struct place){ r->file, m->line, m->col },
				   "capabilities: '%.*s' is not one that cordon knows; write "
				   "workspace or process",
				   STR_FMT(m->key));
	}
}

/* ---- profile and handler ------------------------------------------------ */

static const struct {
	const char *word;
	enum { HANDLER_OFF, HANDLER_ENFORCE, HANDLER_WARN } meaning;
} handler_values[] = {
	{ "0", HANDLER_OFF },		{ "false", HANDLER_OFF },
	{ "off", HANDLER_OFF },		{ "none", HANDLER_OFF },
	{ "1", HANDLER_ENFORCE },	{ "true", HANDLER_ENFORCE },
	{ "enforce", HANDLER_ENFORCE }, { "required", HANDLER_ENFORCE },
	{ "warn", HANDLER_WARN },
};

/* What Harn's own variable says about a machine that cannot enforce.  The
 * stricter profiles do not ask it. */
static void read_handler(struct reader *r)
{
	static const char variable[] = "HARN_HANDLER_SANDBOX";
	static const struct place at = { variable, 0, 0 };
	const char *const *words = field_words(KIND_PROTECTIONS);
	const char *text = r->env ? r->env(variable) : NULL;
	struct section *s = &r->policy->base;
	enum field_id id;
	size_t i = 0;

	if (!text || s->f[F_PROFILE].number != PROFILE_WORKTREE)
		return;
	while (i < ARRAY_SIZE(handler_values) && strcmp(text, handler_values[i].word) != 0)
		i++;
	if (i == ARRAY_SIZE(handler_values)) {
		diag_error(r->diags, at, "%s is '%.100s'; write off, warn or enforce", variable,
			   text);
		return;
	}
	if (handler_values[i].meaning == HANDLER_OFF) {
		read_number(s, F_BACKEND, BACKEND_NONE, at);
		return;
	}
	id = handler_values[i].meaning == HANDLER_WARN ? F_MAY_LACK : F_REQUIRE;
	for (int k = 0; words[k]; k++)
		read_field_text(r, s, id, str_from(words[k]), at);
}

static void read_profile(struct reader *r, const struct value *root)
{
	const struct value *v = harn_get(root, "sandbox_profile");

	read_number(&r->policy->base, F_PROFILE, PROFILE_WORKTREE, reader_at(r, root));
	if (v)
		read_field(r, &r->policy->base, F_PROFILE, v);
}

/* ---- files -------------------------------------------------------------- */

static int take_field(struct reader *r, struct str text, struct place at, void *id)
{
	return read_field_text(r, &r->policy->base, *(enum field_id *)id, text, at);
}

static void read_roots(struct reader *r, const struct value *list, const char *key,
		       enum field_id id)
{
	if (list)
		read_strings(r, list, key, take_field, &id);
}

/* A read-only root is never written, so nothing in it can be a writable one. */
static void read_only_roots(struct reader *r, const struct value *root)
{
	struct section *s = &r->policy->base;
	const struct field_value *write = &s->f[F_FILES_WRITE], *read = &s->f[F_FILES_READ];
	size_t first = read->n;

	read_roots(r, harn_list(root, "read_only_roots"), "read_only_roots", F_FILES_READ);
	for (size_t i = 0; i < write->n; i++)
		for (size_t k = first; k < read->n; k++)
			if (!str_eq(write->items[i].text, read->items[k].text) &&
			    path_within(write->items[i].text.s, read->items[k].text.s))
				diag_error(r->diags, write->items[i].at,
					   "'%s' lies in the read-only root '%s', which is never "
					   "written; remove one",
					   write->items[i].text.s, read->items[k].text.s);
}

/* A process's read root inside a writable one says nothing new, unlike a
 * read-only root there. */
static int take_process_read(struct reader *r, struct str text, struct place at, void *arg UNUSED)
{
	struct section *s = &r->policy->base;
	struct field_value *read = &s->f[F_FILES_READ];

	if (read_field_text(r, s, F_FILES_READ, text, at) < 0)
		return -1;
	if (harn_holds(&s->f[F_FILES_WRITE], read->items[read->n - 1].text.s))
		read->n--;
	return 0;
}

static int take_deny(struct reader *r, struct str text, struct place at, void *arg UNUSED)
{
	if (memchr(text.s, '*', text.n))
		return diag_error(
			r->diags, at,
			"process_sandbox.read_deny_roots: '%.*s' holds a '*'; write a path",
			STR_FMT(text));
	return read_field_text(r, &r->policy->base, F_FILES_DENY, text, at);
}

static void read_workspace(struct reader *r, const struct value *root, bool write)
{
	const struct value *roots = harn_list(root, "workspace_roots");
	const struct value *at = harn_get(root, "workspace_roots");
	struct section *s = &r->policy->base;
	enum field_id id = write ? F_FILES_WRITE : F_FILES_READ;
	struct place place = reader_at(r, at ? at : root);

	read_list_start(s, F_FILES_WRITE, place);
	read_list_start(s, F_FILES_READ, place);
	if (!harn_has_workspace(root))
		return;
	read_roots(r, roots, "workspace_roots", id);
	if (!roots && !harn_flag(root, "workspace_roots_restricted"))
		read_field_text(r, s, id, STR("."), place);
}

/* May the processes write where Harn itself may?  Only a written `false` says
 * no: releases before the key had no such difference. */
static bool children_write(const struct value *process)
{
	const struct value *v = harn_get(process, "allow_child_workspace_write");

	return !v || v->boolean;
}

static void read_process_writes(struct reader *r, const struct value *process, bool write)
{
	const struct value *roots = harn_list(process, "write_roots");
	struct section *s = &r->policy->base;
	const struct field_value *workspace = &s->f[F_FILES_READ];

	if (roots && !write) {
		diag_warn(r->diags, reader_at(r, roots),
			  "process_sandbox.write_roots has no effect: the policy does not allow "
			  "workspace writes");
		return;
	}
	read_roots(r, roots, "process_sandbox.write_roots", F_FILES_WRITE);
	for (size_t i = 0; !children_write(process) && i < workspace->n; i++)
		if (harn_holds(&s->f[F_FILES_WRITE], workspace->items[i].text.s))
			diag_error(
				r->diags, workspace->items[i].at,
				"process_sandbox: write_roots holds the workspace root '%s', which "
				"allow_child_workspace_write closes; remove one",
				workspace->items[i].text.s);
}

static void read_files(struct reader *r, const struct value *root)
{
	const struct value *process = harn_get(root, "process_sandbox");
	const struct value *reads = harn_list(process, "read_roots");
	const struct value *deny = harn_list(process, "read_deny_roots");
	const struct value *presets = harn_get(process, "presets");
	struct section *s = &r->policy->base;

	read_workspace(r, root, may_write(root) && children_write(process));
	read_process_writes(r, process, may_write(root));
	read_only_roots(r, root);
	if (reads)
		read_strings(r, reads, "process_sandbox.read_roots", take_process_read, NULL);
	/* Where something may be written, no list of what may be read besides is
	 * no opinion; where nothing may, it is an empty list. */
	if (s->f[F_FILES_WRITE].n && !s->f[F_FILES_READ].n)
		s->f[F_FILES_READ] = (struct field_value){ 0 };
	if (deny)
		read_strings(r, deny, "process_sandbox.read_deny_roots", take_deny, NULL);
	if (presets)
		read_field(r, s, F_FILES_PRESETS, presets);
}

/* ---- the whole ---------------------------------------------------------- */

/* A refusal later on says '*', which nobody wrote. */
static void block_all(struct reader *r, const struct value *root)
{
	bool by_level = harn_get_level(root) < HARN_PROCESS_EXEC;
	const char *key = by_level ? "side_effect_level" : "capabilities";
	const struct value *v = harn_get(root, key);
	struct place at = reader_at(r, v ? v : root);

	diag_warn(r->diags, at, "%s lets no process start: every command is blocked; %s", key,
		  by_level ? "write \"process_exec\" or \"network\""
			   : "add \"process\": [\"exec\"]");
	read_field_text(r, &r->policy->base, F_COMMANDS_BLOCK, STR("*"), at);
}

static void read_levels(struct reader *r, const struct value *root)
{
	const struct value *level = harn_get(root, "side_effect_level");
	struct section *s = &r->policy->base;

	if (!may_start(root))
		block_all(r, root);
	if (harn_get_level(root) >= HARN_NETWORK)
		return;
	read_number(s, F_NETWORK_MODE, NETWORK_NONE, reader_at(r, level ? level : root));
	s->f[F_NETWORK_ALLOW] = (struct field_value){ 0 };
}

static void harn_read(struct reader *r, const struct value *root)
{
	size_t before = r->diags->n_errors;

	if (!read_expect(r, root, VALUE_TABLE, "the policy"))
		return;
	if (r->cwd)
		r->base_dir = r->cwd;
	harn_check(r, root);
	harn_read_rest(r, root);
	if (r->diags->n_errors != before)
		return; /* what follows relies on the shape */
	refuse_unheld(r, root);
	check_capabilities(r, root);
	read_profile(r, root);
	read_files(r, root);
	read_levels(r, root);
	read_handler(r);
}

const struct dialect dialect_harn = {
	.name = "harn",
	.about = "a CapabilityPolicy in JSON",
	.style = STYLE_HARN,
	.parse = json_parse,
	.read = harn_read,
	.intersect = harn_intersect,
};
