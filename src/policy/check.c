/* The last step of reading: contradictions, dead rules, canonical form.
 *
 * What two fields say together is judged here; what one says alone was judged
 * when it was read.
 */
#include "base/path.h"
#include "policy/reader.h"

static struct field_value *fv(struct section *s, enum field_id id)
{
	return &s->f[id];
}

/* `base` is what a phase overrides; NULL for the base itself. */
static int canonical_lists(struct reader *r, struct section *s, const struct section *base)
{
	struct cordon_err err;

	for (int id = 0; id < N_FIELDS; id++) {
		struct field_value *v = &s->f[id];
		bool inherited = base && v->items == base->f[id].items;

		if (v->set && v->n > 1 && !inherited &&
		    field_value_canonical((enum field_id)id, v, r->policy->arena, &err) < 0)
			return diag_error(r->diags, v->at, "%s", err.msg);
		/* A list that only takes away, or only adds, says nothing when it
		 * is empty, unless there is a default, or in a phase the value of
		 * the base, for it to replace. */
		if (v->set && !v->n && !fields[id].preset[0] && !(base && base->f[id].set) &&
		    (fields[id].merge == MERGE_UNION || fields[id].merge == MERGE_JOIN))
			*v = (struct field_value){ 0 };
	}
	return 0;
}

/* A name that is set twice in a map: TOML and JSON refuse it as a duplicate
 * key, but a dialect and the command line can add names one by one. */
static void check_map(struct reader *r, struct section *s)
{
	struct field_value *v = fv(s, F_ENV_SET);

	for (size_t i = 1; i < v->n; i++)
		if (str_eq(v->items[i - 1].text, v->items[i].text))
			diag_error(r->diags, v->items[i].at, "'%.*s' is set twice; remove one",
				   STR_FMT(v->items[i].text));
}

/* ---- network ------------------------------------------------------------ */

/* [M4] */
static void settle_network(struct reader *r, struct section *s)
{
	struct field_value *mode = fv(s, F_NETWORK_MODE), *allow = fv(s, F_NETWORK_ALLOW);

	if (allow->set && !mode->set)
		read_number(s, F_NETWORK_MODE, NETWORK_ALLOWLIST, allow->at);
	if (!mode->set)
		return;
	if (mode->number == NETWORK_ALLOWLIST) {
		read_list_start(s, F_NETWORK_ALLOW, mode->at);
		return;
	}
	if (allow->n)
		diag_error(r->diags, allow->at,
			   "network.allow is only valid when network.mode is \"allowlist\"; "
			   "change the mode or remove the list");
	*allow = (struct field_value){ 0 };
}

/* The rule of `list` that equals `rule`. */
static const struct item *find_host(const struct field_value *list, const struct host_rule *rule)
{
	for (size_t lo = 0, hi = list->n; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;
		int c = host_rule_cmp(list->items[mid].host, rule);

		if (c == 0)
			return &list->items[mid];
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

static struct host_rule *rules_of(struct reader *r, const struct field_value *v)
{
	struct host_rule *rules = arena_new(r->policy->arena, v->n + 1, sizeof(*rules));

	for (size_t i = 0; rules && i < v->n; i++)
		rules[i] = *v->items[i].host;
	return rules;
}

/* An allow rule all of whose hosts are denied can never match. */
static void check_dead_allows(struct reader *r, struct section *s)
{
	struct field_value *allow = fv(s, F_NETWORK_ALLOW), *deny = fv(s, F_NETWORK_DENY);
	struct host_rule *a, *d;
	struct host_meet *meets;
	struct cordon_err err;
	size_t n;

	if (!allow->n || !deny->n)
		return;
	a = rules_of(r, allow);
	d = rules_of(r, deny);
	if (!a || !d || host_rules_meet(a, allow->n, d, deny->n, r->policy->arena, &meets, &n, &err) < 0) {
		diag_error(r->diags, allow->at, "out of memory");
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const struct item *dead = find_host(allow, &meets[i].rule);
		cleanup_buf struct buf by = BUF(512), what = BUF(512);

		if (!dead)
			continue;
		host_rule_print(dead->host, &what);
		host_rule_print(&d[meets[i].b], &by);
		diag_error(r->diags, dead->at,
			   "network.allow: '%s' can never match, since network.deny has '%s'; remove one",
			   buf_text(&what), buf_text(&by));
	}
}

/* ---- files -------------------------------------------------------------- */

/* The root of `list` that holds `path`, or NULL. */
static const struct item *root_of(const struct field_value *list, const char *path)
{
	for (size_t i = 0; i < list->n; i++)
		if (path_within(path, list->items[i].text.s))
			return &list->items[i];
	return NULL;
}

/* Add a path to files.protect without losing the default sets, which hold
 * while the field is not written. */
static int protect_path(struct reader *r, struct section *s, const struct item *root)
{
	struct field_value *v = fv(s, F_FILES_PROTECT);
	const char *const *set = field_words(KIND_PROTECT);
	struct item *slot;

	if (!v->set)
		for (; *set; set++)
			if (read_field_text(r, s, F_FILES_PROTECT, str_from(*set), root->at) < 0)
				return -1;
	slot = field_value_add(v, r->policy->arena);
	if (!slot)
		return diag_error(r->diags, root->at, "out of memory");
	*slot = *root;
	return 0;
}

/* [M3] */
static void settle_roots(struct reader *r, struct section *s)
{
	struct field_value *write = fv(s, F_FILES_WRITE), *read = fv(s, F_FILES_READ);
	size_t kept = 0;

	if (!write->set || !read->set)
		return;
	for (size_t i = 0; i < read->n; i++) {
		const struct item *root = &read->items[i];
		const struct item *outer = root_of(write, root->text.s);

		if (!outer)
			read->items[kept++] = *root;
		else if (str_eq(outer->text, root->text))
			diag_error(r->diags, root->at,
				   "'%s' is in both files.read and files.write; remove one", root->text.s);
		else if (protect_path(r, s, root) < 0)
			return;
	}
	read->n = kept;
	for (size_t i = 0; i < write->n; i++) {
		struct item *slot = field_value_add(read, r->policy->arena);

		if (!slot) {
			diag_error(r->diags, read->at, "out of memory");
			return;
		}
		*slot = write->items[i];
	}
}

static void check_denied_roots(struct reader *r, struct section *s, enum field_id id)
{
	struct field_value *roots = fv(s, id), *deny = fv(s, F_FILES_DENY);

	for (size_t i = 0; i < roots->n; i++)
		for (size_t d = 0; d < deny->n; d++) {
			const char *path = deny->items[d].text.s;

			if (path[0] == '/' && !strchr(path, '*') &&
			    path_within(roots->items[i].text.s, path))
				diag_error(r->diags, roots->items[i].at,
					   "%s: '%s' is denied by '%s' in files.deny; remove one",
					   fields[id].key, roots->items[i].text.s, path);
		}
}

static void check_protections(struct reader *r, struct section *s)
{
	struct field_value *may = fv(s, F_MAY_LACK), *must = fv(s, F_REQUIRE);

	for (size_t i = 0; i < may->n; i++)
		for (size_t k = 0; k < must->n; k++)
			if (str_eq(may->items[i].text, must->items[k].text))
				diag_error(r->diags, may->items[i].at,
					   "'%s' is in both require and may_lack; remove one",
					   may->items[i].text.s);
}

/* ---- sections ----------------------------------------------------------- */

static int finish_section(struct reader *r, struct section *s, const struct section *base)
{
	settle_network(r, s);
	if (canonical_lists(r, s, base) < 0)
		return -1;
	check_map(r, s);
	check_dead_allows(r, s);
	return 0;
}

static int finish_base(struct reader *r)
{
	struct section *s = &r->policy->base;

	if (finish_section(r, s, NULL) < 0)
		return -1;
	check_denied_roots(r, s, F_FILES_WRITE);
	check_denied_roots(r, s, F_FILES_READ);
	check_protections(r, s);
	settle_roots(r, s);
	return canonical_lists(r, s, NULL);
}

/* [M2] */
static void inherit(const struct section *base, struct section *s)
{
	for (int id = 0; id < N_FIELDS; id++)
		if (!s->f[id].set && field_in_phase((enum field_id)id) &&
		    (id != F_NETWORK_ALLOW || s->f[F_NETWORK_MODE].number == NETWORK_ALLOWLIST))
			s->f[id] = base->f[id];
}

int read_finish(struct reader *r)
{
	if (finish_base(r) < 0)
		return -1;
	for (size_t i = 0; i < r->policy->n_phases; i++) {
		struct section *s = &r->policy->phases[i].section;

		if (s->f[F_NETWORK_ALLOW].set && !s->f[F_NETWORK_MODE].set)
			read_number(s, F_NETWORK_MODE, NETWORK_ALLOWLIST, s->f[F_NETWORK_ALLOW].at);
		if (!s->f[F_NETWORK_MODE].set)
			s->f[F_NETWORK_MODE] = r->policy->base.f[F_NETWORK_MODE];
		inherit(&r->policy->base, s);
		if (finish_section(r, s, &r->policy->base) < 0)
			return -1;
	}
	return r->diags->n_errors ? -1 : 0;
}
