/* intersect(ceiling, requested) by Harn's own rules: each row of harn.def says how the two values
 * of its key become one.
 *
 * A request that exceeds the ceiling in tools, operations or read-only roots is refused; every
 * other value is narrowed.  Stricter than upstream:
 *
 *  - an empty operation list grants nothing;
 *  - process roots, sockets and read-only roots add to what a policy grants, so
 *    a ceiling without them means none (a ceiling that sets nothing at all
 *    leaves read-only roots to the request);
 *  - roots are compared after resolving symlinks and `..`, and a path that is read-only
 *    on either side is not writable in the result;
 *  - an empty list of roots left by narrowing is marked by
 *    workspace_roots_restricted, since a bare [] is the execution root.
 */
#include "policy/dialect/harn_priv.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/path.h"
#include "policy/intersect.h"

/* One of the two policies. */
struct harn_side {
	const char *name; /* for messages */
	const struct value *root;
	const struct value *v[N_HARN_KEYS]; /* NULL: not set; roots are resolved */
	struct policy rest;		    /* network, limits and environment */
};

struct harn_meet {
	struct arena *arena;
	const char *cwd; /* the execution root */
	struct harn_side c, q; /* ceiling and request */
	const struct value *out[N_HARN_KEYS]; /* NULL: not set */
	struct policy rest;
	struct cordon_err *err;
};

static const struct value yes = { .kind = VALUE_BOOL, .boolean = true };
static const struct value no = { .kind = VALUE_BOOL };
static const struct value empty_list = { .kind = VALUE_ARRAY };
static const struct value empty_table = { .kind = VALUE_TABLE };

/* ---- values ------------------------------------------------------------- */

static size_t count(const struct value *v)
{
	return !v			? 0
	       : v->kind == VALUE_ARRAY ? v->array.n
	       : v->kind == VALUE_TABLE ? v->table.n
					: 0;
}

static bool is_true(const struct value *v)
{
	return v && v->kind == VALUE_BOOL && v->boolean;
}

static bool has_string(const struct value *list, struct str text)
{
	for (size_t i = 0; i < count(list); i++)
		if (list->array.items[i].kind == VALUE_STRING &&
		    str_eq(list->array.items[i].string, text))
			return true;
	return false;
}

/* Is one of the roots `path`, or above it? */
static bool holds(const struct value *roots, struct str path)
{
	for (size_t i = 0; i < count(roots); i++)
		if (path_within(path.s, roots->array.items[i].string.s))
			return true;
	return false;
}

static const struct member *find_member(const struct value *table, struct str key)
{
	for (size_t i = 0; i < count(table); i++)
		if (str_eq(table->table.members[i].key, key))
			return &table->table.members[i];
	return NULL;
}

/* An empty list as the result of key `k`, with room for the entries of both sides and `more`. */
static struct value *new_list(struct harn_meet *m, enum harn_key k, size_t more)
{
	size_t n = count(m->c.v[k]) + count(m->q.v[k]) + more;
	struct value *list = arena_new(m->arena, 1, sizeof(*list));

	if (!list || !(list->array.items = arena_new(m->arena, n + 1, sizeof(*list)))) {
		err_nomem(m->err);
		return NULL;
	}
	list->kind = VALUE_ARRAY;
	m->out[k] = list;
	return list;
}

/* A string that is in the list already is not added again. */
static void add(struct value *list, const struct value *item)
{
	if (item->kind != VALUE_STRING || !has_string(list, item->string))
		list->array.items[list->array.n++] = *item;
}

static void add_all(struct value *list, const struct value *items)
{
	for (size_t i = 0; i < count(items); i++)
		add(list, &items->array.items[i]);
}

/* Does a side limit key `k`: by a list that has entries, or by K_restricted in the next row? */
static bool bounds(const struct harn_side *side, enum harn_key k)
{
	return count(side->v[k]) || is_true(side->v[k + 1]);
}

/* A side that does not limit key `k` leaves it to the other. */
static const struct value *requested_if_bounded(const struct harn_meet *m, enum harn_key k)
{
	return !bounds(&m->c, k) || bounds(&m->q, k) ? m->q.v[k] : m->c.v[k];
}

static int exceeds(struct harn_meet *m, enum harn_key k, const char *what)
{
	return err_set(m->err, CORDON_E_POLICY, "%s: %s", harn_rows[k].excess, what);
}

/* ---- words, numbers, flags ---------------------------------------------- */

static int meet_nothing(struct harn_meet *m UNUSED, enum harn_key k UNUSED)
{
	return 0;
}

static int meet_ceiling(struct harn_meet *m, enum harn_key k)
{
	m->out[k] = m->c.v[k];
	return 0;
}

static int meet_both(struct harn_meet *m, enum harn_key k)
{
	if (m->c.v[k] || m->q.v[k])
		m->out[k] = is_true(m->c.v[k]) && is_true(m->q.v[k]) ? &yes : &no;
	return 0;
}

/* A side that does not set it leaves it to the capabilities. */
static int meet_either_refuses(struct harn_meet *m, enum harn_key k)
{
	const struct value *c = m->c.v[k], *q = m->q.v[k];

	if ((c && !is_true(c)) || (q && !is_true(q)))
		m->out[k] = &no;
	else if (c && q)
		m->out[k] = &yes;
	return 0;
}

static int meet_smallest(struct harn_meet *m, enum harn_key k)
{
	const struct value *c = m->c.v[k], *q = m->q.v[k];

	m->out[k] = !q || (c && c->integer < q->integer) ? c : q;
	return 0;
}

static size_t profile_rank(const struct value *v)
{
	size_t i = 0;

	while (field_words(KIND_PROFILE)[i] && !str_is(v->string, field_words(KIND_PROFILE)[i]))
		i++;
	return i;
}

static int meet_strictest_profile(struct harn_meet *m, enum harn_key k)
{
	static const struct value worktree = { .kind = VALUE_STRING,
					       .string = { "worktree", sizeof("worktree") - 1 } };
	const struct value *c = m->c.v[k] ? m->c.v[k] : &worktree;
	const struct value *q = m->q.v[k] ? m->q.v[k] : &worktree;

	m->out[k] = profile_rank(c) > profile_rank(q) ? c : q;
	return 0;
}

static int meet_lowest_level(struct harn_meet *m, enum harn_key k)
{
	bool by_ceiling = harn_get_level(m->c.root) < harn_get_level(m->q.root);

	m->out[k] = (by_ceiling ? &m->c : &m->q)->v[k];
	return 0;
}

/* A list that no preset is left in is empty; null would stand for all of them. */
static int meet_presets(struct harn_meet *m, enum harn_key k)
{
	const struct value *c = m->c.v[k], *q = m->q.v[k];
	struct value *list;

	if (!c && !q)
		return 0;
	list = new_list(m, k, N_FILE_PRESETS);
	if (!list)
		return -1;
	for (size_t i = 0; i < count(c); i++)
		if (!q || has_string(q, c->array.items[i].string))
			add(list, &c->array.items[i]);
	for (const char *const *word = field_words(KIND_PRESETS); !c && *word; word++)
		if (has_string(q, str_from(*word)))
			add(list, &(struct value){ .kind = VALUE_STRING,
						   .string = str_from(*word) });
	return 0;
}

/* ---- tools and capabilities --------------------------------------------- */

/* A ceiling's entry may be a pattern. */
static bool has_tool(const struct value *ceiling, struct str tool)
{
	for (size_t i = 0; i < count(ceiling); i++)
		if (str_glob(ceiling->array.items[i].string, tool))
			return true;
	return false;
}

static int meet_tools(struct harn_meet *m, enum harn_key k)
{
	const struct value *asked = m->q.v[k], *tools = requested_if_bounded(m, k);
	cleanup_buf struct buf excess = BUF(MAX_OUTPUT_BYTES);

	for (size_t i = 0; bounds(&m->c, k) && i < count(asked); i++)
		if (!has_tool(m->c.v[k], asked->array.items[i].string))
			buf_printf(&excess, "%s%.*s", excess.n ? ", " : "",
				   STR_FMT(asked->array.items[i].string));
	if (excess.n)
		return exceeds(m, k, buf_text(&excess));
	m->out[k] = tools ? tools : &empty_list;
	return 0;
}

/* For the row after the list that it is about. */
static int meet_restricted(struct harn_meet *m, enum harn_key k)
{
	if ((bounds(&m->c, k - 1) || bounds(&m->q, k - 1)) && !count(m->out[k - 1]))
		m->out[k] = &yes;
	return 0;
}

/* Those of the tools that are left; the request's note wins. */
static int meet_annotations(struct harn_meet *m, enum harn_key k)
{
	const struct value *tools = m->out[K_TOOLS];
	struct value *notes = arena_new(m->arena, 1, sizeof(*notes));

	if (!notes || !(notes->table.members = arena_new(m->arena, count(tools) + 1,
							 sizeof(struct member))))
		return err_nomem(m->err);
	notes->kind = VALUE_TABLE;
	m->out[k] = notes;
	for (size_t i = 0; i < count(tools); i++) {
		struct str tool = tools->array.items[i].string;
		const struct member *note = find_member(m->q.v[k], tool);

		if (!note)
			note = find_member(m->c.v[k], tool);
		if (note && !find_member(notes, tool))
			notes->table.members[notes->table.n++] = *note;
	}
	return 0;
}

static int check_capability(struct harn_meet *m, enum harn_key k, const struct member *asked)
{
	const struct member *granted = find_member(m->c.v[k], asked->key);
	cleanup_buf struct buf excess = BUF(MAX_OUTPUT_BYTES);

	if (!granted) {
		buf_printf(&excess, "%.*s", STR_FMT(asked->key));
		return exceeds(m, k, buf_text(&excess));
	}
	for (size_t i = 0; i < count(&asked->value); i++)
		if (!has_string(&granted->value, asked->value.array.items[i].string))
			buf_printf(&excess, "%s%.*s", excess.n ? "," : "",
				   STR_FMT(asked->value.array.items[i].string));
	if (!excess.n)
		return 0;
	return err_set(m->err, CORDON_E_POLICY,
		       "requested capability operations exceed host ceiling: %.*s.%s",
		       STR_FMT(asked->key), buf_text(&excess));
}

/* Of several that exceed the ceiling the first in the order of names is reported. */
static int check_capabilities(struct harn_meet *m, enum harn_key k)
{
	const struct value *asked = m->q.v[k];
	const struct member *first = NULL;

	for (size_t i = 0; bounds(&m->c, k) && i < count(asked); i++) {
		const struct member *one = &asked->table.members[i];

		if ((!first || str_cmp(one->key, first->key) < 0) &&
		    check_capability(m, k, one) < 0)
			first = one;
	}
	return first ? -1 : 0;
}

static int meet_capabilities(struct harn_meet *m, enum harn_key k)
{
	const struct value *left = requested_if_bounded(m, k);

	m->out[k] = left ? left : &empty_table;
	return check_capabilities(m, k);
}

/* ---- roots -------------------------------------------------------------- */

static int meet_union(struct harn_meet *m, enum harn_key k)
{
	struct value *list = new_list(m, k, 0);

	if (!list)
		return -1;
	add_all(list, m->c.v[k]);
	add_all(list, m->q.v[k]);
	return 0;
}

/* A requested root that is granted stays; of one that is too wide, the granted roots in it. */
static void add_common(struct value *list, const struct value *c, const struct value *q)
{
	for (size_t i = 0; i < count(q); i++) {
		const struct value *root = &q->array.items[i];
		bool granted = holds(c, root->string);

		if (granted)
			add(list, root);
		for (size_t j = 0; !granted && j < count(c); j++)
			if (path_within(c->array.items[j].string.s, root->string.s))
				add(list, &c->array.items[j]);
	}
}

/* A root that lies in a read-only root of either side is not writable. */
static void drop_read_only(const struct harn_meet *m, struct value *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->array.n; i++)
		if (!holds(m->c.v[K_READ_ONLY_ROOTS], list->array.items[i].string) &&
		    !holds(m->q.v[K_READ_ONLY_ROOTS], list->array.items[i].string))
			list->array.items[kept++] = list->array.items[i];
	list->array.n = kept;
}

/* Roots that add to what is granted: none in the ceiling means none. */
static int meet_grants(struct harn_meet *m, enum harn_key k)
{
	const struct value *c = m->c.v[k], *q = m->q.v[k];
	struct value *list = new_list(m, k, 0);

	if (!list)
		return -1;
	if (count(q))
		add_common(list, c, q);
	else
		add_all(list, c);
	if (k == K_WRITE_ROOTS)
		drop_read_only(m, list);
	return 0;
}

static int meet_workspace(struct harn_meet *m, enum harn_key k)
{
	struct value *list = new_list(m, k, 0);

	if (!list)
		return -1;
	if (bounds(&m->c, k) && bounds(&m->q, k))
		add_common(list, m->c.v[k], m->q.v[k]);
	else
		add_all(list, requested_if_bounded(m, k));
	drop_read_only(m, list);
	if (!m->c.v[k] && !m->q.v[k] && !bounds(&m->c, k) && !bounds(&m->q, k))
		m->out[k] = NULL;
	return 0;
}

/* May the result write `path`?  Roots that neither side limits are the execution root. */
static bool is_writable(const struct harn_meet *m, struct str path)
{
	bool unbounded = !count(m->out[K_WORKSPACE_ROOTS]) && !m->out[K_WORKSPACE_RESTRICTED];

	return holds(m->out[K_WORKSPACE_ROOTS], path) || holds(m->out[K_WRITE_ROOTS], path) ||
	       (unbounded && path_within(path.s, m->cwd));
}

/* A read-only root inside a writable one takes writing away: it stays, though
 * the other side has none there. */
static void keep_protection(struct harn_meet *m, struct value *list, const struct value *roots)
{
	for (size_t i = 0; i < count(roots); i++)
		if (is_writable(m, roots->array.items[i].string))
			add(list, &roots->array.items[i]);
}

static bool is_silent(const struct value *root)
{
	for (size_t i = 0; i < root->table.n; i++) {
		const struct value *v = &root->table.members[i].value;

		if (count(v) || (v->kind != VALUE_NULL && v->kind != VALUE_ARRAY &&
				 v->kind != VALUE_TABLE))
			return false;
	}
	return true;
}

static int meet_read_only(struct harn_meet *m, enum harn_key k)
{
	const struct value *c = m->c.v[k], *q = m->q.v[k];
	bool all_granted = is_silent(m->c.root), has_workspace = harn_has_workspace(m->c.root);
	struct value *list = new_list(m, k, 0);

	if (!list)
		return -1;
	for (size_t i = 0; !count(c) && !all_granted && i < count(q); i++)
		if (!has_workspace ||
		    !holds(m->c.v[K_WORKSPACE_ROOTS], q->array.items[i].string))
			return exceeds(m, k, q->array.items[i].string.s);
	if (count(c) && count(q))
		add_common(list, c, q);
	else
		add_all(list, count(c) ? c : q);
	if (!has_workspace || !harn_has_workspace(m->q.root))
		return 0; /* nothing can be written */
	keep_protection(m, list, c);
	keep_protection(m, list, q);
	return 0;
}

/* ---- reading a side ----------------------------------------------------- */

/* A list of roots that is being read as if it were that field. */
struct reading {
	enum field_id id;
	struct section section;
};

static int take_root(struct reader *r, struct str text, struct place at, void *arg)
{
	struct reading *list = arg;
	struct field_value *roots = &list->section.f[list->id];

	if (read_field_text(r, &list->section, list->id, text, at) < 0)
		return -1;
	if (!roots->n || str_is_utf8(roots->items[roots->n - 1].text))
		return 0;
	return diag_error(r->diags, at, "a path that is not UTF-8 cannot be written as JSON");
}

static int read_roots(struct reader *r, struct harn_meet *m, struct harn_side *side,
		      enum harn_key k)
{
	struct reading list = { .id = k == K_DENY_ROOTS ? F_FILES_DENY : F_FILES_READ };
	const struct field_value *read = &list.section.f[list.id];
	struct value *roots = arena_new(m->arena, 1, sizeof(*roots));

	read_strings(r, side->v[k], harn_rows[k].key, take_root, &list);
	if (!roots ||
	    !(roots->array.items = arena_new(m->arena, read->n + 1, sizeof(*roots))))
		return err_nomem(m->err);
	roots->kind = VALUE_ARRAY;
	for (size_t i = 0; i < read->n; i++)
		roots->array.items[roots->array.n++] =
			(struct value){ .kind = VALUE_STRING, .string = read->items[i].text };
	side->v[k] = roots;
	return 0;
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
	const struct value *process = harn_get(side->root, "process_sandbox");
	struct reader r = { .policy = &side->rest,
			    .diags = &diags,
			    .file = side->name,
			    .base_dir = m->cwd,
			    .cwd = m->cwd };

	policy_init(&side->rest, m->arena);
	if (read_expect(&r, side->root, VALUE_TABLE, "the policy")) {
		harn_check(&r, side->root);
		harn_read_rest(&r, side->root);
	}
	for (int k = 0; !diags.n_errors && k < N_HARN_KEYS; k++) {
		side->v[k] = harn_get(harn_rows[k].of_process ? process : side->root,
				      harn_rows[k].key);
		if (side->v[k] && harn_rows[k].form == FORM_ROOTS &&
		    read_roots(&r, m, side, (enum harn_key)k) < 0)
			return -1;
	}
	if (diags.n_errors || read_finish(&r) < 0)
		return first_problem(side, &diags, m->err);
	return 0;
}

/* ---- the result --------------------------------------------------------- */

static void print_value(struct json_out *out, const struct value *v)
{
	switch (v ? v->kind : VALUE_NULL) {
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

static void print_rows(const struct harn_meet *m, bool of_process, struct json_out *out)
{
	json_open(out, '{');
	for (int k = 0; k < N_HARN_KEYS; k++) {
		const struct harn_row *row = &harn_rows[k];

		if (row->of_process != of_process || (row->shown == SHOWN_SAID && !m->out[k]) ||
		    (row->shown == SHOWN_FILLED && !count(m->out[k])))
			continue;
		json_key(out, row->key);
		if (row->shown == SHOWN_AS_TABLE)
			print_rows(m, true, out);
		else
			print_value(out, m->out[k]);
	}
	if (!of_process)
		harn_print_rest(&m->rest.base, out);
	json_close(out, '}');
}

static int cmp_strings(const void *a, const void *b)
{
	return str_cmp(((const struct value *)a)->string, ((const struct value *)b)->string);
}

static int meet_rows(struct harn_meet *m)
{
	static int (*const meets[N_HARN_KEYS])(struct harn_meet *m, enum harn_key k) = {
#define HARN(id, table, key, form, meet, ...) [K_##id] = meet_##meet,
#include "policy/dialect/harn.def"
#undef HARN
	};

	for (int k = 0; k < N_HARN_KEYS; k++) {
		if (meets[k](m, (enum harn_key)k) < 0)
			return -1;
		if (harn_rows[k].form == FORM_ROOTS && count(m->out[k]))
			qsort(m->out[k]->array.items, m->out[k]->array.n, sizeof(struct value),
			      cmp_strings);
	}
	return 0;
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
	if (read_side(&m, &m.c) < 0 || read_side(&m, &m.q) < 0 || meet_rows(&m) < 0 ||
	    policy_intersect(&m.c.rest, &m.q.rest, &m.rest, NULL, err) < 0)
		return -1;
	print_rows(&m, false, out);
	return 0;
}
