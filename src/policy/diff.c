/* The difference of two policies, in words; see diff.h.
 *
 * Every line says what the second policy allows that the first does not; the
 * reverse is the same question with the policies swapped.
 */
#include "policy/diff.h"

#include "base/path.h"
#include "policy/print.h"

struct diff {
	const char *name;	/* the policy that allows more */
	struct str phase;
	struct buf *out;
	size_t lines;
};

static void start_line(struct diff *d, enum field_id id)
{
	d->lines++;
	buf_printf(d->out, "%s allows more: ", d->name);
	if (d->phase.n)
		buf_printf(d->out, "phase %.*s: ", STR_FMT(d->phase));
	buf_printf(d->out, "%s ", fields[id].key);
}

static void print_one(enum field_id id, const struct item *item, struct buf *out)
{
	const struct field_value one = { .set = true, .items = (struct item *)(uintptr_t)item, .n = 1 };

	value_print_plain(id, &one, out);
}

/* Does some entry of `list` say all that `item` says? */
static bool is_covered(enum field_id id, const struct field_value *list, const struct item *item)
{
	enum field_kind kind = fields[id].kind;

	for (size_t i = 0; i < list->n; i++) {
		const struct item *one = &list->items[i];

		if (kind == KIND_ALLOW_HOSTS || kind == KIND_DENY_HOSTS
			    ? host_rule_covers(one->host, item->host)
		    : kind == KIND_ROOTS     ? path_within(item->text.s, one->text.s)
		    : kind == KIND_ENV_NAMES ? str_glob(one->text, item->text)
					     : item_cmp(kind, one, item) == 0)
			return true;
	}
	return false;
}

/* Entries of `more` that `less` lacks. */
static void diff_items(struct diff *d, enum field_id id, const struct field_value *more,
		       const struct field_value *less, const char *verb)
{
	for (size_t i = 0; i < more->n; i++) {
		if (is_covered(id, less, &more->items[i]))
			continue;
		start_line(d, id);
		buf_puts(d->out, verb);
		print_one(id, &more->items[i], d->out);
		buf_putc(d->out, '\n');
	}
}

static void diff_number(struct diff *d, enum field_id id, const struct field_value *more,
			const struct field_value *less)
{
	start_line(d, id);
	buf_puts(d->out, "is ");
	value_print_plain(id, more, d->out);
	buf_puts(d->out, ", not ");
	value_print_plain(id, less, d->out);
	buf_putc(d->out, '\n');
}

/* What `b` allows and `a` does not, in one field. */
static void diff_field(struct diff *d, enum field_id id, const struct field_value *a,
		       const struct field_value *b)
{
	switch (fields[id].merge) {
	case MERGE_STRICTEST:
		if (b->number < a->number)
			diff_number(d, id, b, a);
		return;
	case MERGE_LEAST:
		if (b->number > a->number)
			diff_number(d, id, b, a);
		return;
	case MERGE_UNION:
		diff_items(d, id, a, b, "does not have ");
		return;
	case MERGE_COMMON:
	case MERGE_ROOTS:
	case MERGE_HOSTS:
		diff_items(d, id, b, a, "has ");
		return;
	case MERGE_JOIN:
	case MERGE_SAME:
		if (!field_value_eq(id, a, b))
			diff_number(d, id, b, a);
		return;
	case N_FIELD_MERGES:
		break;
	}
	BUG("a field without a merge");
}

static void diff_section(struct diff *d, const struct section *a, const struct section *b, bool phase)
{
	bool open_a = a->f[F_NETWORK_MODE].number == NETWORK_PUBLIC;

	for (int i = 0; i < N_FIELDS; i++) {
		enum field_id id = (enum field_id)i;

		if (phase && !field_in_phase(id))
			continue;
		/* A list beside an open network adds nothing to it. */
		if (id == F_NETWORK_ALLOW && open_a)
			continue;
		diff_field(d, id, &a->f[i], &b->f[i]);
	}
}

static const struct section *in_phase(const struct policy *p, struct str name)
{
	const struct phase *phase = policy_find_phase(p, name);

	return phase ? &phase->section : &p->base;
}

/* A phase that only one of the two has is compared with the other's base. */
static void diff_phases(struct diff *d, const struct policy *a, const struct policy *b,
			const struct policy *named, const struct policy *skip)
{
	for (size_t i = 0; i < named->n_phases; i++) {
		d->phase = named->phases[i].name;
		if (!skip || !policy_find_phase(skip, d->phase))
			diff_section(d, in_phase(a, d->phase), in_phase(b, d->phase), true);
	}
	d->phase = STR("");
}

static size_t one_way(const struct policy *a, const struct policy *b, const char *name,
		      struct buf *out)
{
	struct diff d = { .name = name, .phase = STR(""), .out = out };

	diff_section(&d, &a->base, &b->base, false);
	diff_phases(&d, a, b, a, NULL);
	diff_phases(&d, a, b, b, a);
	return d.lines;
}

size_t policy_diff(const struct policy *a, const char *name_a, const struct policy *b,
		   const char *name_b, struct buf *out)
{
	return one_way(a, b, name_b, out) + one_way(b, a, name_a, out);
}
