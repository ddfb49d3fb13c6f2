/* The result of Harn's intersect as JSON; see harn_intersect.c.
 *
 * A list that nobody bounds is printed empty, but for workspace_roots, which
 * appears only where a side has it.
 */
#include "policy/dialect/harn_meet_priv.h"

static void print_value(struct json_out *out, const struct value *v)
{
	switch (v->kind) {
	case VALUE_BOOL:
		json_put_bool(out, v->boolean);
		return;
	case VALUE_INT:
		json_put_int(out, v->integer);
		return;
	case VALUE_FLOAT:
		json_put_real(out, v->real);
		return;
	case VALUE_STRING:
		json_put_str(out, v->string);
		return;
	case VALUE_ARRAY:
		json_open(out, '[');
		for (size_t i = 0; i < v->array.n; i++)
			print_value(out, &v->array.items[i]);
		json_close(out, ']');
		return;
	case VALUE_TABLE:
		json_open(out, '{');
		for (size_t i = 0; i < v->table.n; i++) {
			json_key_str(out, v->table.members[i].key);
			print_value(out, &v->table.members[i].value);
		}
		json_close(out, '}');
		return;
	default:
		json_put_null(out);
	}
}

static void print_flag(struct json_out *out, const char *key, bool on)
{
	if (!on)
		return;
	json_key(out, key);
	json_put_bool(out, true);
}

static void print_profile(const struct harn_meet *m, struct json_out *out)
{
	const struct harn_side *const sides[] = { &m->c, &m->q };
	int strictest = PROFILE_UNRESTRICTED;

	for (int i = 0; i < 2; i++) {
		const struct value *v = harn_get(sides[i]->root, "sandbox_profile");
		int profile = PROFILE_WORKTREE;

		for (int k = 0; v && k < N_PROFILES; k++)
			if (str_is(v->string, field_words(KIND_PROFILE)[k]))
				profile = k;
		strictest = MAX(strictest, profile);
	}
	json_key(out, "sandbox_profile");
	json_put_text(out, field_words(KIND_PROFILE)[strictest]);
}

/* The list that holds: the request's where it has one, within the ceiling by
 * now.  A restricted empty one on either side leaves nothing. */
static const struct value *meet_tools(const struct harn_meet *m)
{
	const struct value *c = harn_list(m->c.root, "tools"), *q = harn_list(m->q.root, "tools");

	if (!harn_bounds_tools(&m->c) || harn_bounds_tools(&m->q))
		return q;
	return c;
}

static void print_annotations(const struct harn_meet *m, const struct value *tools,
			      struct json_out *out)
{
	const struct value *c = harn_get(m->c.root, "tool_annotations");
	const struct value *q = harn_get(m->q.root, "tool_annotations");

	json_key(out, "tool_annotations");
	json_open(out, '{');
	for (size_t i = 0; i < n_strings(tools); i++) {
		struct str tool = tools->array.items[i].string;
		const struct member *note = harn_find_member(q, tool);
		size_t first = 0;

		while (!str_eq(tools->array.items[first].string, tool))
			first++;
		if (!note)
			note = harn_find_member(c, tool);
		if (!note || first != i)
			continue;
		json_key_str(out, tool);
		print_value(out, &note->value);
	}
	json_close(out, '}');
}

static void print_constraints(const struct harn_meet *m, struct json_out *out)
{
	const struct value *const lists[] = { harn_list(m->c.root, "tool_arg_constraints"),
					      harn_list(m->q.root, "tool_arg_constraints") };

	json_key(out, "tool_arg_constraints");
	json_open(out, '[');
	for (int i = 0; i < 2; i++)
		for (size_t k = 0; k < n_strings(lists[i]); k++)
			print_value(out, &lists[i]->array.items[k]);
	json_close(out, ']');
}

static void print_tools(const struct harn_meet *m, struct json_out *out)
{
	const struct value *tools = meet_tools(m);

	json_key(out, "tools");
	json_open(out, '[');
	for (size_t i = 0; i < n_strings(tools); i++)
		json_put_str(out, tools->array.items[i].string);
	json_close(out, ']');
	print_flag(out, "tools_restricted",
		   !tools && (harn_bounds_tools(&m->c) || harn_bounds_tools(&m->q)));
	print_constraints(m, out);
	print_annotations(m, tools, out);
}

static void print_capabilities(const struct harn_meet *m, struct json_out *out)
{
	bool c = harn_has_capabilities(m->c.root), q = harn_has_capabilities(m->q.root);
	const struct value *held = harn_get((!c || q ? &m->q : &m->c)->root, "capabilities");

	json_key(out, "capabilities");
	json_open(out, '{');
	for (size_t i = 0; held && i < held->table.n; i++) {
		const struct value *operations = harn_as_list(&held->table.members[i].value);

		json_key_str(out, held->table.members[i].key);
		json_open(out, '[');
		for (size_t k = 0; k < n_strings(operations); k++)
			json_put_str(out, operations->array.items[k].string);
		json_close(out, ']');
	}
	json_close(out, '}');
	print_flag(out, "capabilities_restricted", (c || q) && !(held && held->table.n));
}

static void print_level(const struct harn_meet *m, struct json_out *out)
{
	enum harn_level c = harn_get_level(m->c.root), q = harn_get_level(m->q.root);

	json_key(out, "side_effect_level");
	json_put_text(out, harn_level_words[MIN(c, q)]);
}

static void print_recursion(const struct harn_meet *m, struct json_out *out)
{
	const struct value *c = harn_get(m->c.root, "recursion_limit");
	const struct value *q = harn_get(m->q.root, "recursion_limit");

	json_key(out, "recursion_limit");
	if (c && q)
		json_put_int(out, MIN(c->integer, q->integer));
	else if (c || q)
		json_put_int(out, (c ? c : q)->integer);
	else
		json_put_null(out);
}

static void print_roots(const struct harn_meet *m, enum harn_roots id, struct json_out *out)
{
	json_key(out, harn_root_keys[id].key);
	json_open(out, '[');
	for (size_t i = 0; i < m->roots[id].n; i++)
		json_put_str(out, m->roots[id].items[i].text);
	json_close(out, ']');
}

/* Does null stand for the four defaults here? */
static bool has_preset(const struct value *presets, struct str word)
{
	return !presets || harn_has_string(presets, word);
}

static void print_presets(const struct harn_meet *m, struct json_out *out)
{
	const struct value *c = harn_get(m->c.process, "presets");
	const struct value *q = harn_get(m->q.process, "presets");
	const char *const *words = field_words(KIND_PRESETS);

	json_key(out, "presets");
	if (!c && !q) {
		json_put_null(out);
		return;
	}
	json_open(out, '[');
	for (size_t i = 0; c && i < c->array.n; i++)
		if (has_preset(q, c->array.items[i].string))
			json_put_str(out, c->array.items[i].string);
	for (; !c && *words; words++)
		if (has_preset(q, str_from(*words)))
			json_put_text(out, *words);
	json_close(out, ']');
}

/* Flags of a process: granted only where both grant them. */
static void print_both(const struct harn_meet *m, const char *key, struct json_out *out)
{
	if (!harn_get(m->c.process, key) && !harn_get(m->q.process, key))
		return;
	json_key(out, key);
	json_put_bool(out, harn_flag(m->c.process, key) && harn_flag(m->q.process, key));
}

/* May a process write to the workspace?  Either can say no; a side that says
 * nothing leaves it to the capabilities. */
static void print_child_write(const struct harn_meet *m, struct json_out *out)
{
	static const char key[] = "allow_child_workspace_write";
	const struct value *c = harn_get(m->c.process, key), *q = harn_get(m->q.process, key);
	bool refused = (c && !c->boolean) || (q && !q->boolean);

	if (!refused && !(c && q))
		return;
	json_key(out, key);
	json_put_bool(out, !refused);
}

static void print_process(const struct harn_meet *m, struct json_out *out)
{
	static const char *const of_ceiling[] = { "allow_tcp_loopback", "netns_launcher_path",
						  "process_network_proxy", NULL };

	json_key(out, "process_sandbox");
	json_open(out, '{');
	print_presets(m, out);
	print_roots(m, ROOTS_PROCESS_READ, out);
	print_roots(m, ROOTS_PROCESS_WRITE, out);
	if (m->roots[ROOTS_DENY].n)
		print_roots(m, ROOTS_DENY, out);
	if (m->roots[ROOTS_SOCKETS].n)
		print_roots(m, ROOTS_SOCKETS, out);
	for (size_t i = 0; of_ceiling[i]; i++) {
		const struct value *v = harn_get(m->c.process, of_ceiling[i]);

		if (!v)
			continue;
		json_key(out, of_ceiling[i]);
		print_value(out, v);
	}
	print_both(m, "allow_process_self_introspection", out);
	print_child_write(m, out);
	json_close(out, '}');
}

void harn_print_result(const struct harn_meet *m, struct json_out *out)
{
	cleanup_diags struct diags diags = DIAGS;

	json_open(out, '{');
	print_profile(m, out);
	print_level(m, out);
	print_tools(m, out);
	print_capabilities(m, out);
	if (harn_get(m->c.root, "workspace_roots") || harn_get(m->q.root, "workspace_roots") ||
	    m->no_workspace)
		print_roots(m, ROOTS_WORKSPACE, out);
	print_flag(out, "workspace_roots_restricted", m->no_workspace);
	print_roots(m, ROOTS_READ_ONLY, out);
	print_recursion(m, out);
	print_process(m, out);
	/* What two such texts have in common can be said in such a text. */
	if (harn_write_rest(&m->rest.base, out, &diags) < 0)
		BUG("a result that cannot be written");
	json_close(out, '}');
}
