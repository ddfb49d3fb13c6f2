/* The native dialect: cordon.toml, straight from the field table. */
#include "policy/dialect/dialect.h"

/* The keys that stand directly in [table] ("" is the top): fields and the
 * names of tables. */
static const char *const *known_keys(struct reader *r, struct str table, bool phase)
{
	const char **known = arena_new(r->policy->arena, N_FIELDS + 2, sizeof(*known));
	struct str last = STR("");
	size_t n = 0;

	if (!known)
		return NULL;
	for (int i = 0; i < N_FIELDS; i++) {
		enum field_id id = (enum field_id)i;
		struct str of = field_table(id);

		if (phase && !field_in_phase(id))
			continue;
		if (str_eq(of, table))
			known[n++] = field_leaf(id);
		else if (!table.n && !str_eq(of, last))
			known[n++] = arena_strndup(r->policy->arena, of.s, of.n);
		last = of;
	}
	if (!table.n && !phase)
		known[n++] = "phase";
	return known;
}

static bool is_table_name(struct str key, bool phase)
{
	for (int id = 0; id < N_FIELDS; id++)
		if (str_eq(field_table((enum field_id)id), key))
			return !phase || field_in_phase((enum field_id)id);
	return false;
}

/* The fields of one table, and of the tables in it. */
static void read_table(struct reader *r, struct section *s, struct str table, bool phase,
		       const struct value *v)
{
	cleanup_buf struct buf where = BUF(128);
	const char *const *known = known_keys(r, table, phase);

	if (table.n)
		buf_printf(&where, " in [%s%.*s]", phase ? "phase.NAME." : "", STR_FMT(table));
	if (!known) {
		diag_error(r->diags, reader_at(r, v), "out of memory");
		return;
	}
	read_check_keys(r, v, known, buf_text(&where));
	for (size_t i = 0; i < v->table.n; i++) {
		const struct member *m = &v->table.members[i];
		cleanup_buf struct buf key = BUF(256);
		enum field_id id;

		buf_printf(&key, "%.*s%s%.*s", STR_FMT(table), table.n ? "." : "", STR_FMT(m->key));
		id = field_find(str_from(buf_text(&key)));
		if (id != N_FIELDS && (!phase || field_in_phase(id))) {
			read_field(r, s, id, &m->value);
		} else if (!table.n && is_table_name(m->key, phase) && m->key.n) {
			if (read_expect(r, &m->value, VALUE_TABLE, buf_text(&key)))
				read_table(r, s, m->key, phase, &m->value);
		}
	}
}

static void read_phases(struct reader *r, const struct value *v)
{
	if (!read_expect(r, v, VALUE_TABLE, "phase"))
		return;
	if (v->table.n > MAX_PHASES) {
		diag_error(r->diags, reader_at(r, v), "more than %d phases; remove some",
			   MAX_PHASES);
		return;
	}
	for (size_t i = 0; i < v->table.n; i++) {
		const struct member *m = &v->table.members[i];
		struct place at = { r->file, m->line, m->col };
		struct phase *phase;

		if (!str_trim(m->key).n) {
			diag_error(r->diags, at, "a phase without a name; write [phase.NAME]");
			continue;
		}
		if (!read_expect(r, &m->value, VALUE_TABLE, "a phase"))
			continue;
		phase = policy_add_phase(r->policy, m->key, at);
		if (!phase) {
			diag_error(r->diags, at, "out of memory");
			return;
		}
		read_table(r, &phase->section, STR(""), true, &m->value);
	}
}

static void cordon_read(struct reader *r, const struct value *root)
{
	const struct value *phases = value_find(root, "phase");

	read_table(r, &r->policy->base, STR(""), false, root);
	if (phases)
		read_phases(r, phases);
}

const struct dialect dialect_cordon = {
	.name = "cordon",
	.about = "cordon.toml, the native one",
	.style = STYLE_NATIVE,
	.parse = toml_parse,
	.read = cordon_read,
};
