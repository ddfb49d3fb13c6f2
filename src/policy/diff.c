/* The difference of two policies, in words; see diff.h.
 *
 * Every line says what the second policy allows that the first does not; the
 * reverse is the same question with the policies swapped.
 */
#include "policy/diff.h"

#include "policy/covering.h"
#include "policy/print.h"

struct diff {
	const char *name;	/* the policy that allows more */
	struct str phase;
	struct buf *out;
	size_t lines;
	struct cordon_err *err;
};

static void start_line(struct diff *d, enum field_id id)
{
	d->lines++;
	buf_put_plain(d->out, str_from(d->name));
	buf_puts(d->out, " allows more: ");
	if (d->phase.n) {
		buf_puts(d->out, "phase ");
		buf_put_plain(d->out, d->phase);
		buf_puts(d->out, ": ");
	}
	buf_printf(d->out, "%s ", fields[id].key);
}

static void print_one(enum field_id id, struct item item, struct buf *out)
{
	const struct field_value one = { .set = true, .items = &item, .n = 1 };

	value_print_plain(id, &one, out);
}

/* Entries of `more` that `less` lacks. */
static int diff_items(struct diff *d, enum field_id id, const struct field_value *more,
		      const struct field_value *less, const char *verb)
{
	cleanup_arena struct arena scratch = ARENA(MAX_ARENA_BYTES);
	const struct item *const *by;

	if (items_find_covering(more, id, less, &scratch, &by, d->err) < 0)
		return -1;
	for (size_t i = 0; i < more->n && buf_ok(d->out); i++) {
		if (by[i])
			continue;
		start_line(d, id);
		buf_puts(d->out, verb);
		print_one(id, more->items[i], d->out);
		buf_putc(d->out, '\n');
	}
	return 0;
}

static int diff_value(struct diff *d, enum field_id id, const struct field_value *more,
		      const struct field_value *less)
{
	start_line(d, id);
	buf_puts(d->out, "is ");
	value_print_plain(id, more, d->out);
	buf_puts(d->out, ", not ");
	value_print_plain(id, less, d->out);
	buf_putc(d->out, '\n');
	return 0;
}

/* What `b` allows and `a` does not, in one field. */
static int diff_field(struct diff *d, enum field_id id, const struct field_value *a,
		      const struct field_value *b)
{
	switch (fields[id].merge) {
	case MERGE_STRICTEST:
		return b->number < a->number ? diff_value(d, id, b, a) : 0;
	case MERGE_LEAST:
		return b->number > a->number ? diff_value(d, id, b, a) : 0;
	case MERGE_UNION:
		return diff_items(d, id, a, b, "does not have ");
	case MERGE_COMMON:
	case MERGE_ROOTS:
	case MERGE_HOSTS:
		return diff_items(d, id, b, a, "has ");
	case MERGE_JOIN:
	case MERGE_FIRST:
		return field_value_eq(id, a, b) ? 0 : diff_value(d, id, b, a);
	case N_FIELD_MERGES:
		break;
	}
	BUG("a field without a merge");
}

static const struct section *in_phase(const struct policy *p, struct str name)
{
	const struct phase *phase = policy_find_phase(p, name);

	return phase ? &phase->section : &p->base;
}

/* Has the field in this phase what it has in the base, which was told? */
static bool is_told(const struct policy *p, struct str phase, enum field_id id)
{
	return field_value_eq(id, &in_phase(p, phase)->f[id], &p->base.f[id]);
}

/* The base, or the phase that `d` names. */
static int diff_section(struct diff *d, const struct policy *x, const struct policy *y)
{
	const struct section *a = in_phase(x, d->phase), *b = in_phase(y, d->phase);
	bool open_a = a->f[F_NETWORK_MODE].number == NETWORK_PUBLIC;

	for (int i = 0; i < N_FIELDS && buf_ok(d->out); i++) {
		enum field_id id = (enum field_id)i;

		if (d->phase.n && (!field_in_phase(id) ||
				   (is_told(x, d->phase, id) && is_told(y, d->phase, id))))
			continue;
		/* A list beside an open network adds nothing to it. */
		if (id == F_NETWORK_ALLOW && open_a)
			continue;
		if (diff_field(d, id, &a->f[i], &b->f[i]) < 0)
			return -1;
	}
	return 0;
}

/* A phase that only one of the two has is compared with the other's base. */
static int diff_phases(struct diff *d, const struct policy *a, const struct policy *b,
		       const struct policy *named, const struct policy *skip)
{
	int rc = 0;

	for (size_t i = 0; i < named->n_phases && rc == 0; i++) {
		d->phase = named->phases[i].name;
		if (!skip || !policy_find_phase(skip, d->phase))
			rc = diff_section(d, a, b);
	}
	d->phase = STR("");
	return rc;
}

static int one_way(struct diff *d, const struct policy *a, const struct policy *b)
{
	if (diff_section(d, a, b) < 0 || diff_phases(d, a, b, a, NULL) < 0)
		return -1;
	return diff_phases(d, a, b, b, a);
}

int policy_diff(struct named_policy a, struct named_policy b, struct buf *out, size_t *ret_lines,
		struct cordon_err *err)
{
	struct diff d = { .name = b.name, .phase = STR(""), .out = out, .err = err };

	if (one_way(&d, a.policy, b.policy) < 0)
		return -1;
	d.name = a.name;
	if (one_way(&d, b.policy, a.policy) < 0)
		return -1;
	*ret_lines = d.lines;
	return 0;
}

/* Not more connections at once, which reach nothing else. */
static bool is_reach(enum field_id id)
{
	return str_starts(str_from(fields[id].key), "network.") && field_in_phase(id) &&
	       id != F_NETWORK_CONNECTIONS;
}

int policy_network_is_wider(const struct section *from, const struct section *to, bool *ret,
			    struct cordon_err *err)
{
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES);
	struct diff d = { .name = "", .phase = STR(""), .out = &out, .err = err };
	bool is_closed = to->f[F_NETWORK_MODE].number == NETWORK_NONE;
	bool was_open = from->f[F_NETWORK_MODE].number == NETWORK_PUBLIC;

	for (int i = 0; i < N_FIELDS && !is_closed && !d.lines; i++) {
		enum field_id id = (enum field_id)i;

		if (!is_reach(id) || (id == F_NETWORK_ALLOW && was_open))
			continue;
		if (diff_field(&d, id, &from->f[i], &to->f[i]) < 0)
			return -1;
	}
	*ret = d.lines > 0;
	return 0;
}
