/* intersect(ceiling, requested) by Harn's own rules.
 *
 * What asks for more than the ceiling among tools, operations and read-only
 * roots is refused; everything else is narrowed.  Stricter than upstream:
 *
 *  - an empty operation list grants nothing;
 *  - process roots, sockets and read-only roots add to what a policy grants, so
 *    a ceiling without them means none (a ceiling that is silent altogether
 *    leaves read-only roots to the request);
 *  - roots are compared after resolving links and `..`, and what is read-only
 *    on either side is not writable in the result;
 *  - an empty list of roots left by narrowing is marked by
 *    workspace_roots_restricted, since a bare [] is the execution root.
 */
#include "policy/dialect/harn_meet_priv.h"

#include <limits.h>
#include <unistd.h>

#include "base/path.h"
#include "policy/intersect.h"

const struct harn_root_key harn_root_keys[] = {
	[ROOTS_WORKSPACE] = { "workspace_roots", false },
	[ROOTS_READ_ONLY] = { "read_only_roots", false },
	[ROOTS_PROCESS_READ] = { "read_roots", true },
	[ROOTS_PROCESS_WRITE] = { "write_roots", true },
	[ROOTS_SOCKETS] = { "unix_socket_roots", true },
	[ROOTS_DENY] = { "read_deny_roots", true },
};
static_assert(ARRAY_SIZE(harn_root_keys) == N_HARN_ROOTS, "a list of roots without a key");

bool harn_has_string(const struct value *list, struct str text)
{
	for (size_t i = 0; i < n_strings(list); i++)
		if (str_eq(list->array.items[i].string, text))
			return true;
	return false;
}

bool harn_bounds_tools(const struct harn_side *side)
{
	return harn_list(side->root, "tools") || harn_flag(side->root, "tools_restricted");
}

const struct value *harn_as_list(const struct value *v)
{
	return v && v->kind == VALUE_ARRAY ? v : NULL;
}

const struct member *harn_find_member(const struct value *table, struct str key)
{
	for (size_t i = 0; table && i < table->table.n; i++)
		if (str_eq(table->table.members[i].key, key))
			return &table->table.members[i];
	return NULL;
}

/* ---- reading a side ----------------------------------------------------- */

/* A list that is being read as if it were that field. */
struct reading {
	enum field_id id;
	struct section section;
};

static int take_root(struct reader *r, struct str text, struct place at, void *arg)
{
	struct reading *list = arg;

	return read_field_text(r, &list->section, list->id, text, at);
}

static void read_root_lists(struct reader *r, struct harn_side *side)
{
	for (int i = 0; i < N_HARN_ROOTS; i++) {
		const struct value *table =
			harn_root_keys[i].of_process ? side->process : side->root;
		const struct value *v = harn_list(table, harn_root_keys[i].key);
		struct reading list = { .id = i == ROOTS_DENY ? F_FILES_DENY : F_FILES_READ };

		if (v)
			read_strings(r, v, harn_root_keys[i].key, take_root, &list);
		side->roots[i] = list.section.f[list.id];
	}
}

/* The first problem that was found, as the error. */
static int first_problem(const struct harn_side *side, const struct diags *diags,
			 struct cordon_err *err)
{
	for (size_t i = 0; i < diags->n; i++)
		if (!diags->items[i].is_warning)
			return err_at(err, diags->items[i].place.line, diags->items[i].place.col,
				      "%s: %s", side->name, diags->items[i].text);
	return err_nomem(err);
}

static int read_side(struct harn_meet *m, struct harn_side *side)
{
	cleanup_diags struct diags diags = DIAGS;
	struct reader r = { .policy = &side->rest,
			    .diags = &diags,
			    .file = side->name,
			    .base_dir = m->cwd,
			    .cwd = m->cwd };

	policy_init(&side->rest, m->arena);
	side->process = harn_get(side->root, "process_sandbox");
	if (read_expect(&r, side->root, VALUE_TABLE, "the policy")) {
		harn_check(&r, side->root);
		harn_read_rest(&r, side->root);
	}
	if (!diags.n_errors)
		read_root_lists(&r, side);
	if (diags.n_errors || read_finish(&r) < 0)
		return first_problem(side, &diags, m->err);
	return 0;
}

/* ---- tools and capabilities --------------------------------------------- */

/* A ceiling's entry may be a pattern. */
static bool has_tool(const struct value *ceiling, struct str tool)
{
	for (size_t i = 0; i < n_strings(ceiling); i++)
		if (str_glob(ceiling->array.items[i].string, tool))
			return true;
	return false;
}

static int check_tools(struct harn_meet *m)
{
	const struct value *ceiling = harn_list(m->c.root, "tools");
	const struct value *tools = harn_list(m->q.root, "tools");
	cleanup_buf struct buf excess = BUF(MAX_OUTPUT_BYTES);

	for (size_t i = 0; harn_bounds_tools(&m->c) && i < n_strings(tools); i++)
		if (!has_tool(ceiling, tools->array.items[i].string))
			buf_printf(&excess, "%s%.*s", excess.n ? ", " : "",
				   STR_FMT(tools->array.items[i].string));
	if (!excess.n)
		return 0;
	return err_set(m->err, CORDON_E_POLICY, "requested tools exceed host ceiling: %s",
		       buf_text(&excess));
}

/* What `asked` has beyond `granted`, joined by commas. */
static void excess_operations(const struct value *granted, const struct value *asked,
			      struct buf *out)
{
	for (size_t i = 0; i < n_strings(asked); i++)
		if (!harn_has_string(granted, asked->array.items[i].string))
			buf_printf(out, "%s%.*s", out->n ? "," : "",
				   STR_FMT(asked->array.items[i].string));
}

static int check_capability(struct harn_meet *m, const struct value *ceiling,
			    const struct member *asked)
{
	const struct member *granted = harn_find_member(ceiling, asked->key);
	cleanup_buf struct buf excess = BUF(MAX_OUTPUT_BYTES);

	if (!granted)
		return err_set(m->err, CORDON_E_POLICY,
			       "requested capability exceeds host ceiling: %.*s",
			       STR_FMT(asked->key));
	excess_operations(harn_as_list(&granted->value), harn_as_list(&asked->value), &excess);
	if (!excess.n)
		return 0;
	return err_set(m->err, CORDON_E_POLICY,
		       "requested capability operations exceed host ceiling: %.*s.%s",
		       STR_FMT(asked->key), buf_text(&excess));
}

/* The first one in the order of names is reported. */
static int check_capabilities(struct harn_meet *m)
{
	const struct value *ceiling = harn_get(m->c.root, "capabilities");
	const struct value *asked = harn_get(m->q.root, "capabilities");
	const struct member *first = NULL;

	if (!harn_has_capabilities(m->c.root))
		return 0;
	for (size_t i = 0; asked && i < asked->table.n; i++) {
		const struct member *one = &asked->table.members[i];

		if (check_capability(m, ceiling, one) < 0 &&
		    (!first || str_cmp(one->key, first->key) < 0))
			first = one;
	}
	return first ? check_capability(m, ceiling, first) : 0;
}

/* ---- roots -------------------------------------------------------------- */

static int add_root(struct harn_meet *m, struct field_value *list, const struct item *root)
{
	struct item *slot;

	for (size_t i = 0; i < list->n; i++)
		if (str_eq(list->items[i].text, root->text))
			return 0;
	slot = field_value_add(list, m->arena);
	if (!slot)
		return err_nomem(m->err);
	*slot = *root;
	return 0;
}

static int add_roots(struct harn_meet *m, struct field_value *list, const struct field_value *roots)
{
	for (size_t i = 0; i < roots->n; i++)
		if (add_root(m, list, &roots->items[i]) < 0)
			return -1;
	return 0;
}

/* What is asked and granted stays; of what is asked too widely, what is
 * granted. */
static int common_roots(struct harn_meet *m, enum harn_roots id)
{
	const struct field_value *c = &m->c.roots[id], *q = &m->q.roots[id];

	for (size_t i = 0; i < q->n; i++) {
		bool granted = harn_holds(c, q->items[i].text.s);

		if (granted && add_root(m, &m->roots[id], &q->items[i]) < 0)
			return -1;
		for (size_t k = 0; !granted && k < c->n; k++)
			if (path_within(c->items[k].text.s, q->items[i].text.s) &&
			    add_root(m, &m->roots[id], &c->items[k]) < 0)
				return -1;
	}
	return 0;
}

/* Roots that add to what is granted: none in the ceiling means none. */
static int meet_additions(struct harn_meet *m, enum harn_roots id)
{
	if (!m->c.roots[id].n)
		return 0;
	return m->q.roots[id].n ? common_roots(m, id)
				: add_roots(m, &m->roots[id], &m->c.roots[id]);
}

static bool bounds_workspace(const struct harn_side *side)
{
	return side->roots[ROOTS_WORKSPACE].n ||
	       harn_flag(side->root, "workspace_roots_restricted");
}

static bool is_silent(const struct harn_side *side)
{
	for (size_t i = 0; i < side->root->table.n; i++) {
		const struct value *v = &side->root->table.members[i].value;

		if (v->kind != VALUE_NULL && !(v->kind == VALUE_ARRAY && !v->array.n) &&
		    !(v->kind == VALUE_TABLE && !v->table.n))
			return false;
	}
	return true;
}

static int meet_read_only(struct harn_meet *m)
{
	const struct field_value *c = &m->c.roots[ROOTS_READ_ONLY];
	const struct field_value *q = &m->q.roots[ROOTS_READ_ONLY];

	if (c->n)
		return meet_additions(m, ROOTS_READ_ONLY);
	for (size_t i = 0; !is_silent(&m->c) && i < q->n; i++)
		if (!harn_has_workspace(m->c.root) ||
		    !harn_holds(&m->c.roots[ROOTS_WORKSPACE], q->items[i].text.s))
			return err_set(m->err, CORDON_E_POLICY,
				       "read_only_roots exceed the ceiling: %s",
				       q->items[i].text.s);
	return add_roots(m, &m->roots[ROOTS_READ_ONLY], q);
}

/* A root that is read-only on either side, or lies in one that is, is not
 * writable. */
static void drop_read_only(struct harn_meet *m, enum harn_roots id)
{
	struct field_value *list = &m->roots[id];
	size_t kept = 0;

	for (size_t i = 0; i < list->n; i++)
		if (!harn_holds(&m->c.roots[ROOTS_READ_ONLY], list->items[i].text.s) &&
		    !harn_holds(&m->q.roots[ROOTS_READ_ONLY], list->items[i].text.s))
			list->items[kept++] = list->items[i];
	list->n = kept;
}

/* May `path` be written by the result?  Roots that nobody bounds are the
 * execution root. */
static bool is_writable(const struct harn_meet *m, const char *path)
{
	bool unbounded = !m->roots[ROOTS_WORKSPACE].n && !m->no_workspace;

	return harn_holds(&m->roots[ROOTS_WORKSPACE], path) ||
	       harn_holds(&m->roots[ROOTS_PROCESS_WRITE], path) ||
	       (unbounded && path_within(path, m->cwd));
}

/* A read-only root inside a writable one takes writing away: it stays, though
 * the other side has none there. */
static int keep_protection(struct harn_meet *m, const struct harn_side *side)
{
	const struct field_value *list = &side->roots[ROOTS_READ_ONLY];

	if (!harn_has_workspace(m->c.root) || !harn_has_workspace(m->q.root))
		return 0; /* nothing can be written */
	for (size_t i = 0; i < list->n; i++)
		if (is_writable(m, list->items[i].text.s) &&
		    add_root(m, &m->roots[ROOTS_READ_ONLY], &list->items[i]) < 0)
			return -1;
	return 0;
}

static int meet_workspace(struct harn_meet *m)
{
	struct field_value *out = &m->roots[ROOTS_WORKSPACE];
	bool c = bounds_workspace(&m->c), q = bounds_workspace(&m->q);

	if (c && q ? common_roots(m, ROOTS_WORKSPACE) < 0
		   : add_roots(m, out, &(c ? &m->c : &m->q)->roots[ROOTS_WORKSPACE]) < 0)
		return -1;
	drop_read_only(m, ROOTS_WORKSPACE);
	m->no_workspace = (c || q) && !out->n;
	return 0;
}

static int cmp_roots(const void *a, const void *b)
{
	return str_cmp(((const struct item *)a)->text, ((const struct item *)b)->text);
}

static int meet_roots(struct harn_meet *m)
{
	if (meet_read_only(m) < 0 || meet_workspace(m) < 0 ||
	    meet_additions(m, ROOTS_PROCESS_READ) < 0 ||
	    meet_additions(m, ROOTS_PROCESS_WRITE) < 0 || meet_additions(m, ROOTS_SOCKETS) < 0 ||
	    add_roots(m, &m->roots[ROOTS_DENY], &m->c.roots[ROOTS_DENY]) < 0 ||
	    add_roots(m, &m->roots[ROOTS_DENY], &m->q.roots[ROOTS_DENY]) < 0)
		return -1;
	drop_read_only(m, ROOTS_PROCESS_WRITE);
	if (keep_protection(m, &m->c) < 0 || keep_protection(m, &m->q) < 0)
		return -1;
	for (int i = 0; i < N_HARN_ROOTS; i++) {
		if (m->roots[i].n)
			qsort(m->roots[i].items, m->roots[i].n, sizeof(*m->roots[i].items),
			      cmp_roots);
		for (size_t k = 0; k < m->roots[i].n; k++)
			if (!str_is_utf8(m->roots[i].items[k].text))
				return err_set(
					m->err, CORDON_E_POLICY,
					"%s: a path that is not UTF-8 cannot be written as JSON",
					harn_root_keys[i].key);
	}
	return 0;
}

/* ---- network, limits, environment --------------------------------------- */

static int meet_rest(struct harn_meet *m)
{
	return policy_intersect(&m->c.rest, &m->q.rest, &m->rest, NULL, m->err);
}

int harn_intersect(const struct value *ceiling, const struct value *requested, struct json_out *out,
		   struct cordon_err *err)
{
	cleanup_arena struct arena arena = ARENA(MAX_ARENA_BYTES);
	char cwd[PATH_MAX];
	struct harn_meet m = { .arena = &arena, .cwd = cwd, .err = err };

	m.c.name = "ceiling";
	m.c.root = ceiling;
	m.q.name = "requested";
	m.q.root = requested;
	if (!getcwd(cwd, sizeof(cwd)))
		return err_sys(err, CORDON_E_SETUP, "cannot tell the working directory");
	if (read_side(&m, &m.c) < 0 || read_side(&m, &m.q) < 0 || check_tools(&m) < 0 ||
	    check_capabilities(&m) < 0 || meet_roots(&m) < 0 || meet_rest(&m) < 0)
		return -1;
	harn_print_result(&m, out);
	return 0;
}
