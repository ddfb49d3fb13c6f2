/* The last step of reading: contradictions, dead rules, canonical form.
 *
 * What two fields say together is judged here; what one says alone was judged
 * when it was read.
 */
#include "base/path.h"
#include "policy/covering.h"
#include "policy/reader.h"

static struct field_value *fv(struct section *s, enum field_id id)
{
	return &s->f[id];
}

/* Is an empty list that nobody misses: it only takes away, or only adds, there
 * is no default for it to replace, and the base of a phase does not have it. */
static bool says_nothing(enum field_id id, const struct field_value *v, const struct section *base)
{
	return v->set && !v->n && !fields[id].preset[0] && !(base && base->f[id].set) &&
	       (fields[id].merge == MERGE_UNION || fields[id].merge == MERGE_JOIN);
}

/* `base` is NULL, or that of the phase. */
static int canonical_lists(struct reader *r, struct section *s, const struct section *base)
{
	struct cordon_err err;

	for (int i = 0; i < N_FIELDS; i++) {
		enum field_id id = (enum field_id)i;
		struct field_value *v = &s->f[i];

		if (base && field_value_is_shared(v, &base->f[i]))
			continue;
		if (v->set && v->n > 1 &&
		    field_value_canonical(id, v, r->policy->arena, &err) < 0)
			return diag_error(r->diags, v->at, "%s", err.msg);
		if (says_nothing(id, v, base))
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

void read_settle_mode(struct section *s)
{
	const struct field_value *mode = fv(s, F_NETWORK_MODE);

	if (!mode->set || mode->number == NETWORK_PUBLIC)
		return;
	for (int id = 0; id < N_FIELDS; id++)
		if (field_leads_out((enum field_id)id))
			read_list_start(s, (enum field_id)id, mode->at);
	if (!s->f[F_NETWORK_TLS].set)
		read_number(s, F_NETWORK_TLS, TLS_STRICT, mode->at);
	if (mode->number == NETWORK_ALLOWLIST)
		read_list_start(s, F_NETWORK_ALLOW, mode->at);
}

/* [M4]: what leads out of a closed network. */
static void check_closed(struct reader *r, struct section *s)
{
	for (int id = 0; id < N_FIELDS; id++)
		if (field_leads_out((enum field_id)id) && s->f[id].n)
			diag_error(r->diags, s->f[id].at,
				   "%s is not valid when network.mode is \"no-network\"; "
				   "change the mode or remove the list",
				   fields[id].key);
}

/* [M4] */
static void settle_network(struct reader *r, struct section *s)
{
	struct field_value *mode = fv(s, F_NETWORK_MODE), *allow = fv(s, F_NETWORK_ALLOW);

	if (allow->set && !mode->set)
		read_number(s, F_NETWORK_MODE, NETWORK_ALLOWLIST, allow->at);
	read_settle_mode(s);
	if (!mode->set || mode->number == NETWORK_ALLOWLIST)
		return;
	if (mode->number == NETWORK_NONE)
		check_closed(r, s);
	if (allow->n)
		diag_error(r->diags, allow->at,
			   "network.allow is only valid when network.mode is \"allowlist\"; "
			   "change the mode or remove the list");
	*allow = (struct field_value){ 0 };
}

static int check_granted(struct reader *r, const struct section *s, enum field_id id)
{
	const struct field_value *allow = &s->f[id], *deny = &s->f[F_NETWORK_DENY];
	cleanup_arena struct arena scratch = ARENA(MAX_ARENA_BYTES);
	const struct item *const *by;
	struct cordon_err err;
	int bad = 0;

	if (!allow->n || !deny->n)
		return 0;
	if (items_find_covering(allow, F_NETWORK_DENY, deny, &scratch, &by, &err) < 0)
		return diag_error(r->diags, allow->at, "%s", err.msg);
	for (size_t i = 0; i < allow->n; i++) {
		cleanup_buf struct buf rule = BUF(512), what = BUF(512);

		if (!by[i])
			continue;
		host_rule_print(allow->items[i].host, &what);
		host_rule_print(by[i]->host, &rule);
		bad = diag_error(
			r->diags, allow->items[i].at,
			"%s: '%s' can never match, since network.deny has '%s'; remove one",
			fields[id].key, buf_text(&what), buf_text(&rule));
	}
	return bad;
}

/* The lists that a deny rule can make dead. */
static const enum field_id granting[] = { F_NETWORK_ALLOW, F_NETWORK_UDP_ALLOW };

int read_check_hosts(struct reader *r, const struct section *s)
{
	int bad = 0;

	for (size_t i = 0; i < ARRAY_SIZE(granting); i++)
		bad |= check_granted(r, s, granting[i]);
	return bad;
}

/* A phase that takes over both lists would only say the same again. */
static void check_dead_allows(struct reader *r, const struct section *s,
			      const struct section *base)
{
	bool same_deny = base && field_value_is_shared(&s->f[F_NETWORK_DENY],
						       &base->f[F_NETWORK_DENY]);

	for (size_t i = 0; i < ARRAY_SIZE(granting); i++)
		if (!same_deny || !field_value_is_shared(&s->f[granting[i]], &base->f[granting[i]]))
			check_granted(r, s, granting[i]);
}

/* ---- files -------------------------------------------------------------- */

/* Add a path to files.protect without losing the default sets, which hold
 * while the field is not written. */
static int protect_path(struct reader *r, struct section *s, const struct item *root)
{
	struct field_value *v = fv(s, F_FILES_PROTECT);
	const char *const *set = field_words(KIND_PROTECT);
	struct item *slot;

	if (read_check_letters(r, root->text, root->text.s, root->at) < 0)
		return -1;
	if (!v->set)
		for (; *set; set++)
			if (read_field_text(r, s, F_FILES_PROTECT, str_from(*set), root->at) < 0)
				return -1;
	if (v->n >= field_most(KIND_PROTECT))
		return diag_error(r->diags, root->at,
				  "files.protect has more than %zu entries with the read roots "
				  "inside writable ones; remove some", field_most(KIND_PROTECT));
	slot = field_value_add(v, r->policy->arena);
	if (!slot)
		return diag_error(r->diags, root->at, "out of memory");
	*slot = *root;
	slot->value = STR(READ_ROOT_NOTE);
	return 0;
}

/* Add the writable roots to those that can be read. */
static int add_writable(struct reader *r, struct section *s)
{
	const struct field_value *write = fv(s, F_FILES_WRITE);
	struct field_value *read = fv(s, F_FILES_READ);

	for (size_t i = 0; i < write->n; i++) {
		struct item *slot = field_value_add(read, r->policy->arena);

		if (!slot)
			return diag_error(r->diags, read->at, "out of memory");
		*slot = write->items[i];
	}
	return 0;
}

/* [M3] */
static int settle_roots(struct reader *r, struct section *s)
{
	struct field_value *write = fv(s, F_FILES_WRITE), *read = fv(s, F_FILES_READ);
	size_t kept = 0;

	if (!write->set || !read->set)
		return 0;
	for (size_t i = 0; i < read->n; i++) {
		const struct item *root = &read->items[i];
		const struct item *outer = item_find_covering(KIND_ROOTS, write, root);

		if (!outer)
			read->items[kept++] = *root;
		else if (str_eq(outer->text, root->text))
			diag_error(r->diags, root->at,
				   "'%s' is in both files.read and files.write; remove one",
				   root->text.s);
		else if (protect_path(r, s, root) < 0)
			return -1;
	}
	read->n = kept;
	return add_writable(r, s);
}

/* A root that is written to be read is not writable by default: without the
 * word "write" nobody asked for more. */
static void drop_equal_roots(struct field_value *write, const struct field_value *read)
{
	size_t kept = 0;

	for (size_t i = 0; i < write->n; i++) {
		const struct item *same = item_find_covering(KIND_ROOTS, read, &write->items[i]);

		if (!same || !str_eq(same->text, write->items[i].text))
			write->items[kept++] = write->items[i];
	}
	write->n = kept;
}

int read_settle_defaults(struct reader *r, bool write_is_default, bool read_is_default)
{
	struct section *s = &r->policy->base;
	struct cordon_err err;

	if (!write_is_default && !read_is_default)
		return 0;
	if (write_is_default)
		drop_equal_roots(fv(s, F_FILES_WRITE), fv(s, F_FILES_READ));
	if (settle_roots(r, s) < 0)
		return -1;
	if (field_value_canonical(F_FILES_READ, fv(s, F_FILES_READ), r->policy->arena, &err) < 0 ||
	    field_value_canonical(F_FILES_PROTECT, fv(s, F_FILES_PROTECT), r->policy->arena,
				  &err) < 0)
		return diag_error(r->diags, fv(s, F_FILES_READ)->at, "%s", err.msg);
	return 0;
}

/* The denied path that is `root` or above it, or NULL.  Paths are sorted as
 * texts, so each one above is looked up. */
const struct item *read_find_denied(const struct field_value *deny, const struct item *root)
{
	struct item above = { .text = root->text };

	while (above.text.n) {
		const struct item *found = item_find_covering(KIND_PATHS, deny, &above);

		if (found)
			return found;
		if (above.text.n == 1)
			return NULL;
		while (above.text.s[above.text.n - 1] != '/')
			above.text.n--;
		above.text.n -= above.text.n > 1 ? 1 : 0;
	}
	return NULL;
}

static void check_denied_roots(struct reader *r, struct section *s, enum field_id id)
{
	const struct field_value *roots = fv(s, id), *deny = fv(s, F_FILES_DENY);

	for (size_t i = 0; i < roots->n; i++) {
		const struct item *by = read_find_denied(deny, &roots->items[i]);

		if (by)
			diag_error(r->diags, roots->items[i].at,
				   "%s: '%s' is denied by '%s' in files.deny; remove one",
				   fields[id].key, roots->items[i].text.s, by->text.s);
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

/* `base` is NULL, or that of the phase. */
static int finish_section(struct reader *r, struct section *s, const struct section *base)
{
	settle_network(r, s);
	if (canonical_lists(r, s, base) < 0)
		return -1;
	if (!base || !field_value_is_shared(fv(s, F_ENV_SET), &base->f[F_ENV_SET]))
		check_map(r, s);
	check_dead_allows(r, s, base);
	return 0;
}

static int finish_base(struct reader *r)
{
	struct section *s = &r->policy->base;
	struct cordon_err err;

	/* Before files.read is canonical: there a wide root would swallow one
	 * inside a writable root, which stands for a protected path. */
	if (field_value_canonical(F_FILES_WRITE, fv(s, F_FILES_WRITE), r->policy->arena, &err) <
		    0 ||
	    field_value_canonical(F_FILES_DENY, fv(s, F_FILES_DENY), r->policy->arena, &err) < 0)
		return diag_error(r->diags, s->f[F_FILES_WRITE].at, "%s", err.msg);
	check_denied_roots(r, s, F_FILES_WRITE);
	check_denied_roots(r, s, F_FILES_READ);
	check_protections(r, s);
	if (settle_roots(r, s) < 0)
		return -1;
	return finish_section(r, s, NULL);
}

/* [M2] */
static void inherit(const struct section *base, struct section *s)
{
	const struct field_value *mode = &s->f[F_NETWORK_MODE];

	for (int i = 0; i < N_FIELDS; i++) {
		enum field_id id = (enum field_id)i;

		if (s->f[i].set || !field_in_phase(id) ||
		    (id == F_NETWORK_ALLOW && mode->number != NETWORK_ALLOWLIST))
			continue;
		s->f[i] = base->f[i];
		/* [M4]: a phase without a network has none of it. */
		if (field_leads_out(id) && mode->number == NETWORK_NONE)
			s->f[i] = (struct field_value){ .set = base->f[i].set,
							.at = base->f[i].at };
	}
}

static int finish_phase(struct reader *r, struct section *s)
{
	const struct section *base = &r->policy->base;

	if (s->f[F_NETWORK_ALLOW].set && !s->f[F_NETWORK_MODE].set)
		read_number(s, F_NETWORK_MODE, NETWORK_ALLOWLIST, s->f[F_NETWORK_ALLOW].at);
	if (!s->f[F_NETWORK_MODE].set)
		s->f[F_NETWORK_MODE] = base->f[F_NETWORK_MODE];
	inherit(base, s);
	return finish_section(r, s, base);
}

/* Then there is nothing to look at again. */
static bool has_hosts_of_base(const struct reader *r, const struct section *s)
{
	const struct section *base = &r->policy->base;

	return field_value_is_shared(&s->f[F_NETWORK_ALLOW], &base->f[F_NETWORK_ALLOW]) &&
	       (!s->f[F_NETWORK_UDP_ALLOW].n ||
		field_value_is_shared(&s->f[F_NETWORK_UDP_ALLOW], &base->f[F_NETWORK_UDP_ALLOW])) &&
	       (field_value_is_shared(&s->f[F_NETWORK_DENY], &base->f[F_NETWORK_DENY]) ||
		(!s->f[F_NETWORK_DENY].n && !base->f[F_NETWORK_DENY].n));
}

int read_finish(struct reader *r)
{
	size_t work = 0;

	if (finish_base(r) < 0)
		return -1;
	for (size_t i = 0; i < r->policy->n_phases; i++) {
		struct phase *phase = &r->policy->phases[i];
		const struct section *s = &phase->section;

		if (finish_phase(r, &phase->section) < 0)
			return -1;
		if (!has_hosts_of_base(r, s))
			work += s->f[F_NETWORK_ALLOW].n + s->f[F_NETWORK_UDP_ALLOW].n +
				s->f[F_NETWORK_DENY].n;
		if (work > MAX_PHASE_HOSTS)
			return diag_error(
				r->diags, phase->at,
				"the phases have more than %u hosts together; remove some",
				MAX_PHASE_HOSTS);
	}
	return r->diags->n_errors ? -1 : 0;
}
